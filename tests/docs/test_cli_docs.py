"""`docs/reference/cli.md` holds the help of every command, word for word.

After changing a command, `python -m tests.docs.test_cli_docs` writes the new help into the page.
"""

import argparse
import re
from collections.abc import Iterator

from deniable.cli import build_parser
from tests.docs.blocks import ROOT

PAGE = ROOT / "docs" / "reference" / "cli.md"
_SECTION = re.compile(
    r"(?P<head>^## `(?P<name>deniable[\w ]*)`\n.*?^```text\n)(?P<help>.*?)(?P<tail>^```$)", re.M | re.S
)


def parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """A parser and those of its commands, in the order of the help."""
    yield parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from parsers(inner)


def helps() -> dict[str, str]:
    return {parser.prog: parser.format_help() for parser in parsers(build_parser())}


def test_the_page_is_the_help_of_every_command() -> None:
    sections = {match["name"]: match["help"] for match in _SECTION.finditer(PAGE.read_text())}
    assert list(sections) == list(helps())
    for name, text in helps().items():
        assert sections[name] == text, f"run python -m tests.docs.test_cli_docs: the help of {name} has changed"


def test_every_command_and_option_says_what_it_is() -> None:
    for parser in parsers(build_parser()):
        assert parser.description
        for action in parser._actions:
            if not isinstance(action, argparse._SubParsersAction):
                assert action.help, f"{parser.prog} {action.dest}"


def test_every_default_is_told() -> None:
    for parser in parsers(build_parser()):
        for action in parser._actions:
            if action.default not in (None, False, "", [], argparse.SUPPRESS):
                assert str(action.default) in str(action.help), f"{parser.prog} {action.option_strings}"


if __name__ == "__main__":
    known = helps()
    PAGE.write_text(_SECTION.sub(lambda m: m["head"] + known[m["name"]] + m["tail"], PAGE.read_text()))

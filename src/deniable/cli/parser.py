"""Arguments: one `Parser` whose help reads the same on every Python, and types that refuse with a sentence.

The help text is documentation (`docs/reference/cli.md`) under test, so its layout must depend neither on the
terminal's width nor on the Python version; argparse's own does.
"""

import argparse
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

__all__ = ["Commands", "Parser", "one_of", "share", "whole"]

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str, **_: Any) -> None:
        super().__init__(prog, max_help_position=28, width=100)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return self._format_args(action, action.metavar or action.dest)  # type: ignore[arg-type]
        names = ", ".join(action.option_strings)
        return names if action.nargs == 0 else f"{names} {action.metavar}"


class Parser(argparse.ArgumentParser):
    """An argument parser that refuses in one sentence, without a page of usage."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Help, add_help=False, allow_abbrev=False, **settings)
        self.color = False  # read by Python 3.14 and later
        self.add_argument("-h", "--help", action="help", help="print this help")

    def _print_message(self, message: str, file: Any = None) -> None:
        # argparse swallows what goes wrong here; a full disk or a closed pipe must be seen by `main`.
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        what, _, rule = message.removeprefix("argument ").partition(": ")
        if message.startswith("argument ") and rule.startswith("must "):
            message = f"{what.rpartition('/')[2]} {rule}"
        elif rule.startswith("invalid choice: "):  # only commands are choices; the wording varies with the version
            message = f"there is no {what.lower()} {rule.removeprefix('invalid choice: ').partition(' (')[0][:60]}"
        print(f"deniable: {message}; see `{self.prog} --help`", file=sys.stderr)
        sys.exit(2)


def whole(low: int, high: int = 2**63 - 1) -> Callable[[str], int]:
    """A whole number in [low, high]; 1_000_000, 1e6 and 1,000,000 all mean a million.

    >>> whole(1)("1e6"), whole(1)("10,000")
    (1000000, 10000)
    """

    def parse(text: str) -> int:
        found = re.fullmatch(
            r"(\d{1,25})(?:e(\d\d?))?", text.replace(",", "").replace("_", ""), re.ASCII | re.IGNORECASE
        )
        if found is None:
            raise argparse.ArgumentTypeError(f"must be a whole number, got {text[:40]!r}")
        number = int(found[1] + "0" * int(found[2] or 0))
        if not low <= number <= high:
            bounds = f"at least {low}" if number < low else f"at most {high}"
            raise argparse.ArgumentTypeError(f"must be {bounds}, got {text[:40]}")
        return number

    return parse


def share(text: str) -> float:
    """A number between 0 and 1, both excluded.

    >>> share("0.95")
    0.95
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, for instance 0.95, got {text[:40]!r}")
    return value


def one_of(*names: str) -> Callable[[str], str]:
    """One of some names.

    >>> one_of("none", "projected")("projected")
    'projected'
    """

    def parse(text: str) -> str:
        if text not in names:
            raise argparse.ArgumentTypeError(f"must be one of {', '.join(names)}, got {text[:40]!r}")
        return text

    return parse

"""Arguments: one `Parser` whose help reads the same on every Python, and types that refuse with a sentence.

The help text is documentation (`docs/reference/cli.md`) under test, so its layout must depend neither on the
terminal's width nor on the Python version; argparse's own does.
"""

import argparse
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

from deniable.survey import TEXTS

Commands: TypeAlias = "argparse._SubParsersAction[Parser]"

_LINE = 100  # characters of a line of help


class _Help(argparse.RawDescriptionHelpFormatter):
    def __init__(self, prog: str, **_: Any) -> None:
        super().__init__(prog, max_help_position=28, width=_LINE)

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings:
            return self._format_args(action, action.metavar or action.dest)  # type: ignore[arg-type]
        names = ", ".join(action.option_strings)
        return names if action.nargs == 0 else f"{names} {action.metavar}"


def _told(action: argparse.Action) -> str:
    """An argument as a line of usage has it."""
    value = "" if action.nargs == 0 else str(action.metavar)
    words = [*action.option_strings[:1], value, f"[{value} ...]" if action.nargs == "+" else ""]
    told = " ".join(filter(None, words))
    return told if action.required else f"[{told}]"


class Parser(argparse.ArgumentParser):
    """An argument parser that refuses in one sentence, without a page of usage."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Help, add_help=False, allow_abbrev=False, **settings)
        self.color = False  # read by Python 3.14 and later
        self.add_argument("-h", "--help", action="help", help="print this help")

    def format_help(self) -> str:
        """The help. A usage that is not given lists all arguments, or the required ones if all do not fit a line."""
        if self.usage is None:
            shown = [action for action in self._actions if action.dest != "help"]
            shown.sort(key=lambda action: bool(action.option_strings))
            line = " ".join([self.prog, *map(_told, shown)])
            required = " ".join([self.prog, *(_told(action) for action in shown if action.required), "[options]"])
            self.usage = line if len(line) <= _LINE else required
        return super().format_help()

    def option(self, flags: str, metavar: str, help: str, type: Callable[[str], Any] = str, **more: Any) -> None:
        """Add an option with a value. Its default is told at the end of its help, unless the help says so itself.

        Parameters
        ----------
        flags : str
            Its names, blanks between them: "-o --output".
        metavar : str
            What stands for its value.
        help : str
            What it is.
        type : callable
            Turns the text into the value, or refuses it.
        **more
            What `add_argument` takes.
        """
        if more.get("default") not in (None, "", []) and "default" not in help:
            help += f" (default {more['default']})"
        self.add_argument(*flags.split(), metavar=metavar, help=help, type=type, **more)

    def flag(self, name: str, help: str) -> None:
        """Add an option without a value: it is given, or not."""
        self.add_argument(name, action="store_true", help=help)

    def survey(self, help: str = "a survey file (JSON)") -> None:
        """Add the argument SURVEY."""
        self.add_argument("survey", metavar="SURVEY", help=help)

    def json(self, instead_of: str = "text") -> None:
        """Add the option --json."""
        self.flag("--json", f"print JSON instead of {instead_of}")

    def symbols(self, name: str, help: str) -> None:
        """Add the options --NAME and --NAME-file, which `files.symbols_from` reads."""
        self.option(f"--{name}", "A,B,C", help)
        self.option(f"--{name}-file", "FILE", "the same, one a line, UTF-8 (- is standard input)")

    def text(self, default: str | None = None) -> None:
        """Add the option --text."""
        how = "how open answers are read: folded (no matter the case or blanks; default) or exact"
        self.option("--text", "WAY", how, one_of(*TEXTS), default=default)

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


def command(commands: Commands, name: str, run: Callable[[argparse.Namespace], int | None], **texts: Any) -> Parser:
    """Add a command; `usage`, `help` and `description` are its texts, `run` is called with the arguments."""
    parser = commands.add_parser(name, **texts)
    parser.set_defaults(run=run)
    return parser


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
    return number(text, "between 0 and 1, for instance 0.95", lambda value: 0 < value < 1)


def part(text: str) -> float:
    """A number from 0 to 1, both included.

    >>> part("1")
    1.0
    """
    return number(text, "a number from 0 to 1", lambda value: 0 <= value <= 1)


def positive(text: str) -> float:
    """A number above 0.

    >>> positive("2.5")
    2.5
    """
    return number(text, "a number above 0", lambda value: 0 < value < math.inf)


def number(text: str, rule: str, keeps: Callable[[float], bool]) -> float:
    """A number that keeps a rule, which is told where it does not.

    >>> number("2", "even", lambda value: value % 2 == 0)
    2.0
    """
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not keeps(value):
        raise argparse.ArgumentTypeError(f"must be {rule}, got {text[:40]!r}")
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

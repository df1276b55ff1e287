"""`deniable audit`: test whether the reports of a client have the distribution that its survey publishes."""

import argparse
import importlib
import json
import math
from typing import TYPE_CHECKING, Any

from deniable.cli.files import load_agreement, symbols_from
from deniable.cli.parser import Commands, command, whole
from deniable.cli.progress import Reporter
from deniable.cli.text import table
from deniable.errors import AuditError, DeniableError
from deniable.survey import Form

if TYPE_CHECKING:
    from deniable.audit import Devices

FOUND = 1  # exit code of an audit that found something


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "audit",
        _audit,
        usage="deniable audit SURVEY [--command COMMAND | --python MODULE:NAME] [options]",
        help="test a client from outside, and print a certificate",
        description=(
            "Ask many new devices of a client, and test the joint law of the bytes that they send. The certificate\n"
            "says what is proved of the survey, the largest epsilon that the reports prove, and what is VIOLATED.\n\n"
            "  deniable audit survey.json                                  this package's own client\n"
            "  deniable audit survey.json --command 'node client.mjs'      any client, in any language\n\n"
            "The command is one process. Each line that it reads is for a new device: a value, or the same one twice\n"
            "with a tab between, which that device answers one after the other. For each line it prints a line with\n"
            "as many packed reports, in base64 or hexadecimal, a tab between. Exit code 1 if anything was found."
        ),
    )
    parser.survey()
    parser.option("--command", "COMMAND", "the client, as a shell would write it; no shell runs")
    parser.option("--python", "MODULE:NAME", "the client, as a function: a list of values in, packed reports out")
    parser.option("--trials", "N", "devices to ask", whole(1000, 10**9), default=1_000_000)
    parser.symbols("values", "what to ask (default: four of the survey's answers)")
    parser.flag("--once", "ask each device once: for clients that keep no state")
    parser.option("--alpha", "P", "chance to accuse an honest client, at most", default="1e-6")
    parser.json()


def _audit(args: argparse.Namespace) -> int:
    from deniable.audit import Command, audit

    survey = load_agreement(args.survey)
    if isinstance(survey, Form):
        return _audit_form(args, survey)
    if args.command is not None and args.python is not None:
        raise DeniableError("--command and --python must not both be given")
    client: Command | Devices | None = None
    if args.command is not None:
        client = Command(args.command)
    elif args.python is not None:
        client = _function(args.python)
    named = symbols_from(args, "values")
    values = None if named is None else list(range(named)) if isinstance(named, int) else _of(survey.symbols, named)
    with Reporter("asking") as report:
        certificate = audit(
            survey,
            client,
            trials=args.trials,
            values=values,
            twice=not args.once,
            alpha=_chance(args.alpha),
            progress=report.part("asking"),
        )
    if args.json:
        print(json.dumps(certificate.to_json(), indent=2, ensure_ascii=False))
    else:
        print(table([], certificate.lines(), "ll", wrap=100))
    return FOUND if certificate.violated else 0


def _audit_form(args: argparse.Namespace, made: Form) -> int:
    from deniable.audit import audit_form

    if any((args.command, args.values, args.values_file, args.once)):
        raise DeniableError("--command, --values and --once must not be given for a form; use --python for its client")
    client: Any = None if args.python is None else _function(args.python)
    found = audit_form(made, client, trials=args.trials, alpha=_chance(args.alpha))
    print(json.dumps(found.to_json(), indent=2) if args.json else table([], found.lines(), "ll", wrap=100))
    return FOUND if found.findings else 0


def _of(symbols: tuple[object, ...] | None, named: list[str]) -> list[object]:
    """The survey's own symbols for what was typed: "7" is the number 7 where that is an answer and the text is not."""
    if symbols is None:
        return list(named)
    numbers = {str(symbol): symbol for symbol in symbols if isinstance(symbol, int)}
    return [name if name in symbols else numbers.get(name, name) for name in named]


def _chance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < 0.5:
        raise DeniableError(f"--alpha must be a number between 0 and 0.5, got {text[:40]!r}")
    return value


def _function(name: str) -> "Devices":
    module, _, attribute = name.partition(":")
    try:
        found: Devices = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as problem:
        raise AuditError(f"--python must be MODULE:NAME of a function, got {name[:80]!r}: {problem}") from None
    return found

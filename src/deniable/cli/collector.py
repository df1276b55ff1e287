"""`deniable survey register | list | close | reopen | delete`: the surveys of a running collector."""

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from deniable.cli.files import load_survey
from deniable.cli.parser import Commands, command, one_of, whole
from deniable.cli.text import fit, several, shown, table
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.cli.remote import RemoteCollector

URL, TOKEN_FILE = "http://127.0.0.1:8765", "collector/admin-token"

_RULES = (
    *("window", "minimum", "results", "uploads", "horizon", "retention", "rate"),
    *("closes", "introduction", "thanks", "frames"),
)


def add_actions(actions: Commands) -> None:
    """The actions of `deniable survey` that need a collector."""
    register = command(
        actions,
        "register",
        _register,
        usage="deniable survey register FILE [rules] [--collector URL] [--token-file FILE]",
        help="tell a collector to take reports for a survey",
        description=(
            "Register a survey at a collector and print the link for the people who answer.\n\n"
            "  deniable survey register survey.json --minimum 50 --closes 2026-12-24T18:00"
        ),
    )
    register.add_argument("file", metavar="FILE", help="a survey file (JSON)")
    register.option("--window", "W", "hour, day or week (default: the survey's, or day)", one_of("hour", "day", "week"))
    register.option("--minimum", "N", "results are shown from N reports on (default 100)", whole(0))
    register.option("--results", "WHO", "private (default) or public", one_of("private", "public"))
    register.option("--uploads", "WHO", "open (default), or with a token", one_of("open", "token"))
    register.option("--horizon", "DAYS", "after which report ids are forgotten (default 30)", whole(1))
    register.option("--retention", "DAYS", "after which counts are deleted (default never)", whole(1))
    register.option("--rate", "N", "reports a second, at most (default no limit)", whole(1))
    register.option("--closes", "TIME", "2026-12-24 or 2026-12-24T18:00, in UTC: no report from then on")
    register.option("--introduction", "TEXT", "plain text above the question on the answer page")
    register.option("--thanks", "TEXT", "plain text after an answer")
    register.option("--frames", "SITES", "that may show the page in a frame: https://www.example.org", str.split)
    listing = command(
        actions,
        "list",
        _list,
        help="list the surveys of a collector",
        description="List the surveys of a collector: name, digest, state, answers, closing date.",
    )
    listing.json("a table")
    close = command(
        actions,
        "close",
        _close,
        help="take no more reports for a survey",
        description=(
            "Close a survey: reports are refused, counts stay. `deniable survey reopen` opens it again, until as many\n"
            "days have passed as its horizon has (30), or at once never with --for-good."
        ),
    )
    close.flag("--for-good", "forget its report ids now; it cannot be opened again")
    reopen = command(
        actions,
        "reopen",
        _reopen,
        help="take reports for a closed survey again",
        description="Open a closed survey again. A closing date that has passed is taken off.",
    )
    delete = command(
        actions,
        "delete",
        _delete,
        help="delete a survey with its data",
        description=(
            "Delete a survey with its counts, report ids and tokens. There is no way back; backups keep what they have."
        ),
    )
    delete.flag("--yes", "do not ask")
    for parser in (close, reopen, delete):
        parser.survey("its name, its digest or how that starts, or its file")
    for parser in (register, listing, close, reopen, delete):
        parser.option("--collector", "URL", f"where the collector is (default $DENIABLE_COLLECTOR, or {URL})")
        secret = f"holds the administrator's secret (default $DENIABLE_TOKEN_FILE, or {TOKEN_FILE})"
        parser.option("--token-file", "FILE", secret)


def _collector(args: argparse.Namespace) -> "RemoteCollector":
    from deniable.cli.remote import RemoteCollector  # late: no other command needs a network stack

    url = args.collector or os.environ.get("DENIABLE_COLLECTOR") or URL
    return RemoteCollector(url, args.token_file or os.environ.get("DENIABLE_TOKEN_FILE") or TOKEN_FILE)


def _named(told: dict[str, Any]) -> str:
    name, digest = told["survey"].get("name", ""), told["digest"][:8]
    return f"{fit(shown(name), 60)} ({digest})" if name else digest


def _state(told: dict[str, Any]) -> str:
    return "closed for good" if told["final"] else str(told["state"])


def _register(args: argparse.Namespace) -> None:
    survey = load_survey(args.file)
    collector = _collector(args)
    rules = {name: value for name in _RULES if (value := getattr(args, name)) is not None}
    told = collector.ask("POST", "/v1/surveys", {"survey": json.loads(survey.to_json()), "rules": rules})
    print(f"registered {_named(told)}, {_state(told)}")
    print(f"answer it:    {collector.url}/answer/{survey.digest}")
    print(f"its results:  {collector.url}/results/{survey.digest}")


def _list(args: argparse.Namespace) -> None:
    surveys = _collector(args).surveys()
    if args.json:
        print(json.dumps({"surveys": surveys}, indent=2))
        return
    if not surveys:
        print("no survey is registered; `deniable survey register FILE` does that")
        return
    rows = [
        [
            shown(one["survey"].get("name") or "(no name)"),
            one["digest"][:12],
            _state(one),
            f"{one['reports']:,}",
            one["rules"]["closes"] or "",
        ]
        for one in surveys
    ]
    print(table(["name", "digest", "state", "answers", "closes"], rows, "lllrl"))


def _close(args: argparse.Namespace) -> None:
    collector = _collector(args)
    told = collector.ask("POST", collector.path_of(args.survey) + "/close", {"final": args.for_good})
    print(f"{_named(told)} is {_state(told)}")


def _reopen(args: argparse.Namespace) -> None:
    collector = _collector(args)
    told = collector.ask("POST", collector.path_of(args.survey) + "/reopen", {})
    closes = told["rules"]["closes"]
    print(f"{_named(told)} is {_state(told)}" + (f" until {closes}" if closes else ""))


def _delete(args: argparse.Namespace) -> None:
    collector = _collector(args)
    path = collector.path_of(args.survey)
    name = _named(collector.ask("GET", path))
    if not args.yes:
        if not sys.stdin.isatty():
            raise DeniableError(f"--yes must be given to delete {name} where nobody can be asked")
        count = next(one["reports"] for one in collector.surveys() if path.endswith(one["digest"]))
        print(
            f"{name} and its {several(count, 'answer')}, its report ids and its tokens will be gone for good.\n"
            "Type delete to go on: ", end="", file=sys.stderr, flush=True,
        )  # fmt: skip
        if sys.stdin.readline().strip() != "delete":
            raise DeniableError(f"{name} must be confirmed with the word delete; nothing was deleted")
    told = collector.ask("DELETE", path)
    print(f"deleted {name} and its {several(told['reports'], 'answer')}")

"""`deniable store backup | restore | check | export | merge`: what an operator does to a collector's store."""

import argparse
import contextlib
import sqlite3
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from deniable.cli.files import writing
from deniable.cli.output import add_force, put, target, told, writes
from deniable.cli.parser import Commands, Parser
from deniable.errors import DeniableError

if TYPE_CHECKING:
    from deniable.service import Store
    from deniable.tally import Tally

__all__ = ["add"]


def add(commands: Commands) -> None:
    parser = commands.add_parser(
        "store",
        usage="deniable store backup|restore|check|export|merge ...",
        help="back up, restore, check, export and merge a collector's store",
        description="What an operator does to the store of `deniable serve`.",
    )
    parser.set_defaults(run=None, parser=parser)
    actions = parser.add_subparsers(title="actions", metavar="ACTION", prog="deniable store", parser_class=Parser)
    one = actions.add_parser(
        "backup",
        usage="deniable store backup STORE FILE [--force]",
        help="copy a store into one file, while it runs",
        description="Copy an embedded store into one file. The collector may go on; for PostgreSQL use pg_dump.",
    )
    one.add_argument("store", metavar="STORE", help="a store's directory")
    one.add_argument("file", metavar="FILE", help="where to write (- is standard output)")
    add_force(one)
    writes(one, file=True)
    one.set_defaults(run=_backup)
    two = actions.add_parser(
        "restore",
        usage="deniable store restore FILE STORE [--complete]",
        help="make a store from a backup",
        description=(
            "Make an embedded store from a backup file. What readers had not been shown when it was made they see\n"
            "again with the survey's minimum of new reports: they may have seen it since, with reports that are lost."
        ),
    )
    two.add_argument("file", metavar="FILE", help="what `deniable store backup` wrote")
    two.add_argument("store", metavar="STORE", help="a directory without a store")
    two.add_argument(
        "--complete", action="store_true", help="the collector had stopped before the backup: nothing is lost"
    )
    two.set_defaults(run=_restore)
    three = actions.add_parser(
        "check",
        usage="deniable store check STORE",
        help="check that counts, reports and counters agree",
        description="Check every survey of a store. Exit code 2 and one line for each fault if it is not sound.",
    )
    three.add_argument("store", metavar="STORE", help="a store's directory, or postgres://...")
    three.set_defaults(run=_check)
    four = actions.add_parser(
        "export",
        usage="deniable store export STORE DIGEST -o FILE [--from TIME] [--to TIME] [--force]",
        help="write a survey's tally to a file",
        description="Write the tally of a survey, for `deniable decode`; with --from and --to of some windows only.",
    )
    four.add_argument("store", metavar="STORE", help="a store's directory, or postgres://...")
    four.add_argument("digest", metavar="DIGEST", help="the survey's digest, or how it starts")
    four.add_argument("-o", "--output", metavar="FILE", required=True, help="the tally file (- is standard output)")
    add_force(four)
    writes(four, output=True)
    four.add_argument("--from", dest="first", metavar="TIME", help="2026-11-15 or 2026-11-15T14, in UTC")
    four.add_argument("--to", dest="last", metavar="TIME", help="the same; windows that start before it")
    four.set_defaults(run=_export)
    five = actions.add_parser(
        "merge",
        usage="deniable store merge STORE OTHER [OTHER ...]",
        help="add other stores' counts to one",
        description=(
            "Take over the counts of other embedded stores. Each counts once, however often it is merged: a later\n"
            "state replaces the earlier one. No collector may be running on STORE; the others may go on."
        ),
    )
    five.add_argument("store", metavar="STORE", help="a store's directory, or postgres://...")
    five.add_argument("others", metavar="OTHER", nargs="+", help="directories of other stores")
    five.set_defaults(run=_merge)


def _backup(args: argparse.Namespace) -> None:
    from deniable.service import backup

    with _readable(args.store), writing(told(args.file)):
        size = backup(args.store, target(args.file), replace=args.force)
    print(f"wrote {told(args.file)}: {size:,} bytes")


def _restore(args: argparse.Namespace) -> None:
    from deniable.service import restore

    with writing(args.store):
        held = restore(args.file, args.store, complete=args.complete)
    more = f"; readers see {held:,} reports of it again with new ones" if held else ""
    print(f"restored {args.store}{more}")


def _check(args: argparse.Namespace) -> None:
    from deniable.service import open_store

    with _readable(args.store):
        store = open_store(args.store, write=False)
        faults = list(store.check())
        for fault in faults:
            print(fault, file=sys.stderr)
        if faults:
            raise DeniableError(f"{args.store} must be sound, got {len(faults)} faults; restore a backup")
        surveys = len(store.entries())
        store.close()
    print(f"{args.store} is sound: {surveys} surveys")


@contextlib.contextmanager
def _readable(name: str) -> Iterator[None]:
    """Say in one sentence that a store cannot be read."""
    from deniable.service import Unavailable

    try:
        yield
    except Unavailable as problem:
        raise DeniableError(f"{name} must be a store that can be read: {problem.detail or problem}") from None
    except sqlite3.Error as problem:
        raise DeniableError(f"{name} must be a sound store: {problem}; restore a backup") from None


def _export(args: argparse.Namespace) -> None:
    from deniable.service import read_store

    with _readable(args.store):
        tally = _tally(read_store(args.store), args)
    put(args.output, tally.to_bytes(), args)
    print(f"wrote {told(args.output)}: {tally}")


def _tally(store: "Store", args: argparse.Namespace) -> "Tally":
    from deniable.service import hour_of

    found = [entry for entry in store.entries() if args.digest and entry.survey.digest.startswith(args.digest)]
    if len(found) != 1:
        raise DeniableError(f"DIGEST must name one survey of {args.store}, got {len(found)} that start so")
    first = None if args.first is None else hour_of(args.first)
    tally = store.tally(found[0], first, None if args.last is None else hour_of(args.last))
    store.close()
    return tally


def _merge(args: argparse.Namespace) -> None:
    from deniable.service import merge, open_store

    with _readable(args.store):
        store = open_store(args.store)
        total = merge(store, args.others)
        store.close()
    print(f"{args.store} holds {total:,} reports of other stores")

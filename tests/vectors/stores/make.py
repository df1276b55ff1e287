"""Write a store as one version of the collector writes it, and what that version says of it.

The files beside this one were written by the last commit of each layout, with its own code:

    git worktree add --detach ../old COMMIT
    PYTHONPATH=../old/src python tests/vectors/stores/make.py NAME postgresql://...

NAME is that of the files. The address is one of an empty database; `pg_dump` must be on the path.

| name | commit | what the layout is |
|---|---|---|
| layout1 | b565f54 | the first one |
| layout2 | b9c56c8 | a closed survey may keep its ids; rules may hold a closing date and texts |
| layout3-unsealed | 5ea9d15 | `survey.shown`; counts carry a checksum |
| layout3 | e9e5637 | every row carries a checksum, but for ids on PostgreSQL |

This script uses nothing of the tests, and only those names of the collector that every version has.
"""

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any

import deniable as dn
from deniable.service.backends import open_store
from deniable.service.entries import Rules, Token, Upload
from deniable.service.sqlite import FILE, SQLiteStore

FOLDER = Path(__file__).parent
NOW = 493_000 // 24 * 24  # an hour of 2026, the first of its day
DAYS = dn.orr(epsilon=1, cells=256, cohorts=4, seed=bytes(16), name="days of 99, 1, 100 and 10")
PAID = dn.krr(symbols=["a", "b", "c"], epsilon=1, name="with tokens")
BITS = dn.krappor(symbols=list(range(12)), epsilon=1, name="bits")
OVER = dn.krr(symbols=["a", "b"], epsilon=1, name="closed")
SHUT = dn.krr(symbols=["a", "b"], epsilon=2, name="closed on a day")


def report(survey: dn.Survey, number: int) -> bytes:
    """A report that can be told apart from others where the survey has that many cells."""
    if survey == DAYS:
        return dn.Report(survey, number // 256, bytes([number % 256])).pack()
    symbols = survey.symbols or ()
    return dn.Client(survey, memoize=False).report(symbols[number % len(symbols)]).pack()


def name_of(number: int) -> bytes:
    return b"%016d" % number


def fill(store: Any, keep: list[Any], layout: int) -> None:
    """Surveys of several kinds and states. `keep` gets every upload, to be sent again."""

    def send(entry: Any, numbers: range, hours: int, **more: Any) -> None:
        packed = [report(entry.survey, number) for number in numbers]
        named = [name_of(number) + one for number, one in zip(numbers, packed, strict=True)]
        records = b"".join(packed if "batch" in more else named)
        store.write([Upload(entry, records, **more)], hours=hours)
        keep.append([entry.survey.digest, records.hex(), hours, {k: _text(v) for k, v in more.items()}])

    days, _ = store.create(DAYS, Rules(retention=3, horizon=5))
    for place, numbers in enumerate((range(99), range(99, 100), range(100, 200), range(200, 210))):
        send(days, numbers, NOW + 24 * place)
    send(days, range(210, 215), NOW + 72, day=NOW // 24 + 3)
    store.fold(days)
    send(days, range(215, 220), NOW + 72)
    store.write([Upload(days, name_of(3) + report(DAYS, 3))], hours=NOW + 72)  # a duplicate is counted as such
    store.write([Upload(days, name_of(900) + b"\x07" + report(DAYS, 3)[1:])], hours=NOW + 72)  # as is a bad version
    paid, _ = store.create(PAID, Rules(window="hour", minimum=5, uploads="token"))
    store.add_token(Token("a" * 64, paid.key, "upload", 50, 0, "build 7"))
    store.add_token(Token("b" * 64, paid.key, "read", None, 0, "readers"))
    for hour in range(3):
        send(paid, range(300 + 6 * hour, 306 + 6 * hour), NOW + hour, token="a" * 64)
    bits, _ = store.create(BITS, Rules(horizon=2))
    send(bits, range(400, 440), NOW, day=NOW // 24)
    send(bits, range(440, 470), NOW, batch=name_of(440))
    for day in range(3, 6):
        send(bits, range(470 + day, 471 + day), NOW + 24 * day, day=NOW // 24 + day)
    store.take_shard("elsewhere", BITS, Rules(horizon=2), _shard(bits))
    store.purge(today=NOW // 24 + 3)
    over, _ = store.create(OVER, Rules())
    send(over, range(600, 620), NOW)
    store.end(OVER.digest)
    if layout > 1:
        rules = Rules.read({"closes": "2027-01-01", "introduction": "Hello", "thanks": "Goodbye", "minimum": 4})
        shut, _ = store.create(SHUT, rules)
        send(shut, range(700, 709), NOW)
        store.end(SHUT.digest, day=NOW // 24)
    if layout > 2:
        store.show(days, hour=NOW + 72)
        store.show(paid, hour=NOW + 2)


def _shard(entry: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder, closing(SQLiteStore(folder)) as other:
        theirs, _ = other.create(BITS, Rules(horizon=2))
        packed = [name_of(500 + number) + report(BITS, number) for number in range(25)]
        other.write([Upload(theirs, b"".join(packed))], hours=NOW)
        return other.own_tallies(theirs)


def _text(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def told(store: Any) -> Any:
    """What a store says of its surveys."""
    return {
        entry.survey.digest: {
            "name": entry.survey.name,
            "closed": entry.closed,
            "floor": entry.floor,
            "tally": store.tally(entry).to_bytes().hex(),
            "windows": {str(hour): counters for hour, counters in store.windows(entry).items()},
            "tokens": [list(astuple(token)) for token in store.tokens(entry)],
        }
        for entry in store.entries()
    }


def again(store: Any, keep: list[Any]) -> Any:
    """What becomes of every upload that is sent again."""
    entries = {entry.survey.digest: entry for entry in store.entries()}
    found = []
    for digest, records, hours, more in keep:
        options = more | ({"batch": bytes.fromhex(more["batch"])} if "batch" in more else {})
        (outcome,) = store.write([Upload(entries[digest], bytes.fromhex(records), **options)], hours=hours)
        found.append(list(astuple(outcome)) if hasattr(outcome, "accepted") else "ended")
    return json.loads(json.dumps(found))


def main(name: str, address: str) -> None:
    layout = int(name.removeprefix("layout")[0])
    with tempfile.TemporaryDirectory() as folder:
        here, copy = Path(folder) / "here", Path(folder) / "copy"
        kept: list[Any] = []
        store = SQLiteStore(here)
        fill(store, kept, layout)
        said = told(store)
        # As a killed process leaves it: closing would fold what was appended.
        with closing(sqlite3.connect(here / FILE)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(here / FILE, FOLDER / f"{name}.sqlite")
        copy.mkdir()
        shutil.copy(here / FILE, copy / FILE)
        known = {"sqlite": {"sent": kept, "told": said, "again": again(SQLiteStore(copy), kept)}}
    kept = []
    there = open_store(address)
    fill(there, kept, layout)
    said = told(there)
    command = ["pg_dump", "--inserts", "--no-owner", "--no-privileges", address]
    dump = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line for line in dump.splitlines() if line and not line.startswith(("--", "\\"))]
    (FOLDER / f"{name}.sql").write_text("\n".join(lines) + "\n")
    known["postgres"] = {"sent": kept, "told": said, "again": again(there, kept)}
    there.close()
    (FOLDER / f"{name}.json").write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

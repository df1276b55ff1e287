"""Upgrades that are killed, one after the other: run as `python -m tests.killed_upgrade STORE`.

A child process opens the store, which upgrades it, and kills itself at one point with SIGKILL: before a statement,
between two parts of the backup, before or after a system call that touches the disk. The next child finds what that one
has left and gets one step further, until one is through. One line of JSON a child says whether it was killed.
"""

import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from itertools import count
from typing import Any

import psycopg

from deniable.service.backends import open_store
from deniable.service.database import Database, Session
from deniable.service.migrations import STEPS
from tests.crashing import Bomb, child

Step = Callable[[Database, Session, int], None]


def arm(bomb: Bomb) -> None:
    bomb.arm()

    class Connection(sqlite3.Connection):
        def execute(self, *args: Any) -> sqlite3.Cursor:
            bomb.tick()
            return super().execute(*args)

        def backup(self, target: sqlite3.Connection, **_: Any) -> None:
            super().backup(target, pages=4, progress=lambda *_: bomb.tick())

    connect = sqlite3.connect
    sqlite3.connect = lambda *args, **options: connect(*args, factory=Connection, **options)  # type: ignore[assignment]
    execute = psycopg.Connection.execute

    def bombed(self: Any, *args: Any, **options: Any) -> Any:
        bomb.tick()
        return execute(self, *args, **options)

    psycopg.Connection.execute = bombed  # type: ignore[method-assign]


def commit_each_step() -> None:
    """Mutant: each step of an upgrade is a transaction of its own."""

    def committed(step: Step) -> Step:
        def stepped(database: Database, session: Session, hour: int) -> None:
            step(database, session, hour)
            session.run("COMMIT")
            session.run("BEGIN")

        return stepped

    STEPS.update({number: committed(step) for number, step in STEPS.items()})


def upgrade(where: str, at: int) -> None:
    bomb = Bomb(at)
    arm(bomb)
    open_store(where)
    bomb.tick()  # just after the commit


def main(where: str, mutant: str = "") -> None:
    if mutant:
        commit_each_step()
    for at in count(1):
        status, _ = child(lambda _: upgrade(where, at))  # noqa: B023
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        print(json.dumps({"at": at, "killed": killed, "status": status}), flush=True)
        if not killed or input() == "enough":
            return


if __name__ == "__main__":
    main(*sys.argv[1:])

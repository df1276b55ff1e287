"""A device that is killed at one point after another: run as `python -m tests.crashing SURVEY FOLDER URL`.

For each point a child process lives a small life (create the state, queue, send, queue, send) and is killed with
SIGKILL at that point: before or after a system call that touches the disk, or half-way through a write. A second child
then opens what is left and sends the rest. One line of JSON a point says what each of them saw.
"""

import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deniable as dn

CALLS = ("open", "write", "pwrite", "fsync", "replace", "unlink", "close")


class Bomb:
    """Counts the points passed, and kills the process at the one it is set to."""

    def __init__(self, at: int) -> None:
        self.at, self.passed = at, 0

    def tick(self) -> None:
        self.passed += 1
        if self.passed == self.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def arm(self) -> None:
        for name in CALLS:
            setattr(os, name, self.around(getattr(os, name)))
        real = os.fdopen

        def fdopen(*args: Any, **settings: Any) -> Any:
            file = real(*args, **settings)
            return Torn(file, self) if "w" in args[1] else file

        os.fdopen = fdopen

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **settings: Any) -> Any:
            self.tick()
            result = call(*args, **settings)
            self.tick()
            return result

        return wrapped


class Torn(io.RawIOBase):
    """A file whose writes can end half-way."""

    def __init__(self, file: Any, bomb: Bomb) -> None:
        self.file, self.bomb = file, bomb

    def write(self, data: Any) -> int:
        half = len(data) // 2
        self.file.write(data[:half])
        self.file.flush()
        self.bomb.tick()
        return half + int(self.file.write(data[half:]))

    def flush(self) -> None:
        if not self.file.closed:
            self.file.flush()

    def fileno(self) -> int:
        return int(self.file.fileno())

    def close(self) -> None:
        self.file.close()
        super().close()


def live(survey: dn.Survey, path: Path, url: str, log: int, at: int) -> None:
    """The first child. What it has been told goes to the log, past the bomb."""
    say = os.write
    bomb = Bomb(at)
    bomb.arm()

    def note(**what: object) -> None:
        say(log, json.dumps(what).encode() + b"\n")

    client = dn.Client(survey, state=path)
    assert client._secret is not None
    note(secret=client._secret.hex(), cohort=client.cohort)
    for answers in (("a", "b"), ("a",)):
        for answer in answers:
            note(queued=client.queue(answer).pack().hex())
        found = client.send(url, attempts=1)
        note(sent=found.accepted, refused=len(found.refused))
    note(points=bomb.passed)


def recover(survey: dn.Survey, path: Path, url: str, log: int) -> None:
    """The second child: what a restarted app finds, and the rest sent."""
    client = dn.Client(survey, state=path)
    assert client._secret is not None
    found = client.send(url, attempts=1)
    account = client.ledger[survey]
    left: dict[str, object] = {"waiting": len(client.outbox), "problem": found.problem, "account": account.memoised}
    left["refused"] = dict(client.status().refused)
    files = sorted(entry.name for entry in path.parent.iterdir())
    line = {"secret": client._secret.hex(), "cohort": client.cohort, "files": files} | left
    os.write(log, json.dumps(line).encode() + b"\n")


def child(run: Callable[[int], None]) -> tuple[int, list[dict[str, Any]]]:
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        os.close(reading)
        code = 1
        try:
            run(writing)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as lines:
        notes = [json.loads(line) for line in lines]
    return os.waitpid(pid, 0)[1], notes


def main(survey_path: str, folder: str, url: str) -> None:
    survey, at = dn.Survey.load(survey_path), 0
    while True:
        at += 1
        path = Path(folder) / str(at) / "me.json"
        path.parent.mkdir()
        place = f"{url}/{at}"
        status, told = child(lambda log: live(survey, path, place, log, at))  # noqa: B023
        after_status, after = child(lambda log: recover(survey, path, place, log))  # noqa: B023
        killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
        line = {"at": at, "killed": killed, "told": told, "after": after, "recovered": after_status == 0}
        print(json.dumps(line), flush=True)
        if not killed:
            return


if __name__ == "__main__":
    main(*sys.argv[1:])

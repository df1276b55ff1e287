"""Clients that leave something of an answer behind: `tests/forensics.py`, which watches all others, must see it."""

import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.client import client as room
from deniable.client import delivery
from deniable.client import state as files
from deniable.client.client import Client
from deniable.errors import AlphabetError
from tests.failing_collector import collecting
from tests.forensics import watching

LOGGER = logging.getLogger("deniable.client")
OPEN = dn.orr(epsilon=1, cells=8, cohorts=500, seed=bytes(16))


def logs_the_answer(patch: pytest.MonkeyPatch) -> None:
    real = Client._randomized
    patch.setattr(LOGGER, "propagate", False)  # what a test logs travels to whoever runs it, and not every text can

    def leaking(self: Client, value: object) -> Any:
        LOGGER.debug("randomising %s", value)
        return real(self, value)

    patch.setattr(Client, "_randomized", leaking)


def logs_the_secret(patch: pytest.MonkeyPatch) -> None:
    real = Client._permanent_words

    def leaking(self: Client, cells: tuple[int, ...]) -> Any:
        LOGGER.debug("%r", self._secret)
        return real(self, cells)

    patch.setattr(Client, "_permanent_words", leaking)


def audits_the_answer(patch: pytest.MonkeyPatch) -> None:
    real = Client._randomized

    def leaking(self: Client, value: object) -> Any:
        sys.audit("deniable.report", value)
        return real(self, value)

    patch.setattr(Client, "_randomized", leaking)


def keeps_the_answer(patch: pytest.MonkeyPatch) -> None:
    real = Client._randomized
    patch.setattr(room, "_last", [], raising=False)

    def leaking(self: Client, value: object) -> Any:
        room._last.append(value)  # type: ignore[attr-defined]
        return real(self, value)

    patch.setattr(Client, "_randomized", leaking)


def keeps_the_answer_in_a_function(patch: pytest.MonkeyPatch) -> None:
    real = Client._randomized

    def leaking(self: Client, value: object) -> Any:
        found = real(self, value)
        wait = exec_closure(value)
        patch.setattr(delivery, "_backoff", wait)
        return found

    patch.setattr(Client, "_randomized", leaking)


def exec_closure(value: object) -> Callable[[int], float]:
    """A function of the package that has seen the answer."""
    made: dict[str, Any] = {"__name__": "deniable.client.delivery"}
    exec("def outer(value):\n    def backoff(_):\n        return 1.0 if value else 0.0\n    return backoff\n", made)
    found: Callable[[int], float] = made["outer"](value)
    return found


def chains_the_answer(patch: pytest.MonkeyPatch) -> None:
    def leaking(self: Client, value: object) -> Any:
        try:
            raise ValueError(f"{value} is not known")
        except ValueError:
            raise AlphabetError("symbol must be known") from None

    patch.setattr(Client, "_randomized", leaking)


def shows_the_answer_in_a_frame(patch: pytest.MonkeyPatch) -> None:
    real = Client.report

    def leaking(self: Client, value: object) -> Any:
        return real(self, value)

    code = leaking.__code__.replace(co_filename=room.__file__)
    patch.setattr(leaking, "__code__", code)
    patch.setattr(Client, "report", leaking)


def shows_the_secret_in_a_frame(patch: pytest.MonkeyPatch) -> None:
    def leaking(self: Client, _: object) -> Any:
        secret = self._memory.secret
        assert secret is None

    patch.setattr(leaking, "__code__", leaking.__code__.replace(co_filename=room.__file__))
    patch.setattr(Client, "_same", leaking)


def writes_the_answer(patch: pytest.MonkeyPatch) -> None:
    real = Client._randomized

    def leaking(self: Client, value: object) -> Any:
        if self._file is not None:
            self._file.path.with_name("cache").write_text(str(value).encode().hex())
        return real(self, value)

    patch.setattr(Client, "_randomized", leaking)


def writes_a_readable_copy(patch: pytest.MonkeyPatch) -> None:
    real = files.StateFile._write

    def leaking(self: files.StateFile, data: bytes) -> None:
        real(self, data)
        copy = self.path.with_name("copy.json")
        copy.write_bytes(data)
        copy.chmod(0o644)

    patch.setattr(files.StateFile, "_write", leaking)


FAULTS: dict[Callable[[pytest.MonkeyPatch], None], str] = {
    logs_the_answer: "a log",
    logs_the_secret: "a log",
    audits_the_answer: "an audit event",
    keeps_the_answer: "the memory",
    keeps_the_answer_in_a_function: "the memory",
    chains_the_answer: "an error",
    shows_the_answer_in_a_frame: "the local name value of leaking",
    shows_the_secret_in_a_frame: "the local name secret of leaking",
    writes_the_answer: "the file cache",
    writes_a_readable_copy: "the mode of copy.json",
}


def use(folder: Path) -> None:
    """A day in the life of a device, with everything that can go wrong on it."""
    client = dn.Client(OPEN, state=folder / "me.json")
    for attempt in (client.report, client.queue):
        with suppress(dn.DeniableError, AssertionError):
            attempt("rosebud")
    with collecting(OPEN) as collector, suppress(dn.DeniableError, AssertionError):
        client.send(collector.url)
    for broken in (dn.Client(OPEN), dn.Client(OPEN, cap="0.5")):
        for value in ("rosebud", "rosebud \ud800"):
            with suppress(dn.DeniableError):
                broken.report(value)


def test_a_client_without_a_fault_leaves_nothing(tmp_path: Path) -> None:
    with watching(tmp_path) as watch:
        use(tmp_path)
    assert watch.findings == []
    assert watch.walks > 8
    assert watch.secrets
    assert "rosebud" in watch.needles


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_a_client_that_leaves_something_behind_is_found_out(
    plant: Callable[[pytest.MonkeyPatch], None], tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        plant(patch)
        with watching(tmp_path) as watch:
            use(tmp_path)
    assert FAULTS[plant] in watch.findings

"""The comparison with other libraries measures what it says, and says what it could not measure."""

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import deniable as dn
from benchmarks import limits, peers
from benchmarks.page_tables import slopes
from benchmarks.peers import environments, ours, process
from benchmarks.peers.comparing import DEFAULT, UNBIASED, behind, compared
from benchmarks.peers.figures import Cell, Figure, read, write
from benchmarks.peers.measuring import MECHANISMS, _at
from benchmarks.peers.worker import Worker

CELL = Cell("encode", "GRR", 256, 1.0)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_numpy_limit_does_the_work(mechanism: str) -> None:
    """Its estimate is the population, within six standard deviations of an honest one's."""
    rng, k, n = np.random.default_rng(3), 16, 200_000
    population = dn.lab.geometric(k, mean=k / 5)
    codes = rng.choice(k, n, p=population)
    found = limits.ESTIMATE[mechanism](limits.ENCODE[mechanism](codes, k, 2.0, rng), k, 2.0, n)
    assert np.abs(found - population).max() < 6 * math.sqrt(3.0 / n)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_ours_does_the_same_work(mechanism: str) -> None:
    k, n = 16, 20_000
    asked = ours.survey(mechanism, k, 2.0)
    tally = dn.count(asked, dn.privatize(asked, np.arange(n) % k))
    for decoder in ("default", "unbiased"):
        found = ours.estimated(tally, k, decoder).probabilities
        assert len(found) == k
        assert np.abs(found - 1 / k).max() < 0.1
    assert asked.cohorts * (asked.cells - 1) >= 8 * k or mechanism != "OLH"


def fake(clock: list[float] | None = None) -> SimpleNamespace:
    """A library that takes ten microseconds a report by `clock`, and none at all without one."""

    def encode(value: int) -> int:
        if value < 0:
            raise ValueError("no such answer")
        return value

    def estimate(reports: list[int], decoder: str) -> list[float]:
        if clock is not None:
            clock[0] += 1e-5 * len(reports)
        return [reports.count(value) / len(reports) for value in range(4)]

    return SimpleNamespace(
        make=lambda *_: (encode, estimate), DECODERS={"unbiased": 0}, cells=lambda m, report: [report]
    )


def worker(peer: Any) -> Worker:
    made = Worker.__new__(Worker)
    made.peer = peer
    return made


def test_a_worker_times_its_library() -> None:
    found = worker(fake())
    one = found.encode("GRR", 4, 1.0, 0.002)
    assert one["n"] >= 8
    assert one["seconds"] > 0
    said = {"unbiased": [0.5, 0.25, 0.0, 0.25]}
    assert found.accuracy("GRR", 4, 1.0, [0, 0, 1, 3]) == {"counts": [2, 1, 0, 1], "said": said}
    assert found.accuracy("OLH", 4, 1.0, [0, 0, 1, 3]) == {"counts": None, "said": said}
    assert found.whole("GRR", 4, 1.0, 50, "unbiased")["n"] == 50


def test_a_worker_stops_where_the_next_size_would_take_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.peers.worker.POOL", 0.01)
    clock = [0.0]

    def tick() -> float:
        clock[0] += 1e-4
        return clock[0]

    monkeypatch.setattr("benchmarks.peers.worker.process_time", tick)
    slow = worker(fake(clock)).estimate("GRR", 4, 1.0, [10, 100, 1000, 10_000], "unbiased", 0.02)["found"]
    assert [size for size, _ in slow] == [10, 100, 1000]
    assert slow[-1][1] >= 0.01


def test_a_library_that_cannot_be_installed_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import sys; sys.exit('WARNING: slow\\nERROR: No matching distribution found for pure-ldp==9')"
    with pytest.raises(environments.Unavailable) as said:
        environments._run("pure-ldp", [sys.executable, "-c", script])
    sentence = "pure-ldp could not be installed here: ERROR: No matching distribution found for pure-ldp==9"
    assert str(said.value) == sentence

    def refuse(self: object, name: str) -> None:
        raise environments.Unavailable(sentence)

    monkeypatch.setattr(process.Library, "__init__", refuse)
    monkeypatch.setattr(peers, "python_of", lambda name: Path())
    monkeypatch.setattr("benchmarks.peers.measuring.TABLES", {})
    figures = list(peers.measured())
    assert [figure.note for figure in figures] == [sentence] * len(environments.PEERS)


def test_a_library_that_hangs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "python_of", lambda name: Path(sys.executable))
    monkeypatch.setattr(process, "LIMIT", 0.2)
    with process.Library("no-such-peer") as library:
        assert library.ask("encode") == {"failed": "no answer within 0 seconds, or the process died"}


def test_every_peer_has_pins() -> None:
    assert environments._wanted(environments.OURS)[-1] == f"{environments.ROOT}[analysis]", (
        "the package alone decodes nothing"
    )
    for name in environments.PEERS:
        pins = environments._read(name)[0].read_text().splitlines()
        assert any(pin.lower().startswith(f"{name}==") for pin in pins)
        assert all("==" in pin for pin in pins if not pin.startswith("#"))
        assert not any("://" in pin for pin in pins)


def test_figures_survive_their_file(tmp_path: Path) -> None:
    figures = [Figure(CELL, DEFAULT, 1.5e-9), Figure(CELL, "opendp", None, 0.0, 'said "no", twice')]
    write(tmp_path / "figures.csv", figures)
    assert read(tmp_path / "figures.csv") == figures


def pairs(
    mine: float, theirs: float, error: float = 0.0, table: str = "encode", who: str = DEFAULT
) -> Iterator[Figure]:
    cell = Cell(table, "GRR", 256, 1.0)
    yield Figure(cell, who, mine, error)
    yield Figure(cell, "NumPy", 1e-12)
    yield Figure(cell, "pure-ldp", theirs)


def test_a_peer_that_is_ahead_is_listed() -> None:
    assert behind(pairs(1.0, 2.0)) == []
    assert [pair.peer for pair in behind(pairs(2.0, 1.0))] == ["pure-ldp"]
    (pair,) = compared(pairs(2.0, 1.0))
    assert (pair.ratio, pair.target, pair.why) == (2.0, 1.0, "")
    assert pair.title == "encode GRR S=256 eps=1"


def test_errors_are_compared_within_their_errors() -> None:
    assert behind(pairs(1.05, 1.0, 0.03, "l1")) == []
    assert len(behind(pairs(1.15, 1.0, 0.03, "l1"))) == 1
    assert list(compared(pairs(1.0, 1.0, 0.1, "l1", UNBIASED))) == []


def test_errors_on_the_same_reports_count_instead_of_others() -> None:
    same = Cell("same l1", "GRR", 256, 1.0)
    figures = [*pairs(2.0, 1.0, 0.01, "l1"), Figure(same, DEFAULT, 1.0), Figure(same, "pure-ldp", 1.1, 0.01)]
    (pair,) = compared(figures)
    assert pair.cell == same
    assert pair.ratio == pytest.approx(1 / 1.1)
    assert behind(figures) == []


def test_a_row_that_is_explained_has_a_ceiling() -> None:
    (pair,) = compared(pairs(5.0, 1.0, table="estimate"))
    assert not pair.ahead
    assert pair.target == 300
    assert pair.why.startswith("The default decoder learns")


def test_growth_is_fitted_over_the_last_decades() -> None:
    figures = [Figure(Cell("growth", "GRR", 256, 1.0, 10**p), DEFAULT, 1e-6 * 10**p) for p in range(3, 8)]
    figures[0] = Figure(figures[0].cell, DEFAULT, 5.0)
    slope, n, took = slopes(figures)["GRR", DEFAULT]
    assert slope == pytest.approx(1.0)
    assert n == 10**7
    assert took == pytest.approx(10.0)


def test_what_was_too_slow_is_on_the_line_through_what_was_not() -> None:
    assert _at({100: 1.0, 1000: 1.9, 10_000: 5.0}, 10_000) == (5.0, 0.0, "")
    took, _, note = _at({100: 1.0, 1000: 1.9}, 10_000)
    assert took == pytest.approx(10.9)
    assert note == "from 1,000 reports"
    assert _at({100: 1.0}, 1000) == (10.0, 0.0, "from 100 reports")
    assert _at({10**6: 7.0}, 10**5) == (7.0, 0.0, "from 1,000,000 reports")

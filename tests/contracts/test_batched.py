"""`lab.batched` decodes many tallies at once, in single precision; the real decoders do it one by one, in double."""

import zlib

import numpy as np
import numpy.typing as npt
import pytest

from deniable.decoders.constraints import Normalized
from deniable.decoders.likelihood import water_fill
from deniable.decoders.simplex import project
from deniable.lab.batched import losses
from deniable.mechanisms import KRR, BitFlip, Mechanism

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

HONEST = 1e-4  # relative
SINGLE = 5e-7  # absolute: a distribution in single precision is so far from itself, in l1 and in l2


def decoded(counts: Counts, n: int, mechanism: Mechanism) -> list[Floats]:
    """One tally, by every decoder that the paper has for it."""
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    raw = (counts / n - miss) / (hit - miss)
    found = [raw, Normalized().apply(raw), project(raw)]
    return [*found, water_fill(counts, miss / (hit - miss))] if mechanism.one_column else found


def one_by_one(counts: Counts, people: Counts, n: int, mechanism: Mechanism) -> Floats:
    rows = []
    for row, held in zip(counts, people, strict=True):
        errors = [estimate - held / n for estimate in decoded(row, n, mechanism)]
        rows.append([[np.abs(error).sum() for error in errors], [(error**2).sum() for error in errors]])
    return np.moveaxis(np.array(rows), 0, -1)


def at_once(counts: Counts, people: Counts, n: int, mechanism: Mechanism, weights: Counts | None = None) -> Floats:
    return losses(
        counts.astype(np.int32),
        (people / n).astype(np.float32),
        n,
        float(mechanism.hit),
        float(mechanism.miss),
        likelihood=mechanism.one_column,
        weights=None if weights is None else weights.astype(np.int32),
    )


def drawn(mechanism: Mechanism, n: int, rows: int, name: str) -> tuple[Counts, Counts]:
    """Tallies and the samples behind them; the populations are as uneven as the paper's."""
    rng, k = np.random.default_rng(zlib.crc32(name.encode())), mechanism.cells
    people = rng.multinomial(n, rng.dirichlet(np.full(k, 0.3), rows))
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    if not mechanism.one_column:
        return rng.binomial(people, hit) + rng.binomial(n - people, miss), people
    kept = rng.binomial(people, hit - miss)
    return kept + rng.multinomial(n - kept.sum(axis=1), np.full(k, 1 / k)), people


def agree(found: Floats, expected: Floats) -> None:
    """Distances, not squares, are compared: a square has twice the relative error."""
    assert found.shape == expected.shape
    for distance, exact in ((found[0], expected[0]), (np.sqrt(found[1]), np.sqrt(expected[1]))):
        assert (np.abs(distance - exact) <= HONEST * exact + SINGLE).all()


@pytest.mark.parametrize("kind", [KRR, BitFlip])
@pytest.mark.parametrize("k", [2, 3, 16, 256, 4096])
@pytest.mark.parametrize("n", [30, 1000, 30_000, 1_000_000])
def test_every_decoder_row_by_row(kind: type[KRR | BitFlip], k: int, n: int) -> None:
    for epsilon in (0.1, 1.0, 4.0, 10.0):
        mechanism = kind(k, epsilon)
        counts, people = drawn(mechanism, n, 5 if k < 4096 else 2, f"{kind.__name__} {k} {n} {epsilon}")
        expected = one_by_one(counts, people, n, mechanism)
        assert expected.shape == (2, 4 if mechanism.one_column else 3, len(counts))
        agree(at_once(counts, people, n, mechanism), expected)


@pytest.mark.parametrize("k", [2, 5, 64])
def test_rows_where_nothing_is_positive(k: int) -> None:
    """The normalised decoder then guesses evenly; other rows of the table are not disturbed."""
    n, mechanism = 30, BitFlip(k, 0.5)
    floor = int(n * float(mechanism.miss))
    people = np.random.default_rng(k).multinomial(n, np.full(k, 1 / k), size=4)
    counts = np.array([np.zeros(k), np.full(k, floor), np.arange(k) % n, np.arange(k) % (floor + 1)], np.int64)
    raws = [decoded(row, n, mechanism)[0] for row in counts]
    assert [bool((raw > 0).any()) for raw in raws] == [False, False, bool((np.arange(k) % n).max() > floor), False]
    agree(at_once(counts, people, n, mechanism), one_by_one(counts, people, n, mechanism))
    uniform = np.abs(1 / k - people[0] / n).sum()
    assert at_once(counts, people, n, mechanism)[0, 1, 0] == pytest.approx(uniform, rel=1e-5)


@pytest.mark.parametrize("mechanism", [KRR(3, 1.0), BitFlip(3, 1.0)])
def test_a_tally_of_one_symbol_and_ties(mechanism: Mechanism) -> None:
    n = 30
    counts = np.array([[30, 0, 0], [10, 10, 10], [15, 15, 0], [0, 0, 30]])
    people = np.array([[30, 0, 0], [30, 0, 0], [10, 10, 10], [15, 0, 15]])
    agree(at_once(counts, people, n, mechanism), one_by_one(counts, people, n, mechanism))


def classes_of(counts: Counts, people: Counts, padding: int) -> tuple[Counts, Counts, Counts]:
    """Symbols alike in count and share, as classes, and classes of nobody, far below and far above the others."""
    tables = []
    for row, held in zip(counts, people, strict=True):
        pairs, weights = np.unique(np.stack([row, held]), axis=1, return_counts=True)
        tables.append(np.concatenate([pairs, weights[None]]))
    width = max(table.shape[1] for table in tables) + padding
    filled = np.zeros((3, len(tables), width), np.int64)
    filled[0, :, 1::2] = counts.max() + 5
    for place, table in enumerate(tables):
        filled[:, place, : table.shape[1]] = table[:, ::-1]
    return filled[0], filled[1], filled[2]


@pytest.mark.parametrize("kind", [KRR, BitFlip])
@pytest.mark.parametrize(("k", "n"), [(2, 30), (64, 30), (1024, 100), (1024, 3000), (4096, 30_000)])
@pytest.mark.parametrize("padding", [0, 3])
def test_classes_with_weights_are_the_rows_that_they_stand_for(
    kind: type[KRR | BitFlip], k: int, n: int, padding: int
) -> None:
    for epsilon in (0.1, 2.0, 8.0):
        mechanism = kind(k, epsilon)
        counts, people = drawn(mechanism, n, 4, f"classes {kind.__name__} {k} {n} {epsilon}")
        steps, held, weights = classes_of(counts, people, padding)
        assert (weights.sum(axis=1) == k).all()
        found = at_once(steps, held, n, mechanism, weights)
        agree(found, at_once(counts, people, n, mechanism))
        agree(found, one_by_one(counts, people, n, mechanism))


def test_classes_where_nothing_is_positive() -> None:
    n, k, mechanism = 30, 40, BitFlip(40, 0.5)
    people = np.random.default_rng(0).multinomial(n, np.full(k, 1 / k), size=2)
    counts = np.array([np.arange(k) % 8, np.zeros(k)], np.int64)
    steps, held, weights = classes_of(counts, people, 2)
    steps[:, -1] = 0  # a class of nobody is no symbol, positive or not
    agree(at_once(steps, held, n, mechanism, weights), one_by_one(counts, people, n, mechanism))

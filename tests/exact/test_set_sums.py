"""The sums of random sets that the simulator draws column by column: their whole law, against that of the reports."""

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest

import deniable as dn
import deniable.simulation as room
from deniable.mechanisms import Subset
from deniable.simulation import _set_sums, _set_sums_of


class Fork(NamedTuple):
    """One draw: the chances of its outcomes, and the one taken."""

    weights: tuple[float, ...]
    taken: int


class Forking:
    """A generator whose every draw is a fork into all its outcomes, each with its probability."""

    def __init__(self, prescribed: Sequence[Fork]) -> None:
        self.prescribed, self.weight = prescribed, 1.0
        self.forks: list[Fork] = []

    def choose(self, weights: Sequence[float]) -> int:
        sides = [side for side, weight in enumerate(weights) if weight > 0]
        taken = self.prescribed[len(self.forks)].taken if len(self.forks) < len(self.prescribed) else 0
        self.forks.append(Fork(tuple(weights[side] for side in sides), taken))
        self.weight *= weights[sides[taken]]
        return sides[taken]

    def binomial(self, n: Any, p: Any) -> Any:
        counts, chances = np.broadcast_arrays(np.asarray(n), np.asarray(p, float))
        found = np.zeros(counts.shape, np.int64)
        for place in np.ndindex(counts.shape):
            m, q = int(counts[place]), float(chances[place])
            if m:
                found[place] = self.choose([math.comb(m, x) * q**x * (1 - q) ** (m - x) for x in range(m + 1)])
        return found

    def multivariate_hypergeometric(self, colors: Any, nsample: int, method: str) -> Any:
        options = [draw for draw in product(*(range(int(c) + 1) for c in colors)) if sum(draw) == nsample]
        ways = [math.prod(math.comb(int(c), x) for c, x in zip(colors, draw, strict=True)) for draw in options]
        return np.array(options[self.choose([w / sum(ways) for w in ways])], np.int64)


def law_of_sums(run: Any, kind: type[Forking] = Forking) -> dict[tuple[int, ...], float]:
    law: dict[tuple[int, ...], float] = {}
    path: list[Fork] = []
    while True:
        rng = kind(path)
        outcome = tuple(run(rng).tolist())
        law[outcome] = law.get(outcome, 0.0) + rng.weight
        path = rng.forks
        while path and path[-1].taken + 1 == len(path[-1].weights):
            path.pop()
        if not path:
            return law
        path[-1] = path[-1]._replace(taken=path[-1].taken + 1)


def of_reports(mechanism: Subset, answers: Sequence[Sequence[float]]) -> dict[tuple[int, ...], float]:
    """The law of the sum of one report for each row of `answers`, which holds the chances of each answer."""
    total: dict[tuple[int, ...], float] = {(0,) * mechanism.cells: 1.0}
    for chances in answers:
        following: dict[tuple[int, ...], float] = {}
        for sums, weight in total.items():
            for truth, chance in enumerate(chances):
                for y in range(mechanism.outputs) if chance else ():
                    if p := float(mechanism.probability(y, (truth,))):
                        bits = tuple(s + (y >> i & 1) for i, s in enumerate(sums))
                        following[bits] = following.get(bits, 0.0) + weight * chance * p
        total = following
    return total


def check(found: dict[tuple[int, ...], float], expected: dict[tuple[int, ...], float]) -> None:
    for sums in set(found) | set(expected):
        assert found.get(sums, 0.0) == pytest.approx(expected.get(sums, 0.0), abs=1e-12)


POPULATIONS = {3: [0.5, 0.3, 0.2], 4: [0.1, 0.0, 0.6, 0.3], 5: [0.1, 0.4, 0.2, 0.05, 0.25]}


@pytest.mark.parametrize(
    ("cells", "size", "n"), [(3, 2, 3), (3, 1, 2), (4, 2, 1), (4, 2, 2), (4, 3, 2), (5, 2, 1), (5, 3, 1), (5, 4, 1)]
)
def test_law_of_the_sums_is_that_of_the_reports(cells: int, size: int, n: int) -> None:
    """Every branch of every draw, with its probability: the joint law, not moments."""
    mechanism, p = Subset(cells, 1, size), np.array(POPULATIONS[cells])
    found = law_of_sums(lambda rng: _set_sums(mechanism, n, p, None, rng))
    check(found, of_reports(mechanism, [p.tolist()] * n))


@pytest.mark.parametrize(
    ("size", "people"), [(2, [1, 0, 2]), (1, [0, 1, 1]), (2, [0, 1, 0, 1]), (3, [1, 0, 0, 1]), (2, [0, 0, 1, 0, 1])]
)
def test_law_of_the_sums_of_a_fixed_population(size: int, people: list[int]) -> None:
    mechanism = Subset(len(people), 1, size)
    found = law_of_sums(lambda rng: _set_sums_of(mechanism, np.array(people), rng))
    rows = [np.eye(len(people))[x].tolist() for x, times in enumerate(people) for _ in range(times)]
    check(found, of_reports(mechanism, rows))


class Stingy(Forking):
    """Mutant: a set whose own column is still to come takes the next one too rarely."""

    def binomial(self, n: Any, p: Any) -> Any:
        shares = np.asarray(p, float)
        return super().binomial(n, shares * 0.9 if np.ndim(n) == 2 and shares.ndim else shares)


class Forgetful(Forking):
    """Mutant: the sets whose own column comes next are all taken from those that have most left to take."""

    def multivariate_hypergeometric(self, colors: Any, nsample: int, method: str) -> Any:
        found = np.zeros(len(colors), np.int64)
        for place in reversed(range(len(colors))):
            found[place] = min(int(colors[place]), nsample - int(found.sum()))
        return found


def test_mutants_are_caught() -> None:
    mechanism, p, people = Subset(4, 1, 2), np.array(POPULATIONS[4]), np.array([1, 0, 1, 0])
    found = law_of_sums(lambda rng: _set_sums(mechanism, 1, p, None, rng), Stingy)
    with pytest.raises(AssertionError):
        check(found, of_reports(mechanism, [p.tolist()]))
    found = law_of_sums(lambda rng: _set_sums_of(mechanism, people, rng), Forgetful)
    with pytest.raises(AssertionError):
        check(found, of_reports(mechanism, [np.eye(4)[x].tolist() for x in (0, 2)]))


def test_large_populations_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    survey, rng = dn.subset(symbols=5, epsilon=1, size=2), np.random.default_rng(0)
    monkeypatch.setattr(room, "_MOST_AT_ONCE", 1000)
    people = np.array([3000, 0, 10, 7, 1500])
    tally = room.simulate_counts(survey, people, rng)
    assert tally.n == people.sum()
    monkeypatch.undo()
    tally = room.simulate_counts(survey, people * 10**6, rng)
    assert tally.n == people.sum() * 10**6

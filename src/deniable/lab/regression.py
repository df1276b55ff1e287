"""Experiments 4 to 8: O-RR and O-RAPPOR, decoded by least squares and projected, against the true distribution.

Least squares needs only b = H' T of a tally, one number a candidate, so only b is drawn, from its exact distribution:

* a cell that no candidate can hit enters no b: it is never drawn;
* cells that one candidate has to itself always enter its b together: their sum is drawn at once, whatever C is;
* only cells that candidates share are drawn one by one.

Independent Poisson counts, given their total, are multinomial. So n people in a million cells are drawn as Poisson
counts with a slightly smaller mean total, and the few missing people are placed one by one. The cost does not grow
with n. One Gram factorisation serves every epsilon, every n and both mechanisms. The paper's estimator divides by
n / C, not by each cohort's own count.
"""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns import cell_table
from deniable.decoders import project
from deniable.lab.populations import geometric
from deniable.lab.streams import stream_of
from deniable.matrices import Design
from deniable.mechanisms import KRR, BitFlip, Mechanism
from deniable.survey import Alphabet, Hashed, Permuted

if TYPE_CHECKING:
    import scipy.sparse

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_FRESH = 1024  # alphabets up to this size get fresh hash functions for every sample
_WORTH_POISSON = 512  # cells; below it one multinomial draw is as fast as Poisson counts
_RIDGE = 1e-8  # added to the diagonal of H'H, as a share of its mean: makes a singular matrix factorable
_RIGHT_SIDES = 400  # right sides of the normal equations that are solved for together, to bound memory


@lru_cache(maxsize=4)
def truth(symbols: int) -> Floats:
    """The population of experiments 4 to 8: geometric with mean S / 5."""
    return geometric(symbols, symbols / 5)


@lru_cache(maxsize=4096)
def mechanism_of(name: str, cells: int, hashes: int, epsilon: float) -> Mechanism:
    """The randomiser behind a mechanism's name; each bit of a Bloom filter gets epsilon / min(2h, k).

    >>> mechanism_of("O-RAPPOR", 64, 2, 4.0) == BitFlip(64, 4.0, 4)
    True
    """
    if name in ("O-RR", "k-RR"):
        return KRR(cells, epsilon)
    return BitFlip(cells, epsilon, min(2 * hashes, cells))


@dataclass(frozen=True, order=True)
class Cell:
    """One setting of the free parameters: k cells, C cohorts, h hashes over an open or a closed alphabet."""

    alphabet: str
    symbols: int
    k: int
    C: int
    h: int

    @property
    def name(self) -> str:
        return f"{self.alphabet}/S={self.symbols}/k={self.k}/C={self.C}/h={self.h}"

    def encoding(self, seed: int) -> Hashed | Permuted:
        """This cell's hash functions, or permutations, under one stated public seed."""
        public = hashlib.sha256(f"{seed}/{self.name}".encode()).digest()[:16]
        if self.alphabet == "open":
            return Hashed(self.k, self.C, self.h, public)
        return Permuted(self.symbols, self.k, self.C, self.h, public)

    def cohorts(self, sample: int) -> int:
        """The first cohort of a sample. Hash functions are part of what is random: small alphabets get fresh ones."""
        return sample * self.C if self.symbols <= _FRESH else 0

    def like(self, mechanism: str) -> "Cell":
        """The simplest setting with the same distribution of losses.

        Where a closed alphabet has a cell for each symbol there are no collisions, and cohorts only relabel cells. Bits
        that no symbol sets are noise that least squares does not use.
        """
        if self.alphabet == "open" or self.k < self.symbols or self.h > 1:
            return self
        return replace(self, C=1, k=self.k if mechanism == "O-RR" else self.symbols)


@dataclass(frozen=True, order=True)
class Point:
    """A mechanism, a number of users and an epsilon."""

    mechanism: str
    n: int
    epsilon: float

    @property
    def name(self) -> str:
        return f"{self.mechanism}/n={self.n}/epsilon={self.epsilon}"


@dataclass(frozen=True)
class RegressionTask:
    """The l1 losses of samples `start` to `stop` in one cell, at some points."""

    cell: Cell
    points: tuple[Point, ...]
    start: int
    stop: int

    def key(self, point: Point) -> str:
        return f"{self.cell.name}/{point.name}/{self.start}-{self.stop}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.key(point) for point in self.points)

    @property
    def cost(self) -> float:
        cell, samples = self.cell, self.stop - self.start
        fresh = cell.symbols <= _FRESH
        touched = cell.symbols * cell.C * cell.h
        shared = min(cell.k, cell.symbols / 3) * cell.C
        prepare = 3e-3 + touched * 60e-9 + (1.5e-11 * cell.symbols**3 if not fresh else 0)
        draw = 1e-4 + shared * 100e-9 + touched * 2e-9 + cell.symbols**2 * 4e-9
        if any("RAPPOR" in point.mechanism for point in self.points):
            prepare += touched * 20e-9
        return prepare * (samples if fresh else 1) + draw * samples * len(self.points)

    def only(self, keys: Collection[str]) -> "RegressionTask":
        return replace(self, points=tuple(point for point in self.points if self.key(point) in keys))

    def run(self, seed: int) -> dict[str, list[float]]:
        fresh = self.cell.symbols <= _FRESH
        step = 1 if fresh else max(1, _RIGHT_SIDES // len(self.points))
        encoding, p = self.cell.encoding(seed), truth(self.cell.symbols)
        keys = _keys(encoding, len(p))
        losses: list[Floats] = []
        for start in range(self.start, self.stop, step):
            if fresh or start == self.start:
                crowd = SampledCrowd(cell_table(encoding, keys, first=self.cell.cohorts(start)), encoding.cells, p)
            samples = range(start, min(start + step, self.stop))
            right = np.stack([self._right(crowd, point, sample, seed) for sample in samples for point in self.points])
            losses.append(crowd.losses(right).reshape(len(samples), -1))
        found = np.concatenate(losses)
        return {key: found[:, place].tolist() for place, key in enumerate(self.keys)}

    def _right(self, crowd: "SampledCrowd", point: Point, sample: int, seed: int) -> Floats:
        """The right side of the normal equations, from one drawn tally."""
        rng = stream_of(seed, "regression", self.cell.name, point.name, sample)
        mechanism = mechanism_of(point.mechanism, self.cell.k, self.cell.h, point.epsilon)
        if mechanism.one_column:
            return crowd.right_side(mechanism, point.n, crowd.index_sums(mechanism, point.n, rng))
        # The same people whatever k, h and epsilon are.
        place = (seed, "people", self.cell.symbols, self.cell.C, point.n, sample)
        return crowd.right_side(mechanism, point.n, crowd.bit_sums(mechanism, crowd.people(point.n, place), rng))


@dataclass(frozen=True)
class People:
    """The positions of n people: how many occupy each shared cell and each candidate's own cells, and of how many."""

    occupied: Counts
    reports: Counts  # in the cohort of each shared cell
    own: Counts
    own_reports: Counts


class SampledCrowd:
    """A table of cells, shape (C, h, S), over a known population, ready to draw b = H' T and to decode it."""

    def __init__(self, table: npt.NDArray[np.int32], cells: int, p: Floats) -> None:
        from scipy import sparse

        self._people: dict[tuple[Any, ...], People] = {}
        self.p, self.cells, self.design = p, cells, Design(table, cells)
        self.cohorts, hashes, size = table.shape
        columns = self.cohorts * cells
        flat = table + (np.arange(self.cohorts, dtype=np.int32) * np.int32(cells))[:, None, None]
        if hashes > 1:
            flat[table == cells] = columns  # a repeated bit of one answer is no cell at all
        holders = np.bincount(flat.ravel(), minlength=columns + 1)
        holders[columns] = 0
        shared = holders > 1
        found = holders.take(flat)
        self.alone = (found == 1).sum(axis=1)  # (C, S): how many cells of the cohort are the candidate's own
        self.cohort_of = np.flatnonzero(shared) // cells
        number = np.cumsum(shared, dtype=np.int32) - np.int32(1)
        inside = np.moveaxis(found > 1, 2, 0).reshape(size, -1)
        index = number.take(np.moveaxis(flat, 2, 0).reshape(size, -1)[inside])
        held = inside.sum(axis=1)
        starts = np.concatenate([[0], np.cumsum(held)]).astype(np.int32)
        shape = (size, len(self.cohort_of))
        self.shared: scipy.sparse.csr_array = sparse.csr_array((np.ones(len(index)), index, starts), shape=shape)
        self.own = self.alone.sum(axis=0)
        self.seats = (self.own + held).astype(np.float64)  # w = H' 1

    @cached_property
    def _gram(self) -> Floats:
        if not self.design.is_sparse:
            return self.design.gram
        size = len(self.p)
        gram = _pairs(self.shared) if size <= _FRESH else (self.shared @ self.shared.T).toarray()
        gram[np.diag_indices(size)] += self.own
        return np.asarray(gram)

    @cached_property
    def _factor(self) -> tuple[Floats, bool]:
        """Cholesky factor of H'H plus a small ridge, whose effect one step of iterative refinement removes."""
        from scipy.linalg import cho_factor

        ridged = self._gram.copy()
        ridged[np.diag_indices_from(ridged)] += _RIDGE * self.seats.mean()
        factor, lower = cho_factor(ridged, lower=True, overwrite_a=True, check_finite=False)
        return factor, lower

    def solve(self, right: Floats) -> Floats:
        """(H'H)^+ b for b in the range of H'H: iterated ridge regression, whose limit has the least norm.

        >>> crowd = SampledCrowd(np.array([[[0, 0, 1, 1]], [[0, 1, 0, 1]]], np.int32), 2, np.full(4, 0.25))
        >>> gram, x = crowd.design.gram, np.array([0.5, 0.1, 0.2, 0.2])
        >>> bool(np.allclose(crowd.solve(gram @ x), np.linalg.pinv(gram) @ gram @ x))
        True
        """
        from scipy.linalg import cho_solve

        found = cho_solve(self._factor, right, check_finite=False)
        found += cho_solve(self._factor, right - self._gram @ found, check_finite=False)
        return np.asarray(found)

    def right_side(self, mechanism: Mechanism, n: int, sums: Floats) -> Floats:
        """H' u for the unbiased u of `eq:rr_strings_regression`, from H' T."""
        r = float(mechanism.hit - mechanism.miss)
        return np.asarray((sums * (self.cohorts / n) - float(mechanism.miss) * self.seats) / r)

    def losses(self, right: Floats) -> Floats:
        """The l1 distance between the truth and least squares, projected on the simplex, for each right side."""
        return np.array([float(np.abs(project(row) - self.p).sum()) for row in self.solve(right.T).T])

    def index_sums(self, mechanism: Mechanism, n: int, rng: np.random.Generator) -> Floats:
        """H' T for O-RR: n reports over a candidate's own cells, the shared ones, and all the rest."""
        hit, miss = float(mechanism.hit), float(mechanism.miss)
        size = len(self.p)
        own = self.own * (miss + (hit - miss) * self.p)
        common = miss + (hit - miss) * self._masses
        law = np.concatenate([own, common, [0.0]]) / self.cohorts
        law[-1] = max(0.0, 1.0 - law.sum())
        counts = scatter(rng, n, law)
        return np.asarray(counts[:size] + self.shared @ counts[size:-1])

    @cached_property
    def _masses(self) -> Floats:
        return np.asarray(self.shared.T @ self.p)

    def people(self, n: int, name: tuple[Any, ...]) -> People:
        """Where n people with symbols drawn from p are, i.i.d. over cohorts and symbols; `name` seeds them."""
        if name not in self._people:
            self._people.clear()
            self._people[name] = self._place(n, stream_of(*name))
        return self._people[name]

    def _place(self, n: int, rng: np.random.Generator) -> People:
        if not self.shared.nnz and (self.alone == 1).all():  # no collisions: cohorts only relabel cells
            own = scatter(rng, n, self.p / self.p.sum())
            return People(np.zeros(0, np.int64), np.zeros(0, np.int64), own, np.full(len(own), n))
        law = np.tile(self.p / self.p.sum() / self.cohorts, self.cohorts)
        placed = scatter(rng, n, law)
        table = placed.reshape(self.cohorts, -1)
        reports = table.sum(axis=1)
        occupied = np.bincount(self.shared.indices, placed[self._sharers], len(self.cohort_of))
        return People(
            occupied.astype(np.int64),
            reports[self.cohort_of],
            np.einsum("cs,cs->s", table, self.alone),
            reports @ self.alone,
        )

    @cached_property
    def _sharers(self) -> npt.NDArray[np.intp]:
        """Where the candidate and the cohort of each entry of `shared` stand in a flattened table of shape (C, S)."""
        symbol = np.repeat(np.arange(len(self.p)), np.diff(self.shared.indptr))
        return np.asarray(self.cohort_of[self.shared.indices] * len(self.p) + symbol)

    def bit_sums(self, mechanism: Mechanism, people: People, rng: np.random.Generator) -> Floats:
        """H' T for O-RAPPOR: set bits that stay, and unset bits that flip, over own and shared cells."""
        hit, miss = float(mechanism.hit), float(mechanism.miss)
        own = rng.binomial(people.own, hit) + rng.binomial(people.own_reports - people.own, miss)
        common = rng.binomial(people.occupied, hit) + rng.binomial(people.reports - people.occupied, miss)
        return np.asarray(own + self.shared @ common)


def _keys(encoding: Hashed | Permuted, size: int) -> npt.NDArray[np.uint64]:
    """The keys of the symbols 0 .. size-1, which hash functions and permutations map to cells."""
    alphabet = Alphabet.closed(size)  # hashing takes its symbols as those of an open one
    return np.array([encoding.key(alphabet, symbol) for symbol in range(size)], np.uint64)


def _pairs(shared: "scipy.sparse.csr_array") -> Floats:
    """H H' of a small alphabet: every pair that shares a cell, counted; cells of one size are handled together."""
    size = shared.shape[0]
    by_cell = shared.tocsc()
    held = np.diff(by_cell.indptr)
    codes = []
    for members in np.unique(held).tolist():
        first, second = np.triu_indices(members, 1)
        starts = by_cell.indptr[:-1][held == members][:, None]
        codes.append((by_cell.indices[starts + first] * np.int32(size) + by_cell.indices[starts + second]).ravel())
    upper = np.bincount(np.concatenate(codes), minlength=size * size) if codes else np.zeros(size * size, np.int64)
    found = upper.reshape(size, size).astype(np.float64)
    found += found.T
    found[np.diag_indices(size)] = np.diff(shared.indptr)
    return found


def scatter(rng: np.random.Generator, n: int, law: Floats) -> Counts:
    """Multinomial(n, law), fast for many cells: Poisson counts of slightly fewer people, the rest one by one.

    >>> counts = scatter(stream_of(0, "example"), 10**6, np.full(1000, 1e-3))
    >>> int(counts.sum())
    1000000
    """
    fewer = n - 3.0 * np.sqrt(n)
    if len(law) < _WORTH_POISSON or fewer <= 0:
        return np.asarray(rng.multinomial(n, law / law.sum()))
    law = law / law.sum()
    while True:
        counts = rng.poisson(fewer * law)
        missing = n - int(counts.sum())
        if missing >= 0:  # given the total, the counts are multinomial, so rejecting totals above n does not bias them
            break
    steps = np.cumsum(law)
    cells = np.searchsorted(steps, np.sort(rng.random(missing)) * steps[-1], side="right")  # sorted, for the cache
    return np.asarray(counts + np.bincount(np.minimum(cells, len(law) - 1), minlength=len(law)))

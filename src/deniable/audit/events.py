"""Families of events: how often each happened among a value's reports, and how likely the published channel makes it.

Together they are the joint law where that is small enough to list (every outcome, every pair of outcomes of two
reports), and elsewhere what shows a fault of any kind seen in the field: every bit, every two bits together, the number
of bits, the cohort, and for every two values the event that tells them apart best.
"""

from abc import ABC, abstractmethod
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.audit.published import chances_of, published
from deniable.audit.samples import Sample
from deniable.columns import Cells, cell_table, keys_of
from deniable.survey import Survey

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

# Numbers in the tables of events: what fits into memory and is counted in seconds.
MAX_OUTCOMES = 1 << 12  # outcomes of a bitmap, or pairs of outcomes of two reports, over all cohorts
MAX_LISTED = 1 << 22  # outcomes of a report that names one column, over all cohorts
MAX_PAIRS = 1 << 21  # pairs of bits, over the cohorts that are looked at
_ROWS = 1 << 15  # reports that are compared with the cells of a value at once


class EventFamily(ABC):
    """Events by number. `disjoint` says that they exclude each other, so that any union of them is an event too."""

    disjoint = False

    def __init__(self, survey: Survey, table: Cells) -> None:
        self.survey, self.table = survey, table  # the cells of every value, shape (C, h, values)

    @abstractmethod
    def count(self, sample: Sample) -> Counts:
        """How many rows of the sample are in each event."""

    @abstractmethod
    def chances(self, value: int) -> Floats:
        """The published probability of each event, for the value of this number."""

    @abstractmethod
    def name(self, event: int) -> str:
        """The event in words."""


def families_of(survey: Survey, values: tuple[object, ...], times: int) -> list[EventFamily]:
    """All families that fit this survey, for devices that report once or twice."""
    mechanism, outputs = survey.mechanism, survey.mechanism.outputs
    table = cell_table(survey.encoding, keys_of(survey, values))
    found: list[EventFamily] = [ForAndAgainst(survey, table, times)]
    if times == 2:
        if survey.cohorts * outputs**2 <= MAX_OUTCOMES:
            found.append(Twice(survey, table))
        return found
    if survey.cohorts * outputs <= (MAX_LISTED if mechanism.one_column else MAX_OUTCOMES):
        found.append(Outcomes(survey, table))
    if not mechanism.one_column:
        found.append(SetBits(survey, table))
    if published.of(mechanism.permanent).independent_bits:
        found.append(Weights(survey, table))
    return found


def _cohort(survey: Survey, cohort: int) -> str:
    return f" in cohort {cohort}" if survey.cohorts > 1 else ""


class Outcomes(EventFamily):
    """Every cohort and response: the joint law of the packed report itself."""

    disjoint = True

    def count(self, sample: Sample) -> Counts:
        outputs = self.survey.mechanism.outputs
        codes = sample.cohorts * outputs + _codes(sample.responses[0])
        return np.bincount(codes, minlength=self.survey.cohorts * outputs)

    def chances(self, value: int) -> Floats:
        mechanism, mine = self.survey.mechanism, self.table[:, :, value].astype(np.intp)
        if mechanism.one_column and mechanism.two_valued:  # vectorised: there may be millions of cohorts and cells
            law = np.full((self.survey.cohorts, mechanism.cells), float(mechanism.miss))
            np.put_along_axis(law, mine, float(mechanism.hit), axis=1)
            return law.ravel() / self.survey.cohorts
        rows = [chances_of(mechanism, tuple(int(c) for c in cells if c < mechanism.cells)) for cells in mine]
        return np.concatenate(rows) / self.survey.cohorts

    def name(self, event: int) -> str:
        cohort, response = divmod(event, self.survey.mechanism.outputs)
        return f"the response is {response}{_cohort(self.survey, cohort)}"


class Twice(EventFamily):
    """Every cohort and every two responses of a device that was asked twice."""

    disjoint = True

    def count(self, sample: Sample) -> Counts:
        outputs = self.survey.mechanism.outputs
        first, second = (_codes(r) for r in sample.responses)
        code = (sample.cohorts * outputs + first) * outputs + second
        return np.bincount(code, minlength=self.survey.cohorts * outputs**2)

    def chances(self, value: int) -> Floats:
        mechanism = self.survey.mechanism
        second = published.of(mechanism.permanent).second_stage
        again = second(mechanism) if mechanism.twice and second else np.eye(mechanism.outputs)
        rows = []
        for cells in self.table[:, :, value]:
            first = chances_of(mechanism.permanent, tuple(int(c) for c in cells if c < self.survey.cells))
            rows.append((again.T * first) @ again)
        return np.concatenate([row.ravel() for row in rows]) / self.survey.cohorts

    def name(self, event: int) -> str:
        code, second = divmod(event, self.survey.mechanism.outputs)
        cohort, first = divmod(code, self.survey.mechanism.outputs)
        return f"the two responses are {first} and {second}{_cohort(self.survey, cohort)}"


class ForAndAgainst(EventFamily):
    """For every two values a and b: the report speaks for a and against b, which tells the two apart best.

    An index report names a cell that only a has; of bits, all those that only a has are set and all those that only b
    has are not; a set holds a and not b. Of two reports: both do, the first, or the second.
    """

    def __init__(self, survey: Survey, table: Cells, times: int) -> None:
        super().__init__(survey, table)
        self.times = times
        self.pairs = list(permutations(range(table.shape[2]), 2))

    def count(self, sample: Sample) -> Counts:
        found = []
        for a, b in self.pairs:
            speaks = [self._speaks(sample.cohorts, response, a, b) for response in sample.responses]
            if self.times == 1:
                found.append(speaks[0].sum())
            else:
                first, second = speaks
                found += [(first & second).sum(), (first & ~second).sum(), (~first & second).sum()]
        return np.array(found, np.int64)

    def _only(self, a: int, b: int) -> npt.NDArray[np.bool_]:
        """Which of the cells of a, in every cohort, b does not have; shape (C, h)."""
        return np.asarray((self.table[:, :, a] < self.survey.cells) & ~self._has(b, a))

    def _has(self, owner: int, other: int) -> npt.NDArray[np.bool_]:
        """Which of the cells of `other`, in every cohort, `owner` has too; shape (C, h)."""
        mine, theirs = self.table[:, :, owner], self.table[:, :, other]
        if len(mine) == 1:  # a design, whose answers may have thousands of cells
            return np.isin(theirs, mine)
        return np.asarray((theirs[:, :, None] == mine[:, None, :]).any(axis=2))

    def _speaks(self, cohorts: Counts, responses: npt.NDArray[Any], a: int, b: int) -> npt.NDArray[np.bool_]:
        only = self._only(a, b)
        if self.survey.mechanism.one_column:
            mine, found = self.table[:, :, a], np.zeros(len(cohorts), bool)
            if len(mine) == 1:
                return np.isin(responses, mine[only])
            for start in range(0, len(cohorts), _ROWS):
                rows = slice(start, start + _ROWS)
                found[rows] = ((mine[cohorts[rows]] == responses[rows, None]) & only[cohorts[rows]]).any(axis=1)
            return found
        against = self._only(b, a)
        found = np.ones(len(cohorts), bool)
        for cells, mask, wanted in ((self.table[:, :, a], only, 1), (self.table[:, :, b], against, 0)):
            for hash_number in range(cells.shape[1]):
                cell, counts = cells[cohorts, hash_number], mask[cohorts, hash_number]
                place = np.where(counts, cell, 0).astype(np.intp)
                bit = responses[np.arange(len(cohorts)), place // 8] >> (place % 8).astype(np.uint8) & 1
                found &= ~counts | (bit == wanted)
        return found

    def chances(self, value: int) -> Floats:
        speaks = published.of(self.survey.mechanism.permanent).speaks
        found: list[float] = []
        for a, b in self.pairs:
            one, both = speaks(self, value, a, b)  # in every cohort: one report, and both of two
            found += [one.mean()] if self.times == 1 else [both.mean(), (one - both).mean(), (one - both).mean()]
        return np.array(found)

    def name(self, event: int) -> str:
        parts = ("both reports", "the first of two reports alone", "the second of two reports alone")
        which = "the report speaks" if self.times == 1 else f"{parts[event % 3]} speak{'s' * (event % 3 > 0)}"
        a, b = self.pairs[event // (1 if self.times == 1 else 3)]
        return f"{which} for value {a + 1} and against value {b + 1}"


class SetBits(EventFamily):
    """Every bit, and every two bits together, in as many cohorts as can be listed: set and set, set and not, ..."""

    def __init__(self, survey: Survey, table: Cells) -> None:
        super().__init__(survey, table)
        k = survey.cells
        self.cohorts = min(survey.cohorts, max(1, MAX_PAIRS // k**2))
        # With more bits than this their pairs are too many to count; all single bits are still counted.
        self.upper = np.triu_indices(k, 1) if k**2 <= MAX_PAIRS else (np.zeros(0, int), np.zeros(0, int))

    def count(self, sample: Sample) -> Counts:
        found = [np.bincount(sample.cohorts, minlength=self.survey.cohorts)]
        for cohort in range(self.cohorts):
            rows = sample.responses[0][sample.cohorts == cohort]
            k, paired = self.survey.cells, len(self.upper[0]) > 0
            single, together = np.zeros(k), np.zeros((k, k) if paired else (0, 0))
            step = max(1, (1 << 24) // k)  # and so few that single precision counts them exactly
            for start in range(0, len(rows), step):
                bits = np.unpackbits(rows[start : start + step], axis=1, bitorder="little", count=k)
                single += bits.sum(axis=0)
                if paired:
                    together += bits.T.astype(np.float32) @ bits.astype(np.float32)
            found.append(self._patterns(together, single, len(rows)).astype(np.int64))
        return np.concatenate(found)

    def _patterns(self, together: Floats, single: Floats, total: float) -> Floats:
        """Single bits; then for each two bits 11, 10, 01 and 00."""
        i, j = self.upper
        both = together[i, j]
        pairs = [both, single[i] - both, single[j] - both, total - single[i] - single[j] + both]
        return np.concatenate([single, *pairs])

    def chances(self, value: int) -> Floats:
        mechanism, found = self.survey.mechanism, [np.full(self.survey.cohorts, 1.0 / self.survey.cohorts)]
        hit, miss = float(mechanism.hit), float(mechanism.miss)
        neither, one = (float(p) for p in mechanism.pairs)
        for cohort in range(self.cohorts):
            occupied = np.zeros(self.survey.cells + 1, bool)
            occupied[self.table[cohort, :, value]] = True
            mine = occupied[:-1]
            together = np.full((len(mine), len(mine)) if len(self.upper[0]) else (0, 0), neither)
            if len(self.upper[0]):
                together[mine[:, None] ^ mine] = one
                together[mine[:, None] & mine] = hit**2
            found.append(self._patterns(together, np.where(mine, hit, miss), 1.0) / self.survey.cohorts)
        return np.concatenate(found)

    def name(self, event: int) -> str:
        if event < self.survey.cohorts:
            return f"the cohort is {event}"
        k, pairs = self.survey.cells, len(self.upper[0])
        cohort, place = divmod(event - self.survey.cohorts, k + 4 * pairs)
        where = _cohort(self.survey, cohort)
        if place < k:
            return f"bit {place} is set{where}"
        pattern, pair = divmod(place - k, pairs)
        i, j = self.upper[0][pair], self.upper[1][pair]
        states = ("set and set", "set and not set", "not set and set", "not set and not set")[pattern]
        return f"bits {i} and {j} are {states}{where}"


class Weights(EventFamily):
    """At least so many bits are set: a deviation of every bit that is too small to detect in one adds up here."""

    def count(self, sample: Sample) -> Counts:
        weights = np.bitwise_count(sample.responses[0]).sum(axis=1, dtype=np.int64)
        return np.cumsum(np.bincount(weights, minlength=self.survey.cells + 1)[::-1])[::-1]

    def chances(self, value: int) -> Floats:
        k, mechanism = self.survey.cells, self.survey.mechanism
        sizes = np.bincount((self.table[:, :, value] < k).sum(axis=1))
        found = np.zeros(k + 1)
        for size, cohorts in enumerate(sizes):
            if cohorts:
                mine, rest = _binomial(size, float(mechanism.hit)), _binomial(k - size, float(mechanism.miss))
                found += cohorts / self.survey.cohorts * np.convolve(mine, rest)
        return np.cumsum(found[::-1])[::-1]

    def name(self, event: int) -> str:
        return f"at least {event} bits are set"


def _binomial(n: int, p: float) -> Floats:
    """The binomial law. (SciPy's statistics have it too, but take a second to load.)"""
    from scipy.special import gammaln, xlog1py, xlogy

    x = np.arange(n + 1)
    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    return np.asarray(np.exp(ways + xlogy(x, p) + xlog1py(n - x, -p)))


def _codes(responses: npt.NDArray[Any]) -> Counts:
    """Responses as numbers; only for outputs that are few."""
    if responses.ndim == 1:
        return responses
    weights = 1 << (8 * np.arange(responses.shape[1], dtype=np.int64))
    return np.asarray((responses * weights).sum(axis=1), np.int64)

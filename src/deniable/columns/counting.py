"""Count whole columns of reports: one pass, in blocks that stay in a cache."""

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

_BLOCK = 1 << 16  # rows that are counted at once, which stay in a cache; also the cells that 16 bits number
_BYTES = 1 << 21  # bytes of packed bits that are added up at once, which stay in a cache
_ROWS = 1 << 19  # rows that are counted at once where there are too many cells for a cache
_GROUP = 255  # reports that one group of vertical counters adds up, at most: 2**p - 1 of them fill p counters exactly

Counts = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]


def add_cells(counts: Counts, cohorts: npt.NDArray[Any], responses: npt.NDArray[Any]) -> None:
    """Add index reports, all of them in range, to counts of shape (C, k).

    >>> counts = np.zeros((2, 3), np.int64)
    >>> add_cells(counts, np.array([0, 1, 1]), np.array([2, 0, 2]))
    >>> counts.tolist()
    [[0, 0, 1], [1, 0, 1]]
    """
    whole = 0 if counts.size <= _BLOCK else len(responses) - len(responses) % _ROWS
    if whole:
        gathered = Gathered(counts)
        gathered.add(cohorts[:whole], responses[:whole])
        gathered.settle()
    _add_few(counts, cohorts[whole:], responses[whole:])


class Gathered:
    """Index reports of many batches, added to counts of shape (C, k) some time before `settle` returns.

    Where there are too many cells for a cache, reports wait until there are so many that they pay for a pass over all
    cells. Batches can then be small enough for a cache themselves.

    >>> counts = np.zeros((2, 3), np.int64)
    >>> gathered = Gathered(counts)
    >>> gathered.add(np.array([0, 1, 1]), np.array([2, 0, 2]))
    >>> gathered.settle(); counts.tolist()
    [[0, 0, 1], [1, 0, 1]]
    """

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._ones: _Ones | None = None

    def add(self, cohorts: npt.NDArray[Any], responses: npt.NDArray[Any]) -> None:
        """Count reports, all of them in range, now or with later ones."""
        if self._ones is None:
            if self._counts.size <= _BLOCK or len(responses) < _BLOCK:
                _add_few(self._counts, cohorts, responses)
                return
            self._ones = _SCRATCH.take(self._counts.shape)
        start = 0
        while start < len(responses):
            start += self._ones.put(cohorts[start:], responses[start:])
            if self._ones.reports == _ROWS:
                self._counts += self._ones.dense()

    def settle(self) -> None:
        """Count what has been gathered."""
        if self._ones is not None:
            _add_few(self._counts, *self._ones.taken())
            _SCRATCH.give(self._ones)
            self._ones = None


def _add_few(counts: Counts, cohorts: npt.NDArray[Any], responses: npt.NDArray[Any]) -> None:
    """By the combined index, in blocks that stay in cache."""
    cohort_count, columns = counts.shape
    flat = counts.reshape(-1)
    small = counts.size <= _BLOCK
    # Combining in the narrowest type that holds the index moves half the memory or less.
    narrow: np.dtype[Any] = np.dtype(np.uint16 if small else np.uint32)
    wide = np.empty(0 if small else min(_BLOCK, len(responses)), np.intp)
    for start in range(0, len(responses), _BLOCK):
        part = responses[start : start + _BLOCK]
        if cohort_count > 1:
            index = cohorts[start : start + _BLOCK].astype(narrow)
            index *= narrow.type(columns)
            np.add(index, part, out=index, casting="unsafe")
        else:
            index = part.astype(narrow, copy=False)
        # A small histogram is faster. The memory of a large one would cost more than adding in place.
        if small:
            flat += np.bincount(index, minlength=counts.size)
        else:
            wide[: len(part)] = index
            np.add.at(flat, wide[: len(part)], 1)


class _Ones:
    """Counts by a sparse matrix with a one for each report: converting it to a dense matrix adds them up in one pass.

    Its memory is used again for every block: new pages from the operating system would cost more than counting.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        from scipy.sparse import coo_array

        places = np.zeros((2, _ROWS), np.int32)
        self._matrix = coo_array((np.ones(_ROWS, np.int32), tuple(places)), shape=shape)
        self._dense = np.empty(shape, np.int32)
        self.reports = 0  # how many of the ones have the place of a report

    @property
    def shape(self) -> tuple[int, ...]:
        return self._dense.shape

    def put(self, cohorts: npt.NDArray[Any], responses: npt.NDArray[Any]) -> int:
        """Give ones the places of the first reports; returns how many there was room for."""
        old, self.reports = self.reports, min(self.reports + len(responses), _ROWS)
        for place, values in zip(self._matrix.coords, (cohorts, responses), strict=True):
            np.copyto(place[old : self.reports], values[: self.reports - old], casting="unsafe")
        return self.reports - old

    def dense(self) -> npt.NDArray[np.int32]:
        """The counts of as many reports as there are ones, which then are free again; valid until the next call."""
        self.reports = 0
        return np.asarray(self._matrix.toarray(out=self._dense))

    def taken(self) -> tuple[npt.NDArray[np.int32], ...]:
        """The cohorts and responses of the reports so far; the ones are free again."""
        reports, self.reports = self.reports, 0
        return tuple(place[:reports] for place in self._matrix.coords)


class _Scratch(threading.local):
    """The last matrix of each thread, while nobody has it."""

    def __init__(self) -> None:
        self._kept: _Ones | None = None

    def take(self, shape: tuple[int, ...]) -> _Ones:
        kept, self._kept = self._kept, None
        return _Ones(shape) if kept is None or kept.shape != shape else kept

    def give(self, ones: _Ones) -> None:
        self._kept = ones


_SCRATCH = _Scratch()


def add_bits(counts: Counts, cohorts: npt.NDArray[Any], packed: Bits) -> None:
    """Add packed bit reports, all of them possible, to counts of shape (C, k): a positional population count.

    Reports of a cohort are laid out in groups of up to 255, and the same row of every group is one long line of bytes.
    Lines are added by full adders: three lines of weight w become one of weight w and one of weight 2w, in five
    operations on whole lines, so all groups are counted at once and only eight lines of counters are ever unpacked.

    >>> counts = np.zeros((2, 3), np.int64)
    >>> add_bits(counts, np.array([0, 1]), np.array([[5], [1]], np.uint8))
    >>> counts.tolist()
    [[1, 0, 1], [1, 0, 0]]
    """
    cohort_count, columns = counts.shape
    width = packed.shape[1]
    block = max(_BYTES // width, min(2 * _GROUP * cohort_count, 1 << 19), _GROUP)
    for start in range(0, len(packed), block):
        part = packed[start : start + block]
        rows = len(part)
        group = min(_GROUP, (1 << (rows // cohort_count).bit_length()) - 1 or 1)
        if cohort_count == 1:
            used, first, groups = np.zeros(1, np.intp), np.zeros(1, np.intp), -(-rows // group)
            lines = np.zeros((groups * group, width), np.uint8)
            lines[:rows] = part
        else:
            used, first, places = _in_groups(cohorts[start : start + block], cohort_count, group)
            groups = places.shape[1]
            padded = np.concatenate([part, np.zeros((1, width), np.uint8)])
            lines = padded.view(np.dtype((np.void, width)))[:, 0].take(places.ravel()).view(np.uint8)
        totals = np.zeros((groups, 8 * width), np.uint8)
        for weight, line in enumerate(_vertical(lines.reshape(group, groups * width))):
            bits = np.unpackbits(line.reshape(groups, width), axis=1, bitorder="little")
            totals += np.left_shift(bits, np.uint8(weight), out=bits)
        counts[used] += np.add.reduceat(totals, first, axis=0, dtype=np.int64)[:, :columns]


def _in_groups(
    cohorts: npt.NDArray[Any], cohort_count: int, group: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.int32]]:
    """The cohorts that occur, the first group of each, and which report stands in row r of group g, shape (group, g).

    The last group of a cohort is filled up with a row past the end, which is all zeros.
    """
    order = np.argsort(cohorts, kind="stable")
    reports = np.bincount(cohorts, minlength=cohort_count)
    used = np.flatnonzero(reports)
    reports = reports[used]
    groups = -(-reports // group)
    first = np.cumsum(groups) - groups
    shift = first * group - (np.cumsum(reports) - reports)
    places = np.full(int(groups.sum()) * group, len(cohorts), np.int32)
    places[np.arange(len(cohorts)) + np.repeat(shift, reports)] = order
    return used, first, np.ascontiguousarray(places.reshape(-1, group).T)


def _vertical(lines: Bits) -> list[Bits]:
    """The sums of the bits of up to 2**p - 1 lines, place by place, as p lines: bit i of each sum is in line i."""
    found = []
    while len(lines):
        carries = np.empty((len(lines) // 2, lines.shape[1]), np.uint8)
        done = 0
        while (third := len(lines) // 3) > 0:
            a, b, c = lines[:third], lines[third : 2 * third], lines[2 * third : 3 * third]
            sums = np.empty((len(lines) - 2 * third, lines.shape[1]), np.uint8)
            either = a ^ b
            carry = np.bitwise_and(a, b, out=carries[done : done + third])
            np.bitwise_xor(either, c, out=sums[:third])
            either &= c
            carry |= either
            sums[third:] = lines[3 * third :]
            lines, done = sums, done + third
        if len(lines) == 2:
            np.bitwise_and(lines[0], lines[1], out=carries[done])
            lines = lines[:1] ^ lines[1:]
        found.append(lines[0])
        lines = carries
    return found

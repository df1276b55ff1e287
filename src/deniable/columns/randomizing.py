"""Randomise a column of answers into a table of reports: what a client does, on whole columns.

Each row is one respondent, for whom a cohort and one report are drawn. (People who answer again need `Client`, which
memoises.) Words come from `WordStream` and thresholds are the survey's integers, so each report has exactly the
distribution of a client's. `tests/contracts` and `tests/statistical` compare the two.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniable.columns.codes import are_codes, codes_of, in_range, readable
from deniable.columns.designs import design_block
from deniable.columns.encode import Cells, Words, cell_table, cells_at
from deniable.columns.narrow import narrow_block, suits
from deniable.columns.numbers import Unencodable
from deniable.columns.stream import WordStream
from deniable.columns.table import ReportTable
from deniable.columns.table_lookup import table_block
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Chain, Channel, Mechanism, Registry, Subset
from deniable.survey import Encoding, Survey

# How much is worked on at once, so that it stays in a cache. This does not change the distribution of reports.
_BLOCK = 1 << 15  # rows of k-RR and of tables: 256 KiB of random words
_NARROW = 1 << 17  # rows of k-RR with 16 bits first: 256 KiB of random words
_BITS = 1 << 20  # bits of bit reports, cells of sets (twice as many): 8 MiB of random words
_CHUNK = 1 << 18  # rows of text that one thread looks up and randomises
_TABLE = 1 << 24  # cells in the table of all keys and cohorts, at most: 64 MiB
_SMALL_TABLE = 1 << 18  # cells in a table (1 MiB) that is made even if there are few rows


def privatize(survey: Survey, column: Any, *, cohorts: npt.ArrayLike | None = None) -> ReportTable:
    """Randomise a column of answers, one report a row, with the operating system's randomness.

    `column` is a NumPy array, an Arrow array (dictionary-encoded is fastest), anything Arrow can read, or a list. A
    closed survey over the symbols 0 .. S-1 takes integer codes as they are. `cohorts` fixes each row's cohort where
    the respondents already have one; otherwise they are drawn.

    Missing answers, and values outside a closed alphabet without a catch-all, are refused: counted, never shown.

    >>> import deniable as dn, numpy as np
    >>> survey = dn.orr(symbols=256, epsilon=2.0, cells=8, cohorts=64)
    >>> len(dn.privatize(survey, np.arange(1000) % 256))
    1000
    """
    column = readable(column)
    given = None if cohorts is None else _checked_cohorts(survey, np.asarray(cohorts))
    if given is not None and len(given) != len(column):
        raise SurveyError(f"cohorts must be {len(column)} integers, one a row, got {len(given)}")
    if not _is_long_text(column):
        return randomize(survey, column, given)
    # Looking text up costs more than randomising it, and Arrow, NumPy and the cipher all release the interpreter's
    # lock, so long columns of text are divided among the cores. Each part draws its own key.
    parts = [slice(start, start + _CHUNK) for start in range(0, len(column), _CHUNK)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(randomize, survey, column[p], None if given is None else given[p]) for p in parts]
    if refused := sum(e.rows for job in jobs if isinstance(e := job.exception(), Unencodable)):
        raise Unencodable(refused, survey.alphabet.bins, is_open=survey.alphabet.is_open)
    tables = [job.result() for job in jobs]
    return ReportTable(
        survey, np.concatenate([t.cohorts for t in tables]), np.concatenate([t.responses for t in tables])
    )


def _is_long_text(column: Any) -> bool:
    import pyarrow as pa

    return (
        isinstance(column, (pa.Array, pa.ChunkedArray))
        and len(column) > _CHUNK
        and not column.null_count
        and (pa.types.is_string(column.type) or pa.types.is_large_string(column.type))
    )


def _checked_cohorts(survey: Survey, cohorts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if cohorts.ndim != 1 or cohorts.dtype.kind not in "iu":
        raise SurveyError(f"cohorts must be integers, one a row, got {cohorts.dtype} of shape {cohorts.shape}")
    if cohorts.size and not (int(cohorts.min()) >= 0 and int(cohorts.max()) < survey.cohorts):
        raise SurveyError(
            f"cohorts must be from 0 to {survey.cohorts - 1}, got {int(cohorts.min())} to {int(cohorts.max())}"
        )
    return cohorts


@lru_cache(maxsize=4)
def _whole_table(encoding: Encoding, size: int) -> Cells:
    """The cells of a closed alphabet, which every column of a survey shares."""
    return cell_table(encoding, np.arange(size, dtype=np.uint64))


def _cells(survey: Survey, keys: Words, rows: int) -> Cells | None:
    """The cells of every key in every cohort, or None if that is too much to tabulate for so many rows."""
    if len(keys) * survey.cohorts * survey.hashes > min(_TABLE, max(8 * rows, _SMALL_TABLE)):
        return None
    if not survey.alphabet.is_open and np.array_equal(keys, np.arange(len(survey.alphabet))):
        return _whole_table(survey.encoding, len(keys))
    return cell_table(survey.encoding, keys)


class Answers:
    """A column of answers. The cells of its rows are looked up a block at a time."""

    def __init__(self, survey: Survey, codes: npt.NDArray[Any], keys: Words, cohorts: npt.NDArray[Any]) -> None:
        self.survey, self.codes, self.keys, self.cohorts = survey, codes, keys, cohorts

    @cached_property
    def _table(self) -> Cells | None:
        return _cells(self.survey, self.keys, len(self.codes))

    @cached_property
    def _flat(self) -> npt.NDArray[Any] | None:
        return None if self._table is None else self._table.ravel().astype(np.min_scalar_type(self.survey.cells - 1))

    @cached_property
    def _is_direct(self) -> bool:
        """Whether a code is its own cell."""
        flat = self._flat
        return flat is not None and self.survey.cohorts == 1 and np.array_equal(flat, np.arange(len(flat)))

    def keys_at(self, rows: slice) -> Words:
        return np.asarray(self.keys[self.codes[rows]])

    def cells_at(self, rows: slice) -> Cells:
        """The cells of each row, shape (n, h)."""
        if self._table is None:
            return cells_at(self.survey.encoding, self.cohorts[rows], self.keys_at(rows))
        return self._table[self.cohorts[rows], :, self.codes[rows]]

    def cell_at(self, rows: slice) -> npt.NDArray[Any]:
        """The one cell of each row, where answers have one, shape (n,)."""
        if self._flat is None:
            return self.cells_at(rows)[:, 0].astype(np.min_scalar_type(self.survey.cells - 1))
        if self._is_direct:
            return self.codes[rows].astype(self._flat.dtype)  # a fifth of the time of looking it up
        if self.survey.cohorts == 1:
            return self._flat.take(self.codes[rows])
        return np.asarray(self._flat.take(self.cohorts[rows].astype(np.intp) * len(self.keys) + self.codes[rows]))


@dataclass(frozen=True, slots=True)
class Sampler:
    """`Mechanism.randomize` on arrays for one family of mechanisms, and `randomize_again` for its chains.

    `rows` says how many rows are drawn at once. `draw` draws their responses: column numbers, shape (n,), or packed
    bits, shape (n, payload bytes). `again_words` draws the words of a second stage, and `again` applies them.
    """

    rows: Callable[[Any], int]
    draw: Callable[[Any, Answers, slice, WordStream], npt.NDArray[Any]]
    again_words: Callable[[Chain, int, WordStream], Words] | None = None
    again: Callable[[Chain, npt.NDArray[Any], Words], npt.NDArray[Any]] | None = None
    narrow: Callable[[Any], bool] | None = None  # for which mechanisms `narrow_block` draws the same law


samplers: Registry[Sampler] = Registry("deniable.columns.randomizing.samplers", Mechanism, "bulk sampler")


def randomize(
    survey: Survey, column: Any, given: npt.NDArray[Any] | None = None, stream: WordStream | None = None
) -> ReportTable:
    """`privatize` of what `readable` returned, in this thread, with the words of a stream: its own if none is named."""
    stream = WordStream() if stream is None else stream
    if survey.alphabet.bins is None and are_codes(survey, column):
        found = _randomized(survey, column, np.arange(len(survey.alphabet), dtype=np.uint64), given, stream)
        if found is not None:
            return found
    found = _randomized(survey, *codes_of(survey, column), given, stream)
    assert found is not None, "codes are in range"
    return found


def _randomized(
    survey: Survey, codes: npt.NDArray[Any], keys: Words, given: npt.NDArray[Any] | None, stream: WordStream
) -> ReportTable | None:
    """The reports of row codes, or None if a code has no key: each block of rows is looked at when its turn comes, so
    that a column comes from memory once."""
    drawn: npt.NDArray[Any] = np.broadcast_to(np.uint8(0), len(codes))  # no memory where there is one cohort
    if given is not None:
        drawn = given
    elif survey.cohorts > 1:
        drawn = stream.uniform_below(survey.cohorts, len(codes))
    drawn = drawn.astype(np.min_scalar_type(survey.cohorts - 1), copy=False)
    mechanism, answers = survey.mechanism.permanent, Answers(survey, codes, keys, drawn)
    sampler = samplers.of(mechanism)
    if mechanism.one_column:
        responses: npt.NDArray[Any] = np.empty(len(codes), np.min_scalar_type(mechanism.columns - 1))
    else:
        responses = np.empty((len(codes), mechanism.payload_bytes), np.uint8)
    step, draw = sampler.rows(mechanism), sampler.draw
    if stream.is_narrow and sampler.narrow is not None and sampler.narrow(mechanism):
        step, draw = _NARROW, _draw_narrow
    for start in range(0, len(codes), step):
        rows = slice(start, start + step)
        if not in_range(len(keys), codes[rows]):
            return None
        responses[rows] = refreshed(survey.mechanism, draw(mechanism, answers, rows, stream), stream)
    return ReportTable(survey, drawn, responses)


def refreshed(mechanism: Mechanism, responses: npt.NDArray[Any], stream: WordStream) -> npt.NDArray[Any]:
    """The responses to send: the permanent ones, or in a chain each of them randomised again."""
    sampler, chain = samplers.of(mechanism.permanent), cast(Chain, mechanism)
    if not mechanism.twice or sampler.again_words is None:
        return responses
    return chain_block(chain, responses, sampler.again_words(chain, len(responses), stream))


def chain_block(mechanism: Chain, responses: npt.NDArray[Any], words: Words) -> npt.NDArray[Any]:
    """`Chain.refresh` on arrays: a word a row, a word a bit, or a word a row and one for each cell of a set.

    The words are used up: their memory is written over.
    """
    again = samplers.of(mechanism.permanent).again
    assert again is not None
    return again(mechanism, responses, words)


def _draw_cells(mechanism: KRR, answers: Answers, rows: slice, stream: WordStream) -> npt.NDArray[Any]:
    if mechanism.occupied > 1:
        keys = answers.keys_at(rows)
        return design_block(mechanism, answers.survey.encoding, keys, stream.words(len(keys)))
    cells = answers.cell_at(rows)
    return krr_block(mechanism, cells, stream.passing(len(cells)))


def _draw_narrow(mechanism: KRR, answers: Answers, rows: slice, stream: WordStream) -> npt.NDArray[Any]:
    return narrow_block(mechanism, answers.cell_at(rows), stream)


def _cells_again(mechanism: Chain, responses: npt.NDArray[Any], words: Words) -> npt.NDArray[Any]:
    keep, other = mechanism.report_thresholds().values()
    return _named(keep, other, responses, words)


def _draw_bits(mechanism: BitFlip, answers: Answers, rows: slice, stream: WordStream) -> npt.NDArray[Any]:
    occupied = answers.cells_at(rows)
    words = stream.words(len(occupied) * mechanism.cells).reshape(len(occupied), mechanism.cells)
    return bitflip_block(mechanism, occupied, words)


def _bits_again(mechanism: Chain, responses: npt.NDArray[Any], words: Words) -> npt.NDArray[Any]:
    flips = words.reshape(len(responses), mechanism.cells) < np.uint64(mechanism.again)
    return np.asarray(responses ^ np.packbits(flips, axis=1, bitorder="little"))


def _draw_sets(mechanism: Subset, answers: Answers, rows: slice, stream: WordStream) -> npt.NDArray[Any]:
    cells = answers.cells_at(rows)[:, 0]
    return subset_block(mechanism, cells, _set_words(stream, len(cells), subset_limits(mechanism)))


def _sets_again(mechanism: Chain, responses: npt.NDArray[Any], words: Words) -> npt.NDArray[Any]:
    words = words.reshape(len(responses), -1)
    kept = words[:, 0] < np.uint64(mechanism.report_thresholds()["report_keep"])
    other = _packed_sets(mechanism.cells, _shuffled(mechanism.cells, words[:, 1:]))
    return np.where(kept[:, None], responses, other)


def _draw_columns(mechanism: Channel, answers: Answers, rows: slice, stream: WordStream) -> npt.NDArray[Any]:
    cells = answers.cell_at(rows)
    return table_block(mechanism, cells, stream.words(len(cells)))


samplers.add(KRR)(
    Sampler(lambda m: _BLOCK, _draw_cells, lambda m, rows, stream: stream.words(rows), _cells_again, suits)
)
samplers.add(BitFlip)(
    Sampler(
        lambda m: max(1, _BITS // m.cells),
        _draw_bits,
        lambda m, rows, stream: stream.words(rows * m.cells),
        _bits_again,
    )
)
samplers.add(Subset)(
    Sampler(
        lambda m: max(1, 2 * _BITS // m.cells),
        _draw_sets,
        lambda m, rows, stream: _set_words(stream, rows, chain_limits(m)).ravel(),
        _sets_again,
    )
)
samplers.add(Channel)(Sampler(lambda m: _BLOCK, _draw_columns))


def _set_words(stream: WordStream, rows: int, limits: Words) -> Words:
    """For each row a word for the coin, then one below its limit for each cell of a set; see `subset_limits`."""
    words = stream.words(rows * (len(limits) + 1)).reshape(rows, -1)
    while (again := np.flatnonzero((words[:, 1:] >= limits).any(axis=1))).size:
        words[again] = stream.words(len(again) * (len(limits) + 1)).reshape(len(again), -1)
    return words


def chain_limits(mechanism: Chain) -> Words:
    """`subset_limits` for the second stage, which draws from all cells, the true one included."""
    return _limits(mechanism.cells, mechanism.hits or 0)


def _limits(among: int, draws: int) -> Words:
    bounds = [among - step for step in range(draws)]
    return np.array([2**64 - (2**64 % bound or bound) for bound in bounds], np.uint64)


def _shuffled(size: int, words: Words) -> npt.NDArray[Any]:
    """The first places of a shuffle of range(size) for each row of words, shape (places, rows).

    Rows of words are columns here, so that what one step reads and writes for all rows is contiguous in memory.
    """
    rows, steps = words.shape
    shuffled = np.empty((size, rows), np.min_scalar_type(size))
    shuffled[:] = np.arange(size)[:, None]
    flat, lanes = shuffled.ravel(), np.arange(rows)
    for step, drawing in enumerate(np.ascontiguousarray(words.T)):
        bound = np.uint64(size - step)
        place = (drawing - drawing // bound * bound).astype(np.intp)  # the remainder: NumPy divides faster
        place += step
        place *= rows
        place += lanes
        drawn = flat.take(place)
        flat[place] = shuffled[step]
        shuffled[step] = drawn
    return shuffled[:steps]


def _packed_sets(cells: int, chosen: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """Sets of cells, shape (w, n), as packed bits."""
    rows = chosen.shape[1]
    bits = np.zeros((rows, cells), bool)
    bits.reshape(-1)[chosen + np.arange(rows) * cells] = True
    return np.packbits(bits, axis=1, bitorder="little")


def subset_limits(mechanism: Subset) -> Words:
    """The largest multiple of each step's bound below 2**64: words at or above it are drawn again.

    A row with such a word is drawn again as a whole, where the client draws again that one word: both leave words that
    are independent, and uniform over a multiple of the bound. (A bound that divides 2**64 needs no limit, but its own
    would not fit 64 bits.)
    """
    return _limits(mechanism.cells - 1, mechanism.size)


def subset_block(mechanism: Subset, cells: npt.NDArray[Any], words: Words) -> npt.NDArray[np.uint8]:
    """`Subset.randomize` on arrays: a word for the true cell, then one for each of the others, none to be rejected."""
    chosen = _shuffled(mechanism.cells - 1, words[:, 1:])
    chosen += chosen >= cells
    chosen[-1] = np.where(words[:, 0] < np.uint64(mechanism.inside), cells, chosen[-1])
    return _packed_sets(mechanism.cells, chosen)


def krr_block(mechanism: KRR, cells: npt.NDArray[Any], words: Words) -> npt.NDArray[Any]:
    """`KRR.randomize` on arrays: one word a row. The words are used up: their memory is written over."""
    return _named(mechanism.keep, mechanism.other, cells, words)


def _named(keep: int, other: int, cells: npt.NDArray[Any], words: Words) -> npt.NDArray[Any]:
    kept = words < np.uint64(keep)
    # Where a word is below `keep` the subtraction wraps and the block number is void; `kept` discards it.
    words = np.subtract(words, np.uint64(keep), out=words)
    found = np.floor_divide(words, np.uint64(other), out=words).astype(cells.dtype)
    found += found >= cells
    # Bits that differ are turned back where `kept` is set: three passes over small integers, a quarter of np.where.
    turned = found ^ cells
    turned &= np.negative(kept.astype(cells.dtype))
    found ^= turned
    return found


def bitflip_block(mechanism: BitFlip, occupied: npt.NDArray[Any], words: Words) -> npt.NDArray[np.uint8]:
    """`BitFlip.randomize` on arrays: one word a bit; a cell number equal to `cells` stands for no cell."""
    if words.shape != (len(occupied), mechanism.cells):
        raise RuntimeError(f"words must be one for each bit, got {words.shape}")
    # A bit that is 0 becomes 1 if its word is below `flip`; one that is 1 stays if it is at or above `clear`. All
    # bits are first drawn as if they were 0; the few that are 1 are then drawn by their own rule.
    bits = words < np.uint64(mechanism.flip)
    for column in occupied.T:
        row = np.flatnonzero(column < mechanism.cells)
        bits[row, column[row]] = words[row, column[row]] >= np.uint64(mechanism.clear)
    return np.packbits(bits, axis=1, bitorder="little")

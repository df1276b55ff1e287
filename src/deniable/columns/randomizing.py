"""A column of answers in, a table of reports out: the client's code path on whole columns.

Each row is one respondent, who draws a cohort and one report, once. (People who answer again need `Client`, which
memoises.) Randomness comes from `WordStream`, thresholds are the survey's integers, so the law of each report is the
client's, exactly; `tests/contracts` and `tests/statistical` hold the two together.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns.encode import Words, cell_table, cells_at, keys_of
from deniable.columns.stream import WordStream
from deniable.columns.table import ReportTable
from deniable.errors import AlphabetError, SurveyError
from deniable.mechanisms import KRR, BitFlip
from deniable.survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["privatize"]

_BLOCK = 1 << 15
_CHUNK = 1 << 18
_TABLE = 1 << 24


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
    codes, keys = _codes(survey, column)
    stream = WordStream()
    if cohorts is None:
        drawn = (
            stream.uniform_below(survey.cohorts, len(codes)) if survey.cohorts > 1 else np.zeros(len(codes), np.uint8)
        )
    else:
        drawn = np.asarray(cohorts)
        if drawn.shape != codes.shape or drawn.dtype.kind not in "iu":
            raise SurveyError(
                f"cohorts must be {len(codes)} integers, one a row, got {drawn.dtype} of shape {drawn.shape}"
            )
        if drawn.size and not (int(drawn.min()) >= 0 and int(drawn.max()) < survey.cohorts):
            raise SurveyError(f"cohorts must be from 0 to {survey.cohorts - 1}")
    drawn = drawn.astype(np.min_scalar_type(survey.cohorts - 1), copy=False)
    small = len(keys) * survey.cohorts * survey.hashes <= _TABLE
    table = cell_table(survey.encoding, keys) if small else None
    mechanism = survey.mechanism
    if isinstance(mechanism, KRR):
        responses: npt.NDArray[Any] = np.empty(len(codes), np.min_scalar_type(mechanism.cells - 1))
        flat = None if table is None else table.ravel().astype(responses.dtype)
        for start in range(0, len(codes), _BLOCK):
            rows = slice(start, start + _BLOCK)
            if flat is None:
                cells = cells_at(survey.encoding, drawn[rows], keys[codes[rows]])[:, 0].astype(responses.dtype)
            elif survey.cohorts == 1:
                cells = flat.take(codes[rows])
            else:
                cells = flat.take(drawn[rows].astype(np.intp) * len(keys) + codes[rows])
            responses[rows] = krr_block(mechanism, cells, stream.words(len(cells)))
    elif isinstance(mechanism, BitFlip):
        responses = np.empty((len(codes), mechanism.payload_bytes), np.uint8)
        step = max(1, (1 << 20) // mechanism.cells)
        for start in range(0, len(codes), step):
            rows = slice(start, start + step)
            if table is None:
                occupied = cells_at(survey.encoding, drawn[rows], keys[codes[rows]])
            else:
                occupied = table[drawn[rows], :, codes[rows]]
            words = stream.words(len(occupied) * mechanism.cells).reshape(len(occupied), mechanism.cells)
            responses[rows] = bitflip_block(mechanism, occupied, words)
    else:
        raise TypeError(f"no column code for {type(mechanism).__name__}")
    return ReportTable(survey, drawn, responses)


def krr_block(mechanism: KRR, cells: npt.NDArray[Any], words: Words) -> npt.NDArray[Any]:
    """`KRR.randomize` on arrays: one word a row."""
    keep, other = np.uint64(mechanism.keep), np.uint64(mechanism.other)
    kept = words < keep
    # Where a word is below `keep` the subtraction wraps and the block number is void; `kept` discards it.
    blocks = ((words - keep) // other).astype(cells.dtype)
    blocks += blocks >= cells
    return np.where(kept, cells, blocks)


def bitflip_block(mechanism: BitFlip, occupied: npt.NDArray[Any], words: Words) -> npt.NDArray[np.uint8]:
    """`BitFlip.randomize` on arrays: one word a bit; a cell number equal to `cells` stands for no cell."""
    if words.shape != (len(occupied), mechanism.cells):
        raise RuntimeError(f"words must be one for each bit, got {words.shape}")
    truth = np.zeros((len(occupied), mechanism.cells + 1), bool)
    np.put_along_axis(truth, occupied.astype(np.intp), True, axis=1)
    bits = (words < np.uint64(mechanism.flip)) ^ truth[:, :-1]
    return np.packbits(bits, axis=1, bitorder="little")


def _codes(survey: Survey, column: Any) -> tuple[npt.NDArray[Any], Words]:
    """Row codes and the key that each code stands for: each distinct symbol is looked up or hashed once."""
    if isinstance(column, np.ndarray) and column.ndim != 1:
        raise AlphabetError(f"column must have one dimension, got {column.ndim}")
    if isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return _integer_codes(survey, column)
    import pyarrow as pa

    try:
        array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError):
        # Mixed or very large values: Arrow has no one type for them. Its own message would show a value.
        return _mixed_codes(survey, list(column))
    if array.null_count:
        raise AlphabetError(
            f"column must not have missing answers, got {array.null_count}; drop them or give them a symbol"
        )
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if pa.types.is_integer(array.type):
        return _integer_codes(survey, array.to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(array.type):
        text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        if len(array) and not (text or pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type)):
            raise AlphabetError(f"column must hold text, integers or bytes, got {array.type}")
        if text and not survey.alphabet.is_open:
            found = _known_text(survey, array)
            if found is not None:
                return found
        array = _by_chunks(array, lambda part: part.dictionary_encode())
        array = array.unify_dictionaries().combine_chunks()
    indices = array.indices.to_numpy(zero_copy_only=False)
    values = array.dictionary.to_pylist()
    if None in values:
        raise AlphabetError("column must not have missing answers in its dictionary; drop them or give them a symbol")
    return _looked_up(survey, indices, values)


def _by_chunks(array: "pa.Array", work: "Callable[[pa.Array], pa.Array]") -> "pa.ChunkedArray":
    """`work` on pieces of an Arrow column, on every core: Arrow's kernels hold no lock."""
    import pyarrow as pa

    parts = [array.slice(start, _CHUNK) for start in range(0, max(len(array), 1), _CHUNK)]
    if len(parts) == 1:
        return pa.chunked_array([work(array)])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return pa.chunked_array(list(pool.map(work, parts)))


def _known_text(survey: Survey, array: "pa.Array") -> tuple[npt.NDArray[Any], Words] | None:
    """Positions in a closed alphabet, one lookup a row; None if some row needs a closer look (NFC, catch-all)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = [(i, s) for i, s in enumerate(survey.alphabet) if isinstance(s, str)]
    known = pa.array([s for _, s in places], array.type)
    positions = _by_chunks(array, lambda part: pc.index_in(part, value_set=known))
    if positions.null_count:
        return None
    return positions.combine_chunks().to_numpy(zero_copy_only=False), np.array([i for i, _ in places], np.uint64)


def _integer_codes(survey: Survey, column: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Words]:
    symbols = survey.symbols
    plain = symbols is not None and symbols == tuple(range(len(symbols)))
    if plain and column.size and int(column.min()) >= 0 and int(column.max()) < len(survey.alphabet):
        return column, np.arange(len(survey.alphabet), dtype=np.uint64)
    low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
    if high - low <= max(2 * column.size, 1 << 16):  # a compact range: count what occurs instead of sorting
        offsets = column.astype(np.int64) - low if low > -(1 << 62) and high < 1 << 62 else (column - column.min())
        used = np.flatnonzero(np.bincount(offsets.astype(np.intp), minlength=1))
        rank = np.zeros(high - low + 1, np.intp)
        rank[used] = np.arange(used.size)
        return _looked_up(survey, rank[offsets.astype(np.intp)], [low + int(v) for v in used])
    values, codes = np.unique(column, return_inverse=True)
    return _looked_up(survey, codes, values.tolist())


def _mixed_codes(survey: Survey, values: list[object]) -> tuple[npt.NDArray[Any], Words]:
    if missing := sum(value is None for value in values):
        raise AlphabetError(f"column must not have missing answers, got {missing}; drop them or give them a symbol")
    # The type keeps 1 and True apart, which are equal as dictionary keys.
    distinct: dict[tuple[type, Any], int] = {}
    codes = [distinct.setdefault((type(value), value), len(distinct)) for value in values]
    return _looked_up(survey, np.array(codes, np.int64), [value for _, value in distinct])


def _looked_up(survey: Survey, codes: npt.NDArray[Any], values: list[object]) -> tuple[npt.NDArray[Any], Words]:
    try:
        return codes, keys_of(survey, values)
    except AlphabetError:
        unknown = np.zeros(len(values), bool)
        for i, value in enumerate(values):
            try:
                survey.key(value)
            except AlphabetError:
                unknown[i] = True
        rows = int(unknown[codes].sum())
    if rows == 0:  # a dictionary may hold values that no row uses
        used = np.flatnonzero(~unknown)
        keys = np.zeros(len(values), np.uint64)
        keys[used] = keys_of(survey, [values[i] for i in used])
        return codes, keys
    raise AlphabetError(
        f"column must hold only symbols that the survey can encode, got {rows} rows that it cannot; "
        "name a catch-all symbol with other= or filter them"
    )

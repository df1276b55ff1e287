"""A column of answers as integer codes: each distinct symbol is looked up or hashed once.

Nothing is done row by row in Python, except for columns that Arrow has no one type for (mixed lists, huge integers).
No error message shows an answer, not even one of Arrow's: it says only how many rows cannot be encoded.
"""

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns.encode import Words, keys_of
from deniable.columns.numbers import Unencodable, numeric, put_into_bins, taken
from deniable.errors import AlphabetError
from deniable.survey import Survey

if TYPE_CHECKING:
    import pyarrow as pa


def readable(column: Any) -> Any:
    """A column with a length and an order: a NumPy or Arrow array, or a list made of anything else."""
    if isinstance(column, (str, bytes, bytearray, memoryview, dict, set, frozenset)):
        raise AlphabetError(f"column must be a column of answers, got one {type(column).__name__}; pass a list of them")
    if isinstance(column, np.ndarray):
        if column.ndim != 1:
            raise AlphabetError(f"column must have one dimension, got {column.ndim}")
        missing = int(np.ma.getmaskarray(column).sum()) if isinstance(column, np.ma.MaskedArray) else 0
        if missing:  # what is under a mask is nobody's answer
            raise AlphabetError(f"column must not have missing answers, got {missing}; drop them or give them a symbol")
        return column
    import pyarrow as pa

    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return without_views(column)
    if any(hasattr(column, name) for name in ("__arrow_c_stream__", "__arrow_c_array__", "__arrow_array__")):
        array = arrow_or_none(column)
        if array is not None:
            return without_views(array)
    if not isinstance(column, Iterable):
        raise AlphabetError(f"column must be a column of answers, got {type(column).__name__}")
    return column if isinstance(column, list) else list(column)


def without_views(array: Any) -> Any:
    """The same column in a layout that Arrow's lookups know: views (as Polars gives) and fixed sizes are cast."""
    import pyarrow as pa

    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    if pa.types.is_binary_view(array.type) or pa.types.is_fixed_size_binary(array.type):
        return array.cast(pa.large_binary())
    return array


def arrow_or_none(column: Any) -> "pa.Array | pa.ChunkedArray | None":
    """The column in Arrow's form, or None where Arrow has no one type for it (mixed, very large, malformed text).

    Errors of Arrow, of a codec or of the column's own library are not passed on: they can hold answers.
    """
    import pyarrow as pa

    if isinstance(column, (pa.Array, pa.ChunkedArray)):
        return column
    try:
        return pa.chunked_array(column) if hasattr(column, "__arrow_c_stream__") else pa.array(column)
    except Exception:
        return None


def codes_of(survey: Survey, column: Any) -> tuple[npt.NDArray[Any], Words]:
    """Row codes and the key that each code stands for: each distinct symbol is looked up or hashed once.

    `column` is what `readable` returned, or a slice of it.
    """
    scale = survey.alphabet.bins
    if scale is not None:
        numbers = numeric(column)
        if numbers is not None:
            return put_into_bins(scale, numbers), np.arange(scale.bins, dtype=np.uint64)
    elif isinstance(column, np.ndarray) and column.dtype.kind in "iu":
        return _integer_codes(survey, column)
    import pyarrow as pa

    array = arrow_or_none(column)
    if scale is not None and array is not None and (numbers := numeric(array)) is not None:  # a list
        return put_into_bins(scale, numbers), np.arange(scale.bins, dtype=np.uint64)
    if array is None:
        return _mixed_codes(survey, list(column))
    if array.null_count:
        raise AlphabetError(
            f"column must not have missing answers, got {array.null_count}; drop them or give them a symbol"
        )
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if pa.types.is_integer(array.type) and scale is None:
        return _integer_codes(survey, array.to_numpy(zero_copy_only=False))
    if not pa.types.is_dictionary(array.type):
        text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
        if len(array) and not (text or pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type)):
            if survey.alphabet.other is not None or scale is not None:  # one at a time: some may be taken
                return _mixed_codes(survey, array.to_pylist())
            raise AlphabetError(f"column must hold text, integers or bytes, got {array.type}")
        if text and not survey.alphabet.is_open:
            found = _known_text(survey, array)
            if found is not None:
                return found
        array = array.dictionary_encode()
    indices = array.indices.to_numpy(zero_copy_only=False)
    values = array.dictionary.to_pylist()
    if None in values:
        raise AlphabetError("column must not have missing answers in its dictionary; drop them or give them a symbol")
    return _looked_up(survey, indices, values)


def encodable_rows(survey: Survey, column: "pa.Array", meaning: Mapping[Any, Any]) -> npt.NDArray[np.bool_]:
    """Which rows of a column without nulls the survey can encode; each distinct symbol is looked up once.

    `meaning` says which values stand for another.
    """
    import pyarrow as pa

    scale, numbers = survey.alphabet.bins, numeric(column)
    if scale is not None and numbers is not None:
        return taken(scale, numbers)
    codes = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    known = np.zeros(len(codes.dictionary), bool)
    for place, value in enumerate(codes.dictionary.to_pylist()):
        with contextlib.suppress(AlphabetError):
            survey.key(meaning.get(value, value))
            known[place] = True
    return np.asarray(known[codes.indices.to_numpy(zero_copy_only=False)])


def _known_text(survey: Survey, array: "pa.Array") -> tuple[npt.NDArray[Any], Words] | None:
    """Positions in a closed alphabet, one lookup a row; None if some row needs a closer look (NFC, catch-all)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = [(i, s) for i, s in enumerate(survey.alphabet) if isinstance(s, str)]
    known = pa.array([s for _, s in places], array.type)
    positions = pc.index_in(array, value_set=known)
    if positions.null_count:
        return None
    return positions.to_numpy(zero_copy_only=False), np.array([i for i, _ in places], np.uint64)


def are_codes(survey: Survey, column: Any) -> bool:
    """Whether a column has the integers of an alphabet 0 .. S-1 as they are; `in_range` says which of them it has."""
    whole = isinstance(column, np.ndarray) and column.dtype.kind in "iu" and column.dtype != np.uint64
    return whole and survey.symbols is not None and survey.symbols == tuple(range(len(survey.symbols)))


def in_range(size: int, codes: npt.NDArray[Any]) -> bool:
    """Whether all of some integers are from 0 to `size` - 1."""
    # As an unsigned number a negative one is larger than any alphabet, so one pass sees both ends.
    return not codes.size or int(codes.view(codes.dtype.str.replace("i", "u")).max()) < size


def _integer_codes(survey: Survey, column: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Words]:
    # NumPy indexes with every integer type but uint64, which it would turn into floats on the way.
    codes = column.astype(np.int64) if column.dtype == np.uint64 else column
    if are_codes(survey, codes) and in_range(len(survey.alphabet), codes):
        return codes, np.arange(len(survey.alphabet), dtype=np.uint64)
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
    found: list[object] = []
    codes = []
    for value in values:
        try:
            code = distinct.setdefault((type(value), value), len(distinct))
        except TypeError:  # a value that cannot be hashed equals only itself
            code = distinct.setdefault((type(value), id(value)), len(distinct))
        if code == len(found):
            found.append(value)
        codes.append(code)
    return _looked_up(survey, np.array(codes, np.int64), found)


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
        known = keys_of(survey, [values[i] for i in used])
        keys = np.zeros((len(values), *known.shape[1:]), np.uint64)
        keys[used] = known
        return codes, keys
    raise Unencodable(rows, survey.alphabet.bins, is_open=survey.alphabet.is_open)

"""What people said in a design that they ran by hand, as a column: not reports, and nothing that a device made."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns.batches import settle_refused
from deniable.errors import WireError
from deniable.survey import Survey
from deniable.tally import Tally

__all__ = ["count_said", "places_said", "said_codes"]


def said_codes(survey: Survey, column: Any) -> npt.NDArray[np.int64]:
    """The column of the design that each value names; -1 where it is missing, -2 where it names none.

    A value is one of the things to say, as the survey spells them; or its place from 0, as a number or a truth value,
    where they are text.

    >>> import deniable as dn
    >>> said_codes(dn.design("crosswise", p=0.25), ["same", None, "different", 1, "yes"]).tolist()
    [1, -1, 0, 1, -2]
    """
    return places_said(survey.mechanism.said, column)


def places_said(said: tuple[Any, ...], column: Any) -> npt.NDArray[np.int64]:
    """The same for any names.

    >>> places_said(("no", "yes"), ["yes", 0, float("inf")]).tolist()
    [1, 0, -2]
    """
    import pyarrow as pa

    try:
        array = column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column, from_pandas=True)
    except pa.ArrowException:  # text and numbers in one column
        return np.array([_place(said, value) for value in column], np.int64)
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if not pa.types.is_dictionary(array.type):
        array = array.dictionary_encode()
    values = [_place(said, value) for value in array.dictionary.to_pylist()]
    places = np.array([*values, -1], np.int64)
    return np.asarray(places[np.asarray(array.indices.fill_null(len(values)))])


def _place(said: tuple[Any, ...], value: object) -> int:
    if value is None or (isinstance(value, float) and value != value):
        return -1
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # pandas turns whole numbers with gaps into these
    if not isinstance(value, bool) and value in said:
        return said.index(value)
    if isinstance(value, int) and (isinstance(value, bool) or not any(isinstance(name, int) for name in said)):
        return int(value) if 0 <= value < len(said) else -2
    return -2


def count_said(survey: Survey, said: Any, refused: dict[str, int] | None = None) -> Tally:
    """The tally of a column of what people said, or of a mapping of how often each thing was said.

    >>> import deniable as dn
    >>> survey = dn.design("warner", p=0.7)
    >>> count_said(survey, {"yes": 3, "no": 1}) == count_said(survey, ["yes", "no", "yes", "yes"])
    True
    """
    counts = np.zeros(survey.columns, np.int64)
    if isinstance(said, Mapping):
        for name, number in said.items():
            place = _place(survey.mechanism.said, name)
            if place < 0:
                raise WireError(f"counts must be of {_listed(survey)}, got {str(name)[:40]!r}")
            if isinstance(number, bool) or number != int(number) or number < 0:
                raise WireError(f"counts must be whole numbers from 0 on, got {str(number)[:40]}")
            counts[place] += int(number)
        return Tally(survey, [counts])
    codes = said_codes(survey, said)
    bad = {"no answer": int((codes == -1).sum()), "not one of the answers": int((codes == -2).sum())}
    bad = {reason: rows for reason, rows in bad.items() if rows}
    if refused is None and bad.get("not one of the answers"):
        raise WireError(
            f"answers must be {_listed(survey)}, got {bad['not one of the answers']:,} others; name what the data "
            "have with answers=, or pass refused={} to leave them out"
        )
    settle_refused(bad, refused)
    counts += np.bincount(codes[codes >= 0], minlength=survey.columns)
    return Tally(survey, [counts])


def _listed(survey: Survey) -> str:
    shown = [repr(name) for name in survey.mechanism.said]
    return ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")

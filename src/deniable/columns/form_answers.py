"""A table of answers to a form as columns: read, checked, and which rows meet the condition of a part."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns.codes import arrow_or_none, codes_of, readable
from deniable.errors import AlphabetError
from deniable.mechanisms import KRR
from deniable.survey import NO_ANSWER, Direct, Form, Question, Survey, Symbol

__all__ = ["answers_of", "filled", "holds", "named", "places_of"]


def named(name: str, work: Callable[..., Any], *given: Any) -> Any:
    """What `work` gives; where it refuses, the sentence says of which question."""
    try:
        return work(*given)
    except AlphabetError as problem:
        raise AlphabetError(f"{name}: {problem}") from None


def answers_of(form: Form, data: Any) -> dict[str, Any]:
    """The columns that the form needs, of one length."""
    import pyarrow as pa

    if isinstance(data, Mapping):
        given = {str(name): named(str(name), readable, column) for name, column in data.items()}
        # Integers stay as they are; anything else may have missing answers, which Arrow knows.
        quick = {name for name, column in given.items() if isinstance(column, np.ndarray) and column.dtype.kind in "iu"}
        given = {name: column if name in quick else _with_nulls(column) for name, column in given.items()}
    elif hasattr(data, "__arrow_c_stream__") or hasattr(data, "column_names"):
        try:
            table = pa.table(data)
        except Exception:  # its message may hold answers
            table = None
        if table is None:
            raise AlphabetError(
                "answers to a form must be a table in which each column has one type, got one that Arrow cannot read; "
                "give the columns as a mapping by name"
            )
        given = {name: table.column(name) for name in table.column_names}
    else:
        raise AlphabetError(
            f"answers to a form must be a table with a column for each question, got {type(data).__name__}"
        )
    needed = [question.name for question in form.questions]
    for name in needed:
        if name not in given:
            raise AlphabetError(_without(name))
    needed += [question.name for question in form.public if question.name in given]
    if len({len(given[name]) for name in needed}) != 1:
        raise AlphabetError("columns of a form must be of one length")
    return {name: given[name] for name in needed}


def _with_nulls(column: Any) -> Any:
    """In Arrow's form, or an array of objects where Arrow has no one type for it: texts and integers, say."""
    found = arrow_or_none(column)
    return np.fromiter(column, object, len(column)) if found is None else found


def filled(column: Any) -> Any:
    """The same column with "no answer" where there is none."""
    missing = _missing_in(column)
    if not missing.any():
        return column
    found = np.fromiter(column if isinstance(column, np.ndarray) else column.to_pylist(), object, len(column))
    found[missing] = NO_ANSWER
    return found


def _missing_in(column: Any) -> npt.NDArray[np.bool_]:
    """Which rows have no answer."""
    if not isinstance(column, np.ndarray):
        return np.asarray(column.is_null().to_numpy(zero_copy_only=False))
    if column.dtype != object:
        return np.zeros(len(column), bool)
    return np.fromiter((value is None for value in column), bool, len(column))


def holds(
    form: Form, columns: Mapping[str, Any], when: tuple[str, tuple[Symbol, ...]], what: str
) -> npt.NDArray[np.bool_]:
    """The rows in which a condition holds, as for a client: who was not asked a public question has no answer to it."""
    question = next(one for one in form.public if one.name == when[0])
    if question.name not in columns:
        raise AlphabetError(_without(question.name))
    column = columns[question.name]
    found = named(question.name, places_of, replace(question, skip=True), column)
    missing = found == len(question.alphabet)
    if missing.any():
        asked = missing if question.when is None else missing & holds(form, columns, question.when, what)
        if asked.any():
            rows = int(asked.sum())
            raise AlphabetError(
                f"{question.name}: it must be answered, because {what} depends on it; got {rows} "
                f"row{'s' if rows > 1 else ''} without an answer"
            )
    return np.isin(found, [question.alphabet.index(answer) for answer in when[1]])


def _without(name: str) -> str:
    return f"answers to a form must have a column for each question, got none for {name!r}"


def places_of(question: Question, column: Any) -> npt.NDArray[np.int64]:
    """The place of each answer in `question.answers`; nulls are "no answer"."""
    size = len(question.alphabet)
    asked = Survey(question.alphabet, Direct(size), KRR(size, 1))
    missing = _missing_in(column)
    if not question.skip or not missing.any():
        codes, keys = codes_of(asked, column)
        return np.asarray(keys[codes], np.int64)
    found = np.full(len(column), size, np.int64)
    if not missing.all():
        codes, keys = codes_of(asked, column[~missing] if isinstance(column, np.ndarray) else column.drop_null())
        found[~missing] = keys[codes]
    return found

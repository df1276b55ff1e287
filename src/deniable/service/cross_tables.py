"""Cross-tables in the process that decodes: two related questions of a form, or a question in two ranges."""

import io
import json
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from pyarrow import csv

from deniable.decoders import plain_cell
from deniable.errors import DeniableError
from deniable.relations import Crosstab, crosstab
from deniable.survey import symbol_from_json
from deniable.tally import FormTally, Tally

__all__ = ["cross_table"]


def cross_table(fields: dict[str, Any], tallies: Sequence[Any]) -> bytes:
    """The table that was asked for, in its format.

    Parameters
    ----------
    fields : dict
        What was asked.
    tallies : sequence
        Of one range, or of two.
    """
    survey = tallies[0].form if isinstance(tallies[0], FormTally) else tallies[0].survey
    about = {"survey": survey.digest, **fields["about"]}
    if fields["rows"] is not None:
        if not isinstance(tallies[0], FormTally):
            raise DeniableError("rows and columns must be questions of a form, and this survey has one question")
        found = crosstab(tallies[0], fields["rows"], fields["columns"])
    else:
        found = _ranges(fields, tallies)
    return _WRITERS[fields["form"]](found, fields["level"], about)


def _ranges(fields: dict[str, Any], tallies: Sequence[Any]) -> Crosstab:
    """Two ranges as two groups."""
    own = [_of_question(tally, fields["question"]) for tally in tallies]
    if own[0].survey.participation != "once":
        raise DeniableError(
            "ranges must be of different people to be tabulated, and devices of this survey answer again and again; "
            "ask for the difference of two ranges"
        ).because("again")
    about, candidates = fields["about"], fields["candidates"]
    names = [f"{about['against_from']} to {about['against_to']}", f"{about['from']} to {about['to']}"]
    listed = None if candidates is None else [symbol_from_json(symbol) for symbol in candidates]
    groups = dict(zip(names, own, strict=True))
    return crosstab(groups, "range", fields["question"] or own[0].survey.name or "answer", candidates=listed)


def _of_question(tally: Any, question: str | None) -> Tally:
    if not isinstance(tally, FormTally):
        if question is not None:
            raise DeniableError("question must be left out where a survey has one question")
        assert isinstance(tally, Tally)
        return tally
    if question is None:
        raise DeniableError("question must name a question of the form, or rows and columns two related ones")
    if len(tally.form.part_of(question).questions) > 1:
        raise DeniableError(
            f"question {question!r} must not be related to another to be compared between ranges; ask for rows and "
            "columns in one range"
        )
    return tally[question]


def _json(table: Crosstab, level: float, about: dict[str, str]) -> bytes:
    return json.dumps(about | table.to_json(level), ensure_ascii=False, allow_nan=False).encode()


def _csv(table: Crosstab, level: float, about: dict[str, str]) -> bytes:
    sink, found = io.BytesIO(), table.to_arrow(level)
    for place, name in enumerate(("row", "column")):
        found = found.set_column(place, name, [[plain_cell(text) for text in found[name].to_pylist()]])
    csv.write_csv(found, sink)
    return sink.getvalue()


def _arrow(table: Crosstab, level: float, about: dict[str, str]) -> bytes:
    found = table.to_arrow(level).replace_schema_metadata({"deniable": json.dumps(about)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, found.schema) as stream:
        stream.write_table(found)
    return sink.getvalue()


_WRITERS: dict[str, Callable[[Crosstab, float, dict[str, str]], bytes]] = {"json": _json, "csv": _csv, "arrow": _arrow}

"""Forms on Spark: count a DataFrame with a struct column for each part in one pass, and randomise one of answers.

A task counts all parts of its rows with the code of `deniable.columns`, and returns one vector: how many forms there
are, and after that the reports and the counts of each part. Vectors are added up as in `counting`, so the result has
each partition once, from one attempt.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns import count_form_table, privatize_forms
from deniable.engines.spark.counting import blocks, counters_of, merged, part_of_task, row
from deniable.errors import EngineError, WireError
from deniable.survey import Form
from deniable.tally import FormTally

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["count_form", "privatize_form"]

Found = tuple[FormTally, dict[str, int]]


def count_form(form: Form, dataframe: "DataFrame") -> Found:
    """Count a DataFrame of a form's reports; returns the tally, and the refused rows by reason.

    Claim: the tally and the reasons are those of `dn.count(form, table, refused={})`, whatever the partitions are.
    Proof: tests/spark/test_forms.py::test_every_good_and_bad_row
    """
    from pyspark.sql.pandas.types import to_arrow_schema

    names = [part.name for part in form.parts]
    for name in names:
        if dataframe.columns.count(name) != 1:
            raise WireError(f"report table of a form must have a struct column {name!r} with cohort and response")
    wanted = dataframe.select(*(f"`{name}`" for name in names))
    count_form_table(FormTally(form), to_arrow_schema(wanted.schema).empty_table(), {})  # refuses other columns
    sizes = [part.survey.cohorts * (1 + part.survey.columns) for part in form.parts]
    found = merged(1 + sum(sizes), wanted, partial(_counted, form=form))
    vector, refused = found.get(None, (np.zeros(1 + sum(sizes), np.int64), {}))
    tally, start = FormTally(form), 1
    parts = []
    for part, size in zip(form.parts, sizes, strict=True):
        own = vector[start : start + size].astype(np.int64)
        cohorts = part.survey.cohorts
        parts.append((own[cohorts:].reshape(cohorts, part.survey.columns), own[:cohorts]))
        start += size
    tally.add(parts, int(vector[0]))
    return tally, refused


def _counted(batches: "Iterable[pa.RecordBatch]", *, form: Form) -> "Iterator[pa.RecordBatch]":
    """The counts of one partition."""
    tally, refused = FormTally(form), dict[str, int]()
    for block in blocks(batches):
        own = FormTally(form)
        count_form_table(own, block, refused)
        tally.add([(part.counts, part.reports) for part in own.parts], own.n)  # of one window
    vectors: list[npt.NDArray[np.int64]] = [np.array([tally.n], np.int64)]
    vectors += [vector for part in tally.parts for vector in (part.reports, part.counts.ravel())]
    yield row(part_of_task(), None, np.concatenate(vectors), refused)


def _struct(bits: bool) -> str:
    return f"struct<cohort:int,response:{'binary' if bits else 'int'}>"


def privatize_form(form: Form, dataframe: "DataFrame", keep: Iterable[str] = ()) -> "DataFrame":
    """The reports of a DataFrame with a column for each question, one a row, beside the columns to `keep`."""
    kept, names = list(keep), {part.name for part in form.parts}
    if taken := [name for name in kept if name in names]:
        raise EngineError(f"keep must not name the columns of a report, got {taken[0]!r}; rename it first")
    asked = [question.name for question in (*form.questions, *form.public) if question.name in dataframe.columns]
    wanted = dataframe.select(*kept, *(f"`{name}`" for name in asked if name not in kept))
    fields = [f"`{field.name}` {field.dataType.simpleString()}" for field in wanted.schema if field.name in kept]
    fields += [f"`{part.name}` {_struct(part.survey.report_format.response.bits)}" for part in form.parts]
    return wanted.mapInArrow(partial(_privatized, form=form, kept=kept), ", ".join(fields))


def _privatized(batches: "Iterable[pa.RecordBatch]", *, form: Form, kept: list[str]) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    for batch in batches:
        reports = privatize_forms(form, pa.Table.from_batches([batch])).to_arrow()
        columns: list[Any] = [batch.column(name) for name in kept]
        for part in form.parts:
            response = pa.binary() if part.survey.report_format.response.bits else pa.int32()
            kind = pa.struct([("cohort", pa.int32()), ("response", response)])
            columns.append(reports.column(part.name).combine_chunks().cast(kind))
        yield pa.RecordBatch.from_arrays(columns, [*kept, *(part.name for part in form.parts)])


counters_of[Form] = count_form

"""Randomise a column of answers on the machines that hold them.

Spark may compute a result more than once (a lost or evicted partition, the two sides of a self-join, speculative
execution). Each time, the answers get fresh noise: whoever sees both results has two reports of each person, which
spend twice epsilon. So write the reports to storage once, without a shuffle in between, and read them from there.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from deniable.columns import privatize as privatize_column
from deniable.engines.spark.form_frames import privatize_form
from deniable.errors import EngineError
from deniable.survey import Agreement, Form, Survey

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


def schema_of(survey: Survey) -> str:
    """The columns of a survey's reports, as Spark writes types.

    >>> import deniable as dn
    >>> schema_of(dn.warner(epsilon=1)), schema_of(dn.krappor(symbols=9, epsilon=1))
    ('cohort int, response int', 'cohort int, response binary')
    """
    return f"cohort int, response {'binary' if survey.report_format.response.bits else 'int'}"


def privatize(
    survey: Agreement, dataframe: "DataFrame", column: "str | Column | None" = None, *, keep: Iterable[str] = ()
) -> "DataFrame":
    """The reports of a column of answers, one a row, beside the columns to `keep` (which are not randomised).

    Answers to a form are a column for each question, which are not named: its reports have a struct for each part.

    Each batch is randomised by `dn.privatize` under a key that the executor's operating system draws for it; nothing
    random comes from the driver. Missing answers, and those outside a closed alphabet without a catch-all, fail the
    job: counted, never shown. **Write the result once, and use what was written**; see the module.

    >>> from deniable.engines import spark
    >>> reports = spark.privatize(survey, people, "browser")                    # doctest: +SKIP
    >>> reports.write.parquet("reports")                                        # doctest: +SKIP
    """
    from pyspark.sql import functions

    if isinstance(survey, Form):
        if column is not None:
            raise EngineError("column must not be given for a form, which has a column a question")
        return privatize_form(survey, dataframe, keep)
    if column is None:
        raise EngineError("column must be named for a survey: the one that holds the answers")
    kept = list(keep)
    taken = [name for name in kept if name in ("cohort", "response", "_answer")]
    if taken:
        raise EngineError(f"keep must not name the columns of a report, got {taken[0]!r}; rename it first")
    answer = functions.col(column) if isinstance(column, str) else column
    wanted = dataframe.select(*kept, answer.alias("_answer"))
    beside = "".join(
        f"`{field.name}` {field.dataType.simpleString()}, " for field in wanted.schema if field.name in kept
    )
    return wanted.mapInArrow(partial(_privatized, survey=survey), beside + schema_of(survey))


def _privatized(batches: "Iterable[pa.RecordBatch]", *, survey: Survey) -> "Iterator[pa.RecordBatch]":
    import pyarrow as pa

    response = pa.binary() if survey.report_format.response.bits else pa.int32()
    for batch in batches:
        table = privatize_column(survey, batch["_answer"]).to_arrow()
        beside = [batch.column(place) for place in range(batch.num_columns - 1)]
        reports = [table["cohort"].cast(pa.int32()), table["response"].cast(response)]
        columns = beside + [column.combine_chunks() for column in reports]
        yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names[:-1], "cohort", "response"])

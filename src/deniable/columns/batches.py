"""`BatchCounter`: count Arrow batches of reports, some of whose rows may be invalid.

A report that no client of the survey could have sent is left out and counted by reason; the other rows are counted. A
batch with missing columns, or columns of another type, is refused as a whole: it is not a table of reports.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns.counting import Gathered, add_bits, add_cells
from deniable.errors import WireError
from deniable.survey import Agreement, Field, Survey
from deniable.tally import Tally, refused_rows

if TYPE_CHECKING:
    import pyarrow as pa


def tell(refused: dict[str, int]) -> str:
    """Rows by reason as text, the most frequent first.

    >>> tell({"no response": 1, "cohort out of range": 1200})
    '1,200 cohort out of range, 1 no response'
    """
    return ", ".join(f"{rows:,} {reason}" for reason, rows in sorted(refused.items(), key=lambda item: -item[1]))


def refuse_rows(refused: dict[str, int]) -> None:
    """Raise if there are any refused rows."""
    if refused:
        count = sum(refused.values())
        got = f"{count:,} rows that are not" if count != 1 else "1 row that is not"
        raise WireError(
            f"reports must all be ones that the survey's clients send, got {got} "
            f"({tell(refused)}); pass refused={{}} to count them and go on"
        )


def count_refused(refused: dict[str, int], found: Mapping[str, int]) -> None:
    """Add rows by reason to those that were refused before.

    >>> before = {"no response": 1}
    >>> count_refused(before, {"no response": 2, "cohort out of range": 1}); before
    {'no response': 3, 'cohort out of range': 1}
    """
    for reason, rows in found.items():
        refused[reason] = refused.get(reason, 0) + rows


def settle_refused(
    found: dict[str, int], refused: dict[str, int] | None, refuse: Callable[[dict[str, int]], None] = refuse_rows
) -> None:
    """Add the rows that were found wrong to `refused`; without it any such row is an error.

    >>> settle_refused({}, None)
    """
    if refused is None:
        refuse(found)
    else:
        count_refused(refused, found)


def check_digest(survey: Agreement, schema: "pa.Schema") -> None:
    """Refuse a table whose metadata names another survey."""
    digest = (schema.metadata or {}).get(b"deniable.survey", survey.digest.encode()).decode(errors="replace")
    if digest != survey.digest:
        raise WireError(f"report table must be for survey {survey.digest[:8]}, got {digest[:8]}")


def report_columns(survey: Survey, names: list[str]) -> list[str]:
    """Which of some columns hold the reports; the column `cohort` may be missing where there is one cohort."""
    if max(names.count("cohort"), names.count("response")) > 1:
        raise WireError(f"report table must have one column of each name, got {names}")
    if "response" not in names or ("cohort" not in names and survey.cohorts > 1):
        raise WireError(f"report table must have the columns 'cohort' and 'response', got {names}")
    return ["cohort", "response"] if "cohort" in names else ["response"]


class BatchCounter:
    """The counts of many batches, and the rows that were refused, by reason.

    >>> import deniable as dn, pyarrow as pa
    >>> counter = BatchCounter(dn.krr(symbols=["a", "b"], epsilon=1))
    >>> counter.add(pa.record_batch({"response": [0, 1, 1, 2, None]}))
    >>> counter.tally().counts.tolist(), counter.refused
    ([[1, 2]], {'no response': 1, 'response out of range': 1})
    """

    def __init__(self, survey: Survey, refused: dict[str, int] | None = None, *, gather: bool = False) -> None:
        self.survey = survey
        self.refused: dict[str, int] = {} if refused is None else refused
        self._counts = np.zeros((survey.cohorts, survey.columns), np.int64)
        # Faster for many batches of one survey; takes a few MiB until `tally`.
        self._gathered = Gathered(self._counts) if gather else None
        self._reports = np.zeros(survey.cohorts, np.int64)

    def refuse(self, reason: str, rows: int) -> None:
        """Note some rows that are left out."""
        if rows:
            self.refused[reason] = self.refused.get(reason, 0) + rows

    def tally(self) -> Tally:
        """What has been counted so far, as a tally."""
        if self._gathered is not None:
            self._gathered.settle()
        return Tally(self.survey, self._counts, self._reports if self.survey.report_format.response.bits else None)

    def add(self, batch: "pa.RecordBatch | pa.Table") -> None:
        """Count the good rows of a batch, and note the others."""
        self.add_arrays(*read_columns(self.survey, batch, self.refuse))

    def add_arrays(self, cohorts: npt.NDArray[Any], responses: npt.NDArray[Any]) -> None:
        """Count the good rows of arrays as `ReportTable` has them, and note the others."""
        refused = refused_rows(self.survey.report_format, cohorts, responses)
        if refused:
            good = np.ones(len(cohorts), bool)
            for rule, rows in refused:
                self.refuse(rule.reason, int(rows.sum()))
                good &= ~rows
            cohorts, responses = cohorts[good], responses[good]
        if responses.ndim == 1 and self._gathered is not None:
            self._gathered.add(cohorts, responses)
        elif responses.ndim == 1:
            add_cells(self._counts, cohorts, responses)
        else:
            add_bits(self._counts, cohorts, responses)
            self._reports += np.bincount(cohorts.astype(np.intp), minlength=self.survey.cohorts)


def read_columns(
    survey: Survey, batch: "pa.RecordBatch | pa.Table", refuse: Callable[[str, int], None]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The cohorts and responses of the rows that have both, and a response of the right length where it is bits.

    Parameters
    ----------
    survey
        The survey that the rows answer.
    batch
        Rows with the columns `cohort` (which may be missing where there is one cohort) and `response`.
    refuse
        Called with a reason and how many rows are left out for it.

    Raises
    ------
    WireError
        The columns are not those of a table of this survey's reports.
    """
    import pyarrow.compute as pc

    form = survey.report_format
    columns = {name: plain(batch.column(name)) for name in report_columns(survey, batch.schema.names)}
    check_types(survey, columns)
    for rule in form.rules:
        if rule.test in ARROW_TESTS and rule.field.name in columns:
            wrong = ARROW_TESTS[rule.test](columns[rule.field.name], rule.field)
            if wrong is not None:
                refuse(rule.reason, wrong.true_count)
                kept = pc.invert(wrong)
                columns = {name: column.filter(kept) for name, column in columns.items()}
    response = columns["response"]
    responses = fixed_bytes(response, form.response.size) if form.response.bits else numbers(response)
    cohorts = numbers(columns["cohort"]) if "cohort" in columns else np.zeros(len(responses), np.uint8)
    return cohorts, responses


def plain(column: "pa.Array | pa.ChunkedArray") -> "pa.Array":
    """The column as one array without dictionary encoding or views."""
    import pyarrow as pa

    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def check_types(survey: Survey, columns: dict[str, "pa.Array"]) -> None:
    """Refuse columns that hold something else than cohorts and responses."""
    import pyarrow.types as types

    for name, column in columns.items():
        if types.is_null(column.type):  # nothing but missing values, which have no type
            continue
        if name == "response" and survey.report_format.response.bits:
            kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
            if not any(kind(column.type) for kind in kinds):
                width = survey.report_format.response.size
                raise WireError(f"column 'response' must be binary of {width} bytes, got {column.type}")
        elif not types.is_integer(column.type):
            raise WireError(f"column {name!r} must hold integers, got {column.type}")


def numbers(column: "pa.Array") -> npt.NDArray[Any]:
    """A column of integers without nulls as it is."""
    return np.asarray(column.to_numpy(zero_copy_only=False))


def fixed_bytes(column: "pa.Array", width: int) -> npt.NDArray[np.uint8]:
    """A binary column without nulls, every value `width` bytes long, as rows of bytes."""
    import pyarrow as pa

    if not len(column):
        return np.zeros((0, width), np.uint8)
    if column.type != pa.binary(width):
        column = column.cast(pa.binary(width))
    raw = np.frombuffer(column.buffers()[1], np.uint8, len(column) * width, column.offset * width)
    return raw.reshape(len(column), width)


def _missing(column: "pa.Array", field: Field) -> "pa.BooleanArray | None":
    return column.is_null() if column.null_count else None


def _of_another_length(column: "pa.Array", field: Field) -> "pa.BooleanArray | None":
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.type == pa.binary(field.size) or not len(column):
        return None
    wrong = pc.not_equal(pc.binary_length(column), field.size)
    return wrong if wrong.true_count else None


# The tests of `tally.checking.SETTLED`, which must pass before a column can become an array. Each returns a mask of the
# wrong values, or None if there are none.
ARROW_TESTS = {"missing": _missing, "length": _of_another_length}

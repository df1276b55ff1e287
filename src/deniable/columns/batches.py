"""`BatchCounter`: Arrow batches of reports into counts, where rows come from outside and some are bad.

A report that no client of the survey could have sent is counted by reason and left out; it never stops the rest. A
batch whose columns are missing or of another type is refused as a whole: that is another table, not a bad row.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns.counting import add_bits, add_cells, outside
from deniable.errors import WireError
from deniable.survey import Survey
from deniable.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "BatchCounter",
    "check_digest",
    "check_types",
    "fixed_bytes",
    "numbers",
    "plain",
    "refuse_rows",
    "report_columns",
    "tell",
]

NO_COHORT, NO_RESPONSE = "no cohort", "no response"
FAR_COHORT, FAR_RESPONSE = "cohort out of range", "response out of range"
LENGTH, IMPOSSIBLE = "response of another length", "response that the mechanism cannot produce"


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


def check_digest(survey: Survey, schema: "pa.Schema") -> None:
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

    def __init__(self, survey: Survey, refused: dict[str, int] | None = None) -> None:
        self.survey = survey
        self.refused: dict[str, int] = {} if refused is None else refused
        self._counts = np.zeros((survey.cohorts, survey.columns), np.int64)
        self._reports = np.zeros(survey.cohorts, np.int64)

    def refuse(self, reason: str, rows: int) -> None:
        """Note some rows that are left out."""
        if rows:
            self.refused[reason] = self.refused.get(reason, 0) + rows

    def tally(self) -> Tally:
        """What has been counted so far, as a tally."""
        one_column = self.survey.mechanism.one_column
        return Tally(self.survey, self._counts, None if one_column else self._reports)

    def add(self, batch: "pa.RecordBatch | pa.Table") -> None:
        """Count the good rows of a batch, and note the others."""
        names = report_columns(self.survey, batch.schema.names)
        columns = {name: plain(batch.column(name)) for name in names}
        check_types(self.survey, columns)
        columns = self._without_nulls(columns)
        if self.survey.mechanism.one_column:
            responses = numbers(columns["response"])
            bad = outside(responses, self.survey.columns)
            reason = FAR_RESPONSE
        else:
            columns = self._of_one_length(columns)
            responses = fixed_bytes(columns["response"], self.survey.mechanism.payload_bytes)
            bad = impossible(self.survey, responses)
            reason = IMPOSSIBLE
        cohorts = numbers(columns["cohort"]) if "cohort" in columns else np.zeros(len(responses), np.uint8)
        far = outside(cohorts, self.survey.cohorts)
        if far is not None:
            self.refuse(FAR_COHORT, int(far.sum()))
            cohorts, responses = cohorts[~far], responses[~far]
            bad = None if bad is None else bad[~far]
        if bad is not None:
            self.refuse(reason, int(bad.sum()))
            cohorts, responses = cohorts[~bad], responses[~bad]
        if responses.ndim == 1:
            add_cells(self._counts, cohorts, responses)
        else:
            add_bits(self._counts, cohorts, responses)
            self._reports += np.bincount(cohorts.astype(np.intp), minlength=self.survey.cohorts)

    def _without_nulls(self, columns: dict[str, "pa.Array"]) -> dict[str, "pa.Array"]:
        for name, reason in (("cohort", NO_COHORT), ("response", NO_RESPONSE)):
            if name in columns and columns[name].null_count:
                self.refuse(reason, columns[name].null_count)
                there = columns[name].is_valid()
                columns = {other: column.filter(there) for other, column in columns.items()}
        return columns

    def _of_one_length(self, columns: dict[str, "pa.Array"]) -> dict[str, "pa.Array"]:
        import pyarrow as pa
        import pyarrow.compute as pc

        width = self.survey.mechanism.payload_bytes
        if columns["response"].type == pa.binary(width) or not len(columns["response"]):
            return columns
        fits = pc.equal(pc.binary_length(columns["response"]), width)
        wrong = len(fits) - fits.true_count
        self.refuse(LENGTH, wrong)
        return {name: column.filter(fits) for name, column in columns.items()} if wrong else columns


def plain(column: "pa.Array | pa.ChunkedArray") -> "pa.Array":
    """One array in a layout that the code below knows: dictionaries and views are undone."""
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
        if name == "response" and not survey.mechanism.one_column:
            kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
            if not any(kind(column.type) for kind in kinds):
                width = survey.mechanism.payload_bytes
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


def impossible(survey: Survey, packed: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_] | None:
    """Which rows set a padding bit or another number of bits than every response does, or None if there is none."""
    spare = 8 * packed.shape[1] - survey.columns
    bad = packed[:, -1] >= 1 << (8 - spare) if spare else np.zeros(len(packed), bool)
    hits = survey.mechanism.hits
    if hits is not None:
        bad |= np.bitwise_count(packed).sum(axis=1) != hits
    return bad if bad.any() else None

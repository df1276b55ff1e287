"""`ReportTable`: many reports of one survey as two columns, in NumPy or Arrow."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns.batches import BatchCounter, check_digest, read_columns, refuse_rows
from deniable.errors import WireError
from deniable.reports import Report
from deniable.survey import Survey, data_frame, html_table
from deniable.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class ReportTable:
    """Many reports of one survey, as columns.

    Parameters
    ----------
    survey : Survey
        The survey that the reports answer.
    cohorts : ndarray of int
        The cohort of each report, shape (n,).
    responses : ndarray of int
        The response of each report: cell numbers, shape (n,); or packed bits, type uint8, shape (n, bytes).

    Raises
    ------
    WireError
        If the arrays have other shapes or types. Values are checked when they are counted.

    Examples
    --------
    >>> import deniable as dn
    >>> table = dn.privatize(dn.krr(symbols=["a", "b"], epsilon=1), ["a", "b", "a"])
    >>> table
    <ReportTable of survey 730f44f7: 3 reports>
    >>> table.to_arrow().column_names
    ['cohort', 'response']
    >>> dn.ReportTable.from_arrow(table.survey, table.to_arrow())
    <ReportTable of survey 730f44f7: 3 reports>
    """

    survey: Survey
    cohorts: npt.NDArray[np.unsignedinteger[Any]]
    responses: npt.NDArray[np.unsignedinteger[Any]]

    def __post_init__(self) -> None:
        form = self.survey.report_format.response
        shape = (len(self.cohorts), form.size) if form.bits else (len(self.cohorts),)
        if self.cohorts.ndim != 1 or self.responses.shape != shape:
            raise WireError(f"responses must have shape {shape}, got {self.responses.shape}")
        if form.bits and self.responses.dtype != np.uint8:
            raise WireError(f"responses must be packed bits of type uint8, got {self.responses.dtype}")
        if self.cohorts.dtype.kind not in "iu" or self.responses.dtype.kind not in "iu":
            raise WireError(f"report columns must be integers, got {self.cohorts.dtype} and {self.responses.dtype}")

    def __len__(self) -> int:
        return len(self.cohorts)

    def __repr__(self) -> str:
        return f"<ReportTable of survey {self.survey.digest[:8]}: {len(self)} reports>"

    def __iter__(self) -> Iterator[Report]:
        """The reports one by one; for looking at a few, not for counting."""
        size = self.survey.report_format.response.size
        for cohort, response in zip(self.cohorts.tolist(), self.responses, strict=True):
            payload = response.tobytes() if response.ndim else int(response).to_bytes(size, "little")
            yield Report(self.survey, cohort, payload)

    def add_to(self, tally: Tally) -> None:
        """Count every report into a tally: all of them, or none if one is refused.

        Parameters
        ----------
        tally : Tally
            A tally of the same survey.

        Raises
        ------
        TallyMismatch
            If the tally is of another survey.
        WireError
            If a report is not one that the survey's devices can send.

        Examples
        --------
        >>> import deniable as dn
        >>> survey = dn.warner(epsilon=1)
        >>> tally = dn.Tally(survey)
        >>> dn.privatize(survey, ["no", "yes"]).add_to(tally)
        >>> tally.n
        2
        """
        if tally.survey.digest != self.survey.digest:
            raise tally.mismatch("report table", self.survey)
        counter = BatchCounter(self.survey)
        counter.add_arrays(self.cohorts, self.responses)
        refuse_rows(counter.refused)
        found = counter.tally()
        tally.add(found.counts, found.reports)

    def to_arrow(self) -> "pa.Table":
        """An Arrow table with the columns `cohort` and `response`; its metadata holds the survey and its digest."""
        import pyarrow as pa

        if self.responses.ndim == 2:
            width = self.responses.shape[1]
            data = pa.py_buffer(np.ascontiguousarray(self.responses))
            responses = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(self), [None, data])
        else:
            responses = pa.array(self.responses)
        table = pa.table({"cohort": pa.array(self.cohorts), "response": responses})
        return table.replace_schema_metadata(survey_metadata(self.survey))

    def to_pandas(self) -> Any:
        """A pandas DataFrame with the columns `cohort` and `response`.

        >>> import deniable as dn
        >>> dn.privatize(dn.warner(epsilon=1), ["no", "yes"]).to_pandas().columns.tolist()
        ['cohort', 'response']
        """
        return data_frame(self.to_arrow())

    def _repr_html_(self) -> str:
        """What a notebook shows: the first reports."""
        size = self.survey.report_format.response.size
        few = ReportTable(self.survey, self.cohorts[:5], self.responses[:5])
        rows = [(report.cohort, report.payload.hex(" ") if size > 4 else report.response) for report in few]
        title = f"{len(self):,} reports to {self.survey.name or self.survey.digest[:8]}"
        note = "Each is randomised: none of them says what its sender answered." + (" ..." if len(self) > 5 else "")
        return html_table(title, ["cohort", "response"], rows, note=note)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream interface: what Polars, DuckDB, pandas and pyarrow read a table by.

        >>> import deniable as dn, pyarrow as pa
        >>> pa.table(dn.privatize(dn.warner(epsilon=1), ["no", "yes"])).num_rows
        2
        """
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @classmethod
    def from_arrow(cls, survey: Survey, table: "pa.Table | pa.RecordBatch") -> "ReportTable":
        """The reports in an Arrow table or batch.

        Parameters
        ----------
        survey : Survey
            The survey that the reports answer.
        table : pyarrow.Table or pyarrow.RecordBatch
            The columns `cohort` and `response`; `cohort` may be missing if the survey has one cohort.

        Returns
        -------
        ReportTable
            The same reports.

        Raises
        ------
        WireError
            If the metadata names another survey, or columns or values are missing or of another type.
        """
        check_digest(survey, table.schema)
        counter = BatchCounter(survey)
        cohorts, responses = read_columns(survey, table, counter.refuse)
        refuse_rows(counter.refused)
        return cls(survey, cohorts, responses)


def survey_metadata(survey: Survey) -> dict[str, str]:
    """What tables and files of reports say about themselves: the digest, and the survey for whoever lacks it."""
    return {"deniable.survey": survey.digest, "deniable.survey.json": survey.to_json()}

"""`Report` and its packed bytes: the only thing that may leave a device.

    offset  bytes   field
    0       1       wire version, 1
    1       8       the first 8 bytes of the survey's digest
    9       0..3    cohort, little-endian, as many bytes as cohorts - 1 needs (none for one cohort)
    ...             payload: the response, little-endian (a cell number, or bit j in byte j // 8 at place j % 8)

The length depends on the survey alone. Anything else is refused: another length, version, survey, a cohort or cell out
of range, a padding bit that is set, a set of another size. Every reader of reports
is derived from `Survey.report_format`, which states these rules as data. The id of a report is not part of these bytes:
the upload message carries it (`docs/reference/protocol.md`).
"""

from dataclasses import dataclass
from typing import Any

from deniable.errors import WireError
from deniable.survey import Agreement, ReportFormat, check_agreement

__all__ = ["Report", "ReportFormat"]


@dataclass(frozen=True, slots=True)
class Report:
    """One privatised answer: the survey it answers, the cohort, and the response as bytes. Safe to show.

    Parameters
    ----------
    survey : Survey or Form
        What it answers.
    cohort : int
        The cohort of the device, from 0. Of a form: the parts that were answered, as bits; 0 where that is always all.
    payload : bytes
        The response, little-endian: the number of a cell, or one bit per column. Of a form: the slots of all parts.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=4, epsilon=1)
    >>> report = Report(survey, cohort=0, payload=b"\\x02")
    >>> report.pack().hex()
    '01b0601a6b869bbeba02'
    >>> Report.unpack(survey, report.pack()) == report
    True
    >>> report.check()
    """

    survey: Any  # an Agreement; readers know which of the two they asked for
    cohort: int
    payload: bytes

    @property
    def response(self) -> int:
        """The payload as the integer that the mechanism returned."""
        return int.from_bytes(self.payload, "little")

    def pack(self) -> bytes:
        """The bytes that leave the device.

        Returns
        -------
        bytes
            As many as `Survey.report_format.length`.

        Raises
        ------
        WireError
            As `check`.
        """
        self.check()
        form = self.survey.report_format
        head: bytes = form.head
        return head + self.cohort.to_bytes(form.cohort.size, "little") + self.payload

    @classmethod
    def unpack(cls, survey: Agreement, wire: bytes) -> "Report":
        """Read a packed report.

        Parameters
        ----------
        survey : Survey or Form
            What the report must answer.
        wire : bytes
            What `pack` returned.

        Returns
        -------
        Report
            A report that has passed `check`.

        Raises
        ------
        WireError
            If the bytes are no report of this survey. The message says why.
        SurveyError
            If `survey` is no survey.
        """
        if not isinstance(wire, (bytes, bytearray, memoryview)):
            raise WireError(f"report must be bytes, got {type(wire).__name__}")
        hint = "it comes first: dn.Report.unpack(survey, wire)"
        wire, form = bytes(wire), check_agreement(survey, hint=hint).report_format
        if wire[:1] != form.head[:1]:
            shown = wire[0] if wire else "nothing"
            raise WireError(f"report must have wire version {form.head[0]}, got {shown}")
        prefix, expected = wire[1 : len(form.head)].hex(), form.head[1:].hex()
        if prefix != expected:
            raise WireError(f"report must be for survey {expected}, got {prefix}; it answers another survey")
        if len(wire) != form.length:
            raise WireError(f"report must be {form.length} bytes, got {len(wire)}")
        cohort = int.from_bytes(wire[len(form.head) : form.payload_start], "little")
        report = cls(survey, cohort, wire[form.payload_start :])
        report.check()
        return report

    def check(self) -> None:
        """Refuse a report whose cohort or response this survey cannot produce.

        Raises
        ------
        WireError
            The report breaks one of `Survey.report_format.rules`, or has values of other types.
        """
        if type(self.cohort) is not int or type(self.payload) is not bytes:
            kinds = f"{type(self.cohort).__name__} and {type(self.payload).__name__}"
            raise WireError(f"report cohort must be an integer and its payload bytes, got {kinds}")
        form = self.survey.report_format
        if len(self.payload) != form.response.size:
            raise WireError(f"report payload must be {form.response.size} bytes, got {len(self.payload)}")
        broken = form.refusal(self.cohort, self.payload if form.response.bits else self.response)
        if broken is None:
            return
        if broken.field is form.cohort:
            raise WireError(f"report cohort must be below {form.cohort.limit}, got {self.cohort}")
        raise WireError("report response must be one that the mechanism can produce")

    def __repr__(self) -> str:
        return f"Report(survey={self.survey.digest[:8]}, cohort={self.cohort}, payload={self.payload.hex()})"

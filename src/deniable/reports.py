"""`Report` and its packed bytes: the only thing that may leave a device.

    offset  bytes   field
    0       1       wire version, 1
    1       8       the first 8 bytes of the survey's digest
    9       0..3    cohort, little-endian, as many bytes as cohorts - 1 needs (none for one cohort)
    ...             payload: the response, little-endian (a cell number, or bit j in byte j // 8 at place j % 8)

The length depends on the survey alone. Anything else is refused: another length, version, survey, a cohort or cell out
of range, a padding bit that is set, a set of another size. A report id travels in the envelope around this, not in it.
"""

from dataclasses import dataclass

from deniable.errors import WireError
from deniable.survey import Survey

__all__ = ["Report", "cohort_bytes"]

WIRE_VERSION = 1
_PREFIX = 8


def cohort_bytes(survey: Survey) -> int:
    """How many bytes of a packed report hold the cohort."""
    return ((survey.cohorts - 1).bit_length() + 7) // 8


@dataclass(frozen=True, slots=True)
class Report:
    """One privatised answer: the survey it answers, the cohort, and the response as bytes. Safe to show.

    >>> import deniable as dn
    >>> survey = dn.krr(symbols=4, epsilon=1)
    >>> report = Report(survey, cohort=0, payload=b"\\x02")
    >>> report.pack().hex()
    '01b0601a6b869bbeba02'
    >>> Report.unpack(survey, report.pack()) == report
    True
    """

    survey: Survey
    cohort: int
    payload: bytes

    @property
    def response(self) -> int:
        """The payload as the integer that the mechanism returned."""
        return int.from_bytes(self.payload, "little")

    def pack(self) -> bytes:
        """The bytes that leave the device."""
        self.check()
        head = bytes([WIRE_VERSION]) + bytes.fromhex(self.survey.digest[: 2 * _PREFIX])
        return head + self.cohort.to_bytes(cohort_bytes(self.survey), "little") + self.payload

    @classmethod
    def unpack(cls, survey: Survey, wire: bytes) -> "Report":
        """The report in `wire`, or a `WireError` that says what is wrong with it."""
        if not isinstance(wire, (bytes, bytearray, memoryview)):
            raise WireError(f"report must be bytes, got {type(wire).__name__}")
        wire = bytes(wire)
        if not wire or wire[0] != WIRE_VERSION:
            shown = wire[0] if wire else "nothing"
            raise WireError(f"report must have wire version {WIRE_VERSION}, got {shown}")
        prefix, expected = wire[1 : 1 + _PREFIX].hex(), survey.digest[: 2 * _PREFIX]
        if prefix != expected:
            raise WireError(f"report must be for survey {expected}, got {prefix}; it answers another survey")
        size = 1 + _PREFIX + cohort_bytes(survey) + survey.mechanism.payload_bytes
        if len(wire) != size:
            raise WireError(f"report must be {size} bytes, got {len(wire)}")
        middle = 1 + _PREFIX + cohort_bytes(survey)
        report = cls(survey, int.from_bytes(wire[1 + _PREFIX : middle], "little"), wire[middle:])
        report.check()
        return report

    def check(self) -> None:
        """Refuse a report whose cohort or response this survey cannot produce."""
        if type(self.cohort) is not int or type(self.payload) is not bytes:
            kinds = f"{type(self.cohort).__name__} and {type(self.payload).__name__}"
            raise WireError(f"report cohort must be an integer and its payload bytes, got {kinds}")
        if not 0 <= self.cohort < self.survey.cohorts:
            raise WireError(f"report cohort must be below {self.survey.cohorts}, got {self.cohort}")
        if len(self.payload) != self.survey.mechanism.payload_bytes:
            raise WireError(
                f"report payload must be {self.survey.mechanism.payload_bytes} bytes, got {len(self.payload)}"
            )
        if not self.survey.mechanism.allows(self.response):
            raise WireError("report response must be one that the mechanism can produce")

    def __repr__(self) -> str:
        return f"Report(survey={self.survey.digest[:8]}, cohort={self.cohort}, payload={self.payload.hex()})"

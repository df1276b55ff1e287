"""The format of a form's reports: which parts were answered, and a slot for each part. `ReportFormat` is its sibling.

    offset  bytes      field
    0       1          wire version, 1
    1       8          the first 8 bytes of the form's digest
    9       0 or more  which parts were answered, part i in byte i // 8 at place i % 8; only where that can differ
    ...                for each part its cohort and its response, as in a report of its survey; zeros if not answered

The length depends on the form alone: what was drawn, and what was skipped, does not change it. To a `Report` the parts
that were answered are its cohort, and all slots together are its payload.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from deniable.survey.questions import FormPart
from deniable.survey.report_format import PREFIX, WIRE_VERSION, Field, ReportFormat, Rule

__all__ = ["FormFormat", "Slot"]


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a part stands in the payload of a report.

    Parameters
    ----------
    name : str
        The part's name.
    form : ReportFormat
        The format of reports of its survey; of it, the bytes after its head are sent.
    start : int
        Where its cohort begins in the payload.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(300, epsilon=1), epsilon=2)
    >>> slot = form.report_format.slots[1]
    >>> slot.middle, slot.stop, slot.read(bytes([0, 44, 1]))
    (1, 3, (0, 300))
    """

    name: str
    form: ReportFormat
    start: int

    @property
    def middle(self) -> int:
        """Where its response begins."""
        return self.start + self.form.cohort.size

    @property
    def stop(self) -> int:
        """Where it ends."""
        return self.middle + self.form.response.size

    def read(self, payload: bytes) -> tuple[int, Any]:
        """The cohort, and the response: an integer, or bytes if it has bits.

        Parameters
        ----------
        payload : bytes
            That of a report of the form.
        """
        response = payload[self.middle : self.stop]
        cohort = int.from_bytes(payload[self.start : self.middle], "little")
        return cohort, response if self.form.response.bits else int.from_bytes(response, "little")


@dataclass(frozen=True, slots=True)
class FormFormat:
    """Where the parts of a packed form are, and which reports are valid.

    Parameters
    ----------
    head : bytes
        What every report begins with.
    slots : tuple of Slot
        Where each part stands.
    cohort : Field
        The parts that were answered, as bits of a number; of no bytes, and 0, if all are, always.
    response : Field
        All slots together.
    drawn : int
        How many parts a device draws.
    optional : int
        Parts, as bits, that depend on a public answer.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(300, epsilon=1), epsilon=2, spend="sample")
    >>> shape = form.report_format
    >>> shape.length, shape.allows(1), shape.allows(3), list(shape.answered(2)) == [shape.slots[1]]
    (13, True, False, True)
    >>> shape.refusal(2, bytes([1, 0, 0])).reason
    'a: bytes of a part that was not answered'
    """

    head: bytes
    slots: tuple[Slot, ...]
    cohort: Field
    response: Field
    drawn: int
    optional: int

    @classmethod
    def of(cls, parts: Sequence[FormPart], drawn: int, digest: str) -> "FormFormat":
        """The format of a form's reports.

        Parameters
        ----------
        parts : sequence of FormPart
            The form's.
        drawn : int
            How many of them a device draws.
        digest : str
            The form's digest, in hexadecimal.
        """
        head = bytes([WIRE_VERSION]) + bytes.fromhex(digest[: 2 * PREFIX])
        optional = sum(1 << place for place, part in enumerate(parts) if part.when is not None)
        differs = drawn < len(parts) or optional > 0
        slots: list[Slot] = []
        for part in parts:
            slots.append(Slot(part.name, part.survey.report_format, slots[-1].stop if slots else 0))
        size, limit = ((len(parts) + 7) // 8, 1 << len(parts)) if differs else (0, 1)
        response = Field("response", slots[-1].stop, 8 * slots[-1].stop, bits=True)
        return cls(head, tuple(slots), Field("cohort", size, limit), response, drawn, optional)

    @property
    def payload_start(self) -> int:
        """Where the first slot begins in a packed report."""
        return len(self.head) + self.cohort.size

    @property
    def length(self) -> int:
        """Bytes of a packed report."""
        return self.payload_start + self.response.size

    def mask(self, cohort: int) -> int:
        """The parts that a report says were answered, as bits.

        Parameters
        ----------
        cohort : int
            What stands in a report.
        """
        return cohort if self.cohort.size else (1 << len(self.slots)) - 1

    def answered(self, cohort: int) -> Iterator[Slot]:
        """The slots that a report says were answered.

        Parameters
        ----------
        cohort : int
            What stands in a report.
        """
        chosen = self.mask(cohort)
        return (slot for place, slot in enumerate(self.slots) if chosen >> place & 1)

    def allows(self, cohort: int) -> bool:
        """Whether a device may answer just these parts: as many as are drawn, fewer where some of them depend on a
        public answer.

        Parameters
        ----------
        cohort : int
            What stands in a report.
        """
        if not 0 <= cohort < self.cohort.limit:
            return False
        chosen = self.mask(cohort)
        left_out = self.drawn - chosen.bit_count()
        return 0 <= left_out <= (self.optional & ~chosen).bit_count()

    def refusal(self, cohort: int | None, response: Any) -> Rule | None:
        """The first rule that a row of a table breaks, or None if the row is a report of this form.

        Parameters
        ----------
        cohort : int
            The parts that say that they were answered.
        response : bytes
            All slots.
        """
        if cohort is None or response is None:
            return Rule("no cohort" if cohort is None else "no response", self.cohort, "missing")
        if not self.allows(cohort):
            return Rule("parts that no device answers together", self.cohort, "range")
        if len(response) != self.response.size:
            return Rule("response of another length", self.response, "length")
        chosen = self.mask(cohort)
        for place, slot in enumerate(self.slots):
            if not chosen >> place & 1:
                if any(response[slot.start : slot.stop]):
                    return Rule(f"{slot.name}: bytes of a part that was not answered", self.response, "padding")
                continue
            broken = slot.form.refusal(*slot.read(response))
            if broken is not None:
                return Rule(f"{slot.name}: {broken.reason}", self.response, broken.test)
        return None

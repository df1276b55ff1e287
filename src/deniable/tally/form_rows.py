"""Validate and count many packed reports of a form at once: one part after the other, each as a survey's."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.survey import Form, FormFormat, Slot
from deniable.tally.checking import integers_of, refused_rows

__all__ = ["answered_parts", "count_part", "refused_forms", "refused_slots", "slots_of"]

Rows = npt.NDArray[np.uint8]
Mask = npt.NDArray[np.bool_]


def answered_parts(shape: FormFormat, rows: Rows) -> Mask:
    """Which parts each packed report says were answered, of shape (reports, parts).

    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.warner(epsilon=1), epsilon=1, spend="sample")
    >>> answered_parts(form.report_format, np.zeros((1, form.report_format.length), np.uint8)).tolist()
    [[False, False]]
    """
    count = len(shape.slots)
    if not shape.cohort.size:
        return np.ones((len(rows), count), bool)
    said = rows[:, len(shape.head) : shape.payload_start]
    return np.unpackbits(said, axis=1, bitorder="little")[:, :count].astype(bool)


def slots_of(shape: FormFormat, rows: Rows) -> Iterator[tuple[Slot, npt.NDArray[np.int64], npt.NDArray[Any]]]:
    """For each part its slot, and the cohorts and responses that stand in it."""
    payload = rows[:, shape.payload_start :]
    for slot in shape.slots:
        responses = payload[:, slot.middle : slot.stop]
        cohorts = integers_of(payload[:, slot.start : slot.middle])
        yield slot, cohorts, responses if slot.form.response.bits else integers_of(responses)


def refused_forms(shape: FormFormat, rows: Rows) -> list[tuple[str, str, Mask]]:
    """The rows that are no reports of the form: the reason, the field that is wrong, and a mask of the rows.

    Claim: a row is refused here if and only if `Report.unpack` refuses it, head and length apart.
    Proof: tests/contracts/test_forms.py::test_one_by_one_and_at_once_refuse_the_same_rows
    """
    payload = rows[:, shape.payload_start :]
    blank: list[Any] = [~payload[:, slot.start : slot.stop].any(axis=1) for slot in shape.slots]
    slots = [(cohorts, responses) for _, cohorts, responses in slots_of(shape, rows)]
    said = np.unpackbits(rows[:, len(shape.head) : shape.payload_start], axis=1, bitorder="little")
    padded: Any = said[:, len(shape.slots) :].any(axis=1)
    return refused_slots(shape, answered_parts(shape, rows), slots, blank, padded)


def refused_slots(
    shape: FormFormat,
    answered: Mask,
    slots: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]],
    blank: Sequence[Mask] | None = None,
    padded: Mask | None = None,
    settled: Sequence[Sequence[tuple[str, Mask]]] | None = None,
) -> list[tuple[str, str, Mask]]:
    """The same of columns: which parts were answered, and for each part its cohorts and responses.

    `blank` says where slots hold nothing, if they could hold something that was not answered; `padded` where parts are
    named that the form does not have. `settled` has for each part the rows whose values cannot be in an array (they are
    missing, or of another length), by the reason for refusing them.
    """
    found: list[tuple[str, str, Mask]] = []
    refused = np.zeros(len(answered), bool)

    def refuse(reason: str, field: str, wrong: Mask) -> None:
        wrong = wrong & ~refused
        if wrong.any():
            found.append((reason, field, wrong))
            refused[wrong] = True

    optional = np.array([shape.optional >> place & 1 for place in range(len(shape.slots))], bool)
    left_out = shape.drawn - answered.sum(axis=1)
    allowed = (left_out >= 0) & (left_out <= (optional & ~answered).sum(axis=1))
    refuse("parts that no device answers together", "cohort", ~allowed if padded is None else ~allowed | padded)
    for place, (slot, (cohorts, responses)) in enumerate(zip(shape.slots, slots, strict=True)):
        here = answered[:, place]
        if blank is not None:
            refuse(f"{slot.name}: bytes of a part that was not answered", "response", ~here & ~blank[place])
        for reason, wrong in settled[place] if settled is not None else ():
            refuse(f"{slot.name}: {reason}", "response", wrong & here)
        for rule, wrong in refused_rows(slot.form, cohorts, responses):
            refuse(f"{slot.name}: {rule.reason}", "response", wrong & here)
    return found


def count_part(
    form: Form, place: int, cohorts: npt.NDArray[Any], responses: npt.NDArray[Any]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The counts, and the reports of each cohort, of good reports of one part."""
    survey = form.parts[place].survey
    reports = np.bincount(cohorts, minlength=survey.cohorts).astype(np.int64)
    if survey.mechanism.one_column:
        flat = cohorts.astype(np.int64) * survey.columns + responses
        counts = np.bincount(flat, minlength=survey.cohorts * survey.columns).astype(np.int64)
        return counts.reshape(survey.cohorts, survey.columns), reports
    counts = np.zeros((survey.cohorts, survey.columns), np.int64)
    step = max(1, (1 << 24) // survey.columns)  # bits that are unpacked at once, a byte each
    for start in range(0, len(cohorts), step):
        bits = np.unpackbits(responses[start : start + step], axis=1, count=survey.columns, bitorder="little")
        if survey.cohorts == 1:
            counts[0] += bits.sum(axis=0, dtype=np.int64)
        else:
            np.add.at(counts, cohorts[start : start + step], bits)
    return counts, reports

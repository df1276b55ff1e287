"""One table of good and bad rows of a form, for everything that reads tables of its reports.

It is made of the tables of its parts (`tests/good_and_bad.py`), which say from the protocol what a reader must say of
each slot. Here it is added which parts a device answers together, and that a row counts as a whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa

import deniable as dn
from deniable.survey import Form
from deniable.tally import FormTally
from tests.contracts.test_forms import CITY, FORMS, SMOKES
from tests.good_and_bad import Row, table_rows

TOGETHER = "parts that no device answers together"

# Named so that no word of a statement is free, and no name that it makes up.
WORDS = dn.form(
    {"report": SMOKES, "reason": CITY, "cohort": dn.krr(3, epsilon=1), "response": SMOKES, "part": SMOKES},
    epsilon=5,
    spend="sample",
    draw=2,
    relate=[("cohort", "part")],
)
READ: dict[str, Form] = {**FORMS, "words of SQL": WORDS}


@dataclass(frozen=True)
class FormRow:
    """A slot for each part, None where it was not answered, and why the row is refused."""

    slots: tuple[Row | None, ...]
    reason: str | None


def judged(form: Form, slots: Sequence[Row | None]) -> FormRow:
    """What a reader must say: as many parts as are drawn, but for those that depend on a public answer; each good."""
    left_out = [part for part, slot in zip(form.parts, slots, strict=True) if slot is None]
    missing = form.drawn - (len(slots) - len(left_out))
    if not 0 <= missing <= sum(part.when is not None for part in left_out):
        return FormRow(tuple(slots), TOGETHER)
    for part, slot in zip(form.parts, slots, strict=True):
        if slot is not None and slot.reason is not None:
            return FormRow(tuple(slots), f"{part.name}: {slot.reason}")
    return FormRow(tuple(slots), None)


def form_rows(form: Form) -> list[FormRow]:
    """Every good and bad slot beside good ones, two bad slots at once, and every set of parts (of nine: some)."""
    tables = [table_rows(part.survey) for part in form.parts]
    good = [[row for row in table if row.reason is None] for table in tables]
    count = len(form.parts)

    def sets() -> Iterator[tuple[bool, ...]]:
        few = (
            product((False, True), repeat=count)
            if count < 6
            else (tuple(i < n for i in range(count)) for n in range(10))
        )
        yield from few

    def slots(here: Sequence[bool], number: int) -> list[Row | None]:
        return [good[i][(number * 7 + i) % len(good[i])] if on else None for i, on in enumerate(here)]

    found = [judged(form, slots(here, number)) for number, here in enumerate(sets())]
    allowed = [[slot is not None for slot in row.slots] for row in found if row.reason is None]
    for here in allowed:
        for place in (place for place in range(count) if here[place]):
            for number, row in enumerate(tables[place]):
                mixed = slots(here, number)
                mixed[place] = row
                found.append(judged(form, mixed))
                other = next((i for i in range(count - 1, -1, -1) if here[i] and i != place), None)
                if other is not None and row.reason is not None:
                    bad = [one for one in tables[other] if one.reason is not None]
                    mixed = list(mixed)
                    mixed[other] = bad[number % len(bad)]
                    found.append(judged(form, mixed))
    return found


def form_arrow(form: Form, rows: Sequence[FormRow]) -> pa.Table:
    """Rows as a table of Arrow's."""
    columns = {}
    for place, part in enumerate(form.parts):
        kind = pa.int64() if part.survey.mechanism.one_column else pa.binary()
        told = [row.slots[place] for row in rows]
        values = [None if slot is None else {"cohort": slot.cohort, "response": slot.response} for slot in told]
        columns[part.name] = pa.array(values, pa.struct([("cohort", pa.int64()), ("response", kind)]))
    return pa.table(columns)


def form_counts(form: Form, rows: Sequence[FormRow]) -> tuple[FormTally, dict[str, int]]:
    """What counting some rows must give."""
    counts = [np.zeros((part.survey.cohorts, part.survey.columns), np.int64) for part in form.parts]
    reports = [np.zeros(part.survey.cohorts, np.int64) for part in form.parts]
    refused: dict[str, int] = {}
    for row in rows:
        if row.reason is not None:
            refused[row.reason] = refused.get(row.reason, 0) + 1
            continue
        for place, slot in enumerate(row.slots):
            if slot is not None:
                assert slot.cohort is not None
                reports[place][slot.cohort] += 1
                counts[place][slot.cohort, list(slot.cells)] += 1
    tally = FormTally(form)
    tally.add(list(zip(counts, reports, strict=True)), sum(row.reason is None for row in rows))
    return tally, refused

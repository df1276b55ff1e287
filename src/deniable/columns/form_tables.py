"""Forms in columns: randomise a table with a column for each question. `form_counting` counts what comes of it.

A table of reports has a struct column for each part, with its cohort and response; it is null where the part was not
answered. Every part is randomised as a column of its survey, with words of its own.
"""

import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns.codes import readable
from deniable.columns.form_answers import answers_of, filled, holds, named, places_of
from deniable.columns.randomizing import randomize
from deniable.columns.stream import WordStream
from deniable.columns.table import ReportTable
from deniable.reports import Report
from deniable.survey import Alphabet, Form, FormPart, Survey, data_frame, html_table
from deniable.tally import FormTally

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["FormTable", "privatize_forms"]

Mask = npt.NDArray[np.bool_]
Slots = tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], ...]


@dataclass(frozen=True, slots=True, eq=False)
class FormTable:
    """Many reports of one form, as columns.

    Parameters
    ----------
    form : Form
        What the reports answer.
    answered : ndarray of bool
        Of shape (reports, parts): which parts were answered.
    slots : tuple of pairs of arrays
        For each part its cohorts and its responses, a row for each report; zero where it was not answered.

    Examples
    --------
    >>> import deniable as dn, pyarrow as pa
    >>> form = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(3, epsilon=1), epsilon=2, spend="sample")
    >>> table = dn.privatize(form, pa.table({"smokes": ["no", "yes"], "likes": [0, 2]}))
    >>> table, table.to_arrow().column_names, len(next(iter(table)).pack())
    (<FormTable of form 8710b05b: 2 reports>, ['smokes', 'likes'], 12)
    >>> dn.count(form, table.to_arrow()) == dn.count(form, table) == dn.count(form, (r.pack() for r in table))
    True
    """

    form: Form
    answered: Mask
    slots: Slots

    def __len__(self) -> int:
        return len(self.answered)

    def __repr__(self) -> str:
        return f"<FormTable of form {self.form.digest[:8]}: {len(self)} reports>"

    def packed(self) -> npt.NDArray[np.uint8]:
        """The packed reports, one a row of bytes."""
        shape = self.form.report_format
        rows = np.zeros((len(self), shape.length), np.uint8)
        rows[:, : len(shape.head)] = np.frombuffer(shape.head, np.uint8)
        if shape.cohort.size:
            rows[:, len(shape.head) : shape.payload_start] = np.packbits(self.answered, axis=1, bitorder="little")
        for slot, (cohorts, responses) in zip(shape.slots, self.slots, strict=True):
            start = shape.payload_start + slot.start
            middle = shape.payload_start + slot.middle
            for place in range(slot.form.cohort.size):
                rows[:, start + place] = cohorts.astype(np.int64) >> 8 * place & 0xFF
            if responses.ndim == 2:
                rows[:, middle : middle + slot.form.response.size] = responses
            else:
                for place in range(slot.form.response.size):
                    rows[:, middle + place] = responses.astype(np.int64) >> 8 * place & 0xFF
        return rows

    def __iter__(self) -> Iterator[Report]:
        """The reports one by one; for looking at a few, not for counting."""
        return (Report.unpack(self.form, row.tobytes()) for row in self.packed())

    def add_to(self, tally: FormTally) -> None:
        """Count every report into a tally: all of them, or none if one is refused.

        Parameters
        ----------
        tally : FormTally
            A tally of the same form.
        """
        if tally.form.digest != self.form.digest:
            raise tally._mismatch("report table", self.form.digest)
        tally.add_slots(self.answered, self.slots)

    def to_arrow(self) -> "pa.Table":
        """An Arrow table with a struct column for each part: `cohort` and `response`, null where not answered."""
        import pyarrow as pa

        columns = {}
        for place, (part, (cohorts, responses)) in enumerate(zip(self.form.parts, self.slots, strict=True)):
            own = ReportTable(part.survey, cohorts, responses).to_arrow().combine_chunks()
            arrays = [own.column(name).combine_chunks() for name in own.column_names]
            missing = None if everywhere(self.answered[:, place]) else pa.array(~self.answered[:, place])
            columns[part.name] = pa.StructArray.from_arrays(arrays, own.column_names, mask=missing)
        metadata = {"deniable.survey": self.form.digest, "deniable.survey.json": self.form.to_json()}
        return pa.table(columns).replace_schema_metadata(metadata)

    def to_pandas(self) -> Any:
        """The table of `to_arrow` as a pandas DataFrame."""
        return data_frame(self.to_arrow())

    def _repr_html_(self) -> str:
        """What a notebook shows: the first reports."""
        rows = [[row.tobytes()[self.form.report_format.payload_start :].hex(" ")] for row in self.packed()[:5]]
        title = f"{len(self):,} reports to {self.form.name or self.form.digest[:8]}"
        return html_table(title, ["answers, randomised"], rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow C stream interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)


def privatize_forms(form: Form, data: Any) -> FormTable:
    """Randomise a table with a column for each question, one report a row; which parts a row answers is drawn first.

    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2)
    >>> len(privatize_forms(form, {"a": ["no", "yes"], "b": [0, 2]}))
    2
    """
    columns = answers_of(form, data)
    rows = len(next(iter(columns.values())))
    answered = _drawn(len(form.parts), form.drawn, rows)
    if any(part.when is not None for part in form.parts):
        answered = answered.copy(order="F")
    for place, part in enumerate(form.parts):
        if part.when is not None:
            answered[:, place] &= holds(form, columns, part.when, part.name)
    # The cipher, NumPy and Arrow release the interpreter's lock, so parts are divided among the cores. Each thread
    # draws one key, and goes on in its stream of words from part to part.
    left = iter(range(len(form.parts)))
    found: dict[int, tuple[npt.NDArray[Any], npt.NDArray[Any]]] = {}

    def work() -> None:
        stream = WordStream(narrow=True)
        for place in left:
            found[place] = _slot(form.parts[place], columns, answered[:, place], stream)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for job in [pool.submit(work) for _ in range(min(os.cpu_count() or 1, len(form.parts)))]:
            job.result()
    return FormTable(form, answered, tuple(found[place] for place in range(len(form.parts))))


def everywhere(here: Mask) -> bool:
    """Whether a column of a mask is set in every row; one that is the same value for all rows is looked at once."""
    return bool(here[:1].all() if here.strides == (0,) else here.all())


def _slot(
    part: FormPart, columns: Mapping[str, Any], here: Mask, stream: WordStream
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The cohorts and the responses of one part, zero where it is not answered."""
    own = {question.name: columns[question.name] for question in part.questions}
    if everywhere(here):
        rows: Any = slice(None)
    else:
        rows = np.flatnonzero(here)
        own = {
            name: column[rows] if isinstance(column, np.ndarray) else column.take(rows) for name, column in own.items()
        }
    table = named(part.name, _part, part, own, stream)
    if len(table) == len(here):
        return table.cohorts, table.responses
    responses = np.zeros((len(here), *table.responses.shape[1:]), table.responses.dtype)
    responses[rows] = table.responses
    if part.survey.cohorts == 1:  # the same in every row: no memory
        return np.broadcast_to(np.zeros((), table.cohorts.dtype), len(here)), responses
    cohorts = np.zeros(len(here), table.cohorts.dtype)
    cohorts[rows] = table.cohorts
    return cohorts, responses


def _drawn(parts: int, drawn: int, rows: int) -> Mask:
    """Which parts each row answers: a shuffle that stops after `drawn` steps, exactly uniform over sets."""
    if drawn == parts:  # one value for all of them: writing so many would take longer than randomising some columns
        return np.broadcast_to(np.True_, (rows, parts))
    found, stream = np.zeros((rows, parts), bool, order="F"), WordStream()
    if drawn == 1:
        found[np.arange(rows), stream.uniform_below(parts, rows)] = True
        return found
    order = np.tile(np.arange(parts, dtype=np.uint16), (rows, 1))
    every = np.arange(rows)
    for step in range(drawn):
        place = step + stream.uniform_below(parts - step, rows).astype(np.intp)
        taken = order[every, place]
        order[every, place] = order[:, step]
        order[:, step] = taken
        found[every, taken] = True
    return found


def _part(part: FormPart, columns: Mapping[str, Any], stream: WordStream) -> ReportTable:
    """The reports of one part, of the rows that answer it."""
    question, survey = part.questions[0], part.survey
    if len(part.questions) == 1 and not question.skip:
        return randomize(survey, readable(columns[question.name]), stream=stream)
    if survey.alphabet.is_open:
        return randomize(survey, readable(filled(columns[question.name])), stream=stream)
    places = [places_of(own, columns[own.name]) for own in part.questions]
    codes = places[0] if len(places) == 1 else places[0] * len(part.questions[1].answers) + places[1]
    coded = Survey(Alphabet.closed(len(survey.alphabet)), survey.encoding, survey.mechanism)
    found = randomize(coded, codes, stream=stream)
    return ReportTable(survey, found.cohorts, found.responses)

"""Batches of packed reports of a form: what `RecordShape` is for surveys. The vector has the forms, then each part.

Of a part it holds the reports of every cohort and then the counts of every (cohort, column).
"""

from collections.abc import Iterable
from typing import Any

import numpy as np

from deniable.service.records import CODES, Bytes, RecordShape, Vector
from deniable.survey import Agreement, Form
from deniable.tally import FormTally, Tally, answered_parts, count_part, refused_forms, slots_of

__all__ = ["FormShape", "shape_of"]


class FormShape:
    """What one form's packed reports look like.

    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2)
    >>> shape = FormShape(form)
    >>> rows = np.frombuffer(dn.Client(form).report({"a": "no", "b": 1}).pack(), np.uint8).reshape(1, -1)
    >>> shape.check(rows).tolist(), shape.size, shape.count(rows)[1].tolist()
    ([0], 8, [1, 1, 1, 1, 1])
    """

    def __init__(self, survey: Form) -> None:
        self.survey, self._form = survey, survey.report_format
        self.length = self._form.length
        self._shapes = [(part.survey.cohorts, part.survey.columns) for part in survey.parts]
        self.size = 1 + sum(cohorts * (1 + columns) for cohorts, columns in self._shapes)
        self._head = np.frombuffer(self._form.head, np.uint8)

    def check(self, rows: Bytes) -> Bytes:
        """A code for each row of packed reports: 0, or the place of the reason in `REASONS`."""
        codes = np.zeros(len(rows), np.uint8)
        for _, field, wrong in refused_forms(self._form, rows):
            codes[wrong] = CODES[field]
        head = rows[:, : len(self._head)] != self._head
        if head.any():
            codes[head[:, 1:].any(axis=1)] = CODES["survey"]
            codes[head[:, 0]] = CODES["version"]
        return codes

    def count(self, rows: Bytes) -> tuple[Vector, Vector]:
        """What good rows add to the vector of counts: places, in order, and how often each was hit."""
        answered = answered_parts(self._form, rows)
        arrays = [np.array([len(rows)], np.int64)]
        for place, (_, cohorts, responses) in enumerate(slots_of(self._form, rows)):
            here = answered[:, place]
            counts, reports = count_part(self.survey, place, cohorts[here], responses[here])
            arrays += [reports, counts.ravel()]
        vector = np.concatenate(arrays)
        places = np.flatnonzero(vector)
        return places, vector[places]

    def tally(self, vector: Vector, windows: Iterable[int] | None = None) -> FormTally:
        """The vector of counts as a tally, which checks that some set of reports could have produced it; `windows` are
        the forms of each window, where people take part again."""
        found, start, parts = FormTally(self.survey), 1, []
        for cohorts, columns in self._shapes:
            reports, start = vector[start : start + cohorts], start + cohorts
            counts, start = vector[start : start + cohorts * columns], start + cohorts * columns
            parts.append((counts.reshape(cohorts, columns), reports))
        found.add(parts, int(vector[0]))
        sizes = [size for size in windows or () if size]
        if self.survey.repeats_noise and len(sizes) > 1:
            # Where everybody answers every part its windows are the form's; elsewhere their sizes are not known.
            every = all(tally.n == found.n for tally in found.parts)
            for tally in found.parts:
                if every:
                    tally._set_windows(sizes)
                else:
                    tally._merged = None
        return found

    def vector(self, tally: Any) -> Vector:
        """The counts of a tally as one vector."""
        arrays = [np.array([tally.n], np.int64)]
        for part in tally.parts:
            arrays += [part.reports, part.counts.ravel()]
        return np.concatenate(arrays)


def shape_of(survey: Agreement) -> Any:
    """The shape of the reports of a survey, or of a form."""
    return FormShape(survey) if isinstance(survey, Form) else RecordShape(survey)


def evened(tally: Any, even: Any) -> Any:
    """A tally of a form with `even` applied to each part."""
    twin = tally.copy()
    twin.parts = tuple(even(part) for part in tally.parts)
    assert all(isinstance(part, Tally) for part in twin.parts)
    return twin

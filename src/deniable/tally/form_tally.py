"""The tally of a form: one tally a part, and the number of forms. It adds, and stays as small as its parts."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import SurveyError, TallyError, TallyMismatch, WireError
from deniable.reports import Report
from deniable.survey import Form, facts
from deniable.tally.form_rows import answered_parts, count_part, refused_forms, refused_slots, slots_of
from deniable.tally.saved import SavedTally, inflated, packed_file, unpacked_file
from deniable.tally.tally import Tally
from deniable.tally.window_sizes import merged_sizes, sizes_to_json

__all__ = ["FormTally"]

_MAGIC = b"deniable-form-tally/1\n"  # first line of a file: format and version


class FormTally(SavedTally):
    """The counts of one form: `tally["smokes"]` is the tally of a question's part, `n` the number of forms.

    Parameters
    ----------
    form : Form
        What the reports answer.

    Raises
    ------
    SurveyError
        If it is no form.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(3, epsilon=1), epsilon=2)
    >>> tally = dn.Tally(form)
    >>> tally.accumulate(dn.Client(form).report({"smokes": "yes", "likes": i % 3}) for i in range(5))
    >>> tally, tally["likes"].n, (tally + tally).n
    (<FormTally of form d5696990: 5 forms>, 5, 10)
    >>> dn.Tally.from_bytes(tally.to_bytes()) == tally
    True
    """

    __slots__ = ("_n", "form", "parts")

    def __init__(self, form: Form) -> None:
        if not isinstance(form, Form):
            raise SurveyError(f"form must be a Form, got {type(form).__name__}; make one with dn.form")
        self.form = form
        self.parts = tuple(Tally(part.survey) for part in form.parts)
        self._n = 0

    @property
    def n(self) -> int:
        """Forms in all."""
        return self._n

    @property
    def survey(self) -> Form:
        """The form: what a tally of one question calls its survey."""
        return self.form

    def __getitem__(self, question: str) -> Tally:
        return self.parts[self.form.parts.index(self.form.part_of(question))]

    def accumulate(self, item: "Report | bytes | Iterable[Report | bytes]") -> None:
        """Count one report or many: all of them, or none if one is refused.

        Parameters
        ----------
        item : Report, bytes or iterable
            One report, packed or not, an iterable of them, or a table from `privatize`.

        Raises
        ------
        TallyMismatch
            If a report answers something else.
        WireError
            If a report is not one that the form's devices can send.
        TallyError
            If the item is no report.
        """
        if hasattr(item, "add_to"):
            item.add_to(self)
            return
        if not isinstance(item, Iterable) and not isinstance(item, Report):
            raise TallyError(f"a tally of a form must be given reports or packed bytes, got {type(item).__name__}")
        wires = []
        for one in [item] if isinstance(item, (Report, bytes, bytearray, memoryview)) else item:
            if isinstance(one, Report):
                if one.survey.digest != self.form.digest:
                    raise self._mismatch("report", one.survey.digest)
                wires.append(one.pack())
            elif isinstance(one, (bytes, bytearray, memoryview)):
                wires.append(Report.unpack(self.form, bytes(one)).pack())
            else:
                raise TallyError(f"a tally of a form must be given reports or packed bytes, got {type(one).__name__}")
        if wires:
            self.add_rows(np.frombuffer(b"".join(wires), np.uint8).reshape(len(wires), -1))

    def add_rows(self, rows: npt.NDArray[np.uint8], refused: dict[str, int] | None = None) -> None:
        """Count packed reports, one a row; their heads must have been checked.

        Parameters
        ----------
        rows : ndarray of uint8
            Of shape (reports, `form.report_format.length`).
        refused : dict, optional
            If given, rows that are no reports are left out, and counted in it by reason.

        Raises
        ------
        WireError
            If a row is refused and `refused` was not given.
        """
        shape = self.form.report_format
        slots = [(cohorts, responses) for _, cohorts, responses in slots_of(shape, rows)]
        self.add_slots(answered_parts(shape, rows), slots, refused, found=refused_forms(shape, rows))

    def add_slots(
        self,
        answered: npt.NDArray[np.bool_],
        slots: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]],
        refused: dict[str, int] | None = None,
        *,
        found: list[tuple[str, str, npt.NDArray[np.bool_]]] | None = None,
        settled: Sequence[Sequence[tuple[str, npt.NDArray[np.bool_]]]] | None = None,
    ) -> None:
        """Count reports in columns.

        Parameters
        ----------
        answered : ndarray of bool
            Of shape (reports, parts): which parts were answered.
        slots : sequence of pairs of arrays
            For each part its cohorts and its responses, a row for each report.
        refused : dict, optional
            If given, rows that are no reports are left out, and counted in it by reason.
        found : list, optional
            What `refused_forms` found, if it was asked already.
        settled : sequence, optional
            For each part the reasons for refusing rows whose values cannot be in an array, with masks of these rows.

        Raises
        ------
        WireError
            If a row is refused and `refused` was not given.
        """
        good = np.ones(len(answered), bool)
        if found is None:
            found = refused_slots(self.form.report_format, answered, slots, settled=settled)
        for reason, _, wrong in found:
            if refused is None:
                raise WireError(f"reports must be ones that devices of this form can send, got {reason}")
            refused[reason] = refused.get(reason, 0) + int(wrong.sum())
            good &= ~wrong
        added = []
        for place, (cohorts, responses) in enumerate(slots):
            here = answered[:, place] & good
            rows = (cohorts, responses) if here.all() else (cohorts[here], responses[here])
            added.append(count_part(self.form, place, *rows))
        self.add(added, int(good.sum()))

    def add(self, parts: Sequence[tuple[npt.NDArray[Any], npt.NDArray[Any]]], n: int) -> None:
        """Add counts and reports of every part, after checking that some set of forms could have produced them.

        Parameters
        ----------
        parts : sequence of pairs of arrays
            For each part its counts and its reports, as `Tally.add` takes them.
        n : int
            How many forms they are of.

        Raises
        ------
        TallyError
            If no set of forms has these counts.
        """
        shape = self.form.report_format
        answered = [int(reports.sum()) for _, reports in parts]
        least = sum(0 if shape.optional >> place & 1 else 1 for place in range(len(parts)))
        wanted = shape.drawn * n
        too_few = sum(answered) < wanted if not shape.optional else False
        if len(parts) != len(self.parts) or max(answered, default=0) > n or sum(answered) > wanted or too_few:
            raise TallyError(f"answers must be those of {n} forms, {shape.drawn} parts each, got {answered}")
        if shape.drawn == len(parts) and sum(count == n for count in answered) < least:
            raise TallyError(f"answers must be those of {n} forms, {shape.drawn} parts each, got {answered}")
        for (counts, reports), tally in zip(parts, (Tally(part.survey) for part in self.form.parts), strict=True):
            tally.add(counts, reports)  # all of them, or none
        for (counts, reports), tally in zip(parts, self.parts, strict=True):
            tally.add(counts, reports)
        self._n += n

    def _mismatch(self, what: str, theirs: str) -> TallyMismatch:
        return TallyMismatch(
            f"{what} is for {theirs[:8]}, this tally is for form {self.form.digest[:8]}; merge what answers one form",
            ours=self.form.digest,
            theirs=theirs,
        )

    def _no_tally(self, other: object) -> TallyError:
        return TallyError(f"a tally of a form must be added to a tally of a form, got {type(other).__name__}")

    def merge(self, other: "FormTally") -> None:
        """Add another tally of the same form; where people take part again, its windows are added to those of this.

        Parameters
        ----------
        other : FormTally
            It stays as it is.

        Raises
        ------
        TallyMismatch
            If it is of another form.
        TallyError
            If it is no tally of a form.
        """
        if not isinstance(other, FormTally):
            raise self._no_tally(other)
        if other.form.digest != self.form.digest:
            raise self._mismatch("tally", other.form.digest)
        for mine, theirs in zip(self.parts, other.parts, strict=True):
            mine.merge(theirs)
        self._n += other._n

    def copy(self) -> "FormTally":
        """An independent tally with the same counts."""
        twin = FormTally(self.form)
        twin.parts, twin._n = tuple(part.copy() for part in self.parts), self._n
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FormTally):
            return NotImplemented
        return self.form == other.form and self._n == other._n and self.parts == other.parts

    def __repr__(self) -> str:
        return f"<FormTally of form {self.form.digest[:8]}: {self._n} form{'s' * (self._n != 1)}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: how much there is."""
        rows = [(part.name, f"{tally.n:,} answers") for part, tally in zip(self.form.parts, self.parts, strict=True)]
        return facts(f"Tally of {self.form.name or self.form.digest[:8]}", [("forms", f"{self._n:,}"), *rows])

    def to_bytes(self) -> bytes:
        """The tally and its form as bytes, in the format of a tally file.

        Returns
        -------
        bytes
            What `from_bytes` reads.
        """
        header: dict[str, Any] = {"form": json.loads(self.form.to_json()), "n": str(self._n)}
        if self.form.repeats_noise:
            sizes = [part._sizes() for part in self.parts]
            header["windows"] = [None if one is None else sizes_to_json(one) for one in sizes]
        arrays = [array for part in self.parts for array in (part.reports, part.counts.ravel())]
        return packed_file(_MAGIC, header, arrays)

    @classmethod
    def from_bytes(cls, data: bytes) -> "FormTally":
        """Read a tally that `to_bytes` wrote.

        Parameters
        ----------
        data : bytes
            All of it.

        Raises
        ------
        TallyError
            If the bytes are no tally of a form, or were truncated or altered.
        """
        header, packed = unpacked_file(data, _MAGIC, "a tally of a form", "form")
        try:
            found = cls(Form.from_fields(header["form"]))
        except SurveyError as problem:
            raise TallyError(f"tally must carry its form and its total: {problem}") from None
        n = header["n"]
        if not isinstance(n, str) or not (n.isascii() and n.isdecimal()) or len(n) > 19:
            raise TallyError("tally must say how many forms it holds, got something else")
        shapes = [(tally.survey.cohorts, tally.survey.columns) for tally in found.parts]
        size = sum(8 * cohorts * (1 + columns) for cohorts, columns in shapes)
        values, place, parts = inflated(packed, size, "this form"), 0, []
        for cohorts, columns in shapes:
            reports, place = values[place : place + cohorts], place + cohorts
            counts, place = (
                values[place : place + cohorts * columns].reshape(cohorts, columns),
                place + cohorts * columns,
            )
            parts.append((counts, reports))
        found.add(parts, int(n))
        found._remember(header.get("windows", [None] * len(found.parts) if found.form.repeats_noise else []))
        return found

    def _remember(self, windows: object) -> None:
        """Take over the windows that a file names: one entry for each part, and none where people answer once."""
        wanted = len(self.parts) if self.form.repeats_noise else 0
        if not isinstance(windows, list) or len(windows) != wanted:
            raise TallyError(f"tally must name the windows of {wanted} parts, got something else")
        for tally, sizes in zip(self.parts, windows, strict=False):
            tally._merged = None if sizes is None else merged_sizes(sizes, tally.n)


Tally._kinds[Form] = FormTally
Tally._formats[_MAGIC] = FormTally.from_bytes

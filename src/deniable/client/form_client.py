"""One respondent of a form. Which parts it answers is drawn before any answer, kept, and public.

Every part is randomised with words of its own: fresh ones, or permanent ones whose label names the form, the part, the
cohort and the cells. Two parts that ask the same share no word.
"""

from collections.abc import Mapping
from typing import Any

from deniable.client.client import Client
from deniable.errors import AlphabetError
from deniable.noise import DerivedEntropy, Entropy
from deniable.reports import Report
from deniable.survey import Form

__all__ = ["FormClient"]


class FormClient(Client):
    """A `Client` of a form: `Client(form)` makes one.

    Claim: the law of `report(answers).pack()` is the law of what was drawn, which is the same for all answers, times
        the product of the published channels of the parts that were drawn, exactly.
    Proof: tests/exact/test_forms.py::test_law_of_the_bytes_is_the_product_of_the_published_channels

    Claim: two memoised reports of the same answers draw the same parts and have one permanent response a part, so that
        together they keep the epsilon of all reports.
    Proof: tests/exact/test_two_forms.py::test_two_reports_of_a_form_keep_the_promise_of_all_reports

    Parameters
    ----------
    survey, state, memoize, cap, hard_cap, entropy
        As for `Client`.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(["a", "b", "c"], epsilon=1), epsilon=2, spend="sample")
    >>> client = dn.Client(form)
    >>> answers = {"smokes": "no", "likes": "b"}
    >>> report = client.report({name: answers[name] for name in client.questions})
    >>> len(client.questions), len(report.pack())
    (1, 12)
    """

    __slots__ = ("_form",)

    def _prepare(self, survey: Any) -> None:
        self._form: Form = survey

    @property
    def questions(self) -> tuple[str, ...]:
        """The names of the questions that this device answers: ask no others."""
        chosen, _ = self._form.drawn_parts(self._cohort)
        parts = [part for place, part in enumerate(self._form.parts) if chosen >> place & 1]
        drawn = {question.name for part in parts for question in part.questions}
        return tuple(question.name for question in self._form.questions if question.name in drawn)

    def _randomized(self, value: object) -> Report | str:
        try:
            return self._packed(self._checked(value))
        except AlphabetError as error:
            return str(error)
        except Exception:  # a value's own methods may raise anything, with the value in it
            return "answers must be text, numbers or bytes by the names of the questions, got some that cannot be read"

    def _checked(self, value: object) -> dict[str, object]:
        """The answers, if they are just those that are asked; otherwise an error that shows none of them."""
        if not isinstance(value, Mapping):
            raise AlphabetError(
                f"answers must be given by the names of the questions, got {type(value).__name__}; "
                "write {'smokes': 'yes', ...}"
            )
        form, given = self._form, dict(value)
        known = {question.name: question for question in (*form.questions, *form.public)}
        for name in given:
            if name not in known:
                raise AlphabetError("answers must be to questions of this form, got one to another; nothing was sent")
        for question in form.public:
            if question.name in given:
                given[question.name] = question.answers.canonical(given[question.name])
                if given[question.name] not in (question.answers.symbols or ()):
                    raise AlphabetError(f"{question.name}: it must be one of the public answers of this form")
        asked = self._asked(given)
        names = {
            question.name for place, part in enumerate(form.parts) if asked >> place & 1 for question in part.questions
        }
        for question in form.questions:
            if question.name in names and question.name not in given and not question.skip:
                raise AlphabetError(
                    f"{question.name}: it must be answered; a form says with skip= what may be left out"
                )
            if question.name in given and question.name not in names:
                raise AlphabetError(
                    f"{question.name}: it must not be answered by this device, which did not draw it, or to which it "
                    "is not asked; client.questions has those that are"
                )
        return given

    def _asked(self, given: Mapping[str, object]) -> int:
        """The parts that are answered, as bits: of those that were drawn, those whose condition holds."""
        chosen, _ = self._form.drawn_parts(self._cohort)
        public = {question.name: question for question in self._form.public}
        for place, part in enumerate(self._form.parts):
            if chosen >> place & 1 and (when := part.when) is not None:
                # A public question that is itself not asked has no answer.
                while when is not None and when[0] not in given:
                    depends, when = when[0], public[when[0]].when
                    if when is None or (when[0] in given and given[when[0]] in when[1]):
                        raise AlphabetError(f"{depends}: it must be answered, because {part.name} depends on it")
        return self._form.asked(chosen, given)

    def _packed(self, given: Mapping[str, object]) -> Report:
        form, shape = self._form, self._form.report_format
        _, cohorts = form.drawn_parts(self._cohort)
        asked, slots = self._asked(given), []
        for place, (part, cohort) in enumerate(zip(form.parts, cohorts, strict=True)):
            slot = shape.slots[place]
            if asked >> place & 1:
                response = self._response(place, cohort, part.symbol(given))
                slots.append(cohort.to_bytes(slot.form.cohort.size, "little"))
                slots.append(response.to_bytes(slot.form.response.size, "little"))
            else:
                slots.append(bytes(slot.stop - slot.start))
        return Report(form, asked if shape.cohort.size else 0, b"".join(slots))

    def _response(self, place: int, cohort: int, symbol: object) -> int:
        """The randomised response of one part."""
        survey = self._form.parts[place].survey
        try:
            cells = survey.encoding.encode(cohort, survey.encoding.key(survey.alphabet, symbol))
        except AlphabetError as error:
            raise AlphabetError(f"{self._form.parts[place].name}: {error}") from None
        permanent = survey.mechanism.permanent.randomize(cells, self._words(place, cohort, cells))
        return survey.mechanism.refresh(permanent, self._entropy)

    def _words(self, place: int, cohort: int, cells: tuple[int, ...]) -> Entropy:
        """Words of this part alone: HMAC(secret, form digest, part, cohort, cells), or fresh ones."""
        if self._secret is None:
            return self._entropy
        numbers = (n.to_bytes(4, "little") for n in (place, cohort, *cells))
        label = b"permanent part" + bytes.fromhex(self._form.digest) + b"".join(numbers)
        return DerivedEntropy(self._secret, label)

    @property
    def _whose(self) -> str:
        return f"form {self._form.digest[:8]}, {len(self.questions)} of {len(self._form.questions)} questions"


Client._kinds[Form] = FormClient

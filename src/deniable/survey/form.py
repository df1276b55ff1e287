"""`Form`: several questions, one report. The public agreement of a form, with one digest, as `Survey` is of a question.

A form is a list of parts (`survey.questions`). Each device answers all of them, or `drawn` of them, which it draws
before any answer is known and keeps; every part is randomised with words of its own. So the law of a report is the
product of its parts' laws, and the epsilon of a form is the sum of what the parts that a device answers spend.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import mul
from typing import cast

from deniable.errors import SurveyError
from deniable.mechanisms import epsilon_text, log_floor
from deniable.noise import Entropy
from deniable.survey.agreement import PublicAgreement, canonical_json
from deniable.survey.alphabet import symbol_to_json
from deniable.survey.form_format import FormFormat
from deniable.survey.form_promises import promise_of, promises_all, ratio_of
from deniable.survey.form_reading import FORMAT, read_parts
from deniable.survey.form_sql import count_parts
from deniable.survey.notebook import html_table
from deniable.survey.participation import check_participation
from deniable.survey.questions import MAX_QUESTIONS, FormPart, Question, check_condition
from deniable.survey.survey import MAX_COUNTERS, check_title, checked_name

__all__ = ["SPENDINGS", "Form"]

SPENDINGS = ("split", "sample", "each")  # how a budget is used


@dataclass(frozen=True, slots=True, repr=False)
class Form(PublicAgreement):
    """The public parameters of a form: an immutable value with one canonical JSON text and the digest of that text.

    Made by `form`, which shares the budget, and read from files.

    Claim: between any two complete sets of answers that are promised to be deniable the laws of a packed report differ
        by at most e**epsilon, whatever was drawn, skipped or related; which parts were drawn says nothing about
        answers. All are promised, unless a question has answers that may be seen (`uneven`); `promise` says which.
    Proof: tests/exact/test_forms.py::test_the_total_epsilon_is_the_largest_over_all_pairs_of_answers

    Parameters
    ----------
    parts : tuple of FormPart
        What is randomised as one, in the order of their first questions.
    spend : str
        "split" (every question, the budget shared), "sample" (some questions, drawn, each with all of the budget) or
        "each" (every question with a budget of its own).
    epsilon_total : Fraction
        The budget of a person's answers together, in nats.
    drawn : int
        How many parts each device answers.
    public : tuple of Question
        Questions that conditions depend on. Their answers are not sent.
    name : str
        What people call the form.
    participation : str
        How often a person answers: "once", "window:hour", "window:day", "window:week" or "event".
    order : tuple of str
        The names of the questions in the order in which they are asked; part by part if it is empty.

    Raises
    ------
    SurveyError
        If questions repeat, the parts spend more than `epsilon`, or a condition depends on a private answer.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(smokes=dn.warner(epsilon=1), age=dn.number(18, 90, 1, bins=8), epsilon=2, name="health")
    >>> form
    <Form 'health': 2 questions, split, epsilon 2, digest 86eeb46d>
    >>> dn.Form.from_json(form.to_json()) == form
    True
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     form.save(os.path.join(folder, "form.json"))
    ...     dn.Form.load(os.path.join(folder, "form.json")) == form
    True
    >>> from deniable.noise import OsEntropy
    >>> drawn, cohorts = form.drawn_parts(form.draw_cohort(OsEntropy()))
    >>> drawn, cohorts, form.asked(drawn, {})
    (3, (0, 0), 3)
    """

    parts: tuple[FormPart, ...]
    spend: str
    epsilon_total: Fraction
    drawn: int
    public: tuple[Question, ...] = ()
    name: str = ""
    participation: str = "once"
    order: tuple[str, ...] = ()
    digest: str = field(init=False, compare=False)
    report_format: FormFormat = field(init=False, compare=False)

    def __post_init__(self) -> None:
        check_title(checked_name(self.name))
        object.__setattr__(self, "participation", check_participation(self.participation))
        names = [question.name for part in self.parts for question in part.questions]
        if not self.order:
            object.__setattr__(self, "order", tuple(names))
        elif sorted(self.order) != sorted(names):
            raise SurveyError("the order of a form must name each of its questions once")
        names += [question.name for question in self.public]
        if not 2 <= len(self.questions) <= MAX_QUESTIONS:
            step = "; one question is a survey of its own" if len(self.questions) == 1 else ""
            raise SurveyError(f"a form must have 2 to {MAX_QUESTIONS} questions, got {len(self.questions)}{step}")
        for name in names:
            if names.count(name) > 1:
                raise SurveyError(f"a form must have each question once, got {name!r} more than once")
        if self.spend not in SPENDINGS:
            raise SurveyError(f"spend must be 'split', 'sample' or 'each', got {str(self.spend)[:40]!r}")
        self._check_conditions()
        self._check_budget()
        if sum(part.survey.cohorts * part.survey.columns for part in self.parts) > MAX_COUNTERS:
            raise SurveyError(f"a form must have at most {MAX_COUNTERS} counters, got more; use fewer cohorts or cells")
        object.__setattr__(self, "digest", self._fields_digest())
        object.__setattr__(self, "report_format", FormFormat.of(self.parts, self.drawn, self.digest))

    def _check_conditions(self) -> None:
        public = {question.name: question for question in self.public}
        for question in (*self.questions, *self.public):
            if question.when is not None:
                check_condition(question.name, question.when, public)
        for part in self.parts:
            if len(part.questions) > 1 and any(question.when is not None for question in part.questions):
                raise SurveyError(f"related questions must be asked of everybody, got {part.name} with a condition")
        for question in self.public:
            seen, at = {question.name}, question
            while at.when is not None:
                at = public[at.when[0]]
                if at.name in seen:
                    raise SurveyError(f"conditions must not go in a circle, got {question.name!r} in one")
                seen.add(at.name)

    def _check_budget(self) -> None:
        for part in self.parts:
            mechanism = part.survey.mechanism
            if mechanism.width != self.width or part.survey.participation != self.participation:
                raise SurveyError(f"parts of a form must be answered as the form is, got {part.name!r} otherwise")
        most = len(self.parts)
        if not 1 <= self.drawn <= most or (self.spend != "sample" and self.drawn != most):
            raise SurveyError(f"draw must be from 1 to the {most} parts of this form, got {self.drawn}")
        if self.bounds[0] > self.epsilon_total:
            raise SurveyError(
                f"the parts that a device answers must spend at most epsilon {epsilon_text(self.epsilon_total)}, "
                f"got {epsilon_text(self.bounds[0])} together"
            )

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions that are answered in private, in the order in which they are asked."""
        found = tuple(question for part in self.parts for question in part.questions)
        return tuple(sorted(found, key=lambda question: self.order.index(question.name))) if self.order else found

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The largest sum of the parts' budgets that one device spends, in all reports and in one: exact rationals.

        >>> import deniable as dn
        >>> dn.form(a=dn.warner(epsilon="1/3"), b=dn.krr(3, epsilon=1), spend="each").bounds
        (Fraction(4, 3), Fraction(4, 3))
        """
        life = sorted((part.survey.mechanism.epsilon for part in self.parts), reverse=True)
        once = sorted((part.survey.mechanism.report_bound for part in self.parts), reverse=True)
        return sum(life[: self.drawn], Fraction(0)), sum(once[: self.drawn], Fraction(0))

    @property
    def epsilon(self) -> float:
        """The epsilon of all answers of a person together, as it was asked for."""
        return float(self.epsilon_total)

    @property
    def odds(self) -> Fraction:
        """The largest ratio of the probabilities of one report under two sets of answers that are promised something.

        It is exact. Where the form is `uneven`, between other sets of answers it may be infinite.
        """
        ratios = sorted((part.survey.mechanism.odds for part in self.parts), reverse=True)
        return reduce(mul, ratios[: self.drawn], Fraction(1))

    def ratio(self, given: Mapping[str, object], other: Mapping[str, object]) -> Fraction | None:
        """The largest ratio of the probabilities of one report under two complete sets of answers, exactly.

        Parameters
        ----------
        given, other : mapping
            Answers by the names of questions, public ones too where the form has them.

        Returns
        -------
        Fraction or None
            None if it is infinite: some report of `given` never comes from `other`.

        Examples
        --------
        >>> import deniable as dn
        >>> form = dn.form(ill=dn.sensitive(["no", "flu", "hiv"], sensitive=["hiv"], epsilon=1), b=dn.warner(epsilon=1),
        ...                spend="each")
        >>> form.ratio({"ill": "hiv", "b": "yes"}, {"ill": "no", "b": "no"}) == form.odds
        True
        >>> form.ratio({"ill": "no", "b": "yes"}, {"ill": "hiv", "b": "yes"}) is None
        True
        """
        return ratio_of(self, given, other)

    def promise(self, given: Mapping[str, object], other: Mapping[str, object]) -> Fraction | None:
        """The epsilon that whoever gives one complete set of answers is promised against another, for all reports.

        Questions that are answered alike spend nothing. Where a question hides only some of its answers (`uneven`) and
        they differ there, the promise is what it makes to them, which may be none.

        Parameters
        ----------
        given, other : mapping
            Answers by the names of questions, public ones too where the form has them.

        Returns
        -------
        Fraction or None
            Never above `epsilon_total`; None if nothing is promised.

        Examples
        --------
        >>> import deniable as dn
        >>> form = dn.form(ill=dn.sensitive(["no", "flu", "hiv"], sensitive=["hiv"], epsilon=1), b=dn.warner(epsilon=1),
        ...                spend="each")
        >>> form.uneven, form.promise({"ill": "hiv", "b": "yes"}, {"ill": "flu", "b": "no"})
        (('ill',), Fraction(2, 1))
        >>> form.promise({"ill": "flu", "b": "yes"}, {"ill": "flu", "b": "no"})
        Fraction(1, 1)
        >>> form.promise({"ill": "flu", "b": "yes"}, {"ill": "hiv", "b": "yes"}) is None
        True
        """
        return promise_of(self, given, other)

    @property
    def uneven(self) -> tuple[str, ...]:
        """Names of the parts in which some answers may be seen: no epsilon holds for them."""
        return tuple(part.name for part in self.parts if not promises_all(part.survey.mechanism))

    @property
    def epsilon_report(self) -> float:
        """The epsilon that one report spends on all answers together, from the realised integers."""
        return log_floor(self.odds, self.bounds[1])

    @property
    def epsilon_spent(self) -> float:
        """The epsilon that all reports of the same answers spend; never above `epsilon`."""
        ratios = sorted((part.survey.mechanism.permanent.odds for part in self.parts), reverse=True)
        return log_floor(reduce(mul, ratios[: self.drawn], Fraction(1)), self.bounds[0])

    @property
    def width(self) -> int:
        """Bits of the random words that a client needs."""
        return self.parts[0].survey.mechanism.width

    @property
    def permanent_responses(self) -> int | None:
        """The most permanent responses that a device can have for one part; None where nothing bounds them."""
        counts = [part.survey.permanent_responses for part in self.parts]
        return None if None in counts else max(count for count in counts if count is not None)

    @property
    def cohorts(self) -> int:
        """How many numbers `draw_cohort` draws from: the sets of parts, as bits, times the cohorts of all parts."""
        return reduce(mul, (part.survey.cohorts for part in self.parts), 1 << len(self.parts))

    def draw_cohort(self, entropy: Entropy) -> int:
        """What a device draws once, before any answer: which parts it answers, and its cohort in each, as one number.

        Parameters
        ----------
        entropy : Entropy
            Where random words come from.
        """
        left = list(range(len(self.parts)))
        chosen = 0
        if self.drawn < len(left):
            for _ in range(self.drawn):
                chosen |= 1 << left.pop(entropy.uniform_below(len(left)))
        else:
            chosen = (1 << len(left)) - 1
        found, scale = chosen, 1 << len(self.parts)
        for part in self.parts:
            found += scale * entropy.uniform_below(part.survey.cohorts)
            scale *= part.survey.cohorts
        return found

    def drawn_parts(self, cohort: int) -> tuple[int, tuple[int, ...]]:
        """What a number of `draw_cohort` stands for: the parts as bits, and the cohort in each.

        Parameters
        ----------
        cohort : int
            The number.

        Examples
        --------
        >>> import deniable as dn
        >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.orr(epsilon=1, cells=4, cohorts=8), epsilon=2)
        >>> form.drawn_parts(3 + 4 * 5)
        (3, (0, 5))
        """
        rest, chosen = divmod(cohort, 1 << len(self.parts))
        cohorts = []
        for part in self.parts:
            rest, own = divmod(rest, part.survey.cohorts)
            cohorts.append(own)
        return chosen, tuple(cohorts)

    def asked(self, drawn: int, public: Mapping[str, object]) -> int:
        """Which of the drawn parts are asked, given the public answers: both as bits.

        Parameters
        ----------
        drawn : int
            The drawn parts.
        public : mapping
            Public answers by name.
        """
        return sum(
            1 << place
            for place, part in enumerate(self.parts)
            if drawn >> place & 1 and (part.when is None or public.get(part.when[0]) in part.when[1])
        )

    def sql(self, *, dialect: str = "duckdb", table: str | Sequence[str] = "reports") -> str:
        """The SQL query that counts a table of reports: every part and every related pair, in one statement.

        `deniable.count(form, result)` makes a tally of its result.

        Parameters
        ----------
        dialect : str
            "duckdb", "postgresql", "bigquery" or "spark".
        table : str or sequence of str
            The name of the table, or the parts of a name with dots between them. It has a struct column for each part,
            with the fields `cohort` and `response`, which is null where the part was not answered.

        Returns
        -------
        str
            A query whose rows are groups of reports: part, cohort, cell or cells, number of reports, and the reason if
            rows are refused. A row without a part and without a reason has the number of forms.

        Examples
        --------
        >>> import deniable as dn
        >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2)
        >>> query = form.sql(table="answers")
        >>> query.count('FROM "answers"'), query.count("GROUP BY")
        (1, 3)
        """
        return count_parts(self.report_format, dialect, table)

    def _fields(self) -> dict[str, object]:
        again = {} if self.participation == "once" else {"participation": self.participation}
        conditions = [[q.name, *_when_json(q)] for q in (*self.questions, *self.public) if q.when is not None]
        return {
            "format": FORMAT,
            "name": self.name,
            "spend": self.spend,
            "epsilon": epsilon_text(self.epsilon_total),
            "drawn": self.drawn,
            "questions": [question.to_json() for question in self.questions],
            "parts": [part.to_json() for part in self.parts],
            **({"public": [question.to_json() for question in self.public]} if self.public else {}),
            **({"when": conditions} if conditions else {}),
            **again,
        }

    @classmethod
    def from_fields(cls, fields: object) -> "Form":
        """The form in a JSON object that is already parsed.

        Parameters
        ----------
        fields : dict
            What `strict_json` returned for the text of a form.

        Raises
        ------
        SurveyError
            As `from_json`.

        Examples
        --------
        >>> import deniable as dn, json
        >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2)
        >>> dn.Form.from_fields(json.loads(form.to_json())) == form
        True
        """
        if isinstance(fields, dict) and "mechanism" in fields:  # a survey has one, a form many
            raise SurveyError(
                "form must be of several questions here, got a survey of one; read it with dn.Survey.load"
            )
        given = read_parts(fields)
        written = {name: value for name, value in cast(dict[str, object], fields).items() if name != "digest"}
        digest = given.pop("digest")
        found = cls(**given)
        found._check_digest(digest)
        # The same form in other words: what another client would refuse, or read as another one.
        if canonical_json(written) != canonical_json(found._fields()):
            raise SurveyError(
                "form must be written as its to_json writes it: no empty list, and conditions in the order of questions"
            )
        return found

    def part_of(self, question: str) -> FormPart:
        """The part that a question belongs to.

        Parameters
        ----------
        question : str
            The question's name.

        Raises
        ------
        SurveyError
            If the form has no such question.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2).part_of("b").survey.epsilon
        1.092
        """
        for part in self.parts:
            if any(own.name == question for own in part.questions):
                return part
        known = ", ".join(own.name for own in self.questions)
        raise SurveyError(f"question must be one of this form's, {known}, got {str(question)[:64]!r}")

    def _rows(self) -> list[tuple[str, str, str, str]]:
        return [
            (
                part.name,
                part.survey.title,
                "any text" if part.survey.alphabet.is_open else f"{len(part.survey.alphabet)}",
                epsilon_text(part.survey.mechanism.epsilon),
            )
            for part in self.parts
        ]

    def __str__(self) -> str:
        """A line for each part, and what they spend together."""
        lines = [
            f"{name}: {title}, {answers}{'' if answers == 'any text' else ' answers'}, epsilon {epsilon}"
            for name, title, answers, epsilon in self._rows()
        ]
        return "\n".join([*lines, self.spending])

    @property
    def spending(self) -> str:
        """How the budget is used, in one sentence."""
        parts, total = len(self.parts), epsilon_text(self.epsilon_total)
        if self.uneven:
            total += f"; some answers to {', '.join(self.uneven)} may be seen"
        if self.bounds[1] < self.bounds[0]:
            total += f"; one report at most {epsilon_text(self.bounds[1])}"
        if self.spend == "sample":
            of = f"{self.drawn} of {parts} parts, drawn" if self.drawn < parts else "every part"
            return f"each device answers {of} before any answer is known; together they spend at most {total}"
        return f"each device answers every part; together they spend at most {total}"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        head = ["question", "mechanism", "answers", "epsilon"]
        return html_table(self.name or "Form", head, self._rows(), note=self.spending)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        drawn = f" {self.drawn}" if self.spend == "sample" else ""
        spent = f"{self.spend}{drawn}, epsilon {epsilon_text(self.epsilon_total)}"
        return f"<Form{name}: {len(self.questions)} questions, {spent}, digest {self.digest[:8]}>"


def _when_json(question: Question) -> list[object]:
    assert question.when is not None
    return [question.when[0], [symbol_to_json(value) for value in question.when[1]]]

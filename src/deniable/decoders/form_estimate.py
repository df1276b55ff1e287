"""What a form's tally says: an estimate for each question, and for each related pair the joint distribution.

A question of its own part is decoded as any survey. The questions of a pair come from the pair's tally: a share of one
answer is the sum of the shares of its pairs, with the standard error of that sum.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.decoders.by_question import ByQuestion
from deniable.decoders.decoding import decode, readers_of
from deniable.decoders.estimate import Estimate
from deniable.decoders.intervals import Mass, mass_of
from deniable.decoders.labels import labels_of
from deniable.decoders.limits import check_level
from deniable.decoders.rows import finite_record
from deniable.errors import DecodeError, UnknownSymbol
from deniable.survey import NO_ANSWER, Form, FormPart, Symbol
from deniable.tally import FormTally

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FormEstimate", "MarginalEstimate"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MarginalEstimate:
    """The distribution of one question of a related pair, from the estimate of the pairs.

    Parameters
    ----------
    joint : Estimate
        The estimate of the pairs.
    part : FormPart
        The pair.
    place : int
        Which of its questions this is: 0 or 1.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=4, relate=[("a", "b")])
    >>> p = {("a", "b"): [[0.5, 0.1, 0.1], [0.1, 0.1, 0.1]]}
    >>> found = dn.decode(dn.simulate(form, p, n=10**7, rng=np.random.default_rng(0)))["a"]
    >>> found.symbols, found.probabilities.round(2).tolist(), round(found["yes"], 2), found.n
    (('no', 'yes'), [0.7, 0.3], 0.3, 10000000)
    """

    joint: Estimate
    part: FormPart
    place: int

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The answers, in the order of the question."""
        return self.part.questions[self.place].answers.symbols or ()

    @property
    def n(self) -> int:
        """The number of reports."""
        return self.joint.n

    @cached_property
    def _masses(self) -> tuple[Mass, ...]:
        sizes = [len(question.answers) for question in self.part.questions]
        numbers = np.arange(sizes[0] * sizes[1]).reshape(sizes)
        rows = numbers if self.place == 0 else numbers.T
        shares = self.joint.probabilities
        return tuple(mass_of(self.joint.fit, self.joint._indicator(row), float(shares[row].sum())) for row in rows)

    @property
    def probabilities(self) -> Floats:
        """One share an answer, under the constraint of the decoder."""
        return np.array([mass.value for mass in self._masses])

    @property
    def raw(self) -> Floats:
        """The unbiased estimate, which standard errors and intervals belong to."""
        return np.array([mass.raw for mass in self._masses])

    @property
    def standard_errors(self) -> Floats:
        """One standard error an answer, of `raw`."""
        return np.array([mass.standard_error for mass in self._masses])

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals for each answer, around the unbiased estimate.

        Parameters
        ----------
        level : float
            The confidence level, between 0 and 1.
        simultaneous : bool
            Whether all intervals hold at once with probability `level` (Bonferroni).
        """
        alpha = (1 - check_level(level)) / (len(self.symbols) if simultaneous else 1)
        return np.array([mass.interval(1 - alpha) for mass in self._masses])

    @property
    def labels(self) -> tuple[str, ...]:
        """One distinct text an answer."""
        return labels_of(self.symbols)

    def index(self, symbol: object) -> int:
        """The place of an answer in `symbols`.

        Parameters
        ----------
        symbol : object
            The answer.
        """
        question = self.part.questions[self.place]
        value = question.answer(symbol)
        if value not in self.symbols:
            raise UnknownSymbol(f"symbol must be one of the {len(self.symbols)} that were decoded")
        return self.symbols.index(value)

    def __getitem__(self, symbol: object) -> float:
        return self._masses[self.index(symbol)].value

    def __iter__(self) -> Iterator[tuple[Symbol, float]]:
        return iter(zip(self.symbols, self.probabilities.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.symbols)


@dataclass(frozen=True, eq=False, repr=False)
class FormEstimate(ByQuestion):
    """An estimate for each question of a form. Made by `decode`.

    Parameters
    ----------
    tally : FormTally
        A copy of the counts.
    parts : tuple of Estimate
        The estimate of each part.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(3, epsilon=1), epsilon=4)
    >>> p = {"smokes": [0.7, 0.3], "likes": [0.5, 0.3, 0.2]}
    >>> estimate = dn.decode(dn.simulate(form, p, n=10**6, rng=np.random.default_rng(0)))
    >>> list(estimate), round(estimate["smokes"]["yes"], 2)
    (['smokes', 'likes'], 0.3)
    >>> print(estimate)
    smokes: no 69.9 % (69.8 to 70.0 %), yes 30.1 % (30.0 to 30.2 %)
    likes: 0 50.0 % (49.9 to 50.1 %), 1 30.0 % (29.9 to 30.1 %), 2 20.0 % (19.9 to 20.1 %)
    """

    tally: FormTally
    parts: tuple[Estimate, ...]
    _columns = ("question", "symbol", "probability", "raw", "standard_error", "low", "high")
    _head = ("question", "answer", "share", "95 % interval")

    @property
    def _note(self) -> str:
        return f"{self.n:,} forms"

    @property
    def form(self) -> Form:
        """The form that was answered."""
        return self.tally.form

    @property
    def n(self) -> int:
        """The number of forms."""
        return self.tally.n

    @cached_property
    def _found(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for part, estimate in zip(self.form.parts, self.parts, strict=True):
            for place, question in enumerate(part.questions):
                found[question.name] = estimate if len(part.questions) == 1 else MarginalEstimate(estimate, part, place)
        return {question.name: found[question.name] for question in self.form.questions}

    def joint(self, first: str, second: str) -> Estimate:
        """The estimate of all pairs of answers of two related questions, in the order of the form.

        `symbols` are the numbers of the pairs; `form.part_of(first).pair(number)` has the two answers.

        Parameters
        ----------
        first, second : str
            Names of two questions that the form relates.

        Raises
        ------
        DecodeError
            If the form does not relate them: their answers were not sent together.
        """
        part = self.form.part_of(first)
        if first == second or second not in [question.name for question in part.questions]:
            raise DecodeError(f"questions must be related in the form to be decoded together, got {first} and {second}")
        return self.parts[self.form.parts.index(part)]

    def rows(self, level: float = 0.95) -> list[tuple[str, str, float, float, float, float, float]]:
        """A row for each answer of each question: question, answer, probability, raw, standard error, low, high.

        Parameters
        ----------
        level : float
            The confidence level of low and high.
        """
        found = []
        for name, estimate in self.items():
            limits = estimate.intervals(level)
            columns = (estimate.probabilities, estimate.raw, estimate.standard_errors, limits[:, 0], limits[:, 1])
            numbers = zip(*(column.tolist() for column in columns), strict=True)
            found += [(name, label, *row) for label, row in zip(estimate.labels, numbers, strict=True)]
        return found

    def to_json(self, level: float = 0.95) -> str:
        """The table as JSON: by question, by answer. What the reports do not determine is null.

        Parameters
        ----------
        level : float
            The confidence level of `low` and `high`.
        """
        return json.dumps(self.record(level), ensure_ascii=False, indent=2, allow_nan=False) + "\n"

    def record(self, level: float = 0.95) -> dict[str, Any]:
        """What `to_json` writes, as objects; None where the reports do not determine a number.

        Parameters
        ----------
        level : float
            The confidence level of `low` and `high`.

        Returns
        -------
        dict
            The form's digest, n, the level, and shares with their errors by question, by answer.
        """
        questions: dict[str, dict[str, Any]] = {}
        for name, label, probability, raw, error, low, high in self.rows(level):
            shares = {"probability": probability, "raw": raw, "standard_error": error, "low": low, "high": high}
            questions.setdefault(name, {})[label] = shares
        found = {"form": self.form.digest, "n": self.n, "level": level, "questions": questions}
        return dict(finite_record(found))

    def _drawn(self, name: str, level: float, top: int) -> "alt.LayerChart":
        from deniable.charts import estimate_chart

        estimate = self[name]
        order = np.argsort(-estimate.probabilities, kind="stable")[:top]
        labels = [estimate.labels[i] for i in order]
        return estimate_chart(labels, estimate.probabilities[order], estimate.intervals(level)[order], level=level)

    def shown(self, level: float = 0.95) -> list[tuple[str, str, str, str]]:
        """Rows for people: question, answer, share, interval within 0 and 100 %.

        Parameters
        ----------
        level : float
            The confidence level of the intervals.
        """
        return [
            (name, label, f"{100 * share:.1f} %", f"{100 * max(low, 0.0):.1f} to {100 * min(high, 1.0):.1f} %")
            for name, label, share, _, _, low, high in self.rows(level)
        ]

    def __repr__(self) -> str:
        return f"<FormEstimate of {len(self)} questions from {self.n} forms>"


def _decode_form(
    tally: FormTally, *, candidates: Mapping[str, Iterable[object]] | None = None, **settings: Any
) -> FormEstimate:
    """`decode` of a form: each part on its own. `candidates` are by the names of questions that any text answers."""
    if candidates is not None and not isinstance(candidates, Mapping):
        raise DecodeError(
            f"candidates of a form must be given by the names of its questions, got {type(candidates).__name__}; "
            "write candidates={'city': [...]}"
        )
    given = dict(candidates or {})
    for name in given:
        if not tally.form.part_of(name).survey.alphabet.is_open:
            raise DecodeError(f"candidates must be of questions that any text answers, got some for {name!r}")
    found = []
    for part, counts in zip(tally.form.parts, tally.parts, strict=True):
        if counts.n == 0:
            raise DecodeError(f"tally must hold an answer to every question, got none to {part.name!r}").because(
                "empty"
            )
        listed: list[object] | None = None
        if part.survey.alphabet.is_open:
            name = part.questions[0].name
            if name not in given:
                raise DecodeError(f"candidates must be given for {name!r}: the answers to look for")
            skipped = [NO_ANSWER] if part.questions[0].skip else []
            listed = [*given[name], *(one for one in skipped if one not in given[name])]
        found.append(decode(counts, candidates=listed, **settings))
    return FormEstimate(tally.copy(), tuple(found))


readers_of[FormTally] = _decode_form

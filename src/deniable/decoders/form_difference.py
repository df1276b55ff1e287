"""The difference of two estimates of a form: question by question, with error bars."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.decoders.by_question import ByQuestion
from deniable.decoders.comparison import Difference, _Apart, difference, differences_of
from deniable.decoders.form_estimate import FormEstimate, MarginalEstimate
from deniable.decoders.limits import check_level
from deniable.errors import DecodeError
from deniable.survey import Form, Symbol

if TYPE_CHECKING:
    import altair as alt

__all__ = ["FormDifference", "MarginalDifference"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MarginalDifference:
    """The change of one question of a related pair. Windows of the same devices are taken for other people: that only
    makes error bars wider.

    Parameters
    ----------
    first, second : MarginalEstimate
        Of the same question.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=9, relate=[("a", "b")])
    >>> rng = np.random.default_rng(0)
    >>> days = [dn.simulate(form, {("a", "b"): p}, n=10**6, rng=rng)
    ...         for p in ([[0.6, 0.1, 0.1], [0.1, 0.1, 0.0]], [[0.3, 0.1, 0.1], [0.4, 0.1, 0.0]])]
    >>> change = dn.difference(dn.decode(days[1]), dn.decode(days[0]))["a"]
    >>> change.symbols, change.raw.round(2).tolist(), round(change["yes"], 2), change.changed().tolist(), len(change)
    (('no', 'yes'), [-0.3, 0.3], 0.3, [True, True], 2)
    """

    first: MarginalEstimate
    second: MarginalEstimate

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """The answers, in the order of the question."""
        return self.first.symbols

    @property
    def labels(self) -> tuple[str, ...]:
        """One distinct text an answer."""
        return self.first.labels

    @property
    def raw(self) -> Floats:
        """The difference of the unbiased estimates."""
        return self.first.raw - self.second.raw

    @property
    def probabilities(self) -> Floats:
        """The difference of the constrained estimates: for charts. Error bars belong to `raw`."""
        return self.first.probabilities - self.second.probabilities

    @property
    def standard_errors(self) -> Floats:
        """One standard error an answer, of `raw`."""
        return np.hypot(self.first.standard_errors, self.second.standard_errors)

    @cached_property
    def _limits(self) -> tuple[_Apart, ...]:
        return tuple(
            _Apart(a.limits, b.limits, (np.array([a.raw]), np.array([b.raw])), np.array([error]))
            for a, b, error in zip(self.first._masses, self.second._masses, self.standard_errors, strict=True)
        )

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False) -> Floats:
        """Confidence intervals of the differences.

        Parameters
        ----------
        level : float
            The confidence level, between 0 and 1.
        simultaneous : bool
            Whether all intervals hold at once with probability `level` (Bonferroni).
        """
        alpha = (1 - check_level(level)) / (len(self) if simultaneous else 1)
        return np.concatenate([limits.between(alpha) for limits in self._limits])

    def changed(self, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Which answers changed significantly, with family-wise error at most 1 - `level`.

        Parameters
        ----------
        level : float
            The confidence level, between 0 and 1.
        """
        low, high = self.intervals(level, simultaneous=True).T
        return np.asarray((low > 0) | (high < 0))

    def __getitem__(self, symbol: object) -> float:
        return float(self.raw[self.first.index(symbol)])

    def __iter__(self) -> Iterator[tuple[Symbol, float]]:
        return iter(zip(self.symbols, self.raw.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.symbols)


@dataclass(frozen=True, eq=False, repr=False)
class FormDifference(ByQuestion):
    """The change of each question of a form. Made by `difference`.

    Parameters
    ----------
    first, second : FormEstimate
        Estimates of forms with the same questions, of which no report is in both.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(3, epsilon=1), epsilon=8)
    >>> rng = np.random.default_rng(0)
    >>> days = [dn.decode(dn.simulate(form, {"smokes": [1 - p, p], "likes": [0.5, 0.3, 0.2]}, n=10**6, rng=rng))
    ...         for p in (0.3, 0.4)]
    >>> change = dn.difference(days[1], days[0])
    >>> change, list(change), round(change["smokes"]["yes"], 2), change["likes"].changed().tolist()
    (<FormDifference of 2 questions, 1000000 to 1000000 forms>, ['smokes', 'likes'], 0.1, [False, False, False])
    >>> print(change)
    smokes: no -9.9 % (-10.1 to -9.8 %), yes +9.9 % (+9.8 to +10.1 %)
    likes: 0 -0.0 % (-0.2 to +0.1 %), 1 +0.0 % (-0.1 to +0.2 %), 2 +0.0 % (-0.1 to +0.1 %)
    """

    first: FormEstimate
    second: FormEstimate
    _columns = ("question", "symbol", "difference", "raw", "standard_error", "low", "high", "changed")
    _head = ("question", "answer", "change", "95 % interval", "")

    @property
    def _note(self) -> str:
        return f"{self.second.n:,} to {self.first.n:,} forms; all questions together: 95 %"

    @property
    def form(self) -> Form:
        """The form of the first estimate."""
        return self.first.form

    @cached_property
    def _found(self) -> dict[str, Any]:
        return {name: _one(self.first[name], self.second[name]) for name in self.first}

    def joint(self, first: str, second: str) -> Difference:
        """The change of all pairs of answers of two related questions, in the order of the form.

        Parameters
        ----------
        first, second : str
            Names of two questions that the form relates.
        """
        return difference(self.first.joint(first, second), self.second.joint(first, second))

    def changed(self, level: float = 0.95) -> dict[str, npt.NDArray[np.bool_]]:
        """Which answers changed significantly, all questions together: with family-wise error at most 1 - `level`.

        Parameters
        ----------
        level : float
            The chance that nothing is named where nothing changed.
        """
        each = self._each(level)
        return {name: change.changed(each) for name, change in self.items()}

    def _each(self, level: float) -> float:
        """The level of each question, of all of them together."""
        return 1 - (1 - check_level(level)) / len(self)

    def rows(self, level: float = 0.95) -> list[tuple[str, str, float, float, float, float, float, bool]]:
        """A row for each answer: question, answer, difference, raw, standard error, low, high, changed.

        Parameters
        ----------
        level : float
            The confidence level of low and high, and of what changed among all questions.
        """
        found, marks = [], self.changed(level)
        for name, change in self.items():
            low, high = change.intervals(level).T
            columns = (change.probabilities, change.raw, change.standard_errors, low, high, marks[name])
            labels = self.first[name].labels
            numbers = zip(*(column.tolist() for column in columns), strict=True)
            found += [(name, label, *row) for label, row in zip(labels, numbers, strict=True)]
        return found

    def _drawn(self, name: str, level: float, top: int) -> "alt.LayerChart":
        from deniable.charts import difference_chart

        change = self[name]
        order = np.argsort(-np.abs(change.raw), kind="stable")[:top]
        labels = [self.first[name].labels[i] for i in order]
        limits, changed = change.intervals(level)[order], change.changed(self._each(level))[order].tolist()
        return difference_chart(labels, change.raw[order], limits, changed=changed, level=level)

    def shown(self, level: float = 0.95) -> list[tuple[str, str, str, str, str]]:
        """Rows for people: question, answer, change, interval, and a word where it changed.

        Parameters
        ----------
        level : float
            As for `rows`.
        """
        return [
            (
                name,
                label,
                f"{100 * raw:+.1f} %",
                f"{100 * max(low, -1.0):+.1f} to {100 * min(high, 1.0):+.1f} %",
                "changed" if moved else "",
            )
            for name, label, _, raw, _, low, high, moved in self.rows(level)
        ]

    def __repr__(self) -> str:
        return f"<FormDifference of {len(self)} questions, {self.second.n} to {self.first.n} forms>"


def _one(first: Any, second: Any) -> Any:
    return MarginalDifference(first, second) if isinstance(first, MarginalEstimate) else difference(first, second)


def _difference_of_forms(first: FormEstimate, second: FormEstimate) -> FormDifference:
    """`difference` of forms. The forms may be two versions: their budgets and mechanisms may differ."""
    told = [[(part.name, part.survey.symbols) for part in one.form.parts] for one in (first, second)]
    if told[0] != told[1]:
        raise DecodeError(
            "second must be of a form with the questions of the first, related alike, got another; compare those that "
            "both have: dn.difference(first['smokes'], second['smokes'])"
        )
    return FormDifference(first, second)


differences_of[FormEstimate] = _difference_of_forms

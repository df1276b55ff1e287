"""`crowd`: the central epsilon of a mixed crowd, certified.

Whoever sees only how many reports of each kind there are learns less about one person than the report itself would
tell: the others' reports hide it. Not to be confused with a survey's own epsilon, which holds against everyone.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

from deniable.crowds.blanket import Blanket
from deniable.crowds.certifying import certified_above, certified_below, divergence_above, normal_epsilon
from deniable.crowds.variations import places_of, spread, variation_of
from deniable.errors import SurveyError
from deniable.mechanisms import at_most_exp, check_size
from deniable.survey import Agreement, check_agreement

if TYPE_CHECKING:
    import altair as alt

MAX_PEOPLE = 10**10  # people, at most: more than there are, and a certificate takes a minute

_SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999)  # of n who collude or are made up, in a curve


@dataclass(frozen=True, slots=True)
class Crowd:
    """What a crowd adds to the protection of each of its members.

    It holds for one round, against whoever sees only the counts: a collector that drops order, time and sender.

    Parameters
    ----------
    epsilon : float
        A certified upper bound of the central epsilon at `delta`: rounded up, never down.
    lower : float
        What it cannot be below: two crowds that occur can be told apart this well. 0 where no pair is known.
    local : float
        What one report spends by itself, against everyone.
    n : int
        Honest people who answer.
    delta : float
        With which probability the bound may fail.
    cohorts : int
        Cohorts of the survey: a person hides among those of the same one. Of a form, also what parts a device may draw.
    survey : Survey or Form
        The survey.

    Examples
    --------
    >>> import deniable as dn
    >>> found = crowd(dn.krr(symbols=100, epsilon=4), n=100_000)
    >>> found.local, shown(found.epsilon), round(found.lower, 4)
    (4.0, '0.06846', 0.0684)
    """

    epsilon: float
    lower: float
    local: float
    n: int
    delta: float
    cohorts: int
    survey: Agreement = field(repr=False)

    @property
    def words(self) -> str:
        """One sentence, for people who decide about a survey.

        Examples
        --------
        >>> import deniable as dn
        >>> crowd(dn.warner(epsilon=1), n=10_000).words[:76]
        'For anyone who sees only the counts of 10,000 reports, epsilon is at most 0.'
        """
        return (
            f"For anyone who sees only the counts of {self.n:,} reports, epsilon is at most {shown(self.epsilon)} "
            f"(delta {self.delta:g}); for whoever sees a single report it is {self.local:.4g}."
        )

    def curve(self, shares: Sequence[float] = _SHARES) -> tuple[tuple[float, float], ...]:
        """The central epsilon if some of the n collude with whoever looks, or are made up: they hide nobody.

        Parameters
        ----------
        shares : sequence of float
            Which shares of n, each at least 0 and below 1.

        Returns
        -------
        tuple of pairs
            Each share, and the epsilon that is left. Where it is `local`, the crowd adds nothing.

        Raises
        ------
        SurveyError
            If a share is out of range.

        Examples
        --------
        >>> import deniable as dn
        >>> curve = crowd(dn.krr(symbols=9, epsilon=2), n=1_000).curve((0, 0.5, 0.999))
        >>> [round(epsilon, 2) for _, epsilon in curve]
        [0.28, 0.41, 2.0]
        """
        for share in shares:
            if not 0 <= share < 1:
                raise SurveyError(f"shares must be at least 0 and below 1, got {share!r}; 0.5 is half of the people")
        return tuple((share, upper_bound(self.survey, _honest(self.n, share), self.delta)) for share in shares)

    def chart(self, shares: Sequence[float] = _SHARES, *, title: str | None = None) -> "alt.LayerChart":
        """The curve, by how many are honest, with a line where the crowd adds nothing.

        Parameters
        ----------
        shares : sequence of float
            Which shares of n collude or are made up.
        title : str, optional
            The heading.

        Examples
        --------
        >>> import deniable as dn
        >>> chart = crowd(dn.warner(epsilon=1), n=1_000).chart((0, 0.5, 0.9))
        >>> len(chart.to_dict()["layer"])
        2
        """
        from deniable.charts import crowd_chart

        curve = self.curve(shares)
        points = [(float(_honest(self.n, share)), epsilon) for share, epsilon in curve]
        return crowd_chart(points, local=self.local, title=title)

    def _repr_html_(self) -> str:
        """A small table, as notebooks show it."""
        rows = {
            "against everyone": f"epsilon {self.local:.4g}",
            "against whoever sees only the counts": f"epsilon {shown(self.epsilon)} at delta {self.delta:g}",
            "which is at least": f"epsilon {shown(self.lower)}",
            "honest people": f"{self.n:,}" + (f" in {self.cohorts:,} cohorts" if self.cohorts > 1 else ""),
            "holds for": "one round; counts without order, time and sender",
        }
        cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows.items())
        return f"<table><caption>What the crowd adds</caption>{cells}</table>"


def shown(epsilon: float) -> str:
    """An upper bound in four digits, rounded up.

    Parameters
    ----------
    epsilon : float
        The number.

    Examples
    --------
    >>> shown(0.0684321), shown(2.0), shown(0.0)
    ('0.06844', '2', '0')
    """
    if epsilon == 0:
        return "0"
    digits = 3 - math.floor(math.log10(epsilon))
    text = f"{epsilon:.{max(digits, 0)}f}"
    if float(text) < epsilon:
        text = f"{float(text) + 10.0**-digits:.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def crowd(survey: Agreement, n: int, delta: float = 1e-6) -> Crowd:
    """The central epsilon of n mixed reports of one round.

    Claim: for any two crowds of n that differ in one answer, whatever the others answer, the counts of their reports
        are (epsilon, delta)-indistinguishable.
    Proof: tests/exact/test_crowd.py::test_the_certificate_is_never_below_the_truth

    Parameters
    ----------
    survey : Survey or Form
        The survey. Where it has cohorts, a person hides among those of the same: whoever looks may know which. Of a
        form, the counts of all questions together are certified: a person's whole report is one of n.
    n : int
        Honest people who answer, the person included: those who collude, or are made up, hide nobody.
    delta : float
        With which probability it may fail, above 0 and below 1.

    Raises
    ------
    SurveyError
        If a size is out of range, if a report may give an answer away for certain, or if a form has conditions.

    Examples
    --------
    >>> import deniable as dn
    >>> few, many = (crowd(dn.krr(symbols=20, epsilon=2), n=n) for n in (1_000, 100_000))
    >>> few.local == many.local > few.epsilon > many.epsilon
    True
    >>> form = dn.form(smokes=dn.warner(epsilon=1), sport=dn.krr(3, epsilon=1), epsilon=1)
    >>> shown(crowd(form, n=100_000).epsilon)
    '0.01364'
    """
    survey, n, delta = check_agreement(survey), check_size("n", n, 1, MAX_PEOPLE), checked_delta(delta)
    epsilon, cohorts, variation = upper_bound(survey, n, delta), places_of(survey), variation_of(survey)
    pairs = [spread(pair, cohorts) for pair in variation.attained if pair.share]
    best = max(pairs, key=lambda pair: normal_epsilon(pair, n, delta), default=None)
    lower = 0.0 if best is None else certified_below(best, n, delta, largest=epsilon)
    return Crowd(epsilon, lower, _local(survey, variation.odds), n, delta, cohorts, survey)


def checked_delta(delta: float) -> float:
    """A delta that is a probability.

    Parameters
    ----------
    delta : float
        What was asked for.

    Raises
    ------
    SurveyError
        If it is not above 0 and below 1.

    Examples
    --------
    >>> checked_delta(1e-6)
    1e-06
    """
    if isinstance(delta, bool) or not (isinstance(delta, (int, float)) and 0 < delta < 1):
        raise SurveyError(f"delta must be above 0 and below 1, got {delta!r}; 1e-6 is usual")
    return float(delta)


def _local(survey: Agreement, odds: Fraction) -> float:
    """ln odds, rounded up: what holds without any crowd."""
    asked = survey.bounds[1]
    nearest = float(asked)
    up = nearest if Fraction(nearest) >= asked else math.nextafter(nearest, 65)
    return up if at_most_exp(odds, asked) else math.nextafter(math.log(odds), 65)


def _honest(n: int, share: float) -> int:
    """Who is left if a share is not honest: at least the person."""
    return max(1, n - math.ceil(n * share))


def upper_bound(survey: Agreement, n: int, delta: float) -> float:
    """`Crowd.epsilon` alone, in half the time.

    Parameters
    ----------
    survey, n, delta
        As for `crowd`.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=3, epsilon=1)
    >>> upper_bound(survey, 100, 1e-6) == crowd(survey, 100).epsilon
    True
    """
    variation = variation_of(survey)
    local = _local(survey, variation.odds)
    return min(certified_above(variation.blankets, n, delta, cohorts=places_of(survey), largest=local), local)


def keeps(survey: Agreement, n: int, epsilon: float, delta: float) -> bool:
    """Whether the counts of n reports are certified to be (epsilon, delta)-indistinguishable: one look at the curve.

    Parameters
    ----------
    survey, n
        As for `crowd`.
    epsilon : float
        What whoever sees only the counts may learn.
    delta
        As for `crowd`.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=100, epsilon=4)
    >>> keeps(survey, 100_000, 0.0686, 1e-6), keeps(survey, 100_000, 0.0684, 1e-6)
    (True, False)
    """
    return all(
        divergence_above(blanket, n, epsilon, delta, cohorts=places_of(survey)) <= Fraction(delta)
        for blanket in variation_of(survey).blankets
    )


def predicted(survey: Agreement, n: int, delta: float) -> float:
    """About the upper bound, at once; it certifies nothing.

    Parameters
    ----------
    survey, n, delta
        As for `crowd`.

    Examples
    --------
    >>> import deniable as dn
    >>> round(predicted(dn.krr(symbols=100, epsilon=4), 100_000, 1e-6), 3)
    0.068
    """

    def about(blanket: Blanket) -> float:
        hiding = max(int((n - 1) * blanket.mass / places_of(survey)), 0) + 1
        return normal_epsilon(blanket.pair, hiding, delta)

    return min(max(map(about, variation_of(survey).blankets)), survey.epsilon_report)

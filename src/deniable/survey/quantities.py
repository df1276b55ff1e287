"""Surveys of quantities: numbers in bins, and answers in an order. Near answers are told apart less than far ones.

Both are the square wave mechanism on cells (`survey.neighbours`): a report is likely to be near the true answer, so
means, quantiles and shares of ranges are known better than from k-ary randomised response over as many answers.
"""

import math
from collections.abc import Iterable

from deniable.errors import SurveyError
from deniable.mechanisms import KRR
from deniable.survey.alphabet import Alphabet
from deniable.survey.neighbours import Neighbours, best_reach
from deniable.survey.numbers import Numbers
from deniable.survey.scale import scale_of
from deniable.survey.staged import budget_of_report, staged_survey
from deniable.survey.survey import Survey

__all__ = ["number", "ordered"]


def number(
    low: object,
    high: object,
    epsilon: object,
    *,
    bins: int | None = None,
    step: object = None,
    outside: str = "clamp",
    reach: int | None = None,
    epsilon_report: object = None,
    name: str = "",
    participation: str = "once",
) -> Survey:
    """A quantity: an age, an income, hours. Decoded as a histogram with mean, quantiles and shares of ranges.

    The device puts the number into its bin and randomises the bin by the square wave mechanism (SIGMOD 2020).

    Parameters
    ----------
    low, high : int, float, str, Decimal or Fraction
        The ends of the scale; decimal numbers of at most ten places, below 10**15 in size.
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    bins : int, optional
        How many bins of equal width; 256 without it. The mean is known to half a bin at best; many bins make intervals
        of shares and quantiles wide, those of the mean not.
    step : int, float, str, Decimal or Fraction, optional
        For numbers that are multiples of something, such as whole years: answers are rounded to low, low + step, ...,
        high, and each of these is a bin. Instead of `bins`.
    outside : str
        What becomes of numbers outside of the scale: "clamp" counts them in the first or the last bin, "refuse" sends
        nothing and tells the person.
    reach : int, optional
        How many cells on each side of its own an answer occupies. Without it, the best by mutual information.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".

    Examples
    --------
    >>> number(18, 90, 1.0, bins=64, name="age")
    <Survey 'age': SW, 64 symbols, 94 cells, epsilon 1, digest 32fe53b7>
    >>> survey = number(0, 80, epsilon=2, step=1, outside="refuse")
    >>> survey.key(37.2), survey.symbols[37]
    (37, '37')
    """
    alphabet = Numbers.of(scale_of(low, high, bins, step, outside))
    return _near(alphabet, epsilon, reach, epsilon_report, name, participation)


def ordered(
    symbols: Iterable[object] | int,
    epsilon: object,
    *,
    reach: int | None = None,
    epsilon_report: object = None,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """Answers in an order, such as ratings or age groups: neighbours are told apart less than distant answers.

    Parameters
    ----------
    symbols : iterable or int
        The answers that exist, from one end of the order to the other; or a count S for the symbols 0 .. S-1.
    epsilon, reach, epsilon_report, name, participation
        As for `number`.
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it comes last if it is new. Without it such
        answers are refused.

    Examples
    --------
    >>> ordered(["never", "seldom", "often", "daily"], 1.0)
    <Survey: SW, 4 symbols, 8 cells, epsilon 1, digest f50886f0>
    """
    return _near(Alphabet.closed(symbols, other), epsilon, reach, epsilon_report, name, participation)


def _near(
    alphabet: Alphabet, epsilon: object, reach: int | None, epsilon_report: object, name: str, participation: str
) -> Survey:
    budget = budget_of_report(epsilon, epsilon_report)  # one report decides how much is learned
    encoding = Neighbours(len(alphabet), best_reach(len(alphabet), budget) if reach is None else reach)
    if math.gcd(encoding.hashes, len(alphabet) - 1) > 1:
        raise SurveyError(
            f"reach must be one for which 2 reach + 1 and {len(alphabet) - 1}, the answers less one, have no common "
            f"divisor, got {reach}; the words could not be shared out evenly"
        )
    first = KRR(encoding.cells, epsilon, occupied=encoding.occupied)
    return staged_survey(alphabet, encoding, first, epsilon_report, name, participation)

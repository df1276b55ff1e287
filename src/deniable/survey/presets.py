"""Surveys by the name of their mechanism: those of the paper, and later ones.

A preset chooses an encoding and a mechanism and returns the survey that combines them. With `epsilon_report` every
report is randomised again from the permanent response to the answer: one report spends `epsilon_report`, all reports of
that answer together spend `epsilon`. Parameters that you leave out are chosen for the least error of one report.

With `participation` a survey says how often a person answers: "once" (the default), "window:hour", "window:day" (also
written "window") or "window:week" for one report of a device in each window of time, or "event" for a report whenever
something happens. Clients keep to it; the noise of a report does not depend on it. After a window may follow the
devices' turnover and how many of their answers change, "window:day:turnover=0.05:change=0.1", or which share of the
devices has its turn in each, "window:day:share=1/7".
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Subset, check_size
from deniable.survey.alphabet import Alphabet
from deniable.survey.blocks import MAX_CELLS, Hadamard, Projective, is_prime
from deniable.survey.channels import blocks, budgeted, channel, refuse_second_stage, sensitive
from deniable.survey.encodings import Direct
from deniable.survey.open_presets import discovery, olh, orappor, orr
from deniable.survey.quantities import number, ordered
from deniable.survey.staged import budget_of_report, staged_survey
from deniable.survey.survey import Survey

__all__ = ["PRESETS", "hadamard", "krappor", "krr", "oue", "projective", "subset", "warner"]


def warner(
    *,
    epsilon: object,
    epsilon_report: object = None,
    symbols: Iterable[object] = ("no", "yes"),
    name: str = "",
    participation: str = "once",
) -> Survey:
    """Warner's randomised response (W-RR): one yes-or-no question, answered truthfully more often than not.

    Paper: `eq:warner_response`.

    Parameters
    ----------
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    symbols : iterable
        The two answers, in order.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".

    Examples
    --------
    >>> warner(epsilon=1.0)
    <Survey: W-RR, 2 symbols, epsilon 1, digest 18ca4d86>
    """
    alphabet = Alphabet.closed(symbols)
    if len(alphabet) != 2:
        raise SurveyError(f"symbols must be two for Warner's response, got {len(alphabet)}; use krr for more")
    return staged_survey(alphabet, Direct(2), KRR(2, epsilon), epsilon_report, name, participation)


def krr(
    symbols: Iterable[object] | int,
    *,
    epsilon: object,
    epsilon_report: object = None,
    shape: Sequence[float] | None = None,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """k-ary randomised response over a closed alphabet: best when epsilon is at least about ln k.

    With a budget for every answer (`epsilon={"hiv": 0.5, "flu": 2, "none": 2}`) the smaller of two budgets holds
    between two answers, and the channel is the table of least expected squared error at the uniform population, or at
    `shape`. It is never worse than k-ary randomised response at the smallest budget. That takes up to a second for
    three different budgets and some ten for eight; up to 64 answers, and of more than eight different budgets each is
    rounded down to one of eight.

    Paper: section 4.1, `eq:rr`.

    Parameters
    ----------
    symbols : iterable or int
        The answers that exist, in order; or a count S for the symbols 0 .. S-1.
    epsilon : float, str or Fraction, or a mapping
        The privacy budget of an answer, in nats: what all reports of it spend together. Of a mapping, the budget of
        each answer.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    shape : sequence of float, optional
        The population whose expected error is the least, one share an answer; only with budgets for answers.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Without it such
        answers are refused.

    Examples
    --------
    >>> krr(symbols=["chrome", "firefox", "safari"], epsilon=2.0, other="another").symbols
    ('chrome', 'firefox', 'safari', 'another')
    >>> krr(symbols=10, epsilon=4.0, epsilon_report=1.0)
    <Survey: k-RR, 10 symbols, epsilon 4 and 1 a report, digest c829b105>
    >>> survey = krr(symbols=["flu", "hiv", "none"], epsilon={"hiv": 0.5, "flu": 2, "none": 2})
    >>> [round(survey.privacy().between(*pair), 3) for pair in (("hiv", "flu"), ("flu", "none"))]
    [0.5, 1.0]
    """
    alphabet = Alphabet.closed(symbols, other)
    if isinstance(epsilon, Mapping):
        refuse_second_stage(epsilon_report, "a budget for every answer")
        return budgeted(alphabet, epsilon, shape, name, participation)
    if shape is not None:
        raise SurveyError("shape must be given with a budget for every answer alone; one epsilon is best at any shape")
    return staged_survey(
        alphabet, Direct(len(alphabet)), KRR(len(alphabet), epsilon), epsilon_report, name, participation
    )


def krappor(
    symbols: Iterable[object] | int,
    *,
    epsilon: object,
    epsilon_report: object = None,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """k-RAPPOR over a closed alphabet: one noisy bit per symbol, best when epsilon is small.

    Paper: section 4.2.

    Parameters
    ----------
    symbols : iterable or int
        The answers that exist, in order; or a count S for the symbols 0 .. S-1.
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Without it such
        answers are refused.

    Examples
    --------
    >>> krappor(symbols=256, epsilon=1).columns
    256
    """
    alphabet = Alphabet.closed(symbols, other)
    flips = BitFlip(len(alphabet), epsilon)
    return staged_survey(alphabet, Direct(len(alphabet)), flips, epsilon_report, name, participation)


def oue(
    symbols: Iterable[object] | int,
    *,
    epsilon: object,
    epsilon_report: object = None,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """Optimised unary encoding over a closed alphabet: k-RAPPOR with uneven flips, better unless k is very small.

    It has the smaller squared error from k = s + 2 + 1 / s symbols on, s = e**(epsilon / 2), whatever the population.

    The one bit that is set survives with probability 1/2, each of the others appears with 1 / (e**epsilon + 1).
    Wang, Blocki, Li and Jha, USENIX Security 2017.

    Parameters
    ----------
    symbols, epsilon, epsilon_report, name, participation, other
        As for `krappor`.

    Examples
    --------
    >>> oue(symbols=256, epsilon=1)
    <Survey: OUE, 256 symbols, epsilon 1, digest 0996e5a3>
    """
    alphabet = Alphabet.closed(symbols, other)
    flips = BitFlip(len(alphabet), epsilon, optimized=True)
    return staged_survey(alphabet, Direct(len(alphabet)), flips, epsilon_report, name, participation)


def subset(
    symbols: Iterable[object] | int,
    *,
    epsilon: object,
    epsilon_report: object = None,
    size: int | None = None,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """Subset selection over a closed alphabet: the least squared error of all, in a report of one bit a symbol.

    A report is a set of w symbols. Subset selection with w = 1 is k-RR, and that is the survey you get. With
    epsilon above about ln k, w = 1 is the best choice. Wang and others 2016; Ye and Barg 2018.

    Parameters
    ----------
    symbols, epsilon, epsilon_report
        As for `krappor`.
    size : int, optional
        The number w of symbols in a report, from 1 to k - 1. By default the one of least squared error at the uniform
        population, near k / (e**epsilon + 1).
    name, participation, other
        As for `krappor`.

    Examples
    --------
    >>> subset(symbols=256, epsilon=1)
    <Survey: SS, 256 symbols, sets of 69, epsilon 1, digest 90eb4a2d>
    >>> subset(symbols=256, epsilon=6) == krr(symbols=256, epsilon=6)
    True
    """
    alphabet = Alphabet.closed(symbols, other)
    k = len(alphabet)
    if size is None:
        odds = math.exp(budget_of_report(epsilon, epsilon_report))
        near = math.floor(k / (odds + 1))
        size = min((max(1, near), max(1, near + 1)), key=lambda w: _subset_cost(k, min(w, k - 1), odds))
    if check_size("size", size, 1, k - 1) == 1:
        return staged_survey(alphabet, Direct(k), KRR(k, epsilon), epsilon_report, name, participation)
    return staged_survey(alphabet, Direct(k), Subset(k, epsilon, size), epsilon_report, name, participation)


def _subset_cost(k: int, w: int, odds: float) -> float:
    """n times the expected squared l2 loss of subset selection at the uniform population, for a nominal e**epsilon."""
    hit = w * odds / (w * odds + k - w)
    miss = (hit * (w - 1) + (1 - hit) * w) / (k - 1)
    mean = miss + (hit - miss) / k
    return k * mean * (1 - mean) / (hit - miss) ** 2


def hadamard(
    symbols: Iterable[object] | int,
    *,
    epsilon: object,
    epsilon_report: object = None,
    blocks: int | None = None,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """Hadamard response over a closed alphabet: a report is one of b cells, decoded by a fast Walsh-Hadamard transform.

    Acharya, Sun and Zhang, AISTATS 2019.

    Parameters
    ----------
    symbols, epsilon, epsilon_report
        As for `krappor`.
    blocks : int, optional
        The number of blocks that the symbols are divided into. By default the power of two of least squared error at
        the uniform population: one block up to epsilon of about 1, more beyond.
    name, participation, other
        As for `krappor`.

    Examples
    --------
    >>> hadamard(symbols=100, epsilon=1)
    <Survey: HR, 100 symbols, 128 cells in 1 block, epsilon 1, digest f20ebb85>
    >>> hadamard(symbols=100, epsilon=4).encoding.blocks
    32
    """
    alphabet = Alphabet.closed(symbols, other)
    if blocks is None:
        odds = math.exp(budget_of_report(epsilon, epsilon_report))
        best = min(_hadamard_designs(len(alphabet)), key=lambda design: _design_cost(design, odds))
    else:
        best = Hadamard(len(alphabet), blocks)
    channel = KRR(best.cells, epsilon, occupied=best.occupied)
    return staged_survey(alphabet, best, channel, epsilon_report, name, participation)


def projective(
    symbols: Iterable[object] | int,
    *,
    epsilon: object,
    epsilon_report: object = None,
    order: int | None = None,
    dimension: int | None = None,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """Projective geometry response over a closed alphabet: nearly the least error, in a report of one of b cells.

    Feldman, Nelson, Nguyen and Talwar, ICML 2022.

    Parameters
    ----------
    symbols, epsilon, epsilon_report
        As for `krappor`.
    order : int, optional
        The number of elements of the finite field, a prime. By default `order` and `dimension` are those of least
        squared error at the uniform population, with an order near e**epsilon + 1.
    dimension : int, optional
        The number of coordinates of a point, from 2 to 16. Given with `order` or not at all.
    name, participation, other
        As for `krappor`.

    Examples
    --------
    >>> projective(symbols=100, epsilon=1)
    <Survey: PGR, 100 symbols, 121 cells, epsilon 1, digest 711f84d6>
    >>> projective(symbols=100, epsilon=3).encoding.order
    17
    """
    alphabet = Alphabet.closed(symbols, other)
    if (order is None) != (dimension is None):
        raise SurveyError("order and dimension must be given together, or neither")
    if order is not None and dimension is not None:
        best = Projective(len(alphabet), order, dimension)
    else:
        odds = math.exp(budget_of_report(epsilon, epsilon_report))
        designs = list(_projective_designs(len(alphabet)))
        if not designs:
            raise SurveyError(
                f"symbols must fit a projective space of at most {MAX_CELLS} points, got {len(alphabet)}; use olh"
            )
        best = min(designs, key=lambda design: _design_cost(design, odds))
    channel = KRR(best.cells, epsilon, occupied=best.occupied)
    return staged_survey(alphabet, best, channel, epsilon_report, name, participation)


def _hadamard_designs(size: int) -> Iterable[Hadamard]:
    """One block, then 2, 4, ... as long as they fit."""
    yield Hadamard(size)
    for count in (1 << i for i in range(1, size.bit_length() + 1)):
        if count << (-(-size // count)).bit_length() <= MAX_CELLS:
            yield Hadamard(size, count)


def _projective_designs(size: int) -> Iterable[Projective]:
    """Every projective design of at least `size` points: of two dimensions, where s = 1, only the smallest."""
    for dimension in range(2, 17):
        for order in filter(is_prime, range(2, MAX_CELLS)):
            points = (order**dimension - 1) // (order - 1)
            if points > MAX_CELLS:
                break
            if points >= size:
                yield Projective(size, order, dimension)
                if dimension == 2:
                    break


def _design_cost(design: Hadamard | Projective, odds: float) -> float:
    """n times the expected squared l2 loss of a block design at the uniform population, for a nominal e**epsilon."""
    b, s, shared, k = design.cells, design.occupied, design.shared, design.symbols
    miss = 1 / (s * odds + b - s)
    r, c = (odds - 1) * miss, shared / s
    of_set = s * miss + r * ((s - shared) + shared * k / design.blocks) / k
    of_rest = b / design.blocks * miss + r * s / design.blocks - of_set
    mean = (1 - c) * of_set - c * of_rest
    return k * ((1 - c) ** 2 * of_set + c**2 * of_rest - mean**2) / (r * (s - shared)) ** 2


# Every preset by its name, as the command line spells it.
PRESETS: dict[str, Callable[..., Survey]] = {
    preset.__name__: preset
    for preset in (
        warner,
        krr,
        krappor,
        oue,
        subset,
        hadamard,
        projective,
        orr,
        olh,
        orappor,
        number,
        ordered,
        sensitive,
        blocks,
        channel,
        discovery,
    )
}

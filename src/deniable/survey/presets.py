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
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Chain, Mechanism, Subset, check_size, nearest_exp, parse_epsilon
from deniable.survey.alphabet import Alphabet
from deniable.survey.blocks import MAX_CELLS, Hadamard, Projective, is_prime
from deniable.survey.channels import blocks, budgeted, channel, sensitive
from deniable.survey.encodings import MAX_HASHES, Direct, Encoding, Hashed, Permuted
from deniable.survey.prefixes import MAX_LENGTH, Prefixes, default_levels
from deniable.survey.quantities import number, ordered
from deniable.survey.survey import Survey, checked_name

__all__ = [
    "PRESETS",
    "discovery",
    "hadamard",
    "krappor",
    "krr",
    "olh",
    "orappor",
    "orr",
    "oue",
    "projective",
    "subset",
    "warner",
]


def _survey(
    alphabet: Alphabet, encoding: Encoding, first: Mechanism, epsilon_report: object, name: str, participation: str
) -> Survey:
    stages = first if epsilon_report is None else Chain(first, epsilon_report)
    return Survey(alphabet, encoding, stages, checked_name(name), participation)


def _of_a_report(epsilon: object, epsilon_report: object) -> Fraction:
    """The epsilon that decides how much one report says, and so which parameters are best."""
    return parse_epsilon(epsilon) if epsilon_report is None else parse_epsilon(epsilon_report, "epsilon_report")


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
    return _survey(alphabet, Direct(2), KRR(2, epsilon), epsilon_report, name, participation)


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
        if epsilon_report is not None:
            raise SurveyError(
                "epsilon_report must not be given with a budget for every answer: a table of weights has no second "
                "stage; each report spends the whole budget of its answer"
            )
        return budgeted(alphabet, epsilon, shape, name, participation)
    if shape is not None:
        raise SurveyError("shape must be given with a budget for every answer alone; one epsilon is best at any shape")
    return _survey(alphabet, Direct(len(alphabet)), KRR(len(alphabet), epsilon), epsilon_report, name, participation)


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
    return _survey(alphabet, Direct(len(alphabet)), flips, epsilon_report, name, participation)


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
    >>> oue(symbols=256, epsilon=1)
    <Survey: OUE, 256 symbols, epsilon 1, digest 0996e5a3>
    """
    alphabet = Alphabet.closed(symbols, other)
    flips = BitFlip(len(alphabet), epsilon, optimized=True)
    return _survey(alphabet, Direct(len(alphabet)), flips, epsilon_report, name, participation)


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
    symbols : iterable or int
        The answers that exist, in order; or a count S for the symbols 0 .. S-1.
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    size : int, optional
        The number w of symbols in a report, from 1 to k - 1. By default the one of least squared error at the uniform
        population, near k / (e**epsilon + 1).
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Without it such
        answers are refused.

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
        odds = math.exp(_of_a_report(epsilon, epsilon_report))
        near = math.floor(k / (odds + 1))
        size = min((max(1, near), max(1, near + 1)), key=lambda w: _subset_cost(k, min(w, k - 1), odds))
    if check_size("size", size, 1, k - 1) == 1:
        return _survey(alphabet, Direct(k), KRR(k, epsilon), epsilon_report, name, participation)
    return _survey(alphabet, Direct(k), Subset(k, epsilon, size), epsilon_report, name, participation)


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
    symbols : iterable or int
        The answers that exist, in order; or a count S for the symbols 0 .. S-1.
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    blocks : int, optional
        The number of blocks that the symbols are divided into. By default the power of two of least squared error at
        the uniform population: one block up to epsilon of about 1, more beyond.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Without it such
        answers are refused.

    Examples
    --------
    >>> hadamard(symbols=100, epsilon=1)
    <Survey: HR, 100 symbols, 128 cells in 1 block, epsilon 1, digest f20ebb85>
    >>> hadamard(symbols=100, epsilon=4).encoding.blocks
    32
    """
    alphabet = Alphabet.closed(symbols, other)
    if blocks is None:
        odds = math.exp(_of_a_report(epsilon, epsilon_report))
        best = min(_hadamard_designs(len(alphabet)), key=lambda design: _design_cost(design, odds))
    else:
        best = Hadamard(len(alphabet), blocks)
    channel = KRR(best.cells, epsilon, occupied=best.occupied)
    return _survey(alphabet, best, channel, epsilon_report, name, participation)


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
    symbols : iterable or int
        The answers that exist, in order; or a count S for the symbols 0 .. S-1.
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    order : int, optional
        The number of elements of the finite field, a prime. By default `order` and `dimension` are those of least
        squared error at the uniform population, with an order near e**epsilon + 1.
    dimension : int, optional
        The number of coordinates of a point, from 2 to 16. Given with `order` or not at all.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Without it such
        answers are refused.

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
        odds = math.exp(_of_a_report(epsilon, epsilon_report))
        designs = list(_projective_designs(len(alphabet)))
        if not designs:
            raise SurveyError(
                f"symbols must fit a projective space of at most {MAX_CELLS} points, got {len(alphabet)}; use olh"
            )
        best = min(designs, key=lambda design: _design_cost(design, odds))
    channel = KRR(best.cells, epsilon, occupied=best.occupied)
    return _survey(alphabet, best, channel, epsilon_report, name, participation)


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


def olh(
    *,
    epsilon: object,
    epsilon_report: object = None,
    cohorts: int = 1024,
    symbols: Iterable[object] | int | None = None,
    name: str = "",
    participation: str = "once",
    seed: bytes | None = None,
    other: object = None,
    text: str | None = None,
) -> Survey:
    """Optimised local hashing: O-RR with k = round(e**epsilon) + 1 cells and many cohorts.

    Published with a fresh hash function for every report (Wang, Blocki, Li and Jha, USENIX Security 2017). The paper's
    O-RR contains it: a cohort is a hash function. Least squares over C of them has a variance of about
    1 / (1 - (S - 1) / (C (k - 1))) times that over infinitely many, for S candidates.

    Parameters
    ----------
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    cohorts : int
        The number C of cohorts, from 1 to 2**20, each with a hash function of its own. C (k - 1) should be many times
        the number of candidates. The cohort travels in the clear: fewer cohorts tell devices apart less.
    symbols : iterable or int, optional
        The answers of a closed alphabet, in order; or a count S for the symbols 0 .. S-1. Without them the alphabet is
        open.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    seed : bytes, optional
        8 to 64 bytes that determine the hash functions. They are public, and part of the survey. Without them 16 bytes
        are drawn from the operating system.
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Only with
        `symbols`.
    text : str, optional
        How an open survey reads text: "folded" (the default), so that neither case nor white space around words makes a
        difference, or "exact". Not with `symbols`, which are exact.

    Examples
    --------
    >>> olh(epsilon=2.0, seed=bytes(16))
    <Survey: O-RR, open alphabet, 8 cells, 1024 cohorts, epsilon 2, digest ac2bd835>
    >>> olh(epsilon=2.0, seed=bytes(16)) == orr(epsilon=2.0, cells=8, cohorts=1024, seed=bytes(16))
    True
    """
    cells = min(nearest_exp(_of_a_report(epsilon, epsilon_report)) + 1, 1 << 24)
    return orr(
        epsilon=epsilon,
        epsilon_report=epsilon_report,
        cells=cells,
        cohorts=cohorts,
        symbols=symbols,
        name=name,
        participation=participation,
        seed=seed,
        other=other,
        text=text,
    )


def orr(
    *,
    epsilon: object,
    epsilon_report: object = None,
    cells: int,
    cohorts: int,
    symbols: Iterable[object] | int | None = None,
    name: str = "",
    participation: str = "once",
    seed: bytes | None = None,
    other: object = None,
    text: str | None = None,
) -> Survey:
    """O-RR: k-ary randomised response on hashed cells in C cohorts; closed (by permutations) with `symbols=`.

    Paper: section 5.1 (open), 5.4 (closed).

    Parameters
    ----------
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    cells : int
        The number k of cells of a cohort, from 2 to 2**24.
    cohorts : int
        The number C of cohorts, from 1 to 2**20. Each has hash functions (or permutations) of its own, and each device
        belongs to one.
    symbols : iterable or int, optional
        The answers of a closed alphabet, in order; or a count S for the symbols 0 .. S-1. Without them the alphabet is
        open.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    seed : bytes, optional
        8 to 64 bytes that determine the hash functions. They are public, and part of the survey. Without them 16 bytes
        are drawn from the operating system.
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Only with
        `symbols`.
    text : str, optional
        How an open survey reads text: "folded" (the default), so that neither case nor white space around words makes a
        difference, or "exact". Not with `symbols`, which are exact.

    Examples
    --------
    >>> orr(epsilon=2.0, cells=8, cohorts=64, name="homepage", seed=bytes(16))
    <Survey 'homepage': O-RR, open alphabet, 8 cells, 64 cohorts, epsilon 2, digest 7aa4fbb6>
    >>> orr(symbols=256, epsilon=2.0, cells=8, cohorts=64).title
    'O-RR (closed)'
    >>> [orr(epsilon=2, cells=8, cohorts=64, text=t).alphabet.canonical("Lynx ") for t in ("folded", "exact")]
    ['lynx', 'Lynx ']
    """
    alphabet, encoding = _encoded(symbols, other, text, cells, cohorts, 1, seed)
    return _survey(alphabet, encoding, KRR(encoding.cells, epsilon), epsilon_report, name, participation)


def orappor(
    *,
    epsilon: object,
    epsilon_report: object = None,
    cells: int,
    cohorts: int,
    hashes: int = 1,
    symbols: Iterable[object] | int | None = None,
    name: str = "",
    participation: str = "once",
    seed: bytes | None = None,
    other: object = None,
    text: str | None = None,
) -> Survey:
    """O-RAPPOR: bit flips on Bloom filters of h hashes in C cohorts; closed (by permutations) with `symbols=`.

    Paper: section 5.2 (open), 5.4 (closed). Each bit gets epsilon / min(2h, k).

    Parameters
    ----------
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    cells : int
        The number k of cells of a cohort, from 2 to 2**24.
    cohorts : int
        The number C of cohorts, from 1 to 2**20. Each has hash functions (or permutations) of its own, and each device
        belongs to one.
    hashes : int
        The number h of hash functions of a cohort: an answer sets up to h bits. From 1 to 64.
    symbols : iterable or int, optional
        The answers of a closed alphabet, in order; or a count S for the symbols 0 .. S-1. Without them the alphabet is
        open.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    seed : bytes, optional
        8 to 64 bytes that determine the hash functions. They are public, and part of the survey. Without them 16 bytes
        are drawn from the operating system.
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Only with
        `symbols`.
    text : str, optional
        How an open survey reads text: "folded" (the default), so that neither case nor white space around words makes a
        difference, or "exact". Not with `symbols`, which are exact.

    Examples
    --------
    >>> orappor(epsilon=2.0, cells=128, cohorts=8, hashes=2, seed=bytes(16))
    <Survey: O-RAPPOR, open alphabet, 128 cells, 8 cohorts, 2 hashes, epsilon 2, digest 9caf3b40>
    """
    hashes = check_size("hashes", hashes, 1, MAX_HASHES)
    alphabet, encoding = _encoded(symbols, other, text, cells, cohorts, hashes, seed)
    flips = BitFlip(encoding.cells, epsilon, min(2 * hashes, encoding.cells))
    return _survey(alphabet, encoding, flips, epsilon_report, name, participation)


def discovery(
    *,
    epsilon: object,
    epsilon_report: object = None,
    length: int = 32,
    levels: Iterable[tuple[int, int]] | None = None,
    cohorts: int = 1024,
    overlong: str = "cut",
    cells: int | None = None,
    name: str = "",
    participation: str = "once",
    seed: bytes | None = None,
    text: str = "folded",
) -> Survey:
    """Text that nobody listed: O-RR on hashed prefixes, each cohort of one length.

    Published as the prefix extending method (Wang, Li and Jha, 2019), with groups of people for groups of cohorts. A
    report says something of the first bytes of an answer alone, as many as the level of its cohort has; beginnings that
    are common can then be found and extended, up to whole answers.

    Such a survey is collected as any other. To decode it with a list, the list must have every frequent answer: what
    begins like a listed one, and is not listed itself, is counted with it in the cohorts that see the beginning alone.

    Parameters
    ----------
    epsilon : float, str or Fraction
        The privacy budget of an answer, in nats: what all reports of it spend together.
    epsilon_report : float, str or Fraction, optional
        The privacy budget of one report, in nats; below `epsilon`. Every report is then randomised again from the
        permanent response to the answer. Without it one report spends `epsilon`.
    length : int
        How many bytes of an answer are told apart, from 1 to 255, in UTF-8. Choose it as short as you can: every level
        has to find its own people.
    levels : iterable of pairs, optional
        Each level's length in bytes, rising up to `length`, and its number of cohorts: its share of the people. Without
        it lengths 2, 3, 4, 5, 6, 8, 10, ... and `cohorts` shared among them, the last level with the most.
    cohorts : int
        How many cohorts the levels share, where `levels` is not given; at least one for each.
    overlong : str
        What becomes of an answer of more than `length` bytes: "cut" (it is known to be longer) or "refuse".
    cells : int, optional
        The number k of cells of a cohort. Without it round(e**epsilon) + 1, which has the least error.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    seed : bytes, optional
        8 to 64 bytes that determine the hash functions. They are public, and part of the survey. Without them 16 bytes
        are drawn from the operating system.
    text : str
        How text is read: "folded" (the default), so that neither case nor white space around words makes a difference,
        or "exact".

    Returns
    -------
    Survey
        An open survey whose encoding is `Prefixes`.

    Raises
    ------
    SurveyError
        If the levels do not rise, do not end at `length`, or have too few cohorts.

    Examples
    --------
    >>> discovery(epsilon=2.0, length=6, seed=bytes(16))
    <Survey: O-RR, open alphabet, 8 cells, 1024 cohorts in 5 levels of up to 6 bytes, epsilon 2, digest 411947ce>
    >>> discovery(epsilon=2.0, length=6).encoding.levels
    ((2, 69), (3, 137), (4, 137), (5, 137), (6, 544))
    """
    length = check_size("length", length, 1, MAX_LENGTH)
    chosen = default_levels(length, cohorts) if levels is None else tuple(levels)
    best = nearest_exp(_of_a_report(epsilon, epsilon_report)) + 1
    public = os.urandom(16) if seed is None else seed
    encoding = Prefixes(min(best, 1 << 24) if cells is None else cells, chosen, overlong, public)
    if encoding.length != length:
        raise SurveyError(f"levels must end at length, {length} bytes, got {encoding.length}; name both alike")
    channel = KRR(encoding.cells, epsilon)
    return _survey(Alphabet.open(text=text), encoding, channel, epsilon_report, name, participation)


def _encoded(
    symbols: Iterable[object] | int | None,
    other: object,
    text: str | None,
    cells: int,
    cohorts: int,
    hashes: int,
    seed: bytes | None,
) -> tuple[Alphabet, Encoding]:
    public = os.urandom(16) if seed is None else seed
    sizes = check_size("cells", cells, 2, 1 << 24), check_size("cohorts", cohorts, 1, 1 << 20)
    if symbols is None:
        alphabet = Alphabet(None, None if other is None else str(other), text="folded" if text is None else text)
        return alphabet, Hashed(*sizes, hashes, public)
    alphabet = Alphabet.closed(symbols, other)
    if text is not None:
        raise SurveyError("text must not be given with symbols, which are exact; leave one of the two out")
    return alphabet, Permuted(len(alphabet), *sizes, hashes, public)


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

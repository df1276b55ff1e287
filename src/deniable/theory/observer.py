"""What somebody who sees all reports of a device can do: name its answer, and tell which reports are of one device.

Both are probabilities that a best guess is right, where all answers are equally likely beforehand and the answer does
not change. A report of k-RR, O-RR or of bits makes a cell's count the only thing that matters, so the sums are short
and exact. Elsewhere the functions return an upper bound, and say so.

Write h and m for the chances that the permanent stage hits the cell of the answer and another one, and rho for the
slope of the second stage (1 without one): it keeps the permanent response with chance rho, and else draws any response.
"""

from math import comb, exp, expm1, lgamma, log, log1p

import numpy as np

from deniable.errors import DeniableError
from deniable.survey import Survey
from deniable.theory.arguments import Floats, count_of

_MOST_REPORTS = 400  # reports up to which counts are summed exactly; the work grows with their third power
_NEGLIGIBLE = 1e-16  # probability of a count below which it is left out of a sum


def naming_probability(survey: Survey, reports: int, *, candidates: int | None = None, memoized: bool = True) -> float:
    """The probability that the best guess at a device's answer is right after so many reports of that answer.

    Exact for k-RR, k-RAPPOR and OUE, and for O-RR and O-RAPPOR with one hash if every cell has an answer; for a single
    report, or memoised reports without a second stage, also for subset selection. Otherwise, and for more than 400
    reports that differ, an upper bound.

    Parameters
    ----------
    survey : Survey
        The survey that was answered.
    reports : int
        Reports of the device, all of one answer.
    candidates : int, optional
        How many answers come into question, where the alphabet is open.
    memoized : bool
        Whether the device repeats its permanent response; if not, all its noise is fresh.

    Returns
    -------
    float
        From 1 / candidates, which is guessing, to 1.

    Raises
    ------
    DeniableError
        If `candidates` is missing for an open alphabet.

    Claim: the mean over all reports of the largest chance that an answer gives them, divided by the answers.
    Proof: tests/unit/theory/test_observer.py::test_naming_is_that_of_every_sequence_of_reports

    Examples
    --------
    >>> import deniable as dn
    >>> fresh = [naming_probability(dn.krr(symbols=10, epsilon=1), t, memoized=False) for t in (1, 7, 30, 90)]
    >>> [round(p, 2) for p in fresh]
    [0.23, 0.38, 0.72, 0.97]
    >>> round(naming_probability(dn.krr(symbols=10, epsilon=1), 90), 2)
    0.23
    >>> round(naming_probability(dn.olh(epsilon=2, epsilon_report=1, symbols=100, cohorts=64), 90), 3)
    0.028
    """
    times = count_of("reports", reports, 1)
    answers = _answers(survey, candidates)
    mechanism, cells = survey.mechanism, survey.cells
    bound = _epsilon_bound(survey, times, answers, memoized)
    if not mechanism.two_valued:
        return bound
    slope = _slope(survey)
    same = memoized and slope == 1.0  # every report is the permanent one
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    first = (float(mechanism.permanent.hit), float(mechanism.permanent.miss))
    if same or times == 1:  # one report: the best guess is any answer that it supports
        bits = mechanism.hits is None
        named = _most_hits(_binomial(1, hit), _binomial(1, miss), cells) if bits else hit / (mechanism.hits or 1)
        return min(named * cells / answers, bound)
    if survey.encoding.occupied != 1 or times > _MOST_REPORTS or mechanism.hits not in (None, 1):
        permanent = first[0] * cells / (mechanism.hits or 1) / answers if mechanism.hits is not None else 1.0
        return min(bound, permanent if memoized else 1.0)
    if mechanism.hits is None:
        flip = (1 - slope) / 2
        set_, empty = _binomial(times, 1 - flip), _binomial(times, flip)
        true, other = (p * set_ + (1 - p) * empty for p in first)
        laws = (true, other) if memoized else (_binomial(times, hit), _binomial(times, miss))
        named = _most_hits(*laws, cells)
    elif memoized:
        rest = (1 - slope) / cells
        named = first[1] + (first[0] - first[1]) * _most_frequent(cells, times, slope + rest, rest)
    else:
        named = _most_frequent(cells, times, hit, miss)
    return min(named * cells / answers, bound)


def linking_probability(survey: Survey, n: int, *, memoized: bool = True) -> float:
    """The probability of picking a device's report out of those of n devices, given its report of another window.

    The observer has a report of the device and picks, in another window with reports of it and of n - 1 other devices,
    the one that is likeliest to be of the same device. Devices keep their cohort, which is sent in the clear, and
    their answer. Exact for k-RR and O-RR, for memoised sets, and for memoised bits without a second stage. Otherwise an
    upper bound: memoised, the probability without a second stage; with fresh noise, that of somebody who sees answers.

    Parameters
    ----------
    survey : Survey
        The survey that was answered.
    n : int
        Devices that report in the window, at least 2.
    memoized : bool
        Whether devices repeat their permanent response.

    Returns
    -------
    float
        From 1 / n, which is guessing, to 1.

    Claim: the mean over all reports of both windows of the chance that the likeliest one is the device's.
    Proof: tests/unit/theory/test_observer.py::test_linking_is_that_of_every_pair_of_windows

    Examples
    --------
    >>> import deniable as dn
    >>> round(linking_probability(dn.krr(symbols=10, epsilon=1), 1000), 3)
    0.01
    >>> few, many = (dn.olh(epsilon=2, epsilon_report=1, cohorts=c) for c in (16, 1024))
    >>> [round(linking_probability(survey, 1000), 3) for survey in (few, many)]
    [0.027, 0.698]
    """
    people = count_of("n", n, 2)
    mechanism, cohorts, cells = survey.mechanism, survey.cohorts, survey.cells
    by_answer = _distinct([(_answer_count(survey) * cohorts, 1.0)], people)
    if not mechanism.two_valued:
        return 1.0 if memoized else by_answer
    if mechanism.hits is None:
        if not memoized:
            return by_answer
        return _distinct_bits(survey, people) if survey.encoding.occupied == 1 else 1.0
    one_cell = mechanism.one_column and not survey.encoding.is_design
    size = cells if mechanism.one_column else _sets(cells, mechanism.hits)
    if memoized:
        slope = _slope(survey) if one_cell or not mechanism.one_column else 1.0
        rest = (1 - slope) / size
        match = (slope + rest) ** 2 + (1 - slope - rest) * rest
    elif one_cell:
        match = float(mechanism.hit) ** 2 + (size - 1) * float(mechanism.miss) ** 2
    else:
        return by_answer
    # Another device has the same cohort and response with chance `alike`, the same cohort alone with `cohort`.
    alike = 1 / (cohorts * size)
    cohort = 1 / cohorts - alike
    none = exp((people - 1) * log1p(-alike)) if alike < 1 else 0.0
    missed = none * _one_of(cohort / (1 - alike), people) if alike < 1 else 0.0
    return float(match * _one_of(alike, people) + (1 - match) * missed)


def _answers(survey: Survey, candidates: int | None) -> int:
    if survey.alphabet.is_open:
        if candidates is None:
            raise DeniableError(
                "candidates must be given for an open alphabet, got None; say how many answers there are"
            )
        return count_of("candidates", candidates, 2)
    if candidates is not None:
        raise DeniableError("candidates must not be given for a closed alphabet, whose answers are known")
    return len(survey.alphabet)


def _answer_count(survey: Survey) -> float:
    return float("inf") if survey.alphabet.is_open else len(survey.alphabet)


def _slope(survey: Survey) -> float:
    """How much of the permanent response the second stage leaves: 1 without one."""
    mechanism, first = survey.mechanism, survey.mechanism.permanent
    return float((mechanism.hit - mechanism.miss) / (first.hit - first.miss)) if mechanism.twice else 1.0


def _epsilon_bound(survey: Survey, reports: int, answers: int, memoized: bool) -> float:
    """E / (E + S - 1): the most that any mechanism of this epsilon lets a guess succeed."""
    mechanism = survey.mechanism
    spent = reports * float(mechanism.report_bound)
    spent = min(spent, survey.epsilon) if memoized else spent
    return 1 / (1 + (answers - 1) * exp(-spent))


def _binomial(times: int, p: float) -> Floats:
    """The law of a binomial count."""
    from scipy.stats import binom

    return np.asarray(binom.pmf(np.arange(times + 1), times, p), np.float64)


def _most_hits(true: Floats, other: Floats, cells: int) -> float:
    """The chance that of independent counts the true cell's is the largest, a tie counting by its share.

    The others are k - 1 draws of one law P with distribution function F. Given that the true count is c, the chance is
    (F(c)**k - F(c - 1)**k) / (k P(c)); with d = P(c) / F(c) that is F(c)**(k - 1) (1 - (1 - d)**k) / (k d).
    """
    below = np.minimum(np.cumsum(other), 1.0)
    share = np.clip(other / np.maximum(below, 1e-300), 1e-300, 1.0)
    with np.errstate(divide="ignore"):
        ties = -np.expm1(cells * np.log1p(-share)) / (cells * share)
    return float(true @ (below ** (cells - 1) * ties))


def _most_frequent(cells: int, times: int, hit: float, miss: float) -> float:
    """The chance that the true cell is the most frequent one of so many independent draws, a tie counting by its share.

    Its count c is binomial; the others share the rest evenly. Of Poisson counts with that sum, those below c have the
    generating function e(z), and j others tie with it: sum over j of C(k - 1, j) x**j e(z)**(k - 1 - j) / (j + 1).
    """
    if cells * miss < _NEGLIGIBLE:
        return 1.0
    counts, found = _binomial(times, hit), 0.0
    for count in range(1, times + 1):
        if counts[count] < _NEGLIGIBLE:
            continue
        rest = times - count
        rate = max(rest, 1) / (cells - 1)
        orders = np.arange(rest + 1)
        law = np.exp(orders * log(rate) - rate - np.array([lgamma(i + 1) for i in orders]))
        below, tie = law[:count], float(law[count]) if count <= rest else 0.0
        most = min(rest // count, cells - 1)
        power = _power(below, cells - 1 - most, rest)
        total = 0.0
        for ties in range(most, -1, -1):
            at = rest - ties * count
            if at < len(power):
                total += comb(cells - 1, ties) * tie**ties * float(power[at]) / (ties + 1)
            power = np.convolve(power, below)[: rest + 1]
        whole = exp(rest * log((cells - 1) * rate) - (cells - 1) * rate - lgamma(rest + 1))
        found += float(counts[count]) * total / whole
    return min(found, 1.0)


def _power(series: Floats, exponent: int, degree: int) -> Floats:
    """A power of a polynomial, up to a degree."""
    found, square = np.ones(1), series
    while exponent:
        if exponent & 1:
            found = np.convolve(found, square)[: degree + 1]
        exponent >>= 1
        if exponent:
            square = np.convolve(square, square)[: degree + 1]
    return found


def _one_of(chance: float, people: int) -> float:
    """E 1 / (1 + M), M binomial of people - 1 and chance: that of picking one's own among all that are alike."""
    if chance * people < 1e-12:
        return 1.0
    return float(-expm1(people * log1p(-chance)) if chance < 1 else 1.0) / (people * chance)


def _distinct(kinds: list[tuple[float, float]], people: int) -> float:
    """The expected number of different reports among so many devices, a device.

    A device picks its own report out of all that are equal to it, and there are as many groups as different reports.
    `kinds` are numbers of equally likely reports, and their share of all.
    """
    return float(sum(share * _one_of(share / count, people) for count, share in kinds if share))


def _distinct_bits(survey: Survey, people: int) -> float:
    """The same for bits, where the chance of a report depends on its cohort and on how many bits are set."""
    first, k = survey.mechanism.permanent, survey.cells
    hit, miss = float(first.hit), float(first.miss)
    rest = _binomial(k - 1, miss)
    law = np.zeros(k + 1)
    law[1:] += hit * rest
    law[:-1] += (1 - hit) * rest
    return _distinct([(_sets(k, w) * survey.cohorts, float(law[w])) for w in range(k + 1)], people)


def _sets(cells: int, size: int) -> float:
    """How many sets of a size there are; infinite where a float cannot hold the number."""
    count = comb(cells, size)
    return float(count) if count.bit_length() < 1000 else float("inf")

"""Seeded, fast and *not private*: tallies drawn from their exact distribution, at a cost that does not grow with n.

A tally is additive, so nobody needs to be simulated one by one. Respondents fall into cohorts as one multinomial. Given
a cohort's n_c reports, its index counts are one multinomial over k cells; its bit counts follow from how many
respondents occupy each cell (one multinomial) and two binomials a column: occupied bits that stay set, unoccupied bits
that flip; the sums of random sets are drawn column by column (`_set_sums`). Nothing here can produce a report, and
nothing here is used where privacy matters.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from deniable.columns import bins_of
from deniable.errors import DecodeError, DeniableError
from deniable.matrices import Design, design_of
from deniable.mechanisms import KRR, BitFlip, Channel, HitOrMiss, Mechanism, Registry, Subset
from deniable.survey import Agreement, Form, Survey
from deniable.tally import FormTally, Tally
from deniable.theory import count_of, distribution

__all__ = ["CountLaw", "cell_probabilities", "laws", "simulate", "simulate_counts", "simulate_many"]

Counts = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@overload
def simulate(
    survey: Survey,
    p: npt.ArrayLike | None = None,
    n: int | None = None,
    rng: np.random.Generator | None = None,
    *,
    symbols: Sequence[object] | None = None,
    numbers: Any = None,
) -> Tally: ...
@overload
def simulate(
    survey: Form,
    p: Mapping[Any, npt.ArrayLike],
    n: int,
    rng: np.random.Generator,
    *,
    symbols: Mapping[str, Sequence[object]] | None = None,
) -> FormTally: ...
def simulate(
    survey: Agreement,
    p: Any = None,
    n: int | None = None,
    rng: np.random.Generator | None = None,
    *,
    symbols: Any = None,
    numbers: Any = None,
) -> Tally | FormTally:
    """The tally of n respondents whose answers are drawn from p, from its exact joint distribution.

    Claim: the tally has the law of `count(survey, n reports)`; its column probabilities are the client's, exactly.
    Proof: tests/contracts/test_simulation.py::test_cell_probabilities_are_the_clients_channel

    Parameters
    ----------
    survey : Survey or Form
        What is answered.
    p : array_like
        The population: one probability a symbol, which add up to one. Of a form a mapping: a population for each
        question by its name, or of a related pair a matrix by both names; answers to different parts are independent.
    n : int
        Respondents, from 0 to 2**63 - 1.
    rng : numpy.random.Generator
        Source of all randomness. Not for privacy.
    symbols : sequence of symbols, optional
        The symbols of p; only for an open alphabet, where it is required. Of a form a mapping, too.
    numbers : array_like, optional
        Instead of p and n, for surveys of numbers: the answers themselves, one of each respondent.

    Returns
    -------
    Tally
        With n reports; of a form a `FormTally`.

    Raises
    ------
    DeniableError
        If p is not a distribution over the symbols, or `symbols` is missing or superfluous.

    Examples
    --------
    >>> import deniable as dn
    >>> tally = simulate(dn.krr(symbols=4, epsilon=1), np.full(4, 0.25), n=10**12, rng=np.random.default_rng(0))
    >>> tally.n
    1000000000000
    """
    if isinstance(survey, Form):
        return _simulated_form(survey, p, n, _check_generator(rng), symbols)
    if numbers is not None:
        if p is not None or n is not None or symbols is not None:
            raise DecodeError("numbers must be given alone: they say how many people there are, and what they answer")
        bins = np.bincount(bins_of(Survey.check(survey), numbers), minlength=len(survey.alphabet))
        return simulate_counts(survey, bins, rng)  # type: ignore[arg-type]
    if p is None:
        raise DecodeError("p must be given, or numbers for a survey of numbers")
    return simulate_many(1, survey, p, n, rng, symbols=symbols)[0]


def simulate_many(count: int, survey: Survey, p: Any, n: Any, rng: Any, *, symbols: Any = None) -> list[Tally]:
    """The tallies of `count` independent calls of `simulate`; arguments are checked once.

    Parameters
    ----------
    count : int
        How many tallies.
    survey, p, n, rng, symbols
        As for `simulate`, of a survey.

    Returns
    -------
    list of Tally
        Independent of each other.

    Examples
    --------
    >>> import deniable as dn
    >>> [tally.n for tally in simulate_many(2, dn.warner(epsilon=1), [0.5, 0.5], 100, np.random.default_rng(0))]
    [100, 100]
    """
    design = _design(survey, symbols)
    population = distribution(p, design.symbols)
    population = population / population.sum()
    n = count_of("n", n, 0, 2**63 - 1)
    rng, law = _check_generator(rng), laws.of(survey.mechanism.permanent)
    cohorts, found = np.full(survey.cohorts, 1.0 / survey.cohorts), []
    for _ in range(count):
        reports = rng.multinomial(n, cohorts)
        found.append(Tally(survey, law.drawn(survey.mechanism, design, population, reports, rng), reports))
    return found


def _simulated_form(form: Form, p: Any, n: Any, rng: np.random.Generator, symbols: Any) -> FormTally:
    """The tally of n people who answer a form; their answers to different parts are independent."""
    if not isinstance(p, Mapping):
        raise DecodeError("p of a form must be populations by the names of its questions; write {'smokes': [0.7, 0.3]}")
    for name in {one for key in p for one in ((key,) if isinstance(key, str) else key)}:
        form.part_of(name)
    if form.report_format.optional:
        raise DecodeError("a form with conditions must be simulated a report at a time: who is asked is not drawn here")
    n = count_of("n", n, 0, 2**63 - 1)
    tally = FormTally(form)
    people = _answering(len(form.parts), form.drawn, n, rng)
    parts = []
    for part, own in zip(form.parts, people, strict=True):
        names = tuple(question.name for question in part.questions)
        if missing := [name for name in names if name not in p and names not in p]:
            raise DecodeError(f"p must have a population for {missing[0]!r}")
        shares = p[names] if names in p else p[names[0]] if len(names) == 1 else np.outer(p[names[0]], p[names[1]])
        listed = (symbols or {}).get(names[0]) if part.survey.alphabet.is_open else None
        sizes = tuple(len(question.answers) for question in part.questions)
        if len(names) == 2 and np.ndim(shares) == 2 and np.shape(shares) != sizes:
            raise DecodeError(
                f"p of {names} must have a row for each answer of {names[0]!r} and a column for each of {names[1]!r}, "
                f"got {np.shape(shares)} for {sizes}"
            )
        try:
            found = simulate(part.survey, np.asarray(shares, float).ravel(), n=own, rng=rng, symbols=listed)
        except DeniableError as problem:
            raise DecodeError(f"{part.name}: {problem}") from None
        parts.append((found.counts, found.reports))
    tally.add(parts, n)
    return tally


def _answering(parts: int, drawn: int, n: int, rng: np.random.Generator) -> list[int]:
    """How many of n people draw each part, if each draws `drawn` of them."""
    if drawn == parts:
        return [n] * parts
    if math.comb(parts, drawn) <= 100_000:
        sets = np.array(list(combinations(range(parts), drawn)))
        often = rng.multinomial(n, np.full(len(sets), 1 / len(sets)))
        return [int(count) for count in np.bincount(sets.ravel(), np.repeat(often, drawn), parts)]
    found = np.zeros(parts, np.int64)
    for start in range(0, n, 1 << 16):
        keys = rng.random((min(1 << 16, n - start), parts))
        found += np.bincount(np.argpartition(keys, drawn, axis=1)[:, :drawn].ravel(), minlength=parts)
    return [int(count) for count in found]


def simulate_counts(
    survey: Survey,
    counts: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    symbols: Sequence[object] | None = None,
) -> Tally:
    """The tally of a fixed population, `counts[s]` respondents per symbol; cohorts and noise are random.

    Parameters
    ----------
    survey : Survey
        The survey that is answered.
    counts : array_like of int
        Respondents of each symbol.
    rng : numpy.random.Generator
        Source of all randomness. Not for privacy.
    symbols : sequence of symbols, optional
        The symbols of `counts`; only for an open alphabet, where it is required.

    Returns
    -------
    Tally
        With a report from each respondent.

    Raises
    ------
    DecodeError
        If `counts` does not fit the symbols.

    Examples
    --------
    >>> import deniable as dn
    >>> simulate_counts(dn.krr(symbols=2, epsilon=1), [700, 300], np.random.default_rng(0)).n
    1000
    """
    design = _design(survey, symbols)
    _check_generator(rng)
    people = np.asarray(counts)
    if people.shape != (design.symbols,) or people.dtype.kind not in "iu" or (people < 0).any():
        raise DecodeError(f"counts must be {design.symbols} non-negative integers, one a symbol")
    if survey.cohorts == 1:
        placed = people[None].astype(np.int64)
    else:
        placed = rng.multinomial(people, np.full(survey.cohorts, 1.0 / survey.cohorts)).T
    counts = laws.of(survey.mechanism.permanent).placed(survey.mechanism, design, placed, rng)
    return Tally(survey, counts, placed.sum(axis=1))


@dataclass(frozen=True, slots=True)
class CountLaw:
    """The two functions that draw the counts of a mechanism, or of a chain that begins with it, in shape (C, columns).

    Parameters
    ----------
    drawn : callable
        From a mechanism, a design, a population, the reports of each cohort and a generator.
    placed : callable
        From a mechanism, a design, the respondents of each cohort and symbol, and a generator.

    Examples
    --------
    >>> from deniable.mechanisms import KRR
    >>> callable(laws.of(KRR(4, 1)).drawn)
    True
    """

    drawn: Callable[[Any, Design, Floats, Counts, np.random.Generator], Counts]
    placed: Callable[[Any, Design, Counts, np.random.Generator], Counts]


laws: Registry[CountLaw] = Registry("deniable.simulation.laws", Mechanism, "law of its counts")


def _columns(mechanism: Mechanism, design: Design, p: Floats, reports: Counts, rng: np.random.Generator) -> Counts:
    return rng.multinomial(reports, _shares(_means(mechanism, design, p)))


def _rows(mechanism: Channel, design: Design, people: Counts, rng: np.random.Generator) -> Counts:
    rows = _shares(design._patterns(0))
    return np.asarray(rng.multinomial(people[0], rows).sum(axis=0))[None]


def _krr(mechanism: HitOrMiss, design: Design, people: Counts, rng: np.random.Generator) -> Counts:
    # k-RR is "a true cell with probability hit - miss each, else any cell at random, the true ones included".
    r = mechanism.hit - mechanism.miss
    if design.hashes == 1:
        kept = rng.binomial(_occupied(design, people), float(r))
    else:
        kept = _in_sets(design, rng.binomial(people[0], float(design.hashes * r)), rng)
    lost = people.sum(axis=1) - kept.sum(axis=1)
    return np.asarray(kept + rng.multinomial(lost, np.full(design.cells, 1.0 / design.cells)))


def _bits(mechanism: HitOrMiss, design: Design, p: Floats, reports: Counts, rng: np.random.Generator) -> Counts:
    if design.hashes == 1:  # one cell an answer: the occupied cells are multinomial themselves
        return _flipped(mechanism, rng.multinomial(reports, _shares(design.forward(p))), reports, rng)
    return _placed_bits(mechanism, design, rng.multinomial(reports, p), rng)


def _placed_bits(mechanism: HitOrMiss, design: Design, people: Counts, rng: np.random.Generator) -> Counts:
    return _flipped(mechanism, _occupied(design, people), people.sum(axis=1), rng)


def _sets(mechanism: HitOrMiss, design: Design, p: Floats, reports: Counts, rng: np.random.Generator) -> Counts:
    return _set_sums(mechanism, int(reports.sum()), p, None, rng)[None]


def _placed_sets(mechanism: HitOrMiss, design: Design, people: Counts, rng: np.random.Generator) -> Counts:
    return _set_sums_of(mechanism, people[0], rng)[None]


laws.add(Channel)(CountLaw(_columns, _rows))
laws.add(KRR)(CountLaw(_columns, _krr))
laws.add(BitFlip)(CountLaw(_bits, _placed_bits))
laws.add(Subset)(CountLaw(_sets, _placed_sets))


def cell_probabilities(survey: Survey, p: npt.ArrayLike, *, symbols: Sequence[object] | None = None) -> Any:
    """P(column j is hit | cohort c) for a population p, shape (C, k): floats, or exact if p holds Fractions.

    Parameters
    ----------
    survey : Survey
        The survey that is answered.
    p : array_like
        The population, as floats or Fractions.
    symbols : sequence of symbols, optional
        The symbols of p; only for an open alphabet, where it is required.

    Returns
    -------
    ndarray
        Shape (C, k).

    Examples
    --------
    >>> import deniable as dn
    >>> cell_probabilities(dn.krr(symbols=2, epsilon=1), [Fraction(1, 2), Fraction(1, 2)])
    array([[Fraction(1, 2), Fraction(1, 2)]], dtype=object)
    """
    design = _design(survey, symbols)
    mechanism = survey.mechanism
    given = np.asarray(p)
    if given.dtype != object:
        return _means(mechanism, design, np.asarray(given, np.float64))
    exact = np.full((design.cohorts, mechanism.columns), Fraction(0), object)
    for cohort, cells in enumerate(np.moveaxis(design.table, 2, 1)):
        for share, own in zip(given, cells.tolist(), strict=True):
            law = mechanism.weights([cell for cell in own if cell < mechanism.cells])
            exact[cohort] += [share * Fraction(weight, mechanism.span) for weight in law]
    return exact


def _means(mechanism: Mechanism, design: Design, p: Floats) -> Floats:
    miss, r = mechanism.affine
    return miss + r * design.forward(p)


def _design(survey: Survey, symbols: Sequence[object] | None) -> Design:
    Survey.check(survey)
    if survey.alphabet.is_open and symbols is None:
        raise DecodeError("symbols must be given for an open alphabet: what p is over")
    if not survey.alphabet.is_open and symbols is not None:
        raise DecodeError("symbols must not be given for a closed alphabet; p is over its symbols in order")
    if symbols is None:
        return design_of(survey)
    # Types beside values: 1, True and 1.0 are equal, and not all of them are symbols.
    if not {int, str, bytes}.issuperset(map(type, symbols)):
        return design_of(survey, symbols)
    return _named(survey, tuple(symbols), tuple(map(type, symbols)))


@lru_cache(maxsize=4)
def _named(survey: Survey, symbols: tuple[Any, ...], types: tuple[type, ...]) -> Design:
    """`design_of`, cached: hashing the names of an open alphabet anew for each simulation would dominate its cost."""
    return design_of(survey, symbols)


def _check_generator(rng: object) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise DecodeError(f"rng must be a NumPy generator, got {type(rng).__name__}; use np.random.default_rng(seed)")
    return rng


def _shares(values: Floats) -> Floats:
    return np.asarray(values / values.sum(axis=1, keepdims=True))


def _occupied(design: Design, placed: Counts) -> Counts:
    """How many respondents occupy each cell of each cohort, from respondents per cohort and symbol."""
    occupied = np.zeros((design.cohorts, design.cells + 1), np.int64)
    for rows in np.moveaxis(design.table, 1, 0):
        np.add.at(occupied, (np.arange(design.cohorts)[:, None], rows), placed)
    return occupied[:, : design.cells]


_MOST_AT_ONCE = 10**9 - 1  # people in one draw: the limit of NumPy's multivariate_hypergeometric


def _set_sums_of(mechanism: Mechanism, people: Counts, rng: np.random.Generator) -> Counts:
    """Column sums of the sets of a fixed population, in parts that are small enough for hypergeometric draws."""
    total = np.zeros(mechanism.cells, np.int64)
    left = people.copy()
    while (n := int(left.sum())) > _MOST_AT_ONCE:
        part = left // -(-n // (_MOST_AT_ONCE // 2))
        total += _set_sums(mechanism, int(part.sum()), None, part, rng)
        left -= part
    return total + _set_sums(mechanism, n, None, left, rng)


def _set_sums(
    mechanism: Mechanism, n: int, p: Floats | None, people: Counts | None, rng: np.random.Generator
) -> Counts:
    """Column sums of n random sets, for answers drawn from p or counted in `people`; O(k w) draws, whatever n is.

    Columns are visited in order. Of a set all that the next columns need is how many cells it still has to take from
    the columns that are neither visited nor its own: with r to take from t such columns it takes the next one with
    probability r / t, as uniform subsets do. So sets are counted by r: `coming[i, r]` are those whose own column is
    still to come (i = 1 if it is in the set), `gone[r]` those whose own column was passed. Until its own column comes a
    set's law does not depend on which column that is, so the sets whose own column is the next one are a random part of
    those that are coming: each with probability p_j / (p_j + p_j+1 + ...), or people[j] of them without replacement.

    Claim: the joint law of the column sums of n reports.
    Proof: tests/exact/test_set_sums.py::test_law_of_the_sums_is_that_of_the_reports
    """
    k, w = mechanism.cells, mechanism.hits
    assert w is not None
    takes = np.arange(w + 1)
    coming, gone = np.zeros((2, w + 1), np.int64), np.zeros(w + 1, np.int64)
    coming[1, w - 1] = rng.binomial(n, float(mechanism.hit))
    coming[0, w] = n - coming[1, w - 1]
    tails = None if p is None else np.cumsum(p[::-1])[::-1]
    sums = np.zeros(k, np.int64)
    for column in range(k):
        if people is not None:
            own = rng.multivariate_hypergeometric(coming.ravel(), people[column], method="marginals").reshape(2, -1)
        else:
            assert p is not None
            assert tails is not None
            share = 1.0 if column == k - 1 else min(p[column] / tails[column], 1.0) if tails[column] > 0 else 0.0
            own = rng.binomial(coming, share)
        coming -= own
        # What a set still has to take never exceeds what is left, so the shares are at most one.
        taken = rng.binomial(coming, np.minimum(takes / max(k - column - 1, 1), 1.0))
        passed = rng.binomial(gone, np.minimum(takes / (k - column), 1.0))
        sums[column] = own[1].sum() + taken.sum() + passed.sum()
        coming -= taken
        coming[:, :-1] += taken[:, 1:]
        gone -= passed
        gone[:-1] += passed[1:]
        gone += own.sum(axis=0)
    return sums


def _in_sets(design: Design, people: Counts, rng: np.random.Generator) -> Counts:
    """How often each cell is named when `people[s]` respondents name one of the cells of symbol s each, at random."""
    found = np.zeros((1, design.cells), np.int64)
    even = np.full(design.hashes, 1.0 / design.hashes)
    step = max(1, (1 << 20) // design.hashes)
    for start in range(0, design.symbols, step):
        part = slice(start, start + step)
        np.add.at(found[0], design.cells_of(part).T, rng.multinomial(people[part], even))
    return found


def _flipped(mechanism: Mechanism, occupied: Counts, reports: Counts, rng: np.random.Generator) -> Counts:
    """Column sums of the noisy bits: set bits that stay, and unset bits that flip, are independent binomials."""
    stayed = rng.binomial(occupied, float(mechanism.hit))
    return np.asarray(stayed + rng.binomial(reports[:, None] - occupied, float(mechanism.miss)), np.int64)

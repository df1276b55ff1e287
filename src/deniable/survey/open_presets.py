"""Presets whose answers are hashed, open or closed: O-RR, OLH, O-RAPPOR, and text that nobody listed."""

import os
from collections.abc import Iterable

from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, check_size, nearest_exp
from deniable.survey.alphabet import Alphabet
from deniable.survey.encodings import MAX_HASHES, Encoding, Hashed, Permuted
from deniable.survey.prefixes import MAX_LENGTH, Prefixes, default_cohorts, default_levels
from deniable.survey.staged import budget_of_report, staged_survey
from deniable.survey.survey import Survey

__all__ = ["discovery", "olh", "orappor", "orr"]


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
    return staged_survey(alphabet, encoding, KRR(encoding.cells, epsilon), epsilon_report, name, participation)


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
    epsilon, epsilon_report
        As for `orr`.
    cohorts : int
        The number C of cohorts, from 1 to 2**20, each with a hash function of its own. C (k - 1) should be many times
        the number of candidates. The cohort travels in the clear: fewer cohorts tell devices apart less.
    symbols, name, participation, seed, other, text
        As for `orr`.

    Examples
    --------
    >>> olh(epsilon=2.0, seed=bytes(16))
    <Survey: O-RR, open alphabet, 8 cells, 1024 cohorts, epsilon 2, digest ac2bd835>
    >>> olh(epsilon=2.0, seed=bytes(16)) == orr(epsilon=2.0, cells=8, cohorts=1024, seed=bytes(16))
    True
    """
    cells = min(nearest_exp(budget_of_report(epsilon, epsilon_report)) + 1, 1 << 24)
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
    epsilon, epsilon_report, cells, cohorts
        As for `orr`.
    hashes : int
        The number h of hash functions of a cohort: an answer sets up to h bits. From 1 to 64.
    symbols, name, participation, seed, other, text
        As for `orr`.

    Examples
    --------
    >>> orappor(epsilon=2.0, cells=128, cohorts=8, hashes=2, seed=bytes(16))
    <Survey: O-RAPPOR, open alphabet, 128 cells, 8 cohorts, 2 hashes, epsilon 2, digest 9caf3b40>
    """
    hashes = check_size("hashes", hashes, 1, MAX_HASHES)
    alphabet, encoding = _encoded(symbols, other, text, cells, cohorts, hashes, seed)
    flips = BitFlip(encoding.cells, epsilon, min(2 * hashes, encoding.cells))
    return staged_survey(alphabet, encoding, flips, epsilon_report, name, participation)


def discovery(
    epsilon: object,
    *,
    epsilon_report: object = None,
    length: int = 32,
    levels: Iterable[tuple[int, int]] | None = None,
    cohorts: int | None = None,
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
    epsilon, epsilon_report
        As for `orr`.
    length : int
        How many bytes of an answer are told apart, from 1 to 255, in UTF-8. Choose it as short as you can: every level
        has to find its own people.
    levels : iterable of pairs, optional
        Each level's length in bytes, rising up to `length`, and its number of cohorts: its share of the people. Without
        it lengths 2, 3, 4, 5, 6, 8, 10, ... and `cohorts` shared among them, the last level with the most.
    cohorts : int, optional
        How many cohorts the levels share, where `levels` is not given; at least one for each. Without it 1024, or so
        many more that they have 16,384 cells together: more cohorts make collisions of texts less, and a search slower.
    overlong : str
        What becomes of an answer of more than `length` bytes: "cut" (it is known to be longer) or "refuse".
    cells : int, optional
        The number k of cells of a cohort. Without it round(e**epsilon) + 1, which has the least error.
    name, participation, seed
        As for `orr`.
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
    >>> discovery(2.0, length=6, seed=bytes(16))
    <Survey: O-RR, open alphabet, 8 cells, 2048 cohorts in 5 levels of up to 6 bytes, epsilon 2, digest e6d51f0a>
    >>> discovery(epsilon=2.0, length=6).encoding.levels
    ((2, 137), (3, 274), (4, 273), (5, 273), (6, 1091))
    """
    length = check_size("length", length, 1, MAX_LENGTH)
    if cells is None:
        cells = min(nearest_exp(budget_of_report(epsilon, epsilon_report)) + 1, 1 << 24)
    if levels is None:
        many = default_cohorts(check_size("cells", cells, 2, 1 << 24)) if cohorts is None else cohorts
        levels = default_levels(length, many)
    encoding = Prefixes(cells, tuple(levels), overlong, os.urandom(16) if seed is None else seed)
    if encoding.length != length:
        raise SurveyError(f"levels must end at length, {length} bytes, got {encoding.length}; name both alike")
    channel = KRR(encoding.cells, epsilon)
    return staged_survey(Alphabet.open(text=text), encoding, channel, epsilon_report, name, participation)


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

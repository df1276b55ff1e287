"""Surveys in which answers need different amounts of privacy, and surveys of anybody's own channel.

The other presets hide every answer alike (`survey.presets`). Reports of these are not randomised again: a second stage
would have to be found for every pair of answers, and none of them has a closed form; each report spends the whole
budget, and a device that is asked again sends the same bytes.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from deniable.errors import SurveyError
from deniable.mechanisms import (
    KRR,
    Blocks,
    Channel,
    Mechanism,
    Sensitive,
    SensitiveDesign,
    parse_epsilon,
    rounded_table,
)
from deniable.survey.alphabet import Alphabet
from deniable.survey.blocks import Projective, is_prime
from deniable.survey.budgets import MAX_ANSWERS, budgets_table
from deniable.survey.encodings import Direct
from deniable.survey.survey import Survey, checked_name

__all__ = ["blocks", "budgeted", "channel", "sensitive", "sensitive_designs", "sensitive_positions", "ubd", "urr"]


def _survey(alphabet: Alphabet, mechanism: Mechanism, name: str, participation: str) -> Survey:
    return Survey(alphabet, Direct(len(alphabet)), mechanism, checked_name(name), participation)


def refuse_second_stage(epsilon_report: object, what: str) -> None:
    """A table of weights is reported as it was drawn.

    >>> refuse_second_stage(None, "sensitive answers")
    """
    if epsilon_report is not None:
        raise SurveyError(
            f"epsilon_report must not be given with {what}: a table of weights has no second stage; each report "
            "spends the whole budget of its answer"
        )


def sensitive(
    symbols: Iterable[object] | int,
    sensitive: Iterable[object],
    epsilon: object,
    *,
    name: str = "",
    participation: str = "once",
    other: object = None,
    epsilon_report: object = None,
) -> Survey:
    """Only some answers need hiding: those are deniable against every other answer, the rest may be seen.

    Whoever gives a sensitive answer can deny it: any report of it is at most e**epsilon times likelier than under any
    other answer. An answer that is not sensitive may be seen for what it is, and someone who reports a harmless answer
    is known not to have reported a sensitive one. In return its share is estimated with little noise.

    It is uRR (Murakami and Kawamoto 2019), or for a large sensitive set its block-design form (Yoon and others 2025),
    whichever has the smaller expected squared error at the uniform population.

    Parameters
    ----------
    symbols : iterable or int
        The answers that exist, in order; or a count S for the symbols 0 .. S-1.
    sensitive : iterable
        Those that need hiding: at least one, and not all.
    epsilon : float, str or Fraction
        The privacy budget of a sensitive answer, in nats.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    other : str, int or bytes, optional
        The symbol that stands for every answer that is not among `symbols`; it joins them if it is new. Without it such
        answers are refused.
    epsilon_report : None
        There is no second stage: anything else is refused with the reason. Memoised reports repeat as they are.

    Examples
    --------
    >>> survey = sensitive(["none", "flu", "hiv", "hepatitis"], sensitive=["hiv", "hepatitis"], epsilon=1)
    >>> survey
    <Survey: uRR, 4 symbols, 2 sensitive, epsilon 1, digest 23a1ec79>
    >>> sensitive(100, sensitive=range(50), epsilon=1).title
    'uBD'
    """
    refuse_second_stage(epsilon_report, "sensitive answers")
    alphabet = Alphabet.closed(symbols, other)
    hidden = sensitive_positions(alphabet, sensitive)
    return _survey(alphabet, sensitive_mechanism(len(alphabet), hidden, epsilon), name, participation)


def sensitive_mechanism(size: int, hidden: Sequence[int], epsilon: object) -> Channel:
    """uRR or its block-design form, whichever has the smaller expected squared error at the uniform population.

    >>> sensitive_mechanism(4, [2, 3], 1).title(own_cells=True)
    'uRR'
    """
    odds = math.exp(parse_epsilon(epsilon))
    best, order, dimension = sensitive_cost(size, len(hidden), len(hidden), 1, 0, odds), 0, 0
    for design in sensitive_designs(len(hidden)):
        cost = sensitive_cost(size, len(hidden), design.cells, design.occupied, design.shared, odds)
        if cost < best:
            best, order, dimension = cost, design.order, design.dimension
    if not order:
        return Sensitive(size, epsilon, hidden)
    return SensitiveDesign(size, epsilon, hidden, Projective(len(hidden), order, dimension))


def urr(
    symbols: Iterable[object] | int,
    *,
    sensitive: Iterable[object],
    epsilon: object,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """`sensitive` as uRR, whatever the size of the sensitive set.

    >>> urr(100, sensitive=range(50), epsilon=1).title
    'uRR'
    """
    alphabet = Alphabet.closed(symbols, other)
    hidden = sensitive_positions(alphabet, sensitive)
    return _survey(alphabet, Sensitive(len(alphabet), epsilon, hidden), name, participation)


def ubd(
    symbols: Iterable[object] | int,
    *,
    sensitive: Iterable[object],
    epsilon: object,
    order: int,
    dimension: int,
    name: str = "",
    participation: str = "once",
    other: object = None,
) -> Survey:
    """`sensitive` in its block-design form, with the projective space of this order and dimension.

    >>> ubd(20, sensitive=range(7), epsilon=1, order=2, dimension=3)
    <Survey: uBD, 20 symbols, 7 sensitive, 7 cells for them, epsilon 1, digest e5a1a7d7>
    """
    alphabet = Alphabet.closed(symbols, other)
    hidden = sensitive_positions(alphabet, sensitive)
    design = Projective(len(hidden), order, dimension)
    return _survey(alphabet, SensitiveDesign(len(alphabet), epsilon, hidden, design), name, participation)


def sensitive_positions(alphabet: Alphabet, given: Iterable[object]) -> list[int]:
    """The places of the sensitive answers, which are public.

    >>> sensitive_positions(Alphabet.closed(["a", "b", "c"]), ["c", "a"])
    [0, 2]
    """
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise SurveyError(f"sensitive must be a list of answers, got {type(given).__name__}; write [answer]")
    places = {symbol: place for place, symbol in enumerate(alphabet)}
    found = []
    for value in given:
        symbol = alphabet.canonical(value)
        if symbol not in places:
            raise SurveyError(f"sensitive must name answers of this survey, got {symbol!r:.60}")
        found.append(places[symbol])
    return sorted(set(found))


def sensitive_designs(hidden: int) -> Iterator[Projective]:
    """Projective spaces for that many sensitive answers, without lines, which are uRR.

    >>> [(design.order, design.dimension) for design in sensitive_designs(5)][:3]
    [(2, 3), (3, 3), (5, 3)]
    """
    if hidden < 3:
        return
    for dimension in range(3, 17):
        for order in count(2):
            points = (order**dimension - 1) // (order - 1)
            if points > 8 * hidden + 64:  # far more points than answers: a report would say too little
                break
            if points >= hidden and is_prime(order):
                yield Projective(hidden, order, dimension)


def sensitive_cost(size: int, hidden: int, b: int, s: int, shared: int, odds: float) -> float:
    """n times the expected squared error at the uniform population, for a nominal e**epsilon.

    A sensitive answer is estimated from the reports in its s of b cells, less what the share of all sensitive answers
    together explains, which is that of the reports outside the design; other answers from their own columns.
    """
    other = 1 / (s * odds + b - s)
    r, own = (odds - 1) * other, 1 - b * other
    within, outside = hidden / size, (1 - hidden / size) * own
    inside = s * other + r * (shared * within + (s - shared) / size)
    a, c = 1 / ((s - shared) * r), shared / ((s - shared) * own)
    mean = inside * a + outside * c
    seen = own / size
    return hidden * (inside * a**2 + outside * c**2 - mean**2) + (size - hidden) * seen * (1 - seen) / own**2


def blocks(
    groups: Iterable[Iterable[object]] | Mapping[object, Iterable[object]],
    epsilon: object,
    *,
    name: str = "",
    participation: str = "once",
    epsilon_report: object = None,
) -> Survey:
    """Hide which answer of a group was given, not which group: k-ary randomised response within each group.

    Parameters
    ----------
    groups : iterable of iterables, or mapping
        The answers of each group; of a mapping its values. Two groups or more, and one of them with two answers.
    epsilon : float, str or Fraction
        The privacy budget within a group, in nats.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    epsilon_report : None
        There is no second stage: anything else is refused with the reason. Memoised reports repeat as they are.

    Examples
    --------
    >>> survey = blocks([["Berlin", "Hamburg"], ["Paris", "Lyon", "Nice"]], epsilon=1)
    >>> survey
    <Survey: k-RR in groups, 5 symbols, 2 groups, epsilon 1, digest f5689dde>
    """
    refuse_second_stage(epsilon_report, "groups of answers")
    if isinstance(groups, (str, bytes)) or not isinstance(groups, Iterable):
        raise SurveyError(f"groups must be lists of answers, got {type(groups).__name__}; write [[a, b], [c, d]]")
    parts = list(groups.values() if isinstance(groups, Mapping) else groups)
    for part in parts:
        if isinstance(part, (str, bytes, Mapping)) or not isinstance(part, Iterable):
            raise SurveyError(
                f"every group must be a list of answers, got {type(part).__name__}; write [[a, b], [c, d]]"
            )
    lists = [list(part) for part in parts]
    if not all(lists):
        raise SurveyError("every group must have at least one answer, got an empty one")
    alphabet = Alphabet.closed([symbol for part in lists for symbol in part])
    numbers = [place for place, part in enumerate(lists) for _ in part]
    return _survey(alphabet, Blocks(numbers, epsilon), name, participation)


def channel(
    matrix: Iterable[Iterable[object]],
    *,
    epsilon: object,
    symbols: Iterable[object] | int | None = None,
    name: str = "",
    participation: str = "once",
    epsilon_report: object = None,
) -> Survey:
    """Anybody's own channel: a matrix of probabilities, one row an answer, one column a report.

    It is rounded to integers that keep epsilon exactly between every two answers, or refused with the two answers that
    break it.

    Parameters
    ----------
    matrix : iterable of iterables of numbers, array or data frame
        Rows of probabilities; each adds up to 1.
    epsilon : float, str or Fraction
        The privacy budget, in nats.
    symbols : iterable or int, optional
        The answers, one a row; 0, 1, 2, ... without them.
    name : str
        What people call the survey: one line, at most 500 characters.
    participation : str
        How often a person answers: "once", "window" (one report a day), "window:hour", "window:week" or "event".
    epsilon_report : None
        There is no second stage: anything else is refused with the reason. Memoised reports repeat as they are.

    Examples
    --------
    >>> rows = [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]]
    >>> survey = channel(rows, epsilon=1.8, symbols=["low", "mid", "high"])
    >>> survey
    <Survey: channel, 3 symbols, 3 columns, epsilon 1.8, digest 68f5667c>
    >>> round(survey.privacy().between("mid", "low"), 4)
    1.0986
    """
    refuse_second_stage(epsilon_report, "a matrix of one's own")
    # A data frame is iterated by the names of its columns, or by its columns.
    frame = getattr(matrix, "to_numpy", None)
    try:
        if isinstance(matrix, Mapping):
            raise TypeError
        rows: list[object] = list(matrix if frame is None else frame())
    except TypeError:
        raise SurveyError(
            f"matrix must be rows of probabilities, one row an answer, got {type(matrix).__name__}; answers are named "
            "with symbols="
        ) from None
    if len(rows) < 2:
        raise SurveyError(f"matrix must have a row for each of two answers or more, got {len(rows)}")
    alphabet = Alphabet.closed(len(rows) if symbols is None else symbols)
    if len(alphabet) != len(rows):
        raise SurveyError(f"matrix must have a row for each of {len(alphabet)} answers, got {len(rows)} rows")
    return _survey(alphabet, rounded_table(rows, epsilon, tuple(alphabet)), name, participation)  # type: ignore[arg-type]


def budgeted(
    alphabet: Alphabet, epsilon: Mapping[object, object], shape: Sequence[float] | None, name: str, participation: str
) -> Survey:
    """k-ary randomised response with a budget for every answer; see `krr`.

    >>> budgets = {"hiv": 0.5, "flu": 2, "none": 2}
    >>> budgeted(Alphabet.closed(["flu", "hiv", "none"]), budgets, None, "", "once").title
    'k-RR by budgets'
    """
    answers = tuple(alphabet)
    given = {alphabet.canonical(symbol): parse_epsilon(value) for symbol, value in epsilon.items()}
    if unknown := [symbol for symbol in given if symbol not in set(answers)]:
        raise SurveyError(f"epsilon must have budgets for answers of this survey, got one for {unknown[0]!r:.60}")
    if missing := [symbol for symbol in answers if symbol not in given]:
        raise SurveyError(f"epsilon must have a budget for every answer, got none for {missing[0]!r:.60}")
    if len(answers) > MAX_ANSWERS:
        raise SurveyError(
            f"answers with budgets of their own must be at most {MAX_ANSWERS}, got {len(answers)}; use dn.sensitive, "
            "or one epsilon for all"
        )
    budgets = [given[symbol] for symbol in answers]
    if len(set(budgets)) == 1:
        return _survey(alphabet, KRR(len(answers), budgets[0]), name, participation)
    table, _ = budgets_table(budgets, _shares(shape, len(answers)))
    return _survey(alphabet, table or KRR(len(answers), min(budgets)), name, participation)


def _shares(shape: Sequence[float] | None, size: int) -> list[float]:
    if shape is None:
        return [1 / size] * size
    try:
        shares = [float(share) for share in shape]
    except (TypeError, ValueError):
        raise SurveyError("shape must be a list of shares, one an answer") from None
    if len(shares) != size or min(shares) < 0 or not abs(sum(shares) - 1) < 1e-6:
        raise SurveyError(f"shape must be {size} shares that add up to 1, got {len(shares)} with sum {sum(shares):g}")
    # Nobody of a group would make its columns free, and its error infinite.
    return [(share + 1e-6 / size) / (1 + 1e-6) for share in shares]

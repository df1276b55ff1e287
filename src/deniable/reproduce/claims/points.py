"""Comparing points of plotted lines, and lines with each other, by the rules of `deniable.reproduce.claims.rules`."""

import math
from collections.abc import Callable, Mapping, Sequence

from deniable.reproduce.claims.rules import (
    AGAINST,
    FOR,
    HIGH_PRIVACY,
    NOTICEABLE,
    SAME_MEDIAN,
    TIE,
    Comparison,
    percent,
    spread,
)
from deniable.reproduce.claims.tables import Case, LinePoint

Regime = Callable[[Case, float], bool]


def high(_: Case, epsilon: float) -> bool:
    return epsilon <= HIGH_PRIVACY


def very_low(case: Case, epsilon: float) -> bool:
    return epsilon >= math.log(case.symbols)


def middle(case: Case, epsilon: float) -> bool:
    return not high(case, epsilon) and not very_low(case, epsilon)


def anywhere(_: Case, epsilon: float) -> bool:
    return epsilon > 0


def versus(a: LinePoint, b: LinePoint) -> tuple[float, bool]:
    """How much larger a's median is than b's, and whether their 99 % intervals are disjoint."""
    gap = a.median / b.median - 1 if b.median > 0 else 0.0
    return gap, a.inside[0] > b.inside[1] or b.inside[0] > a.inside[1]


def less(a: LinePoint, b: LinePoint, margin: float = SAME_MEDIAN) -> int:
    """FOR where a's loss is lower than b's, AGAINST where it is higher, TIE where they do not differ."""
    gap, apart = versus(a, b)
    if not apart or abs(gap) <= margin:
        return TIE
    return FOR if gap < 0 else AGAINST


def alike(a: LinePoint, b: LinePoint, margin: float = SAME_MEDIAN) -> int:
    """AGAINST where the two differ by more than the margin, FOR where they are seen to be within it."""
    gap, apart = versus(a, b)
    return FOR if abs(gap) <= margin else AGAINST if apart else TIE


def more(a: LinePoint, b: LinePoint) -> int:
    """Whether a's loss is noticeably higher than b's; no difference at all is against."""
    gap, _ = versus(a, b)
    return AGAINST if less(b, a) != FOR else FOR if gap > NOTICEABLE else TIE


def cell_of(side: int, a: LinePoint, b: LinePoint, group: str) -> Comparison:
    names = [p.mechanism if p.vary in ("best", "k=3") else f"{p.mechanism} with {p.vary} = {p.value}" for p in (a, b)]
    if a.case.alphabet != b.case.alphabet:
        names = [f"{name}, {p.case.alphabet}" for name, p in zip(names, (a, b), strict=True)]
    return Comparison(side, group, versus(a, b)[0], {"eps": a.epsilon}, f"{names[0]} {a}, {names[1]} {b}")


def paired(
    case: Case, first: Mapping[float, LinePoint], second: Mapping[float, LinePoint], regime: Regime = anywhere
) -> list[tuple[LinePoint, LinePoint]]:
    return [(first[e], second[e]) for e in sorted(first.keys() & second.keys()) if regime(case, e)]


def ratio(pairs: Sequence[tuple[LinePoint, LinePoint]], names: str) -> str:
    if not pairs:
        return ""
    shown = f"eps = {pairs[0][0].epsilon:g} to {pairs[-1][0].epsilon:g}"
    widths = [(p.inside[1] - p.inside[0]) / (2 * p.median) for pair in pairs for p in pair if p.median > 0]
    error = percent(max(widths, default=0.0), sign=False)
    return f"{names}: {spread(versus(*pair)[0] for pair in pairs)} for {shown} (medians known to {error} or better)"

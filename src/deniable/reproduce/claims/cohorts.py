"""Claims of sections 5.3 and 5.4: O-RR against the other mechanisms, on open and on closed alphabets.

Each is asked of one `Case`: S = 256 with 10^6 users, which the text is about, and S = 4096 with 10^6 and 10^8 users,
where the paper speaks of similar results.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from deniable.reproduce.claims.points import (
    Regime,
    alike,
    anywhere,
    cell_of,
    high,
    less,
    middle,
    more,
    paired,
    ratio,
    very_low,
)
from deniable.reproduce.claims.rules import (
    AGAINST,
    FOR,
    NOT_MEASURED,
    NOTICEABLE,
    TIE,
    ClaimResult,
    Comparison,
    conclude,
    spread,
)
from deniable.reproduce.claims.tables import CLOSED, OPEN, Case, Data, LinePoint

EXISTING = ("k-RR", "k-RAPPOR", "O-RAPPOR")


def _rivals(data: Data, case: Case, names: Iterable[str]) -> dict[float, LinePoint]:
    """At each epsilon the best of some mechanisms."""
    found: dict[float, LinePoint] = {}
    for name in names:
        for epsilon, point in data.line(case, name).items():
            if epsilon not in found or point.median < found[epsilon].median:
                found[epsilon] = point
    return dict(sorted(found.items()))


def _chosen(data: Data, cells: Sequence[Comparison], line: Mapping[float, LinePoint]) -> str:
    """The parameters that the grid search chose in the cells against, and whether they end the grid."""
    told = []
    for cell in cells:
        point = line.get(cell.place.get("eps", -1.0))
        if cell.side == AGAINST and point is not None:
            k, c, _ = point.parameters
            offered = [p.parameters[1] for p in data.points if p.case == point.case and p.mechanism == point.mechanism]
            end = ", the most cohorts offered" if c == max(offered) > 1 else ""
            told.append(f"eps = {point.epsilon:g}: k = {k}, C = {c}{end}")
    return f"O-RR's choice there: {'; '.join(told)}" if told else ""


def _three_cells(data: Data, case: Case, regime: Regime) -> str:
    """What O-RR does with k = 3, which a grid of powers of two does not have, where it is behind O-RAPPOR."""
    three, best, rival = data.line(case, "O-RR", "k=3"), data.line(case, "O-RR"), data.line(case, "O-RAPPOR")
    told = []
    for epsilon, point in three.items():
        if not regime(case, epsilon) or epsilon not in best or epsilon not in rival:
            continue
        own, other = best[epsilon], rival[epsilon]
        if own.median <= other.median:
            continue
        place = {FOR: "ahead of", TIE: "level with", AGAINST: "behind"}[less(point, other)]
        numbers = f"{point} with k = 3, {own} with powers of two, O-RAPPOR {other}"
        told.append(f"eps = {epsilon:g}: {numbers}, so k = 3 is {place} O-RAPPOR")
    return f"k = 3 is not in the paper's grid; O-RR at {'; '.join(told)}" if told else ""


def _orr_against(
    data: Data, case: Case, names: Iterable[str], regime: Regime, judge: Callable[[LinePoint, LinePoint], int]
) -> list[Comparison]:
    pairs = paired(case, data.line(case, "O-RR"), _rivals(data, case, names), regime)
    return [cell_of(judge(a, b), a, b, f"{case.alphabet}, {case.label}") for a, b in pairs]


def _meets(data: Data, cases: Iterable[Case], regime: Regime) -> ClaimResult:
    cells: list[Comparison] = []
    why: list[str] = []
    for case in cases:
        names = EXISTING if case.alphabet == "closed" else ("O-RAPPOR",)
        found = _orr_against(data, case, names, regime, less)
        why += [_chosen(data, found, data.line(case, "O-RR"))]
        if case.alphabet == "open":
            why += [_three_cells(data, case, regime)]
        cells += found
    text = f"O-RR's loss relative to the best of the others: {spread(cell.gap for cell in cells)}"
    return conclude(cells, text, why="; ".join(filter(None, why)))


def meets_everywhere(data: Data) -> ClaimResult:
    """Hashed k-RR empirically meets or exceeds existing mechanisms at all privacy levels (abstract, conclusion).

    Open and closed alphabets together; without either it is not measured.
    """
    parts = [_meets(data, [case], anywhere) for case in (OPEN, CLOSED)]
    return NOT_MEASURED if NOT_MEASURED in parts else _meets(data, (OPEN, CLOSED), anywhere)


def open_meets(data: Data, case: Case) -> ClaimResult:
    """O-RR meets or exceeds RAPPOR over a wide range of privacy settings (section 1, fourth contribution)."""
    return _meets(data, [case], anywhere)


def closed_best(data: Data, case: Case) -> ClaimResult:
    """Closed alphabets: O-RR meets or exceeds all other mechanisms at all considered epsilon (5.4)."""
    lines = [data.line(case, name) for name in EXISTING]
    return _meets(data, [case], anywhere) if all(lines) else NOT_MEASURED


def both_ends_closed(data: Data) -> ClaimResult:
    """... in both low and high privacy regimes (section 1, fifth contribution)."""
    parts = [_meets(data, [CLOSED], regime) for regime in (high, very_low)]
    return NOT_MEASURED if NOT_MEASURED in parts else _meets(data, [CLOSED], lambda c, e: not middle(c, e))


def cohorts_lift_krr(data: Data, case: Case) -> ClaimResult:
    """The loss of sample size in large alphabets is partially circumvented by cohorts and k-RR (2.2).

    At high privacy k-RR's loss must be noticeably higher than O-RR's on the same closed alphabet.
    """
    pairs = paired(case, data.line(case, "k-RR"), data.line(case, "O-RR"), high)
    cells = [cell_of(more(a, b), a, b, case.label) for a, b in pairs]
    return conclude(cells, ratio(pairs, "k-RR's loss relative to O-RR's"), need="most")


def ends_match(data: Data, case: Case, *, privacy: str) -> ClaimResult:
    """O-RR matches O-RAPPOR in both the very low and the high privacy regimes (5.3, Figure 3a).

    Matches is meant literally: a cell where O-RR is ahead is against it, too.
    """
    regime = high if privacy == "high" else very_low
    cells = _orr_against(data, case, ["O-RAPPOR"], regime, alike)
    behind = [cell for cell in cells if cell.gap > 0]
    ahead = sum(cell.side == AGAINST for cell in cells) - sum(cell.side == AGAINST for cell in behind)
    why = [f"in {ahead} of these O-RR is ahead, not level" if ahead else ""]
    why += [_chosen(data, behind, data.line(case, "O-RR")), _three_cells(data, case, regime)]
    pairs = paired(case, data.line(case, "O-RR"), data.line(case, "O-RAPPOR"), regime)
    return conclude(cells, ratio(pairs, "O-RR's loss relative to O-RAPPOR's"), why="; ".join(filter(None, why)))


def middle_exceeds(data: Data, case: Case) -> ClaimResult:
    """O-RR exceeds O-RAPPOR over midrange privacy settings (5.3, Figure 3a)."""
    cells = _orr_against(data, case, ["O-RAPPOR"], middle, less)
    pairs = paired(case, data.line(case, "O-RR"), data.line(case, "O-RAPPOR"), middle)
    why = "; ".join(filter(None, (_chosen(data, cells, data.line(case, "O-RR")), _three_cells(data, case, middle))))
    return conclude(cells, ratio(pairs, "O-RR's loss relative to O-RAPPOR's"), need="most", why=why)


def krappor_is_orappor(data: Data, case: Case) -> ClaimResult:
    """On closed alphabets k-RAPPOR and O-RAPPOR are nearly indistinguishable (5.4, Figures 3b and 8)."""
    pairs = paired(case, data.line(case, "O-RAPPOR"), data.line(case, "k-RAPPOR"))
    cells = [cell_of(alike(a, b, NOTICEABLE), a, b, case.label) for a, b in pairs]
    return conclude(cells, ratio(pairs, "O-RAPPOR's loss relative to k-RAPPOR's"))


def _closing(data: Data, case: Case, mechanism: str) -> list[tuple[LinePoint, LinePoint]]:
    opened = data.line(Case("open", case.symbols, case.n), mechanism)
    return paired(case, data.line(case, mechanism), opened)


def permutations_help_little(data: Data, case: Case) -> ClaimResult:
    """O-RAPPOR benefits little from minimal perfect hash functions (5.4)."""
    pairs = _closing(data, case, "O-RAPPOR")
    sides = [AGAINST if less(a, b, NOTICEABLE) == FOR else FOR for a, b in pairs]
    cells = [cell_of(side, a, b, case.label) for side, (a, b) in zip(sides, pairs, strict=True)]
    return conclude(cells, ratio(pairs, "O-RAPPOR's loss closed relative to open"))


def permutations_improve(data: Data, case: Case) -> ClaimResult:
    """O-RR's utility improves significantly (5.4)."""
    pairs = _closing(data, case, "O-RR")
    cells = [cell_of(less(a, b), a, b, case.label) for a, b in pairs]
    return conclude(cells, ratio(pairs, "O-RR's loss closed relative to open"), need="most")

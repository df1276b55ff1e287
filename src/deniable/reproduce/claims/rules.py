"""What a comparison means, once for all claims: the bounds, the verdicts, and how exceptions are told.

**Mean losses (table "kary").** Two means differ when their difference is larger than z standard errors of that
difference, and larger than 1 % of the loss it is compared with, and larger than 1e-5. z is Bonferroni's for all cells
that one claim looks at (1 % for the whole family, two-sided): about 4.0 for one grid of 156 cells, 4.9 for all of
them. Everything else is a tie. Cells where two decoders give the same answer in every evaluation (two symbols, or no
negative entry) are left out of claims about which is better, and counted.

**Median losses (table "lines").** Two medians differ when their 99 % intervals are disjoint and they are more than 2 %
apart. For equal medians that happens about 3 times in 10,000, so less than once in a grid of 250 points.

**Words.** *Noticeably* and *substantially*: a difference, and more than 5 %. *Nearly*, *little*: no difference of more
than 5 %. *Matches*, *indistinguishable*: no difference, in either direction. *Meets*: no difference to its
disadvantage. *Slightly* (of l1 itself): less than 0.1, a twentieth of the largest possible l1. *Narrow*: 90 % of the
samples within 10 % of the median.

**Regimes.** High privacy is epsilon <= 1 (section 2.2 says so), very low privacy epsilon >= ln S (section 4.3 calls
ln k the low privacy regime), the middle is between; "low to mid" is everything above 1.

**Verdicts.** Each claim is taken apart into cells that are for it, against it, or ties. *Holds*: no cell is against.
*Holds except*: cells against are fewer than a quarter; where the claim says "better", "improves" or "best", they are
also not more than the cells for it (ties are what "meets" and "alike" say). *Does not hold*: otherwise; also when the
claim says "better" or "improves" and not even half of the cells are for it, or says "best" and none is.
*Not measured*: there are no rows to judge by.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, median
from typing import Literal

Verdict = Literal["holds", "holds except", "does not hold", "not measured"]
Need = Literal["none", "some", "most"]

# The bounds that the text above defines.
FAMILY = 0.01  # family-wise error of all comparisons of one claim
SAME_MEAN, SAME_MEDIAN = 0.01, 0.02  # relative differences of two means, or medians, that count as none
ABSOLUTE = 1e-5  # difference of two mean losses that counts as none
NOTICEABLE = 0.05  # relative difference from which a sentence may say "noticeably"
NARROW = 0.10  # relative distance from the median that 90 % of the samples must keep to be "narrow"
SLIGHT = 0.1  # l1 loss below which a difference is "slight"
HIGH_PRIVACY = 1.0  # epsilon, in nats: section 2.2 of the paper
MINORITY = 0.25  # share of the cells; with fewer against it a claim "holds except"
GROUPS_TOLD = 6  # groups of exceptions that are listed by name

FOR, TIE, AGAINST = 1, 0, -1  # the sides of a cell


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """What the tables say about one claim."""

    verdict: Verdict
    measured: str
    exceptions: str = ""


NOT_MEASURED = ClaimResult("not measured", "the tables have no rows for this")


@dataclass(frozen=True, slots=True)
class Comparison:
    """One comparison: which side it is on, where it was made, and how large the difference is."""

    side: int
    group: str
    gap: float
    place: Mapping[str, float] = field(default_factory=dict)
    detail: str = ""
    shown: str = ""  # the gap in words, where it is not a share


def threshold(comparisons: int) -> float:
    """Standard errors that a difference must exceed, so that a family of comparisons errs once in a hundred.

    >>> round(threshold(156), 2)
    4.0
    """
    return NormalDist().inv_cdf(1 - FAMILY / (2 * max(comparisons, 1)))


def differs(difference: float, error: float, reference: float, z: float) -> int:
    """The sign of a difference of mean losses, 0 for a tie.

    >>> differs(-0.02, 0.001, 1.0, 4.0), differs(-0.02, 0.01, 1.0, 4.0), differs(-0.005, 0.001, 1.0, 4.0)
    (-1, 0, 0)
    """
    if abs(difference) <= max(z * error, SAME_MEAN * abs(reference), ABSOLUTE):
        return 0
    return 1 if difference > 0 else -1


def conclude(cells: Sequence[Comparison], measured: str, *, need: Need = "none", why: str = "") -> ClaimResult:
    """The verdict on cells, by the rule of this module; `need` is how many must be positively for the claim."""
    if not cells:
        return NOT_MEASURED
    favour, against = (sum(cell.side == side for cell in cells) for side in (FOR, AGAINST))
    verdict: Verdict = "holds"
    if against:
        enough = need == "none" or favour >= against
        verdict = "holds except" if against < MINORITY * len(cells) and enough else "does not hold"
    told = exceptions(cells)
    if (need == "some" and not favour) or (need == "most" and 2 * favour <= len(cells)):
        verdict = "does not hold"
        told = "; ".join(filter(None, (f"only {favour} of {len(cells)} comparisons are for it", told)))
    notes = [count(cells), measured]
    if not told:  # nothing fails: a remark belongs to the numbers
        notes, why = [*notes, why], ""
    return ClaimResult(verdict, "; ".join(filter(None, notes)), "; ".join(filter(None, (told, why))))


def count(cells: Sequence[Comparison]) -> str:
    """How many cells are on which side."""
    sides = [sum(cell.side == side for cell in cells) for side in (FOR, TIE, AGAINST)]
    return f"{sides[0]} for, {sides[1]} tied, {sides[2]} against, of {len(cells)}"


def exceptions(cells: Sequence[Comparison]) -> str:
    """The cells against a claim, group by group: how many, where, and the worst of them with its numbers."""
    against: dict[str, list[Comparison]] = {}
    sizes: dict[str, int] = {}
    for cell in cells:
        sizes[cell.group] = sizes.get(cell.group, 0) + 1
        if cell.side == AGAINST:
            against.setdefault(cell.group, []).append(cell)
    ranked = sorted(against.items(), key=lambda item: -len(item[1]))
    told = [_group(group, found, sizes[group]) for group, found in ranked[:GROUPS_TOLD]]
    if len(ranked) > GROUPS_TOLD:
        rest = ranked[GROUPS_TOLD:]
        told.append(f"and {sum(len(found) for _, found in rest)} in {len(rest)} more groups")
    total = sum(map(len, against.values()))
    return f"{percent(total / len(cells), sign=False)} of the comparisons: {'; '.join(told)}" if told else ""


def _group(group: str, found: Sequence[Comparison], size: int) -> str:
    worst = max(found, key=lambda cell: abs(cell.gap))
    names = [name for name in worst.place if len(found) > 1]
    where = ", ".join(_values(name, [cell.place[name] for cell in found if name in cell.place]) for name in names)
    place = ", ".join(f"{name} = {value:g}" for name, value in worst.place.items())
    text = f"{group}: {len(found)} of {size}" if group else f"{len(found)} of {size}"
    text += f" ({where})" if where else ""
    text += f", {'worst ' if len(found) > 1 else ''}{worst.shown or percent(worst.gap)}"
    text += f" at {place}" if place else ""
    return text + (f" ({worst.detail})" if worst.detail else "")


def _values(name: str, values: Iterable[float]) -> str:
    found = sorted(set(values))
    if len(found) <= 3:
        return f"{name} = {', '.join(f'{value:g}' for value in found)}"
    return f"{name} = {found[0]:g} to {found[-1]:g}"


def percent(share: float, *, sign: bool = True) -> str:
    """A share in per cent.

    >>> percent(0.1234), percent(-0.5), percent(0.25, sign=False)
    ('+12.3 %', '-50.0 %', '25.0 %')
    """
    return f"{100 * share:+.1f} %" if sign else f"{100 * share:.1f} %"


def spread(shares: Iterable[float]) -> str:
    """Median and range of relative differences."""
    found = sorted(shares)
    if not found:
        return "none"
    return f"median {percent(median(found))}, range {percent(found[0])} to {percent(found[-1])}"

"""Claims of section 4.4.2: k-RR against k-RAPPOR, the best decoder of each.

`difference` is the best k-RR mean loss less the best k-RAPPOR mean loss: negative where k-RR is better. Figure 2 has
four panels: the geometric distribution and Dirichlet's, 100 and 30000 users.
"""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from statistics import median

from deniable.reproduce.claims.decoders import MANY, NAMES, skewed
from deniable.reproduce.claims.rules import (
    ABSOLUTE,
    AGAINST,
    FOR,
    NOT_MEASURED,
    SAME_MEAN,
    SLIGHT,
    TIE,
    ClaimResult,
    Comparison,
    Verdict,
    conclude,
    differs,
    percent,
    spread,
    threshold,
)
from deniable.reproduce.claims.tables import Data, KaryRow

PANELS = (("geometric", "dirichlet"), (100, MANY))


def _side(row: KaryRow, z: float) -> int:
    return differs(row.difference, row.error, row.best("krappor"), z)


def _relative(row: KaryRow) -> float:
    other = row.best("krappor")
    return row.difference / other if other > 0 else 0.0


def _detail(row: KaryRow) -> str:
    return f"k-RR {row.best('krr'):.4g}, k-RAPPOR {row.best('krappor'):.4g}"


def _panels(data: Data, loss: str = "l1") -> list[KaryRow]:
    return data.cells(*PANELS, loss)


def _low_privacy(row: KaryRow) -> bool:
    return row.k < math.exp(row.epsilon)


def most_cells_projected(data: Data) -> ClaimResult:
    """For most cells of Figure 2 the best decoder is the projected one (4.4.2).

    Counted over all cells, with ties for the projected decoder; a panel in which it is not so is an exception.
    """
    shares: dict[str, list[bool]] = {}
    alone = 0
    for row in _panels(data):
        for mechanism, name in NAMES.items():
            projected, best = row.means[f"{mechanism}_projected"], row.best(mechanism)
            shares.setdefault(f"{name}, {row.group}", []).append(projected <= _tied(best))
            others = [mean for key, mean in row.means.items() if key.startswith(f"{mechanism}_")]
            alone += sum(mean <= _tied(projected) for mean in others) == 1 and projected == best
    if not shares:
        return NOT_MEASURED
    total, wins = (sum(map(kind, shares.values())) for kind in (len, sum))
    panels = ", ".join(f"{group}: {percent(sum(found) / len(found), sign=False)}" for group, found in shares.items())
    told = [group for group, found in shares.items() if 2 * sum(found) <= len(found)]
    verdict: Verdict = "does not hold" if 2 * wins <= total else "holds except" if told else "holds"
    measured = f"best or tied in {percent(wins / total, sign=False)} of {total} cells"
    measured += f", alone in {percent(alone / total, sign=False)} ({panels})"
    return ClaimResult(verdict, measured, f"not so for {'; '.join(told)}" if told else "")


def _tied(loss: float) -> float:
    """The largest mean loss that does not differ from this one."""
    return loss + max(SAME_MEAN * loss, ABSOLUTE)


def krappor_for_large_k(data: Data, loss: str = "l1") -> ClaimResult:
    """k-RAPPOR is consistently better for relatively large k and low epsilon (4.4.2).

    "Relatively large and low" is read off the data: wherever k-RAPPOR is better, it must not be worse for a larger k
    at a smaller epsilon.
    """
    rows = _panels(data, loss)
    z, cells, starts = threshold(len(rows)), [], []
    for group in dict.fromkeys(row.group for row in rows):
        panel = [(row, _side(row, z)) for row in rows if row.group == group]
        corners = [row for row, side in panel if side == 1]
        if not corners:
            cells.append(Comparison(AGAINST, group, 0.0, {}, "k-RAPPOR is nowhere better"))
            continue
        first = min(corners, key=lambda row: (row.epsilon, row.k))
        starts.append(
            f"{group}: better in {len(corners)} of {len(panel)}, from k = {first.k} on at eps = {first.epsilon:g}"
        )
        for row, side in panel:
            if any(row.k >= corner.k and row.epsilon <= corner.epsilon for corner in corners):
                cells.append(Comparison(side, group, _relative(row), row.place, _detail(row)))
    return conclude(cells, "; ".join(starts), need="some")


def krr_in_the_triangle(data: Data, loss: str = "l1") -> ClaimResult:
    """k-RR is better in all conditions where k < e^epsilon (4.4.2)."""
    rows = [row for row in _panels(data, loss) if _low_privacy(row)]
    z = threshold(len(rows))
    cells = [Comparison(-_side(row, z), row.group, _relative(row), row.place, _detail(row)) for row in rows]
    return conclude(cells, f"k-RR's loss relative to k-RAPPOR's: {spread(c.gap for c in cells)}", need="most")


def krr_only_slightly(data: Data) -> ClaimResult:
    """... but only *slightly* better: Figure 2 shows l1 itself, so by less than 0.1 (4.4.2)."""
    rows = [row for row in _panels(data) if _low_privacy(row)]
    cells = [
        Comparison(
            AGAINST if -row.difference > SLIGHT else FOR,
            row.group,
            row.difference,
            row.place,
            _detail(row),
            f"{row.difference:+.3g} in l1",
        )
        for row in rows
    ]
    gaps = sorted(-row.difference for row in rows)
    text = f"k-RR's advantage in l1: median {median(gaps):.3g}, at most {gaps[-1]:.3g}" if gaps else ""
    return conclude(cells, f"{text}; as a share of k-RAPPOR's loss: {spread(-_relative(row) for row in rows)}")


def _pattern(
    pairs: Sequence[tuple[KaryRow, KaryRow]], group: Callable[[KaryRow, KaryRow], str], told: str
) -> ClaimResult:
    """Whether the first row of each pair has the second one's winner; opposite winners are against."""
    z = threshold(2 * len(pairs))
    cells = []
    for row, model in pairs:
        a, b = _side(row, z), _side(model, z)
        side = AGAINST if a * b < 0 else FOR if a == b else TIE
        detail = f"{percent(_relative(row))}, {told} {percent(_relative(model))}"
        cells.append(Comparison(side, group(row, model), _relative(row), row.place, detail))
    return conclude(cells, "for: the same winner or both tied; against: opposite winners", need="most")


def skewed_show_the_pattern(data: Data) -> ClaimResult:
    """All skewed distributions show the geometric distribution's pattern of winners (4.4.2)."""
    model = {(row.n, *row.where): row for row in data.cells({"geometric"})}
    rows = data.cells(skewed(data) - {"geometric"})
    pairs = [(row, model[row.n, *row.where]) for row in rows if (row.n, *row.where) in model]
    return _pattern(pairs, lambda row, _: row.group, "geometric")


def same_mechanisms_in_l2(data: Data) -> ClaimResult:
    """The regimes in which each mechanism is superior are the same in l2 (4.4 and Figure 6)."""
    model = {(row.group, *row.where): row for row in _panels(data)}
    pairs = [(row, model[row.group, *row.where]) for row in _panels(data, "l2") if (row.group, *row.where) in model]
    return _pattern(pairs, lambda row, _: row.group, "in l1")


def many_users_are_alike(data: Data) -> ClaimResult:
    """30000 users are representative of larger numbers of users (Figure 2)."""
    model = {(row.distribution, *row.where): row for row in data.cells(PANELS[0], {MANY})}
    rows = [row for row in data.cells(PANELS[0]) if row.n > MANY]
    pairs = [(row, model[row.distribution, *row.where]) for row in rows if (row.distribution, *row.where) in model]
    return _pattern(pairs, lambda row, _: row.group, f"n = {MANY}")


def largest_range(data: Data) -> ClaimResult:
    """The geometric distribution is the one where k-RAPPOR beats k-RR over the largest range (4.4).

    The range is the share of all (n, k, epsilon) at which k-RAPPOR is better; shares within a point are ties.
    """
    names = sorted(skewed(data) | {"dirichlet"})
    rows = data.cells(names) if len(names) > 1 else []
    z, wins = threshold(len(rows)), {}
    for name in dict.fromkeys(row.distribution for row in rows):
        found = [_side(row, z) == 1 for row in rows if row.distribution == name]
        wins[name] = sum(found) / len(found)
    cells = []
    for name, share in wins.items():
        gap = share - wins["geometric"]
        if name != "geometric":
            side = TIE if abs(gap) <= SAME_MEAN else FOR if gap < 0 else AGAINST
            detail = f"{percent(share, sign=False)} of its cells"
            cells.append(Comparison(side, name, gap, {}, detail, f"{100 * gap:+.1f} points"))
    ranked = sorted(wins.items(), key=lambda item: -item[1])
    text = ", ".join(f"{name} {percent(share, sign=False)}" for name, share in ranked)
    return conclude(cells, f"k-RAPPOR is better in this share of cells: {text}", need="some")


def geometric_is_hard_for_krr(data: Data) -> ClaimResult:
    """The geometric distribution is relatively easy for k-RAPPOR and challenging for k-RR (5.3).

    Relatively: the ratio of k-RR's loss to k-RAPPOR's is at least the median ratio of the other distributions.
    """
    ratios: dict[tuple[int, float], dict[str, float]] = {}
    for row in data.cells(skewed(data) | {"dirichlet"}, {MANY}):
        ratios.setdefault(row.where, {})[row.distribution] = 1 + _relative(row)
    cells = []
    for (k, epsilon), found in ratios.items():
        others = [ratio for name, ratio in found.items() if name != "geometric"]
        if len(others) > 1 and "geometric" in found:
            gap = found["geometric"] / median(others) - 1
            side = TIE if abs(gap) <= SAME_MEAN else FOR if gap > 0 else AGAINST
            detail = f"ratio {found['geometric']:.3g}, median of the others {median(others):.3g}"
            cells.append(Comparison(side, f"n = {MANY}", gap, {"k": k, "eps": epsilon}, detail))
    return conclude(cells, f"geometric's ratio against the median: {spread(c.gap for c in cells)}", need="some")


def advantage_shrinks(data: Data, *, relative: bool) -> ClaimResult:
    """As the number of users increases, k-RR's advantage in the low privacy environment shrinks (4.4.2).

    Low privacy is k < e^epsilon. Figure 2 shows differences of l1, and every l1 shrinks with n; the relative version
    asks whether the advantage shrinks as a share of k-RAPPOR's loss, too.
    """
    lines: dict[tuple[str, int, float], list[KaryRow]] = {}
    for row in data.cells(PANELS[0]):
        if _low_privacy(row):
            lines.setdefault((row.distribution, *row.where), []).append(row)
    steps = []
    for line in lines.values():
        line.sort(key=lambda row: row.n)
        steps += [(a, b) for a, b in pairwise(line) if a.difference < 0]
    z, cells = threshold(len(steps)), []
    for a, b in steps:
        scales = (a.best("krappor"), b.best("krappor")) if relative else (1.0, 1.0)
        if min(scales) <= 0:
            continue
        before, after = -a.difference / scales[0], -b.difference / scales[1]
        error = math.hypot(a.error / scales[0], b.error / scales[1])
        side = -differs(after - before, error, 1.0 if relative else before, z)
        detail = f"{before:.3g} before, {after:.3g} after"
        cells.append(Comparison(side, f"{a.distribution}, n = {a.n} to {b.n}", after / before - 1, a.place, detail))
    of = "as a share of k-RAPPOR's loss" if relative else "in l1"
    return conclude(cells, f"change of the advantage {of}: {spread(c.gap for c in cells)}", need="most")

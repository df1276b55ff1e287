"""Claims about the experiments as a whole: privacy at fixed utility, captions, S = 4096, and how ours were run."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from itertools import pairwise
from statistics import median

from deniable.reproduce.claims.points import versus
from deniable.reproduce.claims.rules import (
    AGAINST,
    FOR,
    NARROW,
    NOT_MEASURED,
    SAME_MEDIAN,
    TIE,
    ClaimResult,
    Comparison,
    Verdict,
    conclude,
    percent,
)
from deniable.reproduce.claims.tables import OPEN, Case, Data, Target

PREDICTION = 0.10  # relative error above which a predicted loss is wrong
# Verdicts in order, to compare two alphabets.
RANK: dict[Verdict, int] = {"holds": 2, "holds except": 1, "does not hold": 0}
Questions = Mapping[str, Callable[[Data, Case], ClaimResult]]


def most_private(data: Data, alphabet: str, symbols: int) -> ClaimResult:
    """O-RR gives maximal privacy at any desired utility and given n (section 6; Figures 9, 10 and 14).

    Those figures ask which epsilon a wanted l1 loss costs. Against: O-RR's epsilon is higher than another mechanism's,
    with disjoint 99 % intervals and by more than 2 %. Targets that no mechanism reaches are left out.
    """
    targets: dict[tuple[int, float], dict[str, Target]] = {}
    for row in data.targets:
        if (row.case.alphabet, row.case.symbols) == (alphabet, symbols):
            targets.setdefault((row.case.n, row.loss), {})[row.mechanism] = row
    cells, left_out = [], 0
    for (n, loss), found in targets.items():
        others = [row for name, row in found.items() if name != "O-RR"]
        if "O-RR" not in found or not others:
            continue
        own, other = found["O-RR"], min(others, key=lambda row: row.epsilon)
        if own.reached == other.reached != "yes":
            left_out += 1
            continue
        alike = own.reached == other.reached
        gap = own.epsilon / other.epsilon - 1 if alike else math.copysign(1, own.epsilon - other.epsilon)
        apart = own.low >= other.high or other.low >= own.high
        side = TIE if not apart or abs(gap) <= SAME_MEDIAN else AGAINST if gap > 0 else FOR
        shown = "" if alike else "out of reach of one"
        cells.append(Comparison(side, f"l1 = {loss:g}", gap, {"n": n}, f"O-RR {own}, {other.mechanism} {other}", shown))
    gaps = [cell.gap for cell in cells]
    text = f"O-RR's epsilon relative to the others': median {percent(median(gaps))}" if gaps else ""
    return conclude(cells, text + (f"; {left_out} targets that neither reaches, or both below 0.1" if left_out else ""))


def privacy_costs_utility(data: Data) -> ClaimResult:
    """The more private you want to be, the less utility you can get (2.2): no line rises with epsilon."""
    lines: dict[tuple[Case, str], None] = {(p.case, p.mechanism): None for p in data.points if p.vary == "best"}
    cells = []
    for case, mechanism in lines:
        points = list(data.line(case, mechanism).values())
        for before, after in pairwise(points):
            gap, apart = versus(after, before)
            side = TIE if not apart or abs(gap) <= SAME_MEDIAN else FOR if gap < 0 else AGAINST
            group = f"{mechanism}, {case.alphabet}, {case.label}"
            cells.append(Comparison(side, group, gap, {"eps": after.epsilon}, f"{before} before, {after} after"))
    return conclude(cells, f"steps of epsilon on {len(lines)} lines", need="most")


def bands_are_narrow(data: Data) -> ClaimResult:
    """The shaded 90 % regions are narrow (captions of Figures 7, 8, 11 to 13, 15 and 16)."""
    cells, widths = [], []
    for p in data.points:
        if p.median > 0:
            widths.append(max(p.high - p.median, p.median - p.low) / p.median)
            group = f"{p.mechanism}, {p.case.alphabet}, {p.case.label}"
            group += "" if p.vary in ("best", "k=3") else f", by {p.vary}"
            detail = f"{p.low:.4g} to {p.high:.4g} around {p.median:.4g}"
            cells.append(
                Comparison(AGAINST if widths[-1] > NARROW else FOR, group, widths[-1], {"eps": p.epsilon}, detail)
            )
    text = f"farther end of the band: median {percent(median(widths))}, at most {percent(max(widths))}" if cells else ""
    return conclude(cells, text)


def baselines_bracket(data: Data) -> ClaimResult:
    """The two baselines of Figures 3, 7, 8 and 13 bound the lines; the paper draws them and leaves it at that.

    Against: a median below the empirical estimate's loss on the raw symbols, or above the uniform guess's.
    """
    cells = []
    for p in data.points:
        floor, ceiling = (data.baselines.get((p.case.symbols, p.case.n, name)) for name in ("empirical", "uniform"))
        if p.vary != "best" or floor is None or ceiling is None:
            continue
        below, above = p.inside[1] < (1 - SAME_MEDIAN) * floor, p.inside[0] > (1 + SAME_MEDIAN) * ceiling
        gap = p.median / (ceiling if above else floor) - 1
        what = f"above the uniform guess's {ceiling:.4g}" if above else f"below the empirical estimate's {floor:.4g}"
        group = f"{p.mechanism}, {p.case.alphabet}, {p.case.label}"
        cells.append(Comparison(AGAINST if below or above else FOR, group, gap, {"eps": p.epsilon}, f"{p}, {what}"))
    shown = sorted({(s, n) for s, n, _ in data.baselines})
    told = [f"S = {s}, n = {n:g}: {_pair(data, s, n)}" for s, n in shown]
    return conclude(cells, f"empirical and uniform baseline {', '.join(told)}")


def _pair(data: Data, symbols: int, n: int) -> str:
    found = [data.baselines.get((symbols, n, name), math.nan) for name in ("empirical", "uniform")]
    return " and ".join(f"{loss:.4g}" for loss in found)


def similar(data: Data, case: Case, questions: Questions) -> ClaimResult:
    """Similar results for S = 4096 and n = 10^6 and 10^8 (5.3): each finding has a verdict no worse than at S = 256."""
    cells = []
    for name, question in questions.items():
        here, there = question(data, case).verdict, question(data, OPEN).verdict
        if "not measured" not in (here, there):
            side = AGAINST if RANK[here] < RANK[there] else FOR
            cells.append(Comparison(side, name, float(RANK[here] - RANK[there]), {}, f"{here}, at S = 256 {there}"))
    worse = [f"{cell.group}: {cell.detail}" for cell in cells if cell.side == AGAINST]
    found = conclude(cells, f"{len(questions)} findings of section 5.3 asked again")
    return ClaimResult(found.verdict, found.measured, "; ".join(worse))


def caption_says_4096(data: Data, questions: Questions) -> ClaimResult:
    """Figure 11 has S = 4096, says its caption; the text cites it for findings at S = 256 (erratum E30).

    The findings decide: if more of them hold at one S than at the other, the figure must have had that S. If as many
    hold at both, this cannot be decided and counts as not measured.
    """
    large = Case("open", 4096, OPEN.n)
    ranks: dict[str, tuple[Verdict, Verdict]] = {}
    for name, question in questions.items():
        verdicts = question(data, large).verdict, question(data, OPEN).verdict
        if "not measured" not in verdicts:
            ranks[name] = verdicts
    better = Counter((RANK[a] > RANK[b]) - (RANK[a] < RANK[b]) for a, b in ranks.values())
    differing = [f"{name}: {a} at S = 4096, {b} at S = 256" for name, (a, b) in ranks.items() if RANK[a] != RANK[b]]
    if not ranks:
        return NOT_MEASURED
    measured = f"of {len(ranks)} findings {better[1]} fare better at S = 4096 and {better[-1]} at S = 256"
    if better[1] == better[-1]:
        return ClaimResult("not measured", f"{measured}, which cannot decide it")
    if better[1] > better[-1]:
        return ClaimResult("holds", measured)
    return ClaimResult("does not hold", measured, "; ".join(differing))


def chosen_on_other_samples(data: Data) -> ClaimResult:
    """Ours: parameters are chosen on other samples than those that are plotted.

    The paper takes the smallest of many medians and plots it, which is biased low. How much that can be is estimated
    by sqrt(2 ln m) standard errors of a median of 50 samples, m settings being simulated; a normal law is assumed.
    """
    points = [p for p in data.points if p.contenders > 1]
    cells, biases = [], []
    for p in points:
        error = 1.2533 * (p.high - p.low) / (2 * 1.6449) / math.sqrt(50)
        biases.append(math.sqrt(2 * math.log(p.contenders)) * error / p.median if p.median > 0 else 0.0)
        side = FOR if p.selection_samples > 0 else AGAINST
        cells.append(Comparison(side, f"{p.mechanism}, {p.case.alphabet}, {p.case.label}", 0.0, {"eps": p.epsilon}))
    if not points:
        return NOT_MEASURED
    text = f"{min(p.samples for p in points)} to {max(p.samples for p in points)} samples plotted"
    text += f", {min(p.selection_samples for p in points)} to {max(p.selection_samples for p in points)} to choose"
    text += f" among up to {max(p.contenders for p in points)} settings"
    text += f"; choosing on the plotted samples would flatter a median by up to {percent(max(biases), sign=False)}"
    return conclude(cells, f"{text} (typically {percent(median(biases), sign=False)})")


def screen_is_good(data: Data) -> ClaimResult:
    """Ours: the predictions that prune the grid search are within 10 % of the loss that is then measured."""
    errors = [abs(row.error) for row in data.tested]
    cells = []
    for row in data.tested:
        group = f"{row.mechanism}, {row.case.alphabet}, {row.case.label}"
        side = AGAINST if abs(row.error) > PREDICTION else FOR
        cells.append(Comparison(side, group, row.error, {"eps": row.epsilon}))
    text = (
        f"|predicted / measured - 1|: median {percent(median(errors))}, largest {percent(max(errors))}"
        if errors
        else ""
    )
    share = sum(error > PREDICTION for error in errors) / len(errors) if errors else 0.0
    return conclude(cells, f"{text}, {percent(share, sign=False)} above 10 %")

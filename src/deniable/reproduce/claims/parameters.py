"""Claims of section 5.3 about the free parameters: what k, C and h do to O-RR and O-RAPPOR on open alphabets."""

import math
from collections.abc import Sequence

from deniable.reproduce.claims.points import Regime, alike, anywhere, cell_of, high, less, more, paired, ratio, versus
from deniable.reproduce.claims.rules import (
    AGAINST,
    FOR,
    NOT_MEASURED,
    NOTICEABLE,
    SAME_MEDIAN,
    TIE,
    ClaimResult,
    Comparison,
    conclude,
)
from deniable.reproduce.claims.tables import CLOSED, OPEN, Case, Data


def orr_k_depends(data: Data, case: Case) -> ClaimResult:
    """O-RR's optimal k depends directly on epsilon (5.3, Figure 11).

    At each epsilon the values of k that are no worse than the best one are optimal. For: an optimal k that is no
    smaller than the optimal k of the epsilon before. No dependence, one k optimal throughout, is no claim at all.
    """
    optimal: dict[float, list[int]] = {}
    for epsilon, line in data.family(case, "O-RR", "k").items():
        best = min(line.values(), key=lambda p: p.median)
        optimal[epsilon] = [k for k, point in line.items() if less(point, best) != AGAINST]
    cells, reached = [], 0
    for epsilon, found in optimal.items():
        allowed = [k for k in found if k >= reached]
        side = FOR if allowed else AGAINST
        gap = 0.0 if allowed else max(found) / reached - 1
        cells.append(Comparison(side, case.label, gap, {"eps": epsilon}, f"optimal k {_list(found)} after {reached}"))
        reached = min(allowed, default=reached)
    text = "optimal k: " + ", ".join(f"{_list(found)} at eps = {epsilon:g}" for epsilon, found in optimal.items())
    if len(optimal) > 1 and (same := set.intersection(*map(set, optimal.values()))):
        return ClaimResult("does not hold", text, f"k = {_list(sorted(same))} is optimal at every epsilon")
    return conclude(cells, text, need="most") if len(optimal) > 1 else NOT_MEASURED


def _list(values: Sequence[int]) -> str:
    return f"{values[0]} to {values[-1]}" if len(values) > 2 else " or ".join(map(str, values))


def _chain(data: Data, case: Case, mechanism: str, vary: str, least: int, regime: Regime) -> ClaimResult:
    """A parameter that improves as it grows: no step up is worse, and the last value is better than the first."""
    cells, pairs = [], []
    for epsilon, whole in data.family(case, mechanism, vary).items():
        line = [point for value, point in whole.items() if value >= least]
        if len(line) < 2 or not regime(case, epsilon):
            continue
        steps = list(zip(line[1:], line, strict=False))
        worst = max(steps, key=lambda step: versus(*step)[0] if less(*step) == AGAINST else -math.inf)
        pair = worst if less(*worst) == AGAINST else (line[-1], line[0])
        cells.append(cell_of(less(*pair), *pair, case.label))
        pairs.append((line[-1], line[0]))
    ends = f"{pairs[0][0].value} against {pairs[0][1].value}" if pairs else ""
    return conclude(cells, ratio(pairs, f"loss with {vary} = {ends}"), need="most")


def cohorts_improve(data: Data, case: Case) -> ClaimResult:
    """Increasing C consistently improves O-RR in the low-to-mid privacy regime (5.3); C = 1 has its own claim."""
    return _chain(data, case, "O-RR", "C", 2, lambda c, e: not high(c, e))


def wider_filters_improve(data: Data, case: Case) -> ClaimResult:
    """O-RAPPOR improves as k increases (5.3)."""
    return _chain(data, case, "O-RAPPOR", "k", 1, anywhere)


def near_the_limit(data: Data, case: Case) -> ClaimResult:
    """... with k = 4096 near the asymptotic limit (5.3).

    Near: a larger k gains at most 5 %; where the grid has none, the last doubling changed at most 5 %.
    """
    cells, pairs = [], []
    for line in data.family(case, "O-RAPPOR", "k").values():
        if 4096 not in line:
            continue
        larger = [point for k, point in line.items() if k > 4096]
        if larger:
            pair = line[4096], min(larger, key=lambda p: p.median)
        elif 2048 in line:
            pair = line[2048], line[4096]
        else:
            continue
        side = AGAINST if less(*pair, NOTICEABLE) == AGAINST else FOR if versus(*pair)[0] <= NOTICEABLE else TIE
        cells.append(cell_of(side, *pair, case.label))
        pairs.append(pair)
    return conclude(cells, ratio(pairs, "loss of the smaller k relative to the larger"))


def one_cohort(data: Data, case: Case, mechanism: str) -> ClaimResult:
    """C = 1 noticeably underperforms across the range of privacy levels (5.3, of both mechanisms).

    Where nothing is learned in either way, both as bad as the uniform guess, there is nothing to compare.
    """
    guess = data.baselines.get((case.symbols, case.n, "uniform"), math.inf)
    pairs = []
    for line in data.family(case, mechanism, "C").values():
        others = [point for value, point in line.items() if value > 1]
        if 1 in line and others:
            best = min(others, key=lambda p: p.median)
            if best.median < (1 - SAME_MEDIAN) * guess:
                pairs.append((line[1], best))
    cells = [cell_of(more(a, b), a, b, case.label) for a, b in pairs]
    return conclude(cells, ratio(pairs, "loss with C = 1 relative to the best C"), need="most")


def hashing_alone(data: Data) -> ClaimResult:
    """Hashing alone is not enough, because of the collisions that the modulus brings (5.1).

    One cohort is hashing alone. Where collisions are to blame, k-RR on the closed alphabet, which has none, is better.
    """
    found = one_cohort(data, OPEN, "O-RR")
    alone = {epsilon: line[1] for epsilon, line in data.family(OPEN, "O-RR", "C").items() if 1 in line}
    pairs = paired(OPEN, alone, data.line(CLOSED, "k-RR"))
    if found == NOT_MEASURED or not pairs:
        return NOT_MEASURED
    blamed = sum(less(b, a) == FOR for a, b in pairs)
    beside = ratio(pairs, "loss relative to k-RR, closed")
    text = f"collisions are to blame at {blamed} of {len(pairs)} epsilons: {beside}"
    return ClaimResult(found.verdict, f"{found.measured}; {text}", found.exceptions)


def cohorts_alike(data: Data, case: Case) -> ClaimResult:
    """All C >= 2 perform indistinguishably under O-RAPPOR (5.3)."""
    pairs = []
    for line in data.family(case, "O-RAPPOR", "C").values():
        points = sorted((point for value, point in line.items() if value >= 2), key=lambda p: p.median)
        if len(points) > 1:
            pairs.append((points[-1], points[0]))
    cells = [cell_of(alike(a, b), a, b, case.label) for a, b in pairs]
    worst = [a.value for (a, _), cell in zip(pairs, cells, strict=True) if cell.side == AGAINST]
    why = f"the worst is C = {', '.join(map(str, sorted(set(worst))))}" if worst else ""
    return conclude(cells, ratio(pairs, "worst C >= 2 relative to the best"), why=why)


def bloom_brings_nothing(data: Data, case: Case) -> ClaimResult:
    """The optimal h is consistently 1: Bloom filters bring nothing beyond simple hashing (5.3)."""
    pairs = []
    for line in data.family(case, "O-RAPPOR", "h").values():
        others = [point for value, point in line.items() if value > 1]
        if 1 in line and others:
            pairs.append((line[1], min(others, key=lambda p: p.median)))
    cells = [cell_of(less(a, b), a, b, case.label) for a, b in pairs]
    return conclude(cells, ratio(pairs, "loss with h = 1 relative to the best h > 1"))

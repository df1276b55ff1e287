"""Experiment 8: the smallest epsilon that reaches a wanted loss, for a given number of users.

The loss falls as epsilon grows, so the answer is where the curve of best settings crosses the target. The prediction
says roughly where, a race picks the setting there, and reported samples at two epsilons around the crossing give the
answer by interpolation in logarithms; if they do not enclose it, they move.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log
from statistics import median

from deniable.lab.experiments import Cell, Point
from deniable.reproduce.grid_search import (
    Contest,
    choose,
    contenders,
    grid,
    measure,
    predictions,
    quantiles,
    reported,
    screened,
)
from deniable.reproduce.pool import Results
from deniable.reproduce.settings import PRIVACY_LOSSES, PRIVACY_RANGE, PRIVACY_USERS, Settings

Row = dict[str, object]
Guess = dict[tuple[Cell, Point], float]

_STEPS = 14  # epsilons at which the curve is predicted
_BRACKET = 1.12  # the two reported epsilons are this factor below and above the guess
_MOVES = 3  # times that the bracket is moved if the wanted loss lies outside
_FLAT = 0.05  # a slope, in logarithms, below which a curve does not fall


@dataclass(frozen=True)
class _Target:
    alphabet: str
    symbols: int
    mechanism: str
    n: int
    loss: float


def privacy_rows(
    wanted: Sequence[tuple[str, int]], settings: Settings, results: Results
) -> tuple[list[Row], list[Row]]:
    """The table `privacy` for (alphabet, S) pairs, and what choosing adds to the table `screen`."""
    targets = [
        _Target(alphabet, symbols, mechanism, n, loss)
        for alphabet, symbols in wanted
        for mechanism in ("O-RR", "O-RAPPOR", *(("k-RR", "k-RAPPOR") if alphabet == "closed" else ()))
        for loss in PRIVACY_LOSSES[symbols]
        for n in PRIVACY_USERS[symbols]
    ]
    least, most = PRIVACY_RANGE
    epsilons = [_rounded(least * (most / least) ** (step / (_STEPS - 1))) for step in range(_STEPS)]
    pairs = [(_grid(target), Point(target.mechanism, target.n, e)) for target in targets for e in epsilons]
    guess = predictions(pairs, results)
    starts = {target: _predicted_crossing(target, epsilons, guess) for target in targets}
    near = {target: e for target, e in starts.items() if e is not None and least / 1.3 < e < most * 1.3}

    # A race at the predicted crossing.
    points = {target: Point(target.mechanism, target.n, _rounded(min(e, most))) for target, e in near.items()}
    guess |= predictions([(_grid(target), point) for target, point in points.items()], results)
    searches = [Contest(point, contenders(_grid(target), point, guess, settings)) for target, point in points.items()]
    winners, raced = choose(searches, settings, results)
    chosen = dict(zip(points, winners, strict=True))

    curves = _curves(near, chosen, settings, results)
    table = []
    for target in targets:
        row: Row = {"alphabet": target.alphabet, "S": target.symbols, "n": target.n, "loss": target.loss}
        row["mechanism"] = target.mechanism
        table.append(row | _answer(target, starts[target], chosen.get(target), curves.get(target, {})))
    return table, screened(raced, guess)


def _grid(target: _Target) -> tuple[Cell, ...]:
    """The whole grid, but for Bloom filters of several hashes, which never win (claim `bloom-no-gain`)."""
    return tuple(cell for cell in grid(target.alphabet, target.symbols, target.mechanism) if cell.h == 1)


def _rounded(epsilon: float) -> float:
    return float(f"{epsilon:.3g}")


def _predicted_crossing(target: _Target, epsilons: Sequence[float], guess: Guess) -> float | None:
    """Where the predicted curve of best settings crosses the target; just outside the range if it does not."""
    best = [
        min(guess[cell, Point(target.mechanism, target.n, epsilon)] for cell in _grid(target)) for epsilon in epsilons
    ]
    if best[0] <= target.loss:
        return epsilons[0] / 2
    below = next((place for place, value in enumerate(best) if value <= target.loss), None)
    if below is None:
        return epsilons[-1] * 1.2 if best[-1] <= 1.05 * target.loss else None
    return crossing((epsilons[below - 1], best[below - 1]), (epsilons[below], best[below]), target.loss)


def crossing(first: tuple[float, float], second: tuple[float, float], loss: float) -> float:
    """The epsilon at which a straight line in logarithms through two (epsilon, loss) points has this loss.

    A curve that does not fall has no crossing: the answer is then infinite, or nothing if the loss is already lower.

    >>> crossing((1.0, 0.4), (2.0, 0.1), 0.2), crossing((1.0, 0.4), (2.0, 0.4), 0.2)
    (1.4142135623730951, inf)
    """
    fall = (log(first[1]) - log(second[1])) / (log(second[0]) - log(first[0]))
    if fall < _FLAT:
        return inf if min(first[1], second[1]) > loss else 0.0
    return exp(log(first[0]) + (log(first[1]) - log(loss)) / fall)


def _curves(
    near: dict[_Target, float], chosen: dict[_Target, Cell], settings: Settings, results: Results
) -> dict[_Target, dict[float, list[float]]]:
    """Reported losses at epsilons that enclose each target, as far as a few moves can make them."""
    most = PRIVACY_RANGE[1]
    inside = {target: min(epsilon, most / _BRACKET) for target, epsilon in near.items()}
    asked = {target: [_rounded(e / _BRACKET), _rounded(e * _BRACKET)] for target, e in inside.items()}
    curves: dict[_Target, dict[float, list[float]]] = {target: {} for target in near}
    for _ in range(_MOVES):
        for symbols in (256, 4096):
            pairs = [
                (target, (chosen[target], Point(target.mechanism, target.n, epsilon)))
                for target, epsilons in asked.items()
                if target.symbols == symbols
                for epsilon in epsilons
            ]
            spans = reported(settings, symbols)
            found = measure((pair for _, pair in pairs), spans, results, f"privacy, S = {symbols}")
            for target, pair in pairs:
                curves[target][pair[1].epsilon] = found[pair]
        asked = {target: [e] for target in near if (e := _next(curves[target], target.loss)) is not None}
        if not asked:
            break
    return curves


def _next(curve: dict[float, list[float]], loss: float) -> float | None:
    """The epsilon to try next, or None where the curve already crosses the target or the range ends."""
    lowest, highest = min(curve), max(curve)
    if median(curve[highest]) > loss and highest < PRIVACY_RANGE[1]:
        return _rounded(min(highest * _BRACKET**2, PRIVACY_RANGE[1]))
    if median(curve[lowest]) <= loss and lowest > PRIVACY_RANGE[0]:
        return _rounded(max(lowest / _BRACKET**2, PRIVACY_RANGE[0]))
    return None


def _answer(target: _Target, start: float | None, cell: Cell | None, curve: dict[float, list[float]]) -> Row:
    """One row: the crossing with its 99 % interval, or on which side of the range it lies."""
    unknown: Row = {"epsilon": None, "epsilon_low": None, "epsilon_high": None, "k": None, "C": None, "h": None}
    if cell is None:
        below = start is not None and start < 1
        return unknown | {"reached": "below 0.1" if below else "above 10", "samples": 0}
    points = [(epsilon, quantiles(losses)) for epsilon, losses in sorted(curve.items())]
    samples = len(next(iter(curve.values())))
    parameters: Row = {"k": cell.k, "C": cell.C, "h": cell.h, "samples": samples}

    def where(column: str) -> float:
        """The first crossing of one of the quantiles' curves; beyond the ends the last straight line goes on."""
        values = [(epsilon, float(str(found[column]))) for epsilon, found in points]
        place = next((i for i, (_, value) in enumerate(values) if value <= target.loss), len(values) - 1)
        place = max(place, 1)
        return crossing(values[place - 1], values[place], target.loss)

    epsilon = where("median")
    if epsilon > PRIVACY_RANGE[1] * 1.0001:
        return unknown | parameters | {"reached": "above 10"}
    if epsilon < PRIVACY_RANGE[0]:
        return unknown | parameters | {"reached": "below 0.1"}
    # Where a bound's curve never reaches the target, the interval is open on that side.
    low, high = max(min(where("median_low"), epsilon), PRIVACY_RANGE[0] / 2), max(where("median_high"), epsilon)
    interval = {"epsilon_low": low, "epsilon_high": min(high, PRIVACY_RANGE[1] * 2)}
    return parameters | {"epsilon": epsilon, "reached": "yes"} | interval

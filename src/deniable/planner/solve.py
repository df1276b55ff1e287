"""The root of a decreasing function: a bracketed secant method in logarithms, and plain bisection."""

from collections.abc import Callable
from math import ceil, exp, floor, inf, log, log10, sqrt


class Outside(Exception):
    """The target is not met inside the range; `value` is the loss at the end that comes nearest."""

    def __init__(self, value: float, *, below: bool) -> None:
        super().__init__(value)
        self.value, self.below = value, below


def crossing(
    loss: Callable[[float], float],
    target: float,
    *,
    low: float,
    high: float,
    start: float,
    power: float = 1.0,
    tolerance: float = 4e-3,
    most: int = 40,
) -> float:
    """The x in [low, high] at which a falling loss(x) reaches the target, to `tolerance` of itself, from above.

    `power` is a first guess of its slope, x**-power. The answer always meets the target. `Outside` is raised where even
    `high` does not (below=False), or where `low` already does (below=True).

    >>> round(crossing(lambda x: 3 / x, 1.5, low=0.01, high=100, start=1), 2)
    2.0
    """

    def height(x: float) -> float:
        value = loss(exp(x))
        return log(value / target) if 0 < value < float("inf") else (1e3 if value > 0 else -1e3)

    bottom, top = log(low), log(high)
    x = min(max(log(start), bottom), top)
    above: tuple[float, float] | None = None  # misses the target
    below: tuple[float, float] | None = None  # meets it
    stride = 1.0  # steps grow until the target is enclosed: the curve may be flatter than `power` says
    for _ in range(most):
        y = height(x)
        if y > 0:
            above = (x, y)
            if x >= top:
                raise Outside(loss(high), below=False)
        else:
            below = (x, y)
            if x <= bottom:
                raise Outside(loss(low), below=True)
        if above and below:
            if abs(below[0] - above[0]) <= tolerance:
                break
            slope = (below[1] - above[1]) / (below[0] - above[0])
            step = above[0] - above[1] / slope if slope < 0 else (above[0] + below[0]) / 2
            # Keep a distance from the ends of the bracket: evaluating there again would add no information.
            a, b = min(above[0], below[0]), max(above[0], below[0])
            margin = max(0.1 * (b - a), 0.4 * tolerance)
            x = min(max(step, a + margin), b - margin)
        else:
            known = above or below
            assert known is not None
            step = min(max(known[1] / power * 1.1, -3.0), 3.0)
            x = known[0] + stride * (max(step, 0.02) if above else min(step, -0.02))
            stride *= 1.7
            x = min(max(x, bottom), top)
    assert below is not None
    return exp(below[0])


def least(meets: Callable[[float], bool], low: float, high: float, tolerance: float) -> float:
    """The least x in [low, high], to `tolerance` of itself, from which on a condition is met; it is at `high`.

    >>> 2 <= least(lambda x: x >= 2, 0.001, 12, 1e-4) < 2.0002
    True
    """
    while high / low > 1 + tolerance:
        middle = sqrt(low * high)
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def rounded_up(value: float, digits: int) -> float:
    """`value` rounded up to some significant digits.

    >>> rounded_up(1.2341, 3), rounded_up(123_400_001, 3), rounded_up(0.5, 3)
    (1.24, 124000000.0, 0.5)
    """
    if value in (0.0, inf):
        return value
    scale = digits - 1 - floor(log10(value))
    found = ceil(round(value * 10.0**scale, 6)) / 10.0**scale
    return float(f"{found:.{digits}g}")

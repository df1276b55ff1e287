"""Lower and upper bounds of the minimax risk of any private mechanism, up to constants, for epsilon at most 1.

Paper: `prop:opt_lb_lp`, after Duchi, Jordan and Wainwright (2013). The constants are universal but not given, so the
caller names them. What is known about them from this package's own formulas (tests/unit/theory/test_errata.py):

* c_upper = 4.25 is large enough: k-RAPPOR's empirical estimator has a squared l2 risk of at most 4.25 k / (n eps**2);
* c_lower cannot exceed 0.4: Warner's response, shrunk towards one half, has a squared l2 risk below 0.4 where the
  rate is 1 (k = 2, n eps**2 = 1).
"""

import math

from deniable.errors import DeniableError
from deniable.theory.arguments import count_of, privacy


def private_minimax_l2(k: int, epsilon: object, n: int, *, c_lower: float, c_upper: float) -> tuple[float, float]:
    """Bounds of the minimax squared l2 risk over all epsilon-private mechanisms, for epsilon in [0, 1].

    The two rates agree once n epsilon**2 >= k**2; below that they differ by up to sqrt(k), at n epsilon**2 = k.

    Paper: `prop:opt_lb_lp`, c_l min(1, 1 / sqrt(n eps**2), k / (n eps**2)) <= r <= c_u min(1, k / (n eps**2)).
    Claim: k-RAPPOR's risk respects the upper bound for c_u = 4.25 and the lower one for c_l = 0.4.
    Proof: tests/unit/theory/test_minimax.py::test_krappor_lies_between_the_bounds

    Parameters
    ----------
    k : int
        Symbols, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats, from 0 to 1.
    n : int
        People, one report from each; at least 1.
    c_lower, c_upper : float
        The universal constants of the two bounds, 0 < c_lower <= c_upper < 5.

    Returns
    -------
    tuple of float
        The lower and the upper bound.

    Raises
    ------
    DeniableError
        If epsilon is above 1, or an argument is outside its range.

    Examples
    --------
    >>> private_minimax_l2(10, 1.0, 10_000, c_lower=0.25, c_upper=4.25)
    (0.00025, 0.00425)
    """
    low, high = _constants(c_lower, c_upper)
    size, weight = count_of("k", k, 2), _signal(epsilon, n)
    if weight == 0:
        return low, high
    return low * min(1.0, 1 / math.sqrt(weight), size / weight), high * min(1.0, size / weight)


def private_minimax_l1(k: int, epsilon: object, n: int, *, c_lower: float, c_upper: float) -> tuple[float, float]:
    """Bounds of the minimax l1 risk over all epsilon-private mechanisms, for epsilon in [0, 1].

    Paper: `prop:opt_lb_lp`, c_l min(1, k / sqrt(n eps**2)) <= r <= c_u min(1, k / sqrt(n eps**2)).
    Claim: k-RAPPOR's risk respects the upper bound for c_u = 4.25 and the lower one for c_l = 0.4.
    Proof: tests/unit/theory/test_minimax.py::test_krappor_lies_between_the_bounds

    Parameters
    ----------
    k, epsilon, n, c_lower, c_upper
        As for `private_minimax_l2`.

    Returns
    -------
    tuple of float
        The lower and the upper bound.

    Raises
    ------
    DeniableError
        If epsilon is above 1, or an argument is outside its range.

    Examples
    --------
    >>> private_minimax_l1(10, 1.0, 10_000, c_lower=0.25, c_upper=2.5)
    (0.025, 0.25)
    """
    low, high = _constants(c_lower, c_upper)
    size, weight = count_of("k", k, 2), _signal(epsilon, n)
    rate = min(1.0, size / math.sqrt(weight)) if weight else 1.0
    return low * rate, high * rate


def _signal(epsilon: object, n: int) -> float:
    """n epsilon**2, for an epsilon in [0, 1]."""
    people = count_of("n", n, 1)
    value = 0.0 if epsilon == 0 else privacy(epsilon)
    if value > 1:
        raise DeniableError(
            f"epsilon must be at most 1 for these bounds, got {value:g}; the paper proves them there only"
        )
    return people * value**2


def _constants(c_lower: float, c_upper: float) -> tuple[float, float]:
    if not 0 < c_lower <= c_upper < 5:
        raise DeniableError(f"c_lower and c_upper must obey 0 < c_lower <= c_upper < 5, got {c_lower} and {c_upper}")
    return c_lower, c_upper

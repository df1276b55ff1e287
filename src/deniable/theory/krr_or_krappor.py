"""k-RR against k-RAPPOR: which of the two has the smaller squared l2 risk, and from which epsilon on.

Both risks share the term (1 - sum p**2) / n, so the answer does not depend on the population. With s = e**(eps/2) the
paper's f(eps, k) is k s (s + 1)**2 / ((k - 1) (2 s**2 + k - 2)), and f >= 1 is the cubic inequality

    g(s) = k s**3 + 2 s**2 + k s - (k - 1)(k - 2) >= 0.

g increases for s > 0 and g(1) = k (5 - k): up to k = 5 k-RR never loses, past it there is exactly one crossover. It
lies below (2/3) ln k, because g(k**(1/3)) > 0, and approaches it as k grows.
"""

import math

from deniable.theory.arguments import count_of, privacy


def krr_advantage(k: int, epsilon: object) -> float:
    """f(epsilon, k): the loss that privacy adds under k-RAPPOR divided by the one it adds under k-RR, for squared l2.
    k-RR is better where it is above 1.

    Paper: supplement, proof of `prop:rr_high_eps_l2_win`.
    Claim: f increases in epsilon. f' has the sign of 2 s**3 - 2 s**2 + (3 s + 1)(k - 2), and s >= 1, k >= 2.
    Proof: tests/unit/theory/test_comparison.py::test_advantage_is_the_ratio_of_the_risks

    Parameters
    ----------
    k : int
        Symbols, at least 2.
    epsilon : float, str or Fraction
        The privacy budget, in nats.

    Returns
    -------
    float
        f(epsilon, k).

    Raises
    ------
    DeniableError
        If k or n is not an integer in its range or epsilon cannot be parsed.

    Examples
    --------
    >>> round(krr_advantage(8, math.log(8)), 4), round(krr_advantage(7, math.log(7)), 4)
    (2.1536, 2.1593)
    """
    size, s = count_of("k", k, 2), math.exp(privacy(epsilon) / 2)
    return size * s * (s + 1) ** 2 / ((size - 1) * (2 * s * s + size - 2))


def crossover(k: int) -> float | None:
    """The epsilon at which k-RR and k-RAPPOR have the same risk. k-RR is better above it, and for k <= 5 at every
    epsilon.

    Paper: `prop:rr_high_eps_l2_win`, which only says that it is at most ln(k/2).
    Claim: f(crossover(k), k) = 1, and crossover(k) < (2/3) ln k.
    Proof: tests/unit/theory/test_comparison.py::test_crossover_is_where_the_risks_meet

    Parameters
    ----------
    k : int
        Symbols, at least 2.

    Returns
    -------
    float or None
        The epsilon, in nats; None for k <= 5.

    Raises
    ------
    DeniableError
        If k is not an integer of at least 2.

    Examples
    --------
    >>> crossover(5), [round(crossover(k) or 0, 3) for k in (7, 100, 4096)]
    (None, [0.591, 3.015, 5.542])
    """
    size = count_of("k", k, 2)
    if size <= 5:
        return None
    # g is convex for s > 0 and positive at k**(1/3), so Newton's steps fall monotonically to the root.
    s, last = size ** (1 / 3), math.inf
    while s < last:
        last = s
        value = ((size * s + 2) * s + size) * s - (size - 1) * (size - 2)
        s -= value / ((3 * size * s + 4) * s + size)
    return 2 * math.log(last)


def krr_wins_from_log_half(k: int) -> bool:
    """Whether k-RR is no worse than k-RAPPOR for every epsilon >= ln(k/2), decided in integers.

    f increases, so epsilon = ln(k/2) decides: there s**2 = k/2, and g(s) >= 0 reads
    (k/2 + 1) k s >= k**2 - 4 k + 2; squared, k**3 (k + 2)**2 >= 8 (k**2 - 4 k + 2)**2 where the right side is positive.
    It holds for every k: from 8 on s >= 2, and 2 (k**2 - 4 k + 2) < 2 k (k + 2); the six smaller ones are checked.

    Paper: `prop:rr_high_eps_l2_win`; its proof stops at ln k.
    Claim: true for every k >= 2.
    Proof: tests/unit/theory/test_comparison.py::test_krr_wins_from_log_half_for_every_k

    Parameters
    ----------
    k : int
        Symbols, at least 2.

    Returns
    -------
    bool
        True for every k; computed, not assumed.

    Raises
    ------
    DeniableError
        If k is not an integer of at least 2.

    Examples
    --------
    >>> all(krr_wins_from_log_half(k) for k in range(2, 1000))
    True
    """
    size = count_of("k", k, 2)
    right = size * size - 4 * size + 2
    return right <= 0 or size**3 * (size + 2) ** 2 >= 8 * right * right

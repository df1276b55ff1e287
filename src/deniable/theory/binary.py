"""Warner's response is optimal for two symbols: any other private binary channel is Warner's and post-processing.

Paper: `thm:opt_bin`. With rows as inputs (the paper's m = p Q) the claim is Q = Q_WRR W for a stochastic W with as many
columns as Q has outputs. An analyst who holds Warner's reports can apply W to them and has Q's reports, so no risk
under Q, whatever the loss, can be below Warner's.
"""

from collections.abc import Sequence
from fractions import Fraction

from deniable.errors import DeniableError


def factor_through_warner(
    channel: Sequence[Sequence[Fraction]], odds: Fraction
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]] | None:
    """W with Q = Q_WRR W, exactly, or None when the 2 x l channel Q is not private at these odds (e**epsilon).

    The inverse of Q_WRR is [[E, -1], [-1, E]] / (E - 1), `eq:inv_rr` with k = 2, so the first row of W is
    (E Q(y|1) - Q(y|2)) / (E - 1): non-negative for all y exactly when Q(y|2) <= E Q(y|1). It sums to (E - 1) / (E - 1).

    Paper: `thm:opt_bin`, after Kairouz, Oh and Viswanath (2014).
    Claim: a stochastic W exists if and only if Q is epsilon-locally private.
    Proof: tests/unit/theory/test_binary.py::test_private_channels_factor_and_no_others

    Parameters
    ----------
    channel : sequence of two sequences of Fraction
        Q: one row an input, one column an output; rows add up to exactly 1.
    odds : Fraction
        e**epsilon, above 1.

    Returns
    -------
    tuple of two tuples of Fraction, or None
        The rows of W; None if Q is not private at these odds.

    Raises
    ------
    DeniableError
        If odds is at most 1, or the channel does not have two stochastic rows of one length.

    Examples
    --------
    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> factor_through_warner([[half, half], [third, 1 - third]], Fraction(3))
    ((Fraction(7, 12), Fraction(5, 12)), (Fraction(1, 4), Fraction(3, 4)))
    >>> factor_through_warner([[1 - half / 4, half / 4], [half, half]], Fraction(3)) is None
    True
    """
    if odds <= 1:
        raise DeniableError(f"odds must be greater than 1, got {odds}; at odds 1 a report says nothing")
    if len(channel) != 2 or len(channel[0]) != len(channel[1]):
        raise DeniableError("channel must have two rows of one length, one for each input")
    if any(sum(row) != 1 or min(row) < 0 for row in channel):
        raise DeniableError("channel rows must be non-negative and sum to exactly 1; give them as Fractions")
    first, second = channel
    rows = tuple(
        tuple((odds * a - b) / (odds - 1) for a, b in zip(one, other, strict=True))
        for one, other in ((first, second), (second, first))
    )
    return None if any(entry < 0 for row in rows for entry in row) else (rows[0], rows[1])

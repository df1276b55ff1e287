"""Epsilon as exact numbers: parsing, bounds of e**x, and the thresholds that follow from them.

Everything is integer arithmetic. e**x is irrational for every rational x > 0, so `ceil(2**w / (e**x + k - 1))` is one
well-defined integer; it is found by bracketing e**x between two rationals and narrowing the bracket until both ends
give the same answer. Any client, in any language, that does the same gets the same threshold.
"""

import decimal
import math
import numbers
from collections.abc import Sequence
from fractions import Fraction

from deniable.errors import SurveyError

# The range of epsilon that is read, in nats. 64-bit thresholds cannot realise more than ln(2**64), about 44.
_SMALLEST, _LARGEST = Fraction(1, 10**9), Fraction(64)


def parse_epsilon(value: object, name: str = "epsilon") -> Fraction:
    """Epsilon as an exact rational, from a float (by its repr), an integer, decimal or `a/b` text, or a Fraction.

    Parameters
    ----------
    value : float, int, str or Fraction
        The number.
    name : str
        What it is called in an error.

    Raises
    ------
    SurveyError
        If it is no positive number between 1e-9 and 64.

    Examples
    --------
    >>> parse_epsilon(0.1), parse_epsilon("1/3"), parse_epsilon(2)
    (Fraction(1, 10), Fraction(1, 3), Fraction(2, 1))
    """
    try:
        shown = str(value)[:40]
    except ValueError:
        shown = "a number of thousands of digits"
    refusal = SurveyError(f"{name} must be a positive finite number, decimal text or a fraction, got {shown!r}")
    outside = SurveyError(
        f"{name} must be between 1e-9 and 64 with at most 256-bit parts, got {shown!r}; "
        "a useful epsilon lies between 0.1 and 10"
    )
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, decimal.Decimal, str)):
        raise refusal
    if isinstance(value, numbers.Rational):
        exact = Fraction(int(value.numerator), int(value.denominator))
    else:
        try:
            exact = read_fraction(str(value))
        except ValueError:
            raise refusal from None
        except OverflowError:
            raise outside from None
    if exact == 0:
        raise SurveyError(f"{refusal}; a survey with epsilon 0 carries no information")
    if exact < 0:
        raise refusal
    if not _SMALLEST <= exact <= _LARGEST or max(exact.numerator, exact.denominator).bit_length() > 256:
        raise outside
    return exact


def read_fraction(text: str) -> Fraction:
    """The number that decimal or `a/b` text spells, exactly, whoever wrote it: "1e999999999" costs nothing.

    Parameters
    ----------
    text : str
        The text.

    Raises
    ------
    ValueError
        If it spells no finite number.
    OverflowError
        If its exponent has more than two digits.

    Examples
    --------
    >>> read_fraction("1e-2"), read_fraction("-2/3")
    (Fraction(1, 100), Fraction(-2, 3))
    """
    text = text.strip()
    # The length and the exponent are bounded before Fraction() sees them.
    mantissa, _, exponent = text.lower().partition("e")
    if len(text) > 400 or not (set(mantissa) <= set("0123456789./+-_") and set(exponent) <= set("0123456789+-")):
        raise ValueError("text must spell a number")
    if len(exponent.lstrip("+-")) > 2:
        raise OverflowError("the exponent must have at most two digits")
    try:
        return Fraction(text)
    except ZeroDivisionError:
        raise ValueError("text must spell a finite number") from None


def epsilon_text(epsilon: Fraction) -> str:
    """The one spelling that surveys store: plain decimal text where that is exact, else `a/b`.

    Parameters
    ----------
    epsilon : Fraction
        What `parse_epsilon` returned.

    Examples
    --------
    >>> epsilon_text(Fraction(1, 10)), epsilon_text(Fraction(2)), epsilon_text(Fraction(1, 3))
    ('0.1', '2', '1/3')
    """
    rest, twos, fives = epsilon.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        return f"{epsilon.numerator}/{epsilon.denominator}"
    places = max(twos, fives)
    if places == 0:
        return str(epsilon.numerator)
    digits = str(epsilon.numerator * 10**places // epsilon.denominator).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Integers lo, hi with lo <= e**x * 2**bits <= hi, from the Taylor series in fixed point, for x >= 0.

    Terms are positive, so rounding each one down (up) keeps the sum below (above). Once i > 2x every term is at most
    half the one before, so what is left of the series is at most the last term.

    Parameters
    ----------
    x : Fraction
        The exponent.
    bits : int
        Fractional bits.

    Examples
    --------
    >>> lo, hi = exp_bounds(Fraction(1), 64)
    >>> lo / 2**64 <= 2.718281828459045 <= hi / 2**64 and hi - lo < 64
    True
    """
    low_term = high_term = low = high = 1 << bits
    i = 0
    while low_term or high_term > 1 or i <= 2 * x:
        i += 1
        low_term = low_term * x.numerator // (x.denominator * i)
        high_term = -(-high_term * x.numerator // (x.denominator * i))
        low += low_term
        high += high_term
    return low, high + high_term


def other_weight(epsilon: Fraction, cells: int, width: int, occupied: int = 1, times: int = 1) -> int:
    """B = ceil(2**width / (s e**epsilon + b - s)): the least weight of each of the cells that are not true.

    There are b cells, `occupied` = s of them true. `times` of them together have ceil(times * 2**width / ...), which is
    rounded once.

    Claim: with A = (2**width - (b - s) * B) / s, A / B <= e**epsilon; and so for every larger B.
    Proof: B >= M / (s e**epsilon + b - s) gives B * s * e**epsilon >= M - (b - s) * B = s * A.
        tests/exact/test_thresholds.py::test_thresholds_keep_the_promise

    >>> other_weight(Fraction(1), 3, 8)
    55
    """
    span, bits = 1 << width, 2 * width + 64
    while True:
        low, high = exp_bounds(epsilon, bits)
        from_low = -(-(times * span << bits) // (occupied * low + ((cells - occupied) << bits)))
        from_high = -(-(times * span << bits) // (occupied * high + ((cells - occupied) << bits)))
        if from_low == from_high:
            return from_low
        bits *= 2


def nearest_exp(epsilon: Fraction) -> int:
    """The integer nearest to e**epsilon, the same on every platform: e**epsilon is never half-way between two.

    Parameters
    ----------
    epsilon : Fraction
        The exponent, at least 0.

    Examples
    --------
    >>> [nearest_exp(Fraction(x, 2)) for x in (1, 2, 4, 6)]
    [2, 3, 7, 20]
    """
    bits = 64
    while True:
        low, high = ((bound + (1 << bits - 1)) >> bits for bound in exp_bounds(epsilon, bits))
        if low == high:
            return low
        bits *= 2


def at_most_exp(ratio: Fraction, epsilon: Fraction) -> bool:
    """Whether ratio <= e**epsilon, decided exactly.

    Parameters
    ----------
    ratio : Fraction
        The ratio.
    epsilon : Fraction
        The exponent, in nats.

    Examples
    --------
    >>> at_most_exp(Fraction(2718281828, 10**9), Fraction(1)), at_most_exp(Fraction(2718281829, 10**9), Fraction(1))
    (True, False)
    """
    if epsilon == 0:
        return ratio <= 1
    bits = 128
    while True:
        low, high = exp_bounds(epsilon, bits)
        if ratio.numerator << bits <= low * ratio.denominator:
            return True
        if ratio.numerator << bits > high * ratio.denominator:
            return False
        bits *= 2


def log_floor(ratio: Fraction, ceiling: Fraction) -> float:
    """ln(ratio) as the nearest float that is not above `ceiling`, for a ratio already proved to be <= e**ceiling.

    Parameters
    ----------
    ratio : Fraction
        A ratio of probabilities.
    ceiling : Fraction
        The bound.

    Examples
    --------
    >>> log_floor(Fraction(3), Fraction(2))
    1.0986122886681098
    """
    with decimal.localcontext() as context:
        context.prec = 60
        value = float((decimal.Decimal(ratio.numerator) / decimal.Decimal(ratio.denominator)).ln())
    # ln(ratio) <= ceiling, so at most the rounding carried it over: one step back is enough.
    return math.nextafter(value, -math.inf) if Fraction(value) > ceiling else value


def verify(rows: Sequence[Sequence[int]], epsilon: object) -> bool:
    """Whether a finite channel, given as rows of integer weights, is epsilon-locally private; exact, no tolerance.

    Every row must have the same sum (the weights are probabilities over it). A column may hold a zero only if it is
    zero throughout: an output that one input can produce and another cannot gives the answer away.

    Parameters
    ----------
    rows : sequence of sequences of int
        The weights of all outputs, a row for each input.
    epsilon : float, str or Fraction
        The budget, in nats.

    Raises
    ------
    SurveyError
        If the rows are no channel.

    Examples
    --------
    >>> verify([[3, 1], [1, 3]], "1.0986122886681099"), verify([[3, 1], [1, 3]], "1.0986122886681096")
    (True, False)
    >>> verify([[1, 0], [0, 1]], 10)
    False
    """
    exact = parse_epsilon(epsilon)
    if any(weight < 0 for row in rows for weight in row):
        raise SurveyError("channel weights must not be negative")
    if len({sum(row) for row in rows}) != 1 or len({len(row) for row in rows}) != 1 or not any(rows[0]):
        raise SurveyError("channel rows must have equal lengths and equal, positive sums")
    for column in zip(*rows, strict=True):
        smallest, largest = min(column), max(column)
        if largest and (not smallest or not at_most_exp(Fraction(largest, smallest), exact)):
            return False
    return True

"""Ratios and probabilities as people read them, rounded so that what is said of them stays true."""

import math
from fractions import Fraction

__all__ = ["at_most", "chance"]


def at_most(ratio: Fraction) -> str:
    """A number with two digits, rounded up, so that "at most" stays true.

    >>> at_most(Fraction(7389, 1000)), at_most(Fraction(2001, 1000)), at_most(Fraction(22026))
    ('7.4', '2.1', '23,000')
    """
    scale = Fraction(10) ** (1 - math.floor(math.log10(ratio)))
    rounded = math.ceil(ratio * scale) / scale
    return f"{int(rounded):,}" if rounded.denominator == 1 else f"{float(rounded):g}"


def chance(probability: Fraction, *, up: bool = False) -> str:
    """A probability as a percentage, with two digits of what it differs from 0 or 1 by.

    It is rounded to the nearest, or `up`, so that "at most" stays true.

    >>> chance(Fraction(4018, 10000)), chance(Fraction(544, 10000)), chance(Fraction(9997, 10000))
    ('40 %', '5.4 %', '99.970 %')
    >>> chance(Fraction(4018, 10000), up=True)
    '41 %'
    """
    if probability in (0, 1):
        return f"{100 * int(probability)} %"
    hundred = 100 * probability
    places = max(0, 1 - math.floor(math.log10(min(hundred, 100 - hundred))))
    digits = math.ceil(hundred * 10**places) if up else round(hundred * 10**places)
    return f"{digits // 10**places}{'.' * (places > 0)}{str(digits % 10**places).zfill(places) if places else ''} %"

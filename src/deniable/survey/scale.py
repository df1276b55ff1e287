"""A scale of numbers: its bins, and which of them a number belongs to, for every double alike everywhere.

Edges are decimal numbers of at most twelve places, worked out in integers, and each is used as the double nearest to
it. An answer is rounded to a double too, if it is not one, and compared with those edges. So there is nothing left that
a platform could round in its own way, and 0.29 belongs to the bin that begins at 0.29. A number outside of the scale is
put into the first or the last bin, or refused, as the survey says; either happens before any noise.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from numbers import Rational, Real

from deniable.errors import AlphabetError, SurveyError
from deniable.mechanisms import check_size, read_fraction

__all__ = ["OUTSIDE", "Scale", "decimal_text", "scale_of"]

OUTSIDE = ("clamp", "refuse")  # what becomes of numbers outside of the scale
PLACES = 12  # decimal places of edges and points
_STATED = 10  # decimal places of low, high and step, at most, so that half a step has no more than PLACES
_LARGEST = 10**15  # what numbers of a scale must stay below, so that doubles tell its units apart
_UNIT = 10**PLACES  # parts of one that edges are counted in
_MOST_BINS = 1 << 16  # bins, at most: as many as a report has cells (survey.blocks.MAX_CELLS)


def decimal_text(name: str, value: object) -> str:
    """The one spelling of a decimal number: no exponent, no needless zeros.

    >>> [decimal_text("low", v) for v in (18, "18.50", 0.1, Fraction(1, 8), Decimal("-1e2"))]
    ['18', '18.5', '0.1', '0.125', '-100']
    """
    if isinstance(value, bool) or not isinstance(value, (str, Real, Decimal)):
        raise SurveyError(f"{name} must be a number, got {type(value).__name__}")
    exact: Fraction | None
    try:
        if isinstance(value, Rational):
            exact = Fraction(int(value.numerator), int(value.denominator))  # of Python's integers, not of NumPy's
        else:
            exact = read_fraction(str(value))
    except ValueError:
        raise SurveyError(f"{name} must be a finite number, got {str(value)[:40]!r}") from None
    except OverflowError:
        exact = None
    if exact is None or abs(exact) >= _LARGEST or (exact * 10**_STATED).denominator != 1:
        raise SurveyError(
            f"{name} must be below 10**15 in size and have at most {_STATED} decimal places, got {str(value)[:40]!r}; "
            "use another unit, such as thousands"
        )
    return _spelled(int(exact * _UNIT))


def _spelled(units: int) -> str:
    """A number of units of 10**-12 in decimal digits."""
    digits = str(abs(units)).zfill(PLACES + 1)
    text = f"{digits[:-PLACES]}.{digits[-PLACES:]}".rstrip("0").rstrip(".")
    return "-" * (units < 0) + text


def _units(text: str) -> int:
    return int(Fraction(text) * _UNIT)


@dataclass(frozen=True, slots=True)
class Scale:
    """Equal bins from `low` to `high`; or, with a `step`, the numbers low, low + step, ..., high themselves.

    With a step an answer is rounded to the nearest of these numbers (upwards from half-way), so what is estimated are
    the rounded numbers. Without one nothing is known of where in its bin a number lies.

    Parameters
    ----------
    low, high : str
        Decimal numbers as `decimal_text` spells them.
    bins : int
        How many bins, or numbers.
    step : str, optional
        The distance of the numbers.
    outside : str
        "clamp" or "refuse": what becomes of a number outside of the scale.

    Examples
    --------
    >>> scale = Scale("0", "1", 4)
    >>> scale.edges, scale.names[0], [scale.bin(x) for x in (-3, 0.25, 0.2499, 1)]
    ((0.0, 0.25, 0.5, 0.75, 1.0), '0 to 0.25', [0, 1, 0, 3])
    >>> whole = Scale("1", "5", 5, "1")
    >>> whole.names, [whole.bin(x) for x in (2, 2.5, 7)], whole.points
    (('1', '2', '3', '4', '5'), [1, 2, 4], (1.0, 2.0, 3.0, 4.0, 5.0))
    """

    low: str
    high: str
    bins: int
    step: str | None = None
    outside: str = "clamp"
    edges: tuple[float, ...] = field(init=False, repr=False, compare=False)  # of all bins, one more than bins
    points: tuple[float, ...] = field(init=False, repr=False, compare=False)  # their centres, or the numbers
    names: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("low", "high", *(("step",) if self.step is not None else ())):
            if getattr(self, name) != decimal_text(name, getattr(self, name)):
                raise SurveyError(f"{name} must be spelled {decimal_text(name, getattr(self, name))!r} in a survey")
        if self.outside not in OUTSIDE:
            raise SurveyError(f"outside must be 'clamp' or 'refuse', got {str(self.outside)[:40]!r}")
        object.__setattr__(self, "bins", check_size("bins", self.bins, 2, _MOST_BINS))
        low, high = _units(self.low), _units(self.high)
        if low >= high:
            raise SurveyError(f"low must be below high, got {self.low} and {self.high}")
        half = 0
        if self.step is not None:
            half = _units(self.step) // 2
            if half <= 0 or 2 * half * (self.bins - 1) != high - low:
                raise SurveyError(
                    f"step must be above zero and divide the range from low to high, got {self.step} for {self.low} to "
                    f"{self.high}; move high by less than a step"
                )
        first, span = low - half, high - low + 2 * half
        places = [first + span * i // self.bins for i in range(self.bins + 1)]
        edges = tuple(place / _UNIT for place in places)  # the nearest doubles: integers are divided exactly
        if any(a >= b for a, b in pairwise(edges)):
            raise SurveyError(f"bins must be wide enough to hold a number each, got {self.bins}; use fewer")
        if half:
            exact = [low + 2 * half * i for i in range(self.bins)]
            names = [_spelled(units) for units in exact]
            points = [units / _UNIT for units in exact]
        else:
            spelled = [_spelled(place) for place in places]
            names = [f"{a} to {b}" for a, b in pairwise(spelled)]
            points = [(a + b) / (2 * _UNIT) for a, b in pairwise(places)]
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "points", tuple(points))
        object.__setattr__(self, "names", tuple(names))

    def bin(self, value: object) -> int:
        """The number of the bin that a number belongs to, from 0.

        Parameters
        ----------
        value : int, float, Decimal or Fraction
            A finite number.

        Raises
        ------
        AlphabetError
            If it is no finite number, or outside of the scale where that is refused. The message does not show it.
        """
        if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
            raise AlphabetError(_no_number(value))
        try:
            number = float(value)
        except (OverflowError, ValueError):
            number = math.inf
        if number != number:
            raise AlphabetError("answer must be a number, got a missing one (NaN); leave people without one out")
        if abs(number) == math.inf:
            raise AlphabetError("answer must be a finite number, got one that is not")
        if self.outside == "refuse" and not float(self.low) <= number <= float(self.high):
            raise AlphabetError(f"answer must be from {self.low} to {self.high} in this survey, got a number outside")
        return bisect_right(self.edges, number, 1, self.bins) - 1

    @property
    def width(self) -> float:
        """How far apart two numbers of one bin can be: zero where a bin is one number."""
        return 0.0 if self.step is not None else (_units(self.high) - _units(self.low)) / self.bins / _UNIT

    def to_json(self) -> dict[str, object]:
        """The fields that a survey file has for it, kind first."""
        size: dict[str, object] = {"bins": self.bins} if self.step is None else {"step": self.step}
        return {"kind": "number", "low": self.low, "high": self.high} | size | {"outside": self.outside}


def _no_number(value: object) -> str:
    if value is None:
        return "answer must be a number, got none; leave people without one out"
    step = "; read it with float() first" if isinstance(value, (str, bytes)) else ""
    return f"answer must be a number, got {'text' if isinstance(value, str) else type(value).__name__}{step}"


def scale_of(low: object, high: object, bins: object = None, step: object = None, outside: str = "clamp") -> Scale:
    """A scale from numbers as people write them; 256 bins if neither bins nor a step are given.

    >>> scale_of(18, 90, step=1).bins, scale_of(0, 1).bins, scale_of(0, 100_000, bins=64).names[1]
    (73, 256, '1562.5 to 3125')
    """
    ends = decimal_text("low", low), decimal_text("high", high)
    if step is None:
        return Scale(*ends, 256 if bins is None else bins, None, outside)  # type: ignore[arg-type]
    if bins is not None:
        raise SurveyError("bins must not be given with a step, which decides how many there are; leave one of them out")
    width = decimal_text("step", step)
    count = (Fraction(ends[1]) - Fraction(ends[0])) / Fraction(width) if Fraction(width) > 0 else Fraction(1)
    return Scale(*ends, max(int(count) + 1, 2), width, outside)

"""Populations to plan for: named shapes, and the family that "worst" stands for.

A plan has to assume a population. "worst" is the largest loss over a family of shapes, from all symbols alike to half
of everyone on one, with the skewed ones of the paper in between. It is a fixed list, not a proof about every
population.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from deniable.errors import DeniableError
from deniable.lab import binomial, geometric, uniform, zipf
from deniable.theory import Classes, distribution

Floats = npt.NDArray[np.float64]

NAMES = ("worst", "uniform", "geometric", "zipf", "binomial", "even", "spike")


@dataclass(frozen=True, eq=False)
class Shape:
    """A named population, and its approximation by a few classes of symbols."""

    name: str
    p: Floats
    classes: Classes

    @classmethod
    def of(cls, name: str, p: Floats) -> "Shape":
        return cls(name, p, Classes.of(p))


def family(size: int) -> list[Shape]:
    """The shapes whose largest loss "worst" stands for.

    Even over all S symbols, over half of them, over a quarter, ... down to two; the paper's geometric distribution of
    mean S / 5; Zipf's with exponents 1 and 2; and half of everyone on one symbol, the rest even.

    >>> [shape.name for shape in family(8)]
    ['uniform', 'even over 4', 'even over 2', 'geometric', 'zipf', 'zipf 2', 'spike']
    """
    found = [Shape.of("uniform", uniform(size))]
    held = size // 2
    while held >= 2:
        found.append(Shape.of(f"even over {held}", _even(size, held)))
        held //= 2
    if size > 2:
        found += [Shape.of("geometric", geometric(size, size / 5)), Shape.of("zipf", zipf(size, 1.0))]
        found += [Shape.of("zipf 2", zipf(size, 2.0)), Shape.of("spike", _spike(size, 0.5))]
    else:
        found.append(Shape.of("one in ten", np.array([0.1, 0.9])))
    return found


def shapes_of(shape: object, size: int) -> list[Shape]:
    """The shapes to plan for: a family for "worst", one for any other name ("zipf", "zipf:1.5") or an array of shares.

    The number after a colon is the mean of the geometric distribution (S / 5 without one), the exponent of Zipf's (1),
    q of the binomial (0.5), over how many symbols "even" is (S / 2), the share of the "spike" (0.5).

    >>> shapes_of("zipf:2", 4)[0].p.round(3)
    array([0.702, 0.176, 0.078, 0.044])
    >>> len(shapes_of("worst", 256))
    12
    """
    if not isinstance(shape, str):
        return [Shape.of("as given", distribution(np.asarray(shape), size))]
    name, _, text = shape.partition(":")
    if name not in NAMES:
        raise DeniableError(
            f"shape must be one of {', '.join(NAMES)} or one share a symbol, got {shape[:40]!r}; "
            "a number may follow a name, as in zipf:1.5"
        )
    if name in ("worst", "uniform"):
        if text:
            raise DeniableError(f"shape must have no number after {name}, got {shape[:40]!r}")
        return family(size) if name == "worst" else [Shape.of(name, uniform(size))]
    usual = {"geometric": size / 5, "zipf": 1.0, "binomial": 0.5, "even": max(1, size // 2), "spike": 0.5}[name]
    limit = {"geometric": 1e6, "zipf": 1e3, "binomial": 1.0, "even": float(size), "spike": 1.0}[name]
    try:
        number = float(text) if text else usual
    except ValueError:
        number = -1.0
    whole = name != "even" or number == int(number)
    if not 0 < number <= limit or not whole or (name in ("binomial", "spike") and number == 1):
        rule = f"a whole number up to {size}" if name == "even" else f"a number above 0, at most {limit:g}"
        rule = "a number between 0 and 1" if name in ("binomial", "spike") else rule
        raise DeniableError(f"shape must have {rule} after {name}, got {shape[:40]!r}")
    make = {"geometric": geometric, "zipf": zipf, "binomial": binomial, "spike": _spike}
    p = _even(size, int(number)) if name == "even" else make[name](size, number)
    return [Shape.of(name if not text else f"{name} {number:g}", p)]


def _even(size: int, held: int) -> Floats:
    p = np.zeros(size)
    p[:held] = 1.0 / held
    return p


def _spike(size: int, share: float) -> Floats:
    p = np.full(size, (1.0 - share) / (size - 1))
    p[0] = share
    return p

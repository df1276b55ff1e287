"""A mechanism with every setting of its parameters, as closed forms: what a person's report costs in variance.

The unbiased estimate of a symbol of share p has n times the variance base + slope p - curve p**2 (`catalogue` has the
formula of each mechanism). A family holds its options as arrays, so that thousands are compared at once; nothing here
is simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.planner.shapes import Shape
from deniable.survey import Alphabet, Survey

__all__ = ["FAMILIES", "Family", "Law", "Limits", "Moments", "Option", "Rates"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# The order in which they are shown; others follow.
FAMILIES = ("k-RR", "SS", "PGR", "HR", "OUE", "k-RAPPOR", "O-RR", "O-RAPPOR")
_SLACK = 0.02


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plan may use: bytes of a packed report, and cohorts; and what it must do."""

    max_bytes: int | None = None
    max_cohorts: int | None = None
    again: bool = False  # whether every report is randomised again


@dataclass(frozen=True, slots=True)
class Moments:
    """n times the variance of an estimate is base + slope p - curve p**2; arrays over options, or numbers for one."""

    base: Any
    slope: Any
    curve: Any

    def at(self, p: Floats) -> Floats:
        """n times the variances at these shares."""
        return np.asarray(np.maximum(self.base + self.slope * p - self.curve * p * p, 1e-300))

    def score(self, shape: Shape, power: float) -> Floats:
        """The size of the noise over a shape, sum of sd**power, to the 1 / power: one number an option."""
        v = np.asarray(self.base)[..., None] + np.multiply.outer(np.asarray(self.slope), shape.values)
        v = v - np.multiply.outer(np.asarray(self.curve), shape.values**2)
        return np.asarray((np.maximum(v, 1e-300) ** (power / 2) @ shape.counts) ** (1 / power))

    def pick(self, place: int) -> "Moments":
        return Moments(
            *(float(np.broadcast_to(v, self.base.shape)[place]) for v in (self.base, self.slope, self.curve))
        )


@dataclass(frozen=True, slots=True)
class Option:
    """One mechanism with its parameters: what it costs, and the survey it stands for."""

    family: "Family"
    place: int

    @property
    def parameters(self) -> dict[str, int]:
        return {name: int(values[self.place]) for name, values in self.family.parameters.items()}

    @property
    def report_bytes(self) -> int:
        return int(self.family.report_bytes[self.place])

    @property
    def cohorts(self) -> int:
        return self.parameters.get("cohorts", 1)

    @property
    def phantoms(self) -> int | None:
        """How many estimates beside those of the symbols it takes to add up to one; None where nothing does."""
        return None if self.family.phantoms is None else int(self.family.phantoms[self.place])

    def moments(self, epsilon: float, n: float, shape: Shape | None, *, weighted: bool = True) -> Moments:
        return self.family.moments(epsilon, n, shape, weighted=weighted).pick(self.place)

    def rates(self, epsilon: float) -> tuple[float, float] | None:
        """(hit, miss) of a symbol's support where the number of reports that support it is binomial, else None."""
        if self.family.rates is None:
            return None
        hit, miss = self.family.rates(self.family.parameters, epsilon)
        one = (
            np.broadcast_to(hit, self.family.report_bytes.shape),
            np.broadcast_to(miss, self.family.report_bytes.shape),
        )
        own, other = float(one[0][self.place]), float(one[1][self.place])
        return None if isnan(own) else (own, other)

    def survey(self, alphabet: Alphabet, epsilon: object, *, lifetime: object = None, name: str, seed: bytes) -> Survey:
        """The survey itself, for the epsilon of one report.

        With a `lifetime` every report is randomised again. Its channel is then, but for the last bits of its
        thresholds, that of the same mechanism at the epsilon of a report; so is every error.
        """
        settings: dict[str, Any] = {"symbols": alphabet.symbols, "epsilon": epsilon, "name": name}
        settings |= {} if lifetime is None else {"epsilon": lifetime, "epsilon_report": epsilon}
        settings |= {key: value for key, value in self.parameters.items() if key != "hashes" or value > 1}
        settings |= {"other": alphabet.other} | ({"seed": seed} if self.family.seeded else {})
        settings |= {"text": alphabet.text} if alphabet.is_open else {}
        return self.family.preset(**settings)

    @property
    def words(self) -> str:
        """The parameters in words."""
        told = {"size": "sets of {}", "cells": "{} cells", "cohorts": "{} cohorts", "hashes": "{} hashes"}
        told |= {"blocks": "{} blocks", "order": "order {}", "dimension": "dimension {}"}
        shown = [
            told.get(name, name + " {}").format(v) for name, v in self.parameters.items() if name != "hashes" or v > 1
        ]
        return ", ".join(shown)


Rates = Callable[[dict[str, Ints], float], tuple[Any, Any]]
Law = Callable[[dict[str, Ints], float, float, Shape | None, bool], Moments]


@dataclass(frozen=True, eq=False)
class Family:
    """One mechanism over one alphabet, with every setting worth looking at, as arrays."""

    name: str
    preset: Callable[..., Survey]  # takes the parameters by name
    parameters: dict[str, Ints]
    report_bytes: Ints
    law: Law
    rates: Rates | None  # NaN where the number of reports that support a symbol is not binomial
    # How many more estimates, of symbols that nobody has, it takes to add up to one; None where nothing does.
    phantoms: Ints | None
    seeded: bool = False  # whether the preset takes a seed
    chained: bool = True  # whether reports may be randomised again
    left_out: str = ""  # why, if no option is within the limits

    def moments(self, epsilon: float, n: float, shape: Shape | None, *, weighted: bool = True) -> Moments:
        """Over a population, or, for None, where nobody answers alike.

        `weighted` says that cells are weighed by their variances, as the default decoder does; error bars, and the
        paper's decoder, do not.
        """
        return self.law(self.parameters, epsilon, n, shape, weighted)

    def best(
        self, epsilon: float, n: float, shape: Shape, power: float, *, weighted: bool = True
    ) -> tuple[Option, float]:
        """The option of least noise, and its score.

        Cohorts tell devices apart and cost time, so of options within `_SLACK` the one of fewest cohorts is taken.
        """
        scores = self.moments(epsilon, n, shape, weighted=weighted).score(shape, power)
        least = float(scores.min())
        slack = _SLACK if "cohorts" in self.parameters else 0.0
        if not np.isfinite(least):
            return Option(self, int(np.argmin(scores))), least
        near = np.flatnonzero(scores <= least * (1 + slack))
        cohorts = self.parameters.get("cohorts", np.ones_like(self.report_bytes))
        first = near[np.lexsort((scores[near], self.report_bytes[near], cohorts[near]))[0]]
        return Option(self, int(first)), float(scores[first])

    def within(self, limits: Limits) -> "Family":
        """The options that the limits allow."""
        keep = np.ones(len(self.report_bytes), bool)
        why = ""
        if limits.max_bytes is not None:
            keep &= self.report_bytes <= limits.max_bytes
            if len(keep) and not keep.any():
                why = f"its reports take {int(self.report_bytes.min())} bytes, more than {limits.max_bytes}"
        if limits.max_cohorts is not None and "cohorts" in self.parameters and keep.any():
            keep &= self.parameters["cohorts"] <= limits.max_cohorts
            why = "" if keep.any() else f"it needs more cohorts than {limits.max_cohorts}"
        if limits.again and not self.chained:
            keep[:], why = False, "its reports cannot be randomised again"
        parameters = {name: values[keep] for name, values in self.parameters.items()}
        phantoms = None if self.phantoms is None else self.phantoms[keep]
        sizes = self.report_bytes[keep]
        return replace(self, parameters=parameters, report_bytes=sizes, phantoms=phantoms, left_out=why)

    def __len__(self) -> int:
        return len(self.report_bytes)

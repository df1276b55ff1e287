"""A mechanism with every setting of its parameters that a plan compares.

A family holds its settings as arrays, so that thousands are compared at once. Their errors are an `ErrorModel` of
`theory`. Nothing here derives a variance, and nothing is simulated.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.survey import Alphabet, Survey
from deniable.theory import Classes, ErrorModel

Ints = npt.NDArray[np.int64]

# The order in which they are shown; others follow.
FAMILIES = ("k-RR", "SS", "PGR", "HR", "OUE", "k-RAPPOR", "O-RR", "O-RAPPOR")
# Relative excess over the least noise within which the setting with the fewest cohorts is taken: a cohort number makes
# a device easier to recognise, and cohorts take time to decode (docs/decisions/0012-planner.md).
_MORE_NOISE = 0.02


@dataclass(frozen=True, slots=True)
class PlanLimits:
    """Limits of a plan: bytes of a packed report and cohorts; and whether reports must be randomised again."""

    max_bytes: int | None = None
    max_cohorts: int | None = None
    again: bool = False  # whether every report is randomised again


@dataclass(frozen=True, slots=True)
class Option:
    """One mechanism with its parameters: its error model, and the survey that it makes."""

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

    def model(self, epsilon: float, n: float, classes: Classes | None = None) -> ErrorModel:
        return self.family.model(self.family.parameters, epsilon, n, classes).pick(self.place, len(self.family))

    def survey(
        self,
        alphabet: Alphabet,
        epsilon: object,
        *,
        lifetime: object = None,
        name: str,
        seed: bytes,
        participation: str = "once",
    ) -> Survey:
        """The survey itself, for the epsilon of one report.

        With a `lifetime` every report is randomised again. Its channel is then, but for the last bits of its
        thresholds, that of the same mechanism at the epsilon of a report; so is every error.
        """
        settings: dict[str, Any] = {"symbols": alphabet.symbols, "epsilon": epsilon, "name": name}
        settings |= {} if participation == "once" else {"participation": participation}
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
        shown = {name: value for name, value in self.parameters.items() if name != "hashes" or value > 1}
        return ", ".join(told.get(name, name + " {}").format(value) for name, value in shown.items())


# The errors of all settings (parameters, epsilon, n, classes). With classes of symbols, cells are weighted by their
# variances over that population, as the default decoder does; error bars, and the paper's decoder, do not.
Model = Callable[[dict[str, Ints], float, float, Classes | None], ErrorModel]


@dataclass(frozen=True, eq=False)
class Family:
    """One mechanism over one alphabet, with all settings that are compared, as arrays."""

    name: str
    preset: Callable[..., Survey]  # takes the parameters by name
    parameters: dict[str, Ints]
    report_bytes: Ints
    model: Model
    seeded: bool = False  # whether the preset takes a seed
    chained: bool = True  # whether reports may be randomised again
    left_out: str = ""  # why, if no option is within the limits

    def best(
        self, epsilon: float, n: float, classes: Classes, power: float, *, weighted: bool = True
    ) -> tuple[Option, float]:
        """The option of least noise, and its score."""
        model = self.model(self.parameters, epsilon, n, classes if weighted else None)
        scores = np.broadcast_to(model.score(classes, power), len(self))
        least = float(scores.min())
        if not np.isfinite(least):
            return Option(self, int(np.argmin(scores))), least
        cohorts = self.parameters.get("cohorts")
        near = np.flatnonzero(scores <= least * (1 if cohorts is None else 1 + _MORE_NOISE))
        few = np.ones(len(self)) if cohorts is None else cohorts
        first = near[np.lexsort((scores[near], self.report_bytes[near], few[near]))[0]]
        return Option(self, int(first)), float(scores[first])

    def within(self, limits: PlanLimits) -> "Family":
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
        return replace(self, parameters=parameters, report_bytes=self.report_bytes[keep], left_out=why)

    def __len__(self) -> int:
        return len(self.report_bytes)

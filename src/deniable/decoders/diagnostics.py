"""Diagnostics of an estimate: goodness of fit, cohort sizes, and the influence of planted reports.

Error bars hold if the reports follow the model; these checks test whether they do. They detect candidate lists without
their heaviest answers, cohorts that are not drawn uniformly, and careless attackers. They do not detect an attacker who
imitates the distribution of honest reports. For k-RR the counts have no redundancy: all that can be tested is whether
shares are below zero (`floor`).
"""

from dataclasses import dataclass

import numpy as np

from deniable.decoders.fit import LinearFit
from deniable.decoders.floor import FloorLaw
from deniable.decoders.goodness import ALARM, ChiSquare, cohort_sizes, pearson
from deniable.decoders.planted import chance_in_words, influence, plant
from deniable.matrices import Design, OpenDesign
from deniable.survey import Symbol

__all__ = ["ChiSquare", "Diagnostics", "diagnose", "hidden_of"]

_PLANTED = 0.01  # share of planted reports whose influence is reported
_MOST_HIDDEN = 0.05  # probability of an indistinguishable answer, beyond which no symbol is significant at 95 %


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """How well the reports determine and fit an estimate.

    Parameters
    ----------
    rank, condition
        Of the matrix H, and of H' H.
    twins
        Groups of candidates that share every cell, so that no report can tell them apart.
    fit
        The test of all counts against the best mixture of the candidates and of unlisted answers. None where there are
        as many unknowns as counts, as for k-RR, or too many to test.
    cohorts
        The test of the cohort sizes; None with one cohort.
    influence
        The largest mass that 1 % planted reports can add to the unbiased estimate of one symbol. `Estimate.planted` has
        other shares, and several symbols.
    hidden
        A bound on the probability that a given unlisted answer has all cells of some candidate, and so cannot be told
        from it; zero where nothing is unlisted.
    floor
        The test of shares below zero; None beyond 1,024 symbols.
    noticed
        The probability that a check raises an alarm if reports are planted for that influence.
    careful, careful_noticed
        The mass, and the probability of an alarm, if they are made to look ordinary (`Planted`).
    """

    rank: int
    condition: float
    twins: tuple[tuple[Symbol, ...], ...]
    fit: ChiSquare | None
    cohorts: ChiSquare | None
    influence: float
    hidden: float = 0.0
    floor: ChiSquare | None = None
    noticed: float = 0.0
    careful: float = 0.0
    careful_noticed: float = 0.0

    @property
    def alarms(self) -> tuple[str, ...]:
        """One sentence for each check with a p-value below 0.001, and for too few cohorts."""
        found = []
        if self.fit is not None and self.fit.p_value < ALARM:
            found.append(
                f"The reports do not fit these candidates ({self.fit}): heavy answers are not among them, or reports "
                "were planted or come from another survey."
            )
        if self.cohorts is not None and self.cohorts.p_value < ALARM:
            found.append(
                f"Cohorts differ in size more than chance allows ({self.cohorts}): clients do not draw them alike, or "
                "reports were planted or lost."
            )
        if self.floor is not None and self.floor.p_value < ALARM:
            found.append(
                f"Shares are below zero by more than chance allows ({self.floor}): reports were planted for other "
                "symbols, or come from another survey."
            )
        if self.hidden > _MOST_HIDDEN:
            found.append(
                "Too few cohorts to tell candidates from what is not listed: an answer that is not may have all cells "
                f"of a candidate (probability {min(self.hidden, 1.0):.2g}), so none is marked. Ask with more cohorts, "
                "or decode as complete if nothing else can be answered."
            )
        return tuple(found)

    def __str__(self) -> str:
        lines = [f"rank {self.rank}, condition {self.condition:.3g}"]
        lines.append(f"fit: {self.fit}" if self.fit else "fit: nothing to test it by")
        if self.cohorts:
            lines.append(f"cohort sizes: {self.cohorts}")
        if self.floor:
            lines.append(f"below zero: {self.floor}")
        points = f"{100 * self.influence:.3g} points"
        said = chance_in_words(self.noticed)
        if self.careful_noticed < self.noticed - 0.005:
            careful = f"{100 * self.careful:.3g} points if made to look ordinary"
            said += f" ({careful}: {chance_in_words(self.careful_noticed)})"
        lines.append(f"influence: 1 % planted reports can raise one symbol by up to {points} of mass; {said}")
        return "\n".join((*lines, *self.alarms))


def diagnose(fit: LinearFit, symbols: tuple[Symbol, ...]) -> Diagnostics:
    """The diagnostics of an estimate; `Estimate.diagnostics` keeps them."""
    twins = tuple(tuple(symbols[i] for i in group) for group in fit.system.twins)
    tally, seen = fit.tally, fit.tally.reports > 0
    counts, reports = tally.counts[seen].astype(np.float64), tally.reports[seen].astype(np.float64)
    fitted = pearson(fit.design.only(seen), tally.survey.mechanism, counts, reports, fit.unknowns, fit.effect)
    sizes = cohort_sizes(tally.reports.astype(np.float64), 1 + fit.repeated.others)
    floor = FloorLaw.of(fit)
    rise, where = influence(fit, _PLANTED)
    attack = None if where is None else plant(fit, (symbols[where],), np.array([where]), _PLANTED)
    return Diagnostics(
        rank=fit.rank,
        condition=fit.condition,
        twins=twins,
        fit=None if fitted is None else fitted[1].test(fitted[0]),
        cohorts=None if sizes is None else sizes[1].test(sizes[0]),
        influence=rise,
        hidden=hidden_of(fit.system, fit.size),
        floor=None if floor is None else floor.test(fit.unknowns),
        noticed=0.0 if attack is None else attack.noticed,
        careful=0.0 if attack is None else attack.careful,
        careful_noticed=0.0 if attack is None else attack.careful_noticed,
    )


def hidden_of(design: Design, candidates: int) -> float:
    """A bound on the probability that an unlisted answer has all cells of one of so many candidates."""
    if not isinstance(design, OpenDesign):
        return 0.0
    return candidates * float(design.level) ** (design.cohorts * design.drawn)

"""`ScreenedEstimate`: an estimate of very many candidates, of which few are above zero."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder, Solution
from deniable.decoders.by_symbol import symbol_list
from deniable.decoders.constraints import Constraint, Unconstrained
from deniable.decoders.diagnostics import Diagnostics, hidden_of
from deniable.decoders.estimate import Estimate
from deniable.decoders.intervals import Group, Mass, mass_of
from deniable.decoders.limits import Limits, check_level
from deniable.decoders.screening import Screened, Screening
from deniable.decoders.selection import SelectedLimits, StackedLimits
from deniable.decoders.shown import largest_shares
from deniable.errors import DecodeError
from deniable.matrices import Design
from deniable.survey import Symbol
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ScreenedEstimate(Estimate):
    """The result of `Screening`. Kept candidates are estimated jointly; all others are zero, with an upper limit.

    `raw` and `standard_errors` have every candidate: joint estimates of those in the model, scores of the others.
    Beside heavy unlisted answers `raw` is a robust estimate, which is more precise than least squares and unbiased to
    first order (`robust`).

    Parameters
    ----------
    found
        The solution: the model, which of it was kept, and limits.
    joint
        The estimate of the model by least squares; `total` and `diagnostics` use it. The other parameters are those of
        `Estimate`.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.orr(epsilon=3, cells=32, cohorts=64, seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.7, 0.3], 10**6, np.random.default_rng(0), symbols=["a17", "unlisted"])
    >>> estimate = dn.decode(tally, candidates=[f"a{i}" for i in range(30_000)])
    >>> estimate.symbols[estimate.kept[0]], estimate.interval_kind
    ('a17', 'conditional')
    >>> bool(estimate.intervals(simultaneous=True)[estimate.symbols.index("a18"), 1] < 0.05)
    True
    """

    found: Screened = field(kw_only=True)
    joint: Estimate = field(kw_only=True)

    @classmethod
    def of(
        cls,
        solution: Solution,
        symbols: Sequence[Symbol],
        decoder: Decoder,
        constraint: Constraint,
        tally: Tally,
        design: Design,
        turnover: float | None = None,
        change: float | None = None,
    ) -> "ScreenedEstimate":
        assert isinstance(solution, Screened)
        names = tuple(symbols[i] for i in solution.model)
        # What was kept was found with the bound on repeated reports, whatever was said of them: so are the errors.
        joint = Estimate.of(solution.joint, names, decoder, Unconstrained(), tally, solution.design)
        # The mass of candidates in the model that were not kept is part of the rest.
        rest = [
            float(some[-1] + some[:-1][~solution.kept].sum()) for some in (solution.joint.values, joint.fit.unknowns)
        ]
        shares = constraint.apply(np.append(joint.probabilities[solution.kept], rest[0]))
        values = np.zeros(len(symbols))
        values[solution.model[solution.kept]] = shares[:-1]
        left = (float(shares[-1]), rest[1])
        known = tuple(symbols)
        return cls(
            known,
            values,
            solution.raw,
            decoder,
            constraint,
            joint.tally,
            design,
            True,
            left,
            found=solution,
            joint=joint,
        )

    @property
    def kept(self) -> npt.NDArray[np.intp]:
        """The indices of the kept candidates in `symbols`, in increasing order."""
        return self.found.model[self.found.kept]

    @property
    def shared_noise(self) -> str:
        return self.joint.shared_noise

    @property
    def sharing(self) -> dict[str, Any] | None:
        return self.joint.sharing

    @property
    def takes_minutes(self) -> bool:
        return self.joint.takes_minutes

    @property
    def rank(self) -> int:
        return self.joint.rank

    @property
    def condition(self) -> float:
        return self.joint.condition

    @property
    def rest_name(self) -> str:
        """ "(all others)": answers that are not among the candidates, and candidates that were excluded."""
        return "(all others)"

    def __repr__(self) -> str:
        """The largest of the kept candidates, and what they leave."""
        assert self.rest is not None
        kept, size = len(self.kept), len(self.symbols)
        some = f"{largest_shares(self, min(kept, 3))}; " if kept else ""
        head = f"<Estimate of {size} symbols from {self.n} reports, {kept} of them kept: "
        return f"{head}{some}all others {self.rest[0]:.3f}>"

    @cached_property
    def unallocated(self) -> Mass | None:
        """The mass that no *kept* candidate explains: unlisted answers and excluded candidates together.

        It is an upper bound of what is not on the list, because the shares of excluded candidates are not known. Where
        no candidate was kept it is one.
        """
        assert self.rest is not None
        return mass_of(self.joint.fit, np.append(~self.found.kept, True).astype(np.float64), self.rest[0])

    @property
    def covariance(self) -> Floats:
        """Refused: `joint` has that of the candidates in the joint problem."""
        raise DecodeError(
            f"covariance must be that of the {len(self.found.model)} candidates in the joint problem, not of all "
            f"{len(self.symbols)}; use estimate.joint.covariance"
        )

    @property
    def standard_errors(self) -> Floats:
        """One standard error per candidate, of `raw`."""
        return self.found.errors

    @property
    def groups(self) -> tuple[Group, ...]:
        """Candidates of the joint problem that no report can tell apart."""
        return self.joint.groups

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False, exact: bool = True) -> Floats:
        """Confidence intervals for each symbol that account for the selection.

        The interval of a kept candidate is conditional on its being kept (`decoders.selection`). That of an excluded
        one is from zero to an upper limit, conditional on its exclusion. docs/results/candidates.md has the measured
        coverage.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        simultaneous
            Whether all S intervals hold at once with probability `level` (Bonferroni), whatever was selected.
        exact
            Without effect: these intervals are never exact.

        Returns
        -------
        ndarray of shape (S, 2)
        """
        alpha = 1 - check_level(level)
        if simultaneous:
            return self._limits.between(alpha / len(self.symbols))
        return self._selected.between(alpha)

    @cached_property
    def _selected(self) -> Limits:
        from scipy.special import ndtri

        assert isinstance(self.decoder, Screening)
        missed = 1 - self.decoder.level
        chance = missed / len(self.symbols)
        reach = np.full(len(self.symbols), self.found.reach)
        reach[self.found.model] = -float(ndtri(chance))
        return self._stacked(SelectedLimits(self.found.limits), reach, missed)

    def _stacked(self, model: Limits, reach: Floats | float = np.inf, most: float = 0.05) -> StackedLimits:
        return StackedLimits(model, self.found.kept, self.kept, self.raw, self.found.errors, reach, most)

    @cached_property
    def _limits(self) -> Limits:
        return self._stacked(self.found.limits)

    @property
    def interval_kind(self) -> str:
        """ "conditional": intervals hold, approximately, given which candidates were kept."""
        return "conditional"

    def total(self, symbols: Iterable[object]) -> Mass:
        """The mass of several kept symbols together.

        Raises
        ------
        DecodeError
            If one of them was excluded: only an upper limit of it is known.
        """
        named = symbol_list(symbols)
        kept = set(self.kept.tolist())
        outside = sum(self.index(symbol) not in kept for symbol in named)
        if outside:
            raise DecodeError(f"symbols must be candidates that were kept, got {outside} that were excluded")
        return self.joint.total(named)

    @property
    def diagnostics(self) -> Diagnostics:
        """The diagnostics of the joint estimate; `hidden` is for all candidates."""
        joint = self.joint
        return replace(joint.diagnostics, hidden=hidden_of(joint.fit.system, len(self.symbols)))

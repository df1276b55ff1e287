"""Losses of the planned survey by simulation, as many repeats as its size allows.

The default decoder takes tens of milliseconds, so few surveys are decoded by it. Its surrogate, given estimates that
are weighted by the true population, has nearly the same loss on the same reports, and takes microseconds. So many
surveys are decoded by the surrogate and a few by both. The regression of real on surrogate losses corrects the
surrogate losses of all of them (a control variate).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import sqrt

import numpy as np
import numpy.typing as npt

from deniable.decoders import DEFAULT, cell_weights, decode_all, unbias
from deniable.lab import stream_of
from deniable.matrices import BlockDesign, Design, GramFactor, design_of
from deniable.planner.shapes import Shape
from deniable.simulation import simulate_many
from deniable.survey import Survey, Symbol
from deniable.tally import Tally
from deniable.theory import ErrorModel, Losses, drawn_estimates, losses_of

Floats = npt.NDArray[np.float64]

# Work is counted in numbers that are touched, not in seconds, so that the same request has the same answer on every
# machine (docs/decisions/0041-expected-loss.md). On the machine that chose these counts a number took 50 ns.
BUDGET, _QUICK_BUDGET = 6_000_000, 12_000_000  # numbers of one measurement: for real decodes, and for surrogate ones
_TOO_MUCH = 30_000_000  # numbers of one repeat above which nothing is simulated and the prediction alone is used
_FIT, _FIT_SYMBOL = 60_000, 1_000  # numbers of fitting a prior once, and more for each symbol
_SET_SYMBOL = 1_000  # numbers of drawing the sums of random sets, for each symbol
_COHORT_ROUNDS = 1.5  # how often a fit over cohorts is repeated on average; elsewhere once
_REPEATS, _QUICK = (1, 200), (60, 2000)  # least and most surveys decoded for real, and by the surrogate
_NUMBERS = 400_000  # estimates (surveys times symbols) for the surrogate: large alphabets need fewer surveys
_TEACHERS, _LARGE = 3, 512  # surveys whose priors the surrogate uses in turn; one above so many symbols
_FACTORED = 768  # unknowns up to which weighted normal equations are factored for the surrogate
_TOO_FEW = 20  # surveys over cohorts: fewer do not give a usable standard deviation
_READ_OFF = 400  # draws; from so many on a quantile is the empirical one
_BATCH = 50  # surveys that are simulated at once, to bound memory
_LEAST_LOSS = 0.02  # share of the mean loss that replaces smaller losses, so that every loss has a logarithm
# The regression of real on surrogate losses; residuals were measured in docs/decisions/0012-planner.md.
_PRECISIONS = (1.0, 4.0)  # prior precisions of the linear and the quadratic term, of standardised log losses
_RESIDUAL, _BLIND = 0.5, 1.0  # prior residual in standard deviations of the losses: with surrogate losses, without
_PRIOR_PAIRS = 6.0  # weight of the prior residual, in pairs of losses
_NARROWEST = 1.0  # least residual variance, as a share of the observed one: the prior may only widen it
_OWN_RESIDUALS = 12  # pairs; from so many on the observed residuals replace normal ones
# With m pairs standard errors are multiplied by 1 + this / m. Real errors were 1.8 times the nominal ones with 6 pairs,
# 1.2 with 9 and 1.15 with 25 (16 repeats of four plans, docs/decisions/0012-planner.md).
_SMALL_SAMPLE = 4.0
# Exponent of the ranks at which surveys are decoded for real: above 1 there are more where surrogate losses are large,
# near the quantile.
_TOP_HEAVY = 1.7


@dataclass(frozen=True, slots=True)
class Effort:
    """How many surveys the surrogate decodes, how many would be enough, and how many the default decoder decodes.

    `each` is the work of one of the last, in numbers touched.
    """

    quick: int
    enough: int
    repeats: int
    each: float


def effort_for(survey: Survey, size: int, budget: float = BUDGET) -> Effort:
    """How many surveys to simulate within a budget; no real decode where a single one is too much work.

    `budget` is for the default decoder, in numbers touched.

    >>> import deniable as dn
    >>> effort_for(dn.krr(symbols=8, epsilon=1), 8).quick, effort_for(dn.subset(symbols=4096, epsilon=1), 4096).repeats
    (2000, 1)
    """
    cells, entries = survey.cohorts * survey.columns, size * survey.cohorts * survey.hashes
    in_cohorts = survey.encoding.shared is None
    sets = not survey.mechanism.one_column and survey.mechanism.hits is not None
    drawing = 4 * cells + entries // 4 + (_SET_SYMBOL * size if sets else 0)
    each = float(drawing + cells)
    if DEFAULT.learns(size):
        fit = float(_FIT + _FIT_SYMBOL * size)
        if in_cohorts:
            fit = _COHORT_ROUNDS * (fit + entries + 2 * cells)
        elif (survey.encoding.occupied or 1) > 1 and size <= DEFAULT.settings.most_weighed_symbols:
            fit = 2 * fit + size**3 // 400  # a second time, with weights
        each += fit
    low, high = _REPEATS
    repeats = 0 if each > _TOO_MUCH else int(min(max(budget / each, low), high))
    least, most = _QUICK
    most = min(most, max(_NUMBERS // size, least))
    many = int(min(_QUICK_BUDGET / (drawing + cells + 16 * size), most))
    if in_cohorts and (size > _FACTORED or many < _TOO_FEW):
        many = 0
    return Effort(many, most, repeats, each)


@dataclass(frozen=True)
class LossSample:
    """Losses of simulated surveys, shape (3, surveys): of many by the surrogate, of some by both decoders.

    The logarithm of the real loss is modelled as quadratic in that of the surrogate loss, plus a residual. The prior is
    that both are equal.
    """

    quick: Floats
    pairs: Floats  # by the surrogate, of the surveys that were decoded by both
    real: Floats
    residual: float  # prior residual, in standard deviations of the log losses
    _expected: dict[tuple[str, float], tuple[float, float, float, float]] = field(default_factory=dict, repr=False)

    @property
    def repeats(self) -> int:
        return len(self.real[0])

    def expected(self, metric: str, level: float) -> tuple[float, float, float, float]:
        """Mean and `level` quantile of the real loss, each followed by its standard error."""
        if (metric, level) not in self._expected:  # a search asks for the same one often
            self._expected[metric, level] = self._fitted(metric, level)
        return self._expected[metric, level]

    def _fitted(self, metric: str, level: float) -> tuple[float, float, float, float]:
        row = Losses.METRICS.index(metric)
        # A loss can be zero, where everyone answers alike.
        least = _LEAST_LOSS * float(self.quick[row].mean())
        quick, x, y = (np.log(np.maximum(rows[row], least)) for rows in (self.quick, self.pairs, self.real))
        middle, spread = float(quick.mean()), max(float(quick.std(ddof=1)), 1e-9)

        def terms(u: Floats) -> Floats:
            # The quadratic is used between the pairs it was fitted to, and held constant outside: extrapolated, it has
            # given a mean l1 loss of 105, where no loss exceeds 2.
            u = np.clip(u, *ends) if len(x) else u
            return np.stack([np.ones_like(u), spread * u, spread * (u**2 - 1)], axis=1)

        ends = ((x.min() - middle) / spread, (x.max() - middle) / spread) if len(x) else (0.0, 0.0)

        phi, off = terms((x - middle) / spread), y - x
        residual, rest = (self.residual * spread) ** 2, off
        inverse: Floats = np.zeros((3, 3))
        found: Floats = np.zeros(3)
        if len(off):
            for _ in range(3):
                inverse = np.asarray(np.linalg.inv(phi.T @ phi / residual + np.diag([0.0, *_PRECISIONS])), np.float64)
                found = np.asarray(inverse @ (phi.T @ off) / residual, np.float64)
                rest = off - phi @ found
                believed = _PRIOR_PAIRS * (self.residual * spread) ** 2
                freedom = max(len(off) - float(np.trace(phi @ inverse @ phi.T)) / residual, 0.0)
                own = float(rest @ rest)
                residual = (own + believed) / (freedom + _PRIOR_PAIRS)
                residual = max(residual, _NARROWEST * own / max(freedom, 1.0))
        real = quick + terms((quick - middle) / spread) @ found
        from scipy.special import ndtri

        steps = ndtri((np.arange(25) + 0.5) / 25) * sqrt(residual) if len(off) else np.zeros(1)
        if (
            len(off) >= _OWN_RESIDUALS
        ):  # their own residuals, which may be skewed, a little wider for what the fit has taken
            steps = rest * sqrt(residual / max(float(rest @ rest) / len(rest), 1e-300))
        both = (real[:, None] + steps).ravel()
        mean = float(np.exp(both).mean())
        bound = float(np.exp(_quantile(both, level, len(quick))))
        # The same quantile of the surrogate losses, its standard error, and the part of it that carries over.
        at, at_error = _quantile(quick, level, len(quick)), _quantile_error(quick, level)
        errors = []
        for place, error in ((middle, spread / sqrt(len(quick))), (at, at_error)):
            u = np.array([(place - middle) / spread])
            carried = 1 + found[1] + 2 * found[2] * float(u[0])
            own = terms(u)[0]
            share = residual / (residual + (carried * spread) ** 2)
            uncertain = float(own @ inverse @ own) + (carried * error) ** 2
            # The uncertainty of the residual variance, which falls with the number of pairs.
            told = sqrt(uncertain + float(u[0]) ** 2 * residual * share / (2 * (len(off) + _PRIOR_PAIRS)))
            errors.append(told * (1 + _SMALL_SAMPLE / max(len(off), 1)))
        return mean, errors[0] * mean, bound, errors[1] * bound


def _quantile(values: Floats, level: float, draws: int) -> float:
    """The empirical quantile of many draws, else that of a normal distribution."""
    if draws >= _READ_OFF:
        return float(np.quantile(values, level))
    from scipy.special import ndtri

    return float(values.mean() + ndtri(level) * values.std(ddof=1))


def _quantile_error(values: Floats, level: float) -> float:
    """The standard error of such a quantile."""
    from scipy.special import ndtri

    reach = sqrt(level * (1 - level) / len(values))
    if len(values) >= _READ_OFF:
        low, high = (float(np.quantile(values, min(max(level + sign * reach, 0.0), 1.0))) for sign in (-1, 1))
        return (high - low) / 2
    return float(values.std(ddof=1)) * sqrt((1 + float(ndtri(level)) ** 2 / 2) / len(values))


def measured(
    survey: Survey,
    shape: Shape,
    n: int,
    effort: Effort,
    model: ErrorModel,
    *,
    metric: str,
    normals: Callable[[int], Floats],
    place: tuple[object, ...],
    candidates: tuple[Symbol, ...] | None,
    tick: Callable[[float], None] = lambda share: None,
) -> tuple[LossSample, str]:
    """The losses of simulated surveys, and the name of the default decoder.

    `normals` gives standard normal draws. Where simulation is slow, the surrogate decodes estimates made of them.
    """
    rng = stream_of(*place)  # type: ignore[arg-type]
    design = design_of(survey, candidates, background=survey.alphabet.is_open)
    solve = _solver(survey, design, shape) if effort.quick else None
    blind = effort.quick == 0  # too many equations for the surrogate as well
    # With one block normal draws have the right covariance. Over cohorts it depends on the drawn hash functions.
    few = blind or (effort.quick < min(_READ_OFF, effort.enough) and isinstance(design, BlockDesign))
    count = effort.repeats if few else max(effort.quick, effort.repeats)
    tallies, raws = [], []
    for start in range(0, count, _BATCH):
        part = simulate_many(min(_BATCH, count - start), survey, shape.p, n, rng, symbols=candidates)
        tallies += part
        raws += [] if solve is None else [solve(part)]
        tick(0.3 * (start + len(part)) / count)
    if few:
        raws.append(drawn_estimates(model, shape.p, n, normals(min(_READ_OFF, effort.enough))))
    quick = _quick(np.concatenate(raws), shape, model.base / n, model.slope / n)
    if blind:  # for these surveys only the mean surrogate loss is known
        quick = np.concatenate([np.repeat(quick.mean(axis=1, keepdims=True), count, axis=1), quick], axis=1)
    ranks = 1 - (1 - (np.arange(effort.repeats) + 0.5) / max(effort.repeats, 1)) ** _TOP_HEAVY
    order = np.argsort(quick[Losses.METRICS.index(metric), :count], kind="stable")
    picked = np.unique(order[(ranks * count).astype(np.intp)])
    found, name = [], "default"
    step = max(1, len(picked) // 4)  # the progress bar moves between batches
    for start in range(0, len(picked), step):
        some = [tallies[i] for i in picked[start : start + step]]
        decoded = decode_all(some, candidates=candidates)
        name = f"{type(decoded[0].decoder).__name__}, {type(decoded[0].constraint).__name__}"
        found.append(losses_of(np.stack([e.probabilities for e in decoded]), shape.p))
        tick(0.3 + 0.7 * min((start + step) / len(picked), 1.0))
    real = np.concatenate(found, axis=1)
    return LossSample(quick[:, count:] if few else quick, quick[:, picked], real, _BLIND if blind else _RESIDUAL), name


def _quick(rows: Floats, shape: Shape, base: float, slope: float) -> Floats:
    """The losses of unbiased estimates decoded by the surrogate: the mean over a few priors."""
    teachers = range(_TEACHERS if DEFAULT.learns(len(shape.p)) and len(shape.p) <= _LARGE else 1)
    found = [losses_of(DEFAULT.surrogate(rows, base, slope, teacher=i), shape.p) for i in teachers]
    return np.asarray(np.mean(found, axis=0))


def _solver(survey: Survey, design: Design, shape: Shape) -> Callable[[Sequence[Tally]], Floats]:
    """A function from tallies to unbiased estimates; over cohorts weighted by the variances of this population."""
    size = len(shape.p)
    if isinstance(design, BlockDesign):
        return lambda tallies: np.stack([design.invert(unbias(tally)) for tally in tallies])
    # Weights of cohorts that are all as large: one report each.
    one = np.eye(1, survey.columns, dtype=np.int64).repeat(survey.cohorts, axis=0)
    even = Tally(survey, one, np.ones(survey.cohorts, np.int64))
    weights = cell_weights(even, design, np.append(shape.p, 0.0) if survey.alphabet.is_open else shape.p)
    factor = GramFactor.of(design.weighted_gram(weights))

    def solve(tallies: Sequence[Tally]) -> Floats:
        right = design.adjoint(np.stack([weights * unbias(tally) for tally in tallies]))
        return np.asarray(factor.solve(right.T).T[:, :size])

    return solve

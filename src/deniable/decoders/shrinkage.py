"""Shares from noisy observations: fit a prior, and take the answer with the least expected loss, with safeguards."""

import numpy as np
import numpy.typing as npt

from deniable.decoders.guard import no_worse
from deniable.decoders.ordered import smoothed
from deniable.decoders.posterior import Posterior
from deniable.decoders.prior import Observations, Prior, learned
from deniable.decoders.settings import PRIOR, Settings
from deniable.decoders.simplex import project

__all__ = ["observations", "optimal_shares", "shares_of", "shrink", "shrink_towards"]

Floats = npt.NDArray[np.float64]


def shrink(
    seen: Observations,
    loss: str = "l1",
    total: float = 1.0,
    *,
    ordered: bool = False,
    settings: Settings = Settings(),  # noqa: B008  an immutable value
) -> Floats:
    """Shares that add up to `total`, from noisy observations of them and nothing else.

    >>> noisy = 1 / 40 + np.array([0.02, -0.02] * 20)
    >>> shrink(Observations(noisy, np.full(40, 4e-4), 0.0)).round(2)[:4]
    array([0.03, 0.02, 0.03, 0.02])
    """
    if len(seen.values) <= settings.max_projected_symbols:
        return _projected(seen, total)
    prior = learned(seen, fitted=settings.prior_observations, orders=settings.prior_orders)
    return shares_of(seen, prior, prior.posterior(seen), loss, total, settings, ordered=ordered)


def observations(values: Floats, variances: Floats, slope: float) -> Observations:
    """Estimates with these variances, of which slope * p depends on the share p itself."""
    base = np.maximum(variances - slope * np.clip(values, 0.0, 1.0), PRIOR.min_base_variance * variances)
    return Observations(values, base, slope)


def shares_of(
    seen: Observations,
    prior: Prior,
    known: Posterior,
    loss: str,
    total: float,
    settings: Settings,
    *,
    ordered: bool = False,
    is_crowded: bool = False,
) -> Floats:
    """The optimal answer of a posterior, changed until no plausible prior expects it to lose to projection.

    Where cohorts are not crowded, the answer is also shrunk towards projection if it is expected to save little; with
    `ordered` it is smoothed in the order of the symbols.
    """
    found = optimal_shares(known, loss, total)
    if total <= 0:
        return found
    projected, beliefs = _projected(seen, total), prior.posteriors(seen, settings.min_evidence_ratio)
    found = no_worse(found, projected, beliefs, lambda known: optimal_shares(known, loss, total), loss)
    if not is_crowded:
        found = shrink_towards(projected, found, known, loss, settings.min_saving)
    return _smoothed(seen, prior, found, total) if ordered else found


def optimal_shares(known: Posterior, loss: str, total: float) -> Floats:
    """The shares of smallest expected loss: projected means (l2), or those averaged with common quantiles (l1)."""
    if total <= 0:
        return np.zeros(len(known.zero))
    found = total * project(known.means / total)
    if loss == "l1":
        # Quantiles are optimal if the prior is right; means suffer less where it is wrong, unless most shares are zero.
        weight = max(PRIOR.min_quantile_weight, float(known.zero.mean()))
        found += weight * (known.quantiles(total) - found)
    return found


def shrink_towards(plain: Floats, found: Floats, known: Posterior, loss: str, min_saving: float) -> Floats:
    """`found`, moved towards the plain answer if it is expected to save less than `min_saving` of that one's loss.

    A prior that expects a small saving may be wrong by as much: through noise, evenly spread shares look clustered.
    """
    if min_saving <= 0:
        return found
    size = len(known.zero)
    ours, theirs = (known.expected_loss(shares[:size], loss) for shares in (found, plain))
    weight = min(max((1 - ours / max(theirs, 1e-300)) / min_saving, 0.0), 1.0)
    return np.asarray(plain + weight * (found - plain))


def _projected(seen: Observations, total: float) -> Floats:
    return total * project(seen.values / total) if total > 0 else np.zeros_like(seen.values)


def _smoothed(seen: Observations, prior: Prior, found: Floats, total: float) -> Floats:
    """The average of this answer and a smooth one, weighted by the evidence for each."""
    smooth = smoothed(seen.values, np.maximum(seen.base + seen.slope * found, 1e-3 * seen.base))
    weight = 1 / (1 + np.exp(min(prior.evidence - smooth.evidence, 700.0)))
    return np.asarray(found + weight * (total * project(smooth.means / total) - found))

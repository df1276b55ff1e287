"""The baseline for numbers: the square wave with expectation maximisation and smoothing, from its description.

Li, Wang, Lopuhaä-Zwakenberg, Li and Škorić, SIGMOD 2020. After every step of EM on the histogram of reports, shares are
smoothed by (1, 2, 1) / 4; it ends when the log-likelihood gains less than 1e-3. Not part of the package.
"""

import numpy as np
import numpy.typing as npt

from deniable.survey import Survey

Floats = npt.NDArray[np.float64]

GAIN = 1e-3  # of the log-likelihood, below which it ends
MOST_STEPS = 10_000


def em_smoothed(survey: Survey, counts: Floats) -> Floats:
    """Shares of all bins for each row of counts, which are tallies of one survey of neighbours.

    >>> import deniable as dn
    >>> survey = dn.ordered(64, 2)
    >>> tally = dn.simulate(survey, np.full(64, 1 / 64), n=10**6, rng=np.random.default_rng(0))
    >>> bool(np.abs(np.cumsum(em_smoothed(survey, tally.counts)[0] - 1 / 64)).max() < 0.01)
    True
    """
    miss, r = survey.mechanism.affine
    own, size = survey.hashes, len(survey.alphabet)
    cells = np.arange(survey.cells)
    after, before = np.minimum(cells + 1, size), np.maximum(cells + 1 - own, 0)

    def law(shares: Floats) -> Floats:
        sums = np.concatenate([np.zeros((len(shares), 1)), np.cumsum(shares, axis=1)], axis=1)
        return np.asarray(miss + r * (sums[:, after] - sums[:, before]))

    shares = np.full((len(counts), size), 1 / size)
    reached, running = np.full(len(counts), -np.inf), np.arange(len(counts))
    for _ in range(MOST_STEPS):
        m = law(shares[running])
        found = (counts[running] * np.log(m)).sum(axis=1)
        going = found - reached[running] >= GAIN
        reached[running] = found
        running, m = running[going], m[going]
        if not len(running):
            break
        ratios = counts[running] / m
        sums = np.concatenate([np.zeros((len(ratios), 1)), np.cumsum(ratios, axis=1)], axis=1)
        new = shares[running] * (miss * sums[:, -1:] + r * (sums[:, own:] - sums[:, :size]))
        smooth = new.copy()
        smooth[:, 1:-1] = (new[:, :-2] + 2 * new[:, 1:-1] + new[:, 2:]) / 4
        smooth[:, 0], smooth[:, -1] = (2 * new[:, 0] + new[:, 1]) / 3, (2 * new[:, -1] + new[:, -2]) / 3
        shares[running] = smooth / smooth.sum(axis=1, keepdims=True)
    return shares

"""Robust, clustered and stratified covariances of a fit: bread, meat, bread."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError
from deniable.relations.collapsing import CollapsedRows

Floats = npt.NDArray[np.float64]


def sandwich(
    bread: Floats, unknown: npt.NDArray[np.bool_], scores: Floats, rows: CollapsedRows, cluster: Any, stratum: Any
) -> tuple[Floats, float]:
    """The robust covariance, and the degrees of freedom of its t distribution (infinite without clusters).

    >>> rows = CollapsedRows(None, np.ones(4), np.ones(4), np.ones(4), 0, 4)
    >>> found, _ = sandwich(np.eye(1), np.zeros(1, bool), np.array([[1.0], [-1.0], [1.0], [-1.0]]), rows, None, None)
    >>> found.round(3).tolist()
    [[5.333]]
    """
    strata = (
        np.zeros(len(scores), np.int64) if stratum is None else np.unique(stratum.astype(str), return_inverse=True)[1]
    )
    size = scores.shape[1]
    meat = np.zeros((size, size))
    units = 0
    for level in range(int(strata.max()) + 1):
        here = strata == level
        if cluster is None:
            number = float(rows.counts[here].sum())
            total = rows.weights[here] @ scores[here]
            part = (scores[here] * rows.squares[here][:, None]).T @ scores[here] - np.outer(total, total) / number
        else:
            named, index = np.unique(cluster[here].astype(str), return_inverse=True)
            sums = np.zeros((len(named), size))
            np.add.at(sums, index, scores[here] * rows.weights[here][:, None])
            number = float(len(named))
            sums -= sums.mean(axis=0)
            part = sums.T @ sums
            units += len(named)
        if number < 2:
            what = "people" if cluster is None else "clusters"
            if stratum is None:
                raise DecodeError(f"{what} must be at least two for their standard errors, got {number:g}")
            raise DecodeError(f"every stratum must have at least two {what}, got one with {number:g}; merge strata")
        meat += part * number / (number - 1)
    clean = np.where(unknown[:, None] | unknown[None, :], 0.0, bread)
    found = clean @ meat @ clean
    found[unknown, unknown] = np.inf
    freedom = np.inf if cluster is None else units - (int(strata.max()) + 1)
    if cluster is not None and units <= size:
        raise DecodeError(f"clusters must be more than coefficients, got {units} for {size}")
    return found, float(freedom)

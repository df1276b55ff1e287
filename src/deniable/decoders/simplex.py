"""The Euclidean projection on the probability simplex: a few passes over the values, O(k log k) at the worst."""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_PASSES = 24  # passes before the values are sorted instead; each takes a tenth of the time of a sort


def project(values: npt.ArrayLike) -> Floats:
    """The nearest point of the simplex: shift everything down by one number, cut at zero.

    The shift is theta = (sum of the j largest - 1) / j for the largest j whose j-th value stays above it.

    Paper: the projected decoder, section 4.4.1; Algorithm 1 of Wang and Carreira-Perpinan (2013).
    Claim: the result is on the simplex; values - result is constant where the result is positive, no larger elsewhere.
    Proof: tests/properties/test_simplex.py::test_projection_is_optimal

    >>> project([0.97, 0.235, 0.06, -0.08, -0.185])
    array([0.8675, 0.1325, 0.    , 0.    , 0.    ])
    """
    given = np.asarray(values, np.float64)
    if given.ndim != 1 or not given.size:
        raise ValueError(f"values must be a non-empty vector, got shape {given.shape}")
    # Shifting by the maximum first keeps huge inputs from swallowing the 1; the projection ignores shifts.
    top = given.max()
    if not np.isfinite(top):
        raise ValueError("values must be finite")
    shifted = given - top
    # The largest value is now 0, so theta is at least -1 and nothing at or below -1 can stay positive.
    shifted -= _threshold(shifted[shifted > -1.0])
    # A running sum of many values is off by 1e-9 in 65,536; pairwise sums of the result say by how much, twice.
    for _ in range(2):
        positive = shifted > 0
        shifted -= (float(shifted[positive].sum()) - 1.0) / max(int(positive.sum()), 1)
    return np.asarray(np.maximum(shifted, 0.0, out=shifted))


def _threshold(contenders: Floats) -> float:
    """The shift for values of which the largest is 0.

    What lies below the shift of all contenders lies below the final one, too: it only rises as they leave (Michelot,
    1986). A few passes end it for every population that was tried; a sort ends it for any.
    """
    for _ in range(_PASSES):
        theta = float((contenders.sum() - 1.0) / contenders.size)
        staying = contenders[contenders > theta]
        if staying.size == contenders.size:
            return theta
        contenders = staying
    return float(_sorted_thresholds(contenders[None])[0])


def _sorted_thresholds(rows: Floats) -> Floats:
    """The shift of every row, by sorting it."""
    ordered = -np.sort(-rows, axis=1)
    sums = np.cumsum(ordered, axis=1) - 1.0
    counts = np.arange(1, rows.shape[1] + 1)
    last = (ordered * counts > sums).sum(axis=1) - 1
    return np.asarray(sums[np.arange(len(rows)), last] / (last + 1))


def project_rows(rows: Floats) -> Floats:
    """Every row's nearest point of the simplex: `project` on many rows at once.

    >>> project_rows(np.array([[0.97, 0.235, 0.06, -0.08, -0.185]]))
    array([[0.8675, 0.1325, 0.    , 0.    , 0.    ]])
    """
    return np.asarray(np.maximum(rows - _sorted_thresholds(rows)[:, None], 0.0))

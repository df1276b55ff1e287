"""The paper's decoders on many tallies at once: one row a tally, every decoder a threshold and a scale.

k-RR and k-RAPPOR counts T have mean miss * n + r * x, where x is how often a symbol was drawn and r = hit - miss. Each
of the paper's decoders is then (T - cut)^+ / scale, with a threshold `cut` and a scale that depend on the row alone:

* standard: no threshold, (T - miss * n) / (r * n);
* normalised: cut at miss * n, scale by what is left;
* projected: scale r * n, and the cut at which the row sums to one;
* maximum likelihood (k-RR): scale cut / miss * r, and the cut at which the row sums to one (water-filling).

One sort of the integer counts serves all cuts. Tied to `decoders`, row by row, in tests/contracts/test_batched.py.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

Int32s = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

_FEW = 1000  # users; below it losses are computed in double precision


def losses(
    counts: Int32s,
    shares: npt.NDArray[np.floating[Any]],
    n: int,
    hit: float,
    miss: float,
    *,
    likelihood: bool,
    weights: npt.NDArray[np.int32] | None = None,
) -> Floats:
    """l1 and squared l2 distances of each decoder to `shares`, the sample's distribution; shape (2, decoders, rows).

    The decoders are standard, normalised, projected and, where asked for, maximum likelihood. A row lists symbols, or
    classes of symbols alike in count and share; `weights` then says how many symbols each class has.

    >>> counts, sample = np.array([[70, 30]], np.int32), np.array([[0.9, 0.1]], np.float32)
    >>> losses(counts, sample, 100, 0.75, 0.25, likelihood=True)[0].round(3)
    array([[0.],
           [0.],
           [0.],
           [0.]])
    """
    r = hit - miss
    # Single precision is enough for small numbers, so counts are centred, as integers, on the mean of a symbol that
    # nobody has. With few users and many symbols a row sums to less than 0.001 users, and needs double precision.
    real: type[np.floating[Any]] = np.float64 if n < _FEW else np.float32
    centre = round(n * miss)
    centred = (counts - np.int32(centre)).astype(real)
    above = centred - real(n * miss - centre)
    positive = np.maximum(above, 0)
    kept = _total(positive, weights)
    ladder = _Ladder(counts - np.int32(centre), weights)
    cut = ladder.cut(n * r, 0.0)
    decoded = [above, positive, np.maximum(centred - cut[:, None].astype(real), 0)]
    scales = [n * r, kept, n * r]
    if likelihood:  # the cut t is over counts as they are: (T - t)^+ sums to t r / miss
        cut = ladder.cut(centre * r / miss, r / miss)
        decoded.append(np.maximum(centred - cut[:, None].astype(real), 0))
        scales.append((cut + centre) * r / miss)
    if (empty := kept <= 0).any():  # nothing above zero: the normalised decoder returns the uniform distribution
        positive[empty] = 1
        scales[1] = np.where(empty, counts.shape[1] if weights is None else weights.sum(axis=1), kept)

    found = np.empty((2, len(decoded), len(counts)))
    weighing = None if weights is None else weights.astype(real)
    for place, (values, scale) in enumerate(zip(decoded, scales, strict=True)):
        values *= np.asarray(1 / np.asarray(scale), real).reshape(-1, 1)
        values -= shares
        if weighing is None:
            found[1, place] = np.einsum("ij,ij->i", values, values)
            found[0, place] = np.abs(values, out=values).sum(axis=1)
        else:
            found[1, place] = np.einsum("ij,ij,ij->i", values, values, weighing)
            found[0, place] = np.einsum("ij,ij->i", np.abs(values, out=values), weighing)
    return found


def _total(values: npt.NDArray[np.floating[Any]], weights: npt.NDArray[np.int32] | None) -> Floats:
    if weights is None:
        return np.asarray(values.sum(axis=1, dtype=np.float64))
    return np.asarray(np.einsum("ij,ij->i", values.astype(np.float64), weights))


class _Ladder:
    """Sorted rows, with the number and the sum of the values at or above each value."""

    def __init__(self, counts: Int32s, weights: npt.NDArray[np.int32] | None) -> None:
        self.members: npt.NDArray[np.int64]
        if weights is None:
            self.steps = np.sort(counts, axis=1)
            self.members = np.arange(counts.shape[1], 0, -1)[None]
            mass = self.steps
        else:
            order = np.argsort(counts, axis=1)
            self.steps = np.take_along_axis(counts, order, axis=1)
            weights = np.take_along_axis(weights, order, axis=1)
            self.members = np.cumsum(weights[:, ::-1], axis=1, dtype=np.int64)[:, ::-1]
            mass = self.steps.astype(np.int64) * weights
        self.sums = np.cumsum(mass[:, ::-1], axis=1, dtype=np.int64)[:, ::-1]

    def cut(self, constant: float, slope: float) -> Floats:
        """The t at which the sum of (T - t)^+ is constant + slope * t, in every row."""
        # With the j largest above it, t = (their sum - constant) / (j + slope); the first step above its own t decides.
        first = np.argmax(self.steps * (self.members + slope) > self.sums - constant, axis=1)[:, None]
        members = np.take_along_axis(np.broadcast_to(self.members, self.steps.shape), first, axis=1)
        found = (np.take_along_axis(self.sums, first, axis=1) - constant) / (members + slope)
        return np.asarray(found[:, 0])

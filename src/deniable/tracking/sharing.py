"""`Sharing`: how much of their noise any two windows have in common.

Devices that take part in several windows and memoise their noise repeat it. Two windows s, t with n_s and n_t reports,
of which o_st are from devices in both whose answer has the same cells, have the covariance o_st V_perm / (n_s n_t),
where V_perm is the variance a person of the permanent stage alone. Two kinds of devices make up o_st:

* those that kept their answer: kept ** |t - s| of them, where `kept` is the part that is the same, with the same
  answer, as in the window before;
* those that stayed but drew another answer, which has the same cells by chance. With few cells that is likely: of ten
  thousand people and two cells, half repeat their noise for ever, however often they change their minds.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

__all__ = ["Sharing", "correlations"]

Floats = npt.NDArray[np.float64]

_NEGLIGIBLE = 0.01  # chance of the same cells below which it is not worth a component of the state


@dataclass(frozen=True)
class Sharing:
    """The correlations of the shared noise of each window with that of the window before.

    Attributes
    ----------
    answers
        Of the devices that keep their answer, shape (T,); the first is not used.
    devices
        Of all that stay, whatever they answer, shape (T,).
    returns
        The chance that an answer that is drawn anew has the cells of the one before (`theory.returning_share`).
    """

    answers: Floats
    devices: Floats
    returns: float = 0.0

    @classmethod
    def none(cls, windows: int) -> "Sharing":
        """That of windows of different devices."""
        return cls(np.zeros(windows), np.zeros(windows))

    @cached_property
    def parts(self) -> list[tuple[float, Floats]]:
        """Independent components of the shared noise: the part of its variance, and the correlations of each."""
        if self.returns < _NEGLIGIBLE or np.array_equal(self.answers, self.devices):
            return [(1.0, self.answers)]
        return [(1 - self.returns, self.answers), (self.returns, self.devices)]

    @cached_property
    def matrix(self) -> Floats:
        """The correlations of the shared noise of any two windows, shape (T, T).

        >>> Sharing(np.array([0, 0.5, 0.5]), np.array([0, 1.0, 1.0]), 0.2).matrix.round(2).tolist()
        [[1.0, 0.6, 0.4], [0.6, 1.0, 0.6], [0.4, 0.6, 1.0]]
        """
        return np.asarray(sum(weight * _products(steps) for weight, steps in self.parts))


def _products(steps: Floats) -> Floats:
    """The correlation of two windows is the product of those of the neighbours between them."""
    size = len(steps)
    found = np.eye(size)
    for t in range(1, size):
        found[t, :t] = found[t - 1, :t] * steps[t]
        found[:t, t] = found[t, :t]
    return found


def correlations(kept: float, sizes: Floats, continues: npt.NDArray[np.bool_]) -> Floats:
    """The correlation of the shared noise of each window with that of the window before.

    Parameters
    ----------
    kept
        The part of the devices that are the same as in the window before, or the same with the same answer.
    sizes
        Reports of each window; 0 where it is missing.
    continues
        Whether each window is of the same survey as the one before: a new survey has noise of its own.

    Returns
    -------
    array
        One number for each window; the first is not used.

    Examples
    --------
    >>> correlations(0.9, np.array([100.0, 100.0, 400.0]), np.array([False, True, True]))
    array([0.  , 0.9 , 0.45])
    """
    there = sizes > 0
    last = np.maximum.accumulate(np.where(there, np.arange(len(sizes)), 0))
    filled = np.maximum(sizes[last], 1.0)  # a missing window has the devices of the last one
    found = np.zeros(len(sizes))
    ratio = filled[1:] / filled[:-1]
    found[1:] = np.where(continues[1:], kept * np.sqrt(np.minimum(ratio, 1 / ratio)), 0.0)
    return found

"""A panel: the same devices over several windows. Some change their answer and some are replaced.

`simulate` draws counts of people who answer once. Here people answer in every window and memoise their noise, as
`Client` does: the permanent response to an answer is drawn once a device, and answers that share their cells share
it, so windows share noise as far as they share devices and cells.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns import Answers, ReportTable, cell_table, keys_of, refreshed, samplers
from deniable.errors import SurveyError
from deniable.survey import Survey
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]


class _Words:
    """Random 64-bit words of a seeded generator, in place of those of the operating system."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def words(self, count: int) -> npt.NDArray[np.uint64]:
        return self._rng.integers(0, 1 << 64, count, dtype=np.uint64)

    passing = words  # as `WordStream` has it: new memory is none that is used again


def panel(
    survey: Survey,
    populations: npt.ArrayLike,
    n: int,
    rng: np.random.Generator,
    *,
    symbols: Sequence[object] | None = None,
    turnover: float = 0.0,
    change: float = 0.0,
    memoized: bool = True,
) -> list[Tally]:
    """The tallies of n devices over several windows; where a share of them reports in each, of those.

    Parameters
    ----------
    survey : Survey
        The survey that they answer.
    populations : array_like
        The distribution of answers in each window, shape (T, S). Devices move from symbols that shrink to those that
        grow, and no others.
    n : int
        Devices in each window.
    rng : numpy.random.Generator
        Source of all randomness: answers, cohorts, noise and turnover.
    symbols : sequence of symbols, optional
        The symbols of `populations`, where the alphabet is open.
    turnover : float
        The part of the devices that are replaced by new ones before each window.
    change : float
        The part of the devices that draw their answer anew before each window.
    memoized : bool
        Whether devices repeat their noise; if not, every report has noise of its own.

    Returns
    -------
    list of Tally
        One a window.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> survey = dn.krr(symbols=3, epsilon=1)
    >>> days = dn.lab.panel(survey, [[0.5, 0.3, 0.2]] * 4, 100, np.random.default_rng(0))
    >>> [day == days[0] for day in days]
    [True, True, True, True]
    """
    p = np.asarray(populations, np.float64)
    names = survey.symbols if symbols is None else tuple(symbols)
    if names is None or p.ndim != 2 or p.shape[1] != len(names):
        raise SurveyError(f"populations must have a row a window and a column a symbol, got shape {p.shape}")
    keys, words = keys_of(survey, names), _Words(rng)
    cohorts = rng.integers(0, survey.cohorts, n).astype(np.min_scalar_type(survey.cohorts - 1))
    answers = _drawn(rng, p[0], n)
    turns = rng.integers(0, survey.every, n) if survey.every > 1 else np.zeros(n, np.intp)
    memoized = memoized and survey.every == 1
    kept: npt.NDArray[Any] | None = None
    tallies = []
    for t, law in enumerate(p):
        born = np.full(n, t == 0) | (rng.random(n) < turnover)
        if t:
            answers = _moved(rng, answers, p[t - 1], law)
            anew = born | (rng.random(n) < change)
            answers[anew] = _drawn(rng, law, int(anew.sum()))
            cohorts[born] = rng.integers(0, survey.cohorts, int(born.sum()))
        if not memoized:
            born[:] = True
        if born.any():
            drawn = _responses(survey, keys, cohorts[born], words)
            kept = drawn if kept is None else kept
            kept[born] = drawn
        assert kept is not None
        sent = refreshed(survey.mechanism, kept[np.arange(n), answers], words)  # type: ignore[arg-type]
        tally = Tally(survey)
        here = turns == t % survey.every
        tally.accumulate(ReportTable(survey, cohorts[here], sent[here]))
        tallies.append(tally)
    return tallies


def _drawn(rng: np.random.Generator, law: Floats, count: int) -> npt.NDArray[np.intp]:
    return rng.choice(len(law), count, p=law / law.sum())


def _moved(
    rng: np.random.Generator, answers: npt.NDArray[np.intp], before: Floats, after: Floats
) -> npt.NDArray[np.intp]:
    """Answers of the next window: as few people move as the two distributions ask for."""
    lost, won = np.maximum(before - after, 0.0), np.maximum(after - before, 0.0)
    if not lost.any():
        return answers.copy()
    leaves = rng.random(len(answers)) * np.maximum(before, 1e-300)[answers] < lost[answers]
    found = answers.copy()
    found[leaves] = _drawn(rng, won, int(leaves.sum()))
    return found


def _responses(
    survey: Survey, keys: npt.NDArray[np.uint64], cohorts: npt.NDArray[Any], words: _Words
) -> npt.NDArray[Any]:
    """The permanent response of each device to every answer, (n, S) or (n, S, bytes)."""
    size, mechanism = len(keys), survey.mechanism.permanent
    codes = np.tile(np.arange(size), len(cohorts))
    answers = Answers(survey, codes, keys, np.repeat(cohorts, size))
    sampler = samplers.of(mechanism)
    step = sampler.rows(mechanism)
    parts = [
        sampler.draw(mechanism, answers, slice(start, start + step), words)  # type: ignore[arg-type]
        for start in range(0, len(codes), step)
    ]
    found = np.concatenate(parts)
    drawn = found.reshape(len(cohorts), size, *found.shape[1:])
    if survey.encoding.own_cells or survey.encoding.is_design:
        return drawn
    # Answers that share their cells have one permanent response, that of the first of them.
    table = np.sort(cell_table(survey.encoding, keys), axis=1)
    used, row = np.unique(cohorts, return_inverse=True)
    shared = np.stack([_first_alike(table[cohort]) for cohort in used])
    return np.asarray(drawn[np.arange(len(cohorts))[:, None], shared[row]])


def _first_alike(columns: npt.NDArray[Any]) -> npt.NDArray[np.intp]:
    """For every column the place of the first one that is equal to it."""
    _, first, which = np.unique(columns, axis=1, return_index=True, return_inverse=True)
    return np.asarray(first[which.ravel()])

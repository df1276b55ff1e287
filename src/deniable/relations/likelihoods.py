"""How likely each report is under each true answer: all that a regression must know of a mechanism.

A row of the result may be multiplied by any positive number: likelihoods of models are compared for the same reports.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns import cell_table, keys_of
from deniable.errors import DecodeError
from deniable.mechanisms import KRR, BitFlip, Channel, HitOrMiss, Mechanism, Registry, Subset
from deniable.survey import Survey, Symbol, read_candidates

Floats = npt.NDArray[np.float64]

MAX_SYMBOLS = 4096  # answers of an outcome, at most: a row of likelihoods each
_BLOCK = 1 << 22  # likelihoods that are computed at once: 32 MiB


def outcome_symbols(survey: Survey, candidates: Any) -> tuple[Symbol, ...]:
    """The answers of a closed survey, or the candidates of an open one.

    >>> import deniable as dn
    >>> outcome_symbols(dn.warner(epsilon=1), None)
    ('no', 'yes')
    """
    if survey.symbols is not None and candidates is None:
        found: tuple[Symbol, ...] = tuple(survey.symbols)
    elif candidates is None:
        raise DecodeError(
            "candidates must be named for a survey of free text, got none; list the answers with candidates=[...]"
        )
    else:
        found = read_candidates(survey.alphabet, tuple(candidates))
        if len(set(found)) != len(found):
            raise DecodeError("candidates must be different answers, got one twice")
    if not 2 <= len(found) <= MAX_SYMBOLS:
        raise DecodeError(f"answers must be from 2 to {MAX_SYMBOLS} in a regression, got {len(found)}")
    return found


def report_likelihoods(
    survey: Survey, cohorts: npt.NDArray[Any], responses: npt.NDArray[Any], symbols: tuple[Symbol, ...]
) -> Floats:
    """P(report | answer) up to a factor of each row, shape (reports, answers).

    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=2)
    >>> report_likelihoods(survey, np.zeros(2, int), np.array([0, 2]), ("a", "b", "c")).round(3)
    array([[0.787, 0.107, 0.107],
           [0.107, 0.107, 0.787]])
    """
    cells = cell_table(survey.encoding, keys_of(survey, symbols))  # (cohorts, hashes, answers)
    entry = likelihoods.of(survey.mechanism.permanent)
    found = np.empty((len(cohorts), len(symbols)))
    step = max(1, _BLOCK // (len(symbols) * max(cells.shape[1], 1)))
    for start in range(0, len(cohorts), step):
        rows = slice(start, start + step)
        found[rows] = entry(survey.mechanism, cells[cohorts[rows].astype(np.intp)], responses[rows])
    return found


# P(report | answer) of whole columns: the mechanism, the cells of every answer in the report's cohort (rows, hashes,
# answers), and the responses.
likelihoods: Registry[Callable[[Any, npt.NDArray[Any], npt.NDArray[Any]], Floats]] = Registry(
    "deniable.relations.likelihoods.likelihoods", Mechanism, "likelihood of its reports"
)


@likelihoods.add(Mechanism)
def _any(mechanism: Mechanism, cells: npt.NDArray[Any], responses: npt.NDArray[Any]) -> Floats:
    """From the exact rationals of the mechanism, a report at a time: right for any, and slow."""
    flat = [int.from_bytes(bytes(each), "little") if each.ndim else int(each) for each in responses]
    known: dict[tuple[int, tuple[int, ...]], float] = {}
    found = np.empty((len(flat), cells.shape[2]))
    for row, response in enumerate(flat):
        for place, own in enumerate(cells[row].T.tolist()):
            key = response, tuple(sorted({cell for cell in own if cell < mechanism.cells}))
            if key not in known:
                known[key] = float(mechanism.probability(*key))
            found[row, place] = known[key]
    return found


@likelihoods.add(KRR)
def _one_cell(mechanism: HitOrMiss, cells: npt.NDArray[Any], responses: npt.NDArray[Any]) -> Floats:
    hit = (cells == responses[:, None, None]).any(axis=1)
    return np.where(hit, float(mechanism.hit), float(mechanism.miss))


@likelihoods.add(Channel)
def _rows(mechanism: Channel, cells: npt.NDArray[Any], responses: npt.NDArray[Any]) -> Floats:
    law = np.array([[w / mechanism.span for w in mechanism.weights((c,))] for c in range(mechanism.cells)])
    return np.asarray(law[cells[:, 0, :], responses.astype(np.intp)[:, None]])


def _set_bits(responses: npt.NDArray[Any], cells: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether the bit of each cell is set, in the shape of `cells`; a cell past the last one is none."""
    bits = np.unpackbits(responses, axis=1, bitorder="little").astype(bool)
    rows = np.arange(len(responses))[:, None, None]
    return np.asarray(bits[rows, np.minimum(cells, bits.shape[1] - 1)])


@likelihoods.add(BitFlip)
def _bits(mechanism: HitOrMiss, cells: npt.NDArray[Any], responses: npt.NDArray[Any]) -> Floats:
    """Against a report of no cell at all: the product over the answer's own cells of two ratios."""
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    ratios = np.where(_set_bits(responses, cells), hit / miss, (1 - hit) / (1 - miss))
    ratios[cells >= mechanism.cells] = 1.0  # marks a cell that the answer has twice
    return np.asarray(ratios.prod(axis=1))


@likelihoods.add(Subset)
def _sets(mechanism: HitOrMiss, cells: npt.NDArray[Any], responses: npt.NDArray[Any]) -> Floats:
    """Sets with the true cell are equally likely, and so are those without it."""
    size = int(mechanism.hits or 1)
    hit = float(mechanism.hit)
    with_it, without = hit / size, (1 - hit) / (mechanism.cells - size)  # both times the same binomial coefficient
    return np.where(_set_bits(responses, cells)[:, 0, :], with_it, without)

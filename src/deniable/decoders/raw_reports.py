"""Maximum likelihood from the reports themselves, where a tally is not a sufficient statistic: sets and bits.

A tally of bit reports does not keep which bits came together, so `Likelihood` maximises a composite likelihood there.
From the reports the l1 loss is 1 to 2 % smaller (32 symbols, epsilon 2). With one cell per symbol every report y has

    Q(y | x) = c(y) (low + (high - low) y_x)         high / low = Q(y | x in y) / Q(y | x not in y)

so the log-likelihood is sum_y log(low + (high - low) y . p), the same function of y . p as for index reports. Memory
and time grow with the number of reports. Not to be confused with `Likelihood`, which needs a tally only.
"""

import numpy as np
import numpy.typing as npt

from deniable.columns import ReportTable, count
from deniable.decoders.base import Solution, unbias
from deniable.decoders.cohort_likelihood import CohortLikelihood, maximize
from deniable.decoders.constraints import Projected
from deniable.decoders.estimate import Estimate
from deniable.decoders.likelihood import Likelihood
from deniable.decoders.simplex import project
from deniable.errors import DecodeError
from deniable.matrices import BlockDesign, Design, design_of
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]


def likelihood_of_reports(reports: ReportTable, *, tolerance: float = 1e-9) -> Estimate:
    """The p on the simplex that makes these very reports most likely, to a relative duality gap of `tolerance`.

    For surveys in which every symbol has one cell: subset selection, k-RAPPOR, OUE (and k-RR, whose tally is sufficient
    already). Error bars are those of the unbiased estimate beside it.

    Claim: the likelihood is the product of `mechanism.probability` over the reports, up to a constant factor.
    Proof: tests/unit/decoders/test_raw_likelihood.py::test_likelihood_is_the_channels

    Parameters
    ----------
    reports
        The reports of one survey.
    tolerance
        The relative duality gap.

    Returns
    -------
    Estimate

    Raises
    ------
    DecodeError
        If there is no report, or symbols have no cells of their own.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.subset(symbols=["a", "b", "c", "d"], epsilon=2, size=2)
    >>> reports = dn.privatize(survey, ["a"] * 9000 + ["b"] * 1000)
    >>> bool(abs(likelihood_of_reports(reports)["a"] - 0.9) < 0.1)
    True
    """
    survey = reports.survey
    if survey.symbols is None or not survey.encoding.own_cells or not survey.mechanism.two_valued:
        raise DecodeError(f"reports must be of a survey with one cell a symbol, got {survey.title}; decode their tally")
    design = design_of(survey)
    assert isinstance(design, BlockDesign)
    tally = count(survey, reports)
    if tally.n == 0:
        raise DecodeError("reports must be at least one, got none")
    raw = design.invert(unbias(tally))
    values = maximize(_RawLikelihood(reports), project(raw), tolerance)
    return Estimate.of(Solution(values, raw), survey.symbols, Likelihood(tolerance), Projected(), tally, design)


def response_odds(survey: Survey) -> tuple[float, float]:
    """(low, high): likelihoods of a response without and with the bit of the answer, up to a factor."""
    mechanism = survey.mechanism
    if mechanism.hits is not None:  # one cell, or a set of them
        return 1.0, float(mechanism.odds)
    return float((1 - mechanism.hit) / (1 - mechanism.miss)), float(mechanism.hit / mechanism.miss)


class _RawLikelihood(CohortLikelihood):
    """Minus the mean log-likelihood of single reports: each distinct response is a cell, weighted by its frequency."""

    def __init__(self, reports: ReportTable) -> None:
        low, high = response_odds(reports.survey)
        self.design = _Responses(reports)
        self.miss, self.r, self.lost = low, high - low, 0.0
        self.hits = self.design.times / len(reports)
        self.misses = None


class _Responses(Design):
    """The distinct responses as a matrix: one row per response, one bit per symbol."""

    def __init__(self, reports: ReportTable) -> None:
        from scipy import sparse

        columns = reports.survey.columns
        distinct, times = np.unique(reports.responses, axis=0, return_counts=True)
        if distinct.ndim == 2:
            bits = np.unpackbits(distinct, axis=1, bitorder="little", count=columns)
        else:
            bits = distinct[:, None] == np.arange(columns)
        self.cells, self.times = len(distinct), times[None].astype(np.float64)
        self._bits = sparse.csr_array(bits.astype(np.float64))

    def forward(self, p: Floats) -> Floats:
        return np.asarray(self._bits @ p)[None]

    def _adjoint(self, stack: Floats) -> Floats:
        return np.ascontiguousarray((self._bits.T @ stack[:, 0].T).T)

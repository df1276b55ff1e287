"""`Regression`: a fit, with the names that statsmodels uses."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError
from deniable.relations.fitting import maximise, share_limits
from deniable.relations.given_tables import read_table
from deniable.relations.model_rows import covariates_of
from deniable.relations.outcome_models import OutcomeModel
from deniable.relations.problem import ReportLikelihood
from deniable.relations.profile import all_profile_limits
from deniable.relations.shown_regression import fit_as_json, fit_as_text
from deniable.relations.term_tests import OBSERVED, lr_test, wald_test
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regression:
    """A regression on randomised reports; made by `dn.regress`.

    Attributes are named as those of statsmodels: `params`, `bse`, `tvalues`, `pvalues`, `conf_int()`, `llf`, `nobs`.
    Where there are more than two answers the first three are tables with a column for each answer but the base.

    Parameters
    ----------
    formula : str
        What was fitted.
    survey : Survey
        What the reports answer (the first one, where groups have their own).
    model : OutcomeModel
        The logit or normal model.
    answers : tuple
        The answers, and the class of those who do not comply, if it was asked for.
    base : int
        The place of the answer that others are compared with.
    terms : tuple of str
        The columns of the model matrix.
    theta, covariance_scaled, unknown, scale : ndarray
        Parameters in units of scaled covariates, their covariance, which of them have no estimate, and the scales.
    llf : float
        The log-likelihood; constants that no parameter changes are left out.
    nobs, dropped, distinct : int
        People, rows left out, and distinct rows.
    converged : bool
        Whether the search ended at a maximum.
    freedom : float
        Degrees of freedom of intervals: infinite (normal) without clusters.
    cov_type : str
        "observed information", "robust" or "clustered".
    notes : tuple of str
        What a reader must know.
    spec, problem : object
        How covariates are made, and the likelihood.
    columns : tuple of str
        The columns that predictions need.
    offset_name : str, optional
        The column of the offset.
    hidden : tuple
        The randomised covariate and its values, where there is one.
    started : int
        How many searches there were.
    likelihoods : tuple of float
        The log-likelihood at the end of each search on all rows.

    Examples
    --------
    >>> import deniable as dn
    >>> data = {"said": ["no", "yes"], "people": [700, 300]}
    >>> fit = dn.regress("said ~ 1", data, survey=dn.design("warner", p=0.8), counts="people")
    >>> fit.conf_int().round(2).values.tolist(), round(fit.llf, 3)
    ([[-1.95, -1.27]], -610.864)
    >>> fit.shares().round(3).values.tolist()
    [[0.833, 0.786, 0.881], [0.167, 0.119, 0.214]]
    """

    formula: str
    survey: Survey
    model: OutcomeModel
    answers: tuple[Any, ...]
    base: int
    terms: tuple[str, ...]
    theta: Floats
    covariance_scaled: Floats
    unknown: npt.NDArray[np.bool_]
    scale: Floats
    llf: float
    nobs: int
    dropped: int
    distinct: int
    converged: bool
    freedom: float
    cov_type: str
    notes: tuple[str, ...]
    spec: Any = field(repr=False)
    problem: ReportLikelihood = field(repr=False)
    columns: tuple[str, ...] = ()
    offset_name: str | None = None
    hidden: tuple[Any, ...] = ()
    started: int = 1
    likelihoods: tuple[float, ...] = ()

    @property
    def is_linear(self) -> bool:
        """Whether the outcome is a number."""
        return self.model.size(1) == 2 and hasattr(self.model, "edges")

    @property
    def others(self) -> list[Any]:
        """The answers but the base."""
        return [answer for place, answer in enumerate(self.answers) if place != self.base]

    @property
    def _units(self) -> Floats:
        """What scaled parameters are divided by."""
        blocks = 1 if self.is_linear else len(self.others)
        found = np.tile(self.scale, blocks)
        return np.concatenate([found, [1.0]]) if self.is_linear else found

    def _shaped(self, values: Floats) -> Any:
        import pandas as pd

        if self.is_linear:
            return pd.Series(values, index=[*self.terms, "log(sigma)"])
        if len(self.others) == 1:
            return pd.Series(values, index=list(self.terms))
        table = values.reshape(len(self.others), -1).T
        return pd.DataFrame(table, index=list(self.terms), columns=[str(answer) for answer in self.others])

    def flat(self) -> tuple[Floats, Floats]:
        """Coefficients and standard errors, answer by answer.

        Returns
        -------
        tuple of ndarray
        """
        size = self.problem.outcome_size
        with np.errstate(invalid="ignore"):
            return self.theta[:size] / self._units, np.sqrt(np.diag(self.covariance_scaled)[:size]) / self._units

    @property
    def params(self) -> Any:
        """The coefficients: a Series, or a DataFrame with a column for each answer but the base."""
        return self._shaped(self.flat()[0])

    @property
    def bse(self) -> Any:
        """The standard errors; infinite where there is no finite estimate."""
        return self._shaped(self.flat()[1])

    @property
    def tvalues(self) -> Any:
        """Coefficients over their standard errors."""
        params, errors = self.flat()
        return self._shaped(params / errors)

    @property
    def pvalues(self) -> Any:
        """Two-sided p-values of Wald's test that a coefficient is zero."""
        from scipy.stats import t

        params, errors = self.flat()
        return self._shaped(2 * t.sf(np.abs(params / errors), self.freedom))

    def cov_params(self) -> Any:
        """The covariance matrix of the coefficients, answer by answer.

        Returns
        -------
        DataFrame
            Infinite on the diagonal where there is no finite estimate.
        """
        import pandas as pd

        size = self.problem.outcome_size
        units = self._units
        return pd.DataFrame(
            self.covariance_scaled[:size, :size] / units[:, None] / units[None, :],
            index=self.names,
            columns=self.names,
        )

    @property
    def names(self) -> Any:
        """Labels of the coefficients, answer by answer."""
        import pandas as pd

        if self.is_linear:
            return pd.Index([*self.terms, "log(sigma)"])
        if len(self.others) == 1:
            return pd.Index(self.terms)
        return pd.MultiIndex.from_tuples([(str(answer), term) for answer in self.others for term in self.terms])

    def conf_int(self, alpha: float = 0.05, *, method: str = "wald") -> Any:
        """Confidence intervals of the coefficients.

        Parameters
        ----------
        alpha : float
            One minus the level.
        method : str
            "wald": estimate and standard error, as statsmodels has them. "profile": where the likelihood has fallen too
            far; better where people are few and noise is much, for people who were sampled independently.

        Returns
        -------
        DataFrame
            Columns 0 and 1, as statsmodels has them.
        """
        import pandas as pd
        from scipy.stats import t

        if not 0 < alpha < 1:
            raise DecodeError(f"alpha must be between 0 and 1, got {alpha}; 0.05 gives intervals of 95 %")
        if method not in ("wald", "profile"):
            raise DecodeError(f"method must be 'wald' or 'profile', got {method!r}")
        if method == "profile":
            found = self._profiled(alpha)
            return pd.DataFrame({0: found[:, 0], 1: found[:, 1]}, index=self.names)
        params, errors = self.flat()
        width = t.ppf(1 - alpha / 2, self.freedom) * errors
        return pd.DataFrame({0: params - width, 1: params + width}, index=self.names)

    def _profiled(self, alpha: float) -> Floats:
        from scipy.special import ndtri

        self._check_independent()
        errors = np.sqrt(np.diag(self.covariance_scaled))
        return all_profile_limits(self.problem, self.theta, errors, float(-ndtri(alpha / 2))) / self._units[:, None]

    def predict(self, data: Any = None, *, level: float | None = None) -> Any:
        """The share of every answer at some covariates; of numbers, the mean.

        Parameters
        ----------
        data : table or mapping, optional
            Covariates; without them those of the distinct rows that were fitted.
        level : float, optional
            With it there are columns (answer, "low") and (answer, "high") of confidence intervals, by the delta method
            on the scale of log odds. They are 0 and 1 where a coefficient has no finite estimate.

        Returns
        -------
        DataFrame
            A row for each row of `data`, a column for each answer.
        """
        import pandas as pd

        if data is None and self.hidden:
            raise DecodeError("data must be given where a covariate is randomised: nobody's value of it is known")
        x, shift = self.problem.x[0], self.problem.offset
        if data is not None:
            x, shift = covariates_of(self.spec, read_table(data, self.columns), self.offset_name)
            x = x / self.scale
        size = self.problem.outcome_size
        theta, cov = self.theta[:size], self._finite()[:size, :size]
        if self.is_linear:
            mean = x @ theta[:-1] + shift
            found = pd.DataFrame({"mean": mean})
            if level is not None:
                wide = self._quantile(level) * np.sqrt(np.einsum("ip,pq,iq->i", x, cov[:-1, :-1], x))
                wide[self._depends(x)] = np.inf
                found["low"], found["high"] = mean - wide, mean + wide
            return found
        shares = self.model.shares(theta, x, shift)
        names = [str(answer) for answer in self.answers]
        if level is None:
            return pd.DataFrame(shares, columns=names)
        low, high = self._limits(shares, self.model.share_slopes(theta, x, shift), cov, level)
        low[self._depends(x)], high[self._depends(x)] = 0.0, 1.0
        columns = {}
        for place, name in enumerate(names):
            columns[name, "share"] = shares[:, place]
            columns[name, "low"], columns[name, "high"] = low[:, place], high[:, place]
        return pd.DataFrame(columns)

    def shares(self, *, level: float = 0.95) -> Any:
        """The share of every answer among everyone: the mean prediction over the people (or their weights).

        Intervals are made on the scale of log odds; without covariates and weights on that of shares, where they hold
        next to 0 and 1, too.

        Parameters
        ----------
        level : float
            Of the intervals, which are about the model's coefficients, with covariates as they are.

        Returns
        -------
        DataFrame
            A row for each answer: share, low, high.
        """
        import pandas as pd

        if self.is_linear or self.hidden:
            raise DecodeError("shares must be of a logit model with clear covariates; use predict")
        size = self.problem.outcome_size
        w = self.problem.weights / self.problem.weights.sum()
        x, shift = self.problem.x[0], self.problem.offset
        shares = w @ self.model.shares(self.theta[:size], x, shift)
        if np.ptp(x, axis=0).max() == 0 and not shift.any() and self.cov_type == OBSERVED:
            low, high = share_limits(self.problem.likely, self.problem.weights, shares, self._quantile(level))
        else:
            open_rows = self._depends(x)
            known = np.where(open_rows, 0.0, w)
            slopes = np.einsum("i,isp->sp", known, self.model.share_slopes(self.theta[:size], x, shift))[None]
            some = known @ self.model.shares(self.theta[:size], x, shift)
            (low,), (high,) = self._limits(some[None], slopes, self._finite()[:size, :size], level)
            low, high = np.minimum(low, shares), np.minimum(high + w[open_rows].sum(), 1.0)
        return pd.DataFrame({"share": shares, "low": low, "high": high}, index=[str(a) for a in self.answers])

    def _check_independent(self) -> None:
        if self.cov_type != OBSERVED:
            raise DecodeError(
                "method 'profile' must be of people who were sampled independently, got weights or clusters; use 'wald'"
            )

    def _finite(self) -> Floats:
        """The covariance, with zero where there is no estimate."""
        return np.where(np.isfinite(self.covariance_scaled), self.covariance_scaled, 0.0)

    def _depends(self, x: Floats) -> npt.NDArray[np.bool_]:
        """Rows whose prediction depends on a coefficient without an estimate: it may be anything."""
        unknown = self.unknown[: self.problem.outcome_size]
        blocks = unknown[None, :-1] if self.is_linear else unknown.reshape(len(self.others), -1)
        return np.asarray((x[:, np.any(blocks, axis=0)] != 0).any(axis=1))

    def _quantile(self, level: float) -> float:
        from scipy.stats import t

        if not 0 < level < 1:
            raise DecodeError(f"level must be between 0 and 1, got {level}")
        return float(t.ppf((1 + level) / 2, self.freedom))

    def _limits(self, shares: Floats, slopes: Floats, cov: Floats, level: float) -> tuple[Floats, Floats]:
        errors = np.sqrt(np.maximum(np.einsum("isp,pq,isq->is", slopes, cov, slopes), 0.0))
        inner = np.clip(shares, 1e-12, 1 - 1e-12)
        middle, wide = np.log(inner / (1 - inner)), self._quantile(level) * errors / (inner * (1 - inner))
        return 1 / (1 + np.exp(-(middle - wide))), 1 / (1 + np.exp(-(middle + wide)))

    def wald_test(self, terms: str | list[str]) -> tuple[float, int, float]:
        """Wald's test that all coefficients of some terms are zero, for every answer.

        Parameters
        ----------
        terms : str or list of str
            Names of `terms`, or terms of the formula: "C(region)" stands for all of its columns.

        Returns
        -------
        tuple
            The statistic, its degrees of freedom, and the p-value.
        """
        return wald_test(self, terms)

    def lr_test(self, smaller: "Regression") -> tuple[float, int, float]:
        """The likelihood-ratio test against a smaller model of the same reports.

        Parameters
        ----------
        smaller : Regression
            A model whose terms are among those of this one.

        Returns
        -------
        tuple
            The statistic, its degrees of freedom, and the p-value.
        """
        return lr_test(self, smaller)

    @property
    def llnull(self) -> float:
        """The log-likelihood of the model with a constant alone."""
        one = np.ones((len(self.problem.likely), 1))
        null = ReportLikelihood(self.model, (one,), self.problem.likely, self.problem.offset, self.problem.weights)
        start = np.zeros(null.size)
        if self.is_linear:
            start[0], start[-1] = float(np.mean(self.problem.x[0] @ self.theta[: len(self.terms)])), self.theta[-1]
        return maximise(null.value, null.parts, start, null.reach).value

    def to_json(self) -> dict[str, Any]:
        """The fit as a JSON object; None stands for what is infinite or not a number.

        Returns
        -------
        dict
            Coefficients with their standard errors, p-values and 95 % intervals, and what they rest on.
        """
        return fit_as_json(self)

    def summary(self) -> str:
        """The fit as text.

        Returns
        -------
        str
            A table of coefficients with what it rests on above it.
        """
        return fit_as_text(self)

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f"<pre>{escape(self.summary())}</pre>"

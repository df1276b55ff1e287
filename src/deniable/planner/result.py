"""`Plan`: the survey, its expected errors, the alternatives, what the paper's mechanisms need, and a chart."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from deniable.survey import Survey, data_frame, html_table

if TYPE_CHECKING:
    import altair as alt

_ARGUMENTS = {"l1": "max_l1", "l2": "max_l2", "max": "max_error", "visible": "visible"}

_WORDS = {"l1": "an l1 error of", "l2": "an l2 error of", "max": "errors up to", "visible": "seeing a share of"}


@dataclass(frozen=True, slots=True)
class Expected:
    """One loss of a plan: its mean and its quantile, each with a standard error.

    Parameters
    ----------
    mean : float
        The mean loss.
    standard_error : float
        The standard error of the mean.
    bound : float
        The quantile of the loss at the confidence of the plan.
    bound_error : float
        The standard error of the bound.

    Examples
    --------
    >>> Expected(0.1, 0.001, 0.13, 0.002).bound
    0.13
    """

    mean: float
    standard_error: float
    bound: float
    bound_error: float


@dataclass(frozen=True, slots=True)
class Alternative:
    """Another mechanism with its best parameters, compared with the plan.

    Parameters
    ----------
    mechanism : str
        Its name in the paper or in the literature.
    parameters : str
        Its best parameters, in words.
    needs : float, optional
        The epsilon or the n for the same error, or its error where the error is found; None if it cannot reach it.
    report_bytes : int
        Length of a packed report, in bytes.
    why : str
        A comparison with the plan, in words.

    Examples
    --------
    >>> import deniable as dn
    >>> plan = dn.plan(n=10_000, symbols=4, epsilon=1)
    >>> isinstance(plan.runner_up, Alternative), plan.runner_up == plan.alternatives[0]
    (True, True)
    """

    mechanism: str
    parameters: str
    needs: float | None
    report_bytes: int
    why: str


@dataclass(frozen=True, slots=True)
class Strategy:
    """One way of collecting many reports of a device within a budget, and what to expect of it.

    Parameters
    ----------
    name : str
        "sample people", "memoise by answer", "memoise by cell" or "fresh noise".
    mechanism, parameters : str
        The best mechanism for it and its settings, in words.
    devices : int
        Devices in all.
    people : int
        How many of them report in each window.
    reports : int
        Reports that each device makes in all.
    epsilon, epsilon_report, epsilon_worst : float
        In nats: of all reports of one answer, of one report, and of all reports however often the answer changes.
    error : float
        The error of a window that a share `confidence` of surveys stays below, in the metric of the plan.
    average : float
        The same of the mean over all windows, at the plan's rate of change.
    naming : float
        The probability that whoever sees all reports of a device names its answer, if it stays the same.
    linking : float or None
        The probability that they find the device's report in another window; None where it makes but one.
    hides_changes : bool
        Whether the budget in all also covers when an answer changed.
    report_bytes : int
        Length of a packed report, in bytes.

    Examples
    --------
    >>> import deniable as dn
    >>> plan = dn.plan(n=10_000, symbols=4, epsilon=4, reports=30, shape="uniform")
    >>> [strategy.name for strategy in plan.strategies]
    ['memoise by cell', 'memoise by answer', 'sample people', 'fresh noise']
    """

    name: str
    mechanism: str
    parameters: str
    devices: int
    people: int
    reports: int
    epsilon: float
    epsilon_report: float
    epsilon_worst: float
    error: float
    average: float
    naming: float
    linking: float | None
    hides_changes: bool
    report_bytes: int


@dataclass(frozen=True, eq=False)
class Plan:
    """A survey that is ready to run, and its expected errors.

    Errors are those of the default decoder. They combine simulated surveys and a prediction, weighted by their
    uncertainties.

    Parameters
    ----------
    survey : Survey
        The survey to run.
    n : int
        People.
    found : str
        Which of "epsilon", "n" and "error" was found.
    metric : str
        "l1", "l2", "max" or "visible".
    target : float, optional
        The error that was asked for; None where it is found.
    confidence : float
        The share of surveys with a loss of at most `bound`.
    shape : str
        The population of the errors: the one that was asked for, or the worst of the family.
    shapes : tuple of str
        All populations that were considered.
    parameters : str
        The parameters of the mechanism, in words.
    errors : dict of str to Expected
        By metric.
    smallest_visible : float
        The smallest visible share; above 1 if none is.
    report_bytes : int
        Length of a packed report, in bytes.
    decoder : str
        The default decoder of this survey.
    repeats : int
        Simulated surveys that were decoded for the errors; 0 if the errors are predictions alone.
    alternatives : tuple of Alternative
        All other mechanisms, the runner-up first.
    paper : dict of str to Alternative
        What the mechanisms of the paper need, on its grid of parameters.
    size : int
        S: symbols or candidates.
    _lines : callable
        Computes `lines` when they are first asked for.
    strategies : tuple of Strategy
        Where devices are asked again and again: the ways to do it, the plan's first. Errors and n of the plan are those
        of one window.

    Examples
    --------
    >>> import deniable as dn
    >>> plan = dn.plan(n=100_000, symbols=["no", "yes"], max_l1=0.02)
    >>> plan.found, plan.mechanism, plan.report_bytes
    ('epsilon', 'W-RR', 10)
    >>> plan.expected_l1 < plan.bound <= 0.02
    True
    >>> plan.to_json()["mechanism"], len(plan.chart().to_dict()["layer"]) > 0
    ('W-RR', True)
    """

    survey: Survey
    n: int
    found: str
    metric: str
    target: float | None
    confidence: float
    shape: str
    shapes: tuple[str, ...]
    parameters: str
    errors: dict[str, Expected]
    smallest_visible: float
    report_bytes: int
    decoder: str
    repeats: int
    alternatives: tuple[Alternative, ...]
    paper: dict[str, Alternative]
    size: int  # S: symbols or candidates
    _lines: Callable[[], list[dict[str, Any]]] = field(repr=False)
    strategies: tuple[Strategy, ...] = ()

    @property
    def epsilon(self) -> float:
        """The epsilon of all reports of an answer together; of the one report, unless they are randomised again."""
        return self.survey.epsilon

    @property
    def epsilon_report(self) -> float:
        """The epsilon of one report, which every error depends on: `epsilon`, unless reports are randomised again."""
        return float(self.survey.mechanism.report_bound)

    @property
    def mechanism(self) -> str:
        """The mechanism by its name in the paper or in the literature."""
        return self.survey.title

    @property
    def cells(self) -> int:
        """k: the cells of each cohort."""
        return self.survey.cells

    @property
    def cohorts(self) -> int:
        """C: the cohorts."""
        return self.survey.cohorts

    @property
    def expected_l1(self) -> float:
        """The mean l1 loss."""
        return self.errors["l1"].mean

    @property
    def expected_l2(self) -> float:
        """The mean l2 loss: the Euclidean distance, not its square."""
        return self.errors["l2"].mean

    @property
    def expected_error(self) -> float:
        """The mean of the largest error of any symbol."""
        return self.errors["max"].mean

    @property
    def bound(self) -> float:
        """The error that a share `confidence` of surveys stays below; for the metric "visible", the smallest visible
        share.
        """
        return self.smallest_visible if self.metric == "visible" else self.errors[self.metric].bound

    @property
    def runner_up(self) -> Alternative | None:
        """The best alternative; None if there is none."""
        return self.alternatives[0] if self.alternatives else None

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """Epsilon against n at this error, for the best mechanism and the paper's, in closed form through the plan's
        point.
        """
        return self._lines()

    def chart(self) -> "alt.LayerChart":
        """Epsilon against n at the wanted error, with this plan's point: the paper's `fig:privacy_at_n`.

        >>> import deniable as dn
        >>> plan = dn.plan(n=10_000, symbols=["no", "yes"], epsilon=1)
        >>> plan.chart().to_dict() == plan.plot().to_dict()
        True
        """
        from deniable.charts import plan_chart

        what = f"{_WORDS[self.metric]} {self.target if self.target is not None else self.bound:.3g}"
        point = {"n": self.n, "epsilon": self.epsilon_report, "mechanism": self.mechanism}
        needed = "Epsilon needed" if self.epsilon_report == self.epsilon else "Epsilon of one report needed"
        return plan_chart(self.lines, point, title=f"{needed} for {what} over {self._alphabet}")

    plot = chart  # the name that other libraries use

    @property
    def _alphabet(self) -> str:
        return f"{self.size} candidates" if self.survey.alphabet.is_open else f"{self.size} symbols"

    def to_json(self) -> dict[str, Any]:
        """Everything but the survey itself, as JSON values."""
        return {
            "found": self.found,
            "n": self.n,
            "epsilon": self.epsilon,
            "epsilon_report": self.epsilon_report,
            "epsilon_spent": self.survey.epsilon_spent,
            "mechanism": self.mechanism,
            "parameters": self.parameters,
            "cells": self.cells,
            "cohorts": self.cohorts,
            "hashes": self.survey.hashes,
            "symbols": self.size,
            "open": self.survey.alphabet.is_open,
            "decoder": self.decoder,
            "target": None if self.target is None else {_ARGUMENTS[self.metric]: self.target},
            "confidence": self.confidence,
            "shape": self.shape,
            "shapes": list(self.shapes),
            "repeats": self.repeats,
            "errors": {_ARGUMENTS[metric]: asdict(error) for metric, error in self.errors.items()},
            "smallest_visible": self.smallest_visible if self.smallest_visible <= 1 else None,
            "report_bytes": self.report_bytes,
            "alternatives": [asdict(alternative) for alternative in self.alternatives],
            "paper": [asdict(alternative) for alternative in self.paper.values()],
            "survey": self.survey.digest,
            **({"strategies": [asdict(strategy) for strategy in self.strategies]} if self.strategies else {}),
        }

    def to_pandas(self) -> Any:
        """The plan and its alternatives, or its strategies, as a pandas DataFrame: a row each, the plan first.

        >>> import deniable as dn
        >>> dn.plan(n=10_000, symbols=["no", "yes"], epsilon=1).to_pandas()["mechanism"][0]
        'W-RR'
        """
        import pyarrow as pa

        if self.strategies:
            return data_frame(pa.Table.from_pylist([asdict(one) for one in self.strategies]))
        needs = {"epsilon": self.epsilon, "n": float(self.n), "error": self.bound}[self.found]
        first = Alternative(self.mechanism, self.parameters, needs, self.report_bytes, "the plan")
        return data_frame(pa.Table.from_pylist([asdict(one) for one in (first, *self.alternatives)]))

    def _repr_html_(self) -> str:
        """What a notebook shows: the plan and its alternatives."""
        error = f"{_ARGUMENTS[self.metric]} {self.bound:.3g} in {100 * self.confidence:g} % of surveys"
        rows: list[tuple[object, ...]] = [(self.mechanism, self.parameters, f"{self.report_bytes} bytes", "the plan")]
        rows += [(one.mechanism, one.parameters, f"{one.report_bytes} bytes", one.why) for one in self.alternatives]
        report = self.survey.epsilon_report
        again = f" and {report:.4g} a report" if report < 0.999 * self.epsilon else ""
        title = f"Epsilon {self.epsilon:g}{again}, {self.n:,} people, {error}"
        if self.strategies:
            named = [(one.name, one.mechanism, one.parameters, f"{one.error:.3g}") for one in self.strategies]
            return html_table(f"{title}, a window", ["strategy", "mechanism", "parameters", "error"], named)
        return html_table(title, ["mechanism", "parameters", "a report", "why"], rows)

    def __repr__(self) -> str:
        error = f"{_ARGUMENTS[self.metric]} {self.bound:.3g}"
        epsilon = f"{self.epsilon:g}"
        epsilon += f" and {self.epsilon_report:g} a report" if self.epsilon_report < self.epsilon else ""
        return f"<Plan: {self.mechanism}, epsilon {epsilon}, n {self.n:,}, {error}, {self.report_bytes} bytes>"

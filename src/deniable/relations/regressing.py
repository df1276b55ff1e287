"""`regress`: a regression whose outcome, and maybe a covariate, is known by randomised reports alone."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import DataError, DecodeError, require
from deniable.relations.collapsing import STATEFUL, CollapsedRows, collapsed, outcome_columns, reports_of
from deniable.relations.fitted_regression import Regression
from deniable.relations.fitting import FAR, Fit, covariance, maximise
from deniable.relations.likelihoods import outcome_symbols, report_likelihoods
from deniable.relations.outcome_models import Logit, Normal, OutcomeModel
from deniable.relations.problem import ReportLikelihood
from deniable.relations.variance import sandwich
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]

STARTS = 4  # searches beside the first one, from points of a Kronecker sequence
LOOK = 4000  # rows that those searches see, about; the best of them is then followed on all rows
BLIND = 100.0  # a standard error in log odds, of covariates of mean square one, beyond which nothing is known
AMPLITUDE = 1.5  # of the starts, in log odds


def regress(
    formula: str,
    data: Any,
    *,
    survey: Survey | Mapping[Any, Survey],
    candidates: Iterable[object] | None = None,
    randomized: Mapping[str, Survey] | None = None,
    group: str | None = None,
    noncompliance: object = None,
    base: object = None,
    weights: str | None = None,
    counts: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
    offset: str | None = None,
    robust: bool = False,
    missing: str = "drop",
    starts: int = STARTS,
) -> Regression:
    """Fit how an answer depends on other columns, where the answer is known by its randomised reports alone.

    Answers of a list get a logit model (multinomial, where there are more than two), numbers (`dn.number`) a linear one
    with normal errors. The truth is summed out of the likelihood with the exact channel of the survey.

    Parameters
    ----------
    formula : str
        As "smokes ~ age + C(region)"; on the left the column of reports. Formulas are those of `formulaic`.
    data : table, path or mapping
        pandas, Polars, Arrow, DuckDB or Spark, a Parquet file, or a mapping of columns. The outcome's column has
        reports: cell numbers, packed bytes or `Report` objects; with several cohorts and cell numbers a column `cohort`
        beside it. For `dn.design` it has what people said.
    survey : Survey, or mapping of group to Survey
        What the reports answer; with `group`, the survey of each value of that column.
    candidates : iterable, optional
        The answers to look for, where the survey takes any text. Everybody is taken to have one of them.
    randomized : mapping of str to Survey, optional
        One covariate whose column has reports, too, and its survey. Its distribution given the other columns is a
        logit model that is fitted with the rest.
    group : str, optional
        The column that says which survey of a mapping a row answered.
    noncompliance : answer, optional
        What people say who do not play by the rules: they become an answer of their own, "(always ...)". It needs two
        groups with different odds.
    base : symbol, optional
        The answer that the others are compared with; the first one without it.
    weights : str, optional
        A column of survey weights; standard errors are then robust.
    counts : str, optional
        A column of how many people a row stands for.
    clusters, strata : str, optional
        Columns of sampling units and strata; standard errors are then robust.
    offset : str, optional
        A column that is added to the linear predictor.
    robust : bool
        Whether standard errors are those of the sandwich.
    missing : str
        "drop" leaves out rows with a missing value, and counts them; "raise" refuses them.
    starts : int
        Searches beside the first one: the likelihood may have several maxima.

    Returns
    -------
    Regression
        Prints as a table; `params`, `bse`, `pvalues`, `conf_int()`, `predict()`, `llf`.

    Raises
    ------
    DecodeError
        If covariates are collinear, there are fewer people than coefficients, or an option does not fit.
    DataError
        If a column is missing or of the wrong kind.
    WireError
        If the outcome's column has no reports of the survey.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> survey = dn.design("forced", p="2/3", yes="1/6")
    >>> data = {"smokes": ["no", "yes", "no", "yes"], "old": [0, 0, 1, 1], "people": [700, 300, 550, 450]}
    >>> fit = regress("smokes ~ old", data, survey=survey, counts="people")
    >>> fit.params.round(3).to_dict()
    {'Intercept': -1.386, 'old': 1.084}
    >>> fit.predict({"old": [0, 1]})["yes"].round(3).tolist()
    [0.2, 0.425]
    """
    require("to use deniable.regress", "relations")
    import formulaic

    name, right = _sides(formula)
    surveys = _surveys(survey, group)
    first = next(iter(surveys.values()))
    symbols = outcome_symbols(first, candidates)
    if any(outcome_symbols(each, candidates) != symbols for each in surveys.values()):
        raise DecodeError("surveys of all groups must have the same answers; got different ones")
    if missing not in ("drop", "raise"):
        raise DecodeError(f"missing must be 'drop' or 'raise', got {missing!r}")
    hidden = _one_hidden(randomized)
    try:
        parsed = formulaic.Formula(right)
        used = sorted(str(variable) for variable in parsed.required_variables)
    except Exception as failure:
        raise DecodeError(f"formula must be one that formulaic reads, got {formula!r}: {failure}") from None
    used = [variable for variable in used if variable != "np"]
    reports = outcome_columns(data, name, first)
    if name in used:
        raise DecodeError(f"formula must not have its outcome on the right, got {name!r} there")
    if hidden and hidden[0] not in used:
        raise DecodeError(f"randomized must name a covariate of the formula, got {hidden[0]!r}")
    extra = outcome_columns(data, hidden[0], hidden[1]) if hidden else []
    options = [column for column in (group, clusters, strata, offset) if column]
    keys = list(dict.fromkeys([*reports, *used, *extra, *options]))
    apart = STATEFUL.search(right) is not None
    rows = collapsed(data, keys, weights=weights, counts=counts, missing=missing, apart=apart)
    likely, names = _likelihoods(rows, reports, surveys, group, symbols, noncompliance)
    frame = rows.table.select([c for c in keys if c not in reports]).to_pandas()
    x, spec, terms, hidden_values, hidden_likely, clear = _covariates(right, frame, rows, hidden, extra)
    _check_covariates(x[0] if len(x) == 1 else np.concatenate(x), terms, rows.people)
    shift = np.zeros(len(frame)) if offset is None else _offset(frame, offset)
    place = 0 if base is None else _place(names, base, "base")
    model: OutcomeModel = Logit(len(names), place)
    if first.alphabet.bins is not None and noncompliance is None:
        model = Normal(_edges(first))
    scale = np.sqrt(np.maximum(np.mean(np.concatenate(x) ** 2, axis=0), 1e-300))
    problem = ReportLikelihood(
        model, tuple(part / scale for part in x), likely, shift, rows.weights, hidden_likely, clear
    )
    fit, tried = _search(problem, first, starts)
    _, _, observed, complete = problem.parts(fit.theta)
    bread, unknown = covariance(observed, complete)
    if first.alphabet.bins is None:  # log odds, not units of a number
        with np.errstate(invalid="ignore"):
            unknown |= (np.abs(fit.theta) > FAR) | ~(np.sqrt(np.diag(bread)) < BLIND)
        bread[unknown, :] = bread[:, unknown] = 0.0
        bread[unknown, unknown] = np.inf
    kind = "observed information"
    if weights or clusters or strata or robust:
        kind = "robust" if not clusters else "clustered"
        cluster = None if clusters is None else frame[clusters].to_numpy()
        stratum = None if strata is None else frame[strata].to_numpy()
        scores = problem.scores(fit.theta)
        bread, freedom = sandwich(bread, unknown, scores, rows, cluster, stratum)
    else:
        freedom = np.inf
    notes = _notes(fit, unknown, rows, tried)
    return Regression(
        formula=formula, survey=first, model=model, answers=names, base=place, terms=tuple(terms), theta=fit.theta,
        covariance_scaled=bread, unknown=unknown, scale=scale, llf=fit.value, nobs=rows.people, dropped=rows.dropped,
        distinct=len(rows.counts), converged=fit.converged, freedom=float(freedom), cov_type=kind, notes=tuple(notes),
        spec=spec, problem=problem, offset_name=offset, hidden=hidden_values, started=starts + 1, likelihoods=tried,
    )  # fmt: skip


def _sides(formula: str) -> tuple[str, str]:
    if not isinstance(formula, str) or formula.count("~") != 1:
        raise DecodeError(f"formula must be text as 'answer ~ covariates', got {str(formula)[:60]!r}")
    left, right = (side.strip() for side in formula.split("~"))
    if not left or not right:
        raise DecodeError(f"formula must have an outcome and covariates (1, if there are none), got {formula!r}")
    return left.strip("`"), right


def _surveys(survey: Any, group: str | None) -> dict[Any, Survey]:
    if isinstance(survey, Mapping):
        if group is None:
            raise DecodeError("group must name the column that says which survey a row answered, got none")
        if len(survey) < 2:
            raise DecodeError(f"survey must have two groups or more where it is a mapping, got {len(survey)}")
        return {key: Survey.check(each) for key, each in survey.items()}
    if group is not None:
        raise DecodeError("survey must be a mapping of groups to surveys where group= is given, got one survey")
    return {None: Survey.check(survey, "pass it as survey=")}


def _one_hidden(randomized: Mapping[str, Survey] | None) -> tuple[str, Survey] | None:
    if not randomized:
        return None
    if len(randomized) > 1:
        raise DecodeError(f"randomized must name one covariate, got {len(randomized)}; make one question of the others")
    ((name, survey),) = randomized.items()
    if Survey.check(survey).symbols is None:
        raise DecodeError(f"a randomised covariate must have a list of answers, got free text in {name!r}")
    return name, survey


def _likelihoods(
    rows: CollapsedRows,
    columns: list[str],
    surveys: dict[Any, Survey],
    group: str | None,
    symbols: tuple[Any, ...],
    always: object,
) -> tuple[Floats, tuple[Any, ...]]:
    which = [None] * len(rows.counts) if group is None else rows.table[group].to_pylist()
    if unknown := {str(key) for key in which} - {str(key) for key in surveys}:
        raise DataError(f"column {group!r} must hold groups that have a survey, got {sorted(unknown)[0]!r:.40}")
    size = len(symbols) + (always is not None)
    likely = np.ones((len(which), size))
    for key, survey in surveys.items():
        places = np.flatnonzero([each == key or str(each) == str(key) for each in which])
        if not len(places):
            raise DataError(f"every group must have reports, got none of {key!r}")
        part = rows.table.take(places)
        cohorts, responses = reports_of(survey, part, columns)
        likely[places, : len(symbols)] = report_likelihoods(survey, cohorts, responses, symbols)
        if always is not None:
            if (
                not survey.mechanism.one_column
                or survey.cohorts > 1
                or survey.columns != len(survey.mechanism.said or symbols)
            ):
                raise DecodeError(
                    "noncompliance must be modelled for answers that are said as they are; use dn.design or dn.krr"
                )
            said = survey.mechanism.said or symbols
            likely[places, -1] = responses == _place(said, always, "noncompliance")
    if always is None:
        return likely, symbols
    if len({tuple(tuple(row) for row in _law(survey)) for survey in surveys.values()}) < 2:
        raise DecodeError(
            "noncompliance must have two groups with different odds, got one; pass survey={...} and group="
        )
    return likely, (*symbols, f"(always {always})")


def _law(survey: Survey) -> list[list[int]]:
    return [list(survey.mechanism.weights((cell,))) for cell in range(survey.cells)]


def _place(names: tuple[Any, ...], value: object, what: str) -> int:
    if value not in names:
        raise DecodeError(
            f"{what} must be one of the answers, got {str(value)[:40]!r}; they are {', '.join(map(str, names[:8]))}"
        )
    return names.index(value)


def _covariates(right: str, frame: Any, rows: CollapsedRows, hidden: Any, extra: list[str]) -> tuple[Any, ...]:
    """The model matrix for each value of a hidden covariate, and what is known of that covariate."""
    import formulaic

    def matrix(given: Any) -> Any:
        try:
            return formulaic.model_matrix(right, given)
        except Exception as failure:
            raise DataError(f"formula must be computable from the data: {failure}") from None

    if hidden is None:
        made = matrix(frame)
        return (np.asarray(made, float),), made.model_spec, list(made.columns), (), None, None
    name, survey = hidden
    cohorts, responses = reports_of(survey, rows.table, extra)
    values = tuple(survey.symbols)
    likely = report_likelihoods(survey, cohorts, responses, values)
    import pandas as pd

    long = pd.concat([frame.assign(**{name: value}) for value in values], ignore_index=True)
    made = matrix(long)
    parts = tuple(np.split(np.asarray(made, float), len(values)))
    # Columns that do not depend on the hidden covariate are its own covariates.
    same = np.all([np.isclose(part, parts[0]).all(axis=0) for part in parts], axis=0)
    clear = parts[0][:, same]
    if not clear.shape[1] or not np.isclose(
        np.linalg.matrix_rank(np.column_stack([clear, np.ones(len(clear))])), clear.shape[1]
    ):
        clear = np.column_stack([np.ones(len(clear)), clear])
    clear = clear / np.sqrt(np.maximum((clear**2).mean(axis=0), 1e-300))
    return parts, made.model_spec, list(made.columns), (name, values), likely, clear


def _check_covariates(x: Floats, terms: list[str], people: int) -> None:
    if people < x.shape[1]:
        raise DecodeError(f"people must be at least as many as coefficients, got {people} for {x.shape[1]}")
    if not np.isfinite(x).all():
        raise DataError(
            "covariates must be finite numbers, got others in " + terms[int(np.argmin(np.isfinite(x).all(axis=0)))]
        )
    scaled = x / np.sqrt(np.maximum((x**2).mean(axis=0), 1e-300))
    triangle = np.abs(np.diag(np.linalg.qr(scaled, mode="r"))) if len(x) >= x.shape[1] else np.zeros(x.shape[1])
    if (triangle < 1e-7 * np.sqrt(len(x))).any():
        worst = terms[int(np.flatnonzero(triangle < 1e-7 * np.sqrt(len(x)))[0])]
        raise DecodeError(
            f"covariates must not be collinear, got {worst!r}, which follows from those before it; leave it out"
        )


def _offset(frame: Any, offset: str) -> Floats:
    try:
        return np.asarray(frame[offset], float)
    except (TypeError, ValueError):
        raise DataError(f"offset must be a column of numbers, got others in {offset!r}") from None


def _edges(survey: Survey) -> tuple[float, ...]:
    """The edges of the bins; the outer ones are open where numbers outside are counted in them."""
    scale = survey.alphabet.bins
    assert scale is not None
    low, high, size = float(scale.low), float(scale.high), scale.bins
    if scale.step is not None:
        step = float(scale.step)
        edges = low + step * (np.arange(size + 1) - 0.5)
    else:
        edges = np.linspace(low, high, size + 1)
    edges[0], edges[-1] = -np.inf, np.inf
    return tuple(edges.tolist())


def _search(problem: ReportLikelihood, survey: Survey, starts: int) -> tuple[Fit, tuple[float, ...]]:
    """The best of several searches, and the log-likelihood at the end of each."""
    first = _start(problem, survey)
    best = maximise(problem.value, problem.parts, first)
    tried = [best.value]
    if starts:
        look = problem.thinned(max(1, len(problem.likely) // LOOK))
        points = [_point(number + 1, problem.size) for number in range(starts)]
        ends = [maximise(look.value, look.parts, first + AMPLITUDE * (2 * point - 1) * 2) for point in points]
        here = maximise(look.value, look.parts, best.theta).value if look is not problem else best.value
        for end in sorted(ends, key=lambda end: -end.value)[: 1 if len(look.likely) < len(problem.likely) else starts]:
            if len(look.likely) == len(problem.likely):
                tried.append(end.value)
                best = max(best, end, key=lambda each: each.value)
            elif end.value > here + 1e-3:
                followed = maximise(problem.value, problem.parts, end.theta)
                tried.append(followed.value)
                best = max(best, followed, key=lambda each: each.value)
    return best, tuple(tried)


def _point(number: int, size: int) -> Floats:
    """A point of the unit cube that is far from the others: multiples of irrational steps (Kronecker's sequence)."""
    return np.asarray((0.5 + number * np.sqrt(np.arange(2, size + 2) * 1.7)) % 1.0)


def _start(problem: ReportLikelihood, survey: Survey) -> Floats:
    """The estimate without covariates: a few steps of expectation maximisation, put into the constant column."""
    likely, w = problem.likely, problem.weights
    p = np.full(likely.shape[1], 1 / likely.shape[1])
    for _ in range(200):
        joint = likely * p
        p = w @ (joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)) / w.sum()
    p = np.maximum(p, 1e-3)
    theta = np.zeros(problem.size)
    x = problem.x[0]
    constant = np.flatnonzero(np.ptp(x, axis=0) < 1e-12)
    if isinstance(problem.model, Logit):
        others = [s for s in range(len(p)) if s != problem.model.base]
        if len(constant):
            theta[: problem.outcome_size].reshape(len(others), -1)[:, constant[0]] = (
                np.log(p[others] / p[problem.model.base]) / x[0, constant[0]]
            )
    else:
        edges = np.asarray(problem.model.edges)  # type: ignore[attr-defined]
        middle = np.concatenate([[edges[1]], (edges[1:-2] + edges[2:-1]) / 2, [edges[-2]]])
        mean = float(p @ middle / p.sum())
        if len(constant):
            theta[constant[0]] = mean / x[0, constant[0]]
        theta[problem.outcome_size - 1] = np.log(max(np.sqrt(p @ (middle - mean) ** 2 / p.sum()), 1e-3))
    return theta


def _notes(fit: Fit, unknown: npt.NDArray[np.bool_], rows: CollapsedRows, tried: tuple[float, ...]) -> list[str]:
    notes = []
    if rows.dropped:
        notes.append(f"{rows.dropped:,} rows with a missing value were left out.")
    if unknown.any():
        notes.append(
            "Some coefficients have no finite estimate: covariates separate the answers perfectly, or a share is not "
            "told from zero. Their standard errors are infinite."
        )
    elif not fit.converged:
        notes.append("The search did not converge: do not use these numbers.")
    if max(tried) - min(tried) > 1e-3:
        notes.append("The likelihood has several maxima; the highest one found is shown.")
    return notes

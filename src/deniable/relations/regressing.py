"""`regress`: a regression whose outcome, and maybe a covariate, is known by randomised reports alone."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import DecodeError, require
from deniable.relations.collapsing import CollapsedRows, collapsed
from deniable.relations.estimating import STARTS, Estimated, estimated, in_other_units
from deniable.relations.fitted_regression import Regression
from deniable.relations.formulas import STATEFUL, read_formula
from deniable.relations.given_tables import outcome_columns
from deniable.relations.likelihoods import outcome_symbols
from deniable.relations.model_rows import (
    bin_edges,
    check_covariates,
    in_given_order,
    model_matrices,
    offset_of,
    place_of,
    row_likelihoods,
    well_conditioned,
)
from deniable.relations.outcome_models import Logit, Normal, OutcomeModel
from deniable.relations.problem import ReportLikelihood
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]


def regress(
    formula: str,
    data: Any,
    *,
    survey: Survey | Mapping[Any, Survey | None],
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
        Transforms that look at all rows, as center(age), see each row once, however many people it stands for.
    data : table, path or mapping
        pandas, Polars, Arrow, DuckDB or Spark, a Parquet or CSV file, or a mapping of columns. The outcome's column has
        reports: cell numbers, packed bytes or `Report` objects; with several cohorts and cell numbers a column `cohort`
        beside it. For `dn.design` it has what people said.
    survey : Survey, or mapping of group to Survey
        What the reports answer; with `group`, the survey of each value of that column, or None for people who were
        asked openly: their column has the answers, or 0, 1, ... for them.
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
    name, right, used = read_formula(formula)
    surveys = _surveys(survey, group)
    randomised = [each for each in surveys.values() if each is not None]
    first = randomised[0]
    symbols = outcome_symbols(first, candidates)
    if any(outcome_symbols(each, candidates) != symbols for each in randomised):
        raise DecodeError("surveys of all groups must have the same answers; got different ones")
    if missing not in ("drop", "raise"):
        raise DecodeError(f"missing must be 'drop' or 'raise', got {missing!r}")
    if not isinstance(starts, int) or starts < 0:
        raise DecodeError(f"starts must be a whole number from 0 on, got {starts!r}; so many searches follow the first")
    hidden = _one_hidden(randomized)
    reports = outcome_columns(data, name, first)
    if hidden and hidden[0] not in used:
        raise DecodeError(f"randomized must name a covariate of the formula, got {hidden[0]!r}")
    extra = outcome_columns(data, hidden[0], hidden[1]) if hidden else []
    options = [column for column in (group, clusters, strata, offset) if column]
    keys = list(dict.fromkeys([*reports, *used, *extra, *options]))
    apart = STATEFUL.search(right) is not None
    rows = collapsed(data, keys, weights=weights, counts=counts, missing=missing, apart=apart)
    likely, names = row_likelihoods(rows, reports, surveys, group, symbols, noncompliance)
    frame = in_given_order(
        rows.table.select([c for c in keys if c not in reports]).to_pandas(date_as_object=False), data
    )
    x, spec, terms, hidden_values, hidden_likely, clear = model_matrices(right, frame, rows, hidden, extra)
    check_covariates(x[0] if len(x) == 1 else np.concatenate(x), terms, rows.people)
    shift = np.zeros(len(frame)) if offset is None else offset_of(frame, offset)
    place = 0 if base is None else place_of(names, base, "base")
    model: OutcomeModel = Logit(len(names), place)
    if first.alphabet.bins is not None and noncompliance is None:
        model = Normal(bin_edges(first))
    inner, scale, back = well_conditioned(x, model)
    problem = ReportLikelihood(model, inner, likely, shift, rows.weights, hidden_likely, clear)
    found = estimated(
        problem,
        rows,
        starts=starts,
        robust=robust or weights is not None,
        cluster=None if clusters is None else frame[clusters].to_numpy(),
        stratum=None if strata is None else frame[strata].to_numpy(),
    )
    found, problem = in_other_units(found, back), replace(problem, x=tuple(part / scale for part in x))
    return Regression(
        formula=formula, survey=first, model=model, answers=names, base=place, terms=tuple(terms),
        theta=found.fit.theta, covariance_scaled=found.covariance, unknown=found.unknown, scale=scale,
        llf=found.fit.value, nobs=rows.people, dropped=rows.dropped, distinct=len(rows.counts),
        converged=found.fit.converged, freedom=found.freedom, cov_type=found.kind,
        notes=tuple(_notes(found, rows, linear=isinstance(model, Normal))), spec=spec, problem=problem,
        columns=(*used, offset) if offset else tuple(used), offset_name=offset, hidden=hidden_values,
        started=starts + 1, likelihoods=found.tried,
    )  # fmt: skip


def _surveys(survey: Any, group: str | None) -> dict[Any, Survey | None]:
    if isinstance(survey, Mapping):
        if group is None:
            raise DecodeError("group must name the column that says which survey a row answered, got none")
        if len(survey) < 2:
            raise DecodeError(f"survey must have two groups or more where it is a mapping, got {len(survey)}")
        if all(each is None for each in survey.values()):
            raise DecodeError("survey must have a group whose answers were randomised, got None for all of them")
        return {key: None if each is None else Survey.check(each) for key, each in survey.items()}
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


def _notes(found: Estimated, rows: CollapsedRows, *, linear: bool) -> list[str]:
    notes = []
    if rows.dropped:
        notes.append(f"{rows.dropped:,} rows with a missing value were left out.")
    if found.unknown.any() and linear:
        notes.append(
            "The coefficients have no standard errors: the deviation of the numbers from them is not told from zero."
        )
    elif found.unknown.any():
        notes.append(
            "Some coefficients have no finite estimate: covariates separate the answers perfectly, or a share is not "
            "told from zero. Their standard errors are infinite."
        )
    elif not found.fit.converged:
        notes.append("The search did not converge: do not use these numbers.")
    if max(found.tried) - min(found.tried) > 1e-3:
        notes.append("The likelihood has several maxima; the highest one found is shown.")
    return notes

"""What a regression sees of its rows: how likely each report is, the covariates, and what is refused of them."""

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns import places_said
from deniable.errors import DataError, DecodeError
from deniable.relations.collapsing import CollapsedRows, reports_of, whole_numbers
from deniable.relations.likelihoods import report_likelihoods
from deniable.relations.outcome_models import Logit, Normal, OutcomeModel
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]


def row_likelihoods(
    rows: CollapsedRows,
    columns: list[str],
    surveys: Mapping[Any, Survey | None],
    group: str | None,
    symbols: tuple[Any, ...],
    always: object,
) -> tuple[Floats, tuple[Any, ...]]:
    which = [None] * len(rows.counts) if group is None else whole_numbers(rows.table[group]).to_pylist()
    if unknown := {str(key) for key in which} - {str(key) for key in surveys}:
        raise DataError(f"column {group!r} must hold groups that have a survey, got {sorted(unknown)[0]!r:.40}")
    size = len(symbols) + (always is not None)
    likely = np.ones((len(which), size))
    for key, survey in surveys.items():
        places = np.flatnonzero([each == key or str(each) == str(key) for each in which])
        if not len(places):
            raise DataError(f"every group must have reports, got none of {key!r}")
        part = rows.table.take(places)
        if survey is None:
            said, responses = symbols, _open_answers(part[columns[0]], symbols, columns[0])
            likely[places, : len(symbols)] = np.eye(len(symbols))[responses]
        else:
            said = survey.mechanism.said or symbols
            cohorts, responses = reports_of(survey, part, columns)
            likely[places, : len(symbols)] = report_likelihoods(survey, cohorts, responses, symbols)
            as_they_are = survey.mechanism.one_column and survey.cohorts == 1 and survey.columns == len(said)
            if always is not None and not as_they_are:
                raise DecodeError(
                    "noncompliance must be modelled for answers that are said as they are; use dn.design or dn.krr"
                )
        if always is not None:
            likely[places, -1] = responses == place_of(said, always, "noncompliance")
    if always is None:
        return likely, symbols
    if len({tuple(tuple(row) for row in _law(survey)) for survey in surveys.values()}) < 2:
        raise DecodeError(
            "noncompliance must have two groups with different odds, got one; pass survey={...} and group="
        )
    return likely, (*symbols, f"(always {always})")


def _law(survey: Survey | None) -> list[list[int]]:
    return [] if survey is None else [list(survey.mechanism.weights((cell,))) for cell in range(survey.cells)]


def _open_answers(column: Any, symbols: tuple[Any, ...], name: str) -> npt.NDArray[np.int64]:
    """The place of each answer of people who were asked without a design."""
    found = places_said(symbols, column)
    if (found < 0).any():
        told = ", ".join(map(repr, symbols[:8]))
        raise DataError(
            f"column {name!r} must hold {told} (or their places from 0) of who was asked openly, got others"
        )
    return found


def place_of(names: tuple[Any, ...], value: object, what: str) -> int:
    if value not in names:
        raise DecodeError(
            f"{what} must be one of the answers, got {str(value)[:40]!r}; they are {', '.join(map(str, names[:8]))}"
        )
    return names.index(value)


def in_given_order(frame: Any, data: Any) -> Any:
    """Categories in the order that a pandas table gave them: the first one that anybody has is the reference.

    >>> import pandas as pd
    >>> given = pd.DataFrame({"size": pd.Categorical(["s", "l"], categories=["s", "m", "l"])})
    >>> in_given_order(pd.DataFrame({"size": ["l", "s"]}), given)["size"].cat.categories.tolist()
    ['s', 'l']
    """
    import pandas as pd

    for name in frame.columns if isinstance(data, pd.DataFrame) else ():
        if isinstance(data[name].dtype, pd.CategoricalDtype):
            held = set(frame[name])
            order = [value for value in data[name].cat.categories if value in held]
            frame[name] = pd.Categorical(frame[name], categories=order)
    return frame


def model_matrices(right: str, frame: Any, rows: CollapsedRows, hidden: Any, extra: list[str]) -> tuple[Any, ...]:
    """The model matrix for each value of a hidden covariate, and what is known of that covariate."""
    import formulaic

    def matrix(given: Any) -> tuple[Any, Floats]:
        try:
            with np.errstate(all="ignore"):  # of numbers that are not finite, which are refused in a sentence
                made = formulaic.model_matrix(right, given)
            values = np.asarray(made, float)
        except Exception as failure:
            dates = [column for column in given if given[column].dtype.kind in "mM"]
            more = f"; make a number of the times in {dates[0]!r}, such as a year" if dates else ""
            raise DataError(f"formula must be computable from the data: {failure}{more}") from None
        if gone := len(given) - len(values):
            raise DataError(
                f"covariates must be finite numbers, got none in {gone:,} distinct rows: is it a logarithm of what is "
                "not positive? leave those rows out"
            )
        return made, values

    if hidden is None:
        made, values = matrix(frame)
        return (values,), made.model_spec, list(made.columns), (), None, None
    name, survey = hidden
    cohorts, responses = reports_of(survey, rows.table, extra)
    answers = tuple(survey.symbols)
    likely = report_likelihoods(survey, cohorts, responses, answers)
    import pandas as pd

    made, values = matrix(pd.concat([frame.assign(**{name: answer}) for answer in answers], ignore_index=True))
    parts = tuple(np.split(values, len(answers)))
    # Columns that do not depend on the hidden covariate are its own covariates.
    same = np.all([np.isclose(part, parts[0]).all(axis=0) for part in parts], axis=0)
    clear = parts[0][:, same]
    if not clear.shape[1] or not np.isclose(
        np.linalg.matrix_rank(np.column_stack([clear, np.ones(len(clear))])), clear.shape[1]
    ):
        clear = np.column_stack([np.ones(len(clear)), clear])
    (clear,), _, _ = well_conditioned([clear], Logit(2, 0))
    return parts, made.model_spec, list(made.columns), (name, answers), likely, clear


def well_conditioned(x: Sequence[Floats], model: OutcomeModel) -> tuple[tuple[Floats, ...], Floats, Floats]:
    """Covariates of mean square one, for a fit; the scales of the given ones; and how parameters of both are related.

    Where there is a constant, a covariate is measured from its value nearest to zero: calendar years are hardly told
    from a constant otherwise. The last result, times parameters of the fit, has those of covariates over their scales.

    >>> made, scale, back = well_conditioned([np.array([[1.0, 1990.0], [1.0, 1991.0]])], Logit(2, 0))
    >>> made[0].round(3).tolist(), (made[0] @ [1, 2] - [[1, 1990], [1, 1991]] / scale @ back @ [1, 2]).round(9).tolist()
    ([[1.0, 0.0], [1.0, 1.414]], [0.0, 0.0])
    """
    every = np.concatenate(x)
    scale = _mean_square_root(every)
    constants = np.flatnonzero((np.ptp(every, axis=0) == 0) & (every[0] != 0))
    nearest = np.zeros(every.shape[1])
    if len(constants):
        nearest = every[np.abs(every).argmin(axis=0), np.arange(every.shape[1])]
        nearest[constants] = 0.0
    own = _mean_square_root(every - nearest)
    back = np.diag(scale / own)
    for first in constants[:1]:
        back[first] -= nearest / own * scale[first] / every[0, first]
    blocks = 1 if isinstance(model, Normal) else model.size(1)
    whole = np.asarray(np.kron(np.eye(blocks), back), np.float64)
    if isinstance(model, Normal):
        whole = np.block([[whole, np.zeros((len(whole), 1))], [np.zeros((1, len(whole))), np.ones((1, 1))]])
    return tuple((part - nearest) / own for part in x), scale, whole


def _mean_square_root(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.maximum((x**2).mean(axis=0), 1e-300)))


def covariates_of(spec: Any, table: Any, offset: str | None) -> tuple[Floats, Floats]:
    """The model matrix and the offset of other rows than those that were fitted."""
    from formulaic.errors import DataMismatchWarning

    frame = table.to_pandas(date_as_object=False)
    spec = copy.deepcopy(spec)  # it remembers what it is given: texts in place of numbers, for one
    for name, (_, state) in spec.encoder_state.items():
        if "categories" in state and name in frame:  # whole numbers would be taken for amounts
            frame[name] = frame[name].astype(object)
    try:
        with warnings.catch_warnings():  # of values that were not fitted, which would be taken for the first one
            warnings.simplefilter("error", DataMismatchWarning)
            x = np.asarray(spec.get_model_matrix(frame), float)
    except DataMismatchWarning:  # its own words name the value, which is somebody's
        raise DataError("data must have the covariates of the formula, got a category that no fitted row has") from None
    except Exception as problem:
        told = f": {problem}"
        if "inconsistent with specification" in told:  # names the value, too
            told = ", got text where the fitted rows have numbers"
        raise DataError(f"data must have the covariates of the formula{told}") from None
    if len(x) < len(frame):
        gone = f"{len(frame) - len(x):,} of {len(frame):,} rows"
        raise DataError(f"data must have no missing values, got {gone} with one; leave them out")
    return x, np.zeros(len(frame)) if offset is None else offset_of(frame, offset)


def check_covariates(x: Floats, terms: list[str], people: int) -> None:
    if people < x.shape[1]:
        raise DecodeError(f"people must be at least as many as coefficients, got {people} for {x.shape[1]}")
    if not np.isfinite(x).all():
        raise DataError(
            "covariates must be finite numbers, got others in " + terms[int(np.argmin(np.isfinite(x).all(axis=0)))]
        )
    scaled = x / _mean_square_root(x)
    triangle = np.abs(np.diag(np.linalg.qr(scaled, mode="r"))) if len(x) >= x.shape[1] else np.zeros(x.shape[1])
    if (triangle < 1e-7 * np.sqrt(len(x))).any():
        worst = terms[int(np.flatnonzero(triangle < 1e-7 * np.sqrt(len(x)))[0])]
        raise DecodeError(
            f"covariates must not be collinear, got {worst!r}, which follows from those before it; leave it out"
        )


def offset_of(frame: Any, offset: str) -> Floats:
    try:
        found = np.asarray(frame[offset], float)
    except (TypeError, ValueError):
        raise DataError(f"offset must be a column of numbers, got others in {offset!r}") from None
    if not np.isfinite(found).all():
        raise DataError(f"offset must be a column of finite numbers, got others in {offset!r}")
    return found


def bin_edges(survey: Survey) -> tuple[float, ...]:
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

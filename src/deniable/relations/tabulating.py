"""`crosstab`: from tallies to a cross-table."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from deniable.decoders import Estimate, JeffreysLimits, decode, project
from deniable.errors import DecodeError
from deniable.relations.crosstab import Crosstab, Side, as_groups, deviations
from deniable.relations.groups import GroupShares, expected_counts, group_of, support_of, with_always
from deniable.relations.independence import Independence, chi_square
from deniable.relations.ratios import ScoreMoments, score_limits
from deniable.tally import FormTally, Tally
from deniable.theory import expected_loss, mechanism_model

Floats = npt.NDArray[np.float64]

MOST_CELLS = 4096  # cells of a table: their covariance takes 128 MiB


def crosstab(
    data: Tally | FormTally | Mapping[Any, Tally | Mapping[Any, Tally]],
    rows: str | None = None,
    columns: str | None = None,
    *,
    candidates: Iterable[object] | None = None,
    noncompliance: object = None,
    **settings: Any,
) -> Crosstab:
    """How two answers of the same people go together, or how an answer differs between groups.

    Parameters
    ----------
    data : FormTally or mapping
        The tally of a form that relates two questions, or a tally for each group of people. Groups are known in the
        clear; each may have been asked with a mechanism and a budget of its own, if the answers are the same.
    rows, columns : str, optional
        The two related questions of a form. For groups: what to call the groups, and their answers.
    candidates : iterable, optional
        The answers to look for, where groups answered in their own words.
    noncompliance : answer, optional
        What people say who do not play by the rules: they become a column of their own, "(always ...)". Each group is
        then a dict of two tallies, of surveys with different odds.
    **settings
        What `decode` takes.

    Returns
    -------
    Crosstab
        With conditionals, differences, ratios, intervals, a test of independence and a chart.

    Raises
    ------
    DecodeError
        If the form does not relate the questions, a group has no reports, or groups have different answers.

    Claim: intervals of cells, conditionals, differences and ratios cover what they say.
    Proof: tests/statistical/test_crosstab.py::test_intervals_cover

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(smokes=dn.warner(epsilon=1), age=dn.krr(["young", "old"], epsilon=1), epsilon=3,
    ...                relate=[("smokes", "age")])
    >>> p = {("smokes", "age"): [[0.5, 0.2], [0.1, 0.2]]}
    >>> table = dn.crosstab(dn.simulate(form, p, n=10**6, rng=np.random.default_rng(0)), "age", "smokes")
    >>> print(table)
    young: no 83.4 % (83.2 to 83.5 %) +, yes 16.6 % (16.5 to 16.8 %) -
    old: no 50.0 % (49.8 to 50.2 %) -, yes 50.0 % (49.8 to 50.2 %) +
    The answers are related: chi-square 80047.6 with 1 degree of freedom, p < 0.0001.
    """
    if isinstance(data, FormTally):
        if not (isinstance(rows, str) and isinstance(columns, str)):
            pairs = [[one.name for one in part.questions] for part in data.form.parts if len(part.questions) > 1]
            told = ", ".join(" and ".join(pair) for pair in pairs) or "none; make it with relate=[...]"
            raise DecodeError(f"rows and columns must name two related questions, got fewer; the form relates {told}")
        if noncompliance is not None or candidates is not None:
            what = "noncompliance" if candidates is None else "candidates"
            raise DecodeError(f"{what} must come with a tally for each group, got the tally of a form; leave it out")
        return _of_pair(data, rows, columns, settings)
    if not isinstance(data, Mapping):
        raise DecodeError(
            f"data must be the tally of a form or a dict of tallies by group, got {type(data).__name__}; "
            "write dn.crosstab({'women': tally, 'men': tally})"
        )
    names, tallies = as_groups(data)
    if noncompliance is not None:
        always = [with_always(name, each, noncompliance) for name, each in zip(names, tallies, strict=True)]
        return _of_groups((Side(rows or "group", tuple(names)), Side(columns or "answer", ())), always)
    for name, tally in zip(names, tallies, strict=True):
        if not isinstance(tally, Tally):
            raise DecodeError(f"group {name!r} must be given as a tally, got {type(tally).__name__}; count its reports")
        if tally.n == 0:
            raise DecodeError(f"group {name!r} must have reports, got none; leave it out")
    listed = None if candidates is None else list(candidates)
    found = [decode(tally, candidates=listed, **settings) for tally in tallies if isinstance(tally, Tally)]
    sides = Side(rows or "group", tuple(names)), Side(columns or found[0].tally.survey.name or "answer", ())
    return _of_groups(sides, [group_of(estimate) for estimate in found])


def _of_pair(tally: FormTally, rows: str, columns: str, settings: Mapping[str, Any]) -> Crosstab:
    """Two questions whose answers were sent together."""
    part = tally.form.part_of(rows)
    tally.form.part_of(columns)
    names = [question.name for question in part.questions]
    if rows == columns:
        raise DecodeError(f"rows and columns must name two different questions, got {rows} twice")
    if columns not in names:
        raise DecodeError(
            f"questions must be related in the form to be tabulated together, got {rows} and {columns}; "
            f"make the form with relate=[({rows!r}, {columns!r})]"
        )
    counts = tally[rows]
    if counts.n == 0:
        raise DecodeError(f"tally must hold answers to {rows!r} and {columns!r}, got none")
    estimate = decode(counts, **settings)
    answers = [question.answers.symbols or () for question in part.questions]
    shape = len(answers[0]), len(answers[1])
    _check_size(shape)
    places = np.arange(shape[0] * shape[1]).reshape(shape)
    if rows != names[0]:
        places, answers = places.T, answers[::-1]
    order = places.ravel()
    raw, covariance = estimate.raw[order].reshape(places.shape), estimate.covariance[np.ix_(order, order)]
    sides = Side(rows, tuple(answers[0])), Side(columns, tuple(answers[1]))
    return Crosstab(
        *sides,
        raw,
        estimate.probabilities[order].reshape(places.shape),
        covariance,
        estimate.n,
        lambda level: estimate.intervals(level, exact=False)[order],
        None,
        _score_limits(estimate, raw),
        _test_pair(estimate, raw, order, covariance),
    )


def _score_limits(estimate: Estimate, raw: Floats) -> Callable[[float], Floats] | None:
    """Score limits of the shares within rows, for mechanisms that treat all cells alike: those of `dn.form`."""
    survey = estimate.tally.survey
    mechanism = survey.mechanism
    alike = mechanism.two_valued and mechanism.hits is not None and survey.encoding.own_cells
    if not alike or survey.repeats_noise:
        return None
    model = mechanism_model(mechanism)
    moments = ScoreMoments(float(model.base), float(model.slope), raw.size)
    rows = project(raw.ravel()).reshape(raw.shape).sum(axis=1)

    @lru_cache(maxsize=4)  # shares, differences and ratios ask for the same level
    def limits(level: float) -> Floats:
        return score_limits(raw, rows, moments, estimate.n, float(-ndtri((1 - level) / 2)))

    return limits


def _test_pair(estimate: Estimate, raw: Floats, order: npt.NDArray[np.intp], covariance: Floats) -> Independence:
    """Deviations from the product of the marginals, with the covariance at the independent population."""
    rows, columns = raw.sum(axis=1), raw.sum(axis=0)
    away, step = deviations(raw, rows, columns)
    null = np.outer(project(rows), project(columns)).ravel()
    survey, expected = estimate.tally.survey, support_of(estimate)
    if not survey.repeats_noise and survey.cohorts == 1:
        p = np.empty_like(null)
        p[order] = null / null.sum()
        known = expected_loss(survey, p, estimate.n).covariance
        covariance = known[np.ix_(order, order)]
        miss, slope = survey.mechanism.affine
        expected = estimate.n * (miss + slope * estimate.design.forward(p).ravel())
    inner = [row * raw.shape[1] + column for row in range(raw.shape[0] - 1) for column in range(raw.shape[1] - 1)]
    free = (raw.shape[0] - 1) * (raw.shape[1] - 1)
    spread = (step @ covariance @ step.T)[np.ix_(inner, inner)]
    return chi_square(away.ravel()[inner], spread, free, expected)


def _of_groups(sides: tuple[Side, Side], found: Sequence[GroupShares]) -> Crosstab:
    """Groups that are known in the clear: their reports are independent of each other."""
    kinds = [[(type(symbol), symbol) for symbol in group.symbols] for group in found]
    for name, kind in zip(sides[0].symbols, kinds, strict=True):
        if kind != kinds[0]:
            raise DecodeError(
                f"groups must have the same answers in the same order, got others in {name!r}; "
                "ask all groups the same question"
            )
    columns = Side(sides[1].name, found[0].symbols)
    count, size = len(found), len(found[0].symbols)
    _check_size((count, size))
    people = np.array([group.n for group in found], np.float64)
    n = people.sum()
    weights, inner = people / n, np.stack([group.raw for group in found])
    between = (np.diag(weights) - np.outer(weights, weights)) / n
    four = np.einsum("gh,gj,hk->gjhk", between, inner, inner)
    for place, group in enumerate(found):
        four[place, :, place, :] += weights[place] ** 2 * group.covariance
    shares = np.stack([group.probabilities for group in found])
    return Crosstab(
        sides[0],
        columns,
        weights[:, None] * inner,
        weights[:, None] * shares,
        four.reshape(count * size, count * size),
        int(n),
        partial(_cell_limits, found, weights),
        inner,
        lambda level: np.stack([group.limits(level) for group in found]),
        _test_groups(found, weights),
    )


def _cell_limits(found: Sequence[GroupShares], weights: Floats, level: float) -> Floats:
    """Limits of group share x share within the group, from those of both (MOVER)."""
    n = sum(group.n for group in found)
    sizes = JeffreysLimits(np.array([float(group.n) for group in found]), n, 0.0, 1.0).between(1 - level)
    inner = np.stack([group.raw for group in found])
    limits = np.stack([group.limits(level) for group in found])
    inside = np.maximum(inner, 0.0)
    low = np.hypot(weights[:, None] * (inner - limits[..., 0]), inside * (weights - sizes[:, 0])[:, None])
    high = np.hypot(weights[:, None] * (limits[..., 1] - inner), inside * (sizes[:, 1] - weights)[:, None])
    cells = weights[:, None] * inner
    return np.stack([cells - low, cells + high], axis=-1)


def _test_groups(found: Sequence[GroupShares], weights: Floats) -> Independence:
    """Whether all groups have one distribution: squared distances from their common mean."""
    closed = all(group.is_whole for group in found)
    used = len(found[0].symbols) - closed  # shares that add up to one: the last follows from the others
    pooled = project(weights @ np.stack([group.raw for group in found]))
    spreads = [group.null(pooled)[:used, :used] for group in found]
    shares = [group.raw[:used] for group in found]
    support = expected_counts(found)
    free = (len(found) - 1) * used
    if used < 1 or not all(np.isfinite(spread).all() for spread in spreads):
        return chi_square(np.zeros(1), np.ones((1, 1)), 0, support)
    base = shares[-1]
    away = np.concatenate([share - base for share in shares[:-1]])
    rest = spreads[-1]
    covariance = np.asarray(np.kron(np.ones((len(found) - 1, len(found) - 1)), rest), np.float64)
    for place, spread in enumerate(spreads[:-1]):
        some = slice(place * used, (place + 1) * used)
        covariance[some, some] += spread
    return chi_square(away, covariance, free, support)


def _check_size(shape: tuple[int, int]) -> None:
    if shape[0] * shape[1] > MOST_CELLS:
        raise DecodeError(f"a cross-table must have at most {MOST_CELLS} cells, got {shape[0]} x {shape[1]}")

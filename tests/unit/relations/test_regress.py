"""Regressions on reports: equal to direct maximum likelihood, for every mechanism, and what they refuse."""

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize, root
from scipy.stats import chi2, norm, t

import deniable as dn
from deniable.relations.fitting import covariance
from deniable.relations.likelihoods import report_likelihoods
from deniable.relations.outcome_models import Logit, Normal
from deniable.relations.problem import ReportLikelihood
from deniable.survey import Survey

SEED = bytes(range(16))
DESIGNS = {
    "warner": dn.design("warner", p=0.7),
    "forced": dn.design("forced", p="2/3", yes="1/6"),
    "unrelated": dn.design("unrelated", p=0.7, u=0.4),
    "crosswise": dn.design("crosswise", p=0.25),
    "mangat": dn.design("mangat", p=0.6),
}

# P(say the second thing | no) and P(... | yes), as the literature defines each design.
SAID_YES = {
    "warner": (0.3, 0.7),
    "forced": (1 / 6, 5 / 6),
    "unrelated": (0.3 * 0.4, 0.7 + 0.3 * 0.4),
    "crosswise": (0.75, 0.25),
    "mangat": (0.4, 1.0),
}


def people(survey: Survey, n: int = 4000) -> dict[str, Any]:
    """What people said in a design, by hand: the table itself decides, with words from a seeded generator."""
    rng = np.random.default_rng(5)
    old = rng.integers(0, 4, n)
    truth = (rng.random(n) < 1 / (1 + np.exp(1.0 - 0.5 * old))).astype(int)
    chance = np.array([float(survey.mechanism.probability(1, (cell,))) for cell in (0, 1)])
    said = np.where(rng.random(n) < chance[truth], survey.mechanism.said[1], survey.mechanism.said[0])
    return {"said": said, "old": old}


@pytest.mark.parametrize("name", DESIGNS)
def test_coefficients_of_hand_run_designs_equal_direct_maximum_likelihood(name: str) -> None:
    survey = DESIGNS[name]
    data = people(survey)
    fit = dn.regress("said ~ old", data, survey=survey)
    chance = SAID_YES[name]
    yes = data["said"] == survey.mechanism.said[1]

    def minus(b: Any) -> float:
        share = 1 / (1 + np.exp(-(b[0] + b[1] * data["old"])))
        p = np.clip(chance[0] * (1 - share) + chance[1] * share, 1e-12, 1 - 1e-12)
        return -float(np.where(yes, np.log(p), np.log(1 - p)).sum())

    points = np.random.default_rng(9).normal(size=(50, 2)) * 2
    ends = [minimize(minus, b, method="BFGS", options={"gtol": 1e-7}) for b in points]
    best = min(ends, key=lambda end: end.fun)
    assert fit.llf >= -best.fun - 1e-6  # the best of fifty starts

    def slope(b: Any) -> Any:
        share = 1 / (1 + np.exp(-(b[0] + b[1] * data["old"])))
        p = chance[0] * (1 - share) + chance[1] * share
        each = np.where(yes, 1 / p, -1 / (1 - p)) * (chance[1] - chance[0]) * share * (1 - share)
        return np.array([each.sum(), each @ data["old"]])

    polished = root(slope, best.x, tol=1e-12)
    assert np.abs(slope(polished.x)).max() < 1e-8
    assert fit.params.to_numpy() == pytest.approx(polished.x, abs=1e-6)


@pytest.mark.parametrize("name", DESIGNS)
def test_prevalence_is_the_closed_form(name: str) -> None:
    survey = DESIGNS[name]
    no, yes = survey.mechanism.said
    low, high = SAID_YES[name]
    share = 0.3
    count = round(100_000 * (low + share * (high - low)))
    fit = dn.regress("said ~ 1", {"said": [no, yes], "n": [100_000 - count, count]}, survey=survey, counts="n")
    assert fit.shares().loc["yes", "share"] == pytest.approx((count / 100_000 - low) / (high - low), abs=1e-6)


def test_coefficients_of_a_matrix_equal_direct_maximum_likelihood() -> None:
    """Three answers, four things to say: the multinomial logit by its own definition, from fifty starts."""
    law = np.array([[0.5, 0.2, 0.2, 0.1], [0.1, 0.6, 0.1, 0.2], [0.1, 0.1, 0.3, 0.5]])
    survey = dn.design(law.tolist(), symbols=["a", "b", "c"])
    rng = np.random.default_rng(11)
    x = rng.integers(-1, 3, 3000)
    odds = np.exp(np.column_stack([np.zeros(3000), 0.3 + 0.4 * x, -0.2 - 0.5 * x]))
    chance = odds / odds.sum(axis=1, keepdims=True) @ law
    said = (rng.random(3000)[:, None] > chance.cumsum(axis=1)[:, :-1]).sum(axis=1)
    fit = dn.regress("said ~ x", {"said": said, "x": x}, survey=survey)

    def both(b: Any) -> tuple[float, Any]:
        share = np.exp(np.column_stack([np.zeros(3000), b[0] + b[1] * x, b[2] + b[3] * x]))
        share /= share.sum(axis=1, keepdims=True)
        joint = share * law[:, said].T
        p = joint.sum(axis=1)
        away = (joint / p[:, None] - share)[:, 1:]
        return -float(np.log(p).sum()), -np.array([away[:, 0].sum(), away[:, 0] @ x, away[:, 1].sum(), away[:, 1] @ x])

    points = np.random.default_rng(9).normal(size=(50, 4))
    best = min((minimize(both, b, method="BFGS", jac=True) for b in points), key=lambda end: end.fun)
    assert fit.llf >= -best.fun - 1e-6
    polished = root(lambda b: both(b)[1], best.x, tol=1e-12)
    assert fit.params.to_numpy().T.ravel() == pytest.approx(polished.x, abs=1e-6)


CHANNELS = {
    "krr": dn.krr(symbols=3, epsilon=2),
    "krappor": dn.krappor(symbols=3, epsilon=2),
    "oue": dn.oue(symbols=3, epsilon=2),
    "subset": dn.subset(symbols=4, epsilon=1, size=2),
    "hadamard": dn.hadamard(symbols=3, epsilon=1),
    "projective": dn.projective(symbols=7, epsilon=1, order=2, dimension=3),
    "orr": dn.orr(symbols=5, epsilon=1, cells=3, cohorts=2, seed=SEED),
    "orappor": dn.orappor(symbols=5, epsilon=2, cells=4, cohorts=2, hashes=2, seed=SEED),
    "sensitive": dn.sensitive(4, sensitive=[1, 2], epsilon=1),
    "krr-again": dn.krr(symbols=3, epsilon=2, epsilon_report=1),
    "oue-again": dn.oue(symbols=3, epsilon=2, epsilon_report="1/2"),
    "subset-again": dn.subset(symbols=4, epsilon=1, epsilon_report="1/2", size=2),
    "number": dn.number(0, 5, 1, bins=5),
}


@pytest.mark.parametrize("name", CHANNELS)
def test_likelihoods_are_the_published_channel(name: str) -> None:
    """Up to a factor of each report, against the exact rationals of the mechanism."""
    survey = CHANNELS[name]
    symbols = survey.symbols or ()
    mechanism = survey.mechanism
    allowed = [y for y in range(mechanism.outputs) if mechanism.permanent.allows(y)]
    for cohort in range(survey.cohorts):
        if survey.report_format.response.bits:
            size = survey.report_format.response.size
            responses = np.array([list(y.to_bytes(size, "little")) for y in allowed], np.uint8)
        else:
            responses = np.array(allowed)
        found = report_likelihoods(survey, np.full(len(allowed), cohort), responses, tuple(symbols))
        exact = np.array(
            [[float(mechanism.probability(y, survey.encode(cohort, s))) for s in symbols] for y in allowed]
        )
        assert found / found.sum(axis=1, keepdims=True) == pytest.approx(exact / exact.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("model", [Logit(3, 1), Normal((-np.inf, -0.5, 0.4, np.inf))], ids=["logit", "normal"])
@pytest.mark.parametrize("hidden", [False, True])
def test_scores_and_information_are_the_derivatives(model: Any, hidden: bool) -> None:
    rng = np.random.default_rng(3)
    rows = 12
    x = tuple(np.column_stack([np.ones(rows), rng.normal(size=rows)]) for _ in range(3 if hidden else 1))
    more: dict[str, Any] = {}
    if hidden:
        more = {"hidden": rng.random((rows, 3)), "clear": np.column_stack([np.ones(rows), rng.normal(size=rows)])}
    problem = ReportLikelihood(model, x, rng.random((rows, 3)), rng.normal(size=rows) / 4, 1 + rng.random(rows), **more)
    theta = rng.normal(size=problem.size) / 2
    value, score, observed, _, squares = problem.parts(theta)
    assert value == pytest.approx(problem.value(theta))
    step = 1e-5
    for place in range(problem.size):
        up, down = theta.copy(), theta.copy()
        up[place] += step
        down[place] -= step
        assert (problem.value(up) - problem.value(down)) / (2 * step) == pytest.approx(score[place], abs=1e-6)
        bent = (problem.parts(up)[1] - problem.parts(down)[1]) / (2 * step)
        assert -bent == pytest.approx(observed[place], abs=1e-5)
    each = problem.scores(theta)
    assert squares() == pytest.approx(sum(w * np.outer(one, one) for w, one in zip(problem.weights, each, strict=True)))


def test_every_table_gives_the_same_fit(tmp_path: Path) -> None:
    survey = DESIGNS["forced"]
    data = people(survey, 500)
    pq.write_table(pa.table(data), tmp_path / "rows.parquet")
    pd.DataFrame(data).to_csv(tmp_path / "rows.csv")
    files = [tmp_path / "rows.parquet", tmp_path / "rows.csv"]
    given = [data, pd.DataFrame(data), pl.DataFrame(data), pa.table(data), pa.table(data).to_reader(), *files]
    found = [dn.regress("said ~ old", each, survey=survey).params.to_numpy() for each in given]
    assert all(each == pytest.approx(found[0], abs=1e-9) for each in found)


def test_missing_values_of_csv_files_are_left_out(tmp_path: Path) -> None:
    """As R writes them; a text between quotes is one, whatever it says."""
    rows = ["no,a,1", "NA,a,2", '"yes","NA",3', "yes,NA,4", "yes,a,", "no,a,5", 'no,"NA",7', "yes,a,9"]
    (tmp_path / "rows.csv").write_text("said,who,x\n" + "\n".join(rows) + "\n")
    fit = dn.regress("said ~ x + who", tmp_path / "rows.csv", survey=DESIGNS["forced"])
    assert (fit.nobs, fit.dropped, fit.terms) == (5, 3, ("Intercept", "x", "who[T.a]"))
    for broken in (b"said,x\nno,1\nsecret\n", b"", b"said,x\nno,\xe9secret\n"):
        (tmp_path / "broken.csv").write_bytes(broken)
        with pytest.raises(dn.DataError, match="as many fields in every row") as problem:
            dn.regress("said ~ x", tmp_path / "broken.csv", survey=DESIGNS["forced"])
        assert "secret" not in str(problem.value)
    survey = dn.oue(["no", "yes"], epsilon=1)
    (tmp_path / "bytes.csv").write_text("y,x\n01,1\n02,2\n01,3\n")
    with pytest.raises(dn.WireError, match="as bytes, got int64; a CSV file has none, write Parquet"):
        dn.regress("y ~ x", tmp_path / "bytes.csv", survey=survey)


def test_names_with_dots_are_quoted() -> None:
    """R writes them so."""
    data = people(DESIGNS["forced"])
    dotted = {"rr.q1": data["said"], "cov.age": data["old"]}
    for plain, quoted in (
        ("old", "`cov.age`"),
        ("I(old**2)", "I(`cov.age`**2)"),
        ("poly(old, 2)", "poly(`cov.age`, 2)"),
    ):
        fit = dn.regress(f"rr.q1 ~ {quoted}", dotted, survey=DESIGNS["forced"])
        same = dn.regress(f"said ~ {plain}", data, survey=DESIGNS["forced"])
        assert fit.params.to_numpy() == pytest.approx(same.params.to_numpy(), abs=1e-9)
        assert fit.predict({"cov.age": [1, 3]})["yes"].tolist() == pytest.approx(same.predict({"old": [1, 3]})["yes"])


def test_whole_numbers_that_pandas_made_floats_are_whole() -> None:
    """A column of integers with a missing value is one of floats."""
    data = pd.DataFrame({"y": [None, 0, 1, 1, 0, 1] * 20, "x": range(120), "g": [1, 2, 2, 1, None, 1] * 20})
    survey = dn.warner(epsilon=1)
    assert dn.regress("y ~ x", data, survey=survey).dropped == 20
    groups = {1: survey, 2: dn.warner(epsilon=2)}
    assert dn.regress("y ~ x", data, survey=groups, group="g").dropped == 40
    mended = dn.regress("y ~ x", data.dropna().astype(int), survey=groups, group="g")
    assert dn.regress("y ~ x", data, survey=groups, group="g").llf == pytest.approx(mended.llf)


def test_decimals_are_numbers() -> None:
    """DuckDB and Polars have them; as objects they would be categories, one for each value."""
    data = people(DESIGNS["forced"])
    plain = dn.regress("said ~ old", data, survey=DESIGNS["forced"])
    exact = data | {"old": [Decimal(int(value)) for value in data["old"]]}
    fit = dn.regress("said ~ old", exact, survey=DESIGNS["forced"])
    assert fit.params.to_dict() == pytest.approx(plain.params.to_dict())
    assert fit.predict({"old": [Decimal(2)]})["yes"].tolist() == pytest.approx(
        plain.predict({"old": [2]})["yes"].tolist()
    )


def test_categories_are_in_the_order_that_pandas_gives_them() -> None:
    """The first one that anybody has is the reference, as in statsmodels; numbers of categories are no amounts."""
    data = pd.DataFrame(people(DESIGNS["forced"]))
    data["who"] = pd.Categorical(data["old"], categories=[2, 9, 0, 3, 1])
    fit = dn.regress("said ~ who", data, survey=DESIGNS["forced"])
    assert fit.terms == ("Intercept", "who[T.0]", "who[T.3]", "who[T.1]")
    same = dn.regress("said ~ C(old)", data, survey=DESIGNS["forced"])
    assert fit.predict({"who": [0, 1, 2]})["yes"].tolist() == pytest.approx(same.predict({"old": [0, 1, 2]})["yes"])
    with pytest.raises(dn.DataError, match="got a category that no fitted row has"):
        fit.predict({"who": [7]})


def test_reports_in_every_form_give_the_same_fit() -> None:
    survey = dn.orr(symbols=3, epsilon=2, cells=2, cohorts=4, seed=SEED)
    table = dn.privatize(survey, np.arange(600) % 3)
    x = np.arange(600) % 5
    forms: list[dict[str, Any]] = [
        {"y": [report.pack() for report in table], "x": x},
        {"y": list(table), "x": x},
        {"y": table.responses, "y_cohort": table.cohorts, "x": x},
        {"y": table.responses, "cohort": table.cohorts, "x": x},
    ]
    found = [dn.regress("y ~ x", form, survey=survey).params.to_numpy() for form in forms]
    assert all(each == pytest.approx(found[0], abs=1e-7) for each in found)


def test_weights_of_one_kind_change_nothing_but_the_standard_errors() -> None:
    survey = DESIGNS["forced"]
    data = people(survey) | {"w": np.full(4000, 2.5)}
    plain = dn.regress("said ~ old", data, survey=survey)
    robust = dn.regress("said ~ old", data, survey=survey, robust=True)
    weighted = dn.regress("said ~ old", data, survey=survey, weights="w")
    assert weighted.params.to_numpy() == pytest.approx(plain.params.to_numpy(), abs=1e-6)
    assert weighted.bse.to_numpy() == pytest.approx(robust.bse.to_numpy(), rel=1e-6)
    assert robust.bse.to_numpy() == pytest.approx(plain.bse.to_numpy(), rel=0.1)


def test_weights_that_sum_to_one_are_as_good_as_their_multiples() -> None:
    """Reports of much noise tell little of one person; weights of a millionth are no less known for that."""
    survey = dn.warner(epsilon="1/4")
    data = {"y": np.arange(6000) % 2, "x": np.arange(6000) % 5 % 3, "w": np.where(np.arange(6000) % 7, 1.0, 2.0)}
    plain = dn.regress("y ~ x", data, survey=survey, weights="w")
    for factor in (1e-7, 1e300):
        found = dn.regress("y ~ x", data | {"w": factor * data["w"]}, survey=survey, weights="w")
        assert found.notes == plain.notes == ()
        assert found.params.to_numpy() == pytest.approx(plain.params.to_numpy(), abs=1e-6)
        assert found.bse.to_numpy() == pytest.approx(plain.bse.to_numpy(), rel=1e-6)


def test_rows_without_a_count_are_left_out() -> None:
    survey = DESIGNS["forced"]
    rows = {"said": ["no", "yes", "no"], "n": [700, 300, None]}
    assert dn.regress("said ~ 1", rows, survey=survey, counts="n").nobs == 1000


def test_clusters_of_one_person_are_the_robust_errors_and_doubled_people_count_once() -> None:
    survey = DESIGNS["forced"]
    data = people(survey) | {"who": np.arange(4000)}
    robust = dn.regress("said ~ old", data, survey=survey, robust=True)
    single = dn.regress("said ~ old", data, survey=survey, clusters="who")
    assert single.bse.to_numpy() == pytest.approx(robust.bse.to_numpy(), rel=1e-6)
    twice = {name: np.concatenate([column, column]) for name, column in data.items()}
    doubled = dn.regress("said ~ old", twice, survey=survey, clusters="who")
    assert doubled.bse.to_numpy() == pytest.approx(single.bse.to_numpy(), rel=1e-6)


def test_weighted_shares_agree_with_survey_sampling_where_nothing_is_random() -> None:
    """At epsilon 30 a share by strata is the weighted mean, and its standard error Taylor's of survey sampling."""
    survey = dn.warner(epsilon=30)
    rng = np.random.default_rng(2)
    n = 900
    stratum = np.arange(n) % 3
    yes = rng.random(n) < 0.2 + 0.2 * stratum
    w = np.array([1.0, 2.0, 4.0])[stratum]
    fit = dn.regress("y ~ 1", {"y": yes.astype(int), "s": stratum, "w": w}, survey=survey, weights="w", strata="s")
    share = float((w * yes).sum() / w.sum())
    assert fit.shares().loc["yes", "share"] == pytest.approx(share, abs=1e-9)
    residual = w * (yes - share) / w.sum()
    variance = 0.0
    for level in range(3):
        part = residual[stratum == level]
        variance += len(part) / (len(part) - 1) * float(((part - part.mean()) ** 2).sum())
    assert float(fit.bse.iloc[0]) * share * (1 - share) == pytest.approx(variance**0.5, rel=1e-6)


def test_weights_clusters_and_strata_together_are_the_linearised_errors_of_survey_sampling() -> None:
    """Of a logit whose outcome is hardly random: sums of scores by cluster, about their mean within the stratum."""
    rng = np.random.default_rng(12)
    cluster = rng.integers(0, 24, 1500)
    x = rng.integers(0, 4, 1500) + cluster % 3
    y = (rng.random(1500) < 1 / (1 + np.exp(1 - 0.4 * x - 0.1 * (cluster % 4)))).astype(int)
    rows = {"y": y, "x": x, "w": rng.gamma(2, 1, 1500), "c": cluster, "s": cluster % 3}
    fit = dn.regress("y ~ x", rows, survey=dn.warner(epsilon=30), weights="w", clusters="c", strata="s")
    columns = np.column_stack([np.ones(1500), x])
    w = rows["w"] / rows["w"].mean()
    share = 1 / (1 + np.exp(-columns @ fit.params.to_numpy()))
    scores = columns * ((y - share) * w)[:, None]
    bread = np.linalg.inv((columns * (share * (1 - share) * w)[:, None]).T @ columns)
    meat = np.zeros((2, 2))
    for stratum in range(3):
        sums = np.array([scores[cluster == unit].sum(axis=0) for unit in range(stratum, 24, 3)])
        away = sums - sums.mean(axis=0)
        meat += away.T @ away * len(sums) / (len(sums) - 1)
    assert scores.sum(axis=0) == pytest.approx(0, abs=1e-5)
    assert fit.bse.to_numpy() == pytest.approx(np.sqrt(np.diag(bread @ meat @ bread)), rel=1e-6)
    assert fit.freedom == 24 - 3
    assert fit.conf_int()[1].to_numpy() == pytest.approx((fit.params + t.ppf(0.975, 21) * fit.bse).to_numpy())
    assert fit.pvalues.to_numpy() == pytest.approx(2 * t.sf(np.abs(fit.params / fit.bse), 21))
    assert fit.wald_test("x")[2] == pytest.approx(fit.pvalues["x"])


def test_an_offset_is_added() -> None:
    survey = DESIGNS["warner"]
    data = people(survey)
    plain = dn.regress("said ~ old", data, survey=survey)
    moved = dn.regress("said ~ old", data | {"off": 0.3 * data["old"]}, survey=survey, offset="off")
    assert moved.params["old"] == pytest.approx(plain.params["old"] - 0.3, abs=1e-6)
    told = moved.predict({"old": [1, 3], "off": [0.3, 0.9]})["yes"]
    assert told.to_numpy() == pytest.approx(plain.predict({"old": [1, 3]})["yes"].to_numpy(), abs=1e-6)
    assert moved.llnull == pytest.approx(
        dn.regress("said ~ 1", data | {"off": 0.3 * data["old"]}, survey=survey, offset="off").llf
    )


def test_likelihood_ratio_and_wald_agree_and_the_null_is_the_constant() -> None:
    survey = DESIGNS["forced"]
    data = people(survey)
    fit, constant = (dn.regress(f"said ~ {right}", data, survey=survey) for right in ("old", "1"))
    ratio, wald = fit.lr_test(constant), fit.wald_test("old")
    assert ratio[1] == wald[1] == 1
    assert ratio[0] == pytest.approx(wald[0], rel=0.2)
    assert (wald[2], fit.pvalues["old"]) == pytest.approx((chi2.sf(wald[0], 1), 2 * norm.sf(abs(fit.tvalues["old"]))))
    wide = dn.regress("said ~ C(old)", data, survey=survey)
    assert wide.lr_test(constant)[1] == wide.wald_test("C(old)")[1] == 3
    assert fit.llnull == pytest.approx(constant.llf, abs=1e-6)


def test_the_interval_of_a_prediction_is_that_of_its_log_odds() -> None:
    fit = dn.regress("said ~ old", people(DESIGNS["forced"]), survey=DESIGNS["forced"])
    found = fit.predict({"old": [0]}, level=0.9)["yes"]
    limits = 1 / (1 + np.exp(-fit.conf_int(0.1).loc["Intercept"].to_numpy()))
    assert found[["low", "high"]].to_numpy()[0] == pytest.approx(limits, rel=1e-9)


@pytest.mark.parametrize("scale", [{"step": 1}, {"bins": 60}])
def test_numbers_that_hardly_are_random_have_the_line_of_least_squares(scale: dict[str, Any]) -> None:
    """A shift by half a bin would be seen: the standard error is a fifth of that."""
    rng = np.random.default_rng(2)
    x = rng.integers(0, 10, 4000)
    y = 10 + 2 * x + rng.normal(size=4000) * 3
    survey = dn.number(-10, 50, epsilon=30, **scale)
    fit = dn.regress("y ~ x", {"y": dn.privatize(survey, y.tolist()).responses, "x": x}, survey=survey)
    slope, start = np.polyfit(x, y, 1)
    assert fit.params[["Intercept", "x"]].to_numpy() == pytest.approx([start, slope], abs=0.1)
    assert np.exp(fit.params["log(sigma)"]) == pytest.approx(3, abs=0.1)


def test_predictions_have_intervals_inside_zero_and_one() -> None:
    fit = dn.regress("said ~ old", people(DESIGNS["forced"]), survey=DESIGNS["forced"])
    found = fit.predict({"old": [0, 3]}, level=0.95)
    assert (found["yes", "low"] < found["yes", "share"]).all()
    assert (found["yes", "share"] < found["yes", "high"]).all()
    assert found["yes", "high"].max() < 1


@pytest.mark.parametrize(
    ("right", "same"),
    [
        ("center(old)", "old"),
        ("poly(old, 2)", "old + I(old**2)"),
        ("scale(np.sqrt(`how old`))", "np.sqrt(`how old`)"),
        ("bs(old, df=4, degree=2) + C(region)", "bs(old, df=4, degree=2) + region"),
    ],
)
def test_transforms_that_look_at_all_rows_span_the_same_shares(right: str, same: str) -> None:
    """Another basis of the same covariates: as likely, and with the same predictions."""
    survey = DESIGNS["warner"]
    data = people(survey)
    old = np.arange(4000) % 7
    data |= {"old": old, "how old": old + 1, "region": np.array(["n", "s"])[old % 2]}
    first, second = (dn.regress(f"said ~ {text}", data, survey=survey) for text in (right, same))
    assert first.llf == pytest.approx(second.llf, abs=1e-6)
    some = {"old": [0, 3], "how old": [1, 4], "region": ["n", "s"]}
    assert first.predict(some)["yes"].to_numpy() == pytest.approx(second.predict(some)["yes"].to_numpy(), abs=1e-5)


def test_every_table_predicts_the_same(tmp_path: Path) -> None:
    survey = DESIGNS["warner"]
    data = people(survey)
    fit = dn.regress("said ~ old", data | {"off": np.zeros(4000)}, survey=survey, offset="off")
    some = {"old": [0, 3], "off": [0.0, 0.5], "said": ["no", "no"]}
    pq.write_table(pa.table(some), tmp_path / "some.parquet")
    given = [some, pd.DataFrame(some), pl.DataFrame(some), pa.table(some), tmp_path / "some.parquet"]
    found = [fit.predict(each)["yes"].tolist() for each in given]
    assert all(each == found[0] for each in found)


def test_what_cannot_be_predicted_is_a_sentence() -> None:
    survey = DESIGNS["warner"]
    data = people(survey) | {"region": np.array(["n", "s"] * 2000)}
    fit = dn.regress("said ~ old + region", data, survey=survey)
    for given, words in (
        ({"old": [1]}, "must name columns of the data, got 'region'; there are 'old'"),
        ({"old": [1, None], "region": ["n", "s"]}, "data must have no missing values, got 1 of 2 rows with one"),
        (
            {"old": [1], "region": ["w"]},
            "data must have the covariates of the formula, got a category that no fitted row has",
        ),
        ({"old": 1, "region": ["n"]}, "columns must be lists of values, got int; put a single one into a list"),
        (7, "data must be a pandas, Polars or Arrow table"),
        (
            {"old": ["a"], "region": ["n"]},
            "data must have the covariates of the formula, got text where the fitted rows have",
        ),
    ):
        before = fit.predict({"old": [1, 2], "region": ["n", "s"]})
        with pytest.raises(dn.DataError) as problem:
            fit.predict(given)
        assert words in str(problem.value)
        assert fit.predict({"old": [1, 2], "region": ["n", "s"]}).equals(before)
    rows = {"y": [0, 1] * 40, "x": [0, 1, 1, 0] * 20}
    both = dn.regress("y ~ x", rows, survey=dn.warner(epsilon=3), randomized={"x": dn.krr(2, epsilon=3)})
    with pytest.raises(dn.DecodeError, match="data must be given where a covariate is randomised"):
        both.predict()
    assert both.predict({"x": [0, 1]}).shape == (2, 2)


def test_a_term_of_the_formula_is_tested_with_all_of_its_columns() -> None:
    survey = DESIGNS["warner"]
    data = people(survey) | {"region": np.array(["n", "s", "w", "n"] * 1000)}
    fit = dn.regress("said ~ old + C(region)", data, survey=survey)
    whole = fit.wald_test("C(region)")
    assert whole == fit.wald_test(["C(region)[T.s]", "C(region)[T.w]"])
    assert whole[1] == 2
    with pytest.raises(dn.DecodeError, match="terms must be among Intercept, old, "):
        fit.wald_test("region")


def test_numbers_that_four_decimals_would_hide_are_printed_with_four_digits() -> None:
    """As statsmodels does: the coefficient of an income, for one unit of it, is no 0.0000."""
    data = people(DESIGNS["forced"])
    fit = dn.regress("said ~ income", data | {"income": data["old"] * 20_000.0}, survey=DESIGNS["forced"])
    (line,) = (line for line in fit.summary().splitlines() if line.startswith("income"))
    assert line.split()[1:3] == [f"{fit.params['income']:.4g}", f"{fit.bse['income']:.4g}"]
    assert float(line.split()[1]) == pytest.approx(fit.params["income"], rel=1e-3)


def test_a_table_says_what_is_compared_and_which_distribution_its_p_values_have() -> None:
    survey = dn.krr(["a", "b", "c"], epsilon=4)
    data = {"y": np.arange(600) % 3, "x": np.arange(600) % 7, "c": np.arange(600) % 30}
    fit = dn.regress("y ~ x", data, survey=survey, base="b", clusters="c")
    assert "log odds of each answer against b" in fit.summary()
    assert "P>|t|" in fit.summary()
    assert "P>|z|" in dn.regress("y ~ x", data, survey=survey).summary()


def test_a_fit_prints_like_a_table_and_as_html() -> None:
    fit = dn.regress("said ~ old", people(DESIGNS["forced"]), survey=DESIGNS["forced"])
    assert "P>|z|" in repr(fit)
    assert "log odds of yes against no" in fit.summary()
    assert fit._repr_html_().startswith("<pre>")


def test_always_no_is_found_with_two_groups() -> None:
    """Shares to one part in ten thousand from exact counts: a share of 15 % of people always says no."""
    designs = {"a": dn.design("forced", p=0.7, yes=0.2), "b": dn.design("forced", p=0.7, yes=0.1)}
    rows: dict[str, list[Any]] = {"said": [], "group": [], "n": []}
    for group, forced in (("a", 0.2), ("b", 0.1)):
        p = 0.85 * (0.3 * (0.7 + forced) + 0.7 * forced)
        rows["said"] += ["yes", "no"]
        rows["group"] += [group, group]
        rows["n"] += [round(10**7 * p), 10**7 - round(10**7 * p)]
    fit = dn.regress("said ~ 1", rows, survey=designs, group="group", counts="n", noncompliance="no")
    assert fit.shares()["share"].to_numpy() == pytest.approx([0.595, 0.255, 0.15], abs=1e-4)
    low, high = fit.shares().loc["(always no)", ["low", "high"]]
    assert low < 0.15 < high


@pytest.mark.parametrize("spelled", ["numbers", "words"])
def test_people_who_were_asked_openly_are_a_group(spelled: str) -> None:
    """A survey experiment as of plagiarism: some are asked directly. Equal to direct maximum likelihood."""
    survey = DESIGNS["crosswise"]
    data = people(survey)
    rr = np.arange(4000) % 2
    old, same = data["old"], data["said"] == "same"
    yes = np.random.default_rng(8).random(4000) < 1 / (1 + np.exp(1.5 - 0.5 * old))
    said = np.where(rr, same, yes).astype(int)
    if spelled == "words":
        said = np.where(rr, data["said"], np.where(yes, "yes", "no"))
    rows = {"y": said, "old": old, "rr": rr, "asked": np.where(rr, "crosswise", "openly")}
    fit = dn.regress("y ~ old + rr", rows, survey={"openly": None, "crosswise": survey}, group="asked")
    x = np.column_stack([np.ones(4000), old, rr])
    start, slope = np.where(rr, 0.75, 0.0), np.where(rr, -0.5, 1.0)
    heard = np.where(rr, same, yes)

    def score(b: Any) -> Any:
        share = 1 / (1 + np.exp(-x @ b))
        chance = start + slope * share
        each = np.where(heard, 1 / chance, -1 / (1 - chance)) * slope * share * (1 - share)
        return x.T @ each

    assert fit.params.to_numpy() == pytest.approx(root(score, [-1.0, 0.5, 0.0], tol=1e-12).x, abs=1e-6)


def test_who_was_asked_openly_is_no_survey_alone() -> None:
    rows = BASE | {"g": ["a", "b"] * 40}
    for surveys, told in (
        ({"a": None, "b": None}, "survey must have a group whose answers were randomised, got None for all"),
        (
            {"a": None, "b": dn.design("warner", p=0.7, symbols=["nein", "ja"])},
            "must hold 'nein', 'ja' .or their places",
        ),
    ):
        with pytest.raises(dn.DeniableError, match=told):
            dn.regress("said ~ x", rows, survey=surveys, group="g")


def test_a_randomised_covariate_equals_direct_maximum_likelihood() -> None:
    """Both reports of a person, the covariate summed out by hand; and the covariate's own share is no odds of one."""
    outcome, hidden = dn.warner(epsilon=2), dn.krr(["u", "v"], epsilon=1)
    rng = np.random.default_rng(21)
    z, c = rng.integers(-1, 2, 5000), (rng.random(5000) < 0.3).astype(int)
    y = (rng.random(5000) < 1 / (1 + np.exp(0.5 - 1.5 * c - 0.4 * z))).astype(int)
    kept = [float(survey.mechanism.hit) for survey in (outcome, hidden)]
    said, told = (np.where(rng.random(5000) < keep, true, 1 - true) for keep, true in zip(kept, (y, c), strict=True))
    fit = dn.regress("y ~ c + z", {"y": said, "c": told, "z": z}, survey=outcome, randomized={"c": hidden})

    def minus(b: Any) -> float:
        odds = 1 / (1 + np.exp(-(b[3] + b[4] * z)))
        total = np.zeros(5000)
        for value, rho in ((0, 1 - odds), (1, odds)):
            share = 1 / (1 + np.exp(-(b[0] + b[1] * value + b[2] * z)))
            yes = 1 - kept[0] + (2 * kept[0] - 1) * share
            total += rho * np.where(told == value, kept[1], 1 - kept[1]) * np.where(said, yes, 1 - yes)
        return -float(np.log(total).sum())

    best = min((minimize(minus, rng.normal(size=5), method="BFGS") for _ in range(4)), key=lambda end: end.fun)
    assert fit.llf == pytest.approx(-best.fun, abs=1e-6)
    assert fit.params.to_numpy() == pytest.approx(best.x[:3], abs=1e-3)


def test_information_without_a_direction_is_infinite() -> None:
    found, unknown = covariance(np.diag([1.0, -1e-3]), np.eye(2))
    assert unknown.tolist() == [False, True]
    assert found[1, 1] == np.inf


BASE = {
    "said": ["no", "yes", "no", "yes"] * 20,
    "x": [0, 1, 2, 3] * 20,
    "z": [0, 2, 4, 6] * 20,
    "w": [1.0] * 79 + [0.0],
}
WARNER = DESIGNS["warner"]


@pytest.mark.parametrize(
    ("formula", "data", "options", "words"),
    [
        ("said ~ x + z", BASE, {}, "covariates must not be collinear, got 'z'"),
        ("said ~ nope", BASE, {}, "formula and options must name columns of the data, got 'nope'"),
        ("said ~ x", BASE, {"weights": "w"}, "weights must be positive numbers, got 1 that are not"),
        ("said ~ x", {"said": ["no"], "x": [1]}, {}, "people must be at least as many as coefficients, got 1 for 2"),
        ("said ~ x", {"said": ["no", None], "x": [1, 2]}, {"missing": "raise"}, "got 1 with one"),
        ("said ~ x", {"said": ["no", "maybe"], "x": [1, 2]}, {}, "must hold 'no', 'yes', got others"),
        ("said ~ x", {"said": [None], "x": [1]}, {}, "data must have rows without missing values, got none of 1"),
        ("said", BASE, {}, "formula must be text as 'answer ~ covariates'"),
        ("said ~ x | z", BASE, {}, "formula must have one right side, got several parts in 'said ~ x | z'"),
        ("said ~ 0", BASE, {}, "formula must have a constant or a covariate, got none in 'said ~ 0'"),
        ("said ~ said", BASE, {}, "formula must not have its outcome on the right, got 'said' there"),
        ("said ~ center(nope)", BASE, {}, "formula and options must name columns of the data, got 'nope'"),
        ("said ~ x +* z", BASE, {}, "formula must be one that formulaic reads, got 'said ~ x +* z'"),
        ("said ~ x", BASE | {"w": [np.inf] * 80}, {"weights": "w"}, "positive numbers, got 80 that are not"),
        ("said ~ x", BASE | {"w": [-1.0] * 80}, {"weights": "w"}, "positive numbers, got 80 that are not"),
        ("said ~ x", BASE | {"x": 3}, {}, "columns must be lists of values, got int; put a single one into a list"),
        ("said ~ x", BASE, {"survey": dn.olh(epsilon=1)}, "candidates must be named for a survey of free text"),
        ("said ~ x", BASE, {"survey": dn.warner(epsilon=1)}, "must hold reports of the survey"),
        ("said ~ x", BASE, {"noncompliance": "no"}, "noncompliance must have two groups with different odds"),
        ("said ~ x", BASE, {"base": "perhaps"}, "base must be one of the answers, got 'perhaps'"),
        ("said ~ x", BASE, {"survey": {0: WARNER, 9: DESIGNS["forced"]}, "group": "x"}, "got '1'"),
        (
            "said ~ x",
            {"said": ["no", "yes"], "x": [0, 0]},
            {"survey": {0: WARNER, 9: DESIGNS["forced"]}, "group": "x"},
            "every group must have reports, got none of 9",
        ),
        (
            "y ~ x",
            {"y": [0, 5], "x": [1, 2]},
            {"survey": dn.warner(epsilon=1)},
            "must hold reports of this survey, got others (1 resp",
        ),
        ("said ~ x", {"said": ["no", "yes"], "x": [1]}, {}, "columns must be of one length, got 2 in 'said', 1 in 'x'"),
        (
            "said ~ x",
            BASE | {"n": ["1"] * 80},
            {"counts": "n"},
            "counts must be a column of numbers, got string in",
        ),
        (
            "said ~ x",
            BASE | {"n": [-1] * 80},
            {"counts": "n"},
            "column 'n' must hold whole numbers of people",
        ),
        ("said ~ x", BASE | {"w": ["a"] * 80}, {"weights": "w"}, "weights must be a column of numbers, got string in"),
        (
            "said ~ x",
            BASE | {"o": [np.inf] * 80},
            {"offset": "o"},
            "offset must be a column of finite numbers",
        ),
        (
            "said ~ x",
            BASE | {"o": ["a"] * 80},
            {"offset": "o"},
            "offset must be a column of numbers, got others",
        ),
        ("said ~ x", BASE | {"x": [np.inf] * 80}, {}, "covariates must be finite numbers, got others in x"),
        (
            "said ~ x",
            BASE | {"c": [0] * 80},
            {"clusters": "c"},
            "clusters must be at least two for their standard errors, got 1",
        ),
        (
            "said ~ x",
            BASE | {"s": [0] * 79 + [1]},
            {"strata": "s"},
            "every stratum must have at least two people, got one with 1; merge strata",
        ),
        ("said ~ x", BASE | {"n": [np.inf] * 80}, {"counts": "n"}, "whole numbers of people from 0 on, 2**53 in all"),
        ("said ~ x", BASE | {"n": [2**50] * 80}, {"counts": "n"}, "whole numbers of people from 0 on, 2**53 in all"),
        ("said ~ x", BASE | {"x": [[1]] * 80}, {}, "columns must have one value in each row, got lists or tables"),
        ("said ~ x", BASE | {"n": [0] * 80}, {"counts": "n"}, "data must have people, got none: no rows, or rows that"),
        (
            "said ~ x",
            BASE,
            {"starts": -1},
            "starts must be a whole number from 0 on, got -1; so many",
        ),
        ("said ~ x", BASE, {"starts": "many"}, "starts must be a whole number from 0 on, got 'many'"),
        ("said ~ .", BASE, {}, "formula must name its covariates, got '.' in 'said ~ .'; write them out"),
        ("said ~ factor(x)", BASE, {}, "formula must have functions of formulaic or np, got factor(); C() makes"),
        ("said ~ I(x^2)", BASE, {}, "formula must have ** for powers within a function, got 'I(x ^ 2)'"),
        ("said ~ np.log(x)", BASE, {}, "covariates must be finite numbers, got others in np.log(x)"),
        (
            "said ~ np.log(x - 2)",
            BASE,
            {},
            "covariates must be finite numbers, got none in 2 distinct rows: is",
        ),
        ("said ~ lag(x)", BASE, {}, "covariates must be finite numbers, got none in 1 distinct rows"),
        ("said ~ x", BASE | {"x": [1, "a"] * 40}, {}, "columns must have values of one kind, got several in 'x'"),
        ("said ~ x", pd.DataFrame([["no", 1, 2]], columns=["said", "x", "x"]), {}, "different names, got 'x' twice"),
        ("said ~ x", pd.Series([1.0]), {}, "data must be a pandas, Polars or Arrow table"),
        (
            "said ~ x",
            BASE | {"x": [date(2026, 1, 1 + day) for day in range(20)] * 4},
            {},
            "make a number of the times in",
        ),
        ("said ~ x", BASE | {"x": [timedelta(day) for day in range(80)]}, {}, "make a number of the times in 'x'"),
        ("said ~ my.x", BASE | {"my.x": BASE["x"]}, {}, "a name with a dot stands between backticks, `my.x`"),
        ("said ~ x", 7, {}, "data must be a pandas, Polars or Arrow table"),
    ],
)
def test_bad_input_is_a_sentence(formula: str, data: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(dn.DeniableError) as problem:
        dn.regress(formula, data, **{"survey": WARNER} | options)
    assert words in str(problem.value)


def test_reports_of_another_survey_are_refused() -> None:
    other = [report.pack() for report in dn.privatize(dn.warner(epsilon=2), ["no", "yes"])]
    with pytest.raises(dn.WireError, match="survey"):
        dn.regress("y ~ 1", {"y": other}, survey=dn.warner(epsilon=1))


def test_perfect_separation_has_infinite_errors_and_says_so() -> None:
    """Every no at x = 0 and every yes at x = 1, in numbers that noise cannot explain."""
    data = {"y": [0] * 5 + [1] * 5, "x": [0] * 5 + [1] * 5, "n": [1000] * 10}
    fit = dn.regress("y ~ x", data, survey=dn.warner(epsilon=2), counts="n")
    assert np.isinf(fit.bse.to_numpy()).any()
    assert "no finite estimate" in repr(fit)


def test_predictions_from_a_coefficient_without_an_estimate_may_be_anything() -> None:
    """All of one region say yes. Nothing is known of it from the others; of everybody, as much as they are."""
    rows = {"y": [0, 1, 1], "region": ["n", "n", "s"], "n": [200, 200, 100]}
    fit = dn.regress("y ~ region", rows, survey=dn.warner(epsilon=6), counts="n")
    assert fit.unknown.tolist() == [False, True]
    found = fit.predict({"region": ["n", "s"]}, level=0.95)
    low, high = found["yes", "low"], found["yes", "high"]
    assert 0.4 < low[0] < 0.5 < high[0] < 0.6
    assert (low[1], high[1]) == (0, 1)
    share, low, high = fit.shares().loc["yes"]
    assert share == pytest.approx(0.6, abs=1e-3)
    assert 0.3 < low < 0.4
    assert 0.6 < high < 0.7
    number = dn.regress("y ~ x", {"y": [3, 4], "x": [0, 1]}, survey=dn.number(0, 10, 1, bins=8))
    assert number.predict({"x": [0]}, level=0.95)[["low", "high"]].to_numpy().tolist() == [[-np.inf, np.inf]]


def test_missing_values_are_dropped_and_counted() -> None:
    fit = dn.regress("said ~ x", {"said": ["no", "yes", None, "no"], "x": [1, 2, 3, None]}, survey=WARNER)
    assert (fit.nobs, fit.dropped) == (2, 2)
    assert "2 rows with a missing value were left out." in repr(fit)


def test_profile_limits_are_where_the_likelihood_has_fallen_by_two() -> None:
    survey = DESIGNS["crosswise"]
    data = people(survey, 800)
    fit = dn.regress("said ~ old", data, survey=survey)
    found = fit.conf_int(method="profile")
    wald = fit.conf_int()
    low, high = found.loc["old"]
    for limit in (low, high):
        held = dn.regress("said ~ 1", data | {"off": limit * data["old"]}, survey=survey, offset="off")
        assert 2 * (fit.llf - held.llf) == pytest.approx(1.959964**2, rel=1e-3)
    assert low < fit.params["old"] < high
    assert np.abs(found.to_numpy() - wald.to_numpy()).max() < 0.6 * fit.bse.max()
    many = dn.regress("y ~ x", {"y": [0, 1, 2] * 40, "x": list(range(120))}, survey=dn.krr(3, epsilon=3))
    assert many.conf_int(method="profile").shape == (4, 2)


def test_profile_limits_are_open_where_only_one_side_is_known() -> None:
    """Nobody says yes: the log odds have an upper limit alone."""
    fit = dn.regress("y ~ 1", {"y": [0, 1], "n": [1000, 119]}, survey=dn.warner(epsilon=2), counts="n")
    low, high = fit.conf_int(method="profile").iloc[0]
    assert low == -np.inf
    assert -6 < high < -1
    assert fit.shares().loc["yes", "low"] == 0
    assert 0 < fit.shares().loc["yes", "high"] < 0.1


def test_profile_limits_hold_where_another_coefficient_has_no_finite_estimate() -> None:
    """One corner says yes: the likelihood rises for ever along a ridge, and looks flat where a search ends."""
    corners = [(x, g) for x in range(-2, 3) for g in (0, 1)]
    said = [50 if not g else 75 if x == 2 else 60 for x, g in corners]
    x, g = (np.repeat([corner[place] for corner in corners], 2) for place in (0, 1))
    rows = {"y": [0, 1] * 10, "x": x, "g": g, "n": [count for yes in said for count in (500 - yes, yes)]}
    survey = dn.warner(epsilon=2)
    fit = dn.regress("y ~ x + g", rows, survey=survey, counts="n")
    assert fit.unknown.tolist() == [True, False, True]
    limits = fit.conf_int(method="profile")
    assert limits.loc["Intercept", 0] == -np.inf
    assert limits.loc["g", 1] == np.inf
    ones = np.ones(20)
    for term, right, column, side in (("Intercept", "0 + x + g", ones, 1), ("x", "g", x, 0), ("g", "x", g, 0)):
        off = float(limits.loc[term, side]) * column
        held = dn.regress(f"y ~ {right}", rows | {"off": off}, survey=survey, counts="n", offset="off", starts=20)
        assert 2 * (fit.llf - held.llf) == pytest.approx(1.959964**2, rel=1e-3)


def test_years_and_years_since_then_have_the_same_fit() -> None:
    """A constant hardly tells a calendar year from itself; log odds at the year 0 are thousands."""
    data = people(DESIGNS["forced"], 500)
    since, years = (
        dn.regress("said ~ t", data | {"t": first + data["old"]}, survey=DESIGNS["forced"]) for first in (0, 1990)
    )
    assert years.notes == ()
    assert years.llf == pytest.approx(since.llf, abs=1e-6)
    assert years.params["t"] == pytest.approx(since.params["t"], abs=1e-6)
    assert years.bse["t"] == pytest.approx(since.bse["t"], rel=1e-6)
    assert years.params["Intercept"] == pytest.approx(since.params["Intercept"] - 1990 * since.params["t"], rel=1e-6)
    for method in ("wald", "profile"):
        found, wanted = (fit.conf_int(method=method).loc["t"].to_numpy() for fit in (years, since))
        assert found == pytest.approx(wanted, abs=1e-3)
    found, wanted = (fit.predict({"t": [first, first + 3]}, level=0.95) for fit, first in ((years, 1990), (since, 0)))
    assert found.to_numpy() == pytest.approx(wanted.to_numpy(), abs=1e-6)


def test_numbers_in_other_units_have_the_same_fit() -> None:
    """Incomes, not thousands of them: coefficients and limits of both kinds are a thousand times as large."""
    x = np.arange(600) % 5
    reports = np.random.default_rng(4).integers(0, 8, 600)
    found = [dn.regress("y ~ x", {"y": reports, "x": x}, survey=dn.number(0, top, 30, bins=8)) for top in (80, 80_000)]
    assert all(fit.converged for fit in found)
    for method in ("wald", "profile"):
        small, large = (fit.conf_int(method=method).to_numpy()[:2] for fit in found)
        assert large == pytest.approx(1000 * small, rel=1e-3)


def test_shares_have_limits_about_the_estimate_that_may_be_negative() -> None:
    """Fewer say no than anybody can explain: limits are those of the cross-table, and not as far above zero."""
    designs = {"a": dn.design("forced", p=0.7, yes=0.2), "b": dn.design("forced", p=0.7, yes=0.1)}
    counts = {"a": {"yes": 431_000, "no": 569_000}, "b": {"yes": 330_000, "no": 670_000}}
    rows = {"said": ["yes", "no"] * 2, "group": list("aabb"), "n": [n for one in counts.values() for n in one.values()]}
    fit = dn.regress("said ~ 1", rows, survey=designs, group="group", counts="n", noncompliance="no")
    tallies = {name: dn.count(designs[name], counts[name]) for name in designs}
    table = dn.crosstab({"all": tallies, "again": tallies}, noncompliance="no")
    assert table.conditional()[0, 2] == 0
    low, high = table.conditional_intervals()[0].T
    found = fit.shares()
    assert found["share"].iloc[2] == pytest.approx(0, abs=1e-6)
    assert found["high"].to_numpy() == pytest.approx(high, abs=4e-4)
    assert found["low"].to_numpy()[:2] == pytest.approx(low[:2], abs=4e-4)


def test_a_share_that_nobody_has_is_not_known_better_than_without_noise() -> None:
    fit = dn.regress("y ~ 1", {"y": [0], "n": [50]}, survey=dn.warner(epsilon=30), counts="n")
    assert fit.shares().loc["yes"].tolist() == pytest.approx([0, 0, 1.959964**2 / (50 + 1.959964**2)], abs=1e-6)


def test_methods_that_do_not_fit_are_refused() -> None:
    survey = DESIGNS["warner"]
    fit = dn.regress("said ~ old", people(survey), survey=survey, robust=True)
    with pytest.raises(dn.DecodeError, match="method must be 'wald' or 'profile', got 'exact'"):
        fit.conf_int(method="exact")
    with pytest.raises(dn.DecodeError, match="method 'profile' must be of people who were sampled independently"):
        fit.conf_int(method="profile")
    with pytest.raises(dn.DecodeError, match=r"alpha must be between 0 and 1, got 2; 0\.05 gives intervals"):
        fit.conf_int(2)
    number = dn.number(0, 1, 1, bins=8)
    flat = dn.regress("y ~ 1", {"y": [0, 7] * 4}, survey=number)
    assert flat.unknown.any() == (not np.isfinite(flat.conf_int(method="profile").to_numpy()).all())


def test_poststratified_shares_agree_with_survey_sampling_where_nothing_is_random() -> None:
    """Weights N_h / n_h: the share is the sum of N_h / N times the stratum's, its variance the stratified one."""
    rng = np.random.default_rng(8)
    stratum = np.repeat([0, 1, 2], [100, 300, 200])
    size = np.array([5000.0, 2000.0, 3000.0])
    yes = rng.random(600) < np.array([0.1, 0.5, 0.3])[stratum]
    n = np.bincount(stratum)
    w = (size / n)[stratum]
    fit = dn.regress(
        "y ~ 1", {"y": yes.astype(int), "s": stratum, "w": w}, survey=dn.warner(epsilon=30), weights="w", strata="s"
    )
    p = np.array([yes[stratum == h].mean() for h in range(3)])
    share = float(size @ p / size.sum())
    variance = float(((size / size.sum()) ** 2 * p * (1 - p) / (n - 1)).sum())
    assert fit.shares().loc["yes", "share"] == pytest.approx(share, abs=1e-9)
    assert float(fit.bse.iloc[0]) * share * (1 - share) == pytest.approx(variance**0.5, rel=1e-6)

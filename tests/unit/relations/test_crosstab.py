"""Cross-tables: what they say of simple tables, and what they refuse."""

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency

import deniable as dn
from deniable.charts import crosstab_chart
from deniable.relations.ratios import ScoreMoments, difference_limits, fieller, ratio_limits, score_limits
from deniable.tally import FormTally
from deniable.theory import expected_loss, mechanism_model

CLEAR = dn.krr(["no", "yes"], epsilon=30)  # nothing is random: shares are those of a plain table
NOISY = dn.krr(["no", "yes"], epsilon=2)
FORM = dn.form(
    smokes=dn.krr(["no", "yes"], epsilon=1),
    age=dn.krr(["young", "middle", "old"], epsilon=1),
    city=dn.warner(epsilon=1),
    epsilon=6,
    relate=[("smokes", "age")],
)
JOINT = np.array([[0.3, 0.2, 0.1], [0.05, 0.15, 0.2]])


def pair(n: int = 200_000) -> Any:
    p: dict[Any, Any] = {("smokes", "age"): JOINT, "city": [0.5, 0.5]}
    return dn.simulate(FORM, p, n=n, rng=np.random.default_rng(1))


def test_without_noise_a_table_of_groups_is_the_plain_one() -> None:
    table = dn.crosstab({"a": dn.Tally(CLEAR, [[60, 40]]), "b": dn.Tally(CLEAR, [[150, 150]])}, decoder=dn.Inversion())
    assert np.allclose(table.raw, [[0.15, 0.1], [0.375, 0.375]], atol=1e-9)
    assert np.allclose(table.conditional(), [[0.6, 0.4], [0.5, 0.5]], atol=1e-9)
    assert np.allclose(table.standard_errors, np.sqrt(table.raw * (1 - table.raw) / 400), rtol=1e-6)
    # Pearson's statistic of the plain table, with the variance of the pooled share.
    pooled, n = 190 / 400, (100, 300)
    z2 = 0.1**2 / (pooled * (1 - pooled) * (1 / n[0] + 1 / n[1]))
    assert math.isclose(table.independence.statistic, z2, rel_tol=1e-6)
    assert table.independence.freedom == 1


def test_all_marks_together_are_right_with_the_level() -> None:
    """Of four cells each is marked beyond 2.50 standard errors, not beyond 1.96."""
    for counts, marked in (([[62, 38], [148, 152]], False), ([[66, 34], [148, 152]], True)):  # 2.2 and 2.9 errors
        table = dn.crosstab({name: dn.Tally(CLEAR, [row]) for name, row in enumerate(counts)})
        assert table.independence.pvalue < 0.05
        assert bool(table.certain().any()) is marked


def test_rows_and_columns_of_a_pair_may_be_turned() -> None:
    tally = pair()
    table, turned = dn.crosstab(tally, "smokes", "age"), dn.crosstab(tally, "age", "smokes")
    assert np.array_equal(table.raw, turned.raw.T)
    assert np.allclose(table.standard_errors, turned.standard_errors.T)
    assert math.isclose(table.independence.statistic, turned.independence.statistic, rel_tol=1e-9)
    assert (table.rows.name, table.columns.symbols) == ("smokes", ("young", "middle", "old"))


def test_a_pair_is_near_the_truth_and_its_marginals_are_those_of_decode() -> None:
    tally = pair()
    table, estimate = dn.crosstab(tally, "smokes", "age"), dn.decode(tally)
    assert np.abs(table.raw - JOINT).max() < 6 * table.standard_errors.max()
    assert np.allclose(table.raw.sum(axis=1), estimate["smokes"].raw)
    assert np.allclose(table.probabilities.sum(axis=0), estimate["age"].probabilities)
    assert table.independence.pvalue < 1e-6
    assert table.certain()[0, 0] == 1
    assert table.certain()[1, 0] == -1


def test_differences_of_groups_are_those_of_difference() -> None:
    men, women = dn.Tally(NOISY, [[500, 500]]), dn.Tally(NOISY, [[700, 300]])
    table = dn.crosstab({"men": men, "women": women})
    change = dn.difference(dn.decode(men), dn.decode(women))
    # Those of `difference` are made of limits that cover at least their level: a little wider.
    value, low, high = table.difference("men", "women", "yes")
    least, most = change.intervals()[1]
    assert value == pytest.approx(change["yes"], abs=1e-9)
    assert least < low < least + 0.002
    assert most - 0.002 < high < most
    value, low, high = table.ratio("men", "women", "yes")
    assert low < value < high
    assert low > 1


def test_a_ratio_to_what_may_be_nothing_has_no_upper_limit() -> None:
    table = dn.crosstab({"a": dn.Tally(NOISY, [[500, 500]]), "b": dn.Tally(NOISY, [[881, 119]])})
    value, low, high = table.ratio("a", "b", "yes")
    assert math.isinf(high)
    assert low > 1
    assert low < value or math.isinf(value)


def test_a_row_of_which_nothing_is_known_may_be_anything() -> None:
    limits = fieller(np.array([0.001]), np.array([0.002]), (np.array([1e-4]),) * 3, 1.96)
    assert limits.tolist() == [[-np.inf, np.inf]]


def test_score_limits_without_noise_are_wilsons() -> None:
    n, z, plain = 40, 1.959964, ScoreMoments(base=0.0, slope=1.0, cells=4)
    table = np.array([[3, 17], [0, 20]]) / n
    found = score_limits(table, table.sum(axis=1), plain, n, z)
    for row, hits in enumerate((3, 0)):
        middle, m = (hits + z**2 / 2) / (20 + z**2), 20
        reach = z / (m + z**2) * math.sqrt(hits * (m - hits) / m + z**2 / 4)
        low, high = found[row, 0]
        assert high == pytest.approx(middle + reach, abs=1e-9)
        assert max(low, 0) == pytest.approx(max(middle - reach, 0), abs=1e-9)


PAIRS = [
    dn.krr(6, epsilon=2),
    dn.subset(6, epsilon=1, size=2),
    dn.krr(6, epsilon=3, epsilon_report=1),
    dn.form(a=dn.krr(2, epsilon=1), b=dn.krr(3, epsilon=1), epsilon="1/2", relate=[("a", "b")]).part_of("a").survey,
]


@pytest.mark.parametrize("survey", PAIRS, ids=lambda survey: str(survey.mechanism.kind))
def test_score_limits_know_the_variance_under_the_hypothesis(survey: Any) -> None:
    """Against the exact covariance of the mechanism, at a population in which the share is what is asked."""
    model = mechanism_model(survey.mechanism)
    moments = ScoreMoments(float(model.base), float(model.slope), 6)
    p = np.array([0.1, 0.15, 0.05, 0.3, 0.2, 0.2])
    covariance = expected_loss(survey, p, 1).covariance
    weights = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0]) - p[0] / 0.3 * np.array([1, 1, 1, 0, 0, 0])
    exact = float(weights @ covariance @ weights)
    assert float(moments.variance(np.array(p[0] / 0.3), np.array(0.3), 3)) == pytest.approx(exact, rel=1e-9)


def test_repeated_noise_and_other_mechanisms_have_fieller_limits() -> None:
    shares = {("a", "b"): JOINT}
    asked: dict[str, Any] = {"a": dn.krr(2, epsilon=1), "b": dn.krr(3, epsilon=1), "epsilon": 4, "relate": [("a", "b")]}
    once, again = dn.form(**asked), dn.form(**asked, participation="window")
    tables = [
        dn.crosstab(dn.simulate(form, shares, n=5000, rng=np.random.default_rng(1)), "a", "b") for form in (once, again)
    ]
    assert tables[0].row_limits is not None
    assert tables[1].row_limits is None
    first, second = (table.conditional_intervals() for table in tables)
    assert first == pytest.approx(second, abs=0.02)


def test_a_share_that_may_be_anything_is_taken_at_its_ends() -> None:
    """Not as an estimate with an error: where the second share is 0 the difference is the whole of the first."""
    first, second = np.array([-0.1, 0.05]), np.array([-np.inf, np.inf])
    low, high = difference_limits(np.array(-0.02), np.array(4.0), (first, second), np.array(0.0))
    assert (low, high) == (-1.0, pytest.approx(0.05))
    low, high = difference_limits(np.array(4.0), np.array(0.3), (second, np.array([0.2, 0.4])), np.array(0.0))
    assert (low, high) == (pytest.approx(-0.4), pytest.approx(0.8))
    low, high = ratio_limits(np.array(0.3), np.array(4.0), (np.array([0.2, 0.4]), second), np.array(0.0))
    assert (low, high) == (pytest.approx(0.2), math.inf)
    low, high = ratio_limits(np.array(4.0), np.array(0.3), (second, np.array([0.2, 0.4])), np.array(0.0))
    assert (low, high) == (0.0, pytest.approx(5.0))


def test_limits_of_shares_without_errors_are_the_shares() -> None:
    nothing = np.array([0.0])
    assert np.allclose(fieller(np.array([0.1]), np.array([0.5]), (nothing,) * 3, 1.96), 0.2)
    same = np.array([[0.4, 0.4]]), np.array([[0.2, 0.2]])
    assert np.allclose(difference_limits(np.array([0.4]), np.array([0.2]), same, nothing), 0.2)
    assert np.allclose(ratio_limits(np.array([0.4]), np.array([0.2]), same, nothing), 2.0)


def test_common_errors_make_differences_sharper() -> None:
    limits = np.array([[0.4, 0.6]]), np.array([[0.2, 0.4]])
    values = np.array([0.5]), np.array([0.3])
    (apart,), (alike,) = (difference_limits(*values, limits, np.array([rho])) for rho in (0.0, 0.9))
    assert apart[0] < alike[0] < alike[1] < apart[1]


def test_a_sparse_table_is_not_tested_and_says_so() -> None:
    survey = dn.krr(4, epsilon=30)
    table = dn.crosstab({"a": dn.Tally(survey, [[9, 1, 0, 0]]), "b": dn.Tally(survey, [[3, 4, 2, 1]])})
    assert math.isnan(table.independence.pvalue)
    assert str(table.independence).startswith("Independence cannot be tested: ")
    assert "fewer than 5 times" in table.independence.why_not


def test_an_answer_that_nobody_of_a_group_gave_is_tested_where_many_were_expected() -> None:
    """Cochran's rule is about expected counts; the statistic without noise is Pearson's."""
    counts = np.array([[0, 50, 20], [30, 50, 20], [20, 70, 40]])
    survey = dn.krr(3, epsilon=30)
    table = dn.crosstab({name: dn.Tally(survey, [row]) for name, row in enumerate(counts)})
    pearson = chi2_contingency(counts, correction=False)
    assert table.independence.why_not == ""
    assert table.independence.statistic == pytest.approx(pearson.statistic, rel=1e-6)
    assert (table.independence.freedom, table.independence.pvalue) == pytest.approx((4, pearson.pvalue), rel=1e-5)
    form = dn.form(a=dn.krr(2, epsilon=1), b=dn.krr(3, epsilon=1), epsilon=12, relate=[("a", "b")])
    pair = dn.simulate(form, {("a", "b"): counts[:2] / counts[:2].sum()}, n=170, rng=np.random.default_rng(0))
    assert dn.crosstab(pair, "a", "b").independence.why_not == ""
    rare = dn.simulate(form, {("a", "b"): [[0.5, 0.01, 0.0], [0.4, 0.09, 0.0]]}, n=170, rng=np.random.default_rng(0))
    assert "expected fewer than 5 times" in dn.crosstab(rare, "a", "b").independence.why_not


def test_groups_may_have_budgets_and_mechanisms_of_their_own() -> None:
    rng = np.random.default_rng(3)
    surveys = dn.krr(["no", "yes"], epsilon=1), dn.oue(["no", "yes"], epsilon=3)
    table = dn.crosstab({i: dn.simulate(s, [0.7, 0.3], n=50_000, rng=rng) for i, s in enumerate(surveys)})
    assert np.abs(table.conditional(raw=True)[:, 1] - 0.3).max() < 0.05
    assert table.rows.symbols == (0, 1)


def test_open_surveys_are_tabulated_through_their_candidates() -> None:
    survey = dn.orr(epsilon=4, cells=16, cohorts=16, seed=bytes(16))
    rng = np.random.default_rng(2)
    groups = {
        name: dn.simulate(survey, p, n=50_000, rng=rng, symbols=["a", "b"])
        for name, p in (("x", [0.8, 0.2]), ("y", [0.5, 0.5]))
    }
    table = dn.crosstab(groups, candidates=["a", "b"])
    assert table.independence.pvalue < 1e-6
    assert table.difference("x", "y", "a")[0] > 0.2


TALLY = dn.Tally(NOISY, [[70, 30]])
REFUSED: list[tuple[Any, tuple[Any, ...], str]] = [
    (TALLY, (), "data must be the tally of a form or a dict of tallies by group, got Tally"),
    ({"a": TALLY}, (), "groups must be at least two, got 1"),
    ({"a": TALLY, "b": dn.Tally(NOISY)}, (), "group 'b' must have reports, got none"),
    ({"a": TALLY, "b": [70, 30]}, (), "group 'b' must be given as a tally, got list"),
    ({"a": TALLY, "b": dn.Tally(dn.krr(["ja", "nein"], epsilon=1), [[7, 3]])}, (), "must have the same answers"),
    (FormTally(FORM), ("smokes", "age"), "tally must hold answers to 'smokes' and 'age', got none"),
    (FormTally(FORM), ("smokes", "smokes"), "rows and columns must name two different questions, got smokes twice"),
    (FormTally(FORM), ("smokes", "city"), "must be related in the form to be tabulated together, got smokes and city"),
    (FormTally(FORM), ("smokes",), "must name two related questions, got fewer; the form relates smokes and age"),
]


@pytest.mark.parametrize(("data", "names", "told"), REFUSED)
def test_what_cannot_be_tabulated_is_refused_with_a_sentence(data: Any, names: tuple[Any, ...], told: str) -> None:
    with pytest.raises(dn.DeniableError, match=told):
        dn.crosstab(data, *names)


def test_a_chart_needs_a_share_for_each_cell() -> None:
    with pytest.raises(
        dn.DeniableError, match="a chart of a cross-table must have a share for each of its 1 x 2 cells"
    ):
        crosstab_chart((["a"], ["no", "yes"]), ("group", "answer"), [[0.5]], [[0]])


def test_unknown_rows_and_levels_are_refused() -> None:
    table = dn.crosstab({"a": TALLY, "b": TALLY})
    for call in (
        lambda: table.difference("a", "c", "yes"),
        lambda: table.difference("a", "a", "yes"),
        lambda: table.ratio("a", "b", "maybe"),
        lambda: table.intervals(1.5),
        lambda: dn.crosstab(FormTally(FORM), "smokes", "weight"),
    ):
        with pytest.raises(dn.DeniableError):
            call()


def test_a_table_too_large_for_its_covariance_is_refused() -> None:
    survey = dn.krr(3000, epsilon=4)
    tally = dn.simulate(survey, np.full(3000, 1 / 3000), n=10_000, rng=np.random.default_rng(0))
    with pytest.raises(dn.DecodeError, match="at most 4096 cells, got 2 x 3000"):
        dn.crosstab({"a": tally, "b": tally})


FORCED = {"a": dn.design("forced", p=0.7, yes=0.2), "b": dn.design("forced", p=0.7, yes=0.1)}


def said(shares: list[float], n: int = 10**7) -> dict[str, dn.Tally]:
    """What is said by exactly as many as the shares of honest no, honest yes and always no give."""
    found = {}
    for name, design in FORCED.items():
        law = [float(design.mechanism.probability(1, (cell,))) for cell in (0, 1)]
        yes = round(n * (shares[0] * law[0] + shares[1] * law[1]))
        found[name] = dn.Tally(design, [[n - yes, yes]])
    return found


def test_those_who_always_say_no_are_a_column() -> None:
    women, men = [0.6, 0.25, 0.15], [0.5, 0.4, 0.1]
    table = dn.crosstab({"women": said(women), "men": said(men)}, noncompliance="no")
    assert table.columns.symbols == ("no", "yes", "(always no)")
    assert table.conditional(raw=True) == pytest.approx(np.array([women, men]), abs=1e-6)
    low, high = table.conditional_intervals()[0, 2]
    assert low < 0.15 < high
    assert table.difference("men", "women", "yes")[0] == pytest.approx(0.15, abs=1e-6)
    assert table.independence.pvalue < 1e-6
    counts = [int(n) for tally in said(women).values() for n in tally.counts[0]]
    rows = {"said": ["no", "yes"] * 2, "dice": ["a", "a", "b", "b"], "n": counts}
    fit = dn.regress("said ~ 1", rows, survey=FORCED, group="dice", counts="n", noncompliance="no")
    assert fit.shares()["share"].to_numpy() == pytest.approx(table.conditional()[0], abs=1e-5)
    assert fit.shares()[["low", "high"]].to_numpy() == pytest.approx(table.conditional_intervals()[0], abs=1e-4)


def test_shares_of_those_who_always_say_no_are_those_of_the_regression_where_one_is_zero() -> None:
    """The unbiased share of honest no is below zero; what is shown is nearly the maximum of likelihood."""
    groups = {"a": dn.Tally(FORCED["a"], [[7000, 3000]]), "b": dn.Tally(FORCED["b"], [[7200, 2800]])}
    table = dn.crosstab({"x": groups, "y": groups}, noncompliance="no")
    assert table.conditional(raw=True)[0, 0] < 0
    rows = {"said": ["no", "yes"] * 2, "dice": ["a", "a", "b", "b"], "n": [7000, 3000, 7200, 2800]}
    fit = dn.regress("said ~ 1", rows, survey=FORCED, group="dice", counts="n", noncompliance="no")
    assert table.conditional()[0] == pytest.approx(fit.shares()["share"].to_numpy(), abs=1e-3)


def test_a_form_has_no_candidates_and_nobody_who_always_says_the_same() -> None:
    for option in ({"noncompliance": "no"}, {"candidates": ["no", "yes"]}):
        with pytest.raises(dn.DecodeError, match=f"{next(iter(option))} must come with a tally for each group, got"):
            dn.crosstab(pair(1000), "smokes", "age", **option)


BOTH = said([0.6, 0.25, 0.15], 1000)
NEVER: list[tuple[Any, Any, str]] = [
    (TALLY, "no", "group 'x' must be a dict of two tallies or more, of surveys with different odds, for noncompliance"),
    ({"a": BOTH["a"]}, "no", "group 'x' must be a dict of two tallies or more"),
    ({"a": BOTH["a"], "b": BOTH["a"]}, "no", "surveys of group 'x' must have different odds to tell who always says"),
    ({"a": BOTH["a"], "b": [1, 2]}, "no", "group 'x' must be given as tallies, got list; count its reports"),
    (
        {"a": BOTH["a"], "b": dn.Tally(FORCED["b"])},
        "no",
        "group 'x' must have reports of each of its surveys",
    ),
    (
        {"a": BOTH["a"], "b": dn.Tally(dn.krr(3, epsilon=1), [[5, 5, 5]])},
        "no",
        "surveys of group 'x' must have",
    ),
    (BOTH, "maybe", "noncompliance must be one of 'no', 'yes', got 'maybe'"),
    (
        {"a": dn.Tally(dn.oue(2, epsilon=1), [[3, 4]], reports=[7]), "b": BOTH["b"]},
        "no",
        "noncompliance must be modelled for answers that are said as they are; use dn.design or dn.krr",
    ),
]


@pytest.mark.parametrize(("group", "always", "told"), NEVER)
def test_noncompliance_that_cannot_be_found_is_refused(group: Any, always: Any, told: str) -> None:
    with pytest.raises(dn.DeniableError) as problem:
        dn.crosstab({"x": group, "y": BOTH}, noncompliance=always)
    assert told in str(problem.value)


def test_shares_of_groups_are_not_divided_by_a_noisy_sum() -> None:
    """Bits of one report do not add up to one: the group's size is what is known."""
    survey = dn.krappor(2, epsilon=2)
    tally = dn.simulate(survey, [0.7, 0.3], n=1000, rng=np.random.default_rng(4))
    table = dn.crosstab({"a": tally, "b": tally})
    assert np.allclose(table.conditional(raw=True)[0], dn.decode(tally).raw)
    value, low, high = table.difference("a", "b", 1)
    assert value == 0
    assert low == pytest.approx(-high)


def test_a_table_as_json_has_no_infinite_numbers() -> None:
    survey = dn.krr(4, epsilon=30)
    table = dn.crosstab({"a": dn.Tally(survey, [[9, 1, 0, 0]]), "b": dn.Tally(survey, [[3, 4, 2, 1]])})
    told = table.to_json()
    json.dumps(told, allow_nan=False)
    assert told["independence"]["p_value"] is None
    assert (told["rows"], told["columns"]["symbols"]) == ({"name": "group", "symbols": ["a", "b"]}, [0, 1, 2, 3])
    assert [cell["row"] for cell in told["cells"]] == ["a"] * 4 + ["b"] * 4

"""Surveys whose answers need different amounts of privacy: what they are, and what is refused, sentence by sentence."""

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import deniable as dn
from deniable.columns.table_lookup import table_block
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, Budgets, Chain, Sensitive, SensitiveDesign, WeightTable
from deniable.survey import Projective, budgets_table, ubd, urr
from deniable.survey.base_search import BaseSearch
from deniable.survey.budgets import Optimum, budget_levels, optimum
from tests.surveys import LARGE, SMALL

ILL = ["none", "flu", "hiv", "hpv"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dn.sensitive(ILL, sensitive=[], epsilon=1), "sensitive must name at least one answer, got none"),
        (
            lambda: dn.sensitive(ILL, sensitive=ILL, epsilon=1),
            "sensitive must leave out at least one answer, got all 4",
        ),
        (
            lambda: dn.sensitive(ILL, sensitive="hiv", epsilon=1),
            r"sensitive must be a list of answers, got str; write \[",
        ),
        (
            lambda: dn.sensitive(ILL, sensitive=["aids"], epsilon=1),
            "sensitive must name answers of this survey, got 'aids'",
        ),
        (
            lambda: dn.sensitive(["none"], sensitive=["none"], epsilon=1),
            "symbols must number from 2 to 16777216, got 1",
        ),
        (
            lambda: dn.blocks([ILL], epsilon=1),
            "groups must be two or more with at least two answers in one of them, got 1",
        ),
        (lambda: dn.blocks([[s] for s in ILL], epsilon=1), "groups must be two or more with at least two answers"),
        (
            lambda: dn.blocks({"x": cast(Any, {"y": ["a"]}), "z": ["d", "e"]}, epsilon=1),
            "every group must be a list of answers, got dict",
        ),
        (
            lambda: dn.blocks(["ab", "cd"], epsilon=1),
            r"every group must be a list of answers, got str; write \[\[a, b\]",
        ),
        (lambda: dn.blocks("ab", epsilon=1), r"groups must be lists of answers, got str; write \[\[a, b\]"),
        (lambda: dn.blocks([["a", "b"], []], epsilon=1), "every group must have at least one answer, got an empty one"),
        (lambda: dn.blocks([["a", "b"], ["a"]], epsilon=1), "symbols must be distinct"),
        (lambda: dn.channel([[0.5, 0.5]], epsilon=1), "matrix must have a row for each of two answers or more, got 1"),
        (
            lambda: dn.channel(cast(Any, {"a": [0.6, 0.4], "b": [0.4, 0.6]}), epsilon=1),
            "matrix must be rows of probabilities, one row an answer, got dict; answers are named with symbols=",
        ),
        (
            lambda: dn.channel([[Decimal("sNaN"), Decimal("0.4")], [0.5, 0.5]], epsilon=1),
            "probabilities of answer 0 must be from 0 to 1, got sNaN",
        ),
        (
            lambda: dn.channel(cast(Any, 3), epsilon=1),
            "matrix must be rows of probabilities, one row an answer, got int",
        ),
        (
            lambda: dn.channel(cast(Any, [1, 2]), epsilon=1),
            "matrix must be rows of probabilities, one row an answer, got list",
        ),
        (
            lambda: dn.channel([[0.5, 0.4], [0.5, 0.5]], epsilon=1),
            "probabilities of answer 0 must add up to 1, got 0.9",
        ),
        (
            lambda: dn.channel([[1.5, -0.5], [0.5, 0.5]], epsilon=1, symbols=["a", "b"]),
            "probabilities of answer 'a' must be from 0 to 1, got -0.5",
        ),
        (
            lambda: dn.channel([[0.5, 0.5], [math.nan, 0.5]], epsilon=1),
            "probabilities of answer 1 must be from 0 to 1, got nan",
        ),
        (
            lambda: dn.channel([[0.5, 0.5], ["0.5", 0.5]], epsilon=1),
            "probabilities of answer 1 must be numbers, got str",
        ),
        (lambda: dn.channel([[0.5, 0.5], [1.0]], epsilon=1), "rows of a matrix must have one length, got 1 and 2"),
        (lambda: dn.channel([[1.0], [1.0]], epsilon=1), "columns must be at least 2, got 1"),
        (
            lambda: dn.channel([[0.5, 0.5]] * 2, epsilon=1, symbols=3),
            "matrix must have a row for each of 3 answers, got 2",
        ),
        (
            lambda: dn.channel([[0.5, 0.5], [1.0, 0.0]], epsilon=1, symbols=["a", "b"]),
            "epsilon must hold between every two answers, got 1: column 1 is possible under answer 'a' and impossible",
        ),
        (
            lambda: dn.channel([[1 - 4e-20, 4e-20], [1 - 2e-20, 2e-20]], epsilon=1),
            ": the smallest probability of this matrix is too small to be rounded; use a larger epsilon, or no "
            "probability below about 1e-11",
        ),
        (
            lambda: dn.krr(symbols=ILL, epsilon=dict.fromkeys([*ILL, "aids"], 1)),
            "epsilon must have budgets for answers of this survey, got one for 'aids'",
        ),
        (
            lambda: dn.krr(symbols=ILL, epsilon={"hiv": 1}),
            "epsilon must have a budget for every answer, got none for 'none'",
        ),
        (
            lambda: dn.krr(symbols=65, epsilon={x: 1 + x % 2 for x in range(65)}),
            "answers with budgets of their own must be at most 64, got 65; use dn.sensitive",
        ),
        (
            lambda: dn.krr(symbols=2, epsilon={0: 1, 1: 2}, epsilon_report=0.5),
            "epsilon_report must not be given with a budget for every answer: a table of weights has no second stage; "
            "each report spends the whole budget of its answer",
        ),
        (
            lambda: dn.sensitive(3, [0], 1, epsilon_report=0.5),
            "epsilon_report must not be given with sensitive answers: a table of weights has no second stage",
        ),
        (
            lambda: dn.blocks([["a", "b"], ["c"]], 1, epsilon_report=0.5),
            "epsilon_report must not be given with groups of answers: ",
        ),
        (
            lambda: dn.channel([[0.6, 0.4], [0.4, 0.6]], epsilon=1, epsilon_report=0.5),
            "epsilon_report must not be given with a matrix of one's own: ",
        ),
        (
            lambda: dn.krr(symbols=2, epsilon=1, shape=[0.5, 0.5]),
            "shape must be given with a budget for every answer alone; one epsilon is best at any shape",
        ),
        (
            lambda: dn.krr(symbols=2, epsilon={0: 1, 1: 2}, shape=[1.0]),
            "shape must be 2 shares that add up to 1, got 1",
        ),
        (
            lambda: dn.krr(symbols=2, epsilon={0: 1, 1: 2}, shape=cast(Any, "ab")),
            "shape must be a list of shares, one an answer",
        ),
        (lambda: dn.krr(symbols=2, epsilon={0: 1, 1: -2}), "epsilon must be a positive finite number"),
        (lambda: Chain(Sensitive(3, 1, [0]), 0.5), "got 'sensitive': a table has none that would keep the promise"),
        (
            lambda: dn.plan(n=100, candidates=9, sensitive=[1], epsilon=1),
            "sensitive must be given with symbols: which answers are sensitive is part of a list",
        ),
        (
            lambda: dn.plan(n=100, symbols=9, sensitive=[], epsilon=1),
            "sensitive must name at least one answer, got none",
        ),
        (lambda: SensitiveDesign(9, 1, [0, 1, 2], Projective(4, 2, 3)), "a design must have a symbol for each of 3"),
        (lambda: urr(4096, sensitive=[1], epsilon=1), "answers times columns must be at most 4194304 in a table"),
    ],
)
def test_what_is_refused(make: Any, message: str) -> None:
    with pytest.raises(dn.DeniableError, match=message):
        make()


def test_a_matrix_is_rounded_so_that_its_promise_holds_exactly() -> None:
    epsilon = 1.0
    hit = math.e / (math.e + 2)
    rows = [[hit if x == y else (1 - hit) / 2 for y in range(3)] for x in range(3)]
    mechanism = dn.channel(rows, epsilon=epsilon).mechanism
    assert isinstance(mechanism, WeightTable)
    assert mechanism.epsilon_spent <= 1.0
    assert mechanism.epsilon_spent > 1 - 1e-8
    np.testing.assert_allclose(np.array(mechanism.rows, float) / 2**64, rows, rtol=1e-8)
    whole = [[3 << 62, 1 << 62], [1 << 62, 3 << 62]]
    assert dn.channel(whole, epsilon="1.1").mechanism == WeightTable(whole, "1.1")  # weights are taken as they are
    fractions = [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    assert dn.channel(np.array([[0.75, 0.25], [0.25, 0.75]]), epsilon="1.1") == dn.channel(fractions, epsilon="1.1")


def test_a_matrix_may_be_of_decimals_or_a_data_frame() -> None:
    rows = [["0.6", "0.3", "0.1"], ["0.2", "0.3", "0.5"]]  # not symmetric: columns must not be taken for rows
    exact = dn.channel([[Fraction(share) for share in row] for row in rows], epsilon=2)
    assert dn.channel([[Decimal(share) for share in row] for row in rows], epsilon=2) == exact
    plain = [[float(share) for share in row] for row in rows]
    assert dn.channel(pd.DataFrame(plain), epsilon=2) == dn.channel(plain, epsilon=2)


EIGHT = pytest.param([0.001, 1, 2, 3, 4, 5, 6, 7], marks=pytest.mark.slow)  # eight levels take seconds


@pytest.mark.parametrize("budgets", [[0.05, 6, 6], [0.01] + 63 * [8], [0.0001, 1, 1], [0.001, 1, 2, 3, 4], EIGHT])
def test_small_budgets_have_a_table_that_keeps_them(budgets: list[float]) -> None:
    survey = dn.krr(symbols=len(budgets), epsilon=dict(enumerate(budgets)))
    found = survey.privacy()
    pairs = combinations(range(len(budgets)), 2)
    assert all(max(found.between(x, y), found.between(y, x)) <= min(budgets[x], budgets[y]) for x, y in pairs)
    assert found.largest > 1.99 * budgets[0]  # what two answers may differ by that are each within the smallest of it


def test_an_unused_column_stays_so() -> None:
    survey = dn.channel([[0.5, 0.0, 0.5], [0.25, 0.0, 0.75]], epsilon=1)
    assert [row[1] for row in survey.mechanism.rows] == [0, 0]  # type: ignore[attr-defined]
    assert survey.privacy().largest < 1


@pytest.mark.parametrize("name", [*SMALL, *(f"large {name}" for name in LARGE)])
def test_privacy_is_the_exact_matrix_of_every_survey(name: str) -> None:
    survey = LARGE[name.removeprefix("large ")] if name.startswith("large ") else SMALL[name]
    found = survey.privacy()
    size, epsilons = len(found.answers), found.epsilons
    assert [epsilons[x][x] for x in range(size)] == [0.0] * size
    finite = max(e for row in epsilons for e in row if math.isfinite(e))
    assert finite <= survey.epsilon_spent
    if survey.mechanism.two_valued and (survey.encoding.own_cells or survey.symbols is None):
        assert finite == survey.epsilon_spent
    assert survey.privacy(report=True).largest <= found.largest
    assert str(found).startswith("epsilon of a row's answer against a column's\n")
    assert found._repr_html_().count("<tr>") == min(size, 48) + 1


def test_privacy_of_open_surveys() -> None:
    survey = dn.orr(epsilon=2, cells=4, cohorts=3, seed=bytes(16))
    assert survey.privacy().note.startswith("the worst case: answers share cells")
    named = survey.privacy(["Ash", "birch", "ash "])
    assert named.answers == ("ash", "birch")
    assert "the largest of all cohorts" in str(named)
    shared = [x for x in range(200) if survey.encode(0, x) == survey.encode(0, "ash")]
    alike = [x for x in shared if all(survey.encode(c, x) == survey.encode(c, "ash") for c in range(3))]
    assert survey.privacy(["ash", alike[0]]).largest == 0.0
    with pytest.raises(SurveyError, match="in a matrix of them, got 1; name those to compare with symbols="):
        survey.privacy(["ash"])
    with pytest.raises(SurveyError, match="symbols must be 2 to 256 answers in a matrix of them, got 300"):
        dn.krr(symbols=300, epsilon=1).privacy()
    assert dn.krr(symbols=300, epsilon=1).privacy([5, 7]).between(5, 7) <= 1


def test_equal_budgets_have_one_shade_and_another_answer_none() -> None:
    found = dn.krr(symbols=list("abcd"), epsilon=dict(zip("abcd", (1, 2, 2, 0.5), strict=True))).privacy()
    assert str(found).splitlines()[-1].split() == ["d", *["▒", "0.50"] * 3, "0"]
    with pytest.raises(SurveyError, match="given and other must be answers of this matrix, got 'e'"):
        found.between("a", "e")


def test_a_large_matrix_is_drawn_small() -> None:
    text = str(dn.sensitive(60, sensitive=range(10), epsilon=1).privacy()).splitlines()
    assert text[1].startswith("0  ")
    assert text[1].count("█") == 47
    assert text[-2] == "and 12 more answers"
    assert text[-1] == "inf: a report can give that answer away"


def test_the_form_for_sensitive_answers_has_the_smaller_expected_error() -> None:
    """By the covariance of least squares itself, at the uniform population."""

    def cost(survey: dn.Survey) -> float:
        size = survey.cells
        rows = np.array([survey.mechanism.weights((x,)) for x in range(size)], float) / 2**64
        mean = rows.mean(axis=0)
        weighted = np.linalg.inv((rows / mean) @ rows.T)
        return float(np.trace(weighted))

    for hidden, epsilon in ((5, 2.0), (12, 0.5), (20, 1.0), (20, 3.0)):
        made = dn.sensitive(40, sensitive=range(hidden), epsilon=epsilon)
        assert cost(made) <= 1.02 * cost(urr(40, sensitive=range(hidden), epsilon=epsilon))
    wide = ubd(40, sensitive=range(20), epsilon=0.5, order=2, dimension=5)
    assert cost(wide) < 0.8 * cost(urr(40, sensitive=range(20), epsilon=0.5))


def test_budgets_are_never_worse_than_the_smallest_and_close_to_the_bound() -> None:
    for budgets in ([0.5] * 3 + [2.0] * 5, [1.0, 2.0], [0.3, 0.6, 1.2, 2.4], [1.0] * 2 + [1.1] * 2 + [3.0] * 2):
        exact = [Fraction(str(budget)) for budget in budgets]
        table, found = budgets_table(exact, [1 / len(exact)] * len(exact))
        assert found.least <= found.cost * (1 + 1e-9)
        assert found.cost <= (1.002 if len(set(budgets)) <= 3 else 1.02) * found.least
        assert found.cost <= found.uniform * (1 + 1e-9)
        if table is None:
            continue
        rows = np.array([table.row(x) for x in range(table.cells)], float) / 2**64
        mean = rows.mean(axis=0)
        real = np.trace(np.linalg.inv((rows / mean) @ rows.T)) - 1 / table.cells
        assert real == pytest.approx(found.cost, rel=1e-6)
        plain = KRR(table.cells, min(exact))
        hit, miss = float(plain.hit), float(plain.miss)
        flat = miss + (hit - miss) * np.eye(table.cells)
        assert real < np.trace(np.linalg.inv((flat * table.cells) @ flat.T)) - 1 / table.cells


def test_more_than_three_budgets_are_told_apart_and_gain() -> None:
    six = [Fraction(x, 2) for x in range(1, 7) for _ in range(x)]
    table, found = budgets_table(six, [1 / 21] * 21)
    assert isinstance(table, Budgets)
    table.check_rows()
    assert len(set(table.groups)) == 6
    assert found.cost <= 1.02 * found.least
    _, three = budgets_table(budget_levels(six, 3), [1 / 21] * 21)
    assert found.cost < 0.9 * three.cost


def test_the_search_has_the_cost_of_the_list_of_all_bases(monkeypatch: pytest.MonkeyPatch) -> None:
    case = ((2, 2, 4), (0.5, 1.0, 2.0), (0.25, 0.25, 0.5))
    listed = optimum(*case)
    monkeypatch.setattr("deniable.survey.budgets._ALL_BASES", 1)
    made = optimum(*case)
    assert made.cost == pytest.approx(listed.cost, rel=0.006)
    assert made.least <= listed.cost * (1 + 1e-9)


def test_levels_are_those_of_least_cost() -> None:
    budgets = [Fraction(x, 4) for x in (1, 2, 3, 3, 5, 9)]
    distinct = sorted(set(budgets))

    def cost(levels: Sequence[Fraction]) -> float:
        return sum(math.exp(level) / math.expm1(level) ** 2 for level in map(float, levels))

    every = []
    for chosen in combinations(distinct[1:], 2):
        levels = [distinct[0], *chosen]
        every.append(cost([max(level for level in levels if level <= budget) for budget in budgets]))
    assert cost(budget_levels(budgets, 3)) == pytest.approx(min(every))
    assert budget_levels(budgets) == budgets
    many = [Fraction(x, 16) for x in range(8, 72)]
    assert len(set(budget_levels(many))) == 8
    assert all(level <= budget for level, budget in zip(budget_levels(many), many, strict=True))


def test_rows_that_no_mixture_makes_are_refused() -> None:
    with pytest.raises(ArithmeticError, match="no mixture of these columns makes rows that add up"):
        BaseSearch([[1.0, 0.0]]).best([1.0])
    with pytest.raises(ArithmeticError, match="a kind of columns must add to a row"):
        BaseSearch([[0.0]]).best([1.0])


def test_one_budget_is_plain_and_where_nothing_is_gained_too() -> None:
    assert dn.krr(symbols=3, epsilon={0: 1, 1: 1, 2: 1}) == dn.krr(symbols=3, epsilon=1)
    assert dn.krr(symbols=2, epsilon={0: 1, 1: 5}) == dn.krr(symbols=2, epsilon=1)


def test_a_shape_lowers_the_error_there() -> None:
    budgets, shape = [Fraction(1, 2)] * 3 + [Fraction(2)] * 3, [0.3, 0.3, 0.3, 0.04, 0.03, 0.03]
    even, _ = budgets_table(budgets, [1 / 6] * 6)
    shaped, found = budgets_table(budgets, shape)
    assert isinstance(found, Optimum)
    assert isinstance(even, Budgets)
    assert isinstance(shaped, Budgets)

    def cost(table: Budgets) -> float:
        rows = np.array([table.row(x) for x in range(6)], float) / 2**64
        p = np.repeat([0.3, 1 / 30], 3)
        return float(np.trace(np.linalg.inv((rows / (p @ rows)) @ rows.T)))

    assert cost(shaped) < cost(even)


def test_the_words_of_the_optimum() -> None:
    words = optimum((4, 4), (0.5, 2.0), (0.5, 0.5)).words
    assert re.fullmatch(
        r"Its expected squared error is 64 % of that of k-ary randomised response at the smallest budget, and at most "
        r"0\.0\d+ % above the least that any table with these budgets can have whose columns raise at most one answer "
        r"each\.",
        words,
    )


def test_a_file_with_weights_of_its_own_is_checked_pair_by_pair() -> None:
    survey = SMALL["budgets"]
    fields = json.loads(survey.to_json())
    eighth = 1 << 61
    loud = [[str(6 * eighth), str(eighth // 2), str(eighth)], [str(6 * eighth), str(3 * eighth // 2), "0"]]
    fields["mechanism"]["weights"] = loud
    with pytest.raises(SurveyError, match=r"weights of groups 0 and 0 must have ratios of at most e\*\*2, got more"):
        dn.Survey.from_fields(fields)


def test_columns_that_stand_for_an_answer_have_its_name() -> None:
    survey = dn.sensitive(["none", "flu", "hiv"], sensitive=["hiv"], epsilon=1)
    assert [survey.mechanism.named_by(column) for column in range(3)] == [2, 0, 1]
    picture = survey.chart()  # of "none", which is named as it is or as the sensitive one
    assert picture.index("63.2 %") > picture.index("none")
    assert "36.8 %" in picture
    design = SMALL["sensitive-design"].mechanism
    assert [design.named_by(column) for column in range(10)] == [None] * 7 + [2, 5, 7]
    assert SMALL["channel"].mechanism.named_by(0) is None
    assert "cell 0" in SMALL["channel"].chart()


def test_memoised_answers_repeat_their_report() -> None:
    for name in ("sensitive", "sensitive-design", "blocks", "budgets", "channel"):
        client = dn.Client(SMALL[name])
        for value in SMALL[name].symbols or ():
            assert client.report(value).pack() == client.report(value).pack()


def test_refusals_in_full() -> None:
    with pytest.raises(SurveyError) as refused:
        dn.sensitive(ILL, sensitive=[], epsilon=1)
    assert str(refused.value) == (
        "sensitive must name at least one answer, got none; a survey that hides nothing needs no noise"
    )
    with pytest.raises(
        SurveyError, match=r"answers; use dn.krr to hide an answer among all, and no noise to hide none"
    ):
        dn.blocks([ILL], epsilon=1)
    with pytest.raises(
        SurveyError,
        match=r"; give every answer a little of every column, or use dn.sensitive or dn.blocks where that is meant",
    ):
        dn.channel([[0.5, 0.5], [1.0, 0.0]], epsilon=1)
    with pytest.raises(SurveyError, match="as under 1; move the two rows closer together, or use a larger epsilon"):
        dn.channel([[0.8, 0.2], [0.2, 0.8]], epsilon=1)
    with pytest.raises(SurveyError, match="weights must be integers from 0 on, and 0 where there is no such answer"):
        Budgets([0, 1, 1], [1, 2], [0, 1], [[136, 1, 60], [156, 60, 40]], width=8)
    with pytest.raises(SurveyError, match=", got more; move them closer together, or use a larger budget"):
        Budgets([0, 1, 1], [1, "1.2"], [0, 1], [[136, 0, 60], [156, 60, 40]], width=8)
    with pytest.raises(
        SurveyError, match="epsilon must be budgets that 64-bit weights can keep, got 1e-09 to 30; use more"
    ):
        dn.krr(symbols=3, epsilon={0: "0.000000001", 1: 30, 2: 30})


@pytest.mark.parametrize(
    ("name", "field", "value", "message"),
    [
        ("channel", "rows", ["1"], "mechanism field 'rows' must be a list of rows"),
        ("channel", "rows", [["x"]], "mechanism field 'rows' must be rows of decimal text of at most 20 digits"),
        ("blocks", "groups", [0, "1"], "mechanism field 'groups' must be a list of integers"),
    ],
)
def test_lists_of_a_file_are_checked(name: str, field: str, value: object, message: str) -> None:
    fields = json.loads(SMALL[name].to_json())
    fields["mechanism"][field] = value
    with pytest.raises(SurveyError, match=message):
        dn.Survey.from_fields(fields)


def test_whole_columns_need_words_of_the_stream() -> None:
    table = WeightTable([[192, 64], [64, 192]], "1.1", width=8)
    with pytest.raises(RuntimeError, match="words must have the 64 bits of the stream, got 8"):
        table_block(table, np.zeros(1, np.uint8), np.zeros(1, np.uint64))

"""Tables of weights: the law of the bytes is the table, and every pair of rows is within its own epsilon."""

import random
from collections import Counter
from fractions import Fraction

import pytest

import deniable as dn
from deniable.mechanisms import Blocks, Budgets, Channel, Sensitive, SensitiveDesign, WeightTable
from deniable.mechanisms.odds import at_most_exp
from deniable.survey import Alphabet, Direct, Projective, Survey
from tests.exact.laws import check_survey
from tests.exact.scripted import ScriptedEntropy
from tests.exact.tables import promise_of, rows_of


def survey_of(mechanism: Channel) -> Survey:
    return Survey(Alphabet.closed(mechanism.cells), Direct(mechanism.cells), mechanism)


def random_table(seed: int) -> Survey:
    """A channel with nothing regular about it, at the least epsilon that it keeps."""
    source = random.Random(seed)
    cells, columns = source.randint(2, 5), source.randint(2, 9)
    rows = []
    for _ in range(cells):
        cuts = sorted(source.randrange(1, 2**64) for _ in range(columns - 1))
        rows.append([b - a for a, b in zip([0, *cuts], [*cuts, 2**64], strict=True)])
    odds = max(Fraction(max(column), min(column)) for column in zip(*rows, strict=True))
    epsilon = next(Fraction(e, 4) for e in range(1, 256) if at_most_exp(odds, Fraction(e, 4)))
    return survey_of(WeightTable(rows, epsilon))


SURVEYS = {
    "urr": dn.sensitive(["none", "flu", "hiv", "hpv"], sensitive=["hiv", "hpv"], epsilon=1),
    "one sensitive": dn.sensitive(["none", "flu", "hiv"], sensitive=["hiv"], epsilon="1/2"),
    "most sensitive": dn.sensitive(6, sensitive=[0, 1, 3, 4, 5], epsilon=2),
    "ubd": survey_of(SensitiveDesign(9, 1, [0, 2, 3, 5, 6, 8], Projective(6, 2, 3))),
    "ubd of order 3": survey_of(SensitiveDesign(8, "0.3", range(7), Projective(7, 3, 3))),
    "blocks": dn.blocks([["a", "b"], ["c", "d", "e"], ["f"]], epsilon=1),
    "budgets": dn.krr(symbols=["flu", "hiv", "none"], epsilon={"hiv": 0.5, "flu": 2, "none": 2}),
    "three budgets": dn.krr(symbols=5, epsilon={0: 0.5, 1: 1, 2: 1, 3: 3, 4: 3}),
    "budgets at a shape": dn.krr(symbols=3, epsilon={0: 1, 1: 2, 2: 2}, shape=[0.8, 0.1, 0.1]),
    "channel": dn.channel([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], epsilon=1.8),
}


@pytest.mark.parametrize("name", SURVEYS)
def test_law_of_the_bytes_is_the_table(name: str) -> None:
    survey = SURVEYS[name]
    check_survey(survey, survey.symbols or ())


@pytest.mark.parametrize("seed", range(12))
def test_law_of_the_bytes_of_random_tables(seed: int) -> None:
    survey = random_table(seed)
    check_survey(survey, survey.symbols or ())


@pytest.mark.parametrize("name", SURVEYS)
def test_every_pair_of_rows_keeps_its_own_epsilon(name: str) -> None:
    survey = SURVEYS[name]
    rows, promised, mechanism = rows_of(survey), promise_of(survey), survey.mechanism
    assert isinstance(mechanism, Channel)
    assert [list(mechanism.row(x)) for x in range(mechanism.cells)] == rows
    assert {sum(row) for row in rows} == {2**64}
    worst = Fraction(1)
    for x, row in enumerate(rows):
        for other in (y for y in range(len(rows)) if y != x):
            bound = promised(x, other)
            pairs = [(a, b) for a, b in zip(row, rows[other], strict=True) if a]
            found = mechanism.ratio((x,), (other,))
            assert found == (None if any(not b for _, b in pairs) else max(Fraction(a, b) for a, b in pairs))
            assert mechanism.promised(mechanism.classes[x], mechanism.classes[other]) == bound
            if bound is not None:
                assert found is not None
                assert at_most_exp(found, bound)
                worst = max(worst, found)
    assert mechanism.odds == worst


@pytest.mark.parametrize("epsilon", ["1e-3", "0.1", "1", "3", "12"])
@pytest.mark.parametrize("hidden", [1, 2, 7, 40])
def test_sensitive_answers_keep_epsilon_at_any_size(epsilon: str, hidden: int) -> None:
    mechanism = Sensitive(hidden + 3, epsilon, range(hidden))
    assert at_most_exp(mechanism.odds, mechanism.epsilon)
    assert mechanism.epsilon_spent > 0.999 * float(mechanism.epsilon)
    if hidden > 2:
        design = SensitiveDesign(hidden + 3, epsilon, range(hidden), Projective(hidden, 7, 3))
        assert at_most_exp(design.odds, design.epsilon)
        design.check_rows()
        assert Channel.odds.fget(design) == design.odds  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "mechanism",
    [
        WeightTable([[100, 56, 100], [60, 96, 100]], 1, width=8),
        Sensitive(5, 1, [1, 3], width=8),
        Sensitive(4, 2, [2], width=8),
        Blocks([0, 1, 0, 1, 1, 2], 1, width=8),
        Budgets([0, 1, 1], [1, 2], [0, 1], [[136, 0, 60], [156, 60, 40]], width=8),
        Budgets([0, 1, 1], [1, 2], [0, 1, -1], [[116, 0, 50], [136, 52, 30], [0, 36, 40]], width=8),
        SensitiveDesign(7, 1, [0, 1, 3, 4, 6], Projective(5, 2, 3), width=9),
    ],
    ids=lambda mechanism: mechanism.kind,
)
def test_every_small_word(mechanism: Channel) -> None:
    mechanism.check_rows()
    for value in range(mechanism.cells):
        seen = Counter(
            mechanism.randomize((value,), ScriptedEntropy(mechanism.width, [word]))
            for word in range(2**mechanism.width)
        )
        assert [seen[y] for y in range(mechanism.columns)] == list(mechanism.row(value))
        assert [mechanism.edge(value, y) for y in range(mechanism.columns)] == [
            sum(mechanism.row(value)[:y]) for y in range(mechanism.columns)
        ]

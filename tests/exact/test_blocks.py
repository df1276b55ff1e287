"""Block designs: the sets are what the theory says, and the law of the bytes, by walking words and by playing them."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import pytest

import deniable as dn
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip
from deniable.mechanisms.odds import at_most_exp
from deniable.survey import Alphabet, Direct, Encoding, Hadamard, Projective, Survey
from tests.exact.laws import check_survey, law_of, published, worst_ratio
from tests.exact.scripted import ScriptedEntropy, law_of_bytes_by_enumeration
from tests.exact.walker import walk

ROWS = [Hadamard(symbols, blocks) for symbols in (2, 3, 4, 7, 8, 13) for blocks in (1, 2, 3) if blocks <= symbols]
SPACES = [Projective(n, r, t) for n, r, t in ((3, 2, 2), (7, 2, 3), (5, 2, 3), (13, 3, 3), (15, 2, 4), (31, 5, 3))]


@pytest.mark.parametrize("design", [*ROWS, *SPACES, Direct(5)], ids=repr)
def test_sets_have_the_stated_size_and_share_the_stated_number(design: Encoding) -> None:
    """|S_x| = s, |S_x & S_x'| = l in one block and 0 across blocks: what the estimator rests on."""
    size = getattr(design, "symbols", design.cells)
    sets = [design.encode(0, x) for x in range(size)]
    blocks = getattr(design, "blocks", 1)
    for found in sets:
        assert list(found) == sorted(set(found))
        assert len(found) == design.occupied == design.hashes
        assert 0 <= found[0] <= found[-1] < design.cells
    for x, y in combinations(range(size), 2):
        same = x % blocks == y % blocks
        assert len(set(sets[x]) & set(sets[y])) == (design.shared if same else 0)


def test_a_large_projective_space_is_orthogonal() -> None:
    design = Projective(100, 5, 5)
    points = [design.point(i) for i in range(design.cells)]
    assert points == sorted(points)
    assert len(set(points)) == 781
    for x in (0, 1, 5, 17, 60, 99):
        expected = [i for i, y in enumerate(points) if sum(a * b for a, b in zip(points[x], y, strict=True)) % 5 == 0]
        assert list(design.encode(0, x)) == expected


@pytest.mark.parametrize("epsilon", ["0.01", "1/3", "1", "2.5", "10"])
@pytest.mark.parametrize(
    "design", [Hadamard(3), Hadamard(7), Hadamard(6, 3), SPACES[1], SPACES[2], SPACES[3]], ids=repr
)
def test_law_of_the_bytes_is_the_published_channel(design: Hadamard | Projective, epsilon: str) -> None:
    survey = Survey(Alphabet.closed(design.symbols), design, KRR(design.cells, epsilon, occupied=design.occupied))
    check_survey(survey, range(design.symbols))
    worst = worst_ratio([law_of(survey, value).probabilities for value in range(design.symbols)])
    assert worst == survey.mechanism.odds


def test_law_of_two_byte_cells() -> None:
    check_survey(dn.hadamard(symbols=300, epsilon=2, blocks=1), [0, 1, 255, 256, 299])
    check_survey(dn.projective(symbols=300, epsilon=3, order=17, dimension=3), [0, 1, 255, 256, 299])


@pytest.mark.parametrize(
    ("width", "design", "epsilon"),
    [
        (8, Hadamard(3), "1"),
        (10, Hadamard(5), "1/2"),
        (10, Hadamard(5, 2), "2"),
        (11, Projective(7, 2, 3), "1"),
        (12, Projective(13, 3, 3), "1"),
        (12, Projective(5, 5, 2), "2"),
    ],
)
def test_every_small_word_through_the_real_client(width: int, design: Hadamard | Projective, epsilon: str) -> None:
    """No symbols here: each of the 2**width words is played, and the bytes are counted."""
    mechanism = KRR(design.cells, epsilon, width, occupied=design.occupied)
    survey = Survey(Alphabet.closed(design.symbols), design, mechanism)
    laws = [law_of_bytes_by_enumeration(survey, value, cohort=0, count=1) for value in range(design.symbols)]
    for value, law in enumerate(laws):
        assert law == published(survey, value) == law_of(survey, value).probabilities
    worst = worst_ratio(laws)
    assert worst is not None
    assert at_most_exp(worst, mechanism.epsilon)


@pytest.mark.parametrize("design", [Hadamard(5, 2), Projective(7, 2, 3)], ids=repr)
def test_stated_channel_is_the_walked_one(design: Hadamard | Projective) -> None:
    mechanism = KRR(design.cells, 1, occupied=design.occupied)
    for key in range(design.symbols):
        cells = design.encode(0, key)
        stated = {response: mechanism.probability(response, cells) for response in range(mechanism.outputs)}
        walked = walk(lambda entropy, cells=cells: mechanism.randomize(cells, entropy))  # type: ignore[misc]
        assert walked.probabilities == stated
        assert walked.draws == {1}
        for column in range(design.cells):
            hit = sum((p for y, p in stated.items() if column in mechanism.columns_hit(y)), Fraction(0))
            assert hit == (mechanism.hit if column in cells else mechanism.miss)


def test_words_that_cannot_be_shared_out_are_refused() -> None:
    with pytest.raises(SurveyError) as caught:
        KRR(9, 1, occupied=3)
    assert str(caught.value) == (
        "occupied cells and cells must share no divisor but powers of two up to 2**64, got 3 of 9; "
        "the words could not be shared out evenly"
    )
    with pytest.raises(SurveyError, match="occupied must be at most 3, got 4"):
        KRR(4, 1, occupied=4)


def test_an_answer_must_occupy_its_cells() -> None:
    with ScriptedEntropy(64, []) as entropy, pytest.raises(RuntimeError, match="an answer must occupy 3 cells, got 1"):
        KRR(7, 1, occupied=3).randomize((0,), entropy)


def test_surveys_that_do_not_fit_are_refused() -> None:
    alphabet, rows = Alphabet.closed(3), Hadamard(3)
    cases: list[tuple[Callable[[], Survey], str]] = [
        (
            lambda: Survey(alphabet, rows, KRR(4, 1)),
            "every answer must occupy as many cells as the mechanism expects, 1, got 2",
        ),
        (
            lambda: Survey(alphabet, rows, BitFlip(4, 1, 4)),
            "a block design must have k-ary randomised response on its cells, got 'bitflip'",
        ),
        (
            lambda: Survey(Alphabet.closed(4), rows, KRR(4, 1, occupied=2)),
            "a block design of 3 symbols must have a closed alphabet of that many; use olh for open answers",
        ),
        (
            lambda: dn.projective(symbols=5, epsilon=1, order=5),
            "order and dimension must be given together, or neither",
        ),
        (lambda: dn.projective(symbols=5, epsilon=1, order=9, dimension=3), "order must be a prime, got 9"),
        (
            lambda: dn.projective(symbols=8, epsilon=1, order=2, dimension=3),
            "symbols must be at most 7, the points of dimension 3 over 2, got 8; use a larger order or dimension",
        ),
    ]
    for make, sentence in cases:
        with pytest.raises(SurveyError) as caught:
            make()
        assert str(caught.value) == sentence


def test_alphabets_that_no_design_can_carry_are_refused() -> None:
    assert dn.hadamard(symbols=40_000, epsilon=5).cells == 65_536
    with pytest.raises(SurveyError, match="symbols must be at most 65536, got 70000"):
        dn.hadamard(symbols=70_000, epsilon=1)
    with pytest.raises(SurveyError, match="cells must be at most 65536, got 131072"):
        dn.hadamard(symbols=65_536, epsilon=1, blocks=1)
    assert dn.projective(symbols=20_000, epsilon=2).cells <= 65_536
    with pytest.raises(SurveyError) as caught:
        dn.projective(symbols=65_536, epsilon=2)
    assert str(caught.value) == ("symbols must fit a projective space of at most 65536 points, got 65536; use olh")

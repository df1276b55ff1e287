"""Numbers and ordered answers: the law of the packed bytes, from a number to the report, and mutants of each step."""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from math import gcd

import pytest

import deniable as dn
from deniable.client import Client
from deniable.errors import SurveyError
from deniable.mechanisms import KRR
from deniable.mechanisms.odds import at_most_exp
from deniable.noise import Entropy
from deniable.survey import Alphabet, Neighbours, Numbers, Scale, Survey, best_reach
from tests.exact.laws import check_survey, law_of, published, violations, worst_ratio
from tests.exact.scripted import law_of_bytes_by_enumeration

SHAPES = [(2, 0), (2, 1), (3, 1), (5, 1), (5, 2), (6, 1), (7, 2), (12, 3), (4, 5)]


@pytest.mark.parametrize(("symbols", "reach"), SHAPES)
def test_an_answer_occupies_its_own_cell_and_its_neighbours(symbols: int, reach: int) -> None:
    encoding = Neighbours(symbols, reach)
    assert encoding.cells == symbols + 2 * reach
    for x in range(symbols):
        assert encoding.encode(0, x) == tuple(range(x, x + 2 * reach + 1))
    for cell in range(encoding.cells):  # each cell stands for the answers within reach of it, and for some at all
        assert [x for x in range(symbols) if cell in encoding.encode(0, x)] == [
            x for x in range(symbols) if abs(cell - reach - x) <= reach
        ]


@pytest.mark.parametrize("epsilon", ["0.01", "1/3", "1", "2.5", "10"])
@pytest.mark.parametrize(("symbols", "reach"), [shape for shape in SHAPES if gcd(2 * shape[1] + 1, shape[0] - 1) == 1])
def test_law_of_the_bytes_is_the_published_channel(symbols: int, reach: int, epsilon: str) -> None:
    survey = dn.ordered(symbols, epsilon, reach=reach)
    check_survey(survey, range(symbols))
    worst = worst_ratio([law_of(survey, value).probabilities for value in range(symbols)])
    assert worst == survey.mechanism.odds
    assert at_most_exp(worst, survey.mechanism.epsilon)


def test_law_of_two_byte_cells() -> None:
    check_survey(dn.number(0, 1, 2, bins=300), [0, 0.001, 0.5, 0.999, 1, -7, 1e300])


@pytest.mark.parametrize(
    ("width", "symbols", "reach", "epsilon"), [(8, 3, 1, "1"), (10, 5, 2, "1/2"), (11, 7, 2, "2"), (9, 4, 0, "1")]
)
def test_every_small_word_through_the_real_client(width: int, symbols: int, reach: int, epsilon: str) -> None:
    encoding = Neighbours(symbols, reach)
    mechanism = KRR(encoding.cells, epsilon, width, occupied=encoding.occupied)
    survey = Survey(Numbers.of(Scale("0", str(symbols), symbols)), encoding, mechanism)
    answers = [x + 0.5 for x in range(symbols)] + [-1, symbols + 1]
    laws = [law_of_bytes_by_enumeration(survey, value, cohort=0, count=1) for value in answers]
    for value, law in zip(answers, laws, strict=True):
        assert law == published(survey, value) == law_of(survey, value).probabilities
    assert laws[-2] == laws[0]  # a number outside is put into the outer bin before any noise
    assert laws[-1] == laws[symbols - 1]
    worst = worst_ratio(laws)
    assert worst is not None
    assert at_most_exp(worst, mechanism.epsilon)


class WindowShifted(Neighbours):
    """The cells x - 1 to x + 2 w - 1, cut off at the ends: a slip by one."""

    def encode(self, cohort: int, key: int) -> tuple[int, ...]:
        return tuple(max(cell - 1, 0) if cell else self.cells - 1 for cell in super().encode(cohort, key))


class ThresholdOff(KRR):
    """Weights of the true cells that are one word too small; the words that are left name the last cell."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        word, keep = entropy.word(), self.keep - 1
        inside = self.occupied * keep
        if word < inside:
            return cells[word // keep]
        block = (word - inside) // self.other
        if block >= self.cells - self.occupied:
            return self.cells - 1
        return block + bisect_right(range(len(cells)), block, key=lambda place: cells[place] - place)


class ClampedAfterwards(Client):
    """A number outside is not put into the outer bin first: its window goes on beyond the cells, and is cut there."""

    def _randomized(self, value: object) -> object:  # type: ignore[override]
        bins = self.survey.alphabet.bins
        assert bins is not None
        assert isinstance(value, (int, float))
        far = round((value - bins.edges[0]) / (bins.edges[1] - bins.edges[0]))
        if 0 <= far < bins.bins:
            return super()._randomized(value)
        own = [max(0, min(self.survey.cells - 1, cell)) for cell in range(far, far + self.survey.hashes)]
        response = self._mechanism.randomize(sorted(own), self._entropy)
        return dn.Report(self.survey, 0, response.to_bytes(self._payload_bytes, "little"))


SURVEY = dn.number(0, 5, 1, bins=5, reach=2)


def test_the_real_client_passes_what_mutants_must_not() -> None:
    assert violations(SURVEY, [0.5, 1.5, 4.5, 9]) == set()


def test_a_window_that_is_shifted_by_one_is_caught() -> None:
    shifted = Survey(SURVEY.alphabet, WindowShifted(5, 2), SURVEY.mechanism)
    honest = [published(SURVEY, x) for x in (0.5, 1.5, 4.5)]
    assert any(law_of(shifted, x).probabilities != law for x, law in zip((0.5, 1.5, 4.5), honest, strict=True))


def test_a_threshold_that_is_off_by_one_is_caught() -> None:
    from tests.exact import mutants as mu

    off = ThresholdOff(9, 1, occupied=5)
    assert "law" in violations(SURVEY, [0.5, 1.5], mu.with_mechanism(off))


def test_a_clamp_after_randomising_is_caught() -> None:
    def make(survey: Survey, entropy: Entropy) -> Client:
        return ClampedAfterwards(survey, memoize=False, entropy=entropy)

    assert "law" in violations(SURVEY, [0.5, 9], make)


def test_the_reach_is_the_best_that_words_can_be_shared_out_for() -> None:
    for symbols in (*range(2, 40), 256, 1024):
        for epsilon in ("0.001", "0.5", "1", "2", "4", "30"):
            reach = best_reach(symbols, Fraction(epsilon))
            assert gcd(2 * reach + 1, symbols - 1) == 1
            assert 0 <= reach <= symbols
    with pytest.raises(SurveyError, match="reach must be one for which"):
        dn.ordered(4, 1, reach=1)
    with pytest.raises(SurveyError) as caught:
        Survey(Alphabet.closed(4), Neighbours(5, 1), KRR(7, 1, occupied=3))
    assert str(caught.value) == "neighbours of 5 symbols must have a closed alphabet of that many, in order"

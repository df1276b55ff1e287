"""Two stages through the real client: the law of one report, of two reports of an answer together, and the promises."""

from fractions import Fraction
from itertools import combinations

import pytest

import deniable as dn
import deniable.client.client as room
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Chain, Mechanism, Subset
from deniable.mechanisms.odds import at_most_exp
from deniable.noise import Entropy
from deniable.survey import Alphabet, Direct, Survey
from tests.exact.laws import check_survey, law_of, published, worst_ratio
from tests.exact.scripted import law_of_bytes_by_enumeration
from tests.exact.test_client import oracle_on
from tests.exact.walker import Forking, walk
from tests.surveys import SMALL, symbols_of

AGAIN = {name: survey for name, survey in SMALL.items() if name.endswith("again")}
each_survey = pytest.mark.parametrize("survey", AGAIN.values(), ids=AGAIN.keys())
# Small enough to walk two reports, and four words each, branch by branch.
PAIRS = {
    "warner": dn.warner(epsilon=2, epsilon_report=1),
    "krr": dn.krr(symbols=3, epsilon=2, epsilon_report="1/2"),
    "krappor": dn.krappor(symbols=2, epsilon=2, epsilon_report=1),
    "oue": dn.oue(symbols=2, epsilon=3, epsilon_report=1),
    "subset": dn.subset(symbols=3, epsilon=2, epsilon_report=1, size=2),
    "hadamard": dn.hadamard(symbols=2, epsilon=2, epsilon_report=1, blocks=1),
    "orr": dn.orr(symbols=4, epsilon=2, epsilon_report=1, cells=2, cohorts=2, seed=bytes(16)),
}
each_pair = pytest.mark.parametrize("survey", PAIRS.values(), ids=PAIRS.keys())


@each_survey
def test_law_of_one_report_is_the_composed_channel(survey: Survey) -> None:
    """`published` adds up the paths through every permanent response; `probability` is the closed form."""
    values = symbols_of(survey, 4)
    check_survey(survey, values)
    for value in values:
        for wire, chance in published(survey, value).items():
            report = dn.Report.unpack(survey, wire)
            stated = survey.mechanism.probability(report.response, survey.encode(report.cohort, value))
            assert stated == chance * survey.cohorts


@each_survey
def test_odds_of_one_report_are_exact(survey: Survey) -> None:
    """No two answers are further apart than `odds`; and some are that far, where two share no cell."""
    laws = [law_of(survey, value).probabilities for value in symbols_of(survey, 6)]
    worst = worst_ratio(laws)
    assert worst is not None
    assert worst <= survey.mechanism.odds
    assert worst == survey.mechanism.odds or survey.hashes > 1


@each_survey
def test_columns_and_pairs_of_columns(survey: Survey) -> None:
    """hit, miss and pairs, from the channel itself."""
    mechanism, k = survey.mechanism, survey.cells
    cells = survey.encode(0, symbols_of(survey)[0])
    law = {y: mechanism.probability(y, cells) for y in range(mechanism.outputs) if mechanism.allows(y)}
    hit = {y: set(mechanism.columns_hit(y)) for y in law}
    for column in range(k):
        chance = sum((p for y, p in law.items() if column in hit[y]), Fraction(0))
        assert chance == (mechanism.hit if column in cells else mechanism.miss)
    neither, one = mechanism.pairs
    for a, b in combinations(range(k), 2):
        if {a, b} <= set(cells):
            continue
        both = sum((p for y, p in law.items() if {a, b} <= hit[y]), Fraction(0))
        assert both == (one if {a, b} & set(cells) else neither)


class Memoising(Forking):
    """The walker for every report's fresh words; the secret is fixed, because the oracle ignores its value."""

    def __init__(self, walker: Entropy) -> None:
        self._walker, self._secret = walker, iter((1, 2, 3, 4))

    def word(self) -> int:
        return self._walker.word()

    def words(self, count: int) -> list[int]:
        first = next(self._secret, None)
        return [self._walker.word() for _ in range(count)] if first is None else [first, *self._secret]

    def uniform_below(self, bound: int) -> int:
        return self._walker.uniform_below(bound)


def memoised(survey: Survey, entropy: Entropy, monkeypatch: pytest.MonkeyPatch) -> dn.Client:
    """The real memoising client on ideal permanent words."""
    monkeypatch.setattr(room, "DerivedEntropy", oracle_on(entropy))
    return dn.Client(survey, entropy=Memoising(entropy))


def joint(survey: Survey, value: object, reports: int) -> dict[bytes, Fraction]:
    """What the law of several reports of one answer must be: one permanent response, then independent second stages."""
    law: dict[bytes, Fraction] = {}
    mechanism = survey.mechanism
    assert isinstance(mechanism, Chain)
    responses = [y for y in range(mechanism.outputs) if mechanism.allows(y)]
    steps = {z: walk(lambda entropy, z=z: mechanism.refresh(z, entropy)).probabilities for z in responses}  # type: ignore[misc]
    for cohort in range(survey.cohorts):
        packed = {y: dn.Report(survey, cohort, y.to_bytes(mechanism.payload_bytes, "little")).pack() for y in responses}
        for z in responses:
            start = mechanism.permanent.probability(z, survey.encode(cohort, value)) / survey.cohorts
            paths: dict[bytes, Fraction] = {b"": start}
            for _ in range(reports):
                paths = {sent + packed[y]: p * steps[z][y] for sent, p in paths.items() for y in responses}
            for sent, p in paths.items():
                law[sent] = law.get(sent, Fraction(0)) + p
    return law


@each_pair
def test_two_reports_of_an_answer_keep_the_lifetime_promise(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    """The joint law of two reports, walked through the memoising client, and its worst ratio over all answers."""
    values = symbols_of(survey)
    for value in values:

        def two(entropy: Entropy, value: object = value) -> bytes:
            client = memoised(survey, entropy, monkeypatch)
            return client.report(value).pack() + client.report(value).pack()

        assert walk(two).probabilities == joint(survey, value, 2)
    worst = [worst_ratio([joint(survey, value, n) for value in values]) for n in (1, 2, 3)]
    one, two_of_them, three = worst
    assert one is not None
    assert two_of_them is not None
    assert three is not None
    assert at_most_exp(one, survey.mechanism.report_bound)
    assert one < two_of_them < three
    assert at_most_exp(three, survey.mechanism.epsilon)
    assert three <= survey.mechanism.permanent.odds


@each_pair
def test_a_client_without_memory_spends_a_report_each_time(survey: Survey) -> None:
    """Fresh permanent responses: the two reports are independent, and the ratio is the square."""
    values = symbols_of(survey)

    def two(entropy: Entropy, value: object) -> bytes:
        client = dn.Client(survey, memoize=False, entropy=entropy)
        return client.report(value).pack() + client.report(value).pack()

    laws = [walk(lambda entropy, value=value: two(entropy, value)).probabilities for value in values]  # type: ignore[misc]
    worst = worst_ratio(laws)
    assert worst is not None
    assert worst <= survey.mechanism.odds**2


SMALL_WORDS: list[tuple[Mechanism, int]] = [
    (Chain(KRR(3, 2, 8), 1), 2),
    (Chain(KRR(2, 1, 8), "1/2"), 2),
    (Chain(BitFlip(2, 3, 2, 4), 2), 4),
    (Chain(BitFlip(2, 2, 2, 4, optimized=True), 1), 4),
]


@pytest.mark.parametrize(("mechanism", "words"), SMALL_WORDS)
def test_every_small_word_through_the_real_client(mechanism: Mechanism, words: int) -> None:
    survey = Survey(Alphabet.closed(mechanism.cells), Direct(mechanism.cells), mechanism)
    for value in range(mechanism.cells):
        counted = law_of_bytes_by_enumeration(survey, value, cohort=0, count=words)
        assert counted == law_of(survey, value).probabilities == published(survey, value)


GRID = [("0.02", "0.01"), ("1", "0.5"), ("1", "0.999"), ("2", "1"), ("5", "1/3"), ("10", "4"), ("20", "1")]


@pytest.mark.parametrize(("epsilon", "one"), GRID)
def test_the_second_stage_is_no_noisier_than_it_must_be(epsilon: str, one: str) -> None:
    """`again` keeps the promise for one report, and one word fewer would not."""
    stages: list[Mechanism] = [KRR(2, epsilon), KRR(10, epsilon), KRR(1000, epsilon), KRR(13, epsilon, occupied=4)]
    stages += [BitFlip(5, epsilon), BitFlip(9, epsilon, 6), BitFlip(5, epsilon, optimized=True), Subset(9, epsilon, 3)]
    for stage in stages:
        chain = Chain(stage, one)
        assert at_most_exp(chain.odds, chain.report_bound)
        assert chain.epsilon_report <= float(Fraction(one)) < chain.epsilon_spent <= float(Fraction(epsilon))
        assert chain.epsilon_report > 0.999 * float(Fraction(one))
        object.__setattr__(chain, "again", chain.again - 1)
        assert not at_most_exp(chain.odds, chain.report_bound)


def test_slopes_multiply() -> None:
    """The exact rule: lambda(one report) = lambda(lifetime) lambda(second stage), lambda = (E - 1) / (E + k - 1)."""
    for k, epsilon, one in ((2, 2, 1), (10, 2, 1), (100, 4, "1/2")):
        permanent = KRR(k, epsilon)
        chain = Chain(permanent, one)
        first = Fraction(permanent.keep - permanent.other, 2**64)
        thresholds = chain.report_thresholds()
        second = Fraction(thresholds["report_keep"] - thresholds["report_other"], 2**64)
        assert chain.hit - chain.miss == first * second
        assert chain.hit == (1 + (k - 1) * first * second) / k


def test_known_second_stages() -> None:
    """Published values for bits, where the published chain is exact: L-SUE and L-OSUE at (2, 1) and (4, 2)."""
    for flips, one, keep in (
        (BitFlip(5, 2), 1, 0.764996),
        (BitFlip(5, 2, optimized=True), 1, 0.803388),
        (BitFlip(5, 4, optimized=True), 2, 0.895006),
    ):
        assert abs(1 - Chain(flips, one).again / 2**64 - keep) < 5e-7


def test_a_chain_states_both_epsilons() -> None:
    survey = dn.krr(symbols=10, epsilon=2, epsilon_report=1)
    assert repr(survey) == f"<Survey: k-RR, 10 symbols, epsilon 2 and 1 a report, digest {survey.digest[:8]}>"
    assert (survey.epsilon, survey.mechanism.epsilon, survey.mechanism.report_bound) == (2.0, Fraction(2), Fraction(1))
    plain = dn.krr(symbols=10, epsilon=2)
    assert plain.epsilon_report == plain.epsilon_spent
    assert plain.mechanism.permanent is plain.mechanism
    assert plain.mechanism.report_bound == plain.mechanism.epsilon


def test_parameters_are_those_of_one_report() -> None:
    assert dn.subset(symbols=256, epsilon=4, epsilon_report=1).mechanism.hits == 69
    assert dn.subset(symbols=256, epsilon=8, epsilon_report=6).title == "k-RR"
    assert dn.olh(epsilon=6, epsilon_report=2).cells == 8
    for preset, one in ((dn.hadamard, 4), (dn.projective, 3)):
        assert preset(symbols=100, epsilon=9, epsilon_report=one).encoding == preset(symbols=100, epsilon=one).encoding


def test_what_a_chain_refuses() -> None:
    for one in (2, "2.5"):
        with pytest.raises(SurveyError) as caught:
            dn.krr(symbols=5, epsilon=2, epsilon_report=one)
        assert str(caught.value) == (
            f"epsilon_report must be below epsilon, 2, got {one}; "
            "leave it out where one report may spend all of epsilon"
        )
    with pytest.raises(
        SurveyError, match="epsilon_report must be a positive finite number, decimal text or a fraction"
    ):
        dn.krr(symbols=5, epsilon=2, epsilon_report=-1)
    with pytest.raises(SurveyError, match="a chain must start with one stage of its own, got 'chain'"):
        Chain(Chain(KRR(3, 2), 1), "1/2")
    with pytest.raises(SurveyError) as caught:
        Chain(KRR(1 << 24, 20), "0.000000001")
    assert str(caught.value) == (
        "epsilon_report must be realisable in 64-bit words after epsilon 20, got 0.000000001 for 16777216 cells; "
        "use one that is larger, or further below epsilon"
    )


def test_bits_need_a_word_each() -> None:
    class Short(Entropy):
        def word(self) -> int:
            return 0

        def words(self, count: int) -> list[int]:
            return [0] * (count - 1)

    with pytest.raises(RuntimeError, match="entropy must give one word per bit, got 2 for 3 bits"):
        Chain(BitFlip(3, 2), 1).refresh(0, Short())


@each_pair
def test_both_stages_in_one_draw_have_the_composed_law(survey: Survey) -> None:
    """A client keeps the permanent response; `randomize` draws it and the second stage one after the other."""
    chain, value = survey.mechanism, symbols_of(survey)[0]
    assert isinstance(chain, Chain)
    chain.check(survey.encoding)
    assert chain.title(own_cells=True) == chain.permanent.title(own_cells=True)
    cells = survey.encode(0, value)
    law = walk(lambda entropy: chain.randomize(cells, entropy)).probabilities
    assert law == {y: chain.probability(y, cells) for y in range(chain.outputs) if chain.allows(y)}

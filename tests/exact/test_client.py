"""Every preset through the real client: the exact law of the packed bytes is the published channel, and private."""

from fractions import Fraction

import pytest

import deniable as dn
import deniable.client.client as room
from deniable.noise import Entropy
from tests.exact.laws import check_memoised, check_survey, law_of, published
from tests.exact.walker import Forking, walk
from tests.forensics import watched as watched

SEED = bytes(range(16))
WORDS = ("a", "b", "c", "d", "\u00e9t\u00e9", "\U0001f98a", 7, -7, b"\xff\x00", "")

# The first four are one answer to a folded survey, the last three another.
FOLDING = ("Ibuprofen", "ibuprofen", " IBUPROFEN\t", "\u0130buprofen", "STRASSE", "Stra\u00dfe", "stra\u1e9ee")


def open_bloom(hashes: int) -> dn.Survey:
    return dn.orappor(epsilon=2, cells=5, cohorts=2, hashes=hashes, seed=SEED)


def closed_bloom(hashes: int) -> dn.Survey:
    return dn.orappor(symbols=6, epsilon=2, cells=4, cohorts=3, hashes=hashes, seed=SEED)


CASES: dict[str, tuple[dn.Survey, tuple[object, ...]]] = {
    "warner": (dn.warner(epsilon=1), ("no", "yes")),
    "krr": (dn.krr(symbols=["a", 1, b"1", "1"], epsilon="0.7"), ("a", 1, b"1", "1")),
    "krr catch-all": (dn.krr(symbols=["a", "b"], epsilon=1, other="else"), ("a", "b", "else", "lynx", 42, b"")),
    "krappor": (dn.krappor(symbols=4, epsilon=1), (0, 1, 2, 3)),
    "krappor catch-all": (dn.krappor(symbols=[1, 2], epsilon=1, other=0), (0, 1, 2, 3, "x")),
    "oue": (dn.oue(symbols=4, epsilon=1), (0, 1, 2, 3)),
    "oue catch-all": (dn.oue(symbols=["a", "b"], epsilon=3, other="else"), ("a", "b", "else", "lynx")),
    "olh open": (dn.olh(epsilon=1, cohorts=5, seed=SEED), WORDS),
    "olh closed": (dn.olh(symbols=7, epsilon="1/2", cohorts=3, seed=SEED), tuple(range(7))),
    "subset": (dn.subset(symbols=["a", "b", "c", "d", "e"], epsilon=1, size=2), ("a", "b", "c", "d", "e")),
    "subset catch-all": (dn.subset(symbols=[1, 2, 3], epsilon=1, size=2, other="else"), (1, 2, 3, "else", "lynx")),
    "hadamard": (dn.hadamard(symbols=["a", "b", "c", "d"], epsilon=1), ("a", "b", "c", "d")),
    "hadamard blocks": (dn.hadamard(symbols=5, epsilon=2, blocks=2), tuple(range(5))),
    "hadamard catch-all": (dn.hadamard(symbols=[1, 2], epsilon=1, other="else"), (1, 2, "else", "lynx")),
    "projective": (dn.projective(symbols=13, epsilon=1, order=3, dimension=3), tuple(range(13))),
    "projective space": (dn.projective(symbols=9, epsilon="1/3", order=2, dimension=4), tuple(range(9))),
    "orr open": (dn.orr(epsilon=1, cells=4, cohorts=3, seed=SEED), WORDS),
    "orr many cohorts": (dn.orr(epsilon=1, cells=2, cohorts=300, seed=SEED), WORDS[:4]),
    "orr exact": (dn.orr(epsilon=1, cells=4, cohorts=3, seed=SEED, text="exact"), WORDS + FOLDING),
    "orr folded": (dn.orr(epsilon=1, cells=4, cohorts=3, seed=SEED), WORDS + FOLDING),
    "orappor folded, 2 hashes": (open_bloom(2), FOLDING),
    "orr closed": (dn.orr(symbols=7, epsilon="1/3", cells=3, cohorts=4, seed=SEED), tuple(range(7))),
    "orr closed catch-all": (
        dn.orr(symbols=["a", "b", "c"], epsilon=3, cells=2, cohorts=2, seed=SEED, other="else"),
        ("a", "b", "c", "else", "lynx"),
    ),
    "orappor open, 1 hash": (open_bloom(1), WORDS),
    "orappor open, 2 hashes": (open_bloom(2), WORDS),
    "orappor open, 3 hashes": (open_bloom(3), WORDS),
    "orappor closed, 1 hash": (closed_bloom(1), tuple(range(6))),
    "orappor closed, 2 hashes": (closed_bloom(2), tuple(range(6))),
    "orappor closed, 3 hashes": (closed_bloom(3), tuple(range(6))),
    "warner again": (dn.warner(epsilon=2, epsilon_report=1), ("no", "yes")),
    "krr again": (dn.krr(symbols=["a", "b", "c"], epsilon=2, epsilon_report="1/2", other="else"), ("a", "b", "x")),
    "orr again": (dn.orr(symbols=7, epsilon=3, epsilon_report=1, cells=3, cohorts=4, seed=SEED), tuple(range(7))),
}
# Memoised clients of these draw fresh words for every report; see test_chain.py.
AGAIN = {case for case in CASES if case.endswith("again")}
each_case = pytest.mark.parametrize("case", CASES)


def stated(survey: dn.Survey, value: object) -> dict[bytes, Fraction]:
    """The law as the library states it: 1 / cohorts times `mechanism.probability` at the cells of `encode`."""
    mechanism = survey.mechanism
    return {
        dn.Report(survey, cohort, response.to_bytes(mechanism.payload_bytes, "little")).pack(): (
            mechanism.probability(response, survey.encode(cohort, value)) / survey.cohorts
        )
        for cohort in range(survey.cohorts)
        for response in range(mechanism.outputs)
        if mechanism.allows(response)
    }


@each_case
def test_law_of_the_bytes_is_the_published_channel(case: str) -> None:
    survey, values = CASES[case]
    check_survey(survey, values)


@each_case
def test_stated_channel_is_the_published_one(case: str) -> None:
    survey, values = CASES[case]
    for value in values:
        assert stated(survey, value) == published(survey, value)
        assert sum(published(survey, value).values()) == 1


@each_case
def test_survey_read_back_from_json_behaves_the_same(case: str) -> None:
    survey, values = CASES[case]
    again = dn.Survey.from_json(survey.to_json())
    for value in values[:2]:
        assert law_of(again, value) == law_of(survey, value)


def payloads(survey: dn.Survey, value: object) -> dict[int, Fraction]:
    """The law of the response of a survey with one cohort: nine bytes of header, then the payload."""
    return {int.from_bytes(wire[9:], "little"): p for wire, p in law_of(survey, value).probabilities.items()}


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_closed_orr_with_one_cohort_is_krr_relabelled(size: int) -> None:
    plain = dn.krr(symbols=size, epsilon=1)
    other = dn.orr(symbols=size, epsilon=1, cells=size, cohorts=1, seed=SEED)
    name = [other.encode(0, value)[0] for value in range(size)]
    assert sorted(name) == list(range(size))
    for value in range(size):
        assert payloads(other, value) == {name[cell]: p for cell, p in payloads(plain, value).items()}


@pytest.mark.parametrize("size", [2, 3, 5])
def test_closed_orappor_with_one_cohort_is_krappor_relabelled(size: int) -> None:
    plain = dn.krappor(symbols=size, epsilon=1)
    other = dn.orappor(symbols=size, epsilon=1, cells=size, cohorts=1, seed=SEED)
    name = [other.encode(0, value)[0] for value in range(size)]
    for value in range(size):
        renamed = {
            sum(1 << name[bit] for bit in range(size) if bits >> bit & 1): p
            for bits, p in payloads(plain, value).items()
        }
        assert payloads(other, value) == renamed


def oracle_on(entropy: Entropy) -> type[Entropy]:
    """What `DerivedEntropy` is if HMAC is ideal: independent words for each label, and the same ones each time."""
    known: dict[tuple[bytes, bytes], list[int]] = {}

    class Oracle(Forking):
        def __init__(self, secret: bytes, label: bytes) -> None:
            self._words, self._at = known.setdefault((secret, label), []), 0

        def word(self) -> int:
            if self._at == len(self._words):
                self._words.append(entropy.word())
            self._at += 1
            return self._words[self._at - 1]

        def uniform_below(self, bound: int) -> int:
            if self._at == len(self._words):
                self._words.append(entropy.uniform_below(bound))
            self._at += 1
            return self._words[self._at - 1]

    return Oracle


class KnownSecret(Forking):
    """Branches on the cohort like the walker beneath it; the secret is fixed, because the oracle ignores its value."""

    def __init__(self, walker: Entropy) -> None:
        self._walker = walker

    def word(self) -> int:
        raise AssertionError("a memoised client must draw nothing but its cohort and its secret")

    def words(self, count: int) -> list[int]:
        assert count == 4
        return [1, 2, 3, 4]

    def uniform_below(self, bound: int) -> int:
        return self._walker.uniform_below(bound)


@pytest.mark.parametrize("case", ["warner", "krr", "krappor", "oue", "hadamard", "subset", "orr closed"])
def test_memoised_answers_are_drawn_once_each(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real memoising client on ideal permanent words: a, b, a gives independent draws for a and b, and a again."""
    survey, (a, b, *_) = CASES[case]

    def three(entropy: Entropy) -> tuple[bytes, bytes, bytes]:
        monkeypatch.setattr(room, "DerivedEntropy", oracle_on(entropy))
        client = dn.Client(survey, entropy=KnownSecret(entropy))
        return client.report(a).pack(), client.report(b).pack(), client.report(a).pack()

    law: dict[tuple[bytes, bytes, bytes], Fraction] = {}
    for first, p in published(survey, a).items():
        for second, q in published(survey, b).items():
            cohort, other = dn.Report.unpack(survey, first).cohort, dn.Report.unpack(survey, second).cohort
            if cohort != other:
                continue
            if survey.encode(cohort, a) != survey.encode(cohort, b):
                law[first, second, first] = p * q * survey.cohorts
            elif first == second:
                law[first, second, first] = p
    assert walk(three).probabilities == law


@pytest.mark.parametrize("case", [case for case in CASES if case not in AGAIN])
def test_memoised_answers_repeat_their_bytes(case: str) -> None:
    survey, values = CASES[case]
    check_memoised(dn.Client, survey, values)


def test_fresh_noise_is_drawn_without_memory() -> None:
    survey, values = CASES["orr open"]
    client = dn.Client(survey, memoize=False)
    reports = {client.report(values[0]).pack() for _ in range(400)}
    # Four payloads, the rarest with probability above 1/6: the chance to miss one is below 4 * (5/6)**400 < 1e-30.
    assert len(reports) == 4
    assert {report[9] for report in reports} == {client.cohort}


@pytest.mark.parametrize("case", ["orr folded", "orappor folded, 2 hashes"])
def test_answers_that_fold_to_one_text_have_one_law(case: str) -> None:
    """Folding is a pure map before the encoding: what it joins, no report can tell apart."""
    survey, _ = CASES[case]
    for same in (FOLDING[:4], FOLDING[4:]):
        laws = [law_of(survey, value) for value in same]
        assert all(law == laws[0] for law in laws)


def test_in_an_exact_survey_they_have_laws_of_their_own() -> None:
    """The mutant: the same survey without the fold."""
    survey = dn.orr(epsilon=1, cells=16, cohorts=3, seed=SEED, text="exact")
    laws = [tuple(sorted(law_of(survey, value).probabilities.items())) for value in FOLDING]
    assert len(set(laws)) == len(FOLDING)

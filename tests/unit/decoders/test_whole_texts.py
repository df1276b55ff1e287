"""The test of texts that several levels see whole: how often it takes one for written that nobody wrote."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtri

import deniable as dn
from deniable.decoders.drawn import judged
from deniable.decoders.levels import level_tally
from deniable.decoders.whole_texts import _EARLY, _EARLY_ROUNDS, _LAST, LevelFit, Texts, WholeTexts

WROTE = {"lynx": 0.5, "elk": 0.3, "ox": 0.2}
CHANCE = 0.05


def passed() -> list[float]:
    """Of texts that nobody wrote, how many pass a test with `CHANCE`: of two letters, and of four."""
    survey = dn.discovery(epsilon=3, length=4, levels=[(2, 32), (4, 64)], seed=bytes(16))
    rng = np.random.default_rng(0)
    tally = dn.simulate(survey, list(WROTE.values()), 20_000, rng, symbols=list(WROTE))
    texts, letters = Texts(), "abcdefghijkmn"
    short = [f"{a}{b}".encode() + b"\xff" for a, b in product(letters, letters)]
    long = [b"%s%03d\xff" % (a.encode(), i) for a in letters for i in range(60)]
    size = len(short) + len(long)
    texts.share(np.zeros(size))
    texts.add(short, 0, np.zeros(len(short)))
    texts.add(long, 1, np.zeros(len(long)))
    levels = [LevelFit(level_tally(tally, number), []) for number in (0, 1)]
    found = WholeTexts(levels, [2, 4], texts)
    sums = found._sums(np.ones(size, bool), None)
    p_values, _, _ = found._tested(sums, np.ones(size, bool), CHANCE * size)
    return [float((p_values[texts.first == number] <= CHANCE).mean()) for number in (0, 1)]


def test_a_text_that_nobody_wrote_passes_as_rarely_as_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mutant: p-values of one side, halved as if they were of two.

    The table has three heavy texts in it, which hardly look normal; 169 short texts and 780 long ones.
    """
    for share, size in zip(passed(), (169, 780), strict=True):
        assert abs(share - CHANCE) < 3.5 * np.sqrt(CHANCE / size)

    def halved(*given: object) -> tuple[float, float]:
        log_p, needed = judged(*given)  # type: ignore[arg-type]
        return log_p - np.log(2), needed

    monkeypatch.setattr("deniable.decoders.whole_texts.judged", halved)
    assert passed()[1] > CHANCE + 3.5 * np.sqrt(CHANCE / 780)


def test_all_rounds_together_spend_the_allowed_error() -> None:
    assert _EARLY_ROUNDS * _EARLY + _LAST == 1


def test_what_a_search_could_have_seen_is_told_by_the_level_that_sees_least() -> None:
    """The smallest share that is declared: of texts that the last level alone sees whole, by the level of the test."""
    survey = dn.discovery(epsilon=4, length=4, levels=[(2, 64), (4, 64)], seed=bytes(16))
    rng = np.random.default_rng(0)
    tally = dn.simulate(survey, list(WROTE.values()), 50_000, rng, symbols=list(WROTE))
    found = {level: dn.discover(tally, alphabet="elknyox", level=level) for level in (0.95, 0.999999)}
    for level, one in found.items():
        tested = one.tested
        short, long = (tested.standard_errors[tested.first == number] for number in (0, 1))
        # Twice as many people speak for what both levels see.
        assert long[0] / short[0] == pytest.approx(np.sqrt(2), rel=0.1)
        assert one.smallest == pytest.approx(-ndtri((1 - level) / tested.size) * long[0])
    assert [one.symbols for one in found.values()] == [tuple(WROTE)] * 2
    assert found[0.95].declared.reports.tolist() == [tally.reports[64:].sum()] * 2 + [tally.n]
    assert found[0.95].smallest < found[0.999999].smallest
    one = found[0.95]
    half = np.diff(one.intervals(simultaneous=True)).ravel() / 2
    assert half == pytest.approx(-ndtri(0.025 / one.tested.size) * one.standard_errors, rel=0.1)  # for all tested ones
    # As if each had passed by a hair: what was selected may have been lucky, and its interval says so.
    barely = replace(one, declared=replace(one.declared, needed=one.declared.shares - 1e-6))
    assert (barely.intervals()[:, 0] < one.intervals()[:, 0] - one.standard_errors).all()


def test_texts_that_are_named_share_the_allowed_error_with_all_others() -> None:
    texts = Texts()
    texts.share(np.log([0.5, 0.5]))
    texts.add([b"elk\xff", b"ox\xff"], 0, np.log([0.5, 0.5]))
    texts.name({b"ox\xff": 0, b"lynx\xff": 1})
    assert texts.keys == [b"elk\xff", b"ox\xff", b"lynx\xff"]
    assert texts.first.tolist() == [0, 0, 1]
    assert texts.chances.sum() <= 1
    assert texts.chances[1] == texts.chances[2] == 2 * texts.chances[0]

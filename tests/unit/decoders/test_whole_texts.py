"""The test of texts that several levels see whole: how often it takes one for written that nobody wrote."""

from itertools import product

import numpy as np
import pytest

import deniable as dn
from deniable.decoders.drawn import judged
from deniable.decoders.levels import level_tally
from deniable.decoders.whole_texts import LevelFit, Texts, WholeTexts

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

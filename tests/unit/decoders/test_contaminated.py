"""The contaminated mixture: what it does by hand, and that it leaves honest tallies alone."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import decoder_of
from deniable.decoders.contaminated import lower_tallest
from tests.surveys import LARGE, named, symbols_of


@pytest.mark.parametrize("name", LARGE)
def test_honest_tallies_are_decoded_as_by_default(name: str) -> None:
    survey = LARGE[name]
    tally = dn.simulate(survey, dn.lab.zipf(40, 1), 20_000, np.random.default_rng(3), **named(survey, 40))
    given = symbols_of(survey, 40) if survey.symbols is None else None
    plain, found = (dn.decode(tally, candidates=given, decoder=d) for d in (None, dn.Contaminated()))
    assert np.array_equal(plain.probabilities, found.probabilities)
    assert np.array_equal(plain.raw, found.raw)
    assert np.array_equal(plain.intervals(), found.intervals())


def test_by_hand() -> None:
    """Counts without noise: fifty symbols, one answered, a tenth of the reports planted for another two."""
    survey = dn.krr(symbols=50, epsilon=2)
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    counts = np.full(50, 900_000 * miss)
    counts[0] = 900_000 * hit
    counts[1:3] += 50_000
    tally = dn.Tally(survey, [np.rint(counts).astype(int)])
    assert tally.n == pytest.approx(10**6, abs=50)
    default = dn.decode(tally)
    fall = 0.1 * miss / (hit - miss)  # of every symbol that was not planted
    assert default.raw[10] == pytest.approx(-fall, rel=1e-3)
    found = dn.decode(tally, decoder=dn.Contaminated())
    # Raised by the fall all but the first three are zero; what they then have too much is taken from the tallest.
    raised = np.array([0.9, 0.05 / (hit - miss), 0.05 / (hit - miss)])
    expected = lower_tallest(raised, float(raised.sum()) - 1)
    assert found.probabilities[:3] == pytest.approx(expected, abs=5e-3)
    assert found.probabilities[3:].sum() < 0.02
    # Which of the three was planted nothing tells: the honest one is lowered to the height of the others.
    assert found.probabilities[0] < default.probabilities[0]


def test_unlisted_answers_are_what_falls_below_zero() -> None:
    """Candidates of an open survey: planted reports of one leave less than nothing for what is not listed."""
    survey = dn.orr(epsilon=2, cells=8, cohorts=32, seed=bytes(16))
    names = [f"c{i}" for i in range(20)]
    honest = dn.simulate(survey, dn.lab.geometric(20, 4), 180_000, np.random.default_rng(1), symbols=names)
    counts = honest.counts.copy()
    cells = [survey.encoding.encode(c, survey.key("c15"))[0] for c in range(32)]
    counts[np.arange(32), cells] += 625
    tally = dn.Tally(survey, counts)
    default, found = (dn.decode(tally, candidates=names, decoder=d) for d in (None, dn.Contaminated()))
    assert default.unallocated is not None
    assert default.unallocated.raw < -0.1
    assert any(alarm.startswith("Shares are below zero") for alarm in default.diagnostics.alarms)
    assert found["c15"] < default["c15"]
    assert found.unallocated is not None
    assert found.unallocated.value == pytest.approx(0.0, abs=0.02)


def test_the_tallest_are_lowered() -> None:
    assert lower_tallest(np.array([0.7, 0.4, 0.1]), 0.5) == pytest.approx([0.3, 0.3, 0.1])
    assert lower_tallest(np.array([0.1, 0.7, 0.4]), 0.1) == pytest.approx([0.1, 0.6, 0.4])
    assert lower_tallest(np.array([0.2, 0.2]), 0.0) == pytest.approx([0.2, 0.2])
    assert lower_tallest(np.array([0.5, 0.1]), 0.8) == pytest.approx([-0.1, -0.1])


def test_it_has_a_name() -> None:
    assert decoder_of("contaminated") == dn.Contaminated()
    assert dn.Contaminated().learns(100)
    assert not dn.Contaminated().learns(2)

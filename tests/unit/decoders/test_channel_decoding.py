"""Channels of any shape behind the wire: simulated, counted and decoded through the rows of their law."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pytest

import deniable as dn
from deniable.audit import audit
from deniable.columns.stream import WordStream
from deniable.decoders.raw_reports import likelihood_of_reports
from deniable.matrices import ChannelDesign, design_of
from deniable.mechanisms import BitFlip, Channel
from deniable.simulation import cell_probabilities, simulate_counts
from deniable.survey import Alphabet, Direct, Survey
from deniable.theory.covariance import least_squares_moments
from tests.exact.scripted import ScriptedEntropy
from tests.toy.band import Band

Floats = npt.NDArray[np.float64]
P = np.array([0.4, 0.3, 0.15, 0.1, 0.05])


@dataclass(frozen=True, slots=True)
class Erasing(Channel):
    """Column 0 says nothing; the others are k-RR. The last two cells have the same row where `blurred`."""

    kind: ClassVar[str] = "erasing"
    cells: int
    epsilon: Fraction
    blurred: bool = False
    width: int = 64

    def row(self, cell: int) -> Sequence[int]:
        other = (1 << self.width) // (4 * self.cells)
        row = [(1 << self.width) // 4, *[other] * self.cells]
        row[1 + (min(cell, self.cells - 2) if self.blurred else cell)] += (1 << self.width) - sum(row)
        return row

    def thresholds(self) -> dict[str, int]:
        return {}

    def title(self, *, own_cells: bool) -> str:
        return "Erasing"


def survey_of(mechanism: Channel) -> Survey:
    return Survey(Alphabet.closed(mechanism.cells), Direct(mechanism.cells), mechanism)


SURVEYS = {"band": survey_of(Band(5, 2)), "erasing": survey_of(Erasing(5, Fraction(3)))}
each_survey = pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS.keys())


def single(survey: Survey) -> tuple[Floats, Floats]:
    """The raw estimate of each single report, and how likely that report is."""
    one = [dn.Tally(survey, row[None]) for row in np.eye(survey.columns, dtype=np.int64)]
    raws = np.stack([dn.decode(tally, decoder=dn.Inversion(), constraint=dn.Unconstrained()).raw for tally in one])
    return raws, cell_probabilities(survey, P)[0]


@each_survey
def test_columns_have_the_law_of_the_rows(survey: Survey) -> None:
    shares = np.array([Fraction(1, 2), Fraction(1, 4), Fraction(1, 8), Fraction(1, 8), Fraction(0)], object)
    (exact,) = cell_probabilities(survey, shares)
    for column in range(survey.columns):
        stated = sum(share * survey.mechanism.probability(column, (cell,)) for cell, share in enumerate(shares))
        assert exact[column] == stated
    assert sum(exact) == 1
    assert cell_probabilities(survey, shares.astype(float))[0] == pytest.approx(exact.astype(float), rel=1e-14)


@each_survey
def test_inversion_is_unbiased_with_the_covariance_that_theory_states(survey: Survey) -> None:
    """An estimate is a mean over reports, so its moments follow from those of single ones."""
    raws, chances = single(survey)
    assert chances @ raws == pytest.approx(P, abs=1e-12)
    centred = raws - P
    mean, covariance = least_squares_moments(survey, P, 1000)
    assert mean == pytest.approx(P, abs=1e-12)
    assert covariance == pytest.approx((centred.T * chances) @ centred / 1000, abs=1e-14)
    assert dn.theory.l2_risk(survey, P, 1000) == pytest.approx(float(np.trace(covariance)))


@each_survey
def test_error_bars_and_skewness_are_those_of_the_columns_that_were_seen(survey: Survey) -> None:
    raws, chances = single(survey)
    counts = np.rint(10**9 * chances).astype(np.int64)
    estimate = dn.decode(dn.Tally(survey, counts[None]))
    seen = counts / counts.sum()
    centred = raws - seen @ raws
    covariance = (centred.T * seen) @ centred / counts.sum()
    assert estimate.covariance == pytest.approx(covariance, rel=1e-6)
    assert estimate.standard_errors == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)
    assert estimate._limits.third == pytest.approx(seen @ centred**3 / counts.sum() ** 2, rel=1e-6)  # type: ignore[attr-defined]
    assert estimate.total([0, 1]).standard_error == pytest.approx(np.sqrt(covariance[:2, :2].sum()), rel=1e-6)


@each_survey
def test_likelihood_is_maximal_on_the_simplex(survey: Survey) -> None:
    """Karush, Kuhn and Tucker: no symbol's gradient exceeds n, and those of symbols that have a share are n."""
    counts = np.array([5, 900, 3, 4, 2, 1][: survey.columns])
    tally = dn.Tally(survey, counts[None])
    found = dn.decode(tally, decoder=dn.Likelihood()).probabilities
    design = design_of(survey)
    gradient = design.adjoint(counts / design.forward(found))
    assert gradient.max() <= tally.n * (1 + 1e-6)
    assert gradient[found > 1e-6] == pytest.approx(tally.n, rel=1e-6)


@each_survey
def test_simulated_and_privatised_counts_have_the_law(survey: Survey) -> None:
    rng, n = np.random.default_rng(3), 10**12
    (stated,) = cell_probabilities(survey, P)
    for tally in (dn.simulate(survey, P, n, rng), simulate_counts(survey, np.rint(n * P).astype(np.int64), rng)):
        assert (np.abs(tally.counts[0] / n - stated) < 6 * np.sqrt(stated / n)).all()
    # Everyone's answer is one symbol: its row alone.
    people = np.zeros(5, np.int64)
    people[2] = n
    row = np.array(survey.mechanism.weights((2,)), float) / survey.mechanism.span
    assert (np.abs(simulate_counts(survey, people, rng).counts[0] / n - row) < 6 * np.sqrt(row / n)).all()


@each_survey
def test_words_at_the_edges_of_columns_are_the_clients(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = survey.mechanism
    for cell in range(5):
        edges = np.cumsum(np.array(mechanism.weights((cell,)), object))[:-1].tolist()
        words = [0, 2**64 - 1, *(edge + d for edge in edges for d in (-1, 0, 1))]
        monkeypatch.setattr(WordStream, "words", lambda self, count, words=words: np.array(words, np.uint64))
        got = dn.privatize(survey, np.full(len(words), cell)).responses.tolist()
        assert got == [mechanism.randomize((cell,), ScriptedEntropy(64, [word])) for word in words]


def test_the_default_decoder_learns_from_the_other_symbols() -> None:
    survey, p, rng = survey_of(Band(40, 2)), dn.lab.zipf(40, 1), np.random.default_rng(5)
    tallies = [dn.simulate(survey, p, 100_000, rng) for _ in range(10)]
    losses = [
        np.mean([np.abs(estimate.probabilities - p).sum() for estimate in dn.decode_all(tallies, decoder=decoder)])
        for decoder in (None, dn.Inversion())
    ]
    assert losses[0] < losses[1]


def test_rows_that_are_alike_are_grouped() -> None:
    survey = survey_of(Erasing(5, Fraction(3), blurred=True))
    estimate = dn.decode(dn.simulate(survey, P, 10**6, np.random.default_rng(2)))
    assert [group.symbols for group in estimate.groups] == [(3, 4)]
    assert np.isinf(estimate.standard_errors).tolist() == [False, False, False, True, True]
    assert estimate.groups[0].probability == pytest.approx(0.15, abs=0.02)


def test_a_design_of_weights_belongs_to_one_mechanism() -> None:
    first, second = survey_of(Band(5, 2)), survey_of(Band(5, 3))
    assert isinstance(design_of(first), ChannelDesign)
    assert design_of(first) is design_of(survey_of(Band(5, 2)))
    counts = np.full((1, 5), 10)
    with pytest.raises(dn.TallyMismatch, match="with one encoding, and one mechanism if it is not hit or miss"):
        dn.decode_all([dn.Tally(first, counts), dn.Tally(second, counts)])


class UnevenBits(BitFlip):
    """Bits whose noise is taken to depend on their place."""

    two_valued: ClassVar[bool] = False


def test_bits_must_be_hit_or_miss() -> None:
    survey = Survey(Alphabet.closed(4), Direct(4), UnevenBits(4, 1))
    with pytest.raises(dn.DecodeError, match="a mechanism that is not hit or miss must name one column, got 'bit"):
        design_of(survey)


def test_single_reports_are_decoded_where_the_law_is_hit_or_miss() -> None:
    survey = SURVEYS["band"]
    with pytest.raises(
        dn.DecodeError, match="reports must be of a survey with one cell a symbol, got Band; decode their"
    ):
        likelihood_of_reports(dn.privatize(survey, np.arange(5)))


def test_an_exact_l1_risk_needs_binomial_counts() -> None:
    with pytest.raises(dn.DeniableError, match="exact must be False for Band, got True"):
        dn.theory.l1_risk(SURVEYS["band"], P, 100, exact=True)


def test_more_columns_than_cells_are_counted_and_audited() -> None:
    survey = SURVEYS["erasing"]
    assert (survey.columns, survey.cells) == (6, 5)
    table = dn.privatize(survey, np.arange(2000) % 5)
    packed = dn.Tally(survey)
    packed.accumulate(report.pack() for report in table)
    assert dn.count(survey, table) == dn.count(survey, table.to_arrow()) == packed
    assert "NOT BETWEEN 0 AND 5" in survey.sql()
    assert audit(survey, trials=8000).verdict == "PASSED"

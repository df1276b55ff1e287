"""Very many candidates: the rule, what is kept, and every odd list."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.special import ndtr

import deniable as dn
from deniable.cli import main
from deniable.decoders import ScreenedEstimate, decoding
from deniable.decoders.limits import SkewedLimits
from deniable.decoders.rows import EstimateRows
from deniable.decoders.selection import JudgedLimits, SelectedLimits, StackedLimits
from deniable.decoders.strategies import DECODERS

SEED = bytes(range(16))
SURVEY = dn.orr(epsilon=3, cells=32, cohorts=64, seed=SEED)
BLOOM = dn.orappor(epsilon=4, cells=64, cohorts=32, hashes=2, seed=SEED)
NAMES = [f"site {i}" for i in range(5000)]
SHARES = {"site 7": 0.5, "site 70": 0.25, "site 700": 0.1, "nowhere": 0.15}


def tally_of(survey: dn.Survey = SURVEY, n: int = 10**6, shares: dict[str, float] | None = None) -> dn.Tally:
    shares = SHARES if shares is None else shares
    return dn.simulate(survey, list(shares.values()), n, np.random.default_rng(1), symbols=list(shares))


def screened(tally: dn.Tally, candidates: Iterable[object] = NAMES, **options: object) -> ScreenedEstimate:
    found = dn.decode(tally, candidates=candidates, decoder=dn.Screening(), **options)  # type: ignore[call-overload]
    assert isinstance(found, ScreenedEstimate)
    return found


def kept_by(estimate: ScreenedEstimate) -> set[object]:
    return {estimate.symbols[i] for i in estimate.kept}


@pytest.mark.parametrize(
    ("cells", "cohorts", "count", "long"),
    [
        (32, 64, 4096, False),
        (32, 64, 4097, True),
        (32, 256, 7143, False),
        (32, 256, 7144, True),
        (64, 1024, 20_000, False),
        (64, 1024, 20_001, True),
    ],
)
def test_long_lists_are_screened(cells: int, cohorts: int, count: int, long: bool) -> None:
    survey = dn.orr(epsilon=3, cells=cells, cohorts=cohorts, seed=SEED)
    assert decoding._is_long(survey, count) == long
    assert not decoding._is_long(dn.orr(symbols=30_000, epsilon=3, cells=2, cohorts=4), 30_000)


def test_decode_screens_by_itself_and_a_named_decoder_does_not() -> None:
    tally = tally_of()
    estimate = dn.decode(tally, candidates=NAMES)
    assert isinstance(estimate, ScreenedEstimate)
    assert estimate.decoder == dn.Screening()
    assert not isinstance(dn.decode(tally, candidates=NAMES, decoder=dn.LeastSquares()), ScreenedEstimate)
    assert isinstance(dn.decode(tally, candidates=NAMES, constraint=dn.Normalized()), ScreenedEstimate)


@pytest.mark.parametrize("survey", [SURVEY, BLOOM], ids=str)
@pytest.mark.parametrize("complete", [False, True])
def test_what_is_there_is_kept_with_its_share(survey: dn.Survey, complete: bool) -> None:
    estimate = screened(tally_of(survey), complete=complete)
    assert kept_by(estimate) == {"site 7", "site 70", "site 700"}
    for name, share in list(SHARES.items())[:3]:
        place = NAMES.index(name)
        assert abs(estimate[name] - share) < 6 * estimate.standard_errors[place]
        assert abs(estimate.raw[place] - share) < 6 * estimate.standard_errors[place]
        assert estimate.significant()[place]
    outside = np.ones(len(NAMES), bool)
    outside[estimate.kept] = False
    assert (estimate.probabilities[outside] == 0).all()
    assert not estimate.significant()[outside].any()
    low, high = estimate.intervals().T
    assert (low[outside] == 0).all()
    assert (high[outside] > 0).all()
    assert high[outside].max() < 0.05
    rest = estimate.unallocated
    assert rest is not None
    assert abs(rest.raw - 0.15) < 6 * rest.standard_error
    assert estimate.probabilities.sum() + rest.value == pytest.approx(1)
    assert (estimate.rank, estimate.interval_kind) == (estimate.joint.rank, "conditional")
    assert estimate.condition >= 1
    assert "rank" in str(estimate.diagnostics)


def test_simultaneous_limits_are_wider_and_hold() -> None:
    estimate = screened(tally_of())
    truth = np.array([SHARES.get(name, 0.0) for name in NAMES])
    low, high = estimate.intervals(simultaneous=True).T
    assert ((low <= truth) & (truth <= high)).all()
    assert (high >= estimate.intervals()[:, 1] - 1e-12).all()
    with pytest.raises(dn.DecodeError, match="level must be between 0 and 1, got 2"):
        estimate.intervals(2)


@pytest.mark.slow
def test_candidates_hidden_by_heavier_ones_are_found() -> None:
    """Alone, 40 of 300 shares stand out of what the others add to each score; in a joint model most of them do."""
    survey = dn.orr(epsilon=4, cells=64, cohorts=128, seed=SEED)
    p = dn.lab.zipf(300, 1)
    tally = dn.simulate(survey, p, 10**9, np.random.default_rng(0), symbols=NAMES[:300])
    estimate = screened(tally)
    assert set(estimate.kept) <= set(range(300))
    assert len(estimate.kept) > 280
    alone = np.sqrt((p**2).sum() / 64 / 128)  # the error of a score, if nothing is in the model
    assert (p > 5 * alone).sum() < 45


@pytest.mark.parametrize(("repeat", "odd"), [("site 3", "site 3"), ("e\u0301", "\u00e9")])
def test_duplicates_are_refused(repeat: str, odd: str) -> None:
    with pytest.raises(dn.DecodeError, match="candidates must be distinct after NFC normalisation; remove the repeats"):
        screened(tally_of(), [*NAMES, repeat, odd])


def test_kinds_of_symbols_stay_apart() -> None:
    tally = tally_of(shares={"7": 1.0})
    estimate = screened(tally, [7, "7", b"7", *NAMES])
    assert kept_by(estimate) == {"7"}
    assert estimate.labels[:3] == ("7", '"7"', '{"bytes": "37"}')


def test_an_empty_list_is_refused() -> None:
    with pytest.raises(dn.DecodeError, match="candidates must hold at least one symbol, got none"):
        screened(tally_of(), [])


def test_what_the_kept_ones_leave_is_not_called_unlisted() -> None:
    """A candidate that is too light to be kept is on the list, and in what is left."""
    shares = {"site 7": 0.6, "nowhere": 0.1, **{f"site {i}": 0.3 / 900 for i in range(1000, 1900)}}
    estimate = screened(tally_of(shares=shares))
    assert kept_by(estimate) == {"site 7"}
    assert estimate.unallocated is not None
    low, high = estimate.unallocated.interval()
    assert low < 0.4 < high
    assert estimate.rest_name == EstimateRows(estimate).rest_name == "(all others)"
    assert repr(estimate).startswith("<Estimate of 5000 symbols from 1000000 reports, 1 of them kept: 'site 7' 0.")
    assert "; all others 0." in repr(estimate)
    assert "(all others)" in estimate._repr_html_()
    again = dn.difference(estimate, screened(tally_of()))
    assert again.rest_name == "(all others)"
    unscreened = dn.decode(tally_of(), candidates=NAMES[:50])
    assert unscreened.rest_name == dn.difference(unscreened, unscreened).rest_name == "(unlisted)"


@pytest.mark.parametrize(("name", "kept"), [("site 7", {"site 7"}), ("elsewhere", set())])
def test_one_candidate(name: str, kept: set[str]) -> None:
    estimate = screened(tally_of(), [name])
    assert kept_by(estimate) == kept
    assert estimate.intervals().shape == (1, 2)


@pytest.mark.parametrize("survey", [SURVEY, BLOOM, dn.orr(epsilon=2, cells=16, cohorts=8, seed=SEED)], ids=str)
def test_all_are_excluded_where_none_is_there(survey: dn.Survey) -> None:
    estimate = screened(tally_of(survey, shares={f"elsewhere {i}": 1 / 500 for i in range(500)}))
    assert len(estimate.kept) == 0
    assert (estimate.probabilities == 0).all()
    assert np.isfinite(estimate.standard_errors).all()
    assert estimate.unallocated is not None
    assert estimate.unallocated.value == pytest.approx(1)
    assert estimate.groups == ()
    assert (estimate.intervals()[:, 1] > 0).all()
    assert repr(estimate) == "<Estimate of 5000 symbols from 1000000 reports, 0 of them kept: all others 1.000>"
    assert estimate.to_arrow().num_rows == 5001


def test_a_generator_is_read_once() -> None:
    def names() -> Iterator[str]:
        yield from NAMES

    assert kept_by(screened(tally_of(), names())) == {"site 7", "site 70", "site 700"}


def test_hostile_candidates() -> None:
    odd = ["", "\0", "a\nb", "a" * 100_000, "\U0001f600", "\u202e", "'; --", *NAMES]
    assert kept_by(screened(tally_of(), odd)) == {"site 7", "site 70", "site 700"}
    with pytest.raises(dn.AlphabetError, match="lone surrogate"):
        screened(tally_of(), [*NAMES, "\ud800"])
    with pytest.raises(dn.AlphabetError, match="symbol must be text, an integer or bytes, got float"):
        screened(tally_of(), [*NAMES, 0.5])
    with pytest.raises(dn.DecodeError, match="candidates must be a collection of symbols, got one str"):
        screened(tally_of(), "abc")


def test_twins_are_kept_together_and_grouped() -> None:
    survey = dn.orr(epsilon=5, cells=8, cohorts=5, seed=SEED)
    cells: dict[object, list[str]] = {}
    for name in NAMES:
        cells.setdefault(tuple(survey.encode(c, name) for c in range(5)), []).append(name)
    twins = next(names for names in cells.values() if len(names) == 2)
    estimate = screened(tally_of(survey, shares={twins[0]: 1.0}))
    assert kept_by(estimate) == set(twins)
    place = NAMES.index(twins[0])
    assert np.isinf(estimate.standard_errors[place])
    assert np.isinf(estimate.intervals()[place]).all()
    (group,) = estimate.groups
    assert set(group.symbols) == set(twins)
    assert abs(group.probability - 1) < 6 * group.standard_error


def test_cohorts_without_reports_do_not_count() -> None:
    tally = tally_of()
    counts, reports = tally.counts.copy(), tally.reports.copy()
    counts[:20], reports[:20] = 0, 0
    estimate = screened(dn.Tally(SURVEY, counts, reports))
    assert kept_by(estimate) == {"site 7", "site 70", "site 700"}
    assert abs(estimate["site 7"] - 0.5) < 6 * estimate.standard_errors[7]


def test_closed_alphabets_are_not_screened() -> None:
    tally = dn.Tally(dn.krr(symbols=2, epsilon=1), [[3, 4]])
    sentence = "Screening must have an open alphabet, got a closed one; leave the decoder to decode"
    with pytest.raises(dn.DecodeError, match=sentence):
        dn.decode(tally, decoder=dn.Screening())
    with pytest.raises(dn.DecodeError, match="level must be between 0 and 1, got 1"):
        dn.Screening(1)


def test_a_decoder_that_needs_all_cells_at_once_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "_MOST_CELLS", 100_000)
    monkeypatch.setattr(decoding, "_SCREENED_FROM", 4999)
    with pytest.raises(
        dn.DecodeError,
        match="candidates must have at most 100000 cells over all cohorts for LeastSquares, got 320000; name no "
        "decoder: long lists are screened",
    ):
        dn.decode(tally_of(), candidates=NAMES, decoder=dn.LeastSquares())


def test_totals_and_covariances_are_those_of_the_joint_problem() -> None:
    estimate = screened(tally_of())
    total = estimate.total(["site 7", "site 70"])
    assert abs(total.raw - 0.75) < 6 * total.standard_error
    with pytest.raises(dn.DecodeError, match="symbols must be candidates that were kept, got 1 that were excluded"):
        estimate.total(["site 7", "site 8"])
    with pytest.raises(dn.DecodeError, match="symbols must be a collection of symbols, got one str"):
        estimate.total("site 7")
    with pytest.raises(dn.DecodeError, match="symbol must be one of the 5000 that were decoded"):
        estimate.total(["elsewhere"])
    assert estimate.joint is not None
    model = len(estimate.joint.symbols)
    assert estimate.joint.covariance.shape == (model, model)
    with pytest.raises(
        dn.DecodeError,
        match=r"covariance must be that of the \d+ candidates in the joint problem, not of all 5000; use "
        r"estimate.joint.covariance",
    ):
        estimate.covariance  # noqa: B018


def test_a_difference_of_two_days() -> None:
    monday = screened(tally_of())
    friday = screened(tally_of(shares={"site 7": 0.3, "site 70": 0.25, "site 9": 0.2, "nowhere": 0.25}))
    changed = dn.difference(friday, monday).changed()
    assert {NAMES[i] for i in np.flatnonzero(changed)} == {"site 7", "site 9", "site 700"}


def test_rows_have_what_the_estimate_has() -> None:
    estimate = screened(tally_of())
    rows = EstimateRows(estimate, top=4).to_json()
    assert rows["intervals"] == "conditional"
    assert [row["symbol"] for row in rows["estimates"]][:3] == ["site 7", "site 70", "site 700"]
    assert rows["estimates"][3]["probability"] == 0
    assert rows["estimates"][3]["raw_high"] > 0


def test_progress_is_told_until_all_are_done() -> None:
    told: list[tuple[int, int]] = []
    dn.decode(tally_of(), candidates=NAMES, progress=lambda done, total: told.append((done, total)))
    assert told[0][1] == told[-1][0] == told[-1][1] == len(NAMES)


def test_the_command_line_screens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tally_of().save(tmp_path / "day.tally")
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    paths = [str(tmp_path / "day.tally"), "--candidates-file", str(tmp_path / "names.txt")]
    assert main(["decode", *paths]) == 0
    shown = capsys.readouterr().out
    assert "decoded by Screening, Projected" in shown
    assert "Of 5,000 candidates 3 were kept; the others are zero, with what they could still have." in shown
    assert "(all others) is all that the kept ones do not explain: answers that are not on the list, and" in shown
    assert "(unlisted)" not in shown
    assert "name more of them" not in shown
    assert "Intervals are conditional, given that a symbol was kept or not: close to 95 %." in shown
    assert main(["decode", *paths, "--json", "--top", "2"]) == 0
    assert json.loads(capsys.readouterr().out)["decoder"] == "Screening"
    assert main(["decode", *paths, "--decoder", "screening", "--csv"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 5002
    assert DECODERS["screening"] == dn.Screening()


Floats = npt.NDArray[np.float64]


def _normal(x: Floats, mean: float) -> Floats:
    return np.asarray(np.exp(-0.5 * (x - mean) ** 2) / np.sqrt(2 * np.pi))


@pytest.mark.parametrize("mean", [0.0, 3.0, 5.0, 5.4, 6.0, 8.0, 20.0])
def test_kept_intervals_cover_given_that_they_were_kept(mean: float) -> None:
    """By quadrature over the estimates that are kept: at least the level; plain ones fall far short."""
    reach = 5.0
    x = np.linspace(reach, max(reach, mean) + 9, 20_001)
    weight = _normal(x, mean)
    one, none = np.ones(len(x)), np.zeros(len(x))
    plain = SkewedLimits(x, one, none, none)
    low, high = SelectedLimits(JudgedLimits(plain, ndtr(-x), reach * one)).between(0.1).T
    covered = float(weight[(low <= mean) & (mean <= high)].sum() / weight.sum())
    assert covered > 0.9 - 2e-3
    naive = plain.between(0.1).T
    without = float(weight[(naive[0] <= mean) & (mean <= naive[1])].sum() / weight.sum())
    assert without < 0.8 or mean >= reach


@pytest.mark.parametrize("mean", [0.0, 2.0, 4.0, 5.0, 6.0])
def test_upper_limits_cover_given_exclusion(mean: float) -> None:
    reach = 5.0
    x = np.linspace(mean - 9, reach, 20_001)
    weight = _normal(x, mean)
    nobody, kept = np.zeros(0, np.intp), np.zeros(0, bool)
    none = np.zeros(0)
    empty = SkewedLimits(none, none, none, none)
    stacked = StackedLimits(empty, kept, nobody, x, np.ones(len(x)), reach, 0.05)
    covered = float(weight[mean <= stacked.between(0.1)[:, 1]].sum() / weight.sum())
    assert covered > 0.95 - 2e-3
    plain = StackedLimits(empty, kept, nobody, x, np.ones(len(x)))
    without = float(weight[mean <= plain.between(0.1)[:, 1]].sum() / weight.sum())
    assert without < 0.92 or mean < reach
    assert not stacked.exact
    assert (stacked.above_zero() == 1).all()

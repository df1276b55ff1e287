"""Forms over time and side by side: each question as it is alone, questions of pairs by their sums, and sentences."""

from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.decoders import FormDifference
from deniable.errors import DeniableError
from deniable.survey import Form
from deniable.tally import FormTally
from deniable.theory import sum_variance
from deniable.tracking import TrackedForm
from deniable.tracking.observed import tails

FORM = dn.form(a=dn.warner(epsilon=1), b=dn.krr(4, epsilon=1), c=dn.krr(3, epsilon=1), epsilon=6, relate=[("a", "b")])
FLAT = {("a", "b"): np.full((2, 4), 0.125), "c": [0.5, 0.3, 0.2]}
MOVED = {("a", "b"): [[0.05, 0.1, 0.1, 0.1], [0.25, 0.1, 0.1, 0.2]], "c": [0.5, 0.3, 0.2]}
TEXT = dn.orr(epsilon=1, cells=4, cohorts=4, seed=bytes(16))
OPEN = dn.form(a=dn.warner(epsilon=1), city=TEXT, epsilon=4, skip=["city"])
RNG = np.random.default_rng(7)


def days(form: Form, shares: list[Any], n: int = 200_000) -> list[FormTally]:
    return [dn.simulate(form, p, n=n, rng=RNG) for p in shares]


TALLIES = days(FORM, [FLAT] * 6 + [MOVED] * 6)


def test_a_question_alone_is_tracked_as_its_survey() -> None:
    tracked = dn.track(TALLIES)
    assert isinstance(tracked, TrackedForm)
    assert list(tracked) == ["a", "b", "c"]
    alone = dn.track([tally["c"] for tally in TALLIES])
    assert (tracked["c"].series.values == alone.series.values).all()
    assert (tracked["c"][3].raw == alone[3].raw).all()
    both = dn.track([tally["a"] for tally in TALLIES])
    assert (tracked.joint("b", "a")[3].raw == both[3].raw).all()


def test_questions_of_a_pair_are_sums_and_their_bars_are_those_of_sums() -> None:
    tracked = dn.track(dict(zip([f"2026-11-{day:02}" for day in range(1, 13)], TALLIES, strict=True)))
    estimate = dn.decode(TALLIES[0])
    for name in ("a", "b"):
        series = tracked[name].series
        assert np.allclose(series.values[:, 0], estimate[name].raw)
        assert np.allclose(np.sqrt(series.variances[:, 0]), estimate[name].standard_errors, rtol=0.03)
        cells = {"a": 4, "b": 2}[name]  # pairs of each answer
        shares, sizes = series.values.mean(axis=1), tracked[name].sizes
        wanted, single = (tails([TALLIES[0].parts[0].survey], shares, sizes, count) for count in (cells, 1))
        assert tracked[name].tails.skewness == pytest.approx(wanted.skewness, rel=0.1, abs=0.01)
        assert tracked[name].tails.excess == pytest.approx(wanted.excess, rel=0.1)
        assert not np.allclose(wanted.skewness, single.skewness, atol=0.1)
        assert tracked[name].doubt == tracked.joint("a", "b").doubt
    assert tracked["a"].symbols == ("no", "yes")
    assert tracked["a"][-1]["yes"] == pytest.approx(0.65, abs=0.02)
    assert ("a", "yes", "2026-11-07") in {(name, change.symbol, change.window) for name, change in tracked.changes()}
    assert not [name for name, _ in tracked.changes() if name == "c"]


@pytest.mark.parametrize("cells", [1, 2, 5, 7])
@pytest.mark.parametrize("mechanism", [dn.krr(8, epsilon=2).mechanism, dn.subset(8, epsilon=1, size=3).mechanism])
def test_the_variance_of_a_sum_is_that_of_its_estimates(mechanism: Any, cells: int) -> None:
    """Against all responses one by one: of a person whose cell is among those of the sum, and of one whose is not."""
    allowed = [r for r in range(mechanism.outputs) if mechanism.allows(r)]
    hits = np.array([sum(c < cells for c in mechanism.columns_hit(r)) for r in allowed], float)
    values = (hits - cells * float(mechanism.miss)) / float(mechanism.hit - mechanism.miss)

    def law(cell: int) -> Any:
        size, own = mechanism.hits, float(mechanism.hit)
        inside = np.array([cell in mechanism.columns_hit(r) for r in allowed])
        from math import comb

        return np.where(inside, own / comb(7, size - 1), (1 - own) / comb(7, size))

    for share in (0.0, 0.3, 1.0):
        chances = share * law(0) + (1 - share) * law(7)
        assert chances.sum() == pytest.approx(1)
        mean = float(chances @ values)
        assert mean == pytest.approx(share)
        wanted = float(chances @ (values - mean) ** 2)
        assert sum_variance(mechanism, np.array([share]), cells)[0] == pytest.approx(wanted)


def test_windows_of_the_same_devices_have_wider_averages() -> None:
    again = dn.form(
        a=dn.warner(epsilon=1), b=dn.krr(4, epsilon=1), epsilon=3, relate=[("a", "b")], participation="window"
    )
    shares = {("a", "b"): np.full((2, 4), 0.125)}
    once = dn.form(a=dn.warner(epsilon=1), b=dn.krr(4, epsilon=1), epsilon=3, relate=[("a", "b")])
    wide, narrow = (dn.track(days(form, [shares] * 8, 20_000))["a"] for form in (again, once))
    assert wide.is_shared
    assert not narrow.is_shared
    assert (wide.average().standard_errors > 2 * narrow.average().standard_errors).all()


def test_parts_that_nobody_drew_in_a_window_are_a_missing_window() -> None:
    form = dn.form(a=dn.warner(epsilon=1), c=dn.krr(3, epsilon=1), epsilon=4, spend="sample")
    tallies = days(form, [{"a": [0.6, 0.4], "c": [0.5, 0.3, 0.2]}] * 4, 20_000)
    one = dn.Client(form)
    tallies[2] = FormTally(form)
    tallies[2].accumulate(one.report({one.questions[0]: {"a": "yes", "c": 1}[one.questions[0]]}))  # type: ignore[attr-defined]
    other = "c" if one.questions[0] == "a" else "a"  # type: ignore[attr-defined]
    assert dn.track(tallies)[other].sizes.tolist()[2] == 0


def test_open_questions_have_candidates_by_name() -> None:
    shares, listed = {"a": [0.5, 0.5], "city": [0.6, 0.3, 0.1]}, {"city": ["Oslo", "Bergen", "no answer"]}
    tallies = [dn.simulate(OPEN, shares, n=20_000, rng=RNG, symbols=listed) for _ in range(3)]
    tracked = dn.track(tallies, candidates={"city": ["Oslo", "Bergen"]})
    assert tracked["city"].symbols == ("oslo", "bergen", "no answer")
    for given, sentence in (
        (None, "candidates must be given for 'city': the answers to look for"),
        (
            ["Oslo"],
            "candidates of a form must be given by the names of its questions, got list; write "
            "candidates={'city': [...]}",
        ),
    ):
        with pytest.raises(dn.DecodeError) as caught:
            dn.track(tallies, candidates=given)  # type: ignore[arg-type]
        assert str(caught.value) == sentence


OTHER = dn.form(a=dn.warner(epsilon=1), c=dn.krr(3, epsilon=1), epsilon=4)
SENTENCES: dict[str, tuple[Any, str]] = {
    "another form": (
        lambda: dn.track([*TALLIES[:2], *days(OTHER, [{"a": [0.5, 0.5], "c": [0.5, 0.3, 0.2]}], 100)]),
        "tallies must be of forms with the same questions, related alike, got others among them; track the questions "
        "that all have: dn.track([tally['smokes'] for tally in tallies])",
    ),
    "a survey among them": (
        lambda: dn.track([TALLIES[0], TALLIES[0]["c"]]),  # type: ignore[list-item]
        "tallies must be tallies, one a window, got Tally",
    ),
    "nothing": (
        lambda: dn.track([FormTally(FORM), FormTally(FORM)]),
        "tallies must hold an answer to every question, got none to 'a, b'",
    ),
    "not related": (
        lambda: dn.track(TALLIES).joint("a", "c"),
        "questions must be related in the form to be tracked together, got a and c",
    ),
    "another estimate": (
        lambda: dn.difference(
            dn.decode(TALLIES[0]), dn.decode(days(OTHER, [{"a": [0.5, 0.5], "c": [0.5, 0.3, 0.2]}], 100)[0])
        ),
        "second must be of a form with the questions of the first, related alike, got another; compare those that "
        "both have: dn.difference(first['smokes'], second['smokes'])",
    ),
    "an estimate of a survey": (
        lambda: dn.difference(dn.decode(TALLIES[0]), dn.decode(TALLIES[0]["c"])),
        "first must be an estimate, got FormEstimate; decode the tally",
    ),
    "no such question": (
        lambda: dn.difference(dn.decode(TALLIES[0]), dn.decode(TALLIES[1]))["age"],
        "question must be one of this form's, a, b, c, got 'age'",
    ),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_what_cannot_be_compared_is_refused_in_a_sentence(name: str) -> None:
    make, sentence = SENTENCES[name]
    with pytest.raises(DeniableError) as caught:
        make()
    assert str(caught.value) == sentence


def test_differences_are_those_of_the_questions_and_of_sums() -> None:
    first, second = dn.decode(TALLIES[-1]), dn.decode(TALLIES[0])
    change = dn.difference(first, second)
    assert isinstance(change, FormDifference)
    assert np.allclose(change["c"].raw, dn.difference(first["c"], second["c"]).raw)
    assert np.allclose(change["a"].raw, first["a"].raw - second["a"].raw)
    assert change.joint("a", "b").raw.shape == (8,)
    low, high = change["a"].intervals().T
    assert (low < change["a"].raw).all()
    assert (change["a"].raw < high).all()
    assert np.allclose(high - low, 2 * 1.96 * change["a"].standard_errors, rtol=0.02)
    marks = change.changed()
    assert marks["a"].all()
    assert not marks["c"].any()
    assert change.to_arrow().num_rows == 9
    assert change.chart().to_dict()["vconcat"]
    assert "changed" in change._repr_html_()


def test_a_tracked_form_shows_itself() -> None:
    tracked = dn.track(TALLIES)
    assert tracked.to_arrow().num_rows == 12 * 9
    assert tracked.chart().to_dict()["vconcat"]
    assert "the last of 12 windows" in tracked._repr_html_()

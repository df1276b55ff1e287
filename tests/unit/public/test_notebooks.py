"""How values look: in a shell, in a notebook, as pandas has them, and as plain Python does."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import deniable as dn
from deniable.decoders.shown import largest
from deniable.survey import Picture

SURVEY = dn.krr(symbols=["no", "yes", "<script>alert(1)</script>"], epsilon=2, name="Do <b>you</b>?")
TALLY = dn.Tally(SURVEY, [[700, 200, 100]])
OPEN = dn.orr(epsilon=4, cells=16, cohorts=16, seed=bytes(16))
FREE = dn.decode(
    dn.simulate(OPEN, [0.6, 0.4], n=100_000, rng=np.random.default_rng(0), symbols=["a", "b"]), candidates=["a", "c"]
)
FORM = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(["a <b>", "c"], epsilon=1), epsilon=8, name="<i>You</i>")
_RNG = np.random.default_rng(1)
FORMS = [dn.simulate(FORM, {"smokes": [1 - p, p], "likes": [0.5, 0.5]}, n=10_000, rng=_RNG) for p in (0.3, 0.3, 0.4)]
VALUES: list[Any] = [
    SURVEY,
    dn.warner(epsilon=2, epsilon_report=1),
    dn.krr(symbols=100, epsilon=1),
    dn.sensitive(["a", "b", "c"], sensitive=["b"], epsilon=1),
    dn.sensitive(["a", "b <b>", "c"], sensitive=["b <b>"], epsilon=1).privacy(),
    dn.krr(symbols=100, epsilon=1).privacy(),
    OPEN,
    TALLY,
    dn.Tally(OPEN),
    dn.privatize(SURVEY, ["no"] * 7),
    dn.privatize(dn.oue(symbols=64, epsilon=1), [5]),
    dn.decode(TALLY),
    FREE,
    dn.plan(n=10_000, symbols=["no", "yes"], epsilon=1),
    dn.difference(dn.decode(TALLY), dn.decode(dn.Tally(SURVEY, [[600, 300, 100]]))),
    dn.track([TALLY] * 4),
    dn.plan(effect=0.1, share=0.2, power=0.8, epsilon=1),
    dn.crosstab({"<i>women</i>": TALLY, "men": dn.Tally(SURVEY, [[600, 300, 100]])}),
    dn.difference(dn.decode(FORMS[2]), dn.decode(FORMS[0])),
    dn.track(FORMS),
]


class Reader(HTMLParser):
    """All elements, which must be closed in order, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text = ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"style"}, "nothing that loads or runs"

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "\n"


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_notebook_shows_a_table_of_text(value: Any) -> None:
    shown = Reader(value._repr_html_())
    assert shown.tags <= {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td"}
    assert "table" in shown.tags


def test_whatever_a_symbol_or_a_question_holds_is_text() -> None:
    for value in (SURVEY, TALLY, dn.privatize(SURVEY, ["no"]), dn.decode(TALLY)):
        assert "<b>you" not in value._repr_html_()
        assert "Do <b>you</b>?" in Reader(value._repr_html_()).text
    assert "<script>alert(1)</script>" in Reader(dn.decode(TALLY)._repr_html_()).text


def test_tracked_shares_are_those_of_the_last_window_with_their_change() -> None:
    after = dn.Tally(SURVEY, [[400, 500, 100]])
    tracked = dn.track([TALLY] * 5 + [after] * 5)
    text = Reader(tracked._repr_html_()).text
    share, change = tracked[-1]["yes"], tracked.difference(-1, 0).values[1]
    assert "Window 9, the last of 10: 10,000 reports in all" in text
    assert f"{100 * share:.2f} %" in text
    assert f"{100 * change:+.2f} points" in text
    assert "since 0" in text


@pytest.mark.parametrize("value", [v for v in VALUES if not isinstance(v, dn.ReportTable)], ids=repr)
def test_everything_that_a_notebook_shows_has_a_chart(value: Any) -> None:
    drawn = value.chart()
    assert type(value).plot is type(value).chart
    shown = drawn._repr_svg_() if isinstance(drawn, Picture) else drawn._repr_mimebundle_()["image/svg+xml"]
    ElementTree.fromstring(shown)
    assert "http" not in shown.replace("http://www.w3.org/", "")
    assert "<script" not in shown


def test_the_heat_map_of_a_survey_has_the_epsilon_of_every_pair() -> None:
    matrix = dn.channel([[0.5, 0.3, 0.2], [0.25, 0.35, 0.4], [0.3, 0.3, 0.4]], epsilon=1).privacy()
    drawn = matrix.chart()
    tiles = [
        (float(d), float(e)) for d, e in re.findall(r'fill-opacity="([\d.]+)"[^>]*><title>([\d.]+)</title>', drawn)
    ]
    flat = [e for row in matrix.epsilons for e in row]
    assert [e for _, e in tiles] == [round(e, 2) for e in flat]
    assert [d for d, _ in tiles] == [round(e / max(flat), 3) for e in flat], "as dark as it is large"
    hidden = dn.sensitive(60, sensitive=range(10), epsilon=1).privacy().chart()
    assert hidden.count("<rect") == 1 + 48 * 48, "the paper, and a square a pair of the answers that fit"
    assert hidden.count('fill="#D55E00"') == 38 * 47, "each harmless answer against all others"
    assert "12 more answers." in hidden


def test_the_picture_of_a_survey_has_the_weights_of_its_channel(tmp_path: Path) -> None:
    picture = dn.krr(symbols=["often <b>", "once", "never\n"], epsilon=1).chart()
    assert re.findall(r">([\d.]+) %<", picture) == ["57.6", "21.2", "21.2"]
    assert picture.count("#D55E00") == 1, "the true one"
    assert "at most 2.8 times likelier" in picture
    assert "often &lt;b&gt;" in picture
    assert "never\\n" in picture
    assert repr(picture).startswith("<Picture: SVG of ")
    picture.save(tmp_path / "dice.svg")
    assert (tmp_path / "dice.svg").read_text() == picture
    many = OPEN.chart(top=3)
    assert many.count("cell ") == 3
    assert "13 more not shown" in many
    assert "at most 22,027 times" in dn.krr(symbols=2, epsilon=10).chart(), "e^10 is 22026.47"


def test_the_chart_of_a_tally_has_its_counts() -> None:
    drawn = (TALLY.chart(), dn.Tally(OPEN, np.eye(16, dtype=int)).chart(top=4))
    bars, field = (chart.to_dict() for chart in drawn)
    counts = [[row["count"] for row in next(iter(spec["datasets"].values()))] for spec in (bars, field)]
    assert counts[0] == [700, 200, 100]
    assert sum(counts[1]) == 4
    assert field["title"]["subtitle"] == ["16 randomised reports, not decoded; 240 counters not shown"]


def test_an_estimate_is_drawn_with_bars_and_what_is_not_listed() -> None:
    html = FREE._repr_html_()
    assert html.count("background:") == 3
    assert "width:100.0px" in html
    assert "(unlisted)" in html
    many = dn.decode(dn.Tally(dn.krr(symbols=30, epsilon=3), [[100] * 30]))
    assert "10 smaller shares are not shown." in many._repr_html_()


def test_an_estimate_is_a_mapping_in_all_but_name() -> None:
    estimate = dn.decode(TALLY)
    assert len(estimate) == 3
    assert dict(estimate) == {symbol: estimate[symbol] for symbol in SURVEY.symbols or ()}
    assert all(type(share) is float for _, share in estimate)
    assert "no" in estimate
    assert "maybe" not in estimate
    assert 1.5 not in estimate
    with pytest.raises(KeyError) as caught:
        estimate["maybe"]
    assert str(caught.value) == "symbol must be one of the 3 that were decoded"
    assert isinstance(caught.value, dn.UnknownSymbol)
    assert isinstance(caught.value, dn.DecodeError)


def test_a_plan_of_two_stages_names_both_epsilons() -> None:
    plan = dn.plan(n=10_000, symbols=["no", "yes"], epsilon=2, epsilon_report=1)
    assert Reader(plan._repr_html_()).text.startswith("Epsilon 2 and 1 a report, 10,000 people")


def test_a_mass_names_the_estimate_that_its_error_belongs_to() -> None:
    estimate = dn.decode(dn.Tally(dn.krr(symbols=3, epsilon=1), [[900, 60, 40]]))
    total = estimate.total([1, 2])
    assert total.raw < 0 <= total.value
    assert repr(total) == f"<Mass {total.value:.3f} (unbiased {total.raw:.3f} ± {total.standard_error:.3f})>"
    plain = dn.decode(dn.Tally(dn.krr(symbols=3, epsilon=1), [[400, 300, 300]]), constraint=dn.Unconstrained())
    assert repr(plain.total([0])) == f"<Mass {plain[0]:.3f} ± {plain.total([0]).standard_error:.3f}>"


def test_pandas_has_the_same_columns() -> None:
    estimate = dn.decode(TALLY)
    for value in (estimate, dn.difference(estimate, estimate), dn.privatize(SURVEY, ["no", "yes"])):
        frame = value.to_pandas()
        assert frame.columns.tolist() == value.to_arrow().column_names
        assert len(frame) == value.to_arrow().num_rows
    counts = dn.Tally(OPEN, np.eye(16, dtype=int)).to_pandas()
    assert counts.columns.tolist() == ["cohort", "cell", "count"]
    assert counts.loc[counts["count"] > 0, "cell"].tolist() == list(range(16))
    plan = dn.plan(n=10_000, symbols=4, epsilon=1)
    frame = plan.to_pandas()
    assert frame["mechanism"].tolist() == [plan.mechanism, *(one.mechanism for one in plan.alternatives)]
    assert frame["needs"][0] == plan.bound


def test_without_pandas_a_sentence_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(dn.DataError) as caught:
        TALLY.to_pandas()
    assert str(caught.value) == "pandas must be installed for to_pandas(), got none; run pip install pandas"


def test_a_share_is_shown_with_an_interval_that_is_its_own() -> None:
    """Error bars belong to the unbiased estimate: a share that was shrunk out of them says so, and no ± is printed."""
    plain = repr(dn.decode(TALLY))
    assert "±" not in plain
    assert "shrunk" not in plain
    # One symbol far above the others, and many that are nothing but noise: the decoder pulls these to their mean.
    survey, rng = dn.krr(symbols=40, epsilon=1), np.random.default_rng(1)
    shrunk = False
    for _ in range(5):
        estimate = dn.decode(dn.simulate(survey, np.full(40, 1 / 40), n=2000, rng=rng))
        for i, words in largest(estimate, 40):
            low, high = np.clip(estimate.intervals(0.95)[i], 0, 1)
            outside = not low - 5e-4 <= estimate.probabilities[i] <= high + 5e-4
            assert ("shrunk; unbiased" in words) is bool(outside)
            assert words.endswith(f"{low:.3f} to {high:.3f}")
            shrunk |= bool(outside)
    assert shrunk, "the case that this is about"

"""Charts: what is in them, every format, and names that would break a page or a bar."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.charts import (
    chart_format,
    counts_chart,
    curves_chart,
    difference_chart,
    estimate_chart,
    save_chart,
    templates,
    trend_chart,
)
from deniable.errors import DeniableError

NAMES = ["no", "maybe", "yes"]
SHARES = [0.6, 0.3, 0.1]
INTERVALS = [[0.5, 0.7], [0.2, 0.4], [-0.05, 0.2]]


def rows(chart: Any) -> list[dict[str, Any]]:
    spec = chart.to_dict()
    found: list[dict[str, Any]] = spec["datasets"][spec["data"]["name"]]
    return found


def test_bars_keep_the_order_given_and_intervals_are_cut_at_the_ends() -> None:
    found = rows(estimate_chart(NAMES, SHARES, INTERVALS))
    assert [row["name"] for row in found] == NAMES
    assert [row["estimate"] for row in found] == SHARES
    assert (found[2]["low"], found[2]["high"]) == (0.0, 0.2)


def test_every_chart_for_people_cuts_intervals_at_the_ends() -> None:
    """The interval is that of a share: whatever the unbiased estimate says, no share is below 0 or above 100 %."""
    found = rows(estimate_chart(["a", "b"], [-0.02, 1.04], [[-0.05, 0.01], [0.9, 1.3]]))
    assert [(row["low"], row["high"]) for row in found] == [(0.0, 0.01), (0.9, 1.0)]
    assert [row["estimate"] for row in found] == [-0.02, 1.04], "the bars are what was found"
    change = difference_chart(["a"], [0.1], [[-1.3, 1.2]]).to_dict()
    (shown,) = [data for data in change["datasets"].values() if "name" in data[0]]
    assert (shown[0]["low"], shown[0]["high"]) == (-1.0, 1.0)
    day = {"window": "2026-11-15", "name": "a", "estimate": 0.5, "changed": False}
    found = rows(trend_chart([day | {"low": -0.2, "high": 1.1}, day | {"low": None, "high": None}]))
    assert [(row["low"], row["high"]) for row in found] == [(0.0, 1.0), (None, None)]
    tally = dn.Tally(dn.krr(symbols=["no", "yes"], epsilon="0.5"), [[6, 0]])
    assert dn.decode(tally).intervals().max() > 1
    plotted = rows(dn.decode(tally).plot())
    assert all(0 <= row["low"] <= row["high"] <= 1 for row in plotted)


def test_the_value_stands_at_the_end_of_each_bar(tmp_path: Path) -> None:
    chart = estimate_chart(NAMES, SHARES, [*INTERVALS[:2], [-math.inf, math.inf]], truth=SHARES)
    assert [row["value"] for row in rows(chart)] == ["60.0 %", "30.0 %", None], "none where nothing is determined"
    save_chart(chart, tmp_path / "chart.svg")
    drawn = (tmp_path / "chart.svg").read_text()
    assert drawn.count(">60.0 %</text>") == drawn.count(">30.0 %</text>") == 1
    assert ">10.0 %</text>" not in drawn


@pytest.mark.parametrize("suffix", ["svg", "html"])
def test_a_heading_says_what_was_asked_and_where_the_numbers_come_from(tmp_path: Path, suffix: str) -> None:
    asked = "Have you ever, on a working day in the last twelve months, lied to get a day off?"
    chart = estimate_chart(NAMES, SHARES, INTERVALS, title=asked, subtitle="1,000 randomised reports, epsilon 2.00")
    title = chart.to_dict()["title"]
    assert " ".join(title["text"]) == asked
    assert max(map(len, title["text"])) <= 60
    save_chart(chart, tmp_path / f"chart.{suffix}")
    text = (tmp_path / f"chart.{suffix}").read_text()
    assert "1,000 randomised reports, epsilon 2.00" in text
    assert (f"<title>{asked}</title>" in text) == (suffix == "html")
    assert estimate_chart(NAMES, SHARES, INTERVALS, title=asked).to_dict()["title"] == {"text": title["text"]}
    assert "title" not in estimate_chart(NAMES, SHARES, INTERVALS).to_dict()


@pytest.mark.parametrize("truth", [None, [0.5, 0.3, 0.2]])
def test_the_legend_names_what_is_drawn(truth: list[float] | None) -> None:
    spec = estimate_chart(NAMES, SHARES, INTERVALS, level=0.9, truth=truth).to_dict()
    domain = spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert domain == ["estimate", "90 % interval"] + ([] if truth is None else ["truth"])


def test_axes_have_titles_and_percent_signs() -> None:
    x = estimate_chart(NAMES, SHARES, INTERVALS).to_dict()["layer"][0]["encoding"]["x"]
    assert x["title"] == "share of respondents, estimated from randomised reports"
    assert x["axis"]["format"] == "%"


def test_infinite_intervals_are_not_determined_and_nan_ones_are_left_out() -> None:
    found = rows(estimate_chart(["a", "b"], [0.5, 0.5], [[-math.inf, math.inf], [math.nan, math.nan]]))
    assert [(row["low"], row["unknown"]) for row in found] == [(None, True), (None, False)]


def test_names_are_made_printable_and_distinct() -> None:
    found = rows(estimate_chart(["1", "1", "", "tab\t", "日本 🦊"], [0.2] * 5, [[0, 1]] * 5))
    assert [row["name"] for row in found] == ["1", "1 (2)", '""', "tab\\t", "日本 🦊"]


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b", "c", "d"]])
def test_lengths_must_agree(names: list[str]) -> None:
    with pytest.raises(
        dn.DeniableError, match="a chart must have one name, probability and interval for each of its bars, got"
    ):
        estimate_chart(names, SHARES if names else [], INTERVALS if names else [])


@pytest.mark.parametrize(
    ("suffix", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("json", b"{"), ("html", b"<!DOCTYPE html>")]
)
def test_every_format_is_written(tmp_path: Path, suffix: str, start: bytes) -> None:
    path = tmp_path / f"chart.{suffix}"
    save_chart(estimate_chart(NAMES, SHARES, INTERVALS, truth=SHARES, title="A title"), path)
    assert path.read_bytes().startswith(start)
    if suffix in ("svg", "json"):
        assert "A title" in path.read_text()
    if suffix == "json":
        assert json.loads(path.read_text())["title"] == "A title"


def test_the_page_needs_no_network_and_symbols_cannot_break_out_of_it(tmp_path: Path) -> None:
    path = tmp_path / "chart.html"
    save_chart(estimate_chart(["</script><script>alert(1)</script>"], [1.0], [[0.9, 1.0]], title="<b>&"), path)
    page = path.read_text()
    assert page.count("</script>") == page.count("<script") == 2
    assert not re.search(r"""(src|href)=["']?http""", page)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    scripts = dict(part.split(" ", 1) for part in policy[1].split("; "))["script-src"]
    assert re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}=' 'sha256-[A-Za-z0-9+/]{43}='", scripts), "these two, and no eval"
    assert policy[1].startswith("default-src 'none'")
    assert "<title>&lt;b&gt;&amp;</title>" in page


@pytest.mark.parametrize(
    ("path", "got"), [("chart.docx", "'.docx'"), ("chart", "none"), ("svg", "none"), ("out.d/chart", "none")]
)
def test_an_unknown_format_is_refused(path: str, got: str) -> None:
    sentence = f"a chart must end in .svg, .png, .html or .json, got {got}; name the file for its format"
    with pytest.raises(dn.DeniableError, match=f"^{re.escape(sentence)}$"):
        chart_format(path)


def test_an_estimate_plots_itself() -> None:
    survey = dn.krr(symbols=["a", "b", 3], epsilon=1)
    found = rows(dn.decode(dn.Tally(survey, [[100, 300, 200]])).plot(level=0.9, top=2))
    assert [row["name"] for row in found] == ['"b"', "3"]  # a mixed alphabet shows which is text


def test_a_notebook_needs_no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate = dn.decode(dn.Tally(dn.krr(symbols=NAMES, epsilon=1), [[500, 300, 100]]))
    for chart in (estimate.plot(), estimate.plot().properties(width=300), dn.difference(estimate, estimate).plot()):
        bundle: Any = chart._repr_mimebundle_()
        kind, picture, words = bundle
        assert re.fullmatch(r"application/vnd\.vegalite\.v\d\+json", kind)
        assert (picture, words) == ("image/svg+xml", "text/plain")
        assert bundle[picture].startswith("<svg")
        assert "maybe" in bundle[picture]
        assert bundle[kind] == chart.to_dict()
    import altair as alt

    with alt.renderers.enable("json"):
        assert "application/json" in str(estimate.plot()._repr_mimebundle_()), "a renderer of one's own is kept"


@pytest.mark.parametrize("size", [1, 2, 40])
def test_any_number_of_bars_renders(tmp_path: Path, size: int) -> None:
    names = [f"a rather long name of symbol number {i}, which will be cut" for i in range(size)]
    save_chart(estimate_chart(names, [1 / size] * size, [[0.0, 2 / size]] * size), tmp_path / "chart.svg")
    drawn = (tmp_path / "chart.svg").read_text()
    assert drawn.count('aria-roledescription="bar"') == size


def test_dots_stand_for_the_unbiased_estimates() -> None:
    tally = dn.Tally(dn.krr(symbols=NAMES, epsilon=1), [[500, 300, 100]])
    estimate = dn.decode(tally)
    spec = estimate.plot(raw=True).to_dict()
    assert spec["layer"][0]["encoding"]["color"]["scale"]["domain"][-1] == "unbiased"
    assert sorted(row["raw"] for row in rows(estimate.plot(raw=True))) == sorted(estimate.raw.tolist())
    assert [row["raw"] for row in rows(estimate.plot())] == [None] * 3


def test_a_difference_is_drawn_with_what_is_beyond_doubt() -> None:
    survey = dn.krr(symbols=NAMES, epsilon=2)
    first, second = (dn.decode(dn.Tally(survey, [counts])) for counts in ([5000, 3000, 1000], [3000, 5000, 1000]))
    spec = dn.difference(first, second).plot().to_dict()
    (shown,) = [data for data in spec["datasets"].values() if "name" in data[0]]
    assert {row["name"]: row["clear"] for row in shown} == {"no": True, "maybe": True, "yes": False}
    assert spec["layer"][2]["encoding"]["x"]["title"] == "change of the share in points, with 95 % intervals"


def test_changes_that_are_not_determined_say_so(tmp_path: Path) -> None:
    infinite = [-math.inf, math.inf]
    chart = difference_chart(
        ["a", "b", "c"], [0.1, 0.2, 0.3], [[0.05, 0.15], infinite, [0.2, 0.4]], changed=[True, True, False]
    )
    (shown,) = [data for data in chart.to_dict()["datasets"].values() if "name" in data[0]]
    assert [(row["low"], row["clear"]) for row in shown] == [(0.05, True), (None, False), (0.2, False)]
    save_chart(chart, tmp_path / "chart.svg")
    drawn = (tmp_path / "chart.svg").read_text()
    assert drawn.count("not determined") == 1
    assert drawn.count('aria-roledescription="point"') == 2


def test_charts_refuse_what_they_cannot_draw() -> None:
    with pytest.raises(
        DeniableError,
        match=re.escape(
            "a chart of differences must have one name, change and interval for each of its bars, got 1, 0 and 0"
        ),
    ):
        difference_chart(["a"], [], [])
    day = {"window": "2026-11-15", "estimate": 0.5, "low": 0.4, "high": 0.6, "changed": False}
    with pytest.raises(DeniableError, match=re.escape("a chart over time must have 1 to 6 names, got 7; choose some")):
        trend_chart([day | {"name": name} for name in "abcdefg"])
    for names, counts, got in ((["a"], [[1, 2]], "1 cells in each cohort, got 1 rows of [2]"), ([], [], "0 cells")):
        with pytest.raises(
            DeniableError, match=re.escape(f"a chart of counts must have a count for each of its {got}")
        ):
            counts_chart(names, counts)
    with pytest.raises(DeniableError, match=r"a chart of curves must have lines named .*, got 1 row$"):
        curves_chart([{"mechanism": "magic", "epsilon": 1.0, "error": 0.0}])


@pytest.mark.parametrize("name", ["estimate", "raw", "difference", "trend", "plan", "curves"])
def test_a_template_with_data_is_the_chart(name: str) -> None:
    made = templates()
    day = {"window": "2026-11-15", "name": "a", "estimate": 0.5, "low": 0.4, "high": 0.6, "changed": False}
    text = json.dumps(made[name])
    assert "data-" not in text.replace(json.dumps(made[name]["datasets"]), "") or name == "difference"
    data = {"rows": [day], "more": [], "last": []}
    spec = made[name] | {"datasets": made[name]["datasets"] | data}
    import vl_convert

    assert vl_convert.vegalite_to_vega(spec)["marks"], "Vega-Lite compiles it"
    used = set(re.findall(r"#[0-9A-Fa-f]{6}", text))
    assert used <= set(made["dark"]), "every colour has a dark one"

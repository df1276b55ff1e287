"""`deniable decode` and `deniable simulate`: tables, JSON, CSV, charts, and what they refuse."""

import csv
import io
import json
import math
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from deniable.cli.text import columns_of
from deniable.decoders.shown import largest
from tests.unit.cli.test_cli import refused


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    closed = dn.krr(symbols=["chrome", "日本語ブラウザ", "🦊"], epsilon=2, name="browser")
    closed.save("closed.json")
    for i, counts in enumerate(([500, 300, 200], [50, 30, 20])):
        dn.Tally(closed, [counts]).save(f"day{i}.tally")
    hashed = dn.orr(epsilon=3, cells=8, cohorts=16, seed=bytes(16), name="homepage")
    hashed.save("open.json")
    tally = dn.simulate(hashed, [0.6, 0.3, 0.1], n=100_000, rng=np.random.default_rng(1), symbols=["a", "b", "c"])
    tally.save("open.tally")


def table_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_tallies_are_merged_and_the_table_lines_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "day0.tally", "day1.tally"]) == 0
    lines = table_of(capsys)
    assert lines[1] == "1,100 reports, decoded by EmpiricalBayes, Projected"
    rows = lines[3 : lines.index("", 3)]
    assert rows[0].split() == ["symbol", "estimate", "s.", "e.", "95", "%", "interval"]
    assert [row.split()[0] for row in rows[1:]] == ["chrome", "日本語ブラウザ", "🦊"]
    assert len({columns_of(row.rpartition("%")[0]) for row in rows[1:]}) == 1


def test_json_is_the_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "day0.tally", "--json", "--level", "0.9", "--simultaneous", "--constraint", "none"]) == 0
    result = json.loads(capsys.readouterr().out)
    expected = dn.decode(dn.Tally.load("day0.tally"), constraint=dn.Unconstrained())
    assert result["n"] == 1000
    assert (result["decoder"], result["constraint"]) == ("Inversion", "Unconstrained")
    assert [line["symbol"] for line in result["estimates"]] == ["chrome", "日本語ブラウザ", "🦊"]
    assert [line["raw"] for line in result["estimates"]] == expected.raw.tolist()
    bounds = [[line["raw_low"], line["raw_high"]] for line in result["estimates"]]
    assert bounds == expected.intervals(0.9, simultaneous=True).tolist()


def test_intervals_are_cut_for_people_and_raw_in_files(capsys: pytest.CaptureFixture[str]) -> None:
    survey = dn.krr(["no", "yes"], epsilon="0.5", name="Did you?")
    dn.Tally(survey, [[9, 1]]).save("few.tally")
    estimate = dn.decode(dn.Tally.load("few.tally"))
    assert estimate.intervals().min() < 0
    assert estimate.intervals().max() > 1
    assert main(["decode", "few.tally", "--chart", "few.json"]) == 0
    shown = [line for line in table_of(capsys) if line.startswith(("no ", "yes "))]
    assert all(" to 100.00 %" in line or "0.00 to " in line for line in shown)
    assert "-" not in "".join(line.split("to")[0].split("%")[-1] for line in shown)
    (rows,) = json.loads(Path("few.json").read_text())["datasets"].values()
    assert all(0 <= row["low"] <= row["high"] <= 1 for row in rows)
    assert main(["decode", "few.tally", "--csv"]) == 0
    told = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    raw = [[float(row["raw_low"]), float(row["raw_high"])] for row in told]
    assert raw == estimate.intervals().tolist(), "no first, which is the larger"
    assert "low" not in told[0]


def test_a_csv_file_says_what_it_is_about(capsys: pytest.CaptureFixture[str]) -> None:
    """In columns: the first line is the header, for spreadsheets and for pandas."""
    import pandas as pd

    assert main(["decode", "day0.tally", "--csv", "--level", "0.9"]) == 0
    table = pd.read_csv(io.StringIO(capsys.readouterr().out))
    survey = dn.Survey.load("closed.json")
    assert table["question"].tolist() == ["browser"] * 3
    assert table["n"].tolist() == [1000] * 3
    assert table["epsilon"].tolist() == [survey.epsilon_spent] * 3
    assert table["level"].tolist() == [0.9] * 3
    assert main(["decode", "day0.tally", "--minus", "day1.tally", "--csv"]) == 0
    change = pd.read_csv(io.StringIO(capsys.readouterr().out))
    assert change[["question", "n_before", "n_after"]].iloc[0].tolist() == ["browser", 100, 1000]


def test_no_cell_of_csv_is_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    symbols = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'tis", "plain", "a=b", -5]
    survey = dn.krr(symbols=symbols, epsilon=3, name="=HYPERLINK(0)")
    dn.Tally(survey, [list(range(100, 0, -10))]).save("formulas.tally")
    assert main(["decode", "formulas.tally", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out, newline="")))
    assert [row["symbol"] for row in rows] == [f"'{one}" for one in symbols[:7]] + ["plain", "a=b", "-5"]
    assert {row["question"] for row in rows} == {"'=HYPERLINK(0)"}
    for row in rows:
        for name in ("probability", "raw", "raw_low", "level", "n"):
            float(row[name])  # numbers stay numbers, negative ones, too
        assert row["listed"] == "True"
    # An apostrophe at the beginning was always put there: without it every text is what it was.
    back = [row["symbol"].removeprefix("'") for row in rows]
    assert back == [str(one) for one in symbols]


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_control_characters_reach_neither_the_terminal_nor_a_chart(
    capsys: pytest.CaptureFixture[str], suffix: str
) -> None:
    """In the name of an older survey, and in answers: drawing its chart ended the process, the notice printed them."""
    plain = dn.krr(symbols=["bell\x07", "red\x1b[31m"], epsilon=2)
    survey = dn.Survey(plain.alphabet, plain.encoding, plain.mechanism, "Ring\x07 \x1b[31m\x00?")
    dn.Tally(survey, [[100, 50]]).save("control.tally")
    survey.save("control.json")
    chart = ["--chart", f"control.{suffix}"]
    for command in (
        ["decode", "control.tally", *chart],
        ["decode", "control.tally", "--minus", "control.tally", *chart, "--force"],
        ["survey", "notice", "control.json"],
        ["survey", "show", "control.json"],
    ):
        assert main(command) == 0
        told = capsys.readouterr()
        assert [c for c in told.out + told.err if not c.isprintable() and c != "\n"] == []
    assert main(["survey", "notice", "control.json"]) == 0
    assert "Ring\\x07 \\x1b[31m\\x00?" in " ".join(capsys.readouterr().out.split())


def test_csv_is_the_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "day0.tally", "--csv", "--decoder", "likelihood", "--top", "2"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["symbol"] for row in rows] == ["chrome", "日本語ブラウザ"]
    expected = dn.decode(dn.Tally.load("day0.tally"), decoder=dn.Likelihood())
    assert float(rows[0]["probability"]) == expected.probabilities[0]


def test_candidates_come_from_an_option_a_file_or_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("c.txt").write_text("a\nb\nc\n")
    monkeypatch.setattr("sys.stdin", io.StringIO("a\nb\nc\n"))
    found = []
    for option in (["--candidates", "a, b,c"], ["--candidates-file", "c.txt"], ["--candidates-file", "-"]):
        assert main(["decode", "open.tally", *option, "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1] == found[2]
    assert abs(found[0]["estimates"][0]["probability"] - 0.6) < 0.05
    assert main(["decode", "open.tally", "--candidates", "3", "--json"]) == 0
    assert sorted(e["symbol"] for e in json.loads(capsys.readouterr().out)["estimates"]) == [0, 1, 2]


def test_candidates_that_cannot_be_told_apart_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    survey = dn.orr(epsilon=3, cells=2, cohorts=1, seed=bytes(16))
    dn.Tally(survey, [[700, 300]]).save("twins.tally")
    assert main(["decode", "twins.tally", "--candidates", "a,b,c", "--chart", "twins.json"]) == 0
    out = capsys.readouterr().out
    groups = dn.decode(dn.Tally.load("twins.tally"), candidates=["a", "b", "c"]).groups
    assert out.count("not determined") >= len(groups[0].symbols)
    assert f"No report can tell these {len(groups[0].symbols)} apart: {', '.join(map(str, groups[0].symbols))}" in out
    assert main(["decode", "twins.tally", "--candidates", "a,b,c", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["groups"][0]["symbols"] == list(groups[0].symbols)
    assert None in [line["standard_error"] for line in result["estimates"]]


def test_missing_candidates_are_noticed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "open.tally", "--candidates", "b,c"]) == 0
    assert "These candidates do not account for all reports" in capsys.readouterr().out
    assert main(["decode", "open.tally", "--candidates", "a,b,c"]) == 0
    assert "do not account" not in capsys.readouterr().out


def test_the_rest_has_a_row_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "open.tally", "--candidates", "b,c"]) == 0
    out = capsys.readouterr().out
    row = next(line for line in out.splitlines() if line.startswith("(unlisted)"))
    assert abs(float(row.split()[1]) - 60) < 15
    estimate = dn.decode(dn.Tally.load("open.tally"), candidates=["b", "c"])
    assert estimate.unallocated is not None
    assert main(["decode", "open.tally", "--candidates", "b,c", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    low, high = estimate.unallocated.interval(0.95)
    assert result["unallocated"] == {
        "probability": estimate.unallocated.value,
        "raw": estimate.unallocated.raw,
        "standard_error": estimate.unallocated.standard_error,
        "raw_low": low,
        "raw_high": high,
    }
    assert main(["decode", "open.tally", "--candidates", "b,c", "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["symbol"] for row in rows] == ["b", "c", "(unlisted)"]
    assert float(rows[-1]["raw"]) == estimate.unallocated.raw
    assert [row["significant"] for row in rows][-1] == ""
    assert main(["decode", "open.tally", "--candidates", "b,c", "--chart", "c.json"]) == 0
    assert "(unlisted)" in Path("c.json").read_text()
    capsys.readouterr()
    assert main(["decode", "open.tally", "--candidates", "b,c", "--complete", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unallocated"] is None


def test_marks_kinds_and_diagnostics_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "day0.tally"]) == 0
    lines = table_of(capsys)
    assert "* significantly above zero (family-wise, 95 %): all marks together are right with 95 %." in lines
    assert "Intervals are exact: at least 95 %." in lines
    planted = "10 of 1,000 reports could be planted to raise one symbol by up to 1.18 points; no check would notice."
    assert lines[-1] == planted
    assert "  *  " in lines[4]
    assert main(["decode", "open.tally", "--candidates", "a,b,c", "--level", "0.9"]) == 0
    out = capsys.readouterr().out
    assert "Intervals are approximate: close to 90 %." in out
    assert "The reports fit: chi-square " in out
    assert main(["decode", "open.tally", "--candidates", "b,c"]) == 0
    assert "The reports do not fit these candidates (chi-square " in capsys.readouterr().out
    assert main(["decode", "open.tally", "--candidates", "a,b,c", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    estimate = dn.decode(dn.Tally.load("open.tally"), candidates=["a", "b", "c"])
    found = estimate.diagnostics
    assert found.fit is not None
    assert result["intervals"] == "approximate"
    assert [line["significant"] for line in result["estimates"]] == estimate.significant().tolist()
    assert result["diagnostics"]["fit"]["p_value"] == found.fit.p_value
    assert result["diagnostics"]["influence"] == found.influence
    assert (result["diagnostics"]["rank"], result["diagnostics"]["alarms"]) == (4, [])


def test_two_tallies_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    closed = dn.Survey.load("closed.json")
    dn.Tally(closed, [[300, 500, 200]]).save("later.tally")
    assert main(["decode", "later.tally", "--minus", "day0.tally"]) == 0
    lines = table_of(capsys)
    assert lines[1] == "from 1,000 to 1,000 reports"
    assert lines[3].split() == ["symbol", "before", "after", "change", "s.", "e.", "95", "%", "interval"]
    assert [line.split()[0] for line in lines[4:7]] == ["chrome", "日本語ブラウザ", "🦊"]
    assert "-29.39 %" in lines[4]
    assert lines[4].endswith("*")
    assert not lines[6].endswith("*")
    assert "* changed significantly (family-wise, 95 %): all marks together are right with 95 %." in lines
    assert lines[-1] == "This holds for two groups of people, or for reports drawn afresh; memoised ones vary less."
    assert main(["decode", "later.tally", "--minus", "day0.tally", "day1.tally", "--json", "--simultaneous"]) == 0
    result = json.loads(capsys.readouterr().out)
    merged = dn.Tally.load("day0.tally")
    merged += dn.Tally.load("day1.tally")
    change = dn.difference(dn.decode(dn.Tally.load("later.tally")), dn.decode(merged))
    assert result["before"]["n"] == 1100
    by_name = {line["symbol"]: line for line in result["changes"]}
    for i, symbol in enumerate(change.symbols):
        line = by_name[symbol]
        assert [line["raw_low"], line["raw_high"]] == change.intervals(0.95, simultaneous=True)[i].tolist()
        assert (line["raw"], line["changed"]) == (change.raw[i], change.changed()[i])
    assert result["unallocated"] is None
    assert main(["decode", "later.tally", "--minus", "day0.tally", "--top", "1"]) == 0
    assert "... and 2 more; --top 0 shows all" in table_of(capsys)


def test_two_tallies_of_an_open_survey_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    survey = dn.Survey.load("open.json")
    later = dn.simulate(survey, [0.2, 0.2, 0.6], 50_000, np.random.default_rng(3), symbols=["a", "b", "c"])
    later.save("later.tally")
    argv = ["decode", "later.tally", "--minus", "open.tally", "--candidates", "b,c"]
    assert main(argv) == 0
    assert any(line.startswith("(unlisted)") for line in table_of(capsys))
    assert main([*argv, "--csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["symbol"] for row in rows] == ["c", "b", "(unlisted)"]
    assert float(rows[-1]["raw"]) < 0
    assert main([*argv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["unallocated"]["raw"] == float(rows[-1]["raw"])
    twins = dn.orr(epsilon=3, cells=2, cohorts=1, seed=bytes(16))
    for name, counts in (("x", [700, 300]), ("y", [600, 400])):
        dn.Tally(twins, [counts]).save(f"{name}.tally")
    assert main(["decode", "x.tally", "--minus", "y.tally", "--candidates", "a,b,c"]) == 0
    assert "not determined" in capsys.readouterr().out


def test_too_few_cohorts_are_named_and_nothing_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    survey = dn.orr(epsilon=5, cells=30, cohorts=1, seed=bytes(16))
    dn.simulate(survey, [0.6, 0.4], 10**6, np.random.default_rng(1), symbols=["a", "x"]).save("few.tally")
    argv = ["decode", "few.tally", "--candidates", "a,b,c,d", "--simultaneous"]
    assert main(argv) == 0
    out = capsys.readouterr().out
    assert "Too few cohorts to tell candidates from what is not listed" in out
    assert main([*argv, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert not any(row["significant"] for row in result["estimates"])
    assert [row["raw_low"] for row in result["estimates"] if row["symbol"] == "a"] == [0.0]
    assert result["diagnostics"]["alarms"][-1].startswith("Too few cohorts")
    assert main([*argv, "--complete", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["estimates"][0]["significant"]


def test_only_the_largest_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "day0.tally", "--top", "1"]) == 0
    assert "... and 2 more; --top 0 shows all" in table_of(capsys)


def test_a_chart_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "day0.tally", "--chart", "chart.svg"]) == 0
    assert table_of(capsys)[-1] == "wrote chart.svg"
    drawn = Path("chart.svg").read_text()
    assert ">browser<" in drawn
    assert "1,000 randomised reports, epsilon 2.00" in drawn, "a picture that is passed on says what it is of"


def test_a_chart_of_a_difference_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    dn.Tally(dn.Survey.load("closed.json"), [[300, 500, 200]]).save("later.tally")
    assert main(["decode", "later.tally", "--minus", "day0.tally", "--chart", "change.json"]) == 0
    assert table_of(capsys)[-1] == "wrote change.json"
    spec = json.loads(Path("change.json").read_text())
    assert spec["title"]["text"] == ["browser: what changed"]
    assert spec["title"]["subtitle"] == ["from 1,000 to 1,000 randomised reports, epsilon 2.00"]
    (rows,) = [data for data in spec["datasets"].values() if "name" in data[0]]
    change = dn.difference(dn.decode(dn.Tally.load("later.tally")), dn.decode(dn.Tally.load("day0.tally")))
    marks = dict(zip(change.symbols, change.changed(), strict=True))
    assert {row["name"]: row["clear"] for row in rows} == marks, "what the table marks with a star"
    assert len(set(marks.values())) == 2
    argv = ["decode", "open.tally", "--minus", "open.tally", "--candidates", "b,c", "--json", "--chart", "rose.json"]
    assert main(argv) == 0
    told = json.loads(capsys.readouterr().out)
    rows = next(data for data in json.loads(Path("rose.json").read_text())["datasets"].values() if "name" in data[0])
    assert [row["name"] for row in rows] == ["b", "c", "(unlisted)"]
    assert rows[-1]["low"] == told["unallocated"]["raw_low"]
    assert main(["decode", "later.tally", "--minus", "day0.tally", "--chart", "change.svg"]) == 0
    assert "changed significantly (family-wise, 95 %)" in Path("change.svg").read_text()


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ("none.tally", "none.tally cannot be read: no such file or directory"),
        (".", ". cannot be read: is a directory"),
        ("closed.json", "closed.json: tally must start with 'deniable-tally/1', got"),
        ("cut.tally", "cut.tally: tally must match its checksum; the file was truncated or altered"),
        ("empty.tally", "empty.tally: tally must start with 'deniable-tally/1', got b''; this is not a tally file"),
        ("nobody.tally", "tally must hold at least one report, got none"),
        ("day0.tally open.tally", "open.tally: tally is for survey"),
        ("open.tally", "candidates must be given for an open alphabet: the symbols to look for"),
        ("open.tally --candidates a,b,a", "candidates must be distinct after NFC normalisation; remove the repeats"),
        ("open.tally --candidates a,b --decoder inversion", "Inversion must have a cell for every symbol, got O-RR"),
        ("day0.tally --candidates a,b", "candidates must not be given for a closed alphabet"),
        (
            "day0.tally --decoder x",
            "--decoder must be one of empirical-bayes, empirical-bayes-ordered, "
            "inversion, least-squares, weighted-least-squares, likelihood, screening, contaminated, got 'x'",
        ),
        ("day0.tally --level 95", "--level must be between 0 and 1, for instance 0.95, got '95'"),
        ("day0.tally --level x", "--level must be between 0 and 1, for instance 0.95, got 'x'"),
        ("day0.tally --top -1", "--top must be a whole number, got '-1'"),
        ("day0.tally --chart x.svg --chart none/x.svg", "none/x.svg cannot be written: no such file or directory"),
        ("day0.tally --minus day1.tally --chart none/x.svg", "none/x.svg cannot be written: no such file or directory"),
        ("day0.tally --minus none.tally", "none.tally cannot be read: no such file or directory"),
        ("day0.tally --csv --json", "argument --json: not allowed with argument --csv"),
    ],
)
def test_decode_refuses_with_a_sentence(capsys: pytest.CaptureFixture[str], argv: str, sentence: str) -> None:
    whole = Path("day0.tally").read_bytes()
    Path("cut.tally").write_bytes(whole[:-1])
    Path("empty.tally").write_bytes(b"")
    dn.Tally(dn.warner(epsilon=1)).save("nobody.tally")
    assert refused(capsys, "decode", *argv.split()).startswith(sentence)


def test_simulation_agrees_with_theory(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "closed.json", "--n", "1e4", "--shape", "zipf", "--json", "--seed", "7"]) == 0
    result = json.loads(capsys.readouterr().out)
    plain, expected = result["losses"][0], result["expected_without_constraint"]
    assert [line["estimate"] for line in result["losses"]] == ["none", "normalized", "projected"]
    assert (result["n"], result["repeats"], result["population"]) == (10_000, 100, "zipf 1")
    for loss in ("l1", "squared_l2"):
        assert abs(plain[loss] - expected[loss]) < 6 * plain[f"{loss}_standard_error"]


@pytest.mark.parametrize("population", ["geometric", "zipf", "binomial", "uniform", "dirichlet"])
def test_every_population_gives_a_table(capsys: pytest.CaptureFixture[str], population: str) -> None:
    options = ["--symbols", "20", "--shape", population, "--n", "1000", "--repeats", "3"]
    assert main(["simulate", "open.json", *options]) == 0
    lines = table_of(capsys)
    assert lines[1].startswith(f"population {population}")
    assert [line.split("  ")[0] for line in lines[4:8]] == ["no constraint", "", "normalized", "projected"]


def test_likelihood_can_be_simulated_and_a_seed_repeats_it(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for seed in ("1", "1", "2"):
        options = ["--decoder", "likelihood", "--repeats", "2", "--n", "500", "--seed", seed, "--json"]
        assert main(["simulate", "closed.json", *options]) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1]
    assert found[0]["losses"] != found[2]["losses"]
    assert [line["estimate"] for line in found[0]["losses"]] == ["likelihood"]


def test_the_spread_of_simulated_surveys_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["simulate", "closed.json", "--n", "2000", "--repeats", "400", "--chart", "spread.json"]
    assert main(argv) == 0
    assert table_of(capsys)[-1] == "wrote spread.json"
    spec = json.loads(Path("spread.json").read_text())
    rows = spec["datasets"][spec["data"]["name"]]
    assert spec["title"] == "400 simulated surveys of 2,000 people"
    assert "95 % of the surveys" in json.dumps(spec["layer"])
    survey = dn.Survey.load("closed.json")
    p = dn.lab.geometric(3, mean=3 / 5)
    assert [row["truth"] for row in rows] == p.tolist()
    # k-RR's own standard error, by hand: 3.92 of them hold 95 of 100; a quantile of 400 is known to a tenth of that.
    hit, miss = float(survey.mechanism.hit), float(survey.mechanism.miss)
    for row, share in zip(rows, p, strict=True):
        sent = miss + (hit - miss) * share
        error = math.sqrt(sent * (1 - sent) / 2000) / (hit - miss)
        assert row["high"] - row["low"] == pytest.approx(3.92 * error, rel=0.35)
        assert row["estimate"] == pytest.approx(share, abs=6 * error / math.sqrt(400))


def test_a_number_after_the_shape_means_what_it_means_in_a_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "closed.json", "--n", "100", "--repeats", "2", "--shape", "zipf:2.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["population"] == "zipf 2.5"


def test_one_simulated_tally_can_be_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "closed.json", "--n", "1_000_000", "-o", "new.tally"]) == 0
    assert capsys.readouterr().out.startswith("wrote new.tally: <Tally of survey")
    assert dn.Tally.load("new.tally").n == 1_000_000


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        ("none.json", "none.json cannot be read: no such file or directory"),
        ("open.json", "--symbols must be given for an open survey: what the population is over, or a count"),
        (
            "open.json --symbols a,a",
            "--symbols must be distinct as the survey reads them, and at least one; remove",
        ),
        (
            "open.json --symbols a,A",
            "--symbols must be distinct as the survey reads them, and at least one; remove",
        ),
        ("closed.json --symbols 3", "--symbols must not be given for a closed survey; the population is over its"),
        (
            "closed.json --shape normal",
            "--shape must be one of geometric, zipf, binomial, uniform, dirichlet, got 'normal'; a number may follow, "
            "as in zipf:1.5",
        ),
        ("closed.json --shape geometric:x", "--shape geometric:X must have an X positive and at most 1e6, got 'x'"),
        ("closed.json --shape zipf:1e9", "--shape zipf:X must have an X positive and at most 1e6, got '1e9'"),
        ("closed.json --population binomial:2", "--shape binomial:X must have an X between 0 and 1, got '2'"),
        ("closed.json --shape uniform:2", "--shape uniform must have no number, got '2'; leave it out"),
        ("closed.json --n 0", "--n must be at least 1, got 0"),
        ("closed.json --repeats 1", "--repeats must be at least 2, got 1"),
        ("closed.json --repeats 9 -o x.tally", "--repeats must not be given with -o: one tally is written"),
        ("closed.json --chart x.svg -o x.tally", "--chart must not be given with -o: deniable decode draws one tally"),
        ("closed.json -o none/x.tally", "none/x.tally cannot be written: no such file or directory"),
    ],
)
def test_simulate_refuses_with_a_sentence(capsys: pytest.CaptureFixture[str], argv: str, sentence: str) -> None:
    assert refused(capsys, "simulate", *argv.split()).startswith(sentence)


def test_shares_that_were_shrunk_out_of_their_intervals_are_counted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    survey, rng = dn.krr(symbols=40, epsilon=1), np.random.default_rng(1)
    drawn = [dn.simulate(survey, np.full(40, 1 / 40), n=2000, rng=rng) for _ in range(5)]
    shrunk = next(tally for tally in drawn if "shrunk" in str(largest(dn.decode(tally), 40)))
    shrunk.save(tmp_path / "t")
    assert main(["decode", str(tmp_path / "t"), "--top", "0"]) == 0
    sentence = "interval: shares are shrunk; error bars belong to the unbiased estimates (--json)."
    assert sentence in capsys.readouterr().out
    dn.Tally(dn.krr(symbols=3, epsilon=4), [[900, 500, 400]]).save(tmp_path / "u")
    assert main(["decode", str(tmp_path / "u")]) == 0
    assert "shrunk" not in capsys.readouterr().out


def _piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_dash_reads_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    data = Path("day0.tally").read_bytes()
    assert main(["decode", "day0.tally", "day1.tally", "--json"]) == 0
    both = capsys.readouterr().out
    _piped(monkeypatch, data)
    assert main(["decode", "-", "day1.tally", "--json"]) == 0
    assert capsys.readouterr().out == both
    assert main(["survey", "show", "closed.json"]) == 0
    told = capsys.readouterr().out
    _piped(monkeypatch, Path("closed.json").read_bytes())
    assert main(["survey", "show", "-"]) == 0
    assert capsys.readouterr().out == told
    # It can be read once, and what it holds is named.
    _piped(monkeypatch, data)
    assert refused(capsys, "decode", "-", "-") == "standard input must hold a tally, got nothing"
    _piped(monkeypatch, b"")
    assert refused(capsys, "survey", "show", "-") == "standard input must hold a survey, got nothing"
    _piped(monkeypatch, b"symbol,cell")
    assert refused(capsys, "decode", "-").startswith("standard input: tally must start with 'deniable-tally")

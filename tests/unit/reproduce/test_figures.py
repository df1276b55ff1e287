"""The figures of `deniable reproduce`: what is plotted is what the tables hold, whole or in part."""

import math
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deniable.reproduce.figures import FIGURES, Figure
from tests.unit.reproduce.reproduce_tables import Row, tables

PAPER = Path(__file__).parents[3] / "docs" / "reference" / "paper.md"
NAMES = [
    "decoders",
    "krr_vs_rappor",
    "orr_vs_rappor_open",
    "orr_vs_rappor_closed",
    "geometric_ground_truth",
    "l2_decoders",
    "l2_krr_vs_rappor",
    "all_decoders",
    "all_krr_vs_rappor",
    "open_set_zoom",
    "closed_set_zoom",
    "privacy_at_n_open",
    "privacy_at_n_closed",
    "open_set_params",
    "closed_set_params",
    "open_set_zoom_s4096",
    "privacy_at_n_open_s4096",
    "open_set_params_s4096",
    "open_set_params_s4096_u1e8",
]
TABLES = tables()
every_figure = pytest.mark.parametrize("figure", FIGURES.values(), ids=lambda figure: figure.name)


@cache
def spec(name: str) -> dict[str, Any]:
    """A figure of the whole tables, drawn once for all tests."""
    found: dict[str, Any] = FIGURES[name].draw(TABLES).to_dict()
    return found


def plotted(drawn: dict[str, Any]) -> list[Row]:
    """Every row of every dataset that a chart draws."""
    return [row for rows in drawn.get("datasets", {}).values() for row in rows]


def within(small: Row, large: Row) -> bool:
    return small.items() <= large.items()


def test_every_figure_is_there_in_the_papers_order() -> None:
    assert list(FIGURES) == NAMES
    assert all(name == figure.name for name, figure in FIGURES.items())


@every_figure
def test_labels_are_the_papers_and_captions_are_whole_sentences(figure: Figure) -> None:
    ours = ("all_decoders", "all_krr_vs_rappor")
    assert (figure.label == "ours") == (figure.name in ours)
    assert figure.label == "ours" or f"`{figure.label}`" in PAPER.read_text(encoding="utf-8")
    assert figure.caption.endswith(".")
    assert figure.notes.endswith(".")
    assert "  " not in figure.caption + figure.notes
    assert set(figure.tables) <= set(TABLES)


@every_figure
def test_the_rows_of_a_figure_are_the_rows_it_plots(figure: Figure) -> None:
    rows, drawn = figure.data(TABLES), plotted(spec(figure.name))
    assert rows
    assert all(any(within(row, mark) for mark in drawn) for row in rows)
    # A mark that is no row of the data is a piece of the staircase: it has a place and no value.
    assert all(set(mark) == {"epsilon", "k"} or any(within(row, mark) for row in rows) for mark in drawn)


@pytest.mark.slow
@every_figure
def test_a_figure_draws_with_missing_rows_and_with_none(figure: Figure) -> None:
    some = {name: rows[::5] for name, rows in TABLES.items()}
    one = {name: rows[:1] for name, rows in TABLES.items()}
    nothing: dict[str, list[Row]] = {name: [] for name in TABLES}
    for part in (some, one) if figure.data(one) else (some, nothing):
        drawn = figure.draw(part).to_dict()
        assert figure.data(part) or "No numbers for this figure in this run." in str(drawn)


@pytest.mark.parametrize("name", ["l2_decoders", "all_krr_vs_rappor", "closed_set_zoom", "privacy_at_n_closed"])
def test_the_same_tables_give_the_same_chart(name: str) -> None:
    assert FIGURES[name].draw(TABLES).to_dict() == spec(name)


def test_cells_that_were_not_computed_are_left_out() -> None:
    rows = [dict(row) for row in TABLES["kary"]]
    for row in rows:
        row["krr_gain"], row["difference"] = (None, math.nan) if row["k"] == 64 else (0.0, 0.0)
    holes = {"kary": rows}
    assert {(row["mechanism"], row["k"]) for row in FIGURES["decoders"].data(holes)} == {
        *(("k-RR", k) for k in (2, 4096)),
        *(("k-RAPPOR", k) for k in (2, 64, 4096)),
    }
    assert {row["k"] for row in FIGURES["all_krr_vs_rappor"].data(holes)} == {2, 4096}
    FIGURES["krr_vs_rappor"].draw(holes).to_dict()


def test_a_difference_within_two_standard_errors_is_marked() -> None:
    rows = [row | {"difference": 0.02, "difference_se": 0.011 if row["k"] == 2 else 0.009} for row in TABLES["kary"]]
    marks = [mark for mark in plotted(FIGURES["krr_vs_rappor"].draw({"kary": rows}).to_dict()) if "number" in mark]
    assert {(mark["k"] == 2, mark["uncertain"], mark["number"]) for mark in marks} == {
        (True, True, "(20)"),
        (False, False, "20"),
    }
    assert "0.02 \N{PLUS-MINUS SIGN} 0.01" in marks[0]["words"]


def test_the_staircase_is_the_border_of_k_below_exp_epsilon() -> None:
    edges = [mark for mark in plotted(spec("krr_vs_rappor")) if set(mark) == {"epsilon", "k"}]
    # exp(0.5) < 2 < exp(2) < 64 < 4096 < exp(10): tops at (2, 2), sides at (2, 2), (10, 64) and (10, 4096).
    assert {(mark["epsilon"], mark["k"]) for mark in edges} == {(2.0, 2), (10.0, 64), (10.0, 4096)}


def test_colours_are_symmetric_and_the_same_along_a_row_of_panels() -> None:
    text = str(spec("krr_vs_rappor"))
    domains = [[float(n) for n in found.split(",")] for found in re.findall(r"'domain': \[(-[^\]]+)\]", text)]
    assert len(domains) == 4
    assert all(low == -high for domain in domains for low, high in zip(domain, domain[::-1], strict=True))
    assert domains[0] == domains[1]
    assert domains[2] == domains[3]


def test_the_private_end_stops_at_two_and_the_baselines_have_no_epsilon() -> None:
    rows = FIGURES["open_set_zoom"].data(TABLES)
    full, low = dict.fromkeys(row["panel"] for row in rows)
    assert max(row["epsilon"] or 0 for row in rows if row["panel"] == full) == 8
    assert max(row["epsilon"] or 0 for row in rows if row["panel"] == low) == 2
    named = {row["mechanism"] for row in rows if row["epsilon"] is None}
    assert named == {"uniform guess", "raw symbols, no privacy"}


def test_closed_alphabets_show_four_mechanisms_apart_in_colour_dash_and_shape() -> None:
    layers = spec("orr_vs_rappor_closed")["hconcat"][0]["layer"]
    encodings = [layer["encoding"].get(name, {}) for layer in layers for name in ("color", "strokeDash", "shape")]
    scales = [encoding["scale"] for encoding in encodings if "scale" in encoding]
    assert scales
    assert all(scale["domain"] == ["O-RR", "O-RAPPOR", "k-RR", "k-RAPPOR"] for scale in scales)
    assert all(len({str(value) for value in scale["range"]}) == 4 for scale in scales)


def test_parameter_values_are_in_order_and_only_one_is_fixed() -> None:
    rows = FIGURES["open_set_params"].data(TABLES)
    assert {(row["mechanism"], row["vary"]) for row in rows} == {
        *(("O-RR", vary) for vary in "kC"),
        *(("O-RAPPOR", vary) for vary in "kCh"),
    }
    assert all(row[row["vary"]] == row["value"] for row in rows)
    values = [row["value"] for row in rows if (row["mechanism"], row["vary"]) == ("O-RR", "k")]
    assert values == sorted(values)


def test_targets_that_are_not_reached_have_no_point() -> None:
    rows = FIGURES["privacy_at_n_open"].data(TABLES)
    reached = [row for row in TABLES["privacy"] if row["reached"] == "yes"]
    assert len(rows) == sum((row["alphabet"], row["S"]) == ("open", 256) for row in reached)
    assert all(0.1 < row["epsilon"] <= 10 for row in rows)


def test_counts_come_from_the_rows() -> None:
    assert FIGURES["decoders"].counts(TABLES) == "Rows plotted: 18. Evaluations behind each: 2,000."
    told = FIGURES["open_set_params"].counts(TABLES)
    assert told.endswith("Samples behind each: 200. Other samples that chose the parameters: 50.")
    mixed = {"kary": [row | {"evaluations": row["k"]} for row in TABLES["kary"]]}
    assert "Evaluations behind each: 2 to 4,096." in FIGURES["decoders"].counts(mixed)

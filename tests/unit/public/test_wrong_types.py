"""What a newcomer hands to the wrong function: a sentence that says what to write, never an AttributeError."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deniable as dn

SURVEY = dn.krr(symbols=["a", "b"], epsilon=1)
TALLY = dn.Tally(SURVEY, [[6, 4]])
REPORTS = dn.privatize(SURVEY, ["a", "b"])
ANSWERS: dict[str, Any] = {"id": [1, 2], "x": ["a", "b"]}
TABLES: list[Any] = [pd.DataFrame(ANSWERS), pl.DataFrame(ANSWERS), pa.table(ANSWERS), pa.record_batch(ANSWERS)]
dn_: Any = dn  # what is wrong here would be told by a type checker, which newcomers do not run

WRONG: list[tuple[str, Callable[[], object], str]] = [
    (
        "the name of a file",
        lambda: dn_.privatize(SURVEY, "data.csv"),
        "column must be named for a file, got none; write column=... beside 'data.csv'",
    ),
    (
        "a path",
        lambda: dn_.privatize(SURVEY, Path("data.csv")),
        "column must be named for a file, got none; write column=... beside 'data.csv'",
    ),
    (
        "privatize, swapped",
        lambda: dn_.privatize(["a"], SURVEY),
        "survey must be a Survey, got list; it comes first: dn.privatize(survey, column)",
    ),
    (
        "count, swapped",
        lambda: dn_.count(REPORTS, SURVEY),
        "survey must be a Survey, got ReportTable; it comes first: dn.count(survey, reports)",
    ),
    (
        "count, mixed",
        lambda: dn_.count(SURVEY, [REPORTS, 1]),
        "reports must be a report table, an Arrow table, or reports, got int",
    ),
    (
        "decode reports",
        lambda: dn_.decode(REPORTS),
        "tally must be a Tally, got ReportTable; count the reports first: dn.decode(dn.count(survey, reports))",
    ),
    (
        "decode a survey",
        lambda: dn_.decode(SURVEY),
        "tally must be a Tally, got Survey; decode what was counted, not the survey",
    ),
    (
        "decode a path",
        lambda: dn_.decode("day.tally"),
        "tally must be a Tally, got str; read a file with dn.Tally.load(path)",
    ),
    (
        "decode a list",
        lambda: dn_.decode([TALLY]),
        "tally must be a Tally, got list; add tallies up with sum(tallies), or decode each with dn.decode_all",
    ),
    (
        "decode twice",
        lambda: dn_.decode(dn.decode(TALLY)),
        "tally must be a Tally, got Estimate; it is decoded already",
    ),
    ("decode nothing", lambda: dn_.decode(None), "tally must be a Tally, got NoneType; make one with dn.count"),
    (
        "decode_all of one",
        lambda: dn_.decode_all(TALLY),
        "tallies must be a list of tallies, got Tally; decode takes a single one",
    ),
    (
        "decode_all, mixed",
        lambda: dn_.decode_all([TALLY, REPORTS]),
        "tally must be a Tally, got ReportTable; count the reports first: dn.decode(dn.count(survey, reports))",
    ),
    (
        "track one",
        lambda: dn_.track(TALLY),
        "tallies must be a list of tallies, one a window, got Tally; decode takes a single one",
    ),
    (
        "track nothing",
        lambda: dn_.track(None),
        "tallies must be a list of tallies, one a window, got NoneType; decode takes a single one",
    ),
    (
        "unpack for no survey",
        lambda: dn_.Report.unpack("survey.json", b"x"),
        "survey must be a Survey, got str; read a file with dn.Survey.load(path)",
    ),
    (
        "unpack, swapped",
        lambda: dn_.Report.unpack(REPORTS, b"x"),
        "survey must be a Survey, got ReportTable; it comes first: dn.Report.unpack(survey, wire)",
    ),
    (
        "a client of a path",
        lambda: dn_.Client("survey.json"),
        "survey must be a Survey, got str; read a file with dn.Survey.load(path)",
    ),
    (
        "a tally of nothing",
        lambda: dn_.Tally(None),
        "survey must be a Survey, got NoneType; make one with a preset such as dn.krr",
    ),
    (
        "a table into a tally",
        lambda: dn_.Tally(SURVEY).accumulate(TABLES[0]),
        "a table must be counted first; use tally += dn.count(tally.survey, table)",
    ),
    (
        "simulate a tally",
        lambda: dn_.simulate(TALLY, [0.5, 0.5], n=10, rng=np.random.default_rng(0)),
        "survey must be a Survey, got Tally; make one with a preset such as dn.krr",
    ),
    (
        "the risk of a tally",
        lambda: dn_.theory.l2_risk(TALLY, [0.5, 0.5], 10),
        "survey must be a Survey, got Tally; make one with a preset such as dn.krr",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), [case[1:] for case in WRONG], ids=[case[0] for case in WRONG])
def test_a_sentence_says_what_to_write(call: Callable[[], object], sentence: str) -> None:
    with pytest.raises(dn.DeniableError) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{type(table).__module__}.{type(table).__name__}")
@pytest.mark.parametrize("options", [{}, {"refused": {}}], ids=["strict", "lenient"])
def test_a_table_without_a_column_asks_for_one(table: Any, options: dict[str, Any]) -> None:
    with pytest.raises(dn.AlphabetError) as caught:
        dn.privatize(SURVEY, table, **options)
    sentence = "column must be named for a table, got none; write column=... with one of its columns: 'id', 'x'"
    assert str(caught.value) == sentence
    assert len(dn.privatize(SURVEY, table, column="x")) == 2


def test_columns_alone_need_no_name() -> None:
    for column in (TABLES[0]["x"], TABLES[1]["x"], TABLES[2]["x"], TABLES[3]["x"], ["a", "b"], np.array(["a", "b"])):
        assert len(dn.privatize(SURVEY, column)) == 2


@pytest.mark.parametrize("other", [REPORTS, 1, "x", None], ids=lambda other: type(other).__name__)
def test_only_tallies_add_up(other: Any) -> None:
    tally = TALLY.copy()

    def add_in_place() -> None:
        nonlocal tally
        tally += other

    for add in (lambda: TALLY + other, lambda: other + TALLY, lambda: TALLY.merge(other), add_in_place):
        with pytest.raises(dn.TallyError) as caught:
            add()
        kind = type(other).__name__
        assert str(caught.value) == f"a tally must be added to a tally, got {kind}; count the reports first"
    assert tally == TALLY
    assert sum([TALLY, TALLY]).counts.tolist() == [[12, 8]]  # type: ignore[union-attr]

"""docs/reference/protocol.md is a client: its Python runs, prints what the page says, and gives every golden vector."""

import contextlib
import hashlib
import io
import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.mechanisms import KRR, BitFlip, Chain
from tests.docs.blocks import ROOT, blocks, run

PAGE = ROOT / "docs" / "reference" / "protocol.md"
STANDARD = {"hashlib", "hmac", "json", "math", "unicodedata", "fractions", "base64"}


KINDS: dict[str, set[str]] = {
    "krr": {"keep", "other"},
    "subset": {"inside"},
    "sensitive": {"keep", "other", "own"},
    "sensitive-design": {"keep", "other", "own"},
    "blocks": {"others"},
    "budgets": set(),
    "table": set(),
}


def vectors(name: str) -> list[dict[str, Any]]:
    found = json.loads((ROOT / "tests" / "vectors" / f"{name}.json").read_text(encoding="ascii"))
    assert isinstance(found, list)
    assert found
    return found


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "protocol"}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in blocks(PAGE):
            if block.language == "python":
                exec(compile(block.code, str(PAGE), "exec"), names)
    return names


def surveys() -> dict[str, Any]:
    return {row["title"]: json.loads(row["text"]) for row in vectors("surveys")}


def test_the_page_prints_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(PAGE) >= 9
    assert all(block.output is not None for block in blocks(PAGE) if block.language == "python")


def test_the_page_needs_the_standard_library_alone() -> None:
    code = "".join(block.code for block in blocks(PAGE) if block.language == "python")
    assert set(re.findall(r"^(?:from|import) (\w+)", code, re.MULTILINE)) == STANDARD


def test_the_survey_of_the_page_is_a_survey(page: dict[str, Any]) -> None:
    survey = dn.Survey.from_fields(page["homepage"])
    assert dn.Report.unpack(survey, page["pack"](page["homepage"], 1, 5)).response == 5
    assert survey == dn.Survey.from_fields(surveys()["orr, open"])
    assert dn.Survey.from_fields(page["twice"]).mechanism.report_bound == 1


def test_the_page_has_every_field_of_the_vectors() -> None:
    rows = re.findall(r"^\| `(\w+)\.json` \| (.*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(p.stem for p in (ROOT / "tests" / "vectors").glob("*.json"))
    for name, listed in rows:
        assert set(re.findall(r"`(\w+)`", listed)) == {field for row in vectors(name) for field in row}, name


def test_digests_and_thresholds(page: dict[str, Any]) -> None:
    for fields in surveys().values():
        assert page["digest_of"](fields) == fields["digest"]
        found = page["thresholds"](fields)
        others = found.get("others", [])
        assert [str(other) for other in others] == fields["mechanism"].get("others", [])
        numbers = {name: number for name, number in found.items() if name != "others"}
        assert numbers == {name: int(fields["mechanism"][name]) for name in numbers}
        kind = KINDS.get(fields["mechanism"]["kind"], {"flip"})
        assert set(found) == kind | (set(fields["mechanism"]) & {"clear"})
        again = page["report_thresholds"](fields)
        assert {name: str(value) for name, value in again.items()} == {
            name: value for name, value in fields["mechanism"].items() if name.startswith("report_")
        }
    assert sum("epsilon_report" in fields["mechanism"] for fields in surveys().values()) >= 10
    for row in vectors("thresholds"):
        hashes = {2: 1, 4: 2, 5: 3}[row.get("distance", 2)]
        stated = {"kind": row["kind"], "epsilon": row["epsilon"]}
        survey = {"encoding": {"kind": "hashed", "cells": row["cells"], "hashes": hashes}, "mechanism": stated}
        found = page["thresholds"](survey)
        assert {name: str(value) for name, value in found.items()} == {name: row[name] for name in found}


def test_symbols_fingerprints_and_permutations(page: dict[str, Any]) -> None:
    for row in vectors("symbols"):
        assert page["message"](page["symbol_of"](row["given"])).hex() == row["bytes"]
    for row in vectors("fingerprints"):
        seed, data = bytes.fromhex(row["seed"]), bytes.fromhex(row["bytes"])
        assert str(page["fingerprint"](seed, data)) == row["fingerprint"]
    for row in vectors("permutations"):
        image = [page["permute"](int(row["key"]), row["size"], x) for x in range(row["size"])]
        assert hashlib.sha256(b"".join(x.to_bytes(4, "little") for x in image)).hexdigest() == row["sha256"]


def test_folding(page: dict[str, Any]) -> None:
    for row in vectors("folding"):
        assert page["fold"](row["given"]) == row["folded"]


def test_numbers(page: dict[str, Any]) -> None:
    for row in vectors("numbers"):
        names, _ = page["bins"](row["alphabet"])
        assert [names[0], names[-1]] == row["names"]
        for text, place in zip(row["numbers"], row["bins"], strict=True):
            (number,) = struct.unpack(">d", bytes.fromhex(text))
            if place is None:
                with pytest.raises(ValueError, match="refused"):
                    page["bin_of"](row["alphabet"], number)
            else:
                assert page["bin_of"](row["alphabet"], number) == place


def test_cells(page: dict[str, Any]) -> None:
    for row in vectors("hashed_cells"):
        survey = {"alphabet": {"kind": "open"}, "encoding": row | {"kind": "hashed"}}
        for cohort, cells in enumerate(row["occupied"]):
            assert page["cells_of"](survey, cohort, page["symbol_of"](row["symbol"])) == cells
    for row in vectors("prefix_cells"):
        survey = {"alphabet": {"kind": "open", "text": "folded"}, "encoding": row | {"kind": "prefixes"}}
        for cohort, cell in enumerate(row["occupied"]):
            assert page["cells_of"](survey, cohort, row["symbol"]) == [cell]
    for row in vectors("permuted_cells"):
        listed = {"kind": "closed", "symbols": list(range(row["symbols"]))}
        survey = {"alphabet": listed, "encoding": row | {"kind": "permuted"}}
        for cohort, answers in enumerate(row["occupied"]):
            assert [page["cells_of"](survey, cohort, x) for x in range(row["symbols"])] == answers


def test_reports(page: dict[str, Any]) -> None:
    known = surveys()
    assert {row["survey"] for row in vectors("reports")} == set(known)
    for row in vectors("reports"):
        survey, symbol = known[row["survey"]], page["symbol_of"](row["symbol"])
        words = iter([int(word) for word in row["words"]])
        cohort = page["below"](survey["encoding"].get("cohorts", 1), words)
        permanent = page["respond"](survey, page["cells_of"](survey, cohort, symbol), words)
        response = page["refresh"](survey, permanent, words)
        assert page["pack"](survey, cohort, response).hex() == row["report"]
        assert list(words) == []
    for row in vectors("permanent"):
        survey, cohort, symbol = known[row["survey"]], row["cohort"], page["symbol_of"](row["symbol"])
        cells = page["cells_of"](survey, cohort, symbol)
        words = page["permanent_words"](survey, bytes.fromhex(row["secret"]), cohort, cells)
        fresh = iter([int(word) for word in row.get("words", ())])
        response = page["refresh"](survey, page["respond"](survey, cells, words), fresh)
        assert page["pack"](survey, cohort, response).hex() == row["report"]
        assert list(fresh) == []


def answers_of(page: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    read = page["symbol_of"]
    return {
        name: float(value["double"]) if isinstance(value, dict) and "double" in value else read(value)
        for name, value in row["answers"].items()
    }


def test_forms(page: dict[str, Any]) -> None:
    known = {row["title"]: json.loads(row["text"]) for row in vectors("forms")}
    assert dn.Form.from_fields(page["form"]).digest == page["form"]["digest"], "the form of the page is a form"
    for form in known.values():
        assert page["digest_of"](form) == form["digest"]
        for place in range(len(form["parts"])):
            _, survey = page["part_of"](form, place)
            found = {name: value for name, value in page["thresholds"](survey).items() if name != "others"}
            assert found == {name: int(survey["mechanism"][name]) for name in found}
    for row in vectors("form_reports"):
        form, words = known[row["form"]], iter([int(word) for word in row["words"]])
        drawn, cohorts = page["draw"](form, words)
        asked = {name for place in drawn for name in form["parts"][place]["questions"]}
        assert [question["name"] for question in form["questions"] if question["name"] in asked] == row["questions"]
        assert page["report_form"](form, drawn, cohorts, answers_of(page, row), words).hex() == row["report"]
        assert list(words) == []
    for row in vectors("form_permanent"):
        form, fresh = known[row["form"]], iter([int(word) for word in row.get("words", ())])
        rest, chosen = divmod(int(row["cohort"]), 1 << len(form["parts"]))
        drawn, cohorts = [place for place in range(len(form["parts"])) if chosen >> place & 1], []
        for part in form["parts"]:
            rest, own = divmod(rest, part["encoding"].get("cohorts", 1))
            cohorts.append(own)
        secret = bytes.fromhex(row["secret"])
        assert page["report_form"](form, drawn, cohorts, answers_of(page, row), fresh, secret).hex() == row["report"]
        assert list(fresh) == []


def test_a_catch_all_takes_what_is_not_listed(page: dict[str, Any]) -> None:
    survey = surveys()["krr, catch-all"]
    assert page["cells_of"](survey, 0, "lynx") == list(dn.Survey.from_fields(survey).encode(0, "lynx"))


def test_every_kind_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for fields in surveys().values():
        for part in ("alphabet", "encoding", "mechanism"):
            for name in (*fields[part], fields[part]["kind"]):
                assert f"`{name}`" in text or name in ("kind", "symbols"), name


def test_the_least_thresholds_are_the_librarys(page: dict[str, Any]) -> None:
    """Another epsilon than the vectors have: the page and the library agree."""
    assert page["ceil_of"](lambda e: 2**64 / (e + 99), page["Fraction"](7, 3)) == KRR(100, "7/3").other
    assert page["ceil_of"](lambda e: 2**64 / (e + 1), page["Fraction"](7, 6)) == BitFlip(100, "7/3").flip


GRID = [
    dn.krr(symbols=1000, epsilon="7/3", epsilon_report="7/4"),
    dn.projective(symbols=13, epsilon=20, epsilon_report="0.01", order=3, dimension=3),
    dn.krappor(symbols=9, epsilon=1, epsilon_report="0.999"),
    dn.orappor(epsilon=5, epsilon_report="1/3", cells=9, cohorts=2, hashes=3, seed=bytes(8)),
    dn.oue(symbols=9, epsilon="0.02", epsilon_report="0.01"),
    dn.subset(symbols=9, epsilon=10, epsilon_report=4, size=3),
]


@pytest.mark.parametrize("survey", GRID, ids=repr)
def test_the_second_stage_is_the_librarys(page: dict[str, Any], survey: dn.Survey) -> None:
    """The library finds it by halving, the page by a formula."""
    assert isinstance(survey.mechanism, Chain)
    assert page["report_thresholds"](json.loads(survey.to_json())) == survey.mechanism.report_thresholds()

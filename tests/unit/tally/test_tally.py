"""The tally's doors: what it takes, what it refuses, and its file."""

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from tests.surveys import LARGE, SMALL

KRR = SMALL["krr"]
BITS = SMALL["krappor"]


def test_one_report_a_batch_and_bytes() -> None:
    tally = dn.Tally(KRR)
    tally.accumulate(dn.Report(KRR, 0, b"\x02"))
    tally.accumulate(dn.Report(KRR, 0, b"\x02").pack())
    tally.accumulate([dn.Report(KRR, 0, b"\x00"), dn.Report(KRR, 0, b"\x03").pack()])
    assert tally.counts.tolist() == [[1, 0, 2, 1]]
    assert tally.reports.tolist() == [4]
    assert tally.n == 4


def test_bits_count_in_their_columns() -> None:
    tally = dn.Tally(BITS)
    tally.accumulate(dn.Report(BITS, 0, b"\x05"))
    tally.accumulate(dn.Report(BITS, 0, b"\x00"))
    assert tally.counts.tolist() == [[1, 0, 1]]
    assert tally.reports.tolist() == [2]


def test_a_bad_report_leaves_the_batch_uncounted() -> None:
    tally = dn.Tally(KRR)
    with pytest.raises(dn.WireError, match="report response must be one that the mechanism can produce"):
        tally.accumulate([dn.Report(KRR, 0, b"\x00"), dn.Report(KRR, 0, b"\x04")])
    with pytest.raises(dn.WireError, match="report cohort must be below 1, got 1"):
        tally.accumulate([dn.Report(KRR, 0, b"\x00"), dn.Report(KRR, 1, b"\x00")])
    assert tally.n == 0
    assert not tally.counts.any()


def test_reports_of_another_survey_are_refused() -> None:
    tally = dn.Tally(KRR)
    with pytest.raises(dn.TallyMismatch, match=r"report is for survey .*, this tally is for .*; merge only") as caught:
        tally.accumulate(dn.Report(SMALL["warner"], 0, b"\x00"))
    assert (caught.value.ours, caught.value.theirs) == (KRR.digest, SMALL["warner"].digest)
    with pytest.raises(dn.TallyMismatch, match="report table is for survey"):
        tally.accumulate(dn.privatize(SMALL["warner"], ["no"]))
    with pytest.raises(dn.TallyMismatch, match="tally is for survey"):
        tally += dn.Tally(SMALL["warner"])


@pytest.mark.parametrize("item", [7, None, 3.5])
def test_other_things_are_refused(item: Any) -> None:
    with pytest.raises(dn.TallyError, match="a tally must be given reports, packed bytes or a report table, got"):
        dn.Tally(KRR).accumulate(item)
    with pytest.raises(dn.TallyError, match="a batch must hold reports or packed bytes, got"):
        dn.Tally(KRR).accumulate([item])


def test_arrays_are_read_only() -> None:
    tally = dn.Tally(KRR, [[1, 2, 3, 4]])
    with pytest.raises(ValueError, match="read-only"):
        tally.counts[0, 0] = 5
    with pytest.raises(ValueError, match="read-only"):
        tally.reports[0] = 5


@pytest.mark.parametrize(
    ("counts", "reports", "sentence"),
    [
        ([[1, 2, 3]], [6], r"counts must be integers of shape \(1, 4\), got int64 of shape \(1, 3\)"),
        ([[1.0, 2, 3, 4]], [10], "counts must be integers"),
        ([[-1, 2, 3, 4]], [8], "counts must not be negative, got -1"),
        ([[1, 2, 3, 4]], [11], "counts must add up to the reports of their cohort, one column a report"),
        ([[1, 2, 3, 4]], [3], "counts must not exceed the reports of their cohort"),
    ],
)
def test_impossible_counts_are_refused(counts: Any, reports: Any, sentence: str) -> None:
    with pytest.raises(dn.TallyError, match=sentence):
        dn.Tally(KRR, counts, reports)


def test_bit_counts_need_their_reports() -> None:
    with pytest.raises(dn.TallyError, match="reports must be given beside counts: bit reports do not determine them"):
        dn.Tally(BITS, [[1, 2, 3]])
    assert dn.Tally(BITS, [[1, 2, 3]], [3]).n == 3
    with pytest.raises(dn.TallyError, match="counts must not exceed"):
        dn.Tally(BITS, [[1, 2, 4]], [3])


def test_no_silent_overflow() -> None:
    big = 2**62
    tally = dn.Tally(KRR, [[big, 0, 0, 0]])
    with pytest.raises(dn.TallyError, match=r"a tally must hold at most 2\*\*63 - 1 reports, got"):
        tally += tally.copy()
    assert tally.n == big
    full = dn.Tally(KRR, [[2**63 - 1, 0, 0, 0]])
    with pytest.raises(dn.TallyError, match="at most"):
        full.accumulate(dn.Report(KRR, 0, b"\x00"))
    with pytest.raises(dn.TallyError, match="counts must fit 63 bits, got"):
        dn.Tally(KRR, np.array([[2**63, 0, 0, 0]], np.uint64), np.array([2**63], np.uint64))
    many = dn.Tally(SMALL["orr-closed"])
    with pytest.raises(dn.TallyError, match="at most"):
        many.add(np.full((2, 3), 2**62), np.full(2, 2**63 - 1))


def test_file_round_trip(tmp_path: Path) -> None:
    for name, survey in LARGE.items():
        symbols = {"symbols": [str(i) for i in range(40)]} if survey.symbols is None else {}
        tally = dn.simulate(survey, np.full(40, 1 / 40), 12345, np.random.default_rng(0), **symbols)
        path = tmp_path / f"{name}.tally"
        tally.save(path)
        again = dn.Tally.load(path)
        assert again == tally
        assert again.survey == survey
        assert path.read_bytes().startswith(b"deniable-tally/1\n{")
    assert sorted(p.suffix for p in tmp_path.iterdir()) == [".tally"] * len(LARGE)  # no temporary file stays


def test_every_truncation_and_every_flipped_byte_is_refused() -> None:
    data = dn.Tally(KRR, [[1, 2, 3, 4]]).to_bytes()
    for size in range(len(data)):
        with pytest.raises(dn.TallyError):
            dn.Tally.from_bytes(data[:size])
    for place in range(len(data)):
        altered = bytearray(data)
        altered[place] ^= 0x10
        with pytest.raises(dn.TallyError, match="tally must"):
            dn.Tally.from_bytes(bytes(altered))
    with pytest.raises(dn.TallyError, match="tally must match its checksum; the file was truncated or altered"):
        dn.Tally.from_bytes(data + b"\0")


def _resealed(data: bytes, change: Any) -> bytes:
    """A file altered by someone who can compute the checksum."""
    magic, line, rest = data[:-32].split(b"\n", 2)
    header = json.loads(line)
    body: bytes = magic + b"\n" + change(header) + b"\n" + rest
    return body + hashlib.sha256(body).digest()


def test_a_resealed_lie_is_still_refused() -> None:
    data = dn.Tally(KRR, [[1, 2, 3, 4]]).to_bytes()

    def other_total(header: Any) -> bytes:
        return json.dumps(header | {"n": "11"}).encode()

    def other_survey(header: Any) -> bytes:
        return json.dumps(header | {"survey": json.loads(SMALL["orr-open"].to_json())}).encode()

    def no_survey(header: Any) -> bytes:
        return json.dumps({"n": header["n"]}).encode()

    body = data[:-32].rsplit(b"\n", 1)[0] + b"\nnot zlib"
    with pytest.raises(dn.TallyError, match="tally counts must be a zlib stream:"):
        dn.Tally.from_bytes(body + hashlib.sha256(body).digest())
    with pytest.raises(dn.TallyError, match="tally must hold the reports its header names, '11', got 10"):
        dn.Tally.from_bytes(_resealed(data, other_total))
    with pytest.raises(dn.TallyError, match="tally counts must be 96 bytes for this survey, got 40"):
        dn.Tally.from_bytes(_resealed(data, other_survey))
    with pytest.raises(dn.TallyError, match="tally must carry its survey and its total:"):
        dn.Tally.from_bytes(_resealed(data, no_survey))


def test_a_file_that_is_no_tally(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(
        dn.TallyError,
        match=r"notes\.txt: tally must start with 'deniable-tally/1', got b'hello'; this is not a tally file",
    ):
        dn.Tally.load(path)


def test_addition_makes_a_new_tally() -> None:
    a, b = dn.Tally(KRR, [[1, 0, 0, 0]]), dn.Tally(KRR, [[0, 1, 0, 0]])
    total = a + b
    assert (total.n, a.n, b.n) == (2, 1, 1)
    assert (a == b, a == a.copy(), a == 3) == (False, True, False)
    assert repr(total).startswith("<Tally of survey ")
    with pytest.raises(dn.TallyError):
        _ = a + 1  # type: ignore[operator]


@pytest.mark.parametrize(
    "total", ["3.9", '" 10 "', '"1_0"', "10", '"\u0661\u0660"', '"010"', "null", '["10"]', '"+10"', "true"]
)
def test_the_total_has_one_spelling(total: str) -> None:
    data = dn.Tally(KRR, [[1, 2, 3, 4]]).to_bytes()
    survey = KRR.to_json()
    with pytest.raises(dn.TallyError, match="tally must"):
        dn.Tally.from_bytes(_resealed(data, lambda _: f'{{"n":{total},"survey":{survey}}}'.encode()))
    assert dn.Tally.from_bytes(_resealed(data, lambda _: f'{{"n":"10","survey":{survey}}}'.encode())).n == 10


def test_a_header_has_no_other_repeated_or_bottomless_fields() -> None:
    data = dn.Tally(KRR, [[1, 2, 3, 4]]).to_bytes()
    survey = KRR.to_json()
    headers = [
        f'{{"n":"10","survey":{survey},"x":1}}'.encode(),
        f'{{"n":"10","n":"10","survey":{survey}}}'.encode(),
        b'{"n":"10","survey":' + survey.replace("{", '{"name":"x",', 1).encode() + b"}",
        b"[" * 100_000,
        f'{{"n":"10","survey":{survey}}}'.encode("utf-32").replace(b"\n", b""),
    ]
    with pytest.raises(
        dn.TallyError, match="the header must have the fields 'n' and 'survey', and none but 'windows' beside them"
    ):
        dn.Tally.from_bytes(_resealed(data, lambda _: b'"text"'))
    for header in headers:
        with pytest.raises(dn.TallyError, match="tally must carry its survey and its total:"):
            dn.Tally.from_bytes(_resealed(data, lambda _, header=header: header))


def test_packed_reports_in_any_buffer() -> None:
    tally = dn.Tally(KRR)
    wire = dn.Report(KRR, 0, b"\x02").pack()
    tally.accumulate(bytearray(wire))
    tally.accumulate([memoryview(wire), wire])
    assert tally.counts.tolist() == [[0, 0, 3, 0]]


@pytest.mark.parametrize("report", [dn.Report(KRR, 0.5, b"\0"), dn.Report(KRR, True, b"\0"), dn.Report(KRR, 0, [0])])  # type: ignore[arg-type]
def test_reports_of_wrong_types_are_refused(report: dn.Report) -> None:
    with pytest.raises(dn.WireError, match="report cohort must be an integer and its payload bytes, got"):
        dn.Tally(KRR).accumulate(report)
    with pytest.raises(dn.WireError, match="report cohort must be an integer and its payload bytes, got"):
        report.pack()


def test_an_arrow_table_is_sent_to_count() -> None:
    table = dn.privatize(KRR, ["a", "b"]).to_arrow()
    tally = dn.Tally(KRR)
    sentence = r"a table must be counted first; use tally \+= dn.count\(tally.survey, table\)"
    with pytest.raises(dn.TallyError, match=sentence):
        tally.accumulate(table)
    tally += dn.count(tally.survey, table)
    tally.accumulate(dn.privatize(KRR, ["a"]))
    assert tally.n == 3


def test_sets_have_their_size() -> None:
    """Every report of a subset survey hits as many columns as its sets are large, in a tally and in a table."""
    survey = SMALL["subset"]
    assert dn.Tally(survey, [[1, 1, 0, 2, 0]], [2]).n == 2
    for counts, reports in (([[1, 1, 0, 0, 0]], [2]), ([[2, 2, 2, 0, 0]], [2])):
        with pytest.raises(dn.TallyError) as caught:
            dn.Tally(survey, counts, reports)
        assert str(caught.value) == "counts must add up to the reports of their cohort, 2 columns a report"
    with pytest.raises(dn.TallyError, match="reports must be given beside counts"):
        dn.Tally(survey, [[1, 1, 0, 0, 0]])
    responses = np.array([[0b11], [0b111], [0b1]], np.uint8)
    table = dn.ReportTable(survey, np.zeros(3, np.uint8), responses)
    with pytest.raises(dn.WireError) as wrong:
        dn.count(survey, table)
    assert "got 2 rows that are not (2 response that the mechanism cannot produce)" in str(wrong.value)
    with pytest.raises(dn.WireError, match="one that the mechanism can produce"):
        dn.Report(survey, 0, b"\x07").pack()

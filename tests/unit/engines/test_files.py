"""Files as they come: cut in half, of another format, with bad rows; one sentence for each, and no answer in any."""

import contextlib
import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deniable as dn
import deniable.engines.text_files as text
from deniable.columns.table import survey_metadata
from deniable.engines import count_files
from deniable.engines.local import ahead
from deniable.engines.privatizing import privatize_files
from deniable.engines.writing import output_format, report_writer
from tests.reports import FORMATS, some_reports, write
from tests.surveys import SMALL

SECRET = "my secret answer"
SURVEY = SMALL["orr-open"]
WHOLE = "file, got one that is cut off, damaged or of another format"


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refusal(survey: dn.Survey | None, paths: Any, **options: Any) -> str:
    with pytest.raises(dn.DeniableError) as caught:
        count_files(survey, paths, **options)
    return str(caught.value)


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows", "csv.gz", "jsonl.zst"])
def test_files_that_are_cut_anywhere_are_refused(suffix: str) -> None:
    whole = write(some_reports(SURVEY), Path(f"whole.{suffix}")).read_bytes()
    for size in sorted(
        {0, 1, 7, 8, 9, len(whole) // 3, len(whole) // 2, len(whole) - 9, len(whole) - 8, len(whole) - 1}
    ):
        Path(f"cut.{suffix}").write_bytes(whole[:size])
        said = refusal(SURVEY, f"cut.{suffix}")
        kind = {"parquet": "Parquet", "csv.gz": "CSV", "jsonl.zst": "JSON lines"}.get(suffix, "Arrow IPC")
        assert f"cut.{suffix} must be a whole {kind} {WHOLE}" in said or "must start with a line that names" in said


def test_a_stream_that_was_cut_between_two_batches_is_refused() -> None:
    found = some_reports(SURVEY).to_arrow()
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, found.schema) as writer:
        writer.write_table(found, max_chunksize=100)
        middle = sink.tell()
        writer.write_table(found, max_chunksize=100)
    Path("whole.arrows").write_bytes(sink.getvalue())
    assert dn.count(SURVEY, "whole.arrows").n == 1400
    for data in (sink.getvalue()[:middle], sink.getvalue()[:-8], sink.getvalue() * 2):
        Path("cut.arrows").write_bytes(data)
        assert WHOLE in refusal(SURVEY, "cut.arrows")
        Path("cut.arrows.gz").write_bytes(gzip.compress(data))
        assert WHOLE in refusal(SURVEY, "cut.arrows.gz")


@pytest.mark.parametrize("suffix", ["parquet", "arrow", "arrows"])
def test_damaged_bytes_are_refused_or_harmless(suffix: str) -> None:
    """Bytes of a file flipped in turn: as many rows as before, counted or refused, or a sentence; no other error."""
    whole = bytearray(write(some_reports(SURVEY, 20), Path(f"r.{suffix}")).read_bytes())
    for place in range(0, len(whole), 5):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        Path(f"r.{suffix}").write_bytes(damaged)
        with contextlib.suppress(dn.DeniableError):
            tally, refused = count_files(SURVEY, f"r.{suffix}")
            assert tally.n + sum(refused.values()) == 20, place


def test_files_that_are_not_there_or_unknown() -> None:
    with pytest.raises(FileNotFoundError):
        dn.count(SURVEY, "nothing.parquet")
    assert refusal(SURVEY, "no*.parquet") == "no*.parquet must match a file, got none that does"
    Path("empty").mkdir()
    assert refusal(SURVEY, "empty") == "empty must hold files, got an empty folder"
    Path("empty/_SUCCESS").touch()
    Path("empty/.hidden.csv").touch()
    assert refusal(SURVEY, "empty") == "empty must hold files, got an empty folder"
    Path("empty/notes.txt").touch()
    said = refusal(SURVEY, "empty")
    assert said.startswith(os.path.join("empty", "notes.txt") + " must end in one of .parquet, .pq, .arrow")
    assert said.endswith(".ndjson, .json, or its format must be named, with --format or format=")
    assert refusal(SURVEY, []) == "at least one file must be named, got none"
    assert refusal(SURVEY, "a.csv", format="excel") == ("format must be one of parquet, arrow, csv, jsonl, got 'excel'")
    Path("r.parquet.gz").touch()
    assert refusal(SURVEY, "r.parquet.gz") == (
        "r.parquet.gz must not be compressed as a whole: Parquet compresses its own columns; unpack it first"
    )
    write(some_reports(SURVEY), Path("r.csv"))
    Path("again").symlink_to("r.csv")
    assert refusal(SURVEY, ["r.csv", "./r.csv"]) == "./r.csv must be named once, got it twice; each row counts once"
    assert "again must be named once" in refusal(SURVEY, ["r.csv", "again"], format="csv")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    table = some_reports(SURVEY)
    expected = dn.count(SURVEY, table)

    class Pipe:
        def __init__(self, data: bytes) -> None:
            self.buffer = io.BufferedReader(Unseekable(data))

    class Unseekable(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: object) -> int:
            raise io.UnsupportedOperation("seek")

    for suffix in FORMATS[:5]:
        data = write(table, Path(f"r.{suffix}")).read_bytes()
        format = {"arrows": "arrow"}.get(suffix, suffix)
        monkeypatch.setattr(sys, "stdin", Pipe(data))
        if suffix == "parquet":
            assert refusal(SURVEY, "-", format=format) == (
                "standard input must be a file for Parquet, whose index is at its end; save it first, or use Arrow IPC"
            )
            with open("r.parquet") as file:
                monkeypatch.setattr(sys, "stdin", file)
                assert count_files(SURVEY, "-", format=format) == (expected, {}), "a file may stand in for the pipe"
            continue
        assert count_files(SURVEY, "-", format=format) == (expected, {}), suffix
        if suffix in ("arrow", "arrows"):
            monkeypatch.setattr(sys, "stdin", Pipe(data))
            assert count_files(None, "-", format=format) == (expected, {}), "the survey comes through the pipe"
            monkeypatch.setattr(sys, "stdin", Pipe(data[: len(data) // 2]))
            assert f"standard input must be a whole Arrow IPC {WHOLE}" in refusal(SURVEY, "-", format=format)
    assert refusal(SURVEY, "-") == (
        "standard input must have a format: one of parquet, arrow, csv, jsonl; name it with --format"
    )


def test_the_survey_in_a_file() -> None:
    table = some_reports(SURVEY).to_arrow()
    pq.write_table(table.replace_schema_metadata({}), "bare.parquet")
    assert refusal(None, "bare.parquet") == (
        "bare.parquet must carry its survey, got none in it; name the survey with --survey"
    )
    assert dn.count(SURVEY, "bare.parquet").n == 700
    forged = survey_metadata(SURVEY) | {"deniable.survey.json": SURVEY.to_json().replace('"cells":3', '"cells":4')}
    pq.write_table(table.replace_schema_metadata(forged), "forged.parquet")
    assert refusal(None, "forged.parquet").startswith("forged.parquet must carry a sound survey: ")
    other = dn.orr(epsilon=1, cells=3, cohorts=3, seed=bytes(16))
    write(some_reports(other), Path("other.arrow"))
    pq.write_table(table, "r.parquet")
    said = refusal(None, ["r.parquet", "other.arrow"])
    assert said == (
        f"other.arrow must hold reports of survey {SURVEY.digest[:8]}, got reports of {other.digest[:8]}; "
        "count the reports of each survey apart"
    )


def test_columns_that_are_no_reports() -> None:
    for name, table, sentence in (
        ("r.parquet", {"reply": [1]}, "report table must have the columns 'cohort' and 'response', got ['reply']"),
        ("s.parquet", {"cohort": [1], "response": ["a"]}, "column 'response' must hold integers, got string"),
        ("t.parquet", {"cohort": [0.5], "response": [1]}, "column 'cohort' must hold integers, got double"),
    ):
        pq.write_table(pa.table(table), name)
        assert refusal(SURVEY, name) == f"{name}: {sentence}"
    Path("r.csv").write_text("cohort,response,response\n")
    assert "report table must have one column of each name" in refusal(SURVEY, "r.csv")
    Path("r.csv").write_text("")
    assert refusal(SURVEY, "r.csv") == "r.csv must start with a line that names its columns, got none"
    Path("r.jsonl").write_text('{"reply": 1}\n')
    assert "report table must have the columns" in refusal(SURVEY, "r.jsonl")
    pq.write_table(pa.table({"response": [b"a", "b"]}, pa.schema({"response": pa.binary()})), "b.parquet")
    assert count_files(SMALL["krappor"], "b.parquet")[1] == {"response that the mechanism cannot produce": 2}
    pq.write_table(pa.table({"response": ["a"]}), "b.parquet")
    assert refusal(SMALL["krappor"], "b.parquet") == (
        "b.parquet: column 'response' must be binary of 1 bytes, got string"
    )


def test_empty_files_hold_no_reports() -> None:
    Path("r.csv").write_text("cohort,response")
    Path("r.jsonl").write_text("\n\n")
    write(dn.privatize(SURVEY, []), Path("r.parquet"))
    write(dn.privatize(SURVEY, []), Path("r.arrows"))
    for path in ("r.jsonl", "r.parquet", "r.arrows"):
        assert count_files(SURVEY, path) == (dn.Tally(SURVEY), {})
    Path("r.csv").write_text("cohort,response\n")
    assert count_files(SURVEY, "r.csv") == (dn.Tally(SURVEY), {})


def test_bad_lines_cost_themselves_and_nothing_else() -> None:
    rows = b"cohort,response\n0,1\n1\n1,2,3\n,1\n2,x\n2, 1\n1.0,2\n99999999999999999999,0\n\xff,0\n2,2\n"
    Path("r.csv").write_bytes(b"\xef\xbb\xbf" + rows.replace(b"\n", b"\r\n"))
    tally, refused = count_files(SURVEY, "r.csv")
    assert tally.n == 2
    assert refused == {
        "wrong number of fields": 2,
        "no cohort": 1,
        "response not a whole number": 2,
        "cohort not a whole number": 3,
    }
    lines = [
        b'{"cohort": 0, "response": 1}',
        b'{"cohort": 1.0, "response": 2}',
        b'{"cohort": true, "response": 2}',
        b'{"cohort": 0, "response": "1"}',
        b'{"response": 2}',
        b'{"cohort": 0, "response": 1, "cohort": 2}',
        b'{"cohort": 0, "response": 1e400}',
        b'{"cohort": 0, "resp',
        b"[0, 1]",
        b'{"cohort": 0, "response": 1}{"cohort": 0, "response": 1}',
        b'{"cohort": 2, "response": 2, "note": "\xff"}',
        b'{"cohort": 36893488147419103232, "response": 2}',
        b"[" * 100_000,
    ]
    Path("r.jsonl").write_bytes(b"\n".join(lines))
    tally, refused = count_files(SURVEY, "r.jsonl")
    assert tally.n == 3
    assert tally.reports.tolist() == [1, 0, 2]
    assert refused == {
        "cohort not a whole number": 3,
        "response not a whole number": 2,
        "no cohort": 1,
        "no JSON object": 4,
    }
    Path("b.jsonl").write_text('{"response": "03"}\n{"response": "0"}\n{"response": 3}\n{"response": "0303"}\n')
    tally, refused = count_files(SMALL["krappor"], "b.jsonl")
    assert tally.n == 1
    assert refused == {"response not hexadecimal": 2, "response of another length": 1}


def test_a_quote_that_is_never_closed_is_refused() -> None:
    Path("r.csv").write_text('cohort,response\n0,1\n0,"1\n0,2\n')
    assert refusal(SURVEY, "r.csv") == "r.csv must close every quote, got an odd number of them; it may be cut off"


def test_a_line_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_LONGEST", 1 << 20)
    monkeypatch.setattr(text, "_BLOCK", 1 << 16)
    Path("r.jsonl").write_text('{"cohort": 0, "response": 1, "note": "' + "x" * (3 << 20))
    assert refusal(SURVEY, "r.jsonl") == "r.jsonl must have lines of at most 1 MiB, got a longer one"


def test_strict_counting_says_how_many_rows_and_why() -> None:
    with pytest.raises(dn.WireError) as caught:
        dn.count(SURVEY, pa.table({"cohort": [0, 9, 9], "response": [1, 1, None]}).to_reader())
    assert str(caught.value) == (
        "reports must all be ones that the survey's clients send, got 2 rows that are not (1 no response, "
        "1 cohort out of range); pass refused={} to count them and go on"
    )


class OneArray:
    """Speaks Arrow by one batch at a time, and nothing else."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch

    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._batch.__arrow_c_array__(requested_schema)


def test_one_batch_through_the_array_interface() -> None:
    assert dn.count(SURVEY, OneArray(pa.record_batch({"cohort": [0, 2], "response": [1, 1]}))).n == 2
    codes = pa.array([0, 2]).dictionary_encode()
    assert dn.count(SURVEY, pa.table({"cohort": codes, "response": pa.array([1, 1], pa.uint64())}).to_reader()).n == 2
    nothing = pa.table({"cohort": [0, 1], "response": pa.nulls(2)})
    refused: dict[str, int] = {}
    assert dn.count(SURVEY, nothing, refused=refused).n == 0
    assert refused == {"no response": 2}
    assert dn.count(SMALL["krappor"], nothing.select(["response"]), refused=refused).n == 0
    assert refused == {"no response": 4}


def test_answers_in_files_never_show() -> None:
    survey = SMALL["krr"]
    pq.write_table(pa.table({"answer": ["a", SECRET, None, "b"]}), "data.parquet")
    written, refused = privatize_files(survey, "data.parquet", "answer", "r.parquet")
    assert (written, refused) == (2, {"no answer": 1, "answer not in the alphabet": 1})
    assert SECRET.encode() not in Path("r.parquet").read_bytes()
    with pytest.raises(dn.AlphabetError) as caught:
        privatize_files(survey, "data.parquet", "answer", "s.parquet", strict=True)
    assert str(caught.value) == (
        "rows must all hold an answer that the survey can encode, got 2 that do not "
        "(1 no answer, 1 answer not in the alphabet)"
    )
    assert not Path("s.parquet").exists()
    with pytest.raises(dn.AlphabetError, match="rows must all hold an answer that the survey can encode, got 2"):
        dn.privatize(survey, "data.parquet", column="answer")
    pq.write_table(pa.table({"answer": [True]}), "data.parquet")
    with pytest.raises(dn.AlphabetError, match=r"^data\.parquet: column must hold text, integers or bytes, got bool$"):
        privatize_files(survey, "data.parquet", "answer", "s.parquet")
    with pytest.raises(dn.AlphabetError, match=rf"^data\.parquet must have one column '{SECRET}', got 'answer'$"):
        privatize_files(survey, "data.parquet", SECRET, "s.parquet")
    assert sorted(os.listdir()) == ["data.parquet", "r.parquet"], "nothing half written stays"


def test_text_that_is_no_text() -> None:
    survey = SMALL["orr-open"]
    bad = pa.array([b"a", b"\xff" + SECRET.encode(), b"b"]).view(pa.string())
    pq.write_table(pa.table({"answer": bad}), "data.parquet")
    assert privatize_files(survey, "data.parquet", "answer", "r.csv") == (2, {"answer not text or an integer": 1})
    Path("data.csv").write_bytes(b'answer\na\n""\n,\n"x\ny"\nNA\n')
    assert privatize_files(survey, "data.csv", "answer", "r.csv") == (4, {"wrong number of fields": 1})
    lines = ['{"answer": "a"}', '{"answer": 7}', '{"answer": 1.5}', '{"answer": "\\ud800"}', '{"answer": null}', "{}"]
    Path("data.jsonl").write_text("\n".join(lines))
    assert privatize_files(survey, "data.jsonl", "answer", "r.csv") == (
        2,
        {"answer not text or an integer": 2, "no answer": 2},
    )


LATIN = (
    "{} must be UTF-8 text, got bytes that are not, perhaps Latin-1 or Windows-1252; save it as UTF-8, or convert it "
    "with `iconv -f WINDOWS-1252 -t UTF-8`"
)
WIDE = "{} must be UTF-8 text, got {}; save it as UTF-8, or convert it with `iconv -f {} -t UTF-8`"


def in_another_encoding(suffix: str, encoding: str, *, header: str = "answer") -> str:
    """A file of answers; only the last of many has a letter that is not ASCII, beside a column that does not matter."""
    answers = ["tea"] * 1000 + [f"{SECRET} caf\u00e9"]
    if suffix.startswith("csv"):
        text = f"{header},note\n" + "".join(f"{answer},\u00fc\n" for answer in answers)
    else:
        text = "".join(f'{{"{header}": "{answer}", "note": "\u00fc"}}\n' for answer in answers)
    data = text.encode(encoding)
    path = f"data.{suffix}"
    Path(path).write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    return path


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "jsonl"])
@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_answers_in_another_encoding_are_refused_and_not_left_out(suffix: str, encoding: str) -> None:
    path = in_another_encoding(suffix, encoding)
    name = encoding.upper()[:6]
    sentence = LATIN.format(path) if encoding == "latin-1" else WIDE.format(path, name, name)
    refused: dict[str, int] = {}
    for privatized in (
        lambda: privatize_files(SURVEY, path, "answer", "r.csv"),
        lambda: dn.privatize(SURVEY, path, column="answer"),
        lambda: dn.privatize(SURVEY, path, column="answer", refused=refused),
    ):
        with pytest.raises(dn.DataError) as caught:
            privatized()
        assert str(caught.value) == sentence
    assert refused == {}
    assert not Path("r.csv").exists()


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_what_is_not_asked_for_may_be_in_any_encoding(suffix: str) -> None:
    path = in_another_encoding(suffix, "latin-1")
    Path(path).write_bytes(Path(path).read_bytes().replace(b"\xe9", b"e"))
    assert privatize_files(SURVEY, path, "answer", "r.csv") == (1001, {})


def test_reports_and_names_in_another_encoding() -> None:
    reports = {"csv": "cohort,response\n0,1\n", "jsonl": '{"cohort": 0, "response": 1}\n'}
    for suffix, rows in reports.items():
        for encoding in ("utf-16", "utf-16-le", "utf-32"):
            Path(f"r.{suffix}").write_bytes(rows.encode(encoding))
            name = encoding.upper()[:6]
            assert refusal(SURVEY, f"r.{suffix}") == WIDE.format(f"r.{suffix}", name, name)
            with pytest.raises(dn.DataError, match="must be UTF-8 text, got UTF"):
                dn.count(SURVEY, f"r.{suffix}", refused={})
    path = in_another_encoding("csv", "latin-1", header="gr\u00f6\u00dfe")
    with pytest.raises(dn.DataError) as caught:
        privatize_files(SURVEY, path, "gr\u00f6\u00dfe", "r.csv")
    assert str(caught.value) == LATIN.format(path)


def test_a_long_header_that_is_cut_within_a_letter() -> None:
    names = ",".join("\u00fc" * 7 + f"{number:05}" for number in range(4000))
    assert len(names.encode()) > text._HEAD
    Path("r.csv").write_text(f"cohort,response,x{names}\n0,1{',' * 4000}\n", encoding="utf-8")
    assert count_files(SURVEY, "r.csv")[0].n == 1


def test_digits_in_text_stand_for_the_integers_of_the_alphabet() -> None:
    survey = dn.krr(symbols=[0, 1, "1", "x"], epsilon=40, other="else")  # at epsilon 40 nobody lies
    Path("data.csv").write_text("answer\n0\n1\n1\nx\n2\n00\n")
    privatize_files(survey, "data.csv", "answer", "r.parquet")
    assert dn.count(survey, "r.parquet").counts.tolist() == [[1, 0, 2, 1, 2]]
    plain = dn.krr(symbols=3, epsilon=40)
    Path("data.tsv").write_text("n\tanswer\n7\t0\n7\t2\n7\t3\n7\t2\n")
    assert privatize_files(plain, "data.tsv", "answer", "r.parquet") == (3, {"answer not in the alphabet": 1})
    assert dn.count(plain, "r.parquet").counts.tolist() == [[1, 0, 2]]
    Path("data.jsonl").write_text('{"answer": 0}\n{"answer": 2}\n{"answer": "2"}\n')
    assert privatize_files(plain, "data.jsonl", "answer", "r.parquet") == (3, {})
    assert dn.count(plain, "r.parquet").counts.tolist() == [[1, 0, 2]]


def test_columns_with_rows_left_out() -> None:
    survey = SMALL["krr"]
    refused: dict[str, int] = {}
    assert len(dn.privatize(survey, ["a", None, SECRET, "d"], refused=refused)) == 2
    assert refused == {"no answer": 1, "answer not in the alphabet": 1}
    assert len(dn.privatize(survey, pa.DictionaryArray.from_arrays([0, 1, 1], ["a", None]), refused=refused)) == 1
    assert refused == {"no answer": 3, "answer not in the alphabet": 1}
    assert len(dn.privatize(survey, [], refused=refused)) == 0
    with pytest.raises(
        dn.AlphabetError, match="column must be of one type where rows may be left out, got several; make it all text"
    ):
        dn.privatize(survey, ["a", 7], refused=refused)
    with pytest.raises(dn.AlphabetError, match="data must have one column 'x', got 'answer'"):
        dn.privatize(survey, pa.table({"answer": ["a"]}), column="x")
    with pytest.raises(
        dn.AlphabetError, match="cohorts must not be given with column= or refused=; pass the column itself"
    ):
        dn.privatize(survey, ["a"], cohorts=[0], refused=refused)


@pytest.mark.parametrize("path", ["reports", "reports.txt", "reports.parquet.gz", "reports.tsv", "reports.gz"])
def test_outputs_of_no_known_format(path: str) -> None:
    with pytest.raises(dn.DataError) as caught:
        output_format(path)
    assert str(caught.value) == (
        f"{path} must end in .parquet, .arrow, .csv or .jsonl (the last two also with .gz or .zst), "
        "so that the format is known"
    )


def test_an_output_is_whole_or_not_there() -> None:
    Path("r.parquet").write_text("what was there")

    def halfway() -> None:
        with report_writer(SURVEY, "r.parquet") as writing:
            writing(some_reports(SURVEY))
            raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        halfway()
    assert Path("r.parquet").read_text() == "what was there"
    assert os.listdir() == ["r.parquet"]
    with pytest.raises(FileNotFoundError) as caught, report_writer(SURVEY, "nowhere/r.csv"):
        pass
    assert caught.value.filename == "nowhere/r.csv"


def test_what_another_thread_raises_is_raised_here() -> None:
    def items() -> Any:
        yield 1
        raise ZeroDivisionError

    found = ahead(items())
    assert next(found) == 1
    with pytest.raises(ZeroDivisionError):
        next(found)
    endless = ahead(number for number in iter(int, 1))
    assert next(endless) == 0
    endless.close()


def test_what_a_file_of_reports_says_about_itself() -> None:
    write(some_reports(SURVEY), Path("r.parquet"))
    metadata = pq.read_schema("r.parquet").metadata
    assert metadata[b"deniable.survey"].decode() == SURVEY.digest
    assert dn.Survey.from_json(metadata[b"deniable.survey.json"]) == SURVEY
    assert json.loads(metadata[b"deniable.survey.json"])["digest"] == SURVEY.digest

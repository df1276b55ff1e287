"""What bulk columns refuse, and that no sentence shows an answer."""

import traceback
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.columns import BatchCounter, counting
from deniable.columns.encode import cell_table, cells_at, keys_of
from deniable.columns.randomizing import bitflip_block
from deniable.columns.stream import WordStream
from deniable.mechanisms import BitFlip
from tests.reports import count_bits, count_cells
from tests.surveys import SMALL

SECRET = "my secret answer"


def test_a_column_of_free_text_says_how_to_learn_what_is_wrong() -> None:
    """An open alphabet has no symbol for all others; `key` has the reason, and shows no answer."""
    survey = dn.discovery(epsilon=1, length=4, overlong="refuse", seed=bytes(16))
    sentence = (
        "column must hold only symbols that the survey can encode, got 2 rows that it cannot; filter them; survey.key "
        "says why"
    )
    with pytest.raises(dn.AlphabetError, match=f"^{sentence}$"):
        dn.privatize(survey, ["lynx", "a longer text", "\u00e9\u00e9\u00e9"])


@pytest.mark.parametrize(
    ("column", "sentence"),
    [
        (["a", SECRET, SECRET], "column must hold only symbols that the survey can encode, got 2 rows that it cannot"),
        (["a", None], "column must not have missing answers, got 1"),
        (pa.array(["a", None]), "column must not have missing answers, got 1"),
        (np.ma.array(["a", "b"], mask=[False, True]), "column must not have missing answers, got 1"),
        (pa.array([0.5]), "column must hold text, integers or bytes, got double"),
        (np.array([["a"]]), "column must have one dimension, got 2"),
        (["a", 2.5], "got 1 row that it cannot"),
        (["a", SECRET, None], "column must not have missing answers, got 1"),
        (["a", 5, None], "column must not have missing answers, got 1"),
        ([7], "got 1 row that it cannot"),
        (np.array([True]), "column must hold text, integers or bytes, got bool"),
        (
            pa.DictionaryArray.from_arrays([0, 1], ["a", None]),
            "column must not have missing answers in its dictionary; drop them or give them a symbol",
        ),
    ],
)
def test_bad_columns(column: Any, sentence: str) -> None:
    with pytest.raises(dn.AlphabetError) as caught:
        dn.privatize(SMALL["krr"], column)
    assert sentence in str(caught.value)
    shown = f"{caught.value!r}{caught.value.__cause__!r}"
    assert SECRET not in shown
    assert "secret" not in str(caught.value)


def test_a_dictionary_may_hold_unused_values() -> None:
    column = pa.DictionaryArray.from_arrays([0, 0, 2], ["a", SECRET, "b"])
    assert len(dn.privatize(SMALL["krr"], column)) == 3


def test_the_catch_all_takes_anything_else() -> None:
    survey = SMALL["krr-other"]
    assert dn.count(survey, dn.privatize(survey, [0, 1, 2, "else", "who knows", 99, b"x"])).n == 7
    assert dn.count(survey, dn.privatize(survey, np.array([0, 1, 2, 77]))).n == 4


def test_text_is_normalised() -> None:
    survey = dn.krr(symbols=["é", "x"], epsilon=30)
    table = dn.privatize(survey, ["é", "é", "x"])
    assert dn.count(survey, table).counts.tolist() == [[2, 1]]


def test_integers_of_every_size() -> None:
    low, high = -(2**63), 2**63 - 1
    survey = dn.krr(symbols=[low, 0, high, 2**64 - 1, 2**70], epsilon=30)
    for column in (np.array([low, 0, high]), np.array([2**64 - 1], np.uint64), [2**70, 0], np.array([0], np.int8)):
        assert dn.count(survey, dn.privatize(survey, column)).n == len(column)


def test_an_empty_column_gives_an_empty_table() -> None:
    for survey in SMALL.values():
        assert dn.count(survey, dn.privatize(survey, [])).n == 0
        assert dn.count(survey, []).n == 0


def test_cohorts_must_fit_the_rows() -> None:
    for cohorts in ([0.5, 1.5, 0], [[0, 0, 0]]):
        with pytest.raises(dn.SurveyError, match="cohorts must be integers, one a row, got"):
            dn.privatize(SMALL["orr-open"], ["a", "b", "c"], cohorts=cohorts)
    with pytest.raises(dn.SurveyError, match="cohorts must be 3 integers, one a row, got 2"):
        dn.privatize(SMALL["orr-open"], ["a", "b", "c"], cohorts=[0, 1])


def test_long_text_is_shared_out_and_put_together(monkeypatch: pytest.MonkeyPatch) -> None:
    import deniable.columns.randomizing as room

    monkeypatch.setattr(room, "_CHUNK", 100)
    survey = dn.orr(symbols=["a", "b", "é"], epsilon=40, cells=3, cohorts=4, seed=bytes(16))
    answers = ["a", "b", "e\u0301"] * 350
    cohorts = np.arange(1050) % 4
    table = dn.privatize(survey, pa.array(answers), cohorts=cohorts)
    assert np.array_equal(table.cohorts, cohorts)
    # At epsilon 40 a lie is one in 10**17, so the order of the rows can be seen.
    assert [(r.response,) for r in table] == [survey.encode(c % 4, a) for c, a in enumerate(answers)]
    with pytest.raises(dn.AlphabetError, match="got 350 rows that it cannot"):
        dn.privatize(survey, pa.array(["a", "b", SECRET] * 350))
    with pytest.raises(dn.AlphabetError, match="must not have missing answers, got 1"):
        dn.privatize(survey, pa.array([*answers, None]))


def test_cohorts_must_exist() -> None:
    with pytest.raises(dn.SurveyError, match="cohorts must be from 0 to 2, got 3 to 3"):
        dn.privatize(SMALL["orr-open"], ["a"], cohorts=[3])


def test_counting_refuses_what_no_client_sends() -> None:
    bits = np.array([[8], [0], [7]], np.uint8)
    for name, cohorts, responses, told in [
        ("krr", np.zeros(3, int), np.array([4, 3, -1]), r"2 rows that are not \(2 response out of range\)"),
        ("krr", np.array([0, 1]), np.array([0, 0]), r"1 row that is not \(1 cohort out of range\)"),
        ("krappor", np.zeros(3, int), bits, r"1 row that is not \(1 response that the mechanism cannot produce\)"),
    ]:
        table = dn.ReportTable(SMALL[name], cohorts, responses)
        tally, refused = dn.Tally(SMALL[name]), dict[str, int]()
        with pytest.raises(dn.WireError, match=f"reports must all be ones that the survey's clients send, got {told}"):
            tally.accumulate(table)
        assert tally.n == 0
        assert dn.count(SMALL[name], table, refused=refused).n == len(table) - sum(refused.values())
        assert sum(refused.values()) == int(told[0])


def test_many_blocks_are_one_count(monkeypatch: pytest.MonkeyPatch) -> None:
    import deniable.columns.counting as room

    rng = np.random.default_rng(0)
    cohorts, cells = rng.integers(0, 5, 10_000), rng.integers(0, 7, 10_000)
    packed = rng.integers(0, 256, (10_000, 2)).astype(np.uint8)
    whole = count_cells(cohorts, cells, 5, 7), count_bits(cohorts, packed, 5, 16)
    monkeypatch.setattr(room, "_BLOCK", 100)
    again = count_cells(cohorts, cells, 5, 7), count_bits(cohorts, packed, 5, 16)
    for a, b in zip(whole, again, strict=True):
        assert np.array_equal(a[0], b[0])
        assert np.array_equal(a[1], b[1])
    naive = np.zeros((5, 16), int)
    np.add.at(naive, cohorts, np.unpackbits(packed, axis=1, bitorder="little").astype(int))
    assert np.array_equal(whole[1][0], naive)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (pa.table({"response": [1, None]}), "got 1 row that is not (1 no response); pass refused={} to count them"),
        (pa.table({"reply": [1]}), "report table must have the columns 'cohort' and 'response', got"),
        (pa.table({"response": [1.5]}), "column 'response' must hold integers, got double"),
        (pa.table({"response": ["a"]}), "column 'response' must hold integers, got string"),
    ],
)
def test_bad_report_tables(table: Any, sentence: str) -> None:
    with pytest.raises(dn.WireError) as caught:
        dn.count(SMALL["krr"], table)
    assert sentence in str(caught.value)


def test_report_tables_of_another_survey() -> None:
    table = dn.privatize(SMALL["warner"], ["no"]).to_arrow()
    with pytest.raises(dn.WireError, match="report table must be for survey"):
        dn.count(SMALL["krr"], table)
    with pytest.raises(dn.WireError, match="columns 'cohort' and 'response'"):
        dn.count(SMALL["orr-open"], pa.table({"response": [1]}))
    assert dn.count(SMALL["krr"], pa.table({"response": [1, 2]})).n == 2


def test_bit_tables_must_be_bytes() -> None:
    survey = SMALL["krappor"]
    with pytest.raises(dn.WireError, match="column 'response' must be binary of 1 bytes"):
        dn.count(survey, pa.table({"response": [1]}))
    assert dn.count(survey, pa.table({"response": [b"\x01", b"\x07"]})).counts.tolist() == [[2, 1, 1]]
    with pytest.raises(dn.WireError, match=r"got 1 row that is not \(1 response of another length\)"):
        dn.count(survey, pa.table({"response": [b"\x01\x02"]}))


@pytest.mark.parametrize("reports", [7, {"response": [1]}, 2.5])
def test_other_things_are_not_reports(reports: Any) -> None:
    with pytest.raises(dn.WireError, match="reports must be a report table, an Arrow table, or reports, got"):
        dn.count(SMALL["krr"], reports)


def test_a_report_table_checks_its_shape() -> None:
    survey = SMALL["krr"]
    with pytest.raises(dn.WireError, match=r"responses must have shape \(2,\), got \(1,\)"):
        dn.ReportTable(survey, np.zeros(2, np.uint8), np.zeros(1, np.uint8))
    with pytest.raises(dn.WireError, match="report columns must be integers, got uint8 and float64"):
        dn.ReportTable(survey, np.zeros(1, np.uint8), np.zeros(1))  # type: ignore[arg-type]


def test_code_for_columns_is_complete_or_says_so() -> None:
    """Only a kind of encoding or mechanism that no column code knows, or a broken cipher, can get this far."""
    survey = SMALL["krr"]
    strange: Any = object()
    with pytest.raises(TypeError, match=r"object has no table; register one with deniable.columns.encode.tables.add"):
        cell_table(strange, np.zeros(1, np.uint64))
    with pytest.raises(TypeError, match=r"object has no column code; register one with deniable.columns.encode.enc"):
        cells_at(strange, np.zeros(1, int), np.zeros(1, np.uint64))
    bits = SMALL["krappor"].mechanism
    assert isinstance(bits, BitFlip)
    with pytest.raises(RuntimeError, match="words must be one for each bit, got"):
        bitflip_block(bits, np.zeros((2, 1), int), np.zeros((2, 1), np.uint64))
    with pytest.raises(dn.AlphabetError, match="every symbol must be one that the survey can encode: symbol is not in"):
        keys_of(survey, ["a", SECRET])
    stream = WordStream()
    stream._cipher = cast(Any, Lazy())
    with pytest.raises(RuntimeError, match="the cipher must fill the whole block"):
        stream.words(2)


class Lazy:
    """A cipher that fills half of what it is asked to."""

    def update_into(self, data: bytes, into: memoryview) -> int:
        return len(data) // 2


def shown(problem: BaseException) -> str:
    """Everything that a traceback, a logger or a debugger would print of an error, chained ones included."""
    found, seen = "".join(traceback.format_exception(problem)), problem
    while seen is not None:
        found += repr(vars(seen)) + repr(getattr(seen, "object", "")) + repr(seen.args)
        seen = seen.__cause__ or seen.__context__  # type: ignore[assignment]
    return found


@pytest.mark.parametrize(
    "column",
    [
        [1, SECRET],
        [SECRET, 1, None],
        [f"{SECRET}\ud83d"],
        np.array([f"{SECRET}\ud83d", "a"]),
        [SECRET, 2**70],
        [SECRET, ["a"]],
        (value for value in ["a", SECRET]),
        {SECRET: 1},
        SECRET,
        SECRET.encode(),
        memoryview(SECRET.encode()),
        {SECRET},
    ],
)
def test_no_error_of_ours_or_of_arrow_holds_an_answer(column: Any) -> None:
    with pytest.raises(dn.AlphabetError) as caught:
        dn.privatize(SMALL["krr"], column)
    assert caught.value.__context__ is None
    assert "secret answer" not in shown(caught.value).replace(repr(__file__), "")


def test_what_is_not_a_column_is_refused() -> None:
    for thing in ("yes", b"yes", {"yes": 1}, {"yes"}):
        with pytest.raises(dn.AlphabetError, match="column must be a column of answers, got one"):
            dn.privatize(SMALL["orr-open"], thing)
    with pytest.raises(dn.AlphabetError, match="column must be a column of answers, got int"):
        dn.privatize(SMALL["orr-open"], 5)


def test_an_iterator_is_read_once_and_whole() -> None:
    survey = SMALL["orr-open"]
    for column in ((x for x in [1, "a", 2]), iter(["a", "b", "c"]), map(str, range(3)), ("a", "b", "c"), range(3)):
        assert len(dn.privatize(survey, column)) == 3


def test_a_catch_all_takes_in_bulk_what_it_takes_one_at_a_time() -> None:
    survey = SMALL["krr-other"]
    for column in (
        [2.5, True],
        np.array([0.5, 1.5]),
        np.array([True]),
        ["\ud800", 1],
        [["a"], {}],
        [("x", ["y"]), 1],
        pa.array([1.5]),
    ):
        assert dn.count(survey, dn.privatize(survey, column)).n == len(column)


def test_columns_that_speak_the_arrow_interface() -> None:
    class Frame:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pa.chunked_array([["a", "b"], ["c"]]).__arrow_c_stream__(requested_schema)

    assert len(dn.privatize(SMALL["krr"], Frame())) == 3


def test_report_tables_are_checked_at_the_door() -> None:
    bits, krr = SMALL["krappor"], SMALL["krr"]
    with pytest.raises(dn.WireError, match="responses must be packed bits of type uint8, got int64"):
        dn.ReportTable(bits, np.zeros(1, np.uint8), np.array([[300]]))
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["response", "response"])
    with pytest.raises(dn.WireError, match="report table must have one column of each name, got"):
        dn.count(krr, twice)
    foreign = pa.table({"response": [1]}).replace_schema_metadata({b"deniable.survey": b"\xff\xfe"})
    with pytest.raises(dn.WireError, match="report table must be for survey"):
        dn.count(krr, foreign)
    large = pa.table({"response": pa.array([b"\x01"], pa.large_binary())})
    assert dn.count(bits, large).n == 1


class Series:
    """A column of another library whose way into Arrow fails with an answer in its message."""

    def __init__(self, values: list[object], name: str) -> None:
        self.values = values
        setattr(type(self), name, self.fail)

    def fail(self, *_: object, **__: object) -> Any:
        raise pa.ArrowInvalid(f"Could not convert {self.values[-1]!r}")

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Any:
        return iter(self.values)


@pytest.mark.parametrize("name", ["__arrow_c_stream__", "__arrow_c_array__", "__arrow_array__"])
def test_columns_of_other_libraries_do_not_speak_for_us(name: str) -> None:
    kind = type("Other", (Series,), {})
    with pytest.raises(dn.AlphabetError) as caught:
        dn.privatize(SMALL["krr"], kind([1, SECRET], name))
    assert caught.value.__context__ is None
    assert "secret answer" not in shown(caught.value)
    assert len(dn.privatize(SMALL["orr-open"], kind([1, SECRET], name))) == 2


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_every_layout_of_text(kind: pa.DataType) -> None:
    survey = dn.krr(symbols=["a", "\u00e9", b"xy"], epsilon=40)
    column = pa.array(["a", "e\u0301", "\u00e9"], kind)
    for shape in (column, pa.chunked_array([column.slice(0, 1), column.slice(1)])):
        assert dn.count(survey, dn.privatize(survey, shape)).counts.tolist() == [[1, 2, 0]]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(2)], ids=str)
def test_every_layout_of_bytes(kind: pa.DataType) -> None:
    survey = dn.krr(symbols=["xy", b"xy", b"zz"], epsilon=40)
    assert dn.count(survey, dn.privatize(survey, pa.array([b"xy", b"zz", b"xy"], kind))).counts.tolist() == [[0, 2, 1]]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_every_type_of_code(kind: Any) -> None:
    for survey in (dn.krr(symbols=5, epsilon=40), dn.orr(symbols=5, epsilon=40, cells=4, cohorts=3)):
        codes = np.arange(50).astype(kind) % kind(5)
        table = dn.privatize(survey, codes)
        expected = [survey.encode(r.cohort, int(c)) for r, c in zip(table, codes, strict=True)]
        assert [(r.response,) for r in table] == expected


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.int64])
@pytest.mark.parametrize(("cohorts", "columns"), [(1, 65_536), (2, 32_768), (300, 300), (1, 70_000)])
def test_many_cells_are_counted_in_blocks_and_the_rest_beside_them(
    cohorts: int, columns: int, kind: type[np.integer[Any]]
) -> None:
    rng = np.random.default_rng(columns)
    for rows in (0, 1, 70_000, counting._ROWS, 2 * counting._ROWS + 70_001):
        of = rng.integers(0, cohorts, rows).astype(kind)
        cells = rng.integers(0, min(columns, 65_536), rows).astype(kind)
        index = of.astype(np.int64) * columns + cells
        wanted = np.bincount(index, minlength=cohorts * columns).reshape(cohorts, columns)
        np.testing.assert_array_equal(count_cells(of, cells, cohorts, columns)[0], wanted)


def test_batches_are_counted_together_whatever_their_sizes() -> None:
    """Two counters at once, in one thread: each has a matrix of its own, and goes on after a tally."""
    rng = np.random.default_rng(3)
    survey = dn.orr(symbols=5, epsilon=1, cells=300, cohorts=300, seed=bytes(16))
    counters = [BatchCounter(survey, gather=True) for _ in range(2)]
    wanted = np.zeros((2, 300, 300), np.int64)
    for rows in (70_000, 3, counting._ROWS - 70_002, 0, 2 * counting._ROWS + 5, 65_536):
        for counter, sums in zip(counters, wanted, strict=True):
            of, cells = rng.integers(0, 300, (2, rows)).astype(np.uint16)
            counter.add_arrays(of, cells)
            np.add.at(sums, (of, cells), 1)
        np.testing.assert_array_equal(counters[0].tally().counts, wanted[0])
    np.testing.assert_array_equal(counters[1].tally().counts, wanted[1])


def test_threads_count_apart() -> None:
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 300, counting._ROWS) for _ in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda cells: count_cells(cells, cells, 300, 300)[0], columns))
    for cells, counts in zip(columns, found, strict=True):
        np.testing.assert_array_equal(counts, np.diag(np.bincount(cells, minlength=300)))

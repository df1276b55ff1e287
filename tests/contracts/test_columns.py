"""The column code is the one-at-a-time code, value by value."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.columns.designs import design_block
from deniable.columns.encode import cell_table, cells_at, keys_of, scale
from deniable.columns.randomizing import (
    bitflip_block,
    chain_block,
    chain_limits,
    krr_block,
    subset_block,
    subset_limits,
)
from deniable.columns.stream import WordStream
from deniable.columns.table_lookup import table_block
from deniable.mechanisms import (
    KRR,
    BitFlip,
    Blocks,
    Budgets,
    Chain,
    Channel,
    HandRun,
    Mechanism,
    Sensitive,
    SensitiveDesign,
    Subset,
    WeightTable,
)
from deniable.survey import Direct, Encoding, Hadamard, Hashed, Neighbours, Permuted, Prefixes, Projective, Survey
from tests.exact.scripted import ScriptedEntropy
from tests.surveys import LARGE, SEED, SMALL, kinds, named, symbols_of

ALL = {**{f"small-{k}": v for k, v in SMALL.items()}, **{f"large-{k}": v for k, v in LARGE.items()}}
MORE = {
    "wide-permutations": dn.orr(symbols=300, epsilon=1, cells=7, cohorts=5, seed=SEED),
    "prime-bloom": dn.orappor(symbols=17, epsilon=1, cells=5, cohorts=3, hashes=4, seed=SEED),
    "more-cells-than-symbols": dn.orr(symbols=9, epsilon=1, cells=64, cohorts=4, seed=SEED),
    "hadamard-rows": dn.hadamard(symbols=300, epsilon=1),
    "hadamard-many-blocks": dn.hadamard(symbols=300, epsilon=4, blocks=37),
    "hadamard-pairs": dn.hadamard(symbols=9, epsilon=4, blocks=9),
    "projective-solid": dn.projective(symbols=40, epsilon=1, order=3, dimension=4),
    "projective-wide": dn.projective(symbols=300, epsilon=3, order=17, dimension=3),
    "two-symbols": dn.orr(symbols=2, epsilon=1, cells=2, cohorts=6, seed=SEED),
}


ENCODINGS = {Direct, Hadamard, Hashed, Neighbours, Permuted, Prefixes, Projective}


def test_every_kind_is_covered() -> None:
    surveys = (ALL | MORE).values()
    assert {type(s.encoding) for s in surveys} == kinds(Encoding) == ENCODINGS
    tables = {Sensitive, SensitiveDesign, Blocks, Budgets, WeightTable}
    # People roll the dice of a design that is run by hand: nothing here randomises for them.
    ours = kinds(Mechanism) - {HandRun}
    assert {type(s.mechanism) for s in surveys} == ours == {KRR, BitFlip, Chain, Subset, *tables}


@pytest.mark.parametrize("survey", (ALL | MORE).values(), ids=(ALL | MORE).keys())
def test_cells_are_the_clients(survey: Survey) -> None:
    symbols = symbols_of(survey, 30)
    keys = keys_of(survey, symbols)
    table = cell_table(survey.encoding, keys)
    assert table.shape == (survey.cohorts, survey.hashes, len(symbols))
    for cohort in range(survey.cohorts):
        at = cells_at(survey.encoding, np.full(len(symbols), cohort), keys)
        for place, symbol in enumerate(symbols):
            expected = survey.encode(cohort, symbol)
            assert tuple(sorted(c for c in table[cohort, :, place].tolist() if c < survey.cells)) == expected
            assert tuple(sorted(c for c in at[place].tolist() if c < survey.cells)) == expected


@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL.keys())
def test_responses_are_the_clients_for_the_same_words(survey: Survey) -> None:
    mechanism = survey.mechanism.permanent
    rng = np.random.default_rng(5)
    edges = [0, 2**64 - 1]
    for threshold in mechanism.thresholds().values():
        edges += [edge for edge in (threshold - 1, threshold, threshold + 1) if edge < 2**64]
    symbols = symbols_of(survey)
    for place, symbol in enumerate(symbols):
        cells = survey.encode(place % survey.cohorts, symbol)
        if isinstance(mechanism, KRR):
            s = mechanism.occupied
            blocks = [(i + 1) * mechanism.keep for i in range(s)]
            blocks += [s * mechanism.keep + i * mechanism.other for i in range(mechanism.cells - s)]
            words = np.array(edges + blocks + [b - 1 for b in blocks], np.uint64)
            words = np.concatenate([words, rng.integers(0, 2**64, 200, np.uint64, endpoint=False)])
            if s > 1:
                keys = np.full(len(words), survey.key(symbol), np.uint64)
                got = design_block(mechanism, survey.encoding, keys, words).tolist()
            else:
                got = krr_block(mechanism, np.full(len(words), cells[0], np.uint8), words.copy()).tolist()
            assert got == [mechanism.randomize(cells, ScriptedEntropy(64, [int(w)])) for w in words]
        elif isinstance(mechanism, Channel):
            starts = [mechanism.edge(cells[0], column) for column in range(mechanism.columns)]
            near = [start + d for start in starts for d in (-1, 0, 1) if 0 <= start + d < 2**64]
            words = np.array(edges + near, np.uint64)
            words = np.concatenate([words, rng.integers(0, 2**64, 200, np.uint64, endpoint=False)])
            got = table_block(mechanism, np.full(len(words), cells[0], np.uint8), words).tolist()
            assert got == [mechanism.randomize(cells, ScriptedEntropy(64, [int(w)])) for w in words]
        elif isinstance(mechanism, BitFlip):
            rows = rng.choice(np.array(edges, np.uint64), (100, mechanism.cells))
            occupied = np.tile(np.array([*cells, mechanism.cells]), (len(rows), 1))
            packed = bitflip_block(mechanism, occupied, rows)
            got = [int.from_bytes(row.tobytes(), "little") for row in packed]
            assert got == [mechanism.randomize(cells, ScriptedEntropy(64, [int(w) for w in row])) for row in rows]
        else:
            assert isinstance(mechanism, Subset)
            rows = rng.integers(0, subset_limits(mechanism).min(), (300, mechanism.size + 1), np.uint64)
            rows[: len(edges), 0] = edges
            rows[: len(edges), 1] = subset_limits(mechanism)[0] - np.uint64(1)
            packed = subset_block(mechanism, np.full(len(rows), cells[0], np.int32), rows)
            got = [int.from_bytes(row.tobytes(), "little") for row in packed]
            assert got == [mechanism.randomize(cells, ScriptedEntropy(64, [int(w) for w in row])) for row in rows]


DESIGNS = {
    **{name: survey for name, survey in MORE.items() if name.startswith(("hadamard-", "projective-"))},
    "projective-of-bits": dn.projective(symbols=300, epsilon="0.5", order=2, dimension=9),
    "projective-cut-short": dn.projective(symbols=90, epsilon=1, order=5, dimension=4),
}


@pytest.mark.parametrize("survey", DESIGNS.values(), ids=DESIGNS.keys())
def test_a_cell_that_is_worked_out_is_the_one_in_the_list(survey: Survey) -> None:
    """Every answer, and of each a word inside every block: all places among its own cells and among the others."""
    mechanism = survey.mechanism
    assert isinstance(mechanism, KRR)
    s, rest = mechanism.occupied, mechanism.cells - mechanism.occupied
    words = np.array([i * mechanism.keep + 1 for i in range(s)], np.uint64)
    words = np.append(words, np.array([s * mechanism.keep + i * mechanism.other for i in range(rest)], np.uint64))
    for key in range(0, len(survey.alphabet), 7):
        own = survey.encoding.encode(0, key)
        others = sorted(set(range(mechanism.cells)) - set(own))
        keys = np.full(len(words), key, np.uint64)
        assert design_block(mechanism, survey.encoding, keys, words).tolist() == [*own, *others]


def test_columns_know_no_other_designs() -> None:
    survey, krr = dn.orr(epsilon=1, cells=4, cohorts=2), KRR(4, 1, occupied=2)
    with pytest.raises(TypeError, match=r"Hashed has no cell at a place; register one with deniable.columns.designs.p"):
        design_block(krr, survey.encoding, np.zeros(1, np.uint64), np.zeros(1, np.uint64))


AGAIN = {name: survey for name, survey in SMALL.items() if isinstance(survey.mechanism, Chain)}


@pytest.mark.parametrize("survey", AGAIN.values(), ids=AGAIN.keys())
def test_second_stages_are_the_clients_for_the_same_words(survey: Survey) -> None:
    mechanism, rng = survey.mechanism, np.random.default_rng(6)
    assert isinstance(mechanism, Chain)
    edges = [0, 2**64 - 1, *(t + d for t in mechanism.report_thresholds().values() for d in (-1, 0, 1))]
    for response in filter(mechanism.allows, range(mechanism.outputs)):
        if mechanism.one_column:
            keep, other = mechanism.report_thresholds().values()
            edges += [keep + i * other - d for i in range(1, mechanism.cells - 1) for d in (0, 1)]
            rows = np.array(edges, np.uint64)[:, None]
            responses = np.full(len(rows), response, np.uint8)
        elif mechanism.hits is None:
            rows = rng.choice(np.array(edges, np.uint64), (50, mechanism.cells))
            responses = np.full((len(rows), 1), response, np.uint8)
        else:
            rows = rng.integers(0, chain_limits(mechanism).min(), (50, mechanism.hits + 1), np.uint64)
            rows[: len(edges), 0] = edges
            responses = np.full((len(rows), 1), response, np.uint8)
        sent = chain_block(mechanism, responses, rows.flatten())
        got = [int.from_bytes(row.tobytes(), "little") for row in sent]
        assert got == [mechanism.refresh(response, ScriptedEntropy(64, [int(w) for w in row])) for row in rows]


def test_the_limits_of_second_stages_are_those_of_all_cells() -> None:
    survey = dn.subset(symbols=7, epsilon=2, epsilon_report=1, size=3)
    assert isinstance(survey.mechanism, Chain)
    limits = chain_limits(survey.mechanism).tolist()
    assert limits == [2**64 - 2**64 % 7, 2**64 - 2**64 % 6, 2**64 - 2**64 % 5]


def test_a_row_of_sets_with_a_word_to_reject_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of five cells are 4 and 3: 2**64 - 1 is the one word that 3 must reject."""
    survey = dn.subset(symbols=5, epsilon=1, size=2)
    mechanism = survey.mechanism
    assert isinstance(mechanism, Subset)
    limits = subset_limits(mechanism).tolist()
    assert limits == [2**64 - 4, 2**64 - 1]
    assert [limit % bound for limit, bound in zip(limits, (4, 3), strict=True)] == [0, 0]
    script = [[0, 1, 2**64 - 1, 2**63, 2, 5], [7, 3, 4]]  # two rows, then the first of them again
    draws = iter(np.array(row, np.uint64) for row in script)
    monkeypatch.setattr(WordStream, "words", lambda self, count: next(draws))
    got = [report.response for report in dn.privatize(survey, np.array([3, 0]))]
    assert got == [
        mechanism.randomize((3,), ScriptedEntropy(64, [7, 3, 4])),
        mechanism.randomize((0,), ScriptedEntropy(64, [2**63, 2, 5])),
    ]
    assert next(draws, None) is None


@pytest.mark.parametrize("survey", (ALL | MORE).values(), ids=(ALL | MORE).keys())
def test_counting_columns_is_counting_reports(survey: Survey) -> None:
    symbols = symbols_of(survey, 30)
    column: Any = [symbols[i % len(symbols)] for i in range(500)]
    table = dn.privatize(survey, column)
    by_column, by_report = dn.count(survey, table), dn.Tally(survey)
    by_report.accumulate(iter(table))
    packed = dn.Tally(survey)
    packed.accumulate(report.pack() for report in table)
    arrow = dn.count(survey, table.to_arrow())
    batches = dn.count(survey, table.to_arrow().to_batches(max_chunksize=77))
    assert by_column == by_report == packed == arrow == batches
    assert by_column.n == 500


@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL.keys())
def test_every_shape_of_column_gives_reports(survey: Survey) -> None:
    symbols = symbols_of(survey)
    if len({type(s) for s in symbols}) > 1:
        shapes: list[Any] = [list(symbols) * 10]
    else:
        arrow = pa.array(list(symbols) * 10)
        shapes = [list(symbols) * 10, arrow, arrow.dictionary_encode(), pa.chunked_array([arrow, arrow])[10:40]]
        shapes += [np.array(list(symbols) * 10), np.array(list(symbols) * 10, object)]
    for column in shapes:
        assert dn.count(survey, dn.privatize(survey, column)).n == len(column)


def test_given_cohorts_are_kept() -> None:
    survey = SMALL["orr-open"]
    cohorts = np.array([2, 0, 1, 1])
    assert dn.privatize(survey, ["a", "b", "c", "d"], cohorts=cohorts).cohorts.tolist() == [2, 0, 1, 1]


def test_a_table_too_large_to_tabulate_takes_the_other_path(monkeypatch: pytest.MonkeyPatch) -> None:
    import deniable.columns.randomizing as room

    monkeypatch.setattr(room, "_TABLE", 0)
    for survey in LARGE.values():
        # Noise that never acts shows the cells themselves.
        column = [symbols_of(survey, 40)[i] for i in range(40)]
        monkeypatch.setattr(WordStream, "words", lambda self, count: np.full(count, 2**64 - 1, np.uint64))
        if isinstance(survey.mechanism.permanent, BitFlip):
            for report, symbol in zip(dn.privatize(survey, column), column, strict=True):
                assert tuple(survey.mechanism.columns_hit(report.response)) == survey.encode(report.cohort, symbol)
        for source in ("words", "passing"):
            monkeypatch.setattr(WordStream, source, lambda self, count: np.zeros(count, np.uint64))
        if isinstance(survey.mechanism.permanent, KRR):
            for report, symbol in zip(dn.privatize(survey, column), column, strict=True):
                assert report.response == survey.encode(report.cohort, symbol)[0]
        if isinstance(survey.mechanism.permanent, Subset):
            for report, symbol in zip(dn.privatize(survey, column), column, strict=True):
                assert set(survey.encode(0, symbol)) <= set(survey.mechanism.columns_hit(report.response))


def test_named_symbols_are_for_open_surveys_only() -> None:
    assert [bool(named(s)) for s in (SMALL["orr-open"], SMALL["krr"])] == [True, False]


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 255, 256, 4096, 16384, 2**24, 2**32 - 1, 2**32])
def test_scaling_is_exact_at_every_edge(bound: int) -> None:
    """floor(word * bound / 2**64) in 64-bit arithmetic, where one bit decides: just below and at each cell's edge."""
    cells = sorted({0, 1, bound // 2, bound - 1} | {bound * i // 7 for i in range(7)})
    edges = {-(-(cell << 64) // bound) for cell in cells} | {2**64 - 1}
    words = sorted({word for edge in edges for word in (edge - 1, edge, edge + 1) if 0 <= word < 2**64})
    assert scale(np.array(words, np.uint64), bound).tolist() == [word * bound >> 64 for word in words]


class ScriptedStream(WordStream):
    """A stream that hands out given 32-bit words."""

    def __init__(self, words: list[int]) -> None:
        self.script = list(words)

    def _fill(self, array: Any) -> None:
        array[:], self.script = self.script[: len(array)], self.script[len(array) :]


def test_bulk_cohorts_redraw_what_would_bias_them() -> None:
    limit = 2**32 - 2**32 % 10
    stream = ScriptedStream([7, limit, 2**32 - 1, limit - 1, 2**32 - 2, 13, 4])
    assert stream.uniform_below(10, 4).tolist() == [7, 4, 3, 9]
    assert stream.script == []
    assert ScriptedStream([2**32 - 1, 0]).uniform_below(8, 2).tolist() == [7, 0]

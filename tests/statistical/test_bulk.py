"""The joint law of bulk reports, cohort and payload together, against the client's exact channel."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

import deniable as dn
import deniable.columns.randomizing as room
from deniable.columns.designs import design_block as room_design
from deniable.columns.stream import WordStream
from deniable.mechanisms import KRR, BitFlip, Chain, Subset
from deniable.survey import Encoding, Survey
from tests.exact.laws import published
from tests.statistical.harness import accept, binomial_p_value, law_p_value, reject
from tests.surveys import SMALL, symbols_of

N = 200_000


def bulk_p_value(survey: Survey, symbol: object) -> float:
    table = dn.privatize(survey, [symbol] * N)
    codes = table.responses if table.responses.ndim == 1 else table.responses[:, 0]
    joint = Counter(zip(table.cohorts.tolist(), codes.tolist(), strict=True))
    counts = {
        dn.Report(survey, c, int(r).to_bytes(survey.mechanism.payload_bytes, "little")).pack(): k
        for (c, r), k in joint.items()
    }
    return law_p_value(counts, published(survey, symbol))


@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL.keys())
def test_bulk_reports_follow_the_published_channel(survey: Survey) -> None:
    symbols = symbols_of(survey)
    for symbol in (symbols[0], symbols[-1]):
        accept("bulk-law", bulk_p_value(survey, symbol))


def _krr_mutants() -> dict[str, Any]:
    def off_by_one(mechanism: KRR, cells: Any, words: Any) -> Any:
        blocks = ((words - np.uint64(mechanism.keep)) // np.uint64(mechanism.other)).astype(cells.dtype)
        return np.where(words < np.uint64(mechanism.keep), cells, blocks + (blocks > cells)) % mechanism.cells

    def larger_epsilon(mechanism: KRR, cells: Any, words: Any) -> Any:
        return room_krr(KRR(mechanism.cells, mechanism.epsilon * 11 / 10), cells, words)

    def biased(mechanism: KRR, cells: Any, words: Any) -> Any:
        lie = (words % np.uint64(mechanism.cells)).astype(cells.dtype)
        return np.where(words < np.uint64(mechanism.keep), cells, lie)

    room_krr = room.krr_block
    return {"off-by-one": off_by_one, "epsilon-10%-too-large": larger_epsilon, "lie-includes-truth": biased}


def _bit_mutants() -> dict[str, Any]:
    room_bits = room.bitflip_block

    def last_bit_clear(mechanism: BitFlip, occupied: Any, words: Any) -> Any:
        quiet = words.copy()
        quiet[:, -1] = 2**64 - 1
        return room_bits(mechanism, occupied, quiet)

    def reused_word(mechanism: BitFlip, occupied: Any, words: Any) -> Any:
        shared = words.copy()
        shared[:, 1] = shared[:, 0]
        return room_bits(mechanism, occupied, shared)

    def larger_epsilon(mechanism: BitFlip, occupied: Any, words: Any) -> Any:
        louder = BitFlip(
            mechanism.cells, mechanism.epsilon * 11 / 10, mechanism.distance, optimized=mechanism.optimized
        )
        return room_bits(louder, occupied, words)

    return {"last-bit-clear": last_bit_clear, "reused-word": reused_word, "epsilon-10%-too-large": larger_epsilon}


def _no_steps(mechanism: KRR, encoding: Encoding, keys: Any, words: Any) -> Any:
    """Other cells are counted without stepping over the true ones."""
    found = room_design(mechanism, encoding, keys, words)
    inside = np.uint64(mechanism.occupied * mechanism.keep)
    block = ((words - inside) // np.uint64(mechanism.other)).astype(np.int64)
    return np.where(words < inside, found, block)


def _louder_design(mechanism: KRR, encoding: Encoding, keys: Any, words: Any) -> Any:
    louder = KRR(mechanism.cells, mechanism.epsilon * 11 / 10, occupied=mechanism.occupied)
    return room_design(louder, encoding, keys, words)


def _uneven(mechanism: BitFlip, occupied: Any, words: Any) -> Any:
    """Optimised flips with the two thresholds exchanged."""
    truth = occupied[:, :1] == np.arange(mechanism.cells)
    bits = np.where(truth, words >= np.uint64(mechanism.flip), words < np.uint64(mechanism.clear))
    return np.packbits(bits, axis=1, bitorder="little")


@pytest.mark.parametrize("mutant", _krr_mutants().values(), ids=_krr_mutants().keys())
def test_krr_mutants_are_rejected(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "krr_block", mutant)
    reject("bulk-law", min(bulk_p_value(SMALL["orr-closed"], s) for s in (0, 1, 4)))


@pytest.mark.parametrize("mutant", _bit_mutants().values(), ids=_bit_mutants().keys())
def test_bit_mutants_are_rejected(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "bitflip_block", mutant)
    reject("bulk-law", bulk_p_value(SMALL["orappor-closed"], 0))


def test_optimized_bit_mutants_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    for mutant in (_uneven, *_bit_mutants().values()):
        with monkeypatch.context() as patch:
            patch.setattr(room, "bitflip_block", mutant)
            reject("bulk-law", bulk_p_value(SMALL["oue"], "b"))


@pytest.mark.parametrize("mutant", [_no_steps, _louder_design])
@pytest.mark.parametrize("name", ["hadamard-blocks", "projective"])
def test_design_mutants_are_rejected(mutant: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "design_block", mutant)
    reject("bulk-law", min(bulk_p_value(SMALL[name], s) for s in (0, 3)))


def _louder_sets(mechanism: Subset, cells: Any, words: Any) -> Any:
    return room_sets(Subset(mechanism.cells, mechanism.epsilon * 11 / 10, mechanism.size), cells, words)


def _first_others(mechanism: Subset, cells: Any, words: Any) -> Any:
    """The shuffle is forgotten: the others are always the first ones."""
    return room_sets(mechanism, cells, words * np.array([1] + [0] * mechanism.size, np.uint64))


room_sets = room.subset_block


@pytest.mark.parametrize("mutant", [_louder_sets, _first_others])
def test_set_mutants_are_rejected(mutant: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "subset_block", mutant)
    reject("bulk-law", bulk_p_value(SMALL["subset"], "b"))


def _forgotten(mechanism: Chain, responses: Any, words: Any) -> Any:
    """The permanent response goes out as it is."""
    return responses


def _louder_chain(mechanism: Chain, responses: Any, words: Any) -> Any:
    return room_chain(Chain(mechanism.permanent, mechanism.report_bound * 6 / 5), responses, words)


room_chain = room.chain_block


@pytest.mark.parametrize("mutant", [_forgotten, _louder_chain])
@pytest.mark.parametrize("name", ["krr-again", "krappor-again", "subset-again"])
def test_second_stage_mutants_are_rejected(mutant: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "chain_block", mutant)
    reject("bulk-law", bulk_p_value(SMALL[name], "b"))


@pytest.mark.parametrize("bound", [2, 3, 64, 1000])
def test_bulk_cohorts_are_uniform(bound: int) -> None:
    drawn = WordStream().uniform_below(bound, 400_000)
    accept("bulk-cohorts", binomial_p_value(np.bincount(drawn, minlength=bound), 400_000, 1 / bound))


def test_a_modulo_bias_is_rejected() -> None:
    drawn = WordStream().uniform_below(256, 400_000) % 100  # what "random byte mod 100" does
    reject("bulk-cohorts", binomial_p_value(np.bincount(drawn, minlength=100), 400_000, 1 / 100))


def test_words_are_used_once() -> None:
    stream = WordStream()
    words = np.concatenate([stream.words(5000), stream.words(5000), WordStream().words(5000)])
    assert len(np.unique(words)) == 15_000


def memoised_p_value(survey: Survey, memoize: bool) -> float:
    """Two reports of one answer by each of many devices: the pair must be one draw, seen twice."""
    counts: Counter[tuple[bytes, bytes]] = Counter()
    for _ in range(20_000):
        client = dn.Client(survey, memoize=memoize)
        counts[client.report("a").pack(), client.report("a").pack()] += 1
    law = {(wire, wire): chance for wire, chance in published(survey, "a").items()}
    return law_p_value(counts, law)


def test_memoised_reports_are_one_draw() -> None:
    accept("memoised-law", memoised_p_value(SMALL["krr"], memoize=True))


def test_redrawn_permanent_noise_is_rejected() -> None:
    reject("memoised-law", memoised_p_value(SMALL["krr"], memoize=False))


@pytest.mark.parametrize("name", ["krr", "orr-open", "orappor-closed"])
def test_blocks_and_calls_do_not_share_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words drawn once and used for every block would leave each report's own law right, and all of them the same."""
    survey = SMALL[name]
    monkeypatch.setattr(room, "_BLOCK", 1000)
    monkeypatch.setattr(room, "_BITS", 1000 * survey.cells)
    column = [symbols_of(survey)[0]] * 4000
    tables = [dn.privatize(survey, column, cohorts=np.zeros(4000, int)) for _ in range(2)]
    blocks = [table.responses[i : i + 1000].tobytes() for table in tables for i in range(0, 4000, 1000)]
    assert len(set(blocks)) == 8

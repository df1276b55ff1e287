"""The set of open ids: what was added is there, what was not is not, and it stays small."""

import numpy as np
import pytest

from deniable.service import seen as module
from deniable.service.seen import Seen


def ids(count: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    return np.random.default_rng(seed).integers(0, 256, (count, 16), dtype=np.uint8)


def test_what_was_added_is_found_and_nothing_else() -> None:
    seen, known, unknown = Seen(), ids(300_000), ids(50_000, seed=1)
    for start in range(0, len(known), 7001):
        seen.add(seen.prints(3, known[start : start + 7001]))
    assert len(seen) == len(known)
    assert seen.find(seen.prints(3, known)).all()
    assert not seen.find(seen.prints(3, unknown)).any()
    assert not seen.find(seen.prints(4, known)).any(), "another survey has ids of its own"


def test_ids_that_differ_in_one_bit_are_different() -> None:
    seen, one = Seen(), np.zeros((1, 16), np.uint8)
    others = np.stack([np.frombuffer((1 << bit).to_bytes(16, "little"), np.uint8) for bit in range(128)])
    seen.add(seen.prints(1, one))
    assert not seen.find(seen.prints(1, others)).any()
    seen.add(seen.prints(1, others))
    assert seen.find(seen.prints(1, others)).all()


def test_ids_that_count_upwards_are_no_worse_than_random_ones() -> None:
    seen = Seen()
    counted = np.zeros((100_000, 16), np.uint8)
    counted[:, :4] = np.arange(100_000, dtype="<u4").view(np.uint8).reshape(-1, 4)
    seen.add(seen.prints(1, counted[::2]))
    assert seen.find(seen.prints(1, counted)).tolist() == [True, False] * 50_000
    assert sum(len(segment.stash[0]) for segment in seen._segments) < 200


def test_what_overflows_its_buckets_is_found_in_the_stash(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FULL", 1.0)  # so full that buckets must overflow
    monkeypatch.setattr(module, "_LEAST", 1 << 10)
    monkeypatch.setattr(module, "_MOST", 1 << 10)
    seen, known = Seen(), ids(1 << 10)
    seen.add(seen.prints(1, known))
    assert sum(len(segment.stash[0]) for segment in seen._segments) > 0
    assert seen.find(seen.prints(1, known)).all()
    assert not seen.find(seen.prints(1, ids(2000, seed=1))).any()


def test_an_id_takes_seventeen_bytes() -> None:
    seen = Seen()
    for start in range(40):
        seen.add(seen.prints(1, ids(50_000, seed=start)))
    held = sum(s.keys.nbytes + s.tags.nbytes + s.fill.nbytes for s in seen._segments)
    assert held <= 17 * 2_000_000 + 13 * module._MOST, "at most one segment is not full"

"""The sources of randomness: exact uniformity, permanent words against an independent computation, no reuse."""

import hmac
import os
import random
import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product

import pytest

from deniable.noise import DerivedEntropy, Entropy, OsEntropy
from tests.exact.scripted import RanDry, ScriptedEntropy
from tests.exact.walker import OutOfWords, walk


def first_try(width: int, bound: int, word: int) -> int | None:
    """What `uniform_below` makes of one word, or None when it asks for another."""
    try:
        with ScriptedEntropy(width, [word]) as entropy:
            return entropy.uniform_below(bound)
    except RanDry:
        return None


@pytest.mark.parametrize("width", range(1, 9))
def test_uniform_below_is_uniform(width: int) -> None:
    """Every word at every bound: accepted words hit each result equally often, and fewer than half are refused.

    A refused word leaves no trace (checked below), so the result is uniform whatever came before.
    """
    for bound in range(1, 2**width + 1):
        results = [first_try(width, bound, word) for word in range(2**width)]
        accepted = Counter(result for result in results if result is not None)
        assert set(accepted) == set(range(bound))
        assert len(set(accepted.values())) == 1
        assert 2 * sum(accepted.values()) > 2**width
        refused = [word for word, result in enumerate(results) if result is None][:3]
        for word in refused:
            for after, result in enumerate(results):
                if result is not None:
                    with ScriptedEntropy(width, [word, *refused, after]) as entropy:
                        assert entropy.uniform_below(bound) == result


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 8, 64, 100, 256, 1000])
def test_uniform_below_at_64_bits(bound: int) -> None:
    """The real code on a symbolic word: given that the first word is accepted, each result is as likely as another."""

    def first_word(entropy: Entropy) -> int | None:
        try:
            return Entropy.uniform_below(entropy, bound)
        except OutOfWords:
            return None

    chances = walk(first_word, max_words=1).probabilities
    refused = chances.pop(None, Fraction(0))
    assert refused == Fraction(2**64 % bound, 2**64)
    assert chances == dict.fromkeys(range(bound), (1 - refused) / bound)


def taken(width: int, words: Sequence[int], draw: Callable[[Entropy], list[int]]) -> tuple[list[int] | None, list[int]]:
    """What is drawn from these words, None where they do not suffice, and the words that are left over."""
    entropy = ScriptedEntropy(width, words)
    try:
        found = draw(entropy)
    except RanDry:
        found = None
    return found, list(entropy._left)


def check_falling(width: int, words: Sequence[int], bound: int, count: int) -> None:
    together = taken(width, words, lambda entropy: entropy.falling_below(bound, count))
    assert together == taken(width, words, lambda e: [e.uniform_below(bound - step) for step in range(count)])


@pytest.mark.parametrize(("width", "length"), [(1, 6), (2, 5), (3, 4)])
def test_falling_bounds_use_the_words_of_one_after_the_other(width: int, length: int) -> None:
    """Every tuple of words, for every first bound and count: with refused words in all places."""
    for bound in range(1, 2**width + 1):
        for count in range(min(bound, 3) + 1):
            for words in product(range(2**width), repeat=length):
                check_falling(width, words, bound, count)


@pytest.mark.parametrize("above", [-2, -1, 0, 1])
@pytest.mark.parametrize("place", range(5))
def test_falling_bounds_at_64_bits(place: int, above: int) -> None:
    """Words at the limit of one of the bounds, in each place, and after a refused one."""
    for bound in (5, 99, 2**16, 2**64):
        limit = 2**64 - 2**64 % (bound - place)
        for words in ([5] * 7, [2**64 - 1, *[7] * 6], [2**64 - bound] * 7):
            words[place] = min(limit + above, 2**64 - 1)
            check_falling(64, words, bound, 5)


def test_falling_bounds_take_words_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes(range(size)) if len(asked) > 1 else b"\xff" * size

    monkeypatch.setattr(os, "urandom", urandom)
    later = int.from_bytes(bytes(range(8)), "little")
    # Both first words are above the limit of the first bound.
    assert OsEntropy().falling_below(6, 2) == [later % 6, later % 5]
    assert asked == [16, 8, 8]
    assert OsEntropy().falling_below(4, 0) == []


@pytest.mark.parametrize(("bound", "count"), [(2, 3), (-1, 0), (2**64 + 1, 1)])
def test_falling_bounds_refuse_an_impossible_bound(bound: int, count: int) -> None:
    sentence = f"bound must be between {count}, the numbers to draw, and 2**64, got {bound}"
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        OsEntropy().falling_below(bound, count)


@pytest.mark.parametrize("bound", [0, -1, 2**64 + 1])
def test_uniform_below_refuses_an_impossible_bound(bound: int) -> None:
    with pytest.raises(ValueError, match=rf"^bound must be between 1 and 2\*\*64, got {bound}$"):
        OsEntropy().uniform_below(bound)


@pytest.mark.parametrize("secret_bytes", [32, 33, 63, 64, 65, 200])  # HMAC hashes a key of more than 64 first
@pytest.mark.parametrize("label_bytes", [0, 20, 47, 48, 150])  # SHA-256 takes 64 at once
def test_permanent_words_are_hmac_of_label_and_block(secret_bytes: int, label_bytes: int) -> None:
    secret, label = bytes(range(secret_bytes)), bytes(label_bytes)
    expected: list[int] = []
    for block in range(3):
        message = len(label).to_bytes(8, "little") + label + block.to_bytes(8, "little")
        digest = hmac.new(secret, message, "sha256").digest()
        expected += [int.from_bytes(digest[at : at + 8], "little") for at in range(0, 32, 8)]
    source = DerivedEntropy(secret, label)
    assert [source.word() for _ in range(12)] == expected
    assert list(DerivedEntropy(secret, label).words(12)) == expected


def test_permanent_words_never_repeat_a_block() -> None:
    words = DerivedEntropy(bytes(32), b"label").words(4096)
    assert len(set(words)) == 4096
    both = DerivedEntropy(bytes(32), b"label")
    assert [*both.words(5), *both.words(7), both.word()] == list(words[:13])


@pytest.mark.parametrize("seed", range(20))
def test_permanent_words_are_the_same_however_many_are_taken_at_once(seed: int) -> None:
    rng, source = random.Random(seed), DerivedEntropy(bytes(32), b"label")
    taken: list[int] = []
    while len(taken) < 200:
        many = rng.choice([0, 1, 2, 3, 4, 5, 8, 9])
        taken += source.words(many) if rng.random() < 0.7 else [source.word() for _ in range(many)]
    alone = DerivedEntropy(bytes(32), b"label")
    assert taken == [alone.word() for _ in taken]


def test_labels_cannot_run_into_the_block_number() -> None:
    """Without its length in front, a label that ends in a block number would continue another label's words."""
    secret = bytes(32)
    seen = set[int]()
    for label in (b"", b"\0", bytes(8), bytes(16), b"a", b"a" + bytes(8), b"a" + (1).to_bytes(8, "little")):
        words = DerivedEntropy(secret, label).words(32)
        assert seen.isdisjoint(words)
        seen.update(words)


def test_permanent_words_depend_on_the_whole_secret() -> None:
    base = DerivedEntropy(bytes(32), b"label").words(4)
    for position in range(32):
        other = bytearray(32)
        other[position] = 1
        assert set(DerivedEntropy(bytes(other), b"label").words(4)).isdisjoint(base)


def test_a_short_secret_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^secret must be at least 32 bytes, got 31$"):
        DerivedEntropy(bytes(31), b"label")


def test_system_words_are_all_of_what_the_system_gave(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def urandom(size: int) -> bytes:
        asked.append(size)
        return bytes((len(asked) * 16 + i) % 256 for i in range(size))

    monkeypatch.setattr(os, "urandom", urandom)
    source = OsEntropy()
    assert source.word() == int.from_bytes(bytes(range(16, 24)), "little")
    assert list(source.words(2)) == [int.from_bytes(bytes(range(at, at + 8)), "little") for at in (32, 40)]
    assert asked == [8, 16]
    assert source.width == 64


def test_system_words_hold_no_state() -> None:
    assert not hasattr(OsEntropy(), "__dict__")
    assert OsEntropy().word() != OsEntropy().word()
    assert len(set(OsEntropy().words(1000))) == 1000

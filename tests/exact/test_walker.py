"""The harness has its own tests: a walker that loses a branch would prove anything."""

import random
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from deniable.noise import Entropy
from tests.exact.scripted import RanDry, ScriptedEntropy, law_by_enumeration
from tests.exact.walker import OutOfWords, Unmodelled, Walker, walk


def tangle(entropy: Entropy) -> tuple[object, ...]:
    """A program that uses every modelled operation on fresh words, and the same word more than once."""
    a, b, c = entropy.words(3)
    first = (a - 3) // 5 if a >= 7 else -1
    second = (b + 2) % 3 if b <= 20 else 9
    third = (c < 9, c > 4, c <= 11, c - 2 < 5)
    return first, second, third


def test_walk_equals_playing_every_word() -> None:
    assert walk(tangle, width=5).probabilities == law_by_enumeration(5, 3, tangle)


def test_walk_is_exact_at_64_bits() -> None:
    threshold = 12345678901234567890
    law = walk(lambda entropy: (entropy.word() < threshold, entropy.word() < 1))
    p, q = Fraction(threshold, 2**64), Fraction(1, 2**64)
    assert law.probabilities == {
        (True, True): p * q,
        (True, False): p * (1 - q),
        (False, True): (1 - p) * q,
        (False, False): (1 - p) * (1 - q),
    }
    assert law.draws == {2}


def test_a_remainder_shows_its_bias() -> None:
    law = walk(lambda entropy: entropy.word() % 3).probabilities
    assert law[0] - law[1] == Fraction(1, 2**64)
    assert law[1] == law[2]


def test_a_word_compared_twice_is_one_word() -> None:
    def twice(entropy: Entropy) -> tuple[bool, bool]:
        word = entropy.word()
        return word < 2**63, word < 2**63

    assert walk(twice).probabilities == {(True, True): Fraction(1, 2), (False, False): Fraction(1, 2)}


def test_uniform_below_is_a_fair_fork() -> None:
    law = walk(lambda entropy: entropy.uniform_below(7))
    assert law.probabilities == {side: Fraction(1, 7) for side in range(7)}


@pytest.mark.parametrize(
    "sneak",
    [
        lambda w: w & 1,
        lambda w: w >> 1,
        lambda w: w * 2,
        lambda w: w / 2,
        lambda w: 1 - w,
        lambda w: 1 << w,
        lambda w: int(w),
        lambda w: float(w),
        lambda w: bool(w),
        lambda w: w == 0,
        lambda w: w != 0,
        lambda w: {w: 1},
        lambda w: str(w),
        lambda w: f"{w}",
        lambda w: repr(w),
        lambda w: w < 0.5,
        lambda w: w < w,
        lambda w: w // 0,
        lambda w: w // 2,
        lambda w: w % 2**40,
        lambda w: (w % 2, w < 5),
        lambda w: [1, 2][w],
        lambda w: w.to_bytes(8, "little"),
        lambda w: hash(w),
    ],
)
def test_what_is_not_modelled_raises(sneak: object) -> None:
    assert callable(sneak)
    with pytest.raises((TypeError, AttributeError)):
        sneak(Walker().word())


def test_randomness_from_elsewhere_is_found_out() -> None:
    hidden = iter([False, True, False, True])

    def cheat(entropy: Entropy) -> bool:
        return next(hidden) or entropy.word() < 2**63

    with pytest.raises(Unmodelled, match="draws randomness elsewhere"):
        walk(cheat)
    source = random.Random(1)
    with pytest.raises(Unmodelled, match="draws randomness elsewhere"):
        walk(lambda entropy: entropy.word() < source.randrange(2**64))


def test_walker_stops_at_its_limit_of_words() -> None:
    walker = Walker(max_words=1)
    walker.word()
    with pytest.raises(OutOfWords):
        walker.word()


def test_a_fork_with_too_many_sides_is_refused() -> None:
    with pytest.raises(Unmodelled, match="too many to walk"):
        Walker().uniform_below(5000)


def test_script_refuses_to_run_dry_and_to_have_words_left() -> None:
    entropy = ScriptedEntropy(5, [3])
    assert entropy.word() == 3
    with pytest.raises(RanDry, match="no word left"):
        entropy.word()
    with pytest.raises(RuntimeError, match="1 scripted words were not used"), ScriptedEntropy(5, [3, 4]) as left:
        left.word()
    with pytest.raises(ValueError, match="must fit 5 bits"):
        ScriptedEntropy(5, [32])
    with pytest.raises(RuntimeError, match="2 scripted words"):
        ScriptedEntropy(5, [1, 2]).load([3])


def test_enumeration_counts_every_tuple_once() -> None:
    seen = Counter[tuple[int, ...]]()

    def note(entropy: Entropy) -> int:
        words = tuple(entropy.words(2))
        seen[words] += 1
        return words[0] & 1

    assert law_by_enumeration(3, 2, note) == {0: Fraction(1, 2), 1: Fraction(1, 2)}
    assert seen == Counter(product(range(8), repeat=2))

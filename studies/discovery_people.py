"""People for the studies of discovery: web queries and domain names with natural beginnings, and hard cases.

Strings are invented: words of syllables with Zipf frequencies, one or two a query, some behind "www.", so that long
beginnings are shared as they are in a language. The counts of queries come from a file (`count,strings` a line), or
from a curve through three published ranks of a web search log.
"""

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["HARD", "LETTERS", "People", "domains", "hard", "queries"]

Floats = npt.NDArray[np.float64]

_ONSETS = [*"bcdfghjklmnprstvwy", "st", "tr", "ch", "br", "pl", "sh", "th"]
_VOWELS = [*"aeiou", "ea", "oo", "ai"]
_RANKS = {1: 18_720, 32: 1_243, 128: 510}  # published counts of ranks, of 657,427 queries of 120,978 kinds
_QUERIES, _KINDS = 657_427, 120_978
LETTERS = "abcdefgh"  # of hard populations: few, so that a search takes a fifth of a second
HARD = ("nothing", "one text", "light under heavy", "long beginnings", "planted")  # populations without easy answers


@dataclass(frozen=True)
class People:
    """Texts and how many people wrote each, most frequent first."""

    texts: list[str]
    counts: Floats

    @property
    def shares(self) -> Floats:
        return np.asarray(self.counts / self.counts.sum())


def _words(rng: np.random.Generator, count: int) -> list[str]:
    onset, vowel = (1 / np.arange(1, len(part) + 1) ** 0.65 for part in (_ONSETS, _VOWELS))
    onset, vowel = onset / onset.sum(), vowel / vowel.sum()
    found: dict[str, None] = {}
    while len(found) < count:
        sizes = rng.integers(1, 4, count)
        o, v = rng.choice(len(_ONSETS), (count, 4), p=onset), rng.choice(len(_VOWELS), (count, 4), p=vowel)
        for size, ons, vow, closed in zip(sizes, o, v, rng.random(count) < 0.5, strict=True):
            word = "".join(_ONSETS[a] + _VOWELS[b] for a, b in zip(ons[:size], vow[:size], strict=True))
            found[word + (_ONSETS[ons[3]] if closed else "")] = None
    return list(found)[:count]


def _counts(path: Path | None) -> Floats:
    """Counts of queries, largest first."""
    if path is not None:
        with path.open(newline="") as file:
            rows = [(float(row["count"]), int(row["strings"])) for row in csv.DictReader(file)]
        return np.sort(np.repeat([count for count, _ in rows], [times for _, times in rows]))[::-1]
    # A power law after the last published rank that leaves as many queries as there were.
    ranks = np.arange(1, _KINDS + 1)
    low, high = 0.3, 2.0
    for _ in range(60):
        slope = (low + high) / 2
        known = np.exp(np.interp(np.log(ranks), np.log([*_RANKS]), np.log([*_RANKS.values()])))
        tail = np.maximum(_RANKS[128] * (ranks / 128.0) ** -slope, 1.0)
        found = np.where(ranks <= 128, known, tail)
        low, high = (slope, high) if found.sum() > _QUERIES else (low, slope)
    return np.asarray(found)


def queries(counts: Path | None = None, *, length: int = 6, seed: int = 1) -> People:
    """Web queries, cut at `length` bytes; counts of texts that become one are added up."""
    rng, sizes = np.random.default_rng(seed), _counts(counts)
    words = _words(rng, 40_000)
    steps = np.cumsum(1 / np.arange(1, len(words) + 1) ** 0.9)
    seen: Counter[str] = Counter()
    while len(seen) < len(sizes):
        first, second = (np.searchsorted(steps, rng.random(200_000) * steps[-1]) for _ in range(2))
        kind = rng.random(200_000)
        for a, b, how in zip(first, second, kind, strict=True):
            text = f"www.{words[a]}" if how < 0.08 else f"{words[a]} {words[b]}" if how < 0.54 else words[a]
            seen[text[:length].strip()] += 1
    return People([text for text, _ in seen.most_common(len(sizes))], sizes)


def domains(count: int = 20_000, *, exponent: float = 1.05, seed: int = 2) -> People:
    """Domain names of 5 to 30 bytes with Zipf shares; one in ten is a part of a popular one."""
    rng = np.random.default_rng(seed)
    words, ends = _words(rng, count), [".com", ".org", ".net", ".de", ".co.uk"]
    found: dict[str, None] = {}
    while len(found) < count:
        name = words[rng.integers(count)] + (f"-{words[rng.integers(count)]}" if rng.random() < 0.3 else "")
        name += ends[rng.choice(len(ends), p=[0.5, 0.2, 0.1, 0.1, 0.1])]
        if found and rng.random() < 0.1:
            name = f"{words[rng.integers(50)]}.{list(found)[:20][rng.integers(min(len(found), 20))]}"
        if 5 <= len(name) <= 30:
            found[name] = None
    return People(list(found), 1 / np.arange(1, count + 1) ** exponent)


def hard(name: str, rng: np.random.Generator) -> People:
    """A small population in which a careless search declares what nobody wrote; new texts every time."""
    letters = np.array(list(LETTERS))

    def some(count: int, size: int, begin: str = "") -> list[str]:
        return list(dict.fromkeys(begin + "".join(rng.choice(letters, size)) for _ in range(count)))

    if name == "one text":
        texts, shares = some(1, 5), [1.0]
    elif name == "light under heavy":
        texts = [text for begin in some(3, 4) for text in some(200, 2, begin)]
        shares = [1.0] * len(texts)
    elif name == "long beginnings":
        begin = some(1, 4)[0]
        texts = some(30, 2, begin)
        shares = [1 / (1 + i) for i in range(len(texts))]
    else:  # nothing: a text of one's own each; and beside planted reports
        texts = some(4000, 6)
        shares = [1.0] * len(texts)
    return People(texts, np.array(shares))

"""The set of report ids that duplicates are checked against, in memory: a hash table of 17 bytes an id.

A random key in a B-tree on disk costs 18 to 54 microseconds. So the disk keeps ids in the order of arrival, and this
table is built from it at the start. It holds 96-bit fingerprints, keyed with a secret of this process, so that nobody
can choose ids that collide. Two of 10^7 ids share a fingerprint with probability 10^-15.

The table grows by whole segments and never moves entries, so that growing needs no second copy.
"""

import secrets

import numpy as np
import numpy.typing as npt

_LEAST, _MOST = 1 << 16, 1 << 21  # slots of the smallest and the largest segment: 0.8 and 25 MB
_SLOTS = 8  # slots of a bucket: eight keys of 8 bytes are one cache line
_FULL = 0.75  # load factor at which a segment counts as full; with two choices hardly a bucket overflows then
_BITS = np.left_shift(1, np.arange(8)).astype(np.uint8)
_ROUNDS = 8  # attempts to place a key before it goes to the stash
_AT_ONCE = 4096  # keys added at once: keys of one batch choose buckets without regard to each other

Words = npt.NDArray[np.uint64]
Tags = npt.NDArray[np.uint32]
Prints = tuple[Words, Tags]


class _Segment:
    """Buckets of eight slots. Each key has two buckets and goes to the emptier one. The key 0 marks an empty slot.

    With two choices the load of buckets is even: at a load factor of 0.8 hardly a key goes to `stash`.
    """

    def __init__(self, size: int) -> None:
        self.buckets = size // _SLOTS
        self.keys = np.zeros((self.buckets, _SLOTS), np.uint64)
        self.tags = np.zeros((self.buckets, _SLOTS), np.uint32)
        self.fill = np.zeros(self.buckets, np.uint8)
        self.stash: Prints = (np.zeros(0, np.uint64), np.zeros(0, np.uint32))
        self.used = 0

    @property
    def room(self) -> int:
        return int(self.keys.size * _FULL) - self.used

    def _choices(self, keys: Words) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        mask = np.uint64(self.buckets - 1)
        return (keys & mask).astype(np.intp), (keys >> np.uint64(32) & mask).astype(np.intp)

    def find(self, keys: Words, tags: Tags, found: npt.NDArray[np.bool_]) -> None:
        for buckets in self._choices(keys):
            same = self.keys.take(buckets, axis=0) == keys[:, None]
            if same.any():
                row, place = np.nonzero(same)
                found[row[self.tags[buckets[row], place] == tags[row]]] = True
        if self.stash[0].size:
            found |= ((keys[:, None] == self.stash[0]) & (tags[:, None] == self.stash[1])).any(axis=1)

    def add(self, keys: Words, tags: Tags) -> None:
        """Add keys that are not there, each once."""
        self.used += len(keys)
        for _ in range(_ROUNDS):
            first, second = self._choices(keys)
            buckets = np.where(self.fill[first] <= self.fill[second], first, second)
            order = np.argsort(buckets, kind="stable")
            buckets, keys, tags = buckets[order], keys[order], tags[order]
            # How many keys of this round stand before each one in its bucket.
            starts = np.flatnonzero(np.concatenate([[True], buckets[1:] != buckets[:-1]]))
            sizes = np.diff(np.concatenate([starts, [len(buckets)]]))
            places = self.fill[buckets] + (np.arange(len(buckets)) - np.repeat(starts, sizes))
            fits = places < _SLOTS
            self.keys[buckets[fits], places[fits]] = keys[fits]
            self.tags[buckets[fits], places[fits]] = tags[fits]
            self.fill[buckets[starts]] = np.minimum(self.fill[buckets[starts]] + sizes, _SLOTS)
            keys, tags = keys[~fits], tags[~fits]
            if not keys.size:
                return
        self.stash = (np.concatenate([self.stash[0], keys]), np.concatenate([self.stash[1], tags]))


class Seen:
    """A set of (survey, id) pairs that answers for whole arrays of ids.

    >>> seen = Seen()
    >>> ids = np.arange(64, dtype=np.uint8).reshape(4, 16)
    >>> seen.add(seen.prints(1, ids[:2]))
    >>> seen.find(seen.prints(1, ids)).tolist(), seen.find(seen.prints(2, ids)).tolist()
    ([True, True, False, False], [False, False, False, False])
    """

    def __init__(self) -> None:
        self._secret = [np.uint64(secrets.randbits(64)) for _ in range(4)]
        self._segments: list[_Segment] = []
        # A Bloom filter with one hash: with 10^7 ids a new id meets a set bit in one of fourteen cases, so segments,
        # whose lookup waits for memory, are rarely searched.
        self._filter = np.zeros(1 << 24, np.uint8)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def prints(self, survey: int, ids: npt.NDArray[np.uint8]) -> Prints:
        """The fingerprints of ids, an array of shape (n, 16)."""
        words = np.ascontiguousarray(ids).view("<u8").reshape(-1, 2)
        low, high = words[:, 0] ^ self._secret[0], (words[:, 1] + _mix(np.uint64(survey))) ^ self._secret[1]
        keys = _mix(_mix(low) + high)
        tags = _mix(_mix(high ^ self._secret[2]) + (low ^ self._secret[3])).astype(np.uint32)
        return np.where(keys == 0, np.uint64(1), keys), tags

    def find(self, prints: Prints) -> npt.NDArray[np.bool_]:
        """Which of these are in the set."""
        keys, tags = prints
        found = np.zeros(len(keys), bool)
        byte, bit = _bit_of(keys)
        maybe = np.flatnonzero(self._filter.take(byte) & bit)
        if maybe.size:
            keys, tags, inside = keys[maybe], tags[maybe], np.zeros(len(maybe), bool)
            for segment in self._segments:
                segment.find(keys, tags, inside)
            found[maybe[inside]] = True
        return found

    def add(self, prints: Prints) -> None:
        """Put in fingerprints that are not in the set yet, each once."""
        keys, tags = prints
        byte, bit = _bit_of(keys)
        np.bitwise_or.at(self._filter, byte, bit)
        start = 0
        while start < len(keys):
            if not self._segments or self._segments[-1].room <= 0:
                size = min(max(2 << self._count.bit_length(), _LEAST), _MOST)
                self._segments.append(_Segment(size))
            last = self._segments[-1]
            taken = min(last.room, len(keys) - start, _AT_ONCE)
            last.add(keys[start : start + taken], tags[start : start + taken])
            start += taken
            self._count += taken


def _bit_of(keys: Words) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.uint8]]:
    """Where the filter keeps a key: the top 24 bits of it name a byte, the next 3 a bit."""
    return (keys >> np.uint64(40)).astype(np.intp), _BITS[(keys >> np.uint64(37) & np.uint64(7)).astype(np.intp)]


def _mix(words: Words | np.uint64) -> Words:
    """The finalizer of SplitMix64: every bit of the result depends on every bit of the word."""
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(words ^ (words >> np.uint64(31)), np.uint64)

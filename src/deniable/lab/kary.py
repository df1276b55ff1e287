"""Experiments 2 and 3: every decoder of k-RR and k-RAPPOR, against the distribution of the sample that was drawn.

One evaluation draws a sample of n users, privatises it at every epsilon and decodes it with every decoder. Only counts
are drawn, so the cost does not grow with n. Random numbers are shared: the sample by mechanisms, decoders and epsilons,
the noise of columns that no user's symbol sets by distributions. Each result keeps its exact distribution. Results are
not independent of each other, which makes their differences more precise (common random numbers).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from deniable.lab.batched import losses
from deniable.lab.populations import binomial, geometric, zipf
from deniable.lab.streams import stream_of
from deniable.mechanisms import KRR, BitFlip, Mechanism

Int32s = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

DISTRIBUTIONS = (
    "geometric",
    "dirichlet",
    *(f"binomial .{tenths}" for tenths in range(1, 6)),
    *(f"zipf {exponent}" for exponent in range(1, 6)),
)
DECODERS = (
    "krr_standard",
    "krr_normalised",
    "krr_projected",
    "krr_ml",
    "krappor_standard",
    "krappor_normalised",
    "krappor_projected",
)
LOSSES = ("l1", "l2", "l2_squared")
_PAIRS = np.triu_indices(len(DECODERS))
_BLOCK = 1 << 16  # numbers in one block of rows: a few such blocks fit in the second-level cache
_PEOPLE = 4  # users a cell; below it drawing users one by one is faster than a multinomial draw
_WORTH_CLASSES = 3  # decoding a class of equal counts takes about as long as three symbols


def groups() -> tuple[tuple[str, ...], ...]:
    """The distributions that share noise: those of the paper's figures, and the rest."""
    return DISTRIBUTIONS[:2], DISTRIBUTIONS[2:]


def _group(distribution: str) -> int:
    return next(place for place, group in enumerate(groups()) if distribution in group)


def population(name: str, size: int) -> Floats | None:
    """The probabilities of one of the paper's distributions, or None where each evaluation draws its own.

    >>> population("zipf 1", 2)
    array([0.66666667, 0.33333333])
    """
    kind, _, shape = name.partition(" ")
    if kind == "geometric":
        return geometric(size, size / 5)
    if kind == "dirichlet":
        return None
    return (binomial if kind == "binomial" else zipf)(size, float(shape))


def spans(evaluations: int, size: int) -> list[tuple[int, int]]:
    """How `evaluations` are split into tasks: the first 200 (a quick run), then tasks of a few seconds each.

    >>> spans(200, 64), spans(10_000, 4096)[:3]
    ([(0, 200)], [(0, 200), (200, 1180), (1180, 2160)])
    """
    step = 9800 if size <= 256 else 1960 if size <= 1024 else 980
    stops = [0, *(stop for stop in range(200, evaluations, step)), evaluations]
    return [(start, stop) for start, stop in pairwise(stops) if start < stop]


@dataclass(frozen=True)
class KaryTask:
    """Evaluations `start` to `stop` of one (n, k) for some distributions of one group, at every epsilon."""

    n: int
    size: int
    distributions: tuple[str, ...]
    epsilons: tuple[float, ...]
    start: int
    stop: int

    def key(self, distribution: str) -> str:
        shared = f"kary/{distribution}/n={self.n}/k={self.size}/epsilons={','.join(map(str, self.epsilons))}"
        return f"{shared}/{self.start}-{self.stop}"

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.key(name) for name in self.distributions)

    @property
    def cost(self) -> float:
        draws = (self.stop - self.start) * len(self.epsilons) * len(self.distributions)
        return draws * (100e-9 * self.size + 1.5e-6)

    def only(self, keys: Collection[str]) -> "KaryTask":
        return replace(self, distributions=tuple(name for name in self.distributions if self.key(name) in keys))

    def run(self, seed: int) -> dict[str, list[float]]:
        place = (self.n, self.size, self.start, self.stop)
        field = stream_of(seed, "kary", "field", _group(self.distributions[0]), *place)
        streams = {name: stream_of(seed, "kary", name, *place) for name in self.distributions}
        laws = {name: population(name, self.size) for name in self.distributions}
        sums = {name: np.zeros((len(self.epsilons), len(LOSSES), len(DECODERS))) for name in self.distributions}
        products = {name: np.zeros((len(self.epsilons), len(LOSSES), len(_PAIRS[0]))) for name in self.distributions}
        rows = max(1, _BLOCK // self.size)
        for start in range(self.start, self.stop, rows):
            count = min(rows, self.stop - start)
            samples = {name: _sample(streams[name], laws[name], self.n, self.size, count) for name in streams}
            for place_, epsilon in enumerate(self.epsilons):
                channel = _Channels(self.n, self.size, epsilon, count, field)
                for name, sample in samples.items():
                    found = channel.losses(sample, streams[name])
                    sums[name][place_] += found.sum(axis=2)
                    products[name][place_] += np.einsum("lpe,lpe->lp", found[:, _PAIRS[0]], found[:, _PAIRS[1]])
        return {
            self.key(name): np.concatenate([sums[name].ravel(), products[name].ravel()]).tolist()
            for name in self.distributions
        }


@dataclass(frozen=True)
class _Sample:
    """Drawn samples, one a row; `seen` are the places of symbols that at least one user has, `people` their counts."""

    shares: npt.NDArray[np.float32]
    seen: npt.NDArray[np.intp]  # flat
    people: npt.NDArray[np.int64]
    row: npt.NDArray[np.intp]  # of each seen symbol
    slot: npt.NDArray[np.intp]  # and its place in a table of (rows, width)
    width: int


def _sample(rng: np.random.Generator, law: Floats | None, n: int, size: int, rows: int) -> _Sample:
    if law is None:
        weights = rng.standard_exponential((rows, size))
        law = weights / weights.sum(axis=1, keepdims=True)
        counts = rng.multinomial(n, law)
    elif n < _PEOPLE * size:
        symbols = np.searchsorted(np.cumsum(law)[:-1], rng.random((rows, n)), side="right")
        symbols += np.arange(rows)[:, None] * size
        counts = np.bincount(symbols.ravel(), minlength=rows * size).reshape(rows, size)
    else:
        counts = rng.multinomial(n, law, size=rows)
    seen = np.flatnonzero(counts)
    row = seen // size
    held = np.bincount(row, minlength=rows)
    width = int(held.max())
    slot = row * width + np.arange(len(seen)) - (np.cumsum(held) - held)[row]
    return _Sample((counts / n).astype(np.float32), seen, counts.ravel()[seen], row, slot, width)


class _Channels:
    """Both mechanisms at one (n, k, epsilon), with the noise that distributions share."""

    def __init__(self, n: int, size: int, epsilon: float, rows: int, field: np.random.Generator) -> None:
        self.n, self.size, self.rows = n, size, rows
        self.krr, self.bits = KRR(size, epsilon), BitFlip(size, epsilon)
        self.untouched = field.binomial(n, float(self.bits.miss), (rows, size)).astype(np.int32)
        self.histogram = _Histogram(self.untouched)
        # Users of k-RR who do not tell the truth report a uniform cell: independent Poisson counts with a total that is
        # most likely a little too small; the missing users are added one by one.
        self.field: Int32s | None = None
        if n >= _PEOPLE * size and 16 * size**2 > n:
            r = float(self.krr.hit - self.krr.miss)
            expected = n * (1 - r)
            mean = max(0.0, expected - 2.5 * np.sqrt(expected * (1 + r))) / size
            self.field = field.poisson(mean, (rows, size)).astype(np.int32)
            self.named = self.field.sum(axis=1)

    def losses(self, sample: _Sample, rng: np.random.Generator) -> Floats:
        """Each loss of each decoder in each row, shape (losses, decoders, rows)."""
        both = np.concatenate([self._krr(sample, rng), self._bits(sample, rng)], axis=1)
        return np.stack([both[0], np.sqrt(both[1]), both[1]])

    def _krr(self, sample: _Sample, rng: np.random.Generator) -> Floats:
        """k-RR: the truth with probability hit - miss, else any cell at random, the true one included."""
        honest = rng.binomial(sample.people, float(self.krr.hit - self.krr.miss))
        liars = self.n - np.bincount(sample.row, honest, self.rows).astype(np.int64)
        counts = self._anywhere(liars, rng)
        lies = counts.ravel()[sample.seen]
        return self._decode(self.krr, sample, counts, _Histogram(counts), lies, honest + lies)

    def _bits(self, sample: _Sample, rng: np.random.Generator) -> Floats:
        """k-RAPPOR: set bits that stay, and unset bits that flip."""
        stayed = rng.binomial(sample.people, float(self.bits.hit))
        flipped = rng.binomial(self.n - sample.people, float(self.bits.miss))
        untouched = self.untouched.ravel()[sample.seen]
        return self._decode(self.bits, sample, self.untouched, self.histogram, untouched, stayed + flipped)

    def _decode(
        self,
        mechanism: Mechanism,
        sample: _Sample,
        noise: Int32s,
        histogram: "_Histogram",
        there: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
    ) -> Floats:
        """Losses of rows that hold `noise`, with `counts` in place of `there` at the symbols that users have."""
        channel = (self.n, float(mechanism.hit), float(mechanism.miss))
        likelihood = mechanism.one_column
        if _WORTH_CLASSES * (sample.width + histogram.width) >= self.size:
            noise = noise.copy()
            noise.ravel()[sample.seen] = counts
            return losses(noise, sample.shares, *channel, likelihood=likelihood)
        # Few distinct counts: symbols that nobody has are classes of equal counts, a histogram of the noise.
        shape = (self.rows, sample.width)
        seen, shares, one = np.zeros(shape, np.int32), np.zeros(shape, np.float32), np.zeros(shape, np.int32)
        seen.ravel()[sample.slot] = counts
        shares.ravel()[sample.slot] = sample.people / self.n
        one.ravel()[sample.slot] = 1
        steps, left = histogram.without(sample.row, there)
        return losses(
            np.concatenate([steps, seen], axis=1),
            np.concatenate([np.zeros(steps.shape, np.float32), shares], axis=1),
            *channel,
            likelihood=likelihood,
            weights=np.concatenate([left, one], axis=1),
        )

    def _anywhere(self, liars: npt.NDArray[np.int64], rng: np.random.Generator) -> Int32s:
        """Multinomial(liars, uniform), row by row: Poisson counts given their total, and the missing users added."""
        even = np.full(self.size, 1.0 / self.size)
        if self.field is None:
            if self.n >= _PEOPLE * self.size:
                return rng.multinomial(liars, even).astype(np.int32)
            return self._one_by_one(liars, rng)
        short = liars - self.named
        found = self.field + self._one_by_one(np.maximum(short, 0), rng)
        over = np.flatnonzero(short < 0)  # a total that is too large: that row is drawn again
        if over.size:
            found[over] = rng.multinomial(liars[over], even)
        return found

    def _one_by_one(self, people: npt.NDArray[np.int64], rng: np.random.Generator) -> Int32s:
        cells = rng.integers(0, self.size, int(people.sum()))
        cells += np.repeat(np.arange(self.rows) * self.size, people)
        return np.bincount(cells, minlength=self.rows * self.size).reshape(self.rows, self.size).astype(np.int32)


class _Histogram:
    """How often each count occurs in each row of a table."""

    def __init__(self, table: Int32s) -> None:
        self.table, self.least = table, int(table.min())
        self.width = int(table.max()) - self.least + 1

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        rows = len(self.table)
        index = self.table + (np.arange(rows, dtype=np.int32) * self.width - self.least)[:, None]
        return np.bincount(index.ravel(), minlength=rows * self.width)

    def without(self, row: npt.NDArray[np.intp], values: npt.NDArray[np.int32]) -> tuple[Int32s, Int32s]:
        """Counts, and the number of symbols with each of them, after some entries are removed."""
        shape = (len(self.table), self.width)
        taken = np.bincount(row * self.width + values - self.least, minlength=self.counts.size)
        steps = np.broadcast_to(np.arange(self.least, self.least + self.width, dtype=np.int32), shape)
        return steps, (self.counts - taken).reshape(shape).astype(np.int32)


@dataclass(frozen=True)
class Moments:
    """Means of every decoder's losses, and the standard errors of their differences, at one (distribution, n, k)."""

    evaluations: int
    sums: Floats  # (epsilons, losses, decoders)
    products: Floats  # (epsilons, losses, pairs)

    @classmethod
    def gather(cls, parts: Sequence[tuple[int, Sequence[float]]], epsilons: int) -> "Moments":
        """The sum of the results of several tasks, each with its number of evaluations."""
        total = np.sum([np.asarray(numbers) for _, numbers in parts], axis=0)
        cut = epsilons * len(LOSSES) * len(DECODERS)
        shape = (epsilons, len(LOSSES), -1)
        return cls(sum(count for count, _ in parts), total[:cut].reshape(shape), total[cut:].reshape(shape))

    def means(self, epsilon: int, loss: int) -> Mapping[str, float]:
        return dict(zip(DECODERS, (self.sums[epsilon, loss] / self.evaluations).tolist(), strict=True))

    def standard_error(self, epsilon: int, loss: int, first: str, second: str) -> float:
        """Of mean(first) - mean(second), over the same evaluations."""
        n, a, b = self.evaluations, DECODERS.index(first), DECODERS.index(second)
        square = np.zeros((len(DECODERS), len(DECODERS)))
        square[_PAIRS] = self.products[epsilon, loss]
        square = square + np.triu(square, 1).T
        mean = (self.sums[epsilon, loss, a] - self.sums[epsilon, loss, b]) / n
        second_moment = (square[a, a] + square[b, b] - 2 * square[a, b]) / n
        return float(np.sqrt(max(second_moment - mean**2, 0.0) / max(n - 1, 1)))

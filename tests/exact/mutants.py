"""Clients with a fault that real projects shipped, or could: each must fail the check that the real client passes.

They are subclasses of the real mechanisms and the real client, changed in one place.
"""

from collections.abc import Sequence

import deniable.client.client as room
from deniable.client import Client
from deniable.mechanisms import KRR, BitFlip, Channel, Mechanism, Subset, WeightTable
from deniable.noise import DerivedEntropy, Entropy
from deniable.reports import Report
from deniable.survey import Survey
from deniable.survey.hashing import stream
from tests.exact.laws import MakeClient


class Mutant(Client):
    """The real client with another randomiser behind the same survey."""

    def __init__(self, survey: Survey, entropy: Entropy, mechanism: Mechanism) -> None:
        super().__init__(survey, memoize=False, entropy=entropy)
        self._mechanism = mechanism


def with_mechanism(mechanism: Mechanism) -> MakeClient:
    return lambda survey, entropy: Mutant(survey, entropy, mechanism)


def bits(flips: Sequence[bool], cells: Sequence[int]) -> int:
    """The response of honest code, given which bits flip."""
    flipped = sum(1 << position for position, flip in enumerate(flips) if flip)
    return flipped ^ sum(1 << cell for cell in cells)


class LastBitInClear(BitFlip):
    """OpenDP 0.11 to 0.14: noise drawn over 1..n, so the last bit went out as it was."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        return bits([word < self.flip for word in entropy.words(self.cells - 1)], cells)


class ReusedWord(BitFlip):
    """Fuchsia Cobalt: an index slip made two bits share one word. Each bit alone looks perfect."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        words = entropy.words(self.cells)
        return bits([words[max(position - 1, 0)] < self.flip for position in range(self.cells)], cells)


class Diagonals(BitFlip):
    """The index as it was in Fuchsia Cobalt: `byte + place` in place of `8 * byte + place`."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        words = entropy.words(self.cells // 8 + 8)
        return bits([words[position // 8 + position % 8] < self.flip for position in range(self.cells)], cells)


def rounded(mechanism: BitFlip, denominator: int) -> BitFlip:
    """RAPPOR's f, twice the chance of a flip, rounded down: to 1/128 in its C++ client, to 1/100 in pure-LDP."""
    coarse = BitFlip(mechanism.cells, mechanism.epsilon, mechanism.distance)
    flip = 2 * mechanism.flip * denominator // 2**64 * 2**64 // (2 * denominator)
    object.__setattr__(coarse, "flip", flip)
    object.__setattr__(coarse, "clear", flip)
    return coarse


class NeverCleared(BitFlip):
    """pure-LDP before 2023: the true position drawn as noise first, then set as truth, and never cleared."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        response = bits([word < self.flip for word in entropy.words(self.cells)], ())
        for cell in cells:
            if not entropy.word() < self.flip:
                response |= 1 << cell
        return response


class FewerBits(BitFlip):
    """The response is made from all bits but the last, truth included."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        return super().randomize(cells, entropy) % (1 << self.cells - 1)


class SetBitFlipsLikeTheOthers(BitFlip):
    """Optimised flips whose set bit is cleared with the threshold of the empty ones: kept far too often."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        return bits([word < self.flip for word in entropy.words(self.cells)], cells)


class OffByOne(KRR):
    """Steps over the cell after the true one."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        word = entropy.word()
        if word < self.keep:
            return truth
        block = (word - self.keep) // self.other
        return block + (block > truth)


class StepsOverOne(KRR):
    """A block design's sampler that steps over the first true cell only, as if there were one."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        word, inside = entropy.word(), self.occupied * self.keep
        if word < inside:
            return cells[word // self.keep]
        block = (word - inside) // self.other
        return block + (block >= cells[0])


class FavouriteCell(KRR):
    """Names true cells as often as it should, but always the first of them: each set's total is right."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        found = super().randomize(cells, entropy)
        return cells[0] if found in cells else found


class ModuloBias(KRR):
    """Names another cell by the remainder of a second word: off by 2**-64, which no sample would ever show."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        first, second = entropy.words(2)
        block = second % (self.cells - 1)
        return truth if first < self.keep else block + (block >= truth)


class Impatient(KRR):
    """The right law, but one cell costs a word more than the others: the time taken tells."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        if cells == (0,):
            entropy.word()
        return super().randomize(cells, entropy)


class OthersInOrder(Subset):
    """A set whose other cells are the next ones instead of random ones: each report names its answer."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        first = 0 if entropy.word() < self.inside else 1
        return sum(1 << (truth + first + step) % self.cells for step in range(self.size))


class BiasedOthers(Subset):
    """Draws the other cells by remainders, without drawing again: off by 2**-64."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        inside = entropy.word() < self.inside
        others = [cell for cell in range(self.cells) if cell != truth]
        drawn = [others.pop(entropy.word() % len(others)) for _ in range(self.size)]
        return sum(1 << cell for cell in ([*drawn[:-1], truth] if inside else drawn))


class TruthFirst(Subset):
    """multi-freq-ldpy: the true value comes first. A bitmap has no order but its own: here it is the lowest cell."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        response = super().randomize(cells, entropy)
        if not response >> truth & 1:
            return response
        others = sorted(range(self.cells), key=lambda cell: (cell <= truth, cell == truth, entropy.word()))
        return sum(1 << cell for cell in [truth, *others[: self.size - 1]])


class OneSetFewer(Subset):
    """A range that ends one too early: the last of the cells that are left is never drawn."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,) = cells
        inside = entropy.word() < self.inside
        others = [cell for cell in range(self.cells) if cell != truth]
        drawn = [others.pop(entropy.uniform_below(max(len(others) - 1, 1))) for _ in range(self.size)]
        return sum(1 << cell for cell in ([*drawn[:-1], truth] if inside else drawn))


def keep_scaled(mechanism: KRR, percent: int) -> KRR:
    """The same channel with the truth kept `percent` % as often, self-consistent in everything it states."""
    scaled = KRR(mechanism.cells, mechanism.epsilon)
    others = mechanism.cells - 1
    other = (2**64 - mechanism.keep * percent // 100) // others
    object.__setattr__(scaled, "other", other)
    object.__setattr__(scaled, "keep", 2**64 - others * other)
    return scaled


class WrongCohort(Client):
    """Encodes with the next cohort's hash functions."""

    def report(self, value: object) -> Report:
        true, self._cohort = self._cohort, (self._cohort + 1) % self._survey.cohorts
        payload = super().report(value).payload
        self._cohort = true
        return Report(self._survey, true, payload)


class XorCancels(Client):
    """Two hashes on one cell cancel instead of filling it once."""

    def report(self, value: object) -> Report:
        survey = self._survey
        truth, key = 0, survey.key(value)
        for index in range(survey.hashes):
            truth ^= 1 << (stream(key, self._cohort * survey.hashes + index) * survey.cells >> 64)
        cells = [cell for cell in range(survey.cells) if truth >> cell & 1]
        response = self._mechanism.randomize(cells, self._entropy)
        return Report(survey, self._cohort, response.to_bytes(self._payload_bytes, "little"))


class ShortPayload(Client):
    """Leaves leading zero bytes away, so that the length tells something of the response."""

    def report(self, value: object) -> Report:
        report = super().report(value)
        return Unchecked(self._survey, self._cohort, report.payload.rstrip(b"\0"))


class Unchecked(Report):
    """A report that packs whatever it holds."""

    def check(self) -> None:
        pass


class Redraws(Client):
    """Memoises with a counter in the label: fresh noise for the same answer."""

    times = 0

    def _permanent_words(self, cells: tuple[int, ...]) -> Entropy:
        type(self).times += 1
        assert self._secret is not None
        return DerivedEntropy(self._secret, repr((cells, self.times)).encode())


def of(client: type[Client]) -> MakeClient:
    return lambda survey, entropy: client(survey, memoize=False, entropy=entropy)


def _with_label(client: Client, label: bytes) -> Entropy:
    """Permanent words under another label, from whatever stands for `DerivedEntropy` now."""
    assert client._secret is not None
    made: Entropy = vars(room)["DerivedEntropy"](client._secret, label)
    return made


class WordsByAnswer(Client):
    """Memoises by answer: answers that share a cell get permanent responses of their own, as many as there are."""

    def _randomized(self, value: object) -> Report | str:
        self._asked = value
        return super()._randomized(value)

    def _permanent_words(self, cells: tuple[int, ...]) -> Entropy:
        return _with_label(self, repr((self._cohort, self._asked)).encode())


class WordsSharedByCells(Client):
    """One word for all cells: one permanent response tells the others."""

    def _permanent_words(self, cells: tuple[int, ...]) -> Entropy:
        return _with_label(self, repr(self._cohort).encode())


class Replayed(Entropy):
    """The first word, again and again."""

    def __init__(self, entropy: Entropy) -> None:
        self._from, self._first = entropy, list[int]()

    def word(self) -> int:
        if not self._first:
            self._first.append(self._from.word())
        return self._first[0]


class SecondStageReused(Client):
    """Draws the words of the second stage once: every report of a cell is the same, and says all of epsilon."""

    def _randomized(self, value: object) -> Report | str:
        if not isinstance(self._entropy, Replayed):
            self._entropy = Replayed(self._entropy)
        return super()._randomized(value)


class CohortRedrawn(Client):
    """Draws a cohort for every report: each of them has cells, and permanent responses, of its own."""

    def _randomized(self, value: object) -> Report | str:
        self._cohort = self._entropy.uniform_below(self._survey.cohorts)
        return super()._randomized(value)


BY_CELL_MUTANTS = (WordsByAnswer, WordsSharedByCells, SecondStageReused, CohortRedrawn)


class _Rows(Channel):
    """A channel that draws from the rows of another, in its own way; nothing about it is checked."""

    kind = "rows"

    def __init__(self, real: Channel) -> None:
        self.real, self.cells, self.epsilon, self.width = real, real.cells, real.epsilon, real.width

    def row(self, cell: int) -> Sequence[int]:
        return self.real.row(cell)

    def thresholds(self) -> dict[str, int]:
        return {}

    def title(self, *, own_cells: bool) -> str:
        return "rows"


class NextRow(_Rows):
    """A row shifted by one: the answer is looked up from 1 on."""

    def row(self, cell: int) -> Sequence[int]:
        return self.real.row((cell + 1) % self.cells)


class ShiftedRow(_Rows):
    """A row whose columns are shifted by one."""

    def row(self, cell: int) -> Sequence[int]:
        first, *rest = self.real.row(cell)
        return [*rest, first]


class OneUnitMore(_Rows):
    """A threshold off by one unit: `word <= edge`, so the first column has one word more and the last one fewer."""

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        (truth,), word = cells, entropy.word()
        edges = [self.edge(truth, column) for column in range(1, self.columns)]
        return sum(not word <= edge for edge in edges if 0 < edge < 2**64)


class HarmlessRow(_Rows):
    """A harmless answer's row used for a sensitive one."""

    def row(self, cell: int) -> Sequence[int]:
        harmless = next(x for x, kind in enumerate(self.real.classes) if kind == 1)
        return self.real.row(cell if self.real.classes[cell] else harmless)


class GroupByGroup(_Rows):
    """Weights of the first group for everybody: the budget of a group is not its own."""

    def row(self, cell: int) -> Sequence[int]:
        return self.real.row(self.real.classes.index(0))


def nudged(table: WeightTable) -> WeightTable:
    """One unit moved from one column to the next in the row of one answer."""
    rows = [list(row) for row in table.rows]
    rows[0][0] -= 1
    rows[0][1] += 1
    return WeightTable(rows, 40)

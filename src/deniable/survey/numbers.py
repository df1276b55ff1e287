"""Answers that are numbers: the alphabet of a scale."""

from dataclasses import dataclass

from deniable.survey.alphabet import Alphabet, Symbol
from deniable.survey.scale import Scale

__all__ = ["Numbers"]


@dataclass(frozen=True, slots=True)
class Numbers(Alphabet):
    """The alphabet of a scale: its symbols are the names of the bins; a number stands for the bin that it is in.

    >>> alphabet = Numbers.of(Scale("0", "100", 4))
    >>> alphabet.symbols, alphabet.index(30.5), alphabet.index("25 to 50"), alphabet.canonical(30.5)
    (('0 to 25', '25 to 50', '50 to 75', '75 to 100'), 1, 1, '25 to 50')
    """

    scale: Scale | None = None

    @classmethod
    def of(cls, scale: Scale) -> "Numbers":
        """The alphabet of a scale."""
        return cls(scale.names, scale=scale)

    def canonical(self, value: object) -> Symbol:
        return self._bins.names[self.index(value)]

    def index(self, value: object) -> int:
        found = self._index.get(value) if type(value) is str else None
        return self._bins.bin(value) if found is None else found

    @property
    def _bins(self) -> Scale:
        assert self.scale is not None
        return self.scale

    def to_json(self) -> dict[str, object]:
        return self._bins.to_json()

"""survey/presets.py: a survey by one call."""

from collections.abc import Iterable

from deniable.survey import Alphabet, Direct, Survey
from deniable.survey.presets import PRESETS

from .band import Band
from .plain import Plain


def band(*, symbols: int | Iterable[object], epsilon: object, other: object = None, name: str = "") -> Survey:
    alphabet = Alphabet.closed(symbols, other)
    return Survey(alphabet, Direct(len(alphabet)), Band(len(alphabet), epsilon), name)


def plain(*, symbols: int | Iterable[object], epsilon: object, other: object = None, name: str = "") -> Survey:
    alphabet = Alphabet.closed(symbols, other)
    return Survey(alphabet, Direct(len(alphabet)), Plain(len(alphabet), epsilon), name)


PRESETS |= {"band": band, "plain": plain}

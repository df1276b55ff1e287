"""Which answers exist: a closed list of symbols, or an open alphabet whose candidates are named when decoding.

A symbol is a string (NFC-normalised), an integer or bytes. A type byte distinguishes 1, "1" and b"1". An open alphabet
also says how text is read: folded (`survey.folding`) or exactly as it is. The symbols of a closed one are exact, since
a page or an application offers them to choose from. Error messages never show a value that a respondent gave.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from deniable.errors import AlphabetError, SurveyError
from deniable.mechanisms import whole_number
from deniable.survey.folding import fold
from deniable.survey.scale import Scale

__all__ = [
    "TEXTS",
    "Alphabet",
    "Symbol",
    "canonical_symbol",
    "read_candidates",
    "symbol_bytes",
    "symbol_from_json",
    "symbol_to_json",
]

Symbol: TypeAlias = str | int | bytes

TEXTS = ("folded", "exact")  # how the text of an open alphabet may be read
MAX_SYMBOLS = 1 << 24  # symbols of a closed alphabet, at most: as many as the cells of k-ary randomised response
_SAFE = (1 << 53) - 1  # the largest integer that every reader of JSON holds exactly
_DIGITS = 80  # decimal digits of an integer symbol, at most
_LONG = 10**_DIGITS  # the smallest integer with more digits than that


def canonical_symbol(value: object) -> Symbol:
    """The one form of a symbol: NFC text, a plain int, or bytes.

    >>> canonical_symbol("e\\u0301") == "\\u00e9"
    True
    """
    if isinstance(value, str):
        # Not str(value): for a member of a text enumeration that is its name, not its text.
        text = value if type(value) is str else str.__str__(value)
        return text if text.isascii() else _valid_unicode(unicodedata.normalize("NFC", text))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    number = whole_number(value)
    if number is None:
        raise AlphabetError(f"symbol must be text, an integer or bytes, got {type(value).__name__}")
    if abs(number) >= _LONG:
        raise AlphabetError(f"symbol must be an integer of at most {_DIGITS} digits, got a longer one; use text")
    return number


def _valid_unicode(text: str) -> str:
    try:
        text.encode("utf-8")
        return text
    except UnicodeEncodeError:
        pass
    # Raised outside the handler: a UnicodeEncodeError holds the text, and would travel along as the context.
    raise AlphabetError(
        "symbol must be valid Unicode text, got one with a lone surrogate; decode the text properly first"
    )


def symbol_bytes(symbol: Symbol) -> bytes:
    """What is hashed: a type byte (s, i or b), then UTF-8 text, decimal digits or the bytes themselves.

    >>> symbol_bytes("1"), symbol_bytes(1), symbol_bytes(b"1")
    (b's1', b'i1', b'b1')
    """
    if isinstance(symbol, str):
        return b"s" + symbol.encode("utf-8")
    if isinstance(symbol, bytes):
        return b"b" + symbol
    return b"i%d" % symbol


def symbol_to_json(symbol: Symbol) -> object:
    """Text as it is, integers below 2**53 in size as numbers, other integers and bytes as tagged objects.

    >>> [symbol_to_json(s) for s in ("a", 7, 2**60, b"\\xff")]
    ['a', 7, {'int': '1152921504606846976'}, {'bytes': 'ff'}]
    """
    if isinstance(symbol, str):
        return symbol
    if isinstance(symbol, bytes):
        return {"bytes": symbol.hex()}
    return symbol if abs(symbol) <= _SAFE else {"int": str(symbol)}


def symbol_from_json(value: object) -> Symbol:
    """The symbol that `symbol_to_json` wrote; a `SurveyError` for anything that it would not have written."""
    try:
        symbol: object = value
        if isinstance(value, dict) and list(value) == ["bytes"]:
            symbol = bytes.fromhex(value["bytes"])
        elif isinstance(value, dict) and list(value) == ["int"] and len(value["int"]) <= _DIGITS + 1:
            symbol = int(value["int"])
        found = canonical_symbol(symbol)
    except (TypeError, ValueError) as problem:
        raise SurveyError(f"symbols must be text, integers or tagged bytes: {problem}") from None
    if symbol_to_json(found) != value:
        raise SurveyError("symbols must be in canonical form: NFC text, plain integers, lower-case hexadecimal bytes")
    return found


@dataclass(frozen=True, slots=True)
class Alphabet:
    """A closed list of distinct symbols with an optional catch-all, or an open alphabet (`symbols` is None).

    >>> Alphabet.closed(["no", "yes"]).index("yes")
    1
    >>> Alphabet.closed(["chrome", "firefox"], other="something else").index("lynx")
    2
    >>> len(Alphabet.closed(16)), Alphabet.open().is_open
    (16, True)
    >>> Alphabet.open().canonical(" Lynx"), Alphabet.open(text="exact").canonical(" Lynx")
    ('lynx', ' Lynx')
    """

    symbols: tuple[Symbol, ...] | None
    other: Symbol | None = None
    text: str = "exact"
    _index: dict[Symbol, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.text not in TEXTS:
            shown = repr(self.text[:40]) if isinstance(self.text, str) else type(self.text).__name__
            raise SurveyError(f"text must be 'folded' or 'exact', got {shown}")
        if self.symbols is not None:
            if self.text != "exact":
                raise SurveyError(
                    "text must be 'exact' for a closed alphabet, got 'folded'; its symbols are chosen, not typed"
                )
            object.__setattr__(self, "symbols", tuple(canonical_symbol(s) for s in self.symbols))
        if self.other is not None:
            object.__setattr__(self, "other", canonical_symbol(self.other))
        object.__setattr__(self, "_index", {s: i for i, s in enumerate(self.symbols or ())})
        if self.symbols is None:
            if self.other is not None:
                raise SurveyError("other must not be set for an open alphabet: every symbol is already accepted")
            return
        if not 2 <= len(self.symbols) <= MAX_SYMBOLS:
            raise SurveyError(f"symbols must number from 2 to {MAX_SYMBOLS}, got {len(self.symbols)}")
        if len(self._index) != len(self.symbols):
            repeated = next(s for i, s in enumerate(self.symbols) if self._index[s] != i)
            raise SurveyError(
                f"symbols must be distinct after NFC normalisation, got {repeated!r} more than once"
            ).because("alike")
        if self.other is not None and self.other not in self._index:
            raise SurveyError("other must be one of the symbols")

    @classmethod
    def closed(cls, symbols: Iterable[object] | int, other: object = None) -> "Alphabet":
        """From any iterable of symbols, or an integer S for the symbols 0 .. S-1; `other` joins them if it is new."""
        if isinstance(symbols, (str, bytes)):
            raise SurveyError(f"symbols must be a collection of symbols, got one {type(symbols).__name__}")
        if isinstance(symbols, (set, frozenset)):
            raise SurveyError("symbols must have an order, got a set; every process would order it anew: use sorted()")
        if isinstance(symbols, bool) or not (hasattr(symbols, "__index__") or hasattr(symbols, "__iter__")):
            raise SurveyError(f"symbols must be a collection or a count, got {type(symbols).__name__}")
        if not isinstance(symbols, Iterable):
            if not 2 <= symbols.__index__() <= MAX_SYMBOLS:
                raise SurveyError(f"symbols must number from 2 to {MAX_SYMBOLS}, got {symbols}")
            symbols = range(symbols.__index__())
        found = tuple(canonical_symbol(s) for s in symbols)
        catch_all = None if other is None else canonical_symbol(other)
        if catch_all is not None and catch_all not in found:
            found += (catch_all,)
        return cls(found, catch_all)

    @classmethod
    def open(cls, *, text: str = "folded") -> "Alphabet":
        """An alphabet that accepts every symbol; the analyst names candidates when decoding."""
        return cls(None, text=text)

    @property
    def is_open(self) -> bool:
        return self.symbols is None

    @property
    def bins(self) -> Scale | None:
        """The scale whose bins the symbols are, where answers are numbers."""
        return getattr(self, "scale", None)

    def __len__(self) -> int:
        return len(self._index)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._index)

    def canonical(self, value: object) -> Symbol:
        """The one form of a symbol here: as `canonical_symbol` has it, and text folded if this alphabet says so."""
        symbol = canonical_symbol(value)
        return fold(symbol) if self.text == "folded" and isinstance(symbol, str) else symbol

    def index(self, value: object) -> int:
        """The position of a symbol in a closed alphabet, or of the catch-all; the value is never shown."""
        # The common case first: an exact `str` that is already canonical is found without any normalisation.
        position = self._index.get(value) if type(value) is str or type(value) is int else None
        if position is None:
            try:
                position = self._index.get(canonical_symbol(value))
            except AlphabetError:  # no symbol at all; a catch-all takes that too, so that no answer stays unsent
                if self.other is None:
                    raise
        if position is None and self.other is not None:
            position = self._index[self.other]
        if position is None:
            raise AlphabetError(f"symbol is not in this survey's alphabet of {len(self)} symbols")
        return position

    def to_json(self) -> dict[str, object]:
        if self.symbols is None:
            # An exact alphabet has no such field: it is what every survey was before text could be folded.
            return {"kind": "open"} if self.text == "exact" else {"kind": "open", "text": self.text}
        fields: dict[str, object] = {"kind": "closed", "symbols": [symbol_to_json(s) for s in self.symbols]}
        if self.other is not None:
            fields["other"] = symbol_to_json(self.other)
        return fields


def read_candidates(alphabet: Alphabet, candidates: Sequence[object]) -> tuple[Symbol, ...]:
    """Candidates as this alphabet reads them, in their order. Two spellings of one answer are merged; what is repeated
    letter by letter is left repeated, for the caller to refuse: it is more likely a mistake than a spelling.

    >>> read_candidates(Alphabet.open(), ["Ibuprofen", "aspirin", "ibuprofen "])
    ('ibuprofen', 'aspirin')
    >>> read_candidates(Alphabet.open(), ["Ibuprofen", "Ibuprofen"])
    ('ibuprofen', 'ibuprofen')
    """
    found = tuple(map(alphabet.canonical, candidates))
    if alphabet.text == "exact" or len(set(found)) == len(found):
        return found
    kept, spellings = [], set()
    answers: set[tuple[type, Symbol]] = set()  # the type keeps 1 apart from True
    for value, symbol in zip(candidates, found, strict=True):
        answer, spelling = (type(symbol), symbol), (type(symbol), canonical_symbol(value))
        if answer not in answers or spelling in spellings:
            kept.append(symbol)
        answers.add(answer)
        spellings.add(spelling)
    return tuple(kept)

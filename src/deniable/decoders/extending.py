"""Which bytes may follow a beginning: those of UTF-8, of a set of characters, and of known prefixes.

A beginning is what the cohorts of a level hash: the first bytes of a text, or a whole text and the end mark. It may end
within a character. Bytes are all as likely as others: nothing here knows a language.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from string import ascii_letters, digits

from deniable.errors import DecodeError
from deniable.survey import END, Alphabet

DOMAINS = "abcdefghijklmnopqrstuvwxyz0123456789-."  # characters of a host name (RFC 1123), in small letters
NAMED = {"digits": digits, "domains": DOMAINS, "letters": ascii_letters + " "}  # sets of characters that have a name
_OTHER_NAMES = ("alphanumeric", "ascii", "cyrillic", "latin", "lowercase", "numbers", "unicode", "words")  # of sets
_ALIKE = 0.8  # of a name and what is nearly one (difflib)
_RANGE = re.compile("[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]")  # as others write sets of characters
_CONTROLS = 0x20  # ASCII below it is control characters, which nobody writes
_ASCII = 0x7F  # the delete character: ASCII from it on is none that people write
_UPPER = range(0x41, 0x5B)  # capital letters of ASCII, which folded text does not have
_LEADS = range(0xC2, 0xF5)  # bytes that begin a character of several (RFC 3629, section 4)
# What may follow such a byte, where it is not all of 0x80 to 0xBF: neither overlong forms nor surrogates.
_SECOND = {0xE0: range(0xA0, 0xC0), 0xED: range(0x80, 0xA0), 0xF0: range(0x90, 0xC0), 0xF4: range(0x80, 0x90)}
_ANY = range(0x80, 0xC0)  # bytes that go on with a character


def _length(lead: int) -> int:
    """How many bytes the character has that this byte begins."""
    return 1 if lead < _LEADS.start else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def partial(beginning: bytes) -> bytes:
    """The bytes of the character that a beginning ends within; none where it ends between two.

    >>> partial("caf\\u00e9".encode()), partial("caf\\u00e9".encode()[:-1])
    (b'', b'\\xc3')
    """
    if beginning and beginning[-1] <= _ASCII:
        return b""
    for size in range(1, min(len(beginning), 3) + 1):
        lead = beginning[-size]
        if lead not in _ANY:
            return beginning[-size:] if _length(lead) > size else b""
    return b""


class Extension:
    """What may follow the beginnings of a survey's answers.

    Parameters
    ----------
    answers
        The survey's alphabet; text that it folds has no capital letters.
    characters
        A name of `NAMED`, or the characters themselves; None for all but control characters.
    prefixes
        Texts one of which every answer begins with; None if there is no such list.

    Examples
    --------
    >>> extension = Extension(Alphabet.open(), "ab")
    >>> sorted(extension.grown([b"a"], 1, 100))
    [b'aa', b'aa\\xff', b'ab', b'ab\\xff']
    >>> extension.width(b"", 1), len(Extension(Alphabet.open()).grown([b"a"], 1, 1000))
    (4, 189)
    """

    def __init__(
        self, answers: Alphabet, characters: str | Iterable[str] | None = None, prefixes: Iterable[str] | None = None
    ) -> None:
        self._folded = answers.text == "folded"
        self._trie: dict[bytes, set[int]] | None = None
        self.characters = None if characters is None else _characters(answers, characters)
        if self.characters is not None:
            self._trie = {}
            for character in self.characters:
                code = character.encode("utf-8")
                for i, byte in enumerate(code):
                    self._trie.setdefault(code[:i], set()).add(byte)
        self._known = None if prefixes is None else _prefixes(answers, prefixes)
        self.width = cache(self._width)
        self._bytes_after = cache(lambda within: [bytes([byte]) for byte in self.after(within)])
        # Texts of characters that are neither folded nor put together are answers as they are.
        self.all_answers = self.characters is not None and all(
            c.isascii() and not c.isspace() and answers.canonical(c) == c for c in self.characters
        )

    @property
    def named(self) -> tuple[str | None, list[str] | None]:
        """The characters and the known prefixes, so that two of these can be compared."""
        known = None if self._known is None else sorted(code.hex() for codes in self._known.values() for code in codes)
        return None if self.characters is None else "".join(self.characters), known

    def after(self, within: bytes) -> tuple[int, ...]:
        """The bytes that may follow within a character, or between two."""
        if self._trie is not None:
            return tuple(sorted(self._trie.get(within, ())))
        if not within:
            plain = (byte for byte in range(_CONTROLS, _ASCII) if not (self._folded and byte in _UPPER))
            return (*plain, *_LEADS)
        return tuple(_SECOND.get(within[0], _ANY) if len(within) == 1 else _ANY)

    def _width(self, within: bytes, steps: int) -> int:
        """How many beginnings follow one that ends within this character, `steps` bytes on."""
        return sum(
            (not left) + (self.width(left, steps - 1) if steps > 1 else 1)
            for left in (partial(within + bytes([byte])) for byte in self.after(within))
        )

    def grown(self, beginnings: Sequence[bytes], steps: int, most: int) -> list[bytes]:
        """All beginnings that are `steps` bytes longer, and all texts that end before; what has ended stays.

        Parameters
        ----------
        beginnings
            Beginnings of one length, and whole texts with their end marks.
        steps
            How many bytes longer.
        most
            How many there may be.

        Raises
        ------
        DecodeError
            If there are more, or none.
        """
        found: list[bytes] = []
        open_: list[bytes] = []
        for beginning in beginnings:
            (found if beginning.endswith(END) else open_).append(beginning)
        if open_ == [b""] and self._begins(END):
            found.append(END)  # the empty answer
        if self._known is None and sum(self.width(partial(beginning), steps) for beginning in open_) > most:
            raise DecodeError(_too_many(most))
        for _ in range(steps):
            before, open_ = open_, []
            for beginning in before:
                longer = [beginning + byte for byte in self._bytes_after(partial(beginning))]
                open_ += longer if self._known is None else filter(self._begins, longer)
                if len(found) + len(open_) > most:
                    raise DecodeError(_too_many(most))
            found += [text for beginning in open_ if not partial(beginning) and self._begins(text := beginning + END)]
        if not found and not open_:
            raise DecodeError("alphabet and prefixes must leave at least one text to look for, got none").because(
                "characters"
            )
        return found + open_

    def _begins(self, beginning: bytes) -> bool:
        """Whether it begins like a known prefix, or goes on from one."""
        if self._known is None:
            return True
        return any(
            beginning[:size] in known if size <= len(beginning) else any(p.startswith(beginning) for p in known)
            for size, known in self._known.items()
        )


def _too_many(most: int) -> str:
    return (
        f"candidates must be at most {most} at a level, got more; name an alphabet or known prefixes, or let levels "
        "rise in smaller steps"
    )


def _characters(answers: Alphabet, given: object) -> list[str]:
    """The characters of an alphabet, as the survey reads them, in order."""
    found = NAMED.get(given, given) if isinstance(given, str) else given
    try:
        letters = list(found)  # type: ignore[call-overload]
    except TypeError:
        letters = []
    single = letters and all(isinstance(c, str) and len(c) == 1 for c in letters)
    if not single or (found is given and isinstance(given, str) and _is_no_list(given)):
        names = ", ".join(map(repr, NAMED))
        raise DecodeError(
            f"alphabet must be {names} or single characters, each once and without ranges, got {given!r:.80}; no set "
            "has that name: write out the characters, as text or as a list, which is never taken for a name"
        ).because("alphabet")
    # A blank by itself would be folded away.
    blank = answers.text == "folded"
    return sorted({" " if blank and c.isspace() else str(answers.canonical(c)) for c in letters})


def _is_no_list(text: str) -> bool:
    """Whether somebody may have meant something else: a set by another name, a word or a range.

    Characters may have any order: there is none that people write them in.

    >>> [_is_no_list(text) for text in ("domain", "latin", "hello", "a-z", "ashok", "ACTG", "yn-")]
    [True, True, True, True, False, False, False]
    """
    if len(set(text)) < len(text) or _RANGE.search(text):
        return True
    return bool(get_close_matches(text.casefold(), [*NAMED, *_OTHER_NAMES], 1, _ALIKE))


def _prefixes(answers: Alphabet, given: object) -> dict[int, set[bytes]]:
    """Known prefixes by their length in bytes."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise DecodeError(f"prefixes must be a list of texts, got one {type(given).__name__}")
    found: dict[int, set[bytes]] = {}
    for prefix in given:
        if not isinstance(prefix, str):
            raise DecodeError(f"prefixes must be texts, got one {type(prefix).__name__}")
        code = str(answers.canonical(prefix)).encode("utf-8")
        found.setdefault(len(code), set()).add(code)
    if not found:
        raise DecodeError("prefixes must hold at least one text, got none; leave them out to search everywhere")
    return found

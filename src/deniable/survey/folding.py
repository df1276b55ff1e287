"""Folding: text without case, and with single blanks between words only, for surveys that fold their text.

Phones capitalise and people type blanks, so "Ibuprofen", "ibuprofen" and " IBUPROFEN " are one answer. The fold is part
of the protocol (docs/reference/protocol.md, section 2): every client must give the same text for every text, whatever
version of Unicode its platform has. So it is defined over fixed ranges of letters, all assigned in Unicode 11 or
before, whose case mappings do not change any more; a letter that a later version adds stays as it is. It must not be
confused with `str.casefold` and `str.lower`, which know more letters with every version, nor with NFC, which is all
that an exact survey does to text.

Claim: the fold is idempotent, its result is in NFC, and canonically equivalent texts have one fold.
Proof: tests/properties/test_folding.py::test_fold_is_idempotent_and_normalised
"""

import re
import unicodedata

__all__ = ["WHITE_SPACE", "fold"]

# Every code point in these ranges was assigned in Unicode 11, and every cased letter of Unicode 11 is in one of them or
# is taken apart by NFD.
_CASED = (
    "0041-0376 037F 0391-03A1 03A3-052E 0531-0556 0587 10A0-10C5 10C7 10CD 13A0-13F5 1C80-1C88 1C90-1CBA 1CBD-1CBF "
    "1E9A-1EFE 2132-2183 24B6-24CF 2C00-2C2E 2C60-2CF2 A640-A69A A722-A7B8 FB00-FB06 FB13-FB17 FF21-FF3A 10400-10427 "
    "104B0-104D3 10C80-10CB2 118A0-118BF 16E40-16E5F 1E900-1E921"
)
# White space of Unicode and of `str.split`, and two invisible characters: the zero-width space and the byte order mark.
WHITE_SPACE = "\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\ufeff" + "".join(
    map(chr, range(0x2000, 0x200C))
)


def _fold_table() -> dict[int, str]:
    """The replacement of each code point of a text in NFD that is not left as it is."""
    table = dict.fromkeys(map(ord, WHITE_SPACE), " ")
    for part in _CASED.split():
        first, _, last = part.partition("-")
        for code in range(int(first, 16), int(last or first, 16) + 1):
            letter = chr(code)
            # To upper case and back, which makes the forms of one letter equal: the two small sigmas, or long s and s.
            small = letter.lower().upper().lower()
            if small != letter and unicodedata.normalize("NFD", letter) == letter:
                table[code] = small
    return table


_TABLE = _fold_table()
# The lower case of the Turkish capital I with a dot is i and a combining dot, which is removed.
_DOTTED = re.compile("i\u0307+")
_BLANKS = re.compile("  +")


def fold(text: str) -> str:
    """The one text that stands for all texts that differ from it in case, or in white space around and between words.

    Why the result is stable: NFD leaves letters that are taken apart no further, and the table maps each of them to
    such letters, so what follows is in NFD again and NFC only puts it together. (One combining mark is mapped to a
    letter, U+0345 to iota; it comes last of all marks on a letter, so the order of the others stays right.)

    >>> fold("  Ibuprofen\\t 400 ") == fold("IBUPROFEN 400") == "ibuprofen 400"
    True
    >>> fold("STRASSE"), fold("Straße"), fold("\\u0130zmir")
    ('strasse', 'strasse', 'izmir')
    """
    if text.isascii():  # the same, for nearly all texts: `split` knows the white space of ASCII above
        return " ".join(text.lower().split())
    plain = unicodedata.normalize("NFD", text).translate(_TABLE)
    return unicodedata.normalize("NFC", _BLANKS.sub(" ", _DOTTED.sub("i", plain)).strip(" "))

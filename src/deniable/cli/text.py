"""Text for a terminal: symbols without control characters, tables that align wide characters too, and bars."""

import math
import re
import sys
import textwrap
import unicodedata
from collections.abc import Container, Sequence

from deniable.survey import Symbol

_EIGHTHS = " ▏▎▍▌▋▊▉█"


def shown(symbol: Symbol) -> str:
    """A symbol as text that is safe to print: control characters and invisible ones are escaped.

    >>> shown("tab\\there"), shown(7), shown(b"\\xff")
    ('tab\\\\there', '7', '0xff')
    """
    if isinstance(symbol, bytes):
        return "0x" + symbol.hex()
    text = str(symbol)
    return "".join(c if c.isprintable() or c in "\u200d\ufe0f" else ascii(c)[1:-1] for c in text) or '""'


def as_typed(sentence: str, names: Container[str]) -> str:
    """A sentence of the library, with the arguments that are options of a command spelled as options.

    >>> as_typed("max_l1 must not be given with number, got n_o", {"max_l1", "number"})
    '--max-l1 must not be given with number, got n_o'
    """

    # A name without an underscore may as well be a word of the sentence.
    def option(word: re.Match[str]) -> str:
        return f"--{word[0].replace('_', '-')}" if word[0] in names else word[0]

    return re.sub(r"\b[a-z]+_\w+", option, sentence)


def columns_of(text: str) -> int:
    """How many columns of a terminal a text takes: two for wide characters, none for those that combine.

    >>> columns_of("abc"), columns_of("日本"), columns_of("e\\u0301")
    (3, 4, 1)
    """
    total, joined = 0, False
    for character in text:
        if character in "\u200d\ufe0f" or unicodedata.category(character) in ("Mn", "Me", "Cf"):
            joined = character == "\u200d"
            continue
        # What follows a joiner is drawn in the same place as what came before it.
        total += 0 if joined else 2 if unicodedata.east_asian_width(character) in "WF" else 1
        joined = False
    return total


def fit(text: str, width: int) -> str:
    """`text`, cut with an ellipsis if it takes more than `width` columns.

    >>> fit("abcdef", 4)
    'abc…'
    """
    if columns_of(text) <= width:
        return text
    kept = text
    while kept and columns_of(kept) > width - 1:
        kept = kept[:-1]
    return kept + "…"


def pad(text: str, width: int, *, right: bool = False) -> str:
    """`text` filled with spaces to `width` columns, on the left if it is to stand `right`."""
    space = " " * max(0, width - columns_of(text))
    return space + text if right else text + space


def aligned(cells: Sequence[str], widths: Sequence[int], align: str) -> str:
    """One line of a table: each cell filled to its width, on the side that its letter of `align` says, l or r.

    >>> aligned(["a", "12", "x"], [3, 4, 5], "lrl")
    'a      12  x'
    """
    filled = (pad(cell, w, right=a == "r") for cell, w, a in zip(cells, widths, align, strict=True))
    return "  ".join(filled).rstrip()


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], align: str, *, limit: int = 40, wrap: int | None = None
) -> str:
    """Rows under a header, or without one if it is empty; `align` has one letter a column, l or r.

    The first column is cut at `limit`. With `wrap` the last one goes on below, so that lines have at most that length.

    >>> print(table(["what", "n"], [["日本", "7"], ["a", "12"]], "lr"))
    what   n
    日本   7
    a     12
    >>> print(table([], [["a", "one two three"]], "ll", wrap=11))
    a  one two
       three
    """
    lines = [[fit(row[0], limit), *row[1:]] for row in ([header] if header else []) + [*rows]]
    widths = [max((columns_of(line[i]) for line in lines), default=0) for i in range(len(align))]
    if wrap is not None:
        room = wrap - sum(widths[:-1]) - 2 * (len(align) - 1)
        parts = [(line, textwrap.wrap(line[-1], room, break_long_words=False) or [""]) for line in lines]
        blank = [""] * (len(align) - 1)
        lines = [[*(blank if i else line[:-1]), text] for line, texts in parts for i, text in enumerate(texts)]
    return "\n".join(aligned(line, widths, align) for line in lines)


def several(count: int, what: str) -> str:
    """A number and its noun.

    >>> several(1, "cohort"), several(64, "cohort")
    ('1 cohort', '64 cohorts')
    """
    return f"{count:,} {what}" + ("" if count == 1 else "s")


def percent(value: float, places: int = 2) -> str:
    """A share as text: 12.34 %.

    >>> percent(0.12345), percent(float("inf"))
    ('12.35 %', 'not determined')
    """
    return f"{100 * value:.{places}f} %" if math.isfinite(value) else "not determined"


def duration(seconds: float) -> str:
    """A duration, rounded to its one or two largest units.

    >>> duration(0.4), duration(59), duration(754), duration(12_345)
    ('0 s', '59 s', '13 min', '3 h 26 min')
    """
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def bar(value: float, largest: float, width: int = 24) -> str:
    """A bar for a share, `width` columns for the largest; plain ASCII where the output cannot show more."""
    eighths = round(8 * width * min(max(value / largest, 0.0), 1.0)) if largest > 0 else 0
    full, part = divmod(eighths, 8)
    text = _EIGHTHS[8] * full + (_EIGHTHS[part] if part else "")
    try:
        text.encode(sys.stdout.encoding or "ascii")
        return text
    except (UnicodeEncodeError, LookupError):
        return "#" * (full + (part >= 4))

"""`Picture`: horizontal bars or a heat map as SVG, by the standard library alone; for surveys, which devices have.

Everything else is drawn by `deniable.charts`, which needs packages and so stands outside the device's rooms.
"""

import math
import os
from collections.abc import Sequence
from html import escape

from deniable.survey.outputs import write_atomically

__all__ = ["Picture", "bars", "heat_map"]

_WIDTH, _STEP, _LABEL, _HEAD, _FOOT = 640, 30, 190, 56, 40  # pixels: all, a bar, its name, above and below the bars
_BAR, _TRUE, _INK, _QUIET = "#8CC8EE", "#D55E00", "#222222", "#6B6B6B"  # the colours of `deniable.charts`
_LONGEST = 24  # characters of a name that fit
_LARGEST, _READABLE = 56, 32  # pixels: the side of a square of a heat map, at most; and from which a number fits in


class Picture(str):
    """The text of an SVG drawing: notebooks show it, `save` writes it.

    >>> bars("Dice", [("kept", 0.7, True), ("changed", 0.3, False)], note="of all").startswith("<svg")
    True
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<Picture: SVG of {len(self)} characters; show it in a notebook, or save(path)>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the drawing to a file.

        Parameters
        ----------
        path
            The file, whose name should end in `.svg`.
        """
        write_atomically(path, self.encode())


def bars(title: str, rows: Sequence[tuple[str, float, bool]], *, note: str) -> Picture:
    """One bar a row, in their order, between 0 and 100 %.

    Parameters
    ----------
    title
        The heading, on one line.
    rows
        A name, a share between 0 and 1, and whether the bar is set off from the others.
    note
        A line under the bars.
    """
    height = _HEAD + _STEP * len(rows) + _FOOT
    room = _WIDTH - _LABEL - 80
    drawn = []
    for number, (name, share, marked) in enumerate(rows):
        top, wide = _HEAD + _STEP * number, room * min(max(share, 0.0), 1.0)
        colour = _TRUE if marked else _BAR
        drawn.append(
            f'<text x="{_LABEL - 8}" y="{top + 18}" text-anchor="end">{_text(name, _LONGEST)}</text>'
            f'<rect x="{_LABEL}" y="{top + 3}" width="{wide:.1f}" height="{_STEP - 8}" fill="{colour}"/>'
            f'<text x="{_LABEL + wide + 6:.1f}" y="{top + 18}">{100 * share:.1f} %</text>'
        )
    return _framed(title, "".join(drawn), height, note)


def heat_map(title: str, names: Sequence[str], rows: Sequence[Sequence[tuple[str, float]]], *, note: str) -> Picture:
    """A square a pair of names, the darker the larger; the name of a row stands beside it, that of a column above.

    Parameters
    ----------
    title
        The heading, on one line.
    names
        Those of the rows, and of the columns.
    rows
        For each pair a text, and how dark it is: from 0 to 1, or infinite, which has a colour of its own.
    note
        A line under the squares.
    """
    side = min((_WIDTH - _LABEL - 16) / len(names), _LARGEST)
    top, size = _HEAD + _LABEL // 2, 13 if side >= _READABLE else 8
    drawn = []
    for y, (name, row) in enumerate(zip(names, rows, strict=True)):
        middle = top + side * (y + 0.5) + 4
        drawn.append(f'<text x="{_LABEL - 8}" y="{middle:.1f}" text-anchor="end" font-size="{size}">')
        drawn.append(f"{_text(name, _LONGEST)}</text>")
        x = _LABEL + side * (y + 0.5) + 4
        turned = f'transform="translate({x:.1f},{top - 6}) rotate(-60)"'
        drawn.append(f'<text {turned} font-size="{size}">{_text(name, _LONGEST // 2)}</text>')
        for column, (text, dark) in enumerate(row):
            left, colour = _LABEL + side * column, _TRUE if dark == math.inf else _BAR
            drawn.append(
                f'<rect x="{left:.1f}" y="{top + side * y:.1f}" width="{side:.1f}" height="{side:.1f}" '
                f'fill="{colour}" fill-opacity="{min(dark, 1.0):.3f}" stroke="white">'
                f"<title>{_text(text, 40)}</title></rect>"
            )
            if side >= _READABLE:
                drawn.append(f'<text x="{left + side / 2:.1f}" y="{middle:.1f}" text-anchor="middle">')
                drawn.append(f"{_text(text, 6)}</text>")
    return _framed(title, "".join(drawn), math.ceil(top + side * len(names)) + _FOOT, note)


def _framed(title: str, drawn: str, height: int, note: str) -> Picture:
    return Picture(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
        f' font-family="sans-serif" font-size="13" fill="{_INK}" role="img" aria-label="{_text(title, 300)}">'
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>'
        f'<text x="16" y="30" font-size="17" font-weight="bold">{_text(title, 70)}</text>{drawn}'
        f'<text x="16" y="{height - 14}" font-size="12" fill="{_QUIET}">{_text(note, 110)}</text></svg>'
    )


def _text(words: str, longest: int) -> str:
    """Words on one line, cut and escaped; a control character is not XML."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    return escape(shown if len(shown) <= longest else shown[: longest - 1] + "…")

"""HTML for notebooks: a title and a table of escaped text, with bars. No scripts, no links."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from deniable.errors import DataError

__all__ = ["Bar", "data_frame", "facts", "html_table"]

_CELL = "padding:1px 10px 1px 0;text-align:left;vertical-align:middle"  # CSS of a table cell
_COLOUR = "#4c78a8"  # of bars: the default colour of Vega charts


class Bar(float):
    """A share between 0 and 1 that is drawn and not written."""

    def html(self) -> str:
        width = 100 * min(max(self, 0.0), 1.0)
        return f'<div style="background:{_COLOUR};width:{width:.1f}px;height:0.8em"></div>'


def html_table(title: str, header: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = "") -> str:
    """Rows under a title and a header; everything but a `Bar` is text, whatever it holds.

    >>> "<b>1 &lt; 2</b>" in html_table("1 < 2", [], [["a", "<i>"]])
    True
    """
    head = "".join(f'<th style="{_CELL}">{escape(name)}</th>' for name in header)
    body = "".join(
        "<tr>"
        + "".join(
            f'<td style="{_CELL}">{cell.html() if isinstance(cell, Bar) else escape(str(cell))}</td>' for cell in row
        )
        + "</tr>"
        for row in rows
    )
    table = f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>"
    return f"<div><p><b>{escape(title)}</b></p>{table}{f'<p>{escape(note)}</p>' if note else ''}</div>"


def facts(title: str, named: Iterable[tuple[str, object]]) -> str:
    """A table of names and values."""
    return html_table(title, [], named)


def data_frame(table: Any) -> Any:
    """An Arrow table as a pandas DataFrame, where pandas is installed."""
    try:
        return table.to_pandas()
    except ModuleNotFoundError:
        raise DataError("pandas must be installed for to_pandas(), got none; run pip install pandas") from None

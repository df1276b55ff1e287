"""The folder that `deniable reproduce` leaves: pictures, tables, claims, and one page with all of them.

The page stands alone. Its pictures are inside it, it has no script, and its policy forbids every request; only the
links to the data files need the folder.
"""

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from deniable.reproduce.artifacts import csv_bytes, parquet_bytes, picture, put
from deniable.reproduce.claims import Claim
from deniable.reproduce.figures import FIGURES, Figure, Tables
from deniable.reproduce.settings import Settings
from deniable.reproduce.style import STYLE

# The word, its mark (colour alone tells nothing in print) and its class in the style sheet.
VERDICTS = {
    "holds": ("\N{CHECK MARK}", "holds"),
    "holds except": ("\N{ALMOST EQUAL TO}", "except"),
    "does not hold": ("\N{MULTIPLICATION SIGN}", "fails"),
    "not measured": ("\N{EN DASH}", "unmeasured"),
}
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_GLANCE = 150  # characters of a result that are shown before a reader asks for the rest
_PAPER = "Discrete Distribution Estimation under Local Privacy"


def write(
    folder: Path,
    tables: Tables,
    claims: Sequence[Claim],
    settings: Settings,
    facts: Mapping[str, str],
    figures: Sequence[str],
    on_progress: Callable[[str], None],
) -> list[Path]:
    """Write figures, tables and the page, and say what is being written; a table without rows leaves no Parquet.

    Parameters
    ----------
    folder : Path
        Where to write.
    tables : mapping of str to list of rows
        What `deniable.reproduce.tables` returned.
    claims : sequence of Claim
        What `deniable.reproduce.check` said of them.
    settings : Settings
        What was run.
    facts : mapping of str to str
        What the page says of the run: time, versions.
    figures : sequence of str
        The names of the figures to draw.
    on_progress : callable
        Called with the name of each file before it is written.

    Returns
    -------
    list of Path
        The files, in the order of writing.

    Examples
    --------
    >>> import tempfile
    >>> from deniable.reproduce.settings import Settings
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write(Path(folder), {}, [], Settings(), {}, (), print)
    index.html
    >>> [file.name for file in files]
    ['claims.csv', 'claims.json', 'index.html']
    """
    written: list[Path] = []
    for name, rows in tables.items():
        if rows:
            on_progress(f"table {name}")
            written.append(put(folder / "tables" / f"{name}.parquet", parquet_bytes(rows)))
    told = [asdict(claim) for claim in claims]
    written.append(put(folder / "claims.csv", csv_bytes(told)))
    written.append(put(folder / "claims.json", (json.dumps(told, indent=1, ensure_ascii=False) + "\n").encode()))
    sections = []
    for name in figures:
        on_progress(f"figure {name}")
        figure = FIGURES[name]
        svg = picture(figure.draw(tables))
        written.append(put(folder / "figures" / f"{name}.svg", svg.encode()))
        sections.append(_section(figure, tables, _embedded(figure, svg)))
    on_progress("index.html")
    page = _page(told, settings, facts, [FIGURES[name] for name in figures], sections, tables)
    return [*written, put(folder / "index.html", page.encode())]


def _embedded(figure: Figure, svg: str) -> str:
    """The picture inside the page, as vectors: it prints sharply, and its marks show their numbers on hover."""
    words = html.escape(figure.title)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    wide, high = (float(part) for part in size.groups()) if size else (600.0, 400.0)
    # On a phone a wide picture scrolls inside its box, at a size that can still be read; a narrow one fits.
    least = 0.65 * wide if wide > 800 else min(wide, 320)
    limits = f'style="max-width:{wide:.0f}px;min-width:{least:.0f}px"'
    body = re.sub(r"^<svg[^>]*>", "", svg, count=1)
    # Several pictures share a page, so their names for clips and gradients must differ.
    body = re.sub(r'\bid="', f'id="{figure.name}-', body)
    body = body.replace("url(#", f"url(#{figure.name}-")
    return f'<svg viewBox="0 0 {wide:g} {high:g}" role="img" aria-label="{words}" {limits}>{body}'


def _section(figure: Figure, tables: Tables, drawn: str) -> str:
    label = "not printed in the paper" if figure.label == "ours" else figure.label
    return f"""<section id="{figure.name}">
<h3>{html.escape(figure.title)} <span class="label">{html.escape(label)}</span></h3>
<div class="picture" tabindex="0">{drawn}</div>
<p>{html.escape(figure.caption)} <span class="counts">{html.escape(figure.counts(tables))}</span></p>
<details><summary>What the paper leaves open, and what we chose</summary><p>{html.escape(figure.notes)}</p></details>
<p class="files"><a href="figures/{figure.name}.svg">svg</a></p>
</section>
"""


def _badge(verdict: str, words: str) -> str:
    mark, kind = VERDICTS.get(verdict, VERDICTS["not measured"])
    return f'<span class="badge {kind}">{mark} {html.escape(words)}</span>'


def _folded(text: str) -> str:
    """A long text shows its beginning, and the rest on demand, so that the table of ninety claims stays readable."""
    if len(text) <= _GLANCE:
        return html.escape(text)
    head, _, rest = text[:_GLANCE].rpartition(" ")
    head, rest = (head, rest + text[_GLANCE:]) if head else (text[:_GLANCE], text[_GLANCE:])
    more = '<span class="more">\N{HORIZONTAL ELLIPSIS} more</span>'
    return f"<details><summary>{html.escape(head)} {more}</summary>{html.escape(rest)}</details>"


def _claims(told: Sequence[Mapping[str, str]]) -> str:
    if not told:
        return "<p>No claims were checked in this run.</p>"
    rows = []
    for claim in told:
        shown = {name: html.escape(text) for name, text in claim.items()}
        rows.append(
            f'<tr id="claim-{shown["id"]}" class="{VERDICTS.get(claim["verdict"], VERDICTS["not measured"])[1]}">'
            f'<td data-name="Section"><a href="#claim-{shown["id"]}">{shown["section"]}</a></td>'
            f'<td data-name="The paper says">{shown["sentence"]}</td>'
            f"<td>{_badge(claim['verdict'], claim['verdict'])}</td>"
            f'<td data-name="Measured here">{_folded(claim["measured"])}</td>'
            f'<td data-name="Exceptions">{_folded(claim["exceptions"])}</td></tr>'
        )
    heads = ("Section", "The paper says", "Verdict", "Measured here", "Exceptions")
    head = "".join(f"<th>{name}</th>" for name in heads)
    return f'<table class="claims"><thead><tr>{head}</tr></thead><tbody>\n' + "\n".join(rows) + "\n</tbody></table>"


def _summary(told: Sequence[Mapping[str, str]], settings: Settings) -> str:
    counts = {verdict: sum(claim["verdict"] == verdict for claim in told) for verdict in VERDICTS}
    badges = " ".join(_badge(verdict, _several(verdict, count)) for verdict, count in counts.items() if count)
    size = (
        "A full run, with the paper's counts" if settings.full else "A quick run, with smaller counts than the paper's"
    )
    return (
        f"<p>Every experiment of the paper, run again, and {len(told)} of its claims checked against the numbers. "
        f"{size}: {settings.evaluations:,} evaluations for each cell of a grid, and {settings.samples():,} samples for "
        f'each point of a line. Seed {settings.seed}.</p>\n<p class="badges">{badges}</p>'
    )


def _several(verdict: str, count: int) -> str:
    """A verdict and how many claims have it.

    >>> _several("holds except", 1), _several("holds except", 2), _several("does not hold", 3)
    ('1 holds except', '2 hold except', '3 do not hold')
    """
    plural = verdict.replace("holds", "hold").replace("does", "do")
    return f"{count} {verdict if count == 1 else plural}"


def _tables(tables: Tables, claims: int) -> str:
    listed = [(name, f"tables/{name}", len(rows), ("parquet",)) for name, rows in tables.items() if rows]
    lines = []
    for name, place, count, kinds in [*listed, ("claims", "claims", claims, ("csv", "json"))]:
        files = " ".join(f'<a href="{html.escape(place)}.{kind}">{kind}</a>' for kind in kinds)
        size = f"{count:,} {'row' if count == 1 else 'rows'}"
        lines.append(f'<tr><th>{html.escape(name)}</th><td>{size}</td><td class="files">{files}</td></tr>')
    return f'<table class="small">{"".join(lines)}</table>'


def _page(
    told: Sequence[Mapping[str, str]],
    settings: Settings,
    facts: Mapping[str, str],
    figures: Sequence[Figure],
    sections: Sequence[str],
    tables: Tables,
) -> str:
    contents = "".join(f'<li><a href="#{figure.name}">{html.escape(figure.title)}</a></li>' for figure in figures)
    run = "".join(f"<tr><th>{html.escape(key)}</th><td>{html.escape(text)}</td></tr>" for key, text in facts.items())
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_PAPER}, reproduced</title>
<style>{STYLE}</style>
</head>
<body>
<header>
<p class="kicker">Reproduced with deniable</p>
<h1>{_PAPER}</h1>
<p class="byline">Kairouz, Bonawitz and Ramage, ICML 2016</p>
{_summary(told, settings)}
</header>
<nav aria-label="Contents">
<h2>Contents</h2>
<ol><li><a href="#claims">The claims</a></li>{contents}
<li><a href="#data">Tables</a></li><li><a href="#run">This run</a></li></ol>
</nav>
<main>
<h2 id="claims">The claims</h2>
{_claims(told)}
<h2 id="figures">The figures</h2>
{"".join(sections)}<h2 id="data">Tables</h2>
<p>The numbers behind everything above; the links work while this page lies in its folder.</p>
{_tables(tables, len(told))}
<h2 id="run">This run</h2>
<table class="small">{run}</table>
</main>
</body>
</html>
"""

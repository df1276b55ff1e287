"""Notebooks of `examples/` as pages of the site: their text, their code and the output that is stored in them.

Nothing is run: a test compares each notebook with its script, and runs the script. The collector's policy allows no
inline styles, so tables lose theirs and bars become small drawings; charts become files beside the other pictures.
"""

import json
import re
from pathlib import Path
from typing import Any

_BAR = re.compile(r'<div style="background:(#\w+);width:([\d.]+)px;height:[^"]*"></div>')
_STYLE = re.compile(r' style="[^"]*"')


def page(notebook: Path, pictures: Path, up: str) -> str:
    """The Markdown of a notebook. Charts are written into `pictures`, which `up` leads to from the page."""
    parts: list[str] = []
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    for number, cell in enumerate(cells):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        printed = "".join("".join(output["text"]) for output in cell["outputs"] if "text" in output)
        parts.append(f"```text\n{printed.rstrip()}\n```" if printed else "")
        shown = [output["data"] for output in cell["outputs"] if "data" in output]
        parts += [_shown(data, f"{notebook.stem}-{number}", pictures, up) for data in shown]
    script = f"examples/{notebook.stem}.py"
    parts.append(f"This page is `{script}` of the repository; run it with `python {script}`.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(output: dict[str, Any], name: str, pictures: Path, up: str) -> str:
    """A value: a picture before a table, a table before text."""
    data = {kind: "".join(text) if isinstance(text, list) else text for kind, text in output.items()}
    if "image/svg+xml" in data:
        pictures.mkdir(parents=True, exist_ok=True)
        (pictures / f"example-{name}.svg").write_text(data["image/svg+xml"], encoding="utf-8")
        source = f"{up}_images/example-{name}.svg"
        return f'<div class="shown"><img src="{source}" alt="The chart that this code draws"></div>'
    if "text/html" in data:
        return f'<div class="shown">{_plain(data["text/html"])}</div>'
    return f"```text\n{data['text/plain'].rstrip()}\n```"


def _plain(html: str) -> str:
    """HTML of a value without inline styles, on one line."""
    bar = r'<svg width="100" height="12" role="presentation"><rect width="\2" height="12" fill="\1"/></svg>'
    html = _STYLE.sub("", _BAR.sub(bar, html)).replace("<table>", '<table class="docutils">')
    return " ".join(html.split())

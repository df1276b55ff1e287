"""The documentation at /docs: the pages that `make docs` built into this package, or how to build them.

Only files that are in the folder when it is first asked for are served; a path is looked up, never opened.
"""

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

ROOT: Traversable = files("deniable.service") / "site"

KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
}
ABSENT = b"""<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Documentation is not built</title>
<h1>The documentation is not part of this installation</h1>
<p>In a copy of the repository, run <code>make docs</code>, then start the collector again. A released wheel has it.</p>
<p>The same pages are Markdown files in the folder <code>docs</code>.</p></html>
"""


def file_of(path: str) -> tuple[str, bytes] | None:
    """The name and the bytes of a documentation file, by the path after /docs/; None where there is none.

    Parameters
    ----------
    path
        What follows `/docs/` in the address; empty, or ending in a slash, for the index of a folder.

    Examples
    --------
    >>> file_of("../../app.py") is None
    True
    """
    site = _site()
    if not site:
        return ("index.html", ABSENT) if path == "" else None
    name = f"{path}index.html" if path == "" or path.endswith("/") else path
    found = site.get(name)
    return None if found is None else (name, found.read_bytes())


@cache
def _site() -> dict[str, Traversable]:
    """Every file of the site by its path, or nothing if it was not built."""
    found: dict[str, Traversable] = {}
    folders = [("", ROOT)]
    while folders:
        prefix, folder = folders.pop()
        for entry in folder.iterdir() if folder.is_dir() else ():
            if entry.is_dir():
                folders.append((f"{prefix}{entry.name}/", entry))
            elif PurePosixPath(entry.name).suffix in KINDS:
                found[f"{prefix}{entry.name}"] = entry
    return found

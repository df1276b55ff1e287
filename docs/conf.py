"""The documentation site: `make docs` builds it without a network, and every warning is an error.

The same Markdown is read in the repository, so links lead to files that are there. `OUTSIDE` says which page of the
site stands for a file that lies outside this folder; links to raw data become plain text, because the site is packed
into the wheel and must stay small.
"""

import hashlib
import inspect
import os
import re
import sys
from pathlib import Path
from typing import Any

from docutils import nodes

import deniable

sys.path.insert(0, str(Path(__file__).parents[1]))
from docs import notebooks
from docs.arguments import ARGUMENTS

project = "deniable"
author = "The deniable authors"
copyright = "The deniable authors; Apache-2.0"
version = release = deniable.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
exclude_patterns = ["results/figures", "results/tables", "_build"]
source_suffix = {".md": "markdown"}
root_doc = "index"

myst_enable_extensions = ["attrs_inline", "deflist", "html_image"]
myst_heading_anchors = 3
suppress_warnings = ["myst.header", "misc.highlighting_failure"]

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
default_role = "code"
napoleon_google_docstring = False
napoleon_use_rtype = False
python_use_unqualified_type_names = True
add_module_names = False

html_theme = "furo"
html_title = f"deniable {release}"
html_static_path = ["_static"]
html_favicon = "../src/deniable/service/pages/icon.svg"
html_css_files = ["site.css"]
html_js_files = [("widgets.js", {"type": "module"})]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_permalinks_icon = "#"
pygments_style = "tango"
pygments_dark_style = "native"
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5f8b", "color-brand-content": "#1f5f8b"},
    "dark_css_variables": {"color-brand-primary": "#7db9e0", "color-brand-content": "#7db9e0"},
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

HERE = Path(__file__).parent
# The examples, in the order of their page; their notebooks are read and not run.
EXAMPLES = re.findall(
    r"\(notebooks/(\w+)\.ipynb\)", (HERE.parent / "examples" / "README.md").read_text(encoding="utf-8")
)
OUTSIDE = {
    "clients/js/README.md": "reference/javascript.md",
    "CHANGELOG.md": "about/changelog.md",
    "CONTRIBUTING.md": "about/contributing.md",
    "SECURITY.md": "about/security.md",
    "README.md": "index.md",
    "docs/decisions": "decisions/index.md",
    "examples/README.md": "examples/index.md",
    **{f"examples/notebooks/{name}.ipynb": f"examples/{name}.md" for name in EXAMPLES},
}
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#\s]+)(#[\w-]*)?\)")
_CODE = re.compile(r"^(`{3,}).*?^\1`*$", re.DOTALL | re.MULTILINE)


def _rewrite(page: Path, text: str) -> str:
    """Links of one page: to pages of the site where there is one, to nothing where the file is not packed."""

    def link(found: re.Match[str]) -> str:
        picture, label, target, place = found[1], found[2], found[3], found[4] or ""
        if "://" in target or target.startswith(("#", "/")):
            return found[0]
        there = (page.parent / target).resolve()
        inside = there.relative_to(HERE.parent).as_posix() if there.is_relative_to(HERE.parent) else ""
        if inside in OUTSIDE:
            up = "../" * len(page.relative_to(HERE).parent.parts)
            return f"[{label}]({up}{OUTSIDE[inside]}{place})"
        if picture or (there.is_relative_to(HERE) and there.suffix == ".md"):
            return found[0]
        named = label.strip("`") in (inside, Path(inside).name)
        return f"`{inside}`" if named else f"{label} (`{inside}`)"

    kept = [(match.start(), match.end()) for match in _CODE.finditer(text)]
    return _LINK.sub(lambda m: m[0] if any(a <= m.start() < b for a, b in kept) else link(m), text)


def _decisions() -> str:
    """Links to all decisions. They are no part of the menu, which stands on each page: it would be twice as long."""
    titles = {path.name: path.read_text(encoding="utf-8").partition("\n")[0] for path in HERE.glob("decisions/0*.md")}
    return "".join(f"- [{titles[name].lstrip('# ')}]({name})\n" for name in sorted(titles))


def _source_read(app: Any, docname: str, source: list[str]) -> None:
    """The text of a page; where it stands for a file outside this folder, that file, with its links seen from here."""
    page, text = HERE / f"{docname}.md", source[0]
    shown = next((HERE.parent / file for file, place in OUTSIDE.items() if place == f"{docname}.md"), None)
    if shown is not None and shown.suffix == ".ipynb":
        text = notebooks.page(shown, Path(app.outdir) / "_images", "../" * len(page.relative_to(HERE).parent.parts))
        app.env.note_dependency(str(shown))
    elif shown is not None and shown.is_file() and docname != root_doc:

        def move(found: re.Match[str]) -> str:
            if "://" in found[3] or found[3].startswith("#"):
                return found[0]
            moved = os.path.relpath((shown.parent / found[3]).resolve(), page.parent)
            return f"{found[1]}[{found[2]}]({moved}{found[4] or ''})"

        text = _LINK.sub(move, shown.read_text(encoding="utf-8"))
        app.env.note_dependency(str(shown))
    if docname == "examples/index":
        text += "\n```{toctree}\n:hidden:\n\n" + "\n".join(EXAMPLES) + "\n```\n"
    elif docname == "decisions/index":
        text += _decisions()
    elif docname.startswith("decisions/"):
        text = f"---\norphan: true\n---\n\n{text}\n[All decisions](index.md)\n"
    source[0] = _rewrite(page, text)


# What the theme writes as inline styles, said in ways that need none.
_STYLES = (
    (r' style="display: none;?"', " hidden"),
    (r' style="opacity: 50%"', ' opacity="0.5"'),
    (r' style="width: [^"]*"', ""),
)
_INLINE = re.compile(r"<(script|style)>(.*?)</\1>", re.DOTALL)


def _no_inline_code(app: Any, problem: Exception | None) -> None:
    """Move scripts and styles out of the pages: the collector's policy runs files of its own host and nothing else."""
    if problem is not None or app.builder.name != "html":
        return
    root = Path(app.outdir)
    for page in root.rglob("*.html"):
        up = "../" * len(page.relative_to(root).parent.parts)

        def move(found: re.Match[str], up: str = up) -> str:
            kind, text = found[1], found[2]
            name = f"inline-{hashlib.sha256(text.encode()).hexdigest()[:12]}.{'js' if kind == 'script' else 'css'}"
            (root / "_static" / name).write_text(text, encoding="utf-8")
            if kind == "script":
                return f'<script src="{up}_static/{name}"></script>'
            return f'<link rel="stylesheet" type="text/css" href="{up}_static/{name}" />'

        text = page.read_text(encoding="utf-8")
        for inline, attribute in _STYLES:
            text = re.sub(inline, attribute, text)
        page.write_text(_INLINE.sub(move, text), encoding="utf-8")
    for path in [*root.rglob("*.map"), *root.rglob("*.py"), root / ".buildinfo", root / "objects.inv"]:
        path.unlink(missing_ok=True)


_PLAIN: dict[str, list[str]] = {}


def _keep(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Docstrings as they are written, before Napoleon reads their sections."""
    _PLAIN[name] = list(lines)


def _docstring(app: Any, what: str, name: str, obj: Any, options: object, lines: list[str]) -> None:
    """Docstrings are plain text with `names`: bars are bars, and lines that carry a claim stand in a list."""
    if what in ("attribute", "property"):  # Napoleon takes what stands before a colon for a type
        lines[:] = _PLAIN.get(name, lines)
    if what == "function" and not any(line.startswith(":param") for line in lines):
        known = [argument for argument in inspect.signature(obj).parameters if argument in ARGUMENTS]
        words = [f":param {argument}: {ARGUMENTS[argument]}" for argument in known]
        place = next((number for number, line in enumerate(lines) if line.startswith(">>>")), len(lines))
        lines[place:place] = [*words, ""]
    out: list[str] = []
    for line in lines:
        if not line.lstrip().startswith(">>>"):
            line = re.sub(r"(`[^`]*`)|[|]", lambda found: found[1] or r"\|", line)
        label = re.match(r"(Paper|Claim|Proof): ", line)
        if label:
            if out and out[-1].strip() and not out[-1].startswith(("* **", "  ")):
                out.append("")
            out.append(f"* **{label[1]}**: {line[label.end() :]}")
        elif (
            out
            and out[-1].startswith(("* **Paper", "* **Claim", "* **Proof", "  "))
            and line.strip()
            and line[0] not in " :"
        ):
            out.append(f"  {line}")
        else:
            out.append(line)
    lines[:] = out


LONG = 45  # characters of a cell: a table of three columns with a longer one is read as sentences, not as figures


def _stack(app: Any, doctree: nodes.document, docname: str) -> None:
    """Mark tables of sentences and of pictures: a phone shows their cells one under another (site.css)."""
    for table in doctree.findall(nodes.table):
        cells = list(table.findall(nodes.entry))
        columns = len(list(table.findall(nodes.colspec)))
        pictures = any(any(cell.findall(nodes.image)) for cell in cells)
        if pictures or (columns > 2 and any(len(cell.astext()) > LONG for cell in cells)):
            table["classes"].append("stacked")


def _folded(_app: Any, _name: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """The menu of a page lists the pages of its own part; of the others the first one, which lists the rest.

    With all of them on each page the menus alone were a quarter of the site.
    """
    parts = re.split(r'(?=<li class="toctree-l1)', context.get("furo_navigation_tree", ""))
    folded = r'(<li class="toctree-l1) has-children(">.*?</a>).*</ul>\n(</li>)'
    context["furo_navigation_tree"] = "".join(re.sub(folded, r"\1\2\3", part, flags=re.DOTALL) for part in parts)


def setup(app: Any) -> None:
    app.connect("html-page-context", _folded, priority=900)  # after the theme, which makes the menu
    app.connect("doctree-resolved", _stack)
    app.connect("source-read", _source_read)
    app.connect("build-finished", _no_inline_code)
    app.connect("autodoc-process-docstring", _keep, priority=400)  # Napoleon's is 500
    app.connect("autodoc-process-docstring", _docstring, priority=600)

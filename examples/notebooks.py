"""Notebooks from the scripts beside this file: `python -m examples.notebooks [name ...]` runs them for their output.

A line `# %%` begins a cell, `# %% [markdown]` one of text. What the notebook runs is the script, cell by cell.
"""

import re
import sys
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent
NAMES = (
    *("yes_no", "homepages", "two_weeks", "every_day", "same_people", "groups", "hours_a_week", "sensitive"),
    *("free_text", "own_mechanism", "crowd", "planted_reports", "several_questions", "relations"),
    *("spark_counting", "javascript_app"),
)
SECONDS = 600  # for one cell: more than any takes on a busy machine
_CELL = re.compile(r"^# %%( \[markdown\])?\n", re.MULTILINE)


def cells(script: str) -> list[tuple[str, str]]:
    """The cells of a script: (kind, text), where kind is "markdown" or "code".

    >>> cells("# %% [markdown]\\n# # Title\\n\\n# %%\\nprint(1)\\n")
    [('markdown', '# Title'), ('code', 'print(1)')]
    """
    parts = _CELL.split(script)[1:]
    found = []
    for mark, text in zip(parts[::2], parts[1::2], strict=True):
        if mark:
            found.append(("markdown", re.sub(r"^# ?", "", text.strip(), flags=re.MULTILINE)))
        else:
            found.append(("code", text.strip()))
    return found


def notebook(name: str) -> Any:
    """The notebook of a script, without output."""
    made = nbformat.v4.new_notebook()
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    for number, (kind, text) in enumerate(cells((HERE / f"{name}.py").read_text(encoding="utf-8"))):
        new = nbformat.v4.new_markdown_cell if kind == "markdown" else nbformat.v4.new_code_cell
        made.cells.append(new(text, id=f"{name}-{number}"))
    return made


def run(name: str) -> Any:
    """The same with its output, without what changes from run to run."""
    made = NotebookClient(notebook(name), timeout=SECONDS, resources={"metadata": {"path": str(HERE)}}).execute()
    for cell in made.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":  # Spark's greeting on standard error names this machine
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    made.metadata.pop("language_info", None)
    return made


if __name__ == "__main__":
    (HERE / "notebooks").mkdir(exist_ok=True)
    for name in sys.argv[1:] or NAMES:
        nbformat.write(run(name), HERE / "notebooks" / f"{name}.ipynb")
        print(f"wrote examples/notebooks/{name}.ipynb")

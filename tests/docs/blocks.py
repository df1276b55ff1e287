"""Markdown as a program: its Python blocks run in order, and a `text` block right after one is what it prints."""

import contextlib
import doctest
import io
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block; `output` is the text block that follows it with nothing but white space between."""

    line: int
    language: str
    code: str
    output: str | None


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    made = []
    for match, after in zip(found, [*found[1:], None], strict=True):
        follows = after is not None and after[1] == "text" and not text[match.end() : after.start()].strip()
        output = after[2] if after is not None and follows else None
        made.append(Block(text.count("\n", 0, match.start()) + 1, match[1], match[2], output))
    return made


def run(page: Path, **given: object) -> int:
    """Run the Python blocks of a page in one namespace, in the current folder; how many there were."""
    names: dict[str, object] = {"__name__": "page", **given}
    count = 0
    for block in blocks(page):
        if block.language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
        same = doctest.OutputChecker().check_output
        if block.output is not None:
            said = printed.getvalue()
            agrees = same(block.output, said, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            assert agrees, f"{page.name}:{block.line} prints\n{said}"
        count += 1
    return count

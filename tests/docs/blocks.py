"""Markdown as a program: the blocks of a page run in order, and a `text` block right after one is what it prints.

Python blocks share one namespace, lines of `sh` blocks are commands. A block that cannot be run here has a comment with
the reason on the line before it: `<!-- not run: needs a cluster -->`. `tests/docs/test_blocks.py` counts those.

Where real dice are rolled, `<!-- numbers differ from run to run -->` stands before the `text` block: it shows one run,
and every run must print the same words, with numbers where it has numbers.
"""

import contextlib
import doctest
import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from deniable.cli import main

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>.+?) -->\n)?(?P<varies><!-- numbers differ from run to run -->\n)?"
    r"```(?P<language>[^\n`]*)\n(?P<code>.*?)^```$",
    re.M | re.S,
)
_NUMBER = re.compile(r"[+-]?\d[\d,]*(\.\d+)?")
# Where the pages say that a collector is.
_ADDRESS = "http://127.0.0.1:8765"


@dataclass(frozen=True)
class Block:
    """One fenced block; `output` is the text block that follows it with nothing but white space between."""

    line: int
    language: str
    code: str
    output: str | None
    reason: str | None
    varies: bool = False  # whether `output` shows one run of many, whose numbers differ

    @property
    def is_program(self) -> bool:
        return self.language in ("python", "sh", "js")


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = list(_FENCE.finditer(text))
    made = []
    for match, after in zip(found, [*found[1:], None][: len(found)], strict=True):
        follows = after is not None and after["language"] == "text" and not text[match.end() : after.start()].strip()
        output = after["code"] if after is not None and follows else None
        line = text.count("\n", 0, match.start("code"))
        varies = bool(after is not None and follows and after["varies"])
        made.append(Block(line, match["language"], match["code"], output, match["reason"], varies))
    return made


def run(page: Path, **given: object) -> int:
    """Run the Python blocks of a page in one namespace, in the current folder; how many there were."""
    return walk(page, languages=("python",), given=given)


def walk(
    page: Path,
    *,
    languages: tuple[str, ...] = ("python", "sh"),
    url: str = _ADDRESS,
    given: Mapping[str, object] | None = None,
) -> int:
    """Run the blocks of a page in the current folder, with a collector at `url`; how many there were."""
    names: dict[str, object] = {"__name__": "page", **(given or {})}
    count = 0
    for block in blocks(page):
        if block.language not in languages or block.reason is not None:
            continue
        printed = io.StringIO()
        code = block.code.replace(_ADDRESS, url)
        with contextlib.redirect_stdout(printed):
            if block.language == "python":
                exec(compile("\n" * block.line + code, str(page), "exec"), names)
            else:
                for line in code.replace("\\\n", " ").splitlines():
                    _command(line, f"{page.name}:{block.line}")
        if block.output is not None:
            said = printed.getvalue().replace(url, _ADDRESS)
            assert agrees(block, said), f"{page.name}:{block.line} prints\n{said}"
        count += 1
    return count


def agrees(block: Block, said: str) -> bool:
    """Whether a block printed what stands below it; numbers of a block that varies may be others.

    >>> agrees(Block(1, "python", "", "yes 31.2 % of 1,000\\n", None, varies=True), "yes 29.8 % of 990\\n")
    True
    >>> agrees(Block(1, "python", "", "yes 31.2 %\\n", None), "yes 29.8 %\\n")
    False
    """
    shown = str(block.output)
    if block.varies:
        shown, said = (_NUMBER.sub("0", text) for text in (shown, said))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(shown, said, flags)


def _command(line: str, where: str) -> None:
    """One line of a shell: ours in this process, others in a shell that finds ours first."""
    if not line.strip() or line.startswith("#"):
        return
    words = shlex.split(line, comments=True)
    if words[0] == "deniable" and not set(words) & {"|", ">", "<", "&&"}:
        problems = io.StringIO()
        with contextlib.redirect_stderr(problems):
            status = main(words[1:])
        assert status == 0, f"{where}: {line}\n{problems.getvalue()}"
        return
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["bash", "-euo", "pipefail", "-c", line]
    done = subprocess.run(command, env={**os.environ, "PATH": path}, text=True, capture_output=True)
    assert done.returncode == 0, f"{where}: {line}\n{done.stderr}"
    print(done.stdout, end="")

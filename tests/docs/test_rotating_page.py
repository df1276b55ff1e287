"""The page on rotating surveys: its commands and its Python run in order, against a real collector."""

import contextlib
import doctest
import io
import shlex
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from tests.collector import ADMIN, serving
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs" / "rotating-surveys.md"


def command(line: str, url: str, token_file: Path) -> None:
    """What the page says, at the address and with the secret of this collector."""
    assert line.startswith("deniable survey ")
    words = {"http://127.0.0.1:8765": url, "collector/admin-token": str(token_file)}
    assert main([words.get(word, word) for word in shlex.split(line)[1:]]) == 0


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    token_file = tmp_path / "secret"
    token_file.write_text(ADMIN)
    with serving(str(tmp_path / "store"), tmp_path) as server:
        url = f"http://127.0.0.1:{server.port}"
        names: dict[str, object] = {"dn": dn, "url": url}
        found = blocks(PAGE)
        for block in found:
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                if block.language == "sh":
                    for line in block.code.splitlines():
                        command(line, url, token_file)
                elif block.language == "python":
                    exec(compile("\n" * block.line + block.code, str(PAGE), "exec"), names)
            if block.language == "python":
                same = doctest.OutputChecker().check_output
                assert block.output is not None
                assert same(block.output, said.getvalue(), doctest.ELLIPSIS), said.getvalue()
    assert [block.language for block in found if block.language != "text"] == [
        "sh", "sh", "python", "sh", "python", "python",
    ]  # fmt: skip

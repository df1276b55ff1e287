"""The page on rotating surveys: its Python runs against a real collector, in between what its commands say."""

import contextlib
import doctest
import io
import shlex
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from tests.collector import Server, serving
from tests.docs.blocks import ROOT, blocks

PAGE = ROOT / "docs" / "rotating-surveys.md"


def command(line: str, server: Server) -> None:
    """Surveys are made by the command itself; the collector is told directly, because its address is another here."""
    words = shlex.split(line)
    assert words[:2] == ["deniable", "survey"]
    action, *rest = words[2:]
    if action == "new":
        assert main(words[1:]) == 0
        return
    survey = dn.Survey.load(rest[0])
    assert rest[1:] == ["--collector", "http://127.0.0.1:8765", "--token-file", "collector/admin-token"]
    if action == "register":
        server.create(survey, minimum=0)
    else:
        assert action == "close"
        assert server.ask("POST", f"/v1/surveys/{survey.digest}/close").status == 200


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with serving(str(tmp_path / "store"), tmp_path) as server:
        names: dict[str, object] = {"dn": dn, "url": f"http://127.0.0.1:{server.port}"}
        found = blocks(PAGE)
        for block in found:
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                if block.language == "sh":
                    for line in block.code.splitlines():
                        command(line, server)
                elif block.language == "python":
                    exec(compile("\n" * block.line + block.code, str(PAGE), "exec"), names)
            if block.language == "python":
                same = doctest.OutputChecker().check_output
                assert block.output is not None
                assert same(block.output, said.getvalue(), doctest.ELLIPSIS), said.getvalue()
    assert [block.language for block in found if block.language != "text"] == [
        "sh", "sh", "python", "sh", "python", "python",
    ]  # fmt: skip

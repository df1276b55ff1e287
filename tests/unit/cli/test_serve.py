"""`deniable serve`: what it prints, and to whom; the demonstration's store."""

import contextlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.cli import main
from deniable.cli.demo_store import ANSWERS, CANDIDATES, DAYS, SHIFT, fill
from deniable.cli.serve import _announce
from deniable.service import Options, open_store
from tests.docs.blocks import ROOT


def test_the_demo_has_three_weeks_with_a_shift(tmp_path: Path) -> None:
    with contextlib.closing(open_store(str(tmp_path / "store"))) as store:
        closed, written = fill(store, people=1000)
        entry = store.entry(closed.survey.digest)
        assert entry is not None
        windows = sorted(store.windows(entry))
        assert len(windows) == DAYS
        assert np.diff(windows).tolist() == [24] * (DAYS - 1)
        halves = [store.tally(entry, None, windows[SHIFT]), store.tally(entry, windows[SHIFT], None)]
        before, after = (dn.decode(half) for half in halves)
        for answer, (old, new) in ANSWERS.items():
            # 7 to 14 thousand answers at epsilon 2: a standard error of a hundredth at most, and six of them.
            assert abs(before[answer] - old / 1000) < 0.06
            assert abs(after[answer] - new / 1000) < 0.06
        assert dn.difference(after, before).changed().any()
        assert written.candidates == CANDIDATES
        assert written.survey.alphabet.is_open
        again, _ = fill(store, people=1000)
        assert again.survey.digest == closed.survey.digest
        assert store.tally(entry).n == sum(half.n for half in halves), "a second start adds nothing"


def test_the_help_registers_a_survey_by_our_own_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--help"]) == 0
    said = capsys.readouterr().out
    assert "deniable survey register survey.json" in said
    for page in ("docs/how-to/operations.md", "docs/reference/cli.md"):
        said += (ROOT / page).read_text()
    assert "curl" not in said


@pytest.mark.parametrize("terminal", [True, False])
def test_the_secret_of_a_demonstration_that_stays_goes_to_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool
) -> None:
    monkeypatch.setattr(
        "deniable.service.server.serve", lambda _, announce: announce("http://127.0.0.1:8765", "the secret")
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("deniable.cli.demo_store.DAYS", 2)
    assert main(["serve", "--demo", "--store", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.count("token=") == (3 if terminal else 0)
    assert said.count("/results/") == said.count("/answer/") == 2


@pytest.mark.parametrize(("terminal", "demo"), [(True, False), (False, False), (False, True)])
def test_the_private_link_goes_to_a_terminal_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], terminal: bool, demo: bool
) -> None:
    asked: list[Options] = []

    def serve(options: Options, announce: Any = None) -> None:
        asked.append(options)
        if announce is not None:
            announce("http://127.0.0.1:8765", "a secret & more")

    monkeypatch.setattr("deniable.service.server.serve", serve)
    monkeypatch.setattr("sys.stdout.isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("deniable.cli.demo_store.DAYS", 2)
    monkeypatch.chdir(tmp_path)
    assert main(["serve", *(["--demo"] if demo else [])]) == 0
    said = capsys.readouterr().out
    if terminal or demo:
        assert "http://127.0.0.1:8765/#token=a+secret+%26+more" in said
    else:
        assert said == ""
    assert said.count("/results/") == (2 if demo else 0)
    assert (asked[0].store == "collector") is not demo
    if demo:
        assert not Path(asked[0].store).exists(), "the demonstration leaves nothing behind"


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("https://reports.example.org", "https://reports.example.org"),
        ("https://Reports.Example.org/", "https://reports.example.org"),
        ("http://203.0.113.9:8765", "http://203.0.113.9:8765"),
    ],
)
def test_links_have_the_public_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], given: str, used: str
) -> None:
    asked: list[Options] = []
    monkeypatch.setattr("deniable.service.server.serve", lambda options, announce=None: asked.append(options))
    assert main(["serve", "--store", str(tmp_path), "--public-url", given]) == 0
    assert asked[0].public_url == used


@pytest.mark.parametrize(
    "given",
    [
        "reports.example.org",
        "ftp://example.org",
        "https://",
        "https://example.org/survey",
        "https://me@example.org",
        "https://example.org?x",
        "https://example.org#x",
        "https://example.org:99999",
        "https://a b",
        "https://" + 200 * "a",
    ],
)
def test_a_public_address_is_a_scheme_and_a_host(capsys: pytest.CaptureFixture[str], given: str) -> None:
    assert main(["serve", "--public-url", given]) == 2
    assert (
        "--public-url must be like https://reports.example.org: http or https, a host, perhaps a port, and no path, "
        f"got {given[:80]!r}"
    ) in capsys.readouterr().err


def test_a_terminal_is_told_that_a_local_link_is_local(capsys: pytest.CaptureFixture[str]) -> None:
    hint = "(it opens on this computer only; for others see --public-url and docs/how-to/operations.md)"
    _announce("http://127.0.0.1:8765", "secret", [])
    assert hint in capsys.readouterr().out
    _announce("https://reports.example.org", "secret", [])
    said = capsys.readouterr().out
    assert hint not in said
    assert "https://reports.example.org/#token=secret" in said
    assert "https://reports.example.org/explore" in said

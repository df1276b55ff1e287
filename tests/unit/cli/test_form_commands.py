"""What the command line says of forms."""

from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main

SEEN = dn.form(
    ill=dn.sensitive(["no", "flu", "hiv"], sensitive=["hiv"], epsilon=1),
    area=dn.blocks([["a", "b"], ["c", "d"]], epsilon=1),
    smokes=dn.warner(epsilon=1),
    spend="each",
)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(list(arguments)) == 0
    return " ".join(capsys.readouterr().out.split())


def test_what_may_be_seen_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    SEEN.save(tmp_path / "form.json")
    shown = told(capsys, "survey", "show", str(tmp_path / "form.json"))
    assert "together they spend at most 3; some answers to ill, area may be seen" in shown
    assert "but ill: Only some answers need hiding here: hiv." in shown
    notice = told(capsys, "survey", "notice", str(tmp_path / "form.json"))
    assert (
        "at most 21 times likelier than if all your answers were others, except for what may be seen of ill and area: "
        "see there. Every answer is randomised on its own, before it leaves your device, so what is seen of one says "
        "nothing about the others." in notice
    )

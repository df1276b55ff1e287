"""What cannot be installed is named."""

import pytest

from tests import services


def test_what_is_there_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert services.main(["sh"]) == 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("found", "reason"),
    [({}, "there is no apt-get here"), ({"apt-get": "/bin/false"}, "only root may install packages")],
)
def test_what_cannot_be_installed_is_named(
    found: dict[str, str], reason: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", found.get)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert services.main(["no-such-program"]) == 0
    said = capsys.readouterr()
    assert said.out == "installing no-such-program with apt-get\n"
    assert said.err.startswith(f"no-such-program must be installed by hand: {reason}; tests that need it fail")

"""What cannot be installed is named."""

import subprocess

import pytest

from tests import services


def test_what_is_there_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert services.main(["sh"]) == 0
    assert capsys.readouterr() == ("", "")


def test_java_has_another_name_on_every_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first package that apt knows; its lists are fetched once if it knows none."""
    calls: list[str] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        calls.append(command[-1])
        known = command[-1] == "default-jre-headless" and "-q" in calls
        return subprocess.CompletedProcess(
            command, 0 if known or command[1] == "update" else 100, "", "no such package"
        )

    monkeypatch.setattr("shutil.which", lambda name: "/bin/apt-get")
    monkeypatch.setattr("subprocess.run", run)
    assert services.install(["java"]) == ""
    names = ["openjdk-17-jre-headless", "default-jre-headless"]
    assert calls == [*names, "-q", *names]
    assert services.install(["no-such-program"]) == "no such package"


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

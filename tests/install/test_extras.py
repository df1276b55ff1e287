"""What is not installed is named, with the command that installs it; what else fails to import stays as it is."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import NEEDS, build_parser, main
from deniable.errors import EXTRAS, require

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

# Two packages are imported under another name than they are installed under.
IMPORTED_AS = {"vl-convert-python": "vl_convert"}
# Not imported by this code: Spark needs it.
FOR_OTHERS = {"pandas"}


def packages(extra: str) -> set[str]:
    """What an extra installs, by the names that are imported; extras of extras followed."""
    found: set[str] = set()
    for line in PROJECT["optional-dependencies"][extra]:
        named = re.match(r"(?P<name>[\w-]+)(?:\[(?P<extras>[\w,]+)\])?", line)
        assert named is not None
        if named["name"] == "deniable":
            found.update(*(packages(other) for other in named["extras"].split(",")))
        else:
            found.add(IMPORTED_AS.get(named["name"], named["name"]))
    return found


def commands() -> set[str]:
    (action,) = (action for action in build_parser()._actions if action.dest == "chosen")
    assert action.choices is not None
    return {str(name) for name in action.choices}


def test_nothing_is_installed_with_the_package_itself() -> None:
    assert PROJECT["dependencies"] == []


@pytest.mark.parametrize("extra", EXTRAS)
def test_an_extra_installs_what_is_asked_for(extra: str) -> None:
    assert packages(extra) - FOR_OTHERS == set(EXTRAS[extra])


def test_all_is_everything_but_spark() -> None:
    assert packages("all") - FOR_OTHERS == set().union(*(EXTRAS[extra] for extra in EXTRAS if extra != "spark"))
    assert {*packages("all"), *packages("spark")} <= packages("dev")


def test_what_the_tests_install_is_pinned() -> None:
    pins = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    extras = PROJECT["optional-dependencies"].values()
    wanted = {re.match(r"[\w-]+", line)[0] for lines in extras for line in lines}  # type: ignore[index]
    assert wanted - {"deniable"} <= pins


def test_each_command_says_what_it_needs() -> None:
    assert set(NEEDS) == commands()


def test_the_first_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    monkeypatch.delitem(vars(dn), "decode", raising=False)
    with pytest.raises(dn.MissingExtra) as caught:
        dn.decode  # noqa: B018
    assert str(caught.value) == (
        "scipy must be installed to use deniable.decode, and is not; run pip install 'deniable[analysis]'"
    )
    assert isinstance(caught.value, dn.DeniableError)
    assert isinstance(caught.value, ImportError)
    assert "decode" in dir(dn)


def test_another_import_that_fails_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(vars(dn), "Tally", raising=False)
    monkeypatch.setitem(sys.modules, "deniable.tally", None)
    with pytest.raises(ModuleNotFoundError, match=r"import of deniable\.tally halted"):
        dn.Tally  # noqa: B018


def test_several_extras_are_one_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(dn.MissingExtra, match=r"altair must .* run pip install 'deniable\[analysis,charts\]'"):
        require("to run deniable demo", "analysis", "charts")


def test_asking_imports_nothing() -> None:
    code = "import sys; from deniable.errors import *; require('here', 'serve', 'spark'); print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_charts_are_asked_for_before_the_work_is_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tally is not there either: nothing was read."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["decode", "none.tally", "--chart", "a.svg"]) == 2
    assert capsys.readouterr().err == (
        "deniable: vl_convert must be installed to run deniable decode, and is not; "
        "run pip install 'deniable[analysis,charts]'\n"
    )
    assert main(["decode", "none.tally"]) == 2
    assert "none.tally" in capsys.readouterr().err


def test_the_demonstration_without_a_chart_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    assert main(["demo", "--people", "1000", "-o", str(tmp_path / "out")]) == 2
    assert main(["demo", "--people", "1000", "-o", str(tmp_path / "out"), "--no-chart"]) == 0


def test_a_chart_of_the_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = dn.krr(symbols=["a", "b"], epsilon=1)
    estimate = dn.decode(dn.count(survey, dn.privatize(survey, ["a", "b"] * 50)))
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(
        dn.MissingExtra,
        match=r"altair must be installed to draw a chart, and is not; run pip install 'deniable\[charts\]'",
    ):
        estimate.plot()


def test_a_store_is_looked_at_without_what_serves_it(tmp_path: Path) -> None:
    code = """
import sys
for name in ("uvicorn", "httptools", "uvloop", "msgspec"):
    sys.modules[name] = None
from deniable.cli import main
from deniable.service.backends import open_store
open_store(sys.argv[1]).close()
sys.exit(main(["store", "check", sys.argv[1]]))
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

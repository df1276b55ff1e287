"""The wheel and the source archive, built here and used outside the checkout, without a network.

Two environments: one with the wheel and nothing else, as on a device, and one that also sees the packages of the
environment that runs the tests, but not the checkout.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import NEEDS, build_parser
from tests.collector import serving

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "deniable"
# Not part of a release: what git ignores, and the recorded results.
LEFT_OUT = (".*", "__pycache__", "*.egg-info", "node_modules", "build", "dist", "out", "results", "site")
# In the place of the documentation, which takes longer to build than all else here.
SITE = {"index.html": "<h1>Documentation</h1>", "how-to/index.html": "<h1>How-to</h1>", "_static/site.css": "h1 {}"}
# A sentence for each command that needs more than the standard library, asked for with arguments that it takes.
REFUSED = {
    "demo": ("numpy", "analysis,charts", []),
    "plan": ("numpy", "analysis", ["--n", "10000", "--epsilon", "1", "--symbols", "4"]),
    "privatize": ("numpy", "analysis", ["a.csv", "--column", "a", "--survey", "s.json", "-o", "r.csv"]),
    "count": ("numpy", "analysis", ["a.csv", "--survey", "s.json", "-o", "t"]),
    "decode": ("numpy", "analysis", ["day1.tally"]),
    "discover": ("numpy", "analysis", ["day1.tally"]),
    "track": ("numpy", "analysis", ["november"]),
    "crosstab": ("numpy", "analysis", ["form.tally", "--rows", "age", "--columns", "smokes"]),
    "regress": ("numpy", "relations", ["s.json", "smokes ~ age", "rows.parquet"]),
    "simulate": ("numpy", "analysis", ["s.json", "--n", "100"]),
    "reproduce": ("numpy", "analysis,charts", []),
    "audit": ("numpy", "analysis", ["s.json"]),
    "serve": ("numpy", "serve", ["--port", "0"]),
    "store": ("numpy", "analysis", ["check", "collector"]),
}


class Environment:
    """An environment of its own with the wheel in it, used from a folder outside the checkout."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.root, self.work = folder / "environment", folder / "work"
        self.work.mkdir()
        venv.create(self.root, with_pip=False)
        self.python = str(self.root / "bin" / "python")
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--no-deps", "--no-index"]
        subprocess.run([*pip, str(wheel)], check=True, cwd=folder)
        (self.packages,) = self.root.glob("lib/python3.*/site-packages")

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return subprocess.run(command, cwd=self.work, env=clean, capture_output=True, text=True)

    def script(self, code: str) -> str:
        done = self.run(self.python, "-c", code)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def deniable(self, *argv: str) -> str:
        done = self.run(str(self.root / "bin" / "deniable"), *argv)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("built")
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*LEFT_OUT))
    for name, text in SITE.items():
        place = folder / "source" / "src" / "deniable" / "service" / "site" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder / "dist"), "."]
    done = subprocess.run(command, cwd=folder / "source", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel and nothing else."""
    return Environment(tmp_path_factory.mktemp("bare"), wheel)


@pytest.fixture(scope="module")
def whole(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """The wheel, and the packages that the tests have. Lines of .pth files there, the checkout's too, are not read."""
    made = Environment(tmp_path_factory.mktemp("whole"), wheel)
    seen = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (made.packages / "packages-of-the-tests.pth").write_text("\n".join(sorted(seen)))
    return made


def outside(environment: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a collector that is started next finds around it: nothing that points at the checkout."""
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(environment.work)


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return message_from_bytes(archive.read(name))


def test_the_wheel_holds_every_file_of_the_package(wheel: Path) -> None:
    """Pages, scripts, styles and pictures too, byte by byte; and nothing that is no longer there."""
    here = {
        str(path.relative_to(PACKAGE.parent)): path.read_bytes()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix != ".pyc" and "site" not in path.parts[len(PACKAGE.parts) :]
    }
    here |= {f"deniable/service/site/{name}": text.encode() for name, text in SITE.items()}
    with zipfile.ZipFile(wheel) as archive:
        there = {name: archive.read(name) for name in archive.namelist() if name.startswith("deniable/")}
    assert there == here
    assert {Path(name).suffix for name in there} >= {".html", ".js", ".css", ".json", ".svg", ".typed"}


def test_the_wheel_needs_nothing_and_names_its_extras(wheel: Path) -> None:
    told = metadata(wheel)
    assert all("extra ==" in line for line in told.get_all("Requires-Dist", []))
    assert set(told.get_all("Provides-Extra", [])) == {
        *("all", "analysis", "charts", "dev", "docs", "postgres", "relations", "serve", "spark", "test")
    }
    assert told["License-Expression"] == "Apache-2.0"
    assert told.get_all("Project-URL") == ["Paper, https://arxiv.org/abs/1602.07387"]


def test_the_source_archive_holds_what_builds_and_tests_the_package(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert names >= {"CITATION.cff", "LICENSE", "Makefile", "README.md", "constraints.txt", "pyproject.toml"}
    assert names >= {"clients/js/package-lock.json", "docs/reference/protocol.md", "tests/install/test_wheel.py"}
    assert names >= {"deploy/compose.yaml", "docs/conf.py", "examples/yes_no.py"}
    assert not [name for name in names if re.search(r"node_modules|\.pyc$|^docs/results|^\.venv", name)]
    tests = {str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("*.py")}
    assert tests <= names


def test_the_citation_is_of_this_version_and_of_the_paper() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {dn.__version__}\n" in text
    assert "\nlicense: Apache-2.0\n" in text
    assert 'title: "Discrete Distribution Estimation under Local Privacy"' in text
    assert [name for name in ("Kairouz", "Bonawitz", "Ramage") if f"family-names: {name}" not in text] == []


def test_a_device_has_the_standard_library_and_this_package_alone(bare: Environment) -> None:
    assert sorted(path.name for path in bare.packages.iterdir()) == ["deniable", f"deniable-{dn.__version__}.dist-info"]
    code = """
import deniable as dn
survey = dn.krr(symbols=["never", "once", "often"], epsilon=2)
survey.save("survey.json")
assert dn.Survey.load("survey.json") == survey
client = dn.Client(survey, state="state.json")
report = client.report("once")
assert dn.Report.unpack(survey, report.pack()) == report
client.queue("once")
print(dn.__file__)
for preset in (dn.warner, dn.olh):
    dn.Client(preset(epsilon=1)).report("yes")
for preset in (dn.krappor, dn.oue, dn.subset, dn.hadamard, dn.projective):
    dn.Client(preset(symbols=7, epsilon=1)).report(3)
for preset in (dn.orr, dn.orappor):
    dn.Client(preset(epsilon=1, cells=8, cohorts=4)).report("anything")
"""
    assert bare.script(code).startswith(str(bare.packages))


def test_surveys_need_no_package(bare: Environment) -> None:
    assert bare.deniable("--help") == build_parser().format_help()
    assert bare.deniable("--version") == f"deniable {dn.__version__}\n"
    told = bare.deniable("survey", "new", "--mechanism", "warner", "--epsilon", "1", "-o", "w.json", "--name", "Ever?")
    assert told.startswith("wrote w.json: ")
    assert bare.deniable("survey", "notice", "w.json").startswith("What is asked\n")
    assert json.loads(bare.deniable("survey", "show", "w.json", "--json"))["survey"]["name"] == "Ever?"
    assert "GROUP BY" in bare.deniable("survey", "sql", "w.json")
    assert bare.deniable("decode", "--help").startswith("usage: deniable decode ")


def test_every_command_that_needs_more_is_asked() -> None:
    assert set(REFUSED) == {command for command, extras in NEEDS.items() if extras}


@pytest.mark.parametrize("command", REFUSED)
def test_a_command_names_what_brings_its_packages(bare: Environment, command: str) -> None:
    package, extras, rest = REFUSED[command]
    done = bare.run(bare.python, "-m", "deniable", command, *rest)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        f"deniable: {package} must be installed to run deniable {command}, and is not; "
        f"run pip install 'deniable[{extras}]'\n"
    )


def test_a_name_of_the_library_names_what_brings_its_packages(bare: Environment) -> None:
    code = """
import deniable as dn
for name in dir(dn):
    try:
        getattr(dn, name)
    except dn.MissingExtra as problem:
        print(problem)
"""
    late = sorted(name for name, room in dn._LAZY.items() if room != "client")
    told = [f"numpy must be installed to use deniable.{name}, and is not; run pip" for name in late]
    lines = bare.script(code).splitlines()
    assert [line.removesuffix(" install 'deniable[analysis]'") for line in lines] == told


@pytest.mark.slow
def test_the_command_line_works_from_the_wheel(whole: Environment) -> None:
    assert whole.script("import deniable; print(deniable.__file__)").startswith(str(whole.packages))
    told = json.loads(whole.deniable("demo", "--people", "1000", "-o", "out", "--json"))
    assert (whole.work / told["files"]["chart"]).read_bytes().startswith(b"<svg")
    assert whole.deniable("decode", "out/demo.tally", "--chart", "again.png")
    assert (whole.work / "again.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads(whole.deniable("plan", "--n", "10000", "--epsilon", "1", "--symbols", "4", "--json"))
    assert found


def test_collector_and_pages_work_from_the_wheel(
    whole: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside(whole, monkeypatch)
    survey = dn.krr(symbols=["no", "yes"], epsilon=1, name="Ever?")
    with serving(str(tmp_path / "store"), tmp_path, python=whole.python) as server:
        server.create(survey)
        for path in ("/", "/explore", f"/answer/{survey.digest}", f"/results/{survey.digest}"):
            page = server.ask("GET", path, token=None)
            assert page.status == 200
            files = re.findall(r'(?:src|href)="(/pages/[^"]+)"', page.body.decode())
            assert files
            for file in files:
                assert server.ask("GET", file, token=None).status == 200, file
        assert server.ask("GET", "/docs/how-to/", token=None).body == SITE["how-to/index.html"].encode()
        for file in (PACKAGE / "service" / "pages").iterdir():
            if file.suffix in (".html", ".css", ".js", ".json", ".svg"):
                assert server.ask("GET", f"/pages/{file.name}", token=None).status == 200, file
        assert server.stop() == 0


def test_a_device_and_a_desk_without_packages_use_a_collector(
    bare: Environment, whole: Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside(whole, monkeypatch)
    survey = dn.krr(symbols=["no", "yes"], epsilon=1, name="Ever?")
    survey.save(bare.work / "ever.json")
    with serving(str(tmp_path / "store"), tmp_path, python=whole.python) as server:
        address = f"http://127.0.0.1:{server.port}"
        at = ["--collector", address, "--token-file", str(tmp_path / "token")]
        assert f"{address}/answer/{survey.digest}" in bare.deniable("survey", "register", "ever.json", *at)
        code = f"""
import deniable as dn
client = dn.Client(dn.Survey.load("ever.json"), state="ever.state.json")
client.queue("yes")
print(client.send({address!r}))
"""
        bare.script(code)
        (listed,) = json.loads(bare.deniable("survey", "list", "--json", *at))["surveys"]
        assert (listed["digest"], listed["reports"]) == (survey.digest, 1)
        assert server.stop() == 0

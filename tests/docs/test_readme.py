"""The README and the pages: the public surface is all there, every command is shown, and links lead somewhere."""

import ast
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.cli import NEEDS
from deniable.survey.strength import SCALE
from tests.docs.blocks import ROOT, blocks
from tests.docs.test_blocks import pages as walked

# The lines that the design promises to run as written. Names may grow, not change.
SURFACE = """
import deniable as dn
survey = dn.warner(epsilon=1.0)
survey = dn.krr(symbols=browsers, epsilon=2.0)
survey = dn.orappor(epsilon=2.0, cells=128, cohorts=8, hashes=2)
survey = dn.orr(epsilon=2.0, cells=8, cohorts=64, name="homepage")
survey = dn.orr(symbols=browsers, epsilon=2.0, cells=8, cohorts=64)
survey.save("survey.json"); survey = dn.Survey.load("survey.json"); survey.digest; survey.epsilon_spent
client = dn.Client(survey)
report = client.report("firefox")
wire = report.pack(); dn.Report.unpack(survey, wire)
tally = dn.Tally(survey)
tally.accumulate(report); tally += other_tally
tally.save("day1.tally"); dn.Tally.load("day1.tally")
reports = dn.privatize(survey, column)
tally = dn.count(survey, reports)
estimate = dn.decode(tally)
estimate = dn.decode(tally, decoder=dn.LeastSquares(), constraint=dn.Projected())
estimate.probabilities; estimate.standard_errors; estimate.intervals(0.95, simultaneous=True); estimate.to_arrow()
rng = np.random.default_rng(0)
p = dn.lab.geometric(256, mean=256 / 5)
tally = dn.simulate(survey, p, n=1_000_000, rng=rng)
dn.theory.l2_risk(survey, p, n); dn.theory.l1_risk(survey, p, n)
plan = dn.plan(n=1_000_000, symbols=256, max_l1=0.05)
plan = dn.plan(n=1_000_000, symbols=256, epsilon=2.0); plan.survey; plan.expected_l1; plan.alternatives
"""


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def statements(code: str) -> list[str]:
    """Each statement in one spelling, whatever the layout."""
    return [ast.unparse(node) for node in ast.parse(code).body]


def test_the_library_page_shows_the_public_surface_in_order() -> None:
    pages = (ROOT / "docs" / "reference" / "python.md", ROOT / "docs" / "how-to" / "planning.md")
    shown = statements("".join(block.code for page in pages for block in blocks(page) if block.language == "python"))
    place = 0
    for wanted in statements(SURFACE):
        assert wanted in shown[place:], f"the page lacks {wanted!r}, or has it too early"
        place = shown.index(wanted, place) + 1


def test_the_public_surface_runs_as_written() -> None:
    browsers = [f"browser {i}" for i in range(255)] + [
        "firefox"
    ]  # 256 of them: the simulated population is over as many
    names: dict[str, object] = {"browsers": browsers, "np": np, "n": 1_000_000, "column": browsers * 4}
    for line in SURFACE.strip().splitlines():
        if "other_tally" in line:
            names["other_tally"] = dn.Tally(names["survey"])  # type: ignore[arg-type]
        exec(line, names)


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130


def test_the_readme_has_the_one_scale_of_words() -> None:
    text = " ".join((ROOT / "README.md").read_text().split())
    *steps, (_, rest) = SCALE
    assert ", ".join(f"up to {most:g} {word}" for most, word in steps).replace("up to 1", "Up to 1 is") in text
    assert f"more is {rest} privacy" in text


def commands_of(page: str) -> list[list[str]]:
    lines = [line for block in blocks(ROOT / page) if block.language == "sh" for line in block.code.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("deniable ")]


def test_the_pages_show_every_command() -> None:
    shown = {command[1] for page in walked() for command in commands_of(page)}
    assert shown == set(NEEDS)


def test_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in ["README.md", "CONTRIBUTING.md"]:
        named = set(re.findall(r"(?:^|`)make (\w+)", (ROOT / page).read_text(), re.MULTILINE))
        assert {"demo", "test"} <= named <= targets


def pages() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_tests_and_files_that_a_page_names_exist(page: Path) -> None:
    for named in set(re.findall(r"`((?:src|tests|docs|benchmarks)/[\w./-]*\w)(?:::\w+)?`", page.read_text())):
        assert (ROOT / named).exists(), f"{page.name} names {named}"


@pytest.mark.parametrize(
    "page", ["README.md", "clients/js/README.md", "docs/reference/python.md", "docs/how-to/embed-in-a-page.md"]
)
def test_the_size_of_the_javascript_client_is_the_one_that_pages_name(page: str) -> None:
    named = re.findall(r"(\d+\.\d) kB", (ROOT / page).read_text())
    size = (ROOT / "clients" / "js" / "deniable.min.js").stat().st_size
    assert named[:1] == [f"{size / 1000:.1f}"]

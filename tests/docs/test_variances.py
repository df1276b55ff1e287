"""No room but `theory` derives the error of a survey: planner, laboratory and pages ask it. Drawn from syntax trees.

A variance of an estimate is made of hit and miss, or of e**epsilon, over the square of their difference. Decoders hold
variances of counts that they have seen, and designs their Gram matrices, which is another matter. `survey/presets.py`
and `survey/budget_shares.py` stand on the device side and may import nothing: the sizes that presets choose, and the
variances by which a form shares its budget, are held against theory here.
"""

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.planner.catalogue import families
from deniable.planner.options import PlanLimits
from deniable.survey.budget_shares import share_variance
from deniable.theory import Classes, subset_rates, support_model
from tests.docs.test_imports import SOURCE, files, nodes, parsed

ROOT = Path(__file__).parents[2]
SEEN = (
    "theory",
    "decoders",
    "matrices/blocks.py",
    "survey/presets.py",
    "survey/budget_shares.py",
)  # what may hold variances
ASKED = ("planner", "lab/screen.py")  # where no law of a report may be read at all
GONE = {"support_law", "channel_law", "Moments", "Proxy", "Rates", "Law"}


def place(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def squares(tree: ast.AST) -> list[str]:
    """Divisions by the square of a gap between two rates."""
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            below = ast.unparse(node.right)
            if re.search(r"\b(r|gap|scale|distance)\b\)? ?\*\* ?2|hit - .*miss\)? ?\*\* ?2", below):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    return found


def readings(tree: ast.AST) -> list[str]:
    """Where hit, miss or e**epsilon are read."""
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("hit", "miss", "affine", "odds"):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("exp", "expm1"):
            found += [
                f"line {node.lineno}: {ast.unparse(node)}" for name in node.args if "epsilon" in ast.unparse(name)
            ]
    return found


@pytest.mark.parametrize("path", [path for path in files() if not place(path).startswith(SEEN)], ids=place)
def test_nothing_else_divides_by_the_square_of_a_gap(path: Path) -> None:
    assert squares(parsed(path)) == []


@pytest.mark.parametrize("path", [path for path in files() if place(path).startswith(ASKED)], ids=place)
def test_planner_and_screen_read_no_law_of_a_report(path: Path) -> None:
    tree = parsed(path)
    assert readings(tree) == []
    names = {node.name for node in nodes(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    assert names & GONE == set()


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5, 5.0])
@pytest.mark.parametrize("size", [5, 40, 300])
def test_default_sizes_are_the_best_by_theory(size: int, epsilon: float) -> None:
    even = Classes.of(np.full(size, 1 / size))
    scores = {
        w: float(support_model(*subset_rates(epsilon, size, w)).score(even, 2.0)) for w in range(1, size // 2 + 1)
    }
    chosen = dn.subset(size, epsilon=epsilon).mechanism.hits
    assert chosen is not None
    assert scores[chosen] == pytest.approx(min(scores.values()), rel=1e-9)
    designs = {f.name: f for f in families(size, is_open=False, limits=PlanLimits())}
    for name, survey in (("HR", dn.hadamard(size, epsilon=epsilon)), ("PGR", dn.projective(size, epsilon=epsilon))):
        if survey.title.startswith(name):  # a line is k-RR
            least = designs[name].best(epsilon, 1e6, even, 2.0)[1]
            assert dn.theory.l2_risk(survey, np.full(size, 1 / size), 1) <= 1.02 * least**2


@pytest.mark.parametrize(
    ("survey", "tolerance"),
    [
        (dn.krr(5, epsilon=1), 1e-9),
        (dn.krr(40, epsilon=3), 1e-9),
        (dn.krappor(6, epsilon=2), 1e-9),
        (dn.subset(20, epsilon=1.5), 1e-9),
        (dn.blocks([["a", "b"], ["c", "d", "e"]], epsilon=1), 1e-9),
        (dn.blocks([list("abcd"), list("efghijkl"), ["y", "z"]], epsilon=2.5), 1e-9),
        (dn.sensitive(list("abcdefgh"), sensitive=["a", "b"], epsilon=1), 1e-9),
        # Where answers share cells the population of all designs is taken for that of this one.
        (dn.sensitive(range(60), sensitive=range(30), epsilon=1), 0.01),
        (dn.hadamard(40, epsilon=1), 0.01),
        (dn.projective(40, epsilon=3), 0.05),
    ],
    ids=lambda value: value.title if isinstance(value, dn.Survey) else "",
)
def test_a_budget_is_shared_by_the_variances_of_theory(survey: dn.Survey, tolerance: float) -> None:
    assert survey.alphabet.symbols is not None
    size = len(survey.alphabet.symbols)
    expected = dn.theory.l2_risk(survey, [1 / size] * size, 1) / size
    assert share_variance(survey) == pytest.approx(expected, rel=tolerance)


def test_they_ask_theory() -> None:
    for name, asked in {
        "planner/search.py": "expected_loss",
        "planner/catalogue.py": "mechanism_model",
        "lab/screen.py": "expected_loss",
        "theory/risk.py": "expected_loss",
    }.items():
        assert asked in (SOURCE / name).read_text()


def test_the_page_has_no_rates() -> None:
    """`curves.js` evaluates a table, and `tests/contracts/test_pages.py` holds the table against theory."""
    text = (SOURCE / "service" / "pages" / "curves.js").read_text()
    assert "curves.json" in text
    assert re.findall(r"\b(?:hit|miss|gap|flip)\b|Math\.exp\(epsilon", text) == []


@pytest.mark.parametrize(
    "code",
    [
        "found = q * (1 - q) / r**2",
        "v = m * (1 - m) / (n * (hit - miss) ** 2)",
        "def law(d): return d.base / gap ** 2",
    ],
)
def test_the_search_for_variances_finds_them(code: str) -> None:
    assert squares(ast.parse(code))


@pytest.mark.parametrize(
    "code", ["1 / (np.exp(epsilon) + k - 1)", "m = mechanism.hit", "miss, r = survey.mechanism.affine"]
)
def test_the_search_for_laws_finds_them(code: str) -> None:
    assert readings(ast.parse(code))

"""The ledger `docs/reference/paper.md` may not lie: every label is there, and every function and test it names."""

import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

import deniable

ROOT = Path(__file__).parents[2]
SOURCE = Path(deniable.__file__).parent
LEDGER = (ROOT / "docs" / "reference" / "paper.md").read_text(encoding="utf-8")

# Every \label of an equation, proposition, theorem or figure in the paper's LaTeX source, in order. The source itself
# is not part of the repository.
LABELS = [
    "opt_privacy_utility",
    "prop:opt_lb_lp",
    "eq:warner_response",
    "thm:opt_bin",
    "eq:rr",
    "eq:rr_empirical",
    "eq:inv_rr",
    "prop:rr_perf",
    "eq:rr_l2_performance",
    "eq:rr_l1_performance",
    "eq:rappor_empirical",
    "prop:rappor_perf",
    "eq:rappor_l2_performance",
    "eq:rappor_l1_performance",
    "prop:rr_high_eps_l2_win",
    "fig:decoders",
    "fig:krr_vs_rappor",
    "fig:orr_vs_rappor:open",
    "fig:orr_vs_rappor:closed",
    "fig:orr_vs_rappor",
    "eq:rr_strings_regression",
    "eq:l2_empirical_risk",
    "eq:l1_empirical_risk",
    "eq:l2_minimax_risk",
    "eq:l1_minimax_risk",
    "prop:max_est_krr",
    "prop:max_est_rappor",
    "fig:geometric_ground_truth",
    "fig:l2_decoders",
    "fig:l2_krr_vs_rappor",
    "fig:open_set_zoom",
    "fig:closed_set_zoom",
    "fig:privacy_at_n_open",
    "fig:privacy_at_n_closed",
    "fig:open_set_params",
    "fig:closed_set_params",
    "fig:open_set_zoom_s4096",
    "fig:privacy_at_n_open_s4096",
    "fig:open_set_params_s4096",
    "fig:open_set_params_s4096_u1e8",
]

NAMES = sorted(set(re.findall(r"`(deniable(?:\.\w+)+)`", LEDGER)))
TESTS = sorted(set(re.findall(r"`(tests/[\w/]+\.py(?:::\w+)?)`", LEDGER)))
PROOFS = sorted(
    {
        (path.relative_to(SOURCE).as_posix(), found)
        for path in SOURCE.rglob("*.py")
        for claim in re.findall(r"Proof:((?:.|\n)*?)(?:\n\s*\n|\"\"\")", path.read_text(encoding="utf-8"))
        for found in re.findall(r"tests/[\w/]+\.py(?:::\w+)?", claim)
    }
)


@cache
def functions_in(file: Path) -> frozenset[str]:
    return frozenset(
        node.name for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)
    )


def exists(reference: str) -> bool:
    path, _, name = reference.partition("::")
    file = ROOT / path
    return file.is_file() and (not name or (name.startswith("test_") and name in functions_in(file)))


def resolve(dotted: str) -> object:
    """The object behind a dotted name: the longest importable prefix, then attributes."""
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(dotted)


def test_the_list_of_labels_is_whole() -> None:
    assert len(LABELS) == len(set(LABELS)) == 40


@pytest.mark.parametrize("label", LABELS)
def test_every_label_of_the_paper_is_in_the_ledger(label: str) -> None:
    rows = [line for line in LEDGER.splitlines() if line.startswith("|") and f"`{label}`" in line]
    assert rows
    if not label.startswith("fig:"):
        assert any("`tests/" in row for row in rows)


def section(heading: str) -> str:
    return LEDGER.split(f"## {heading}\n")[1].split("\n## ")[0]


READ_OFF = section("Figures and what is read off them")
DRAWN = re.findall(r"`deniable reproduce --figure (\w+)`", READ_OFF)


@pytest.mark.parametrize("label", [label for label in LABELS if label.startswith("fig:")])
def test_every_figure_names_the_command_that_draws_it(label: str) -> None:
    (row,) = [line for line in READ_OFF.splitlines() if f"`{label}`" in line and "--figure" in line]
    name = label.removeprefix("fig:").replace(":", "_")
    # Figure 3 is its two halves, which are drawn one by one.
    names = ["orr_vs_rappor_open", "orr_vs_rappor_closed"] if name == "orr_vs_rappor" else [name]
    assert all(f"`deniable reproduce --figure {found}`" in row for found in names)


def test_every_figure_of_the_program_is_in_the_ledger() -> None:
    from deniable.reproduce.figures import FIGURES

    assert sorted(DRAWN) == sorted(FIGURES)


def test_claims_in_the_ledger_are_those_of_the_program() -> None:
    from deniable.reproduce.claims import CLAIMS

    ids = [claim.id for claim in CLAIMS]
    rows = [line.split(" | ")[-1] for line in READ_OFF.splitlines() if line.startswith("| ") and "--figure" not in line]
    named = [name for row in rows for name in re.findall(r"`([a-z0-9-]+)`", row)]
    assert len(ids) == len(set(ids))
    assert sorted(named) == sorted(ids)


@pytest.mark.parametrize("name", NAMES)
def test_every_function_in_the_ledger_exists(name: str) -> None:
    assert resolve(name) is not None


@pytest.mark.parametrize("reference", TESTS)
def test_every_test_in_the_ledger_exists(reference: str) -> None:
    assert exists(reference)


@pytest.mark.parametrize(("place", "reference"), PROOFS)
def test_every_proof_line_in_the_source_names_a_test_that_exists(place: str, reference: str) -> None:
    assert exists(reference)


def test_errata_are_numbered_and_each_is_a_test_or_says_none() -> None:
    rows = re.findall(r"^\| (E\d+) \|(.*)\|$", LEDGER, re.MULTILINE)
    assert [number for number, _ in rows] == [f"E{i}" for i in range(1, len(rows) + 1)]
    tested = functions_in(ROOT / "tests" / "unit" / "theory" / "test_errata.py")
    for number, row in rows:
        last = row.split(" | ")[-1]
        assert last.strip().startswith("none") or f"test_{number.lower()}_" in last, number
    listed = {name for _, row in rows for name in re.findall(r"test_errata\.py::(\w+)", row)}
    assert {name for name in tested if re.match(r"test_e\d", name)} == listed
    mentioned = set(re.findall(r"\bE\d+\b", LEDGER))
    assert mentioned <= {number for number, _ in rows}


def test_errata_named_in_the_source_exist() -> None:
    for path in SOURCE.rglob("*.py"):
        for number in re.findall(r"erratum E(\d+)", path.read_text(encoding="utf-8")):
            assert f"| E{number} |" in LEDGER, path.name


def test_everything_in_theory_is_in_the_ledger() -> None:
    from deniable import theory

    inner = {"folded_normal_mean", "mean_absolute_deviation"}  # means behind l1_risk, not claims of the paper
    inner |= {"support_l2", "support_variances"}  # for mechanisms that came after it
    # Expected error of any survey, what it is made of, and noise that reports share: not in the paper.
    later = {"arguments", "cohorts", "error_model", "hashed_shares", "loss", "observer", "score_law", "shared_noise"}
    inner |= {name for name in theory.__all__ if getattr(theory, name).__module__.rpartition(".")[2] in later}
    inner |= {"inversion_covariance", "inversion_cumulants", "inversion_variances"}  # `decoders` ask for them
    assert {f"deniable.theory.{name}" for name in set(theory.__all__) - inner} <= set(NAMES)


def test_the_check_itself_can_fail() -> None:
    assert not exists("tests/unit/theory/test_errata.py::test_that_nobody_wrote")
    assert not exists("tests/unit/no_such_file.py")
    assert not exists("tests/unit/theory/test_binary.py::random_row")
    with pytest.raises(AttributeError):
        resolve("deniable.theory.no_such_function")

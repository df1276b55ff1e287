"""Formulas of regressions: the outcome on the left, and the columns that the right side needs."""

import ast
import re
from typing import Any

from deniable.errors import DecodeError

# Transforms whose values depend on all rows: rows with equal covariates are then not collapsed before they are made.
STATEFUL = re.compile(r"\b(center|scale|standardize|bs|cc|cr|cs|poly|lag)\s*\(")


def read_formula(formula: object) -> tuple[str, str, list[str]]:
    """The outcome, the right side, and the columns that it names.

    >>> read_formula("smokes ~ center(age) + C(region)")
    ('smokes', 'center(age) + C(region)', ['age', 'region'])
    """
    import formulaic

    if not isinstance(formula, str) or formula.count("~") != 1:
        raise DecodeError(f"formula must be text as 'answer ~ covariates', got {str(formula)[:60]!r}")
    left, right = (side.strip() for side in formula.split("~"))
    if not left or not right:
        raise DecodeError(f"formula must have an outcome and covariates (1, if there are none), got {formula!r}")
    if re.search(r"(?<![\w`.])\.(?![\w.])", right):
        raise DecodeError(f"formula must name its covariates, got '.' in {formula!r}; write them out")
    quoted: list[str] = []

    def held(match: Any) -> str:
        quoted.append(match[1])
        return f"_quoted_{len(quoted) - 1}_"

    try:
        # Formulaic 1.2 takes a dot in a quoted name for an attribute, and finds no columns in stateful transforms.
        parsed = formulaic.Formula(re.sub(r"`([^`]+)`", held, right))
        parts = isinstance(parsed, formulaic.SimpleFormula)
        used = {str(variable) for variable in parsed.required_variables} if parts else set()
        factors = [factor.expr for term in parsed for factor in term.factors] if parts else []
        used |= {name for text in factors if STATEFUL.search(text) for name in _names(text)}
    except Exception as failure:
        told = re.sub(r"\x1b\[[0-9;]*m", "", str(failure)).split("\n")[0]  # without colours and a drawing of the place
        raise DecodeError(f"formula must be one that formulaic reads, got {formula!r}: {told}") from None
    if not parts:
        raise DecodeError(f"formula must have one right side, got several parts in {formula!r}; join them with +")
    if not len(parsed):
        raise DecodeError(
            f"formula must have a constant or a covariate, got none in {formula!r}; write 1 for a constant"
        )
    _check_functions(right, used)
    if powers := [text for text in factors if "^" in text]:
        raise DecodeError(f"formula must have ** for powers within a function, got {powers[0]!r}")
    used = {quoted[int(name.split("_")[2])] if name.startswith("_quoted_") else name for name in used}
    name = left.strip("`")
    if name in used:
        raise DecodeError(f"formula must not have its outcome on the right, got {name!r} there")
    return name, right, sorted(used - {"np"})


def _check_functions(right: str, used: set[str]) -> None:
    """Functions of R that formulaic has under other names are taken for columns."""
    if unknown := sorted(used & set(re.findall(r"([A-Za-z_]\w*)\s*\(", right))):
        raise DecodeError(
            f"formula must have functions of formulaic or np, got {unknown[0]}(); C() makes categories, bs() "
            "splines, poly() powers"
        )


def _names(text: str) -> set[str]:
    """The columns in a call of a stateful transform."""
    from formulaic.transforms import TRANSFORMS

    tree = ast.parse(text, mode="eval")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    plain = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}
    return {name for name in plain if name not in TRANSFORMS}

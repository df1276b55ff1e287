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
    try:
        parsed = formulaic.Formula(right)
        parts = isinstance(parsed, formulaic.SimpleFormula)
        used = {str(variable) for variable in parsed.required_variables} if parts else set()
        stateful = [factor.expr for term in parsed for factor in term.factors] if parts else []
        used |= {name for text in stateful if STATEFUL.search(text) for name in _names(text)}
    except Exception as failure:
        raise DecodeError(f"formula must be one that formulaic reads, got {formula!r}: {failure}") from None
    if not parts:
        raise DecodeError(f"formula must have one right side, got several parts in {formula!r}; join them with +")
    if not len(parsed):
        raise DecodeError(
            f"formula must have a constant or a covariate, got none in {formula!r}; write 1 for a constant"
        )
    name = left.strip("`")
    if name in used:
        raise DecodeError(f"formula must not have its outcome on the right, got {name!r} there")
    return name, right, sorted(used - {"np"})


def _names(text: str) -> set[str]:
    """The columns in a call of a stateful transform, which formulaic 1.2 does not find."""
    from formulaic.transforms import TRANSFORMS

    quoted: list[str] = []

    def held(match: Any) -> str:
        quoted.append(match[1])
        return f"_quoted_{len(quoted) - 1}"

    tree = ast.parse(re.sub(r"`([^`]+)`", held, text), mode="eval")
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    plain = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and id(node) not in called}
    return {name for name in plain if name not in TRANSFORMS and not name.startswith("_quoted_")} | set(quoted)

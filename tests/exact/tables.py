"""The rows and promises of a table of weights, from the survey's public JSON alone: written out a second time."""

import json
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from deniable.survey import Survey


def stated(survey: Survey) -> dict[str, Any]:
    return dict(json.loads(survey.to_json())["mechanism"])


def _plane(order: int, dimension: int) -> list[tuple[int, ...]]:
    """Points of the projective space: digits whose first that is not zero is 1, in the order of what they spell."""
    spelled = [
        tuple(value // order**place % order for place in reversed(range(dimension)))
        for value in range(order**dimension)
    ]
    return [point for point in spelled if next((digit for digit in point if digit), 0) == 1]


def rows_of(survey: Survey) -> list[list[int]]:
    """One row of integers an answer, over 2**width."""
    fields = stated(survey)
    span, size = 2 ** fields["width"], json.loads(survey.to_json())["encoding"]["cells"]
    if fields["kind"] in ("table", "design"):
        return [[int(weight) for weight in row] for row in fields["rows"]]
    if fields["kind"] == "budgets":
        groups, found = fields["groups"], []
        for x in range(size):
            row: list[int] = []
            for raised, (own, *others) in zip(fields["raised"], fields["weights"], strict=True):
                members = [y for y in range(size) if groups[y] == raised] or [-1]
                row += [int(own) if y == x else int(others[groups[x]]) for y in members]
            found.append(row)
        return found
    if fields["kind"] == "blocks":
        groups = fields["groups"]
        order = [y for group in range(max(groups) + 1) for y in range(size) if groups[y] == group]
        found = []
        for x in range(size):
            other, members = int(fields["others"][groups[x]]), groups.count(groups[x])
            row = [other if groups[y] == groups[x] else 0 for y in order]
            row[order.index(x)] = span - (members - 1) * other
            found.append(row)
        return found
    hidden = fields["sensitive"]
    seen = [y for y in range(size) if y not in hidden]
    keep, other = int(fields["keep"]), int(fields["other"])
    if fields["kind"] == "sensitive":
        sets: list[list[int]] = [[place] for place in range(len(hidden))]
        columns = len(hidden)
    else:
        points = _plane(fields["order"], fields["dimension"])
        columns = len(points)
        sets = [
            [y for y, b in enumerate(points) if sum(i * j for i, j in zip(a, b, strict=True)) % fields["order"] == 0]
            for a in points[: len(hidden)]
        ]
    found = []
    for x in range(size):
        if x in hidden:
            mine = sets[hidden.index(x)]
            found.append([keep if y in mine else other for y in range(columns)] + [0] * len(seen))
        else:
            found.append([other] * columns + [span - columns * other if y == x else 0 for y in seen])
    return found


def promise_of(survey: Survey) -> Callable[[int, int], Fraction | None]:
    """The epsilon of one answer against another, by their places; None where nothing is promised."""
    fields = stated(survey)
    epsilon = Fraction(fields["epsilon"])
    if fields["kind"] in ("sensitive", "sensitive-design"):
        return lambda x, other: epsilon if x in fields["sensitive"] else None
    if fields["kind"] == "blocks":
        return lambda x, other: epsilon if fields["groups"][x] == fields["groups"][other] else None
    if fields["kind"] == "budgets":
        budgets = [Fraction(fields["budgets"][group]) for group in fields["groups"]]
        return lambda x, other: min(budgets[x], budgets[other])
    if fields["kind"] == "design":  # a weight of zero promises nothing to the answers that have more there
        rows = rows_of(survey)
        return lambda x, other: None if any(a and not b for a, b in zip(rows[x], rows[other], strict=True)) else epsilon
    return lambda x, other: epsilon


TABLES = {"design", "table", "budgets", "blocks", "sensitive", "sensitive-design"}

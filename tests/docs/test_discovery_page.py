"""docs/results/discovery.md is what its table says, and the table has what was promised."""

import math
from pathlib import Path

import pytest
from scipy.special import bdtr, bdtrc

from studies.discovery import PARTS
from studies.discovery_page import Row, f1, page, read
from studies.discovery_people import HARD

RESULTS = Path(__file__).parents[2] / "docs" / "results"
CHANCE = 1e-3  # of a row that is marked although what was promised holds


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Row]]:
    return read(RESULTS)


def numbers(row: Row, *names: str) -> list[float]:
    return [float(row[name]) for name in names]


def test_the_page_is_made_from_the_table(parts: dict[str, list[Row]]) -> None:
    assert (RESULTS / "discovery.md").read_text(encoding="utf-8") == page(parts)
    assert set(parts) | {"others"} == set(PARTS)


def wrong(false: float, tallies: float) -> float:
    """How likely so many tallies with a false discovery are, if one in twenty has one."""
    return float(bdtrc(false - 1, int(tallies), 0.05)) if false else 1.0


def test_texts_that_nobody_wrote_are_declared_in_one_tally_of_twenty_at_most(parts: dict[str, list[Row]]) -> None:
    assert [row["setting"].partition(",")[0] for row in parts["nulls"]] == list(HARD)
    assert all(wrong(*numbers(row, "false", "tallies")) > CHANCE for row in parts["nulls"])
    tallies = sum(numbers(row, "tallies")[0] for row in parts["nulls"])
    assert wrong(round(0.09 * tallies), tallies) < CHANCE  # the table could tell 9 % from 5 %


def test_intervals_cover_and_shares_are_unbiased(parts: dict[str, list[Row]]) -> None:
    for row in parts["nulls"]:
        covered, found, bias, heavy = numbers(row, "covered", "found", "bias", "heavy")
        assert bdtr(covered, int(found), 0.95) > CHANCE
        assert abs(bias) <= 3.3 * heavy**0.5
    most = max(numbers(row, "found")[0] for row in parts["nulls"])
    assert bdtr(round(0.93 * most), int(most), 0.95) < CHANCE  # the table could tell 93 % from 95 %


def test_more_is_found_than_by_prefix_extension_and_in_time(parts: dict[str, list[Row]]) -> None:
    for row in parts["queries"]:
        other, error, oracle = numbers(row, "step", "step error", "oracle")
        for name in ("declared", "largest"):
            mean, own = f1(row, name)
            assert mean > other - 2 * math.hypot(own, error)
            assert name != "declared" or mean > other
        if row["setting"] in ("epsilon 3", "epsilon 4"):
            assert f1(row, "declared")[0] - other > (oracle - other) / 4
        tallies, seconds = numbers(row, "tallies", "seconds")
        assert seconds / tallies < 60
    for row in parts["names"]:
        assert numbers(row, "memory")[0] < 1024
        assert numbers(row, "false")[0] == 0

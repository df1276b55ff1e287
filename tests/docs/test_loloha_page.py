"""docs/results/loloha.md is made of its table, and says what must be true."""

import csv

from studies.loloha import EPSILONS, FILE, FIRST
from studies.loloha_page import PAGE, page

with FILE.open(newline="") as file:
    ROWS = list(csv.DictReader(file))


def values(population: str, measure: str) -> dict[tuple[str, str], float]:
    chosen = [row for row in ROWS if (row["population"], row["measure"]) == (population, measure)]
    return {(row["epsilon"], row["first"]): float(row["value"]) for row in chosen}


def test_the_page_is_that_of_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(ROWS)


def test_every_error_is_at_most_half_of_the_published_one() -> None:
    theirs = values("uniform", "LOLOHA")
    assert len(theirs) == len(EPSILONS) * len(FIRST)
    for measure in ("decoded", "tracked"):
        ours = values("uniform", measure)
        assert all(2 * ours[setting] <= error for setting, error in theirs.items())


def test_all_of_it_took_less_than_a_minute() -> None:
    """The seconds that were measured when the table was made, on the machine that made it."""
    (seconds,) = values("uniform", "CPU seconds").values()
    assert seconds < 60

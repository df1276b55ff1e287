"""JavaScript within its width: the formatter breaks code, but neither comments nor long texts."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WIDTH = 120
PLACES = [
    *("clients/js/*.js", "clients/js/src/*.js", "clients/js/test/*.js", "docs/_static/*.js", "examples/*.mjs"),
    *("src/deniable/service/pages/*.js", "tests/**/*.js", "tests/**/*.mjs"),
]


def scripts() -> list[Path]:
    """What people write: minified files are made by `npm run build`."""
    found = (path for place in PLACES for path in ROOT.glob(place))
    return sorted(path for path in found if not path.name.endswith(".min.js"))


def too_long(text: str) -> list[int]:
    """The numbers of the lines that are longer than `WIDTH` characters."""
    return [number for number, line in enumerate(text.splitlines(), 1) if len(line) > WIDTH]


@pytest.mark.parametrize("path", scripts(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_line_is_too_long(path: Path) -> None:
    assert too_long(path.read_text(encoding="utf-8")) == []


def test_a_long_line_is_found_and_a_long_character_is_no_line() -> None:
    assert too_long("a" * WIDTH + "\n" + "b" * (WIDTH + 1)) == [2]
    assert too_long("\u00fc" * WIDTH) == []

"""How JavaScript is written here, beside what the linter sees: no long lines."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
LONGEST = 120  # characters; the formatter's width, which it cannot enforce inside a text or a comment


def sources() -> list[Path]:
    """Every script that a person wrote."""
    client = ROOT / "clients" / "js"
    pages = ROOT / "src" / "deniable" / "service" / "pages"
    found = [*client.glob("*.[jt]s"), *client.glob("src/*.js"), *client.glob("test/*.js"), *pages.glob("*.js")]
    found += [path for ending in ("js", "mjs") for path in (ROOT / "tests").rglob(f"*.{ending}")]
    return sorted(path for path in found if not path.name.endswith(".min.js"))


def test_no_line_is_longer_than_the_formatters_width() -> None:
    found = sources()
    assert len(found) > 60
    wide = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in found
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > LONGEST
    ]
    assert wide == []

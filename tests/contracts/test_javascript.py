"""How JavaScript is written here, beside what the linter sees; and the pages' own unit tests, under Node.

What the pages share with Python (words, curves, names, codes) is compared with it in `test_pages.py`.
"""

import json
import os
import re
import subprocess
from pathlib import Path

from tests.contracts.test_js_client import node

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "src" / "deniable" / "service" / "pages"
LONGEST = 120  # characters; the formatter's width, which it cannot enforce inside a text or a comment


def sources() -> list[Path]:
    """Every script that a person wrote."""
    client = ROOT / "clients" / "js"
    found = [*client.glob("*.[jt]s"), *client.glob("src/*.js"), *client.glob("test/*.js"), *PAGES.glob("*.js")]
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


def globals_of(text: str) -> list[str]:
    """What a module binds for all of itself and may bind anew. Formatted, such a line begins at the margin."""
    return re.findall(r"^(?:export )?(?:let|var) .*|^(?:window|globalThis|self)\.\w+ = .*", text, re.MULTILINE)


def test_no_page_has_a_variable_for_all_of_it() -> None:
    for path in PAGES.glob("*.js"):
        if not path.name.endswith(".min.js"):
            assert globals_of(path.read_text(encoding="utf-8")) == [], path.name
    mutants = ("let a, b;\n", "export var a = 1;\n", "window.last = 1;\n", "const a = 1;\nlet b;\n")
    assert all(globals_of(mutant) for mutant in mutants)
    assert globals_of("const f = () => {\n  let a = 1;\n  return a;\n};\n") == []


def imported(name: str) -> set[str]:
    """What a script of the pages imports before it runs."""
    text = (PAGES / name).read_text(encoding="utf-8")
    return set(re.findall(r'^(?:import|export) [^;]*?"\./([\w.]+)";', text, re.MULTILINE))


def test_the_answer_page_loads_its_modules_in_one_round_trip() -> None:
    """A browser learns what a script imports when it has the script: none may name a module that answer.js does not."""
    first = imported("answer.js")
    assert {"page.js", "deniable.min.js", "record.js"} <= first
    deeper = {name: imported(name) - first for name in first}
    assert not any(deeper.values()), deeper


def test_the_unit_tests_of_the_pages_pass() -> None:
    files = sorted((ROOT / "tests" / "pages").glob("*.test.mjs"))
    all_of_them = "".join(f"import {json.dumps(path.as_uri())};\n" for path in files)  # in one process, not in 17
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NODE_")}
    run = subprocess.run(
        [node(), "--test-reporter=tap", "--input-type=module", "-"],
        input=all_of_them,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
    counts = dict(line[2:].split(" ", 1) for line in run.stdout.splitlines() if line.startswith("# "))
    assert int(counts["pass"]) >= 169, run.stdout[-500:]
    assert (counts["fail"], counts["skipped"], counts["todo"]) == ("0", "0", "0")

"""Line and branch coverage of the quick tests, by room; and what no test reaches on the device side, each explained.

`python -m tests.coverage` runs the tests that stay in one process under coverage and prints a table. It fails where a
line or a branch of `noise` to `client` is neither covered nor in `uncovered.toml`, or where the file explains what is
covered.
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = "src/deniable/"
FILE = Path(__file__).with_name("uncovered.toml")
DEVICE = ("noise", "mechanisms", "survey", "reports", "client")
FOLDERS = ("exact", "vectors", "properties", "contracts", "unit", "statistical", "docs")
COLUMNS = ("statements", "covered_lines", "branches", "covered_branches")


def room_of(module: str) -> str:
    """
    >>> room_of("noise.py"), room_of("client/state.py")
    ('noise', 'client')
    """
    return module.split("/", 1)[0].removesuffix(".py")


def measured() -> dict[str, Any]:
    """What coverage says of each module: the tests run here, as they do in `make test`."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        where = [f"tests/{name}" for name in FOLDERS] + ["src"]
        command = [sys.executable, "-m", "pytest", "-m", "not slow", "-n", "auto", "--dist", "loadfile", *where]
        command += ["--cov=deniable", "--cov-branch", f"--cov-report=json:{report}"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=_environment(folder))
        if done.returncode:
            print(done.stdout, done.stderr, sep="\n")
            raise SystemExit(
                "the tests must pass before their coverage means something; the lines above say what failed"
            )
        files = json.loads(report.read_text())["files"]
    return {name.split(PACKAGE)[-1]: found for name, found in files.items()}


def _environment(folder: str) -> dict[str, str]:
    return os.environ | {"COVERAGE_FILE": str(Path(folder) / "data"), "OPENBLAS_NUM_THREADS": "1"}


def table(files: Mapping[str, Any]) -> Iterator[str]:
    """Shares of lines and branches, a row for each room."""
    rooms: dict[str, Counter[str]] = {}
    for module, found in files.items():
        summary = found["summary"]
        rooms.setdefault(room_of(module), Counter()).update(
            {
                "statements": summary["num_statements"],
                "covered_lines": summary["covered_lines"],
                "branches": summary["num_branches"],
                "covered_branches": summary["covered_branches"],
            }
        )
    yield f"{'room':<14}{'lines':>8}{'covered':>9}{'branches':>10}{'covered':>9}"
    for room in (*DEVICE, *sorted(rooms.keys() - set(DEVICE))):
        lines, run, branches, taken = (rooms[room][column] for column in COLUMNS)
        yield f"{room:<14}{lines:>8}{_share(run, lines):>9}{branches:>10}{_share(taken, branches):>9}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def uncovered(module: str, found: Mapping[str, Any], source: list[str]) -> Iterator[str]:
    """Lines that no test runs, as they stand in the source, and branches that none takes, as `line -> line`.

    >>> list(uncovered("a.py", {"missing_lines": [2], "missing_branches": [[1, -1], [1, 2]]}, ["if x:", "    y()"]))
    ['y()', 'if x: -> end']
    """
    lines = [line.strip() for line in source]
    missing = set(found["missing_lines"])
    for number in sorted(missing):
        yield lines[number - 1]
    for start, end in found["missing_branches"]:
        if start not in missing and end not in missing:  # else the line itself is named
            yield f"{lines[start - 1]} -> {lines[end - 1] if end > 0 else 'end'}"


def judged(found: Mapping[str, set[str]], explained: Mapping[str, Mapping[str, str]]) -> list[str]:
    """A sentence for each line without an explanation, and for each explanation without its line.

    >>> judged({"noise.py": {"a()"}}, {"noise.py": {"b()": "never"}})
    ['noise.py: no test reaches `a()`; test it, or explain it in tests/uncovered.toml', \
'noise.py: `b()` is covered or gone; take it out of tests/uncovered.toml']
    """
    told = []
    for module in sorted({*found, *explained}):
        there, known = found.get(module, set()), set(explained.get(module, {}))
        told += [
            f"{module}: no test reaches `{line}`; test it, or explain it in tests/uncovered.toml"
            for line in sorted(there - known)
        ]
        told += [
            f"{module}: `{line}` is covered or gone; take it out of tests/uncovered.toml"
            for line in sorted(known - there)
        ]
    return told


def main() -> int:
    files = measured()
    print(*table(files), sep="\n")
    explained = tomllib.loads(FILE.read_text())
    found = {
        module: set(uncovered(module, about, (ROOT / PACKAGE / module).read_text().splitlines()))
        for module, about in files.items()
        if room_of(module) in DEVICE
    }
    for module, reasons in explained.items():
        for line, reason in reasons.items():
            print(f"not covered: {module}: {line}\n             {reason}")
    wrong = judged(found, explained)
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

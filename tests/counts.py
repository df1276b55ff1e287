"""How many tests of each kind pass, against `counts.txt`: a test that is dropped or skipped does not go unseen.

`--counted quick` (or `slow`) compares what passed in a complete run; fewer of a kind than the file says is a failure.
After adding or removing tests, `python -m tests.counts` writes the file anew, and the diff says what changed.
"""

import doctest
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

FILE = Path(__file__).with_name("counts.txt")
PARTS = ("quick", "slow")
HEAD = f"{'kind':<12}{'quick':>8}{'slow':>8}\n"


def kind_of(name: str) -> str:
    """The folder of `tests` that a test lives in; the examples of docstrings are a kind, too.

    >>> kind_of("tests/exact/test_krr.py::test_law"), kind_of("src/deniable/noise.py::deniable.noise")
    ('exact', 'examples')
    """
    first, *rest = name.split("/")
    return rest[0] if first == "tests" and len(rest) > 1 else "examples"


def read(text: str) -> dict[str, dict[str, int]]:
    """What the file says: the tests of each part, by kind."""
    rows = [line.split() for line in text.splitlines()[1:]]
    return {part: {row[0]: int(row[1 + place]) for row in rows} for place, part in enumerate(PARTS)}


def written(found: Mapping[str, Mapping[str, int]]) -> str:
    kinds = sorted({kind for part in PARTS for kind in found[part]})
    return HEAD + "".join(
        f"{kind:<12}{found['quick'].get(kind, 0):>8}{found['slow'].get(kind, 0):>8}\n" for kind in kinds
    )


def fewer(passed: Mapping[str, int], expected: Mapping[str, int]) -> list[str]:
    """A sentence for each kind of which fewer passed than there are.

    >>> fewer({"exact": 2}, {"exact": 3, "unit": 0})
    ['exact: 2 tests passed, tests/counts.txt has 3']
    """
    return [
        f"{kind}: {passed.get(kind, 0)} tests passed, tests/counts.txt has {wanted}"
        for kind, wanted in expected.items()
        if passed.get(kind, 0) < wanted
    ]


def _may_be_skipped(report: pytest.TestReport) -> bool:
    """What only an administrator may do, like mounting a file system, has a twin that runs everywhere."""
    return report.skipped and "not allowed here" in str(report.longrepr)


class Counted:
    """A plugin for one complete run of a part: it prints what passed by kind, and fails where that is too few."""

    def __init__(self, part: str) -> None:
        self._part = part
        self._expected = read(FILE.read_text())[part]
        self._passed: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and ("slow" in report.keywords) == (self._part == "slow"):
            self._passed[kind_of(report.nodeid)] += report.passed or _may_be_skipped(report)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if session.exitstatus == 0 and fewer(self._passed, self._expected):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section(f"{self._part} tests by kind")
        for kind, wanted in sorted(self._expected.items()):
            terminalreporter.write_line(f"{kind:<12}{self._passed[kind]:>8} of {wanted}")
        for sentence in fewer(self._passed, self._expected):
            terminalreporter.write_line(f"{sentence}; if that is meant, run python -m tests.counts", red=True)


def _is_skipped_example(item: pytest.Item) -> bool:
    """Whether a docstring has nothing that runs: each line of it is marked so."""
    found = getattr(item, "dtest", None)
    return found is not None and all(one.options.get(doctest.SKIP) for one in found.examples)


class _Collected:
    """A plugin that only looks at what there is."""

    def __init__(self) -> None:
        self.found: dict[str, Counter[str]] = {part: Counter() for part in PARTS}

    def pytest_collection_modifyitems(self, items: Iterable[pytest.Item]) -> None:
        for item in items:
            if _is_skipped_example(item):
                continue
            self.found["slow" if item.get_closest_marker("slow") else "quick"][kind_of(item.nodeid)] += 1


if __name__ == "__main__":
    looking = _Collected()
    code = pytest.main(["--collect-only", "-qq", "--no-summary", "--no-header"], plugins=[looking])
    if code == 0:
        FILE.write_text(written(looking.found))
    sys.exit(code)

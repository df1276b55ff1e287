"""Tests that are dropped, skipped or not reached by anything do not go unseen."""

from types import SimpleNamespace
from typing import Any

import pytest

from tests import counts
from tests.counts import Counted, read, written
from tests.coverage import judged


def report(name: str, **about: Any) -> Any:
    plain = {"when": "call", "passed": True, "skipped": False, "keywords": {}, "longrepr": None}
    return SimpleNamespace(nodeid=f"tests/exact/test_krr.py::{name}", **plain | about)


SKIPPED = {"passed": False, "skipped": True}


@pytest.mark.parametrize(
    ("second", "status"),
    [
        (report("b"), 0),
        (report("b", **SKIPPED, longrepr=("", 1, "Skipped: mounting a file system is not allowed here")), 0),
        (report("b", **SKIPPED, longrepr=("", 1, "Skipped: no Chromium")), 1),
        (report("b", keywords={"slow": 1}), 1),
        (report("b", when="setup"), 1),
        (None, 1),
    ],
    ids=["as many", "an administrator's", "skipped", "of the other part", "not run", "dropped"],
)
def test_fewer_tests_than_there_were_fail_the_run(
    second: Any, status: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counts, "FILE", tmp_path / "counts.txt")
    counts.FILE.write_text(written({"quick": {"exact": 2}, "slow": {"spark": 1}}))
    counted = Counted("quick")
    for one in (report("a"), second):
        if one is not None:
            counted.pytest_runtest_logreport(one)
    session: Any = SimpleNamespace(exitstatus=0)
    counted.pytest_sessionfinish(session)
    assert session.exitstatus == status


def test_the_file_says_again_what_was_written() -> None:
    found = {"quick": {"exact": 2, "spark": 0}, "slow": {"exact": 0, "spark": 1}}
    assert read(written(found)) == found


def test_uncovered_lines_need_a_reason_and_reasons_need_a_line() -> None:
    assert judged({"noise.py": {"a()"}}, {"noise.py": {"a()": "only on Windows"}}) == []
    assert len(judged({"noise.py": {"a()"}}, {})) == 1
    assert len(judged({}, {"noise.py": {"a()": "only on Windows"}})) == 1

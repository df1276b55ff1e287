"""kill -9 at every point where the client touches the disk: what was promised is there, once, with the same noise."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from tests.failing_collector import Collector, collecting

# Every report is randomised again, so a report that was made anew would differ.
SURVEY = dn.krappor(symbols=["a", "b"] + [f"other {i}" for i in range(62)], epsilon=8, epsilon_report=4)


pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="kill -9 needs signals")]


def lives(folder: Path, *, closed: bool) -> tuple[list[dict[str, Any]], int, Collector]:
    """One device for each point that it can be killed at: what it saw, how many points there are, and what arrived."""
    SURVEY.save(folder / "survey.json")
    # In memory where there is such a folder: hundreds of fsyncs are not what is tested.
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else folder) as devices,
        collecting(SURVEY) as collector,
    ):
        collector.closed = closed
        command = [sys.executable, "-m", "tests.crashing", str(folder / "survey.json"), devices]
        ran = subprocess.run([*command, collector.url], capture_output=True, text=True, timeout=300)
        assert ran.stderr == ""
        collector.check()
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert not lines[-1]["killed"]
    points = lines[-1]["told"][-1]["points"]
    assert len(lines) == points + 1 > 100
    return lines, points, collector


def test_killed_at_every_point_what_a_closed_survey_refused_is_dropped_and_counted_once(tmp_path: Path) -> None:
    lines, points, collector = lives(tmp_path, closed=True)
    outcomes = set()
    for line in lines:
        (after,) = line["after"]
        assert line["recovered"], line
        assert line["killed"] == (line["at"] <= points)
        queued = sum("queued" in note for note in line["told"])
        told = sum(note.get("refused", 0) for note in line["told"])
        made = after["account"]
        # Dropped and counted in one step: every report that was made is counted, and none of them twice.
        assert after["refused"] == ({"closed": made} if made else {})
        assert after["waiting"] == 0
        assert queued <= made <= queued + 1
        assert told <= queued
        outcomes.add((queued, told, made))
    assert collector.counted == {}
    # In doubt and not, before and after each drop.
    assert outcomes == {
        (0, 0, 0),
        (0, 0, 1),
        (1, 0, 1),
        (1, 0, 2),
        (2, 0, 2),
        (2, 2, 2),
        (2, 2, 3),
        (3, 2, 3),
        (3, 3, 3),
    }


def test_killed_at_every_point_nothing_is_lost_or_sent_anew(tmp_path: Path) -> None:
    lines, points, collector = lives(tmp_path, closed=False)
    outcomes = set()
    for line in lines:
        told = {name: value for note in line["told"] for name, value in note.items()}
        (after,) = line["after"]
        assert line["recovered"], line
        assert line["killed"] == (line["at"] <= points)
        assert after["files"] == ["me.json", "me.json.lock"] or line["at"] < points
        # Whoever has seen a client has seen the device's secret and cohort: it is never another one later.
        assert told.get("secret", after["secret"]) == after["secret"]
        assert told.get("cohort", after["cohort"]) == after["cohort"]
        arrived = dict(collector.by_path.get(f"/{line['at']}/v1/surveys/{SURVEY.digest}/reports", []))
        queued = [note["queued"] for note in line["told"] if "queued" in note]
        # What `queue` returned has arrived, once; one more may have been queued when the process died.
        assert len(set(queued)) == len(queued)
        assert set(queued) <= {report.hex() for report in arrived.values()}
        assert len(queued) <= len(arrived) <= len(queued) + 1
        assert (after["waiting"], after["problem"], after["refused"]) == (0, None, {})
        assert after["account"] == len(arrived)
        outcomes.add((len(queued), len(arrived)))
    # The points reach every state of affairs, in doubt and not.
    assert outcomes == {(0, 0), (0, 1), (1, 1), (1, 2), (2, 2), (2, 3), (3, 3)}

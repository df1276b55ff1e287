"""Metrics name surveys, whatever their names hold, and drop the series of those that are deleted."""

import re
from pathlib import Path

import pytest

from deniable.service.metrics import Metrics
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, one_cell_each, records, run

# A line of Prometheus' text format: labels hold anything but a bare quote, backslash or line feed.
LINE = re.compile(r'[a-z_]+\{(?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)*\} \d+')
LABEL = re.compile(r'([a-z]+)="((?:[^"\\\n]|\\["\\n])*)"')


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("homepage", "homepage"),
        ("", "abcdef01"),
        (" \n ", "abcdef01"),
        ('say "no"\\', r"say \"no\"\\"),
        ('x"} 1\nfake{y="z', r"x\"} 1 fake{y=\"z"),
        ("a\r\u2028b\x00\u202ec", "a b\ufffd\ufffdc"),
        ("日本", "日本"),
        ("x" * 101, "x" * 99 + "…"),
        ("\\" * 101, r"\\" * 99 + "…"),
    ],
)
def test_a_name_is_one_label_on_one_line(name: str, label: str) -> None:
    metrics, digest = Metrics(), "abcdef01" * 8
    metrics.names[digest] = name
    metrics.reports[digest, "accepted"] += 3
    lines = [line for line in metrics.text({}).split("\n") if line.startswith("deniable_reports_total")]
    assert lines == [f'deniable_reports_total{{survey="{digest}",name="{label}",outcome="accepted"}} 3']
    assert LINE.fullmatch(lines[0])
    assert dict(LABEL.findall(lines[0])) == {"survey": digest, "name": label, "outcome": "accepted"}


def test_a_survey_has_a_series_before_it_has_a_report(tmp_path: Path) -> None:
    """Also after a restart: a dashboard that waits for the first report must find what it waits for."""

    async def scene() -> None:
        survey = one_cell_each(512, "nobody yet")
        expected = f'deniable_reports_total{{survey="{survey.digest}",name="nobody yet",outcome="accepted"}} 0'
        async with Caller(SQLiteStore(tmp_path)) as call:
            await call.create(survey)
            assert expected in (await call.admin("GET", "/metrics")).body.decode().split("\n")
        async with Caller(SQLiteStore(tmp_path)) as call:
            assert expected in (await call.admin("GET", "/metrics")).body.decode().split("\n")
            await call.admin("DELETE", f"/v1/surveys/{survey.digest}")
            assert "nobody yet" not in (await call.admin("GET", "/metrics")).body.decode()

    run(scene())


def test_surveys_of_one_name_have_series_of_their_own(tmp_path: Path) -> None:
    async def scene() -> None:
        async with Caller(SQLiteStore(tmp_path)) as call:
            surveys = [one_cell_each(size, "the same question") for size in (512, 1024)]
            for survey in surveys:
                await call.create(survey)
                await call.upload(survey, records(survey, [1]))

            async def series() -> list[str]:
                text = (await call.admin("GET", "/metrics")).body.decode()
                return sorted(line for line in text.split("\n") if line.startswith("deniable_reports_total"))

            expected = [
                f'deniable_reports_total{{survey="{survey.digest}",name="the same question",outcome="accepted"}} 1'
                for survey in surveys
            ]
            assert await series() == sorted(expected)
            await call.admin("DELETE", f"/v1/surveys/{surveys[0].digest}")
            assert await series() == [expected[1]]

    run(scene())

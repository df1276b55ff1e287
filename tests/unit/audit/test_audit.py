"""The audit's doors: commands in any language, what they may do wrong, certificates, and the command line."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import deniable as dn
from deniable.audit import Certificate, Command, audit
from deniable.audit.auditing import values_of
from deniable.audit.bounds import lower_bound, upper_bound
from deniable.audit.samples import read_reports
from deniable.audit.sources import line_of
from deniable.cli import main
from tests.audit_client import SURVEY, honest, truthful
from tests.surveys import SMALL, symbols_of

CLIENT = [sys.executable, "-m", "tests.audit_client"]


@pytest.fixture
def survey_path(tmp_path: Path) -> str:
    SURVEY.save(tmp_path / "survey.json")
    return str(tmp_path / "survey.json")


@pytest.mark.parametrize("form", ["hex", "base64"])
def test_a_command_is_asked_line_by_line(survey_path: str, form: str) -> None:
    seen: list[tuple[int, int]] = []
    certificate = audit(
        SURVEY,
        Command([*CLIENT, survey_path, form]),
        trials=9000,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert certificate.findings == ()
    assert (certificate.devices, certificate.asked_twice) == (9000, 2250)
    assert seen[-1] == (9000, 9000)
    assert certificate.client == " ".join([*CLIENT, survey_path, form])


def test_hashed_numbers_and_text_reach_a_command(tmp_path: Path) -> None:
    for survey in (dn.krr(symbols=5, epsilon=2), dn.orr(epsilon=2, cells=4, cohorts=300)):
        survey.save(tmp_path / "survey.json")
        assert audit(survey, Command([*CLIENT, str(tmp_path / "survey.json")]), trials=2000).findings == ()


@pytest.mark.parametrize(
    ("form", "sentence"),
    [
        (
            "stops",
            "command must end with exit code 0, got 3 after 500 lines; what it printed to standard error is above",
        ),
        ("short", "the client must answer every line, got 500 of 3,000"),
        ("more", "the client must answer every line once, got more than 3,000"),
        ("chatty", "line 8 must hold packed reports in base64 or hexadecimal, got b'hello'"),
        (
            "once",
            "the client must send 2 reports for 2 values of one line, got 1; "
            "audit a client that answers once without asking twice",
        ),
    ],
)
def test_a_command_that_does_not_keep_to_the_lines(survey_path: str, form: str, sentence: str) -> None:
    with pytest.raises(dn.AuditError) as caught:
        audit(SURVEY, Command([*CLIENT, survey_path, form]), trials=3000)
    assert str(caught.value) == sentence


def test_no_command() -> None:
    with pytest.raises(dn.AuditError, match="command must name a program, got nothing"):
        Command("")
    with pytest.raises(dn.AuditError, match="command '/no/such/program' cannot be run: no such file or directory"):
        audit(SURVEY, Command("/no/such/program"), trials=1000)


def test_values_for_a_command() -> None:
    assert line_of("a b") == b"a b"
    for value in ("a\tb", "a\n", b"x", 1.5):
        with pytest.raises(dn.AuditError) as caught:
            line_of(value)
        assert str(caught.value) == (
            "values for a command must be integers, or text without tabs and line ends; name others"
        )
    with pytest.raises(dn.AuditError, match="values for a command must be integers"):
        audit(dn.krr(symbols=[b"a", b"b"], epsilon=1), Command("cat"), trials=1000)


def test_bytes_that_are_no_reports_are_found(survey_path: str) -> None:
    def versions(values: Sequence[object]) -> list[bytes]:
        reports = honest(values)
        return [b"\x02" + reports[0][1:], *reports[1:]] if reports[0][-1] == 2 and values[0] == "yes" else reports

    certificate = audit(SURVEY, versions, trials=4000)
    (finding, *rest) = certificate.findings
    assert finding.kind == "format"
    assert "reports are none: report must have wire version 1, got 2" in finding.event
    assert "law" in {other.kind for other in rest}
    with pytest.raises(
        dn.AuditError, match="the client must send reports of the survey, got too few to test: value 1: "
    ):
        audit(SURVEY, lambda values: [b"\x01" * 10 for _ in values], trials=4000)


@pytest.mark.parametrize("survey", SMALL.values(), ids=SMALL.keys())
def test_reports_are_read_as_the_library_reads_them(survey: dn.Survey) -> None:
    """Every good report, and every single changed byte, against `Report.unpack`."""
    good = [dn.Client(survey, memoize=False).report(symbols_of(survey)[0]).pack() for _ in range(5)]
    bad = [r[:i] + bytes([r[i] ^ 0x81]) + r[i + 1 :] for r in good for i in range(len(r))] + [
        good[0][:-1],
        good[0] + b"\0",
    ]
    fine = []
    for wire in good + bad:
        try:
            fine.append(dn.Report.unpack(survey, wire))
        except dn.WireError:
            continue
    sample, reasons = read_reports(survey, [(wire,) for wire in good + bad])
    assert len(sample) == len(fine)
    assert len(reasons) == len(good + bad) - len(fine)
    assert sample.cohorts.tolist() == [report.cohort for report in fine]
    assert [bytes(np.atleast_1d(r).astype(np.uint8)) for r in sample.responses[0]] == [r.payload for r in fine]


def test_a_device_keeps_its_cohort() -> None:
    survey = SMALL["orr-open"]
    reports = tuple(dn.Report(survey, cohort, b"\x00").pack() for cohort in (0, 1))
    sample, reasons = read_reports(survey, [reports])
    assert (len(sample), reasons) == (0, ["a device must keep its cohort, got two reports of different cohorts"])


def test_bounds_are_clopper_and_pearsons() -> None:
    """From tables: 10 of 100 at 95 % is 4.90 % to 17.62 %."""
    assert float(lower_bound(10, 100, 0.025)) == pytest.approx(0.04900469, abs=1e-7)
    assert float(upper_bound(10, 100, 0.025)) == pytest.approx(0.17622260, abs=1e-7)
    assert lower_bound([0, 5], [5, 5], 1e-9).tolist()[0] == 0
    assert upper_bound([0, 5], [5, 5], 1e-9).tolist()[1] == 1


def test_values_are_chosen_from_both_ends() -> None:
    assert values_of(dn.krr(symbols=64, epsilon=1)) == (0, 1, 32, 63)
    assert values_of(dn.krr(symbols=["x", "y", "z"], epsilon=1)) == ("x", "y", "z")
    assert values_of(SMALL["warner"]) == ("no", "yes")
    assert len(values_of(SMALL["orr-open"])) == 4


def test_bad_arguments() -> None:
    with pytest.raises(dn.AuditError, match="trials must be at least 1000, got 10; a million is a good number"):
        audit(SURVEY, trials=10)
    for alpha in (0, 0.5, -1):
        with pytest.raises(dn.AuditError, match=r"alpha must be between 0 and 0\.5, got"):
            audit(SURVEY, alpha=alpha)
    for values in ((), ("no",), ("no", "no")):
        with pytest.raises(dn.AuditError, match="values must be at least two, and different ones for the survey"):
            audit(SURVEY, values=values)
    for wrong in (lambda values: [], lambda values: ["text"] * len(values)):
        with pytest.raises(dn.AuditError, match="devices must return packed reports, one for each of 1 values, got"):
            audit(SURVEY, wrong, trials=1000)  # type: ignore[arg-type]


def lines(certificate: Certificate) -> dict[str, str]:
    return {name or "two": text for name, text in certificate.lines()}


def test_what_a_certificate_says() -> None:
    said = lines(audit(SURVEY, trials=4000))
    assert said["survey"] == repr(SURVEY)
    assert said["client"] == "this package's own"
    assert said["asked"] == "3,996 devices, 999 of them asked twice; half chose the events, half tested them"
    assert said["values"] == "1 = 'no', 2 = 'yes', 3 = 'maybe'"
    assert said["proved"] == "by the survey's integers: a worst ratio of 7.38906 <= e^2"
    assert said["law"].endswith(
        "events of the packed bytes tested against the published channel, with confidence 99.9999 %"
    )
    assert said["measured"].startswith("one report: epsilon >= 1.")
    assert said["two"].startswith("two reports of an answer: epsilon >= ")
    assert said["verdict"] == "PASSED: nothing was found; that epsilon is small enough is proved, not measured"
    again = dn.krr(symbols=3, epsilon=2, epsilon_report=1)
    assert lines(audit(again, trials=1000))["proved"].endswith("<= e^2, and of 2.71828 <= e^1 for one report")
    once = lines(audit(SURVEY, trials=1000, twice=False))
    assert once["asked"] == "999 devices, each asked once; half chose the events, half tested them"
    assert once["two"] == "reports of the same answer again: not asked for, so nothing is said of them"


def test_a_client_that_tells_the_truth() -> None:
    certificate = audit(SURVEY, truthful, trials=4000)
    assert {finding.kind for finding in certificate.findings} == {"law", "privacy"}
    said = lines(certificate)
    assert said["client"] == "a Python function"
    assert said["verdict"] == "VIOLATED: the client is not what the survey says"
    assert "epsilon is at least " in said["privacy"]
    assert ", not 2: " in said["privacy"]
    assert ", published " in said["law"]


def test_the_command_line(survey_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", survey_path, "--trials", "2000"]) == 0
    assert "verdict   PASSED" in capsys.readouterr().out
    command = " ".join([*CLIENT, survey_path])
    assert main(["audit", survey_path, "--trials", "2000", "--command", command, "--values", "no,yes"]) == 0
    assert f"client    {CLIENT[0]}" in capsys.readouterr().out
    assert main(["audit", survey_path, "--trials", "2000", "--python", "tests.audit_client:truthful", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "VIOLATED"
    assert found["survey"] == SURVEY.digest
    assert {finding["kind"] for finding in found["findings"]} == {"law", "privacy"}
    assert found["one_report"]["epsilon_at_least"] > 2 == found["one_report"]["limit"]
    assert main(["audit", survey_path, "--trials", "1000", "--once", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["two_reports"] is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--alpha", "2"], "--alpha must be a number between 0 and 0.5, got '2'"),
        (["--alpha", "x"], "--alpha must be a number between 0 and 0.5, got 'x'"),
        (["--command", "a", "--python", "b"], "--command and --python must not both be given"),
        (["--python", "no.such:thing"], "--python must be MODULE:NAME of a function, got 'no.such:thing': No module"),
        (["--python", "json:no"], "--python must be MODULE:NAME of a function, got 'json:no': module 'json' has no"),
        (["--trials", "10"], "--trials must be at least 1000, got 10"),
        (["--values", "no,never"], "symbol is not in this survey's alphabet of 3 symbols"),
    ],
)
def test_what_the_command_line_refuses(
    survey_path: str, options: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", survey_path, *options]) == 2
    assert sentence in capsys.readouterr().err


def test_numbers_typed_as_values_are_the_surveys_numbers(tmp_path: Path) -> None:
    dn.krr(symbols=[1, 2, "2", "x"], epsilon=2).save(tmp_path / "survey.json")
    assert main(["audit", str(tmp_path / "survey.json"), "--trials", "1000", "--values", "1,2,x"]) == 0
    dn.krr(symbols=5, epsilon=2).save(tmp_path / "survey.json")
    assert main(["audit", str(tmp_path / "survey.json"), "--trials", "1000", "--values", "3"]) == 0
    dn.orr(epsilon=2, cells=4, cohorts=3).save(tmp_path / "survey.json")
    assert main(["audit", str(tmp_path / "survey.json"), "--trials", "1000", "--values", "3,x"]) == 0

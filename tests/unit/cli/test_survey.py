"""`deniable survey`: what it writes, shows and refuses."""

import json
from pathlib import Path

import pytest

import deniable as dn
from deniable.cli import main
from tests.unit.cli.test_cli import refused


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("options", "title", "symbols"),
    [
        ("--mechanism warner --epsilon 1", "W-RR", ("no", "yes")),
        ("--mechanism warner --epsilon 1 --symbols nein,ja", "W-RR", ("nein", "ja")),
        ("--mechanism krr --epsilon 1/3 --symbols a,b,c --other d", "k-RR", ("a", "b", "c", "d")),
        ("--mechanism krappor --epsilon 1 --symbols 16", "k-RAPPOR", tuple(range(16))),
        ("--mechanism oue --epsilon 1 --symbols 16", "OUE", tuple(range(16))),
        ("--mechanism subset --epsilon 1 --symbols 16 --other x", "SS", (*range(16), "x")),
        ("--mechanism hadamard --epsilon 1 --symbols a,b,c,d", "HR", ("a", "b", "c", "d")),
        ("--mechanism projective --epsilon 1 --symbols 16", "PGR", tuple(range(16))),
        ("--mechanism olh --epsilon 2", "O-RR", None),
        ("--mechanism olh --epsilon 2 --cohorts 16", "O-RR", None),
        ("--mechanism orr --epsilon 2 --cells 8 --cohorts 64", "O-RR", None),
        (
            "--mechanism orr --epsilon 2 --cells 2 --cohorts 4 --symbols-file s.txt",
            "O-RR (closed)",
            ("日本", "a b", "ü"),
        ),
        ("--mechanism orappor --epsilon 2 --cells 32 --cohorts 4 --hashes 2", "O-RAPPOR", None),
    ],
)
def test_new_writes_the_survey_that_the_options_describe(
    capsys: pytest.CaptureFixture[str], options: str, title: str, symbols: tuple[object, ...] | None
) -> None:
    Path("s.txt").write_bytes("\ufeff日本\r\na b\n\nu\u0308\n".encode())
    assert main(["survey", "new", *options.split(), "--name", "a question", "-o", "new.json"]) == 0
    survey = dn.Survey.load("new.json")
    assert capsys.readouterr().out == f"wrote new.json: {survey}\n"
    assert (survey.title, survey.symbols, survey.name) == (title, symbols, "a question")


def test_how_people_take_part_is_written_shown_and_told(capsys: pytest.CaptureFixture[str]) -> None:
    new = ["survey", "new", "--mechanism", "warner", "--epsilon", "1", "--force"]
    told = {}
    for how in ("once", "window", "window:week", "event"):
        assert main([*new, "--participation", how]) == 0
        capsys.readouterr()
        for action in ("show", "notice"):
            assert main(["survey", action, "survey.json"]) == 0
            told[how, action] = " ".join(capsys.readouterr().out.split())
    assert "answered once a day" in told["window", "show"]
    assert "answered once a week" in told["window:week", "show"]
    assert "answered at every event" in told["event", "show"]
    assert "answered" not in told["once", "show"]
    rest = (
        "While your answer stays the same and your device keeps its state, all your reports together, however many, "
        "are at most 2.8 times likelier than under another answer (epsilon 1). Each answer that you have not given "
        "before can spend as much again, up to epsilon 2 in all. Whoever sees all reports of your device may see when "
        "your answer changed."
    )
    assert f"If you answer again Your device answers once a day. {rest}" in told["window", "notice"]
    assert f"If you answer again Your device answers at every event. {rest}" in told["event", "notice"]
    assert "If you answer again" not in told["once", "notice"]


def test_what_many_reports_spend_and_show_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    """Boxes bound what answers that change can spend; an observer's chances are shown for so many reports."""
    survey = dn.orr(epsilon=2, epsilon_report=1, cells=4, cohorts=64, seed=bytes(16), participation="window")
    survey.save("orr.json")
    dn.orappor(epsilon=2, cells=16, cohorts=8, hashes=2, seed=bytes(16), participation="event").save("bloom.json")
    told = {}
    for name in ("orr", "bloom"):
        for action in ("show", "notice"):
            assert main(["survey", action, f"{name}.json"]) == 0
            told[name, action] = " ".join(capsys.readouterr().out.split())
    assert "Each answer in another box can spend as much again, up to epsilon 8 in all." in told["orr", "notice"]
    assert "Each answer that you have not given before can spend as much again. Whoever" in told["bloom", "notice"]
    assert "in all 8, however often an answer changes (2 for each of 4 permanent responses)" in told["orr", "show"]
    assert "in all" not in told["bloom", "show"]
    assert main(["survey", "show", "orr.json", "--json"]) == 0
    follows = json.loads(capsys.readouterr().out)["follows"]
    assert (follows["epsilon_worst"], follows["permanent_responses"]) == (8.0, 4)
    assert main(["survey", "show", "bloom.json", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["follows"]["epsilon_worst"] is None
    seen = ["survey", "show", "orr.json", "--reports", "90", "--n", "10000"]
    assert main([*seen, "--candidates", "100"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    named = dn.theory.naming_probability(survey, 90, candidates=100)
    linked = dn.theory.linking_probability(survey, 10_000)
    assert f"observer names the answer with probability {100 * named:.2g} % after 90 reports of it" in shown
    assert f"finds a device's report among 10,000 devices' with probability {100 * linked:.2g} %" in shown
    assert main(seen) == 2
    assert "candidates must be given for an open alphabet" in capsys.readouterr().err


def test_new_keeps_epsilon_exact() -> None:
    assert main(["survey", "new", "--mechanism", "warner", "--epsilon", "0.1"]) == 0
    assert dn.Survey.load("survey.json") == dn.warner(epsilon="1/10")


def test_new_prints_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["survey", "new", "--mechanism", "warner", "--epsilon", "1", "-o", "-"]) == 0
    assert dn.Survey.from_json(capsys.readouterr().out) == dn.warner(epsilon=1)
    assert list(Path().iterdir()) == []


def test_new_does_not_replace_a_survey_unless_told_to(capsys: pytest.CaptureFixture[str]) -> None:
    new = ["survey", "new", "--mechanism", "warner", "--epsilon"]
    assert main([*new, "1"]) == 0
    capsys.readouterr()
    assert refused(capsys, *new, "2") == ("survey.json exists already; name another file, or replace it with --force")
    assert dn.Survey.load("survey.json").epsilon == 1
    assert main([*new, "2", "--force"]) == 0
    assert dn.Survey.load("survey.json").epsilon == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("", "the following arguments are required: --mechanism, --epsilon; see `deniable survey new --help`"),
        (
            "--mechanism rappor --epsilon 1",
            "--mechanism must be one of warner, krr, krappor, oue, subset, hadamard, projective, orr, olh, orappor, "
            "number, ordered, sensitive, blocks, channel, discovery, "
            "got 'rappor'; see `deniable survey new --help`",
        ),
        ("--mechanism krr --epsilon 1", "--symbols or --symbols-file must be given for krr; use orr for open answers"),
        (
            "--mechanism subset --epsilon 1",
            "--symbols or --symbols-file must be given for subset; use orr for open answers",
        ),
        ("--mechanism olh --epsilon 1 --cells 4", "--cells must not be given for olh, which has no use for it"),
        ("--mechanism orr --epsilon 1", "--cells must be given for orr; for instance --cells 8 --cohorts 64"),
        (
            "--mechanism krr --symbols a,b --epsilon 1 --cells 4",
            "--cells must not be given for krr, which has no use for it",
        ),
        (
            "--mechanism krr --symbols a,b --epsilon a=1,a=2,b=1",
            "--epsilon must have one budget for every answer, got two for 'a'",
        ),
        ("--mechanism warner --epsilon 1 --other x", "--other must not be given for warner, which has no use for it"),
        (
            "--mechanism orr --epsilon 1 --cells 8 --cohorts 4 --hashes 2",
            "--hashes must not be given for orr, which has no use for it",
        ),
        (
            "--mechanism krr --symbols a,,b --epsilon 1",
            "--symbols must not hold empty symbols; to use commas in a symbol, use --symbols-file",
        ),
        (
            "--mechanism krr --symbols a,b --symbols-file s.txt --epsilon 1",
            "--symbols and --symbols-file must not both be given",
        ),
        ("--mechanism krr --symbols-file none.txt --epsilon 1", "none.txt cannot be read: no such file or directory"),
        (
            "--mechanism krr --symbols-file latin.txt --epsilon 1",
            "latin.txt must be UTF-8 text, got other bytes; save it as UTF-8",
        ),
        (
            "--mechanism krr --symbols a,b --epsilon 1 -o none/x.json",
            "none/x.json cannot be written: no such file or directory",
        ),
        (
            "--mechanism krr --symbols a,b --epsilon 0",
            "epsilon must be a positive finite number, decimal text or a fraction, got '0'; "
            "a survey with epsilon 0 carries no information",
        ),
        (
            "--mechanism number --low 18 --epsilon 1",
            "--high must be given for number; for instance --low 18 --high 90",
        ),
        ("--mechanism number --low 9 --high 9 --epsilon 1", "low must be below high, got 9 and 9"),
        (
            "--mechanism number --low 0 --high 9 --symbols a,b --epsilon 1",
            "--symbols must not be given for number, which has no use for it",
        ),
        ("--mechanism krr --symbols 3 --low 0 --epsilon 1", "--low must not be given for krr, which has no use for it"),
        (
            "--mechanism number --low 0 --high 9 --outside drop --epsilon 1",
            "--outside must be one of clamp, refuse, got 'drop'; see `deniable survey new --help`",
        ),
        ("--mechanism krr --symbols 1 --epsilon 1", "symbols must number from 2 to 16777216, got 1"),
        (
            "--mechanism krr --symbols a,a --epsilon 1",
            "symbols must be distinct after NFC normalisation, got 'a' more than once",
        ),
        (
            "--mechanism orr --cells 1 --cohorts 1 --epsilon 1",
            "--cells must be at least 2, got 1; see `deniable survey new --help`",
        ),
    ],
)
def test_new_refuses_with_a_sentence(capsys: pytest.CaptureFixture[str], options: str, sentence: str) -> None:
    Path("latin.txt").write_bytes(b"caf\xe9\n")
    assert refused(capsys, "survey", "new", *options.split()) == sentence


def test_show_prints_the_agreement(capsys: pytest.CaptureFixture[str]) -> None:
    made = dn.orr(epsilon=2, cells=8, cohorts=64)
    survey = dn.Survey(made.alphabet, made.encoding, made.mechanism, "home\x1bpage")  # as old ones may be called
    survey.save("s.json")
    assert main(["survey", "show", "s.json"]) == 0
    out = capsys.readouterr().out
    assert survey.digest in out
    assert "home\\x1bpage" in out
    assert "8 in each of 64 cohorts, 1 hash function" in out
    assert str(survey.mechanism.thresholds()["keep"]) in out
    assert "512 counters" in out


def test_show_names_the_answers(capsys: pytest.CaptureFixture[str]) -> None:
    dn.krr(symbols=[f"s{i}" for i in range(30)], epsilon=2, other="s3").save("s.json")
    assert main(["survey", "show", "s.json"]) == 0
    out = capsys.readouterr().out
    assert "30: s0, s1," in out
    assert "..." in out
    assert "anything else  counts as s3" in out


def test_show_as_json_parses(capsys: pytest.CaptureFixture[str]) -> None:
    survey = dn.krappor(symbols=["日", b"\xff", 3], epsilon=2)
    survey.save("s.json")
    assert main(["survey", "show", "s.json", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert dn.Survey.from_json(json.dumps(result["survey"])) == survey
    assert result["follows"]["report_bytes"] == 10
    assert result["follows"]["epsilon_spent"] == survey.epsilon_spent


def test_notice_is_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    dn.warner(epsilon=1, name="Have you ever cheated?").save("s.json")
    assert main(["survey", "notice", "s.json"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "“Have you ever cheated?”" in out
    assert (
        "With probability 73 % it sends the number of your true answer; with probability 27 % it sends the other" in out
    )
    assert "any report is at most 2.8 times likelier than under another answer" in out
    assert "with probability 10 % can believe it with at most 24 %" in out


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([["a", "b"], ["c", "d"]], "The true answer is sent with probability 73 %; otherwise another"),
        (
            [["a", "b"], ["c", "d", "e"]],
            "The true answer is sent with a probability from 58 % to 73 %, by the size of its group; otherwise another",
        ),
    ],
    ids=["even", "uneven"],
)
def test_a_notice_of_groups_tells_of_sizes_where_they_differ(
    groups: list[list[str]], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    dn.blocks(groups, 1).save("s.json")
    assert main(["survey", "notice", "s.json"]) == 0
    assert told in " ".join(capsys.readouterr().out.split())


def test_what_the_crowd_adds_is_told_where_n_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    dn.krr(symbols=100, epsilon=4).save("s.json")
    assert main(["survey", "notice", "s.json", "--n", "1e5"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert (
        "What the crowd adds For anyone who sees only the counts, and not your report: if 100,000 people answer "
        "honestly, a belief of 10 % becomes at most 11 %, because your report is hidden among those of the others "
        "(epsilon 0.06846, but for a chance of 1e-06). This holds for one round, and only if nobody keeps the "
        "order, the time or the sender of reports."
    ) in out
    assert main(["survey", "show", "s.json", "--n", "1e5"]) == 0
    assert "the crowd For anyone who sees only the counts of 100,000 reports" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main(["survey", "show", "s.json", "--n", "1e5", "--delta", "1e-9", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["follows"]["crowd"]
    assert (found["n"], found["delta"]) == (100_000, 1e-9)
    assert 0.0684 < found["lower"] < found["epsilon"] < 0.1
    dn.orr(epsilon=2, cells=8, cohorts=4, seed=bytes(16)).save("cohorts.json")
    assert main(["survey", "notice", "cohorts.json", "--n", "1e4"]) == 0
    assert "among those of the others in your group" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("action", ["show", "notice"])
@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "s.json cannot be read: no such file or directory"),
        (b"", "s.json: survey must be JSON text: Expecting value"),
        (b"\xff\xfe", "s.json: survey must be JSON text: 'utf-8' codec can't decode"),
        (b"[]", "s.json: survey must be"),
        (b"{}", "s.json: survey must have the field 'alphabet'"),
    ],
)
def test_bad_survey_files_are_refused(
    capsys: pytest.CaptureFixture[str], action: str, content: bytes | None, sentence: str
) -> None:
    if content is not None:
        Path("s.json").write_bytes(content)
    assert refused(capsys, "survey", action, "s.json").startswith(sentence)


def test_a_survey_whose_reports_are_randomised_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "survey.json")
    options = ["--mechanism", "krr", "--symbols", "12", "--epsilon", "2", "--epsilon-report", "1", "-o", path]
    assert main(["survey", "new", *options]) == 0
    assert "epsilon 2 and 1 a report" in capsys.readouterr().out
    assert main(["survey", "show", path]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "epsilon 2 asked for, 2.0 spent a report 1 asked for, " in shown
    assert "report_keep " in shown
    assert "at most 2.8 times likelier than under another answer; all your reports of one answer together" in shown
    assert main(["survey", "show", path, "--json"]) == 0
    follows = json.loads(capsys.readouterr().out)["follows"]
    assert (round(follows["epsilon_spent"], 9), round(follows["epsilon_report"], 9)) == (2.0, 1.0)
    assert main(["survey", "notice", path]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "at most 24 % after seeing your report (at most 46 % after seeing all your reports of that answer)" in told
    assert "Repeating the same answer sends other bytes, made from the same first roll of the dice" in told
    assert "epsilon 2 (spent: 2) and 1 a report (spent: 1): strong privacy; likelihood ratio at most 7.38906" in told
    for preset in ("krappor", "oue", "subset", "hadamard", "projective"):
        options = ["--mechanism", preset, "--symbols", "12", "--epsilon", "2", "--epsilon-report", "1", "-o", path]
        assert main(["survey", "new", *options, "--force"]) == 0
        assert main(["survey", "notice", path]) == 0
    assert main(["survey", "new", *options[:-4], "--epsilon-report", "3", "-o", "-"]) == 2
    assert "--epsilon-report must be below epsilon, 2, got 3" in capsys.readouterr().err

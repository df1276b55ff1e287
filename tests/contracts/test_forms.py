"""A form is a survey in every respect: client, wire, tally, columns and files agree with each other."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deniable as dn
from deniable.errors import DeniableError, WireError
from deniable.survey import Form
from deniable.tally import FormTally, refused_forms

SEED = bytes(range(16))
SMOKES = dn.warner(epsilon=1, name="Do you smoke?")
AGE = dn.number(18, 90, 1, bins=6)
CITY = dn.orr(epsilon=1, cells=8, cohorts=5, seed=SEED)
ILL = dn.sensitive(["no", "flu", "hiv", "hep"], sensitive=["hiv", "hep"], epsilon=1)
AREA = dn.blocks([["o", "b"], ["p", "l", "n"]], epsilon=1)
MOOD = dn.channel([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], epsilon=1.8)
LIKES = dn.oue(["a", "b", "c", "d", "e", "f", "g", "h", "i"], epsilon=1)

FORMS: dict[str, Form] = {
    "split": dn.form(smokes=SMOKES, age=AGE, city=CITY, epsilon=4),
    "sample": dn.form(smokes=SMOKES, age=AGE, city=CITY, likes=LIKES, epsilon=4, spend="sample"),
    "sample two": dn.form(smokes=SMOKES, age=AGE, city=CITY, likes=LIKES, epsilon=4, spend="sample", draw=2),
    "each": dn.form(smokes=SMOKES, age=AGE, city=CITY, spend="each"),
    "related": dn.form(smokes=SMOKES, likes=LIKES, age=AGE, epsilon=4, relate=[("smokes", "age")]),
    "skipped": dn.form(smokes=SMOKES, age=AGE, city=CITY, epsilon=4, skip=["smokes", "age", "city"]),
    "windows": dn.form(smokes=SMOKES, age=AGE, epsilon=4, participation="window"),
    "nine parts": dn.form({f"q{i}": SMOKES for i in range(9)}, epsilon=4, spend="sample", draw=3),
    "tables": dn.form(ill=ILL, area=AREA, mood=MOOD, smokes=SMOKES, epsilon=6, skip=["ill"]),
    "tables, sampled": dn.form(ill=ILL, area=AREA, mood=MOOD, smokes=SMOKES, epsilon=2, spend="sample"),
    "conditions": dn.form(
        smokes=SMOKES, age=AGE, epsilon=4, public={"country": ["NO", "SE"]}, when={"age": ("country", ["NO"])}
    ),
}
SOME: dict[str, list[object]] = {
    "smokes": ["no", "yes"],
    "age": [20, 71.5],
    "city": ["Oslo", "Bergen"],
    "likes": ["a", "i"],
    "ill": ["no", "hiv"],
    "area": ["o", "n"],
    "mood": [0, 2],
}


def answers_to(form: Form, number: int) -> dict[str, object]:
    found = {q.name: SOME.get(q.name, ["no", "yes"])[number % 2] for q in form.questions}
    return found | {q.name: (q.alphabet.symbols or ())[number % 2] for q in form.public}


def reports_of(form: Form, count: int) -> list[dn.Report]:
    found = []
    for number in range(count):
        client = dn.Client(form)
        answers = answers_to(form, number)
        asked = client.questions  # type: ignore[attr-defined]
        if form.public:
            asked = [name for name in asked if name != "age" or answers["country"] == "NO"]
        given = {q: answers[q] for q in (*asked, *(p.name for p in form.public))}
        found.append(client.report(given))
    return found


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest) -> Form:
    return FORMS[request.param]


def test_json_comes_back_and_the_digest_is_of_all_of_it(form: Form, tmp_path: Path) -> None:
    assert Form.from_json(form.to_json()) == Form.from_json(form.to_json(indent=2)) == form
    form.save(tmp_path / "form.json")
    assert Form.load(tmp_path / "form.json").digest == form.digest
    fields = json.loads(form.to_json())
    fields["name"] = "another"
    with pytest.raises(DeniableError, match="the form was altered after it was made"):
        Form.from_fields(fields)


def test_reports_come_back_and_have_one_length(form: Form) -> None:
    for report in reports_of(form, 20):
        wire = report.pack()
        assert dn.Report.unpack(form, wire) == report
        assert len(wire) == form.report_format.length


def test_one_by_one_and_at_once_refuse_the_same_rows(form: Form) -> None:
    """Every byte after the head changed to something else, in good reports."""
    shape = form.report_format
    rows = [bytearray(report.pack()) for report in reports_of(form, 4)]
    changed = []
    for row, place, value in product(rows, range(9, shape.length), (0, 1, 2, 7, 128, 255)):
        other = bytearray(row)
        other[place] = value
        changed.append(bytes(other))
    table = np.frombuffer(b"".join(changed), np.uint8).reshape(len(changed), shape.length)
    refused = np.zeros(len(changed), bool)
    for _, _, wrong in refused_forms(shape, table):
        assert not (refused & wrong).any()
        refused |= wrong
    for wire, bad in zip(changed, refused.tolist(), strict=True):
        try:
            dn.Report.unpack(form, wire)
            assert not bad
        except WireError:
            assert bad
    assert refused.any()


def test_a_tally_adds_and_comes_back(form: Form, tmp_path: Path) -> None:
    reports = reports_of(form, 30)
    one, two = FormTally(form), FormTally(form)
    one.accumulate(reports[:10])
    two.accumulate(report.pack() for report in reports[10:])
    assert (one + two).n == sum([one, two]).n == 30  # type: ignore[union-attr]
    assert all((a + b) == c for a, b, c in zip(one.parts, two.parts, (one + two).parts, strict=True))
    (one + two).save(tmp_path / "day.tally")
    assert dn.Tally.load(tmp_path / "day.tally") == one + two
    damaged = bytearray((tmp_path / "day.tally").read_bytes())
    damaged[-40] ^= 1
    with pytest.raises(DeniableError, match="the file was truncated or altered"):
        dn.Tally.from_bytes(bytes(damaged))


def test_columns_and_clients_count_alike(form: Form, tmp_path: Path) -> None:
    rows = 400
    columns = {q.name: [answers_to(form, i)[q.name] for i in range(rows)] for q in (*form.questions, *form.public)}
    table = dn.privatize(form, pa.table(columns))
    assert len(table) == rows
    tally = dn.count(form, table)
    assert tally.n == rows
    assert tally == dn.count(form, table.to_arrow()) == dn.count(form, (report.pack() for report in table))
    pq.write_table(table.to_arrow(), tmp_path / "reports.parquet")
    assert dn.count(form, tmp_path / "reports.parquet") == tally
    pq.write_table(pa.table(columns), tmp_path / "answers.parquet")
    assert len(dn.privatize(form, str(tmp_path / "answers.parquet"))) == rows
    drawn = table.answered.sum(axis=1)
    assert set(drawn.tolist()) <= ({1, 2} if form.public else {form.drawn})


def test_strong_budgets_bring_every_answer_through() -> None:
    """At a large epsilon nearly every report is true, so columns, pairs and skipping are seen to be what they are."""
    form = dn.form(
        smokes=SMOKES,
        likes=LIKES,
        age=AGE,
        spend="each",
        epsilon=14,
        relate=[("smokes", "likes")],
        skip=["likes", "age"],
    )
    columns: dict[str, list[object]] = {
        "smokes": ["yes", "no", "yes"] * 200,
        "likes": ["i", None, "b"] * 200,
        "age": [20.0, 85.5, None] * 200,
    }
    for tally in (dn.count(form, dn.privatize(form, pa.table(columns))), _one_by_one(form, columns)):
        estimate = dn.decode(tally)
        assert estimate["age"]["no answer"] == pytest.approx(1 / 3, abs=0.02)
        assert estimate["likes"]["no answer"] == pytest.approx(1 / 3, abs=0.02)
        assert estimate["smokes"]["yes"] == pytest.approx(2 / 3, abs=0.02)
        joint = estimate.joint("smokes", "likes")
        pairs = {form.part_of("smokes").pair(s): p for s, p in joint}
        assert pairs["yes", "i"] == pytest.approx(1 / 3, abs=0.02)
        assert pairs["no", "no answer"] == pytest.approx(1 / 3, abs=0.02)


def test_tables_in_a_form_are_decoded_as_they_are_alone() -> None:
    form = FORMS["tables"]
    p = {"ill": [0.5, 0.2, 0.1, 0.1, 0.1], "area": [0.4, 0.1, 0.3, 0.1, 0.1], "mood": [0.5, 0.3, 0.2]}
    tally = dn.simulate(form, p | {"smokes": [0.7, 0.3]}, n=10**7, rng=np.random.default_rng(0))
    estimate = dn.decode(tally)
    for name, shares in p.items():
        assert np.allclose(estimate[name].probabilities, shares, atol=0.01)
    assert estimate["ill"]["no answer"] == pytest.approx(0.1, abs=0.01)


def _one_by_one(form: Form, columns: dict[str, list[object]]) -> FormTally:
    tally = FormTally(form)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    tally.accumulate(dn.Client(form).report(row) for row in rows)
    return tally


def test_windows_of_a_form_are_those_of_its_parts() -> None:
    form = FORMS["windows"]
    days = [FormTally(form), FormTally(form)]
    for day, count in zip(days, (3, 5), strict=True):
        day.accumulate(reports_of(form, count))
    total = days[0] + days[1]
    assert [part.windows for part in total.parts] == [(5, 3), (5, 3)]
    assert dn.Tally.from_bytes(total.to_bytes()) == total


def test_a_device_answers_once_a_window_and_keeps_what_it_drew(tmp_path: Path) -> None:
    form = dn.form(smokes=SMOKES, likes=LIKES, epsilon=2, spend="sample", participation="window")
    client = dn.Client(form, state=tmp_path / "me.json")
    drawn = client.questions  # type: ignore[attr-defined]
    client.report({name: answers_to(form, 1)[name] for name in drawn})
    again = dn.Client(form, state=tmp_path / "me.json")
    assert again.questions == drawn  # type: ignore[attr-defined]
    with pytest.raises(dn.ParticipationError):
        again.report({name: answers_to(form, 1)[name] for name in drawn})
    assert again.ledger.exact()[0] == 2


def test_two_stages_spend_less_a_report() -> None:
    form = dn.form(
        a=dn.warner(epsilon=2, epsilon_report=1), b=dn.krr(3, epsilon=1, epsilon_report="0.5"), epsilon=2, spend="each"
    )
    assert list(form.bounds) == [4, 2]
    assert form.epsilon_report < form.epsilon_spent
    client = dn.Client(form)
    client.report({"a": "no", "b": 1})
    assert list(client.ledger.exact()) == [2, 2]


@given(data=st.binary(max_size=60))
@settings(max_examples=60)
def test_any_other_bytes_are_refused_in_a_sentence(data: bytes) -> None:
    form = FORMS["sample"]
    with pytest.raises(WireError):
        dn.Report.unpack(form, data)
    with pytest.raises(WireError):
        dn.Report.unpack(form, form.report_format.head + data + b"\xff" * 60)


@pytest.mark.parametrize("name", ["smokes", "age", "likes"])
def test_pairs_over_the_product_beat_two_reports(name: str) -> None:
    """Why a related pair is one report: at every budget the joint error of two reports at half of it is larger."""
    sizes = {"smokes": 2, "age": 6, "likes": 9}
    for epsilon in (0.5, 1, 2, 4, 8):
        for other in sizes.values():
            form = dn.form(
                a=dn.krr(sizes[name], epsilon=1), b=dn.krr(other, epsilon=1), epsilon=epsilon, relate=[("a", "b")]
            )
            pair = form.parts[0].survey.mechanism
            cells = sizes[name] * other
            mean = pair.miss + (pair.hit - pair.miss) / cells
            one = float(cells * mean * (1 - mean) / (pair.hit - pair.miss) ** 2)
            assert one < _two_reports(sizes[name], epsilon / 2) * _two_reports(other, epsilon / 2)


def _two_reports(cells: int, epsilon: float) -> float:
    """E ||Q^-1 e_y||^2 of the best unbiased estimate of one answer; the product is of two independent ones."""
    from deniable.survey import subset

    half = subset(cells, epsilon=epsilon).mechanism if cells > 2 else dn.krr(cells, epsilon=epsilon).mechanism
    mean = half.miss + (half.hit - half.miss) / cells
    return float(cells * mean * (1 - mean) / (half.hit - half.miss) ** 2) + 1 / cells

"""Every row of a column is the client's answer on words of its own: counted, in order, and none used twice.

A law of single reports cannot see rows that share words, or that get the answers of other rows; this can.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import deniable as dn
import deniable.columns.randomizing as room
from deniable.columns import narrow
from deniable.columns.stream import WordStream
from deniable.mechanisms import KRR, BitFlip, Subset
from deniable.survey import Alphabet, Direct, Survey
from tests.exact.scripted import ScriptedEntropy
from tests.surveys import SEED, symbols_of
from tests.toy.band import Band

N, CHUNK, COHORTS = 1013, 230, 300
TEXT = [f"answer {i}" for i in range(40)]
SURVEYS: dict[str, Survey] = {
    "krr": dn.krr(symbols=300, epsilon=4),
    "krr-text": dn.krr(symbols=TEXT, epsilon=2),
    "krappor": dn.krappor(symbols=20, epsilon=2),
    "oue": dn.oue(symbols=20, epsilon=2),
    "subset": dn.subset(symbols=20, epsilon=1),
    "band": Survey(Alphabet.closed(20), Direct(20), Band(20, 2)),
    "hadamard": dn.hadamard(symbols=40, epsilon=2, blocks=3),
    "projective": dn.projective(symbols=40, epsilon=2),
    "orr-closed": dn.orr(symbols=40, epsilon=2, cells=8, cohorts=COHORTS, seed=SEED),
    "orr-open": dn.orr(epsilon=2, cells=8, cohorts=COHORTS, seed=SEED),
    "orr-open-wide": dn.orr(epsilon=5, cells=300, cohorts=COHORTS, seed=SEED),
    "orappor-closed": dn.orappor(symbols=40, epsilon=3, cells=12, cohorts=COHORTS, hashes=2, seed=SEED),
    "orappor-open": dn.orappor(epsilon=3, cells=12, cohorts=COHORTS, hashes=2, seed=SEED),
}
each_survey = pytest.mark.parametrize("survey", SURVEYS.values(), ids=SURVEYS.keys())
tabulated_or_not = pytest.mark.parametrize("largest", [1 << 24, 0], ids=["tabulated", "row by row"])


class Record:
    """What each stream handed out, in order."""

    def __init__(self) -> None:
        self.words: dict[WordStream, list[int]] = {}
        self.cohorts: dict[WordStream, list[int]] = {}


@pytest.fixture
def record(monkeypatch: pytest.MonkeyPatch) -> Record:
    """Small blocks, and a record of all that is drawn: from the real stream, so that its words are tested too."""
    kept, draw_below = Record(), WordStream.uniform_below

    def recorded(draw: Callable[[WordStream, int], npt.NDArray[np.uint64]]) -> Any:
        def words(self: WordStream, count: int) -> npt.NDArray[np.uint64]:
            found = draw(self, count)
            kept.words.setdefault(self, []).extend(found.tolist())
            return found

        return words

    def uniform_below(self: WordStream, bound: int, count: int) -> npt.NDArray[np.uint32]:
        found = draw_below(self, bound, count)
        kept.cohorts.setdefault(self, []).extend(found.tolist())
        return found

    monkeypatch.setattr(WordStream, "words", recorded(WordStream.words))
    monkeypatch.setattr(WordStream, "passing", recorded(WordStream.passing))
    monkeypatch.setattr(WordStream, "uniform_below", uniform_below)
    for name, size in {"_BLOCK": 64, "_BITS": 700, "_CHUNK": CHUNK}.items():
        monkeypatch.setattr(room, name, size)
    return kept


def answers_to(survey: Survey) -> list[Any]:
    """Answers without a pattern that a block, a chunk or a neighbour could share."""
    symbols = symbols_of(survey, 40)
    return [symbols[i] for i in np.random.default_rng(11).integers(0, len(symbols), N)]


def one_by_one(survey: Survey, cohorts: Sequence[int], answers: Sequence[object], words: Sequence[int]) -> list[int]:
    """The client's code, one respondent after the other, each on the next words."""
    each = len(words) // len(answers)
    found = []
    for row, (cohort, answer) in enumerate(zip(cohorts, answers, strict=True)):
        with ScriptedEntropy(64, words[row * each : (row + 1) * each]) as entropy:
            found.append(survey.mechanism.randomize(survey.encode(cohort, answer), entropy))
    return found


def check(survey: Survey, answers: Sequence[object], table: dn.ReportTable, record: Record, chunk: int) -> None:
    """Each part of the column is explained by one stream of its own, which gave just as many words as it needs."""
    mechanism = survey.mechanism
    each = (
        survey.cells if isinstance(mechanism, BitFlip) else mechanism.size + 1 if isinstance(mechanism, Subset) else 1
    )
    drawn = [word for words in record.words.values() for word in words]
    assert len(drawn) == len(set(drawn)) == len(answers) * each
    cohorts, responses = table.cohorts.tolist(), [report.response for report in table]
    streams = list(record.words)
    for start in range(0, len(answers), chunk):
        part = slice(start, start + chunk)
        mine = [
            stream
            for stream in streams
            if len(record.words[stream]) == len(answers[part]) * each
            and one_by_one(survey, cohorts[part], answers[part], record.words[stream]) == responses[part]
        ]
        assert len(mine) == 1, f"rows from {start}: {len(mine)} streams explain them"
        assert record.cohorts.get(mine[0], cohorts[part]) == cohorts[part]
        streams.remove(mine[0])
    assert streams == []


@each_survey
@tabulated_or_not
@pytest.mark.parametrize("cohorts", ["drawn", "given"])
def test_each_row_is_the_client_on_its_own_words(
    survey: Survey, largest: int, cohorts: str, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "_TABLE", largest)
    given = np.random.default_rng(3).integers(0, survey.cohorts, N) if cohorts == "given" else None
    answers = answers_to(survey)
    table = dn.privatize(survey, np.array(answers) if survey.symbols else answers, cohorts=given)
    check(survey, answers, table, record, chunk=N)
    assert given is None or table.cohorts.tolist() == given.tolist()
    assert bool(record.cohorts) == (given is None and survey.cohorts > 1)


@pytest.mark.parametrize("name", ["krr-text", "orr-open", "orappor-open"])
@tabulated_or_not
@pytest.mark.parametrize("cohorts", ["drawn", "given"])
def test_long_text_has_a_stream_for_each_part(
    name: str, largest: int, cohorts: str, record: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    survey = SURVEYS[name]
    monkeypatch.setattr(room, "_TABLE", largest)
    given = np.random.default_rng(3).integers(0, survey.cohorts, N) if cohorts == "given" else None
    answers = answers_to(survey)
    column = pa.chunked_array([pa.array(answers[:100]), pa.array(answers[100:])])
    table = dn.privatize(survey, column, cohorts=given)
    check(survey, answers, table, record, CHUNK)
    assert len(record.words) == -(-N // CHUNK)
    assert given is None or table.cohorts.tolist() == given.tolist()


@pytest.mark.parametrize("cohorts", [256, 257, 300, 65_536, 65_537])
def test_no_cohort_is_cut_short(cohorts: int) -> None:
    survey = dn.orr(epsilon=1, cells=4, cohorts=cohorts, seed=SEED)
    given = np.array([cohorts - 1, 0, 255, cohorts // 2])
    assert dn.privatize(survey, ["a", "b", "c", "d"], cohorts=given).cohorts.tolist() == given.tolist()
    assert dn.privatize(survey, ["a"] * 20_000).cohorts.max() > 0.9 * cohorts


def test_parts_of_a_form_have_words_of_their_own(record: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each row of each part is explained by 16 bits of its own, and where they do not decide by a word of its own."""
    monkeypatch.setattr(room, "_NARROW", 64)
    monkeypatch.setattr("os.cpu_count", lambda: 1)  # so that the order of the parts is known
    right = narrow.shares  # half as many decide, so that the other half of the rows is late
    monkeypatch.setattr(narrow, "shares", lambda m: tuple(share // 2 for share in right(m)))
    form = dn.form(a=dn.krr(64, epsilon=1), b=dn.warner(epsilon=1), c=dn.krr(7, epsilon=1), epsilon=4)
    rng = np.random.default_rng(5)
    answers = {part.name: rng.integers(0, len(part.survey.alphabet), N) for part in form.parts}
    table = dn.privatize(form, answers | {"b": np.array(["no", "yes"])[answers["b"]]})
    (words,) = record.words.values()
    assert len(set(words)) == len(words)
    undecided = 0
    for part, (_, responses) in zip(form.parts, table.slots, strict=True):
        mechanism = part.survey.mechanism
        assert isinstance(mechanism, KRR)
        for start in range(0, N, 64):
            cells = answers[part.name][start : start + 64]
            first = np.array(words[: -(-len(cells) // 4)], np.uint64).view(np.uint16)[: len(cells)]
            del words[: -(-len(cells) // 4)]
            kept, each = narrow.shares(mechanism)
            decided = kept + (mechanism.cells - 1) * each
            for place, (cell, bits) in enumerate(zip(cells.tolist(), first.tolist(), strict=True)):
                step = 0 if bits < kept else 1 + (bits - kept) // each
                if bits >= decided:
                    undecided += 1
                    late = np.array([bits - decided << 48 | words.pop(0) >> 16], np.uint64)
                    step = int(narrow.late_steps(mechanism, late)[0])
                assert responses[start + place] == (cell + step) % mechanism.cells
    assert words == []
    assert undecided > N  # every second row, or a few more

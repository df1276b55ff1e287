"""Reports checked and counted by the thousand, against the code that does it one at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.errors import StoreError, WireError
from deniable.service.records import REASONS, RecordShape, add_packed, pack_counts
from deniable.survey import Survey
from tests.properties.strategies import reports
from tests.surveys import LARGE, SMALL, symbols_of

SURVEYS = {f"small {name}": survey for name, survey in SMALL.items()} | {
    f"large {name}": survey for name, survey in LARGE.items()
}
# The words of `WireError` that go with each code; the length is checked before a report becomes a row.
SENTENCES = {
    "version": "wire version",
    "survey": "for survey",
    "cohort": "cohort must be below",
    "response": "one that the mechanism can produce",
}


def wires(survey: Survey, count: int = 40) -> list[bytes]:
    client = [dn.Client(survey, memoize=False) for _ in range(4)]
    symbols = symbols_of(survey)
    return [client[i % 4].report(symbols[i % len(symbols)]).pack() for i in range(count)]


def reason(survey: Survey, wire: bytes) -> str:
    """Why the one-at-a-time code refuses these bytes, as one of our words."""
    try:
        dn.Report.unpack(survey, wire)
    except WireError as problem:
        return next(word for word, text in SENTENCES.items() if text in str(problem))
    return "accepted"


def check(survey: Survey, packed: list[bytes]) -> list[str]:
    shape = RecordShape(survey)
    rows = np.frombuffer(b"".join(packed), np.uint8).reshape(-1, shape.length)
    return [REASONS[code] for code in shape.check(rows)]


@pytest.mark.parametrize("survey", SURVEYS.values(), ids=list(SURVEYS))
def test_counts_are_those_of_a_tally(survey: Survey) -> None:
    packed, shape = wires(survey), RecordShape(survey)
    rows = np.frombuffer(b"".join(packed), np.uint8).reshape(-1, shape.length)
    vector = np.zeros(shape.size, np.int64)
    places, counts = shape.count(rows)
    assert (np.diff(places[: len(places) if not shape.offset else 0]) > 0).all()
    vector[places] = counts
    tally = dn.Tally(survey)
    tally.accumulate(packed)
    assert shape.tally(vector) == tally
    assert (shape.vector(tally) == vector).all()


@pytest.mark.parametrize("survey", SURVEYS.values(), ids=list(SURVEYS))
def test_every_changed_byte_is_judged_as_one_at_a_time(survey: Survey) -> None:
    good = wires(survey, 3)
    changed = [
        wire[:place] + bytes([wire[place] ^ flip]) + wire[place + 1 :]
        for wire in good
        for place in range(len(wire))
        for flip in (1, 0x80, 0xFF)
    ]
    assert check(survey, good + changed) == [reason(survey, wire) for wire in good + changed]


@given(reports(), st.data())
def test_random_bytes_are_judged_as_one_at_a_time(report: dn.Report, data: st.DataObject) -> None:
    wire = report.pack()
    tail = data.draw(st.binary(min_size=len(wire) - 9, max_size=len(wire) - 9))
    packed = [wire, wire[:9] + tail, data.draw(st.binary(min_size=len(wire), max_size=len(wire)))]
    assert check(report.survey, packed) == [reason(report.survey, one) for one in packed]


@given(st.integers(1, 300), st.lists(st.integers(0, 10**6), max_size=400))
def test_packed_counts_add_up_again(size: int, hits: list[int]) -> None:
    vector = np.bincount(np.array([hit % size for hit in hits], np.int64), minlength=size).astype(np.int64)
    places = np.flatnonzero(vector)
    packed = pack_counts(size, places, vector[places])
    again = vector.copy()
    add_packed(again, packed)
    assert (again == 2 * vector).all()


@pytest.mark.parametrize("damaged", [b"", b"?", b"S\xff\xff\xff\xff" + bytes(8), b"Zxx", b"Z" + bytes(9), b"S1"])
def test_damaged_counts_are_refused(damaged: bytes) -> None:
    with pytest.raises(StoreError, match="stored counts must be readable; the store is damaged, restore a backup"):
        add_packed(np.zeros(4, np.int64), damaged)

"""Reports and their bytes: the sentences of what is refused, and the layout."""

import numpy as np
import pytest

import deniable as dn
from deniable.errors import WireError
from deniable.reports import Report

SEED = bytes(range(16))
SURVEY = dn.orr(epsilon=1, cells=300, cohorts=3, seed=SEED)


def refused(wire: object, sentence: str) -> None:
    with pytest.raises(WireError) as caught:
        Report.unpack(SURVEY, wire)  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_layout() -> None:
    wire = Report(SURVEY, 2, (299).to_bytes(2, "little")).pack()
    assert wire.hex() == "01" + SURVEY.digest[:16] + "02" + "2b01"
    assert Report.unpack(SURVEY, wire).response == 299


@pytest.mark.parametrize(
    ("cohorts", "size"), [(1, 0), (2, 1), (256, 1), (257, 2), (65536, 2), (65537, 3), (2**20, 3)], ids=str
)
def test_cohort_takes_as_many_bytes_as_it_needs(cohorts: int, size: int) -> None:
    assert dn.orr(epsilon=1, cells=2, cohorts=cohorts, seed=SEED).report_format.cohort.size == size


@pytest.mark.parametrize(("cells", "size"), [(2, 1), (256, 1), (257, 2), (65536, 2), (65537, 3)])
def test_cell_takes_as_many_bytes_as_it_needs(cells: int, size: int) -> None:
    assert dn.orr(epsilon=1, cells=cells, cohorts=1, seed=SEED).mechanism.payload_bytes == size


@pytest.mark.parametrize(("cells", "size"), [(2, 1), (8, 1), (9, 2), (16, 2), (17, 3), (1000, 125)])
def test_bits_take_a_byte_for_eight(cells: int, size: int) -> None:
    assert dn.krappor(symbols=cells, epsilon=1).mechanism.payload_bytes == size


def test_sentences() -> None:
    head = b"\x01" + bytes.fromhex(SURVEY.digest[:16])
    refused("text", "report must be bytes, got str")
    refused(None, "report must be bytes, got NoneType")
    refused([1, 2], "report must be bytes, got list")
    refused(b"", "report must have wire version 1, got nothing")
    refused(b"\x07" + head, "report must have wire version 1, got 7")
    refused(
        b"\x01" + bytes(11),
        f"report must be for survey {SURVEY.digest[:16]}, got 0000000000000000; it answers another survey",
    )
    refused(head + bytes(2), "report must be 12 bytes, got 11")
    refused(head + bytes(4), "report must be 12 bytes, got 13")
    refused(head + b"\x03\x00\x00", "report cohort must be below 3, got 3")
    refused(head + b"\x00\x2c\x01", "report response must be one that the mechanism can produce")


def test_payload_of_another_length_is_found_by_check() -> None:
    with pytest.raises(WireError, match=r"^report payload must be 2 bytes, got 1$"):
        Report(SURVEY, 0, b"\x00").check()
    with pytest.raises(WireError, match=r"^report cohort must be below 3, got -1$"):
        Report(SURVEY, -1, bytes(2)).check()


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, np.bytes_])
def test_any_buffer_of_bytes_is_read(kind: type) -> None:
    report = Report(SURVEY, 1, b"\x05\x01")
    assert Report.unpack(SURVEY, kind(report.pack())) == report

"""One table of good and bad reports of every survey, for everything that reads reports.

A row of a table is a cohort and a response; a packed report is bytes. What a reader must say of each is worked out here
from `docs/reference/protocol.md`, `Mechanism.allows` and `Mechanism.columns_hit` (which tests/exact proves from the law
of the bytes), and not from `ReportFormat`, which the readers are made from.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import deniable as dn
from deniable.survey import Survey
from tests.surveys import LARGE, SEED, SMALL

# Where a field is just full, or has just got another byte.
EDGES: dict[str, Survey] = {
    "cells-256": dn.krr(symbols=256, epsilon=1),
    "cells-257": dn.krr(symbols=257, epsilon=1),
    "cells-65537": dn.orr(epsilon=1, cells=65537, cohorts=1, seed=SEED),
    "cohorts-256": dn.orr(epsilon=1, cells=2, cohorts=256, seed=SEED),
    "cohorts-257": dn.orr(epsilon=1, cells=3, cohorts=257, seed=SEED),
    "cohorts-65537": dn.orr(epsilon=1, cells=2, cohorts=65537, seed=SEED),
    "bits-8": dn.krappor(symbols=8, epsilon=1),
    "bits-9": dn.krappor(symbols=9, epsilon=1),
    "bits-16": dn.orappor(epsilon=2, cells=16, cohorts=3, hashes=2, seed=SEED),
    "sets-8": dn.subset(symbols=8, epsilon=1, size=3),
    "sets-17": dn.subset(symbols=17, epsilon=1, size=16),
}
SURVEYS: dict[str, Survey] = {
    **{f"small-{name}": survey for name, survey in SMALL.items()},
    **{f"large-{name}": survey for name, survey in LARGE.items()},
    **EDGES,
}
ENDS = (-(2**63), -(2**31) - 1, -1, 2**31, 2**53 + 1, 2**63 - 1)


@dataclass(frozen=True)
class Row:
    """A row of a table of reports, and why it is refused, or which cells it hits."""

    cohort: int | None
    response: int | bytes | None
    reason: str | None
    cells: tuple[int, ...]


@dataclass(frozen=True)
class Packed:
    """Bytes that may be a report, and the word of the collector for what is wrong; or the cohort and the cells."""

    wire: bytes
    reason: str | None
    cohort: int = 0
    cells: tuple[int, ...] = ()


def payloads(survey: Survey) -> list[bytes]:
    """Responses as packed bytes of the right length: all of them where that is one byte, else those at the edges."""
    mechanism = survey.mechanism
    size, columns = mechanism.payload_bytes, mechanism.columns
    if size == 1:
        return [bytes([value]) for value in range(256)]
    most = (1 << 8 * size) - 1
    if mechanism.one_column:
        values = {0, 1, 255, 256, columns - 1, columns, columns + 1, columns ^ 1 << 8, most - 1, most}
    else:
        bits = [1 << place for place in range(8 * size)]
        values = {0, (1 << columns) - 1, 1 << columns, most, *bits, *(most ^ bit for bit in bits)}
        ones = mechanism.hits or 3
        for first, count in product(range(columns), (ones - 1, ones, ones + 1)):  # sets of each size around the right
            values.add(sum({1 << (first + step * step) % columns for step in range(count)}))
            values.add(sum(1 << (first + step) % columns for step in range(count)))
        values |= {sum(1 << cell for cell in range(ones - 1)) | bit for bit in bits}
    return [value.to_bytes(size, "little") for value in sorted(values) if value <= most]


def table_rows(survey: Survey) -> list[Row]:
    """Every pair of a cohort and a response at an edge, past it or missing, and every response in a good cohort."""
    mechanism, last = survey.mechanism, survey.cohorts - 1
    good_cohorts = sorted({0, min(1, last), last})
    cohorts = [None, *good_cohorts, last + 1, last + 2, *ENDS]
    right = payloads(survey)
    edges: list[int | bytes | None]
    responses: list[int | bytes | None]
    if mechanism.one_column:
        edges = [None, 0, survey.columns - 1, survey.columns, survey.columns + 1, *ENDS]
        responses = [int.from_bytes(payload, "little") for payload in right]
    else:
        size = mechanism.payload_bytes
        edges = [None, right[0], right[-1], *(fill * count for count in range(size + 3) for fill in (b"\0", b"\xff"))]
        responses = list(right)
    pairs = [*product(cohorts, edges), *product(good_cohorts, responses)]
    return [_row(survey, cohort, response) for cohort, response in dict.fromkeys(pairs)]


def _row(survey: Survey, cohort: int | None, response: int | bytes | None) -> Row:
    mechanism = survey.mechanism
    reason: str | None = None
    cells: tuple[int, ...] = ()
    if cohort is None:
        reason = "no cohort"
    elif response is None:
        reason = "no response"
    elif isinstance(response, bytes) and len(response) != mechanism.payload_bytes:
        reason = "response of another length"
    elif not 0 <= cohort < survey.cohorts:
        reason = "cohort out of range"
    else:
        number = int.from_bytes(response, "little") if isinstance(response, bytes) else response
        if mechanism.allows(number):
            cells = tuple(sorted(mechanism.columns_hit(number)))
        elif mechanism.one_column:
            reason = "response out of range"
        else:
            reason = "response that the mechanism cannot produce"
    return Row(cohort, response, reason, cells)


def packed_rows(survey: Survey) -> list[Packed]:
    """Packed reports at every edge; each byte of the head changed, and every shorter and some longer ones."""
    mechanism, last = survey.mechanism, survey.cohorts - 1
    head = b"\x01" + bytes.fromhex(survey.digest[:16])
    size = (len(f"{last:b}") + 7) // 8 if last else 0
    numbers = {0, 1, last, last + 1, last + 2, (1 << 8 * size) - 1}
    cohorts = [number.to_bytes(size, "little") for number in sorted(numbers) if number < 1 << 8 * size]
    wires = [head + cohort + payload for cohort, payload in product(cohorts, payloads(survey))]
    fine = head + bytes(size) + payloads(survey)[0]
    for place, flip in product(range(9), (1, 0x80, 0xFF)):
        wires.append(fine[:place] + bytes([fine[place] ^ flip]) + fine[place + 1 :])
    wires += [fine[:length] for length in range(len(fine))]
    wires += [fine + more for more in (b"\0", b"\xff", b"\0\0\0", fine)]

    def judged(wire: bytes) -> Packed:
        if wire[:1] != b"\x01":
            return Packed(wire, "version")
        if wire[1:9] != head[1:]:
            return Packed(wire, "survey")
        if len(wire) != 9 + size + mechanism.payload_bytes:
            return Packed(wire, "length")
        cohort = sum(byte << 8 * place for place, byte in enumerate(wire[9 : 9 + size]))
        if cohort > last:
            return Packed(wire, "cohort")
        number = int.from_bytes(wire[9 + size :], "little")
        if not mechanism.allows(number):
            return Packed(wire, "response")
        return Packed(wire, None, cohort, tuple(sorted(mechanism.columns_hit(number))))

    return [judged(wire) for wire in dict.fromkeys(wires)]


def repeated(rows: list[Row]) -> list[Row]:
    """Good rows, from once to five times, so that counts that change places are seen."""
    good = [row for row in rows if row.reason is None]
    return [row for place, row in enumerate(good) for _ in range(1 + place % 5)]


def by_verdict(rows: list[Row]) -> dict[str | None, list[Row]]:
    """Rows apart by what a reader must say of them: if each part is judged alike, every row is judged right."""
    found: dict[str | None, list[Row]] = {None: repeated(rows)}
    for row in rows:
        if row.reason is not None:
            found.setdefault(row.reason, []).append(row)
    return found


def counts_of(survey: Survey, rows: list[Row]) -> tuple[dn.Tally, dict[str, int]]:
    """What counting some rows must give."""
    counts: npt.NDArray[np.int64] = np.zeros((survey.cohorts, survey.columns), np.int64)
    reports = np.zeros(survey.cohorts, np.int64)
    refused: dict[str, int] = {}
    for row in rows:
        if row.reason is not None:
            refused[row.reason] = refused.get(row.reason, 0) + 1
            continue
        assert row.cohort is not None
        reports[row.cohort] += 1
        counts[row.cohort, list(row.cells)] += 1
    return dn.Tally(survey, counts, reports), refused


def arrow_table(survey: Survey, rows: list[Row]) -> pa.Table:
    """Rows as a table of Arrow's."""
    kind = pa.int64() if survey.mechanism.one_column else pa.binary()
    cohorts = pa.array([row.cohort for row in rows], pa.int64())
    return pa.table({"cohort": cohorts, "response": pa.array([row.response for row in rows], kind)})


def with_bad_rows(survey: Survey) -> tuple[pa.Table, dn.Tally, dict[str, int]]:
    """The whole table of a survey, good rows repeated: the rows, their tally and how many are refused for what."""
    found = table_rows(survey)
    rows = repeated(found) + [row for row in found if row.reason is not None]
    return arrow_table(survey, rows), *counts_of(survey, rows)

"""Packed reports of many devices as arrays, after checking that each is valid for the survey."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import WireError
from deniable.reports import Report, cohort_bytes
from deniable.survey import Survey

__all__ = ["Sample", "read_reports"]


@dataclass(frozen=True, slots=True)
class Sample:
    """Reports of devices that were given one value: a cohort and a response a row, and a second one if asked twice.

    Responses are numbers for index reports, rows of bytes for bit reports.
    """

    cohorts: npt.NDArray[np.int64]
    responses: tuple[npt.NDArray[Any], ...]

    def __len__(self) -> int:
        return len(self.cohorts)

    def part(self, rows: slice) -> "Sample":
        return Sample(self.cohorts[rows], tuple(r[rows] for r in self.responses))


def read_reports(survey: Survey, devices: Sequence[tuple[bytes, ...]]) -> tuple[Sample, list[str]]:
    """The valid reports as a sample, and a sentence for each device with a report that is invalid for this survey."""
    size = 1 + 8 + cohort_bytes(survey) + survey.mechanism.payload_bytes
    head = bytes([1]) + bytes.fromhex(survey.digest[:16])
    times = len(devices[0])
    good = [device for device in devices if all(len(r) == size and r.startswith(head) for r in device)]
    table = np.frombuffer(b"".join(b"".join(device) for device in good), np.uint8).reshape(len(good), times, size)
    middle = 9 + cohort_bytes(survey)
    cohorts = _numbers(table[:, :, 9:middle])
    allowed = (cohorts < survey.cohorts).all(axis=1) & (cohorts == cohorts[:, :1]).all(axis=1)
    payloads = table[:, :, middle:]
    if survey.mechanism.one_column:
        allowed &= (_numbers(payloads) < survey.columns).all(axis=1)
    else:
        if used := survey.columns % 8:
            allowed &= (payloads[:, :, -1] >> np.uint8(used) == 0).all(axis=1)
        if survey.mechanism.hits is not None:
            allowed &= (np.bitwise_count(payloads).sum(axis=2, dtype=np.int64) == survey.mechanism.hits).all(axis=1)
    bad = [device for device in devices if not all(len(r) == size and r.startswith(head) for r in device)]
    bad += [device for device, fine in zip(good, allowed.tolist(), strict=True) if not fine]
    rows = table[allowed]
    payloads = rows[:, :, middle:]
    responses: list[npt.NDArray[Any]] = [
        _numbers(payloads[:, t]) if survey.mechanism.one_column else np.ascontiguousarray(payloads[:, t])
        for t in range(times)
    ]
    return Sample(_numbers(rows[:, :1, 9:middle])[:, 0], tuple(responses)), [_reason(survey, d) for d in bad]


def _numbers(digits: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    """Little-endian numbers along the last axis."""
    weights = 1 << (8 * np.arange(digits.shape[-1], dtype=np.int64))
    return np.asarray((digits * weights).sum(axis=-1), np.int64)


def _reason(survey: Survey, device: tuple[bytes, ...]) -> str:
    for report in device:
        try:
            Report.unpack(survey, report)
        except WireError as problem:
            return str(problem)
    return "a device must keep its cohort, got two reports of different cohorts"

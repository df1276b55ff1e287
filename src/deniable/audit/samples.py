"""Packed reports of many devices as arrays, after checking that each is valid for the survey."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import WireError
from deniable.reports import Report
from deniable.survey import Survey
from deniable.tally import refused_rows, split_rows


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
    """The good ones as a sample, and a sentence for each device with a report that is none of this survey's."""
    form, times = survey.report_format, len(devices[0])
    whole = [all(len(r) == form.length and r.startswith(form.head) for r in device) for device in devices]
    packed = b"".join(b"".join(device) for device, fine in zip(devices, whole, strict=True) if fine)
    cohorts, responses = split_rows(form, np.frombuffer(packed, np.uint8).reshape(-1, form.length))
    allowed = np.ones(len(cohorts), bool)
    for _, wrong in refused_rows(form, cohorts, responses):
        allowed &= ~wrong
    # From here on a device a row, of whose reports each is good and all name one cohort.
    cohorts = cohorts.reshape(-1, times)
    responses = responses.reshape(-1, times, *responses.shape[1:])
    good = allowed.reshape(-1, times).all(axis=1) & (cohorts == cohorts[:, :1]).all(axis=1)
    verdicts = np.array(whole)
    verdicts[verdicts] = good
    bad = [device for device, fine in zip(devices, verdicts.tolist(), strict=True) if not fine]
    kept = responses[good]
    sample = Sample(cohorts[good, 0], tuple(np.ascontiguousarray(kept[:, t]) for t in range(times)))
    return sample, [_reason(survey, device) for device in bad]


def _reason(survey: Survey, device: tuple[bytes, ...]) -> str:
    for report in device:
        try:
            Report.unpack(survey, report)
        except WireError as problem:
            return str(problem)
    return "a device must keep its cohort, got two reports of different cohorts"

"""What passes between the doors and a store: surveys with their rules, uploads, and what became of them."""

import json
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError
from deniable.service.clock import WINDOWS
from deniable.service.records import REASONS, Shape
from deniable.survey import Survey

__all__ = ["Counters", "Entry", "Outcome", "Rules", "Token", "Upload"]

_MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class Rules:
    """How the collector treats one survey; fixed when the survey is created, like the survey itself.

    >>> Rules.read({"window": "hour", "minimum": 50}).horizon
    30
    """

    window: str = "day"
    minimum: int = 100
    results: str = "private"
    uploads: str = "open"
    horizon: int = 30
    retention: int | None = None
    rate: int | None = None

    @classmethod
    def read(cls, given: object) -> "Rules":
        """The rules in a JSON object; every field may be left out."""
        if not isinstance(given, dict):
            raise StoreError(f"rules must be an object, got {type(given).__name__}")
        if unknown := sorted(set(given) - set(cls.__slots__)):
            raise StoreError(f"rules must not have the field {unknown[0][:40]!r}; this version does not know it")
        choices = {"window": WINDOWS, "results": ("private", "public"), "uploads": ("open", "token")}
        bounds = {"minimum": (0, 2**53), "horizon": (1, _MOST_DAYS), "retention": (1, _MOST_DAYS), "rate": (1, 2**31)}
        for name, value in given.items():
            if name in choices:
                if value not in choices[name]:
                    raise StoreError(f"{name} must be one of {', '.join(choices[name])}, got {str(value)[:40]!r}")
                continue
            low, high = bounds[name]
            if value is None and name in ("retention", "rate"):
                continue
            if type(value) is not int or not low <= value <= high:
                raise StoreError(f"{name} must be a whole number from {low} to {high}, got {str(value)[:40]!r}")
        return cls(**given)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Entry:
    """A survey in a store. Ids of days before `floor` were forgotten, so their reports are refused."""

    key: int
    survey: Survey
    rules: Rules
    closed: bool
    floor: int

    @cached_property
    def shape(self) -> Shape:
        return Shape(self.survey)


@dataclass(frozen=True, slots=True)
class Token:
    """What the holder of a secret may do for one survey: upload `quota` reports, or read results."""

    hash: str
    survey: int
    kind: str
    quota: int | None
    used: int
    name: str


@dataclass(slots=True)
class Upload:
    """Reports of one request for one survey: records of 16 bytes id and a packed report, or under one `batch` id
    packed reports alone. `day` is when the ids were made, 0 where the client does not say. `noted` counts what of the
    same request was refused before it became a record."""

    entry: Entry
    records: bytes
    day: int = 0
    batch: bytes | None = None
    token: str | None = None
    noted: dict[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        length = self.entry.shape.length
        return len(self.records) // (length if self.batch is not None else 16 + length)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an upload: how many were new, how many were there already, and (place, code) of the refused."""

    accepted: int
    duplicate: int
    refused: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Counters:
    """How many reports met which fate, by the words of `REASONS`; adds like a tally.

    >>> total = Counters({"accepted": 2}); total.add({"accepted": 1, "cohort": 1}); total.counts
    {'accepted': 3, 'cohort': 1}
    """

    counts: dict[str, int] = field(default_factory=dict)

    def add(self, more: dict[str, int]) -> None:
        for reason, count in more.items():
            self.counts[reason] = self.counts.get(reason, 0) + count

    def add_codes(self, codes: npt.NDArray[np.uint8]) -> None:
        found = np.bincount(codes, minlength=len(REASONS))
        self.add({reason: int(count) for reason, count in zip(REASONS, found, strict=True) if count})

    def to_json(self) -> str:
        return json.dumps(self.counts, sort_keys=True, separators=(",", ":"))

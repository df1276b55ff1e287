"""Values between the HTTP handlers and a store: surveys with their rules, tokens, uploads and their outcomes."""

import json
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError
from deniable.service.clock import WINDOWS, minute_label, minute_of
from deniable.service.form_records import shape_of
from deniable.service.framing import origins
from deniable.service.records import REASONS
from deniable.survey import Agreement

_MOST_DAYS = 36_500  # days: a hundred years, as good as never
# Rules that may change while a survey runs. No result depends on them.
CHANGEABLE = ("closes", "introduction", "thanks", "frames")
LONGEST = {"introduction": 2000, "thanks": 1000}  # characters: a screen of text before and after the question
# The values of the other rules: one of some words, or an integer from one bound to another.
CHOICES = {"window": WINDOWS, "results": ("private", "public"), "uploads": ("open", "token")}
# In reports, days, days and reports a second. The upper ends are what JSON numbers and 32-bit columns hold exactly.
BOUNDS = {"minimum": (0, 2**53), "horizon": (1, _MOST_DAYS), "retention": (1, _MOST_DAYS), "rate": (1, 2**31)}


@dataclass(frozen=True, slots=True)
class Rules:
    """How the collector treats one survey. All rules but those in `CHANGEABLE` are fixed when the survey is created.

    Parameters
    ----------
    window : str
        Length of a window: "hour", "day" or "week".
    minimum : int
        Least number of reports behind any result that a reader gets.
    results : str
        Who reads results: "private" (with a token) or "public".
    uploads : str
        Who uploads: "open" (anyone) or "token".
    horizon : int
        Days after which report ids are deleted, and reports of such days refused.
    retention : int, optional
        Days after which counts are deleted; None for never.
    rate : int, optional
        Most reports a second; None for no limit of its own.
    closes : str, optional
        The minute (UTC) from which no report is accepted.
    introduction, thanks : str
        Plain text that the answer page shows before and after.
    frames : tuple of str
        Origins whose pages may show the answer page in a frame.

    Examples
    --------
    >>> Rules.read({"window": "hour", "minimum": 50}).horizon
    30
    >>> Rules.read({"closes": "2026-11-20"}).closes
    '2026-11-20T00:00Z'
    >>> Rules().changed({"thanks": "Thank you."}).to_json()["thanks"]
    'Thank you.'
    """

    window: str = "day"
    minimum: int = 100
    results: str = "private"
    uploads: str = "open"
    horizon: int = 30
    retention: int | None = None
    rate: int | None = None
    closes: str | None = None
    introduction: str = ""
    thanks: str = ""
    frames: tuple[str, ...] = ()

    @classmethod
    def read(cls, given: object) -> "Rules":
        """Rules from a JSON object.

        Parameters
        ----------
        given : object
            A JSON object; every field may be left out.

        Returns
        -------
        Rules
            With defaults for the fields that were left out.

        Raises
        ------
        StoreError
            If a field is unknown or outside its range.
        """
        if not isinstance(given, dict):
            raise StoreError(f"rules must be an object, got {type(given).__name__}")
        if unknown := sorted(set(given) - set(cls.__slots__)):
            raise StoreError(f"rules must not have the field {unknown[0][:40]!r}; this version does not know it")
        texts: dict[str, object] = {}
        for name, value in given.items():
            if name in CHOICES:
                if value not in CHOICES[name]:
                    raise StoreError(f"{name} must be one of {', '.join(CHOICES[name])}, got {str(value)[:40]!r}")
                continue
            if name == "frames":
                texts[name] = origins(value)
                continue
            if name in CHANGEABLE:
                texts[name] = _text(name, value) if name in LONGEST else _time(name, value)
                continue
            low, high = BOUNDS[name]
            if value is None and name in ("retention", "rate"):
                continue
            if type(value) is not int or not low <= value <= high:
                raise StoreError(f"{name} must be a whole number from {low} to {high}, got {str(value)[:40]!r}")
        return cls(**(given | texts))

    @classmethod
    def of(cls, survey: Agreement, given: object) -> "Rules":
        """The rules for a new survey. Where devices answer once a window, reports are counted by the same window.

        Parameters
        ----------
        survey : Survey or Form
            The survey.
        given : dict
            Rules as JSON has them.

        Returns
        -------
        Rules
            What `read` makes of them, with the survey's own window.

        Examples
        --------
        >>> import deniable as dn
        >>> Rules.of(dn.warner(epsilon=1.0, participation="window:week"), {}).window
        'week'
        """
        own = {} if survey.window is None else {"window": survey.window}
        rules = cls.read(own | given if isinstance(given, dict) else given)
        if survey.window not in (None, rules.window):
            raise StoreError(
                f"window must be {survey.window!r}, which devices answer this survey once in, got {rules.window!r}; "
                "leave it out"
            )
        return rules

    def changed(self, given: object) -> "Rules":
        """These rules with some of them changed.

        Parameters
        ----------
        given : object
            A JSON object with some of the rules in `CHANGEABLE`.

        Returns
        -------
        Rules
            With these values.

        Raises
        ------
        StoreError
            If another rule is among them, or a value is outside its range.
        """
        if not isinstance(given, dict):
            raise StoreError(f"rules must be an object, got {type(given).__name__}")
        if fixed := sorted(set(given) - set(CHANGEABLE)):
            allowed = ", ".join(CHANGEABLE)
            raise StoreError(
                f"rules to change must be among {allowed}, got {fixed[0][:40]!r}; make a new survey instead"
            )
        return Rules.read(self.to_json() | given)

    @property
    def fixed(self) -> "Rules":
        """The rules that cannot change, with defaults in place of the others."""
        return replace(self, closes=None, introduction="", thanks="", frames=())

    def to_json(self) -> dict[str, Any]:
        """The rules as JSON values.

        Returns
        -------
        dict
            Every rule by its name.
        """
        return asdict(self) | {"frames": list(self.frames)}


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise StoreError(f"{name} must be text, got {type(value).__name__}")
    text = value.replace("\r\n", "\n").strip()
    if len(text) > LONGEST[name]:
        raise StoreError(f"{name} must have at most {LONGEST[name]} characters, got {len(text)}")
    if any((character < " " and character not in "\n\t") or "\ud800" <= character <= "\udfff" for character in text):
        raise StoreError(f"{name} must be plain text, got control characters").because("control")
    return text


def _time(name: str, value: object) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise StoreError(f"{name} must be a time like 2026-11-15T14:30, in UTC, got {type(value).__name__}")
    try:
        return minute_label(minute_of(value))
    except StoreError as problem:
        raise StoreError(str(problem).replace("a time", name, 1)) from None


# The value of `Entry.closed`, in place of a day, for a survey that cannot be opened again.
FOR_GOOD = 1
# The counter, among those of `REASONS`, of accepted reports that came with a restored backup (see `retention`).
RESTORED = "restored"


@dataclass(frozen=True)
class Entry:
    """A survey in a store. Ids of days before `floor` were forgotten, so their reports are refused.

    `closed` is 0 while nobody has closed it, else the UTC day on which somebody did. Its ids are kept then, so that it
    can be opened again; 1 (`FOR_GOOD`) says that they were forgotten, and nothing may come in any more.
    """

    key: int
    survey: Any  # an Agreement
    rules: Rules
    closed: int
    floor: int
    body: str = field(default="", compare=False, repr=False)

    @cached_property
    def shape(self) -> Any:
        return shape_of(self.survey)

    @property
    def text(self) -> str:
        """The survey as JSON: as it is stored, where it was read from a store."""
        return self.body or self.survey.to_json()

    @cached_property
    def _closes(self) -> int | None:
        return None if self.rules.closes is None else minute_of(self.rules.closes)

    @property
    def least(self) -> int:
        """How many reports there must be for a result to be shown."""
        return max(self.rules.minimum, 1)

    @property
    def final(self) -> bool:
        """Whether it can never be opened again."""
        return self.closed == FOR_GOOD

    def ended(self, minute: int) -> bool:
        """Whether it takes no reports at a minute (since 1970): somebody closed it, or its date has come."""
        return bool(self.closed) or (self._closes is not None and minute >= self._closes)

    def ended_on(self, today: int) -> int | None:
        """The UTC day since which it takes no reports, or None while it does."""
        if self.closed:
            return self.closed
        return self._closes // 1440 if self._closes is not None and self._closes <= 1440 * today else None


@dataclass(frozen=True, slots=True)
class Token:
    """What the holder of a secret may do for one survey: upload reports, read results, or manage it.

    Parameters
    ----------
    hash : str
        SHA-256 of the secret, in hexadecimal digits.
    survey : int
        The key of its survey in the store.
    kind : str
        "upload", "read" or "owner".
    quota : int, optional
        Most reports that may be uploaded; None for no limit.
    used : int
        Reports that were uploaded.
    name : str
        A label for people.

    Examples
    --------
    >>> token = Token("0" * 64, 1, "upload", 100, 0, "device 7").charged(30)
    >>> token.used, token.left
    (30, 70)
    """

    hash: str
    survey: int
    kind: str
    quota: int | None
    used: int
    name: str

    @property
    def left(self) -> int | None:
        """How many reports it still pays for; None without a quota."""
        return None if self.quota is None else self.quota - self.used

    def charged(self, reports: int) -> "Token":
        """The token after an upload.

        Parameters
        ----------
        reports : int
            How many more were uploaded.

        Returns
        -------
        Token
            With that number added to `used`.
        """
        return replace(self, used=self.used + reports)


@dataclass(slots=True)
class Upload:
    """Reports of one request for one survey.

    Parameters
    ----------
    entry : Entry
        The survey.
    records : bytes
        Records of a 16-byte id and a packed report, end to end; with `batch`, packed reports alone.
    day : int
        The UTC day of the ids, since 1970; 0 if the client does not say.
    batch : bytes, optional
        One 16-byte id for all reports.
    token : str, optional
        The hash of the token that is charged.
    noted : dict of str to int
        Reports of the same request that were refused before they became records, by reason.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b"], epsilon=1)
    >>> entry = Entry(1, survey, Rules(), 0, 0)
    >>> Upload(entry, bytes(16) + dn.Report(survey, 0, b"\\x01").pack()).count
    1
    """

    entry: Entry
    records: bytes
    day: int = 0
    batch: bytes | None = None
    token: str | None = None
    noted: dict[str, int] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """The number of reports."""
        length: int = self.entry.shape.length
        return len(self.records) // (length if self.batch is not None else 16 + length)


class Ended(Enum):
    """Why a whole upload was refused: its survey is closed, or was deleted."""

    CLOSED = "closed"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of an upload: new reports, duplicates, and (place, code) of each refused report."""

    accepted: int
    duplicate: int
    refused: tuple[tuple[int, int], ...] = ()


def counters_of(text: str) -> dict[str, int]:
    """Counters as a store keeps them.

    >>> counters_of('{"accepted":3,"cohort":1}')
    {'accepted': 3, 'cohort': 1}
    """
    try:
        found = json.loads(text)
        if not isinstance(found, dict) or not set(found) <= {*REASONS, RESTORED}:
            raise ValueError
        if not all(type(count) is int and count >= 0 for count in found.values()):
            raise ValueError
    except (TypeError, ValueError):
        raise StoreError("stored counters must be readable; the store is damaged, restore a backup") from None
    return found


@dataclass(slots=True)
class Counters:
    """The number of reports with each outcome, by the words of `REASONS`; adds like a tally.

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

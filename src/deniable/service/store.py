"""What every store does, in SQL that SQLite and PostgreSQL share.

A commit appends: ids as they came, and one row of counts a survey and window (`delta`). Nothing that is there is
rewritten on the way to an acknowledgement. Later the rows of `delta` are folded into one row of `tally`, in one
transaction, so that a store grows with counters and open ids and not with reports.

What differs is how an id is known to be new, and that is all a subclass adds: `_admit`, `_forget`, `_drop_ids`.
"""

import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from deniable.errors import StoreError
from deniable.service.clock import minute_of, window_of
from deniable.service.entries import Counters, Ended, Entry, Outcome, Token, Upload
from deniable.service.gathering import Bools, Ids, Owner, any_of, gather, outcome_of, spread_over, steps
from deniable.service.problems import Unavailable
from deniable.service.records import REASONS, pack_counts
from deniable.service.registry import Cursor, Session
from deniable.service.retention import COUNTED
from deniable.service.seals import SEALED, seal
from deniable.service.shards import Shards
from deniable.tally import Tally

__all__ = ["Cursor", "Session", "Store", "Unavailable"]

_CODE = {reason: code for code, reason in enumerate(REASONS)}
_ONE = Outcome(1, 0)
_REPLACE = "ON CONFLICT (survey, win) DO UPDATE SET counts = excluded.counts, counters = excluded.counters, "
_REPLACE += "seal = excluded.seal"
_FOLD_BYTES, _FOLD_ROWS = 1 << 18, 512
_PART_BYTES, _PART_ROWS = 1 << 22, 512  # of stored counts that are read at once


class Store(Shards):
    """Surveys, tallies, open ids and tokens, in one database. All writing is done by one thread at a time."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[int, _Waiting] = {}

    # What a subclass provides.
    @abstractmethod
    def _admit(self, session: Session, entry: Entry, ids: Ids, days: npt.NDArray[np.int64]) -> Bools:
        """Which ids are new, keeping those; each id that occurs twice is new at its first place."""

    @abstractmethod
    def _forget(self, session: Session, entry: Entry, ids: Ids) -> None:
        """Take back ids that `_admit` kept in this transaction."""

    @abstractmethod
    def open_ids(self) -> int:
        """How many report ids are kept."""

    @abstractmethod
    def close(self) -> None:
        """Give everything back. A store that was killed instead needs no repair."""

    # Uploads.
    def write(self, uploads: Sequence[Upload], *, hours: int, minute: int | None = None) -> list[Outcome | Ended]:
        """Take a group of uploads in one transaction: keep new ids and add their reports to the tally of this hour's
        window, both or neither. `Ended` stands for an upload to a survey that was closed or deleted meanwhile, or whose
        closing date is at or before `minute` (the first of the hour unless given).

        Claim: a report is in the tally exactly once if and only if its id was new in a transaction that committed.
        Proof: tests/properties/test_upload_protocol.py::test_the_upload_protocol
        """
        outcomes: list[Outcome | Ended] = [Ended.DELETED] * len(uploads)
        by_survey: dict[int, list[int]] = {}
        for place, upload in enumerate(uploads):
            by_survey.setdefault(upload.entry.key, []).append(place)
        with self.writing() as session:
            state = self._states(session, by_survey, 60 * hours if minute is None else minute)
            budget = self._budget(session, uploads)
            for key in sorted(state):
                ended, floor, shown = state[key]
                if ended:
                    for place in by_survey[key]:
                        outcomes[place] = Ended.CLOSED
                    continue
                for places in steps(uploads, by_survey[key]):
                    chosen = [uploads[place] for place in places]
                    found = self._write_one(session, chosen, budget, hours=hours, floor=floor, shown=shown)
                    for place, outcome in zip(places, found, strict=True):
                        outcomes[place] = outcome
            for secret, token in budget.items():
                if token.spent:
                    now = replace(token.token, used=token.token.used + token.spent)
                    values = [now.used, seal("token", *astuple(now)), secret]
                    session.run("UPDATE token SET used = ?, seal = ? WHERE hash = ?", values)
        return outcomes

    def _states(self, session: Session, keys: Iterable[int], minute: int) -> dict[int, tuple[bool, int, int]]:
        """Whether each survey that is there has ended, its floor and the hour up to which it was shown; they hold until
        the end of the transaction."""
        wanted = sorted(keys)
        self._share(session, wanted)
        marks = ", ".join("?" * len(wanted))
        rows = session.run(f"SELECT key, closed, floor, shown, rules FROM survey WHERE key IN ({marks})", wanted)
        found = {}
        for key, closed, floor, shown, rules in rows.fetchall():
            closes = json.loads(rules).get("closes")
            found[key] = bool(closed) or (closes is not None and minute >= minute_of(closes)), floor, shown
        return found

    def _write_one(
        self, session: Session, uploads: list[Upload], budget: "Budget", *, hours: int, floor: int, shown: int
    ) -> list[Outcome]:
        entry = uploads[0].entry
        shape, today = entry.shape, hours // 24
        rows, ids, codes, owners = gather(uploads)
        codes[:] = shape.check(rows)
        oldest = max(floor, today - entry.rules.horizon)
        for upload, owner in zip(uploads, owners, strict=True):
            if upload.day and not oldest <= upload.day <= today + 1:
                codes[owner.rows] = _CODE["too_old" if upload.day < oldest else "too_early"]
        # An id is asked about only if at least one report under it is good.
        alone = all(upload.batch is None for upload in uploads)
        good = codes == 0
        asked = good if alone else np.concatenate([any_of(good[o.rows], o.ids) for o in owners])
        days = np.repeat([upload.day for upload in uploads], [owner.ids.stop - owner.ids.start for owner in owners])
        new = np.zeros(len(ids), bool)
        if asked.all():
            new[:] = self._admit(session, entry, ids, days)
        elif asked.any():
            new[asked] = self._admit(session, entry, ids[asked], days[asked])
        if any(upload.token is not None for upload in uploads):
            self._charge(session, uploads, budget, owners, ids, new, good, codes)
        spread = new if alone else np.concatenate([spread_over(new[o.ids], o.rows) for o in owners])
        codes[good & ~spread & (codes == 0)] = _CODE["duplicate"]
        counters = Counters()
        counters.add_codes(codes)
        for upload in uploads:
            if upload.noted:
                counters.add(upload.noted)
        accepted = codes == 0
        taken = rows if accepted.all() else rows[accepted]
        packed = pack_counts(shape.size, *shape.count(taken)) if len(taken) else None
        window = max(window_of(entry.rules.window, hours), shown)  # what was shown never changes
        self._insert(session, "delta", [entry.key, window, packed, counters.to_json()])
        waiting = self._pending.setdefault(entry.key, _Waiting(entry))
        waiting.rows += 1
        waiting.size += len(packed or b"")
        if not codes.any():
            return [
                _ONE if owner.rows.stop - owner.rows.start == 1 else outcome_of(codes[owner.rows]) for owner in owners
            ]
        return [outcome_of(codes[owner.rows]) for owner in owners]

    def _budget(self, session: Session, uploads: Sequence[Upload]) -> "Budget":
        """The tokens of a group, all of them before anything is written and in one order: two collectors that wait for
        each other's tokens would wait for ever."""
        secrets = sorted({upload.token for upload in uploads if upload.token is not None})
        if not secrets:
            return {}
        marks = ", ".join("?" * len(secrets))
        columns = ", ".join(SEALED["token"])
        sql = f"SELECT {columns} FROM token WHERE hash IN ({marks}) ORDER BY hash{self._for_update}"
        return {row[0]: _Purse(Token(*row)) for row in session.run(sql, secrets).fetchall()}

    def _charge(
        self,
        session: Session,
        uploads: list[Upload],
        budget: "Budget",
        owners: list[Owner],
        ids: Ids,
        new: Bools,
        good: Bools,
        codes: npt.NDArray[np.uint8],
    ) -> None:
        """Refuse what goes beyond a token's quota: those reports are not counted and their ids are not kept."""
        entry, revoked = uploads[0].entry, _Purse(Token("", 0, "upload", 0, 0, ""))
        for upload, owner in zip(uploads, owners, strict=True):
            if upload.token is None:
                continue
            fresh = good[owner.rows] & spread_over(new[owner.ids], owner.rows)
            token = budget.get(upload.token, revoked)
            wanted, room = int(fresh.sum()), token.left if token.survey == entry.key else 0
            if room is not None and wanted > room - token.spent:
                keep = 0 if upload.batch is not None else max(0, room - token.spent)
                over = np.flatnonzero(fresh)[keep:]
                codes[owner.rows][over] = _CODE["quota"]
                gone = np.arange(owner.ids.start, owner.ids.stop)[over if upload.batch is None else slice(None)]
                self._forget(session, entry, ids[gone])
                new[gone] = False
                wanted = keep
            token.spent += wanted

    _for_update: ClassVar[str] = ""

    def _forgotten(self, entry: Entry) -> None:
        self._pending.pop(entry.key, None)

    # Folding.
    def tidy(self) -> None:
        """Fold surveys whose appended rows have outgrown their counters; done between groups, after the answers."""
        for waiting in list(self._pending.values()):
            enough = max(_FOLD_BYTES, 16 * waiting.entry.shape.size)
            if waiting.rows >= _FOLD_ROWS or waiting.size >= enough:
                self.fold(waiting.entry)

    def fold(self, entry: Entry) -> None:
        """Move a survey's appended counts into its tallies. What cannot be folded now stays as it is, and counts."""
        self._pending.pop(entry.key, None)
        try:
            with self.writing() as session:
                self._fold(session, entry)
        except (Unavailable, StoreError):
            return

    def _lock_fold(self, session: Session, entry: Entry) -> bool:
        return True

    def _fold(self, session: Session, entry: Entry) -> None:
        if not self._lock_fold(session, entry):
            return
        sql = "SELECT seq, win, counts, counters, seal FROM delta WHERE survey = ?"
        rows = session.run(sql, [entry.key]).fetchall()
        windows: dict[int, tuple[npt.NDArray[np.int64], Counters]] = {}
        for _, window, *row in rows:
            if window not in windows:
                windows[window] = np.zeros(entry.shape.size, np.int64), Counters()
                sql = "SELECT counts, counters, seal FROM tally WHERE survey = ? AND win = ?"
                for folded in session.run(sql, [entry.key, window]).fetchall():
                    self._add(windows[window], [_sealed("tally", entry, window, *folded)])
            self._add(windows[window], [_sealed("delta", entry, window, *row)])
        for window, (vector, total) in windows.items():
            places = np.flatnonzero(vector)
            packed = pack_counts(entry.shape.size, places, vector[places])
            self._insert(session, "tally", [entry.key, window, packed, total.to_json()], _REPLACE)
        for start in range(0, len(rows), 500):
            part = [row[0] for row in rows[start : start + 500]]
            session.run(f"DELETE FROM delta WHERE seq IN ({', '.join('?' * len(part))})", part)

    # Results.
    def tally(self, entry: Entry, first: int | None = None, last: int | None = None) -> Tally:
        """The sum of the windows that start at or after the hour `first` and before the hour `last`."""
        total = np.zeros(entry.shape.size, np.int64), Counters()
        bounds = -(2**31) if first is None else first, 2**31 - 1 if last is None else last
        with self.reading() as session:
            for table in COUNTED:
                self._add(total, self._range(session, table, entry, *bounds))
        return entry.shape.tally(total[0])

    def _range(self, session: Session, table: str, entry: Entry, first: int, last: int) -> Iterator[Any]:
        """The rows of a range, a few megabytes at a time: a year of hours may have more bytes than there is memory."""
        place = "seq" if table == "delta" else "win"
        sql = f"SELECT {place}, LENGTH(counts) FROM {table} WHERE survey = ? AND win >= ? AND win < ? ORDER BY {place}"
        rows = session.run(sql, [entry.key, first, last]).fetchall()
        start = size = 0
        for end, (_, length) in enumerate(rows, 1):
            size += length or 0
            if size < _PART_BYTES and end - start < _PART_ROWS and end < len(rows):
                continue
            sql = f"SELECT counts, counters FROM {table} WHERE survey = ? AND win >= ? AND win < ? "
            within = [rows[start][0], rows[end - 1][0]]
            sql += f"AND {place} >= ? AND {place} <= ?"
            yield from session.run(sql, [entry.key, first, last, *within]).fetchall()
            start, size = end, 0


def _sealed(table: str, entry: Entry, window: int, counts: Any, counters: Any, found: Any) -> tuple[Any, Any]:
    """The counts and counters of a row that is as it was written. Another one must not get a new seal."""
    if found != seal(table, entry.key, window, counts, counters):
        raise StoreError("stored rows must be as they were written; the store is damaged, restore a backup")
    return counts, counters


class _Purse:
    """A token at the beginning of a transaction, and what is spent of its quota in it."""

    __slots__ = ("left", "spent", "survey", "token")

    def __init__(self, token: Token) -> None:
        self.token, self.survey, self.spent = token, token.survey, 0
        self.left = None if token.quota is None else token.quota - token.used


Budget = dict[str, _Purse]  # by the hash of the token


class _Waiting:
    """How much of a survey was appended since it was last folded."""

    __slots__ = ("entry", "rows", "size")

    def __init__(self, entry: Entry) -> None:
        self.entry, self.rows, self.size = entry, 0, 0

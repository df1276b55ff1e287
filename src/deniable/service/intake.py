"""The write path of a store: validate uploads, store their new ids and count their reports in one transaction."""

import json
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from deniable.service.clock import minute_of, window_of
from deniable.service.database import Bools, Database, Ids, Session
from deniable.service.entries import Counters, Ended, Outcome, Upload
from deniable.service.gathering import Owner, any_of, gather, outcome_of, spread_over, steps
from deniable.service.records import CODES, pack_counts
from deniable.service.tallies import Tallies
from deniable.service.tokens import NO_TOKEN, Budget, read_budget, write_budget

_ONE = Outcome(1, 0)


class Intake:
    """Adds uploads to a store."""

    def __init__(self, database: Database, tallies: Tallies) -> None:
        self._database, self._tallies = database, tallies

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
        with self._database.writing() as session:
            state = self._states(session, by_survey, 60 * hours if minute is None else minute)
            budget = read_budget(session, uploads, self._database.FOR_UPDATE)
            for key in sorted(state):
                ended, floor, shown = state[key]
                if ended:
                    for place in by_survey[key]:
                        outcomes[place] = Ended.CLOSED
                    continue
                for places in steps(uploads, by_survey[key]):
                    chosen = [uploads[place] for place in places]
                    found = self.write_one(session, chosen, budget, hours=hours, floor=floor, shown=shown)
                    for place, outcome in zip(places, found, strict=True):
                        outcomes[place] = outcome
            write_budget(session, budget)
        return outcomes

    def _states(self, session: Session, keys: Iterable[int], minute: int) -> dict[int, tuple[bool, int, int]]:
        """Whether each survey that is there has ended, its floor and the hour up to which it was shown; they hold until
        the end of the transaction."""
        wanted = sorted(keys)
        self._database.share(session, wanted)
        marks = ", ".join("?" * len(wanted))
        rows = session.run(f"SELECT key, closed, floor, shown, rules FROM survey WHERE key IN ({marks})", wanted)
        found = {}
        for key, closed, floor, shown, rules in rows.fetchall():
            closes = json.loads(rules).get("closes")
            found[key] = bool(closed) or (closes is not None and minute >= minute_of(closes)), floor, shown
        return found

    def write_one(
        self, session: Session, uploads: list[Upload], budget: Budget, *, hours: int, floor: int, shown: int
    ) -> list[Outcome]:
        """Take uploads to one survey."""
        entry = uploads[0].entry
        shape, today = entry.shape, hours // 24
        rows, ids, codes, owners = gather(uploads)
        codes[:] = shape.check(rows)
        oldest = max(floor, today - entry.rules.horizon)
        for upload, owner in zip(uploads, owners, strict=True):
            if upload.day and not oldest <= upload.day <= today + 1:
                codes[owner.rows] = CODES["too_old" if upload.day < oldest else "too_early"]
        # An id is asked about only if at least one report under it is good.
        alone = all(upload.batch is None for upload in uploads)
        good = codes == 0
        asked = good if alone else np.concatenate([any_of(good[o.rows], o.ids) for o in owners])
        days = np.repeat([upload.day for upload in uploads], [owner.ids.stop - owner.ids.start for owner in owners])
        new = np.zeros(len(ids), bool)
        if asked.all():
            new[:] = self._database.admit(session, entry.key, ids, days)
        elif asked.any():
            new[asked] = self._database.admit(session, entry.key, ids[asked], days[asked])
        if any(upload.token is not None for upload in uploads):
            self._charge(session, uploads, budget, owners, ids, new, good, codes)
        spread = new if alone else np.concatenate([spread_over(new[o.ids], o.rows) for o in owners])
        codes[good & ~spread & (codes == 0)] = CODES["duplicate"]
        counters = Counters()
        counters.add_codes(codes)
        for upload in uploads:
            if upload.noted:
                counters.add(upload.noted)
        accepted = codes == 0
        taken = rows if accepted.all() else rows[accepted]
        packed = pack_counts(shape.size, *shape.count(taken)) if len(taken) else None
        window = max(window_of(entry.rules.window, hours), shown)  # what was shown never changes
        self._tallies.append(session, entry, window, packed, counters)
        if not codes.any():
            return [
                _ONE if owner.rows.stop - owner.rows.start == 1 else outcome_of(codes[owner.rows]) for owner in owners
            ]
        return [outcome_of(codes[owner.rows]) for owner in owners]

    def _charge(
        self,
        session: Session,
        uploads: list[Upload],
        budget: Budget,
        owners: list[Owner],
        ids: Ids,
        new: Bools,
        good: Bools,
        codes: npt.NDArray[np.uint8],
    ) -> None:
        """Refuse what goes beyond a token's quota: those reports are not counted and their ids are not kept."""
        key = uploads[0].entry.key
        for upload, owner in zip(uploads, owners, strict=True):
            if upload.token is None:
                continue
            fresh = good[owner.rows] & spread_over(new[owner.ids], owner.rows)
            token = budget.get(upload.token, NO_TOKEN)
            wanted, room = int(fresh.sum()), token.left if token.survey == key else 0
            if room is not None and wanted > room:
                keep = 0 if upload.batch is not None else max(0, room)
                over = np.flatnonzero(fresh)[keep:]
                codes[owner.rows][over] = CODES["quota"]
                gone = np.arange(owner.ids.start, owner.ids.stop)[over if upload.batch is None else slice(None)]
                self._database.forget(session, key, ids[gone])
                new[gone] = False
                wanted = keep
            if upload.token in budget:
                budget[upload.token] = token.charged(wanted)

"""Many uploads processed as one: their reports and ids as rows of arrays, and the rows of each upload."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from deniable.service.database import Bools, Ids
from deniable.service.entries import Outcome, Upload


def steps(uploads: Sequence[Upload], places: list[int]) -> list[list[int]]:
    """Uploads that may be judged together. What a quota refuses must not make the same report of a later upload a
    duplicate, so uploads that are charged to a token are judged one after the other."""
    if all(uploads[place].token is None for place in places):
        return [places]
    return [[place] for place in places]


class Owner:
    """The places of one upload among the rows and the ids of its group."""

    __slots__ = ("ids", "rows")

    def __init__(self, rows: slice, ids: slice) -> None:
        self.rows, self.ids = rows, ids


def gather(uploads: list[Upload]) -> tuple[Ids, Ids, npt.NDArray[np.uint8], list[Owner]]:
    """All packed reports as rows, all ids as rows, a code for each report, and whose is what."""
    length = uploads[0].entry.shape.length
    owners: list[Owner] = []
    row = place = 0
    for upload in uploads:
        count = upload.count
        held = count if upload.batch is None else 1
        owners.append(Owner(slice(row, row + count), slice(place, place + held)))
        row, place = row + count, place + held
    if all(upload.batch is None for upload in uploads):
        whole = np.frombuffer(b"".join([upload.records for upload in uploads]), np.uint8).reshape(-1, 16 + length)
        return whole[:, 16:], np.ascontiguousarray(whole[:, :16]), np.zeros(row, np.uint8), owners
    rows, ids = np.empty((row, length), np.uint8), np.empty((place, 16), np.uint8)
    for upload, owner in zip(uploads, owners, strict=True):
        data = np.frombuffer(upload.records, np.uint8)
        if upload.batch is not None:
            rows[owner.rows], ids[owner.ids] = data.reshape(-1, length), np.frombuffer(upload.batch, np.uint8)
        else:
            pairs = data.reshape(-1, 16 + length)
            rows[owner.rows], ids[owner.ids] = pairs[:, 16:], pairs[:, :16]
    return rows, ids, np.zeros(row, np.uint8), owners


def any_of(good: Bools, ids: slice) -> Bools:
    """Which ids are asked for: each that of a good report, or the one of a batch with any."""
    return good if ids.stop - ids.start == len(good) else np.array([good.any()])


def spread_over(new: Bools, rows: slice) -> Bools:
    """What is said of ids, said of their reports: a batch has one id for all."""
    count = rows.stop - rows.start
    return new if len(new) == count else np.repeat(new, count)


def outcome_of(codes: npt.NDArray[np.uint8]) -> Outcome:
    """What became of an upload's reports."""
    if not codes.any():
        return Outcome(len(codes), 0)
    refused = np.flatnonzero(codes > 1)
    pairs = tuple(zip(refused.tolist(), codes[refused].tolist(), strict=True))
    return Outcome(int((codes == 0).sum()), int((codes == 1).sum()), pairs)

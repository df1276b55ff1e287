"""Blocks: windows that readers see together, each with the survey's minimum of reports or more.

Whatever a reader gets is a union of whole blocks, so any two results differ by a block or more. That holds for as long
as blocks stay as they were once shown: `retention` keeps new reports out of them and deletes them whole.
"""

from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Block", "joined"]


@dataclass(frozen=True, slots=True)
class Block:
    """The windows that begin at `starts`, which end before the hour `last` and have so many reports together."""

    starts: tuple[int, ...]
    last: int
    reports: int


def joined(windows: Iterable[tuple[int, int, int]], least: int) -> list[Block]:
    """Windows (start, end, reports), oldest first, joined until each block has `least` reports or more. What is left at
    the end has fewer and is in no block.

    >>> [(block.starts, block.reports) for block in joined([(0, 24, 99), (24, 48, 1), (48, 72, 100), (72, 96, 7)], 100)]
    [((0, 24), 100), ((48,), 100)]
    """
    found: list[Block] = []
    starts: list[int] = []
    reports = 0
    for start, end, count in windows:
        starts.append(start)
        reports += count
        if reports >= least:
            found.append(Block(tuple(starts), end, reports))
            starts, reports = [], 0
    return found

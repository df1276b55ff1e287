"""Blocks: windows that readers see together, each with the survey's minimum of reports or more.

Whatever a reader gets is a union of whole blocks, so any two results differ by a block or more. That holds for as long
as blocks stay as they were once shown: `retention` keeps new reports out of them and deletes them whole.
"""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Block:
    """The windows that begin at `starts`, which end before the hour `last` and have so many reports together."""

    starts: tuple[int, ...]
    last: int
    reports: int


@dataclass(frozen=True, slots=True)
class Window:
    """A window with its reports. Those that a restored backup held count for nothing towards the minimum."""

    start: int
    end: int
    reports: int
    restored: int = 0


def joined(windows: Iterable[Window], least: int) -> list[Block]:
    """Windows, oldest first, joined until each block has `least` reports or more that were not restored. What is left
    at the end has fewer and is in no block.

    >>> windows = [Window(0, 24, 99), Window(24, 48, 1), Window(48, 72, 150, restored=140), Window(72, 96, 90)]
    >>> [(block.starts, block.reports) for block in joined(windows, 100)]
    [((0, 24), 100), ((48, 72), 240)]
    """
    found: list[Block] = []
    starts: list[int] = []
    reports = new = 0
    for window in windows:
        starts.append(window.start)
        reports += window.reports
        new += window.reports - window.restored
        if new >= least:
            found.append(Block(tuple(starts), window.end, reports))
            starts, reports, new = [], 0, 0
    return found

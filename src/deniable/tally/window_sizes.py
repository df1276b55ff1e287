"""The windows of a tally: how many reports each had, and nothing else.

People who take part in every window repeat their noise, so the error of a sum depends on how many windows it has and
how large they are. Neither their order nor their names are kept: sums of tallies stay commutative and associative, and
a tally does not grow with the number of its windows, only with the number of different sizes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping

from deniable.errors import TallyError

__all__ = ["Sizes", "merged_sizes", "sizes_of", "sizes_to_json"]

Sizes = dict[int, int]  # reports of a window: how many windows have so many


def sizes_of(windows: Iterable[int]) -> Sizes:
    """The sizes of windows, counted; empty windows are none.

    >>> sizes_of([1000, 1000, 0, 20])
    {1000: 2, 20: 1}
    """
    found: Counter[int] = Counter()
    if not isinstance(windows, Iterable):
        raise TallyError(f"windows must be numbers of reports, one a window, got {windows!r}; list them")
    for size in windows:
        if isinstance(size, bool) or not hasattr(size, "__index__") or (number := size.__index__()) < 0:
            raise TallyError(f"windows must be numbers of reports, got {size!r}")
        found[number] += 1
    del found[0]
    return dict(found)


def sizes_to_json(sizes: Sizes) -> dict[str, int]:
    """The sizes as a tally file has them: texts, because reports may be more than JSON's integers hold.

    >>> sizes_to_json({1000: 20})
    {'1000': 20}
    """
    return {str(size): count for size, count in sizes.items()}


def merged_sizes(value: object, n: int) -> Sizes:
    """The sizes of the windows that were merged into a tally of a file: none where it has one window.

    >>> merged_sizes({"1000": 20}, 20_000), merged_sizes({"1000": 1}, 1000)
    ({1000: 20}, {})
    """
    wrong = TallyError("tally windows must be sizes and how many windows have each, which add up to its reports")
    if not isinstance(value, Mapping):
        raise wrong
    found: Sizes = {}
    for size, count in value.items():
        if not (isinstance(size, str) and size.isascii() and size.isdecimal() and size == str(int(size[:20]))):
            raise wrong
        if isinstance(count, bool) or not isinstance(count, int) or count < 1 or int(size) < 1:
            raise wrong
        found[int(size)] = count
    if sum(size * count for size, count in found.items()) != n:
        raise wrong
    return {} if sum(found.values()) == 1 else found

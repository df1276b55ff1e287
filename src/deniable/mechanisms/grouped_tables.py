"""Tables that follow from a few weights, because answers of one group are treated alike.

A column is of one of a few kinds. It raises one answer of a group to the weight `own`, and every other answer has the
weight that the kind gives to its group; there is such a column for each answer of the group. Or it raises none, and
there is one such column. So a table is stored as the groups of the answers and the weights of the kinds:

* `Sensitive`: the answers that are hidden, and those that may be seen (uRR, Murakami and Kawamoto, USENIX Security
  2019). Sensitive answers are k-RR among themselves; each other answer names one of them as often as they name one
  another, and itself otherwise. Nobody else ever names an answer that is not sensitive.
* `Blocks`: k-RR within each group; which group it is is sent as it is.
* `Budgets`: a budget for every group, the smaller of which holds between two answers (input-discriminative privacy, Gu
  and others, ICDE 2020). Its weights are found by `survey.budgets`.
"""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import Carrier, check_size
from deniable.mechanisms.channel import Channel, checked_entries
from deniable.mechanisms.krr import KRR
from deniable.mechanisms.odds import at_most_exp, epsilon_text, other_weight, parse_epsilon


@dataclass(frozen=True, slots=True)
class Columns:
    """A kind of columns: `own` for the answer of `group` that a column raises, `others[a]` for those of group a.

    Parameters
    ----------
    group : int
        The group; -1 for one column that raises no answer.
    own : int
        The weight of the raised answer; 0 where there is none.
    others : tuple of int
        The weight of every other answer, by its group.

    Examples
    --------
    >>> Columns(0, 3, (1, 1)).others
    (1, 1)
    """

    group: int
    own: int
    others: tuple[int, ...]


@dataclass(frozen=True, slots=True, init=False)
class Grouped(Channel):
    """Rows of weights that follow from the groups of the answers and the kinds of columns; see the module.

    Claim: Q(y|x) is `own` / 2**width of the kind of column y if y raises x, and `others[a]` / 2**width for x of group a
        if not; no ratio of two answers exceeds what is promised to their groups.
    Proof: tests/exact/test_tables.py::test_law_of_the_bytes_is_the_table

    Examples
    --------
    >>> m = Sensitive(4, 1, sensitive=[1, 2])
    >>> m.groups, m.sizes, m.columns, [kind.group for kind in m.kinds], m.row(0)[2:] == [m.thresholds()["own"], 0]
    ((1, 0, 0, 1), (2, 2), 4, [0, 1], True)
    """

    cells: int
    epsilon: Fraction
    width: int
    groups: tuple[int, ...]
    kinds: tuple[Columns, ...] = field(repr=False)
    sizes: tuple[int, ...] = field(repr=False, compare=False)  # answers of each group
    ranks: tuple[int, ...] = field(repr=False, compare=False)  # the place of every answer in its group
    starts: tuple[int, ...] = field(repr=False, compare=False)  # the first column of each kind, and how many there are

    def _build(self, groups: Sequence[int], epsilon: Fraction, kinds: Sequence[Columns], width: int) -> None:
        """Set all fields, and refuse weights that are no channel or exceed what is promised."""
        put, sizes, ranks = object.__setattr__, [0] * (max(groups) + 1), []
        for group in groups:
            ranks.append(sizes[group])
            sizes[group] += 1
        put(self, "groups", tuple(groups))
        put(self, "cells", len(groups))
        put(self, "epsilon", epsilon)
        put(self, "width", width)
        put(self, "kinds", tuple(kinds))
        put(self, "sizes", tuple(sizes))
        put(self, "ranks", tuple(ranks))
        put(self, "starts", (0, *accumulate(sizes[kind.group] if kind.group >= 0 else 1 for kind in kinds)))
        checked_entries(self.cells, self.columns)
        for group in range(len(sizes)):
            if self._before(group, len(self.kinds)) != self.span:
                raise SurveyError(
                    f"weights of an answer of group {group} must add up to 2**{self.width}, got "
                    f"{self._before(group, len(self.kinds))}; whoever wrote this survey computes another mechanism"
                )
        for pair, ratio in self._worst().items():
            bound = self.promised(*pair)
            if bound is not None and (ratio is None or not at_most_exp(ratio, bound)):
                raise SurveyError(
                    f"weights of groups {pair[0]} and {pair[1]} must have ratios of at most e**{epsilon_text(bound)}, "
                    "got more; move them closer together, or use a larger budget"
                )

    def _before(self, group: int, kind: int) -> int:
        """The weights of an answer of a group in all columns of the kinds before `kind`."""
        total = 0
        for place in range(kind):
            columns = self.kinds[place]
            total += (self.starts[place + 1] - self.starts[place]) * columns.others[group]
            total += columns.own - columns.others[group] if columns.group == group else 0
        return total

    @property
    def columns(self) -> int:
        return self.starts[-1]

    @property
    def classes(self) -> Sequence[int]:
        return self.groups

    def row(self, cell: int) -> Sequence[int]:
        group, row = self.groups[cell], []
        for columns, start, end in zip(self.kinds, self.starts, self.starts[1:], strict=False):
            row += [columns.others[group]] * (end - start)
            if columns.group == group:
                row[start + self.ranks[cell]] = columns.own
        return row

    def edge(self, cell: int, column: int) -> int:
        group, place = self.groups[cell], bisect_right(self.starts, column) - 1
        columns, inside = self.kinds[place], column - self.starts[place]
        raised = columns.group == group and inside > self.ranks[cell]
        before = self._before(group, place) + inside * columns.others[group]
        return before + (columns.own - columns.others[group] if raised else 0)

    def named_by(self, column: int) -> int | None:
        place = bisect_right(self.starts, column) - 1
        members = [cell for cell, group in enumerate(self.groups) if group == self.kinds[place].group]
        return members[column - self.starts[place]] if members else None

    def _worst(self) -> dict[tuple[int, int], Fraction | None]:
        # The columns of a kind show the ratios of two answers where they raise the first, the second, or neither.
        found: dict[tuple[int, int], Fraction | None] = {}
        for a in range(len(self.sizes)):
            for b in range(len(self.sizes)):
                if a == b and self.sizes[a] == 1:
                    continue
                ratios = []
                for each in self.kinds:
                    ratios += [_ratio(each.own, each.others[b])] if each.group == a else []
                    ratios += [_ratio(each.others[a], each.own)] if each.group == b else []
                    if each.group not in (a, b) or self.sizes[each.group] > 1 + (a == b):
                        ratios.append(_ratio(each.others[a], each.others[b]))
                found[a, b] = None if None in ratios else max(ratio for ratio in ratios if ratio is not None)
        return found

    @abstractmethod
    def promised(self, given: int, other: int) -> Fraction | None: ...


def _ratio(above: int, below: int) -> Fraction | None:
    return Fraction(above, below) if below else None if above else Fraction(1)


@dataclass(frozen=True, slots=True, init=False)
class Sensitive(Grouped):
    """uRR: group 0 is hidden, group 1 is not. A report of a sensitive answer may come from anyone.

    Parameters
    ----------
    cells : int
        The number of answers.
    epsilon : float, str or Fraction
        The privacy budget of the sensitive answers, in nats.
    sensitive : iterable of int
        Which of the answers are sensitive, from 0; two or more, and not all.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.

    Examples
    --------
    >>> m = Sensitive(3, 1, sensitive=[0, 1])
    >>> m.promised(0, 1), m.promised(1, 0), m.thresholds()["own"] == 2**64 - 2 * m.thresholds()["other"]
    (Fraction(1, 1), None, True)
    """

    kind: ClassVar[str] = "sensitive"
    keeps_budget: ClassVar[bool] = False

    def __init__(self, cells: int, epsilon: object, sensitive: Iterable[int], width: int = 64) -> None:
        hidden = set(checked_sensitive(cells, sensitive))
        exact, size = parse_epsilon(epsilon), check_size("width", width, 1, 64)
        channel = KRR(len(hidden), exact, size) if len(hidden) > 1 else None
        keep, other = (channel.keep, channel.other) if channel else (1 << size, other_weight(exact, 1, size))
        seen = Columns(1, (1 << size) - len(hidden) * other, (0, 0))
        self._build([int(x not in hidden) for x in range(cells)], exact, [Columns(0, keep, (other, other)), seen], size)

    def promised(self, given: int, other: int) -> Fraction | None:
        return self.epsilon if given == 0 else None

    @property
    def sensitive(self) -> tuple[int, ...]:
        """The numbers of the sensitive answers."""
        return tuple(x for x, group in enumerate(self.groups) if group == 0)

    def thresholds(self) -> dict[str, int]:
        hidden, seen = self.kinds
        return {"keep": hidden.own, "other": hidden.others[1], "own": seen.own}

    def settings(self) -> dict[str, object]:
        return {"sensitive": list(self.sensitive)}

    def title(self, *, own_cells: bool) -> str:
        return "uRR"

    def rebudgeted(self, epsilon: Fraction, encoding: Carrier) -> "Sensitive":
        # Answers that are new, such as "no answer", are hidden: whoever leaves a question out can deny it.
        return Sensitive(encoding.cells, epsilon, (*self.sensitive, *range(self.cells, encoding.cells)), self.width)

    @property
    def words(self) -> str:
        return f"{self.sizes[0]} sensitive"


def checked_sensitive(cells: int, sensitive: Iterable[int]) -> tuple[int, ...]:
    """The numbers of the sensitive answers, sorted; at least one, and not all.

    Parameters
    ----------
    cells : int
        How many answers there are.
    sensitive : iterable of int
        The numbers.

    Raises
    ------
    SurveyError
        If there are none, or all.

    Examples
    --------
    >>> checked_sensitive(4, [3, 1])
    (1, 3)
    """
    found = sorted({check_size("sensitive", x, 0, check_size("answers", cells, 2, 1 << 16) - 1) for x in sensitive})
    if not found:
        raise SurveyError(
            "sensitive must name at least one answer, got none; a survey that hides nothing needs no noise"
        )
    if len(found) == cells:
        raise SurveyError(
            f"sensitive must leave out at least one answer, got all {cells}; use dn.subset or dn.krr, which hide all"
        )
    return tuple(found)


@dataclass(frozen=True, slots=True, init=False)
class Blocks(Grouped):
    """k-RR within each group: which answer of its group it is is hidden, the group is not.

    Parameters
    ----------
    groups : sequence of int
        The group of every answer, numbered from 0 in the order in which they first occur.
    epsilon : float, str or Fraction
        The privacy budget within a group, in nats.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.

    Examples
    --------
    >>> m = Blocks([0, 0, 1, 1, 1], 1)
    >>> m.promised(0, 0), m.promised(0, 1), m.row(0)[2:]
    (Fraction(1, 1), None, [0, 0, 0])
    """

    kind: ClassVar[str] = "blocks"
    keeps_budget: ClassVar[bool] = False

    def __init__(self, groups: Sequence[int], epsilon: object, width: int = 64) -> None:
        groups = checked_groups(groups)
        exact, size, count = parse_epsilon(epsilon), check_size("width", width, 1, 64), max(groups) + 1
        if count == 1 or count == len(groups):
            raise SurveyError(
                f"groups must be two or more with at least two answers in one of them, got {count} groups of "
                f"{len(groups)} answers; use dn.krr to hide an answer among all, and no noise to hide none"
            )
        sizes = [groups.count(group) for group in range(count)]
        kinds = []
        for group, members in enumerate(sizes):
            channel = KRR(members, exact, size) if members > 1 else None
            keep, other = (channel.keep, channel.other) if channel else (1 << size, 0)
            kinds.append(Columns(group, keep, tuple(other if group == each else 0 for each in range(count))))
        self._build(groups, exact, kinds, size)

    def promised(self, given: int, other: int) -> Fraction | None:
        return self.epsilon if given == other else None

    def thresholds(self) -> dict[str, int]:
        return {}

    def settings(self) -> dict[str, object]:
        return {"groups": list(self.groups), "others": [str(kind.others[kind.group]) for kind in self.kinds]}

    def title(self, *, own_cells: bool) -> str:
        return "k-RR in groups"

    def rebudgeted(self, epsilon: Fraction, encoding: Carrier) -> "Blocks":
        if encoding.cells != self.cells:
            raise SurveyError(
                f"an answer must have a group, got {encoding.cells - self.cells} without one; which group it is is "
                "seen, so put 'no answer' into one, instead of a question that may be skipped"
            )
        return Blocks(self.groups, epsilon, self.width)

    @property
    def words(self) -> str:
        return f"{len(self.sizes)} groups"


@dataclass(frozen=True, slots=True, init=False)
class Budgets(Grouped):
    """A budget for each group of answers; between two answers the smaller one holds.

    Parameters
    ----------
    groups : sequence of int
        The group of every answer, numbered from 0 in the order in which they first occur.
    budgets : sequence of float, str or Fraction
        The budget of each group, in nats.
    raised : sequence of int
        The group that each kind of columns raises an answer of; -1 for none.
    weights : sequence of sequences of int
        For each kind the weight of the raised answer (0 where there is none), then those of the others, by group.
    width : int
        Bits of a random word; fewer than 64 for proofs by enumeration.

    Examples
    --------
    >>> m = Budgets([0, 1, 1], [1, 2], [0, 1], [[136, 0, 60], [156, 60, 40]], width=8)
    >>> m.epsilon, m.promised(0, 1), m.row(0), m.row(2)
    (Fraction(2, 1), Fraction(1, 1), [136, 60, 60], [60, 40, 156])
    """

    kind: ClassVar[str] = "budgets"
    budgets: tuple[Fraction, ...]

    def __init__(
        self,
        groups: Sequence[int],
        budgets: Sequence[object],
        raised: Sequence[int],
        weights: Sequence[Sequence[int]],
        width: int = 64,
    ) -> None:
        groups, size = checked_groups(groups), check_size("width", width, 1, 64)
        exact = tuple(parse_epsilon(budget, "a budget") for budget in budgets)
        count = max(groups) + 1
        if len(exact) != count or len(raised) != len(weights) or any(len(row) != count + 1 for row in weights):
            raise SurveyError(
                f"budgets must be one for each of {count} groups, and weights {count + 1} for each kind of columns, "
                f"got {len(exact)} budgets and {len(weights)} rows of weights for {len(raised)} kinds"
            )
        kinds = [
            Columns(check_size("raised", group, -1, count - 1), own, tuple(others))
            for group, (own, *others) in zip(raised, weights, strict=True)
        ]
        sizes = [groups.count(group) for group in range(count)]
        # Weights that stand for no answer have one spelling.
        unused = [kind for kind in kinds if (kind.group < 0 and kind.own) or _lone(kind, sizes)]
        if unused or not kinds or min(min(kind.own, *kind.others) for kind in kinds) < 0:
            raise SurveyError("weights must be integers from 0 on, and 0 where there is no such answer")
        object.__setattr__(self, "budgets", exact)
        pairs = [min(exact[a], exact[c]) for a in range(count) for c in range(count) if a != c or sizes[a] > 1]
        self._build(groups, max(pairs), kinds, size)

    def promised(self, given: int, other: int) -> Fraction | None:
        return min(self.budgets[given], self.budgets[other])

    def thresholds(self) -> dict[str, int]:
        return {}

    def settings(self) -> dict[str, object]:
        return {
            "groups": list(self.groups),
            "budgets": [epsilon_text(budget) for budget in self.budgets],
            "raised": [kind.group for kind in self.kinds],
            "weights": [[str(weight) for weight in (kind.own, *kind.others)] for kind in self.kinds],
        }

    def title(self, *, own_cells: bool) -> str:
        return "k-RR by budgets"

    @property
    def words(self) -> str:
        return f"{len(self.budgets)} budgets"


def _lone(kind: Columns, sizes: Sequence[int]) -> bool:
    """Whether a kind has a weight for the others of a group of one answer, which it raises."""
    return kind.group >= 0 and sizes[kind.group] == 1 and kind.others[kind.group] != 0


def checked_groups(groups: Sequence[int]) -> list[int]:
    """The groups of all answers, numbered in the order in which they first occur."""
    check_size("answers", len(groups), 2, 1 << 16)
    seen = 0
    for group in groups:
        if check_size("groups", group, 0, seen) == seen:
            seen += 1
    return [int(group) for group in groups]

"""A budget for each answer: the table of least expected squared error, found numerically.

Between two answers the smaller of their budgets holds. Answers of one budget are treated alike, so a column is of one
of a few kinds: it raises one answer of a group b, or none, and gives every other answer of group a the level u_a of it.
What is promised bounds the levels of a column alone. They form a polytope, and splitting a column into the vertices of
its polytope never loses information, so the kinds are the vertices. In the weights t of the columns v,

    I = sum_v t_v v v' / (p'v)         f = tr(I**-1) = n times the expected squared error, plus sum_x p_x**2

the information is linear and f convex, over t >= 0 with sum_v t_v v = 1. Those t are mixtures of basic solutions, each
with at most a kind a group, so f is that of an A-optimal design, for which the multiplicative algorithm converges (Yu,
Annals of Statistics 2010), and f**2 / max_j d_j bounds every solution from below, with d_j the derivative towards basic
solution j. k-ary randomised response at the smallest budget is one of the mixtures, so the result is never worse.

Up to three budgets all basic solutions are listed. Of more they are made one by one: the best of all, by the current
derivatives, is a linear program (`base_search`), whose value bounds f from below in the same way.

All of this is a few sums over groups, so it is plain Python: the device side has no NumPy.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from deniable.errors import SurveyError
from deniable.mechanisms import Budgets
from deniable.survey.base_search import BaseSearch

__all__ = ["MAX_ANSWERS", "Optimum", "budget_levels", "budgets_table", "optimum"]

MAX_ANSWERS = 64  # answers with budgets of their own
MAX_LEVELS = 8  # budgets that are told apart; where there are more, each is rounded down to one of these
_ALL_BASES = 3  # budgets up to which all basic solutions are listed; of more, they are made one by one
_CLOSE_OF_MORE = 5e-3  # the relative distance from the bound at which that ends
_MOST_BASES = 40  # basic solutions that are made, at most
_INNER = 50  # steps of the multiplicative algorithm between two of them
_NEW = 0.02  # share of the mixture that a new one begins with
_LEAST_BASE = 3e-3  # a basic solution with a smaller share is left out in the end
_STEPS = 4000  # of the multiplicative algorithm, at most
_CLOSE = 5e-4  # relative distance from the lower bound at which it stops
# Relative distances from the budgets to try: room for weights of 64 bits, and levels of 9 digits (budgets below 0.1).
_SLACKS = (1e-12, 1e-10, 1e-8, 1e-7, 1e-6, 1e-5)
_SLACKS_OF_MORE = (1e-8, 1e-6, 1e-5)  # the same where a search is long, and ends farther than that from the bound
_SHARE = 1e-3  # of the columns that raise a lone answer, where the optimum has none and rounding needs them
_LEAST_KIND = 1e-3  # a kind of columns that is used with less probability is left out

Row = list[float]


@dataclass(frozen=True, slots=True)
class Kind:
    """Columns that raise one answer of a group (none if it is -1) to level 1; others have the level of their group."""

    group: int
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Optimum:
    """The kinds of columns of a table and their weights, and how sure it is that there is nothing better.

    Parameters
    ----------
    kinds : tuple of Kind
        The kinds in use.
    weights : tuple of float
        The weight of a raised answer in a column of each kind.
    cost : float
        n times the expected squared error.
    uniform : float
        That of k-ary randomised response at the smallest budget.
    least : float
        A lower bound of the cost of any table, with any number of columns, that raises at most one answer a column.

    Examples
    --------
    >>> found = optimum((4, 4), (0.5, 2.0), (0.5, 0.5))
    >>> found.least <= found.cost < found.uniform, found.cost < 1.001 * found.least
    (True, True)
    >>> found.words.partition(" of that of")[0]
    'Its expected squared error is 64 %'
    """

    kinds: tuple[Kind, ...]
    weights: tuple[float, ...]
    cost: float
    uniform: float
    least: float

    @property
    def words(self) -> str:
        """How good it is, and how sure that is, in words."""
        return (
            f"Its expected squared error is {100 * self.cost / self.uniform:.3g} % of that of k-ary randomised "
            f"response at the smallest budget, and at most {100 * (self.cost / self.least - 1):.2g} % above the "
            "least that any table with these budgets can have whose columns raise at most one answer each."
        )


def optimum(sizes: Sequence[int], budgets: Sequence[float], shares: Sequence[float]) -> Optimum:
    """The best table for groups of answers.

    Parameters
    ----------
    sizes, budgets, shares : sequence of numbers
        The number of answers, the budget in nats, and the share of the population of each group.

    Examples
    --------
    >>> found = optimum((1, 1), (1.0, 1.0), (0.5, 0.5))    # Warner's response
    >>> [round(weight, 6) for weight in found.weights], round(found.cost / found.uniform, 6)
    ([0.731059, 0.731059], 1.0)
    """
    problem = _Problem(tuple(sizes), tuple(budgets), tuple(shares))
    kinds = [kind for group in range(-1, len(sizes)) for kind in problem.vertices(group)]
    if len(sizes) > _ALL_BASES:
        used, weights, total, least = problem.searched(kinds)
    else:
        weights, _, least = problem.solved(kinds)
        used = [kind for kind, w in zip(kinds, weights, strict=True) if w * max(problem.sums(kind)) > _LEAST_KIND]
        weights, total, _ = problem.solved(used)
    used, weights = problem.roundable(kinds, used, weights)
    squares = sum(share**2 / size for share, size in zip(shares, sizes, strict=True))
    smallest, k = math.exp(min(budgets)), sum(sizes)
    uniform = (k - 1) * (k + 2 * (smallest - 1)) / (smallest - 1) ** 2 + 1 - squares
    return Optimum(tuple(used), tuple(weights), total - squares, uniform, least - squares)


@dataclass(frozen=True, slots=True)
class _Problem:
    sizes: tuple[int, ...]
    budgets: tuple[float, ...]
    shares: tuple[float, ...]

    def vertices(self, group: int) -> list[Kind]:
        """The kinds that raise an answer of a group: every level is tied to another by a bound that is tight."""
        groups = range(len(self.sizes))
        nodes = [a for a in groups if a != group or self.sizes[a] > 1]
        # Node -1 is the raised answer, at level 0 in logarithms; where there is none, each group in turn is at 0.
        first = [{(-1, 0.0)}] if group >= 0 else [{(a, 0.0)} for a in groups]

        def bound(a: int, b: int) -> float:
            return min(self.budgets[group if a < 0 else a], self.budgets[group if b < 0 else b])

        placed = {frozenset(one) for one in first}
        for _ in range(len(nodes) if group >= 0 else len(nodes) - 1):
            placed = {
                one | {(node, level)}
                for one in placed
                for node in nodes
                if all(node != near for near, _ in one)
                for near, height in one
                for level in (round(height - bound(node, near), 9), round(height + bound(node, near), 9))
                if level <= 0 and all(abs(level - other) <= bound(node, at) + 1e-8 for at, other in one)
            }
        # A group of one answer, where that is the raised one, has no other: its level is 0, that of no answer at all.
        found = {Kind(group, tuple(math.exp(dict(one).get(a, -math.inf)) for a in groups)) for one in placed}
        # Without a raised answer a group of one answer is at the top nowhere: that is the kind that raises it.
        lone = [a for a in groups if group < 0 and self.sizes[a] == 1]
        kept = (kind for kind in found if min(kind.levels) < 1 and all(kind.levels[a] < 1 for a in lone))
        return sorted(kept, key=lambda kind: kind.levels)

    def sums(self, kind: Kind) -> Row:
        """What all columns of a kind, at weight 1, add to the row of an answer of each group."""
        copies = 1 if kind.group < 0 else self.sizes[kind.group]
        found = [copies * level for level in kind.levels]
        if kind.group >= 0:
            found[kind.group] += 1 - kind.levels[kind.group]
        return found

    def bases(self, kinds: list[Kind]) -> "list[list[tuple[int, float]]]":
        """All choices of a kind a group whose weights are determined by the sums of the rows, and not negative."""
        count, sums, found = len(self.sizes), [self.sums(kind) for kind in kinds], set()
        for chosen in combinations(range(len(kinds)), count):
            weights = _solve([[sums[place][a] for place in chosen] + [1.0] for a in range(count)])
            if weights and min(weights) > -1e-12:
                pairs = ((place, weight) for place, weight in zip(chosen, weights, strict=True) if weight > 1e-12)
                found.add(tuple((place, round(weight, 14)) for place, weight in pairs))
        return [list(base) for base in sorted(found)]

    def solved(self, kinds: list[Kind]) -> tuple[Row, float, float]:
        """The weights of least f on these kinds, f itself, and a lower bound of it on them."""
        bases = self.bases(kinds)
        _, weights, total, least = self.mixed(kinds, bases, [1 / len(bases)] * len(bases), _STEPS, _CLOSE)
        return weights, total, least

    def searched(self, kinds: list[Kind]) -> tuple[list[Kind], Row, float, float]:
        """The kinds in use, their weights, f, and a lower bound of it on all, where bases are too many to list.

        The derivative of f is linear in a basic solution, so the best one to add is that of a linear program. Its
        derivative is the largest of all, which is what the lower bound needs.
        """
        search = BaseSearch([self.sums(kind) for kind in kinds])
        groups = range(-1, len(self.sizes))
        bases = [search.best([float(kind.group == group) for kind in kinds]) for group in groups]
        mixture, least = [1 / len(bases)] * len(bases), 0.0
        for _ in range(_MOST_BASES):
            mixture, weights, total, gains = self.among(kinds, bases, mixture)
            found = search.best(gains)
            least = max(least, total * total / sum(weight * gains[place] for place, weight in found))
            if total <= least * (1 + _CLOSE_OF_MORE):
                break
            mixture, bases = [(1 - _NEW) * share for share in mixture] + [_NEW], [*bases, found]
        kept = [(share, base) for share, base in zip(mixture, bases, strict=True) if share > _LEAST_BASE]
        scale = sum(share for share, _ in kept)
        _, weights, total, _ = self.among(kinds, [base for _, base in kept], [share / scale for share, _ in kept])
        used = [place for place, weight in enumerate(weights) if weight > 0]
        return [kinds[place] for place in used], [weights[place] for place in used], total, least

    def among(
        self, kinds: list[Kind], bases: "list[list[tuple[int, float]]]", mixture: Row
    ) -> tuple[Row, Row, float, Row]:
        """A mixture of these bases that is better; the weights, f and the derivatives of all kinds."""
        near = sorted({place for base in bases for place, _ in base})
        at = {place: i for i, place in enumerate(near)}
        local = [[(at[place], weight) for place, weight in base] for base in bases]
        some = [kinds[place] for place in near]
        mixture, found, _, _ = self.mixed(some, local, mixture, _INNER, _CLOSE)
        weights = [0.0] * len(kinds)
        for place, weight in zip(near, found, strict=True):
            weights[place] = weight
        total, gains = self.evaluated(kinds, weights)
        return mixture, weights, total, gains

    def mixed(
        self, kinds: list[Kind], bases: "list[list[tuple[int, float]]]", mixture: Row, steps: int, close: float
    ) -> tuple[Row, Row, float, float]:
        """The multiplicative algorithm: the mixture of bases, its weights, f, and a lower bound on these bases."""
        least = 0.0
        for step in range(steps):
            weights = [0.0] * len(kinds)
            for share, base in zip(mixture, bases, strict=True):
                for place, weight in base:
                    weights[place] += share * weight
            total, gains = self.evaluated(kinds, weights)
            towards = [sum(weight * gains[place] for place, weight in base) for base in bases]
            least = max(least, total * total / max(towards))
            if total <= least * (1 + close) or step == steps - 1:
                break
            mixture = [share * math.sqrt(gain / total) for share, gain in zip(mixture, towards, strict=True)]
            scale = sum(mixture)
            mixture = [share / scale for share in mixture]
        return mixture, weights, total, least

    def roundable(self, kinds: list[Kind], used: list[Kind], weights: Row) -> tuple[list[Kind], Row]:
        """With a column whose weight is one answer's own, or one that raises none, for every group.

        In such a column the weight of one group can be changed by one unit, which makes the rows add up exactly.
        """
        for group in range(len(self.sizes)):
            if not any(kind.group in (-1, group) for kind in used):
                search = BaseSearch([self.sums(kind) for kind in kinds])
                able = search.best([float(kind.group == group) for kind in kinds])
                if not any(kinds[place].group == group for place, _ in able):
                    raise ArithmeticError
                mixed = dict(zip(used, ((1 - _SHARE) * weight for weight in weights), strict=True))
                for place, weight in able:
                    mixed[kinds[place]] = mixed.get(kinds[place], 0.0) + _SHARE * weight
                used, weights = list(mixed), list(mixed.values())
        return used, weights

    def evaluated(self, kinds: list[Kind], weights: Row) -> tuple[float, Row]:
        """tr(I**-1), and minus its derivative in the weight of each kind."""
        groups, sizes = range(len(self.sizes)), self.sizes
        # I = diag(alone) + between, by groups; its inverse is diag(1 / alone) - inner / (alone alone').
        alone, between = [0.0] * len(sizes), [[0.0] * len(sizes) for _ in sizes]
        mean = []
        for kind, weight in zip(kinds, weights, strict=True):
            level, b = kind.levels, kind.group
            extra = 1 - level[b] if b >= 0 else 0.0
            chance = sum(self.shares[a] * level[a] for a in groups) + (
                self.shares[b] / sizes[b] * extra if b >= 0 else 0
            )
            mean.append(chance)
            if weight <= 0:
                continue
            each, copies = weight / chance, sizes[b] if b >= 0 else 1
            for a in groups:
                for c in groups:
                    shared = extra * (level[a] * (c == b) + level[c] * (a == b))
                    between[a][c] += each * (copies * level[a] * level[c] + shared)
            if b >= 0:
                alone[b] += each * extra**2
        for a in groups:
            if sizes[a] == 1:  # of one answer only the sum of the two parts matters
                between[a][a] += alone[a] - 1
                alone[a] = 1.0
        if min(alone) <= 0:
            return math.inf, [1.0] * len(kinds)
        columns = [
            _solve([[(a == c) + between[a][c] * sizes[c] / alone[c] for c in groups] + [between[a][b]] for a in groups])
            for b in groups
        ]
        if not all(columns):
            raise ArithmeticError
        inner = [[columns[c][a] for c in groups] for a in groups]
        total = sum(sizes[a] * (1 / alone[a] - inner[a][a] / alone[a] ** 2) for a in groups)
        gains = []
        for kind, chance in zip(kinds, mean, strict=True):
            level, b = kind.levels, kind.group
            sums = [sizes[a] * level[a] + (1 - level[a]) * (a == b) for a in groups]
            shift = [sum(inner[a][c] * sums[c] / alone[c] for c in groups) for a in groups]
            norm = sum((sizes[a] - (a == b)) * ((level[a] - shift[a]) / alone[a]) ** 2 for a in groups)
            if b >= 0:
                norm += ((1 - shift[b]) / alone[b]) ** 2
            gains.append((sizes[b] if b >= 0 else 1) * norm / chance)
        return total, gains


def budget_levels(budgets: Sequence[Fraction], most: int = MAX_LEVELS) -> list[Fraction]:
    """The budget of every answer, rounded down to one of a few: those that cost least.

    The cost of an answer is the variance of its share under randomised response with its budget alone, e**epsilon /
    (e**epsilon - 1)**2. The levels of least cost in sum are found among all, by dynamic programming.

    Parameters
    ----------
    budgets : sequence of Fraction
        The budgets.
    most : int
        How many are told apart.

    Examples
    --------
    >>> [float(level) for level in budget_levels([Fraction(x, 10) for x in (5, 6, 20, 21, 40)], 3)]
    [0.5, 0.6, 2.0, 2.0, 2.0]
    """
    distinct = sorted(set(budgets))
    if len(distinct) <= most:
        return list(budgets)
    cost = [0.25 / math.sinh(float(level) / 2) ** 2 for level in distinct]
    answers = [budgets.count(level) for level in distinct]
    # For every number of levels and every lowest one: the least cost of the answers from there on.
    rest: list[tuple[float, tuple[int, ...]]] = [(cost[i] * sum(answers[i:]), (i,)) for i in range(len(distinct))]
    for _ in range(most - 1):
        rest = [
            min(
                [
                    rest[i],
                    *((cost[i] * sum(answers[i:j]) + rest[j][0], (i, *rest[j][1])) for j in range(i + 1, len(rest))),
                ]
            )
            for i in range(len(distinct))
        ]
    levels = [distinct[i] for i in rest[0][1]]
    return [max(level for level in levels if level <= budget) for budget in budgets]


def budgets_table(budgets: Sequence[Fraction], shares: Sequence[float]) -> tuple[Budgets | None, Optimum]:
    """The table for a budget of every answer; None where nothing beats k-RR at the smallest budget.

    Parameters
    ----------
    budgets : sequence of Fraction
        The budget of every answer.
    shares : sequence of float
        The share of every answer in the population whose error is the least.

    Examples
    --------
    >>> table, found = budgets_table([Fraction(1, 2), Fraction(2), Fraction(2)], [1 / 3] * 3)
    >>> table.groups, table.epsilon, found.cost < found.uniform
    ((0, 1, 1), Fraction(2, 1), True)
    """
    for most in (MAX_LEVELS, _ALL_BASES, 2):
        levels = budget_levels(budgets, most)
        order = list(dict.fromkeys(levels))
        groups = [order.index(level) for level in levels]
        sizes = [groups.count(group) for group in range(len(order))]
        of_groups = [
            sum(share for share, at in zip(shares, groups, strict=True) if at == group) for group in range(len(order))
        ]
        for slack in _SLACKS if len(order) <= _ALL_BASES else _SLACKS_OF_MORE:
            # Budgets that are too far apart for floats end in a division by zero, those for 64 bits in a refusal.
            try:
                found = optimum(sizes, [float(level) * (1 - slack) for level in order], of_groups)
                if found.cost >= found.uniform * (1 - _CLOSE):
                    return None, found
                return _whole(groups, sizes, order, found), found
            except (SurveyError, ArithmeticError):
                continue
    raise SurveyError(
        f"epsilon must be budgets that 64-bit weights can keep, got {float(min(budgets)):g} to "
        f"{float(max(budgets)):g}; use more than {float(min(budgets)):g}, with which reports say next to nothing"
    )


def _whole(groups: list[int], sizes: list[int], budgets: list[Fraction], found: Optimum) -> Budgets:
    """The table in integers: rounded, and what is missing in a row added where one answer of its group is raised."""
    weights = []
    for kind, weight in zip(found.kinds, found.weights, strict=True):
        own = int(weight * 2.0**64)
        weights.append([own if kind.group >= 0 else 0, *(int(level * weight * 2.0**64) for level in kind.levels)])
    raised = [kind.group for kind in found.kinds]
    for group in range(len(sizes)):
        total = sum(
            (sizes[at] if at >= 0 else 1) * row[1 + group] + (row[0] - row[1 + group] if at == group else 0)
            for at, row in zip(raised, weights, strict=True)
        )
        # The largest weight that only this group has.
        able = [(row[0], row, 0) for at, row in zip(raised, weights, strict=True) if at == group]
        able += [(row[1 + group], row, 1 + group) for at, row in zip(raised, weights, strict=True) if at < 0]
        _, row, place = max(able, key=lambda each: each[0])
        row[place] += (1 << 64) - total
    return Budgets(groups, budgets, raised, weights)


def _solve(rows: list[Row]) -> Row:
    """The solution of a small linear system, its right side last, by elimination; empty if it has none."""
    size = len(rows)
    rows = [list(row) for row in rows]
    for step in range(size):
        pivot = max(range(step, size), key=lambda i: abs(rows[i][step]))
        if abs(rows[pivot][step]) < 1e-12:
            return []
        rows[step], rows[pivot] = rows[pivot], rows[step]
        for i in range(size):
            if i != step and rows[i][step]:
                factor = rows[i][step] / rows[step][step]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[step], strict=True)]
    return [row[size] / row[place] for place, row in enumerate(rows)]

"""The best basic solution of sum_v t_v s_v = (1, ..., 1), t >= 0, by the revised simplex method in plain Python.

For `budgets`: v are kinds of columns, s_v what they add to the rows of each group, and a basic solution has at most a
kind for each group. There are a handful of equations and about a thousand kinds. Searches follow each other with
similar gains, so each begins where the last one ended.
"""

from collections.abc import Sequence

_PIVOTS = 2000  # of one search, at most
_CAREFUL = 200  # pivots after which the first kind that gains is taken, which cannot go in circles (Bland)
_GAINED = 1e-10  # relative gain below which a kind is as good as those in use
_TINY = 1e-12  # an entry of a pivot column that is rounding

Row = list[float]


class BaseSearch:
    """The equations, and the base at which the last search ended.

    >>> BaseSearch([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]).best([1, 1, 3])
    [(2, 1.0)]
    """

    def __init__(self, sums: Sequence[Row]) -> None:
        self.sums, self.size = sums, len(sums[0])
        # Numbers below zero stand for a kind that adds to one row alone and that no solution may use.
        self.base = [-1 - a for a in range(self.size)]
        self.inverse = [[float(a == b) for b in range(self.size)] for a in range(self.size)]
        self.weights = [1.0] * self.size

    def best(self, gains: Sequence[float]) -> list[tuple[int, float]]:
        """The kinds and weights of the basic solution with the largest sum of weight times gain."""
        rows, penalty = range(self.size), -1e6 * (1 + max(map(abs, gains)))
        close = _GAINED * (1 + max(map(abs, gains)))
        for pivot in range(_PIVOTS):
            own = [gains[place] if place >= 0 else penalty for place in self.base]
            prices = [sum(own[i] * self.inverse[i][a] for i in rows) for a in rows]
            over = [
                gain - sum(price * part for price, part in zip(prices, column, strict=True))
                for gain, column in zip(gains, self.sums, strict=True)
            ]
            enters = max(range(len(over)), key=over.__getitem__)
            if over[enters] <= close:
                break
            if pivot >= _CAREFUL:
                enters = next(place for place, gain in enumerate(over) if gain > close)
            self._enter(enters)
        if any(place < 0 and weight > 1e-9 for place, weight in zip(self.base, self.weights, strict=True)):
            raise ArithmeticError("no mixture of these columns makes rows that add up")
        pairs = zip(self.base, self.weights, strict=True)
        return [(place, weight) for place, weight in pairs if place >= 0 and weight > _TINY]

    def _enter(self, enters: int) -> None:
        """One kind takes the place of the one that reaches zero first."""
        rows, column = range(self.size), self.sums[enters]
        moved = [sum(a * b for a, b in zip(row, column, strict=True)) for row in self.inverse]
        able = [i for i in rows if moved[i] > _TINY]
        if not able:
            raise ArithmeticError("a kind of columns must add to a row")
        leaves = min(able, key=lambda i: (self.weights[i] / moved[i], self.base[i]))
        scaled = [part / moved[leaves] for part in self.inverse[leaves]]
        for i in rows:
            self.inverse[i] = (
                scaled
                if i == leaves
                else [own - moved[i] * part for own, part in zip(self.inverse[i], scaled, strict=True)]
            )
        self.base[leaves] = enters
        self.weights = [max(sum(row), 0.0) for row in self.inverse]

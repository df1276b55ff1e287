"""What hides one person in a crowd: the part of the others' reports that does not depend on their answers.

Let p be the largest ratio of the chances of one report under two answers. The reports of any two answers x and y are
mixtures of the same three laws: x's with weights (p a, a, 1 - (p + 1) a), y's with (a, p a, 1 - (p + 1) a), where
a (p - 1) is their total variation. Everybody's reports are at least 1/p times as likely as the likelier of the two, so
every other report is drawn from the same three laws with weights (a, a, (1 - (p + 1) a) / p), at least. All other
reports are given to whoever looks, with their number: that can only tell more. What is left is exact: how many reports
there are of each of the three kinds, with one person's among them.

The third weight matters. To leave it out, and to let reports of the third kind pass for any others (as the
variation-ratio reduction of Wang and others, 2024, does) gives slightly less than the truth: `tests/exact` has a crowd
of four for which it does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from deniable.crowds.binomials import BITS, BinomialWindow
from deniable.crowds.divergence import Pair

_WIDTH = 10**-3  # relative: crowds that differ by less are taken for the smaller one; moves epsilon by half of it
_BLOCKS = 64  # of crowds that are taken for one, at most


@dataclass(frozen=True, slots=True)
class Blanket:
    """Two answers' reports, and the reports that each of the others gives whatever the answer is.

    Parameters
    ----------
    odds : Fraction
        The largest ratio p of the chances of one report under two answers.
    each : Fraction
        The weight a of the reports that speak for one of the two, in each of the others' reports.
    rest : Fraction
        The weight of those that speak for neither, in the same way.
    own : Fraction
        The weight a of the person's own, where it is not the same.

    Examples
    --------
    >>> blanket = Blanket.of(Fraction(3), Fraction(1, 2))       # Warner's: nothing speaks for neither
    >>> blanket.each, blanket.rest, round(float(blanket.divergence(100, Fraction(2), cut=Fraction(1, 10**9))), 9)
    (Fraction(1, 4), Fraction(0, 1), 3.8e-08)
    """

    odds: Fraction
    each: Fraction
    rest: Fraction
    own: Fraction

    @classmethod
    def of(cls, odds: Fraction, distance: Fraction, *, rest: Fraction | None = None) -> "Blanket":
        """Two answers of one total variation.

        Parameters
        ----------
        odds : Fraction
            The largest ratio of the chances of one report, over all answers.
        distance : Fraction
            Their total variation.
        rest : Fraction, optional
            Which share of the reports that speak for neither is in everybody's; 1 / odds always is.
        """
        own = distance / (odds - 1)
        return cls(odds, own, (1 - (odds + 1) * own) * (1 / odds if rest is None else rest), own)

    @classmethod
    def up_to(cls, odds: Fraction, distance: Fraction) -> "Blanket":
        """Any two answers of at most this total variation.

        Where it is less by a factor f, every report of the first two kinds is taken for one of the third with chance
        1 - f: that makes (own f, own f, ...) of the person's weights, and of the others' at most what they have.

        Parameters
        ----------
        odds : Fraction
            The largest ratio of the chances of one report, over all answers.
        distance : Fraction
            The largest total variation.
        """
        exact = cls.of(odds, distance)
        return cls(odds, exact.own * (odds + 1) / (2 * odds), exact.rest, exact.own)

    @property
    def mass(self) -> Fraction:
        """The share of every other report that hides."""
        return 2 * self.each + self.rest

    @property
    def pair(self) -> Pair:
        """One person among reports that all hide."""
        mine, around = (self.odds * self.own, self.own), self.each / self.mass
        return Pair(mine, (mine[1], mine[0]), (around, around))

    def divergence(self, n: int, odds: Fraction, *, cut: Fraction, cohorts: int = 1) -> Fraction:
        """An upper bound of how far apart two crowds of n are.

        Parameters
        ----------
        n : int
            People, the one included.
        odds : Fraction
            e**epsilon, at least 1.
        cut : Fraction
            How much of the numbers of others may be left out of each sum; it is added.
        cohorts : int
            Cohorts: only those who are in the person's hide it.
        """
        if (self.odds + 1) * self.own == 1:  # nothing is of the third kind, so that their number is seen anyway
            around = self.each / cohorts
            return replace(self.pair, others=(around, around)).divergence(n, odds, cut)[1]
        window = BinomialWindow.around(n - 1, self.mass / cohorts, cut)
        total, pair = window.outside, self.pair
        for hiding, chance in _blocks(window):
            # More reports that hide never tell more: they could be added by whoever looks.
            total += chance * pair.divergence(hiding + 1, odds, cut)[1]
        return total


def _blocks(window: BinomialWindow) -> Iterator[tuple[int, Fraction]]:
    """The least number of each block of numbers, and an upper bound of the block's chance."""
    first, last = max(window.first, 0), window.last
    least = max((last - first) // _BLOCKS, 1)
    while first <= last:
        following = first + max(int(first * _WIDTH), least)
        values = window.values[first - window.first : following - window.first]
        high = sum(value[1] for value in values)
        if high:
            yield first, Fraction(high, 1 << BITS)
        first = following

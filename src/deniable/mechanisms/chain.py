"""Two stages: a permanent response that is drawn once for an answer, and every report randomised again from it.

RAPPOR's permanent and instantaneous randomised response (Erlingsson, Pihur and Korolova 2014), for every family here.
All reports of an unchanged answer are drawn from one permanent response, so together they say no more than it does:
`epsilon`, the lifetime's. One report alone says less: `report_bound`.

The second stage keeps the permanent response or replaces it by chance. k-RR and designs name one of the other cells
with weight `again` each; bits are flipped below `again`; a set is replaced by any set of its size below `again`. Each
of these moves a column's probability p of being hit towards u, that of a response that says nothing:

    p  ->  u + slope (p - u)        slope = 1 - n again / 2**width        (n, u) = (b, 1 / b), (2, 1 / 2), (1, w / k)

so the chain is a channel of the same family with another hit and miss, and the slopes of the stages multiply. (The
formula in public code leaves out the paths through a third cell; it spends 0.70 where it was asked for 1.)
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.base import Carrier, HitOrMiss, Mechanism
from deniable.mechanisms.odds import at_most_exp, epsilon_text, parse_epsilon
from deniable.noise import Entropy


@dataclass(frozen=True, slots=True, init=False)
class Chain(HitOrMiss):
    """A permanent mechanism, and a second stage of its family that each report goes through afresh.

    `again` is the least integer for which one report keeps `report_bound`; everything else is the composed channel.

    Claim: Q(y|x) <= e**report_bound * Q(y|x') for one report; for any number of reports of one answer together the
        ratio is at most e**epsilon.
    Proof: tests/exact/test_chain.py::test_two_reports_of_an_answer_keep_the_lifetime_promise

    Parameters
    ----------
    permanent : Mechanism
        The first stage, drawn once for an answer.
    epsilon_report : float, str or Fraction
        The budget of one report, in nats; below that of `permanent`.

    Examples
    --------
    >>> from deniable.mechanisms import KRR
    >>> m = Chain(KRR(cells=10, epsilon=2), epsilon_report=1)
    >>> round(m.epsilon_report, 12), round(m.epsilon_spent, 12)
    (1.0, 2.0)
    >>> list(m.report_thresholds())
    ['report_keep', 'report_other']
    >>> m.hit == Fraction(m.permanent.keep * (2**64 - 9 * m.again) + 9 * m.permanent.other * m.again, 2**128)
    True
    """

    kind: ClassVar[str] = "chain"
    permanent: HitOrMiss
    report_bound: Fraction
    again: int = field(repr=False)

    def __init__(self, permanent: Mechanism, epsilon_report: object) -> None:
        put = object.__setattr__
        if not isinstance(permanent, HitOrMiss) or not permanent.again_fields:
            table = ": a table has none that would keep the promise of each pair" if not permanent.two_valued else ""
            raise SurveyError(f"a chain must start with one stage of its own, got {permanent.kind!r}{table}")
        put(self, "permanent", permanent)
        put(self, "report_bound", parse_epsilon(epsilon_report, "epsilon_report"))
        if self.report_bound >= permanent.epsilon:
            raise SurveyError(
                f"epsilon_report must be below epsilon, {epsilon_text(permanent.epsilon)}, got "
                f"{epsilon_text(self.report_bound)}; leave it out where one report may spend all of epsilon"
            )
        put(self, "again", 0)
        # The more often a report is replaced the less it says, so the least number that keeps the promise is found by
        # halving; it is one well-defined integer, because e**x is irrational.
        low, high = 0, (1 << self.width) // permanent.again_parts
        while low < high:
            middle = (low + high) // 2
            put(self, "again", middle)
            if at_most_exp(self.odds, self.report_bound):
                high = middle
            else:
                low = middle + 1
        put(self, "again", low)
        if not at_most_exp(self.odds, self.report_bound) or not low or self._spends_too_little():
            raise SurveyError(
                f"epsilon_report must be realisable in {self.width}-bit words after epsilon "
                f"{epsilon_text(permanent.epsilon)}, got {epsilon_text(self.report_bound)} for {self.cells} cells; "
                "use one that is larger, or further below epsilon"
            )

    def _spends_too_little(self) -> bool:
        return self.width == 64 and self.epsilon_report < 0.99 * self.report_bound

    def _towards_blind(self, chance: Fraction) -> Fraction:
        slope = 1 - Fraction(self.permanent.again_parts * self.again, 1 << self.width)
        return self.permanent.blind + slope * (chance - self.permanent.blind)

    @property
    def cells(self) -> int:  # type: ignore[override]
        """The number of cells, that of the first stage."""
        return self.permanent.cells

    @property
    def epsilon(self) -> Fraction:  # type: ignore[override]
        """The lifetime's budget, in nats."""
        return self.permanent.epsilon

    @property
    def width(self) -> int:  # type: ignore[override]
        """Bits of a random word, those of the first stage."""
        return self.permanent.width

    @property
    def outputs(self) -> int:
        return self.permanent.outputs

    @property
    def hits(self) -> int | None:
        return self.permanent.hits

    @property
    def hit(self) -> Fraction:
        return self._towards_blind(self.permanent.hit)

    @property
    def miss(self) -> Fraction:
        return self._towards_blind(self.permanent.miss)

    def odds_of(self, hit: Fraction, miss: Fraction) -> Fraction:
        return self.permanent.odds_of(hit, miss)

    def pairs_of(self, hit: Fraction, miss: Fraction) -> tuple[Fraction, Fraction]:
        return self.permanent.pairs_of(hit, miss)

    def probability_of(self, response: int, cells: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        return self.permanent.probability_of(response, cells, hit, miss)

    def ratio_of(self, cells: Sequence[int], others: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        return self.permanent.ratio_of(cells, others, hit, miss)

    def allows(self, response: int) -> bool:
        return self.permanent.allows(response)

    def columns_hit(self, response: int) -> Iterable[int]:
        return self.permanent.columns_hit(response)

    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        return self.refresh(self.permanent.randomize(cells, entropy), entropy)

    def refresh(self, response: int, entropy: Entropy) -> int:
        return self.permanent.randomize_again(response, self.again, entropy)

    def thresholds(self) -> dict[str, int]:
        return self.permanent.thresholds() | self.report_thresholds()

    def report_thresholds(self) -> dict[str, int]:
        """The integers of the second stage alone, by the names surveys store them under."""
        stage = self.permanent.again_thresholds(self.again)
        return dict(zip(self.permanent.again_fields, stage, strict=True))

    def title(self, *, own_cells: bool) -> str:
        return self.permanent.title(own_cells=own_cells)

    def rebudgeted(self, epsilon: Fraction, encoding: Carrier) -> "Chain":
        return Chain(self.permanent.rebudgeted(epsilon, encoding), self.report_bound * epsilon / self.epsilon)

    def check(self, encoding: Carrier) -> None:
        self.permanent.check(encoding)

"""What every randomiser is: a channel Q on cells, with its privacy claim attached."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, ClassVar

from deniable.errors import SurveyError
from deniable.mechanisms.odds import log_floor
from deniable.noise import Entropy

__all__ = ["Mechanism", "check_size", "whole_number"]


def whole_number(value: Any) -> int | None:
    """The integer that `value` is, or None, as for truth values; nothing of it, nor an error about it, gets out."""
    # Older NumPy lets its truth values pass for the integers 0 and 1.
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        return None
    try:
        return int(operator.index(value))
    except TypeError:
        return None


def check_size(name: str, value: object, low: int, high: int) -> int:
    """`value` if it is an integer in [low, high], else a sentence that names it."""
    number = whole_number(value)
    if number is None:
        raise SurveyError(f"{name} must be an integer, got {type(value).__name__}")
    if not low <= number <= high:
        raise SurveyError(
            f"{name} must be at least {low}, got {number}"
            if number < low
            else f"{name} must be at most {high}, got {number}"
        )
    return number


class Mechanism(ABC):
    """A randomiser: the cells of one answer in, one integer response out.

    A response below `outputs` hits some of `columns` columns of the tally. For a cell that the answer occupies the
    column is hit with probability `hit`, for any other with probability `miss`; decoders use these realised rationals
    and never the nominal e**epsilon.
    """

    __slots__ = ()

    kind: ClassVar[str]
    cells: int
    epsilon: Fraction
    width: int

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many counters one cohort of the tally has."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many responses exist: a response is an integer in [0, outputs)."""

    @property
    @abstractmethod
    def hit(self) -> Fraction:
        """P(column j is hit | cell j is occupied)."""

    @property
    @abstractmethod
    def miss(self) -> Fraction:
        """P(column j is hit | cell j is not occupied)."""

    # The formulas of the family at any hit and miss, so that a chain of two stages of one family can use them too.
    @abstractmethod
    def odds_of(self, hit: Fraction, miss: Fraction) -> Fraction:
        """`odds` if columns were hit with these probabilities."""

    @abstractmethod
    def pairs_of(self, hit: Fraction, miss: Fraction) -> tuple[Fraction, Fraction]:
        """`pairs` if columns were hit with these probabilities."""

    @abstractmethod
    def probability_of(self, response: int, cells: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        """`probability` if columns were hit with these probabilities."""

    @property
    def odds(self) -> Fraction:
        """The largest ratio Q(y|x) / Q(y|x') over all inputs and outputs of one report, exactly."""
        return self.odds_of(self.hit, self.miss)

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """P(two given columns are both hit | neither cell is occupied), and the same if one of the two cells is."""
        return self.pairs_of(self.hit, self.miss)

    @property
    def hits(self) -> int | None:
        """How many columns every response hits, or None where that varies."""
        return 1 if self.one_column else None

    def allows(self, response: int) -> bool:
        """Whether the mechanism can produce this response at all."""
        return 0 <= response < self.outputs

    @abstractmethod
    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        """One response to the occupied `cells`, from fresh words of `entropy`."""

    def probability(self, response: int, cells: Sequence[int]) -> Fraction:
        """Q(response | cells), exactly: the published channel of one report."""
        return self.probability_of(response, cells, self.hit, self.miss)

    @property
    def permanent(self) -> "Mechanism":
        """The stage whose words a memoising client draws once for an answer; all of it, unless this is a `Chain`."""
        return self

    def refresh(self, response: int, entropy: Entropy) -> int:
        """What a report sends for a permanent response: the response itself, unless this is a `Chain`."""
        return response

    @abstractmethod
    def columns_hit(self, response: int) -> Iterable[int]:
        """The tally columns that this response counts in."""

    @abstractmethod
    def thresholds(self) -> dict[str, int]:
        """The integers that define the channel, by the names surveys store them under."""

    @property
    def one_column(self) -> bool:
        """Whether a response is the number of the one column it hits; otherwise it is a bitmap of the columns hit.

        Everything behind the wire (tables, tallies, simulation, covariance) asks this and not which mechanism it is.
        """
        return self.outputs == self.columns

    @property
    def payload_bytes(self) -> int:
        """Bytes of a packed response; the same for every answer."""
        return ((self.outputs - 1).bit_length() + 7) // 8

    @property
    def report_bound(self) -> Fraction:
        """The epsilon that one report was asked to stay within: `epsilon`, unless this is a `Chain`."""
        return self.epsilon

    @property
    def epsilon_report(self) -> float:
        """ln of the worst likelihood ratio of one report, from the realised integers; never above `report_bound`."""
        return log_floor(self.odds, self.report_bound)

    @property
    def epsilon_spent(self) -> float:
        """ln of the worst likelihood ratio of all reports of an answer, never above `epsilon`.

        Paper: the definition of local differential privacy, section 2.1.
        Claim: odds <= e**epsilon, exactly.
        Proof: tests/exact/test_thresholds.py::test_thresholds_keep_the_promise
        """
        return log_floor(self.permanent.odds, self.epsilon)

    def _check_resolution(self) -> None:
        if self.width == 64 and self.epsilon_spent < 0.99 * self.epsilon:
            raise SurveyError(
                f"epsilon must be realisable in {self.width}-bit words, got {float(self.epsilon):g} for {self.cells} "
                f"cells, which would spend only {max(self.epsilon_spent, 0.0):.4g}; "
                f"use a {'larger epsilon or fewer cells' if self.epsilon < 1 else 'smaller epsilon'}"
            )

"""What every randomiser is: a channel Q on cells, with its privacy claim attached."""

import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, ClassVar, Protocol

from deniable.errors import SurveyError
from deniable.mechanisms.odds import epsilon_text, log_floor
from deniable.noise import Entropy


def whole_number(value: Any) -> int | None:
    """The integer that `value` is, or None, as for truth values; nothing of it, nor an error about it, gets out.

    Parameters
    ----------
    value : object
        Anything.

    Examples
    --------
    >>> whole_number(7), whole_number(True), whole_number("7")
    (7, None, None)
    """
    # Older NumPy lets its truth values pass for the integers 0 and 1.
    if isinstance(value, bool) or getattr(getattr(value, "dtype", None), "kind", "") == "b":
        return None
    try:
        return int(operator.index(value))
    except TypeError:
        return None


def check_size(name: str, value: object, low: int, high: int) -> int:
    """`value` if it is an integer in [low, high], else a sentence that names it.

    Parameters
    ----------
    name : str
        What the value is called in the sentence.
    value : object
        The value.
    low, high : int
        The least and the largest that it may be.

    Raises
    ------
    SurveyError
        If it is something else.

    Examples
    --------
    >>> check_size("cells", 1, 2, 10)
    Traceback (most recent call last):
    ...
    deniable.errors.SurveyError: cells must be at least 2, got 1
    """
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


class Carrier(Protocol):
    """What a mechanism asks of the encoding that it stands on (`survey.Encoding`).

    Examples
    --------
    >>> import deniable as dn
    >>> encoding = dn.krr(symbols=3, epsilon=1).encoding
    >>> encoding.kind, encoding.cells, encoding.hashes, encoding.occupied, encoding.own_cells
    ('direct', 3, 1, 1, True)
    """

    @property
    def kind(self) -> str:
        """What surveys call it."""

    @property
    def cells(self) -> int:
        """How many cells one cohort has."""

    @property
    def hashes(self) -> int:
        """How many hash functions, or cells of a block, an answer has."""

    @property
    def occupied(self) -> int | None:
        """How many cells an answer occupies, or None where that varies."""

    @property
    def own_cells(self) -> bool:
        """Whether every symbol has a cell of its own."""


class Mechanism(ABC):
    """A randomiser: the cells of one answer in, one integer response out.

    A response below `outputs` hits some of `columns` columns of the tally. Its law is `weights`: for the cells that an
    answer occupies a row of exact integers, one a column, over `span`. Most mechanisms have but two of them
    (`HitOrMiss`), and everything behind the wire is fast for these; a `Channel` has any.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.noise import OsEntropy
    >>> m = dn.krr(symbols=3, epsilon=1).mechanism
    >>> m.title(own_cells=True), m.settings(), list(m.thresholds()), list(m.to_json())
    ('k-RR', {}, ['keep', 'other'], ['kind', 'epsilon', 'width', 'keep', 'other'])
    >>> response = m.refresh(m.randomize((0,), OsEntropy()), OsEntropy())
    >>> m.allows(response), list(m.columns_hit(response)) == [response]
    (True, True)
    >>> m.weights((0,))[1] == m.thresholds()["other"], m.probability(1, (0,)) == m.miss
    (True, True)
    >>> m.ratio((0,), (1,)) == m.odds, m.ratio((0,), (0,)), m.bound((0,), (1,)), m.telling, m.named_by(2)
    (True, Fraction(1, 1), Fraction(1, 1), (), 2)
    >>> m.check(dn.krr(symbols=3, epsilon=1).encoding)
    >>> m.rebudgeted(Fraction(2), dn.krr(symbols=4, epsilon=1).encoding)
    KRR(cells=4, epsilon=Fraction(2, 1), width=64, occupied=1)
    """

    __slots__ = ()

    kind: ClassVar[str]
    two_valued: ClassVar[bool] = False  # whether this is a `HitOrMiss`
    keeps_budget: ClassVar[bool] = True  # whether its weights follow from no budget, so that it has no other one
    again_fields: ClassVar[tuple[str, ...]] = ()  # names of the integers of a second stage; none: it cannot have one
    cells: int
    epsilon: Fraction
    width: int

    @property
    def columns(self) -> int:
        """How many counters one cohort of the tally has."""
        return self.cells

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many responses exist: a response is an integer in [0, outputs)."""

    @property
    def span(self) -> int:
        """What `weights` are over."""
        return 1 << self.width

    @abstractmethod
    def weights(self, cells: Sequence[int]) -> Sequence[int]:
        """The law of the tally: P(column j is hit | cells) is weights[j] / span, exactly.

        Parameters
        ----------
        cells : sequence of int
            The cells that the answer occupies.
        """

    @property
    def affine(self) -> tuple[float, float]:
        """(miss, r): column j is hit with probability miss + r x_j, where x = H p for the design H of the survey.

        Where the law is not two-valued the design holds the law itself, and this is (0, 1).
        """
        return 0.0, 1.0

    @property
    def hit(self) -> Fraction:
        """P(column j is hit | cell j is occupied), where that is one number."""
        raise SurveyError(f"a {self.kind!r} mechanism must be asked for weights: it is not hit or miss")

    @property
    def miss(self) -> Fraction:
        """P(column j is hit | cell j is not occupied), where that is one number."""
        raise SurveyError(f"a {self.kind!r} mechanism must be asked for weights: it is not hit or miss")

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        """P(two given columns are both hit | neither cell is occupied), and the same if one of the two cells is."""
        raise SurveyError(f"a {self.kind!r} mechanism must be asked for weights: it is not hit or miss")

    @property
    @abstractmethod
    def odds(self) -> Fraction:
        """The largest ratio Q(y|x) / Q(y|x') over all inputs and outputs of one report, exactly."""

    @abstractmethod
    def ratio(self, cells: Sequence[int], others: Sequence[int]) -> Fraction | None:
        """The largest ratio Q(y|cells) / Q(y|others) over the responses of one report, exactly; None if it is infinite.

        Parameters
        ----------
        cells, others : sequence of int
            The cells of two answers.
        """

    def bound(self, cells: Sequence[int], others: Sequence[int]) -> Fraction | None:
        """The epsilon that is promised to an answer against another, for all its reports; None if nothing is.

        Parameters
        ----------
        cells, others : sequence of int
            The cells of the answer that is given, and of the one that is claimed instead.
        """
        return self.epsilon

    def named_by(self, column: int) -> int | None:
        """The cell that a column of the tally stands for; None if it stands for several, or for none.

        Parameters
        ----------
        column : int
            A column.
        """
        return column

    @property
    def telling(self) -> Sequence[int]:
        """Cells of answers that show every promise, where these differ from answer to answer; else none."""
        return ()

    @property
    def said(self) -> tuple[str | int, ...]:
        """What people say, a name a column, where they randomise by hand; nothing where a device does."""
        return ()

    @property
    def hits(self) -> int | None:
        """How many columns every response hits, or None where that varies."""
        return 1 if self.one_column else None

    def allows(self, response: int) -> bool:
        """Whether the mechanism can produce this response at all.

        Parameters
        ----------
        response : int
            Any integer.
        """
        return 0 <= response < self.outputs

    @abstractmethod
    def randomize(self, cells: Sequence[int], entropy: Entropy) -> int:
        """One response to the occupied `cells`, from fresh words of `entropy`.

        Parameters
        ----------
        cells : sequence of int
            The cells that the answer occupies.
        entropy : Entropy
            Where fresh words come from.
        """

    @abstractmethod
    def probability(self, response: int, cells: Sequence[int]) -> Fraction:
        """Q(response | cells), exactly: the published channel of one report.

        Parameters
        ----------
        response : int
            A number below `outputs`.
        cells : sequence of int
            The cells that the answer occupies.
        """

    @property
    def permanent(self) -> "Mechanism":
        """The stage whose words a memoising client draws once for an answer; all of it, unless this is a `Chain`."""
        return self

    @property
    def twice(self) -> bool:
        """Whether every report is randomised again from a permanent response: whether this is a `Chain`."""
        return self.permanent is not self

    def refresh(self, response: int, entropy: Entropy) -> int:
        """What a report sends for a permanent response: the response itself, unless this is a `Chain`.

        Parameters
        ----------
        response : int
            A response of `permanent`.
        entropy : Entropy
            Where fresh words come from.
        """
        return response

    def columns_hit(self, response: int) -> Iterable[int]:
        """The tally columns that this response counts in: the bits of a bitmap.

        Parameters
        ----------
        response : int
            A number below `outputs`.
        """
        while response:
            last = response & -response
            yield last.bit_length() - 1
            response ^= last

    @abstractmethod
    def thresholds(self) -> dict[str, int]:
        """The integers that define the channel, by the names surveys store them under."""

    @abstractmethod
    def title(self, *, own_cells: bool) -> str:
        """Its name in the literature.

        Parameters
        ----------
        own_cells : bool
            Whether every symbol is a cell of its own; elsewhere the name is another.
        """

    @abstractmethod
    def check(self, encoding: Carrier) -> None:
        """Refuse an encoding that the privacy claim does not hold on.

        Parameters
        ----------
        encoding : Carrier
            What the mechanism is to stand on.

        Raises
        ------
        SurveyError
            If it does not fit.
        """

    @property
    def words(self) -> str:
        """Its own parameters in words, for `repr` of a survey."""
        return ""

    def settings(self) -> dict[str, object]:
        """Parameters of its own, by the names surveys store them under: integers, text, or lists of them."""
        return {}

    def to_json(self) -> dict[str, object]:
        """What a survey stores of it, kind first."""
        first = self.permanent
        fields: dict[str, object] = {"kind": first.kind, "epsilon": epsilon_text(self.epsilon), "width": self.width}
        report = {"epsilon_report": epsilon_text(self.report_bound)} if self.twice else {}
        return fields | first.settings() | report | {name: str(value) for name, value in self.thresholds().items()}

    def rebudgeted(self, epsilon: Fraction, encoding: Carrier) -> "Mechanism":
        """The same mechanism at another budget, on the cells of an encoding: what a form shares its budget by.

        Parameters
        ----------
        epsilon : Fraction
            The new budget, in nats.
        encoding : Carrier
            What it is to stand on.

        Raises
        ------
        SurveyError
            If there is none: a table of weights is made for one budget, and for its answers.
        """
        if encoding.cells != self.cells:
            raise SurveyError(
                f"a {self.kind!r} mechanism must keep the {self.cells} answers that it was made for, got "
                f"{encoding.cells}; make 'no answer' one of them, instead of a question that may be skipped"
            )
        if epsilon == self.epsilon:
            return self
        raise SurveyError(
            f"a {self.kind!r} mechanism must keep the budget that it was made for: its weights do not follow from one; "
            "use krr, subset or another mechanism that hides all answers alike"
        )

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


class HitOrMiss(Mechanism):
    """A column is hit with probability `hit` if its cell is occupied, else with probability `miss`.

    Decoders use these realised rationals and never the nominal e**epsilon.

    Examples
    --------
    >>> from deniable.mechanisms import KRR
    >>> from deniable.noise import OsEntropy
    >>> m, half, quarter = KRR(cells=3, epsilon=1), Fraction(1, 2), Fraction(1, 4)
    >>> m.odds_of(half, quarter), m.probability_of(0, (0,), half, quarter)
    (Fraction(2, 1), Fraction(1, 2))
    >>> m.pairs_of(half, quarter) == m.pairs      # a report names one cell
    True
    >>> m.ratio_of((0,), (2,), half, quarter), m.ratio_of((0,), (0,), half, quarter)
    (Fraction(2, 1), Fraction(1, 1))
    >>> m.again_thresholds(2**60) == (2**64 - 2 * 2**60, 2**60), m.randomize_again(0, 2**60, OsEntropy()) in range(3)
    (True, True)
    """

    __slots__ = ()

    two_valued: ClassVar[bool] = True
    keeps_budget: ClassVar[bool] = False

    # The formulas of the family at any hit and miss, so that a chain of two stages of one family can use them too.
    @abstractmethod
    def odds_of(self, hit: Fraction, miss: Fraction) -> Fraction:
        """`odds` if columns were hit with these probabilities.

        Parameters
        ----------
        hit, miss : Fraction
            The two probabilities.
        """

    @abstractmethod
    def pairs_of(self, hit: Fraction, miss: Fraction) -> tuple[Fraction, Fraction]:
        """`pairs` if columns were hit with these probabilities.

        Parameters
        ----------
        hit, miss : Fraction
            The two probabilities.
        """

    @abstractmethod
    def probability_of(self, response: int, cells: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        """`probability` if columns were hit with these probabilities.

        Parameters
        ----------
        response : int
            A number below `outputs`.
        cells : sequence of int
            The cells that the answer occupies.
        hit, miss : Fraction
            The two probabilities.
        """

    def ratio_of(self, cells: Sequence[int], others: Sequence[int], hit: Fraction, miss: Fraction) -> Fraction:
        """`ratio` if columns were hit with these probabilities.

        Parameters
        ----------
        cells, others : sequence of int
            The cells of two answers.
        hit, miss : Fraction
            The two probabilities.
        """
        return Fraction(1) if set(cells) == set(others) else self.odds_of(hit, miss)

    # A second stage (`Chain`) keeps a response or replaces it by chance, with the weight `again`. A family that has one
    # names its integers in `again_fields`, and says the rest here.
    @property
    def again_parts(self) -> int:
        """How many parts of `again` words each there are in a second stage that says nothing."""
        raise NotImplementedError

    @property
    def blind(self) -> Fraction:
        """P(a column is hit) by a response that says nothing."""
        return Fraction(1, self.again_parts)

    def again_thresholds(self, again: int) -> tuple[int, ...]:
        """The integers of a second stage, in the order of `again_fields`.

        Parameters
        ----------
        again : int
            The weight, over 2**width, with which a response is replaced; `Chain` finds it.
        """
        raise NotImplementedError

    def randomize_again(self, response: int, again: int, entropy: Entropy) -> int:
        """One response of the second stage to one of the first.

        Parameters
        ----------
        response : int
            A response of the first stage.
        again : int
            The weight, over 2**width, with which a response is replaced; `Chain` finds it.
        entropy : Entropy
            Where fresh words come from.
        """
        raise NotImplementedError

    @property
    def span(self) -> int:
        return lcm(self.hit.denominator, self.miss.denominator)

    def weights(self, cells: Sequence[int]) -> Sequence[int]:
        row = [int(self.miss * self.span)] * self.columns
        for cell in cells:
            row[cell] = int(self.hit * self.span)
        return row

    @property
    def affine(self) -> tuple[float, float]:
        return float(self.miss), float(self.hit - self.miss)  # the difference first: it may be tiny

    @property
    def odds(self) -> Fraction:
        return self.odds_of(self.hit, self.miss)

    @property
    def pairs(self) -> tuple[Fraction, Fraction]:
        return self.pairs_of(self.hit, self.miss)

    def probability(self, response: int, cells: Sequence[int]) -> Fraction:
        return self.probability_of(response, cells, self.hit, self.miss)

    def ratio(self, cells: Sequence[int], others: Sequence[int]) -> Fraction:
        return self.ratio_of(cells, others, self.hit, self.miss)

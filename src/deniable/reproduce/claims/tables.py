"""The rows of the tables, typed. A row without its numbers (None or not a number) is as good as missing."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real

Row = Mapping[str, object]

_MEANS = {
    "krr": ("krr_standard", "krr_normalised", "krr_projected", "krr_ml"),
    "krappor": ("krappor_standard", "krappor_normalised", "krappor_projected"),
}


def number(row: Row, name: str) -> float:
    """A number of a row; not a number where it is None.

    >>> number({"k": 2}, "k"), number({"k": None}, "k")
    (2.0, nan)
    """
    value = row[name]
    return float(value) if isinstance(value, (int, float, Real)) else math.nan


@dataclass(frozen=True, slots=True)
class KaryRow:
    """One cell of experiments 2 and 3: mean losses, and paired differences with their standard errors."""

    distribution: str
    n: int
    k: int
    epsilon: float
    loss: str
    means: Mapping[str, float]
    gains: Mapping[str, tuple[float, float]]  # mechanism -> (projected - next best of the paper's decoders, error)
    difference: float
    error: float

    @classmethod
    def read(cls, row: Row) -> "KaryRow | None":
        means = {name: number(row, name) for names in _MEANS.values() for name in names}
        gains = {name: (number(row, f"{name}_gain"), number(row, f"{name}_gain_se")) for name in _MEANS}
        difference = number(row, "difference"), number(row, "difference_se")
        if not all(map(math.isfinite, (*means.values(), *(x for gain in gains.values() for x in gain), *difference))):
            return None
        place = int(number(row, "n")), int(number(row, "k")), number(row, "epsilon"), str(row["loss"])
        return cls(str(row["distribution"]), *place, means, gains, *difference)

    def best(self, mechanism: str) -> float:
        """The mean loss of the mechanism's best decoder."""
        return min(self.means[name] for name in _MEANS[mechanism])

    def rival(self, mechanism: str) -> float:
        """The mean loss of the decoder that the projected one is compared with."""
        return self.means[f"{mechanism}_projected"] - self.gains[mechanism][0]

    @property
    def where(self) -> tuple[int, float]:
        return self.k, self.epsilon

    @property
    def place(self) -> dict[str, float]:
        return {"k": self.k, "eps": self.epsilon}

    @property
    def group(self) -> str:
        return f"{self.distribution}, n = {self.n}"


@dataclass(frozen=True, slots=True)
class Case:
    """One setting of experiments 4 to 8: the alphabet, how many symbols, how many users."""

    alphabet: str
    symbols: int
    n: int

    @classmethod
    def of(cls, row: Row) -> "Case":
        return cls(str(row["alphabet"]), int(number(row, "S")), int(number(row, "n")))

    @property
    def suffix(self) -> str:
        """What an id of a claim ends with; the paper's main setting needs no name."""
        return ("" if self.symbols == 256 else f"-s{self.symbols}") + ("-u1e8" if self.n == 10**8 else "")

    @property
    def label(self) -> str:
        return f"S = {self.symbols}, n = 10^{round(math.log10(self.n))}"


OPEN, CLOSED = Case("open", 256, 10**6), Case("closed", 256, 10**6)
OPEN_CASES = (OPEN, Case("open", 4096, 10**6), Case("open", 4096, 10**8))


@dataclass(frozen=True, slots=True)
class LinePoint:
    """One plotted point of experiments 4 to 7."""

    case: Case
    mechanism: str
    epsilon: float
    vary: str
    value: int
    parameters: tuple[int, int, int]  # k, C, h as chosen
    median: float
    low: float
    high: float
    inside: tuple[float, float]  # 99 % interval of the median
    samples: int
    selection_samples: int
    contenders: int

    @classmethod
    def read(cls, row: Row) -> "LinePoint | None":
        losses = [number(row, name) for name in ("median", "low", "high", "median_low", "median_high")]
        if not all(map(math.isfinite, losses)):
            return None
        median, low, high, *inside = losses
        whole = [number(row, name) for name in ("k", "C", "h", "samples", "selection_samples", "contenders")]
        k, c, h, samples, selection, contenders = (int(x) if math.isfinite(x) else 0 for x in whole)
        return cls(
            Case.of(row),
            str(row["mechanism"]),
            number(row, "epsilon"),
            str(row["vary"]),
            int(number(row, "value")),
            (k, c, h),
            median,
            low,
            high,
            (inside[0], inside[1]),
            samples,
            selection,
            contenders,
        )

    def __str__(self) -> str:
        return f"{self.median:.4g} [{self.inside[0]:.4g}, {self.inside[1]:.4g}]"


@dataclass(frozen=True, slots=True)
class Target:
    """The epsilon at which a mechanism reaches a wanted loss, as an interval; open ends where it was not reached."""

    case: Case
    loss: float
    mechanism: str
    reached: str
    epsilon: float
    low: float
    high: float

    @classmethod
    def read(cls, row: Row) -> "Target | None":
        case = Case.of(row)
        names = case, number(row, "loss"), str(row["mechanism"]), str(row["reached"])
        if row["reached"] == "above 10":
            return cls(*names, math.inf, 10.0, math.inf)
        if row["reached"] == "below 0.1":
            return cls(*names, 0.0, 0.0, 0.1)
        epsilon, low, high = (number(row, name) for name in ("epsilon", "epsilon_low", "epsilon_high"))
        return cls(*names, epsilon, low, high) if not any(map(math.isnan, (epsilon, low, high))) else None

    def __str__(self) -> str:
        return f"{self.epsilon:.3g} [{self.low:.3g}, {self.high:.3g}]" if self.reached == "yes" else self.reached


@dataclass(frozen=True, slots=True)
class Tested:
    """One contender of a grid search whose loss was both predicted and measured."""

    case: Case
    mechanism: str
    epsilon: float
    error: float  # predicted / measured - 1

    @classmethod
    def read(cls, row: Row) -> "Tested | None":
        predicted, measured = number(row, "predicted"), number(row, "measured")
        if not math.isfinite(predicted) or not measured > 0:
            return None
        case = Case.of(row)
        return cls(case, str(row["mechanism"]), number(row, "epsilon"), predicted / measured - 1)


@dataclass(frozen=True)
class Data:
    """The tables, read once; a table that was not made is empty."""

    tables: Mapping[str, Sequence[Row]]

    def _rows(self, name: str) -> Iterable[Row]:
        return self.tables.get(name, ())

    @cached_property
    def kary(self) -> list[KaryRow]:
        return [row for row in map(KaryRow.read, self._rows("kary")) if row]

    @cached_property
    def points(self) -> list[LinePoint]:
        return [row for row in map(LinePoint.read, self._rows("lines")) if row]

    @cached_property
    def targets(self) -> list[Target]:
        return [row for row in map(Target.read, self._rows("privacy")) if row]

    @cached_property
    def tested(self) -> list[Tested]:
        return [row for row in map(Tested.read, self._rows("screen")) if row]

    @cached_property
    def baselines(self) -> dict[tuple[int, int, str], float]:
        rows = self._rows("baselines")
        return {(int(number(r, "S")), int(number(r, "n")), str(r["name"])): number(r, "loss") for r in rows}

    def cells(
        self,
        distributions: Collection[str] | None = None,
        users: Collection[int] | None = None,
        loss: str = "l1",
    ) -> list[KaryRow]:
        """Rows of the k-ary experiments, in order; None is every one."""
        return [
            row
            for row in self.kary
            if row.loss == loss
            and (distributions is None or row.distribution in distributions)
            and (users is None or row.n in users)
        ]

    @cached_property
    def _lines(self) -> dict[tuple[Case, str, str], list[LinePoint]]:
        found: dict[tuple[Case, str, str], list[LinePoint]] = {}
        for point in sorted(self.points, key=lambda p: (p.epsilon, p.value)):
            found.setdefault((point.case, point.mechanism, point.vary), []).append(point)
        return found

    def line(self, case: Case, mechanism: str, vary: str = "best") -> dict[float, LinePoint]:
        """One plotted line: epsilon -> point, in ascending order."""
        return {point.epsilon: point for point in self._lines.get((case, mechanism, vary), ())}

    def family(self, case: Case, mechanism: str, vary: str) -> dict[float, dict[int, LinePoint]]:
        """All lines of one parameter: epsilon -> its value -> point, both in ascending order."""
        found: dict[float, dict[int, LinePoint]] = {}
        for point in self._lines.get((case, mechanism, vary), ()):
            found.setdefault(point.epsilon, {})[point.value] = point
        return found

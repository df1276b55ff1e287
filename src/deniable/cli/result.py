"""One decoded estimate in the shapes that `deniable decode` prints: a table, JSON, CSV, a chart."""

import csv
import math
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.charts import estimate_chart, save_chart
from deniable.cli.files import writing
from deniable.cli.text import bar, percent, shown, table
from deniable.decoders import Estimate, Group
from deniable.survey.alphabet import symbol_to_json

__all__ = ["Result"]

_FIELDS = ("probability", "raw", "standard_error", "low", "high")

Floats = npt.NDArray[np.float64]


class Result:
    """An estimate with its intervals, and the symbols to show in their order.

    `errors` holds NaN throughout where there were too many candidates to compute it, and infinity where the reports
    do not determine a symbol.
    """

    def __init__(
        self,
        estimate: Estimate,
        intervals: Floats,
        errors: Floats,
        order: npt.NDArray[np.intp],
        *,
        level: float,
        simultaneous: bool,
    ) -> None:
        self._estimate, self._level, self._simultaneous = estimate, level, simultaneous
        self._intervals, self._errors, self._order = intervals.tolist(), errors.tolist(), order.tolist()
        self._probabilities, self._raw = estimate.probabilities.tolist(), estimate.raw.tolist()

    def print_table(self) -> None:
        estimate = self._estimate
        strategy = f"{type(estimate.decoder).__name__}, {type(estimate.constraint).__name__}"
        print(f"{estimate.tally.survey}\n{estimate.n:,} reports, decoded by {strategy}\n")
        largest = max(self._probabilities)
        rows = [self._row(i, largest) for i in self._order]
        heading = f"{100 * self._level:g} % interval" + (", all at once" if self._simultaneous else "")
        print(table(["symbol", "estimate", "s. e.", heading, ""], rows, "lrrrl"))
        if hidden := len(self._probabilities) - len(self._order):
            print(f"... and {hidden} more; --top 0 shows all")
        self._warn_of_missing_candidates()
        for group in self._groups:
            names = ", ".join(shown(s) for s in group.symbols[:12]) + (", ..." if len(group.symbols) > 12 else "")
            known = math.isfinite(group.standard_error)
            total = f"{percent(group.probability)} ± {percent(group.standard_error)}" if known else "not determined"
            print(f"\nNo report can tell these {len(group.symbols)} apart: {names}\nTogether (unconstrained): {total}")

    def _warn_of_missing_candidates(self) -> None:
        """Say so where the candidates of an open survey cannot be all that was answered."""
        estimate = self._estimate
        # The sum is determined even where the candidates are not, unless Bloom filters leave the system short of rank.
        determined = estimate.tally.survey.hashes == 1 or estimate.rank == len(self._raw)
        if not estimate.tally.survey.alphabet.is_open or any(map(math.isnan, self._errors)) or not determined:
            return
        total, error = math.fsum(self._raw), math.sqrt(max(float(estimate.covariance.sum()), 0.0))
        if abs(total - 1) > max(5 * error, 1e-6):
            print(
                f"\nThese candidates do not account for all reports: their unconstrained estimates add up to "
                f"{percent(total)}.\nName more candidates: what is missing leaks into the shares of those listed."
            )

    def _row(self, i: int, largest: float) -> list[str]:
        value, error = self._probabilities[i], self._errors[i]
        low, high = (min(max(bound, 0.0), 1.0) for bound in self._intervals[i])
        known = math.isfinite(error)
        shown_error = percent(error) if known else "unknown" if math.isnan(error) else "not determined"
        between = f"{100 * low:.2f} to {percent(high)}" if known else ""
        return [shown(self._estimate.symbols[i]), percent(value), shown_error, between, bar(value, largest)]

    @property
    def _groups(self) -> tuple[Group, ...]:
        return () if any(math.isnan(error) for error in self._errors) else self._estimate.groups

    def to_json(self) -> dict[str, Any]:
        """The whole result as JSON values; what is infinite or unknown is null."""
        estimate, survey = self._estimate, self._estimate.tally.survey
        return {
            "survey": survey.digest,
            "name": survey.name,
            "mechanism": survey.title,
            "epsilon_spent": survey.epsilon_spent,
            "n": estimate.n,
            "decoder": type(estimate.decoder).__name__,
            "constraint": type(estimate.constraint).__name__,
            "level": self._level,
            "simultaneous": self._simultaneous,
            "estimates": [
                {"symbol": symbol_to_json(estimate.symbols[i]), **dict(zip(_FIELDS, self._numbers(i), strict=True))}
                for i in self._order
            ],
            "groups": [
                {
                    "symbols": [symbol_to_json(s) for s in group.symbols],
                    "probability": group.probability,
                    "standard_error": _finite(group.standard_error),
                }
                for group in self._groups
            ],
        }

    def _numbers(self, i: int) -> list[float | None]:
        bounds = (self._errors[i], *self._intervals[i])
        return [self._probabilities[i], self._raw[i], *(_finite(value) for value in bounds)]

    def print_csv(self) -> None:
        """The same numbers as CSV; what is infinite or unknown is empty, bytes are hexadecimal."""
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(["symbol", *_FIELDS])
        for i in self._order:
            symbol = self._estimate.symbols[i]
            writer.writerow([symbol.hex() if isinstance(symbol, bytes) else symbol, *self._numbers(i)])

    def save_chart(self, path: str, *, most: int) -> None:
        """The `most` first bars as a chart."""
        order = self._order[:most]
        chart = estimate_chart(
            [shown(self._estimate.symbols[i]) for i in order],
            [self._probabilities[i] for i in order],
            [self._intervals[i] for i in order],
            level=self._level,
            title=self._estimate.tally.survey.name or None,
        )
        with writing(path):
            save_chart(chart, path)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

"""What the studies of windows over time share: surveys, shares, and rows of a table with Monte Carlo errors."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn

Floats = npt.NDArray[np.float64]
Row = dict[str, Any]

FILE = Path(__file__).parents[1] / "docs" / "results" / "time.csv"
COLUMNS = ("table", "case", "turnover", "change", "windows", "measure", "value", "error")
SEED = bytes(16)
JOBS = int(os.environ.get("JOBS", "2"))  # processes
SHARES = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])


def surveys(kind: str) -> dict[str, dn.Survey]:
    """Five mechanisms, whose reports are randomised once or twice."""
    twice = {"epsilon_report": 1.0} if kind == "two stages" else {}
    how = "once" if kind == "fresh" else "window"
    common: dict[str, Any] = {"epsilon": 2.0, "participation": how, **twice}
    return {
        "k-RR": dn.krr(6, **common),
        "OUE": dn.oue(6, **common),
        "subset selection": dn.subset(6, **common),
        "O-RR 4x16": dn.orr(symbols=6, cells=4, cohorts=16, seed=SEED, **common),
        "Hadamard": dn.hadamard(6, **common),
    }


def row(table: str, case: str, measure: str, values: object, **more: object) -> Row:
    found = np.asarray(values, np.float64).ravel()
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0
    return dict.fromkeys(COLUMNS, "") | {
        "table": table, "case": case, "measure": measure,
        "value": f"{found.mean():.6g}", "error": f"{error:.3g}", **more,
    }  # fmt: skip

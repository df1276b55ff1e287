"""Tables as `deniable reproduce` makes them, but from smooth formulas: for tests of what reads them."""

import math
from collections.abc import Sequence
from typing import Any

from deniable.reproduce.settings import KARY_EPSILONS, KARY_SIZES, KARY_USERS, LINE_EPSILONS

Row = dict[str, Any]

DISTRIBUTIONS = (
    "geometric",
    "dirichlet",
    *(f"binomial .{i}" for i in range(1, 6)),
    *(f"zipf {i}" for i in range(1, 6)),
)
CONDITIONS = (
    ("open", 256, 10**6),
    ("closed", 256, 10**6),
    ("open", 4096, 10**6),
    ("open", 4096, 10**8),
)


def tables(*, full: bool = False) -> dict[str, list[Row]]:
    """Every table; the full ones have the axes of a real run, the others a few points of each."""
    epsilons, sizes = (KARY_EPSILONS, KARY_SIZES) if full else ((0.5, 2.0, 10.0), (2, 64, 4096))
    names, ns = (DISTRIBUTIONS, KARY_USERS) if full else (("geometric", "dirichlet", "zipf 2"), (100, 30000))
    return {
        "population": _population(256),
        "kary": [
            _kary(d, n, k, e, loss) for d in names for n in ns for k in sizes for e in epsilons for loss in ("l1", "l2")
        ],
        "lines": _lines(LINE_EPSILONS if full else (0.5, 2.0, 8.0), full=full),
        "baselines": [row for s, n in ((256, 10**6), (4096, 10**6), (4096, 10**8)) for row in _baselines(s, n)],
        "privacy": _privacy(full=full),
        "screen": [
            {"S": 256, "alphabet": "open", "n": 10**6, "mechanism": "O-RR", "epsilon": 1.0, "k": 4, "C": 64, "h": 1}
            | {"predicted": 0.15, "measured": 0.16, "samples": 10}
        ],
    }


def _population(symbols: int) -> list[Row]:
    weights = [(symbols / 5 / (1 + symbols / 5)) ** i for i in range(symbols)]
    return [{"symbol": i, "probability": w / sum(weights)} for i, w in enumerate(weights)]


def _krr(k: int, epsilon: float, n: int) -> float:
    """The paper's large-n L1 loss, bent so that it never passes 1.5."""
    odds = math.exp(epsilon)
    return _bent((odds + k - 1) / (odds - 1) * math.sqrt(2 * (k - 1) / (math.pi * n)))


def _krappor(k: int, epsilon: float, n: int) -> float:
    odds = math.exp(epsilon / 2)
    factor = (odds + k - 1) * (odds * (k - 1) + 1) / (odds - 1) ** 2 / (k - 1)
    return _bent(math.sqrt(factor * 2 * (k - 1) / (math.pi * n)))


def _bent(loss: float) -> float:
    return 1.5 * loss / (1.5 + loss)


def _kary(distribution: str, n: int, k: int, epsilon: float, loss: str) -> Row:
    shrink = 1.0 if loss == "l1" else 0.8 / math.sqrt(k)
    krr, krappor = _krr(k, epsilon, n) * shrink, _krappor(k, epsilon, n) * shrink
    skew = -0.25 if distribution != "dirichlet" else 0.04
    gain, other = skew * krr * (1 - 2 / (k + 1)), skew * krappor * (1 - 2 / (k + 1)) * 0.8
    row: Row = {"distribution": distribution, "n": n, "k": k, "epsilon": epsilon, "loss": loss, "evaluations": 2000}
    row |= {"krr_standard": 1.4 * krr, "krr_normalised": krr - gain, "krr_projected": krr, "krr_ml": krr - 0.9 * gain}
    row |= {"krappor_standard": 1.2 * krappor, "krappor_normalised": krappor - other, "krappor_projected": krappor}
    row |= {"krr_gain": gain, "krr_gain_se": 0.002 * krr + 2e-5, "krr_rival": "ml", "krappor_gain": other}
    row |= {"krappor_gain_se": 0.002 * krappor + 2e-5, "krappor_rival": "normalised", "krr_best": "projected"}
    return row | {"krappor_best": "projected", "difference": krr - krappor, "difference_se": 0.003 * (krr + krappor)}


def _loss(mechanism: str, alphabet: str, symbols: int, n: int, epsilon: float) -> float:
    raw = math.sqrt(symbols / n)
    hashed = (
        {"O-RR": 1.9, "O-RAPPOR": 2.2, "k-RR": 1.0, "k-RAPPOR": 2.23}[mechanism] * raw / math.expm1(epsilon / 2) ** 0.9
    )
    worse = symbols / 40 * raw / math.expm1(epsilon) if mechanism == "k-RR" else 0.0
    return _bent(0.8 * raw + (hashed + worse) * (1.15 if alphabet == "open" else 1.0))


def _line(where: tuple[str, int, int], mechanism: str, epsilon: float, vary: str, value: int, loss: float) -> Row:
    alphabet, symbols, n = where
    row: Row = {"alphabet": alphabet, "S": symbols, "n": n, "mechanism": mechanism, "epsilon": epsilon}
    row |= {"vary": vary, "value": value, "k": 64, "C": 128, "h": 1}
    row |= {vary: value} if vary in ("k", "C", "h") else {}
    spread = 0.06
    row |= {"median": loss, "low": loss * (1 - spread), "high": loss * (1 + spread)}
    row |= {"median_low": loss * 0.98, "median_high": loss * 1.02}
    return row | {"samples": 200, "selection_samples": 50, "contenders": 12}


def _lines(epsilons: Sequence[float], *, full: bool) -> list[Row]:
    rows = []
    for where in CONDITIONS:
        alphabet, symbols, n = where
        both = ("O-RR", "O-RAPPOR", *(("k-RR", "k-RAPPOR") if alphabet == "closed" else ()))
        rows += [_line(where, m, e, "best", 0, _loss(m, alphabet, symbols, n, e)) for m in both for e in epsilons]
        top = 14 if symbols == 4096 else 12
        grids = {"k": [2**i for i in range(1, top + 1)], "C": [2**i for i in range(11)], "h": [1, 2, 4, 8, 16]}
        for mechanism in both[:2]:
            for vary, values in grids.items():
                for value in values if full else values[:: len(values) - 1]:
                    if (mechanism, vary) != ("O-RR", "h"):
                        extra = abs(math.log2(value) - {"k": 6, "C": 9, "h": 0}[vary]) * 0.13
                        bests = [(e, _loss(mechanism, alphabet, symbols, n, e)) for e in epsilons]
                        rows += [
                            _line(where, mechanism, e, vary, value, _bent(b * (1 + extra * e / 4))) for e, b in bests
                        ]
    where = CONDITIONS[0]
    rows += [_line(where, "O-RR", e, "k=3", 3, _loss("O-RR", "open", 256, 10**6, e) * 1.1) for e in epsilons]
    return rows


def _baselines(symbols: int, n: int) -> list[Row]:
    where = {"S": symbols, "n": n}
    return [
        where | {"name": "empirical", "loss": 0.7 * math.sqrt(symbols / n)},
        where | {"name": "uniform", "loss": 0.92},
    ]


def _privacy(*, full: bool) -> list[Row]:
    rows = []
    for alphabet, symbols, targets in (
        ("open", 256, (0.02, 0.05, 0.1, 0.2, 0.3)),
        ("closed", 256, (0.02, 0.05, 0.1, 0.2, 0.3)),
        ("open", 4096, (0.1, 0.2, 0.3, 0.4)),
    ):
        both = ("O-RR", "O-RAPPOR", *(("k-RR", "k-RAPPOR") if alphabet == "closed" else ()))
        ns = [10**4, 31623, 10**5, 316228, 10**6, 3162278, 10**7, 31622777, 10**8] if full else [10**4, 10**6, 10**8]
        for target in targets:
            for mechanism in both:
                for n in ns:
                    row: Row = {"alphabet": alphabet, "S": symbols, "n": n, "loss": target, "mechanism": mechanism}
                    rows.append(row | _needed(mechanism, alphabet, symbols, n, target))
    return rows


def _needed(mechanism: str, alphabet: str, symbols: int, n: int, target: float) -> Row:
    found = [e / 50 for e in range(5, 501) if _loss(mechanism, alphabet, symbols, n, e / 50) <= target]
    none = {"epsilon": None, "epsilon_low": None, "epsilon_high": None, "k": None, "C": None, "h": None, "samples": 100}
    if not found or found[0] == 0.1:
        return none | {"reached": "below 0.1" if found else "above 10"}
    best = found[0]
    chosen = {"k": 64, "C": 128, "h": 1, "samples": 100, "reached": "yes"}
    return chosen | {"epsilon": best, "epsilon_low": best * 0.96, "epsilon_high": best * 1.05}

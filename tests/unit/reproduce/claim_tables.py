"""Made-up tables in which the paper's sentences hold, and faults that make single sentences fail.

A table is made in two steps: first the few numbers that decide a row, then the columns that follow from them. A fault
changes the former in some rows, so a faulty table is as consistent as a sound one.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

Row = dict[str, object]
Tables = dict[str, list[Row]]

DISTRIBUTIONS = ("geometric", "binomial .5", "zipf 1", "dirichlet")
USERS = (30, 100, 1000, 30_000, 10**6)
SIZES = (16, 32, 64, 128)
KARY_EPSILONS = (0.25, 0.5, 1.0, 3.0, 5.0, 6.0, 8.0, 10.0)
EPSILONS = (0.25, 0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.5, 9.0, 9.25, 9.5, 10.0)
CASES = (
    ("open", 256, 10**6),
    ("closed", 256, 10**6),
    ("open", 4096, 10**6),
    ("open", 4096, 10**8),
)
ORR_K = (2, 4, 16, 64, 256, 1024, 4096)
UNIFORM, EMPIRICAL = 0.95, 0.01


@dataclass(frozen=True)
class Fault:
    """A change of one table: new values (or functions of the row) wherever every condition is met."""

    table: str
    new: dict[str, object]
    where: dict[str, object]

    def meets(self, row: Row) -> bool:
        for name, wanted in self.where.items():
            value = row[name]
            if not (
                wanted(row) if callable(wanted) else value in wanted if isinstance(wanted, set) else value == wanted
            ):
                return False
        return True

    def apply(self, row: Row) -> Row:
        if not self.meets(row):
            return row
        return row | {name: value(row) if callable(value) else value for name, value in self.new.items()}


def fault(table: str, new: dict[str, object], **where: object) -> Fault:
    return Fault(table, new, where)


def times(factor: float, name: str = "median") -> dict[str, object]:
    """A change that multiplies a number of the row."""

    def scaled(row: Row) -> float:
        value = row[name]
        assert isinstance(value, float)
        return value * factor

    return {name: scaled}


def number(row: Row, name: str) -> float:
    value = row[name]
    assert isinstance(value, (int, float))
    return float(value)


def kary_seeds() -> Iterator[Row]:
    for name in DISTRIBUTIONS:
        for n in USERS:
            for k in SIZES:
                for epsilon in KARY_EPSILONS:
                    for loss in ("l1", "l2"):
                        yield {"distribution": name, "n": n, "k": k, "epsilon": epsilon, "loss": loss} | _mechanisms(
                            name, n, k, epsilon
                        )


def _mechanisms(name: str, n: int, k: int, epsilon: float) -> Row:
    geometric = name == "geometric"
    if k < math.exp(epsilon):
        ratio = 0.4 + 0.05 * math.log10(n) + 0.05 * geometric
    else:  # between the two regimes only the geometric distribution has a winner
        ratio = 1.6 if geometric else 1.5 if k > 2 * math.exp(epsilon) else 1.0
    edge = 0.25 if name == "dirichlet" else -0.2
    return {
        "krappor": 1 / math.sqrt(n),  # best mean loss
        "ratio": ratio,  # k-RR's to k-RAPPOR's
        "krr_edge": edge,  # the projected decoder's loss relative to the normalised one's, less 1
        "krappor_edge": edge,
        "ml": 1.3,  # k-RR's maximum likelihood, relative to the better of these two
        "standard": 1.3 + 10 / math.sqrt(n),
        "error": 0.001,  # relative
    }


def kary_row(seed: Row) -> Row:
    row = {name: seed[name] for name in ("distribution", "n", "k", "epsilon", "loss")} | {"evaluations": 10_000}
    for mechanism, best in (
        ("krr", number(seed, "krappor") * number(seed, "ratio")),
        ("krappor", number(seed, "krappor")),
    ):
        edge = number(seed, f"{mechanism}_edge")
        projected, normalised = (best * (1 + edge), best) if edge > 0 else (best, best / (1 + edge))
        third = ("ml", best * number(seed, "ml")) if mechanism == "krr" else ("standard", best * 1.3)
        row |= {f"{mechanism}_standard": best * number(seed, "standard")}
        row |= {f"{mechanism}_{third[0]}": third[1]}
        row |= {f"{mechanism}_normalised": normalised, f"{mechanism}_projected": projected}
        rival = min((normalised, "normalised"), third[::-1])
        error = number(seed, "error") * best if edge else 0.0
        row |= {f"{mechanism}_gain": projected - rival[0], f"{mechanism}_gain_se": error}
        row |= {f"{mechanism}_rival": rival[1]}
    bests = [
        min((value, name) for name, value in row.items() if name in _decoders(mechanism) and isinstance(value, float))
        for mechanism in ("krr", "krappor")
    ]
    row |= {"krr_best": bests[0][1].split("_")[1], "krappor_best": bests[1][1].split("_")[1]}
    return row | {"difference": bests[0][0] - bests[1][0], "difference_se": number(seed, "error") * bests[1][0]}


def _decoders(mechanism: str) -> set[str]:
    return {f"{mechanism}_{name}" for name in ("standard", "normalised", "projected", "ml")}


def line_seeds() -> Iterator[Row]:
    for alphabet, symbols, n in CASES:
        for place, epsilon in enumerate(EPSILONS):
            for mechanism, vary, value, median in _points(alphabet, symbols, n, place, epsilon):
                yield {
                    "alphabet": alphabet,
                    "S": symbols,
                    "n": n,
                    "mechanism": mechanism,
                    "epsilon": epsilon,
                    "vary": vary,
                    "value": value,
                    "k": 4096 if "RAPPOR" in mechanism else 4,
                    "C": 1 if mechanism.startswith("k") else 1024 if mechanism == "O-RR" else 2,
                    "h": 1,
                    "median": median,
                    "band": 0.05,
                    "samples": 50,
                    "selection_samples": 20,
                    "contenders": 1 if mechanism.startswith("k") else 12,
                }


def _points(alphabet: str, symbols: int, n: int, place: int, epsilon: float) -> Iterator[tuple[str, str, int, float]]:
    rappor = 0.8 * math.exp(-epsilon / 3)
    if alphabet == "closed":
        for mechanism, factor in (("k-RR", 1.1), ("k-RAPPOR", 1.0), ("O-RAPPOR", 0.99), ("O-RR", 0.7)):
            yield mechanism, "best", 0, factor * rappor
        return
    orr = rappor * (0.8 if 1 < epsilon < math.log(symbols) else 1.0)
    yield "O-RR", "best", 0, orr
    yield "O-RAPPOR", "best", 0, rappor
    target = place * len(ORR_K) // len(EPSILONS)
    for index, k in enumerate(ORR_K):
        yield "O-RR", "k", k, orr * (1 + 0.1 * abs(index - target))
    for c, factor in ((1, 1.4), (2, 1.2), (4, 1.1), (64, 1.05), (1024, 1.0)):
        yield "O-RR", "C", c, orr * factor
    for k, factor in ((64, 1.3), (1024, 1.1), (2048, 1.03), (4096, 1.0), (16384, 0.99)):
        if k <= 4096 or symbols == 4096:
            yield "O-RAPPOR", "k", k, rappor * factor
    for c, factor in ((1, 1.3), (2, 1.0), (4, 1.0), (1024, 1.0)):
        yield "O-RAPPOR", "C", c, rappor * factor
    for h, factor in ((1, 1.0), (2, 1.1), (4, 1.2)):
        yield "O-RAPPOR", "h", h, rappor * factor
    if (symbols, n) == (256, 10**6) and epsilon <= 1:
        yield "O-RR", "k=3", 3, 0.99 * orr


def line_row(seed: Row) -> Row:
    row = dict(seed)
    median, band = number(row, "median"), number(row, "band")
    del row["band"]
    row |= {"low": median * (1 - band), "high": median * (1 + band)}
    return row | {"median_low": median * 0.995, "median_high": median * 1.005}


def privacy_seeds() -> Iterator[Row]:
    for alphabet, symbols in (("open", 256), ("closed", 256), ("open", 4096)):
        for n in (10**4, 10**5, 10**6, 10**7, 10**8):
            for loss in (0.1, 0.3):
                for mechanism, epsilon in (("O-RR", 1.0), ("O-RAPPOR", 1.2)):
                    yield {
                        "alphabet": alphabet,
                        "S": symbols,
                        "n": n,
                        "loss": loss,
                        "mechanism": mechanism,
                        "epsilon": epsilon,
                        "reached": "yes",
                    } | {"k": 4, "C": 1024, "h": 1, "samples": 50}


def privacy_row(seed: Row) -> Row:
    if seed["reached"] != "yes":
        return seed | {"epsilon": None, "epsilon_low": None, "epsilon_high": None}
    epsilon = number(seed, "epsilon")
    return seed | {"epsilon_low": 0.97 * epsilon, "epsilon_high": 1.03 * epsilon}


def screen_seeds() -> Iterator[Row]:
    for epsilon in EPSILONS:
        yield {
            "S": 256,
            "alphabet": "open",
            "n": 10**6,
            "mechanism": "O-RR",
            "epsilon": epsilon,
            "k": 4,
            "C": 1024,
            "h": 1,
            "predicted": 1.03,
            "measured": 1.0,
            "samples": 20,
        }


def baseline_seeds() -> Iterator[Row]:
    for symbols, n in ((256, 10**6), (4096, 10**6), (4096, 10**8)):
        yield {"S": symbols, "n": n, "name": "uniform", "loss": UNIFORM}
        yield {"S": symbols, "n": n, "name": "empirical", "loss": EMPIRICAL}


SEEDS: dict[str, Callable[[], Iterator[Row]]] = {
    "kary": kary_seeds,
    "lines": line_seeds,
    "baselines": baseline_seeds,
    "privacy": privacy_seeds,
    "screen": screen_seeds,
}
FINISH: dict[str, Callable[[Row], Row]] = {"kary": kary_row, "lines": line_row, "privacy": privacy_row}


@cache
def seeds_of(table: str) -> list[Row]:
    return list(SEEDS[table]())


@cache
def sound(table: str) -> list[Row]:
    """A table without any fault; shared, so nobody may change it."""
    return [FINISH.get(table, dict)(seed) for seed in seeds_of(table)]


def tables(*faults: Fault) -> Tables:
    """All tables, with faults put into them one after the other."""
    found = {name: sound(name) for name in SEEDS}
    for name in {fault.table for fault in faults}:
        found[name] = []
        for seed, row in zip(seeds_of(name), sound(name), strict=True):
            changed = seed
            for change in faults:
                changed = change.apply(changed) if change.table == name else changed
            found[name].append(row if changed is seed else FINISH.get(name, dict)(changed))
    return found

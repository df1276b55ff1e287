"""Small and medium surveys of every kind, shared by the contract and statistical suites."""

import inspect
import sys
from typing import Any

import deniable as dn
from deniable.mechanisms import Budgets
from deniable.survey import Alphabet, Direct, Survey, ubd

SEED = bytes(range(16))
WORDS = ("ash", "birch", "cedar", "élan", "🦊", "pine")

# Weights of budgets in integers: those that are found numerically may differ in their last digits between machines.
_EIGHTH = 1 << 61
BUDGETS = Survey(
    Alphabet.closed(["flu", "hiv", "none"]),
    Direct(3),
    Budgets([0, 1, 0], [2, 1], [0, 1], [[4 * _EIGHTH, _EIGHTH, 2 * _EIGHTH], [4 * _EIGHTH, 3 * _EIGHTH, 0]]),
)

# Small enough to enumerate: at most seven symbols, eight cells, three cohorts.
SMALL: dict[str, Survey] = {
    "warner": dn.warner(epsilon=1),
    "krr": dn.krr(symbols=["a", "b", "c", "d"], epsilon="1/2"),
    "krr-other": dn.krr(symbols=[0, 1, 2], epsilon=2, other="else"),
    "krappor": dn.krappor(symbols=["a", "b", "c"], epsilon=1),
    "oue": dn.oue(symbols=["a", "b", "c", "d"], epsilon=1),
    "olh-open": dn.olh(epsilon=1, cohorts=3, seed=SEED),
    "subset": dn.subset(symbols=["a", "b", "c", "d", "e"], epsilon=1, size=2),
    "subset-wide": dn.subset(symbols=4, epsilon="1/2", size=3),
    "hadamard": dn.hadamard(symbols=["a", "b", "c"], epsilon=1, blocks=1),
    "hadamard-pairs": dn.hadamard(symbols=3, epsilon=1),  # so few symbols that each has a block of its own
    "hadamard-cut": dn.hadamard(symbols=5, epsilon=2, blocks=1),
    "hadamard-blocks": dn.hadamard(symbols=5, epsilon=2, blocks=2),
    "projective": dn.projective(symbols=7, epsilon=1, order=2, dimension=3),
    "projective-cut": dn.projective(symbols=5, epsilon="1/2", order=2, dimension=3),
    "projective-line": dn.projective(symbols=5, epsilon=1, order=5, dimension=2),
    "number": dn.number(0, 5, 1, bins=5),
    "number-step": dn.number(1, 4, "1/2", step=1, outside="refuse"),
    "ordered": dn.ordered(["never", "seldom", "often", "daily"], 2),
    "orr-open": dn.orr(epsilon=1, cells=3, cohorts=3, seed=SEED),
    "discovery": dn.discovery(epsilon=1, length=4, levels=[(2, 1), (4, 2)], seed=SEED),
    "orr-closed": dn.orr(symbols=5, epsilon=1, cells=3, cohorts=2, seed=SEED),
    "orappor-open": dn.orappor(epsilon=2, cells=4, cohorts=2, hashes=2, seed=SEED),
    "orappor-closed": dn.orappor(symbols=5, epsilon=2, cells=4, cohorts=3, hashes=1, seed=SEED),
    "orappor-closed-bloom": dn.orappor(symbols=5, epsilon=3, cells=4, cohorts=2, hashes=3, seed=SEED),
    "orappor-loud": dn.orappor(symbols=5, epsilon=20, cells=4, cohorts=2, hashes=2, seed=SEED),  # noise hides little
    # Tables of weights, whose promises differ from answer to answer.
    "sensitive": dn.sensitive(["none", "flu", "hiv", "hpv"], sensitive=["hiv", "hpv"], epsilon=1),
    "sensitive-one": dn.sensitive([0, 1, 2], sensitive=[1], epsilon="1/2", other="else"),
    "sensitive-design": ubd(8, sensitive=[0, 1, 3, 4, 6], epsilon=1, order=2, dimension=3),
    "blocks": dn.blocks([["a", "b"], ["c", "d", "e"], ["f"]], epsilon=1),
    "budgets": BUDGETS,
    "channel": dn.channel([[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.3, 0.6]], epsilon=1.8, symbols=["a", "b", "c"]),
    # Every report randomised again from a permanent response.
    "warner-again": dn.warner(epsilon=2, epsilon_report="1/2"),
    "krr-again": dn.krr(symbols=["a", "b", "c", "d"], epsilon=2, epsilon_report=1),
    "krappor-again": dn.krappor(symbols=["a", "b", "c"], epsilon=2, epsilon_report=1),
    "oue-again": dn.oue(symbols=["a", "b", "c"], epsilon=2, epsilon_report="1/3"),
    "subset-again": dn.subset(symbols=["a", "b", "c", "d"], epsilon=1, epsilon_report="1/2", size=2),
    "hadamard-again": dn.hadamard(symbols=3, epsilon=2, epsilon_report=1, blocks=1),
    "projective-again": dn.projective(symbols=7, epsilon=2, epsilon_report=1, order=2, dimension=3),
    "discovery-again": dn.discovery(epsilon=2, epsilon_report=1, length=4, levels=[(2, 1), (4, 2)], seed=SEED),
    "number-again": dn.number(0, 1, 2, bins=5, epsilon_report=1),
    "orr-open-again": dn.orr(epsilon=2, epsilon_report=1, cells=3, cohorts=3, seed=SEED),
    "orappor-closed-again": dn.orappor(symbols=5, epsilon=4, epsilon_report=2, cells=4, cohorts=2, hashes=2, seed=SEED),
}

# Large enough to decode: forty symbols, full column rank.
SIZE = 40
LARGE: dict[str, Survey] = {
    "krr": dn.krr(symbols=SIZE, epsilon=3),
    "krappor": dn.krappor(symbols=SIZE, epsilon=3),
    "oue": dn.oue(symbols=SIZE, epsilon=2),
    "olh-open": dn.olh(epsilon=2, cohorts=64, seed=SEED),
    "subset": dn.subset(symbols=SIZE, epsilon=1),
    "hadamard": dn.hadamard(symbols=SIZE, epsilon=1),
    "hadamard-blocks": dn.hadamard(symbols=SIZE, epsilon=3, blocks=4),
    "projective": dn.projective(symbols=SIZE, epsilon=2),
    "projective-space": dn.projective(symbols=SIZE, epsilon=1, order=3, dimension=4),
    "number": dn.number(0, 100, 3, bins=SIZE),
    "ordered-again": dn.ordered(SIZE, 4, epsilon_report=2),
    "orr-open": dn.orr(epsilon=2, cells=8, cohorts=32, seed=SEED),
    "discovery": dn.discovery(epsilon=2, length=9, levels=[(3, 8), (6, 12), (9, 44)], seed=SEED),
    "orr-closed": dn.orr(symbols=SIZE, epsilon=2, cells=8, cohorts=16, seed=SEED),
    "orappor-open": dn.orappor(epsilon=3, cells=32, cohorts=8, hashes=2, seed=SEED),
    "orappor-closed": dn.orappor(symbols=SIZE, epsilon=3, cells=16, cohorts=8, hashes=1, seed=SEED),
    "orappor-closed-bloom": dn.orappor(symbols=SIZE, epsilon=4, cells=16, cohorts=8, hashes=3, seed=SEED),
    "sensitive": dn.sensitive(SIZE, sensitive=range(0, SIZE, 5), epsilon=2),
    "sensitive-design": ubd(SIZE, sensitive=range(SIZE // 2), epsilon=1, order=3, dimension=4),
    "blocks": dn.blocks([range(10), range(10, 25), range(25, SIZE)], epsilon=2),
    "budgets": dn.krr(symbols=SIZE, epsilon={x: 2 if x < 8 else 4 for x in range(SIZE)}),
    "channel": dn.channel(
        [[0.3 if x == y else 0.7 / (SIZE + 1) for y in range(SIZE + 2)] for x in range(SIZE)], epsilon="2.9"
    ),
    "krr-again": dn.krr(symbols=SIZE, epsilon=5, epsilon_report=3),
    "oue-again": dn.oue(symbols=SIZE, epsilon=4, epsilon_report=2),
    "subset-again": dn.subset(symbols=SIZE, epsilon=2, epsilon_report=1),
    "projective-again": dn.projective(symbols=SIZE, epsilon=4, epsilon_report=2),
    "orr-closed-again": dn.orr(symbols=SIZE, epsilon=4, epsilon_report=2, cells=8, cohorts=16, seed=SEED),
    "orappor-open-again": dn.orappor(epsilon=5, epsilon_report=3, cells=32, cohorts=8, hashes=2, seed=SEED),
}


def symbols_of(survey: Survey, size: int = 6) -> tuple[object, ...]:
    """The alphabet, or as many words as asked for where it is open."""
    return survey.symbols if survey.symbols is not None else tuple(f"{WORDS[i % 6]} {i // 6}" for i in range(size))


def named(survey: Survey, size: int = 6) -> dict[str, tuple[object, ...]]:
    """`symbols=` for `simulate` where the alphabet is open, nothing elsewhere."""
    return {"symbols": symbols_of(survey, size)} if survey.symbols is None else {}


def kinds(family: type[Any]) -> set[type[Any]]:
    """Every concrete member of a family that the package defines (tests define mutants of their own)."""
    found: set[type[Any]] = set()
    for member in family.__subclasses__():
        found |= kinds(member)
        # A slotted dataclass leaves the class it replaced behind, so only what its module holds counts.
        if (
            getattr(sys.modules[member.__module__], member.__name__, None) is member
            and "deniable." in member.__module__
            and not inspect.isabstract(member)
        ):
            found.add(member)
    return found

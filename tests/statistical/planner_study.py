"""How honest plans are: surveys planned for random targets, simulated afresh, and compared with a brute-force search.

`python -m tests.statistical.planner_study` reruns the study that docs/decisions/0012-planner.md quotes. A plan keeps
its word where the loss is at most the target in 90 % of repeats; what is simulated here shares nothing with the planner
but the library under test: other streams, other populations.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.decoders import decode_all
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]

ARGUMENTS = {"l1": "max_l1", "l2": "max_l2", "max": "max_error"}


@dataclass(frozen=True)
class Target:
    """One question: the error to meet at n people, over a population that the planner is told."""

    size: int
    n: int
    metric: str
    value: float
    p: Floats
    shape: str
    is_open: bool

    @property
    def alphabet(self) -> dict[str, Any]:
        return {"candidates" if self.is_open else "symbols": self.size}

    @property
    def question(self) -> dict[str, Any]:
        return {**self.alphabet, ARGUMENTS[self.metric]: self.value, "shape": self.p}


def population(rng: np.random.Generator, size: int) -> tuple[str, Floats]:
    """A population of some shape, in a random order: nothing depends on where a symbol stands."""
    kind = rng.choice(["uniform", "geometric", "zipf", "dirichlet", "few"])
    if kind == "uniform":
        return kind, dn.lab.uniform(size)
    if kind == "geometric":
        return kind, rng.permutation(dn.lab.geometric(size, size * rng.uniform(0.05, 0.5)))
    if kind == "zipf":
        return kind, rng.permutation(dn.lab.zipf(size, rng.uniform(0.5, 2.0)))
    if kind == "dirichlet":
        return kind, dn.lab.dirichlet(size, rng, concentration=float(rng.uniform(0.1, 2.0)))
    held = int(rng.integers(1, size + 1))
    return kind, rng.permutation(np.append(dn.lab.dirichlet(held, rng), np.zeros(size - held)))


def losses(survey: Survey, target: Target, n: int, repeats: int, rng: np.random.Generator) -> Floats:
    """The loss of each simulated survey under the default decoder."""
    names = list(range(target.size)) if target.is_open else None
    found = []
    for start in range(0, repeats, 50):
        tallies = [dn.simulate(survey, target.p, n, rng, symbols=names) for _ in range(min(50, repeats - start))]
        for estimate in decode_all(tallies, candidates=names):
            error = np.abs(estimate.probabilities - target.p)
            found.append({"l1": error.sum(), "l2": np.sqrt(error @ error), "max": error.max()}[target.metric])
    return np.array(found)


def targets(count: int, rng: np.random.Generator, *, smallest: int = 2, largest: int = 300) -> Iterator[Target]:
    """Random questions that can be answered: each is the error of some plan, moved a little."""
    while count > 0:
        size = round(smallest * (largest / smallest) ** rng.uniform())
        n = int(10 ** rng.uniform(4, 7))
        shape, p = population(rng, size)
        is_open = bool(rng.uniform() < 0.3) and size > 3
        metric = str(rng.choice(["l1", "l2", "max"]))
        epsilon = round(float(np.exp(rng.uniform(np.log(0.3), np.log(5.0)))), 3)
        alphabet = {"candidates" if is_open else "symbols": size}
        value = dn.plan(n=n, epsilon=epsilon, shape=p, **alphabet).errors[metric].bound * rng.uniform(0.85, 1.15)
        # Past this the loss hardly depends on epsilon: a question about noise, not about privacy.
        if value < 0.6 * {"l1": 2.0, "l2": 1.0, "max": 1.0}[metric]:
            count -= 1
            yield Target(size, n, metric, float(f"{value:.3g}"), p, shape, is_open)


def rivals(target: Target, epsilon: float) -> Iterator[Survey]:
    """Every mechanism over a grid of its parameters, at one epsilon."""
    size = target.size
    grid = sorted({2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512})
    if not target.is_open:
        yield dn.krr(symbols=size, epsilon=epsilon)
        yield dn.krappor(symbols=size, epsilon=epsilon)
        yield dn.oue(symbols=size, epsilon=epsilon)
        yield dn.hadamard(symbols=size, epsilon=epsilon)
        yield dn.projective(symbols=size, epsilon=epsilon)
        usual = size / (np.exp(epsilon) + 1)
        for w in sorted({round(usual * f) for f in (0.5, 0.8, 1.0, 1.25, 2.0)}):
            if 2 <= w <= size // 2:
                yield dn.subset(symbols=size, epsilon=epsilon, size=w)
    near = [k for k in grid if np.exp(epsilon) / 3 <= k <= 6 * np.exp(epsilon) + 2 and (target.is_open or k < size)]
    for k in near:
        for cohorts in (64, 256, 1024):
            if cohorts * (k - 1) > 1.4 * size and target.n > 20 * cohorts:
                symbols = None if target.is_open else size
                yield dn.orr(symbols=symbols, epsilon=epsilon, cells=k, cohorts=cohorts, seed=bytes(16))
    if target.is_open:
        for k, cohorts in ((256, 8), (1024, 4), (1024, 16)):
            yield dn.orappor(epsilon=epsilon, cells=k, cohorts=cohorts, seed=bytes(16))


# Repeats of each look at a rival, and how far above the target it may be there. What misses clearly is not looked at
# for long. What meets it must do so in many: of twenty rivals the luckiest of 200 repeats is 5 % better than it is.
STAGES = ((20, 1.06), (60, 1.03), (200, 1.0), (1000, 1.0))


def undercut(target: Target, epsilon: float, rng: np.random.Generator) -> bool:
    """Whether any mechanism of the brute-force grid meets the target at this epsilon."""
    return any(
        all(np.quantile(losses(survey, target, target.n, n, rng), 0.9) <= most * target.value for n, most in STAGES)
        for survey in rivals(target, epsilon)
    )


def overspent(target: Target, epsilon: float, rng: np.random.Generator) -> float:
    """The largest factor, of a few, by which brute force undercuts this epsilon; 1 where it never does."""
    worst = 1.0
    for factor in (1.05, 1.1, 1.15, 1.2, 1.3):
        if not undercut(target, epsilon / factor, rng):
            break
        worst = factor
    return worst


def study(options: argparse.Namespace, tell: Callable[[str], None]) -> None:
    """Every target's coverage and, for the first `brute`, what brute force would have saved."""
    asked, rng = np.random.default_rng([options.seed, 0]), np.random.default_rng([options.seed, 1])
    count, repeats = options.targets, options.repeats
    covered, spent, took = [], [], []
    for place, target in enumerate(targets(count, asked, smallest=options.smallest, largest=options.largest)):
        start = time.perf_counter()
        try:
            plan = dn.plan(n=target.n, **target.question)
        except dn.PlanError as problem:
            tell(f"{place:3} {problem}")
            continue
        took.append(time.perf_counter() - start)
        share = float((losses(plan.survey, target, target.n, repeats, rng) <= target.value).mean())
        covered.append(share)
        told = ""
        if place < options.brute:
            spent.append(overspent(target, plan.epsilon, rng))
            told = f", undercut {spent[-1]:g} times" if spent[-1] > 1 else ", not undercut"
        kind = "open" if target.is_open else "closed"
        tell(
            f"{place:3} S={target.size} n={target.n} {kind} {target.shape} {target.metric} {target.value:g}: "
            f"{plan.mechanism} {plan.parameters} epsilon {plan.epsilon:g}, met in {100 * share:.1f} %, "
            f"{took[-1]:.1f} s{told}"
        )
    met = np.array(covered)
    tell(
        f"{count} targets, {repeats} repeats each: met in {100 * met.mean():.1f} % of all, "
        f"least {100 * met.min():.1f} %, below 87 % in {(met < 0.87).sum()}; "
        f"seconds: median {np.median(took):.2f}, most {max(took):.2f}"
    )
    if spent:
        tell(
            f"brute force undercut {len(spent)} plans by these factors at most: "
            + ", ".join(f"{f:g}: {spent.count(f)}" for f in sorted(set(spent)))
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Whether plans keep their word, and what brute force would save.")
    for name, value in {"targets": 60, "repeats": 400, "seed": 1, "brute": 0, "smallest": 2, "largest": 300}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    study(parser.parse_args(), tell=lambda line: print(line, flush=True))

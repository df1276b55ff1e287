"""What intervals of regressions on reports cover, and how precise they are against theory: docs/results/relations.md.

    python -m studies.regressions                               # writes docs/results/regressions.csv
    python -m studies.regressions --only "crosswise, 1/4 500"   # other rows of the file stay as they are
    python -m studies.regressions --missing                     # rows that have had fewer repeats

Rows are drawn by their covariates, a truth, and a report from the exact channel of the survey; the study needs no table
and no formula. A row is written as soon as it has its repeats.
"""

import argparse
import csv
import itertools
import os
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri
from scipy.stats import t as student

import deniable as dn
from deniable.relations.collapsing import CollapsedRows
from deniable.relations.estimating import Estimated, estimated
from deniable.relations.fitting import share_limits
from deniable.relations.likelihoods import report_likelihoods
from deniable.relations.model_rows import bin_edges
from deniable.relations.outcome_models import Logit, Normal, OutcomeModel
from deniable.relations.problem import ReportLikelihood
from deniable.relations.profile import all_profile_limits
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

PAGE = Path(__file__).parents[1] / "docs" / "results" / "regressions.csv"
SEED = bytes(range(16))
LEVEL = 0.95
PEOPLE = (500, 5_000, 100_000)
PROFILED = 5_000  # people up to whom profile limits are looked at, too: beyond they are Wald's
PARTS = 8  # of a setting's repeats, each with a generator of its own
CLUSTERS = 60  # of each sample with clusters
ALIKE = 0.3  # correlation, within a cluster, of the normal scores that decide the truths
NAMES = "model", "survey", "errors", "people"  # columns that name a row
CORNERS = np.array([[1.0, a, b] for a in range(-2, 3) for b in (0, 1)])  # the covariates of all rows
SIGMA = 8.0  # of the linear model, on a scale from 0 to 100

# Coefficients of a constant, a number from -2 to 2 and a group, a row for each answer but the first.
TWO, THREE = np.array([[-1.0, 0.5, 0.6]]), np.array([[-0.5, 0.4, 0.5], [-1.0, -0.3, 0.8]])
RARE = np.array([[-5.0, 0.3, 0.3]])  # under 1 % of all people
YES = ("no", "yes")
SHARES = np.array([0.6, 0.25, 0.15])  # honest no, honest yes, always no


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of the table."""

    model: str
    name: str
    surveys: tuple[Survey, ...]
    symbols: tuple[Any, ...]
    truth: Floats
    people: int
    errors: str = "observed information"


@dataclass(slots=True)
class Repeats:
    """What was seen of one setting: a row a repeat, a column a coefficient."""

    covered: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    profiled: list[npt.NDArray[np.bool_]] = field(default_factory=list)
    z: list[Floats] = field(default_factory=list)
    plain: list[Floats] = field(default_factory=list)  # deviations of the fit on the same people's true answers
    private: list[Floats] = field(default_factory=list)
    theory: Floats | None = None  # standard errors of both, by the expected information
    unknown: int = 0


def settings() -> Iterator[Setting]:
    """Every line, in an order that has each kind early."""
    two = {
        "Warner, epsilon 2": dn.warner(epsilon=2),
        "forced response, 2/3 and 1/6": dn.design("forced", p="2/3", yes="1/6"),
        "crosswise, 1/4": dn.design("crosswise", p=0.25),
    }
    three = {
        "k-RR, epsilon 3": dn.krr(symbols=3, epsilon=3),
        "subsets, epsilon 3": dn.subset(symbols=3, epsilon=3, size=1),
        "OUE, epsilon 3": dn.oue(symbols=3, epsilon=3),
    }
    hashed = dn.orr(epsilon=3, cells=4, cohorts=8, seed=SEED)
    for n in PEOPLE:
        for name, survey in two.items():
            yield Setting("logit", name, (survey,), YES, TWO, n)
        for name, survey in three.items():
            yield Setting("multinomial logit", name, (survey,), (0, 1, 2), THREE, n)
        yield Setting("logit", "O-RR, 2 candidates, epsilon 3", (hashed,), YES, TWO, n)
    for name, survey in (
        ("Warner, epsilon 2", two["Warner, epsilon 2"]),
        ("k-RR, epsilon 3", three["k-RR, epsilon 3"]),
    ):
        symbols, truth = (YES, TWO) if name[0] == "W" else ((0, 1, 2), THREE)
        for errors, n in itertools.product(("weights", "clusters", "weights, clusters and strata"), PEOPLE[1:]):
            yield Setting("logit" if truth is TWO else "multinomial logit", name, (survey,), symbols, truth, n, errors)
    for epsilon, n in itertools.product((2, 5), PEOPLE[1:]):
        yield Setting("logit, under 1 %", f"Warner, epsilon {epsilon}", (dn.warner(epsilon=epsilon),), YES, RARE, n)
    for epsilon, n in itertools.product((1, 4), PEOPLE):
        number = dn.number(0, 100, epsilon, bins=16)
        truth = np.array([[50.0, 4.0, 6.0]])
        yield Setting("linear", f"number, 16 bins, epsilon {epsilon}", (number,), tuple(range(16)), truth, n)
    for epsilon, n in itertools.product((2, 4), PEOPLE[1:]):
        both = dn.warner(epsilon=epsilon), dn.krr(["a", "b"], epsilon=epsilon)
        yield Setting("randomised covariate", f"Warner and k-RR, epsilon {epsilon}", both, YES, TWO, n)
    dice = dn.design("forced", p=0.7, yes=0.2), dn.design("forced", p=0.7, yes=0.1)
    for n in PEOPLE[1:]:
        yield Setting("always no", "forced response, two groups", dice, YES, SHARES[None], n)


@dataclass(frozen=True)
class Channel:
    """Every report of a survey with its chance, by cohort and answer."""

    survey: Survey
    symbols: tuple[Any, ...]
    law: Floats  # (cohorts, answers, reports)
    responses: npt.NDArray[Any]

    @classmethod
    def of(cls, survey: Survey, symbols: tuple[Any, ...]) -> "Channel":
        mechanism = survey.mechanism
        allowed = [y for y in range(mechanism.outputs) if mechanism.permanent.allows(y)]
        named = survey.symbols if survey.alphabet.bins is not None else symbols
        law = [
            [[float(mechanism.probability(y, survey.encode(c, s))) for y in allowed] for s in named or ()]
            for c in range(survey.cohorts)
        ]
        if survey.report_format.response.bits:
            size = survey.report_format.response.size
            responses = np.array([list(y.to_bytes(size, "little")) for y in allowed], np.uint8)
        else:
            responses = np.array(allowed)
        return cls(survey, tuple(named or ()), np.asarray(law), responses)

    def draw(self, truth: Ints, rng: np.random.Generator) -> Ints:
        """A number for cohort and report together."""
        cohort = rng.integers(0, len(self.law), len(truth))
        law = self.law.reshape(-1, len(self.responses))
        report = picked(law, cohort * self.law.shape[1] + truth, rng.random(len(truth)))
        return np.asarray(cohort * len(self.responses) + report)

    def likely(self, drawn: Ints) -> Floats:
        cohort, report = np.divmod(drawn, len(self.responses))
        return report_likelihoods(self.survey, cohort, self.responses[report], self.symbols)


def picked(law: Floats, row: Ints, u: Floats) -> Ints:
    """Places drawn from rows of a table of chances, by uniform numbers: all rows are looked up as one long one."""
    ends = law.cumsum(axis=1)
    ends[:, -1] = 1.0
    return np.asarray(np.searchsorted((ends + np.arange(len(ends))[:, None]).ravel(), u + row) - row * law.shape[1])


_CHANNELS: dict[tuple[str, tuple[Any, ...]], Channel] = {}


def channel(survey: Survey, symbols: tuple[Any, ...]) -> Channel:
    key = survey.digest, symbols
    if key not in _CHANNELS:
        _CHANNELS[key] = Channel.of(survey, symbols)
    return _CHANNELS[key]


def shares(truth: Floats, x: Floats) -> Floats:
    """The logit model, the first answer as base."""
    return Logit(len(truth) + 1, 0).shares(truth.ravel(), x, np.zeros(len(x)))


def distinct(columns: list[Any]) -> tuple[Ints, Ints]:
    """Distinct rows of columns of whole numbers, in order, and how often each is there: one number stands for a row."""
    code, ends = np.zeros(len(columns[0]), np.int64), []
    for column in columns:
        low, high = int(column.min()), int(column.max())
        code = code * (high - low + 1) + (column.astype(np.int64) - low)
        ends.append((low, high - low + 1))
    code, counts = np.unique(code, return_counts=True)
    rows = np.empty((len(code), len(columns)), np.int64)
    for place, (low, size) in reversed(list(enumerate(ends))):
        code, rows[:, place] = np.divmod(code, size)
        rows[:, place] += low
    return rows, counts


def one(setting: Setting, rng: np.random.Generator, seen: Repeats) -> None:
    """One repeat: a sample, its reports, a fit."""
    if setting.model == "always no":
        _non_compliance(setting, rng, seen)
        return
    n = setting.people
    x = np.column_stack([np.ones(n), rng.integers(-2, 3, n), rng.integers(0, 2, n)]).astype(float)
    cluster = rng.integers(0, CLUSTERS, n) if "clusters" in setting.errors else None
    score = rng.standard_normal(n)
    if cluster is not None:
        score = np.sqrt(1 - ALIKE) * score + np.sqrt(ALIKE) * rng.standard_normal(CLUSTERS)[cluster]
    model: OutcomeModel = Logit(len(setting.symbols), 0)
    if setting.model == "linear":
        edges = bin_edges(setting.surveys[0])
        model = Normal(edges)
        value = x @ setting.truth[0] + SIGMA * score
        y = np.clip(np.searchsorted(edges, value) - 1, 0, len(edges) - 2)
    else:
        corner = (2 * (x[:, 1] + 2) + x[:, 2]).astype(np.int64)
        y = picked(shares(setting.truth, CORNERS), corner, ndtr(score))
    w = np.ones(n)
    if "weights" in setting.errors:
        # Those of the last answer are rarer in the sample, and weigh more: unweighted estimates would be off.
        w = np.where((y == y.max()) & (rng.random(n) < 0.7), 3.0, 1.0)
        kept = rng.random(n) < 1 / w
        x, y, w = x[kept], y[kept], w[kept]
        cluster = None if cluster is None else cluster[kept]
    stratum = None if "strata" not in setting.errors or cluster is None else cluster % 3
    first = channel(setting.surveys[0], setting.symbols)
    keys = [x[:, 1], x[:, 2], first.draw(y, rng), w]
    keys += [] if cluster is None else [cluster]
    hidden = None
    if setting.model == "randomised covariate":
        hidden = channel(setting.surveys[1], ("a", "b"))
        keys.append(hidden.draw(x[:, 2].astype(np.int64), rng))
    rows, counts = distinct(keys)
    x = np.column_stack([np.ones(len(rows)), rows[:, :2]])
    likely = first.likely(rows[:, 2])
    weights = (counts * rows[:, 3]).astype(float)
    collapsed = CollapsedRows(None, counts.astype(float), weights, weights * rows[:, 3], 0, int(counts.sum()))
    if hidden is None:
        problem = ReportLikelihood(model, (x,), likely, np.zeros(len(x)), weights)
    else:
        off, on = x.copy(), x.copy()
        off[:, 2], on[:, 2] = 0.0, 1.0
        report = hidden.likely(rows[:, -1])
        problem = ReportLikelihood(model, (off, on), likely, np.zeros(len(x)), weights, report, x[:, :2])
    which = None if cluster is None else rows[:, 4]
    found = estimated(
        problem,
        collapsed,
        robust="weights" in setting.errors,
        cluster=which,
        stratum=None if stratum is None or which is None else which % 3,
    )
    _note(setting, problem, found, seen)
    if setting.model in ("logit", "multinomial logit") and setting.errors == "observed information":
        _against_plain(setting, x, y, keys, found, seen)


def _non_compliance(setting: Setting, rng: np.random.Generator, seen: Repeats) -> None:
    """Shares of honest no, honest yes and always no, from two groups with different dice."""
    likely, counts = [], []
    for survey, n in zip(setting.surveys, (setting.people // 2, setting.people - setting.people // 2), strict=True):
        law = channel(survey, YES).law[0]
        rows = np.vstack([law, [1.0, 0.0]])
        counts.append(rng.multinomial(n, SHARES @ rows))
        likely.append(rows.T)
    every, many = np.concatenate(likely), np.concatenate(counts).astype(float)
    problem = ReportLikelihood(Logit(3, 0), (np.ones((4, 1)),), every, np.zeros(4), many)
    found = estimated(problem, CollapsedRows(None, many, many, many, 0, setting.people))
    shares = problem.model.shares(found.fit.theta, np.ones((1, 1)), np.zeros(1))[0]
    z = float(ndtri((1 + LEVEL) / 2))
    low, high = share_limits(every, many, shares, z)
    seen.unknown += int(found.unknown.any())
    seen.covered.append((low <= SHARES) & (high >= SHARES))
    seen.z.append((shares - SHARES) * 2 * z / (high - low))


def _note(setting: Setting, problem: ReportLikelihood, found: Estimated, seen: Repeats) -> None:
    truth = setting.truth.ravel()
    size = len(truth)
    with np.errstate(invalid="ignore"):
        errors = np.sqrt(np.diag(found.covariance)[:size])
    away = found.fit.theta[:size] - truth
    seen.unknown += int(found.unknown[:size].any())
    seen.covered.append(np.abs(away) <= student.ppf((1 + LEVEL) / 2, found.freedom) * errors)
    seen.z.append(away / errors)
    if setting.errors == "observed information" and setting.people <= PROFILED:
        z = float(ndtri((1 + LEVEL) / 2))
        with np.errstate(invalid="ignore"):
            every = np.sqrt(np.diag(found.covariance))
        limits = all_profile_limits(problem, found.fit.theta, every, z)[:size]
        seen.profiled.append((limits[:, 0] <= truth) & (truth <= limits[:, 1]))


def _against_plain(setting: Setting, x: Floats, y: Ints, keys: list[Any], found: Estimated, seen: Repeats) -> None:
    """The same people's true answers, fitted by the same code: each answer is a report that tells all."""
    rows, counts = distinct([keys[0], keys[1], y])
    clear = np.eye(len(setting.symbols))[rows[:, 2]]
    matrix = np.column_stack([np.ones(len(rows)), rows[:, :2]])
    many = counts.astype(float)
    problem = ReportLikelihood(Logit(len(setting.symbols), 0), (matrix,), clear, np.zeros(len(rows)), many)
    plain = estimated(problem, CollapsedRows(None, many, many, many, 0, len(y)), starts=0)
    if plain.unknown.any() or found.unknown.any():
        return
    seen.plain.append(plain.fit.theta - setting.truth.ravel())
    seen.private.append(found.fit.theta - setting.truth.ravel())
    if seen.theory is None:
        seen.theory = _theory(setting)


def _theory(setting: Setting) -> Floats:
    """How many times as large the errors are as those of true answers: from the expected information of both."""
    first = channel(setting.surveys[0], setting.symbols)
    reports = np.arange(len(first.law) * len(first.responses))
    pi = shares(setting.truth, CORNERS)
    model, theta = Logit(len(setting.symbols), 0), setting.truth.ravel()
    flat = first.law.transpose(0, 2, 1).reshape(len(reports), -1) / len(first.law)
    total = np.zeros((len(theta), len(theta)))
    for report in reports:
        chance = pi @ flat[report]
        likely = np.broadcast_to(flat[report], pi.shape)
        _, score, _, _ = model.parts(theta, CORNERS, likely, np.zeros(len(CORNERS)), np.ones(len(CORNERS)))
        total += (score * (chance / len(CORNERS))[:, None]).T @ score
    *_, whole = model.parts(
        theta, CORNERS, np.ones(pi.shape), np.zeros(len(CORNERS)), np.full(len(CORNERS), 1 / len(CORNERS))
    )
    return np.sqrt(np.diag(np.linalg.inv(total)) / np.diag(np.linalg.inv(whole)))


def title(setting: Setting) -> str:
    return f"{setting.model} {setting.name} {setting.people} {setting.errors}"


def worked(place: int, part: int, repeats: int) -> tuple[int, Repeats]:
    """Some repeats of one setting."""
    setting = list(settings())[place]
    rng = np.random.default_rng([23, zlib.crc32(title(setting).encode()), part])
    seen = Repeats()
    for _ in range(repeats):
        one(setting, rng, seen)
    return place, seen


def line(setting: Setting, parts: list[Repeats]) -> dict[str, object]:
    """A row of the table."""
    covered = np.array([row for part in parts for row in part.covered])
    profiled = np.array([row for part in parts for row in part.profiled])
    z = np.array([row for part in parts for row in part.z])
    plain = np.array([row for part in parts for row in part.plain])
    private = np.array([row for part in parts for row in part.private])
    theory = next((part.theory for part in parts if part.theory is not None), None)
    loss = theory is not None and len(plain) > 1
    return {
        "model": setting.model,
        "survey": setting.name,
        "errors": setting.errors,
        "people": setting.people,
        "repeats": len(covered),
        "coverage": round(100 * float(covered.mean()), 2),
        "least_coefficient": round(100 * float(covered.mean(axis=0).min()), 2),
        "most_coefficient": round(100 * float(covered.mean(axis=0).max()), 2),
        "profile_coverage": round(100 * float(profiled.mean()), 2) if len(profiled) else "",
        "spread_of_z": round(float(np.nanstd(z[:, min(1, z.shape[1] - 1)])), 3),
        "without_estimate": sum(part.unknown for part in parts),
        "loss": round(float((private.std(axis=0) / plain.std(axis=0)).mean()), 3) if loss else "",
        "loss_in_theory": round(float(theory.mean()), 3) if loss and theory is not None else "",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1000, help="of each setting, a multiple of 8")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=PAGE)
    parser.add_argument("--only", action="append", help="part of a row's model, survey, people and errors")
    parser.add_argument("--missing", action="store_true", help="only rows that the file has with fewer repeats, or not")
    given = parser.parse_args()
    every = list(settings())
    names = [tuple(map(str, (each.model, each.name, each.errors, each.people))) for each in every]
    wanted = [place for place, each in enumerate(every) if not given.only or any(o in title(each) for o in given.only)]
    rows: dict[tuple[str, ...], dict[str, object]] = {}
    if (given.only or given.missing) and given.output.exists():
        with given.output.open(newline="") as file:
            rows = {tuple(row[name] for name in NAMES): dict(row) for row in csv.DictReader(file)}
    if given.missing:
        done = {name for name, row in rows.items() if int(str(row["repeats"])) >= given.repeats}
        wanted = [place for place in wanted if names[place] not in done]
    found: dict[int, list[Repeats]] = {place: [] for place in wanted}
    with ProcessPoolExecutor(given.processes) as pool:
        asked = [pool.submit(worked, place, part, given.repeats // PARTS) for place in wanted for part in range(PARTS)]
        for future in as_completed(asked):
            place, seen = future.result()
            found[place].append(seen)
            if len(found[place]) < PARTS:
                continue
            rows[names[place]] = line(every[place], found[place])
            print(*rows[names[place]].values(), sep="\t", flush=True)
            with given.output.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(rows[names[place]]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows[name] for name in names if name in rows)


if __name__ == "__main__":
    main()

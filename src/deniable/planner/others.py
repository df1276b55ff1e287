"""The alternatives of a plan, what the paper's mechanisms need, the curves of the chart, and error messages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf, isfinite
from types import MappingProxyType
from typing import Any

import numpy as np

from deniable.errors import PlanError
from deniable.planner.catalogue import PAPER, families, paper_families
from deniable.planner.options import Family, Option, PlanLimits
from deniable.planner.request import EPSILONS, PEOPLE, PlanRequest
from deniable.planner.result import Alternative
from deniable.planner.search import Search
from deniable.planner.solve import Outside, rounded_up

_CLOSE = 1  # alternatives whose need is found by normal draws; of the others it is that of equal noise, in closed form
_POINTS = 25  # epsilons from 0.1 to 10 of each curve of the chart
_DIRECT = (("O-RR", "k-RR"), ("O-RAPPOR", "k-RAPPOR"))  # with a cell for every symbol the first mechanism is the second


def alternatives(
    search: Search, option: Option, epsilon: float, n: int, placed: Mapping[str, float] = MappingProxyType({})
) -> list[Alternative]:
    """Every other mechanism with its best parameters, the runner-up first.

    `placed` has the epsilon or n of the mechanisms for which it was found by simulation, too.
    """
    request = search.request
    ours = search.loss(option, epsilon, n)
    level = search.noise(option.family, epsilon, n) / n**0.5
    found: list[tuple[float, Option]] = []
    out: list[Alternative] = []
    for family in families(request.size, is_open=request.is_open, limits=request.limits, hidden=request.hidden):
        if family.name == option.family.name:
            continue
        if not len(family):
            out.append(Alternative(family.name, "", None, 0, f"{family.left_out}"))
            continue
        best = search.best(family, epsilon, n)
        if family.name in placed:
            value = placed[family.name]
        elif request.found == "error":
            value = search.loss(best[0], epsilon, n) if isfinite(best[1]) else inf
        else:
            value = search.same_noise(family, level, epsilon=epsilon, n=float(n)) or inf
        found.append((value, best[0]))
    found.sort(key=lambda pair: pair[0])
    if request.found != "error":
        close = [place for place, (value, _) in enumerate(found) if isfinite(value)][:_CLOSE]
        for place in close:
            value, other = found[place]
            if other.family.name not in placed:
                found[place] = (_needed(search, other.family, ours, value), other)
        found.sort(key=lambda pair: pair[0])
    ours = {"epsilon": epsilon, "n": float(n), "error": ours}[request.found]
    told = []
    for value, other in found:
        where = {"epsilon": (value, n), "n": (epsilon, value), "error": (epsilon, n)}[request.found]
        if not isfinite(value):
            told.append(Alternative(other.family.name, "", None, other.report_bytes, "it cannot reach this error"))
            continue
        other = search.best(other.family, *where)[0]
        why = _why(request.found, value, ours, other.report_bytes, option.report_bytes, other.cohorts)
        told.append(Alternative(other.family.name, other.words, value, other.report_bytes, why))
    return told + out


def _needed(search: Search, family: Family, target: float, start: float) -> float:
    try:
        return search.solve(search.of(family), target, start=start)
    except Outside as outside:
        return (EPSILONS if search.request.found == "epsilon" else PEOPLE)[0] if outside.below else inf


def _why(found: str, value: float, ours: float, size: int, our_size: int, cohorts: int) -> str:
    ratio = value / ours
    what = _told(found, value)
    verb = "has" if found == "error" else "needs"
    lengths = f"reports of {size} bytes, not {our_size}" if size != our_size else f"reports as long, of {size} bytes"
    lengths = f"{cohorts} cohorts and {lengths}" if cohorts > 1 else lengths
    if ratio <= 1.015:
        alike = "does as well" if ratio >= 0.985 else f"does {100 * (1 - ratio):.0f} % better"
        return f"{alike} ({what}), with {lengths}"
    more = f"{ratio:.1f} times as much" if ratio >= 2 else f"{100 * (ratio - 1):.0f} % more"
    return f"{verb} {what}, {more}" + (f", though with {lengths}" if size < our_size else "")


def paper_needs(request: PlanRequest, search: Search, epsilon: float, n: int) -> list[Alternative]:
    """What the paper's mechanisms need: on the paper's grid of k, C and h, with its decoder."""
    paper = _paper_search(request, search)
    found: dict[str, Alternative] = {}
    level = min(search.noise(f, epsilon, n) for f in search.families) / n**0.5
    for family in paper.families:
        if request.found == "error":
            option, score = paper.best(family, epsilon, n)
            value = paper.loss(option, epsilon, n) if isfinite(score) else inf
            where: tuple[float, float] = (epsilon, n)
        else:
            start = paper.same_noise(family, level, epsilon=epsilon, n=float(n))
            start = start or (EPSILONS[1] if request.found == "epsilon" else 1e12)
            value = _needed(paper, family, request.target or inf, start)
            where = (value, n) if request.found == "epsilon" else (epsilon, value)
        if not isfinite(value):
            found[family.name] = Alternative(family.name, "", None, 0, "not reachable")
            continue
        option = paper.best(family, *where)[0]
        found[family.name] = Alternative(
            family.name,
            option.words,
            value,
            option.report_bytes,
            f"{'has' if request.found == 'error' else 'needs'} {_told(request.found, value)}",
        )
    for hashed, direct in _DIRECT:
        one, two = found.get(hashed), found.get(direct)
        if two and two.needs is not None and (one is None or one.needs is None or one.needs > two.needs):
            found[hashed] = replace(two, mechanism=hashed, parameters=f"as {direct}")
    none = "needs a closed alphabet"
    return [found.get(name) or Alternative(name, "", None, 0, none) for name in PAPER]


def _paper_search(request: PlanRequest, search: Search) -> Search:
    grid = paper_families(request.size, is_open=request.is_open)
    return Search(request, grid, paper=True, active=search.active)


def curves(search: Search, option: Option, epsilon: float, n: int) -> list[dict[str, Any]]:
    """Epsilon against n at one error, as rows (mechanism, epsilon, n), by closed forms.

    Equal error is taken as equal noise, so one point determines a curve. The plan's curve goes through its own n and
    epsilon, those of the paper's mechanisms through what they need.
    """
    level = search.noise(option.family, epsilon, n) / n**0.5
    rows = _through(search, search.families, "best plan", level, n, epsilon)
    other = _paper_search(search.request, search)
    target = search.request.target or search.loss(option, epsilon, n)
    # In the paper's decoder one error is one level of noise, whichever mechanism makes it.
    asked = replace(search.request, n=None, epsilon=search.request.epsilon or epsilon, target=target)
    other = replace(other, request=asked)
    for family in other.families:
        people = _needed(other, family, target, float(n))
        if isfinite(people):
            level = other.noise(family, asked.spends, people) / people**0.5
            for part in other.families:
                alike = [part, *(f for f in other.families if (part.name, f.name) in _DIRECT)]
                rows += _through(other, alike, part.name, level, float(n))
            break
    return rows


def _through(
    search: Search,
    every: Sequence[Family],
    name: str,
    level: float,
    n: float,
    through: float | None = None,
) -> list[dict[str, Any]]:
    rows = []
    epsilons = np.geomspace(0.1, 10.0, _POINTS)
    if through is not None:
        epsilons = np.sort(np.append(epsilons, through))
    for epsilon in epsilons.tolist():
        people = n
        for _ in range(3):  # how many cohorts there can be depends on n
            noise = min(search.noise(family, epsilon, people) for family in every)
            people = min(max((noise / level) ** 2, PEOPLE[0]), PEOPLE[1]) if isfinite(noise) else inf
            if not isfinite(people):
                break
        if isfinite(people) and people < PEOPLE[1]:
            rows.append({"mechanism": name, "epsilon": epsilon, "n": people})
    return rows


def infeasible(request: PlanRequest, search: Search, least: float) -> PlanError:
    """The error for a target that cannot be met, with the n or epsilon that would do."""
    target, name = request.target, request.argument
    assert target is not None
    if not isfinite(least):
        return nothing_fits(request, search.families)
    if request.found == "epsilon":
        assert request.n is not None
        needs: dict[float, float] = {}
        for epsilon in (4.0, 1.0):
            asked = replace(request, n=None, epsilon=epsilon)
            people = _whole(asked, search, target, float(request.n) * 10)
            if people is not None:
                needs[epsilon] = people
        told = " or ".join(f"{_people(people)} people at epsilon {epsilon:g}" for epsilon, people in needs.items())
        told = f"it takes about {told}" if told else "no number of people is enough"
        return PlanError(
            f"{name} must be at least {rounded_up(least, 2):g} for {request.n:,} people, even at epsilon "
            f"{EPSILONS[1]:g}, got {target:g}; {told}",
            least=least,
            people=needs,
        )
    asked = replace(request, n=10**9, epsilon=None)
    spent = "epsilon" if request.lifetime is None else "epsilon_report"
    enough = _whole(asked, search, target, 2.0)
    told = "nor is any epsilon with a billion" if enough is None else f"a billion are at {spent} {enough:.2g}"
    return PlanError(
        f"{name} must be reachable, got {target:g}: {_people(PEOPLE[1])} people are not enough at {spent} "
        f"{request.spends:g}; {told}",
        least=least,
        people={} if enough is None else {enough: 1e9},
    )


def _whole(asked: PlanRequest, search: Search, target: float, start: float) -> float | None:
    one = Search(asked, search.families, active=search.active)
    try:
        return one.solve(one.first, target, start=start)
    except Outside as outside:
        return None if not outside.below else (PEOPLE if asked.found == "n" else EPSILONS)[0]


def nothing_fits(request: PlanRequest, every: Sequence[Family]) -> PlanError:
    """The error for limits that no survey keeps."""
    limits, size = request.limits, request.size
    if limits.max_bytes is not None and not any(len(family) for family in every):
        free = families(
            size, is_open=request.is_open, limits=PlanLimits(None, limits.max_cohorts), hidden=request.hidden
        )
        least = min(int(family.report_bytes.min()) for family in free if len(family))
        return PlanError(
            f"max_bytes must be at least {least}, the shortest report there is for {size} symbols, got "
            f"{limits.max_bytes}"
        )
    got = ", ".join(
        f"{name} {value}"
        for name, value in (("max_cohorts", limits.max_cohorts), ("max_bytes", limits.max_bytes), ("n", request.n))
        if value is not None
    )
    return PlanError(
        f"cohorts and cells must be enough to tell {size} candidates apart, got {got or 'too few'}; "
        "allow more cohorts or bytes, or ask more people"
    )


def _told(found: str, value: float) -> str:
    """What was found, in words."""
    if found == "n":
        return f"{_people(value)} people"
    return f"epsilon {value:.3g}" if found == "epsilon" else f"an error of {value:.3g}"


def _people(value: float) -> str:
    """A number of people in words, to two digits.

    >>> _people(1234567.0), _people(3.4e9), _people(950.0)
    ('1.3 million', '3.4 billion', '950')
    """
    value = rounded_up(value, 2)
    for scale, word in ((1e12, " trillion"), (1e9, " billion"), (1e6, " million")):
        if value >= scale:
            return f"{value / scale:g}{word}"
    return f"{value:,.0f}"

"""The audit itself: ask many new devices, choose events on one half of the answers, test them on the other.

Two questions. Does every event have the probability that the survey publishes (the law)? And is no event more than
e**epsilon times likelier under one value than under another (privacy)? Both are answered by Clopper-Pearson bounds at
a level that is divided among the events tested, so an honest client is accused with probability at most alpha. Devices
that are asked twice for the same value are held to the lifetime's epsilon, and, where nothing is randomised again, to
repeating their bytes.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations

import numpy as np
import numpy.typing as npt

from deniable.audit.bounds import lower_bound, upper_bound
from deniable.audit.certificate import Certificate, Finding, Measured
from deniable.audit.events import Counts, Floats, families_of
from deniable.audit.samples import Sample, read_reports
from deniable.audit.sources import Calls, Command, Devices, line_of, own_devices
from deniable.errors import AuditError
from deniable.survey import Survey

_LAW = 400  # events of a family that are tested against their published probabilities, for each value
_BEST = 2  # events of a family that are tested for telling two values apart; each more costs all of them power
_BLOCK = 1 << 14  # devices between two words of progress
_TELLING = 8  # values that are compared, at most, where what is promised differs from answer to answer
_PATTERN = (1, 1, 1, 2)  # of four devices, one is asked twice


def audit(
    survey: Survey,
    client: Command | Devices | None = None,
    *,
    trials: int = 1_000_000,
    values: Sequence[object] | None = None,
    twice: bool = True,
    alpha: float = 1e-6,
    progress: Callable[[int, int], None] | None = None,
) -> Certificate:
    """Ask many new devices of a client, and say what their reports show.

    Parameters
    ----------
    survey : Survey
        What the client says that it does.
    client : Command or callable, optional
        A `Command`, or a function that is given the values of one new device and returns its packed reports. This
        package's own client, if it is left out.
    trials : int
        Devices to ask, at least 1000.
    values : sequence, optional
        At least two different answers to ask for; up to four of the survey's own, if they are left out.
    twice : bool
        Whether a quarter of the devices are asked twice. False is for clients that are meant to answer once; nothing is
        then said of repeated reports.
    alpha : float
        The largest probability with which an honest client may be accused.
    progress : callable, optional
        Called with the number of devices that have answered, and that of all.

    Returns
    -------
    Certificate
        What is proved, measured and found.

    Raises
    ------
    AuditError
        If the arguments cannot be tested, or the client does not answer as it must.

    Examples
    --------
    >>> import deniable as dn
    >>> certificate = audit(dn.warner(epsilon=1.0), trials=4000)
    >>> certificate.verdict, certificate.one.epsilon < 1.0
    ('PASSED', True)
    """
    Survey.check(survey, "it comes first: audit(survey, client)")
    if trials < 1000:
        raise AuditError(f"trials must be at least 1000, got {trials}; a million is a good number")
    if not 0 < alpha < 0.5:
        raise AuditError(f"alpha must be between 0 and 0.5, got {alpha}")
    chosen = values_of(survey) if values is None else tuple(values)
    if len(chosen) < 2 or len({survey.key(value) for value in chosen}) != len(chosen):
        raise AuditError("values must be at least two, and different ones for the survey")
    source = client if isinstance(client, Command) else Calls(own_devices(survey) if client is None else client)
    pattern = [(value, times) for times in (_PATTERN if twice else (1,)) for value in range(len(chosen))]
    rounds = trials // len(pattern)
    asked = ((chosen[value],) * times for _ in range(rounds) for value, times in pattern)
    if isinstance(client, Command):  # before it runs: what cannot be written on a line must not leave it waiting
        for value in chosen:
            line_of(value)
    with contextlib.closing(source.reports(asked)) as reports:
        devices = _collected(reports, pattern, rounds, progress)
    title = "this package's own" if client is None else "a Python function"
    title = " ".join(client.words) if isinstance(client, Command) else title
    findings: list[Finding] = []
    samples: dict[int, list[Sample]] = {1: [], 2: []}
    for times in samples:
        for value in range(len(chosen)):
            if (value, times) not in devices:
                continue
            sample, bad = read_reports(survey, devices.pop((value, times)))
            samples[times].append(sample)
            if bad:
                findings.append(Finding("format", f"value {value + 1}: {len(bad):,} reports are none: {bad[0]}"))
    if min(len(sample) for kind in samples.values() for sample in kind) < 50:
        raise AuditError(f"the client must send reports of the survey, got too few to test: {findings[0].event}")
    studies = [_Study(survey, chosen, samples[1], 1, survey.mechanism.report_bound)]
    if twice:
        studies.append(_Study(survey, chosen, samples[2], 2, survey.mechanism.epsilon))
        if survey.mechanism.permanent is survey.mechanism:
            findings += _not_repeated(samples[2])
    share = alpha / (2 * len(studies))
    for study in studies:
        findings += study.law(share) + study.privacy(share)
    return Certificate(
        survey=survey,
        client=title,
        devices=rounds * len(pattern),
        asked_twice=rounds * sum(times == 2 for _, times in pattern),
        values=chosen,
        alpha=alpha,
        one=studies[0].measured,
        two=studies[1].measured if twice else None,
        tested=sum(study.tested for study in studies),
        findings=tuple(findings),
    )


def values_of(survey: Survey) -> tuple[object, ...]:
    """Four values of the survey, or all if there are fewer: the first two, one in the middle, and the last.

    Where what is promised differs from answer to answer, two of each kind instead.
    """
    if survey.symbols is None:
        return ("a", "b", "c", "d")
    places = survey.mechanism.permanent.telling[:_TELLING]
    places = places or sorted({0, 1, len(survey.symbols) // 2, len(survey.symbols) - 1})
    return tuple(survey.symbols[place] for place in places)


def _collected(
    reports: Iterator[tuple[bytes, ...]],
    pattern: list[tuple[int, int]],
    rounds: int,
    progress: Callable[[int, int], None] | None,
) -> dict[tuple[int, int], list[tuple[bytes, ...]]]:
    """The reports by what was asked, in order."""
    found: dict[tuple[int, int], list[tuple[bytes, ...]]] = {kind: [] for kind in pattern}
    step = max(_BLOCK // len(pattern), 1)
    for start in range(0, rounds, step):
        here = min(step, rounds - start)
        for number in range(here * len(pattern)):
            kind = pattern[number % len(pattern)]
            device = next(reports, None)
            if device is None:
                done = start * len(pattern) + number
                raise AuditError(f"the client must answer every line, got {done:,} of {rounds * len(pattern):,}")
            if len(device) != kind[1]:
                raise AuditError(
                    f"the client must send {kind[1]} reports for {kind[1]} values of one line, got {len(device)}; "
                    "audit a client that answers once without asking twice"
                )
            found[kind].append(device)
        if progress is not None:
            progress((start + here) * len(pattern), rounds * len(pattern))
    if next(reports, None) is not None:
        raise AuditError(f"the client must answer every line once, got more than {rounds * len(pattern):,}")
    return found


def _not_repeated(samples: list[Sample]) -> list[Finding]:
    """Devices that were asked twice and did not repeat the bytes of a memoised answer: needs no statistics."""
    differ = 0
    for sample in samples:
        first, second = sample.responses
        same = first == second
        differ += int((~(same if same.ndim == 1 else same.all(axis=1))).sum())
    total = sum(len(sample) for sample in samples)
    if not differ:
        return []
    return [Finding("memory", f"{differ:,} of {total:,} devices sent two different reports of one answer")]


class _Study:
    """All events of devices asked once, or twice: counted on both halves, with their published probabilities."""

    def __init__(
        self, survey: Survey, values: tuple[object, ...], samples: list[Sample], times: int, limit: Fraction
    ) -> None:
        self.limit, self.tested = limit, 0
        channel = survey.mechanism.permanent
        own = [survey.encode(0, value) for value in values]
        bounds = {(x, y): channel.bound(own[x], own[y]) for x, y in permutations(range(len(values)), 2)}
        # What is promised to each two values; those that nothing is promised to are not compared.
        self.limits = {pair: min(bound, limit) for pair, bound in bounds.items() if bound is not None}
        self.measured = Measured(0.0, limit, "no event tells two values apart")
        self.families = families_of(survey, values, times)
        self.values = range(len(values))
        first = [sample.part(slice(None, len(sample) // 2)) for sample in samples]
        halves = [first, [sample.part(slice(len(sample) // 2, None)) for sample in samples]]
        self.sizes = [[len(s) for s in half] for half in halves]
        self.counts = [[[family.count(s) for s in half] for half in halves] for family in self.families]
        self.one = "one report" if times == 1 else "two reports"

    def law(self, alpha: float) -> list[Finding]:
        """Test the events that deviate most from their published probability on the first half, on the second half.

        For each value alone, and for all values together where an event has the same probability for all of them.
        """
        tests: list[tuple[str, int, int, float]] = []
        for family, (first, second) in zip(self.families, self.counts, strict=True):
            chances = [np.clip(family.chances(value), 0.0, 1.0) for value in self.values]
            groups = [(f"value {value + 1}", [value]) for value in self.values] + [("any value", list(self.values))]
            for who, group in groups:
                chance = chances[group[0]]
                alike = np.ptp(np.array([chances[value] for value in group]), axis=0) < 1e-15
                n, m = (sum(self.sizes[half][value] for value in group) for half in (0, 1))
                before, after = (np.sum([half[value] for value in group], axis=0) for half in (first, second))
                off = np.abs(before - n * chance) / np.sqrt(n * chance * (1 - chance) + 1.0)
                for event in _largest(np.where(alike, off, -1.0), _LAW):
                    if alike[event]:
                        name = f"{self.one} of {who}: {family.name(event)}"
                        tests.append((name, int(after[event]), m, float(chance[event])))
        self.tested += len(tests)
        share = alpha / (2 * len(tests))
        hits, trials, published = (np.array([test[place] for test in tests]) for place in (1, 2, 3))
        low, high = lower_bound(hits, trials, share), upper_bound(hits, trials, share)
        # Published probabilities are sums of rounded numbers: differences below 1e-12 are rounding errors.
        wrong = np.flatnonzero((low > published + 1e-12) | (high < published - 1e-12))
        if not wrong.size:
            return []
        name, hit, trial, stated = tests[int(wrong[np.argmax(np.maximum(low - published, published - high)[wrong])])]
        rates = f"with probability {hit / trial:.4g}, published {stated:.4g} ({wrong.size:,} such events)"
        return [Finding("law", f"{name} {rates}")]

    def privacy(self, alpha: float) -> list[Finding]:
        """For every two values: take the events with the largest ratio on the first half, bound it on the second."""
        tests: list[tuple[str, int, int, int, int]] = []
        for family, (first, second) in zip(self.families, self.counts, strict=True):
            for x, other in self.limits:
                n, m = self.sizes[0][x], self.sizes[0][other]
                for negate in (False, True):
                    a, b = (n - first[x], m - first[other]) if negate else (first[x], first[other])
                    c, d = self.sizes[1][x] - second[x], self.sizes[1][other] - second[other]
                    c, d = (c, d) if negate else (second[x], second[other])
                    for event in _largest(_cautious_log_ratio(a, n, b, m), _BEST):
                        name = f"{'not: ' if negate else ''}{family.name(event)}"
                        tests.append((name, x, other, int(c[event]), int(d[event])))
                if family.disjoint:
                    union = _best_union(first[x], n, first[other], m)
                    among = family.name(int(union[0]))
                    name = f"one of {len(union):,} outcomes that told the two apart before, such as: {among}"
                    tests.append((name, x, other, int(second[x][union].sum()), int(second[other][union].sum())))
        if not tests:
            return []
        share = alpha / (2 * len(tests))
        low = lower_bound([t[3] for t in tests], [self.sizes[1][t[1]] for t in tests], share)
        high = upper_bound([t[4] for t in tests], [self.sizes[1][t[2]] for t in tests], share)
        with np.errstate(divide="ignore"):
            found = np.log(low) - np.log(high)
        best = int(np.argmax(found - np.array([float(self.limits[test[1], test[2]]) for test in tests])))
        name, x, other, hits, others = tests[best]
        limit = self.limits[x, other]
        rates = hits / self.sizes[1][x], others / self.sizes[1][other]
        shown = f"{name} (value {x + 1}: {rates[0]:.4g}, value {other + 1}: {rates[1]:.4g})"
        self.tested += len(tests)
        self.measured = Measured(max(float(found[best]), 0.0), limit, shown)
        if found[best] <= limit:
            return []
        text = f"{self.one}: epsilon is at least {found[best]:.4g}, not {float(limit):g}: {shown}"
        return [Finding("privacy", text)]


def _largest(scores: npt.NDArray[np.float64], count: int) -> list[int]:
    if len(scores) <= count:
        return list(range(len(scores)))
    return [int(place) for place in np.argpartition(scores, -count)[-count:]]


def _cautious_log_ratio(hits: Counts, n: int, others: Counts, m: int) -> Floats:
    """A cautious estimate of an event's log ratio: five standard errors below it, with half a count added to each."""
    p, q = (hits + 0.5) / (n + 1), (others + 0.5) / (m + 1)
    return np.asarray(np.log(p / q) - 5 * np.sqrt(1 / (hits + 0.5) + 1 / (others + 0.5)))


def _best_union(hits: Counts, n: int, others: Counts, m: int) -> npt.NDArray[np.intp]:
    """The union of events with the largest cautious log ratio, among unions of the events with the largest ratios."""
    order = np.argsort(-(hits + 0.5) / (others + 0.5), kind="stable")
    total = _cautious_log_ratio(np.cumsum(hits[order]), n, np.cumsum(others[order]), m)
    return order[: int(np.argmax(total)) + 1]

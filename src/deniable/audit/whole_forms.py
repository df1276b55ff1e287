"""The audit of a whole form: the total epsilon, measured on the packed bytes of complete answers.

Many new devices are asked with a few complete sets of answers: two that differ in every question, and one that has
half of each. Events are chosen on one half of their reports and tested on the other, by the exact binomial bounds that
audits of one question use. What is tested: that the bytes are reports of the form, that what was drawn does
not depend on the answers, that a memoising device repeats its bytes, and that no event is more than e**epsilon times
likelier under one set of answers than under another.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.audit.auditing import _best_union, _cautious_log_ratio, _largest
from deniable.audit.bounds import lower_bound, upper_bound
from deniable.audit.certificate import Finding
from deniable.client import Client
from deniable.errors import AuditError
from deniable.survey import Form
from deniable.tally import answered_parts, refused_forms, slots_of

__all__ = ["FormCertificate", "audit_form"]

Complete = Mapping[str, object]
FormDevices = Callable[[Complete, int], Sequence[bytes]]

MAX_OUTCOMES = 1 << 12  # different packed reports up to which each is an event of its own
MAX_JOINT = 6  # with up to so many parts an event is the codes of all of them, with more the sum of the codes
_WAYS = ((0, 1), (1, 0))  # which of two sets of answers is likelier
_BEST = 2  # events with the largest ratios that are tested, each way


@dataclass(frozen=True, slots=True)
class FormCertificate:
    """What was measured of a client of a form, and found.

    Parameters
    ----------
    form : Form
        What the client was held to.
    devices : int
        Devices that were asked.
    alpha : float
        The largest probability with which an honest client is accused.
    epsilon : float
        The largest total epsilon that the reports prove.
    findings : tuple of Finding
        What contradicts the form.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2)
    >>> found = audit_form(form, trials=4000)
    >>> found.verdict, 0 < found.epsilon <= 2
    ('PASSED', True)
    >>> found.lines()[-1], found.to_json()["limit"]
    (('verdict', 'PASSED'), 2.0)
    """

    form: Form
    devices: int
    alpha: float
    epsilon: float
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> str:
        """VIOLATED if anything was found, else PASSED."""
        return "VIOLATED" if self.findings else "PASSED"

    def lines(self) -> list[tuple[str, str]]:
        """The certificate as (name, text), in the order of reading."""
        sure = f"with confidence {100 * (1 - self.alpha):.6g} %"
        return [
            ("form", repr(self.form)),
            ("asked", f"{self.devices:,} devices; half chose the events, half tested them"),
            (
                "proved",
                f"by the form's integers: a worst ratio of {float(self.form.odds):.6g} <= e^{self.form.epsilon:g}",
            ),
            ("measured", f"all answers together: epsilon >= {self.epsilon:.4g} of {self.form.epsilon:g} {sure}"),
            *((finding.kind, finding.event) for finding in self.findings),
            ("verdict", self.verdict),
        ]

    def to_json(self) -> dict[str, object]:
        """The same as plain values."""
        return {
            "verdict": self.verdict,
            "form": self.form.digest,
            "devices": self.devices,
            "alpha": self.alpha,
            "epsilon_at_least": self.epsilon,
            "limit": self.form.epsilon,
            "findings": [{"kind": finding.kind, "event": finding.event} for finding in self.findings],
        }


def own_form_devices(form: Form) -> FormDevices:
    """This package's own client: a new device for each call, which answers what it drew."""

    def device(answers: Complete, times: int) -> list[bytes]:
        client: Any = Client(form)
        drawn = {name: answers[name] for name in client.questions}
        return [client.report(drawn).pack() for _ in range(times)]

    return device


def audit_form(
    form: Form,
    client: FormDevices | None = None,
    *,
    trials: int = 100_000,
    values: Sequence[Complete] | None = None,
    alpha: float = 1e-6,
) -> FormCertificate:
    """Ask many new devices of a client of a form, and say what their reports show.

    Parameters
    ----------
    form : Form
        What the client says that it does; without conditions.
    client : callable, optional
        Given the complete answers of one new device, and how often it is asked, it returns as many packed reports. This
        package's own client, if it is left out.
    trials : int
        Devices to ask, at least 1000.
    values : sequence of mappings, optional
        Complete sets of answers; the first answer to every question, the last, and both in turn, if they are left out.
    alpha : float
        The largest probability with which an honest client may be accused.

    Returns
    -------
    FormCertificate
        What is measured and found.

    Raises
    ------
    AuditError
        If the arguments cannot be tested, or the client does not answer as it must.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2, spend="sample")
    >>> audit_form(form, trials=3000).findings
    ()
    """
    if trials < 1000:
        raise AuditError(f"trials must be at least 1000, got {trials}; a million is a good number")
    if form.public:
        raise AuditError("a form with public questions must be audited without them; make one of what is asked")
    sets = _answers(form) if values is None else tuple(values)
    if len(sets) < 2:
        raise AuditError(f"values must be at least two complete sets of answers, got {len(sets)}")
    ask = own_form_devices(form) if client is None else client
    findings: list[Finding] = []
    samples, changed = [], 0
    for answers in sets:
        wires = []
        for number in range(trials // len(sets)):
            reports = ask(answers, 2 if number % 4 == 0 else 1)
            changed += len(set(reports)) > 1
            wires.append(bytes(reports[0]))
        lengths = {len(wire) for wire in wires}
        if lengths != {form.report_format.length}:
            raise AuditError(f"reports of this form must be {form.report_format.length} bytes, got {sorted(lengths)}")
        samples.append(np.frombuffer(b"".join(wires), np.uint8).reshape(len(wires), -1))
    for place, rows in enumerate(samples):
        for reason, _, wrong in refused_forms(form.report_format, rows):
            findings.append(Finding("format", f"answers {place + 1}: {int(wrong.sum()):,} reports are none: {reason}"))
    if changed and not any(part.survey.mechanism.twice for part in form.parts):
        findings.append(Finding("memory", f"{changed:,} devices sent two different reports of the same answers"))
    shape, pairs = form.report_format, list(combinations(range(len(sets)), 2))
    found, told, drawn = 0.0, 0.0, ""
    for x, y in pairs:
        both, named, share = (samples[x], samples[y]), (x + 1, y + 1), alpha / (2 * len(pairs))
        codes = [_codes(form, rows, (sets[x], sets[y])) for rows in both]
        # Where answers may be seen nothing is promised, and an event says nothing.
        promised = [form.promise(sets[a], sets[b]) for a, b in ((x, y), (y, x))]
        ways = [way for way, promise in zip(_WAYS, promised, strict=True) if promise is not None]
        for way, promise in zip(_WAYS, promised, strict=True):
            if promise is None:
                continue
            epsilon, event = _measured(codes, share / len(ways), named, [way])
            found = max(found, epsilon)
            if epsilon > promise:
                findings.append(
                    Finding("privacy", f"epsilon is at least {epsilon:.4g}, not {float(promise):g}: {event}")
                )
        bits = [answered_parts(shape, rows) @ (1 << np.arange(len(form.parts), dtype=object)) for rows in both]
        told, drawn = max((told, drawn), _measured(bits, share, named, _WAYS))
    if told > 0:
        findings.append(Finding("drawn", f"what was drawn depends on the answers: {drawn}"))
    return FormCertificate(form, len(sets) * (trials // len(sets)), alpha, found, tuple(findings))


def _answers(form: Form) -> tuple[Complete, ...]:
    """Two answers to every question, and both in turn: the first and the last, or two that are promised something."""
    known = {}
    for part in form.parts:
        for question in part.questions:
            symbols = question.alphabet.symbols or ("a", "b")
            known[question.name] = (symbols[0], symbols[-1])
        told, mechanism = part.survey.mechanism.telling, part.survey.mechanism
        promises = [(bound, (a, b)) for a in told for b in told if a != b and (bound := mechanism.bound((a,), (b,)))]
        if promises:
            _, cells = max(promises)
            every: Any = part.survey.alphabet.symbols
            known[part.questions[0].name] = tuple(every[cell] for cell in cells)
    turns = ([0] * len(form.questions), [1] * len(form.questions), [i % 2 for i in range(len(form.questions))])
    return tuple({q.name: known[q.name][way] for q, way in zip(form.questions, turn, strict=True)} for turn in turns)


def _codes(form: Form, rows: npt.NDArray[np.uint8], pair: Sequence[Complete]) -> npt.NDArray[Any]:
    """A number for each report: which packed report it is, if there are few; else what its parts speak for, joined."""
    payload = np.ascontiguousarray(rows[:, 9:])
    few = 1
    for part in form.parts:
        few *= min(part.survey.mechanism.outputs, MAX_OUTCOMES) * part.survey.cohorts + 1
    if few <= MAX_OUTCOMES:
        weights = np.array([256**place % (2**61 - 1) for place in range(payload.shape[1])], np.uint64)
        return np.asarray((payload.astype(np.uint64) * weights).sum(axis=1))
    answered, found = answered_parts(form.report_format, rows), np.zeros(len(rows), np.int64)
    for place, (_, cohorts, responses) in enumerate(slots_of(form.report_format, rows)):
        survey = form.parts[place].survey
        if not survey.mechanism.two_valued:
            rows_of = [survey.mechanism.weights(survey.encode(0, form.parts[place].symbol(one))) for one in pair]
            sign = np.array([(a > b) - (a < b) for a, b in zip(*rows_of, strict=True)], np.int64)
            likelier = sign[np.minimum(responses, len(sign) - 1)]  # what is no report was found already
            speaks = np.stack([likelier > 0, likelier < 0])
        else:
            speaks = _spoken_for(form, place, cohorts, responses, pair)
        code = np.where(answered[:, place], speaks[0].astype(np.int64) - speaks[1], 0)
        found = found * 4 + code + 1 + answered[:, place] if len(form.parts) <= MAX_JOINT else found + code
    return found


def _spoken_for(
    form: Form, place: int, cohorts: npt.NDArray[Any], responses: npt.NDArray[Any], pair: Sequence[Complete]
) -> npt.NDArray[np.bool_]:
    """Whether each response to a part names a cell of the first answer, and of the second."""
    survey = form.parts[place].survey
    speaks = np.zeros((2, len(cohorts)), bool)
    for side, answers in enumerate(pair):
        symbol = form.parts[place].symbol(answers)
        for cohort in range(survey.cohorts):
            for cell in survey.encode(cohort, symbol):
                hit = responses == cell if responses.ndim == 1 else responses[:, cell // 8] >> cell % 8 & 1 == 1
                speaks[side] |= hit & (cohorts == cohort)
    return speaks


def _measured(
    codes: Sequence[npt.NDArray[Any]], alpha: float, named: tuple[int, int], ways: Sequence[tuple[int, int]]
) -> tuple[float, str]:
    """The largest log ratio that is proved between the two sets of answers, these ways, and the event behind it."""
    names, numbers = np.unique(np.concatenate(codes), return_inverse=True)
    sides = np.split(numbers, [len(codes[0])])
    halves = [[side[: len(side) // 2], side[len(side) // 2 :]] for side in sides]
    counts = [[np.bincount(half, minlength=len(names)) for half in side] for side in halves]
    tests: list[tuple[float, float, float, float, str]] = []
    for x, y in ways:
        n, m = len(halves[x][0]), len(halves[y][0])
        chosen = [np.array([place]) for place in _largest(_cautious_log_ratio(counts[x][0], n, counts[y][0], m), _BEST)]
        chosen.append(_best_union(counts[x][0], n, counts[y][0], m))
        for event in chosen:
            hits, others = int(counts[x][1][event].sum()), int(counts[y][1][event].sum())
            text = f"{len(event):,} of {len(names):,} outcomes, answers {named[x]} against {named[y]}"
            tests.append((hits, len(halves[x][1]), others, len(halves[y][1]), text))
    share = alpha / (2 * len(tests))
    low = lower_bound([t[0] for t in tests], [t[1] for t in tests], share)
    high = upper_bound([t[2] for t in tests], [t[3] for t in tests], share)
    with np.errstate(divide="ignore"):
        found = np.log(low) - np.log(high)
    best = int(np.argmax(found))
    return float(found[best]), tests[best][4]

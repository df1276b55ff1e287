"""What an audit found, as a value, as text and as JSON."""

from dataclasses import dataclass
from fractions import Fraction

from deniable.survey import Survey


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which the client is not what its survey says.

    Parameters
    ----------
    kind : str
        "format" (bytes that are no report of the survey), "memory" (a memoised answer that did not repeat), "law" (an
        event whose probability is not the published one) or "privacy" (an event whose ratio exceeds e**epsilon).
    event : str
        The event that shows it, in words.

    Examples
    --------
    >>> Finding("memory", "2 of 10 devices sent two different reports of one answer").kind
    'memory'
    """

    kind: str
    event: str


@dataclass(frozen=True, slots=True)
class Measured:
    """The largest epsilon that the reports prove, the limit it must not exceed, and the event behind it."""

    epsilon: float
    limit: Fraction
    event: str


@dataclass(frozen=True, slots=True)
class Certificate:
    """What is proved of the survey, measured of the client, and found.

    Claim: a client whose reports have the published law is said to be VIOLATED with probability at most `alpha`.
    Proof: every event is chosen on one half of the sample and tested on the other, each at its share of alpha, by exact
        binomial bounds. tests/statistical/test_audit.py::test_our_own_client_passes

    Parameters
    ----------
    survey : Survey
        The survey that the client was held to.
    client : str
        The client, in words.
    devices : int
        Devices that were asked.
    asked_twice : int
        Those of them that were asked twice for the same value.
    values : tuple
        What was asked.
    alpha : float
        The largest probability with which an honest client is accused.
    one, two : Measured or None
        The largest epsilon that one report, or two reports of one answer, prove.
    tested : int
        Events that were tested.
    findings : tuple of Finding
        What contradicts the survey.

    Examples
    --------
    >>> import deniable as dn
    >>> from deniable.audit import audit
    >>> certificate = audit(dn.warner(epsilon=1.0), trials=1000)
    >>> certificate.lines()[2]
    ('asked', '1,000 devices, 250 of them asked twice; half chose the events, half tested them')
    >>> certificate.to_json()["verdict"]
    'PASSED'
    """

    survey: Survey
    client: str
    devices: int
    asked_twice: int
    values: tuple[object, ...]
    alpha: float
    one: Measured
    two: Measured | None
    tested: int
    findings: tuple[Finding, ...]

    @property
    def violated(self) -> bool:
        """Whether anything was found."""
        return bool(self.findings)

    @property
    def verdict(self) -> str:
        """VIOLATED if anything was found, else PASSED."""
        return "VIOLATED" if self.violated else "PASSED"

    def lines(self) -> list[tuple[str, str]]:
        """The certificate as (name, text), in the order of reading."""
        mechanism = self.survey.mechanism
        again = mechanism.permanent is not mechanism
        ratio = f"{float(mechanism.permanent.odds):.6g} <= e^{self.survey.epsilon:g}"
        proved = f"by the survey's integers: a worst ratio of {ratio}"
        if again:
            proved += f", and of {float(mechanism.odds):.6g} <= e^{float(mechanism.report_bound):g} for one report"
        sure = f"with confidence {100 * (1 - self.alpha):.6g} %"
        twice = f", {self.asked_twice:,} of them asked twice" if self.asked_twice else ", each asked once"
        rows = [
            ("survey", f"{self.survey!r}"),
            ("client", self.client),
            ("asked", f"{self.devices:,} devices{twice}; half chose the events, half tested them"),
            ("values", ", ".join(f"{i + 1} = {value!r}"[:60] for i, value in enumerate(self.values))),
            ("proved", proved),
            ("law", f"{self.tested:,} events of the packed bytes tested against the published channel, {sure}"),
            ("measured", self._measured(self.one, "one report", sure)),
        ]
        rows.append(
            ("", self._measured(self.two, "two reports of an answer", sure))
            if self.two is not None
            else ("", "reports of the same answer again: not asked for, so nothing is said of them")
        )
        rows += [(finding.kind, finding.event) for finding in self.findings]
        rows.append(
            (
                "verdict",
                "VIOLATED: the client is not what the survey says"
                if self.violated
                else "PASSED: nothing was found; that epsilon is small enough is proved, not measured",
            )
        )
        return rows

    @staticmethod
    def _measured(found: Measured, what: str, sure: str) -> str:
        return f"{what}: epsilon >= {found.epsilon:.4g} of {float(found.limit):g} {sure}: {found.event}"

    def to_json(self) -> dict[str, object]:
        """The same as plain values."""

        def measured(found: Measured | None) -> dict[str, object] | None:
            if found is None:
                return None
            return {"epsilon_at_least": found.epsilon, "limit": float(found.limit), "event": found.event}

        return {
            "verdict": self.verdict,
            "survey": self.survey.digest,
            "client": self.client,
            "devices": self.devices,
            "asked_twice": self.asked_twice,
            "values": [str(value) for value in self.values],
            "alpha": self.alpha,
            "proved": {"epsilon": self.survey.epsilon_spent, "epsilon_report": self.survey.epsilon_report},
            "events_tested": self.tested,
            "one_report": measured(self.one),
            "two_reports": measured(self.two),
            "findings": [{"kind": finding.kind, "event": finding.event} for finding in self.findings],
        }

"""The total epsilon of a form, measured on its bytes: our client passes, and clients with a fault are found."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import deniable as dn
from deniable.audit import audit_form
from deniable.errors import AuditError
from deniable.survey import Form
from tests.exact.test_forms import BudgetPerQuestion, DrawnByAnswer, NotDrawnInClear, SharedWords
from tests.exact.test_uneven_forms import FORMS as UNEVEN
from tests.exact.test_uneven_forms import HarmlessNeverNoisy, NotHiddenWhereSeen, WholeBudgetForTheSensitive

SMOKES, CITY = dn.warner(epsilon=1), dn.krr(["o", "b", "t"], epsilon=1)
SPLIT = dn.form(smokes=SMOKES, city=CITY, epsilon=2)
SAMPLED = dn.form(smokes=SMOKES, city=CITY, epsilon=2, spend="sample")
SAME = dn.form(a=SMOKES, b=SMOKES, epsilon=1)
MANY = dn.form({f"q{i}": dn.oue(12, epsilon=1) for i in range(8)}, epsilon=8)
LARGE = dn.form({f"q{i}": dn.sensitive(40, sensitive=range(20), epsilon=1) for i in range(3)}, spend="each")
SEEN = UNEVEN["sensitive, each"]
TRIALS = 12_000


@pytest.mark.parametrize("form", [SPLIT, SAMPLED, SAME, MANY, SEEN, LARGE, UNEVEN["all kinds"]])
def test_our_own_client_passes(form: Form) -> None:
    found = audit_form(form, trials=2000 if form in (MANY, LARGE) else TRIALS)
    assert found.verdict == "PASSED", found.findings
    assert 0 < found.epsilon <= form.epsilon


def devices(form: Form, kind: type[Any]) -> Callable[[Mapping[str, object], int], Sequence[bytes]]:
    def device(answers: Mapping[str, object], times: int) -> list[bytes]:
        client = kind(form, memoize=False)
        report = client.report({name: answers[name] for name in client.questions})
        shape = form.report_format
        return [shape.head + report.cohort.to_bytes(shape.cohort.size, "little") + report.payload] * times

    return device


@pytest.mark.parametrize(
    ("form", "kind", "told"),
    [
        pytest.param(SPLIT, BudgetPerQuestion, "privacy", marks=pytest.mark.slow),
        (SAME, SharedWords, "privacy"),
        (SAMPLED, DrawnByAnswer, "drawn"),
        (SAMPLED, NotDrawnInClear, "format"),
        (SEEN, HarmlessNeverNoisy, "privacy"),
        pytest.param(UNEVEN["sensitive, split"], WholeBudgetForTheSensitive, "privacy", marks=pytest.mark.slow),
    ],
)
def test_faults_are_found(form: Form, kind: type[Any], told: str) -> None:
    found = audit_form(form, devices(form, kind), trials=TRIALS)
    assert found.verdict == "VIOLATED"
    assert told in {finding.kind for finding in found.findings}
    assert found.to_json()["verdict"] == "VIOLATED"
    assert found.lines()[-1] == ("verdict", "VIOLATED")


def test_answers_that_are_seen_do_not_show_the_others() -> None:
    """Only between sets of answers that agree where they may be seen: there the others are in clear."""
    values = [{"ill": "flu", "smokes": answer} for answer in ("no", "yes")]
    found = audit_form(SEEN, devices(SEEN, NotHiddenWhereSeen), trials=TRIALS, values=values)
    assert [finding.kind for finding in found.findings] == ["privacy", "privacy"]
    assert "not 1: " in found.findings[0].event
    assert audit_form(SEEN, trials=TRIALS, values=values).verdict == "PASSED"


def test_fresh_noise_on_the_same_answers_is_found() -> None:
    def device(answers: Mapping[str, object], times: int) -> list[bytes]:
        client = dn.Client(SPLIT, memoize=False)
        return [client.report(answers).pack() for _ in range(times)]

    assert "memory" in {finding.kind for finding in audit_form(SPLIT, device, trials=2000).findings}


def test_what_cannot_be_audited_is_refused() -> None:
    with pytest.raises(AuditError, match="trials must be at least 1000, got 10; a million is a good number"):
        audit_form(SPLIT, trials=10)
    with pytest.raises(AuditError, match="reports of this form must be 11 bytes, got"):
        audit_form(SPLIT, lambda answers, times: [b"x"] * times, trials=1000)
    with pytest.raises(AuditError, match="values must be at least two complete sets of answers, got 1"):
        audit_form(SPLIT, values=[{"smokes": "yes", "city": "o"}])
    public = dn.form(smokes=SMOKES, city=CITY, epsilon=2, public={"p": ["x", "y"]}, when={"city": ("p", "x")})
    with pytest.raises(AuditError) as caught:
        audit_form(public)
    assert str(caught.value) == "a form with public questions must be audited without them; make one of what is asked"

"""Rows of a table that are no reports of a form, before any part is looked at; and totals beyond one budget."""

from fractions import Fraction

import pytest

import deniable as dn
from deniable.survey.form_reading import parse_total

FORM = dn.form(a=dn.krr(symbols=3, epsilon=1), b=dn.krr(symbols=2, epsilon=1), epsilon=1)


@pytest.mark.parametrize(
    ("cohort", "response", "reason"),
    [
        (None, b"\0\0", "no cohort"),
        (0, None, "no response"),
        (0, bytes(9), "response of another length"),
    ],
)
def test_the_first_rule_that_a_row_breaks(cohort: int | None, response: bytes | None, reason: str) -> None:
    found = FORM.report_format.refusal(cohort, response)
    assert found is not None
    assert found.reason == reason


def test_a_total_may_be_more_than_one_budget() -> None:
    assert parse_total("100") == 100
    assert parse_total(2) == Fraction(2)

"""Sentences of rooms that have no test file of their own for them."""

import json

import numpy as np
import pytest

import deniable as dn
from deniable.errors import SurveyError
from deniable.service.inputs import _finite, _refused


@pytest.mark.parametrize("spelling", ["once", "window"])
def test_a_survey_file_spells_participation_in_one_way(spelling: str) -> None:
    fields = json.loads(dn.warner(epsilon=1).to_json()) | {"participation": spelling}
    step = "; leave the field out for 'once', and write 'window:day' for 'window'"
    with pytest.raises(SurveyError, match="participation must be in its one spelling, got .*" + step):
        dn.Survey.from_fields(fields)


def test_a_panel_needs_a_population_for_each_window() -> None:
    with pytest.raises(SurveyError, match="populations must have a row a window and a column a symbol, got shape"):
        dn.lab.panel(dn.krr(symbols=3, epsilon=1), [0.5, 0.3, 0.2], 10, np.random.default_rng(0))


def test_numbers_in_a_body_are_finite_and_whole() -> None:
    with pytest.raises(ValueError, match="numbers must be whole, got 'NaN'"):
        _refused("NaN")
    with pytest.raises(ValueError, match="numbers must be finite, got '1e999'"):
        _finite("1e999")
    assert _finite("0.5") == 0.5

"""Each kind of plan takes its own arguments, and refuses those of the others in a sentence."""

from inspect import Parameter, signature
from typing import Any

import numpy as np
import pytest

import deniable as dn
from deniable.errors import DeniableError
from deniable.planner.planning import _ALWAYS, _KINDS
from deniable.planner.request import ask

PLAIN: dict[str, Any] = {"n": 1000, "symbols": 3, "epsilon": 1}
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "bins of no number": (PLAIN | {"bins": 4}, "bins must be given with number or ordered, got neither"),
    "change of one report": (PLAIN | {"change": 0.1}, "change must be given with reports, got none"),
    "delta without a crowd": (PLAIN | {"delta": 1e-9}, "delta must be given with crowd_epsilon, got none"),
    "alpha without a test": (PLAIN | {"alpha": 0.01}, "alpha must be given with an effect or a power, got neither"),
    "bins of many reports": (
        PLAIN | {"reports": 3, "bins": 4},
        "bins must be given with number or ordered, got neither",
    ),
    "a population for any population": (
        {"number": (0, 1), "n": 1000, "epsilon": 1, "shape": np.array([0.5, 0.5])},
        "shape must not be given with number: a mean is planned for a number or for ordered answers alone",
    ),
    "confidence of a test": (
        {"effect": 0.1, "share": 0.2, "power": 0.8, "epsilon": 1, "confidence": 0.8},
        "confidence must not be given with an effect or a power; plan one of them at a time",
    ),
    "a limit for texts": (
        {"n": 10**6, "discover": 20, "max_cohorts": 64},
        "max_cohorts must not be given with discover: a text is found or not, whatever it is",
    ),
    "answers for a length": (
        {"n": 10**6, "length": 3, "symbols": 4},
        "symbols must not be given with length: a text is found or not, whatever it is",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_argument_of_another_kind_is_refused(name: str) -> None:
    given, sentence = REFUSED[name]
    with pytest.raises(DeniableError) as caught:
        dn.plan(**given)
    assert str(caught.value) == sentence


def test_a_form_comes_before_what_else_is_asked() -> None:
    form = dn.form(a=dn.warner(epsilon=1), b=dn.warner(epsilon=1), epsilon=1)
    with pytest.raises(DeniableError, match=r"^max_bytes must not be given with a form, which has questions of its"):
        dn.plan(form, n=1000, epsilon=1, max_bytes=8)
    with pytest.raises(DeniableError, match=r"^a form must not be given with an effect or a power; plan one of them"):
        dn.plan(form, effect=0.1)


def test_a_default_that_is_given_is_no_argument() -> None:
    asked: dict[str, Any] = {"effect": 0.1, "share": 0.2, "power": 0.8, "epsilon": 1}
    given: dict[str, Any] = {"alpha": 0.05, "shape": "worst", "confidence": 0.9, "seed": 3}
    assert dn.plan(**asked, **given).n == dn.plan(**asked).n


@pytest.mark.parametrize("kind", _KINDS, ids=lambda kind: kind.run.__name__)
def test_a_kind_takes_what_its_function_does(kind: Any) -> None:
    parameters = signature(kind.run).parameters
    open_ended = [name for name, one in parameters.items() if one.kind is Parameter.VAR_KEYWORD]
    own = set(parameters) - set(open_ended) | (set(signature(ask).parameters) if open_ended else set())
    # A kind leaves out at most what others than `plan` say: `memory` of a form. `errors` are named in the request.
    assert set(kind.takes) - {"max_l1", "max_l2", "max_error", "visible", "reports"} <= own
    assert own - set(kind.takes) <= {"memory", "errors"}


def test_a_request_has_the_defaults_of_a_plan() -> None:
    usual = signature(dn.plan).parameters
    given = {name: one.default for name, one in signature(ask).parameters.items() if name != "errors"}
    assert given == {name: usual[name].default for name in given}


def test_every_argument_belongs_to_a_kind() -> None:
    taken = {name for kind in _KINDS for name in kind.takes} | set(_ALWAYS)
    assert set(signature(dn.plan).parameters) == taken

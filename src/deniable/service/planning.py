"""Plans for the Ask page, in a process of their own: one may take seconds, and no upload waits for it."""

import asyncio
import json
import os
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from deniable.errors import DeniableError, PlanError, SurveyError
from deniable.service.children import DONE, FAILED, REFUSED, Child, answer_messages
from deniable.service.form_planning import planned_form, possible_forms
from deniable.service.problems import RequestError, why

if TYPE_CHECKING:
    from deniable.survey import Survey

_DELTA = 1e-6  # with which probability what the crowd adds may fail
_CROWD_SECONDS = 5.0  # for its certificate: 4 at a thousand million people (measured), below 2 at a million
_RETRY = 60  # seconds until a client should ask again: the time limit of one plan


class Planning(Child):
    """The collector's end: one process, one question at a time, each of `seconds` at most."""

    def __init__(self, *, seconds: float = 60.0) -> None:
        super().__init__("deniable.service.planning")
        self._seconds = seconds
        self._turn = asyncio.Lock()

    async def answer(self, arguments: dict[str, Any]) -> bytes:
        """The plan that the arguments of `deniable.plan` ask for, as JSON: what to expect, and the survey to run."""
        async with self._turn:
            try:
                status, body = await self._exchange(json.dumps(arguments).encode(), self._seconds)
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
                sentence = f"a plan must take at most {self._seconds:g} seconds; name fewer answers"
                raise RequestError(503, "planning", sentence, retry=_RETRY) from None
        if status == REFUSED:
            told = json.loads(body)
            raise RequestError(422, "plan", told.pop("detail"), more=told)
        if status == FAILED:
            raise RuntimeError(f"planning failed:\n{body.decode()}")
        return body


# From here on: the other end of the pipe.


def _plan(arguments: dict[str, Any]) -> dict[str, Any]:
    """A plan as JSON values, with its survey, the line of epsilon against n, and what the crowd adds."""
    from deniable.planner import Plan, TextPlan, plan
    from deniable.survey import strict_json

    if "questions" in arguments:
        return planned_form(arguments)
    if _about_mean(arguments):
        found = _planned_mean(arguments)
    elif _about_texts(arguments):
        texts: TextPlan = plan(**arguments)
        told = {"errors": {"share": {"bound": texts.share}}, "lines": [], "mechanism": texts.survey.title}
        found = texts.to_json() | told | {"survey": texts.survey}
    else:
        planned: Plan = plan(**arguments)
        found = planned.to_json() | {"survey": planned.survey, "lines": planned.lines}
    survey = found["survey"]
    return found | {"survey": strict_json(survey.to_json()), "crowd": _crowd(survey, found["n"])}


def _about_mean(arguments: dict[str, Any]) -> bool:
    return "number" in arguments or "ordered" in arguments


def _about_texts(arguments: dict[str, Any]) -> bool:
    return not {"discover", "discover_above", "length"}.isdisjoint(arguments)


def _planned_mean(arguments: dict[str, Any]) -> dict[str, Any]:
    """A plan for the mean of a number, or of the places 0, 1, ... of answers in an order, whatever these are called."""
    from deniable.planner import NumberPlan, plan
    from deniable.survey import Alphabet, Survey, number

    given = dict(arguments)
    outside, answers = given.pop("outside", None), given.get("ordered")
    if isinstance(answers, list):
        given["ordered"] = len(Alphabet.closed(answers))
    found: NumberPlan = plan(**given)
    survey = found.survey
    if isinstance(answers, list):
        survey = Survey(Alphabet.closed(answers), survey.encoding, survey.mechanism, survey.name)
    elif outside is not None:
        (low, high), epsilon = given["number"], survey.mechanism.permanent.to_json()["epsilon"]
        bins, step = given.get("bins"), given.get("step")
        survey = number(low, high, epsilon, bins=bins, step=step, outside=outside, name=survey.name)
    told = found.to_json() | {"errors": {"mean": {"bound": found.mean_error}}, "lines": []}
    return told | {"mechanism": survey.title, "survey": survey}


def _crowd(survey: "Survey", n: int) -> dict[str, Any]:
    """The central epsilon of n honest people, one round, rounded up; or why there is none."""
    from deniable.crowds import upper_bound

    told: dict[str, Any] = {"n": n, "delta": _DELTA, "epsilon": None, "problem": None, "reason": None}
    try:
        with _at_most(_CROWD_SECONDS):
            return told | {"epsilon": upper_bound(survey, n, _DELTA)}
    except SurveyError:
        problem = "some reports can only come from certain answers, and what they show no crowd hides"
        return told | {"problem": problem, "reason": "certain"}
    except TimeoutError:
        problem = f"the certificate takes longer than {_CROWD_SECONDS:g} seconds here; see dn.crowd"
        return told | {"problem": problem, "reason": "slow"}


@contextmanager
def _at_most(seconds: float) -> Iterator[None]:
    """End work that takes longer, by a signal: this process has one thread."""

    def end(signum: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _instead(problem: PlanError, arguments: dict[str, Any]) -> dict[str, Any]:
    """What is possible: the smallest error at the planner's weakest privacy; plans for strong and weak privacy."""
    from deniable.planner import nearby
    from deniable.survey import bound_of, strength

    if "questions" in arguments:
        return possible_forms(arguments)
    epsilons = (bound_of("strong"), bound_of("weak"))
    if _about_mean(arguments):
        found: Iterable[tuple[int, float, float]] = _means_nearby(arguments, epsilons)
    elif _about_texts(arguments):
        found = _texts_nearby(arguments, epsilons)
    else:
        found = ((one.n, one.epsilon, one.error) for one in nearby(problem, epsilons, **arguments))
    plans = [{"n": n, "epsilon": epsilon, "privacy": strength(epsilon), "error": error} for n, epsilon, error in found]
    return {"least": problem.least, "alternatives": plans}


def _means_nearby(arguments: dict[str, Any], epsilons: Sequence[float]) -> Iterator[tuple[int, float, float]]:
    """The error of the mean that n allows at each epsilon, then the n that the error needs at the first of them."""
    target, n = arguments.get("max_mean_error"), arguments.get("n")
    if target is None or n is None:
        return
    asked = {name: value for name, value in arguments.items() if name not in ("max_mean_error", "n")}
    for epsilon in epsilons:
        yield n, epsilon, _planned_mean(asked | {"n": n, "epsilon": epsilon})["mean_error"]
    with suppress(PlanError):  # half a bin may be more than the error
        people = _planned_mean(asked | {"epsilon": epsilons[0], "max_mean_error": target})["n"]
        unit = 10 ** max(len(str(people)) - 2, 0)  # two digits, rounded up
        yield -(-people // unit) * unit, epsilons[0], target


def _texts_nearby(arguments: dict[str, Any], epsilons: Sequence[float]) -> Iterator[tuple[int, float, float]]:
    """The smallest share that n people find at each epsilon, then the n that finds what is wanted at each of them."""
    from deniable.planner import plan

    if (n := arguments.get("n")) is None:
        return
    asked = {name: value for name, value in arguments.items() if name not in ("discover", "discover_above", "epsilon")}
    for epsilon in epsilons:
        yield n, epsilon, plan(**asked | {"epsilon": epsilon, "length": asked.get("length", 32)}).share
    wanted = {name: value for name, value in arguments.items() if name not in ("n", "epsilon")}
    for epsilon in epsilons:
        with suppress(PlanError):  # no crowd may be enough
            found = plan(**wanted | {"epsilon": epsilon})
            unit = 10 ** max(len(str(found.n)) - 2, 0)  # two digits, rounded up
            yield -(-found.n // unit) * unit, epsilon, found.share


def _reply(message: bytes) -> tuple[int, bytes]:
    import traceback

    arguments = json.loads(message)
    try:
        try:
            return DONE, json.dumps(_plan(arguments), ensure_ascii=False, allow_nan=False).encode()
        except PlanError as problem:
            told = {"detail": str(problem)} | _instead(problem, arguments)
            return REFUSED, json.dumps(told, allow_nan=False).encode()
    except (DeniableError, TypeError, ValueError, OverflowError) as problem:
        return REFUSED, json.dumps({"detail": str(problem)} | why(problem)).encode()
    except MemoryError:
        return REFUSED, json.dumps({"detail": "answers must fit into memory; name fewer", "reason": "many"}).encode()
    except Exception:
        return FAILED, traceback.format_exc().encode()


def _load() -> None:
    """Import what plans need, which they would import late."""
    import deniable.crowds
    import deniable.planner  # noqa: F401


if __name__ == "__main__":
    os.nice(10)  # uploads come first
    _load()
    answer_messages(_reply)

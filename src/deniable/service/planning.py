"""Plans for the Ask page, in a process of their own: one may take seconds, and no upload waits for it."""

import asyncio
import json
import os
from typing import Any

from deniable.errors import DeniableError, PlanError
from deniable.service.children import DONE, FAILED, REFUSED, Child, answer_messages
from deniable.service.problems import RequestError

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
                async with asyncio.timeout(self._seconds):
                    status, body = await self._exchange(json.dumps(arguments).encode())
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
                await self.stop()
                sentence = f"a plan must take at most {self._seconds:g} seconds; name fewer answers"
                raise RequestError(503, "planning", sentence, retry=_RETRY) from None
            except asyncio.CancelledError:
                await self.stop()
                raise
        if status == REFUSED:
            told = json.loads(body)
            raise RequestError(422, "plan", told.pop("detail"), more=told)
        if status == FAILED:
            raise RuntimeError(f"planning failed:\n{body.decode()}")
        return body


# From here on: the other end of the pipe.


def _plan(arguments: dict[str, Any]) -> dict[str, Any]:
    """A plan as JSON values, with its survey and the line of epsilon against n."""
    from deniable.planner import Plan, plan
    from deniable.survey import strict_json

    found: Plan = plan(**arguments)
    return found.to_json() | {"survey": strict_json(found.survey.to_json()), "lines": found.lines}


def _instead(problem: PlanError, arguments: dict[str, Any]) -> dict[str, Any]:
    """What is possible: the smallest error at the planner's weakest privacy; plans for strong and weak privacy."""
    from deniable.planner import nearby
    from deniable.survey import bound_of, strength

    found = nearby(problem, (bound_of("strong"), bound_of("weak")), **arguments)
    plans = [
        {"n": one.n, "epsilon": one.epsilon, "privacy": strength(one.epsilon), "error": one.error} for one in found
    ]
    return {"least": problem.least, "alternatives": plans}


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
        return REFUSED, json.dumps({"detail": str(problem)}).encode()
    except MemoryError:
        return REFUSED, json.dumps({"detail": "answers must fit into memory; name fewer"}).encode()
    except Exception:
        return FAILED, traceback.format_exc().encode()


if __name__ == "__main__":
    os.nice(10)  # uploads come first
    answer_messages(_reply)

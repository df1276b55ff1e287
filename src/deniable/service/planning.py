"""Plans for the Ask page, in a process of their own: one may take seconds, and no upload waits for it.

The process is told one question a line and answers with one line. A plan that takes too long is killed with it.
"""

import asyncio
import contextlib
import json
import os
import sys
from typing import Any

from deniable.errors import DeniableError, PlanError
from deniable.service.children import program
from deniable.service.problems import Answer, RequestError

__all__ = ["FIELDS", "Planning"]

FIELDS = (
    "n", "epsilon", "epsilon_report", "max_l1", "max_l2", "max_error", "visible", "metric", "symbols", "candidates",
    "other", "text", "shape", "confidence", "max_bytes", "max_cohorts", "name", "seed",
)  # fmt: skip
_LONGEST = 1 << 24
_MOST = 1 << 12


class Planning:
    """The collector's end: one process, one question at a time."""

    def __init__(self, *, seconds: float = 60.0) -> None:
        self._seconds = seconds
        self._process: asyncio.subprocess.Process | None = None
        self._turn: asyncio.Lock | None = None

    async def answer(self, body: bytes) -> Answer:
        """The plan that a body asks for: what to expect, and the survey to run."""
        question = _question(body)
        self._turn = self._turn or asyncio.Lock()
        async with self._turn:
            try:
                async with asyncio.timeout(self._seconds):
                    told = await self._ask(question)
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
                await self.stop()
                raise RequestError(
                    503, "planning", f"a plan must take at most {self._seconds:g} seconds; name fewer answers", retry=60
                ) from None
            except asyncio.CancelledError:
                await self.stop()
                raise
        if "refused" in told:
            sentence = told.pop("refused")
            raise RequestError(422, "plan", sentence, more=told)
        if "failed" in told:
            raise RuntimeError(f"planning failed:\n{told['failed']}")
        return Answer.json(told)

    async def _ask(self, question: dict[str, Any]) -> dict[str, Any]:
        process = self._process
        if process is None or process.returncode is not None:
            pipe = asyncio.subprocess.PIPE
            process = self._process = await asyncio.create_subprocess_exec(
                *program("deniable.service.planning"), stdin=pipe, stdout=pipe, limit=_LONGEST
            )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(question).encode() + b"\n")
        await process.stdin.drain()
        told: dict[str, Any] = json.loads(await process.stdout.readuntil(b"\n"))
        return told

    async def stop(self) -> None:
        """Kill the process, if there is one."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _question(body: bytes) -> dict[str, Any]:
    """The arguments of `plan` in a JSON body."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        given = None
    if not isinstance(given, dict):
        raise RequestError(400, "malformed", "body must be a JSON object of the planner's arguments")
    if unknown := sorted(set(given) - set(FIELDS)):
        raise RequestError(400, "malformed", f"body must not have the field {unknown[0][:40]!r}; see /openapi.json")
    for name in ("symbols", "candidates"):
        size = given.get(name)
        if isinstance(size, list):
            size = len(size)
        if isinstance(size, int) and size > _MOST:
            raise RequestError(422, "plan", f"{name} must be at most {_MOST} here; deniable plan takes more")
    return given


# From here on: the other end of the pipe.


def told(question: dict[str, Any]) -> dict[str, Any]:
    """A plan as JSON values, with its survey and the line of epsilon against n."""
    from deniable.planner import plan
    from deniable.survey import strict_json

    try:
        found = plan(**question)
    except PlanError as problem:
        return {"refused": str(problem)} | _instead(problem, question)
    return found.to_json() | {"survey": strict_json(found.survey.to_json()), "lines": found.lines}


def _instead(problem: PlanError, question: dict[str, Any]) -> dict[str, Any]:
    """What is possible: the smallest error at the planner's weakest privacy; plans for strong and weak privacy."""
    from deniable.planner.nearby import nearby
    from deniable.survey.strength import bound_of, strength

    found = nearby(problem, (bound_of("strong"), bound_of("weak")), **question)
    plans = [
        {"n": one.n, "epsilon": one.epsilon, "privacy": strength(one.epsilon), "error": one.error} for one in found
    ]
    return {"least": problem.least, "alternatives": plans}


def _serve() -> None:
    import traceback

    for line in sys.stdin.buffer:
        try:
            answer = json.dumps(told(json.loads(line)), allow_nan=False)
        except (DeniableError, TypeError, ValueError, OverflowError) as problem:
            answer = json.dumps({"refused": str(problem)})
        except MemoryError:
            answer = json.dumps({"refused": "answers must fit into memory; name fewer"})
        except Exception:
            answer = json.dumps({"failed": traceback.format_exc()})
        sys.stdout.write(answer + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    os.nice(10)  # uploads come first
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    _serve()

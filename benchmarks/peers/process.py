"""A library in a process of its own, asked by lines of JSON."""

import contextlib
import json
import os
import subprocess
import threading
from typing import Any

from benchmarks.peers.environments import ROOT, python_of

__all__ = ["Library"]

LIMIT = 120.0  # seconds of wall time for one answer


def environment() -> dict[str, str]:
    """One core for everyone: neither BLAS nor joblib may start more threads or processes."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return kept | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "LOKY_MAX_CPU_COUNT": "1"}


class Library:
    """Start it with `with`; `ask` gives its answer, which says "absent" or "failed" where there is none."""

    def __init__(self, name: str) -> None:
        self.name, self.command = name, [str(python_of(name)), "-m", "benchmarks.peers.worker", name]
        self._process = self._started()

    def _started(self) -> "subprocess.Popen[str]":
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        return subprocess.Popen(self.command, cwd=ROOT, env=environment(), text=True, **pipes)  # type: ignore[call-overload, no-any-return]

    def __enter__(self) -> "Library":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what it never read is of no use now
                    pipe.close()

    def ask(self, do: str, *, limit: float | None = None, **request: Any) -> dict[str, Any]:
        """Its answer to a request, or that there was none within `limit` seconds; `LIMIT` without it."""
        limit = LIMIT if limit is None else limit
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        timer = threading.Timer(limit, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        finally:
            timer.cancel()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        self._stop()
        self._process = self._started()
        return {"failed": f"no answer within {limit:.0f} seconds, or the process died"}

"""Child processes of the collector: the same Python interpreter, without the current directory in its import path.

Work that may take seconds or gigabytes runs in a `Child`, so that no upload waits for it. It gets one message at a time
through a pipe and is killed on a timeout. `answer_messages` is the other end of the pipe; it says first that the
process has loaded. That takes long where other work has the processors, and is not counted as time of the first
message: else that one would end the process, the next would start another, and none would ever be answered.
"""

import asyncio
import contextlib
import os
import struct
import sys
from collections.abc import Callable

_HEAD = struct.Struct("<BQ")  # of a message: its status, and the bytes that follow
DONE, REFUSED, FAILED = range(3)  # the statuses that every child has; FAILED comes with a trace
_PIPE_LIMIT = 1 << 26  # bytes of an answer that are buffered before the pipe blocks
_READY = b"\n"  # what a process says once it has loaded
_LOADING = 300.0  # seconds on a machine that is busy with other things; two on a quiet one


def program(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of the package. Without -P a file `numpy.py` in the current folder would run.

    >>> program("deniable.service.worker")[1:]
    ['-P', '-m', 'deniable.service.worker']
    """
    return [sys.executable, "-P", "-m", module, *arguments]


class Child:
    """The collector's end: one process, started when it is needed. Whoever asks takes turns."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._command = program(module, *arguments)
        self._process: asyncio.subprocess.Process | None = None
        self._loaded: asyncio.Task[asyncio.subprocess.Process] | None = None

    async def _running(self) -> asyncio.subprocess.Process:
        """The process, once it has loaded. Whoever waits no longer leaves it to those who ask next."""
        if self._loaded is None or (self._process is not None and self._process.returncode is not None):
            self._loaded = asyncio.create_task(self._load())
        loaded = self._loaded
        try:
            return await asyncio.shield(loaded)
        except asyncio.CancelledError:
            if loaded.cancelled():  # `stop`, and not whoever asked
                raise ConnectionAbortedError from None
            raise
        except BaseException:
            await self.stop()
            raise

    async def _load(self) -> asyncio.subprocess.Process:
        pipe = asyncio.subprocess.PIPE
        # One thread for linear algebra, unless somebody has said otherwise: uploads come first.
        environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
        process = self._process = await asyncio.create_subprocess_exec(
            *self._command, stdin=pipe, stdout=pipe, limit=_PIPE_LIMIT, env=environment
        )
        assert process.stdout is not None
        async with asyncio.timeout(_LOADING):
            await process.stdout.readexactly(len(_READY))
        return process

    async def _exchange(self, message: bytes, seconds: float) -> tuple[int, bytes]:
        """Send a message and read the answer: its status and its body. A process that gives none within `seconds`, or
        whose answer nobody waits for any more, is stopped."""
        process = await self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with asyncio.timeout(seconds):
                process.stdin.write(_HEAD.pack(DONE, len(message)) + message)
                await process.stdin.drain()
                status, size = _HEAD.unpack(await process.stdout.readexactly(_HEAD.size))
                return status, await process.stdout.readexactly(size)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Kill the process, if there is one."""
        loaded, self._loaded = self._loaded, None
        if loaded is not None and not loaded.done():
            loaded.cancel()
            await asyncio.wait([loaded])
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def answer_messages(answer: Callable[[bytes], tuple[int, bytes]]) -> None:
    """Say that all is loaded, then answer messages on standard input until the collector is gone."""
    sys.stdout.buffer.write(_READY)
    sys.stdout.buffer.flush()
    while len(head := sys.stdin.buffer.read(_HEAD.size)) == _HEAD.size:
        status, body = answer(sys.stdin.buffer.read(_HEAD.unpack(head)[1]))
        sys.stdout.buffer.write(_HEAD.pack(status, len(body)))
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()

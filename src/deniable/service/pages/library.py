"""What draws charts in a browser: Vega's JavaScript out of vl-convert, and the project's charts as templates.

Both come from the packages that draw charts everywhere else in the project, so a page shows what `Estimate.plot` and
`--chart` show, and nothing is kept twice. They are made in a process of their own, once a browser asks for a page that
has charts: it takes a second or two and a hundred megabytes, and the collector takes reports meanwhile. A collector
whose pages nobody opens never spends them.
"""

import asyncio
import contextlib
import json

from deniable.service.children import program

NAMES = ("vega.js", "charts.json")
_SECONDS = 300.0  # of a machine that is busy with other things; two on a quiet one


class Library:
    """The collector's end: the files, once somebody has asked for one."""

    def __init__(self) -> None:
        self._making: asyncio.Task[dict[str, str]] | None = None

    def start(self) -> "asyncio.Task[dict[str, str]]":
        """Make the files, unless they are there or on their way."""
        if self._making is None:
            self._making = asyncio.create_task(_make())
        return self._making

    async def file(self, name: str) -> bytes | None:
        """One of `NAMES`, made with the other if need be; None for any other name."""
        if name not in NAMES:
            return None
        making = self.start()
        try:
            made = await asyncio.shield(making)
        except Exception:
            self._making = None  # the next browser may have more luck
            raise
        return made[name].encode()

    async def stop(self) -> None:
        """End the process, if it is still at work."""
        if self._making is not None:
            self._making.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await self._making


async def _make() -> dict[str, str]:
    process = await asyncio.create_subprocess_exec(
        *program("deniable.service.pages.bundle"), stdout=asyncio.subprocess.PIPE
    )
    try:
        async with asyncio.timeout(_SECONDS):
            out, _ = await process.communicate()
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    if process.returncode:
        raise RuntimeError("the charts' JavaScript could not be made; the lines above say why")
    made: dict[str, str] = json.loads(out)
    return made

"""The route of plans, which the Ask page makes surveys with."""

from msgspec.structs import asdict

from deniable.service.answers import Answer
from deniable.service.collector import Collector
from deniable.service.models import Plan, PlanRequest
from deniable.service.problems import RequestError

__all__ = ["plan"]

_MOST_SYMBOLS = 1 << 12  # of one plan, or of its candidates: seconds, not minutes


async def plan(collector: Collector, given: PlanRequest) -> Answer[Plan]:
    """How much privacy for how many people and what error."""
    for name, symbols in (("symbols", given.symbols), ("candidates", given.candidates)):
        size = len(symbols) if isinstance(symbols, list) else symbols or 0
        if size > _MOST_SYMBOLS:
            raise RequestError(422, "plan", f"{name} must be at most {_MOST_SYMBOLS} here; deniable plan takes more")
    arguments = {name: value for name, value in asdict(given).items() if value is not None}
    return Answer(200, await collector.planning.answer(arguments))

"""Handlers for operators: liveness, readiness, metrics, public address and the OpenAPI document."""

from typing import Annotated

from deniable.service.answers import Answer
from deniable.service.collector import Collector
from deniable.service.models import Address, Document, HealthStatus
from deniable.service.openapi import document
from deniable.service.problems import RequestError

_RETRY = 5  # seconds until a client should ask again: the interval of the write probe (`collector`)


async def health(collector: Collector) -> HealthStatus:
    """Whether the process is alive."""
    return HealthStatus("alive")


async def ready(collector: Collector) -> HealthStatus:
    """Whether reports can be stored."""
    broken = getattr(collector.store, "broken", None)
    if collector.stopping or broken is not None:
        raise RequestError(503, "not-ready", broken or "the collector is stopping", retry=_RETRY)
    await collector.read(collector.store.name)
    if (why := await collector.why_unwritable()) is not None:
        raise RequestError(503, "not-ready", why, retry=_RETRY)
    return HealthStatus("ready", "trusted" if collector.clock.trusted else "jumped")


async def openapi(collector: Collector) -> Document:
    """Every route with its parameters, bodies and answers."""
    return Document(**document(collector.router.routes))


async def metrics(collector: Collector) -> Answer[Annotated[str, "text/plain"]]:
    """Counters for Prometheus."""
    known = set(collector.metrics.names)
    for digest, name in (await collector.read(lambda: collector.store.names(known))).items():
        collector.metrics.name(digest, name)
    gauges = {
        "deniable_waiting_reports": float(collector.writer.waiting),
        "deniable_open_ids": float(await collector.read(collector.store.open_ids)),
        "deniable_store_ready": float(getattr(collector.store, "broken", None) is None),
        "deniable_clock_trusted": float(collector.clock.trusted),
    }
    return Answer(200, collector.metrics.text(gauges).encode(), b"text/plain; version=0.0.4; charset=utf-8")


async def collector_address(collector: Collector) -> Address:
    """Where people reach this collector, if it was told."""
    return Address(collector.options.public_url)

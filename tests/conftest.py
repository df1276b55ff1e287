"""Two hypothesis profiles, both without a limit on time, which a busy machine would break; counts of tests; PostgreSQL.

`deniable` draws the same examples on every run. `anew` (`make test-slow`) explores: other examples each time, more of
them, and a failure prints the seed and the example that repeat it.
"""

import gc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from xdist.scheduler import LoadFileScheduling

from tests.cluster import MISSING, Cluster, find_binaries
from tests.counts import PARTS, Counted

# The toys register themselves where they are imported: only in the process of tests/docs/test_new_mechanism.py.
collect_ignore_glob = ["toy/*"]

# Hypothesis fails a test whose inputs take long to draw, by the clock: on a slow machine all of them may.
UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("deniable", UNTIMED, derandomize=True, database=None, max_examples=100)
settings.register_profile("anew", UNTIMED, print_blob=True, database=None, max_examples=250)
settings.load_profile("deniable")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--counted", choices=PARTS, help="compare the tests that pass with tests/counts.txt, by kind")


def pytest_configure(config: pytest.Config) -> None:
    part = config.getoption("--counted")
    if part and not hasattr(config, "workerinput"):  # the workers of a parallel run report to one
        config.pluginmanager.register(Counted(part), "counted")


def pytest_collection() -> None:
    gc.disable()  # what is collected stays: looking for garbage among it is a fifth of the time


def pytest_collection_finish() -> None:
    """Fifteen thousand tests live as long as the process: no later search for garbage walks through them."""
    gc.freeze()
    gc.enable()


# Folders whose files share what is dear to make: a Spark that takes 20 s to start, the syntax trees of the source.
SHARING = ("tests/spark/", "tests/docs/")


def together(nodeid: str) -> str:
    """What one worker runs: a file, or a folder that shares something."""
    return next((folder for folder in SHARING if nodeid.startswith(folder)), nodeid.split("::")[0])


# Tests that mostly wait: for a browser, a server, another process. They go beside tests that compute.
WAITING = ("tests/spark/", "tests/e2e/", "tests/install/", "tests/service/")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a parallel run, files that wait stand between files that compute, or all workers would wait at once."""
    if hasattr(config, "workerinput"):
        scopes: dict[str, list[pytest.Item]] = {}
        for item in items:
            scopes.setdefault(together(item.nodeid), []).append(item)
        streams = [[s for s in scopes if s.startswith(WAITING) == waits] for waits in (True, False)]
        streams[0].sort(key=lambda scope: next(i for i, folder in enumerate(WAITING) if scope.startswith(folder)))
        places = {scope: i / len(stream) for stream in streams for i, scope in enumerate(stream)}
        items[:] = [item for scope in sorted(places, key=places.__getitem__) for item in scopes[scope]]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    made = LoadFileScheduling(config, log)
    made._split_scope = together
    return made


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of our own. Without one the tests that need it fail: skipping would hide half of the stores."""
    if find_binaries() is None:
        pytest.fail(MISSING)
    made = Cluster(memory=True)
    yield made
    made.remove()

"""One hypothesis profile for the whole suite: the same examples on every run, and no time limit on a busy machine.

And one PostgreSQL for the tests that need it.
"""

from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.cluster import MISSING, Cluster, find_binaries

# The toys register themselves where they are imported: only in the process of tests/docs/test_new_mechanism.py.
collect_ignore_glob = ["toy/*"]

settings.register_profile("deniable", deadline=None, derandomize=True, database=None, max_examples=100)
settings.load_profile("deniable")


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of our own. Without one the tests that need it fail: skipping would hide half of the stores."""
    if find_binaries() is None:
        pytest.fail(MISSING)
    made = Cluster(memory=True)
    yield made
    made.remove()

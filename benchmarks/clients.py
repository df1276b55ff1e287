"""One report on a device, against one word from the operating system; and how long the command line takes to answer."""

import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator

import deniable as dn
from benchmarks.columns import table_of
from benchmarks.measure import Line, compare

CALLS = 5_000


def lines() -> Iterator[Line]:
    surveys = {
        "k-RR": (dn.krr(symbols=256, epsilon=2), 17, 15),
        "open O-RR": (dn.orr(epsilon=2, cells=16, cohorts=64), "https://example.org/", 15),
        "closed O-RR": (dn.orr(symbols=256, epsilon=2, cells=16, cohorts=64), 17, 25),
        "SS, 100 answers": (dn.subset(symbols=100, epsilon=1), 17, 20),
        "a table of 256 x 320": (table_of(256, 320)[1], 17, 20),
        "uRR": (dn.sensitive(256, sensitive=range(16), epsilon=4), 17, 20),
        "uBD, 500 of 1,000 answers": (dn.sensitive(1000, sensitive=range(500), epsilon=0.5), 300, 20),
        "uBD, 50 of 100 answers": (dn.sensitive(100, sensitive=range(50), epsilon=0.5), 30, 20),
        "a number in 1,024 bins": (dn.number(0, 1, 1, bins=1024), 0.3, 20),
    }

    def words() -> None:
        for _ in range(CALLS):
            secrets.randbits(64)

    for name, (survey, value, target) in surveys.items():
        client = dn.Client(survey, memoize=False)

        def reports(client: dn.Client = client, value: object = value) -> None:
            for _ in range(CALLS):
                client.report(value)

        yield compare(f"Client.report, {name}", "secrets.randbits(64)", reports, words, target, per=CALLS)

    def run(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    help_, parser = run("-m", "deniable", "--help"), run("-c", "import argparse, json, dataclasses")
    yield compare("deniable --help", "Python with argparse, json and dataclasses", help_, parser, 4, rounds=7)

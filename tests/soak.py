"""`make soak`: every fault in its long form, one line each; the exit code says whether anything was lost or doubled.

python -m tests.soak [--short] [NAME ...]
"""

import argparse
import logging
import sys
import time

from tests.cluster import MISSING, Cluster, find_binaries
from tests.faults import FAULTS


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="soak", description="Break the collector and count what that does to reports."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(FAULTS)} (default: all)")
    parser.add_argument("--short", action="store_true", help="the forms that the tests run")
    options = parser.parse_args()
    if unknown := sorted(set(options.names) - set(FAULTS)):
        parser.error(f"there is no fault {unknown[0]!r}")
    if find_binaries() is None:
        print(f"soak: {MISSING}", file=sys.stderr)
        return 2
    logging.getLogger("deniable.service").setLevel(logging.CRITICAL)  # one line a fault, and it is ours
    cluster = Cluster()
    failed = left_out = 0
    try:
        for name in options.names or FAULTS:
            fault, short, long = FAULTS[name]
            start = time.monotonic()
            verdict = fault(short if options.short else long, cluster)
            if verdict is None:
                left_out += 1
                print(f"{name:<34} NOT RUN: mounting a file system is not allowed here", flush=True)
                continue
            failed += not verdict.sound
            word = "" if verdict.sound else "  FAILED"
            print(f"{verdict}  {time.monotonic() - start:.0f} s{word}", flush=True)
    finally:
        cluster.remove()
    print(
        f"\n{failed} of {len(options.names or FAULTS)} faults lost or doubled reports; {left_out} could not be run here"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

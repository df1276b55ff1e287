"""Run every benchmark, print the table, write it as JSON, and fail when a target is missed.

python -m benchmarks [--json PATH] [--only WORD]
"""

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from benchmarks import (
    clients,
    columns,
    decoding,
    pages,
    peers,
    planning,
    relating,
    reproducing,
    results,
    serving,
    simulating,
    spark,
)
from benchmarks.measure import Line, shown
from deniable.cli.text import aligned

ROOMS = {
    "clients": clients,
    "columns": columns,
    "simulating": simulating,
    "decoding": decoding,
    "planning": planning,
    "relating": relating,
    "spark": spark,
    "serving": serving,
    "pages": pages,
    "results": results,
    "peers": peers,
    "reproducing": reproducing,
}


def row(line: Line) -> list[str]:
    target = f"<= {line.target:.3g}"
    cells = [line.what, shown(line.ours, line.unit), shown(line.theirs, line.unit), f"{line.ratio:.3g}", target]
    return [*cells, "yes" if line.met else "NO", line.reference]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Speed and memory, as ratios measured in this run.")
    parser.add_argument("--json", type=Path, default=Path("out/bench.json"), help="where to write the table as JSON")
    parser.add_argument("--only", choices=sorted(ROOMS), help="one part alone")
    options = parser.parse_args()
    if options.only in (None, "serving"):
        serving.check()
    heads = ["what", "ours", "reference", "ratio", "target", "met", "reference is"]
    widths = [38, 9, 12, 9, 9, 4, 0]
    print(aligned(heads, widths, "lllllll"))
    found: list[Line] = []
    told: list[dict[str, object]] = []
    for name, room in ROOMS.items():
        if options.only in (None, name):
            for line in room.lines():
                found.append(line)
                told.append(line.as_json() | {"room": name})
                print(aligned(row(line), widths, "lllllll"), flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    if options.only and options.json.exists():  # what other groups found before stays
        before = json.loads(options.json.read_text())["lines"]
        told = [line for line in before if line.get("room") != options.only] + told
    load = round(sum(os.getloadavg()) / 3, 1)
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "load": load}
    record = machine | {"lines": told}
    options.json.write_text(json.dumps(record, indent=2) + "\n")
    missed = [line.what for line in found if not line.met]
    print(
        f"\n{len(found) - len(missed)} of {len(found)} targets met"
        + (f"; missed: {', '.join(missed)}" if missed else "")
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

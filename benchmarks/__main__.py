"""Run every benchmark, print the table, write it as JSON, and fail when a target is missed.

python -m benchmarks [--json PATH] [--only WORD]
"""

import argparse
import json
import platform
import sys
from pathlib import Path

from benchmarks import clients, columns, decoding, planning, reproducing, serving, simulating, spark
from benchmarks.measure import Line

ROOMS = {
    "clients": clients,
    "columns": columns,
    "simulating": simulating,
    "decoding": decoding,
    "planning": planning,
    "spark": spark,
    "serving": serving,
    "reproducing": reproducing,
}


def shown(value: float, unit: str) -> str:
    if unit != "s":
        return f"{value:.3g} {unit}".strip()
    for scale, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if value >= scale:
            return f"{value / scale:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"


def row(line: Line) -> list[str]:
    target = f"<= {line.target:.3g}"
    cells = [line.what, shown(line.ours, line.unit), shown(line.theirs, line.unit), f"{line.ratio:.3g}", target]
    return [*cells, "yes" if line.met else "NO", line.reference]


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description="Speed and memory, as ratios measured in this run.")
    parser.add_argument("--json", type=Path, default=Path("out/bench.json"), help="where to write the table as JSON")
    parser.add_argument("--only", choices=sorted(ROOMS), help="one group of benchmarks")
    options = parser.parse_args()
    heads = ["what", "ours", "reference", "ratio", "target", "met", "reference is"]
    widths = [38, 9, 12, 9, 9, 4, 0]
    print("  ".join(head.ljust(width) for head, width in zip(heads, widths, strict=True)))
    found: list[Line] = []
    for name, room in ROOMS.items():
        if options.only in (None, name):
            for line in room.lines():
                found.append(line)
                print("  ".join(c.ljust(width) for c, width in zip(row(line), widths, strict=True)), flush=True)
    options.json.parent.mkdir(parents=True, exist_ok=True)
    record = {"python": platform.python_version(), "lines": [line.as_json() for line in found]}
    options.json.write_text(json.dumps(record, indent=2) + "\n")
    missed = [line.what for line in found if not line.met]
    print(
        f"\n{len(found) - len(missed)} of {len(found)} targets met"
        + (f"; missed: {', '.join(missed)}" if missed else "")
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

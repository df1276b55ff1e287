"""docs/results/benchmarks.md from the figures beside it; every number on the page is computed from them.

python -m benchmarks.page            takes the figures of the last `make bench` from out/, and writes the page
python -m benchmarks.page --again    writes the page from the figures in docs/results
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from benchmarks.page_tables import (
    CHART,
    FAST,
    NONE,
    Table,
    accuracy,
    audits,
    decode,
    encode,
    estimate,
    growth,
    prose,
    rest,
    short,
    weight,
)
from benchmarks.peers.comparing import Pair, behind, compared
from benchmarks.peers.figures import Figure, read

__all__ = ["FIGURES", "PAGE", "RECORD", "page", "write_page"]

RESULTS = Path(__file__).parents[1] / "docs" / "results"
PAGE, FIGURES, RECORD = "benchmarks.md", "benchmarks-peers.csv", "benchmarks.json"
TITLES = {
    "estimate": "count and estimate",
    "decode": "decode alone",
    "l1": "l1",
    "l2": "l2 squared",
    "same l1": "l1 of the same reports",
    "same l2": "l2 squared of the same reports",
    "import": "import",
    "install": "install size",
}


def write_page(results: Path) -> None:
    """Write the page and its chart beside the figures."""
    from benchmarks.page_chart import draw

    figures = read(results / FIGURES)
    (results / PAGE).write_text(page(figures, json.loads((results / RECORD).read_text())))
    draw(figures, results / CHART)


def page(figures: list[Figure], record: dict[str, Any]) -> str:
    tables: dict[str, Table] = {}
    for figure in figures:
        tables.setdefault(figure.cell.table, {}).setdefault(figure.cell, {})[figure.who] = figure
    parts = [
        _head(figures, record),
        _behind(figures),
        audits(tables.get("audit", {})),
        encode(tables.get("encode", {})),
        estimate(tables.get("estimate", {})),
        accuracy(tables.get("l1", {}), tables.get("l2", {}), tables.get("same l1", {})),
        decode(tables.get("decode", {})),
        growth(figures),
        weight(tables.get("import", {}), tables.get("install", {})),
        rest(record["lines"]),
    ]
    return "\n".join(parts)


def _head(figures: list[Figure], record: dict[str, Any]) -> str:
    pairs = list(compared(figures))
    ahead = sum(pair.ahead for pair in pairs)
    missing = "".join(f"\n{prose(figure.note + '.')}" for figure in figures if figure.cell.table == "missing")
    load = record.get("load", 0.0)
    busy = f"The machine was shared and busy: {load:.0f} processes wanted its cores. " if load > 2 else ""
    measured = prose(
        f"`make bench` measures this, `python -m benchmarks.page` writes it. {record['cores']} cores, Python "
        f"{record['python']}. {busy}Times in tables with peers are CPU seconds of one core, the best of several rounds "
        "in which the libraries take turns, each table in one go; only their ratios mean anything."
    )
    peers = prose(
        "Peers run in environments of their own, pinned in `benchmarks/peers`: pure-ldp 1.2.0, multi-freq-ldpy 0.2.5, "
        "ldp-toolbox 0.1.3 and OpenDP 0.16.0. Of these only OpenDP runs as it is released: the others break on the "
        "current xxhash, or miss packages that they import. Each is used as its own README does: a call a person, then "
        "an aggregator. Ours is used as ours says: `dn.privatize`, `dn.count`, `dn.decode` on columns. "
        f'"{FAST}" is its `FastLH` with 1024 hash functions. "NumPy" is plain vector code without checks, exactness or '
        "error bars (`benchmarks/limits.py`): a limit, not a client."
    )
    random = prose(
        "The randomness is not the same. Ours is AES in counter mode under a key from the operating system, compared "
        "with exact integers. NumPy and all peers but OpenDP draw predictable numbers from generators made for "
        "simulation, and compare floats; OpenDP's draws are secure and exact, as ours."
    )
    count = prose(
        f"Of {len(pairs)} comparisons with a peer we are ahead, or not measurably behind, in {ahead}. "
        f'"{NONE}" means that a library does not offer it.'
    )
    return f"# The same work, the same run, against everyone\n\n{measured}\n{peers}\n{random}{missing}\n{count}"


def _behind(figures: list[Figure]) -> str:
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in behind(figures):
        groups.setdefault((pair.cell.table, pair.ours), []).append(pair)
    text = "## Where we are not ahead, and why\n"
    if not groups:
        return text + "\nNowhere.\n"
    order = ["encode", *TITLES]
    for (table, ours), pairs in sorted(groups.items(), key=lambda item: order.index(item[0][0])):
        worst = max(pairs, key=lambda pair: pair.ratio)
        total = sum(1 for pair in compared(figures) if (pair.cell.table, pair.ours) == (table, ours))
        where = sorted({short(pair.cell, pair.peer) for pair in pairs})
        said = f"**{TITLES.get(table, table)}, {ours}**: {len(pairs)} of {total} rows, at most {worst.ratio:.3g} times "
        said += f"as much ({short(worst.cell, worst.peer)}). {pairs[0].why or 'Not explained.'}"
        text += "\n" + prose(said, f"Rows: {'; '.join(where)}." if 1 < len(where) <= 16 else "")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.page", description="Write docs/results/benchmarks.md.")
    parser.add_argument("--again", action="store_true", help="from the figures in docs/results, not those in out/")
    if not parser.parse_args().again:
        record = json.loads(Path("out/bench.json").read_text())
        record["lines"] = [line for line in record["lines"] if line["room"] != "peers"]  # those are the other file
        (RESULTS / RECORD).write_text(json.dumps(record, indent=2) + "\n")
        shutil.copy("out/peers.csv", RESULTS / FIGURES)
    write_page(RESULTS)


if __name__ == "__main__":
    main()

"""The tables of docs/results/benchmarks.md, each from its figures."""

import math
import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.measure import shown
from benchmarks.peers.comparing import BARE, DECODES, DEFAULT, DEVICE, NUMPY, UNBIASED
from benchmarks.peers.environments import PEERS
from benchmarks.peers.figures import Cell, Figure

__all__ = [
    "CHART",
    "FAST",
    "NONE",
    "Table",
    "accuracy",
    "audits",
    "decode",
    "encode",
    "estimate",
    "growth",
    "prose",
    "rest",
    "short",
    "slopes",
    "weight",
]

CHART = "benchmarks.svg"
FAST, NONE = "pure-ldp, fast", "-"
COLUMNS = ("pure-ldp", FAST, "multi-freq-ldpy", "ldp-toolbox", "opendp")
NAMES = {
    "GRR": "k-RR (GRR)",
    "SUE": "k-RAPPOR (SUE)",
    "OUE": "OUE",
    "OLH": "OLH",
    "SS": "subset selection",
    "HR": "Hadamard response",
}

Table = dict[Cell, dict[str, Figure]]


def table_of(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    heads = list(heads)
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, ["---"] * len(heads), *map(list, rows)]) + "\n"


def prose(*text: str) -> str:
    return textwrap.fill(" ".join(text), 120, break_long_words=False, break_on_hyphens=False) + "\n"


def short(cell: Cell, peer: str) -> str:
    sizes = [f"S = {cell.symbols}"] if cell.symbols else []
    sizes += [f"epsilon {cell.epsilon:.3g}"] if cell.epsilon and cell.table.endswith(("encode", "l1", "l2")) else []
    sizes += [f"n = {power(cell.n)}"] if cell.n and cell.table == "estimate" else []
    return (
        f"{peer}{': ' if cell.mechanism else ''}{NAMES.get(cell.mechanism, cell.mechanism)} {', '.join(sizes)}".strip()
    )


def power(n: int) -> str:
    return f"10^{round(math.log10(n))}"


def audits(table: Table) -> str:
    told = prose(
        "Each peer's own randomiser at epsilon 1, as shipped, asked from outside by `deniable audit --command --once`: "
        "the largest epsilon that its reports prove. An honest client is accused with probability at most 10^-6. "
        '"First of a set" is the first element of the list that a report of subset selection is sent as, with 256 '
        "symbols; the others have 16. What is made from a private report is as private, so where it is not, the report "
        "was not either. RAPPOR has one hash function, the identity."
    )
    text = f"## What is really spent\n\n{told}\n"
    rows, shouts = [], []
    mechanisms = list(dict.fromkeys(cell.mechanism for cell in table))
    names = NAMES | {"first of SS": "first of a set", "RAPPOR": "RAPPOR"}
    for peer in PEERS:
        found = {cell.mechanism: each[peer] for cell, each in table.items() if peer in each}
        row = []
        for mechanism in mechanisms:
            figure = found.get(mechanism)
            if figure is None:
                row.append(NONE)
            elif figure.value is None:
                row.append("failed")
            else:
                bad = figure.note.startswith("VIOLATED")
                row.append(f"**{figure.value:.2f}**" if bad else f"{figure.value:.2f}")
                if bad:
                    shouts.append(f"- {peer}, {names.get(mechanism, mechanism)}. {figure.note}.")
        rows.append([peer, *row])
    text += table_of(["epsilon at least, of 1", *(names.get(m, m) for m in mechanisms)], rows)
    text += "\nThe certificates of those in bold:\n\n" + "\n".join(shouts) + "\n" if shouts else ""
    return (
        text
        + "\n"
        + prose(
            "pure-ldp's RAPPOR is not compared below: an error at no privacy says nothing. The sets of multi-freq-ldpy "
            "are, as the unordered sets that its decoder reads, which pass. OLH and HR have no law that a survey "
            "of ours publishes, so their epsilon is taken at its word."
        )
    )


def _ratio(figure: Figure | None, ours: float) -> str:
    if figure is None:
        return NONE
    if figure.value is None:
        return "fails"
    ratio = figure.value / ours
    return f"{'~' if figure.note else ''}{_times(ratio)}"


def _times(ratio: float) -> str:
    if ratio >= 99.5:
        return f"{float(f'{ratio:.2g}'):,.0f}x"
    return f"{ratio:.1f}x" if ratio >= 1.95 else f"{ratio:.2f}x"


def _failures(table: Table) -> str:
    said: dict[tuple[str, str], str] = {}
    for cell, each in table.items():
        for who, figure in each.items():
            if figure.value is None:
                said.setdefault((who, cell.mechanism), f"S = {cell.symbols}: `{figure.note}`")
    lines = [f"{who}'s {NAMES[mechanism]} fails, at {text}." for (who, mechanism), text in said.items()]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def encode(table: Table) -> str:
    rows = []
    for cell, each in table.items():
        ours = each[DEFAULT].value or math.nan
        at = ["1" if cell.epsilon == 1 else "ln S", shown(ours, "s"), f"{1 / ours / 1e6:.3g} M"]
        others = [_ratio(each.get(who), ours) for who in (NUMPY, *COLUMNS)]
        rows.append([NAMES[cell.mechanism], str(cell.symbols), *at, *others])
    heads = ["mechanism", "S", "epsilon", "ours, a report", "reports/s", "NumPy", *COLUMNS]
    return (
        "## Encoding\n\nOurs in CPU time, the others as multiples of it: above 1 we are faster.\n\n"
        + table_of(heads, rows)
        + _failures(table)
    )


def estimate(table: Table) -> str:
    rows = []
    for cell, each in table.items():
        plain, best = each[UNBIASED].value or math.nan, each[DEFAULT].value or math.nan
        others = [_ratio(each.get(who), plain) for who in (NUMPY, *COLUMNS)]
        sizes = [str(cell.symbols), power(cell.n)]
        rows.append([NAMES[cell.mechanism], *sizes, shown(plain, "s"), shown(best, "s"), *others])
    heads = ["mechanism", "S", "n", "ours, unbiased", "ours, default", "NumPy", *COLUMNS]
    return (
        "## Counting and estimating\n\n"
        + prose(
            "From n reports to the estimate, at epsilon 1. Peers as multiples of our unbiased estimate, which is their "
            'arithmetic. A "~" is on the line through the two largest sizes that took under a second. Peers\' '
            "reports are a pool, repeated: so many lists would not fit in memory. Ours includes error bars for every "
            "symbol; local hashing is least squares over enough cohorts, with all hashing of a new survey."
        )
        + "\n"
        + table_of(heads, rows)
        + _failures(table)
    )


def accuracy(l1: Table, l2: Table, same: Table) -> str:
    text = "## Errors at the same epsilon\n\n" + prose(
        _people(l1),
        "Errors are to the population, means of eight repeats with their standard errors; the same people are asked by "
        "every library. All peers here spend the epsilon that they say, as far as the audit can tell; ours is proved.",
    )
    for name, table in (("l1", l1), ("l2 squared", l2)):
        rows = []
        for cell, each in table.items():
            epsilon = "1" if cell.epsilon == 1 else "ln S"
            best = min((f for w, f in each.items() if w not in (DEFAULT, UNBIASED) and f.value), key=_value)
            row = [_with_error(each[DEFAULT]), _with_error(each[UNBIASED])]
            row += [f"{_with_error(best)} ({best.who})", f"{_value(each[DEFAULT]) / _value(best):.2f}"]
            rows.append([NAMES[cell.mechanism], epsilon, *row])
        heads = ["mechanism", "epsilon", "ours, default", "ours, unbiased", "the best peer", "default / best peer"]
        text += f"\n{name}:\n\n" + table_of(heads, rows)
    text += "\n" + prose(
        "The libraries draw their own noise, so the errors above differ by chance. Below, l1 of every decoder of every "
        "peer as a multiple of our default's: on the very same reports where these name cells of the alphabet, which "
        "is paired and much sharper; with a star on reports of our own, which is not. Iterated Bayes on k-RAPPOR at "
        "epsilon 1 is the one decoder that may be ahead, by two or three percent; it has no error bars."
    )
    who = sorted({who for each in l1.values() for who, found in each.items() if found.value} - {DEFAULT, UNBIASED})
    rows = []
    for cell, each in l1.items():
        paired = next((found for c, found in same.items() if _alike(c, cell)), {})
        row = []
        for name in who:
            if name in paired:
                row.append(f"{_value(paired[name]):.2f} ± {paired[name].error:.2f}")
            else:
                ratio = _ratio(each.get(name), _value(each[DEFAULT]))
                row.append(ratio if ratio in (NONE, "fails") else f"{ratio.removesuffix('x')} *")
        rows.append([NAMES[cell.mechanism], "1" if cell.epsilon == 1 else "ln S", *row])
    return text + "\n" + table_of(["mechanism", "epsilon", *who], rows) + _failures(l1)


def _alike(one: Cell, other: Cell) -> bool:
    return (one.mechanism, one.epsilon) == (other.mechanism, other.epsilon)


def _people(table: Table) -> str:
    cell = next(iter(table), Cell("l1"))
    return f"{cell.n:,} people, {cell.symbols} symbols, a geometric population with mean S / 5."


def _value(figure: Figure) -> float:
    return math.nan if figure.value is None else figure.value


def _with_error(figure: Figure) -> str:
    return f"{_value(figure):.3g} ± {figure.error:.1g}"


def decode(table: Table) -> str:
    sizes = sorted({cell.symbols for cell in table})
    rows = []
    for mechanism in dict.fromkeys(cell.mechanism for cell in table):
        at = {cell.symbols: each for cell, each in table.items() if cell.mechanism == mechanism}
        for who in (UNBIASED, DEFAULT, *COLUMNS):
            if any(who in each for each in at.values()):
                took = [shown(_value(at[s][who]), "s") if who in at[s] else "" for s in sizes]
                rows.append([NAMES[mechanism], who if who != DEFAULT else "deniable, default", *took])
    return (
        "## Decoding against S\n\n"
        + prose(
            "The estimate alone, epsilon 1. Ours from a tally of 10^6 people, with all that a new survey needs; the "
            "time does not depend on how many people there were. Peers keep no tally, so theirs is of 1,000 "
            "reports, and grows with them."
        )
        + "\n"
        + table_of(["mechanism", "", *(f"S = {s}" for s in sizes)], rows)
    )


def slopes(figures: Iterable[Figure]) -> dict[tuple[str, str], tuple[float, int, float]]:
    """For each mechanism and library: the exponent of time against n over its largest three decades, and the end."""
    lines: dict[tuple[str, str], dict[int, float]] = {}
    for figure in figures:
        if figure.cell.table == "growth" and figure.value is not None:
            lines.setdefault((figure.cell.mechanism, figure.who), {})[figure.cell.n] = figure.value
    found = {}
    for key, points in lines.items():
        last = sorted(points.items())[-4:]
        n, took = np.log10([p[0] for p in last]), np.log10([p[1] for p in last])
        slope = float(np.polyfit(n, took, 1)[0]) if len(last) > 1 else math.nan
        found[key] = slope, last[-1][0], last[-1][1]
    return found


def growth(figures: list[Figure]) -> str:
    rows = []
    for (mechanism, who), (slope, n, took) in slopes(figures).items():
        grown = NONE if math.isnan(slope) else f"{slope:.2f}"
        rows.append([NAMES[mechanism], who, grown, power(n), shown(took, "s"), shown(took / n, "s")])
    return (
        "## How each grows\n\n"
        + prose(
            "From answers to the unbiased estimate, 256 symbols, epsilon 1. The exponent of time against n is fitted "
            "over the largest three decades; peers as far as a few seconds take them. Ours is below 1 where the fixed "
            "cost of a survey still shows."
        )
        + "\n"
        + f"![Seconds from answers to the estimate against the number of people, by library]({CHART})\n\n"
        + table_of(["mechanism", "library", "exponent", "largest n", "took", "a person"], rows)
    )


def weight(imports: Table, sizes: Table) -> str:
    taken = next(iter(imports.values()), {})
    stored = next(iter(sizes.values()), {})
    rows = []
    for who in (DEFAULT, DECODES, DEVICE, *PEERS, BARE):
        if who in taken or who in stored:
            spent = shown(_value(taken[who]), "s") if who in taken else ""
            rows.append([who, spent, f"{_value(stored[who]):.3g} MB" if who in stored else ""])
    return (
        "## Import and install\n\n"
        + prose(
            "CPU time of a new process that imports it, the best of five; packages with all that they need to run, "
            "compiled copies left out. `import deniable` loads the standard library alone, which is all that a device "
            "needs."
        )
        + "\n"
        + table_of(["", "import", "installed"], rows)
    )


def rest(lines: list[dict[str, Any]]) -> str:
    text = "## Everything else that is measured\n\n" + prose(
        "Ours and the reference in turn, best of each; columns in CPU time, what has threads or a network in wall "
        "time, which a busy machine disturbs. A target is the most that ours / reference may be."
    )
    rooms: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        if line.get("room") != "peers":
            rooms.setdefault(line.get("room", ""), []).append(line)
    for room, found in rooms.items():
        rows = []
        for line in found:
            ours, theirs = shown(line["ours"], line["unit"]), shown(line["theirs"], line["unit"])
            met = "yes" if line["met"] else "no"
            rows.append(
                [line["what"], ours, line["reference"], theirs, f"{line['ratio']:.3g}", f"{line['target']:.3g}", met]
            )
        text += f"\n{room}:\n\n" + table_of(["what", "ours", "reference", "its", "ratio", "target", "met"], rows)
    return text

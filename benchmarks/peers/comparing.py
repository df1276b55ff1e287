"""Which figures are compared with which, how far behind we may be, and why."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from benchmarks.peers.figures import Cell, Figure

__all__ = ["BARE", "DECODES", "DEFAULT", "DEVICE", "NUMPY", "UNBIASED", "Explained", "Pair", "behind", "compared"]

DEFAULT, UNBIASED, NUMPY = "deniable", "deniable, unbiased", "NumPy"
DECODES, DEVICE, BARE = "deniable, to count and decode", "deniable, on a device", "bare Python"
_OURS = (DEFAULT, UNBIASED, DECODES, DEVICE)
_UNITS = {"encode": "s", "estimate": "s", "decode": "s", "import": "s", "install": "MB", "l1": "", "l2": ""}
_UNITS |= {"same l1": "", "same l2": ""}


@dataclass(frozen=True, slots=True)
class Explained:
    """Rows in which a peer may be ahead, by how much at most, and why."""

    table: str
    ours: str
    ceiling: float
    why: str


EXPLAINED = (
    Explained(
        "estimate",
        DEFAULT,
        300.0,
        "The default decoder learns from all estimates together how shares are spread, and shrinks each by its own "
        "noise. That takes 20 to 150 ms however many people there are, where peers divide by a constant and clip. "
        "The table of errors shows what it buys; the unbiased estimate is there by name, and ahead. Local hashing over "
        "4096 symbols is solved over 16,384 cohorts, for the error bars; pure-ldp's fast variant counts over 1,024.",
    ),
    Explained(
        "decode",
        DEFAULT,
        2000.0,
        "The same: peers' decoding is a division, here of 1,000 reports; ours is the better estimate.",
    ),
    Explained(
        "decode",
        UNBIASED,
        30.0,
        "Local hashing is solved by least squares over all cohorts, with error bars, for a tally of any number of "
        "people; peers pass over every report instead, here over 1,000 only. From 10^5 reports on we are ahead, as the "
        "table of whole estimates shows.",
    ),
    *(
        Explained(
            table,
            DEFAULT,
            most,
            "On bit reports at epsilon 1, of this population, multi-freq-ldpy's iterated Bayes is ahead by a few "
            "percent. It takes the bits of a report for answers that exclude each other, which happens to shrink as "
            "much as is good here; on k-RR it is behind by far more, and it has no error bars. On k-RR the noise is "
            "larger than every share, and the population is spread over all symbols: clipping and rescaling spreads "
            "whatever is noise, and is level with ours in l1 and ahead in l2 squared (.030, ours .035; 40 repeats). "
            "Where three symbols have everything it has an l1 error of 1.07, ours .21, and without knowing which of "
            "the two it is, ours must not lose to projection on either. Over populations and sizes: "
            "[decoders.md](decoders.md).",
        )
        for table, most in (("same l1", 1.2), ("same l2", 1.3))
    ),
    *(
        Explained(
            table,
            DEFAULT,
            most,
            "The same at epsilon 1, where the noise is as large as the largest shares; here each library also has "
            "reports of its own, so that repeats differ by more.",
        )
        for table, most in (("l1", 1.07), ("l2", 1.15))
    ),
    Explained(
        "import",
        DECODES,
        4.0,
        "Counting and decoding load NumPy and SciPy. OpenDP's randomisers are a compiled library without either; the "
        "part of ours that does the same, a device's, is imported faster.",
    ),
    Explained(
        "install",
        DEFAULT,
        3.0,
        "Arrow, SciPy and the chart renderer come with the package: files, decoders and figures need nothing else. A "
        "device needs the package alone, a megabyte, and the standard library.",
    ),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """Ours beside one peer's in one cell; `target` is the most that mine / theirs may be."""

    cell: Cell
    ours: str
    peer: str
    mine: float
    theirs: float
    target: float
    unit: str
    error: float = 0.0
    note: str = ""

    @property
    def ratio(self) -> float:
        return self.mine / self.theirs

    @property
    def ahead(self) -> bool:
        """Whether ours is the smaller, or not measurably the larger."""
        return self.ratio <= 1 + 3 * self.error

    @property
    def title(self) -> str:
        cell = self.cell
        words = [cell.table, cell.mechanism]
        words += [f"S={cell.symbols}"] if cell.symbols else []
        words += [f"eps={cell.epsilon:.3g}"] if cell.epsilon else []
        words += [f"n=10^{len(str(cell.n)) - 1}"] if cell.n else []
        words += [self.ours.removeprefix("deniable, ")] if self.ours != DEFAULT else []
        return " ".join(word for word in words if word)

    @property
    def why(self) -> str:
        return next((e.why for e in EXPLAINED if (e.table, e.ours) == (self.cell.table, self.ours)), "")


def compared(figures: Iterable[Figure]) -> Iterator[Pair]:
    """Every cell, ours with each peer's. Errors are compared by the default decoder, times by both."""
    cells: dict[Cell, dict[str, Figure]] = {}
    for figure in figures:
        if figure.cell.table in _UNITS and figure.value is not None:
            cells.setdefault(figure.cell, {})[figure.who] = figure
    paired = {(cell.table, cell.mechanism, cell.epsilon, who) for cell, each in cells.items() for who in each}
    ceilings = {(e.table, e.ours): e.ceiling for e in EXPLAINED}
    for cell, each in cells.items():
        for ours in _OURS:
            if ours not in each or (ours == UNBIASED and cell.table in ("l1", "l2")):
                continue
            for peer, theirs in each.items():
                if peer in (*_OURS, NUMPY, BARE):
                    continue
                if (f"same {cell.table}", cell.mechanism, cell.epsilon, peer) in paired:
                    continue  # that comparison, of the same reports, is the sharper one
                mine = each[ours]
                assert mine.value is not None
                assert theirs.value is not None
                # The relative standard error of the ratio of two means.
                error = math.hypot(mine.error / mine.value, theirs.error / theirs.value)
                target = max(ceilings.get((cell.table, ours), 1.0), 1 + 3 * error)
                unit = _UNITS[cell.table]
                yield Pair(cell, ours, peer, mine.value, theirs.value, target, unit, error, theirs.note)


def behind(figures: Iterable[Figure]) -> list[Pair]:
    """The rows in which a peer is ahead."""
    return [pair for pair in compared(figures) if not pair.ahead]

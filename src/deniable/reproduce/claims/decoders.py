"""Claims of section 4.4.1: which decoder of k-RR and of k-RAPPOR is best, on which distributions.

A decoder's gain is the projected decoder's mean loss less that of the next best of the decoders the paper compares it
with: normalised and maximum likelihood for k-RR, standard and normalised for k-RAPPOR. Negative is better. Figure 1
does not say how many users it has; 30000 is taken, the large number of Figure 2.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from statistics import median

from deniable.reproduce.claims.rules import (
    AGAINST,
    FOR,
    NOT_MEASURED,
    NOTICEABLE,
    SAME_MEAN,
    TIE,
    ClaimResult,
    Comparison,
    conclude,
    differs,
    percent,
    spread,
    threshold,
)
from deniable.reproduce.claims.tables import Data, KaryRow

MANY = 30_000  # users: the larger n of the figures in the paper's main text
NAMES = {"krr": "k-RR", "krappor": "k-RAPPOR"}
COMPARED = {"krr": ("normalised", "projected", "ml"), "krappor": ("standard", "normalised", "projected")}


def skewed(data: Data) -> set[str]:
    """Every distribution but Dirichlet's, provided that both other families are there; else none."""
    names = {row.distribution for row in data.kary} - {"dirichlet"}
    whole = "geometric" in names and all(any(n.startswith(f) for n in names) for f in ("binomial", "zipf"))
    return names if whole else set()


@cache
def inequality(distribution: str, k: int) -> float:
    """How skewed a population of k symbols is: its Gini coefficient, 0 for the uniform one.

    Dirichlet's is a mean over populations: its sorted probabilities are spacings of uniform points, which gives
    (k - 1) / 2k.

    >>> inequality("dirichlet", 2), round(inequality("binomial .5", 2), 9)
    (0.25, 0.0)
    """
    from deniable.lab.experiments import population

    law = population(distribution, k)
    if law is None:
        return (k - 1) / (2 * k)
    return float(sum((2 * place - k - 1) * p for place, p in enumerate(sorted(law.tolist()), start=1)) / k)


def _coincide(row: KaryRow, mechanism: str) -> bool:
    """Whether the two decoders gave the same answers, up to single precision."""
    gain, error = row.gains[mechanism]
    return max(abs(gain), error) <= 1e-6 + 1e-5 * row.rival(mechanism)


def _relative(row: KaryRow, mechanism: str) -> float:
    rival = row.rival(mechanism)
    return row.gains[mechanism][0] / rival if rival > 0 else 0.0


def _gain_cells(rows: Sequence[KaryRow], mechanism: str) -> list[Comparison]:
    rows = [row for row in rows if not _coincide(row, mechanism)]
    z = threshold(len(rows))
    return [
        Comparison(
            -differs(*row.gains[mechanism], row.rival(mechanism), z),
            row.group,
            _relative(row, mechanism),
            row.place,
            f"{row.means[f'{mechanism}_projected']:.4g} projected, {row.rival(mechanism):.4g} next best",
        )
        for row in rows
    ]


def _gain_text(rows: Sequence[KaryRow], mechanism: str) -> str:
    apart = [row for row in rows if not _coincide(row, mechanism)]
    errors = [row.gains[mechanism][1] / row.rival(mechanism) for row in apart if row.rival(mechanism) > 0]
    text = f"gain of the projected decoder: {spread(_relative(row, mechanism) for row in apart)}"
    text += f" (standard errors up to {percent(max(errors, default=0.0), sign=False)})"
    return text + (f"; {len(rows) - len(apart)} cells where the decoders coincide" if len(apart) < len(rows) else "")


def _why(cells: Sequence[Comparison], rows: Sequence[KaryRow], mechanism: str) -> str:
    """What sets the cells against apart, as far as the numbers show it: flat populations, and how far off both are."""
    bad = {(c.group, c.place["k"], c.place["eps"]) for c in cells if c.side == AGAINST}
    if not bad:
        return ""
    marked = [(row, (row.group, *row.where) in bad) for row in rows if not _coincide(row, mechanism)]
    flat = sum(
        inequality(row.distribution, row.k) <= inequality("dirichlet", row.k)
        for row, is_bad in marked
        if is_bad and row.distribution != "dirichlet"
    )
    losses = [[row.best(mechanism) for row, is_bad in marked if is_bad is side] for side in (True, False)]
    text = f"there the best decoder's loss has median {median(losses[0]):.3g}"
    text += f", elsewhere {median(losses[1]):.3g}" if losses[1] else ""
    if flat:
        text += f"; {flat} of these {len(bad)} populations are no more skewed than Dirichlet's (Gini)"
    return text


def _best(rows: Sequence[KaryRow], mechanism: str) -> ClaimResult:
    cells = _gain_cells(rows, mechanism)
    return conclude(cells, _gain_text(rows, mechanism), need="some", why=_why(cells, rows, mechanism))


def projected_best(data: Data, mechanism: str, loss: str = "l1") -> ClaimResult:
    """The projected decoder is best over the whole grid, on the geometric distribution (4.4.1, Figures 1 and 5)."""
    return _best(data.cells({"geometric"}, {MANY}, loss), mechanism)


def projected_substantially(data: Data, mechanism: str) -> ClaimResult:
    """... and *substantially* better, for the whole range of k and epsilon (4.4.1 about Figure 1).

    A cell that is not better at all is against; one that is better by 5 % or less is a tie.
    """
    rows = data.cells({"geometric"}, {MANY})
    cells = []
    for cell in _gain_cells(rows, mechanism):
        side = AGAINST if cell.side != FOR else FOR if cell.gap < -NOTICEABLE else TIE
        cells.append(Comparison(side, cell.group, cell.gap, cell.place, cell.detail))
    plain = Counter(cell.side for cell in _gain_cells(rows, mechanism))
    shares = [percent(plain[side] / len(cells), sign=False) for side in (FOR, TIE, AGAINST)] if cells else []
    text = f"better in {' of the cells, indistinguishable in '.join(shares[:2])}, worse in {shares[2]}" if cells else ""
    return conclude(cells, f"{text}; {_gain_text(rows, mechanism)}", need="most")


def projected_for_all_users(data: Data, mechanism: str) -> ClaimResult:
    """The same for every number of users from 30 to 10^6 (4.4.1); without both ends it is not measured."""
    rows = data.cells({"geometric"})
    users = {row.n for row in rows}
    if not users or min(users) > 30 or max(users) < 10**6:
        return NOT_MEASURED
    return _best(rows, mechanism)


def projected_on_skewed(data: Data, mechanism: str) -> ClaimResult:
    """The same for all distributions but Dirichlet's, and all numbers of users (4.4.1)."""
    return _best(data.cells(skewed(data)), mechanism)


def dirichlet_least_skewed(data: Data) -> ClaimResult:
    """Dirichlet's is "the least skewed" distribution (4.4.1), by the Gini coefficient; 0.01 apart is a tie."""
    sizes = sorted({row.k for row in data.kary})
    cells = []
    for name in sorted(skewed(data)) if any(row.distribution == "dirichlet" for row in data.kary) else ():
        for k in sizes:
            other, own = inequality(name, k), inequality("dirichlet", k)
            side = TIE if abs(other - own) <= 0.01 else FOR if other > own else AGAINST
            cells.append(
                Comparison(
                    side, name, other - own, {"k": k}, f"{other:.3f}, Dirichlet's {own:.3f}", f"Gini {other - own:+.3f}"
                )
            )
    return conclude(cells, f"Gini coefficients for k = {sizes[0]} to {sizes[-1]}" if sizes else "", need="some")


def dirichlet_normalised(data: Data, mechanism: str) -> ClaimResult:
    """On Dirichlet's distribution the normalised decoder is best, for every number of users (4.4.1).

    The error of normalised against a third decoder is not in the table; the gain's, which is paired the same way,
    stands in for it.
    """
    rows = [row for row in data.cells({"dirichlet"}) if not _coincide(row, mechanism)]
    z, cells, winners = threshold(len(rows)), [], Counter[str]()
    for row in rows:
        own = row.means[f"{mechanism}_normalised"]
        others = {name: row.means[f"{mechanism}_{name}"] for name in COMPARED[mechanism] if name != "normalised"}
        name = min(others, key=lambda other: others[other])
        side = -differs(own - others[name], row.gains[mechanism][1], others[name], z)
        if side == AGAINST:
            winners[name] += 1
        detail = f"{own:.4g} normalised, {others[name]:.4g} {name}"
        cells.append(
            Comparison(side, row.group, own / others[name] - 1 if others[name] > 0 else 0.0, row.place, detail)
        )
    text = f"loss of the normalised decoder against the best other: {spread(cell.gap for cell in cells)}"
    why = ", ".join(f"{name} is better in {times} of them" for name, times in winners.most_common())
    return conclude(cells, text, need="some", why=why)


def depends_on_shape(data: Data, mechanism: str) -> ClaimResult:
    """The best decoder depends on the shape of the distribution (section 1, third contribution).

    For each number of users: there are distributions where the projected decoder wins more cells than it loses, and
    distributions where it is the other way round.
    """
    names = sorted(skewed(data) | {"dirichlet"})
    rows = data.cells(names)
    if set(names) - {row.distribution for row in rows} or len(names) == 1:
        return NOT_MEASURED
    z = threshold(len(rows))
    balance: dict[int, Counter[str]] = {}
    for row in rows:
        balance.setdefault(row.n, Counter())[row.distribution] -= differs(
            *row.gains[mechanism], row.rival(mechanism), z
        )
    cells = []
    for n, lead in balance.items():
        ahead, behind = ([name for name in lead if sign * lead[name] > 0] for sign in (1, -1))
        shown = f"projected leads on {len(ahead)} and trails on {len(behind)} distributions"
        cells.append(Comparison(FOR if ahead and behind else AGAINST, f"n = {n}", 0.0, shown=shown))
    total = Counter({name: sum(lead[name] for lead in balance.values()) for name in names})
    text = ", ".join(f"{name} {lead:+d}" for name, lead in total.most_common())
    return conclude(cells, f"cells that the projected decoder wins less those it loses: {text}")


def _agreement(a: int, b: int) -> int:
    return AGAINST if a * b < 0 else FOR if a == b else TIE


def same_decoders_in_l2(data: Data) -> ClaimResult:
    """The decoders' pattern is the same in l2 as in l1 (4.4 and Figure 5): no cell with opposite winners."""
    rows = [data.cells({"geometric"}, {MANY}, loss) for loss in ("l1", "l2")]
    second = {row.where: row for row in rows[1]}
    z, cells = threshold(4 * len(rows[0])), []
    for row in rows[0]:
        if (other := second.get(row.where)) is None:
            continue
        for mechanism, name in NAMES.items():
            sides = [differs(*r.gains[mechanism], r.rival(mechanism), z) for r in (row, other)]
            gaps = _relative(row, mechanism), _relative(other, mechanism)
            detail = f"l1 {percent(gaps[0])}, l2 {percent(gaps[1])}"
            cells.append(Comparison(_agreement(*sides), name, gaps[1], row.place, detail))
    return conclude(cells, f"gain in l2: {spread(cell.gap for cell in cells)}", need="most")


def geometric_stands_for_skewed(data: Data) -> ClaimResult:
    """The geometric distribution shows the decoding patterns of all binomial and Zipf distributions (4.4)."""
    names = sorted(skewed(data) - {"geometric"})
    rows, model = data.cells(names), {(row.n, *row.where): row for row in data.cells({"geometric"})}
    z, cells = threshold(4 * len(rows)), []
    for row in rows:
        if (other := model.get((row.n, *row.where))) is None:
            continue
        for mechanism, name in NAMES.items():
            sides = [differs(*r.gains[mechanism], r.rival(mechanism), z) for r in (row, other)]
            detail = f"geometric {percent(_relative(other, mechanism))}"
            cells.append(
                Comparison(
                    _agreement(*sides), f"{name}, {row.distribution}", _relative(row, mechanism), row.place, detail
                )
            )
    return conclude(cells, f"{len(names)} distributions beside the geometric one", need="most" if cells else "none")


def negative_entries(data: Data) -> ClaimResult:
    """Entries of k-RR's estimate are negative especially for few users (4.1, "Constraining").

    Where an entry is negative the standard decoder differs from the projected one, so their relative distance is the
    measure; it must not grow with the number of users by more than 1 % of the loss.
    """
    lines: dict[tuple[str, int, float], dict[int, float]] = {}
    for row in data.cells():
        apart = (
            abs(row.means["krr_standard"] / row.means["krr_projected"] - 1) if row.means["krr_projected"] > 0 else 0.0
        )
        lines.setdefault((row.distribution, *row.where), {})[row.n] = apart
    cells = []
    for (name, k, epsilon), line in lines.items():
        users = sorted(line)
        if len(users) < 2:
            continue
        few, many = line[users[0]], line[users[-1]]
        side = TIE if abs(few - many) <= SAME_MEAN else FOR if few > many else AGAINST
        cells.append(
            Comparison(
                side,
                name,
                many - few,
                {"k": k, "eps": epsilon},
                f"{percent(few)} at n = {users[0]}, {percent(many)} at {users[-1]}",
            )
        )
    text = f"change of (standard / projected) from the fewest to the most users: {spread(c.gap for c in cells)}"
    return conclude(cells, text, need="some")

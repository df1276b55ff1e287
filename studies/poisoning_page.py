"""docs/results/poisoning.md and its chart from docs/results/poisoning.csv: `python -m studies.poisoning_page`."""

import csv
from collections.abc import Sequence

import numpy as np

import deniable as dn
from deniable.charts import save_chart
from studies.poisoning import ATTACKS, DEFENCES, FILE, POPULATIONS, REPEATS, SHARES, SURVEYS, N

PAGE = FILE.with_suffix(".md")
CHART = FILE.with_suffix(".svg")
Rows = list[dict[str, str]]
FLAT, STEEP = POPULATIONS
_LOUD = ("one symbol", "five symbols")


def _some(rows: Rows, **wanted: object) -> Rows:
    return [row for row in rows if all(row[name] == str(value) for name, value in wanted.items())]


def _number(rows: Rows, field: str, **wanted: object) -> float:
    (row,) = _some(rows, **wanted)
    return float(row[field])


def _mean(rows: Rows, field: str, **wanted: object) -> float:
    return float(np.mean([float(row[field]) for row in _some(rows, **wanted)]))


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = ["| " + " | ".join(head) + " |", "|---" + "|--:" * (len(head) - 1) + "|"]
    return "\n".join(rows + ["| " + " | ".join(line) + " |" for line in lines])


def _cost() -> str:
    """What planted reports gain, and the chance of an alarm, as `Estimate.planted` says."""
    lines = []
    for name, survey in SURVEYS.items():
        tally = dn.simulate(survey, POPULATIONS[FLAT], N, np.random.default_rng(0))
        estimate = dn.decode(tally, constraint=dn.Projected())
        one = [estimate.planted([50], share=share) for share in SHARES]
        five = [estimate.planted([50, 55, 60, 65, 70], share=share) for share in SHARES]
        lines.append([
            name, f"{100 * one[0].gain:.2g}", f"{100 * five[0].gain:.2g}", f"{100 * one[0].careful:.2g}",
            *(f"{a.noticed:.2f}, {b.noticed:.2f}" for a, b in zip(one, five, strict=True)),
            ", ".join(f"{each.careful_noticed:.2f}" for each in five),
        ])  # fmt: skip
    head = [
        "mechanism",
        "points for one",
        "for five",
        "ordinary",
        "alarm at 1 %",
        "at 5 %",
        "at 10 %",
        "ordinary, five",
    ]
    return _table(head, lines)


def _damage(rows: Rows, population: str, field: str, share: float) -> str:
    lines = []
    for name in SURVEYS:
        for attack in _LOUD:
            found = {"population": population, "mechanism": name, "attack": attack, "share": share}
            values = [_number(rows, field, **found, defence=defence) for defence in DEFENCES]
            least = min(abs(value) for value in values)
            cells = [f"**{v:.2f}**" if abs(v) == least else f"{v:.2f}" for v in values]
            lines.append([f"{name}, {attack}", *cells])
    return _table(["", *DEFENCES], lines)


def _all(rows: Rows, population: str, field: str) -> str:
    lines = []
    for attack in ATTACKS:
        for share in SHARES:
            found = {"population": population, "attack": attack, "share": share}
            values = [_mean(rows, field, **found, defence=defence) for defence in DEFENCES]
            lines.append([f"{attack}, {100 * share:g} %", *(f"{value:.2f}" for value in values)])
    calm = [_mean(rows, field, population=population, attack="none", defence=defence) for defence in DEFENCES]
    lines.append(["nobody attacks", *(f"{value:.2f}" for value in calm)])
    return _table(["mean over all mechanisms", *DEFENCES], lines)


def _coverage(rows: Rows) -> str:
    lines = []
    for name in SURVEYS:
        found = {"population": FLAT, "mechanism": name, "defence": "contaminated"}
        cells = [_number(rows, "covered", **found, attack="none")]
        cells += [_number(rows, "covered", **found, attack="one symbol", share=share) for share in SHARES]
        cells += [_number(rows, "covered_targets", **found, attack="one symbol", share=share) for share in SHARES]
        lines.append([name, *(f"{100 * cell:.0f}" for cell in cells)])
    head = ["% of symbols", "no attack", "1 %", "5 %", "10 %", "the target at 1 %", "at 5 %", "at 10 %"]
    return _table(head, lines)


def _chart(rows: Rows) -> None:
    import altair as alt

    values = [
        {"mechanism": row["mechanism"], "defence": row["defence"], "gain": min(float(row["gain"]), 1.0)}
        for row in _some(rows, population=FLAT, attack="five symbols", share=0.05)
        if row["defence"] in ("subtract-min", "projected", "default", "contaminated")
    ]
    chart = (
        alt.Chart(alt.InlineData(values=values), width=150, height=90)
        .mark_bar()
        .encode(
            x=alt.X("gain:Q", title="what five symbols gain", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("defence:N", title=None, sort=["subtract-min", "projected", "default", "contaminated"]),
            color=alt.Color(
                "defence:N", legend=None, scale=alt.Scale(range=["#0072B2", "#6B6B6B", "#9AA5B1", "#B07A00"])
            ),
            facet=alt.Facet("mechanism:N", columns=4, title=None, sort=list(SURVEYS)),
        )
        .properties(title="5 % planted reports for five symbols, 100,000 reports")
    )
    save_chart(chart.configure(background="white", padding=12), CHART)


def page(rows: Rows) -> str:
    """The page, from the rows of the table."""
    mean = {d: _mean(rows, "gain", population=FLAT, attack="five symbols", share=0.05, defence=d) for d in DEFENCES}
    calm = {d: _mean(rows, "l1", population=FLAT, attack="none", defence=d) for d in DEFENCES}
    default, ours = mean["default"], mean["contaminated"]
    dear, cheap = (calm[each] / calm["default"] for each in ("subtract-min", "contaminated"))
    return f"""# Planted reports

**5 % planted reports that name five rare symbols move those by {default:.2f} of all mass in what `dn.decode` reports
by default, on average over the mechanisms here; by {ours:.2f} with `decoder=dn.Contaminated()`, which costs nothing
when nobody attacks. No decoder mends it: where honest shares are steep, this one may do worse than the default.**

`python -m studies.poisoning` makes the table ([poisoning.csv](poisoning.csv)), `python -m studies.poisoning_page`
this page. {N:,} reports, 100 symbols, epsilon 1 unless a row says otherwise, means of {REPEATS} surveys. Targets are
drawn from the 70 rarest symbols. What to do about it: [](../how-to/when-someone-plants-reports.md).

![What five symbols gain from 5 % planted reports, by mechanism and defence](poisoning.svg)

## What it costs, and whether a check would notice

Computed, not simulated: `estimate.planted(symbols, share=...)`. Points of mass that 1 % planted reports add to one
symbol, to five together, and to one if the reports are made to look ordinary (spread over the cohorts; bits padded to
the usual number). Then the probability that a check raises an alarm, for one and for five symbols; and for five, made
to look ordinary, at 1, 5 and 10 %.

{_cost()}

Counts of k-RR and of sets have no redundancy: the only check is whether shares are below zero, which needs symbols
that hardly anyone answers. Bits give themselves away by their number, unless they are padded. The formulas of Cao,
Jia and Gong (2021) for k-RR and OUE are met to nine digits (`tests/unit/decoders/test_planted.py`), for every small
survey the gain is the largest of all reports that there are, by enumeration, and the probabilities are those of
simulated attacks (`tests/statistical/test_planted.py`).

## What defences do

*Subtract-min* subtracts the smallest estimate and rescales (Cao and others); *cut and rescale* is `dn.Normalized()`;
*projected* the nearest point of the simplex; *default* `dn.EmpiricalBayes()`; *LDPRecover* subtracts what an assumed
5 % of planted reports would have added, spread over all positive symbols; *contaminated* is `dn.Contaminated()`:
where shares are below zero by more than chance allows, all are raised until they are not, and the tallest are lowered
to one height until all add up to one.

What the targets gain at 5 % planted reports, {FLAT} shares (bold: the least):

{_damage(rows, FLAT, "gain", 0.05)}

The l1 distance to the truth of the same surveys:

{_damage(rows, FLAT, "l1", 0.05)}

## Every attack, {FLAT} shares

*Ordinary* reports are padded and spread; a *lie* is an honest client that is told the target; *random* reports are
any that a collector accepts, at even odds. What the targets gain:

{_all(rows, FLAT, "gain")}

The l1 distance to the truth. Without an attack *subtract-min* costs {dear:.1f} times the error of the
default, *contaminated* {cheap:.2f} times:

{_all(rows, FLAT, "l1")}

Subtracting the smallest estimate and rescaling leaves targets the least, because it makes all shares more alike: that
is also what it does to honest ones. LDPRecover assumes an attack whose shares are spread over all symbols, and does
little against these. Where counts over cohorts do not fit peaks at symbols (OLH, O-RR and O-RAPPOR, attacked for the
largest gain), *contaminated* changes nothing: the check of the fit raises an alarm there, almost surely.

## Where honest shares are steep

With {STEEP} shares the most frequent answer has 61 %. Once planted shares are raised, nothing tells it from a planted
peak, and *contaminated* lowers it first. The l1 distance:

{_all(rows, STEEP, "l1")}

## Intervals

Intervals belong to the unbiased estimate, and describe chance alone, whatever the decoder. How many symbols other
than the target 95 % intervals cover, and how often the target, if reports are planted for one symbol:

{_coverage(rows)}

So an interval is void where planted reports must be reckoned with. Add to it what `estimate.planted(...)` says.
"""


def main() -> None:
    """Write the page and its chart."""
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    PAGE.write_text(page(rows))
    _chart(rows)


if __name__ == "__main__":
    main()

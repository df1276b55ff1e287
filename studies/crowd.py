"""What a crowd adds, for every mechanism: `python -m studies.crowd` writes docs/results/crowd.md (two minutes)."""

from math import exp
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import binom

import deniable as dn
from deniable.crowds import shown

PAGE = Path(__file__).parents[1] / "docs" / "results" / "crowd.md"
SEED = bytes(16)
N, DELTA = 100_000, 1e-6

# What both bounds leave open, by mechanism: why they differ.
EXACT = "next to nothing"
GIVEN = "what the bound gives away"
BLOOM = "the same, and only three kinds of reports are told apart in the lower bound"

HEAD = """# What a crowd adds

`dn.crowd(survey, n)` bounds what anyone learns about one person from the counts of n mixed reports alone: epsilon in
the central sense, with a delta. Every number here comes from `python -m studies.crowd`. *At most* is certified (integer
intervals, rounded outwards; [why it holds](../decisions/0059-the-crowd.md)); *at least* is what two crowds that really
occur can be told apart by, certified in the same way. How to use it: [](../how-to/ask-what-a-crowd-adds.md).

## Every mechanism, 100,000 people, delta 1e-6

"""

MIDDLE = """
The figures of the variation-ratio reduction (Wang and others, 2024) at epsilon 4 are .1182 (Warner), .0686 (k-RR of
100) and .0823 (56 cells); the general numerical bound of Feldman, McMillan and Talwar is .1728. Ours are at or below
the first three, although that reduction errs on the wrong side: it lets the person's reports that speak for neither
answer pass for anyone's. For four people and k-RR of four answers at epsilon 0.5 it gives epsilon .3971 at delta .001,
where the exact law of the counts has a delta of .00154 (`tests/exact/test_crowd.py`). For k-RR of three answers or more
it is the column *at least*: in large crowds little is missing.

*At most* and *at least* are far apart for Warner's design and for reports of several bits. The upper bound gives away,
with their number, all reports of the others that depend on their answers; if the others all give one answer these
reports hide, too, but nobody may rely on that. For two answers that costs a factor of up to 1.5. The truth is then
near *at least*: however many of the others say yes, the number of yeses among their reports has the same variance,
(n - 1) hit miss. To certify it would take a proof for every such number. For bits, telling the reports with both bits
from those with neither adds nothing: both are equally likely under the two answers.

## When some of the n are not honest

People who tell whoever looks what they sent, and reports that somebody made up, hide nobody. k-RR, 100 answers,
epsilon 4:

"""

DRAFT = """
The number is void where it is the local epsilon again.

## A published table that is not reproduced

draft-wang-ppm-differential-privacy has a table for 100,000 people and delta 1e-9. Its epsilon is that of one bit, for
one person who is left out. Replacing an answer changes two bits, which is what a survey's epsilon counts. Here are the
draft's numbers, the exact ones for one bit that is left out (in either direction), the same if a report hides half as
often, and what is certified for an answer of 20 that is replaced, at twice the epsilon of a bit:

"""

END = """
Half as many reports that hide agree with the draft in the first row and not in the others, so the accountant behind it
is another one. Its table is not reproduced here. In the draft's source the step from its epsilon and n to the table is
a note to be justified, with two papers on hiding among clones; leaving out means that a report is replaced by a fixed
one. Tried besides, for the three rows (.317, .906, 1.528): clones with probability e^-epsilon, of which half look like
either value, and one bit that is replaced (.409, .970, 1.360) or left out (.415, .974, 1.364); the same with twice as
many clones (.284, .645, .863); and clones at the lower end of their number (1,123 of 1,339 in the first row, where
about 1,130 would be needed, but 106 of 182 in the third, where 71 would). None meets more than one row. The last
column is void: whole reports of 20 bits at a local epsilon of 10 and more are too telling for 100,000 of them to hide
one. The draft's epsilon is that of one bit.
"""


def surveys(epsilon: float) -> list[tuple[str, dn.Survey, str]]:
    return [
        ("Warner (the worst case)", dn.warner(epsilon=epsilon), GIVEN),
        ("k-RR, 3 answers", dn.krr(symbols=3, epsilon=epsilon), EXACT),
        ("k-RR, 100 answers", dn.krr(symbols=100, epsilon=epsilon), EXACT),
        ("local hashing, 56 cells, 1 cohort", dn.orr(epsilon=epsilon, cells=56, cohorts=1, seed=SEED), EXACT),
        ("local hashing, 56 cells, 16 cohorts", dn.orr(epsilon=epsilon, cells=56, cohorts=16, seed=SEED), EXACT),
        ("k-RAPPOR, 20 answers", dn.krappor(symbols=20, epsilon=epsilon), GIVEN),
        ("OUE, 20 answers", dn.oue(symbols=20, epsilon=epsilon), GIVEN),
        ("subset selection, 20 answers", dn.subset(symbols=20, epsilon=epsilon), GIVEN),
        ("Hadamard, 20 answers", dn.hadamard(symbols=20, epsilon=epsilon), EXACT),
        ("projective, 20 answers", dn.projective(symbols=20, epsilon=epsilon), EXACT),
        ("O-RAPPOR, 32 bits, 2 hashes", dn.orappor(epsilon=epsilon, cells=32, cohorts=1, hashes=2, seed=SEED), BLOOM),
    ]


def table(epsilon: float) -> str:
    lines = [
        "| local epsilon | mechanism | at most | at least | ratio | what is between |",
        "|--:|---|--:|--:|--:|---|",
    ]
    for name, survey, why in surveys(epsilon):
        found = dn.crowd(survey, n=N, delta=DELTA)
        ratio = found.lower / found.epsilon
        why = EXACT if ratio > 0.99 else why
        lines.append(f"| {epsilon:g} | {name} | {shown(found.epsilon)} | {found.lower:.4g} | {ratio:.3f} | {why} |")
    return "\n".join(lines)


def curve() -> str:
    found = dn.crowd(dn.krr(symbols=100, epsilon=4), n=N, delta=DELTA)
    lines = ["| collude or are made up | honest | epsilon at most |", "|--:|--:|--:|"]
    for share, epsilon in found.curve((0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)):
        lines.append(f"| {100 * share:g} % | {max(1, round(N * (1 - share))):,} | {shown(epsilon)} |")
    return "\n".join(lines)


def left_out(hides: float, delta: float) -> tuple[float, float]:
    """Epsilon of 1 + Binomial(N - 1, hides) and Binomial(N, hides), either way; floats, for comparison only."""
    values = np.arange(4_000)
    without = binom.pmf(values, N, hides)
    there = np.concatenate([[0.0], binom.pmf(values[:-1], N - 1, hides)])

    def epsilon(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> float:
        return float(brentq(lambda e: np.maximum(one - np.exp(e) * other, 0).sum() - delta, 0, 20))

    return epsilon(there, without), epsilon(without, there)


def bits() -> str:
    """The table of draft-wang-ppm-differential-privacy beside ours."""
    lines = [
        "| epsilon of a bit | the draft | one bit left out, exactly | half as many hide | answer replaced, at most |",
        "|--:|--:|--:|--:|--:|",
    ]
    for epsilon, theirs in {5.0: 0.317, 6.5: 0.906, 7.0: 1.528}.items():
        exact, half = (left_out(share * exp(-epsilon), 1e-9) for share in (1, 0.5))
        ours = dn.crowd(dn.krappor(symbols=20, epsilon=2 * epsilon), n=N, delta=1e-9)
        shown_pairs = [f"{one:.3f}, {other:.3f}" for one, other in (exact, half)]
        lines.append(f"| {epsilon:g} | {theirs} | {shown_pairs[0]} | {shown_pairs[1]} | {shown(ours.epsilon)} |")
    return "\n".join(lines)


def main() -> None:
    PAGE.write_text(
        HEAD + table(1) + "\n\n" + table(4) + "\n" + MIDDLE + curve() + "\n" + DRAFT + bits() + "\n" + END,
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()

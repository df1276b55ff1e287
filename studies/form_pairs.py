"""What intervals of related pairs and of questions that were left out cover.

`python -m studies.form_pairs` writes that section of docs/results/forms.md.
"""

from pathlib import Path

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.survey import Form

Floats = npt.NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "results" / "forms.md"
HEADING = "\n## Related pairs, and questions that are left out\n"
REPEATS = 1000  # surveys of each kind
JOINT = np.array([[0.25, 0.10, 0.05], [0.05, 0.25, 0.30]])  # of the related pair: two answers by three
SKIPS = np.array([0.5, 0.3, 0.2])  # two answers, and none


def made(epsilon: str, spend: str, report: str | None) -> Form:
    """A related pair, and a question that may be left out."""
    return dn.form(
        a=dn.krr(2, epsilon=epsilon, epsilon_report=report),
        b=dn.krr(3, epsilon=epsilon, epsilon_report=report),
        c=dn.krr(["no", "yes"], epsilon=epsilon, epsilon_report=report),
        epsilon=epsilon,
        spend=spend,
        relate=[("a", "b")],
        skip=["c"],
    )


def inside(limits: Floats, truth: Floats) -> float:
    """The part of the shares that lie in their intervals."""
    low, high = limits.T
    return float(((low <= truth) & (truth <= high)).mean())


def covered(form: Form, people: int, rng: np.random.Generator) -> Floats:
    """How many 95 % intervals cover, in percent: of the pair's cells, of a question of it, and of the other one."""
    found = []
    for _ in range(REPEATS):
        estimate = dn.decode(dn.simulate(form, {("a", "b"): JOINT, "c": SKIPS}, people, rng))
        found.append(
            [
                inside(estimate.joint("a", "b").intervals(0.95), JOINT.ravel()),
                inside(estimate["a"].intervals(0.95), JOINT.sum(axis=1)),
                inside(estimate["c"].intervals(0.95), SKIPS),
            ]
        )
    return np.asarray(100 * np.mean(found, axis=0))


def main() -> None:
    rng, rows = np.random.default_rng(23), []
    for spend in ("split", "sample"):
        for epsilon, report in (("1", None), ("4", None), ("4", "2")):
            for people in (2_000, 100_000):
                cells, one, left = covered(made(epsilon, spend, report), people, rng)
                said = f"{epsilon}, {report} a report" if report else epsilon
                rows.append(f"| {spend} | {said} | {people:,} | {cells:.1f} % | {one:.1f} % | {left:.1f} % |")
                print(rows[-1], flush=True)
    text = [
        f"{REPEATS:,} simulated surveys a row (`python -m studies.form_pairs`): 95 % intervals of the cells of a",
        "related pair (two answers by three), of a question of that pair, and of a question that every fifth person",
        f"left out. A share of {REPEATS:,} surveys has a standard error of at most 0.7 points.",
        "",
        "| budget | epsilon | people | cells of the pair | one question of it | left out by some |",
        "|" + "---|" * 6,
        *rows,
    ]
    page = PAGE.read_text(encoding="utf-8")
    before, _, speed = page.partition("\n## Size and speed\n")
    before = before.partition(HEADING)[0]
    PAGE.write_text(before + HEADING + "\n" + "\n".join(text) + "\n\n## Size and speed\n" + speed, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Forms: splitting, sampling and fake data at 3, 10 and 30 questions.

`python -m studies.forms` writes docs/results/forms.md. RS+FD is written from its description (Arcolezi, Couchot,
Al Bouna and Xiao, CIKM 2021): a person samples one of d questions, randomises it by k-RR at the amplified epsilon
ln(d (e**epsilon - 1) + 1), and sends a uniformly random answer to every other one, so that nobody sees which
was sampled.
"""

import math
from pathlib import Path

import numpy as np
import numpy.typing as npt

import deniable as dn
from deniable.survey import Form

Floats = npt.NDArray[np.float64]

PAGE = Path(__file__).parents[1] / "docs" / "results" / "forms.md"
PEOPLE = 100_000  # in each survey
ESTIMATES = 12_000  # questions of each kind whose errors are averaged
COVERED = 1500  # of them whose intervals are looked at
ANSWERS = 4  # of each question
SHARES = np.array([0.4, 0.3, 0.2, 0.1])


def ours(questions: int, epsilon: float, spend: str) -> Form:
    """A form of so many questions; each by the better of k-RR and subset selection at its own budget."""
    own = epsilon / questions if spend == "split" else epsilon
    best = dn.subset(ANSWERS, epsilon=own)
    return dn.form({f"q{i}": best for i in range(questions)}, epsilon=str(epsilon), spend=spend)


def theory_of(form: Form, people: float) -> float:
    """The mean variance of a share."""
    mechanism = form.parts[0].survey.mechanism
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    mean = miss + (hit - miss) * SHARES
    return float((mean * (1 - mean)).mean() / (hit - miss) ** 2 / people)


def measured_of(form: Form, rng: np.random.Generator) -> tuple[float, float]:
    """The mean squared error of a share in simulated surveys, and the share of 95 % intervals that cover."""
    population = {question.name: SHARES for question in form.questions}
    mechanism = form.parts[0].survey.mechanism
    hit, miss = float(mechanism.hit), float(mechanism.miss)
    errors, covered = [], []
    for survey in range(ESTIMATES // len(form.parts)):
        tally = dn.simulate(form, population, PEOPLE, rng)
        for part in tally.parts:
            raw = (part.counts[0] / part.n - miss) / (hit - miss)
            errors.append(((raw - SHARES) ** 2).mean())
        if survey * len(form.parts) < COVERED:
            for estimate in dn.decode(tally).values():
                low, high = estimate.intervals(0.95).T
                covered.append(((low <= SHARES) & (high >= SHARES)).mean())
    return float(np.mean(errors)), float(np.mean(covered))


def fake_data(questions: int, epsilon: float, rng: np.random.Generator) -> tuple[float, float]:
    """RS+FD[GRR]: the variance by its formula, and the mean squared error in simulated surveys."""
    odds = questions * (math.exp(epsilon) - 1) + 1
    p, q = odds / (odds + ANSWERS - 1), 1 / (odds + ANSWERS - 1)
    share = (q + SHARES * (p - q) + (questions - 1) / ANSWERS) / questions
    variance = questions**2 * share * (1 - share) / (PEOPLE * (p - q) ** 2)
    sampled = rng.binomial(PEOPLE, 1 / questions, ESTIMATES)
    channel = q + (p - q) * SHARES
    counts = rng.multinomial(sampled, channel) + rng.multinomial(PEOPLE - sampled, np.full(ANSWERS, 1 / ANSWERS))
    raw = (counts * questions * ANSWERS - PEOPLE * (questions - 1 + q * ANSWERS)) / (PEOPLE * ANSWERS * (p - q))
    return float(variance.mean()), float(((raw - SHARES) ** 2).mean())


def main() -> None:
    rng = np.random.default_rng(22)
    rows = []
    for questions in (3, 10, 30):
        for epsilon in (0.5, 1.0, 2.0, 4.0):
            split, sample = ours(questions, epsilon, "split"), ours(questions, epsilon, "sample")
            by_theory = theory_of(split, PEOPLE), theory_of(sample, PEOPLE / questions)
            found = [measured_of(form, rng) for form in (split, sample)]
            fake = fake_data(questions, epsilon, rng)
            rows.append((questions, epsilon, by_theory, found, fake))
            print(questions, epsilon, by_theory, found, fake, flush=True)
    heading, rest = "\n## Related pairs", PAGE.read_text(encoding="utf-8")  # by studies.form_pairs and form_speed
    _, heading, speed = rest.partition(heading)
    PAGE.write_text(page(rows) + heading + speed, encoding="utf-8")


def page(rows: list[tuple[int, float, tuple[float, float], list[tuple[float, float]], tuple[float, float]]]) -> str:
    """The page, from what was measured."""
    head = "questions | epsilon | split | sample | RS+FD | variance of sample, over theory | coverage, split and sample"
    lines = [
        "# Forms: splitting, sampling, fake data",
        "",
        "**Sampling beats splitting from three questions on, and more the more there are. Fake data is sharper",
        "where epsilon is small, sampling where it is not.**",
        "",
        f"Each question has {ANSWERS} answers, there are {PEOPLE:,} people. Errors are the root of the mean "
        f"squared error",
        f"of a share, in percentage points, over {ESTIMATES:,} simulated questions (`python -m studies.forms`); "
        f"coverage",
        f"is that of 95 % intervals, over {COVERED:,}. RS+FD is the fake-data method of Arcolezi and others "
        f"(2021), the",
        "best of the peers, written from its description: one question is sampled and randomised by k-RR at an "
        "amplified",
        "epsilon, and the others are answered at random, so that nobody sees which one it was. Ours says which one it",
        "was, and needs no fake answers.",
        "",
        f"| {head} |",
        "|" + "---|" * 7,
    ]
    for questions, epsilon, by_theory, found, fake in rows:
        errors = " | ".join(f"{100 * math.sqrt(value):.2f}" for value in (found[0][0], found[1][0], fake[1]))
        covers = ", ".join(f"{100 * each[1]:.1f} %" for each in found)
        lines.append(f"| {questions} | {epsilon:g} | {errors} | {found[1][0] / by_theory[1]:.3f} | {covers} |")
    better = sum(found[1][0] <= fake[1] for _, _, _, found, fake in rows)
    sharper = sum(found[1][0] <= found[0][0] for _, _, _, found, _ in rows)
    ratios = [found[1][0] / by_theory[1] for _, _, by_theory, found, _ in rows]
    fakes = 100 * max(abs(fake[1] / fake[0] - 1) for *_, fake in rows)
    lines += [
        "",
        f"Sampling is sharper than splitting in {sharper} of {len(rows)} settings, and than RS+FD in {better} of them.",
        f"The variance of sampled marginals is {min(ratios):.3f} to {max(ratios):.3f} times what theory says. That of",
        f"RS+FD is within {fakes:.1f} % of its published formula: what is compared is the method, not a mistake in it.",
        "",
        "Theory: a share from n / d people at epsilon has the variance d V(epsilon) / n, one from n people at "
        "epsilon / d",
        "has V(epsilon / d) / n, which grows like d^2 V(epsilon) / n for a small epsilon. Fake answers add the "
        "variance",
        "of (d - 1) / d uniform answers, for an epsilon that is larger by about ln d: that pays where epsilon "
        "is small.",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()

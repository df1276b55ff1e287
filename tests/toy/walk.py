"""A new mechanism from end to end, by what is registered alone: `python -m <package>.walk`, in a process of its own.

The package's name is whatever the files were copied to.
"""

import contextlib
import io
import json
import tempfile
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.audit import audit
from deniable.cli import main
from deniable.mechanisms import missing
from deniable.simulation import simulate_counts

from . import audit as registered_audit
from . import columns, planner, reading, simulation, words
from .band import Band
from .plain import Plain
from .presets import band, plain

assert all((registered_audit, columns, planner, reading, simulation, words))
P = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])


def printed(*arguments: str) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main([*arguments]) == 0
    return " ".join(text.getvalue().split())


def walk(folder: Path, title: str, told: str) -> None:
    rng = np.random.default_rng(1)
    preset, kind = {"Band": (band, Band), "Plain": (plain, Plain)}[title]
    assert missing(kind) == []
    survey = preset(symbols=["never", "rarely", "sometimes", "often", "mostly", "always"], epsilon=2, name="tea")
    print(survey)

    path, symbols = folder / "survey.json", ",".join(map(str, survey.symbols or ()))
    made = (
        "--mechanism",
        title.lower(),
        "--force",
        "--symbols",
        symbols,
        "--epsilon",
        "2",
        "--name",
        "tea",
        "-o",
        str(path),
    )
    printed("survey", "new", *made)
    assert dn.Survey.load(path) == survey

    report = dn.Client(survey).report("often")  # privatises, one by one
    assert dn.Report.unpack(survey, report.pack()) == report
    answers = rng.choice(np.array(survey.symbols), size=60_000, p=P)
    tally = dn.count(survey, dn.privatize(survey, answers))  # and whole columns
    tally.accumulate(report)
    assert tally.n == 60_001
    assert 'response" NOT BETWEEN 0 AND 5' in survey.sql()

    for counted in (tally, dn.simulate(survey, P, 60_000, rng), simulate_counts(survey, (60_000 * P).astype(int), rng)):
        for decoder in (None, dn.Inversion(), dn.LeastSquares(), dn.Likelihood()):
            estimate = dn.decode(counted, decoder=decoder)
            assert (np.abs(estimate.raw - P) < 6 * estimate.standard_errors).all(), decoder
            assert np.abs(estimate.probabilities - P).sum() < 0.1
        assert estimate.covariance.shape == (6, 6)
        low, high = estimate.intervals(1 - 1e-9, simultaneous=True).T
        assert ((low < P) & (high > P)).all()

    risk = dn.theory.l2_risk(survey, P, 60_000)
    losses = [
        ((dn.decode(dn.simulate(survey, P, 60_000, rng), decoder=dn.Inversion()).raw - P) ** 2).sum()
        for _ in range(400)
    ]
    assert abs(np.mean(losses) - risk) < 6 * np.std(losses) / 20

    plan = dn.plan(n=60_000, symbols=6, epsilon=2.0)  # plans
    assert title in {plan.survey.title, *(other.mechanism for other in plan.alternatives)}, plan
    chained = dn.plan(n=60_000, symbols=6, epsilon=2.0, epsilon_report=1.5)
    why = {other.mechanism: other.why for other in chained.alternatives}
    assert why[title] == "its reports cannot be randomised again"

    certificate = audit(survey, trials=20_000)  # audits
    assert certificate.verdict == "PASSED", certificate

    notice = printed("survey", "notice", str(path))
    assert told in notice
    assert f"{title}, epsilon 2" in notice
    shown = json.loads(printed("survey", "show", "--json", str(path)))["follows"]
    assert (shown["hit"] is None) == (title == "Band")
    print("walked", title)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        walk(Path(name), "Band", "one beside it with")
        walk(Path(name), "Plain", "The plain truth is sent with")

"""A new mechanism from end to end, by what is registered alone: `python -m <package>.walk`, in a process of its own.

The package's name is whatever the files were copied to.
"""

import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.audit import audit
from deniable.cli import main
from deniable.mechanisms import missing
from deniable.simulation import simulate_counts

from . import planner, reading, words
from .band import Band
from .presets import band

assert all((planner, reading, words))
P = np.array([0.4, 0.25, 0.15, 0.1, 0.06, 0.04])


def printed(*arguments: str) -> str:
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        assert main([*arguments]) == 0
    return " ".join(text.getvalue().split())


def walk(folder: Path) -> None:
    assert missing(Band) == []
    rng = np.random.default_rng(1)
    survey = band(symbols=["never", "rarely", "sometimes", "often", "mostly", "always"], epsilon=2, name="tea")
    print(survey)

    path, symbols = folder / "survey.json", ",".join(map(str, survey.symbols or ()))
    made = ("--mechanism", "band", "--symbols", symbols, "--epsilon", "2", "--name", "tea", "-o", str(path))
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
    assert "Band" in {plan.survey.title, *(other.mechanism for other in plan.alternatives)}, plan
    chained = dn.plan(n=60_000, symbols=6, epsilon=2.0, epsilon_report=1.5)
    told = {other.mechanism: other.why for other in chained.alternatives}
    assert told["Band"] == "its reports cannot be randomised again"

    certificate = audit(survey, trials=20_000)  # audits
    assert certificate.verdict == "PASSED", certificate

    notice = printed("survey", "notice", str(path))
    assert "one beside it with" in notice
    assert "Band, epsilon 2" in notice
    assert '"hit": null' in printed("survey", "show", "--json", str(path))
    print("walked")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        walk(Path(name))

"""What each library really spends: its own randomiser, as shipped, asked from outside by `deniable audit`."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import deniable as dn
from benchmarks.peers.environments import ROOT
from benchmarks.peers.figures import Cell, Figure
from benchmarks.peers.process import Library, environment

__all__ = ["AUDITS", "audits"]

SYMBOLS, EPSILON, TRIALS = 16, 1.0, 20_000
_HEAD = 9  # bytes of a packed report before the payload: version and survey

# What is audited, and the survey whose published law it is held to. For "first of SS" no survey has the law, and that
# is not held against it: a report's first element is made from the report, so it must be as private.
AUDITS: dict[str, Callable[[int], dn.Survey]] = {
    "GRR": lambda k: dn.krr(k, epsilon=EPSILON),
    "SUE": lambda k: dn.krappor(k, epsilon=EPSILON),
    "OUE": lambda k: dn.oue(k, epsilon=EPSILON),
    "SS": lambda k: dn.subset(k, epsilon=EPSILON, size=round(k / (2.718281828 + 1))),
    "first of SS": lambda k: dn.krr(k, epsilon=EPSILON),
    "RAPPOR": lambda k: dn.krappor(k, epsilon=EPSILON),
}
_OFFERED = {
    "pure-ldp": ("GRR", "SUE", "OUE", "RAPPOR"),
    "multi-freq-ldpy": ("GRR", "SUE", "OUE", "SS", "first of SS"),
    "ldp-toolbox": ("GRR", "SUE", "OUE", "SS", "first of SS"),
    "opendp": ("GRR", "SUE"),
}


def audits(libraries: list[Library]) -> Iterator[Figure]:
    """For each the largest epsilon that its reports prove, with the verdict on its privacy in the note."""
    for library in libraries:
        for mechanism in _OFFERED[library.name]:
            # The leak in the order of a set grows with the alphabet: 256 symbols show it as it is used.
            symbols = 256 if mechanism == "first of SS" else SYMBOLS
            yield _audit(library, mechanism, symbols)


def _audit(library: Library, mechanism: str, symbols: int) -> Figure:
    survey = AUDITS[mechanism](symbols)
    head = dn.Report(survey, 0, bytes(survey.mechanism.payload_bytes)).survey.digest[: 2 * (_HEAD - 1)]
    size = survey.mechanism.payload_bytes
    client = [*library.command, "audit", f"'{mechanism}'", str(symbols), str(EPSILON), f"01{head}", str(size)]
    cell = Cell("audit", mechanism, symbols, EPSILON, TRIALS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "survey.json"
        survey.save(path)
        command = [sys.executable, "-m", "deniable", "audit", str(path), "--once", "--json", "--trials", str(TRIALS)]
        done = subprocess.run(
            [*command, "--command", " ".join(client)],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env=environment() | {"PYTHONPATH": str(ROOT / "src")},
        )
    if not done.stdout:
        return Figure(cell, library.name, None, note=f"the audit could not run: {done.stderr.strip()[-200:]}")
    said = json.loads(done.stdout)
    found = {finding["kind"]: finding["event"] for finding in said["findings"]}
    if "privacy" in found:
        note = f"VIOLATED: {found['privacy']}"
    elif "law" in found and mechanism != "first of SS":
        note = f"private, but not the published law: {found['law']}"
    else:
        note = "PASSED"
    return Figure(cell, library.name, said["one_report"]["epsilon_at_least"], note=note)

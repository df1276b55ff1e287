"""What the pages compute for themselves is what Python computes: privacy in words, error curves, QR codes."""

import json
import math
import subprocess
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qrcode

import deniable as dn
from deniable.cli.words import at_most, belief_after, chance

SCRIPT = Path(__file__).parents[1] / "e2e" / "pages.mjs"
SYMBOLS = [f"answer {i}" for i in range(12)]
SURVEYS = {
    "warner": dn.warner(epsilon=1),
    "krr": dn.krr(symbols=SYMBOLS, epsilon=2),
    "krappor": dn.krappor(symbols=SYMBOLS, epsilon=1),
    "oue": dn.oue(symbols=SYMBOLS, epsilon=1),
    "subset": dn.subset(symbols=SYMBOLS, epsilon="0.5"),
    "hadamard": dn.hadamard(symbols=SYMBOLS, epsilon=1),
    "projective": dn.projective(symbols=SYMBOLS, epsilon=1),
    "orr": dn.orr(epsilon=2, cells=8, cohorts=64, seed=bytes(16)),
    "orr closed": dn.orr(symbols=SYMBOLS, epsilon=3, cells=6, cohorts=16, seed=bytes(16)),
    "orappor": dn.orappor(epsilon=2, cells=32, cohorts=8, hashes=2, seed=bytes(16)),
}


def ask(*questions: tuple[str, str, list[Any]]) -> list[Any]:
    """What the pages' modules answer, under Node."""
    lines = "\n".join(json.dumps(question) for question in questions)
    done = subprocess.run(["node", str(SCRIPT)], input=lines, capture_output=True, text=True, check=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("name", SURVEYS)
def test_the_pages_read_a_survey_as_python_does(name: str) -> None:
    survey = SURVEYS[name]
    fields = json.loads(survey.to_json())
    (n,) = ask(("words.js", "numbers", [fields]))
    mechanism = survey.mechanism
    assert n["hit"] == pytest.approx(float(mechanism.hit), rel=1e-12)
    assert n["miss"] == pytest.approx(float(mechanism.miss), rel=1e-9)
    assert n["odds"] == pytest.approx(float(mechanism.odds), rel=1e-9)
    said, after, happens = ask(
        ("words.js", "atMost", [float(mechanism.odds)]),
        ("words.js", "chance", [float(belief_after(Fraction(1, 10), mechanism.odds)), True]),
        ("words.js", "whatHappens", [n]),
    )
    assert said == at_most(mechanism.odds)
    assert after == chance(belief_after(Fraction(1, 10), mechanism.odds), up=True)
    if n["mine"] > 1:
        assert n["mine"] == survey.hashes
        assert chance(survey.hashes * mechanism.hit) in happens
    else:
        assert chance(mechanism.hit) in happens or chance(mechanism.miss) in happens


def test_numbers_in_words() -> None:
    ratios = [1.01, 2.001, 7.389, 22.026, 99.5, 1234.5, 22026.4]
    shares = [0.4018, 0.0544, 0.9997, 0.5, 0.00012]
    found = ask(*[("words.js", "atMost", [x]) for x in ratios], *[("words.js", "chance", [x]) for x in shares])
    wanted = [at_most(Fraction(x)) for x in ratios] + [chance(Fraction(x)) for x in shares]
    assert found == wanted


PEOPLE = 10_000


@pytest.mark.parametrize("epsilon", ["0.5", "1", "3"])
@pytest.mark.parametrize("size", [2, 5, 64])
def test_error_curves_are_those_of_theory(epsilon: str, size: int) -> None:
    (p,) = ask(("curves.js", "population", ["zipf", size, 1]))
    assert p == pytest.approx((np.arange(1, size + 1) ** -1.0 / (np.arange(1, size + 1) ** -1.0).sum()).tolist())
    surveys = {
        "k-RR": dn.krr(symbols=size, epsilon=epsilon),
        "k-RAPPOR": dn.krappor(symbols=size, epsilon=epsilon),
        "OUE": dn.oue(symbols=size, epsilon=epsilon),
        "Hadamard": dn.hadamard(symbols=size, epsilon=epsilon, blocks=1),
    } | ({"subset selection": dn.subset(symbols=size, epsilon=epsilon)} if size > 2 else {})
    found = ask(*[("curves.js", "error", [name, float(epsilon), p, PEOPLE]) for name in surveys])
    for (name, survey), value in zip(surveys.items(), found, strict=True):
        assert value == pytest.approx(dn.theory.l1_risk(survey, p, PEOPLE), rel=1e-6), name
    (free,) = ask(("curves.js", "error", ["no privacy", 1.0, p, PEOPLE]))
    assert free == pytest.approx(dn.theory.ml_l1(p, PEOPLE), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "cells"), [("1", 4), ("2", 8), ("3", 16)])
def test_curves_of_cohorts_are_near_theory_with_many_of_them(epsilon: str, cells: int) -> None:
    """With as many cohorts as here least squares is within a tenth of the curve, which is for endlessly many."""
    p = dn.lab.geometric(64, mean=64 / 5)
    for name, make in (("O-RR", dn.orr), ("O-RAPPOR", dn.orappor)):
        survey = make(symbols=64, epsilon=epsilon, cells=cells, cohorts=1024, seed=bytes(16))
        (value,) = ask(("curves.js", "error", [name, float(epsilon), p.tolist(), 10**6, cells]))
        assert value == pytest.approx(dn.theory.l1_risk(survey, p, 10**6), rel=0.1), name


@pytest.mark.parametrize("name", ["uniform", "geometric", "zipf", "spike"])
def test_populations_are_the_labs(name: str) -> None:
    (p,) = ask(("curves.js", "population", [name, 50, 1]))
    assert math.isclose(sum(p), 1, abs_tol=1e-12)
    if name == "geometric":
        assert p == pytest.approx(dn.lab.geometric(50, mean=10).tolist(), rel=1e-9)


@pytest.mark.parametrize("length", [1, 14, 15, 60, 84, 90, 120, 150, 200, 250, 330, 412])
def test_qr_codes_are_what_another_encoder_makes(length: int) -> None:
    text = ("http://127.0.0.1:8765/answer/" + "0123456789abcdef" * 30)[:length]
    (found,) = ask(("qr.js", "encode", [text]))
    other = qrcode.QRCode(found["version"], qrcode.constants.ERROR_CORRECT_M, border=0, mask_pattern=found["mask"])
    other.add_data(qrcode.util.QRData(text.encode(), mode=qrcode.util.MODE_8BIT_BYTE))
    other.make(fit=False)
    assert [[int(dark) for dark in row] for row in other.modules] == found["modules"]
    assert other.best_fit(start=1) == found["version"], "no smaller code would do"


def test_a_text_that_is_too_long_for_a_qr_code_is_refused() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        ask(("qr.js", "encode", ["x" * 413]))
    assert "text must be at most 412 bytes for a QR code" in refused.value.stderr

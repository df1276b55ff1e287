"""The page that respondents' privacy is judged by: its numbers are recomputed, and the tests that it names exist."""

import math
import re

import numpy as np
import pytest

from deniable.survey import SCALE
from tests.docs.blocks import ROOT

PAGES = ROOT / "docs" / "explanation"
GUARANTEE = (PAGES / "privacy-guarantee.md").read_text()


def at_most(epsilon: float, prior: float, digits: int = 0) -> float:
    """The largest belief after a report, in per cent, rounded up."""
    odds, scale = prior / (1 - prior) * math.exp(epsilon), 10.0**digits
    return math.ceil(100 * scale * odds / (1 + odds)) / scale


@pytest.mark.parametrize("page", ["privacy-guarantee.md", "proofs.md", "known-vulnerabilities.md"])
def test_every_test_that_a_page_names_exists(page: str) -> None:
    named = set(re.findall(r"`((?:tests|clients)/[\w/.-]+)`", (PAGES / page).read_text()))
    assert named or page == "known-vulnerabilities.md"
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", [GUARANTEE, (ROOT / "docs" / "how-to" / "choose-epsilon.md").read_text()])
def test_beliefs_in_tables_are_bounds(page: str) -> None:
    rows = re.findall(r"^\| (\d) \| ([a-z ]+?)(?: privacy)? \|(.*)\|$", page, re.MULTILINE)
    assert [(float(most), word) for most, word, _ in rows] == list(SCALE[:-1])
    for most, _, cells in rows:
        beliefs = [float(share) for share in re.findall(r"([\d.]+) %", cells)]
        assert beliefs[0] == at_most(float(most), 0.1)
        assert beliefs[1:] in ([], [at_most(float(most), 0.5)], [at_most(float(most), 0.5, digits=1)])


def test_how_often_fresh_noise_names_the_answer() -> None:
    """90 reports of one answer under k-RR with ten symbols at epsilon 1; the commonest is named, ties by lot."""
    assert "90 daily reports name the answer with probability 0.97" in " ".join(GUARANTEE.split())
    hit, miss = math.e / (math.e + 9), 1 / (math.e + 9)
    counts = np.random.default_rng(0).multinomial(90, [hit] + [miss] * 9, size=100_000)
    most = counts == counts.max(axis=1, keepdims=True)
    assert abs(float((most[:, 0] / most.sum(axis=1)).mean()) - 0.97) < 0.005


def test_a_large_epsilon_is_named_with_its_odds() -> None:
    assert "At epsilon 8 a report can be 2981 times likelier" in GUARANTEE
    assert round(math.exp(8)) == 2981

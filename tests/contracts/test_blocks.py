"""Block designs as one thing: their products, their inverse, and the covariance of the exact law of one report."""

import numpy as np
import pytest

import deniable as dn
from deniable.errors import SurveyError
from deniable.matrices import BlockDesign, Design, design_of
from deniable.matrices.incidence import Orthogonal, incidence_of, walsh_hadamard
from deniable.survey import Projective, Survey
from deniable.theory.covariance import inversion_covariance, inversion_variances, least_squares_moments
from tests.exact.laws import published
from tests.surveys import LARGE, SMALL, symbols_of

DESIGNS = {
    name: survey for name, survey in SMALL.items() if survey.encoding.shared is not None and survey.mechanism.two_valued
}
LARGER = {
    name: survey for name, survey in LARGE.items() if survey.encoding.shared is not None and survey.mechanism.two_valued
}
MORE = {
    "hadamard-300": dn.hadamard(symbols=300, epsilon=1),
    "hadamard-odd-blocks": dn.hadamard(symbols=100, epsilon=3, blocks=7),
    "projective-300": dn.projective(symbols=300, epsilon=3),
}
ALL = DESIGNS | {f"large-{name}": survey for name, survey in LARGER.items()} | MORE
each = pytest.mark.parametrize("survey", ALL.values(), ids=ALL.keys())
each_small = pytest.mark.parametrize("survey", DESIGNS.values(), ids=DESIGNS.keys())


def block_design(survey: Survey) -> BlockDesign:
    found = design_of(survey)
    assert isinstance(found, BlockDesign)
    return found


def matrix(survey: Survey) -> np.ndarray:
    """H from the client's own encoding, b x S."""
    symbols = symbols_of(survey)
    found = np.zeros((survey.cells, len(symbols)))
    for place, symbol in enumerate(symbols):
        found[list(survey.encode(0, symbol)), place] = 1
    return found


@each
def test_products_are_those_of_the_clients_matrix(survey: Survey) -> None:
    design, h, rng = block_design(survey), matrix(survey), np.random.default_rng(1)
    p, u = rng.random(design.symbols), rng.normal(size=(3, 1, design.cells))
    np.testing.assert_allclose(design.forward(p), (h @ p)[None], atol=1e-12)
    np.testing.assert_allclose(design.adjoint(u[0]), h.T @ u[0, 0], atol=1e-10)
    np.testing.assert_allclose(design.adjoint(u), u[:, 0] @ h, atol=1e-10)
    np.testing.assert_allclose(design.gram, h.T @ h)
    w = rng.random((1, design.cells))
    np.testing.assert_allclose(design.weighted_gram(w), (h.T * w) @ h, atol=1e-10)
    np.testing.assert_array_equal(design.cells_of(slice(1, 3)), design.table[0, :, 1:3])
    plain = Design(design.table, design.cells)
    np.testing.assert_allclose(plain.forward(p), design.forward(p), atol=1e-10)
    assert np.linalg.cond(h.T @ h) == pytest.approx(design.condition)
    assert design.twins == []


@each
def test_inverse_is_linear_and_exact(survey: Survey) -> None:
    design, rng = block_design(survey), np.random.default_rng(2)
    p = rng.dirichlet(np.ones(design.symbols))
    np.testing.assert_allclose(design.invert(design.forward(p)), p, atol=1e-12)
    lines = np.stack([design.invert(row[None]) for row in np.eye(design.cells)], axis=1)
    np.testing.assert_allclose(lines @ matrix(survey), np.eye(design.symbols), atol=1e-12)
    w = rng.random((1, design.cells))
    np.testing.assert_allclose(design.inverse_gram(w), (lines * w) @ lines.T, atol=1e-12)


@each_small
def test_covariance_is_that_of_the_exact_law(survey: Survey) -> None:
    """Mean and covariance of the decoded single report, summed over the published law of the bytes."""
    design, symbols = block_design(survey), symbols_of(survey)
    p = np.array([2 * (i + 1) for i in range(len(symbols))]) / (len(symbols) * (len(symbols) + 1))
    mean, square = np.zeros(len(symbols)), np.zeros((len(symbols),) * 2)
    for symbol, weight in zip(symbols, p, strict=True):
        for wire, chance in published(survey, symbol).items():
            tally = dn.Tally(survey)
            tally.accumulate(wire)
            raw = dn.decode(tally, decoder=dn.Inversion(), constraint=dn.Unconstrained()).raw
            mean += weight * float(chance) * raw
            square += weight * float(chance) * np.outer(raw, raw)
    np.testing.assert_allclose(mean, p, atol=1e-12)
    r = survey.mechanism.hit - survey.mechanism.miss
    columns = float(survey.mechanism.miss) + float(r) * design.forward(p)
    expected = square - np.outer(mean, mean)
    np.testing.assert_allclose(inversion_covariance(design, survey.mechanism, columns, 1), expected, rtol=1e-9)
    np.testing.assert_allclose(inversion_variances(design, survey.mechanism, columns, 1), np.diag(expected), rtol=1e-9)
    assert dn.theory.l2_risk(survey, p, 1) == pytest.approx(np.trace(expected))


@each_small
def test_least_squares_has_its_own_covariance(survey: Survey) -> None:
    """Where fewer symbols are asked about than the design has room for, least squares and inversion differ."""
    symbols = symbols_of(survey)
    p = np.array([2 * (i + 1) for i in range(len(symbols))]) / (len(symbols) * (len(symbols) + 1))
    mean, square = np.zeros(len(symbols)), np.zeros((len(symbols),) * 2)
    for symbol, weight in zip(symbols, p, strict=True):
        for wire, chance in published(survey, symbol).items():
            tally = dn.Tally(survey)
            tally.accumulate(wire)
            raw = dn.decode(tally, decoder=dn.LeastSquares(), constraint=dn.Unconstrained()).raw
            mean += weight * float(chance) * raw
            square += weight * float(chance) * np.outer(raw, raw)
    claimed_mean, claimed = least_squares_moments(survey, p, 1)
    np.testing.assert_allclose(mean, p, atol=1e-12)
    np.testing.assert_allclose(claimed_mean, p, atol=1e-12)
    np.testing.assert_allclose(claimed, square - np.outer(mean, mean), rtol=1e-8, atol=1e-10)


@each
def test_constraints_make_least_squares_and_inversion_one(survey: Survey) -> None:
    """The two differ by a multiple of each block's indicator; with one block the projection takes that away."""
    design = block_design(survey)
    p = dn.lab.zipf(design.symbols, 1)
    tally = dn.simulate(survey, p, 10**5, np.random.default_rng(3))
    solved = dn.decode(tally, decoder=dn.LeastSquares())
    inverted = dn.decode(tally, constraint=dn.Projected())
    assert inverted.decoder == dn.Inversion()
    assert solved.rank == inverted.rank == design.symbols
    if design.blocks == 1:
        np.testing.assert_allclose(solved.probabilities, inverted.probabilities, atol=1e-9)
    np.testing.assert_allclose(np.sqrt(np.diag(inverted.covariance)), inverted.standard_errors, rtol=1e-6)


@each
def test_likelihood_is_at_least_that_of_the_others(survey: Survey) -> None:
    mechanism, design = survey.mechanism, block_design(survey)
    if not mechanism.one_column:
        return
    p = dn.lab.zipf(design.symbols, 1)
    tally = dn.simulate(survey, p, 10**4, np.random.default_rng(4))

    def value(q: np.ndarray) -> float:
        m = float(mechanism.miss) + float(mechanism.hit - mechanism.miss) * design.forward(q)
        return float((tally.counts * np.log(m)).sum())

    best = value(dn.decode(tally, decoder=dn.Likelihood()).probabilities)
    for other in (p, dn.decode(tally).probabilities, np.full(design.symbols, 1 / design.symbols)):
        assert best >= value(other) - 1e-6


@pytest.mark.parametrize("survey", [s for s in ALL.values() if s.title == "PGR"], ids=repr)
@pytest.mark.parametrize("listed", [True, False])
def test_sums_over_points_are_a_fourier_transform(survey: Survey, listed: bool) -> None:
    assert isinstance(survey.encoding, Projective)
    sums = Orthogonal(survey.encoding, np.arange(len(survey.alphabet)))
    sums.listed = listed
    h, rng = matrix(survey), np.random.default_rng(5)
    p, u = rng.random(len(survey.alphabet)), rng.normal(size=(2, survey.cells))
    np.testing.assert_allclose(sums.forward(p), h @ p, atol=1e-9)
    np.testing.assert_allclose(sums.adjoint(u), u @ h, atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 8, 64])
def test_transform_is_the_matrix_that_doubling_builds(size: int) -> None:
    h = np.ones((1, 1))
    while len(h) < size:
        h = np.block([[h, h], [h, -h]])
    v = np.random.default_rng(size).normal(size=(2, 3, size))
    np.testing.assert_allclose(walsh_hadamard(v), v @ h, atol=1e-12)


def test_a_design_of_one_cell_a_symbol_is_krr() -> None:
    """On a projective line every symbol has one cell, so its law is that of k-RR with cells that nobody has."""
    line, krr = SMALL["projective-line"], dn.krr(symbols=6, epsilon=1)
    assert line.mechanism == krr.mechanism
    assert len({line.encode(0, s) for s in range(5)}) == 5


def test_json_round_trips() -> None:
    for survey in ALL.values():
        again = dn.Survey.from_json(survey.to_json())
        assert again == survey
        assert again.digest == survey.digest
        assert repr(again) == repr(survey)


def test_the_presets_choose_the_least_cost() -> None:
    for k in (2, 3, 10, 57, 200):
        p = np.full(k, 1 / k)
        for epsilon in ("0.3", "1", "2.5", "5"):
            chosen = dn.theory.l2_risk(dn.hadamard(symbols=k, epsilon=epsilon), p, 1)
            for blocks in (1, 2, 4, 8):
                if blocks <= k:
                    other = dn.theory.l2_risk(dn.hadamard(symbols=k, epsilon=epsilon, blocks=blocks), p, 1)
                    assert chosen <= other * (1 + 1e-9)
            chosen = dn.theory.l2_risk(dn.projective(symbols=k, epsilon=epsilon), p, 1)
            for order, dimension in ((2, 3), (3, 3), (5, 3), (7, 3), (2, 5), (3, 5), (211, 2)):
                try:
                    survey = dn.projective(symbols=k, epsilon=epsilon, order=order, dimension=dimension)
                except SurveyError:
                    continue
                assert chosen <= dn.theory.l2_risk(survey, p, 1) * (1 + 1e-9)


@each
def test_no_error_is_zero_or_undefined(survey: Survey) -> None:
    """A single report, and a thousand that are all the same."""
    if not survey.mechanism.one_column:
        return
    for n in (1, 1000):
        for cell in (0, survey.cells - 1):
            counts = np.zeros((1, survey.cells), np.int64)
            counts[0, cell] = n
            estimate = dn.decode(dn.Tally(survey, counts))
            assert (estimate.standard_errors > 0).all()
            assert np.isfinite(estimate.intervals()).all()


def test_exact_l1_of_one_block_is_the_binomials() -> None:
    """At n = 1 and 2 every tally can be listed."""
    survey = SMALL["projective"]
    p = np.full(7, 1 / 7)
    design = block_design(survey)
    m = float(survey.mechanism.miss) + float(survey.mechanism.hit - survey.mechanism.miss) * design.forward(p)[0]
    loss = 0.0
    for first in range(7):
        for second in range(7):
            counts = np.bincount([first, second], minlength=7)[None]
            raw = dn.decode(dn.Tally(survey, counts), constraint=dn.Unconstrained()).raw
            loss += m[first] * m[second] * float(np.abs(raw - p).sum())
    assert dn.theory.l1_risk(survey, p, 2, exact=True) == pytest.approx(loss)


def test_what_is_no_block_design_has_no_products() -> None:
    with pytest.raises(TypeError, match=r"Hashed has no product with H; register one with deniable.matrices.inc"):
        incidence_of(SMALL["orr-open"].encoding, np.arange(3))

"""The projection satisfies its optimality conditions, which only the true projection does."""

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from deniable.decoders.simplex import project

vectors = arrays(
    np.float64,
    st.integers(1, 60),
    elements=st.one_of(st.floats(-2, 2), st.floats(-1e9, 1e9), st.sampled_from([0.0, 0.5, 1.0, -0.5])),
)


def violations(values: npt.NDArray[np.float64], p: npt.NDArray[np.float64]) -> float:
    """How far p is from satisfying: on the simplex, values - p = theta where p > 0, values <= theta elsewhere."""
    scale = 1e-12 * max(1.0, float(np.abs(values).max()))
    theta = float((values - p)[p > 0].max())
    return max(
        abs(float(p.sum()) - 1) - 1e-9,
        -float(p.min()),
        float(np.abs((values - p)[p > 0] - theta).max()) - scale,
        float((values - theta)[p == 0].max(initial=-np.inf)) - scale,
    )


@given(vectors)
def test_projection_is_optimal(values: npt.NDArray[np.float64]) -> None:
    assert violations(values, project(values)) <= 0


@given(vectors.filter(lambda v: v.size >= 3 and float(np.ptp(v)) > 0.1))
def test_the_conditions_reject_clip_and_rescale(values: npt.NDArray[np.float64]) -> None:
    cut = np.maximum(values, 0)
    if cut.sum() <= 0 or abs(cut.sum() - 1) < 0.05:
        return
    shares = cut / cut.sum()
    # One share alone is the projection where the others are far below; a share may also be rounded away (5e-324 / 1e9).
    if np.count_nonzero(shares) < 2 or np.ptp(cut[shares > 0]) < 0.05:
        return
    assert violations(values, shares) > 0


def test_a_share_that_is_rounded_away_leaves_the_projection() -> None:
    values = np.array([1e9, 5e-324, -1.0])
    np.testing.assert_array_equal(np.maximum(values, 0) / np.maximum(values, 0).sum(), project(values))


def test_projection_of_many_contenders_is_optimal() -> None:
    """Hundreds of close contenders: a support that is off by one entry moves the threshold by a thousandth or less."""
    rng = np.random.default_rng(0)
    for size in (200, 1000, 3000):
        for scale in (1e-3, 1e-2, 0.1):
            for _ in range(20):
                values = rng.normal(size=size) * scale
                assert violations(values, project(values)) <= 0


@given(vectors)
def test_projecting_twice_changes_nothing(values: npt.NDArray[np.float64]) -> None:
    once = project(values)
    np.testing.assert_allclose(project(once), once, atol=1e-12)

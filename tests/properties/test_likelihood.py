"""Water-filling satisfies the conditions of optimality, which nothing else on the simplex does."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from deniable.decoders.likelihood import composite_bits, water_fill

counts = st.lists(st.integers(0, 10**6), min_size=2, max_size=40)
floors = st.floats(1e-4, 1e3)


@given(counts, floors)
def test_water_filling_is_optimal(given_counts: list[int], floor: float) -> None:
    t = np.array(given_counts, float)
    assume(t.sum() > 0)
    p = water_fill(t, floor)
    assert p.min() >= 0
    assert abs(p.sum() - 1) < 1e-9
    gradient = t / (p + floor)  # of sum T log(p + floor)
    level = gradient[p > 0].max()
    assert np.all(np.abs(gradient[p > 0] / level - 1) < 1e-6)
    assert np.all(gradient[p == 0] <= level * (1 + 1e-6))


@given(st.data(), st.floats(0.01, 0.49))
def test_composite_bits_is_optimal(data: st.DataObject, miss: float) -> None:
    n = data.draw(st.integers(1, 10**6))
    t = np.array(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=20)), float)
    r = 1 - 2 * miss
    p, gap = composite_bits(t, n, 1 - miss, miss)
    assert gap <= 1e-9
    m = miss + r * p
    gradient = t / m - (n - t) / (1 - m)
    inside = p > 1e-9
    level = float((gradient * p).sum())
    tolerance = 1e-5 * (n / miss)
    assert np.all(np.abs(gradient[inside] - level) < tolerance)
    assert np.all(gradient[~inside] <= level + tolerance)

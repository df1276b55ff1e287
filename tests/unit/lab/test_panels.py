"""Panels memoise as devices do: by the cells of an answer."""

import numpy as np

import deniable as dn


def test_a_panel_memoises_by_cell() -> None:
    """Where answers share their cells they share their permanent response, as in `Client`: so do their reports."""
    survey = dn.orr(symbols=4, epsilon=1, cells=2, cohorts=1, seed=bytes(16))
    cells = [survey.encode(0, symbol)[0] for symbol in range(4)]
    same = [symbol for symbol in range(4) if cells[symbol] == cells[0]]
    assert len(same) == 2
    before, after = (np.eye(4)[symbol] for symbol in same)
    first, second = dn.lab.panel(survey, [before, after], 500, np.random.default_rng(3))
    assert first == second
    other = np.eye(4)[next(symbol for symbol in range(4) if cells[symbol] != cells[0])]
    first, second = dn.lab.panel(survey, [before, other], 500, np.random.default_rng(3))
    assert first != second


def test_a_panel_of_bloom_filters_shares_noise_where_all_cells_are_shared() -> None:
    survey = dn.orappor(symbols=40, epsilon=1, cells=4, cohorts=2, hashes=2, seed=bytes(16))
    sets = [[survey.encode(cohort, symbol) for symbol in range(40)] for cohort in range(2)]
    pair = next((a, b) for a in range(40) for b in range(a) if all(of_cohort[a] == of_cohort[b] for of_cohort in sets))
    first, second = dn.lab.panel(survey, [np.eye(40)[symbol] for symbol in pair], 300, np.random.default_rng(4))
    assert first == second

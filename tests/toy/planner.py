"""planner/catalogue.py: what it costs, so that plans can choose it."""

from math import exp
from typing import Any

import numpy as np

from deniable.planner.catalogue import Asked, channel_law, planned, support_law
from deniable.planner.cohorts import HEAD, index_bytes
from deniable.planner.options import Family

from .band import Band
from .plain import Plain
from .presets import band, plain


@planned.add(Band)
def band_families(asked: Asked) -> list[Family]:
    if asked.is_open or not 4 <= asked.size <= 4096:
        return []
    one = np.array([asked.size])
    law = channel_law(lambda epsilon: Band(asked.size, epsilon))
    return [Family("Band", band, {}, HEAD + index_bytes(one), law, None, 0 * one, chained=False)]


@planned.add(Plain)
def plain_families(asked: Asked) -> list[Family]:
    def rates(parameters: dict[str, Any], epsilon: float) -> tuple[float, float]:
        miss = 1 / (exp(epsilon) + asked.size - 1)
        return exp(epsilon) * miss, miss

    if asked.is_open:
        return []
    one = np.array([asked.size])
    wide = HEAD + index_bytes(one)
    return [Family("Plain", plain, {}, wide, support_law(rates), rates, 0 * one, chained=False)]

"""planner/catalogue.py: what it costs, so that plans can choose it."""

import numpy as np

from deniable.planner.catalogue import Asked, channel_law, planned
from deniable.planner.cohorts import HEAD, index_bytes
from deniable.planner.options import Family

from .band import Band
from .presets import band


@planned.add(Band)
def band_families(asked: Asked) -> list[Family]:
    if asked.is_open or not 4 <= asked.size <= 4096:
        return []
    one = np.array([asked.size])
    law = channel_law(lambda epsilon: Band(asked.size, epsilon))
    return [Family("Band", band, {}, HEAD + index_bytes(one), law, None, 0 * one, chained=False)]

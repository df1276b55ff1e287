"""planner/catalogue.py: which settings plans look at; what they cost follows from the mechanism's own weights."""

from deniable.planner.catalogue import Asked, planned, single_family
from deniable.planner.options import Family

from .band import Band
from .plain import Plain
from .presets import band, plain


@planned.add(Band)
def band_families(asked: Asked) -> list[Family]:
    if asked.is_open or not 4 <= asked.size <= 4096:
        return []
    return single_family("Band", band, lambda epsilon: Band(asked.size, epsilon), asked.size)


@planned.add(Plain)
def plain_families(asked: Asked) -> list[Family]:
    if asked.is_open:
        return []
    return single_family("Plain", plain, lambda epsilon: Plain(asked.size, epsilon), asked.size)

"""simulation.py: the law of its counts."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.matrices import Design
from deniable.simulation import CountLaw, laws

from .plain import Plain

Counts = npt.NDArray[np.int64]


def drawn(mechanism: Plain, design: Design, p: Any, reports: Counts, rng: np.random.Generator) -> Counts:
    miss, r = mechanism.affine
    law = miss + r * design.forward(p)
    return rng.multinomial(reports, law / law.sum(axis=1, keepdims=True))


def placed(mechanism: Plain, design: Design, people: Counts, rng: np.random.Generator) -> Counts:
    rows = np.array([mechanism.weights((cell,)) for cell in range(mechanism.cells)], float) / mechanism.span
    return np.asarray(rng.multinomial(people[0], rows).sum(axis=0))[None]


laws.add(Plain)(CountLaw(drawn, placed))

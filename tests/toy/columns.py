"""columns/randomizing.py: the same words on whole columns."""

from typing import Any

import numpy as np
import numpy.typing as npt

from deniable.columns.randomizing import Answers, Sampler, samplers
from deniable.columns.stream import WordStream

from .plain import Plain


def draw(mechanism: Plain, answers: Answers, rows: slice, stream: WordStream) -> npt.NDArray[Any]:
    cells = answers.cell_at(rows).astype(np.int64)
    block = (stream.words(len(cells)) // np.uint64(mechanism.other)).astype(np.int64)
    return np.where(block >= mechanism.cells - 1, cells, block + (block >= cells))


samplers.add(Plain)(Sampler(lambda mechanism: 1 << 15, draw))

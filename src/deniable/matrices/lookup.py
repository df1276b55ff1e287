"""The design of a survey and its candidates, cached."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from deniable.columns import Words, cell_table, keys_of
from deniable.matrices.background import OpenDesign
from deniable.matrices.blocks import BlockDesign
from deniable.matrices.channel import ChannelDesign
from deniable.matrices.matrix import Design
from deniable.matrices.neighbours import NeighbourDesign
from deniable.mechanisms import Mechanism, Registry
from deniable.survey import BlockEncoding, Encoding, Neighbours, Survey

_CACHE: "OrderedDict[tuple[Encoding, bytes, bool], Design]" = OrderedDict()
_CACHE_SIZE = 8  # designs: their tables and factors may be large


# H of an encoding and some keys, where one is faster than lists of cells.
matrices: Registry[Callable[[Any, Words], Design]] = Registry("deniable.matrices.lookup.matrices", Encoding, "matrix H")
matrices.add(Encoding)(lambda encoding, keys: Design(cell_table(encoding, keys), encoding.cells))
matrices.add(BlockEncoding)(BlockDesign)
matrices.add(Neighbours)(NeighbourDesign)


def design_of(survey: Survey, candidates: Sequence[object] | None = None, *, background: bool = False) -> Design:
    """The design of a survey and a list of candidates.

    Parameters
    ----------
    survey : Survey
        Its encoding, and its mechanism where that has more than two probabilities.
    candidates : sequence of symbols, optional
        The columns of H; the closed alphabet by default.
    background : bool
        Whether to add a column for answers that no candidate explains.

    Returns
    -------
    Design
        Cached. Surveys that differ only in epsilon or in name share it, where their mechanism has two probabilities.

    Raises
    ------
    ValueError
        If the alphabet is open and there are no candidates.

    Examples
    --------
    >>> import deniable as dn
    >>> design_of(dn.krr(symbols=4, epsilon=1)) is design_of(dn.krr(symbols=4, epsilon=2))
    True
    """
    symbols = survey.symbols if candidates is None else candidates
    if symbols is None:
        raise ValueError("candidates must be given for an open alphabet")
    keys = keys_of(survey, symbols)
    if not survey.mechanism.two_valued:
        return _channel_design(survey.mechanism, survey.encoding, keys.tobytes())
    return design_from_keys(survey.encoding, keys, background=background)


@lru_cache(maxsize=4)
def _channel_design(mechanism: Mechanism, encoding: Encoding, keys: bytes) -> ChannelDesign:
    return ChannelDesign(mechanism, cell_table(encoding, np.frombuffer(keys, np.uint64)))


def design_from_keys(encoding: Encoding, keys: Words, *, background: bool = False) -> Design:
    """The design for keys that are already computed.

    Parameters
    ----------
    encoding : Encoding
        The encoding of a survey.
    keys : ndarray of uint64
        The keys of the candidates (`columns.encode.keys_of`).
    background : bool
        Whether to add a column for answers that no candidate explains.

    Returns
    -------
    Design
        Cached by encoding and keys.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=4, epsilon=1)
    >>> design_from_keys(survey.encoding, keys_of(survey, range(4))) is design_of(survey)
    True
    """
    label = (encoding, keys.tobytes(), background)
    found = _CACHE.get(label)
    if found is None:
        if background:
            found = OpenDesign(design_from_keys(encoding, keys), encoding.hashes)
        else:
            found = matrices.of(encoding)(encoding, keys)
        _CACHE[label] = found
        while len(_CACHE) > _CACHE_SIZE:
            _CACHE.popitem(last=False)
    else:
        _CACHE.move_to_end(label)
    return found

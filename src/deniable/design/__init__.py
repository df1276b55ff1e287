"""H, the paper's binary matrix, as cell numbers, and its Gram matrix, factored once for a survey and its candidates."""

from deniable.design.factor import GramFactor
from deniable.design.matrix import Design, design_from_keys, design_of

__all__ = ["Design", "GramFactor", "design_from_keys", "design_of"]

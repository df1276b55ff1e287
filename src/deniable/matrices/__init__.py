"""The paper's binary matrix H, stored as cell numbers, and its Gram matrix, factored once per survey and candidates."""

from deniable.matrices.background import OpenDesign
from deniable.matrices.blocks import BlockDesign
from deniable.matrices.channel import ChannelDesign
from deniable.matrices.factor import GramFactor, invert_in_place
from deniable.matrices.lookup import design_from_keys, design_of
from deniable.matrices.matrix import Design
from deniable.matrices.neighbours import NeighbourDesign
from deniable.matrices.sandwich import Sandwich
from deniable.matrices.streamed import StreamedDesign
from deniable.matrices.triangles import add_squares

__all__ = [
    "BlockDesign",
    "ChannelDesign",
    "Design",
    "GramFactor",
    "NeighbourDesign",
    "OpenDesign",
    "Sandwich",
    "StreamedDesign",
    "add_squares",
    "design_from_keys",
    "design_of",
    "invert_in_place",
]

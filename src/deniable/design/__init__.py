"""The paper's binary matrix H, stored as cell numbers, and its Gram matrix, factored once per survey and candidates."""

from deniable.design.background import OpenDesign
from deniable.design.blocks import BlockDesign
from deniable.design.channel import ChannelDesign
from deniable.design.factor import GramFactor, invert_in_place
from deniable.design.lookup import design_from_keys, design_of
from deniable.design.matrix import Design
from deniable.design.neighbours import NeighbourDesign
from deniable.design.sandwich import Sandwich
from deniable.design.streamed import StreamedDesign
from deniable.design.triangles import add_squares

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

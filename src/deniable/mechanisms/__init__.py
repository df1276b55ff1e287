"""The randomisers: frozen values that randomise one answer, state their exact channel, and what they really spend."""

from deniable.mechanisms.base import Carrier, HitOrMiss, Mechanism, check_size, whole_number
from deniable.mechanisms.bitflip import BitFlip
from deniable.mechanisms.chain import Chain
from deniable.mechanisms.channel import Channel
from deniable.mechanisms.grouped_tables import Blocks, Budgets, Columns, Grouped, Sensitive, checked_sensitive
from deniable.mechanisms.hand_run import HandRun, design_rows
from deniable.mechanisms.krr import KRR
from deniable.mechanisms.odds import (
    at_most_exp,
    epsilon_text,
    exp_bounds,
    log_floor,
    nearest_exp,
    parse_epsilon,
    read_fraction,
    verify,
)
from deniable.mechanisms.registry import Registry, missing
from deniable.mechanisms.sensitive_design import SensitiveDesign, SetDesign
from deniable.mechanisms.subset import Subset
from deniable.mechanisms.weight_table import WeightTable, rounded_table

__all__ = [
    "KRR",
    "BitFlip",
    "Blocks",
    "Budgets",
    "Carrier",
    "Chain",
    "Channel",
    "Columns",
    "Grouped",
    "HandRun",
    "HitOrMiss",
    "Mechanism",
    "Registry",
    "Sensitive",
    "SensitiveDesign",
    "SetDesign",
    "Subset",
    "WeightTable",
    "at_most_exp",
    "check_size",
    "checked_sensitive",
    "design_rows",
    "epsilon_text",
    "exp_bounds",
    "log_floor",
    "missing",
    "nearest_exp",
    "parse_epsilon",
    "read_fraction",
    "rounded_table",
    "verify",
    "whole_number",
]

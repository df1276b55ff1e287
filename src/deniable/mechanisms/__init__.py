"""The randomisers: frozen values that randomise one answer, state their exact channel, and what they really spend."""

from deniable.mechanisms.base import Carrier, HitOrMiss, Mechanism, check_size, whole_number
from deniable.mechanisms.bitflip import BitFlip
from deniable.mechanisms.chain import Chain
from deniable.mechanisms.channel import Channel
from deniable.mechanisms.krr import KRR
from deniable.mechanisms.odds import at_most_exp, epsilon_text, exp_bounds, nearest_exp, parse_epsilon, verify
from deniable.mechanisms.registry import Registry, missing
from deniable.mechanisms.subset import Subset

__all__ = [
    "KRR",
    "BitFlip",
    "Carrier",
    "Chain",
    "Channel",
    "HitOrMiss",
    "Mechanism",
    "Registry",
    "Subset",
    "at_most_exp",
    "check_size",
    "epsilon_text",
    "exp_bounds",
    "missing",
    "nearest_exp",
    "parse_epsilon",
    "verify",
    "whole_number",
]

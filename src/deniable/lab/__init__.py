"""The laboratory: populations, and the paper's experiments run on them (`deniable reproduce`)."""

from deniable.lab.panels import panel
from deniable.lab.populations import binomial, dirichlet, from_data, generator, geometric, uniform, zipf
from deniable.lab.streams import normal_draws, stream_of

__all__ = [
    "binomial",
    "dirichlet",
    "from_data",
    "generator",
    "geometric",
    "normal_draws",
    "panel",
    "stream_of",
    "uniform",
    "zipf",
]

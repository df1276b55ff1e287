"""The laboratory: populations, and the paper's experiments run on them (`deniable reproduce`)."""

from deniable.lab.panels import panel
from deniable.lab.populations import binomial, dirichlet, from_data, generator, geometric, uniform, zipf

__all__ = ["binomial", "dirichlet", "from_data", "generator", "geometric", "panel", "uniform", "zipf"]

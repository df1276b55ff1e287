"""The figures of `deniable reproduce`: what each shows, and how it is drawn."""

from deniable.reproduce.figures.base import Figure, Row, Rows, Tables
from deniable.reproduce.figures.catalogue import FIGURES

__all__ = ["FIGURES", "Figure", "Row", "Rows", "Tables"]

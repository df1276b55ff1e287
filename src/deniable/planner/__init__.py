"""The practitioner's request: how much privacy can be given for the error one can live with, and how."""

from deniable.planner.nearby import nearby
from deniable.planner.planning import plan
from deniable.planner.result import Alternative, Expected, Plan

__all__ = ["Alternative", "Expected", "Plan", "nearby", "plan"]

"""A task: some cells of an experiment that are computed together, in a process of their own.

The engines (`deniable.lab`) make tasks; `deniable.reproduce.pool` runs them.
"""

from collections.abc import Collection
from typing import Protocol


class Task(Protocol):
    """Work with named results, picklable. Its numbers follow from the seed and the key alone, so that it does not
    matter which task computed a result, in which order, or on how many processes. (The fifteenth digit of a linear
    solution may depend on how many were solved together, as it does after an interruption.)"""

    @property
    def keys(self) -> tuple[str, ...]:
        """One per result; a key names everything that decides the numbers except the seed."""

    @property
    def cost(self) -> float:
        """Rough CPU seconds, for the progress bar and for balancing."""

    def only(self, keys: Collection[str]) -> "Task":
        """The same work for fewer results."""

    def run(self, seed: int) -> dict[str, list[float]]:
        """The numbers of every key."""

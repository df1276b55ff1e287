"""Small tasks for the tests of `deniable reproduce`, and the command itself on them, for a process of its own.

Only the standard library is imported here, so that the workers start fast.
"""

import os
import random
import signal
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

from deniable.errors import TallyMismatch
from deniable.reproduce.claims import Claim
from deniable.reproduce.claims.rules import Verdict
from deniable.reproduce.pool import Results
from deniable.reproduce.settings import Settings

FIGURES = dict.fromkeys(("decoders", "l2_decoders", "krr_vs_rappor"))


@dataclass(frozen=True)
class Draw:
    """Seeded numbers after a pause; each result that is computed leaves a line in `log`."""

    keys: tuple[str, ...]
    pause: float = 0.0
    log: str | None = None
    weight: float = 1.0

    @property
    def cost(self) -> float:
        return self.weight * len(self.keys)

    def only(self, keys: Collection[str]) -> "Draw":
        return replace(self, keys=tuple(key for key in self.keys if key in keys))

    def run(self, seed: int) -> dict[str, list[float]]:
        if self.log is not None:
            with open(self.log, "a", encoding="utf-8") as log:
                log.write("".join(f"{key}\n" for key in self.keys))
        time.sleep(self.pause)
        return {key: [random.Random(f"{seed} {key}").random() for _ in range(3)] for key in self.keys}


class Environment(Draw):
    """What a worker sees: its own id, and the threads it may use."""

    def run(self, seed: int) -> dict[str, list[float]]:
        threads = [float(os.environ[f"{name}_NUM_THREADS"]) for name in ("OPENBLAS", "OMP", "MKL")]
        return {key: [float(os.getpid()), *threads] for key in self.keys}


class Fail(Draw):
    """Raises an error that cannot be unpickled."""

    def run(self, seed: int) -> dict[str, list[float]]:
        time.sleep(self.pause)
        raise TallyMismatch("these do not fit", ours="a", theirs="b")


class Forget(Draw):
    """Leaves a result out."""

    def run(self, seed: int) -> dict[str, list[float]]:
        return {}


class Exhaust(Draw):
    """Runs out of memory, as Python notices it."""

    def run(self, seed: int) -> dict[str, list[float]]:
        time.sleep(self.pause)
        raise MemoryError


class Die(Draw):
    """Is killed, as the system does where memory runs out."""

    def run(self, seed: int) -> dict[str, list[float]]:
        time.sleep(self.pause)
        os.kill(os.getpid(), signal.SIGKILL)
        return {}


def claim(verdict: Verdict, **fields: str) -> Claim:
    told = {"id": "c1", "section": "4.4", "sentence": "It rains.", "measured": "3 of 4 days", "exceptions": ""}
    return Claim(**told | fields, verdict=verdict)


def stand_ins(tasks: Sequence[Draw], claims: Sequence[Claim] = ()) -> dict[str, ModuleType]:
    """The modules that the command calls, by name, in a version that works on `tasks`."""

    def tables(settings: Settings, results: Results) -> dict[str, list[dict[str, object]]]:
        found = results(tasks, "drawing lots")
        return {"lots": [{"key": key, "number": numbers[0]} for key, numbers in found.items()]}

    def write(folder: Path, *, tables: object, figures: Sequence[str], **_: object) -> list[Path]:
        (folder / "index.html").write_text(f"{figures} {tables}", encoding="utf-8")
        return [folder / "index.html"]

    made: dict[str, dict[str, object]] = {
        "figures": {"FIGURES": FIGURES},
        "experiments": {"tables": tables},
        "claims": {"check": lambda tables: list(claims)},
        "page": {"write": write},
    }
    modules = {}
    for name, contents in made.items():
        module = modules[f"deniable.reproduce.{name}"] = ModuleType(name)
        vars(module).update(contents)
    return modules


def command(folder: str, log: str, count: int, quick: int) -> None:
    """`deniable reproduce` on two workers and `count` tasks, of which the first `quick` end at once and the others
    after an hour: a process that a test may stop in the middle, however fast the machine is."""
    import deniable.reproduce
    from deniable.cli import main

    modules = stand_ins([Draw((f"lot {i}",), 0.0 if i < quick else 3600.0, log) for i in range(count)])
    sys.modules.update(modules)
    for name, module in modules.items():
        setattr(deniable.reproduce, name.rpartition(".")[2], module)
    sys.exit(main(["reproduce", "-o", folder, "--processes", "2"]))

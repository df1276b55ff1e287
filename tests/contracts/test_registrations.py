"""What every room knows of every mechanism and encoding: nothing may be missing, and what is has a name."""

import importlib
import inspect
import sys

import pytest

from deniable.mechanisms import KRR, Chain, Mechanism, Registry, missing
from deniable.survey import BlockEncoding, Direct, Encoding
from tests.docs.test_imports import SOURCE, files
from tests.docs.test_ladders import every_subclass

for path in files():  # a room registers what it knows when it is imported
    if path.stem != "__main__" and "spark" not in path.parts:
        importlib.import_module(".".join(("deniable", *path.relative_to(SOURCE).with_suffix("").parts)))


def is_real(kind: type) -> bool:
    """Not abstract, and not what a dataclass with slots leaves behind of the class that it replaces."""
    return not inspect.isabstract(kind) and getattr(sys.modules[kind.__module__], kind.__name__, None) is kind


EVERY = [kind for kind in (*every_subclass(Mechanism), *every_subclass(Encoding)) if is_real(kind)]
OURS = [kind for kind in EVERY if kind.__module__.startswith("deniable.") and kind is not Chain]


@pytest.mark.parametrize("kind", OURS, ids=lambda kind: kind.__name__)
def test_every_room_knows_every_type(kind: type) -> None:
    assert missing(kind) == []


def test_the_types_are_all_there() -> None:
    assert {kind.__name__ for kind in OURS} == {
        *("KRR", "BitFlip", "Subset"),
        *("Sensitive", "SensitiveDesign", "Blocks", "Budgets", "WeightTable", "HandRun"),
        *("Direct", "Hashed", "Permuted", "Hadamard", "Projective", "Neighbours", "Prefixes"),
    }


class BareMechanism(Mechanism):
    pass


class BareEncoding(Encoding):
    pass


class BareDesign(BlockEncoding):
    pass


def test_what_a_bare_type_lacks_is_listed_by_name() -> None:
    assert missing(BareMechanism) == MECHANISM_REGISTRIES
    assert missing(BareEncoding) == ENCODING_REGISTRIES
    assert missing(BareDesign) == sorted(ENCODING_REGISTRIES + BLOCK_REGISTRIES)
    for name in (*MECHANISM_REGISTRIES, *ENCODING_REGISTRIES, *BLOCK_REGISTRIES):  # the name is where it stands
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute).name == name


MECHANISM_REGISTRIES = [
    "deniable.audit.published.published",
    "deniable.cli.words.doings",
    "deniable.cli.words.truths",
    "deniable.columns.randomizing.samplers",
    "deniable.planner.catalogue.planned",
    "deniable.simulation.laws",
    "deniable.survey.reading.mechanisms",
]
ENCODING_REGISTRIES = ["deniable.columns.encode.encoders", "deniable.survey.reading.encodings"]
BLOCK_REGISTRIES = [
    "deniable.columns.designs.places",
    "deniable.matrices.incidence.incidences",
    "deniable.planner.catalogue.designs",
]


def test_a_lookup_names_the_type_and_the_registration_it_lacks() -> None:
    known: Registry[str] = Registry("deniable.example.known", float, "entry")
    known.add(Encoding)("any encoding")
    assert known.of(Direct(3)) == "any encoding"
    with pytest.raises(TypeError, match=r"KRR has no entry; register one with deniable.example.known.add\(KRR\)"):
        known.of(KRR(3, 1))

"""Parse untrusted survey files: strict JSON, and the parts of a survey with every field checked by name and type."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms import (
    KRR,
    BitFlip,
    Blocks,
    Budgets,
    Chain,
    HandRun,
    Mechanism,
    Registry,
    Sensitive,
    SensitiveDesign,
    Subset,
    WeightTable,
    check_size,
    epsilon_text,
)
from deniable.survey.alphabet import Alphabet, symbol_from_json
from deniable.survey.blocks import Hadamard, Projective
from deniable.survey.encodings import Direct, Encoding, Hashed, Permuted
from deniable.survey.neighbours import Neighbours
from deniable.survey.numbers import Numbers
from deniable.survey.prefixes import Prefixes
from deniable.survey.scale import Scale, scale_of

__all__ = [
    "Stored",
    "encodings",
    "mechanisms",
    "read_alphabet",
    "read_encoding",
    "read_mechanism",
    "record",
    "strict_json",
]

MAX_TEXT = 1 << 28  # characters of a survey file, at most: 16 for each symbol of the largest alphabet


def strict_json(text: str | bytes) -> object:
    """Parse JSON that every reader reads alike: UTF-8, no repeated fields, no fractions, no NaN.

    >>> strict_json('{"cells": 3}')
    {'cells': 3}
    """
    if not isinstance(text, (str, bytes)):
        raise SurveyError(f"survey must be JSON text, got {type(text).__name__}")
    if len(text) > MAX_TEXT:
        raise SurveyError(f"survey text must be at most {MAX_TEXT} characters, got {len(text)}")
    try:
        # Decoded here because json.loads would also guess UTF-16 and UTF-32, which other readers refuse.
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=_no_duplicates, parse_float=_no_floats, parse_constant=_no_floats)
    except SurveyError:
        raise
    except (ValueError, RecursionError) as problem:
        raise SurveyError(f"survey must be JSON text: {problem}") from None


def _no_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise SurveyError("survey fields must not repeat")
    return found


def _no_floats(text: str) -> object:
    raise SurveyError(f"survey numbers must be integers, got {text[:40]!r}; epsilon is text")


def record(
    what: str, value: object, required: str, optional: str = "", integers: str = "", lists: str = ""
) -> dict[str, Any]:
    """`value` as a record with exactly these fields; text, but for symbols, sizes, `integers` and `lists`."""
    if not isinstance(value, dict):
        raise SurveyError(f"{what} must be an object, got {type(value).__name__}")
    needed = set(required.split())
    if missing := sorted(needed - set(value)):
        raise SurveyError(f"{what} must have the field {missing[0]!r}")
    if unknown := sorted(set(value) - needed - set(optional.split())):
        raise SurveyError(f"{what} must not have the field {unknown[0][:40]!r}; this version does not know it")
    whole = {"cells", "cohorts", "hashes", "width", *integers.split()}
    for name in set(value) - {"alphabet", "encoding", "mechanism", "symbols", "other" if what == "alphabet" else ""}:
        wanted = int if name in whole else list if name in lists.split() else str
        if type(value[name]) is not wanted:
            shown = {int: "an integer", str: "text", list: "a list"}[wanted]
            raise SurveyError(f"{what} field {name!r} must be {shown}, got {type(value[name]).__name__}")
    return value


def read_alphabet(value: object) -> Alphabet:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == "open":
        text = record("alphabet", value, "kind", "text").get("text")
        if text not in (None, "folded"):
            raise SurveyError(
                f"alphabet field 'text' must be 'folded', got {text[:40]!r}; exact text has no such field"
            )
        return Alphabet.open(text="exact" if text is None else "folded")
    if kind == "number":
        return Numbers.of(_read_scale(value))
    if kind != "closed":
        raise SurveyError(f"alphabet kind must be 'open', 'closed' or 'number', got {str(kind)[:40]!r}")
    fields = record("alphabet", value, "kind symbols", "other")
    if not isinstance(fields["symbols"], list):
        raise SurveyError(f"alphabet symbols must be a list, got {type(fields['symbols']).__name__}")
    other = symbol_from_json(fields["other"]) if "other" in fields else None
    return Alphabet(tuple(symbol_from_json(s) for s in fields["symbols"]), other)


def _read_scale(value: object) -> Scale:
    """A scale names its bins, or its step and nothing of bins."""
    size = "step" if isinstance(value, dict) and "step" in value else "bins"
    given = record("alphabet", value, f"kind low high outside {size}", integers="bins")
    bins = given.get("bins") or scale_of(given["low"], given["high"], step=given["step"]).bins
    return Scale(given["low"], given["high"], bins, given.get("step"), given["outside"])


@dataclass(frozen=True, slots=True)
class Stored:
    """How one kind is read: the names of its fields, those that may be missing, are integers or lists, and the value.

    `read` is given the fields and what is known already: the alphabet for an encoding, the encoding for a mechanism.
    """

    fields: str
    read: Callable[[dict[str, Any], Any], Any]
    optional: str = ""
    integers: str = ""
    lists: str = ""


encodings: Registry[Stored] = Registry("deniable.survey.reading.encodings", Encoding, "JSON reader")
encodings.add(Direct)(Stored("cells", lambda fields, alphabet: Direct(fields["cells"])))
encodings.add(Hashed)(Stored("cells cohorts hashes seed", lambda fields, alphabet: Hashed(*_seeded(fields))))
encodings.add(Permuted)(
    Stored("cells cohorts hashes seed", lambda fields, alphabet: Permuted(len(alphabet), *_seeded(fields)))
)
encodings.add(Hadamard)(
    Stored("cells blocks", lambda fields, alphabet: Hadamard(len(alphabet), fields["blocks"]), integers="blocks")
)
encodings.add(Projective)(
    Stored(
        "cells order dimension",
        lambda fields, alphabet: Projective(len(alphabet), fields["order"], fields["dimension"]),
        integers="order dimension",
    )
)
encodings.add(Neighbours)(
    Stored("cells reach", lambda fields, alphabet: Neighbours(len(alphabet), fields["reach"]), integers="reach")
)
encodings.add(Prefixes)(
    Stored("cells cohorts levels overlong seed", lambda fields, alphabet: _prefixes(fields), lists="levels"),
)

mechanisms: Registry[Stored] = Registry("deniable.survey.reading.mechanisms", Mechanism, "JSON reader")
mechanisms.add(KRR)(
    Stored("keep other", lambda fields, on: KRR(on.cells, fields["epsilon"], occupied=on.occupied or 1))
)
mechanisms.add(BitFlip)(
    Stored(
        "flip",
        lambda fields, on: BitFlip(
            on.cells, fields["epsilon"], min(2 * on.hashes, on.cells), optimized="clear" in fields
        ),
        optional="clear",
    )
)
mechanisms.add(Subset)(
    Stored("size inside", lambda fields, on: Subset(on.cells, fields["epsilon"], fields["size"]), integers="size")
)


mechanisms.add(Sensitive)(
    Stored(
        "sensitive keep other own",
        lambda fields, on: Sensitive(on.cells, fields["epsilon"], _numbers("sensitive", fields["sensitive"])),
        lists="sensitive",
    )
)
mechanisms.add(SensitiveDesign)(
    Stored(
        "sensitive order dimension keep other own",
        lambda fields, on: SensitiveDesign(
            on.cells,
            fields["epsilon"],
            hidden := _numbers("sensitive", fields["sensitive"]),
            Projective(len(hidden), fields["order"], fields["dimension"]),
        ),
        integers="order dimension",
        lists="sensitive",
    )
)
mechanisms.add(Blocks)(
    Stored(
        "groups others",
        lambda fields, on: Blocks(_numbers("groups", fields["groups"]), fields["epsilon"]),
        lists="groups others",
    )
)
mechanisms.add(Budgets)(
    Stored(
        "groups budgets raised weights",
        lambda fields, on: Budgets(
            _numbers("groups", fields["groups"]),
            fields["budgets"],
            _numbers("raised", fields["raised"]),
            _weights("weights", fields["weights"]),
        ),
        lists="groups budgets raised weights",
    )
)
mechanisms.add(WeightTable)(
    Stored("rows", lambda fields, on: WeightTable(_weights("rows", fields["rows"]), fields["epsilon"]), lists="rows")
)
mechanisms.add(HandRun)(
    Stored("said rows", lambda fields, on: HandRun(_weights("rows", fields["rows"]), fields["said"]), lists="said rows")
)


def _numbers(name: str, given: list[Any]) -> list[int]:
    """A list of small integers; truth values are none."""
    if any(type(value) is not int for value in given):
        raise SurveyError(f"mechanism field {name!r} must be a list of integers")
    return given


def _weights(name: str, given: list[Any]) -> list[list[int]]:
    """Rows of weights, each spelled in decimal text without leading zeros."""
    if any(type(row) is not list for row in given):
        raise SurveyError(f"mechanism field {name!r} must be a list of rows")
    for weight in (weight for row in given for weight in row):
        if type(weight) is not str or not weight.isascii() or not weight.isdigit() or len(weight) > 20:
            raise SurveyError(f"mechanism field {name!r} must be rows of decimal text of at most 20 digits")
    return [[int(weight) for weight in row] for row in given]


def _seeded(fields: dict[str, Any]) -> tuple[int, int, int, bytes]:
    """The arguments that hashed and permuted cells share."""
    return fields["cells"], fields["cohorts"], fields["hashes"], _seed(fields)


def _seed(fields: dict[str, Any]) -> bytes:
    try:
        seed = bytes.fromhex(fields["seed"])
    except ValueError:
        seed = b""
    if seed.hex() != fields["seed"]:
        raise SurveyError("encoding field 'seed' must be lower-case hexadecimal")
    return seed


def _prefixes(fields: dict[str, Any]) -> Prefixes:
    found = Prefixes(fields["cells"], fields["levels"], fields["overlong"], _seed(fields))
    if fields["cohorts"] != found.cohorts:
        raise SurveyError(f"encoding field 'cohorts' must be {found.cohorts} for its levels, got {fields['cohorts']}")
    return found


def _known(what: str, value: object, known: Registry[Stored]) -> tuple[Any, Stored]:
    """The type of the kind that a record names, and how it is read."""
    given = value.get("kind") if isinstance(value, dict) else None
    types: dict[str, Any] = {getattr(found, "kind", ""): found for found in known.entries}
    if not isinstance(given, str) or given not in types:
        *first, last = map(repr, types)
        raise SurveyError(f"{what} kind must be {', '.join(first)} or {last}, got {str(given)[:40]!r}")
    return types[given], known.entries[types[given]]


def read_encoding(value: object, alphabet: Alphabet) -> Encoding:
    _, stored = _known("encoding", value, encodings)
    fields = record("encoding", value, "kind " + stored.fields, integers=stored.integers, lists=stored.lists)
    found: Encoding = stored.read(fields, alphabet)
    if fields["cells"] != found.cells:
        raise SurveyError(f"encoding field 'cells' must be {found.cells} for this design, got {fields['cells']}")
    return found


def read_mechanism(value: object, encoding: Encoding) -> Mechanism:
    kind, stored = _known("mechanism", value, mechanisms)
    # The fields of a second stage are all there or none; `epsilon_report` tells which.
    twice = isinstance(value, dict) and "epsilon_report" in value
    again = ["epsilon_report", *kind.again_fields] if twice else []
    named = " ".join(["kind epsilon width", stored.fields, *again])
    fields = record("mechanism", value, named, stored.optional, stored.integers, stored.lists)
    mechanism: Mechanism = stored.read(fields, encoding)
    check_size("width", fields["width"], 64, 64)
    if twice:
        mechanism = Chain(mechanism, fields["epsilon_report"])
    for name, bound in (("epsilon", mechanism.epsilon), ("epsilon_report", mechanism.report_bound)):
        if name in fields and fields[name] != epsilon_text(bound):
            raise SurveyError(f"{name} must be spelled {epsilon_text(bound)!r} in a survey, got {fields[name][:40]!r}")
    # Lists are compared as text, in which 1 and true differ.
    for name, setting in mechanism.permanent.settings().items():
        if json.dumps(fields[name]) != json.dumps(setting):
            raise SurveyError(
                f"mechanism field {name!r} must be {json.dumps(setting)[:60]} for epsilon {fields['epsilon']}, got "
                f"{json.dumps(fields[name])[:60]}; whoever wrote this survey computes another mechanism"
            )
    stated = fields["epsilon"] + (f" and {fields['epsilon_report']} a report" if twice else "")
    for name, threshold in mechanism.thresholds().items():
        if fields[name] != str(threshold):
            raise SurveyError(
                f"threshold {name!r} must be {threshold} for epsilon {stated}, got {fields[name][:40]!r}; "
                "whoever wrote this survey computes another mechanism"
            )
    return mechanism

"""Reading what came from outside: JSON without surprises, and the parts of a survey, each field by name and type."""

import json
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Chain, Mechanism, Subset, epsilon_text
from deniable.mechanisms.base import check_size
from deniable.survey.alphabet import Alphabet, symbol_from_json
from deniable.survey.blocks import Hadamard, Projective
from deniable.survey.encodings import Direct, Encoding, Hashed, Permuted

__all__ = ["read_alphabet", "read_encoding", "read_mechanism", "record", "strict_json"]

MAX_TEXT = 1 << 28


def strict_json(text: str | bytes) -> object:
    """JSON text as every careful reader would read it: UTF-8, no repeated fields, no fractions, no NaN.

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


def record(what: str, value: object, required: str, optional: str = "") -> dict[str, Any]:
    """`value` as a record with exactly these fields, each of the type its name has everywhere in a survey."""
    if not isinstance(value, dict):
        raise SurveyError(f"{what} must be an object, got {type(value).__name__}")
    needed = set(required.split())
    if missing := sorted(needed - set(value)):
        raise SurveyError(f"{what} must have the field {missing[0]!r}")
    if unknown := sorted(set(value) - needed - set(optional.split())):
        raise SurveyError(f"{what} must not have the field {unknown[0][:40]!r}; this version does not know it")
    integers = {"cells", "cohorts", "hashes", "width", "blocks", "order", "dimension", "size"}
    for name in set(value) - {"alphabet", "encoding", "mechanism", "symbols", "other" if what == "alphabet" else ""}:
        wanted = int if name in integers else str
        if type(value[name]) is not wanted:
            shown = {int: "an integer", str: "text"}[wanted]
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
    if kind != "closed":
        raise SurveyError(f"alphabet kind must be 'open' or 'closed', got {str(kind)[:40]!r}")
    fields = record("alphabet", value, "kind symbols", "other")
    if not isinstance(fields["symbols"], list):
        raise SurveyError(f"alphabet symbols must be a list, got {type(fields['symbols']).__name__}")
    other = symbol_from_json(fields["other"]) if "other" in fields else None
    return Alphabet(tuple(symbol_from_json(s) for s in fields["symbols"]), other)


def read_encoding(value: object, alphabet: Alphabet) -> Encoding:
    kind = value.get("kind") if isinstance(value, dict) else None
    if kind == "direct":
        return Direct(record("encoding", value, "kind cells")["cells"])
    if kind in ("hadamard", "projective"):
        return _read_blocks(kind, value, alphabet)
    if kind not in ("hashed", "permuted"):
        raise SurveyError(
            f"encoding kind must be 'direct', 'hashed', 'permuted', 'hadamard' or 'projective', got {str(kind)[:40]!r}"
        )
    fields = record("encoding", value, "kind cells cohorts hashes seed")
    try:
        seed = bytes.fromhex(fields["seed"])
    except ValueError:
        seed = b""
    if seed.hex() != fields["seed"]:
        raise SurveyError("encoding field 'seed' must be lower-case hexadecimal")
    sizes = (fields["cells"], fields["cohorts"], fields["hashes"])
    return Hashed(*sizes, seed) if kind == "hashed" else Permuted(len(alphabet), *sizes, seed)


def _read_blocks(kind: str, value: object, alphabet: Alphabet) -> Encoding:
    found: Encoding
    if kind == "hadamard":
        fields = record("encoding", value, "kind cells blocks")
        found = Hadamard(len(alphabet), fields["blocks"])
    else:
        fields = record("encoding", value, "kind cells order dimension")
        found = Projective(len(alphabet), fields["order"], fields["dimension"])
    if fields["cells"] != found.cells:
        raise SurveyError(f"encoding field 'cells' must be {found.cells} for this design, got {fields['cells']}")
    return found


def read_mechanism(value: object, encoding: Encoding) -> Mechanism:
    kind = value.get("kind") if isinstance(value, dict) else None
    mechanism: Mechanism
    # Of the second stage all or nothing; `epsilon_report` says which.
    twice = isinstance(value, dict) and "epsilon_report" in value
    if kind == "krr":
        again = " epsilon_report report_keep report_other" if twice else ""
        fields = record("mechanism", value, "kind epsilon width keep other" + again)
        mechanism = KRR(encoding.cells, fields["epsilon"], occupied=encoding.occupied or 1)
    elif kind == "bitflip":
        again = " epsilon_report report_flip" if twice else ""
        fields = record("mechanism", value, "kind epsilon width flip" + again, "clear")
        distance = min(2 * encoding.hashes, encoding.cells)
        mechanism = BitFlip(encoding.cells, fields["epsilon"], distance, optimized="clear" in fields)
    elif kind == "subset":
        again = " epsilon_report report_keep" if twice else ""
        fields = record("mechanism", value, "kind epsilon width size inside" + again)
        mechanism = Subset(encoding.cells, fields["epsilon"], fields["size"])
    else:
        raise SurveyError(f"mechanism kind must be 'krr', 'bitflip' or 'subset', got {str(kind)[:40]!r}")
    check_size("width", fields["width"], 64, 64)
    if twice:
        mechanism = Chain(mechanism, fields["epsilon_report"])
    for name, bound in (("epsilon", mechanism.epsilon), ("epsilon_report", mechanism.report_bound)):
        if name in fields and fields[name] != epsilon_text(bound):
            raise SurveyError(f"{name} must be spelled {epsilon_text(bound)!r} in a survey, got {fields[name][:40]!r}")
    stated = fields["epsilon"] + (f" and {fields['epsilon_report']} a report" if twice else "")
    for name, threshold in mechanism.thresholds().items():
        if fields[name] != str(threshold):
            raise SurveyError(
                f"threshold {name!r} must be {threshold} for epsilon {stated}, got {fields[name][:40]!r}; "
                "whoever wrote this survey computes another mechanism"
            )
    return mechanism

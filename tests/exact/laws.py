"""The one check that every survey must pass, and that every mutant in `test_mutants.py` must fail.

What is checked is the law of the bytes that `Client.report(value).pack()` really produces, found by walking the real
code. It is compared with the channel that the survey's public JSON states, written out here a second time.
"""

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from deniable.client import Client
from deniable.mechanisms.odds import at_most_exp
from deniable.noise import Entropy
from deniable.survey import Survey
from tests.exact.tables import TABLES, promise_of, rows_of
from tests.exact.walker import Law, walk

MakeClient = Callable[[Survey, Entropy], Client]


def real_client(survey: Survey, entropy: Entropy) -> Client:
    return Client(survey, memoize=False, entropy=entropy)


def law_of(survey: Survey, value: object, make: MakeClient = real_client) -> Law[bytes]:
    """The exact law of the packed bytes of one fresh client that answers `value` once."""
    return walk(lambda entropy: make(survey, entropy).report(value).pack(), width=survey.mechanism.width)


def published(survey: Survey, value: object) -> dict[bytes, Fraction]:
    """What the law must be, from the thresholds in the survey's JSON text and the cells of `encode` alone."""
    fields = json.loads(survey.to_json())
    channel, cells = fields["mechanism"], fields["encoding"]["cells"]
    cohorts = fields["encoding"].get("cohorts", 1)
    span = 2 ** channel["width"]
    prefix = bytes([1]) + bytes.fromhex(fields["digest"])[:8]
    cohort_size = next(n for n in range(4) if cohorts <= 256**n)
    law: dict[bytes, Fraction] = {}
    if "epsilon_report" in channel:
        return published_again(survey, value)
    if channel["kind"] in TABLES:
        row = rows_of(survey)[survey.key(value)]
        size = next(n for n in range(1, 4) if len(row) <= 256**n)
        return {prefix + y.to_bytes(size, "little"): Fraction(weight, span) for y, weight in enumerate(row) if weight}
    for cohort in range(cohorts):
        occupied = survey.encode(cohort, value)
        for response in range(cells if channel["kind"] == "krr" else 2**cells):
            if channel["kind"] == "subset":
                chosen = [cell for cell in range(cells) if response // 2**cell % 2]
                if len(chosen) != channel["size"]:
                    continue
                inside, rest = Fraction(int(channel["inside"]), span), channel["size"] - 1
                # All sets that hold the true cell are equally likely, and so are all that do not.
                sets = [math.comb(cells - 1, rest), math.comb(cells - 1, rest + 1)]
                probability = inside / sets[0] if occupied[0] in chosen else (1 - inside) / sets[1]
                size = -(-cells // 8)
            elif channel["kind"] == "krr":
                weight = int(channel["keep"] if response in occupied else channel["other"])
                probability = Fraction(weight, span)
                size = next(n for n in range(1, 4) if cells <= 256**n)
            else:
                bits = [response // 2**cell % 2 for cell in range(cells)]
                probability = Fraction(1)
                for cell, bit in enumerate(bits):
                    threshold = channel.get("clear", channel["flip"]) if cell in occupied else channel["flip"]
                    wrong = Fraction(int(threshold), span)
                    probability *= wrong if bit != (cell in occupied) else 1 - wrong
                size = -(-cells // 8)
            wire = prefix + cohort.to_bytes(cohort_size, "little") + response.to_bytes(size, "little")
            law[wire] = probability / cohorts
    return law


def published_again(survey: Survey, value: object) -> dict[bytes, Fraction]:
    """The same for a survey of two stages: the sum over all permanent responses, one path at a time."""
    fields = json.loads(survey.to_json())
    again, cells, span = fields["mechanism"], fields["encoding"]["cells"], 2 ** fields["mechanism"]["width"]
    first = Survey(survey.alphabet, survey.encoding, survey.mechanism.permanent, survey.name)
    paths = published(first, value)
    head = 9 + (len(next(iter(paths))) - 9 - survey.mechanism.payload_bytes)
    prefix = bytes([1]) + bytes.fromhex(fields["digest"])[:8]
    law: dict[bytes, Fraction] = {}
    for wire, chance in paths.items():
        permanent = int.from_bytes(wire[head:], "little")
        for other in {w[head:] for w in paths}:
            response = int.from_bytes(other, "little")
            if again["kind"] == "krr":
                step = Fraction(int(again["report_keep" if response == permanent else "report_other"]), span)
            elif again["kind"] == "bitflip":
                flip, changed = Fraction(int(again["report_flip"]), span), (response ^ permanent).bit_count()
                step = flip**changed * (1 - flip) ** (cells - changed)
            else:
                keep = Fraction(int(again["report_keep"]), span)
                step = keep * (response == permanent) + (1 - keep) / math.comb(cells, again["size"])
            sent = prefix + wire[9:head] + other
            law[sent] = law.get(sent, Fraction(0)) + chance * step
    return law


def worst_ratio(laws: Sequence[dict[bytes, Fraction]]) -> Fraction | None:
    """The largest P(bytes | value) / P(bytes | other value), or None if one value can give bytes another cannot."""
    worst = Fraction(1)
    for wire in set().union(*laws):
        chances = [law.get(wire, Fraction(0)) for law in laws]
        if not min(chances):
            return None
        worst = max(worst, max(chances) / min(chances))
    return worst


def violations(survey: Survey, values: Sequence[object], make: MakeClient = real_client) -> set[str]:
    """Which promises the client breaks: length, words, law, support, ratio."""
    found = set()
    walked = [law_of(survey, value, make) for value in values]
    laws = [law.probabilities for law in walked]
    if len({len(wire) for law in laws for wire in law}) != 1:
        found.add("length")
    # The number of words drawn must not depend on the answer or on luck: it would show in the time taken.
    if len(set().union(*(law.draws for law in walked))) != 1:
        found.add("words")
    if any(law != published(survey, value) for law, value in zip(laws, values, strict=True)):
        found.add("law")
    if json.loads(survey.to_json())["mechanism"]["kind"] in TABLES:
        return found | broken_promises(survey, values, laws)
    worst = worst_ratio(laws)
    if worst is None:
        found.add("support")
    elif not at_most_exp(worst, survey.mechanism.report_bound):
        found.add("ratio")
    return found


def broken_promises(survey: Survey, values: Sequence[object], laws: Sequence[dict[bytes, Fraction]]) -> set[str]:
    """The same for a survey that promises each pair of answers an epsilon of its own, or none."""
    found, promised, places = set(), promise_of(survey), [survey.key(value) for value in values]
    for given, law in zip(places, laws, strict=True):
        for claimed, other in zip(places, laws, strict=True):
            bound = None if given == claimed else promised(given, claimed)
            if bound is None:
                continue
            if not set(law) <= set(other):
                found.add("support")
            elif not all(at_most_exp(chance / other[wire], bound) for wire, chance in law.items()):
                found.add("ratio")
    return found


def check_survey(survey: Survey, values: Sequence[object], make: MakeClient = real_client) -> None:
    """Fail unless the bytes have the published law and no two answers are further apart than e**epsilon."""
    assert len(values) >= 2, "a promise about pairs of answers needs two of them"
    broken = violations(survey, values, make)
    assert not broken, f"{survey!r} breaks its promises: {', '.join(sorted(broken))}"


def check_memoised(make: Callable[[Survey], Client], survey: Survey, values: Sequence[object]) -> None:
    """Fail unless one client gives the same bytes for the same answer, whatever it was asked in between."""
    client = make(survey)
    first = {value: client.report(value).pack() for value in values}
    for _ in range(8):
        for value in reversed(values):
            assert client.report(value).pack() == first[value], "the same answer went out with fresh noise"

"""The law of a form's packed bytes, walked on the real client, and written out a second time from its parts."""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, product

from deniable.client import Client
from deniable.mechanisms.odds import at_most_exp
from deniable.noise import Entropy
from deniable.survey import Form
from tests.exact.laws import published, worst_ratio
from tests.exact.walker import Law, walk

Answers = Mapping[str, object]
MakeFormClient = Callable[[Form, Entropy], Client]


def real_client(form: Form, entropy: Entropy) -> Client:
    return Client(form, memoize=False, entropy=entropy)


def asked_of(client: Client, answers: Answers) -> dict[str, object]:
    """The answers to the questions that this device draws: a page asks no others."""
    drawn = client.questions  # type: ignore[attr-defined]
    return {name: value for name, value in answers.items() if name in drawn and value is not None}


def law_of_form(form: Form, answers: Answers, make: MakeFormClient = real_client) -> Law[bytes]:
    """The exact law of the packed bytes of one fresh device whose owner would give these answers."""

    def run(entropy: Entropy) -> bytes:
        client = make(form, entropy)
        report = client.report(asked_of(client, answers))
        return (
            form.report_format.head + report.cohort.to_bytes(form.report_format.cohort.size, "little") + report.payload
        )

    return walk(run, width=form.width)


def published_form(form: Form, answers: Answers) -> dict[bytes, Fraction]:
    """What the law must be: every set of parts alike, and in each the product of the parts' published channels."""
    places = range(len(form.parts))
    sets = list(combinations(places, form.drawn))
    head = bytes([1]) + bytes.fromhex(form.digest)[:8]
    slots = []
    for part in form.parts:
        channel = published(part.survey, part.symbol(answers))
        slots.append({wire[9:]: chance for wire, chance in channel.items()})
    law: dict[bytes, Fraction] = {}
    for chosen in sets:
        shown = sum(1 << place for place in chosen)
        mask = shown.to_bytes((len(places) + 7) // 8, "little") if len(sets) > 1 else b""
        empty = [{bytes(len(next(iter(slot)))): Fraction(1)} for slot in slots]
        rows = [slots[place] if place in chosen else empty[place] for place in places]
        for combined in product(*(row.items() for row in rows)):
            chance = Fraction(1, len(sets))
            for _, each in combined:
                chance *= each
            wire = head + mask + b"".join(bytes_ for bytes_, _ in combined)
            law[wire] = law.get(wire, Fraction(0)) + chance
    return law


def every_answer(form: Form) -> list[dict[str, object]]:
    """All complete sets of answers; None is a question that is skipped."""
    lists = [[*(q.alphabet.symbols or "pqr"), *([None] if q.skip else [])] for q in form.questions]
    names = [question.name for question in form.questions]
    return [dict(zip(names, values, strict=True)) for values in product(*lists)]


@cache
def real_laws(form: Form) -> tuple[Law[bytes], ...]:
    """The law of the real client for every complete set of answers: walked once, for all tests of the form."""
    return tuple(law_of_form(form, each) for each in every_answer(form))


def form_violations(form: Form, answers: Sequence[Answers], make: MakeFormClient | None = None) -> set[str]:
    """Which promises a client breaks, the real one if none is given: length, words, drawn, law, support, ratio."""
    found = set()
    walked = real_laws(form) if make is None else [law_of_form(form, each, make) for each in answers]
    laws = [law.probabilities for law in walked]
    if len({len(wire) for law in laws for wire in law}) != 1:
        found.add("length")
    if (
        len(set().union(*(law.draws for law in walked))) != 1
        and len({p.survey.mechanism.kind for p in form.parts}) == 1
    ):
        found.add("words")
    size = form.report_format.cohort.size
    shown = [_marginal(law, slice(9, 9 + size)) for law in laws]
    if any(one != shown[0] for one in shown):
        found.add("drawn")
    if any(law != published_form(form, each) for law, each in zip(laws, answers, strict=True)):
        found.add("law")
    worst = worst_ratio(laws)
    if worst is None:
        found.add("support")
    elif not at_most_exp(worst, form.epsilon_total):
        found.add("ratio")
    return found


def _marginal(law: Mapping[bytes, Fraction], part: slice) -> dict[bytes, Fraction]:
    found: dict[bytes, Fraction] = {}
    for wire, chance in law.items():
        found[wire[part]] = found.get(wire[part], Fraction(0)) + chance
    return found

"""Golden vectors of forms, good and bad: `make` writes them with the others."""

import hashlib
import json
from collections.abc import Callable
from functools import partial
from typing import Any

import deniable as dn
from deniable.noise import DerivedEntropy, Entropy
from deniable.survey import ubd
from deniable.survey.alphabet import symbol_to_json
from tests.surveys import BUDGETS

SEED = bytes(range(16))
Answers = dict[str, Any]
Fields = dict[str, Any]
MATRIX = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]


def forms() -> dict[str, dn.Form]:
    """A form for each thing that a form can have."""
    smokes, fruit = dn.warner(epsilon=1), dn.krr(["apple", "pear", "caf\u00e9"], epsilon=1, name="Which fruit?")
    twice = dn.krr(5, epsilon=2, epsilon_report=1)
    bits = dn.krappor(symbols=[1, 2, 3, b"\xff", "z"], epsilon=1)
    text = dn.orr(epsilon=1, cells=8, cohorts=300, seed=SEED)
    years, other = dn.number(18, 90, 1, bins=8), dn.krr(["a", "b", "c"], epsilon=1, other="c")
    sets = dn.subset(symbols=9, epsilon=1, size=3)
    public = {"land": ["NO", "SE"], "town": ["Oslo", "Bergen"]}
    many = {f"q{place}": dn.krr(2 + place % 4, epsilon=1) for place in range(40)}
    return {
        "split": dn.form(smokes=smokes, fruit=fruit, epsilon=2),
        "each": dn.form(smokes=smokes, fruit=fruit, bits=bits, spend="each", name="each \U0001f98a"),
        "sample 1 of 3": dn.form(smokes=smokes, text=text, sets=sets, epsilon=1, spend="sample"),
        "sample 2 of 3": dn.form(smokes=smokes, text=text, years=years, epsilon=2, spend="sample", draw=2),
        "sample 3 of 40": dn.form(many, epsilon=3, spend="sample", draw=3),
        "skipped": dn.form(
            fruit=fruit, other=other, years=years, text=text, epsilon=3, skip=["fruit", "years", "text"]
        ),
        "catch-all, skipped": dn.form(other=other, smokes=smokes, epsilon=2, skip=["other"]),
        "pair": dn.form(a=smokes, b=years, c=fruit, epsilon=2, relate=[("a", "c")]),
        "pairs, skipped, sampled": dn.form(
            a=smokes, b=years, c=fruit, d=other, epsilon=2, relate=[("d", "a"), ("b", "c")], skip=["b", "d"],
            spend="sample",
        ),
        "conditions": dn.form(
            smokes=smokes, fruit=fruit, bits=bits, epsilon=2, public=public, skip=["bits"],
            when={"fruit": ("land", ["NO"]), "town": ("land", "NO"), "bits": ("town", ["Oslo", "Bergen"])},
        ),
        "conditions, sampled": dn.form(
            smokes=smokes, fruit=fruit, text=text, epsilon=2, public=public, when={"fruit": ("land", "SE")},
            spend="sample", draw=2,
        ),
        "twice": dn.form(twice=twice, again=dn.warner(epsilon=2, epsilon_report=1), fruit=fruit, epsilon=4),
        "twice, paired and skipped": dn.form(
            twice=twice, again=dn.warner(epsilon=2, epsilon_report=1), smokes=smokes, spend="each",
            closed=dn.orr(symbols=7, epsilon=1, epsilon_report="1/2", cells=3, cohorts=4, seed=SEED),
            relate=[("twice", "again")], skip=["closed"],
        ),
        "once a day": dn.form(smokes=smokes, fruit=fruit, epsilon=2, participation="window"),
        "at every event": dn.form(smokes=smokes, fruit=fruit, epsilon=2, participation="event"),
        "uneven": dn.form(
            ill=dn.sensitive(["no", "flu", "hiv"], sensitive=["hiv"], epsilon=1),
            group=dn.blocks([["a", "b"], ["c", "d", "e"]], epsilon=1),
            table=dn.channel(MATRIX, epsilon="1", symbols=["low", "high"]), own=BUDGETS, spend="each",
        ),
        "designs": dn.form(
            pgr=dn.projective(symbols=7, epsilon=1, order=2, dimension=3), hr=dn.hadamard(symbols=5, epsilon=1),
            oue=dn.oue(symbols=3, epsilon=1), ubd=ubd(6, sensitive=[0, 1, 3], epsilon=1, order=2, dimension=2),
            closed=dn.orr(symbols=7, epsilon=1, cells=3, cohorts=4, seed=SEED), spend="each", epsilon=1,
        ),
        "found without a list": dn.form(
            word=dn.discovery(epsilon=1, length=6, cohorts=64, seed=SEED), smokes=smokes, epsilon=4, skip=["word"],
        ),
    }  # fmt: skip


SPOKEN: dict[str, list[object]] = {
    "word": ["lynx", "Stra\u00dfe ", "a text that no level sees whole", ""],
    "text": ["Stra\u00dfe ", "", 7, b"\xff"],
    "years": [18, 41.5, 90, -3, 1e9, "27 to 36"],
    "other": ["a", "something else", "c"],
    "b": [19, 72, "18 to 27"],
}
PUBLIC = [{"land": "SE"}, {"land": "NO", "town": "Bergen"}, {"land": "NO", "town": "Oslo"}]


def answers_of(form: dn.Form, questions: tuple[str, ...], number: int) -> Answers:
    """What a device that draws these questions says the `number`th time; every third answer that may be is skipped."""
    given: Answers = dict(PUBLIC[number % len(PUBLIC)]) if form.public else {}
    for place, question in enumerate(form.questions):
        when = question.when
        if question.name not in questions or (when and given.get(when[0]) not in when[1]):
            continue
        spoken = SPOKEN.get(question.name) or list(question.alphabet.symbols or ())
        skipped = question.skip and (number + place) % 3 == 0
        given[question.name] = None if skipped else spoken[(number * 7 + place) % len(spoken)]
        if skipped and number % 2:
            del given[question.name]
    return given


def to_json(given: Answers) -> Answers:
    """Answers as vectors have them; a number that is no integer is text with its digits."""
    return {name: _spelled(value) for name, value in given.items()}


def _spelled(value: object) -> object:
    if isinstance(value, float):
        return {"double": repr(value)}
    return None if value is None else symbol_to_json(value)  # type: ignore[arg-type]


class Recorded(Entropy):
    """Words of another entropy, which it keeps; the first ones are given."""

    def __init__(self, source: Entropy, first: list[int]) -> None:
        self.width, self._source, self._first = 64, source, first
        self.drawn: list[int] = []

    def word(self) -> int:
        found = self._first.pop(0) if self._first else self._source.word()
        self.drawn.append(found)
        return found


def form_reports(known: dict[str, dn.Form]) -> list[object]:
    """Fresh noise: the words, first those that are drawn with, and what came of them."""
    found: list[object] = []
    for title, form in known.items():
        for number in range(12 if form.spend == "sample" else 6):
            source = DerivedEntropy(bytes(32), f"{title} {number} form".encode())
            entropy = Recorded(source, [2**64 - 1] if number == 0 else [])
            client = dn.Client(form, memoize=False, entropy=entropy)
            asked = client.questions  # type: ignore[attr-defined]
            answers = answers_of(form, asked, number)
            report = client.report(answers).pack().hex()
            words = [str(word) for word in entropy.drawn]
            found.append(
                {"form": title, "words": words, "questions": asked, "answers": to_json(answers), "report": report}
            )
    return found


def form_permanent(known: dict[str, dn.Form]) -> list[object]:
    """Memoised: a secret and what was drawn give these bytes for ever (on these words, where a part has two stages)."""
    found: list[object] = []
    for title, form in known.items():
        if form.window:
            continue
        for number in range(4):
            source = DerivedEntropy(bytes(32), f"{title} {number} kept".encode())
            cohort, secret = form.draw_cohort(source), hashlib.sha256(f"{title} {number} form".encode()).digest()
            client = dn.Client(form)
            client._cohort, client._secret = cohort, secret
            client._entropy = entropy = Recorded(source, [])
            asked = client.questions  # type: ignore[attr-defined]
            answers = answers_of(form, asked, number)
            report = client.report(answers).pack().hex()
            row = {"form": title, "secret": secret.hex(), "cohort": str(cohort), "questions": asked}
            row |= {"answers": to_json(answers), "report": report}
            if entropy.drawn:
                row["words"] = [str(word) for word in entropy.drawn]
            found.append(row)
    return found


def bad_forms(known: dict[str, dn.Form]) -> list[object]:
    """One change to a good form each; the digest is checked last, so it need not be forged."""
    found: list[object] = []

    def text(reason: str, broken: str) -> None:
        found.append({"reason": reason, "text": broken})

    def change(title: str, reason: str, edit: Callable[[Any], object]) -> None:
        fields = json.loads(known[title].to_json())
        edit(fields)
        text(reason, json.dumps(fields, separators=(",", ":")))

    def top(name: str, value: object, reason: str, title: str = "conditions") -> None:
        change(title, reason, lambda fields: fields.update({name: value}))

    def question(place: int, name: str, value: object, reason: str) -> None:
        change("conditions", reason, lambda fields: fields["questions"][place].update({name: value}))

    whole = known["split"].to_json()
    text("survey must be JSON text: ", whole[:-1])
    text("form must be an object, got list", "[]")
    text("survey fields must not repeat", whole[:-1] + ',"drawn":2}')
    text("survey fields must not repeat", whole.replace('"title":""', '"title":"","title":""'))
    text("survey numbers must be integers", whole.replace('"drawn":2', '"drawn":2.0'))
    text("digest must be ", whole.replace('"name":""', '"name":"b"'))
    for field in ("name", "spend", "epsilon", "drawn", "questions", "parts", "format"):
        change("split", f"form must have the field '{field}'", partial(_without, field))
    top("colour", "red", "form must not have the field 'colour'")
    top("format", "deniable-form/2", "format must be 'deniable-form/1'")
    top("format", "deniable-survey/1", "format must be 'deniable-form/1'")
    top("name", "x" * 501, "name must be text of at most 500 characters")
    top("name", "two\nlines", "name must not have control characters")
    top("name", "\ud800", "name must be valid Unicode text")
    top("spend", "all", "spend must be 'split', 'sample' or 'each'")
    top("drawn", 0, "draw must be from 1 to")
    top("drawn", 2, "draw must be from 1 to")
    top("drawn", 4, "draw must be from 1 to", "sample 1 of 3")
    top("drawn", "3", "form field 'drawn' must be an integer")
    top("epsilon", "1.99", "the parts that a device answers must spend at most epsilon 1.99")
    top("epsilon", "2.0", "epsilon must be spelled '2'")
    top("epsilon", "0", "epsilon must be")
    top("epsilon", "20000", "epsilon must be")
    top("participation", "once", "form must be written as its to_json writes it")
    top("participation", "window:day", "digest must be")
    top("participation", "twice", "participation must be")
    top("public", [], "conditions must be of questions that the form has")
    top("when", [], "form must be written as its to_json writes it", "split")
    top("public", [], "form must be written as its to_json writes it", "split")
    top("when", [], "digest must be")
    change("conditions", "form must be written as its to_json writes it", lambda fields: fields["when"].reverse())
    top("when", [["fruit", "land", ["DK"]]], "must depend on answers that 'land' has")
    top("when", [["fruit", "land", []]], "must depend on answers that 'land' has")
    top("when", [["fruit", "smokes", ["yes"]]], "must depend on a public answer, got 'smokes', which is private")
    top("when", [["fruit", "land", ["NO"]], ["fruit", "land", ["SE"]]], "one a question")
    top("when", [["pear", "land", ["NO"]]], "conditions must be of questions that the form has")
    top("when", [["fruit", "land"]], "conditions must be a question, a public question and its answers")
    top(
        "when",
        [["town", "land", ["NO"]], ["land", "town", ["Oslo"]]],
        "conditions must not go in a circle",
    )
    top("when", [["a", "b", ["18 to 27"]]], "must depend on a public answer", "pair")
    question(0, "name", "fruit", "a form must have each question once")
    question(0, "name", "land", "part must have one or two of the form's questions")
    question(0, "name", "a b", "a question's name must be a word")
    question(0, "name", "x" * 65, "a question's name must be a word")
    question(0, "name", "e\u0301", "NFC")
    question(0, "title", "\ud800", "lone surrogate")
    question(0, "title", "x" * 501, "name must be text of at most 500 characters")
    change("conditions", "lone surrogate", lambda fields: fields["public"][0].update(title="\ud800"))
    question(0, "title", 7, "question field 'title' must be text")
    question(0, "skip", 0, "question field 'skip' must be 1")
    question(0, "skip", 2, "question field 'skip' must be 1")
    question(0, "colour", "red", "question must not have the field 'colour'")
    question(0, "alphabet", {"kind": "list"}, "alphabet kind must be")
    question(0, "alphabet", {"kind": "closed", "symbols": ["no", "no"]}, "symbols must be distinct")
    twice = "a form must have each question once"
    change("conditions", twice, lambda fields: fields["public"].append(fields["questions"][0]))
    change("split", "2 to 256 questions", lambda fields: (fields["questions"].pop(), fields["parts"].pop()))
    change("split", "the order of a form must name each of its questions once", lambda fields: fields["parts"].pop())
    change("split", "the order of a form must name each", lambda fields: fields["parts"].append(fields["parts"][0]))
    change("split", "a part must have one or two", lambda fields: fields["parts"][0].update(questions=[]))
    change("split", "a part must have one or two", lambda fields: fields["parts"][0].update(questions=["nobody"]))
    change("pair", "a part must have one or two", lambda fields: fields["parts"][0].update(questions=["a", "b", "c"]))
    change("pair", "alphabet of that many symbols", lambda fields: fields["parts"][0].update(questions=["a", "a"]))
    change("pair", "alphabet of that many symbols", lambda fields: fields["parts"][0].update(questions=["a", "b"]))
    change("split", "part must not have the field 'colour'", lambda fields: fields["parts"][0].update(colour="red"))
    change("split", "threshold 'keep' must be", lambda fields: fields["parts"][0]["encoding"].update(cells=3))
    change("split", "threshold 'keep' must be", lambda fields: fields["parts"][0]["mechanism"].update(keep="1"))
    change("split", "mechanism kind must be", lambda fields: fields["parts"][0]["mechanism"].update(kind="laplace"))
    change("split", "digest must be", lambda fields: fields["parts"].reverse())
    change("split", "digest must be", lambda fields: fields["questions"].reverse())
    many = json.loads(known["split"].to_json())
    many["questions"] = [{**many["questions"][0], "name": f"q{place}"} for place in range(257)]
    many["parts"] = [{**many["parts"][0], "questions": [f"q{place}"]} for place in range(257)]
    text("a form must have 2 to 256 questions", json.dumps(many, separators=(",", ":")))
    return found


def _without(field: str, fields: Fields) -> object:
    return fields.pop(field)


def bad_form_reports(known: dict[str, dn.Form]) -> list[object]:
    """Bytes that are not reports of the form named."""
    found: list[object] = []

    def add(title: str, body: str, reason: str) -> None:
        head = "01" + known[title].digest[:16]
        found.append({"form": title, "report": body.replace("HEAD", head), "reason": reason})

    add("split", "", "report must have wire version 1, got nothing")
    add("split", "02" + known["split"].digest[:16] + "0000", "report must have wire version 1, got 2")
    add("split", "01" + known["each"].digest[:16] + "0000", "it answers another")
    add("split", "HEAD00", "report must be 11 bytes, got 10")
    add("split", "HEAD000000", "report must be 11 bytes, got 12")
    add("split", "HEAD0200", "report response must be one that the mechanism can produce")
    add("split", "HEAD0003", "report response must be one that the mechanism can produce")
    parts, response = "report cohort must be below 8", "report response must be one that the mechanism can produce"
    nothing = "00" * 6
    add("sample 1 of 3", "HEAD00" + nothing, parts)  # nobody answers nothing
    add("sample 1 of 3", "HEAD03" + nothing, parts)
    add("sample 1 of 3", "HEAD08" + nothing, parts)
    add("sample 1 of 3", "HEAD09" + nothing, parts)
    add("sample 1 of 3", "HEAD01" + "0001" + "00" * 4, response)  # bytes of what was not answered
    add("sample 1 of 3", "HEAD01" + "00" * 5 + "01", response)
    add("sample 1 of 3", "HEAD02" + "00" + "2c01" + "00" * 3, response)  # cohort 300 of 300
    add("sample 1 of 3", "HEAD02" + "00" + "0000" + "08" + "00" * 2, response)
    add("sample 1 of 3", "HEAD04" + "00" * 4 + "0100", response)  # a set of one
    add("sample 1 of 3", "HEAD04" + "00" * 4 + "0702", response)  # of four
    add("conditions", "HEAD00" + "00" * 3, parts)  # the first part is asked of everybody
    add("conditions", "HEAD06" + "00" * 3, parts)
    add("conditions", "HEAD01" + "000100", response)
    return found


def tables() -> dict[str, list[object]]:
    """Every file's name and rows."""
    known = forms()
    return {
        "forms": [{"title": title, "text": form.to_json(), "digest": form.digest} for title, form in known.items()],
        "form_reports": form_reports(known),
        "form_permanent": form_permanent(known),
        "bad_forms": bad_forms(known),
        "bad_form_reports": bad_form_reports(known),
    }

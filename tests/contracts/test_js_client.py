"""The JavaScript client: its own tests run here, and it gives the bytes that the Python client gives.

Node is not a Python package: `make test` sees to it, and to `npm ci` in `clients/js`. Without it these tests fail.
"""

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pytest

import deniable as dn
from deniable.audit import Certificate, Command, audit
from deniable.errors import SurveyError
from deniable.mechanisms import KRR, BitFlip, Chain, Subset
from deniable.noise import Entropy
from deniable.survey import Symbol
from deniable.survey.alphabet import canonical_symbol, symbol_to_json
from tests.exact.scripted import ScriptedEntropy

JS = Path(__file__).parents[2] / "clients" / "js"
# Plain, composed, decomposed, outside the basic plane; capitals and blanks.
TEXT = "aé日🦊 e\u0301\u212b0-AÉ\u0130\u00df\u03a3\u00a0"


def node() -> str:
    found = shutil.which("node")
    assert found is not None, "node must be installed to test the JavaScript client; run make test, or install nodejs"
    return found


# Of its own tests, those that draw millions of words, read every file that is left behind or build the package.
LONG = {"file", "forensics", "law", "memory", "mutants", "package", "wide"}


@pytest.mark.parametrize(
    ("long", "least"), [pytest.param(False, 80, id="quick"), pytest.param(True, 110, id="long", marks=pytest.mark.slow)]
)
def test_its_own_tests_pass(long: bool, least: int) -> None:
    assert (JS / "node_modules" / "esbuild").exists(), "run npm ci in clients/js; make test does"
    files = {path.name.removesuffix(".test.js"): str(path) for path in sorted((JS / "test").glob("*.test.js"))}
    assert set(files) > LONG
    chosen = [path for name, path in files.items() if (name in LONG) is long]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NODE_")}
    run = subprocess.run(
        [node(), "--test", "--test-reporter=tap", *chosen], cwd=JS, capture_output=True, text=True, env=environment
    )
    lines = run.stdout.splitlines()
    failed = [at for at, line in enumerate(lines) if line.lstrip().startswith("not ok")]
    shown = [line for at in failed[:5] for line in lines[at : at + 40]] or lines[-60:]
    assert run.returncode == 0, "\n".join([*shown, run.stderr[-2000:]])
    counts = dict(line[2:].split(" ", 1) for line in run.stdout.splitlines() if line.startswith(("# pass", "# fail")))
    assert int(counts["pass"]) >= least, run.stdout[-500:]
    assert counts["fail"] == "0"
    assert "# skipped 0" in run.stdout
    assert "# todo 0" in run.stdout


def symbol(random: Random) -> Symbol:
    kind = random.randrange(3)
    if kind == 0:
        return "".join(random.choices(TEXT, k=random.randrange(12)))
    if kind == 1:
        return random.choice([random.randrange(-5, 300), random.randrange(-(2**70), 2**70), 2**53 - 1, 2**53, -(2**53)])
    return random.randbytes(random.randrange(6))


def epsilon(random: Random) -> object:
    decimal = f"{random.uniform(0.05, 6):.{random.randrange(1, 8)}f}"
    return random.choice([decimal, Fraction(random.randrange(1, 400), random.randrange(60, 97))])


def survey(random: Random) -> dn.Survey:
    """Any survey: every preset, symbols of all types, names, catch-alls, odd sizes."""
    size = random.choice([2, 3, 5, 8, 9, 17, 100, 300])
    found = {canonical_symbol(symbol(random)): None for _ in range(4 * size)}
    symbols: Any = size if len(found) < size or random.random() < 0.5 else list(found)[:size]
    seed, name = random.randbytes(random.randrange(8, 65)), "".join(random.choices(TEXT + '"\\/', k=5))
    e: Any = epsilon(random)
    # Half of them with a second stage, down to a hundredth of the first, and almost as wide.
    again: dict[str, Any] = {}
    if random.random() < 0.5:
        share = random.choice([Fraction(random.randrange(1, 100), 100), Fraction(999, 1000)])
        again = {"epsilon_report": Fraction(e) * share}
    other: Any = random.choice([None, "else"])
    cells, cohorts, hashes = random.randrange(2, 20), random.choice([1, 2, 3, 300, 70_000]), random.randrange(1, 5)
    listed: dict[str, Any] = {"symbols": symbols, "epsilon": e, "name": name, "other": other} | again
    hashed: dict[str, Any] = {"epsilon": e, "name": name, "cohorts": cohorts, "seed": seed} | again
    closed: dict[str, Any] = random.choice([{}, {"text": "exact"}, {"symbols": symbols, "other": other}])
    makers: list[Callable[[], dn.Survey]] = [
        lambda: dn.krr(**listed),
        lambda: dn.krappor(**listed),
        lambda: dn.oue(**listed),
        lambda: dn.subset(**listed, size=random.randrange(1, 3)),
        lambda: dn.hadamard(**listed),
        lambda: dn.hadamard(**listed, blocks=random.randrange(1, 4)),
        lambda: dn.projective(**listed),
        lambda: dn.projective(**listed, order=random.choice([2, 3, 5, 7]), dimension=random.randrange(2, 5)),
        lambda: dn.orr(**hashed, **closed, cells=cells),
        lambda: dn.olh(**hashed, **closed),
        lambda: dn.orappor(**hashed, **closed, cells=cells, hashes=hashes),
    ]
    for make in random.choices(makers, k=100):
        try:
            return make()
        except SurveyError:  # a design that is too small for its symbols, or words too coarse: another one then
            continue
    raise AssertionError(f"100 designs were refused: {listed}, {hashed}")


class Recording(Entropy):
    """Words of a seeded generator, near the thresholds half of the time, with a record of what was drawn."""

    def __init__(self, random: Random, edges: list[int]) -> None:
        self.random, self.edges, self.drawn = random, edges, list[int]()

    def word(self) -> int:
        near = self.random.choice(self.edges) + self.random.randrange(-2, 3)
        word = self.random.choice([self.random.getrandbits(64), min(max(near, 0), 2**64 - 1)])
        self.drawn.append(word)
        return word


def cases(count: int) -> Iterator[tuple[dict[str, Any], str, dn.Survey]]:
    random = Random("the two clients")
    for number in range(count):
        made = survey(random)
        edges = [0, 2**64, *made.mechanism.thresholds().values()]
        value: Any = random.choice(made.symbols) if made.symbols is not None else symbol(random)
        line: dict[str, Any] = {"survey": made.to_json(), "symbol": symbol_to_json(value)}
        entropy = Recording(random, edges)
        if number % 2:
            report = dn.Client(made, memoize=False, entropy=entropy).report(value)
        else:
            client = dn.Client(made)
            client._secret, client._cohort, client._entropy = (
                random.randbytes(32),
                random.randrange(made.cohorts),
                entropy,
            )
            report = client.report(value)
            line |= {"secret": client._secret.hex(), "cohort": client._cohort}
        line["words"] = [str(word) for word in entropy.drawn]
        yield line, report.pack().hex(), made


def answers(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    text = "".join(json.dumps(line) + "\n" for line in lines)
    run = subprocess.run([node(), str(JS / "test" / "answer.js")], input=text, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_both_clients_give_the_same_bytes() -> None:
    made = list(cases(600))
    found = answers([line for line, _, _ in made])
    assert len(found) == len(made)
    for (line, wire, survey_), answer in zip(made, found, strict=True):
        assert answer == {"report": wire, "left": 0, "digest": survey_.digest}, line
    assert {survey_.title for _, _, survey_ in made} >= {
        "k-RR",
        "k-RAPPOR",
        "OUE",
        "SS",
        "HR",
        "PGR",
        "O-RR",
        "O-RAPPOR",
    }
    assert {type(survey_.mechanism) for _, _, survey_ in made} == {KRR, BitFlip, Subset, Chain}
    assert {survey_.alphabet.text for _, _, survey_ in made if survey_.alphabet.is_open} == {"folded", "exact"}
    chained = [(line, type(s.mechanism.permanent)) for line, _, s in made if isinstance(s.mechanism, Chain)]
    assert {("secret" in line, kind) for line, kind in chained} == {
        (m, k) for m in (True, False) for k in (KRR, BitFlip, Subset)
    }


def test_the_comparison_sees_a_client_that_differs() -> None:
    """One word more or less at a threshold, another secret, another cohort: the bytes must differ somewhere."""
    made = [(line, wire) for line, wire, survey_ in cases(60) if survey_.cells > 2]
    changed = []
    for line, _ in made:
        if "secret" not in line:
            changed.append(line | {"words": [str(2**64 - 1 - int(word)) for word in line["words"]]})
        else:
            changed.append(line | {"secret": hashlib.sha256(line["secret"].encode()).hexdigest()})
    same = [answer.get("report") == wire for answer, (_, wire) in zip(answers(changed), made, strict=True)]
    assert sum(same) < len(same) / 2


@pytest.mark.parametrize("field", ["keep", "epsilon", "second"])
def test_a_survey_that_python_refuses_is_refused(field: str) -> None:
    fields = json.loads(dn.krr(symbols=3, epsilon=1).to_json())
    fields["mechanism"][field] = "2"
    with pytest.raises(SurveyError):
        dn.Survey.from_fields(fields)
    (answer,) = answers([{"survey": json.dumps(fields), "symbol": 0, "words": ["0", "0"]}])
    assert answer["error"] == "SurveyError"


@pytest.mark.parametrize("name", ["\U0001f98a" * 500, '\x7f\u2028\u00e9 "\\/', "a: {", '", "name": 1.5'], ids=len)
def test_names_are_spelled_alike(name: str) -> None:
    """By code points, and with the escapes that JSON requires: both clients find the same digest.

    The control characters are those of surveys from before names were refused for them: their digests hold.
    """
    plain = dn.krr(symbols=3, epsilon=1)
    made = dn.Survey(plain.alphabet, plain.encoding, plain.mechanism, name)
    for text in (made.to_json(), json.dumps(json.loads(made.to_json()), indent=3)):
        (answer,) = answers([{"survey": text, "symbol": 0, "words": ["0", "0"]}])
        assert answer["digest"] == made.digest


def test_both_give_the_same_bytes_at_65536_cells() -> None:
    random = Random("wide")
    words = [str(random.getrandbits(64)) for _ in range(2**16)]
    for made in (
        dn.oue(symbols=2**16, epsilon=1),
        dn.orappor(epsilon=1, cells=2**16, cohorts=1, hashes=2, seed=bytes(16)),
    ):
        with ScriptedEntropy(64, [0, *map(int, words)]) as entropy:
            wire = dn.Client(made, memoize=False, entropy=entropy).report(40_000).pack()
        (answer,) = answers([{"survey": made.to_json(), "symbol": 40_000, "words": ["0", *words]}])
        assert answer == {"report": wire.hex(), "left": 0, "digest": made.digest}


SIZES = [-1, 0, 1, 2, 3, 4, 5, 7, 8, 13, 16, 64, 65, 255, 2**16, 2**16 + 1, 2**20, 2**24, 2**24 + 1]
EPSILONS = ["0.000000001", "0.5", "1/3", "1", "2", "7/3", "10", "64"]


def forged(random: Random, good: list[dict[str, Any]]) -> str:
    """Parts of two good surveys, with up to three fields changed: what one who wants more than epsilon would write."""
    first, second = random.sample(good, 2)
    fields: dict[str, Any] = first | {
        part: dict(random.choice([first, second])[part]) for part in ("encoding", "mechanism")
    }
    encoding, mechanism = fields["encoding"], fields["mechanism"]
    for _ in range(random.randrange(1, 4)):
        change = random.randrange(6)
        if change < 2:
            encoding[random.choice([name for name, value in encoding.items() if isinstance(value, int)])] = (
                random.choice(SIZES)
            )
        elif change == 2:
            mechanism[random.choice(["epsilon", "epsilon_report"])] = random.choice(EPSILONS)
        elif change == 3:
            mechanism.pop(random.choice(["epsilon_report", "clear"]), None)
        elif change == 4:
            mechanism |= random.choice([{"clear": str(2**63)}, {"clear": str(2**63)}, {"size": random.choice(SIZES)}])
        else:
            encoding["kind"] = random.choice(["direct", "hashed", "permuted", "hadamard", "projective"])
            mechanism["kind"] = random.choice(["krr", "bitflip", "subset"])
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@pytest.mark.slow
def test_no_forged_survey_is_taken_that_python_refuses() -> None:
    """The reader says what a survey must say; whoever forges one does that, digest included, and must get nowhere.

    Python refuses more only where 64-bit words cannot spend 99 % of epsilon: such a survey keeps its promise.
    """
    random = Random("forged surveys")
    good = [json.loads(survey(random).to_json()) for _ in range(60)]
    texts, taken = [forged(random, good) for _ in range(1500)], []
    for _ in range(8):
        told = answers([{"survey": text, "symbol": 0, "words": []} for text in texts])
        taken += [text for text, answer in zip(texts, told, strict=True) if answer["error"] != "SurveyError"]
        assert all(len(answer.get("message", "")) <= 240 for answer in told)
        texts = [answer["hint"] for answer in told if "hint" in answer]
    refusals = []
    for text in taken:
        try:
            dn.Survey.from_json(text)
        except SurveyError as problem:
            refusals.append(str(problem))
    assert len(taken) - len(refusals) > 30
    assert [text for text in refusals if " must be realisable in 64-bit words" not in text] == []


AUDITED = {
    "krr": dn.krr(symbols=10, epsilon=1),
    "krr, again": dn.krr(symbols=["no", "yes", 7], epsilon=2, epsilon_report=1),
    "krappor": dn.krappor(symbols=16, epsilon="2.2"),
    "oue, again": dn.oue(symbols=8, epsilon=3, epsilon_report=1),
    "subset, again": dn.subset(symbols=6, epsilon=3, epsilon_report=1, size=2),
    "orappor, again": dn.orappor(epsilon=3, epsilon_report=1, cells=6, cohorts=3, hashes=2, seed=bytes(16)),
    "almost once": dn.warner(epsilon=2, epsilon_report="1.9"),
}


def audited(name: str, tmp_path: Path, *form: str, trials: int) -> Certificate:
    """From outside, as anyone's client. An honest one is accused with probability 1e-7 at most."""
    path = tmp_path / "survey.json"
    AUDITED[name].save(path)
    command = Command([node(), str(JS / "test" / "audit.js"), str(path), *form])
    return audit(AUDITED[name], command, trials=trials, alpha=1e-7)


# An audit takes a second each; bits and what is sent again stay quick.
QUICK = {"krappor", "almost once"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in AUDITED]
)
def test_the_minified_client_passes_the_audit(name: str, tmp_path: Path) -> None:
    certificate = audited(name, tmp_path, "min", trials=2000)
    assert certificate.findings == ()
    assert certificate.verdict == "PASSED"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fault", "kinds"),
    [
        ("krr", "redraws", {"memory"}),
        ("almost once", "redraws", {"law"}),
        ("oue, again", "forgets", {"law"}),
        ("krappor", "clear", {"law"}),
    ],
)
def test_a_client_with_a_fault_does_not(name: str, fault: str, kinds: set[str], tmp_path: Path) -> None:
    certificate = audited(name, tmp_path, fault, trials=4000)
    assert certificate.verdict == "VIOLATED"
    assert {finding.kind for finding in certificate.findings} >= kinds


def test_the_sources_pass_as_the_minified_file_does(tmp_path: Path) -> None:
    assert audited("krr, again", tmp_path, trials=2000).verdict == "PASSED"

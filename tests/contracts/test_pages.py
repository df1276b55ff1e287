"""What the pages compute for themselves is what Python computes: privacy in words, error curves, QR codes."""

import atexit
import json
import math
import re
import subprocess
from contextlib import closing
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import qrcode

import deniable as dn
from deniable.cli import words
from deniable.cli.words import at_most, belief_after, notice
from deniable.lab.streams import stream_of
from deniable.mechanisms import BitFlip, Subset
from deniable.planner.request import EPSILONS
from deniable.survey.strength import SCALE, strength
from studies import explore

SCRIPT = Path(__file__).parents[1] / "e2e" / "pages.mjs"
PAGES = Path(dn.__file__).parent / "service" / "pages"
SYMBOLS = [f"answer {i}" for i in range(12)]
SURVEYS = {
    "warner": dn.warner(epsilon=1),
    "krr": dn.krr(symbols=SYMBOLS, epsilon=2),
    "krappor": dn.krappor(symbols=SYMBOLS, epsilon=1),
    "oue": dn.oue(symbols=SYMBOLS, epsilon=1),
    "subset": dn.subset(symbols=SYMBOLS, epsilon="0.5"),
    "hadamard": dn.hadamard(symbols=SYMBOLS, epsilon=1),
    "projective": dn.projective(symbols=SYMBOLS, epsilon=1),
    "orr": dn.orr(epsilon=2, cells=8, cohorts=64, seed=bytes(16)),
    "orr closed": dn.orr(symbols=SYMBOLS, epsilon=3, cells=6, cohorts=16, seed=bytes(16)),
    "orappor": dn.orappor(epsilon=2, cells=32, cohorts=8, hashes=2, seed=bytes(16)),
    "warner twice": dn.warner(epsilon=2, epsilon_report=1),
    "krr twice": dn.krr(symbols=SYMBOLS, epsilon=3, epsilon_report="0.5"),
    "krappor twice": dn.krappor(symbols=SYMBOLS, epsilon=2, epsilon_report=1),
    "oue twice": dn.oue(symbols=SYMBOLS, epsilon=2, epsilon_report=1),
    "subset twice": dn.subset(symbols=SYMBOLS, epsilon=2, epsilon_report="0.5"),
    "hadamard twice": dn.hadamard(symbols=SYMBOLS, epsilon=2, epsilon_report=1),
    "orr twice": dn.orr(epsilon=3, epsilon_report=2, cells=8, cohorts=64, seed=bytes(16)),
    "orappor twice": dn.orappor(epsilon=4, epsilon_report=2, cells=32, cohorts=8, hashes=2, seed=bytes(16)),
}


def chance(probability: Fraction, *, up: bool = False) -> str:
    """A probability as the command line says it, written as English pages do."""
    return words.chance(probability, up=up).replace(" %", "%")


class Node:
    """The pages' modules under Node, in a process that stays: starting one takes longer than nearly every question."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(["node", str(SCRIPT)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def answer(self, question: tuple[str, str, list[Any]]) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            _, told = self.process.communicate()
            raise subprocess.CalledProcessError(self.process.returncode, "node", stderr=told)
        return json.loads(line)

    def close(self) -> None:
        self.process.communicate()  # it ends when its standard input does


@cache
def node() -> Node:
    made = Node()
    atexit.register(made.close)
    return made


def ask(*questions: tuple[str, str, list[Any]]) -> list[Any]:
    """What the pages' modules answer, under Node."""
    return [node().answer(question) for question in questions]


@pytest.mark.parametrize("name", SURVEYS)
def test_the_pages_read_a_survey_as_python_does(name: str) -> None:
    survey = SURVEYS[name]
    fields = json.loads(survey.to_json())
    (n,) = ask(("words.js", "numbers", [fields]))
    mechanism = survey.mechanism
    assert n["hit"] == pytest.approx(float(mechanism.hit), rel=1e-12)
    assert n["miss"] == pytest.approx(float(mechanism.miss), rel=1e-9)
    assert n["odds"] == pytest.approx(float(mechanism.odds), rel=1e-9)
    lifetime = mechanism.permanent.odds
    assert n["lifetime"] == pytest.approx(float(lifetime), rel=1e-9)
    assert n["twice"] == (lifetime != mechanism.odds)
    said, beliefs, happens, promise, spent = ask(
        ("words.js", "atMost", [float(mechanism.odds)]),
        ("words.js", "beliefs", [n]),
        ("words.js", "whatHappens", [n]),
        ("words.js", "guarantee", [n]),
        ("words.js", "epsilons", [n]),
    )
    assert said == at_most(mechanism.odds)
    for share, (_, one, ever) in zip((Fraction(1, 100), Fraction(1, 10), Fraction(1, 2)), beliefs, strict=True):
        assert one == chance(belief_after(share, mechanism.odds), up=True)
        assert ever == chance(belief_after(share, lifetime), up=True)
    assert f"at most {at_most(mechanism.odds)} times" in promise
    assert (f"at most {at_most(lifetime)} times" in promise.split(";")[-1]) == (n["twice"] or ";" not in promise)
    assert f"{survey.epsilon_report:.2f}" in spent
    assert f"{survey.epsilon_spent:.2f}" in spent
    assert set(re.findall(r"[\d.]+%", happens)) == set(shares_told(survey))


def shares_told(survey: dn.Survey) -> list[str]:
    """The probabilities that a page states before anything is chosen, by the survey's exact channel."""
    hit, miss = survey.mechanism.hit, survey.mechanism.miss
    channel = survey.mechanism.permanent
    if isinstance(channel, BitFlip):
        turned = not channel.optimized and channel is survey.mechanism  # one sentence for both kinds of marks
        return [chance(miss)] if turned else [chance(hit), chance(miss)]
    if isinstance(channel, Subset):
        return [chance(hit), chance(miss)]
    return [chance((survey.hashes if survey.encoding.shared is not None else 1) * hit)]


@pytest.mark.parametrize("name", SURVEYS)
def test_the_picture_of_the_dice_is_the_channel(name: str) -> None:
    """Every share that is drawn or told is the survey's own, and what came is drawn where it belongs."""
    survey = SURVEYS[name]
    hit, miss, k = survey.mechanism.hit, survey.mechanism.miss, survey.cells
    (n,) = ask(("words.js", "numbers", [json.loads(survey.to_json())]))
    truth = sorted(survey.encode(3 % survey.cohorts, "answer 5" if survey.alphabet.symbols != ("no", "yes") else "yes"))
    channel = survey.mechanism.permanent
    reports, module = [[cell] for cell in range(k)], "marks.js" if isinstance(channel, BitFlip) else "dice.js"
    if isinstance(channel, Subset):
        reports = [sorted((start + step) % k for step in range(channel.size)) for start in range(k)]
    elif isinstance(channel, BitFlip):
        reports = [[], truth, [cell for cell in range(k) if cell not in truth], list(range(k)), [0, k - 1]]
    for cells, drawn in zip(reports, ask(*[(module, "rolled", [n, truth, cells]) for cells in reports]), strict=True):
        told = set(truth) & set(cells)
        if isinstance(channel, BitFlip):
            assert drawn["legend"] == [["your yes stays", chance(hit)], ["a no turns into a yes", chance(miss)]]
            squares = [{"mine": cell in truth, "sent": cell in cells} for cell in range(k)]
            assert (drawn["squares"], drawn["hidden"]) == (squares, 0)
            assert f"Of {k - len(truth)} no marks {len(cells) - len(told)} turned into a yes" in drawn["said"]
            continue
        mine = hit if isinstance(channel, Subset) else len(truth) * hit
        parts = drawn["parts"]
        assert sum(part["share"] for part in parts if part["mine"]) == pytest.approx(float(mine), rel=1e-9)
        assert sum(part["share"] for part in parts) == pytest.approx(1, rel=1e-12)
        assert parts[drawn["place"]]["mine"] == bool(told)
        assert [share for _, share in drawn["legend"]] == [chance(mine), chance(1 - mine)]
        if not isinstance(channel, Subset):
            assert len(parts) == k, "one for each outcome, as these are few"
            assert [part["share"] for part in parts] == pytest.approx(
                [float(hit if part["mine"] else miss) for part in parts], rel=1e-9
            )


def test_long_lists_are_drawn_in_part_and_say_so() -> None:
    survey = dn.oue(symbols=1000, epsilon=1)
    (n,) = ask(("words.js", "numbers", [json.loads(survey.to_json())]))
    marks, strip = ask(
        ("marks.js", "rolled", [n, [900], [900, 901]]),
        ("dice.js", "rolled", [n | {"shape": "one", "mine": 1, "hit": 0.1}, [900], [901]]),
    )
    assert (len(marks["squares"]), marks["hidden"]) == (240, 760)
    assert marks["squares"].count({"mine": True, "sent": True}) == 1, "the answer's own mark is always there"
    assert "Your yes stayed. Of 999 no marks 1 turned into a yes." in marks["said"]
    assert [part["mine"] for part in strip["parts"]] == [True] + 24 * [False]
    assert strip["place"] == 1 + 900 * 24 // 999


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("krr", "Nobody, including us, can tell whether that is your answer."),
        ("orr", "Nobody, including us, can tell whether that is the box of your answer."),
        ("krappor", "Nobody, including us, can tell which of these marks were turned."),
        ("subset", "Nobody, including us, can tell whether your answer is on this list."),
        ("hadamard", "Nobody, including us, can tell whether that is a number of your answer."),
        ("orr closed", "Nobody, including us, can be sure whether that is the box of your answer."),  # epsilon 3
    ],
)
def test_what_nobody_can_know(name: str, words: str) -> None:
    (n,) = ask(("words.js", "numbers", [json.loads(SURVEYS[name].to_json())]))
    assert ask(("words.js", "unknowable", [n])) == [words]


def test_the_form_takes_what_the_planner_takes() -> None:
    field = re.search(r'<input id="epsilon"[^>]*', (PAGES / "ask.html").read_text(encoding="utf-8"))
    assert field is not None
    limits = re.search(r'min="(.*?)" max="(.*?)"', field[0])
    assert limits is not None
    assert (float(limits[1]), float(limits[2])) == EPSILONS


def test_the_scale_of_the_pages_is_pythons() -> None:
    table = re.search(r"export const SCALE = \[(.*?)\];", (PAGES / "words.js").read_text(encoding="utf-8"), re.S)
    assert table is not None
    found = re.findall(r'most: (\S+), word: "([^"]+)"', table[1])
    assert [(float(most.replace("Infinity", "inf")), word) for most, word in found] == list(SCALE)
    assert [most for most, _ in SCALE] == sorted({most for most, _ in SCALE}), "one word for every epsilon"
    # Edges and what is shown alike with two decimals: 1 is one word, 2.00 and 2.004 are one, 2.08 is another.
    epsilons = [0.1, 0.99, 1, 1.004, 1.01, 1.9, 2, 2.004, 2.01, 2.08, 3, 3.01, 4, 4.01, 9]
    said = ask(*[("words.js", "wordOf", [epsilon]) for epsilon in epsilons])
    assert said == [strength(epsilon) for epsilon in epsilons]
    for most, word in SCALE[:-1]:
        assert strength(most) == strength(most + 0.004) == word
        assert strength(most + 0.01) != word


@pytest.mark.parametrize(
    ("epsilon", "word", "headline", "asked", "deny"),
    [
        ("1", "very strong", "Nobody can tell what you chose.", "Nobody, you included, can tell what anyone chose.", 0),
        ("2", "strong", "Nobody can tell what you chose.", "Nobody, you included, can tell what anyone chose.", 0),
        (
            "2.08",
            "moderate",
            "Nobody can be sure what you chose, but what is sent gives a hint.",
            "Nobody, you included, can be sure what anyone chose, but what is sent gives a hint.",
            1,
        ),
        (
            "3.29",  # 27 times likelier
            "weak",
            "Nobody can be sure what you chose, but what is sent gives a clear hint.",
            "Nobody, you included, can be sure what anyone chose, but what is sent gives a clear hint.",
            1,
        ),
        (
            "5",
            "hardly any",
            "What is sent hides your answer hardly at all: whoever sees it can be nearly certain.",
            "What is sent hides their answers hardly at all: whoever sees it can be nearly certain.",
            2,
        ),
    ],
)
def test_headlines_follow_epsilon(epsilon: str, word: str, headline: str, asked: str, deny: int) -> None:
    survey = dn.krr(symbols=3, epsilon=epsilon)
    (n,) = ask(("words.js", "numbers", [json.loads(survey.to_json())]))
    they = "they"
    said = ask(
        ("words.js", "strength", [n]),
        ("words.js", "headline", [n]),
        ("words.js", "headline", [n, they]),
        ("words.js", "deniability", [n]),
    )
    denials = (
        "You can honestly deny any answer.",
        "You can deny any answer, but what is sent makes yours a good deal likelier.",
        "That is hardly any protection: what is sent can make an answer nearly certain.",
    )
    assert said == [f"{word} privacy", headline, asked, denials[deny]]
    told = dict(notice(survey))
    assert f": {word} privacy; likelihood ratio" in told["The numbers"], "the command line has the same word"
    assert (
        denials[deny].replace("what is sent", "a report").replace("an answer nearly", "your answer nearly")
        in (told["What that protects"])
    )


@pytest.mark.parametrize(
    ("host", "who"),
    [
        ("127.0.0.1:8765", "computer"), ("localhost:1", "computer"), ("[::1]:8765", "computer"),
        ("0.0.0.0", "computer"), ("a.localhost", "computer"), ("192.168.1.7:8765", "network"),
        ("10.0.0.1", "network"), ("172.20.1.1", "network"),
        ("169.254.0.3", "network"), ("[fd00::1]", "network"), ("[fe80::1]", "network"), ("printer", "network"),
        ("mac.local", "network"), ("172.32.1.1", "anyone"), ("203.0.113.9", "anyone"), ("[2001:db8::1]", "anyone"),
        ("reports.example.org", "anyone"), ("localhost.example.org", "anyone"), ("10.example.org", "anyone"),
    ],
)  # fmt: skip
def test_who_can_open_an_address(host: str, who: str) -> None:
    found, said = ask(
        ("reach.js", "reach", [f"http://{host}/answer/x"]), ("reach.js", "limits", [f"http://{host}/answer/x"])
    )
    assert found == who
    name = host.rsplit(":", 1)[0] if re.search(r":\d+$", host) and "]" not in host.rsplit(":", 1)[1] else host
    assert (
        said
        == {
            "computer": f"Nobody else can open this link: {name} always means the computer it is opened on.",
            "network": "Only people in your own network can open this link.",
            "anyone": "",
        }[who]
    )


def test_numbers_in_words() -> None:
    ratios = [1.01, 2.001, 7.389, 22.026, 99.5, 1234.5, 22026.4]
    shares = [0.4018, 0.0544, 0.9997, 0.5, 0.00012]
    found = ask(*[("words.js", "atMost", [x]) for x in ratios], *[("words.js", "chance", [x]) for x in shares])
    wanted = [at_most(Fraction(x)) for x in ratios] + [chance(Fraction(x)) for x in shares]
    assert found == wanted


PEOPLE = 10_000


@pytest.fixture(scope="module")
def curves() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(explore.CURVES.read_text(encoding="utf-8"))
    return found


def test_the_table_of_the_curves_is_what_theory_makes_now(curves: dict[str, Any]) -> None:
    """A formula that changes changes the page: `python -m studies.explore --curves` writes the table again."""
    made = explore.curves()
    assert made["sizes"] == curves["sizes"]
    assert made["epsilons"] == pytest.approx(curves["epsilons"])
    assert list(made["models"]) == list(curves["models"])
    for name, rows in made["models"].items():
        for row, stored in zip(rows, curves["models"][name], strict=True):
            assert (row is None) == (stored is None)
            for column, other in zip(row or (), stored or (), strict=True):
                assert column == pytest.approx(other, rel=1e-4), name  # the last of five digits may differ


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1.2", "3", "7"])
@pytest.mark.parametrize("size", [2, 6, 64, 362])
def test_error_curves_are_those_of_theory(epsilon: str, size: int, curves: dict[str, Any]) -> None:
    """To five digits at an epsilon of the table, 0.1, and to one in a thousand between them.

    Sets and designs change their size between epsilons: to 1 %. Blocks are averaged over who is in them: to 3 %.
    """
    (p,) = ask(("curves.js", "population", ["zipf", size, 1]))
    assert p == pytest.approx((np.arange(1, size + 1) ** -1.0 / (np.arange(1, size + 1) ** -1.0).sum()).tolist())
    surveys = {
        "k-RR": dn.krr(symbols=size, epsilon=epsilon),
        "k-RAPPOR": dn.krappor(symbols=size, epsilon=epsilon),
        "OUE": dn.oue(symbols=size, epsilon=epsilon),
        "Hadamard": dn.hadamard(symbols=size, epsilon=epsilon),
        "projective": dn.projective(symbols=size, epsilon=epsilon),
    } | ({"subset selection": dn.subset(symbols=size, epsilon=epsilon)} if size > 2 else {})
    found = ask(*[("curves.js", "error", [curves, name, float(epsilon), p, PEOPLE]) for name in surveys])
    for (name, survey), value in zip(surveys.items(), found, strict=True):
        steps = {"subset selection": 0.01, "projective": 0.01, "Hadamard": 0.03}
        within = steps.get(name, 5e-5 if epsilon == "0.1" else 1e-3)
        assert value == pytest.approx(dn.theory.l1_risk(survey, p, PEOPLE), rel=within), name
    (free,) = ask(("curves.js", "error", [curves, "no privacy", 1.0, p, PEOPLE]))
    assert free == pytest.approx(dn.theory.ml_l1(p, PEOPLE), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "cells"), [("1", 4), ("2", 8), ("3", 16)])
def test_curves_of_cohorts_are_near_theory_with_many_of_them(epsilon: str, cells: int, curves: dict[str, Any]) -> None:
    """With as many cohorts as here least squares is within a tenth of the curve, which is for endlessly many."""
    p = dn.lab.geometric(64, mean=64 / 5)
    for name, make in (("O-RR", dn.orr), ("O-RAPPOR", dn.orappor)):
        survey = make(symbols=64, epsilon=epsilon, cells=cells, cohorts=1024, seed=bytes(16))
        (value,) = ask(("curves.js", "error", [curves, name, float(epsilon), p.tolist(), 10**6, cells]))
        assert value == pytest.approx(dn.theory.l1_risk(survey, p, 10**6), rel=0.1), name


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(explore.TABLE.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("cell", [cell for cell in explore.CELLS if cell.symbols == 32][::29])
def test_the_table_of_the_default_decoder_is_what_the_study_measures(cell: explore.Cell, table: dict[str, Any]) -> None:
    """The same seeds give the same cells; a decoder that changes must be measured again."""
    axes = [table[name].index(value) for name, value in zip(AXES, cell[1:], strict=True)]
    stored = table["losses"][cell.population]
    for place in axes:
        stored = stored[place]
    assert float(f"{explore.measure(cell)[0]:.4g}") == pytest.approx(stored, rel=1e-3)


AXES = ("symbols", "epsilons", "noises")


def test_the_page_reads_the_table_where_it_was_measured(table: dict[str, Any]) -> None:
    size, noise = 128, 0.3
    (found,) = ask(("curves.js", "decoded", [table, "zipf", 1, size, 1.0, noise]))
    assert found == pytest.approx(table["losses"]["zipf 1"][table["symbols"].index(size)][0][3], rel=1e-3)


@pytest.mark.parametrize(
    ("name", "power", "size", "epsilon", "people"),
    [
        ("geometric", 1, 64, 2.0, 20_000),
        ("zipf", 1.5, 45, 1.5, 100_000),
        ("uniform", 1, 23, 3.0, 3_000),
        ("spike", 1, 181, 1.0, 200_000),
        ("geometric", 1, 6, 1.0, 2_000),
    ],
)
def test_between_measured_cells_the_page_is_near_what_the_decoder_does(
    name: str, power: float, size: int, epsilon: float, people: int, table: dict[str, Any], curves: dict[str, Any]
) -> None:
    """To a fifth, at points that were not measured."""
    p = explore.population(f"zipf {power}" if name == "zipf" else name, size)
    (noise,) = ask(("curves.js", "error", [curves, "subset selection", epsilon, p.tolist(), people]))
    (told,) = ask(("curves.js", "decoded", [table, name, power, size, epsilon, noise]))
    rng = stream_of(0, "between", name, size)
    survey = dn.subset(size, epsilon=epsilon)
    losses = [np.abs(dn.decode(dn.simulate(survey, p, people, rng)).probabilities - p).sum() for _ in range(12)]
    assert told == pytest.approx(np.mean(losses), rel=0.2)


@pytest.mark.parametrize("name", ["uniform", "geometric", "zipf", "spike"])
def test_populations_are_the_labs(name: str) -> None:
    (p,) = ask(("curves.js", "population", [name, 50, 1]))
    assert math.isclose(sum(p), 1, abs_tol=1e-12)
    if name == "geometric":
        assert p == pytest.approx(dn.lab.geometric(50, mean=10).tolist(), rel=1e-9)


@pytest.mark.parametrize("length", [1, 14, 15, 60, 84, 90, 120, 150, 200, 250, 330, 412])
def test_qr_codes_are_what_another_encoder_makes(length: int) -> None:
    text = ("http://127.0.0.1:8765/answer/" + "0123456789abcdef" * 30)[:length]
    (found,) = ask(("qr.js", "encode", [text]))
    other = qrcode.QRCode(found["version"], qrcode.constants.ERROR_CORRECT_M, border=0, mask_pattern=found["mask"])
    other.add_data(qrcode.util.QRData(text.encode(), mode=qrcode.util.MODE_8BIT_BYTE))
    other.make(fit=False)
    assert [[int(dark) for dark in row] for row in other.modules] == found["modules"]
    assert other.best_fit(start=1) == found["version"], "no smaller code would do"


def test_a_text_that_is_too_long_for_a_qr_code_is_refused() -> None:
    alone = Node()  # which does not survive it
    with closing(alone), pytest.raises(subprocess.CalledProcessError) as refused:
        alone.answer(("qr.js", "encode", ["x" * 413]))
    assert "text must be at most 412 bytes for a QR code" in refused.value.stderr


@pytest.mark.slow
def test_the_table_of_crowds_is_certified() -> None:
    """Some cells again, and no mechanism of that epsilon is told apart better than they say."""
    table = json.loads(explore.CROWD.read_text(encoding="utf-8"))
    assert (table["people"], table["epsilons"], table["delta"]) == (explore.PEOPLE, explore.BUDGETS, explore.DELTA)
    for epsilon, n in ((0.1, 100), (1.0, 10_000), (2.0, 1000), (4.0, 100_000), (7.9, 10_000)):
        bound = table["central"][explore.BUDGETS.index(epsilon)][explore.PEOPLE.index(n)]
        assert bound == explore.central(epsilon, n)
        for survey in (dn.ordered(9, epsilon), dn.krr(5, epsilon=epsilon), dn.subset(9, epsilon=epsilon)):
            assert dn.crowd(survey, n).epsilon <= bound * (1 + 1e-3)

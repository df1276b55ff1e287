"""Write the golden vectors: `python -m tests.vectors.make`, only when a format version changes.

The files are the format. The Python and the JavaScript client must both agree with them; a change here that was not
meant to change the format is a bug. Integers that need more than 53 bits are decimal text, bytes are hexadecimal.
"""

import hashlib
import json
import math
import struct
import time
from pathlib import Path

import deniable as dn
from deniable.mechanisms import KRR, BitFlip, Chain, Channel, Subset, epsilon_text
from deniable.noise import DerivedEntropy
from deniable.survey import WINDOWS, ubd, urr
from deniable.survey.alphabet import Alphabet, canonical_symbol, symbol_bytes, symbol_to_json
from deniable.survey.encodings import Hashed, Permuted
from deniable.survey.folding import fold
from deniable.survey.hashing import fingerprint, permute
from deniable.survey.prefixes import Prefixes
from deniable.survey.scale import scale_of
from tests.exact.scripted import ScriptedEntropy
from tests.surveys import BUDGETS
from tests.vectors import forms
from tests.vectors.bad import bad_reports, bad_surveys

FOLDER = Path(__file__).parent
SEEDS = [bytes(8), bytes(range(16)), bytes(range(100, 164))]
SYMBOLS: list[str | int | bytes] = [
    *("", "a", "1", "firefox", "caf\u00e9", "cafe\u0301", "\u212b", "\uac00", "\u1100\u1161"),
    *("\U0001f98a", "\U0001f468\u200d\U0001f4bb"),
    *(0, 1, -1, 2**53 - 1, 2**53, -(2**63), 10**79),
    *(b"", b"1", b"\x00\xff", bytes(range(64))),
    *("\ufb01", "\u2460", "\u017f", "\u1e9b\u0323", "\u2126", "\u0958"),  # NFC is not NFKC
]
MATRIX = [[0.5, 0.25, 0.125, 0.125], [0.25, 0.25, 0.25, 0.25], [0.125, 0.125, 0.25, 0.5]]
# Answers to open surveys: what an exact one and a folded one are asked.
OPEN: dict[str, list[str | int | bytes]] = {
    "exact": ["a", 7, b"\xff"],
    "folded": ["\u00a0Ibuprofen 400\t", "STRA\u1e9eE", b"A ", "\u0130stanbul", 7, "\u039f\u0394\u039f\u03a3"],
}
# To surveys that discover text: ends within a level, at its edge, after it; a cut within a character; a long one.
WRITTEN: list[str | int | bytes] = ["Ab", "", "abcd", "abcde ", "abcdefg", "\u00e9t\u00e9", "\U0001f98a\x00", "a" * 64]


def answers_of(survey: dn.Survey) -> list[str | int | bytes]:
    """What a survey is asked."""
    if survey.symbols is not None:
        return list(survey.symbols)
    return WRITTEN if isinstance(survey.encoding, Prefixes) else OPEN[survey.alphabet.text]


# Where case and white space are hard; `folding` adds every code point that does not stay as it is.
TEXTS = [
    *("", " ", "a", " A ", "A  b", "\ta\u00a0\u3000B\r\n", "\ufeffA\u200bb", "A\u200db", "\u200eA", "A\u00adb"),
    *("A\x1fb", "\x85a", "\u180ea", "\u2060A", " \u0301A", "A \u0301", "\u2000\u2001a", "\u2764\ufe0f"),
    *("I", "\u0130", "\u0131", "i\u0307", "I\u0307\u0307", "\u0130\u0301", "i\u0307\u0301", "I\u0323\u0307"),
    *("\u012e\u0307", "\u0130STANBUL", "J\u0307", "\u00df", "\u1e9e", "SS", "\u017f\u0307", "\u1e9b\u0323", "\ufb05"),
    *("\u0149", "\u0587", "\u039f\u0394\u039f\u03a3", "\u03a3.", "\u03c2", "\u1fb3", "\u1fbc", "\u1f88\u0345"),
    *("\u0391\u0345\u0301", "\u1fb4", "\u0390", "\u01c4", "\u01c5", "\u01c6", "\u212a", "\u212b", "\u2126", "\u00b5"),
    *("A\u030a", "A\u0323\u030a", "\u1ef8", "\u13a0", "\uab70", "\u13f8", "\u1c90", "\u10d0", "\u10a0", "\u2160"),
    *("\u24b6", "\uff21", "\U00010400", "\U0001e900", "\u0419", "\u0418\u0306", "\u1c80", "\u0531", "\uac00"),
    *("\u1100\u1161", "\u304b\u3099"),
    *("\ua7ba", "\ua7cb", "\u2c2f", "\U00010570", "\u1c89"),  # letters that came after Unicode 11: as they are
]
SIZES = (2, 3, 5, 17, 256, 300, 4097)
KEYS = (0, 1, 0x9E3779B97F4A7C15, 2**64 - 1)


SCALES = [
    *(scale_of(0, 1, bins=100), scale_of(18, 90, bins=64), scale_of("-0.1", "0.2", bins=7), scale_of(0, 100, bins=3)),
    *(scale_of(1, 99, step=1), scale_of("-7.75", 12, step="0.25", outside="refuse"), scale_of(0, 1, bins=1024)),
    *(scale_of("-999999999999999", "999999999999999", bins=9), scale_of(0, "0.0000000001", bins=2)),
    scale_of(-40, 50, bins=360, outside="refuse"),
]


def presets() -> dict[str, dn.Survey]:
    seed, fruit = SEEDS[1], ["apple", "caf\u00e9", 7, b"\xff", 2**60]
    exact: dict[str, str] = {"text": "exact"}
    return {
        "warner": dn.warner(epsilon=1.0),
        "warner, own words": dn.warner(epsilon="1/3", symbols=["nein", "ja"], name="Gr\u00f6\u00dfe \U0001f98a"),
        "krr": dn.krr(symbols=fruit, epsilon=0.1, name="fruit"),
        "krr, catch-all": dn.krr(symbols=["a", "b"], epsilon=2, other="else"),
        "krr, counted": dn.krr(symbols=300, epsilon=3),
        "krappor": dn.krappor(symbols=["a", "b", "c"], epsilon=2.5),
        "krappor, counted": dn.krappor(symbols=20, epsilon=1),
        "orr, open": dn.orr(epsilon=2, cells=8, cohorts=3, seed=seed, name="homepage", **exact),
        "orr, closed": dn.orr(symbols=17, epsilon=2, cells=4, cohorts=300, seed=seed),
        "orr, closed catch-all": dn.orr(symbols=["a", "b"], epsilon=2, cells=2, cohorts=2, seed=seed, other=b"\x00"),
        "orappor, open": dn.orappor(epsilon=2, cells=12, cohorts=8, hashes=2, seed=seed, **exact),
        "orappor, closed": dn.orappor(symbols=30, epsilon="0.75", cells=5, cohorts=2, hashes=3, seed=SEEDS[2]),
        "oue": dn.oue(symbols=["a", "b", "c"], epsilon=2.5),
        "oue, counted": dn.oue(symbols=20, epsilon="1/3"),
        "olh": dn.olh(epsilon="1.5", cohorts=5, seed=seed, **exact),
        "hadamard": dn.hadamard(symbols=["a", "b", "c", "d"], epsilon=1, blocks=1),
        "hadamard, blocks": dn.hadamard(symbols=300, epsilon=4, blocks=16),
        "subset": dn.subset(symbols=["a", "b", "c", "d", "e"], epsilon="0.5", size=2),
        "subset, counted": dn.subset(symbols=20, epsilon=1),
        "projective": dn.projective(symbols=["a", "b", "c"], epsilon="0.5", order=2, dimension=3),
        "projective, counted": dn.projective(symbols=100, epsilon=2, order=11, dimension=3),
        "number": dn.number(18, 90, 1, bins=64, name="age"),
        "number, step": dn.number("-2.5", 40, "0.5", step="0.25", outside="refuse"),
        "ordered": dn.ordered(["never", "seldom", "often", "daily", "always"], 2),
        "ordered, counted": dn.ordered(300, 3),
        "number, again": dn.number(0, 1, 3, bins=9, epsilon_report=1, participation="window:week"),
        "warner, again": dn.warner(epsilon=2, epsilon_report=1),
        "krr, again": dn.krr(symbols=fruit, epsilon=2, epsilon_report="0.5", name="fruit"),
        "krr, counted again": dn.krr(symbols=300, epsilon=6, epsilon_report=3),
        "krappor, again": dn.krappor(symbols=["a", "b", "c"], epsilon=2.5, epsilon_report="1/3"),
        "oue, again": dn.oue(symbols=20, epsilon=3, epsilon_report=1),
        "subset, again": dn.subset(symbols=["a", "b", "c", "d", "e"], epsilon=2, epsilon_report=1, size=2),
        "hadamard, again": dn.hadamard(symbols=["a", "b", "c", "d"], epsilon=2, epsilon_report=1, blocks=1),
        "projective, again": dn.projective(symbols=7, epsilon=2, epsilon_report=1, order=2, dimension=3),
        "orr, open again": dn.orr(epsilon=4, epsilon_report=2, cells=8, cohorts=3, seed=seed, name="homepage", **exact),
        "orappor, closed again": dn.orappor(
            symbols=30, epsilon=3, epsilon_report="0.75", cells=5, cohorts=2, hashes=3, seed=SEEDS[2]
        ),
        "orr, folded": dn.orr(epsilon=2, cells=8, cohorts=3, seed=seed, name="homepage"),
        "orappor, folded": dn.orappor(epsilon=2, cells=12, cohorts=8, hashes=2, seed=seed),
        "orr, folded again": dn.orr(epsilon=4, epsilon_report=2, cells=300, cohorts=3, seed=seed),
        "discovery": dn.discovery(epsilon=2, length=6, levels=[(2, 1), (4, 2), (6, 3)], seed=seed, name="what"),
        "discovery, refused": dn.discovery(
            epsilon=1, length=64, levels=[(3, 150), (64, 150)], seed=seed, overlong="refuse", text="exact"
        ),
        "discovery, again": dn.discovery(epsilon=4, epsilon_report=2, length=9, cohorts=64, seed=SEEDS[2]),
        "sensitive": dn.sensitive(["none", "flu", "hiv", "hpv"], sensitive=["hiv", "hpv"], epsilon=1),
        "sensitive, one": dn.sensitive(5, sensitive=[3], epsilon="1/3", other="else"),
        "sensitive, counted": urr(300, sensitive=range(20, 60), epsilon=2),
        "sensitive-design": ubd(12, sensitive=[0, 1, 3, 4, 6, 9], epsilon=1, order=2, dimension=3),
        "sensitive-design, counted": ubd(300, sensitive=range(0, 300, 3), epsilon="0.5", order=3, dimension=5),
        "blocks": dn.blocks([["a", "b"], ["c", "d", "e"], ["f"]], epsilon=1),
        "budgets": BUDGETS,
        "table": dn.channel(MATRIX, epsilon="1.8", symbols=["low", "mid", "high"]),
        "krr, once an hour": dn.krr(symbols=fruit, epsilon=1, name="fruit", participation="window:hour"),
        "warner, once a day": dn.warner(epsilon=2, epsilon_report=1, participation="window"),
        "orr, once a week": dn.orr(epsilon=2, cells=8, cohorts=3, seed=seed, participation="window:week"),
        "oue, once a day with a turnover": dn.oue(
            symbols=["a", "b", "c"], epsilon=2, participation="window:day:turnover=0.05"
        ),
        "krr, once an hour with a turnover and a change": dn.krr(
            symbols=fruit, epsilon=1, participation="window:hour:turnover=0.05:change=0.1"
        ),
        "oue, once a week with a change": dn.oue(
            symbols=["a", "b", "c"], epsilon=2, participation="window:week:change=1"
        ),
        "krr, one day in seven": dn.krr(symbols=fruit, epsilon=1, participation="window:day:share=1/7"),
        "orr, one hour in three": dn.orr(
            epsilon=2, cells=8, cohorts=3, seed=seed, participation="window:hour:share=1/3"
        ),
        "krappor, at every event": dn.krappor(symbols=["a", "b", "c"], epsilon=2.5, participation="event"),
    }


def symbols() -> list[object]:
    return [
        {
            "given": symbol_to_json(given),
            "canonical": symbol_to_json(canonical_symbol(given)),
            "bytes": symbol_bytes(canonical_symbol(given)).hex(),
        }
        for given in SYMBOLS
    ]


def folding() -> list[object]:
    """Texts and their folds; then every code point whose fold is not its NFC, 32 to a text, with bars between."""
    every = (chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    changed = [letter for letter in every if fold(letter) != canonical_symbol(letter)]
    texts = TEXTS + ["|".join(changed[start : start + 32]) for start in range(0, len(changed), 32)]
    return [{"given": given, "folded": fold(given)} for given in texts]


def fingerprints() -> list[object]:
    return [
        {"seed": seed.hex(), "bytes": message.hex(), "fingerprint": str(fingerprint(seed, message))}
        for seed in SEEDS
        for message in [symbol_bytes(canonical_symbol(given)) for given in SYMBOLS[:12]] + [b"permutations"]
    ]


def hashed_cells() -> list[object]:
    found: list[object] = []
    for cells, cohorts, hashes in ((2, 3, 1), (8, 5, 1), (5, 4, 3), (128, 4, 2), (1 << 24, 2, 2)):
        encoding = Hashed(cells, cohorts, hashes, SEEDS[1])
        for given in SYMBOLS[:6]:
            key = encoding.key(Alphabet.open(text="exact"), given)
            occupied = [encoding.encode(cohort, key) for cohort in range(cohorts)]
            shape = {"seed": SEEDS[1].hex(), "cells": cells, "cohorts": cohorts, "hashes": hashes}
            found.append(shape | {"symbol": symbol_to_json(given), "occupied": occupied})
    return found


def permuted_cells() -> list[object]:
    found: list[object] = []
    for size, cells, cohorts, hashes in ((2, 2, 3, 1), (10, 3, 2, 1), (17, 5, 2, 2), (300, 8, 2, 3)):
        encoding = Permuted(size, cells, cohorts, hashes, SEEDS[2])
        occupied = [[encoding.encode(cohort, position) for position in range(size)] for cohort in range(cohorts)]
        shape = {"seed": SEEDS[2].hex(), "symbols": size, "cells": cells, "cohorts": cohorts, "hashes": hashes}
        found.append(shape | {"occupied": occupied})
    return found


def prefix_cells() -> list[object]:
    """Each text in every cohort of a few encodings."""
    found: list[object] = []
    for cells, levels in ((8, ((1, 2), (2, 2), (4, 2))), (5, ((3, 3),)), (1 << 24, ((2, 1), (64, 2)))):
        encoding = Prefixes(cells, levels, "cut", SEEDS[1])
        for given in [*WRITTEN, "cafe\u0301", "\u0130"]:
            key = encoding.key(Alphabet.open(), given)
            occupied = [encoding.encode(cohort, key)[0] for cohort in range(encoding.cohorts)]
            shape = {"seed": SEEDS[1].hex(), "cells": cells, "levels": levels, "overlong": "cut"}
            found.append(shape | {"symbol": given, "occupied": occupied})
    return found


def permutations() -> list[object]:
    found: list[object] = []
    for size in SIZES:
        for key in KEYS:
            image = [permute(key, size, x) for x in range(size)]
            digest = hashlib.sha256(b"".join(x.to_bytes(4, "little") for x in image)).hexdigest()
            found.append({"key": str(key), "size": size, "first": image[:32], "sha256": digest})
    return found


def thresholds() -> list[object]:
    found: list[object] = []
    for epsilon in ("0.001", "0.1", "1/3", "1", "2.5", "10", "20"):
        for mechanism in (KRR(2, epsilon), KRR(10, epsilon), KRR(4096, epsilon)):
            shape = {"kind": "krr", "epsilon": epsilon, "cells": mechanism.cells}
            found.append(shape | {name: str(value) for name, value in mechanism.thresholds().items()})
        for distance in (2, 4, 5):
            flips = BitFlip(5, epsilon, distance)
            shape = {"kind": "bitflip", "epsilon": epsilon_text(flips.epsilon), "cells": 5, "distance": distance}
            found.append(shape | {"flip": str(flips.flip)})
    return found


def numbers() -> list[object]:
    """Doubles (as their eight bytes, most significant first) and the bin of each; none where it is refused."""
    found: list[object] = []
    for scale in SCALES:
        edges = [
            near for edge in scale.edges for near in (edge, math.nextafter(edge, -9e99), math.nextafter(edge, 9e99))
        ]
        words = DerivedEntropy(bytes(32), repr(scale).encode()).words(64)
        drawn = [struct.unpack(">d", word.to_bytes(8, "big"))[0] for word in words]
        span = scale.edges[-1] - scale.edges[0]
        inside = [scale.edges[0] + span * (word / 2**64 * 1.2 - 0.1) for word in words]
        ends = [
            near
            for end in map(float, (scale.low, scale.high))
            for near in (end, math.nextafter(end, -9e99), math.nextafter(end, 9e99))
        ]
        given = edges[:90] + ends + drawn + inside + [0.0, -0.0, 5e-324, 1.7e308, math.inf, -math.inf, math.nan]
        bins: list[int | None] = []
        for number in given:
            try:
                bins.append(scale.bin(number))
            except dn.AlphabetError:
                bins.append(None)
        names = [scale.names[0], scale.names[-1]]
        shape = {"alphabet": scale.to_json(), "names": names}
        found.append(shape | {"numbers": [struct.pack(">d", number).hex() for number in given], "bins": bins})
    return found


def surveys() -> list[object]:
    return [{"title": title, "text": s.to_json(), "digest": s.digest} for title, s in presets().items()]


def second_words(survey: dn.Survey, label: str, edge: int) -> list[int]:
    """Words for the second stage of a chain, one of them an edge of its thresholds; none where there is one stage."""
    if not isinstance(survey.mechanism, Chain):
        return []
    drawn = DerivedEntropy(bytes(32), f"{label} again".encode()).words(survey.cells)
    if isinstance(survey.mechanism.permanent, BitFlip):
        return [*drawn[1:], edge]
    others = 0 if survey.mechanism.one_column else survey.mechanism.hits or 0
    return [drawn[0] if edge % 2 else edge, *drawn[1 : 1 + others]]


def always() -> dict[str, dn.Survey]:
    """The surveys that a device may answer in any window: `turns` is about the others."""
    return {title: survey for title, survey in presets().items() if survey.every == 1}


def reports() -> list[object]:
    """Fresh noise from given words: the first is for the cohort (again if it is refused), the rest for the answer."""
    found: list[object] = []
    for title, survey in always().items():
        answers = [canonical_symbol(s) for s in answers_of(survey)]
        answers = answers[: 3 if survey.alphabet.text == "exact" and answers != WRITTEN else None]
        edges = [0, *survey.mechanism.thresholds().values(), 2**64 - 1]
        if isinstance(survey.mechanism, Channel):  # where the columns of some answers begin
            edges += [survey.mechanism.edge(x, y) for x in (0, 1, survey.cells - 1) for y in (1, 2, survey.columns - 1)]
        for number, edge in enumerate(sorted({min(max(e + d, 0), 2**64 - 1) for e in edges for d in (-1, 0)})):
            drawn = DerivedEntropy(bytes(32), f"{title} {number}".encode()).words(survey.cells)
            words = [drawn[-1] % survey.cohorts, edge]
            if isinstance(survey.mechanism.permanent, BitFlip):
                words += drawn[: survey.cells - 1]
            if isinstance(survey.mechanism.permanent, Subset):
                words += drawn[: survey.mechanism.permanent.size]
            words += second_words(survey, f"{title} {number}", edge)
            if 2**64 % survey.cohorts:
                words.insert(0, 2**64 - 1)  # at or past the largest multiple of the cohorts: drawn again
            with ScriptedEntropy(64, words) as entropy:
                answer = answers[number % len(answers)]
                report = dn.Client(survey, memoize=False, entropy=entropy).report(answer)
            shape = {"survey": title, "words": [str(word) for word in words], "symbol": symbol_to_json(answer)}
            found.append(shape | {"report": report.pack().hex()})
    return found


def permanent() -> list[object]:
    """Memoised answers: a device secret and a cohort give these bytes for ever (on these words, in a chain)."""
    found: list[object] = []
    for title, survey in always().items():
        for number, answer in enumerate(answers_of(survey)[:2]):
            client = dn.Client(survey)
            secret = hashlib.sha256(f"{title} {number}".encode()).digest()
            client._cohort, client._secret = number % survey.cohorts, secret
            shape: dict[str, object] = {"survey": title, "secret": secret.hex(), "cohort": client.cohort}
            words = second_words(survey, title, 2**64 - 1 - number)
            if words:  # each report of a chain draws fresh words for its second stage
                shape["words"] = [str(word) for word in words]
            with ScriptedEntropy(64, words) as client._entropy:
                found.append(shape | {"symbol": symbol_to_json(answer), "report": client.report(answer).pack().hex()})
    return found


def turns() -> list[object]:
    """Devices that take turns: the words of their cohort and turn, when they are refused, and their reports."""
    found: list[object] = []
    start, now = 497_160, time.time  # 2026-09-18T00:00Z, in hours
    for title, survey in presets().items():
        if survey.every == 1:
            continue
        size = WINDOWS[survey.window or "day"]
        for number in range(4):
            drawn = DerivedEntropy(bytes(32), f"{title} {number} turn".encode()).words(8)
            joins = [drawn[0] // survey.cohorts * survey.cohorts, drawn[1]]
            if number == 0:  # at or past the largest multiple of the windows: drawn again
                joins.insert(1, 2**64 - 1)
            asked = [start + size * step // 2 for step in range(4 * survey.every)]
            words, answers, outcomes = list(drawn[2:]), answers_of(survey), list[str]()
            with ScriptedEntropy(64, joins) as entropy:
                client = dn.Client(survey, memoize=False, entropy=entropy)
                for step, hour in enumerate(asked):
                    time.time = lambda hour=hour: 3600.0 * hour  # type: ignore[misc]
                    try:
                        entropy.load(words[:1])
                        outcomes.append(client.report(answers[step % len(answers)]).pack().hex())
                        words = words[1:]
                    except dn.ParticipationError as problem:
                        entropy.word()  # it was not used
                        outcomes.append(str(problem).removesuffix("Z")[-16:] + "Z")
                    finally:
                        time.time = now
            shape: dict[str, object] = {
                "survey": title,
                "words": [str(word) for word in (*joins, *drawn[2 : 8 - len(words)])],
            }
            shape |= {"hours": asked, "symbols": [symbol_to_json(answers[i % len(answers)]) for i in range(len(asked))]}
            found.append(shape | {"outcomes": outcomes})
    return found


def sequences() -> list[object]:
    """Devices whose answers change: a permanent response for each cell, and fresh words for each second stage."""
    found: list[object] = []
    for title, survey in presets().items():
        if survey.encoding.own_cells or survey.encoding.occupied != 1 or survey.window:
            continue
        answers = [*(survey.symbols or [f"answer {i}" for i in range(40)])]
        for cohort in sorted({0, survey.cohorts - 1}):
            # Of every cell the first two answers, if it has two: they share their permanent response.
            by_cell: dict[tuple[int, ...], list[str | int | bytes]] = {}
            for answer in answers:
                by_cell.setdefault(survey.encode(cohort, answer), []).append(answer)
            shared = sorted(by_cell.items(), key=lambda item: (-min(len(item[1]), 2), item[0]))[:2]
            asked = [answer for _, group in shared for answer in group[:2]]
            asked += asked[:1]
            client = dn.Client(survey)
            secret = hashlib.sha256(f"{title} {cohort} sequence".encode()).digest()
            client._cohort, client._secret = cohort, secret
            words = [second_words(survey, f"{title} {step}", 1) for step in range(len(asked))]
            with ScriptedEntropy(64, [word for each in words for word in each]) as client._entropy:
                sent = [client.report(answer).pack().hex() for answer in asked]
            shape = {"survey": title, "secret": secret.hex(), "cohort": cohort}
            shape |= {"words": [str(word) for each in words for word in each]}
            found.append(shape | {"symbols": [symbol_to_json(answer) for answer in asked], "reports": sent})
    return found


def build() -> dict[str, str]:
    """Every file's name and text."""
    good = [
        symbols,
        folding,
        fingerprints,
        hashed_cells,
        permuted_cells,
        permutations,
        prefix_cells,
        thresholds,
        numbers,
        surveys,
        reports,
        permanent,
        sequences,
        turns,
    ]
    tables: dict[str, list[object]] = {part.__name__: part() for part in good}
    tables |= {"bad_surveys": bad_surveys(presets()), "bad_reports": bad_reports(presets())}
    tables |= forms.tables()
    return {
        f"{name}.json": "[\n" + ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows) + "\n]\n"
        for name, rows in tables.items()
    }


if __name__ == "__main__":
    for name, text in build().items():
        (FOLDER / name).write_text(text, encoding="ascii")

"""The code agrees with the golden files, and so does a second implementation that shares nothing with it."""

import hashlib
import json
import struct
import unicodedata
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import deniable as dn
from deniable.mechanisms import KRR, BitFlip
from deniable.survey.alphabet import Alphabet, canonical_symbol, symbol_bytes, symbol_to_json
from deniable.survey.encodings import Hashed, Permuted
from deniable.survey.folding import fold
from deniable.survey.hashing import fingerprint, permute
from deniable.survey.prefixes import Prefixes
from deniable.survey.scale import scale_of
from tests.exact.scripted import ScriptedEntropy
from tests.vectors import make, reference

FOLDER = Path(__file__).parent
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    found = json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))
    assert isinstance(found, list)
    assert found
    return found


TEXTS = {row["title"]: row["text"] for row in rows("surveys")}


def test_files_are_what_make_writes() -> None:
    built = make.build()
    assert {path.name for path in FOLDER.glob("*.json")} == set(built)
    for name, text in built.items():
        assert (FOLDER / name).read_text(encoding="ascii") == text, f"{name} changed: that is a new format version"


def test_symbols() -> None:
    for row in rows("symbols"):
        symbol = canonical_symbol(reference.value_of(row["given"]))
        assert symbol_to_json(symbol) == row["canonical"]
        assert symbol_bytes(symbol).hex() == row["bytes"]
        assert reference.message(reference.value_of(row["given"])).hex() == row["bytes"]


def test_folding() -> None:
    for row in rows("folding"):
        assert fold(row["given"]) == row["folded"]
        assert reference.folded(row["given"]) == row["folded"]


@pytest.mark.slow
def test_every_code_point_that_is_not_in_the_folding_vectors_stays_as_it_is() -> None:
    """Both implementations, on all of Unicode: what a third client must agree with is all in the file."""
    listed = {letter for row in rows("folding") for letter in row["given"].split("|") if len(letter) == 1}
    for code in range(0x110000):
        letter = chr(code)
        if 0xD800 <= code < 0xE000:
            continue
        found = fold(letter)
        assert reference.folded(letter) == found, hex(code)
        assert letter in listed or found == unicodedata.normalize("NFC", letter), hex(code)
    assert len(listed) > 1400


def test_fingerprints() -> None:
    for row in rows("fingerprints"):
        seed, data = bytes.fromhex(row["seed"]), bytes.fromhex(row["bytes"])
        assert str(fingerprint(seed, data)) == row["fingerprint"]
        assert str(reference.fingerprint(seed, data)) == row["fingerprint"]


def test_hashed_cells() -> None:
    for row in rows("hashed_cells"):
        encoding = Hashed(row["cells"], row["cohorts"], row["hashes"], bytes.fromhex(row["seed"]))
        symbol = reference.value_of(row["symbol"])
        key = encoding.key(Alphabet.open(text="exact"), symbol)
        fields = {"encoding": row | {"kind": "hashed"}, "alphabet": {"kind": "open"}}
        for cohort, cells in enumerate(row["occupied"]):
            assert list(encoding.encode(cohort, key)) == cells
            assert reference.occupied(fields, cohort, symbol) == cells


def test_permuted_cells() -> None:
    for row in rows("permuted_cells"):
        sizes = (row["symbols"], row["cells"], row["cohorts"], row["hashes"])
        encoding = Permuted(*sizes, bytes.fromhex(row["seed"]))
        root = reference.fingerprint(bytes.fromhex(row["seed"]), b"permutations")
        for cohort, answers in enumerate(row["occupied"]):
            streams = [reference.splitmix(root, cohort * row["hashes"] + j) for j in range(row["hashes"])]
            images = [reference.permutation(key, row["symbols"]) for key in streams]
            for position, cells in enumerate(answers):
                assert list(encoding.encode(cohort, position)) == cells
                assert sorted({image[position] % row["cells"] for image in images}) == cells


def test_prefix_cells() -> None:
    for row in rows("prefix_cells"):
        encoding = Prefixes(row["cells"], row["levels"], row["overlong"], bytes.fromhex(row["seed"]))
        key = encoding.key(Alphabet.open(), row["symbol"])
        fields = {"encoding": row | {"kind": "prefixes"}, "alphabet": {"kind": "open", "text": "folded"}}
        for cohort, cell in enumerate(row["occupied"]):
            assert encoding.encode(cohort, key) == (cell,)
            assert reference.occupied(fields, cohort, row["symbol"]) == [cell]


def test_permutations() -> None:
    assert {row["size"] for row in rows("permutations")} == {2, 3, 5, 17, 256, 300, 4097}
    for row in rows("permutations"):
        key, size = int(row["key"]), row["size"]
        image = [permute(key, size, x) for x in range(size)]
        assert image == reference.permutation(key, size)
        assert image[:32] == row["first"]
        assert hashlib.sha256(b"".join(x.to_bytes(4, "little") for x in image)).hexdigest() == row["sha256"]


def test_thresholds() -> None:
    for row in rows("thresholds"):
        epsilon = Fraction(row["epsilon"])
        if row["kind"] == "krr":
            weight = reference.other_weight(epsilon, row["cells"])
            assert KRR(row["cells"], epsilon).thresholds() == {"keep": int(row["keep"]), "other": int(row["other"])}
            assert (int(row["keep"]), int(row["other"])) == (2**64 - (row["cells"] - 1) * weight, weight)
        else:
            assert BitFlip(row["cells"], epsilon, row["distance"]).flip == int(row["flip"])
            assert reference.other_weight(epsilon / row["distance"], 2) == int(row["flip"])


def test_numbers() -> None:
    """The scale, the second implementation and the vectors put every double into the same bin."""
    for row in rows("numbers"):
        alphabet = row["alphabet"]
        scale = scale_of(
            alphabet["low"], alphabet["high"], alphabet.get("bins"), alphabet.get("step"), alphabet["outside"]
        )
        assert scale.to_json() == alphabet
        assert row["names"] == [scale.names[0], scale.names[-1]]
        assert list(scale.names) == reference.bin_names(alphabet)
        for text, place in zip(row["numbers"], row["bins"], strict=True):
            (number,) = struct.unpack(">d", bytes.fromhex(text))
            assert reference.bin_of(alphabet, number) == place
            if place is None:
                with pytest.raises(dn.AlphabetError):
                    scale.bin(number)
            else:
                assert scale.bin(number) == place


def test_surveys() -> None:
    for row in rows("surveys"):
        survey = dn.Survey.from_json(row["text"])
        assert survey.digest == row["digest"]
        assert survey.to_json() == row["text"]
        assert survey == make.presets()[row["title"]]
        fields = json.loads(row["text"])
        assert fields.pop("digest") == row["digest"]
        canonical = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert hashlib.sha256(canonical).hexdigest() == row["digest"]


def test_every_preset_has_vectors() -> None:
    titles = {dn.Survey.from_json(text).title for text in TEXTS.values()}
    assert titles == {
        *("uRR", "uBD", "k-RR in groups", "k-RR by budgets", "channel"),
        "W-RR",
        "k-RR",
        "k-RAPPOR",
        "O-RR",
        "O-RR (closed)",
        "O-RAPPOR",
        "O-RAPPOR (closed)",
        "OUE",
        "HR",
        "PGR",
        "SS",
        "SW",
    }
    taking_turns = {row["survey"] for row in rows("turns")}
    asked = {row["survey"] for row in rows("reports")}
    assert asked == {row["survey"] for row in rows("permanent")} == set(TEXTS) - taking_turns
    assert taking_turns == {title for title, text in TEXTS.items() if ":share=" in text}


def test_reports_from_given_words() -> None:
    for row in rows("reports"):
        text, symbol = TEXTS[row["survey"]], reference.value_of(row["symbol"])
        survey, words = dn.Survey.from_json(text), [int(word) for word in row["words"]]
        with ScriptedEntropy(64, words) as entropy:
            report = dn.Client(survey, memoize=False, entropy=entropy).report(symbol)
        assert report.pack().hex() == row["report"]
        assert dn.Report.unpack(survey, bytes.fromhex(row["report"])) == report
        assert reference.fresh_report(text, symbol, words).hex() == row["report"]


def test_permanent_reports() -> None:
    for row in rows("permanent"):
        text, symbol = TEXTS[row["survey"]], reference.value_of(row["symbol"])
        client = dn.Client(dn.Survey.from_json(text))
        secret = bytes.fromhex(row["secret"])
        words = [int(word) for word in row.get("words", [])]
        client._cohort, client._secret = row["cohort"], secret
        with ScriptedEntropy(64, words) as client._entropy:
            assert client.report(symbol).pack().hex() == row["report"]
        assert reference.permanent_report(text, symbol, row["cohort"], secret, words).hex() == row["report"]


def test_sequences_of_changing_answers() -> None:
    """One client answers all of a row; answers that share their cell share their permanent response."""
    repeats = 0
    for row in rows("sequences"):
        text, secret = TEXTS[row["survey"]], bytes.fromhex(row["secret"])
        survey, answers = dn.Survey.from_json(text), [reference.value_of(symbol) for symbol in row["symbols"]]
        client, words = dn.Client(survey), [int(word) for word in row["words"]]
        client._cohort, client._secret = row["cohort"], secret
        with ScriptedEntropy(64, words) as client._entropy:
            assert [client.report(answer).pack().hex() for answer in answers] == row["reports"]
        assert len(words) == len(answers) * survey.mechanism.twice
        for number, answer in enumerate(answers):
            fresh = [words[number]] if words else []
            sent = reference.permanent_report(text, answer, row["cohort"], secret, fresh)
            assert sent.hex() == row["reports"][number]
        cells = [survey.encode(row["cohort"], answer) for answer in answers]
        repeats += len(set(cells)) < len({*answers})
        if not words:
            assert len(set(zip(cells, row["reports"], strict=True))) == len(set(cells))
    assert repeats >= 4


def test_devices_that_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """A turn is a word that follows the cohort's; both implementations refuse the same windows and send the same."""
    turns = set()
    for row in rows("turns"):
        text, words = TEXTS[row["survey"]], [int(word) for word in row["words"]]
        kind, every = reference.turns_of(text)
        joins = 2 + (words[1] >= 2**64 - 2**64 % every)
        now = [float(row["hours"][0])]
        monkeypatch.setattr("time.time", lambda now=now: 3600 * now[0])
        with ScriptedEntropy(64, words[:joins]) as entropy:
            client = dn.Client(dn.Survey.from_json(text), memoize=False, entropy=entropy)
            entropy.load(words[joins:])
            last, left = -1, words[joins:]
            for hour, given, outcome in zip(row["hours"], row["symbols"], row["outcomes"], strict=True):
                symbol, now[0] = reference.value_of(given), float(hour)
                following = reference.following(kind, every, words[joins - 1] % every, hour, last)
                if following <= hour:
                    last = hour
                    assert reference.fresh_report(text, symbol, [words[0], left.pop(0)]).hex() == outcome
                    assert client.report(symbol).pack().hex() == outcome
                else:
                    begins = datetime.fromtimestamp(3600 * following, UTC).strftime("%Y-%m-%dT%H:%MZ")
                    with pytest.raises(dn.ParticipationError) as caught:
                        client.report(symbol)
                    assert str(caught.value).endswith(f"the next answer is taken from {begins}")
                    assert outcome == begins
        turns.add((every, words[joins - 1] % every))
    assert len(turns) >= 5


@pytest.mark.parametrize("row", rows("bad_surveys"), ids=lambda row: row["reason"][:60])
def test_bad_survey_is_refused(row: Row) -> None:
    with pytest.raises(dn.SurveyError) as caught:
        dn.Survey.from_json(row["text"])
    assert row["reason"] in str(caught.value)


@pytest.mark.parametrize("row", rows("bad_reports"), ids=lambda row: row["reason"][:60])
def test_bad_report_is_refused(row: Row) -> None:
    with pytest.raises(dn.WireError) as caught:
        dn.Report.unpack(dn.Survey.from_json(TEXTS[row["survey"]]), bytes.fromhex(row["report"]))
    assert row["reason"] in str(caught.value)

"""Python and JavaScript fold every text alike: all of Unicode, one code point at a time, and sequences that are hard.

The two have different versions of Unicode nearly always, which is the point: the fold must not depend on them.
"""

import json
import subprocess
import unicodedata
from itertools import product
from random import Random

import pytest

from deniable.errors import AlphabetError
from deniable.survey import Alphabet
from deniable.survey.alphabet import symbol_bytes
from deniable.survey.folding import _CASED, WHITE_SPACE
from tests.contracts.test_js_client import JS, node

EVERY = [chr(code) for code in range(0x110000)]
BATCH = 1 << 14


def in_javascript(texts: list[str], *form: str) -> list[str | None]:
    lines = [json.dumps(texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]
    run = subprocess.run(
        [node(), str(JS / "test" / "fold.js"), *form], input="\n".join(lines) + "\n", capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return [folded for line in run.stdout.splitlines() for folded in json.loads(line)]


def in_python(texts: list[str]) -> list[str | None]:
    alphabet, found = Alphabet.open(), list[str | None]()
    for text in texts:
        try:
            found.append(symbol_bytes(alphabet.canonical(text)).hex())
        except AlphabetError:
            found.append(None)
    return found


def differing(texts: list[str], *form: str) -> list[str]:
    pairs = zip(texts, in_python(texts), in_javascript(texts, *form), strict=True)
    return [ascii(text) for text, python, javascript in pairs if python != javascript]


@pytest.mark.slow
def test_every_code_point() -> None:
    assert differing(EVERY) == []


def test_every_code_point_between_others() -> None:
    """After i and before a dot, between blanks, in a word: where what stands beside a letter could matter."""
    old = [letter for letter in EVERY if unicodedata.category(letter) not in ("Cn", "Cs", "Co")]
    assert len(old) > 130_000
    assert differing([f"i{letter}\u0307\u0301 \u03a3{letter} " for letter in old]) == []


def test_sequences() -> None:
    ranges = [[int(end, 16) for end in part.split("-")] for part in _CASED.split()]
    cased = [chr(code) for ends in ranges for code in range(ends[0], ends[-1] + 1)]
    hard = [
        *"iIsS\u0130\u0131\u0307\u0301\u0323\u0345\u03a3\u03c2\u00df\u1e9e\u017f\u1fb3\u1e9b",
        " ",
        "\u00a0",
        "\u200b",
    ]
    random = Random("folding")
    texts = ["".join(letters) for letters in product(hard, repeat=3)]
    for _ in range(20_000):
        letters = random.choices(cased, k=4) + random.choices(hard, k=3) + random.choices(WHITE_SPACE, k=2)
        random.shuffle(letters)
        texts.append("".join(letters))
    assert differing(texts) == []


@pytest.mark.slow
def test_what_the_platforms_do_by_themselves_differs() -> None:
    """The mutant: trimmed and lower-cased by each platform. It is not the fold, nor are the two platforms alike."""
    texts = [letter for letter in EVERY if not "\ud800" <= letter <= "\udfff"] + ["\ufeffa", "a\x1f"]
    javascript = in_javascript(texts, "platform")
    python = [symbol_bytes(unicodedata.normalize("NFC", text.strip().lower())).hex() for text in texts]
    assert len([pair for pair in zip(in_python(texts), javascript, strict=True) if pair[0] != pair[1]]) > 100
    unlike = [text for text, *pair in zip(texts, python, javascript, strict=True) if pair[0] != pair[1]]
    assert set(unlike) >= {"\ufeffa", "a\x1f", "\ufeff", "\x1f", "\x85"}

"""Text is brought to NFC and no further: what looks alike but is not canonically equal stays apart."""

import unicodedata

import numpy as np
import pyarrow as pa
import pytest

import deniable as dn
from deniable.columns.stream import WordStream
from deniable.survey.alphabet import canonical_symbol, symbol_bytes
from tests.surveys import SEED

# Canonically equal to something shorter or newer: NFC changes these, to just this.
CHANGED = {
    "\u212b": "\u00c5",  # angstrom sign
    "\u2126": "\u03a9",  # ohm sign
    "A\u030a": "\u00c5",
    "s\u0323\u0307": "\u1e69",
    "s\u0307\u0323": "\u1e69",  # marks in the other order
    "\u0958": "\u0915\u093c",  # excluded from composition
}
# Only compatible with something plainer: NFKC would change these, NFC must not.
KEPT = {
    "\ufb01": "fi",  # ligature
    "\u2460": "1",  # circled digit
    "\u017f": "s",  # long s
    "\u00b2": "2",
    "\uff21": "A",  # full width
    "\u00bd": "1\u20442",
    "\u1e9b\u0323": "\u1e69",  # long s with dots: composed, but still long
}


@pytest.mark.parametrize(("given", "expected"), CHANGED.items(), ids=ascii)
def test_canonical_equals_are_one_symbol(given: str, expected: str) -> None:
    assert canonical_symbol(given) == expected
    assert symbol_bytes(canonical_symbol(given)) == b"s" + expected.encode()


@pytest.mark.parametrize(("given", "plain"), KEPT.items(), ids=ascii)
def test_compatible_text_is_kept_apart(given: str, plain: str) -> None:
    assert unicodedata.normalize("NFKC", given) == plain
    assert canonical_symbol(given) == given
    assert symbol_bytes(canonical_symbol(given)) == b"s" + given.encode()
    survey = dn.krr(symbols=[given, plain], epsilon=1)
    assert survey.symbols == (given, plain)
    assert [survey.encode(0, s) for s in (given, plain)] == [(0,), (1,)]


def test_columns_normalise_as_the_client_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WordStream, "words", lambda self, count: np.zeros(count, np.uint64))
    monkeypatch.setattr(WordStream, "passing", lambda self, count: np.zeros(count, np.uint64))
    column = [*CHANGED, *KEPT, *CHANGED.values(), *KEPT.values()]
    closed = dn.krr(symbols=sorted({*CHANGED.values(), *KEPT, *KEPT.values()}), epsilon=1)
    opened = dn.orr(epsilon=1, cells=1000, cohorts=1, seed=SEED)
    for survey in (closed, opened):
        expected = [survey.encode(0, text)[0] for text in column]
        for shape in (column, pa.array(column), pa.array(column).dictionary_encode(), np.array(column)):
            assert dn.privatize(survey, shape).responses.tolist() == expected

"""The words of a memoised answer depend on the whole cohort and the whole cell number, as documented."""

import hmac
from collections.abc import Iterator
from itertools import islice

import pytest

import deniable as dn
from tests.exact.scripted import ScriptedEntropy
from tests.forensics import watched as watched
from tests.surveys import SEED

SECRET = bytes(range(100, 132))
MANY_CELLS = dn.orr(epsilon=2, cells=1 << 17, cohorts=3, seed=SEED)
MANY_COHORTS = dn.orr(epsilon=2, cells=1 << 10, cohorts=1 << 17, seed=SEED)
APART = (0, 256, 512, 65_536, 65_536 + 256)


def device(survey: dn.Survey, cohort: int) -> dn.Client:
    client = dn.Client(survey)
    client._cohort, client._secret = cohort, SECRET
    return client


def documented(survey: dn.Survey, cohort: int, *cells: int) -> Iterator[int]:
    """HMAC-SHA-256(secret, length + label + block number), four little-endian words a block."""
    label = b"permanent" + bytes.fromhex(survey.digest)
    label += b"".join(number.to_bytes(4, "little") for number in (cohort, *cells))
    for block in range(2**64):
        data = len(label).to_bytes(8, "little") + label + block.to_bytes(8, "little")
        digest = hmac.new(SECRET, data, "sha256").digest()
        yield from (int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16, 24))


def check_report(survey: dn.Survey, cohort: int, answer: str) -> None:
    (cell,) = survey.encode(cohort, answer)
    (word,) = islice(documented(survey, cohort, cell), 1)
    expected = survey.mechanism.randomize((cell,), ScriptedEntropy(64, [word]))
    assert device(survey, cohort).report(answer).response == expected


def test_reports_of_many_cells() -> None:
    answers = [f"answer {i}" for i in range(60)]
    cells = [MANY_CELLS.encode(2, answer)[0] for answer in answers]
    assert min(cells) < 65_536 < max(cells)
    for answer in answers:
        check_report(MANY_CELLS, 2, answer)


@pytest.mark.parametrize("cohort", [0, 255, 256, 257, 65_535, 65_536, 65_537, 100_000, (1 << 17) - 1])
def test_reports_of_many_cohorts(cohort: int) -> None:
    for number in range(8):
        check_report(MANY_COHORTS, cohort, f"answer {number}")


@pytest.mark.parametrize("base", [0, 1, 255, 40_000])
def test_numbers_that_share_their_low_bytes_share_no_words(base: int) -> None:
    by_cell = [tuple(device(MANY_CELLS, 1)._permanent_words((base + step,)).words(6)) for step in APART]
    by_cohort = [tuple(device(MANY_COHORTS, base + step)._permanent_words((9,)).words(6)) for step in APART]
    assert by_cell == [tuple(islice(documented(MANY_CELLS, 1, base + step), 6)) for step in APART]
    assert by_cohort == [tuple(islice(documented(MANY_COHORTS, base + step, 9), 6)) for step in APART]
    for drawn in (by_cell, by_cohort):
        assert len({word for words in drawn for word in words}) == 6 * len(APART)

"""The device's secret: 32 bytes of randomness, all of them, in a file that no one else may touch."""

import json
import struct
from pathlib import Path

import pytest

import deniable as dn
from tests.exact.scripted import ScriptedEntropy
from tests.forensics import Watch, posix
from tests.forensics import watched as watched
from tests.surveys import SEED

WORDS = [0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x00FF00FF00FF00FF, 0x8000000000000001]
SURVEY = dn.orr(epsilon=1, cells=4, cohorts=10, seed=SEED)


@pytest.mark.parametrize("refused", [[], [2**64 - 1], [2**64 - 1, 2**64 - 6]], ids=len)
def test_secret_is_four_words_drawn_after_the_cohort(refused: list[int], tmp_path: Path) -> None:
    """Words at or past the largest multiple of ten are refused for the cohort, and never used for the secret."""
    path = tmp_path / "state.json"
    with ScriptedEntropy(64, [*refused, 7, *WORDS]) as entropy:
        client = dn.Client(SURVEY, state=path, entropy=entropy)
    assert client.cohort == 7
    assert client._secret == b"".join(word.to_bytes(8, "little") for word in WORDS)
    assert json.loads(path.read_text())["secret"] == client._secret.hex()
    with ScriptedEntropy(64, [*refused, 7, *WORDS]) as entropy:
        assert dn.Client(SURVEY, entropy=entropy)._secret == client._secret


def test_every_part_of_the_secret_is_random() -> None:
    secrets = [dn.Client(SURVEY)._secret for _ in range(50)]
    parts = [part for secret in secrets if secret is not None for part in struct.unpack("<4Q", secret)]
    assert len(parts) == len(set(parts)) == 200
    for place in range(32):  # by chance: 32 places, 256**-49 each
        assert len({secret[place] for secret in secrets if secret is not None}) > 1


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o660, 0o666], ids=oct)
def test_a_state_that_others_can_touch_is_refused(mode: int, tmp_path: Path, watched: Watch) -> None:
    watched.shared = True
    path = tmp_path / "state.json"
    dn.Client(SURVEY, state=path)
    before = path.read_bytes()
    path.chmod(mode)
    with pytest.raises(dn.StateError, match="must be readable by its owner only"):
        dn.Client(SURVEY, state=path)
    assert path.read_bytes() == before


@posix
@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700], ids=oct)
def test_a_state_that_is_the_owners_alone_is_read(mode: int, tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    client = dn.Client(SURVEY, state=path)
    path.chmod(mode)
    assert dn.Client(SURVEY, state=path)._secret == client._secret

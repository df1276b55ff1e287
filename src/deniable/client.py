"""The respondent's side: one device, one cohort, randomised answers. Standard library only.

    client = Client(survey)                     in memory; the same answer again gives the same bytes
    client = Client(survey, state="me.json")    the cohort and the device secret survive a restart
    client = Client(survey, memoize=False)      one-shot use: fresh noise every time

Fresh noise on an unchanged answer wears the protection away (at epsilon 1 and ten symbols, 90 daily reports name the
answer with probability 0.97), so answers are memoised by default: the words that randomise an answer are derived from
a secret that never leaves the device, the survey and the answer's cells, so repeating it repeats the bytes. No answer,
and nothing from which one could be read, is kept: not in the state file, an attribute, a log or an error.
"""

import contextlib
import hmac
import json
import os
import struct
from pathlib import Path
from typing import NoReturn

from deniable.errors import StateError
from deniable.noise import DerivedEntropy, Entropy, OsEntropy
from deniable.reports import Report
from deniable.survey import Survey, write_atomically

__all__ = ["Client"]

_STATE = "deniable-client/1"


class Client:
    """One respondent of one survey.

    `entropy` is for tests and for platforms with their own randomness; it must give fresh, uniform 64-bit words.

    >>> import deniable as dn
    >>> client = dn.Client(dn.warner(epsilon=1.0))
    >>> client
    <Client of survey 18ca4d86, cohort 0 of 1, memoised in memory only>
    >>> client.report("yes") == client.report("yes")
    True
    """

    __slots__ = ("_cohort", "_entropy", "_mechanism", "_payload_bytes", "_secret", "_state", "_survey")

    def __init__(
        self,
        survey: Survey,
        *,
        state: str | os.PathLike[str] | None = None,
        memoize: bool = True,
        entropy: Entropy | None = None,
    ) -> None:
        self._survey = survey
        self._mechanism = survey.mechanism
        self._payload_bytes = survey.mechanism.payload_bytes
        self._entropy = OsEntropy() if entropy is None else entropy
        if self._entropy.width != survey.mechanism.width:
            raise ValueError(
                f"entropy must give {survey.mechanism.width}-bit words, got {self._entropy.width}-bit words"
            )
        if (memoize or state is not None) and survey.mechanism.width != DerivedEntropy.width:
            # Wider words would hardly ever fall below the thresholds: the truth would leave unrandomised.
            raise ValueError(
                f"a memoised survey must use {DerivedEntropy.width}-bit words, got {survey.mechanism.width}-bit words; "
                "pass memoize=False"
            )
        self._state = None if state is None else Path(state)
        if self._state is None or not self._state.exists():
            self._cohort = self._entropy.uniform_below(survey.cohorts)
            if memoize or self._state is not None:
                secret = struct.pack("<4Q", *self._entropy.words(4))
            if self._state is not None:
                _write_state(self._state, survey, self._cohort, secret)
        if self._state is not None:
            # Read back even what was just written: if two processes start at once, both use what one of them wrote.
            self._cohort, secret = _read_state(self._state, survey)
        self._secret = secret if memoize else None

    @property
    def survey(self) -> Survey:
        """The survey that this client answers."""
        return self._survey

    @property
    def cohort(self) -> int:
        """Drawn once, before any answer, and kept: it travels in the clear with every report."""
        return self._cohort

    def report(self, value: object) -> Report:
        """Randomise one answer. The result is all that may leave the device.

        A value outside a closed alphabet without a catch-all raises `AlphabetError`, which never shows the value.

        Claim: the law of `report(value).pack()` is 1 / cohorts times the published channel, exactly.
        Proof: tests/exact/test_client.py::test_law_of_the_bytes_is_the_published_channel
        """
        encoding = self._survey.encoding
        cells = encoding.encode(self._cohort, encoding.key(self._survey.alphabet, value))
        entropy = self._entropy if self._secret is None else self._permanent_words(cells)
        permanent = self._mechanism.permanent.randomize(cells, entropy)
        response = self._mechanism.refresh(permanent, self._entropy)
        return Report(self._survey, self._cohort, response.to_bytes(self._payload_bytes, "little"))

    def _permanent_words(self, cells: tuple[int, ...]) -> Entropy:
        """The words for this answer on this device: HMAC(secret, survey digest, cohort, cells)."""
        assert self._secret is not None
        parts = [bytes.fromhex(self._survey.digest), *(n.to_bytes(4, "little") for n in (self._cohort, *cells))]
        return DerivedEntropy(self._secret, b"permanent" + b"".join(parts))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client is one device and holds its secret: it must not be pickled or copied")

    def __repr__(self) -> str:
        kept = "not memoised" if self._secret is None else "memoised"
        if self._state is not None:
            kept += f", state in {self._state}"
        elif self._secret is not None:
            kept += " in memory only"
        whose = f"survey {self._survey.digest[:8]}, cohort {self._cohort} of {self._survey.cohorts}"
        return f"<Client of {whose}, {kept}>"


def _write_state(path: Path, survey: Survey, cohort: int, secret: bytes) -> None:
    fields = {"format": _STATE, "survey": survey.digest, "cohort": cohort, "secret": secret.hex()}
    # The check catches damage, not forgery: whoever can write this file is the device.
    fields["check"] = _checksum(fields)
    with contextlib.suppress(FileExistsError):
        write_atomically(path, json.dumps(fields, sort_keys=True).encode() + b"\n", mode=0o600, replace=False)


def _checksum(fields: dict[str, object]) -> str:
    return hmac.digest(b"deniable client state", json.dumps(fields, sort_keys=True).encode(), "sha256").hex()


def _read_state(path: Path, survey: Survey) -> tuple[int, bytes]:
    # Raised here and not inside a handler: a JSONDecodeError holds the text it read, device secret included.
    found = _parse_state(path.read_bytes())
    if found is not None and found[0] != survey.digest:
        raise StateError(
            f"client state {path} is for survey {found[0][:8]}, not {survey.digest[:8]}; use one file a survey"
        )
    if found is None or not 0 <= found[1] < survey.cohorts or len(found[2]) != 32:
        raise StateError(
            f"client state {path} is damaged or not a client's state; "
            "restore it, or delete it and accept that earlier reports and new ones can be combined"
        )
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise StateError(f"client state {path} must be readable by its owner only; run chmod 600 on it")
    return found[1], found[2]


def _parse_state(data: bytes) -> tuple[str, int, bytes] | None:
    """The survey's digest, the cohort and the secret, or None if the file is damaged."""
    try:
        fields = json.loads(data)
        check = fields.pop("check")
        if fields["format"] != _STATE or not hmac.compare_digest(check, _checksum(fields)):
            return None
        return str(fields["survey"]), int(fields["cohort"]), bytes.fromhex(fields["secret"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None

"""Tokens: secrets that are generated here, shown once and stored as hashes, with the quota that was used."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import astuple

from deniable.errors import StoreError
from deniable.service.database import Database, Session
from deniable.service.entries import Entry, Token, Upload
from deniable.service.seals import SEALED, insert, seal

_LEAST = 16  # characters of the administrator's secret: fewer could be guessed over the network
_COLUMNS = ", ".join(SEALED["token"])
Budget = dict[str, Token]  # the tokens of a group of uploads by hash, with what they have used so far
NO_TOKEN = Token("", 0, "upload", 0, 0, "")


def new_secret() -> str:
    """A new secret.

    Returns
    -------
    str
        256 random bits as 64 hexadecimal digits.

    Examples
    --------
    >>> len(new_secret()), new_secret() == new_secret()
    (64, False)
    """
    return secrets.token_hex(32)


def hash_of(secret: str) -> str:
    """The hash of a secret, which is stored in its place.

    Parameters
    ----------
    secret : str
        A secret with enough randomness of its own, so that a plain hash is safe.

    Returns
    -------
    str
        SHA-256, as 64 hexadecimal digits.

    Examples
    --------
    >>> hash_of("secret")[:8]
    '2bb80d53'
    """
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def same(hashed: str, secret: str) -> bool:
    """Whether a secret is the one behind a hash, in a time that does not depend on how much of it is right."""
    return hmac.compare_digest(hashed, hash_of(secret))


def one_of(hashes: Iterable[str], hashed: str) -> bool:
    """Whether a hash is among others, in a time that depends on how many there are and on nothing else.

    >>> one_of([hash_of("a"), hash_of("b")], hash_of("b")), one_of([], hash_of("b"))
    (True, False)
    """
    return sum([hmac.compare_digest(known, hashed) for known in hashes]) > 0


def check_admin(secret: str) -> str:
    """The administrator's secret, if it is long enough to be one.

    >>> check_admin("correct horse battery staple")
    'correct horse battery staple'
    """
    if len(secret) < _LEAST:
        raise StoreError(f"admin token must have at least {_LEAST} characters, got {len(secret)}")
    return secret


class Tokens:
    """The tokens of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, token: Token) -> bool:
        """Keep the hash of a secret; the secret itself is never stored. False: there is no such survey any more."""
        with self._database.writing() as session:
            self._database.share(session, [token.survey])
            if session.run("SELECT 1 FROM survey WHERE key = ?", [token.survey]).fetchone() is None:
                return False
            insert(session, "token", list(astuple(token)))
        return True

    def of(self, entry: Entry) -> list[Token]:
        """The tokens of a survey."""
        with self._database.reading() as session:
            sql = f"SELECT {_COLUMNS} FROM token WHERE survey = ? ORDER BY hash"
            return [Token(*row) for row in session.run(sql, [entry.key]).fetchall()]

    def drop(self, entry: Entry, prefix: str) -> bool:
        """Revoke the token whose hash starts like this; whether there was one."""
        names = [token.hash for token in self.of(entry) if token.hash.startswith(prefix)]
        with self._database.writing() as session:
            for name in names:
                session.run("DELETE FROM token WHERE hash = ?", [name])
        return bool(names)


def read_budget(session: Session, uploads: Sequence[Upload], for_update: str) -> Budget:
    """The tokens of a group, all of them before anything is written and in one order: two collectors that wait for each
    other's tokens would wait for ever."""
    secrets = sorted({upload.token for upload in uploads if upload.token is not None})
    if not secrets:
        return {}
    marks = ", ".join("?" * len(secrets))
    sql = f"SELECT {_COLUMNS} FROM token WHERE hash IN ({marks}) ORDER BY hash{for_update}"
    return {row[0]: Token(*row) for row in session.run(sql, secrets).fetchall()}


def write_budget(session: Session, budget: Budget) -> None:
    """Write what the tokens of a group have used."""
    for name, token in budget.items():
        sql = "UPDATE token SET used = ?, seal = ? WHERE hash = ? AND used < ?"
        session.run(sql, [token.used, seal("token", *astuple(token)), name, token.used])

"""Secrets: made here, shown once, kept as hashes."""

import hashlib
import hmac
import secrets
from collections.abc import Iterable

from deniable.errors import StoreError

__all__ = ["check_admin", "hash_of", "new_secret", "one_of", "same"]

_LEAST = 16


def new_secret() -> str:
    """A fresh secret: 256 bits as text."""
    return secrets.token_hex(32)


def hash_of(secret: str) -> str:
    """What is kept of a secret. It has enough randomness of its own that a plain hash gives nothing away."""
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

"""Who may use a route: the administrator, holders of a survey's tokens, or anyone."""

from collections.abc import Awaitable, Callable
from typing import Any

from deniable.service.entries import Entry
from deniable.service.problems import RequestError
from deniable.service.routing import Route
from deniable.service.store import Store
from deniable.service.tokens import hash_of, one_of, same


class Roles:
    """Authorises requests. `find` returns a survey by its digest or raises; `read` runs a query in a thread."""

    def __init__(
        self,
        admin_token: str,
        store: Store,
        read: Callable[[Callable[[], Any]], Awaitable[Any]],
        find: Callable[[str], Awaitable[Entry]],
    ) -> None:
        self._admin, self._store, self._read, self._find = hash_of(admin_token), store, read, find

    async def allow(self, route: Route, parts: dict[str, str], secret: str | None) -> tuple[Entry | None, str]:
        """The survey of the path, if whoever asks may use the route, and what they are: `admin`, `reader` or `public`.
        Who may not learns nothing else."""
        is_admin = secret is not None and same(self._admin, secret)
        if route.role == "admin" and not is_admin:
            raise _refusal(secret, "the administrator's token")
        if route.role == "owner" and not is_admin:
            owned = None if secret is None else await self._read(lambda: self._store.entry(parts["digest"]))
            if owned is None or "owner" not in await self._kinds(owned, secret):
                raise _refusal(secret, "the administrator's token or an owner token of this survey")
            return owned, "admin"
        entry = await self._find(parts["digest"]) if "digest" in parts else None
        if is_admin or entry is None or route.role != "read":
            return entry, "admin" if is_admin else "public"
        kinds = await self._kinds(entry, secret)
        # Whoever asked the question reads as the administrator does, who could: windows as they grow.
        if "owner" in kinds:
            return entry, "admin"
        if entry.rules.results != "public" and "read" not in kinds:
            raise _refusal(secret, "a read token of this survey")
        return entry, "reader" if "read" in kinds else "public"

    async def _kinds(self, entry: Entry, secret: str | None) -> set[str]:
        """What a secret is for this survey."""
        if secret is None:
            return set()
        tokens, hashed = await self._read(lambda: self._store.tokens(entry)), hash_of(secret)
        kinds = ("owner", "read")
        return {kind for kind in kinds if one_of((token.hash for token in tokens if token.kind == kind), hashed)}


def _refusal(secret: str | None, wanted: str) -> RequestError:
    if secret is None:
        return RequestError(401, "token-missing", f"this must carry {wanted} as Authorization: Bearer")
    return RequestError(403, "token-refused", f"the token must be {wanted}")

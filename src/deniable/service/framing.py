"""Which other sites may show a survey's answer page in a frame: the rule `frames`, and what browsers are told of it.

A browser refuses the frame on every other site, and by default on all: a site that could lay something over a framed
page could make people press what they do not see.
"""

import re

from deniable.errors import StoreError

_MOST = 20  # origins: what fits into a header that every server in between takes
_NAME = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
# A page that came over plain http may be anybody's on its way here; only from this computer it is not.
_ORIGIN = re.compile(
    rf"(?:https://(?:{_NAME}(?:\.{_NAME})*|\[[0-9a-f:]{{2,39}}\])|http://(?:localhost|127\.0\.0\.1|\[::1\]))(?::[1-9][0-9]{{0,4}})?"
)
_DEFAULT_PORT = re.compile(r"^(https://.*):443$|^(http://.*):80$")


def origins(given: object) -> tuple[str, ...]:
    """The rule's value: origins as browsers write them, each once.

    Parameters
    ----------
    given : object
        A JSON list of origins.

    Returns
    -------
    tuple of str
        In lower case, without a port that goes without saying.

    Raises
    ------
    StoreError
        If it is no list, is longer than a header may be, or holds something else than origins.

    Examples
    --------
    >>> origins(["https://WWW.example.org:443"])
    ('https://www.example.org',)
    """
    if not isinstance(given, list | tuple):
        raise StoreError(f"frames must be a list of origins, got {type(given).__name__}")
    if len(given) > _MOST:
        raise StoreError(f"frames must have at most {_MOST} origins, got {len(given)}")
    found: dict[str, None] = {}
    for one in given:
        text = one.lower() if isinstance(one, str) else ""
        if not _ORIGIN.fullmatch(text):
            raise StoreError(
                f"frames must be origins like https://www.example.org, got {str(one)[:60]!r}; leave out the path, and "
                "use https"
            )
        found[_DEFAULT_PORT.sub(r"\1\2", text)] = None
    return tuple(found)


def framed(policy: str, frames: tuple[str, ...]) -> str:
    """A content security policy for a page that may stand in frames of these origins, and in no others.

    Examples
    --------
    >>> framed("default-src 'none'; frame-ancestors 'none'", ("https://a.example",))
    "default-src 'none'; frame-ancestors https://a.example"
    """
    return policy.replace("frame-ancestors 'none'", f"frame-ancestors {' '.join(frames)}") if frames else policy

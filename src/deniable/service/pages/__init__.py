"""The web pages: ask, answer, results, explore, documentation. Static files of the package, and the charts' JavaScript.

Pages are the same bytes for everyone: what they show they fetch from the routes under /v1, as any other client would.
Their policy lets them load from this collector alone, and run no script but the files here.
"""

import gzip
import hashlib
import re
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import replace
from importlib.resources import files
from pathlib import PurePosixPath

from deniable.service.answers import Answer, Headers
from deniable.service.framing import framed
from deniable.service.pages.library import Library
from deniable.service.pages.site import KINDS, file_of
from deniable.service.pages.texts import section, without_scripts
from deniable.service.problems import RequestError
from deniable.service.requests import Scope, header

__all__ = ["POLICY", "Pages"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PAGES = (
    (re.compile(r"/"), "ask.html"),
    (re.compile(r"/explore"), "explore.html"),
    # Whatever is behind the slash: the page itself says that there is no such survey, and its status is 404.
    (re.compile(r"/answer/[^/]{1,200}"), "answer.html"),
    (re.compile(r"/results/[^/]{1,200}"), "results.html"),
)
_CHARTED = ("explore.html", "results.html")
_OF_SURVEY = re.compile(r"/(?:answer|results)/(.*)")
_FILE = re.compile(r"/pages/([a-z][a-z.]{0,40})")
_SHARED: Headers = [
    (b"content-security-policy", POLICY.encode()),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
    # The browser asks each time whether it still has the right bytes: after an upgrade no page meets an older script.
    (b"cache-control", b"no-cache"),
    (b"vary", b"accept-encoding"),
]
# The search of the documentation is a form that leads to another of its pages.
_DOCUMENTATION: Headers = [
    (b"content-security-policy", POLICY.replace("form-action 'none'", "form-action 'self'").encode()),
    *_SHARED[1:],
]


# What is left out of a script: comments, which are for who works on it, a seventh of an answer page; indentation and
# empty lines, a twelfth; line breaks beside brackets and after commas. No text goes over several lines, and none has
# " // " in it: tests/pages/sources.test.mjs reads each script as it is sent.
_SCRIPT = (
    (re.compile(rb"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)\n", re.DOTALL | re.MULTILINE), b""),
    (re.compile(rb" +// [^\n]*$", re.MULTILINE), b""),
    (re.compile(rb"^(?: +|\n)", re.MULTILINE), b""),
    (re.compile(rb"(?<=[\[({,;])\n|,?\n(?=[\])}])"), b""),
)
# Of a style sheet also the white space around its marks; none of ours has such a mark in a quoted text.
_STYLE = ((re.compile(rb"/\*.*?\*/\s*", re.DOTALL), b""), (re.compile(rb"\s*([{};,])\s*"), rb"\1"))


_Frames = Callable[[str], Awaitable[tuple[str, ...] | None]]


class Pages:
    """The files, read once, each with a tag and a compressed copy."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}
        self._library = Library()

    async def answer(self, scope: Scope, frames: _Frames) -> Answer[bytes] | None:
        """The page or file at a path, or None where there is none; `frames` says which sites may frame the page of a
        survey, or None where there is no such survey."""
        name = _name(scope["path"])
        if name is None:
            return None
        if name in _CHARTED:  # its scripts ask next for what draws
            self._library.start()
        if scope["method"] not in ("GET", "HEAD"):
            raise RequestError(405, "method", "method must be GET here")
        if name == "/docs":  # relative links of the site need the slash
            return Answer(308, b"", KINDS[".html"], [*_SHARED, (b"location", b"/docs/")])
        found = self._files.get(name)
        if found is None:
            made = await self._file(name)
            if made is None:
                return None
            found = self._files[name] = made
        if survey := _OF_SURVEY.fullmatch(scope["path"]):
            allowed = await frames(survey[1])
            if allowed is None:
                return replace(found.answer(header(scope, b"accept-encoding"), b""), status=404)
            if allowed and name == "answer.html":
                found = found.framed(allowed)
        return found.answer(header(scope, b"accept-encoding"), header(scope, b"if-none-match"))

    async def _file(self, name: str) -> "_File | None":
        if name.startswith("/docs/"):
            page = file_of(name.removeprefix("/docs/"))
            return None if page is None else _File(*page, _DOCUMENTATION)
        body = await self._library.file(name) or _read(name)
        return None if body is None else _File(name, body)

    def missing(self, scope: Scope) -> Answer[bytes] | None:
        """The page for an address with nothing behind it, if a person's browser asks; programs get a problem."""
        accepts = b"text/html" in header(scope, b"accept")
        if not accepts or scope["method"] not in ("GET", "HEAD") or scope["path"].startswith(("/v1/", "/pages/")):
            return None
        body = _read("missing.html")
        assert body is not None
        return Answer(404, body, KINDS[".html"], list(_SHARED))

    async def stop(self) -> None:
        """End what is still at work."""
        await self._library.stop()


def _name(path: str) -> str | None:
    if found := _FILE.fullmatch(path):
        return found[1]
    if path == "/docs" or path.startswith("/docs/"):
        return path
    return next((name for pattern, name in _PAGES if pattern.fullmatch(path)), None)


def _read(name: str) -> bytes | None:
    """A file of this folder that is meant for browsers."""
    if PurePosixPath(name).suffix not in KINDS:
        return None
    source = files("deniable.service.pages") / name
    if not source.is_file():
        return section(name)
    body = source.read_bytes()
    if name.endswith(".html"):
        return without_scripts(body)
    left_out = _STYLE if name.endswith(".css") else _SCRIPT if name.endswith(".js") else ()
    for pattern, left in left_out:
        body = pattern.sub(left, body)
    return body


class _File:
    def __init__(self, name: str, body: bytes, shared: Headers = _SHARED) -> None:
        self._shared = shared
        self._packed = gzip.compress(body, 6, mtime=0)
        self._body = body if len(body) <= 1 << 16 else None  # a large one is kept compressed only
        self._kind = KINDS[PurePosixPath(name).suffix]
        self._tag = b'"' + hashlib.sha256(body).hexdigest()[:32].encode() + b'"'

    def framed(self, frames: tuple[str, ...]) -> "_File":
        """The same page for frames of these sites; a browser that has it with another policy has another page."""
        policy = framed(POLICY, frames).encode()
        made = copy(self)
        made._shared = [(b"content-security-policy", policy), *self._shared[1:]]
        made._tag = b'"' + hashlib.sha256(self._tag + policy).hexdigest()[:32].encode() + b'"'
        return made

    def answer(self, encodings: bytes, known: bytes) -> Answer[bytes]:
        headers: Headers = [*self._shared, (b"etag", self._tag)]
        if known == self._tag:
            return Answer(304, b"", self._kind, headers)
        if b"gzip" in encodings:
            return Answer(200, self._packed, self._kind, [*headers, (b"content-encoding", b"gzip")])
        body = self._body if self._body is not None else gzip.decompress(self._packed)
        return Answer(200, body, self._kind, headers)

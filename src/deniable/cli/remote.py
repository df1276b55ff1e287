"""A client of the collector's HTTP interface, for its administrator.

The secret comes from a file and travels in a header. It is in no argument, which every user of a machine can read, and
goes to the named host alone: redirects are not followed.
"""

import http.client
import ipaddress
import json
import os
import re
import string
import sys
import urllib.error
import urllib.request
from typing import Any

from deniable.cli.files import load_survey
from deniable.cli.text import shown
from deniable.errors import DeniableError

_SECONDS = 60.0  # seconds to wait for an answer
_LONGEST = 1 << 28  # bytes that are read of an answer
_ADDRESS = re.compile(r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?(/[\x21-\x7e]*)?")


class RemoteCollector:
    """A collector, as its administrator uses it."""

    def __init__(self, url: str, token_file: str) -> None:
        self.url, self._file = url.rstrip("/"), token_file
        found = _ADDRESS.fullmatch(self.url)
        if found is None:
            raise DeniableError(f"--collector must be like http://127.0.0.1:8765 or https://host, got {url[:80]!r}")
        here = _is_here(found["host"])
        if found["scheme"] == "http" and not here:
            print(f"deniable: {self.url} is not https://, so others on the way can read the token", file=sys.stderr)
        # A collector on this machine is called without a proxy.
        proxies = [urllib.request.ProxyHandler({})] if here else []
        self._opener = urllib.request.build_opener(_Stay, *proxies)
        self._headers = {"Authorization": f"Bearer {self._secret()}", "User-Agent": "deniable"}

    def _secret(self) -> str:
        try:
            with open(self._file, encoding="utf-8") as file:
                secret = file.read(1 << 12).strip()
        except OSError as problem:
            why = (problem.strerror or str(problem)).lower()
            raise DeniableError(
                f"token file {self._file} must be readable: {why}; name the collector's admin-token with --token-file"
            ) from None
        except UnicodeDecodeError:
            secret = ""
        if not (secret and secret.isascii() and secret.isprintable()):
            raise DeniableError(f"token file {self._file} must hold one line of text, the administrator's secret")
        return secret

    def ask(self, method: str, path: str, body: object = None) -> Any:
        """The JSON that the collector answers with."""
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with self._opener.open(request, timeout=_SECONDS) as response:
                return json.loads(response.read(_LONGEST))
        except urllib.error.HTTPError as error:
            with error:
                raise self._refusal(error.code, error.read(1 << 16), path) from None
        except (OSError, http.client.HTTPException) as problem:
            why = getattr(problem, "reason", problem)
            why = (getattr(why, "strerror", None) or str(why)).lower()
            raise DeniableError(
                f"a collector must answer at {self.url}, got {why}; start it with `deniable serve`, or name another "
                "with --collector"
            ) from None
        except ValueError:
            raise self._no_collector() from None

    def _refusal(self, status: int, body: bytes, path: str) -> DeniableError:
        try:
            told = json.loads(body)
            word, detail = told["type"].rpartition(":")[2], str(told["detail"])
        except (ValueError, LookupError, TypeError, AttributeError):
            return self._no_collector(f"status {status}")
        if status in (401, 403):
            return DeniableError(
                f"token file {self._file} must hold the administrator's token of {self.url}, got one that it refuses; "
                "name another with --token-file"
            )
        if word == "unknown-survey":
            digest = path.split("/")[3][:8]
            return DeniableError(
                f"survey {digest} must be registered at {self.url}, got an unknown one; see `deniable survey list`"
            )
        return DeniableError(f"{self.url} answered {status}: {shown(detail)}")

    def _no_collector(self, got: str = "something else") -> DeniableError:
        return DeniableError(f"{self.url} must answer as a collector does, got {got}; is --collector right?")

    def surveys(self) -> list[dict[str, Any]]:
        """Every survey of the collector."""
        found: list[dict[str, Any]] = self.ask("GET", "/v1/surveys")["surveys"]
        return found

    def path_of(self, text: str) -> str:
        """The address of the survey that a file, a digest, the start of one, or its name tells."""
        digest = text.lower()
        is_hex = bool(text) and not set(digest) - set(string.hexdigits)
        if not is_hex or len(digest) != 64:
            digest = load_survey(text).digest if os.path.exists(text) or text == "-" else self._digest(text, is_hex)
        return f"/v1/surveys/{digest}"

    def _digest(self, text: str, is_hex: bool) -> str:
        """The digest that starts with this text, or that of the survey of this name. There must be exactly one."""
        surveys = self.surveys() if text else []
        starting = [one["digest"] for one in surveys if is_hex and one["digest"].startswith(text.lower())]
        named = [one["digest"] for one in surveys if one["survey"].get("name", "") == text]
        found = {*starting, *named}
        if len(found) == 1:
            return str(found.pop())
        if not found and not is_hex:
            raise DeniableError(
                "SURVEY must be a survey file, a digest, how one starts, or the name of a survey of "
                f"{self.url}, got {text[:80]!r}"
            )
        how = f"that start with {text.lower()}" if is_hex and not named else f"called {text[:80]!r}"
        raise DeniableError(
            f"SURVEY must name one survey of {self.url}, got {len(found)} {how}; see `deniable survey list`"
        )


class _Stay(urllib.request.HTTPRedirectHandler):
    """Redirects are not followed: the secret would go to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

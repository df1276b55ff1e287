"""What a client must leave nowhere, looked for in every test of one: answers, their cells, the device's secret.

    from tests.forensics import watched  # a fixture that watches every test of the module

While a test runs, everything is logged, and what the client's methods leave behind is read: log records, what was
printed, errors with all that is chained to them and the local names of their frames, files (and who may read them), and
whatever can be reached from the client and its modules. `tests/unit/client/test_forensics.py` has the clients that this
must find out. Answers of fewer than five characters are not looked for: they are everywhere.
"""

import base64
import contextlib
import gc
import json
import logging
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any

import pytest

from deniable.client import Client, delivery
from deniable.survey import Survey

__all__ = ["Watch", "leaves_of", "modes_of", "module_roots", "posix", "watched", "watching"]

SOURCE = str(Path(__file__).parents[1] / "src" / "deniable")
SHORTEST = 5  # characters or bytes of an answer that is looked for
MOST_WALKS = 20  # calls of a test after which the memory is read
posix = pytest.mark.skipif(os.name != "posix", reason="permission bits are POSIX")


class Watch:
    """What was seen: needles to look for, and findings."""

    def __init__(self, *folders: Path) -> None:
        self.folders = folders
        self.findings: list[str] = []
        self.needles: dict[str, bool] = {}  # text, and whether it is public: a symbol of a closed survey
        self.secrets: set[bytes] = set()
        self.walks = 0
        self.shared = os.name != "posix"  # whether a test makes files that others can read

    def found(self, where: str) -> None:
        self.findings.append(where)

    def learn(self, client: object, value: object = None) -> None:
        """Look for this from now on."""
        kept = getattr(client, "_memory", None)
        self.secrets |= {kept.secret} if kept is not None and kept.secret else set()
        survey: Survey | None = getattr(client, "_survey", None)
        for text in _texts(value):
            listed = survey is not None and not survey.alphabet.is_open
            self.needles[text] = self.needles.get(text, False) or listed

    def says(self, text: str, *, public: bool = True) -> bool:
        """Whether text holds an answer (with `public` also one that is a symbol) or a secret."""
        secrets = [form for secret in self.secrets for form in (secret.hex(), repr(secret)[2:-1], _base64(secret))]
        answers = [needle for needle, listed in self.needles.items() if public or not listed]
        return any(needle in text for needle in (*secrets, *answers))

    def look_at_error(self, problem: BaseException, before: BaseException | None, cells: object) -> None:
        """All that hangs on an error: its text, what is chained to it, and the local names of its frames."""
        chain, seen = [problem], set[int]()
        while chain:
            error = chain.pop()
            if id(error) in seen or error is before:
                continue
            seen.add(id(error))
            chain += [e for e in (error.__context__, error.__cause__) if e is not None]
            if self.says(f"{error!r} {error} {error.args!r} {getattr(error, '__notes__', '')}"):
                self.found("an error")
            link = error.__traceback__
            while link is not None:
                if "tests" not in link.tb_frame.f_code.co_filename:
                    self._look_at_frame(link.tb_frame, cells)
                link = link.tb_next

    def _look_at_frame(self, frame: FrameType, cells: object) -> None:
        for name, local in list(frame.f_locals.items()):
            try:
                text = repr(local)
            except Exception:  # a value whose own methods fail
                text = ""
            if self.says(text) or (cells is not None and local == cells and type(local) is type(cells)):
                self.found(f"the local name {name} of {frame.f_code.co_name}")

    def look_at_files(self) -> None:
        for path in (path for folder in self.folders for path in _files(folder)):
            try:
                data, mode = path.read_bytes(), path.stat().st_mode
            except OSError:
                continue
            text = data.decode("utf-8", "replace")
            secret = any(s in data or s.hex() in text for s in self.secrets)
            if any(needle in text for needle, listed in self.needles.items() if not listed):
                self.found(f"the file {path.name}")
            if secret and stat.S_IMODE(mode) & 0o077 and not self.shared:
                self.found(f"the mode of {path.name}")
            if secret and not path.name.endswith((".json", ".json.new")):
                self.found(f"a secret in the file {path.name}")

    def look_at_memory(self, *roots: object) -> None:
        """Whatever can be reached from these objects, without surveys and the tests themselves."""
        hunted = [needle for needle, listed in self.needles.items() if not listed]
        if not hunted:  # the walk would find nothing, and walks are most of the time of these tests
            return
        leaves = (one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in leaves_of(*roots))
        text = "\0".join(leaves)
        if any(needle in text for needle in hunted):
            self.found("the memory")

    def look_at_modules(self) -> None:
        self.look_at_memory(*module_roots())


def module_roots() -> list[object]:
    """What outlives a client in this process: the names of the modules that see answers, and what children inherit."""
    rooms = ("client", "survey", "noise", "mechanisms", "reports", "errors")
    modules = [m for name, m in sys.modules.items() if name.startswith(tuple(f"deniable.{room}" for room in rooms))]
    named = [item for module in modules for item in vars(module).items()]
    return [*(value for name, value in named if name not in _UNREAD), dict(os.environ)]


_UNREAD = {"__doc__", "__builtins__", "__annotations__"}


def leaves_of(*roots: object) -> Iterator[str | bytes | int]:
    """Every text and number that can be reached, once for each place it stands in; of classes only ours are read."""
    stack, seen = list(roots), set[int]()
    while stack:
        one = stack.pop()
        if isinstance(one, (str, bytes, int)):
            yield one
            continue
        if id(one) in seen or isinstance(one, (ModuleType, Survey, FrameType)):
            continue
        seen.add(id(one))
        if isinstance(one, type):
            if one.__module__.startswith("deniable."):
                stack += [value for name, value in vars(one).items() if name not in _UNREAD]
        elif isinstance(one, FunctionType):
            if not one.__module__.startswith("tests"):
                held = [cell for cell in one.__closure__ or () if cell != type(cell)()]
                stack += [cell.cell_contents for cell in held]
                stack += [kept for kept in (one.__defaults__, one.__kwdefaults__, one.__dict__) if kept]
        else:
            stack += gc.get_referents(one)


def _texts(value: object) -> list[str]:
    """An answer as text, and as it may stand in a file."""
    if isinstance(value, bytes):
        data, plain = value, value.decode("utf-8", "replace")
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        plain = str(value)
        data = plain.encode("utf-8", "surrogatepass")
    else:
        return []
    if len(data) < SHORTEST or "\N{REPLACEMENT CHARACTER}" in plain:
        return []
    return [plain, json.dumps(plain)[1:-1], data.hex(), _base64(data).rstrip("=")[:-1]]


def _files(folder: Path) -> Iterator[Path]:
    """What this user may see."""
    for here, _, names in os.walk(folder):
        yield from (path for name in names if not (path := Path(here, name)).is_symlink())


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@contextlib.contextmanager
def watching(folder: Path) -> Iterator[Watch]:
    """Watch every client of this process; `folder` is where its files are."""
    with tempfile.TemporaryDirectory() as spare, pytest.MonkeyPatch.context() as patch:
        os.chmod(spare, 0o777)  # some tests are another user for a while
        watch = Watch(folder, Path(spare))
        patch.setattr(tempfile, "tempdir", spare)
        _watch_logs(watch, patch)
        _watch_methods(watch, patch)
        yield watch
        watch.look_at_files()
        watch.look_at_modules()


def _watch_logs(watch: Watch, patch: pytest.MonkeyPatch) -> None:
    make = logging.getLogRecordFactory()

    def record(*given: Any, **more: Any) -> logging.LogRecord:
        made = make(*given, **more)
        # A client has nothing to say, whatever the level is.
        if made.pathname.startswith(SOURCE) or watch.says(f"{made.getMessage()} {made.args!r} {made.exc_info!r}"):
            watch.found("a log")
        return made

    audit = sys.audit

    def auditing(event: str, *given: Any) -> None:
        """Hooks that a program or its host has set see what is told here."""
        if watch.says(f"{event} {given!r}"):
            watch.found("an audit event")
        audit(event, *given)

    patch.setattr(sys, "audit", auditing)
    patch.setattr(logging, "_logRecordFactory", record)
    patch.setattr(logging.Logger, "isEnabledFor", lambda *_: True)


def _watch_methods(watch: Watch, patch: pytest.MonkeyPatch) -> None:
    """Read what each call of a client leaves behind."""
    for name in ("__init__", "report", "queue", "send", "status"):
        patch.setattr(Client, name, _watched_method(watch, name, getattr(Client, name)))
    post = delivery._post

    def posting(*given: Any) -> Any:
        watch.look_at_modules()
        return post(*given)

    patch.setattr(delivery, "_post", posting)


def _watched_method(watch: Watch, name: str, real: Any) -> Any:
    def call(self: Client, *given: Any, **more: Any) -> Any:
        before = sys.exception()
        answers = name in ("report", "queue")
        watch.learn(self, given[0] if answers and given else None)
        try:
            return real(self, *given, **more)
        except BaseException as problem:
            cells = None
            if answers:
                with contextlib.suppress(Exception):
                    cells = self._survey.encode(self._cohort, given[0])
            watch.look_at_error(problem, before, cells)
            raise
        finally:
            watch.learn(self)
            watch.walks += 1
            if watch.walks <= MOST_WALKS:
                watch.look_at_files()
                watch.look_at_memory(self)
                if watch.says(repr(self) if hasattr(self, "_secret") else "", public=False):
                    watch.found("the repr")

    return call


@pytest.fixture(autouse=True)
def watched(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Iterator[Watch]:
    """Every test of the module that imports this one is watched; nothing may be found, and nothing printed."""
    with watching(tmp_path) as watch:
        yield watch
    printed = capfd.readouterr()
    if watch.says(printed.out + printed.err):
        watch.found("the output")
    assert not watch.findings, set(watch.findings)


@contextlib.contextmanager
def modes_of(folder: Path) -> Iterator[set[tuple[str, int]]]:
    """The name and mode of every file of the folder after every single call, with a umask that allows everything."""
    seen = set[tuple[str, int]]()

    def look(_: FrameType, event: str, __: object) -> None:
        if event == "c_return":
            with contextlib.suppress(FileNotFoundError):
                seen.update((e.name, stat.S_IMODE(e.stat(follow_symlinks=False).st_mode)) for e in os.scandir(folder))

    umask = os.umask(0)
    sys.setprofile(look)
    try:
        yield seen
    finally:
        sys.setprofile(None)
        os.umask(umask)

"""`deniable doctor`: what is installed, what is missing and how to get it, and whether this machine is fit."""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from deniable.cli.parser import Commands, command
from deniable.cli.text import table
from deniable.errors import EXTRAS, is_installed

OLDEST = (3, 11)  # the Python that this package needs
ROOM = 1 << 30  # bytes: a collector's ids of 10^7 reports and their write-ahead log
JAVA = 17  # what Spark 4 needs
NODE = 18  # what the JavaScript client needs
RELEASED = 1_767_225_600  # seconds: 2026-01-01, before which this version did not exist
SAMPLE = 4096  # random bytes; that two of them repeat a block of 16 bytes has a chance below 2^-100
SECONDS = 20.0  # for a program to print its version

# Names to install by, where they differ from those that are imported.
_PROJECTS = {"vl_convert": "vl-convert-python"}
# Without these nothing works, or privacy does not hold; what else is missing is a matter of choice.
_VITAL = ("python", "randomness", "clock", "disk")


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report: `state` is ok, missing or bad; `advice` is a command or a sentence, or empty."""

    name: str
    state: str
    detail: str
    advice: str = ""


def add(commands: Commands) -> None:
    parser = command(
        commands,
        "doctor",
        _run,
        help="say what is installed, what is missing, and whether this machine is fit",
        description=(
            "Look at this installation and this machine: Python, the packages of every extra, Java, Node, the\n"
            "documentation, and whether clock, randomness and disk are fit. Nothing is sent anywhere.\n\n"
            "Exit code 0: what is there works. 1: something that privacy or the collector rests on is not fit.\n"
            "What is not installed is no fault."
        ),
    )
    parser.json("a table")


def _run(args: argparse.Namespace) -> int:
    found = list(findings())
    fit = all(one.state == "ok" for one in found if one.name in _VITAL)
    if args.json:
        print(json.dumps({"fit": fit, "findings": [asdict(one) for one in found]}, indent=2))
    else:
        print(table(["part", "state", "detail"], [[one.name, one.state, one.detail] for one in found], "lll"))
        advice = [f"{one.name}: {one.advice}" for one in found if one.advice]
        print(
            "", *advice, *([""] if advice else []), "fit to use" if fit else "not fit: see what is bad above", sep="\n"
        )
    return 0 if fit else 1


def findings() -> Iterator[Check]:
    """Everything that was looked at, in the order of the report."""
    yield _python()
    told: set[str] = set()
    for extra, packages in EXTRAS.items():
        yield _extra(extra, [package for package in packages if package not in told])
        told.update(packages)
    yield _program("java", ["java", "-version"], JAVA, "Spark", "apt-get install openjdk-17-jre-headless")
    yield _program("node", ["node", "--version"], NODE, "the JavaScript client in Node", "apt-get install nodejs")
    yield _documentation()
    yield _randomness()
    yield _clock()
    yield _disk()


def _python() -> Check:
    from deniable import __version__

    detail = f"{platform.python_version()}, deniable {__version__}, {platform.system()} {platform.machine()}"
    if sys.version_info[:2] < OLDEST:
        return Check("python", "bad", detail, "install Python 3.11 or newer")
    return Check("python", "ok", detail)


def _extra(name: str, new: Sequence[str]) -> Check:
    """An extra of pyproject.toml; `new` are its packages that no line above has named."""
    lacks = [package for package in EXTRAS[name] if not is_installed(package)]
    if lacks:
        return Check(name, "missing", f"lacks {', '.join(lacks)}", f"pip install 'deniable[{name}]'")
    return Check(name, "ok", ", ".join(f"{package} {_version(package)}" for package in new))


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(_PROJECTS.get(package, package))
    except PackageNotFoundError:
        return "of unknown version"


def _program(name: str, command: list[str], least: int, purpose: str, install: str) -> Check:
    """A program by the first number that it prints of its version."""
    import subprocess

    if shutil.which(command[0]) is None:
        return Check(name, "missing", f"{purpose} needs it, version {least} or newer", install)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return Check(name, "missing", "does not run", install)
    said = (done.stdout + done.stderr).strip().partition("\n")[0]
    digits = "".join(letter if letter.isdigit() else " " for letter in said).split()
    if done.returncode or not digits or int(digits[0]) < least:
        return Check(name, "missing", f"{purpose} needs version {least} or newer, found {said[:60]!r}", install)
    return Check(name, "ok", said)


def _documentation() -> Check:
    import deniable

    if (Path(deniable.__file__).parent / "service" / "site" / "index.html").is_file():
        return Check("documentation", "ok", "deniable serve has it at /docs")
    return Check("documentation", "missing", "was not built into this installation", "make docs, in the repository")


def _randomness() -> Check:
    """What can be seen from here: that there is a generator, that it is seeded, and that it does not repeat itself."""
    try:
        drawn = os.urandom(SAMPLE)
    except (OSError, NotImplementedError) as problem:
        return Check("randomness", "bad", f"the operating system gives none: {problem}", "do not ask anyone from here")
    blocks = {drawn[i : i + 16] for i in range(0, SAMPLE, 16)}
    ones = sum(byte.bit_count() for byte in drawn)
    # 8 * SAMPLE fair bits: ten standard deviations, half the root of their number each.
    if len(blocks) < SAMPLE // 16 or abs(ones - 4 * SAMPLE) > 5 * (8 * SAMPLE) ** 0.5:
        return Check("randomness", "bad", "os.urandom repeats itself", "do not ask anyone from here")
    return Check("randomness", "ok", "os.urandom answers and does not repeat itself")


def _clock() -> Check:
    """Reports state the day they were made on, and a collector forgets ids by it."""
    now = time.time()
    detail = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    if now < RELEASED:
        return Check("clock", "bad", f"says {detail}, before this version was made", "set the clock: timedatectl")
    if time.get_clock_info("time").resolution > 1:
        return Check("clock", "bad", f"says {detail}, in steps of more than a second", "set the clock: timedatectl")
    return Check("clock", "ok", detail)


def _disk() -> Check:
    """Whether a file can be written, forced to disk and replaced in this folder, and how much room is left."""
    here = Path.cwd()
    try:
        with tempfile.TemporaryDirectory(dir=here, prefix=".deniable-doctor-") as folder:
            one, two = Path(folder) / "one", Path(folder) / "two"
            with one.open("wb") as file:
                file.write(bytes(4096))
                file.flush()
                os.fsync(file.fileno())
            one.replace(two)
        free = shutil.disk_usage(here).free
    except OSError as problem:
        reason = (problem.strerror or str(problem)).lower()
        return Check("disk", "bad", f"this folder cannot be written: {reason}", "run it where the store shall be")
    detail = f"this folder can be written, {free / 2**30:.1f} GiB free"
    if free < ROOM:
        return Check("disk", "bad", detail, "make room: a collector needs about 1 GiB")
    return Check("disk", "ok", detail)

"""One environment for each library, under `.bench`, made on demand from the pins beside this file.

python -m benchmarks.peers.environments makes them all, and says which cannot be made.
"""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["OURS", "PEERS", "ROOT", "Unavailable", "python_of", "size_of"]

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".bench"

# Library -> what a program that uses it imports.
PEERS = {
    "pure-ldp": "pure_ldp.frequency_oracles",
    "multi-freq-ldpy": "multi_freq_ldpy.pure_frequency_oracles.GRR",
    "ldp-toolbox": "ldp_toolbox.protocols.frequency.grr",
    "opendp": "opendp.prelude",
}
OURS = "deniable"
LIMIT = 600  # seconds to install one library
_TOOLS = {"pip", "setuptools", "_distutils_hack", "pkg_resources", "__pycache__"}


class Unavailable(Exception):
    """A library that cannot be measured here, and why, as a sentence for the page."""


def python_of(name: str) -> Path:
    """The interpreter of the environment of `name`, which is made first if it is not there or its pins changed."""
    home, wanted = FOLDER / name, _wanted(name)
    stamp = hashlib.sha256("\n".join([*wanted, *map(_text, _read(name))]).encode()).hexdigest()
    ready, python = home / "ready", home / "bin" / "python"
    if ready.exists() and ready.read_text() == stamp:
        return python
    shutil.rmtree(home, ignore_errors=True)
    _run(name, [sys.executable, "-m", "venv", str(home)])
    _run(name, [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
    ready.write_text(stamp)
    return python


def _wanted(name: str) -> list[str]:
    if name != OURS:
        return ["-r", str(Path(__file__).with_name(f"{name}.txt"))]
    return ["-c", str(ROOT / "constraints.txt"), f"{ROOT}[analysis]"]  # charts have no counterpart there


def _read(name: str) -> list[Path]:
    """The files that an environment depends on."""
    if name != OURS:
        return [Path(__file__).with_name(f"{name}.txt")]
    return [ROOT / "pyproject.toml", ROOT / "constraints.txt", *sorted((ROOT / "src").rglob("*.py"))]


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _run(name: str, command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{name} could not be installed here within {LIMIT} seconds") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-1:]
        raise Unavailable(f"{name} could not be installed here: {said[-1] if said else 'pip said nothing'}")


def size_of(name: str, package: str | None = None) -> int:
    """Bytes of all packages in the environment but Python's own tools, or of one; compiled copies left out."""
    python_of(name)
    total = 0
    for packages in (FOLDER / name).glob("lib/*/site-packages"):
        for path in packages.rglob("*"):
            parts = path.relative_to(packages).parts
            counts = parts[0] == package if package else parts[0].split("-")[0] not in _TOOLS
            if counts and path.is_file() and "__pycache__" not in parts:
                total += path.stat().st_size
    return total


if __name__ == "__main__":
    for library in (OURS, *PEERS):
        try:
            python_of(library)
            print(f"{library}: ready, {size_of(library) / 1e6:.0f} MB")
        except Unavailable as problem:
            print(problem)

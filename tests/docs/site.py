"""The documentation, built into a folder for a test, and a collector that serves it from there."""

import subprocess
import sys
from pathlib import Path

from tests.docs.blocks import ROOT

__all__ = ["build", "program"]


def build(folder: Path) -> Path:
    """The site, as `make docs` makes it: offline, warnings as errors."""
    site = folder / "site"
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-W",
        "--keep-going",
        "-q",
        "-E",
        "-d",
        str(folder / "trees"),
    ]
    done = subprocess.run([*command, str(ROOT / "docs"), str(site)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return site


def program(site: Path) -> tuple[str, str]:
    """What starts `deniable` with this site in the place of the packaged one."""
    code = f"from pathlib import Path; from deniable.service.pages import site; site.ROOT = Path({str(site)!r}); "
    return "-c", code + "import sys; from deniable.cli import main; sys.exit(main())"

"""Programs that the tests and benchmarks need and pip cannot install: found, installed where that is allowed, or named.

python tests/services.py postgresql chromium java nginx wrk
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# What apt calls a program, where that is another name: the first of these that it knows.
PACKAGES = {"java": ("openjdk-17-jre-headless", "default-jre-headless")}


def missing(name: str) -> bool:
    """Whether a program is not there; PostgreSQL's are not on the path on Debian."""
    if name == "postgresql":
        return shutil.which("initdb") is None and not any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if name == "chromium":
        return not any(shutil.which(known) for known in ("chromium", "chromium-browser", "google-chrome"))
    if name == "nginx":  # not on the path of everyone on Debian
        return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None
    if name == "java" and "JAVA_HOME" in os.environ:
        return False
    return shutil.which(name) is None


def install(names: list[str]) -> str:
    """Try to install packages with apt; the reason if that did not work."""
    apt = shutil.which("apt-get")
    if apt is None:
        return "there is no apt-get here"
    rights = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if rights and shutil.which("sudo") is None:
        return "only root may install packages"
    command = [*rights, apt, "install", "-y", "-q", "--no-install-recommends"]
    quiet = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    reasons = []
    for name in names:
        attempts = [*PACKAGES.get(name, (name,)), *PACKAGES.get(name, (name,))]
        for place, package in enumerate(attempts):
            if place == len(attempts) // 2:  # a machine that has never fetched its lists of packages
                subprocess.run([*rights, apt, "update", "-q"], capture_output=True, env=quiet)
            done = subprocess.run([*command, package], capture_output=True, text=True, env=quiet)
            if done.returncode == 0:
                break
        else:
            reasons.append((done.stderr.strip().splitlines() or ["apt-get failed"])[-1])
    return "; ".join(reasons)


def main(wanted: list[str]) -> int:
    absent = [name for name in wanted if missing(name)]
    if not absent:
        return 0
    print(f"installing {' and '.join(absent)} with apt-get", flush=True)
    reason = install(absent)
    still = [name for name in absent if missing(name)]
    for name in still:
        print(f"{name} must be installed by hand: {reason}; tests that need it fail and say so", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

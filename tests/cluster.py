"""A private PostgreSQL for the tests: made in a temporary folder, reached by a socket in it, gone afterwards."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

__all__ = ["MISSING", "Cluster", "find_binaries"]

MISSING = "PostgreSQL must be installed for these tests: apt-get install postgresql (`make test` does so where it may)"
_USER = "postgres"


def find_binaries() -> Path | None:
    """The folder of initdb, which Debian does not put on the path."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    places += [Path(on_path).parent] if on_path else []
    return next((place for place in places if (place / "initdb").exists()), None)


class Cluster:
    """One server process with one database. initdb refuses root, so root hands it to the user `postgres`."""

    def __init__(self, *, memory: bool = False) -> None:
        binaries = find_binaries()
        if binaries is None:
            raise RuntimeError(MISSING)
        self._binaries = binaries
        # A crash of a process leaves what the system holds, so tests of that need no disk; benchmarks do.
        shared = Path("/dev/shm")
        roomy = memory and shared.is_dir() and shutil.disk_usage(shared).free > 2 << 30
        self.folder = Path(tempfile.mkdtemp(prefix="deniable-postgres-", dir=shared if roomy else None))
        if os.geteuid() == 0:
            shutil.chown(self.folder, _USER)
        self._run("initdb", "-A", "trust", "-U", _USER, "-N", "-D", str(self.folder / "data"))
        self._databases = 0
        self.start()

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._binaries / program), *arguments]
        if os.geteuid() == 0:
            command = ["setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--init-groups", *command]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr or done.stdout}")

    def start(self) -> None:
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}' -c max_connections=200"
        log = str(self.folder / "log")
        self._run("pg_ctl", "-w", "-D", str(self.folder / "data"), "-l", log, "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-w", "-D", str(self.folder / "data"), "-m", mode, "stop")

    def address(self, database: str = "postgres") -> str:
        return f"postgresql://{_USER}@/{database}?host={self.folder}"

    def fresh(self) -> str:
        """The address of an empty database."""
        import psycopg

        self._databases += 1
        name = f"test{self._databases}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def remove(self) -> None:
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)

"""The packages of the extra `all`, each with the SHA-256 of its file, for `pip install --require-hashes -r`.

python tests/hashes.py constraints.txt > constraints-hashes.txt
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any


def pinned(report: dict[str, Any]) -> list[str]:
    """Lines of requirements from pip's report; neither the project itself nor any address is in them."""
    lines = []
    for one in report["install"]:
        if one.get("is_direct"):
            continue
        named, hashes = one["metadata"], one["download_info"]["archive_info"]["hashes"]
        lines.append(f"{named['name'].lower()}=={named['version']} --hash=sha256:{hashes['sha256']}")
    return sorted(lines)


def main(constraints: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-P", "-m", "pip", "install", "--dry-run", "--quiet", "--ignore-installed"]
        done = subprocess.run([*command, "--report", str(report), "-c", constraints, ".[all]"])
        if done.returncode:
            return done.returncode
        print("\n".join(pinned(json.loads(report.read_text()))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

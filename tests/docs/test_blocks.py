"""Every block of code on every page runs and prints what the page says, or says why it cannot run here."""

import contextlib
import gzip
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from deniable.service import Options, open_store
from tests.collector import serving
from tests.docs.blocks import ROOT, blocks, walk

# Pages whose blocks another test runs, with more than a folder around them.
ELSEWHERE = {
    "docs/how-to/spark.md": "tests/spark/test_page.py",
    "docs/tutorials/spark-billion.md": "tests/spark/test_page.py",
    "docs/reference/protocol.md": "tests/docs/test_protocol.py",
}
# How many blocks are not run, for whatever reason: fewer is better, more needs a reason on the page.
NOT_RUN = 10


def pages() -> list[str]:
    """All Markdown that people are sent to; the JavaScript client's own page is run by `clients/js/test`."""
    folders = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.md")]
    folders += [*(ROOT / "deploy").glob("*.md"), ROOT / "tests" / "README.md"]
    return sorted(str(path.relative_to(ROOT)) for path in folders)


def programs(page: str, *languages: str) -> bool:
    return any(block.language in languages and block.reason is None for block in blocks(ROOT / page))


WALKED = [page for page in pages() if page not in ELSEWHERE and programs(page, "python", "sh")]
SCRIPTED = [page for page in pages() if programs(page, "js")]


def test_blocks_that_are_not_run_are_counted_and_say_why() -> None:
    reasons = Counter(
        b.reason for page in pages() for b in blocks(ROOT / page) if b.is_program and b.reason is not None
    )
    assert all(len(str(reason)) > 10 for reason in reasons)
    assert sum(reasons.values()) == NOT_RUN, reasons


def test_pages_that_are_run_elsewhere_are_there() -> None:
    assert all((ROOT / page).is_file() and (ROOT / test).is_file() for page, test in ELSEWHERE.items())


@contextlib.contextmanager
def collector_of(page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a collector for a page that talks to one; `deniable serve` there returns at once."""
    text = page.read_text(encoding="utf-8")
    if "survey register" not in text and "127.0.0.1:8765" not in text:
        yield "http://127.0.0.1:8765"
        return
    keys = folder / "outside"
    keys.mkdir()
    with serving(str(keys / "store"), keys) as server:
        monkeypatch.setenv("DENIABLE_COLLECTOR", f"http://127.0.0.1:{server.port}")
        monkeypatch.setenv("DENIABLE_TOKEN_FILE", str(keys / "token"))
        (folder / "page" / "collector").mkdir()
        shutil.copy(keys / "token", folder / "page" / "collector" / "admin-token")
        yield f"http://127.0.0.1:{server.port}"


def _serve_at_once(options: Options, announce: object = None) -> None:
    """What `deniable serve` leaves behind when it is stopped at once."""
    open_store(options.store).close()


def data_to_work_on() -> None:
    """Files that pages begin with: answers, and reports of a survey with four cells or more."""
    answers = pa.table({"browser": ["chrome", "lynx", "safari"] * 100})
    pq.write_table(answers, "data.parquet")
    with gzip.open("data.csv.gz", "wb") as file:
        csv.write_csv(answers, file)
    for folder in ("days", "more"):
        Path(folder).mkdir()
        with gzip.open(f"{folder}/1.csv.gz", "wb") as file:
            csv.write_csv(pa.table({"response": [0, 1, 2, 3] * 25}), file)


@pytest.mark.slow
@pytest.mark.parametrize("page", WALKED)
def test_blocks_run_and_print_what_the_page_says(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    monkeypatch.chdir(folder)
    # What takes minutes is run without its experiments; figures and claims draw and judge empty tables.
    monkeypatch.setattr("deniable.reproduce.experiments.tables", lambda settings, results: {})
    monkeypatch.setattr("deniable.service.server.serve", _serve_at_once)
    data_to_work_on()
    with collector_of(ROOT / page, tmp_path, monkeypatch) as url:
        assert walk(ROOT / page, url=url) >= 1


@pytest.mark.parametrize("page", SCRIPTED)
def test_javascript_blocks_run_and_print_what_the_page_says(page: str, tmp_path: Path) -> None:
    packages = tmp_path / "node_modules"
    packages.mkdir()
    (packages / "deniable-client").symlink_to(ROOT / "clients" / "js")
    for number, block in enumerate(b for b in blocks(ROOT / page) if b.language == "js" and b.reason is None):
        script = tmp_path / f"block-{number}.mjs"
        script.write_text(block.code)
        done = subprocess.run(["node", str(script)], capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, f"{page}:{block.line}\n{done.stderr}"
        if block.output is not None:
            assert done.stdout == block.output, f"{page}:{block.line}"

"""The local engine: count files on this machine, with Arrow and two threads.

One thread reads and decodes the next batches while the other counts or randomises, so counting a file takes little
longer than reading it. Memory does not grow with the number of rows.
"""

import queue
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from deniable.columns import BatchCounter, report_columns
from deniable.engines.input_files import InputFile, Paths, sound, sources
from deniable.engines.readers import Reader, open_reader
from deniable.errors import AlphabetError, DataError, SurveyError, WireError
from deniable.survey import Survey
from deniable.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")

_BATCH = 1 << 23  # bytes of bit reports in a batch, approximately, which bounds memory
_ROWS = 1 << 18  # index reports in a batch: what was read is still in a cache when it is counted
_PATIENCE = 2.0  # seconds to wait for the reading thread when a count is cancelled; it may be blocked by a pipe

Watch = Callable[["FileProgress"], None]


@dataclass
class FileProgress:
    """The progress of a run: bytes in all (0 if unknown), bytes and rows read so far."""

    total: int
    done: int = 0
    rows: int = 0


def ahead(items: Generator[T, None, None], depth: int = 2) -> Generator[T, None, None]:
    """The items of a generator, which runs in another thread up to `depth` items ahead; its errors are raised here.

    >>> list(ahead(letter for letter in "abc"))
    ['a', 'b', 'c']
    """
    made: queue.Queue[tuple[str, T | BaseException | None]] = queue.Queue(depth)
    stopped = threading.Event()

    def offer(kind: str, item: T | BaseException | None) -> bool:
        while not stopped.is_set():
            try:
                made.put((kind, item), timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for item in items:
                if not offer("item", item):
                    return
            offer("end", None)
        except BaseException as problem:
            offer("error", problem)
        finally:
            items.close()

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        while True:
            kind, item = made.get()
            if kind == "end":
                return
            if kind == "error":
                assert isinstance(item, BaseException)
                raise item
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        worker.join(_PATIENCE)  # it may be waiting for a pipe that nobody writes to


def count_files(
    survey: Survey | None, paths: Paths, *, format: str | None = None, watch: Watch | None = None
) -> tuple[Tally, dict[str, int]]:
    """Count the reports in files; returns the tally, and the refused rows by reason.

    If `survey` is None it is read from the metadata of the first file, as `privatize` writes it to Parquet and Arrow.

    >>> import deniable as dn, pyarrow.parquet as pq, tempfile
    >>> survey = dn.warner(epsilon=1)
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     pq.write_table(dn.privatize(survey, ["no", "yes", "no"]).to_arrow(), file.name)
    ...     count_files(None, file.name)
    (<Tally of survey 18ca4d86: 3 reports in 1 cohort>, {})
    """
    found = sources(paths, format=format)
    progress = FileProgress(sum(source.size for source in found))
    first = open_reader(found[0])
    try:
        agreed = survey_in(found[0], first) if survey is None else survey
    except DataError:
        first.close()
        raise
    counter = BatchCounter(agreed, gather=True)
    response = agreed.report_format.response
    kinds = {"cohort": "number", "response": "bytes" if response.bits else "number"}
    rows = min(max(_BATCH // (2 + response.size), 1 << 12), 1 << 19) if response.bits else _ROWS

    def wanted(source: InputFile, reader: Reader) -> dict[str, str]:
        _check_survey(agreed, source, reader)
        names = ["cohort", "response"] if reader.names is None else report_columns(agreed, reader.names)
        return {name: kinds[name] for name in names}

    with closing(ahead(column_batches(found, first, wanted, rows, counter.refused, progress))) as batches:
        for source, batch in batches:
            with naming(source):
                counter.add(batch)
            if watch is not None:
                watch(progress)
    return counter.tally(), counter.refused


def column_batches(
    found: list[InputFile],
    first: Reader,
    wanted: Callable[[InputFile, Reader], dict[str, str]],
    rows: int,
    refused: dict[str, int],
    progress: FileProgress,
) -> "Generator[tuple[InputFile, pa.RecordBatch], None, None]":
    """The wanted columns of all sources, batch by batch; `first` is the open reader of the first source."""
    before = 0
    for place, source in enumerate(found):
        reader = open_reader(source) if place else first
        with closing(reader), naming(source), sound(source):
            columns = wanted(source, reader)
            for batch in reader.batches(columns, rows, refused):
                progress.done, progress.rows = before + reader.done, progress.rows + batch.num_rows
                yield source, batch
        before += source.size
        progress.done = before


class naming:
    """A context in which a source is read: error messages are made to begin with the name of the file."""

    def __init__(self, source: InputFile) -> None:
        self._source = source

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        for error in (AlphabetError, DataError, WireError):
            if type(problem) is error and not str(problem).startswith(self._source.name):
                raise error(f"{self._source.name}: {problem}") from None


def survey_in(source: InputFile, reader: Reader) -> Survey:
    """The survey in the metadata of a file of reports."""
    text = reader.metadata.get(b"deniable.survey.json")
    if text is None:
        raise DataError(f"{source.name} must carry its survey, got none in it; name the survey with --survey")
    try:
        return Survey.from_json(text)
    except SurveyError as problem:
        raise DataError(f"{source.name} must carry a sound survey: {problem}") from None


def _check_survey(survey: Survey, source: InputFile, reader: Reader) -> None:
    digest = reader.metadata.get(b"deniable.survey", survey.digest.encode()).decode(errors="replace")
    if digest != survey.digest:
        raise WireError(
            f"{source.name} must hold reports of survey {survey.digest[:8]}, got reports of {digest[:8]}; "
            "count the reports of each survey apart"
        )

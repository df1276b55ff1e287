"""Files and tables of answers into reports, batch by batch; nothing of an answer is written, shown or kept.

Rows without an answer, or with one that the survey cannot encode, are counted by reason and left out.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, BinaryIO

import pyarrow as pa

from deniable import columns
from deniable.columns import (
    ReportTable,
    SpelledNumbers,
    Unencodable,
    arrow_or_none,
    encodable_rows,
    readable,
    tell,
    without_views,
)
from deniable.engines.input_files import InputFile, Paths, paths_of, sources
from deniable.engines.local import FileProgress, Watch, ahead, column_batches, naming
from deniable.engines.readers import Reader, open_reader
from deniable.engines.text_files import WRONG, readable_rows
from deniable.engines.writing import report_writer
from deniable.errors import AlphabetError
from deniable.survey import Survey

NO_ANSWER, UNKNOWN = "no answer", "answer not in the alphabet"
_ROWS = 1 << 17  # answers that are randomised at once, which bounds memory


def privatize_files(
    survey: Survey,
    paths: Paths,
    column: str,
    output: str | BinaryIO,
    *,
    format: str | None = None,
    output_format: str | None = None,
    watch: Watch | None = None,
    strict: bool = False,
    replace: bool = True,
) -> tuple[int, dict[str, int]]:
    """Randomise a column of files into a file of reports; returns their number, and the rows left out by reason.

    `format` is that of the files and `output_format` that of the reports; by default suffixes give them. With `strict`
    nothing is written, not even to a pipe, if a row is left out. With `replace` false an existing file is an error.
    """
    refused: dict[str, int] = {}
    written = 0
    with report_writer(survey, output, format=output_format, replace=replace, hold=strict) as write:
        for table in privatized(survey, paths, column, refused, format=format, watch=watch):
            write(table)
            written += len(table)
        if strict:
            refuse_answers(refused)
    return written, refused


def refuse_answers(refused: dict[str, int]) -> None:
    """Raise if there are any refused rows."""
    if refused:
        raise AlphabetError(
            f"rows must all hold an answer that the survey can encode, got {sum(refused.values()):,} that do not "
            f"({tell(refused)})"
        )


def privatized(
    survey: Survey,
    paths: Paths,
    column: str,
    refused: dict[str, int],
    *,
    format: str | None = None,
    watch: Watch | None = None,
) -> Iterator[ReportTable]:
    """The reports of a column of some files, a batch at a time."""
    found = sources(paths, format=format)
    progress = FileProgress(sum(source.size for source in found))

    def wanted(source: InputFile, reader: Reader) -> dict[str, str]:
        if reader.names is not None and reader.names.count(column) != 1:
            listed = ", ".join(repr(name) for name in reader.names[:20]) or "none"
            raise AlphabetError(f"{source.name} must have one column {column!r}, got {listed}")
        return {column: "answer" if survey.alphabet.bins is None else "quantity"}

    numbers = digits_of(survey)
    batches = column_batches(found, open_reader(found[0]), wanted, _ROWS, refused, progress)
    with closing(ahead(batches)) as read:
        for source, batch in read:
            with naming(source):
                yield reports_of(survey, batch.column(0), refused, numbers if source.format in ("csv", "jsonl") else {})
            if watch is not None:
                watch(progress)


def privatized_tables(survey: Survey, data: Any, column: str | None, refused: dict[str, int]) -> Iterator[ReportTable]:
    """The reports of files, of a column of a table with Arrow's C interface, or of a column itself."""
    paths = paths_of(data)
    if column is not None and paths is not None:
        yield from privatized(survey, paths, column, refused)
        return
    if column is None:
        found = arrow_or_none(readable(data))
        if found is None:
            raise AlphabetError("column must be of one type where rows may be left out, got several; make it all text")
        chunks = found.chunks if isinstance(found, pa.ChunkedArray) else [found]
    elif hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        if reader.schema.names.count(column) != 1:
            listed = ", ".join(repr(name) for name in reader.schema.names[:20]) or "none"
            raise AlphabetError(f"data must have one column {column!r}, got {listed}")
        chunks = (batch.column(column) for batch in reader)
    else:
        raise AlphabetError(
            f"data must be files or a table that speaks Arrow where column= names a column, got {type(data).__name__}"
        )
    for chunk in chunks:
        for start in range(0, len(chunk), _ROWS):
            yield reports_of(survey, chunk[start : start + _ROWS], refused)


def digits_of(survey: Survey) -> Mapping[str, Any]:
    """The integer symbol that a text of digits stands for, in files that hold only text.

    >>> import deniable as dn
    >>> digits_of(dn.krr(symbols=[7, 8, "8", "nine"], epsilon=1))
    {'7': 7}
    """
    if survey.alphabet.bins is not None:
        return SpelledNumbers()
    symbols = survey.symbols or ()
    spelled = {str(symbol): symbol for symbol in symbols if isinstance(symbol, int)}
    return {text: number for text, number in spelled.items() if text not in symbols} if spelled else {}


def reports_of(
    survey: Survey, answers: "pa.Array", refused: dict[str, int], numbers: Mapping[str, Any] | None = None
) -> ReportTable:
    """The reports of one array of answers; `numbers` says which text stands for an integer."""

    def keep(rows: Any, reason: str) -> None:
        nonlocal answers
        good = pa.array(rows, pa.bool_())
        left = len(good) - (good.true_count if len(good) else 0)
        if left:
            refused[reason] = refused.get(reason, 0) + left
            answers = answers.filter(good)

    answers = without_views(answers)
    if pa.types.is_dictionary(answers.type) and answers.dictionary.null_count:
        answers = answers.dictionary_decode()
    if answers.null_count:
        keep(answers.is_valid(), NO_ANSWER)
    try:
        answers.validate(full=True)
    except pa.ArrowInvalid:  # Parquet does not check that text is UTF-8
        plain = answers.dictionary_decode() if pa.types.is_dictionary(answers.type) else answers
        answers = plain.cast(pa.large_binary())
        keep(readable_rows(answers, _as_text), WRONG["answer"])
        answers = _as_text(answers)
    if not numbers or not pa.types.is_string(answers.type):
        numbers = {}
    try:
        return columns.privatize(survey, _meant(answers, numbers))
    except Unencodable:
        keep(encodable_rows(survey, answers, numbers), UNKNOWN)
    return columns.privatize(survey, _meant(answers, numbers))


def _as_text(answers: "pa.Array") -> "pa.Array":
    return answers.cast(pa.large_string())


def _meant(answers: "pa.Array", numbers: Mapping[str, Any]) -> Any:
    """The answers, with each text that stands for an integer replaced by it."""
    if not numbers:
        return answers
    codes = answers.dictionary_encode()
    values = [numbers.get(value, value) for value in codes.dictionary.to_pylist()]
    return [values[code] for code in codes.indices.to_pylist()]

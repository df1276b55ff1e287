"""Count reports of a form in columns: tables with a struct column for each part, and the rows of `Form.sql`.

A row counts as a whole: if one of its parts is none that a device could have sent, nothing of it is counted.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from deniable.columns.batches import ARROW_TESTS, fixed_bytes, numbers, plain, settle_refused
from deniable.columns.form_tables import FormTable
from deniable.columns.grouped import add_grouped, is_grouped, number_in
from deniable.errors import WireError
from deniable.reports import Report
from deniable.survey import Form, FormPart
from deniable.tally import FormTally, Tally

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["count_form_table", "count_forms"]

Mask = npt.NDArray[np.bool_]
Settled = list[tuple[str, Mask]]  # rows whose values cannot be in an array, by the reason for refusing them


def count_forms(form: Form, reports: Any, *, refused: dict[str, int] | None = None) -> FormTally:
    """Count reports of a form into a tally; `deniable.count` without files.

    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2)
    >>> count_forms(form, dn.privatize(form, {"a": ["no"], "b": [2]})).n
    1
    """
    tally = FormTally(form)
    if _is_table(reports) or isinstance(reports, FormTable):
        _add(tally, reports, refused)
        return tally
    if isinstance(reports, (str, bytes, Mapping)) or not isinstance(reports, Iterable):
        raise WireError(f"reports of a form must be a table or an iterable of them, got {type(reports).__name__}")
    wires: list[Any] = []
    rows: list[Any] = []
    for one in reports:
        if isinstance(one, (Report, bytes, bytearray, memoryview)):
            wires.append(one)
        elif isinstance(one, (tuple, dict)):
            rows.append(one)
        else:
            _add(tally, one, refused)
    tally.accumulate(wires)
    if rows:
        _add_grouped(tally, rows, refused)
    return tally


def _is_table(given: Any) -> bool:
    return hasattr(given, "__arrow_c_stream__") or hasattr(given, "column_names") or hasattr(given, "schema")


def _add(tally: FormTally, given: Any, refused: dict[str, int] | None) -> None:
    if isinstance(given, FormTable):
        given.add_to(tally)
        return
    import pyarrow as pa

    table = pa.table(given)
    if is_grouped(table.column_names) and "part" in table.column_names:
        _add_grouped(tally, table.to_pylist(), refused)
        return
    digest = (table.schema.metadata or {}).get(b"deniable.survey", tally.form.digest.encode()).decode(errors="replace")
    if digest != tally.form.digest:
        raise WireError(f"report table must be for form {tally.form.digest[:8]}, got {digest[:8]}")
    count_form_table(tally, table, refused)


def count_form_table(tally: FormTally, table: "pa.Table", refused: dict[str, int] | None) -> None:
    """Count the rows of a table of reports, whose metadata is not looked at."""
    form = tally.form
    answered = np.zeros((len(table), len(form.parts)), bool, order="F")
    slots, settled = [], []
    for place, part in enumerate(form.parts):
        if table.column_names.count(part.name) != 1:
            raise _no_struct(part)
        column = table.column(part.name).combine_chunks()
        answered[:, place] = column.is_valid().to_numpy(zero_copy_only=False)
        own, wrong = _read_part(part, column)
        slots.append(own)
        settled.append(wrong)
    tally.add_slots(answered, slots, refused, settled=settled)


def _no_struct(part: FormPart) -> WireError:
    return WireError(f"report table of a form must have a struct column {part.name!r} with cohort and response")


def _read_part(part: FormPart, column: Any) -> tuple[tuple[npt.NDArray[Any], npt.NDArray[Any]], Settled]:
    """The cohorts and responses of a part, with a zero wherever one is missing or of another length; and those rows."""
    import pyarrow as pa

    shape = part.survey.report_format
    if not pa.types.is_struct(column.type) or {field.name for field in column.type} != {"cohort", "response"}:
        raise _no_struct(part)
    fields = dict(zip((field.name for field in column.type), map(plain, column.flatten()), strict=True))
    for name, array in fields.items():
        holds_bits = shape.response.bits and name == "response"
        kinds = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
        fine = any(kind(array.type) for kind in kinds) if holds_bits else pa.types.is_integer(array.type)
        if not fine and not pa.types.is_null(array.type):
            wanted = f"binary of {shape.response.size} bytes" if holds_bits else "integers"
            raise WireError(f"column {part.name}.{name} must hold {wanted}, got {array.type}")
    settled: Settled = []
    for rule in shape.rules:
        wrong = ARROW_TESTS[rule.test](fields[rule.field.name], rule.field) if rule.test in ARROW_TESTS else None
        if wrong is None:
            continue
        zero = bytes(shape.response.size) if rule.field.bits else 0
        fields[rule.field.name] = _filled(fields[rule.field.name], wrong, zero)
        settled.append((rule.reason, wrong.fill_null(False).to_numpy(zero_copy_only=False)))
    response = fields["response"]
    responses = fixed_bytes(response, shape.response.size) if shape.response.bits else numbers(response)
    return (numbers(fields["cohort"]), responses), settled


def _filled(array: Any, wrong: Any, zero: int | bytes) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(array.type):  # nothing but missing values, which have no type
        array = pa.nulls(len(array), pa.binary(len(zero)) if isinstance(zero, bytes) else pa.int64())
    if isinstance(zero, bytes) and pa.types.is_fixed_size_binary(array.type) and array.type.byte_width != len(zero):
        array = array.cast(pa.binary())
    return pc.if_else(wrong, pa.scalar(zero, array.type), array)


def _add_grouped(tally: FormTally, rows: Sequence[Any], refused: dict[str, int] | None) -> None:
    """Add the rows of `Form.sql`'s result: tuples in the order of the query, or dictionaries; all of them or none."""
    form = tally.form
    kinds = {part.survey.report_format.response.bits for part in form.parts}
    names = ["part", "cohort", *(["cell"] if False in kinds else []), *(["cells"] if True in kinds else [])]
    names += ["reports", "reason"]
    groups: dict[str, list[dict[str, Any]]] = {part.name: [] for part in form.parts}
    whole: list[dict[str, Any]] = []
    for row in rows:
        if isinstance(row, tuple):
            if len(row) != len(names):
                raise WireError(f"a row must be ({', '.join(names)}), got {len(row)} fields")
            row = dict(zip(names, row, strict=True))
        elif set(names) - set(row):
            raise WireError(
                f"a row must have the fields {', '.join(names)}, got {sorted(map(str, row))}; use the query that this "
                "form's sql() prints"
            )
        part = row["part"]
        if part is None:
            whole.append(row)
        elif part not in groups:
            raise WireError(f"part must be one of this form's in every row, got {str(part)[:64]!r}")
        else:
            groups[part].append(row)
    bad: dict[str, int] = {}
    found = []
    for part in form.parts:
        own = Tally(part.survey)
        add_grouped(own, groups[part.name], bad)
        found.append((own.counts, own.reports))
    n = _add_whole(whole, bad)
    settle_refused(bad, refused)
    tally.add(found, n)


def _add_whole(rows: Sequence[dict[str, Any]], bad: dict[str, int]) -> int:
    """The number of forms; what was refused goes to `bad`."""
    n = 0
    for row in rows:
        number = number_in("reports", row["reports"], 2**63 - 1)
        reason = row["reason"]
        if reason is None:
            n += number
        else:
            bad[str(reason)] = bad.get(str(reason), 0) + number
    return n

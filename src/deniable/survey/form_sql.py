"""SQL that counts the reports of a form: one statement for all of its parts and its related pairs.

Reports are rows with a struct column for each part, as `FormTable.to_arrow` lays them out. Each row is judged once, as
a whole; then every part of the good rows is counted with a `GROUP BY` of its own. The rows of the result:

    part  cohort  cell  cells  reports  reason
    a     ...     ...          ...              index reports of part a: how often each cell was named in a cohort
    b     ...           ...    ...              bit reports of part b: how often each bit was set, as a list
                               ...              no part: good rows in all
                               ...      ...     rows that no device could have sent

`cell` is left out where no part has index reports, and `cells` where no part has bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from deniable.survey.form_format import FormFormat, Slot
from deniable.survey.sql import Dialect, dialect_of, source_of, sql_refusals, sums_of

__all__ = ["count_parts", "form_refusals"]


@dataclass(frozen=True, slots=True)
class _Names:
    """The SQL expressions of a form's columns. The parts' names are words; the statement's own must be other words."""

    speak: Dialect
    row: str
    reason: str

    @classmethod
    def of(cls, shape: FormFormat, dialect: str) -> "_Names":
        taken = {slot.name.lower() for slot in shape.slots}

        def free(word: str) -> str:
            return word if word not in taken else free(word + "_")

        return cls(dialect_of(dialect), free("report"), free("reason"))

    def column(self, slot: Slot) -> str:
        return f"{self.row}.{self.speak.quote(slot.name)}"

    def fields(self, slot: Slot) -> dict[str, str]:
        """PostgreSQL wants the struct in brackets."""
        return {name: f"({self.column(slot)}).{self.speak.quote(name)}" for name in ("cohort", "response")}

    def absent(self, slot: Slot) -> str:
        return self.speak.absent.format(self.column(slot))


def form_refusals(shape: FormFormat, dialect: str) -> list[tuple[str, str]]:
    """The SQL conditions that find invalid rows, in order, each with the reason for refusing the row.

    Parameters
    ----------
    shape
        The format of the form's reports.
    dialect
        One of `DIALECTS`.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2, spend="sample")
    >>> for condition, reason in form_refusals(form.report_format, "duckdb")[:3]:
    ...     print(reason, "|", condition)
    parts that no device answers together | CASE WHEN report."a" IS NULL THEN 0 ELSE 1 END + CASE WHEN report."b" IS \
NULL THEN 0 ELSE 1 END <> 1
    a: no cohort | NOT (report."a" IS NULL) AND (report."a")."cohort" IS NULL
    a: no response | NOT (report."a" IS NULL) AND (report."a")."response" IS NULL
    """
    names = _Names.of(shape, dialect)
    absent = [names.absent(slot) for slot in shape.slots]
    answered = " + ".join(f"CASE WHEN {one} THEN 0 ELSE 1 END" for one in absent)
    excused = " + ".join(
        f"CASE WHEN {one} THEN 1 ELSE 0 END" for place, one in enumerate(absent) if shape.optional >> place & 1
    )
    # A device answers as many parts as it drew, but for those of them that depend on a public answer.
    together = f"NOT BETWEEN {shape.drawn} - ({excused}) AND {shape.drawn}" if excused else f"<> {shape.drawn}"
    found = [(f"{answered} {together}", "parts that no device answers together")]
    for slot, missing in zip(shape.slots, absent, strict=True):
        for condition, reason in sql_refusals(slot.form, dialect, names.fields(slot)):
            # What is not there fails no other test: in SQL a comparison with NULL does not hold.
            guard = f"NOT ({missing}) AND " if condition.endswith(" IS NULL") else ""
            found.append((guard + condition, f"{slot.name}: {reason}"))
    return found


def count_parts(shape: FormFormat, dialect: str, table: str | Sequence[str]) -> str:
    """The query; see `Form.sql`."""
    names = _Names.of(shape, dialect)
    speak, row, reason = names.speak, names.row, names.reason
    bits = {slot.form.response.bits for slot in shape.slots}
    no_number, no_text = f"CAST(NULL AS {speak.integer})", f"CAST(NULL AS {speak.text})"

    def selected(part: str, cohort: str, cell: str, cells: str, why: str) -> str:
        values = [f"{part} AS part", f"{cohort} AS cohort"]
        values += [f"{cell} AS cell"] if False in bits else []
        values += [f"{cells} AS cells"] if True in bits else []
        return f"SELECT {', '.join(values)}, COUNT(*) AS reports, {why} AS reason"

    lines = ["WITH judged AS (", f"  SELECT {', '.join(map(names.column, shape.slots))},", "    CASE"]
    # A part's name has no quotes, and neither has a reason.
    lines += [f"      WHEN {test} THEN '{why}'" for test, why in form_refusals(shape, dialect)]
    lines += [f"    END AS {reason}", f"  FROM {source_of(speak, table)} AS {row}", ")"]
    for slot in shape.slots:
        own = names.fields(slot)
        cohort, response = (f"CAST({own[name]} AS {speak.integer})" for name in ("cohort", "response"))
        if slot.form.response.bits:
            counted = (cohort, no_number, sums_of(speak, slot.form, own["response"]))
        else:
            counted = (cohort, response, speak.no_array)
        lines.append(selected(f"'{slot.name}'", *counted, no_text))
        lines.append(f"FROM judged AS {row} WHERE {row}.{reason} IS NULL AND NOT ({names.absent(slot)})")
        lines += ["GROUP BY " + ", ".join(own.values() if not slot.form.response.bits else [own["cohort"]])]
        lines.append("UNION ALL")
    lines.append(selected(no_text, no_number, no_number, speak.no_array, f"{row}.{reason}"))
    lines.append(f"FROM judged AS {row} GROUP BY {row}.{reason}")
    return "\n".join(lines) + "\n"

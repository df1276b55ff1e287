"""What results of a form have in common: one result for each question, by its name, and one table of all answers."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from deniable.survey import Form, data_frame, html_table

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["ByQuestion"]


class ByQuestion(Mapping[str, Any]):
    """A mapping of the names of questions to what was found of each."""

    _columns: ClassVar[tuple[str, ...]]  # names of the columns of `rows`
    _head: ClassVar[tuple[str, ...]]  # and of `shown`
    _found: Any

    @property
    def form(self) -> Form:
        """The form that was answered."""
        raise NotImplementedError

    @property
    def _note(self) -> str:
        """What stands below the table in a notebook."""
        raise NotImplementedError

    def rows(self, level: float = 0.95) -> list[Any]:
        """A row for each answer of each question."""
        raise NotImplementedError

    def shown(self, level: float = 0.95) -> list[Any]:
        """Rows for people: question, answer, value, interval, and what else there is."""
        raise NotImplementedError

    def _drawn(self, name: str, level: float, top: int) -> "alt.LayerChart":
        """The chart of one question."""
        raise NotImplementedError

    def __getitem__(self, question: str) -> Any:
        if question not in self._found:
            self.form.part_of(question)
        return self._found[question]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table with a row for each answer of each question.

        Parameters
        ----------
        level : float
            As for `rows`.
        """
        import pyarrow as pa

        columns = map(list, zip(*self.rows(level), strict=True))
        return pa.table(dict(zip(self._columns, columns, strict=True)))

    def to_pandas(self, level: float = 0.95) -> Any:
        """The table of `to_arrow` as a pandas DataFrame.

        Parameters
        ----------
        level : float
            As for `rows`.
        """
        return data_frame(self.to_arrow(level))

    def chart(self, *, level: float = 0.95, top: int = 40) -> "alt.VConcatChart":
        """What was found with its intervals, one question below the other; `found["smokes"]` has one alone.

        Needs the extra `charts`.

        Parameters
        ----------
        level : float
            The confidence level of the intervals.
        top : int
            How many answers of a question to show.
        """
        from deniable.charts import stacked

        return stacked({name: self._drawn(name, level, top) for name in self}, repr(self)[1:-1])

    plot = chart  # the name that other libraries use

    def __str__(self) -> str:
        """A line for each question: all of its answers, each with its 95 % interval."""
        lines: dict[str, list[str]] = {}
        for name, label, value, limits, *_ in self.shown():
            lines.setdefault(name, []).append(f"{label} {value} ({limits})")
        return "\n".join(f"{name}: {', '.join(texts)}" for name, texts in lines.items())

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return html_table(self.form.name or "Form", self._head, self.shown(), note=self._note)

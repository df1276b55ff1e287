"""Integer counts per (cohort, column) and reports per cohort: all that a collector keeps.

Merging is commutative and associative, so tallies of days, shards and machines combine in any order. The size of a
tally depends on the survey, not on the number of reports. For bit reports the column sums are not a sufficient
statistic: they do not tell which bits were set together in one report.

Where people take part in every window a tally also keeps the sizes of its windows (`windows`): they repeat their noise,
and the error bars of a sum depend on it.
"""

import json
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from deniable.errors import SurveyError, TallyError, TallyMismatch
from deniable.reports import Report
from deniable.survey import Survey, data_frame, facts
from deniable.tally.saved import SavedTally, inflated, packed_file, unpacked_file
from deniable.tally.window_sizes import Sizes, merged_sizes, sizes_of, sizes_to_json

if TYPE_CHECKING:
    import altair as alt

_MAGIC = b"deniable-tally/1\n"  # first line of a tally file: format and version
_MOST = 2**63 - 1  # reports in a tally: what a signed counter of 64 bits holds

Counts = npt.NDArray[np.int64]
Packed: TypeAlias = bytes | bytearray | memoryview


@runtime_checkable
class _Countable(Protocol):
    def add_to(self, tally: "Tally") -> None: ...


class Tally(SavedTally):
    """The counts of one survey.

    `counts[c, j]` is the number of reports of cohort c that hit column j, `reports[c]` the number of all its reports,
    and `n` the number of reports of all cohorts. Both arrays are read-only views; only `accumulate`, `add` and `merge`
    change them.

    A tally is of one window: what `accumulate` and `add` count is of this one. Where people take part again
    (`Survey.participation`) `merge` and `+` add windows, and `windows` has the size of each.

    Parameters
    ----------
    survey : Survey
        The survey that the reports answer.
    counts : array_like of int, optional
        Initial counts of shape (cohorts, columns). Zero by default.
    reports : array_like of int, optional
        Initial reports per cohort. Where a report hits exactly one column they are the row sums of `counts`, and may be
        left out.
    windows : iterable of int, optional
        How many of the reports each window has, where the counts are of several and people take part again.

    Raises
    ------
    TallyError
        If no set of reports has these counts, or windows do not add up to the reports.

    Examples
    --------
    >>> import os, tempfile
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["a", "b", "c"], epsilon=8)
    >>> tally = dn.Tally(survey)
    >>> tally.accumulate(dn.Report(survey, 0, b"\\x01"))
    >>> tally
    <Tally of survey d589e452: 1 report in 1 cohort>
    >>> tally.counts.tolist(), tally.reports.tolist()
    ([[0, 1, 0]], [1])
    >>> tally.merge(dn.Tally(survey, [[3, 2, 1]]))
    >>> tally.n
    7
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tally.save(os.path.join(folder, "day.tally"))
    ...     dn.Tally.load(os.path.join(folder, "day.tally")) == tally
    True
    """

    __slots__ = ("_counts", "_merged", "_n", "_reports", "survey")

    # Tallies of other agreements than surveys, and their files by the first line: a form's (`tally.form_tally`).
    _kinds: ClassVar[dict[type, Callable[..., Any]]] = {}
    _formats: ClassVar[dict[bytes, Callable[[bytes], Any]]] = {}

    def __new__(cls, survey: object = None, *given: object, **named: object) -> Any:
        """`Tally(form)` is a `FormTally`."""
        other = cls._kinds.get(type(survey))
        return object.__new__(cls) if other is None else other(survey, *given, **named)

    def __init__(
        self,
        survey: Survey,
        counts: npt.ArrayLike | None = None,
        reports: npt.ArrayLike | None = None,
        *,
        windows: Iterable[int] | None = None,
    ) -> None:
        self.survey = Survey.check(survey)
        # Sizes of the windows that were merged into this one's, which has all other reports; None if not known.
        self._merged: Sizes | None = {}
        self._counts: Counts = np.zeros((survey.cohorts, survey.columns), np.int64)
        self._reports: Counts = np.zeros(survey.cohorts, np.int64)
        self._n = 0
        if counts is not None:
            given = np.asarray(counts)
            # Where a report hits exactly one column, the reports per cohort are the row sums.
            sums = given.sum(axis=-1) if reports is None and self.survey.mechanism.one_column else reports
            if sums is None:
                raise TallyError("reports must be given beside counts: bit reports do not determine them")
            self.add(given, np.asarray(sums))
        if windows is not None:
            self._set_windows(windows)

    @property
    def counts(self) -> Counts:
        """Hits per cohort and column, as a read-only array of shape (cohorts, columns)."""
        view = self._counts.view()
        view.flags.writeable = False
        return view

    @property
    def reports(self) -> Counts:
        """Reports per cohort, as a read-only array."""
        view = self._reports.view()
        view.flags.writeable = False
        return view

    @property
    def n(self) -> int:
        """Reports in all."""
        return self._n

    @property
    def windows(self) -> tuple[int, ...] | None:
        """The sizes of the windows that were added up, largest first; None if a file does not say.

        Of a survey that people answer once all reports are of one window: nobody is in two.

        Examples
        --------
        >>> import deniable as dn
        >>> survey = dn.warner(epsilon=1, participation="window")
        >>> monday, tuesday = dn.Tally(survey, [[6, 4]]), dn.Tally(survey, [[7, 5]])
        >>> (monday + tuesday).windows, dn.Tally(survey, [[13, 9]], windows=[10, 12]).windows
        ((12, 10), (12, 10))
        """
        sizes = self._sizes()
        return (
            None if sizes is None else tuple(size for size in sorted(sizes, reverse=True) for _ in range(sizes[size]))
        )

    def _sizes(self) -> Sizes | None:
        if self._merged is None:
            return None
        found = dict(self._merged)
        own = self._n - sum(size * count for size, count in found.items())
        if own:
            found[own] = found.get(own, 0) + 1
        return found

    @property
    def _repeats(self) -> bool:
        """Whether people take part again, so that windows matter."""
        return self.survey.repeats_noise

    def _set_windows(self, windows: Iterable[int]) -> None:
        if not self._repeats:
            raise TallyError("windows must be left out for a survey that people answer once: nobody is in two of them")
        sizes = sizes_of(windows)
        if (total := sum(size * count for size, count in sizes.items())) != self._n:
            raise TallyError(f"windows must add up to the reports, {self._n}, got {total}")
        self._merged = sizes

    def accumulate(self, item: "Report | Packed | _Countable | Iterable[Report | Packed]") -> None:
        """Count one report or many.

        A batch is counted whole or, if one of its reports is refused, not at all.

        Parameters
        ----------
        item : Report, bytes, ReportTable or iterable
            One report, packed or not, an iterable of them, or a table from `privatize`.

        Raises
        ------
        TallyMismatch
            If a report answers another survey.
        WireError
            If a report is not one that the survey's devices can send.
        TallyError
            If the item is no report, or there would be more than 2**63 - 1.

        Examples
        --------
        >>> import deniable as dn
        >>> survey = dn.warner(epsilon=1)
        >>> tally = dn.Tally(survey)
        >>> tally.accumulate(dn.Client(survey).report("yes") for _ in range(3))
        >>> tally.n
        3
        """
        if isinstance(item, (Report, bytes, bytearray, memoryview)):
            self._accumulate_all([item])
        elif isinstance(item, _Countable):
            item.add_to(self)
        elif hasattr(item, "schema") or hasattr(item, "__arrow_c_stream__"):
            # Tables are read by the package `columns`, which this one does not import.
            raise TallyError("a table must be counted first; use tally += dn.count(tally.survey, table)")
        elif isinstance(item, Iterable):
            self._accumulate_all(item)
        else:
            raise TallyError(
                f"a tally must be given reports, packed bytes or a report table, got {type(item).__name__}"
            )

    def _accumulate_all(self, items: "Iterable[Report | Packed]") -> None:
        rows: list[int] = []
        hits: list[int] = []
        hit_rows: list[int] = []
        for item in items:
            if isinstance(item, (bytes, bytearray, memoryview)):
                report = Report.unpack(self.survey, bytes(item))
            elif isinstance(item, Report):
                report = item
                if report.survey.digest != self.survey.digest:
                    raise self.mismatch("report", report.survey)
                report.check()
            else:
                raise TallyError(f"a batch must hold reports or packed bytes, got {type(item).__name__}")
            rows.append(report.cohort)
            for column in self.survey.mechanism.columns_hit(report.response):
                hit_rows.append(report.cohort)
                hits.append(column)
        self._refuse_overflow(len(rows))
        np.add.at(self._reports, rows, 1)
        np.add.at(self._counts, (hit_rows, hits), 1)
        self._n += len(rows)

    def add(self, counts: npt.NDArray[Any], reports: npt.NDArray[Any]) -> None:
        """Add arrays of counts, after checking that some set of reports could have produced them.

        Parameters
        ----------
        counts : ndarray of int
            Hits per cohort and column, of shape (cohorts, columns).
        reports : ndarray of int
            Reports per cohort.

        Raises
        ------
        TallyError
            If no set of reports has these counts, or there would be more than 2**63 - 1 reports.

        Examples
        --------
        >>> import deniable as dn
        >>> tally = dn.Tally(dn.warner(epsilon=1))
        >>> tally.add(np.array([[6, 4]]), np.array([10]))
        >>> tally.n
        10
        """
        for name, given, shape in (("counts", counts, self._counts.shape), ("reports", reports, self._reports.shape)):
            if given.shape != shape or given.dtype.kind not in "iu":
                raise TallyError(f"{name} must be integers of shape {shape}, got {given.dtype} of shape {given.shape}")
            if given.size and int(given.min()) < 0:
                raise TallyError(f"{name} must not be negative, got {int(given.min())}")
            if given.dtype.kind == "u" and given.size and int(given.max()) > _MOST:
                raise TallyError(f"{name} must fit 63 bits, got {int(given.max())}")
        total = sum(reports.tolist())
        self._refuse_overflow(total)
        if (counts > reports[:, None]).any():
            raise TallyError("counts must not exceed the reports of their cohort")
        hits = self.survey.mechanism.hits
        if hits is not None:
            if total * counts.shape[1] <= _MOST:  # no count exceeds the total: no sum can wrap
                good = counts.sum(axis=1, dtype=np.int64) == reports.astype(np.int64) * hits
            else:  # row sums modulo 2**64, and in floating point: one that wrapped is off by 2**64 or more
                wanted = reports.astype(np.uint64) * np.uint64(hits)
                good = counts.astype(np.uint64).sum(axis=1, dtype=np.uint64) == wanted
                sizes = counts.astype(np.float64).sum(axis=1)
                good &= abs(sizes - hits * reports.astype(np.float64)) < 2.0**62
            if not good.all():
                each = "one column" if hits == 1 else f"{hits} columns"
                raise TallyError(f"counts must add up to the reports of their cohort, {each} a report")
        np.add(self._counts, counts, out=self._counts, dtype=np.int64, casting="unsafe")
        np.add(self._reports, reports, out=self._reports, dtype=np.int64, casting="unsafe")
        self._n += total

    def _refuse_overflow(self, more: int) -> None:
        # Each counter is at most n, so a guard on n guards them all.
        if self._n + more > _MOST:
            raise TallyError(f"a tally must hold at most 2**63 - 1 reports, got {self._n} and {more} more")

    def mismatch(self, what: str, theirs: Survey) -> TallyMismatch:
        """The error for reports or counts that answer another survey than this tally's.

        Parameters
        ----------
        what : str
            What was given, to begin the message with.
        theirs : Survey
            The survey that it answers.

        Returns
        -------
        TallyMismatch
            To raise; it holds both digests.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.Tally(dn.warner(epsilon=1)).mismatch("report", dn.warner(epsilon=2)).ours[:8]
        '18ca4d86'
        """
        return TallyMismatch(
            f"{what} is for survey {theirs.digest[:8]}, this tally is for {self.survey.digest[:8]}; "
            "merge only what answers one survey",
            ours=self.survey.digest,
            theirs=theirs.digest,
        )

    def _no_tally(self, other: object) -> TallyError:
        return TallyError(f"a tally must be added to a tally, got {type(other).__name__}; count the reports first")

    def merge(self, other: "Tally") -> None:
        """Add another tally of the same survey to this one.

        Where people take part in every window, its windows are added to those of this tally. More reports of the same
        window (another file, another machine) are added with `add(other.counts, other.reports)`.

        Parameters
        ----------
        other : Tally
            A tally of the same survey; it stays as it is.

        Raises
        ------
        TallyMismatch
            If it is of another survey.
        TallyError
            If it is no tally, or there would be more than 2**63 - 1 reports.
        """
        if not isinstance(other, Tally):
            raise self._no_tally(other)
        if other.survey.digest != self.survey.digest:
            raise self.mismatch("tally", other.survey)
        self._refuse_overflow(other._n)
        if self._repeats:
            sizes = other._sizes()
            if self._merged is None or sizes is None:
                self._merged = None
            else:
                merged = dict(self._merged)  # a new one: `other` may be this tally
                for size, count in sizes.items():
                    merged[size] = merged.get(size, 0) + count
                self._merged = merged
        self._counts += other._counts
        self._reports += other._reports
        self._n += other._n

    def copy(self) -> "Tally":
        """An independent tally with the same counts.

        Examples
        --------
        >>> import deniable as dn
        >>> tally = dn.Tally(dn.warner(epsilon=1), [[6, 4]])
        >>> twin = tally.copy()
        >>> twin += tally
        >>> tally.n, twin.n
        (10, 20)
        """
        twin = Tally(self.survey)
        twin.merge(self)
        twin._merged = self._merged  # what is accumulated next belongs to the same window in both
        return twin

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tally):
            return NotImplemented
        return (
            self.survey == other.survey
            and np.array_equal(self._counts, other._counts)
            and np.array_equal(self._reports, other._reports)
            and self._sizes() == other._sizes()
        )

    def __repr__(self) -> str:
        reports = "1 report" if self._n == 1 else f"{self._n} reports"
        cohorts = "1 cohort" if self.survey.cohorts == 1 else f"{self.survey.cohorts} cohorts"
        return f"<Tally of survey {self.survey.digest[:8]}: {reports} in {cohorts}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: how much there is. Counts of single cells are noise until they are decoded."""
        survey = self.survey
        reports = f"{self._n:,}" if survey.cohorts == 1 else f"{self._n:,} in {survey.cohorts:,} cohorts"
        named = [("reports", reports), ("counters", f"{self._counts.size:,}"), ("mechanism", survey.title)]
        return facts(f"Tally of {survey.name or survey.digest[:8]}", [*named, ("next", "dn.decode(tally)")])

    def chart(self, *, top: int = 64) -> "alt.LayerChart":
        """The counts as they arrived, not decoded; needs the extra `charts`. For shares, chart `dn.decode(tally)`.

        Of a survey with cohorts it shows whether they are evenly filled: a cohort or a cell that stands out points to
        clients that are broken, or to one answer that nearly everybody gave.

        Parameters
        ----------
        top
            How many cohorts and how many cells to show, the first of each.

        Returns
        -------
        altair.LayerChart
            Shown by notebooks; `deniable.charts.save_chart` writes it to a file.

        Examples
        --------
        >>> import deniable as dn
        >>> tally = dn.Tally(dn.warner(epsilon=1), [[6, 4]])
        >>> tally.chart().to_dict()["description"]
        'Counts of 2 cells in 1 cohort, before decoding'
        >>> tally.plot().to_dict() == tally.chart().to_dict()
        True
        """
        from deniable.charts import counts_chart

        survey, counts = self.survey, self._counts[:top, :top]
        own = survey.encoding.own_cells and survey.symbols is not None
        names = [str(survey.symbols[cell]) if own and survey.symbols else str(cell) for cell in range(counts.shape[1])]
        hidden = self._counts.size - counts.size
        subtitle = f"{self._n:,} randomised reports, not decoded" + (
            f"; {hidden:,} counters not shown" if hidden else ""
        )
        return counts_chart(names, counts.tolist(), title=survey.name or None, subtitle=subtitle)

    plot = chart  # the name that other libraries use

    def to_pandas(self) -> Any:
        """The counts as a pandas DataFrame: cohort, cell, count; a row for each counter.

        >>> import deniable as dn
        >>> dn.Tally(dn.warner(epsilon=1), [[6, 4]]).to_pandas()["count"].tolist()
        [6, 4]
        """
        import pyarrow as pa

        cohorts, cells = np.indices(self._counts.shape)
        columns = {"cohort": cohorts.ravel(), "cell": cells.ravel(), "count": self._counts.ravel()}
        return data_frame(pa.table(columns))

    def to_bytes(self) -> bytes:
        """The tally and its survey as bytes, in the format of a tally file.

        Returns
        -------
        bytes
            What `from_bytes` reads.
        """
        header = {"survey": json.loads(self.survey.to_json()), "n": str(self._n)}
        if self._repeats and (sizes := self._sizes()) is not None:
            header["windows"] = sizes_to_json(sizes)
        return packed_file(_MAGIC, header, [self._reports, self._counts.ravel()])

    @classmethod
    def from_bytes(cls, data: bytes) -> "Tally":
        """Read a tally that `to_bytes` wrote.

        Parameters
        ----------
        data : bytes
            All of it.

        Returns
        -------
        Tally
            The same counts.

        Raises
        ------
        TallyError
            If the bytes are no tally, or were truncated or altered.

        Examples
        --------
        >>> import deniable as dn
        >>> tally = dn.Tally(dn.warner(epsilon=1), [[6, 4]])
        >>> dn.Tally.from_bytes(tally.to_bytes()) == tally
        True
        """
        for first, read in cls._formats.items():
            if data.startswith(first):
                return read(data)  # type: ignore[no-any-return]
        header, packed = unpacked_file(data, _MAGIC, "a tally file", "survey")
        try:
            survey, n = Survey.from_fields(header["survey"]), header["n"]
        except SurveyError as problem:
            raise TallyError(f"tally must carry its survey and its total: {problem}") from None
        size = 8 * survey.cohorts * (1 + survey.columns)
        values = inflated(packed, size, "this survey")
        tally = cls(survey)
        tally.add(values[survey.cohorts :].reshape(survey.cohorts, survey.columns), values[: survey.cohorts])
        if n != str(tally.n):
            raise TallyError(f"tally must hold the reports its header names, {str(n)[:40]!r}, got {tally.n}")
        if "windows" in header:
            if not tally._repeats:
                raise TallyError("tally must not name windows: people answer its survey once")
            tally._merged = merged_sizes(header["windows"], tally.n)
        elif tally._repeats and tally.n:
            tally._merged = None
        return tally

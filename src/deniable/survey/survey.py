"""`Survey`: the public parameters that clients, collector and analyst share, identified by their SHA-256 digest."""

import operator
import os
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms import Mechanism, epsilon_text
from deniable.noise import Entropy
from deniable.survey.agreement import PublicAgreement
from deniable.survey.alphabet import Alphabet
from deniable.survey.encodings import Encoding
from deniable.survey.notebook import facts
from deniable.survey.participation import check_participation, participation_words
from deniable.survey.picture import Picture, bars
from deniable.survey.privacy import Privacy, privacy_of
from deniable.survey.reading import read_alphabet, read_encoding, read_mechanism, record
from deniable.survey.report_format import ReportFormat
from deniable.survey.sql import group_by

__all__ = ["Survey"]

FORMAT = "deniable-survey/1"  # the name and version of the JSON form (docs/reference/protocol.md)
MAX_COUNTERS = 1 << 27  # counters of a tally, of 8 bytes each: 1 GiB, so that one survey cannot exhaust a collector


@dataclass(frozen=True, slots=True, repr=False)
class Survey(PublicAgreement):
    """The public parameters of a survey: an immutable value with one canonical JSON text and the digest of that text.

    Usually made by a preset (`warner`, `krr`, `krappor`, `orr`, `orappor`, ...) and shared as a file.

    Parameters
    ----------
    alphabet : Alphabet
        Which answers exist.
    encoding : Encoding
        Which cells an answer occupies in a cohort.
    mechanism : Mechanism
        How a device randomises those cells.
    name : str
        What people call the survey, at most 500 characters.
    participation : str
        How often a person answers: "once", "window:hour", "window:day", "window:week" or "event". A window may be
        followed by the part of the devices that is replaced from one to the next, and by the part of the others that
        draws its answer anew: "window:day:turnover=0.05:change=0.1"; or by the share of the devices that report in
        each: "window:day:share=1/7".

    Raises
    ------
    SurveyError
        If the parts do not fit together, or a tally would need more than 2**27 counters.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=["chrome", "firefox", "safari"], epsilon=1, name="browser")
    >>> survey
    <Survey 'browser': k-RR, 3 symbols, epsilon 1, digest 492d6818>
    >>> dn.Survey.from_json(survey.to_json()) == survey
    True
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     survey.save(os.path.join(folder, "survey.json"))
    ...     dn.Survey.load(os.path.join(folder, "survey.json")) == survey
    True
    """

    alphabet: Alphabet
    encoding: Encoding
    mechanism: Mechanism
    name: str = ""
    participation: str = "once"
    digest: str = field(init=False, compare=False)
    report_format: ReportFormat = field(init=False, compare=False)

    def __post_init__(self) -> None:
        check_title(self.name)
        object.__setattr__(self, "participation", check_participation(self.participation))
        self.encoding.check(self.alphabet)
        if self.encoding.cells != self.mechanism.cells:
            raise SurveyError(
                f"mechanism and encoding must share their cells, got {self.mechanism.cells} and {self.encoding.cells}"
            )
        # The privacy claim needs this: an answer may occupy h cells, and two answers may differ in all of them.
        channel = self.mechanism.permanent
        if self.encoding.is_design and not channel.one_column:
            raise SurveyError(f"a block design must have k-ary randomised response on its cells, got {channel.kind!r}")
        channel.check(self.encoding)
        if self.cohorts * self.columns > MAX_COUNTERS:
            raise SurveyError(
                f"cohorts times cells must be at most {MAX_COUNTERS}, got {self.cohorts * self.columns}; "
                "use fewer cohorts or cells"
            )
        object.__setattr__(self, "digest", self._fields_digest())
        object.__setattr__(self, "report_format", ReportFormat.of(self.mechanism, self.cohorts, self.digest))

    # The paper's letters k, C and h by name.
    @property
    def cells(self) -> int:
        """k: how many cells one cohort's report can name."""
        return self.encoding.cells

    @property
    def cohorts(self) -> int:
        """C: how many cohorts share the population."""
        return self.encoding.cohorts

    @property
    def hashes(self) -> int:
        """h: how many cells one symbol may occupy."""
        return self.encoding.hashes

    @property
    def columns(self) -> int:
        """How many counters one cohort of the tally has."""
        return self.mechanism.columns

    @property
    def symbols(self) -> tuple[Any, ...] | None:
        """The closed alphabet in order, or None for an open one."""
        return self.alphabet.symbols

    @property
    def epsilon(self) -> float:
        """The epsilon that was asked for; `mechanism.epsilon` is the exact rational."""
        return float(self.mechanism.epsilon)

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The epsilon of an answer in all its reports, and of one report, as they were asked for: exact rationals.

        >>> import deniable as dn
        >>> dn.warner(epsilon=2.0, epsilon_report=0.5).bounds
        (Fraction(2, 1), Fraction(1, 2))
        """
        return self.mechanism.epsilon, self.mechanism.report_bound

    @property
    def width(self) -> int:
        """Bits of the random words that a client needs."""
        return self.mechanism.width

    def draw_cohort(self, entropy: Entropy) -> int:
        """The cohort of a new device, which is drawn before any answer is known.

        Parameters
        ----------
        entropy : Entropy
            Where random words come from.

        Examples
        --------
        >>> import deniable as dn
        >>> from deniable.noise import OsEntropy
        >>> dn.orr(epsilon=2, cells=4, cohorts=64).draw_cohort(OsEntropy()) < 64
        True
        """
        return entropy.uniform_below(self.cohorts)

    @property
    def epsilon_report(self) -> float:
        """The epsilon that one report alone spends: less than `epsilon_spent` if reports are randomised again.

        >>> import deniable as dn
        >>> survey = dn.warner(epsilon=2.0, epsilon_report=1.0)
        >>> round(survey.epsilon_report, 9), round(survey.epsilon_spent, 9)
        (1.0, 2.0)
        """
        return self.mechanism.epsilon_report

    @property
    def epsilon_spent(self) -> float:
        """The epsilon that the realised integers spend on an answer, in all its reports; never above the one asked for.

        >>> import deniable as dn
        >>> dn.warner(epsilon=1.0).epsilon_spent <= 1.0
        True
        """
        return self.mechanism.epsilon_spent

    @property
    def permanent_responses(self) -> int | None:
        """How many permanent responses a memoising device can have: one for each set of cells that answers can occupy.

        The words of a permanent response are derived from the cells, so answers that share their cell share their
        response. Where an answer occupies one cell there are as many as cells. None where nothing bounds them.

        >>> import deniable as dn
        >>> dn.orr(epsilon=2, cells=4, cohorts=64).permanent_responses, dn.oue(symbols=9, epsilon=1).permanent_responses
        (4, 9)
        """
        counts = [] if self.alphabet.is_open else [len(self.alphabet)]
        counts += [self.cells] if self.encoding.occupied == 1 else []
        return min(counts, default=None)

    @property
    def title(self) -> str:
        """The paper's name for this combination of encoding and randomiser."""
        named = self.encoding.title or self.mechanism.permanent.title(own_cells=self.encoding.own_cells)
        hashed = not self.encoding.title and self.encoding.shared is None
        return named + (" (closed)" if hashed and not self.alphabet.is_open else "")

    def key(self, value: object) -> Any:
        """What stands for a symbol in every cohort: its position, or in an open alphabet its fingerprint or its bytes.

        Parameters
        ----------
        value : str, int or bytes
            The symbol.

        Returns
        -------
        int or bytes
            The key that the encoding turns into cells.

        Raises
        ------
        AlphabetError
            If the value is no symbol of this survey. The message does not show it.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.krr(symbols=["no", "maybe", "yes"], epsilon=1).key("maybe")
        1
        """
        return self.encoding.key(self.alphabet, value)

    def encode(self, cohort: int, value: object) -> tuple[int, ...]:
        """The cells that a symbol occupies in a cohort, before any noise: the result is not private.

        Parameters
        ----------
        cohort : int
            The number of the cohort, from 0.
        value : str, int or bytes
            The symbol.

        Returns
        -------
        tuple of int
            Cells below `cells`, sorted and distinct.

        Raises
        ------
        SurveyError
            If there is no such cohort.
        AlphabetError
            If the value is no symbol of this survey. The message does not show it.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.krr(symbols=["no", "maybe", "yes"], epsilon=1).encode(0, "yes")
        (2,)
        """
        if not 0 <= cohort < self.encoding.cohorts:
            raise SurveyError(f"cohort must be from 0 to {self.cohorts - 1}, got {cohort}")
        return self.encoding.encode(operator.index(cohort), self.encoding.key(self.alphabet, value))

    def privacy(self, symbols: Iterable[object] | None = None, *, report: bool = False) -> Privacy:
        """The exact matrix of epsilons between answers: how far whoever gave one can deny it by claiming another.

        The entry of two answers is ln of the largest ratio P(report | first) / P(report | second), from the integers
        of the mechanism. It is infinite where a report of the first never comes from the second.

        Parameters
        ----------
        symbols : iterable, optional
            The answers to compare, 2 to 256. Without them all of a closed alphabet; of an open one the worst case of
            any two answers.
        report : bool
            Whether it is about one report; otherwise about all reports of an answer, which is more only where reports
            are randomised again.

        Returns
        -------
        Privacy
            Prints as a small heat map; `epsilons` are the numbers, `ratios` the exact rationals.

        Raises
        ------
        SurveyError
            If there are more than 256 answers, or fewer than two.

        Examples
        --------
        >>> import deniable as dn
        >>> print(dn.krr(symbols=["a", "b", "c"], epsilon=1).privacy())
        epsilon of a row's answer against a column's
               a      b      c
        a      0 █ 1.00 █ 1.00
        b █ 1.00      0 █ 1.00
        c █ 1.00 █ 1.00      0
        """
        return privacy_of(self, symbols, report=report)

    def sql(
        self,
        *,
        dialect: str = "duckdb",
        table: str | Sequence[str] = "reports",
        cohort: str | None = "cohort",
        response: str = "response",
    ) -> str:
        """The SQL query that counts a table of reports.

        `deniable.count(survey, result)` makes a tally of its result.

        Parameters
        ----------
        dialect : str
            "duckdb", "postgresql", "bigquery" or "spark".
        table : str or sequence of str
            The name of the table, or the parts of a name with dots between them.
        cohort : str, optional
            The column of cohorts; None if a survey of one cohort has no such column.
        response : str
            The column of responses.

        Returns
        -------
        str
            A query whose rows are groups of reports: cohort, cell, number of reports, and the reason if they are
            refused. For bit reports the column `cells` lists how often each bit was set.

        Examples
        --------
        >>> import deniable as dn
        >>> print(dn.krr(symbols=["a", "b", "c"], epsilon=1).sql(table="answers", cohort=None))
        SELECT
          CASE WHEN reason IS NULL THEN cohort END AS cohort,
          CASE WHEN reason IS NULL THEN response END AS cell,
          COUNT(*) AS reports,
          reason
        FROM (
          SELECT 0 AS cohort, "response" AS response,
            CASE
              WHEN "response" IS NULL THEN 'no response'
              WHEN "response" NOT BETWEEN 0 AND 2 THEN 'response out of range'
            END AS reason
          FROM "answers"
        ) AS report
        GROUP BY 1, 2, 4
        <BLANKLINE>
        """
        return group_by(self.report_format, dialect, table, cohort, response)

    def _fields(self) -> dict[str, object]:
        # Surveys of the time before this field existed are answered once, and keep their digest.
        again = {} if self.participation == "once" else {"participation": self.participation}
        return {
            "format": FORMAT,
            "name": self.name,
            "alphabet": self.alphabet.to_json(),
            "encoding": self.encoding.to_json(),
            "mechanism": self.mechanism.to_json(),
            **again,
        }

    @classmethod
    def from_fields(cls, fields: object) -> "Survey":
        """The survey in a JSON object that is already parsed.

        Parameters
        ----------
        fields : dict
            What `strict_json` returned for the text of a survey.

        Returns
        -------
        Survey
            The same survey.

        Raises
        ------
        SurveyError
            As `from_json`.

        Examples
        --------
        >>> import deniable as dn, json
        >>> survey = dn.warner(epsilon=1)
        >>> dn.Survey.from_fields(json.loads(survey.to_json())) == survey
        True
        """
        if isinstance(fields, dict) and str(fields.get("format")).startswith("deniable-form/"):
            raise SurveyError("survey must be of one question here, got a form of several; read it with dn.Form.load")
        top = record("survey", fields, "format name alphabet encoding mechanism digest", "participation")
        if top["format"] != FORMAT:
            raise SurveyError(
                f"format must be {FORMAT!r}, got {str(top['format'])[:40]!r}; this version reads no other"
            )
        alphabet = read_alphabet(top["alphabet"])
        encoding = read_encoding(top["encoding"], alphabet)
        mechanism = read_mechanism(top["mechanism"], encoding)
        participation = top.get("participation", "once")
        if "participation" in top and participation in ("once", "window"):
            raise SurveyError(
                f"participation must be in its one spelling, got {participation!r}; leave the field out for 'once', "
                "and write 'window:day' for 'window'"
            )
        survey = cls(alphabet, encoding, mechanism, top["name"], participation)
        survey._check_digest(top["digest"])
        return survey

    @classmethod
    def check(cls, value: object, hint: str = "") -> "Survey":
        """Return `value` if it is a survey; otherwise raise an error that names the next step.

        Parameters
        ----------
        value : object
            What was given as a survey.
        hint : str
            The next step, where `value` is not the name of a file.

        Returns
        -------
        Survey
            `value` itself.

        Raises
        ------
        SurveyError
            If `value` is no survey.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.Survey.check("survey.json")
        Traceback (most recent call last):
        ...
        deniable.errors.SurveyError: survey must be a Survey, got str; read a file with dn.Survey.load(path)
        """
        if isinstance(value, cls):
            return value
        if hasattr(value, "part_of"):
            raise SurveyError(
                "survey must be a Survey, got a form of several questions, which this does not take yet; "
                "use that of one question: form.part_of(name).survey"
            )
        file = isinstance(value, (str, os.PathLike))
        step = "read a file with dn.Survey.load(path)" if file else hint or "make one with a preset such as dn.krr"
        raise SurveyError(f"survey must be a Survey, got {type(value).__name__}; {step}")

    def chart(self, *, top: int = 12) -> Picture:
        """How loaded the dice are: the chance that a report names each answer, or cell, if one of them is true.

        The true one is the first of the list, or any text where answers are open. Needs no package: `Picture` is SVG.

        Parameters
        ----------
        top
            How many answers or cells to show, the likeliest first.

        Returns
        -------
        Picture
            Shown by notebooks; `save` writes it to a file.

        Examples
        --------
        >>> import deniable as dn
        >>> survey = dn.krr(symbols=["never", "once", "often"], epsilon=2)
        >>> picture = survey.chart()
        >>> "never" in picture, "78.7 %" in picture, "10.7 %" in picture, picture == survey.plot()
        (True, True, True, True)
        """
        answer = self.symbols[0] if self.symbols else "an answer"
        cells = self.encode(0, answer)
        weights, span, own = self.mechanism.weights(cells), self.mechanism.span, self.encoding.own_cells
        order = sorted(range(len(weights)), key=lambda column: -weights[column])[:top]
        stands = [self.mechanism.permanent.named_by(column) for column in order]
        names = [
            str(self.symbols[cell]) if own and self.symbols and cell is not None else f"cell {column}"
            for column, cell in zip(order, stands, strict=True)
        ]
        shown = zip(names, order, stands, strict=True)
        rows = [(name, weights[column] / span, cell in cells) for name, column, cell in shown]
        odds = self.mechanism.odds  # rounded up, because it is a bound
        most = f"{ceil(10 * odds) / 10:.1f}" if odds < 1000 else f"{ceil(odds):,}"
        more = f"; {len(weights) - len(order):,} more not shown" if len(weights) > len(order) else ""
        note = f"Orange: true. Any report is at most {most} times likelier than under another answer{more}."
        return bars(f"What a report names, if the answer is {str(answer)[:20]!r}", rows, note=note)

    plot = chart  # the name that other libraries use

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        shown = [str(symbol) for symbol in (self.symbols or ())[:12]]
        more = f", and {len(self.alphabet) - 12} more" if len(self.alphabet) > 12 else ""
        named: list[tuple[str, object]] = [
            ("answers", "any text" if self.alphabet.is_open else ", ".join(shown) + more),
            ("mechanism", self.title),
            ("epsilon", epsilon_text(self.mechanism.epsilon)),
            *([("epsilon of one report", f"{self.epsilon_report:.4g}")] if self.mechanism.twice else []),
            ("cells", self.cells),
            ("cohorts", self.cohorts),
            *([("answered", self._answered)] if self._answered else []),
            ("digest", self.digest[:16] + "..."),
        ]
        return facts(self.name or "Survey", named)

    def __repr__(self) -> str:
        size = "open alphabet" if self.alphabet.is_open else f"{len(self.alphabet)} symbols"
        shape = "".join(f", {words}" for words in (self.encoding.words, self.mechanism.permanent.words) if words)
        name = f" {self.name!r}" if self.name else ""
        epsilon = epsilon_text(self.mechanism.epsilon)
        if self.mechanism.twice:
            epsilon += f" and {epsilon_text(self.mechanism.report_bound)} a report"
        answered = f", answered {self._answered}" if self._answered else ""
        return f"<Survey{name}: {self.title}, {size}{shape}, epsilon {epsilon}{answered}, digest {self.digest[:8]}>"

    @property
    def _answered(self) -> str:
        """How people take part, in words; nothing where they answer once."""
        return "" if self.participation == "once" else participation_words(self.participation)


def check_title(name: object) -> None:
    """Refuse what is not text that can stand above a question: surveys and forms are called by it.

    >>> check_title("Tea or coffee?")
    """
    if not isinstance(name, str) or len(name) > 500:
        shown = f"{len(name)} characters" if isinstance(name, str) else type(name).__name__
        raise SurveyError(f"name must be text of at most 500 characters, got {shown}")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise SurveyError("name must be valid Unicode text, got one with a lone surrogate") from None


def checked_name(name: str) -> str:
    """The name of a new survey, which must not disturb a terminal or a chart. Surveys that are there keep theirs.

    >>> checked_name("Tea or coffee?")
    'Tea or coffee?'
    """
    text = name if isinstance(name, str) else ""  # what is no text is refused by the survey itself
    found = next((c for c in text if unicodedata.category(c) in ("Cc", "Zl", "Zp")), None)
    if found is not None:
        raise SurveyError(
            f"name must not have control characters or line breaks, got U+{ord(found):04X}; write it in one line"
        ).because("control")
    return name

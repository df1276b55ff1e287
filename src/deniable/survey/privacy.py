"""What a survey keeps apart: the exact bound between every two answers, of every mechanism.

The entry of answers x and x' is the largest ratio P(report | x) / P(report | x') over all reports that a device can
send; epsilon is its natural logarithm. It says how far whoever answered x can deny it by claiming x'. It is infinite
where some report of x never comes from x'. The matrix need not be symmetric.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms import log_floor
from deniable.survey.alphabet import read_candidates
from deniable.survey.picture import Picture, heat_map

__all__ = ["Privacy", "privacy_of"]

MAX_ANSWERS = 256  # answers of a matrix: 65,536 pairs take a second or two
SHADES = " ░▒▓█"  # from no difference to the largest one that is finite
_NUMBERED, _DRAWN, _NAME = 12, 48, 16  # answers with numbers, answers that are drawn, characters of a name


@dataclass(frozen=True, slots=True)
class Privacy:
    """The matrix of epsilons between answers: row, the answer that is given; column, the one that is claimed instead.

    Parameters
    ----------
    answers : tuple
        The answers of rows and columns.
    ratios : tuple of tuples
        The largest likelihood ratio of each pair, exactly; None where it is infinite.
    note : str
        What the numbers are of, where that needs saying.

    Examples
    --------
    >>> import deniable as dn
    >>> found = dn.sensitive(["flu", "hiv", "none"], sensitive=["hiv"], epsilon=1).privacy()
    >>> [[round(value, 3) for value in row] for row in found.epsilons]
    [[0.0, inf, inf], [1.0, 0.0, 1.0], [inf, inf, 0.0]]
    >>> found.largest, found.between("hiv", "flu") == found.epsilons[1][0]
    (inf, True)
    >>> print(found)
    epsilon of a row's answer against a column's
            flu    hiv   none
    flu       0    inf    inf
    hiv  █ 1.00      0 █ 1.00
    none    inf    inf      0
    inf: a report can give that answer away
    """

    answers: tuple[Any, ...]
    ratios: tuple[tuple[Fraction | None, ...], ...]
    note: str = ""

    @property
    def epsilons(self) -> list[list[float]]:
        """The matrix in nats: 0 on the diagonal, `inf` where a report can give the answer away."""
        logs = {ratio: _log(ratio) for ratio in {ratio for row in self.ratios for ratio in row}}
        return [[logs[ratio] for ratio in row] for row in self.ratios]

    @property
    def largest(self) -> float:
        """The largest entry."""
        finite = [ratio for row in self.ratios for ratio in row if ratio is not None]
        return math.inf if len(finite) < len(self.answers) ** 2 else _log(max(finite))

    def between(self, given: object, other: object) -> float:
        """The epsilon of one answer against another.

        Parameters
        ----------
        given, other : symbol
            The answer that is given, and the one that is claimed instead.

        Raises
        ------
        SurveyError
            If the matrix does not have one of them.
        """
        for answer in (given, other):
            if answer not in self.answers:
                raise SurveyError(f"given and other must be answers of this matrix, got {answer!r}")
        return _log(self.ratios[self.answers.index(given)][self.answers.index(other)])

    def chart(self) -> Picture:
        """A heat map of the matrix: the darker, the likelier is a report to tell the two answers apart.

        Needs no package: `Picture` is SVG. Of more than 48 answers the first ones are drawn.

        Returns
        -------
        Picture
            Shown by notebooks; `save` writes it to a file.

        Examples
        --------
        >>> import deniable as dn
        >>> picture = dn.sensitive(["flu", "hiv", "none"], sensitive=["hiv"], epsilon=1).privacy().chart()
        >>> picture.count(">1.00<"), picture.count(">inf<"), "Orange: a report can give that answer away." in picture
        (4, 8, True)
        """
        every = self.epsilons
        top = max(e for row in every for e in row if math.isfinite(e)) or 1.0
        names = [str(answer) for answer in self.answers[:_DRAWN]]
        rows = [
            [("0" if e == 0 else "inf" if math.isinf(e) else f"{e:.2f}", e / top) for e in row[: len(names)]]
            for row in every[: len(names)]
        ]
        note = [f"Darkest: {top:.4g}."]
        note += ["Orange: a report can give that answer away."] if math.isinf(self.largest) else []
        note += [f"{len(self.answers) - len(names)} more answers."] if len(self.answers) > len(names) else []
        title = "Epsilon of a row's answer against a column's"
        return heat_map(title, names, rows, note=" ".join([*note, self.note]).strip())

    plot = chart  # the name that other libraries use

    def __str__(self) -> str:
        names = [str(answer)[:_NAME] for answer in self.answers[:_DRAWN]]
        wide, count = max(map(len, names)), len(names)
        every = self.epsilons
        rows = [row[:count] for row in every[:count]]
        finite = max(e for row in every for e in row if math.isfinite(e))
        lines = ["epsilon of a row's answer against a column's"]
        top = {value: _shade(value, finite) for row in rows for value in row}
        if count <= _NUMBERED:
            texts = [["0" if e == 0 else "inf" if math.isinf(e) else f"{top[e]} {e:.2f}" for e in row] for row in rows]
            each = max(len(text) for row in [*texts, names] for text in row)
            lines.append(" " * wide + "".join(f" {name:>{each}}" for name in names))
            lines += [
                f"{name:<{wide}}" + "".join(f" {text:>{each}}" for text in row)
                for name, row in zip(names, texts, strict=True)
            ]
        else:
            lines += [
                f"{name:<{wide}} " + "".join(map(top.__getitem__, row)) for name, row in zip(names, rows, strict=True)
            ]
            lines.append(f"from {SHADES[0]!r} 0 to {SHADES[-1]} {finite:.4g}" + ", ∞ inf" * math.isinf(self.largest))
        if len(self.answers) > count:
            lines.append(f"and {len(self.answers) - count} more answers")
        if math.isinf(self.largest):
            lines.append("inf: a report can give that answer away")
        return "\n".join(lines + ([self.note] if self.note else []))

    def _repr_html_(self) -> str:
        """What a notebook shows: the same as a table of coloured cells."""
        every = self.epsilons
        top = max(e for row in every for e in row if math.isfinite(e)) or 1.0
        names = [escape(str(answer)[:_NAME]) for answer in self.answers[:_DRAWN]]
        head = "".join(f"<th>{name}</th>" for name in ["", *names])
        body = "".join(
            f"<tr><th>{name}</th>" + "".join(_cell(e, top) for e in row[: len(names)]) + "</tr>"
            for name, row in zip(names, every, strict=False)
        )
        note = f"<p>{escape(self.note)}</p>" if self.note else ""
        return (
            "<div><p><b>epsilon of a row's answer against a column's</b></p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}</div>"
        )


def _shade(value: float, top: float) -> str:
    # Equal budgets differ in their last digits, since each row is rounded for itself: they have one shade.
    return "∞" if math.isinf(value) else SHADES[math.ceil((len(SHADES) - 1) * value / top - 1e-6) if top else 0]


def _cell(value: float, top: float) -> str:
    colour, text = ("#c0392b", "inf") if math.isinf(value) else (f"rgba(76,120,168,{value / top:.2f})", f"{value:.2f}")
    return f'<td style="background:{colour}">{text}</td>'


def _log(ratio: Fraction | None) -> float:
    return math.inf if ratio is None else 0.0 if ratio == 1 else log_floor(ratio, Fraction(1 << 62))


def privacy_of(survey: Any, symbols: Iterable[object] | None, *, report: bool) -> Privacy:
    """`Survey.privacy`; `survey` is a Survey, whose module imports this one."""
    mechanism = survey.mechanism if report else survey.mechanism.permanent
    if survey.symbols is None and symbols is None:
        one, odds = Fraction(1), mechanism.odds
        return Privacy(
            ("an answer", "another"),
            ((one, odds), (odds, one)),
            "the worst case: answers share cells, so most pairs differ less; name some with symbols=",
        )
    answers: Sequence[Any] = survey.symbols or ()
    if symbols is not None:
        answers = read_candidates(survey.alphabet, tuple(symbols))
    if not 2 <= len(answers) <= MAX_ANSWERS:
        raise SurveyError(
            f"symbols must be 2 to {MAX_ANSWERS} answers in a matrix of them, got {len(answers)}; "
            "name those to compare with symbols="
        )
    keys = [survey.key(answer) for answer in answers]
    cells = [[survey.encoding.encode(cohort, key) for cohort in range(survey.cohorts)] for key in keys]
    note = "the largest of all cohorts: a report says which one it is of" if survey.cohorts > 1 else ""
    most = mechanism.odds

    def ratio(given: list[tuple[int, ...]], other: list[tuple[int, ...]]) -> Fraction | None:
        worst = Fraction(1)
        for mine, theirs in zip(given, other, strict=True):
            if mine != theirs:
                found = mechanism.ratio(mine, theirs)
                if found is None:
                    return None
                worst = max(worst, found)
                if survey.cohorts > 1 and worst >= most:
                    break
        return worst

    return Privacy(tuple(answers), tuple(tuple(ratio(a, b) for b in cells) for a in cells), note)

"""Designs that people run by hand: dice, cards, or a second question. Old data can be read with them.

Nothing is sent by a device. What people say is the report, and `columns.said` reads a column of it.
"""

import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from deniable.errors import SurveyError
from deniable.mechanisms import HandRun, design_rows, read_fraction
from deniable.survey.alphabet import Alphabet
from deniable.survey.encodings import Direct
from deniable.survey.survey import Survey, checked_name

__all__ = ["DESIGNS", "design"]

DesignTable = list[list[Fraction]]


def _said_yes(from_no: Fraction, from_yes: Fraction) -> DesignTable:
    """The table of P(say yes | no) and P(say yes | yes); rows and columns are no, yes."""
    return [[1 - from_no, from_no], [1 - from_yes, from_yes]]


def _forced(p: Fraction, yes: Fraction) -> DesignTable:
    if p + yes > 1 + Fraction(1, 10**9):
        raise SurveyError(
            f"p and yes must add up to at most 1 in a forced response, got {float(p + yes):g}; p is the chance to "
            "answer truthfully, yes that of being told to say yes"
        )
    return _said_yes(yes, min(p + yes, Fraction(1)))


# By name: the probabilities it takes, what is said (no and yes unless it says otherwise), and its table.
DESIGNS: dict[str, tuple[tuple[str, ...], tuple[str, str], Callable[..., DesignTable]]] = {
    "warner": (("p",), ("no", "yes"), lambda p: _said_yes(1 - p, p)),
    "forced": (("p", "yes"), ("no", "yes"), _forced),
    "unrelated": (("p", "u"), ("no", "yes"), lambda p, u: _said_yes((1 - p) * u, p + (1 - p) * u)),
    "crosswise": (("p",), ("different", "same"), lambda p: _said_yes(1 - p, p)),
    "mangat": (("p",), ("no", "yes"), lambda p: _said_yes(1 - p, Fraction(1))),
}


def design(
    kind: str | Iterable[Iterable[object]],
    *,
    p: object = None,
    yes: object = None,
    u: object = None,
    symbols: Iterable[object] | int | None = None,
    answers: Iterable[str | int] | None = None,
    name: str = "",
) -> Survey:
    """A randomised-response design that people run by hand, so that its data can be decoded, regressed and planned.

    The answers to a yes/no question are "no" and "yes". With probabilities of chance p, yes and u:

    - "warner" (1965): with p the question is whether one has the trait, otherwise whether one has it not.
    - "forced": with p one answers truthfully, with `yes` one must say yes, otherwise no.
    - "unrelated" (Greenberg and others 1969): with p the sensitive question, otherwise a harmless one to which a share
      u says yes.
    - "crosswise" (Yu, Tian and Tang 2008): whether the answers to the sensitive question and to a harmless one, true of
      a share p, are the "same" or "different".
    - "mangat" (1994): whoever has the trait says yes; the others say no with p, otherwise yes. A no is always true, so
      nobody who says it can deny it: its epsilon is infinite.
    - a matrix: a row of probabilities for each true answer, a column for each thing to say.

    Parameters
    ----------
    kind : str or matrix
        The design, by name or as a matrix.
    p, yes, u : float, str or Fraction, optional
        Its probabilities, as "2/3" or 0.7.
    symbols : iterable or int, optional
        The true answers: the two of a named design, the first the one without the trait; or one a row of a matrix,
        which are 0, 1, 2, ... without them.
    answers : iterable of str or int, optional
        What people say, as the data spell it: one a column, such as (0, 1).
    name : str
        What people call the survey: one line, at most 500 characters.

    Returns
    -------
    Survey
        Its `privacy()` says what it spends. `dn.count(survey, column)` counts what people said.

    Raises
    ------
    SurveyError
        If a probability is missing, not one, or given for nothing; or if the design tells answers not apart, or hides
        nothing.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.design("forced", p="2/3", yes="1/6")
    >>> print(survey.privacy())
    epsilon of a row's answer against a column's
             no    yes
    no        0 █ 1.61
    yes  █ 1.61      0
    >>> dn.decode(dn.count(survey, {"no": 700, "yes": 300})).probabilities.round(3).tolist()
    [0.8, 0.2]
    >>> dn.design("mangat", p=0.6).privacy().between("no", "yes")
    inf
    """
    if isinstance(kind, str):
        rows, default = _named_rows(kind, {"p": p, "yes": yes, "u": u})
        alphabet = Alphabet.closed(("no", "yes") if symbols is None else symbols)
        if len(alphabet) != 2:
            raise SurveyError(f"symbols of a named design must be two answers, got {len(alphabet)}; give a matrix")
    else:
        if given := [key for key, value in (("p", p), ("yes", yes), ("u", u)) if value is not None]:
            raise SurveyError(f"{given[0]} must not be given beside a matrix, which has every probability")
        rows, default = _matrix(kind), None
        alphabet = Alphabet.closed(len(rows) if symbols is None else symbols)
        if len(alphabet) != len(rows):
            raise SurveyError(f"matrix must have a row for each of {len(alphabet)} answers, got {len(rows)} rows")
    weights = design_rows(rows, tuple(alphabet))
    said = _said(answers, default, alphabet, len(weights[0]))
    return Survey(alphabet, Direct(len(alphabet)), HandRun(weights, said), checked_name(name), "once")


def _named_rows(kind: str, given: dict[str, object]) -> tuple[DesignTable, Sequence[str]]:
    if kind not in DESIGNS:
        *first, last = map(repr, DESIGNS)
        raise SurveyError(f"design must be {', '.join(first)}, {last} or a matrix, got {kind[:40]!r}")
    wanted, said, table = DESIGNS[kind]
    for key, value in given.items():
        if (value is None) == (key in wanted):
            rule = "be given" if value is None else "not be given"
            raise SurveyError(f"{key} must {rule} for the design {kind!r}, which takes {' and '.join(wanted)}")
    return table(*(_probability(key, given[key]) for key in wanted)), said


def _probability(name: str, value: object) -> Fraction:
    refusal = SurveyError(f"{name} must be a probability from 0 to 1, got {str(value)[:40]!r}; write 0.7 or '2/3'")
    if isinstance(value, bool) or not isinstance(value, (numbers.Real, str)):
        raise refusal
    if isinstance(value, float) and not math.isfinite(value):
        raise refusal
    try:
        # By its repr, so that 0.1 is a tenth; a fraction of two small numbers keeps its float, which is as near.
        exact = Fraction(value) if isinstance(value, numbers.Rational) else read_fraction(str(value)[:40])
    except (ValueError, OverflowError):
        raise refusal from None
    if not 0 <= exact <= 1:
        raise refusal
    return exact


def _matrix(matrix: object) -> list[Any]:
    try:
        rows = [list(row) for row in matrix]  # type: ignore[attr-defined]
    except TypeError:
        raise SurveyError(
            f"design must be a name or rows of probabilities, one row an answer, got {type(matrix).__name__}"
        ) from None
    if len(rows) < 2:
        raise SurveyError(f"matrix must have a row for each of two answers or more, got {len(rows)}")
    return rows


def _said(
    answers: Iterable[str | int] | None, default: Sequence[str] | None, alphabet: Alphabet, columns: int
) -> list[str | int]:
    if answers is not None:
        if isinstance(answers, (str, bytes)):
            raise SurveyError("answers must be a list of what people say, one a column, got one text")
        return list(answers)
    symbols = tuple(alphabet)
    if default is not None and (symbols == ("no", "yes") or tuple(default) != ("no", "yes")):
        return list(default)
    if columns == len(symbols) and all(type(symbol) in (str, int) for symbol in symbols):
        return list(symbols)  # type: ignore[arg-type]
    return list(range(columns))

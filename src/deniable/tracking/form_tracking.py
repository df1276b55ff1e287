"""Tracking of a form: a sequence of windows for each question, from the tallies of its parts.

A question of its own part is tracked as any survey. The questions of a related pair are tracked from the sums of the
pairs' estimates: a sum has a variance of its own, which follows from the mechanism (`sum_variance`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from deniable.decoders import Repeated
from deniable.errors import DecodeError
from deniable.survey import NO_ANSWER, Form, FormPart, html_table
from deniable.tally import FormTally, Tally
from deniable.theory import sum_variance
from deniable.tracking.changes import Tails
from deniable.tracking.contrast import Change
from deniable.tracking.observed import Observed, tails
from deniable.tracking.overlap import Lives
from deniable.tracking.tracked import Tracked
from deniable.tracking.tracking import lives_of, tracked_of, trackers_of

if TYPE_CHECKING:
    import altair as alt
    import pyarrow as pa

__all__ = ["TrackedForm"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class TrackedForm(Mapping[str, Tracked]):
    """A form over time: for each question a sequence of windows. Made by `track`.

    Parameters
    ----------
    form : Form
        The form of the last window.
    found : dict
        By the name of a question.
    pairs : dict
        The joint distributions of related pairs, by the names of both questions.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(3, epsilon=1), epsilon=6)
    >>> rng = np.random.default_rng(0)
    >>> shares = [{"smokes": [1 - p, p], "likes": [0.5, 0.3, 0.2]} for p in [0.3] * 5 + [0.4] * 5]
    >>> tracked = dn.track([dn.simulate(form, p, n=100_000, rng=rng) for p in shares])
    >>> tracked, list(tracked), round(tracked["smokes"][-1]["yes"], 2)
    (<TrackedForm 2 questions over 10 windows>, ['smokes', 'likes'], 0.4)
    >>> [(question, change.symbol, change.window) for question, change in tracked.changes()]
    [('smokes', 'no', 5), ('smokes', 'yes', 5)]
    >>> tracked.to_arrow().num_rows, tracked.chart().to_dict() == tracked.plot().to_dict()
    (50, True)
    >>> tracked.joint("smokes", "likes")
    Traceback (most recent call last):
        ...
    deniable.errors.DecodeError: questions must be related in the form to be tracked together, got smokes and likes
    """

    form: Form
    found: dict[str, Tracked]
    pairs: dict[tuple[str, str], Tracked]

    def __getitem__(self, question: str) -> Tracked:
        if question not in self.found:
            self.form.part_of(question)
        return self.found[question]

    def __iter__(self) -> Iterator[str]:
        return iter(self.found)

    def __len__(self) -> int:
        return len(self.found)

    @property
    def windows(self) -> tuple[object, ...]:
        """The labels of the windows."""
        return next(iter(self.found.values())).windows

    def joint(self, first: str, second: str) -> Tracked:
        """All pairs of answers of two related questions, in the order of the form; symbols are numbers of pairs.

        Parameters
        ----------
        first, second : str
            Names of two questions that the form relates.

        Raises
        ------
        DecodeError
            If the form does not relate them.
        """
        found = self.pairs.get((first, second), self.pairs.get((second, first)))
        if found is None:
            raise DecodeError(f"questions must be related in the form to be tracked together, got {first} and {second}")
        return found

    def changes(self, level: float = 0.95) -> list[tuple[str, Change]]:
        """Which answers to which question changed, and when.

        Parameters
        ----------
        level : float
            The chance that nothing is named in a history in which nothing changes: all questions together.

        Returns
        -------
        list of pairs
            The name of a question, and a change of one of its answers.
        """
        each = 1 - (1 - level) / len(self) if 0 < level < 1 else level
        return [(name, change) for name, tracked in self.items() for change in tracked.changes(each)]

    def to_arrow(self, level: float = 0.95) -> "pa.Table":
        """An Arrow table with a row for each question, window and answer.

        Parameters
        ----------
        level : float
            Of the confidence intervals.
        """
        import pyarrow as pa

        tables = []
        for name, tracked in self.items():
            table = tracked.to_arrow(level)
            tables.append(table.add_column(0, "question", pa.array([name] * len(table))))
        return pa.concat_tables(tables)

    def chart(self, *, level: float = 0.95, top: int = 6) -> "alt.VConcatChart":
        """Lines with bands, one question below the other. Needs the extra `charts`.

        Parameters
        ----------
        level : float
            Of the bands and of the changes.
        top : int
            How many answers of a question, at most six.
        """
        from deniable.charts import stacked

        charts = {name: tracked.chart(level=level, top=top) for name, tracked in self.items()}
        return stacked(charts, repr(self)[1:-1])

    plot = chart  # the name that other libraries use

    def __repr__(self) -> str:
        return f"<TrackedForm {len(self)} questions over {len(self.windows)} windows>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the last window of each question."""
        rows = []
        for name, tracked in self.items():
            last = tracked[-1]
            limits = np.clip(last.intervals(), 0.0, 1.0).tolist()
            rows += [
                (name, str(symbol), f"{100 * share:.1f} %", f"{100 * low:.1f} to {100 * high:.1f} %")
                for symbol, share, (low, high) in zip(tracked.symbols, last.probabilities, limits, strict=True)
            ]
        note = f"the last of {len(self.windows)} windows"
        return html_table(self.form.name or "Form", ["question", "answer", "share", "95 % interval"], rows, note=note)


@dataclass(frozen=True)
class _Sums(Observed):
    """One question of a pair: each of its answers is a sum of so many pairs."""

    cells: int = 1

    def tails(self, sizes: Floats) -> Tails:
        return tails(self.surveys, self.typical, sizes, self.cells)

    def relative(self, shares: Floats) -> Floats:
        columns = [
            sum_variance(survey.mechanism, np.clip(shares[:, place], 0.0, 1.0), self.cells)
            / sum_variance(survey.mechanism, self.typical, self.cells)
            for place, survey in enumerate(self.surveys)
        ]
        return np.stack(columns, axis=1)


def _sums(joint: Observed, tallies: list[Tally], part: FormPart, place: int, lives: Lives) -> Observed:
    """What was observed of one question of a pair."""
    sizes = [len(question.answers) for question in part.questions]

    def added(values: Floats) -> Floats:
        return np.asarray(values.reshape(*sizes, *values.shape[1:]).sum(axis=1 - place))

    cells, typical = sizes[1 - place], np.clip(added(joint.typical), 0.0, 1.0)
    repeats = bool(joint.permanent.any())
    variances, permanent = np.ones((sizes[place], len(tallies))), np.zeros(sizes[place])
    for window, tally in enumerate(tallies):
        if not tally.n:
            continue
        mechanism = tally.survey.mechanism
        both = sum_variance(mechanism, typical, cells)
        variances[:, window] = both / tally.n
        if repeats:
            first = np.minimum(sum_variance(mechanism.permanent, typical, cells) / both, 1.0)
            others = Repeated.of(tally, lives.turnover, lives.change, joint.returns).others
            variances[:, window] *= 1 + first * others
            permanent = np.maximum(permanent, first * (1 + others) / (1 + first * others))
    symbols = part.questions[place].answers.symbols or ()
    return _Sums(
        symbols, joint.surveys, added(joint.values), variances, permanent, typical, joint.returns, joint.doubt,
        np.zeros(sizes[place]), cells,
    )  # fmt: skip


def _track_forms(
    given: list[FormTally],
    labels: list[object],
    candidates: Mapping[str, Iterable[object]] | None,
    turnover: float | None,
    change: float | None,
    participation: str | None,
) -> TrackedForm:
    """`track` of forms: each part on its own."""
    form = given[-1].form
    told = [(part.name, part.survey.symbols) for part in form.parts]
    if any([(part.name, part.survey.symbols) for part in tally.form.parts] != told for tally in given):
        raise DecodeError(
            "tallies must be of forms with the same questions, related alike, got others among them; track the "
            "questions that all have: dn.track([tally['smokes'] for tally in tallies])"
        )
    if candidates is not None and not isinstance(candidates, Mapping):
        raise DecodeError(
            f"candidates of a form must be given by the names of its questions, got {type(candidates).__name__}; "
            "write candidates={'city': [...]}"
        )
    found: dict[str, Tracked] = {}
    pairs: dict[tuple[str, str], Tracked] = {}
    for place, part in enumerate(form.parts):
        tallies = [tally.parts[place] for tally in given]
        if not any(tally.n for tally in tallies):
            raise DecodeError(f"tallies must hold an answer to every question, got none to {part.name!r}")
        lives = lives_of(tallies, turnover, change)
        seen = Observed.of(tallies, _listed(part, candidates or {}), participation, lives)
        whole = tracked_of(tallies, labels, seen, lives)
        names = [question.name for question in part.questions]
        if len(names) == 1:
            found[names[0]] = whole
            continue
        pairs[names[0], names[1]] = whole
        for number, name in enumerate(names):
            found[name] = tracked_of(tallies, labels, _sums(seen, tallies, part, number, lives), lives)
    return TrackedForm(form, {question.name: found[question.name] for question in form.questions}, pairs)


def _listed(part: FormPart, candidates: Mapping[str, Iterable[object]]) -> list[object] | None:
    if not part.survey.alphabet.is_open:
        return None
    question = part.questions[0]
    if question.name not in candidates:
        raise DecodeError(f"candidates must be given for {question.name!r}: the answers to look for")
    listed = list(candidates[question.name])
    return [*listed, NO_ANSWER] if question.skip and NO_ANSWER not in listed else listed


trackers_of[FormTally] = _track_forms

"""`discover`: what people wrote, when nobody had a list.

The search walks through the levels of the survey (Wang, Li and Jha 2019). At each one it estimates the shares of
candidates, keeps the most promising beginnings, and extends them by every byte that may follow. Candidates of the last
level, whole texts, are tested (`screening`).

Why the test is honest: candidates were chosen by the people of other levels, and with other hash functions. For a text
that nobody wrote the reports of the last level are what they would be without any search, so a test with family-wise
error control over *all* candidates that are tested there keeps its level whatever the search did.

Shares are estimated from the last level alone, too. Shorter levels say something about a text only together with all
others that begin like it, of which most are unknown: a regression on all levels was biased.

Claim: a text that nobody wrote is declared in at most 5 % of tallies.
Proof: tests/statistical/test_discovery.py::test_texts_that_nobody_wrote_are_rarely_declared
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniable.decoders.constraints import Projected
from deniable.decoders.discovered import DiscoveredEstimate
from deniable.decoders.extending import Extension, partial
from deniable.decoders.levels import beginning_shares, level_design, level_tally
from deniable.decoders.limits import check_level
from deniable.decoders.screened import ScreenedEstimate
from deniable.decoders.screening import Screened, Screening
from deniable.errors import DecodeError, UnfinishedSearch
from deniable.survey import END, Prefixes, Survey, read_candidates
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]

CUT = "\N{HORIZONTAL ELLIPSIS}"  # ends a text that is longer than the last level
_KEPT = 2048  # beginnings that a level keeps, at most
_AT_A_LEVEL = 1 << 20  # candidates of one level, at most: seconds
MOST = 1 << 25  # candidates of a whole search, unless told otherwise: a minute or two
_FINE = 1000  # parts of a level in what progress is told
_MOST_AT_ONCE = 1 << 22  # candidates of one level that fit into memory
# Of the family-wise error that is allowed: tails are approximated. Of 988 hard tallies 5.2 % had a false discovery
# where four parts in five were spent, and "at most 5 %" should be seen to hold.
_SPENT = 0.6
_DECLARED_FROM = 4.5  # standard errors: about what a test of so many candidates needs


@dataclass(frozen=True, slots=True)
class Beginnings:
    """Where a search was stopped: beginnings that were kept at the last level that it finished.

    Parameters
    ----------
    levels
        How many levels are done.
    kept
        The beginnings, most promising first.
    promise
        One number each: the logarithm of the chance, as levels saw it, that they hold a text that can be declared.
    looked
        How many candidates were looked at.

    Examples
    --------
    >>> state = Beginnings(1, (b"ly",), (-0.5,), 17)
    >>> Beginnings.from_json(state.to_json()) == state
    True
    """

    levels: int = 0
    kept: tuple[bytes, ...] = (b"",)
    promise: tuple[float, ...] = (0.0,)
    looked: int = 0

    def to_json(self) -> dict[str, Any]:
        """As JSON values; beginnings are hexadecimal."""
        kept = [beginning.hex() for beginning in self.kept]
        return {"levels": self.levels, "kept": kept, "promise": list(self.promise), "looked": self.looked}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Beginnings":
        """What `to_json` wrote.

        Parameters
        ----------
        value
            JSON values.

        Raises
        ------
        DecodeError
            For anything else.
        """
        try:
            kept = tuple(bytes.fromhex(text) for text in value["kept"])
            promise = tuple(float(number) for number in value["promise"])
            found = cls(int(value["levels"]), kept, promise, int(value["looked"]))
        except (KeyError, TypeError, ValueError, AttributeError):
            found = cls(-1)
        if found.levels < 0 or found.looked < 0 or not found.kept or len(found.kept) != len(found.promise):
            raise DecodeError("resume must be the beginnings of an unfinished search; start again without it")
        return found


def discover(
    tally: Tally,
    *,
    alphabet: str | Iterable[str] | None = None,
    prefixes: Iterable[str] | None = None,
    candidates: Iterable[str] | None = None,
    level: float = 0.95,
    seconds: float | None = None,
    most: int = MOST,
    resume: Beginnings | None = None,
    progress: Progress | None = None,
) -> DiscoveredEstimate:
    """Find the texts that people wrote, in a tally of a survey that `discovery` made.

    With probability `level` no text is declared that nobody wrote. Which texts can be found depends on their shares:
    docs/results/discovery.md has how many of which are.

    Parameters
    ----------
    tally
        The counts, of all levels.
    alphabet
        Characters that texts have: "digits", "domains", or the characters themselves. Without it all of Unicode but
        control characters.
    prefixes
        Texts one of which every answer begins with, such as "https://".
    candidates
        Texts that are tested in any case, together with those that the search finds.
    level
        One minus the family-wise error of declaring a text that nobody wrote.
    seconds
        When to give up; without it, never.
    most
        How many candidates to look at, over all levels, before giving up.
    resume
        Where a search was stopped before (`UnfinishedSearch.beginnings`); with the same `alphabet` and `prefixes`.
    progress
        Called with how much is done, and of how much.

    Returns
    -------
    DiscoveredEstimate
        Its `symbols` are the declared texts, largest first.

    Raises
    ------
    DecodeError
        If the survey is none that discovers, a level has no reports, or its levels cannot be searched.
    UnfinishedSearch
        If the search reached a limit.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.discovery(epsilon=4, length=6, cohorts=256, seed=bytes(16))
    >>> animals = {"lynx": 0.5, "elk": 0.3, "zebra": 0.2}
    >>> rng = np.random.default_rng(0)
    >>> tally = dn.simulate(survey, list(animals.values()), 10**5, rng, symbols=list(animals))
    >>> dn.discover(tally).symbols
    ('lynx', 'elk', 'zebra')
    >>> dn.discover(tally, alphabet="abcdefghijklmnopqrstuvwxyz", prefixes=["l", "z"]).symbols
    ('lynx', 'zebra')
    """
    search = _Search(tally, Extension(_checked(tally).alphabet, alphabet, prefixes), _Limits(most, seconds), progress)
    listed, screening = _listed(tally.survey, candidates), Screening(1 - _SPENT * (1 - check_level(level)))
    state = Beginnings() if resume is None else resume
    if not isinstance(state, Beginnings) or not search.fits(state):
        raise DecodeError("resume must be the beginnings of an unfinished search; start again without it")
    try:
        while state.levels < len(search.levels) - 1:
            state = search.walked(state)
        return search.declared(state, listed, screening)
    except _Reached as limit:
        raise UnfinishedSearch(
            f"a search must end within its limits, got to level {state.levels} of {len(search.levels)} with {limit}; "
            "resume it with a higher limit, or name an alphabet or known prefixes",
            beginnings=state,
        ) from None


class _Reached(Exception):
    """A limit of the search."""


class _Limits:
    """How long a search may take."""

    def __init__(self, most: object, seconds: object) -> None:
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise DecodeError(f"most must be a number of candidates from 1 on, got {most!r}")
        if seconds is not None and (isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0):
            raise DecodeError(f"seconds must be a number above 0, got {seconds!r}")
        self.most, self.seconds = most, seconds
        self._start = time.monotonic()

    def check(self, looked: int) -> None:
        if looked > self.most:
            raise _Reached(f"{self.most} candidates")
        if self.seconds is not None and time.monotonic() - self._start > self.seconds:
            raise _Reached(f"{self.seconds:g} seconds")


class _Search:
    """One search in one tally."""

    def __init__(self, tally: Tally, extension: Extension, limits: _Limits, progress: Progress | None) -> None:
        self.tally, self.extension, self.limits, self.progress = tally, extension, limits, progress
        self.encoding = cast(Prefixes, tally.survey.encoding)
        self.levels = [length for length, _ in self.encoding.levels]
        last = level_tally(tally, len(self.levels) - 1)
        _, slope = tally.survey.mechanism.affine
        usual = 1 / tally.survey.cells  # of the reports of a cohort are in any one cell
        # The share from which a text is declared, about.
        self.target = _DECLARED_FROM * float(np.sqrt(usual * (1 - usual) / last.n) / slope)

    def fits(self, state: Beginnings) -> bool:
        """Whether these are beginnings that a search of this survey can have kept."""
        if not 0 <= state.levels < len(self.levels) or len(state.kept) > _KEPT:
            return False
        length = self.levels[state.levels - 1] if state.levels else 0
        return all(len(b) == length or (b.endswith(END) and len(b) <= length + 1) for b in state.kept)

    def walked(self, state: Beginnings) -> Beginnings:
        """One level further."""
        from scipy.special import log_ndtr

        number = state.levels
        found, parents = self._grown(state)
        looked = state.looked + len(found)
        shares = beginning_shares(level_tally(self.tally, number), found, self._told(number, looked))
        # What is not likely to hold a text that can be declared is not worth extending.
        promise = log_ndtr((shares.values - self.target) / shares.error) + np.array(state.promise)[parents]
        steps = self.levels[number + 1] - self.levels[number]
        room, kept = _AT_A_LEVEL, list[int]()
        for i in np.argsort(-promise, kind="stable")[:_KEPT].tolist():
            room -= 1 if found[i].endswith(END) else self.extension.width(partial(found[i]), steps)
            if room < 0 and kept:
                break
            kept.append(i)
        best = float(promise[kept[0]])
        return Beginnings(
            number + 1, tuple(found[i] for i in kept), tuple(float(promise[i]) - best for i in kept), looked
        )

    def _grown(self, state: Beginnings) -> tuple[list[bytes], npt.NDArray[np.intp]]:
        """The candidates of the next level, and from which beginning each comes."""
        self.limits.check(state.looked)
        number = state.levels
        before = self.levels[number - 1] if number else 0
        room = self.limits.most - state.looked
        steps = self.levels[number] - before
        widths = sum(self.extension.width(partial(b), steps) for b in state.kept if not b.endswith(END))
        if number and widths > room:
            self.limits.check(self.limits.most + 1)
        found = self.extension.grown(state.kept, steps, _MOST_AT_ONCE)
        place = {beginning: i for i, beginning in enumerate(state.kept)}
        parents = [place[b] if b in place else place[b[:before]] for b in found]
        return found, np.array(parents, np.intp)

    def _told(self, number: int, looked: int) -> Progress:
        """What a level says of its progress, in parts of the whole search; it also checks the time."""

        def told(done: int, total: int) -> None:
            self.limits.check(looked)
            if self.progress is not None:
                self.progress(number * _FINE + _FINE * done // max(total, 1), len(self.levels) * _FINE)

        return told

    def declared(self, state: Beginnings, listed: Sequence[bytes], screening: Screening) -> DiscoveredEstimate:
        """Test the candidates of the last level, and estimate what is there."""
        found, _ = self._grown(state)
        if self.encoding.overlong == "refuse":
            found = [text for text in found if text.endswith(END)]
        names = _named(self.tally.survey, list(dict.fromkeys([*found, *listed])))
        if not names:
            raise DecodeError("alphabet and prefixes must leave at least one whole text to look for, got none")
        looked = state.looked + len(names)
        self.limits.check(looked)
        last = level_tally(self.tally, len(self.levels) - 1)
        _check_cohorts(last, len(names))
        design = level_design(last, list(names.values()))
        solution = screening.solve([last], design, self._told(len(self.levels) - 1, looked))[0]
        assert isinstance(solution, Screened)
        tested = ScreenedEstimate.of(solution, tuple(names), screening, Projected(), last, design)
        places = tested.kept[np.isfinite(tested.standard_errors[tested.kept])]
        places = places[np.lexsort([-tested.raw[places], -tested.probabilities[places]])]
        return DiscoveredEstimate(
            tuple(tested.symbols[i] for i in places.tolist()), tested.probabilities[places], tested.raw[places],
            screening, tested.constraint, self.tally.copy(), tested.design, rest=tested.rest,
            tested=tested, places=places,
        )  # fmt: skip


def _checked(tally: object) -> Survey:
    """The survey of a tally that can be searched."""
    if not isinstance(tally, Tally):
        raise DecodeError(f"tally must be a Tally, got {type(tally).__name__}; make one with dn.count")
    survey = tally.survey
    if not survey.encoding.finds_text:
        raise DecodeError(
            f"tally must be of a survey that discovers text (dn.discovery), got one of {survey.encoding.kind} answers; "
            "decode it, with a list of candidates if it is open"
        )
    for number, (length, _) in enumerate(cast(Prefixes, survey.encoding).levels):
        if not level_tally(tally, number).n:
            raise DecodeError(
                f"tally must have reports at every level, got none at that of {length} bytes; wait for more reports"
            )
    return survey


def _check_cohorts(last: Tally, tested: int) -> None:
    """Refuse a last level whose reports cannot tell so many texts apart, with any certainty."""
    cohorts = int((last.reports > 0).sum())
    if cohorts * np.log(last.survey.cells) < 2 * np.log(tested):
        raise DecodeError(
            f"the last level must have cohorts enough to tell {tested} texts apart, got {cohorts} with reports, of "
            f"{last.survey.cells} cells; name an alphabet or known prefixes, or make a survey with more cohorts"
        )


def _listed(survey: Survey, candidates: Iterable[str] | None) -> list[bytes]:
    """The keys of known candidates."""
    if candidates is None:
        return []
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Iterable):
        raise DecodeError(f"candidates must be a collection of symbols, got one {type(candidates).__name__}")
    return [survey.key(symbol) for symbol in read_candidates(survey.alphabet, tuple(candidates))]


def _named(survey: Survey, keys: Sequence[bytes]) -> dict[str, bytes]:
    """Texts by what people read; without those that no answer can be, because normalisation makes them another."""
    found = {}
    for key in keys:
        if key.endswith(END):
            text = key[:-1].decode("utf-8")
            if survey.alphabet.canonical(text) == text:
                found[text] = key
        else:
            found[key.decode("utf-8", "backslashreplace") + CUT] = key
    return found

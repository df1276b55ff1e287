"""`discover`: what people wrote, when nobody had a list.

The search walks through the levels of the survey (Wang, Li and Jha 2019). At each one it estimates the shares of
candidates, keeps the most promising beginnings, and extends them by every byte that may follow. What remains of whole
texts is tested, and its shares are estimated, by all levels that see all of it (`whole_texts`): candidates were chosen
by the people of other levels, and with other hash functions, so the search cannot make its own luck.

Claim: a text that nobody wrote is declared in at most 5 % of tallies.
Proof: tests/statistical/test_discovery.py::test_texts_that_nobody_wrote_are_rarely_declared
"""

import hashlib
import json
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniable.decoders.discovered import DiscoveredEstimate
from deniable.decoders.extending import Extension, partial
from deniable.decoders.levels import beginning_shares, level_tally
from deniable.decoders.limits import check_level
from deniable.decoders.screening import Screening
from deniable.decoders.whole_texts import LevelFit, Texts, WholeTexts
from deniable.errors import DecodeError, UnfinishedSearch
from deniable.survey import END, MAX_LENGTH, Alphabet, Prefixes, Survey, read_candidates
from deniable.tally import FormTally, Tally

Floats = npt.NDArray[np.float64]
Progress = Callable[[int, int], None]

_KEPT = 2048  # beginnings that a level keeps, at most
_ENDED = 256  # whole texts that it carries on, at most: their collisions are noise to beginnings
_AT_A_LEVEL = 1 << 20  # candidates of one level, at most: seconds
MOST = 1 << 25  # candidates of a whole search, unless told otherwise: a minute or two
_FINE = 1000  # parts of a level in what progress is told
_MOST_AT_ONCE = 1 << 22  # candidates of one level that fit into memory
_DECLARED_FROM = 4.5  # standard errors: about what a test of so many candidates needs
_TEXTS = 1 << 14  # texts that a level completes, of which the other levels are asked, at most: the best by its own


@dataclass(frozen=True, slots=True)
class Beginnings:
    """Where a search was stopped: beginnings that were kept at each level that it finished.

    Parameters
    ----------
    kept
        For each level that is done its beginnings, most promising first, and texts that ended before.
    promise
        One number each: the logarithm of the chance, as levels saw it, that they hold a text that can be declared.
    looked
        How many candidates were looked at.
    search
        A digest of the survey, the alphabet and the known prefixes: those of another search make no sense here.

    Examples
    --------
    >>> state = Beginnings(((b"ly",),), ((-0.5,),), 17, "5eed")
    >>> Beginnings.from_json(state.to_json()) == state, state.levels
    (True, 1)
    """

    kept: tuple[tuple[bytes, ...], ...] = ()
    promise: tuple[tuple[float, ...], ...] = ()
    looked: int = 0
    search: str = ""

    @property
    def levels(self) -> int:
        """How many levels are done."""
        return len(self.kept)

    def at(self, level: int) -> tuple[tuple[bytes, ...], tuple[float, ...]]:
        """What was kept before a level, and its promise: before the first one, the beginning of everything."""
        return (self.kept[level - 1], self.promise[level - 1]) if level else ((b"",), (0.0,))

    def to_json(self) -> dict[str, Any]:
        """As JSON values. A collector hands them out and takes them back in one request, so they are short.

        Of each beginning there is the place of the one before that it extends, a dot, and the bytes that follow;
        nothing is before the dot where it extends none. Promises are little-endian doubles in base64.
        """
        kept, before = list[str](), [b""]
        for level in self.kept:
            places, size = {key: i for i, key in enumerate(before)}, _size(before)
            kept.append(" ".join(_short(key, places, size) for key in level))
            before = [*level]
        promise = [b64encode(np.array(level, "<f8").tobytes()).decode() for level in self.promise]
        return {"levels": self.levels, "kept": kept, "promise": promise, "looked": self.looked, "search": self.search}

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
        kept: list[tuple[bytes, ...]] = []
        before: tuple[bytes, ...] = (b"",)
        try:
            for level in value["kept"]:
                before = tuple(_long(word, before) for word in level.split(" ", _KEPT + _ENDED))
                kept.append(before)
            doubles = [np.frombuffer(b64decode(level, validate=True), "<f8") for level in value["promise"]]
            promise = tuple(tuple(level.tolist()) for level in doubles)
            found = cls(tuple(kept), promise, int(value["looked"]), str(value["search"]))
            whole = int(value["levels"]) == len(kept) and [*map(len, kept)] == [*map(len, promise)]
            whole = whole and not any(np.isnan(level).any() for level in doubles)
        except (KeyError, IndexError, TypeError, ValueError, AttributeError):
            whole = False
        if not whole or found.looked < 0:
            raise DecodeError("resume must be the beginnings of an unfinished search; start again without it")
        return found


def _size(level: Sequence[bytes]) -> int:
    """How many bytes the beginnings of a level have that have not ended."""
    return max((len(key) for key in level if not key.endswith(END)), default=0)


def _long(word: str, before: Sequence[bytes]) -> bytes:
    """What `_short` wrote; a chain of them cannot grow without end."""
    place, more = word.split(".")
    found = (before[int(place)] if place else b"") + bytes.fromhex(more)
    if len(found) > MAX_LENGTH + 1:
        raise ValueError
    return found


def _short(key: bytes, places: Mapping[bytes, int], size: int) -> str:
    """A beginning by the one before that it extends."""
    parent = key if key in places else key[:size]
    return f"{places[parent]}.{key[len(parent) :].hex()}" if parent in places else f".{key.hex()}"


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
        Characters that texts have: "digits", "domains", "letters" (Latin ones, and blanks), or the characters
        themselves, each once. A text that is nearly the name of a set is refused, and so is a range such as "a-z"; a
        list is taken as it is. Without it all of Unicode but control characters.
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
        Where a search was stopped before (`UnfinishedSearch.beginnings`), of the same survey, `alphabet` and
        `prefixes`.
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
    >>> dn.discover(tally, alphabet="letters", prefixes=["l", "z"]).symbols
    ('lynx', 'zebra')
    """
    search = _Search(tally, Extension(_checked(tally).alphabet, alphabet, prefixes), _Limits(most, seconds), progress)
    listed, screening = _listed(tally.survey, candidates), Screening(check_level(level))
    state = Beginnings(search=search.name) if resume is None else resume
    if not isinstance(state, Beginnings) or not search.fits(state):
        raise DecodeError("resume must be the beginnings of an unfinished search; start again without it")
    if state.search != search.name:
        raise DecodeError(
            "resume must be of a search of the same survey, with the same alphabet and prefixes, got that of another; "
            "start again without it"
        )
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
        if seconds is not None and (
            isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds > 0
        ):
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
        self.completed: dict[int, _Completed] = {}
        last = level_tally(tally, len(self.levels) - 1)
        _, slope = tally.survey.mechanism.affine
        usual = 1 / tally.survey.cells  # of the reports of a cohort are in any one cell
        # The share from which a text is declared, about.
        self.target = _DECLARED_FROM * float(np.sqrt(usual * (1 - usual) / last.n) / slope)

    @cached_property
    def name(self) -> str:
        """What `Beginnings.search` says of this search."""
        told = [self.tally.survey.digest, *self.extension.named]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]

    def fits(self, state: Beginnings) -> bool:
        """Whether these are beginnings that a search of this survey can have kept."""
        if state.levels >= len(self.levels) or any(len(level) > _KEPT + _ENDED for level in state.kept):
            return False
        return all(
            len(b) == length or (b.endswith(END) and len(b) <= length + 1)
            for level, length in zip(state.kept, self.levels, strict=False)
            for b in level
        )

    def walked(self, state: Beginnings) -> Beginnings:
        """One level further."""
        from scipy.special import log_ndtr

        number = state.levels
        found, before = self._grown(state, number, state.looked)
        looked = state.looked + len(found)
        tally = level_tally(self.tally, number)
        shares = beginning_shares(tally, found, self._told(number, looked))
        # What is not likely to hold a text that can be declared is not worth extending.
        promise = log_ndtr((shares.values - self.target) / shares.error) + before
        steps = self.levels[number + 1] - self.levels[number]
        room, kept, ended = _AT_A_LEVEL, list[int](), list[int]()
        for i in map(int, np.argsort(-promise, kind="stable")):
            if found[i].endswith(END):  # it takes no room from beginnings
                ended += [i] * (len(ended) < _ENDED)
                continue
            room -= self.extension.width(partial(found[i]), steps)
            if (room < 0 and kept) or len(kept) == _KEPT:
                break
            kept.append(i)
        best = float(promise[kept[0]]) if kept else 0.0
        kept += ended
        now = (tuple(found[i] for i in kept), tuple(float(promise[i]) - best for i in kept))
        after = Beginnings((*state.kept, now[0]), (*state.promise, now[1]), looked, self.name)
        self.completed[number] = self._completed(after, number, found, before, shares.values)
        return after

    def _grown(self, state: Beginnings, number: int, looked: int) -> tuple[list[bytes], Floats]:
        """The candidates of a level, and what the beginning promised that each comes from."""
        self.limits.check(looked)
        kept, promise = state.at(number)
        before = self.levels[number - 1] if number else 0
        steps = self.levels[number] - before
        widths = sum(self.extension.width(partial(b), steps) for b in kept if not b.endswith(END))
        if number and widths > self.limits.most - looked:
            self.limits.check(self.limits.most + 1)
        found = self.extension.grown(kept, steps, _MOST_AT_ONCE)
        known = dict(zip(kept, promise, strict=True))
        return found, np.array([known[b] if b in known else known[b[:before]] for b in found])

    def _told(self, number: int, looked: int) -> Progress:
        """What a level says of its progress, in parts of the whole search; it also checks the time."""

        def told(done: int, total: int) -> None:
            self.limits.check(looked)
            if self.progress is not None:
                self.progress(number * _FINE + _FINE * done // max(total, 1), len(self.levels) * _FINE)

        return told

    def declared(self, state: Beginnings, listed: Sequence[bytes], screening: Screening) -> DiscoveredEstimate:
        """Test whole texts, and estimate the shares of those that are there."""
        last, texts, looked = len(self.levels) - 1, Texts(), state.looked
        for number in range(last + 1):
            if number not in self.completed:  # the last one, and those of a search that was resumed
                found, promise = self._grown(state, number, looked if number == last else 0)
                self.completed[number] = self._completed(state, number, found, promise)
            completed = self.completed[number]
            texts.share(completed.promise)
            looked += len(completed.promise) if number == last else 0
            promise = completed.promise[completed.places]
            if self.extension.all_answers:
                texts.add(completed.keys, number, promise)
            else:
                some = np.array([_is_answer(self.tally.survey.alphabet, key) for key in completed.keys], bool)
                texts.add([*compress(completed.keys, some)], number, promise[some])
            self.limits.check(looked)
        texts.name({key: self._first_whole(key) for key in listed})
        if not texts.keys:
            raise DecodeError("alphabet and prefixes must leave at least one whole text to look for, got none").because(
                "characters"
            )
        fits = [self.completed[number].fit for number in range(last + 1)]
        _check_cohorts(fits[-1].tally, len(texts.keys))
        allowed, told = 1 - screening.level, self._told(last, looked)
        declared = WholeTexts(fits, self.levels, texts).declared(allowed, told)
        return DiscoveredEstimate.of_search(declared, texts, screening, self.tally, self.extension.characters)

    def _first_whole(self, key: bytes) -> int:
        """The first level that sees all of an answer; the last one if none does, because it is cut."""
        whole = (number for number, length in enumerate(self.levels) if key.endswith(END) and len(key) <= length + 1)
        return next(whole, len(self.levels) - 1)

    def _completed(
        self, state: Beginnings, number: int, found: Sequence[bytes], promise: Floats,
        values: Floats | None = None,
    ) -> "_Completed":  # fmt: skip
        """Of the candidates of a level, the texts that it is the first to see whole."""
        last = number == len(self.levels) - 1
        before = self.levels[number - 1] if number else -1
        cut = last and self.encoding.overlong == "cut"  # then longer ones, too
        whole = np.flatnonzero([len(b) - 1 > before if b.endswith(END) else cut for b in found])
        kept = [] if last else [b for b in state.kept[number] if not b.endswith(END)]
        fit, places = LevelFit(level_tally(self.tally, number), kept), np.arange(len(whole))
        if not last and len(whole) > _TEXTS:
            if values is None:
                values = beginning_shares(fit.tally, found).values
            places = np.sort(np.argsort(-values[whole], kind="stable")[:_TEXTS])
        return _Completed(fit, [found[i] for i in whole[places].tolist()], places, promise[whole])


@dataclass(frozen=True)
class _Completed:
    """Texts that a level is the first to see whole."""

    fit: LevelFit
    keys: list[bytes]  # the best of them
    places: npt.NDArray[np.intp]  # of these among all
    promise: Floats  # of all


def search_sizes(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """How many candidates each level of a search has, without an alphabet, and how many beginnings it keeps.

    The last level keeps none; its candidates are all texts that are tested.

    >>> search_sizes([2, 3, 4])
    [(18166, 2048), (387072, 2048), (792310, 0)]
    """
    extension, found, before, kept, tested = Extension(Alphabet.open()), list[tuple[int, int]](), 0, 1, 0
    for length, after in zip(lengths, [*lengths[1:], None], strict=True):
        seen = kept * extension.width(b"", length - before)
        tested += seen
        room = 0 if after is None else _AT_A_LEVEL // extension.width(b"", after - length)
        kept = min(_KEPT, max(room, 1), seen) if after is not None else 0
        found.append((seen if after is not None else tested, kept))
        before = length
    return found


def _checked(tally: object) -> Survey:
    """The survey of a tally that can be searched."""
    if not isinstance(tally, Tally):
        part = "search one question of it, such as tally['word']"
        way = part if isinstance(tally, FormTally) else "make one with dn.count"
        raise DecodeError(f"tally must be a Tally, got {type(tally).__name__}; {way}")
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
            ).because("levels")
    return survey


def _check_cohorts(last: Tally, tested: int) -> None:
    """Refuse a last level whose reports cannot tell so many texts apart, with any certainty."""
    cohorts = int((last.reports > 0).sum())
    if cohorts * np.log(last.survey.cells) < 2 * np.log(tested):
        raise DecodeError(
            f"the last level must have cohorts enough to tell {tested} texts apart, got {cohorts} with reports, of "
            f"{last.survey.cells} cells; name an alphabet or known prefixes, or make a survey with more cohorts"
        ).because("groups")


def _listed(survey: Survey, candidates: Iterable[str] | None) -> list[bytes]:
    """The keys of known candidates."""
    if candidates is None:
        return []
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Iterable):
        raise DecodeError(f"candidates must be a collection of symbols, got one {type(candidates).__name__}")
    found: dict[bytes, object] = {}
    for symbol in read_candidates(survey.alphabet, tuple(candidates)):
        other = found.setdefault(survey.key(symbol), symbol)
        if other != symbol:  # both are longer than the survey tells apart
            length = cast(Prefixes, survey.encoding).length
            raise DecodeError(
                f"candidates must differ in their first {length} bytes, got {other!r:.80} and {symbol!r:.80}, which no "
                "report can tell apart; name one of them, which stands for all that begin like it"
            ).because("beginnings")
    return [*found]


def _is_answer(alphabet: Alphabet, key: bytes) -> bool:
    """Whether an answer can have this key: not if normalisation makes another text of it; of cut ones nobody knows."""
    if not key.endswith(END):
        return True
    text = key[:-1].decode("utf-8")
    return alphabet.canonical(text) == text

"""`decode`: a tally in, an estimate out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from deniable.columns import ReportTable, keys_of
from deniable.decoders.base import Decoder
from deniable.decoders.constraints import Constraint, Projected
from deniable.decoders.empirical_bayes import EmpiricalBayes
from deniable.decoders.estimate import Estimate
from deniable.decoders.inversion import Inversion
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.repeated import check_part
from deniable.decoders.screened import ScreenedEstimate
from deniable.decoders.screening import Progress, Screening
from deniable.errors import DecodeError, TallyMismatch
from deniable.matrices import BlockDesign, Design, StreamedDesign, design_of
from deniable.reports import Report
from deniable.survey import Survey, Symbol, read_candidates
from deniable.tally import FormTally, Tally

DEFAULT = EmpiricalBayes()  # the decoder if none is named; the planner predicts with its surrogate

readers_of: dict[type, Callable[..., Any]] = {}  # what decodes tallies of other agreements: a form's

_SCREENED_FROM = 20_000  # candidates beyond which they are always screened
_SCREENED_SHORT = 4096  # candidates beyond which they are screened if equations are few (`_SHORT`)
_SHORT = 0.9  # candidates per equation from which equations are few: joint estimates would be all noise
_MOST_CELLS = 1 << 26  # cells over all cohorts that a decoder without screening may need at once: gigabytes


@overload
def decode(
    tally: Tally,
    *,
    candidates: Iterable[object] | None = None,
    decoder: Decoder | None = None,
    constraint: Constraint | None = None,
    complete: bool = False,
    turnover: float | None = None,
    change: float | None = None,
    progress: Progress | None = None,
) -> Estimate: ...
@overload
def decode(
    tally: FormTally,
    *,
    candidates: Mapping[str, Iterable[object]] | None = None,
    decoder: Decoder | None = None,
    constraint: Constraint | None = None,
    complete: bool = False,
    turnover: float | None = None,
    change: float | None = None,
    progress: Progress | None = None,
) -> Any: ...
def decode(
    tally: Any,
    *,
    candidates: Any = None,
    decoder: Decoder | None = None,
    constraint: Constraint | None = None,
    complete: bool = False,
    turnover: float | None = None,
    change: float | None = None,
    progress: Progress | None = None,
) -> Any:
    """Turn counts into a distribution with error bars.

    Error bars always belong to the unbiased estimate, `Estimate.raw`.

    Parameters
    ----------
    tally
        The counts of one survey, or of one form.
    candidates
        The symbols to look for; needed by an open alphabet, refused by a closed one; of a form, by the names of the
        questions that have one. They need not be all that was
        answered: what they do not explain is `Estimate.unallocated`. Text is read as the survey reads answers: where
        it folds case, "Lynx" and "lynx" are one candidate. A list may be long: a million candidates take seconds.
        Above 20,000, or above 4,096 where the reports have hardly more equations than that, they are screened
        (`Screening`): candidates that are significantly above zero are estimated jointly, all others are zero with an
        upper limit.
    decoder
        By default `EmpiricalBayes`, which has the smallest error; with a constraint alone the unbiased estimate
        (`Inversion` where every symbol has cells of its own, else `LeastSquares`).
    constraint
        By default `Projected`. `decode(tally, constraint=Projected())` is the paper's decoder.
    complete
        Whether the candidates are all that can have been answered, so that nothing is unallocated. Screening ignores
        it.
    turnover
        The part of the devices that are replaced from one window to the next, where people take part in every window
        and the tally has several; by default what the survey says. If it is not known, error bars allow for the same
        devices in all of them; screening always does. `Estimate.shared_noise` says which bars are shown.
    change
        The part of the devices that stay and draw their answer anew from one window to the next, so that only the
        others repeat their noise; by default what the survey says. An answer that is drawn anew may be the same.
    progress
        Called with (candidates done, candidates) while a long list is screened.

    Returns
    -------
    Estimate
        A `ScreenedEstimate` where candidates were screened; of a form a `FormEstimate`, with one for each question.

    Raises
    ------
    DecodeError
        If there is no report, the candidates are missing, repeated or too many, or the decoder does not fit the survey.

    Examples
    --------
    >>> import deniable as dn, numpy as np
    >>> survey = dn.orr(epsilon=4, cells=8, cohorts=16, seed=bytes(16))
    >>> tally = dn.count(survey, dn.privatize(survey, ["firefox"] * 9000 + ["lynx"] * 1000))
    >>> estimate = dn.decode(tally, candidates=["firefox", "lynx", "chrome"])
    >>> bool(abs(estimate["Firefox"] - 0.9) < 0.1)
    True
    """
    if (other := readers_of.get(type(tally))) is not None:
        settings: dict[str, Any] = {"decoder": decoder, "constraint": constraint, "complete": complete}
        return other(tally, candidates=candidates, progress=progress, turnover=turnover, change=change, **settings)
    if not isinstance(tally, Tally):
        raise DecodeError(_no_tally(tally))
    found = decode_all(
        [tally], candidates=candidates, decoder=decoder, constraint=constraint, complete=complete, turnover=turnover,
        change=change, progress=progress,
    )  # fmt: skip
    return found[0]


def decode_all(
    tallies: Sequence[Tally],
    *,
    candidates: Iterable[object] | None = None,
    decoder: Decoder | None = None,
    constraint: Constraint | None = None,
    complete: bool = False,
    turnover: float | None = None,
    change: float | None = None,
    progress: Progress | None = None,
) -> list[Estimate]:
    """Decode many tallies that share an encoding (days, groups, repeats, epsilons): set up once, solved together.

    Parameters
    ----------
    tallies
        Tallies of surveys with one encoding and alphabet; and one mechanism, if it is not hit or miss.
    candidates, decoder, constraint, complete, turnover, change, progress
        As for `decode`.

    Returns
    -------
    list of Estimate
        One per tally.

    Raises
    ------
    TallyMismatch
        If the tallies do not share an encoding.
    DecodeError
        As for `decode`.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.krr(symbols=2, epsilon=1)
    >>> [e.n for e in dn.decode_all([dn.Tally(survey, [[6, 4]]), dn.Tally(survey, [[60, 40]])])]
    [10, 100]
    """
    tallies, turnover, change = _tallies(tallies), check_part("turnover", turnover), check_part("change", change)
    if not tallies:
        return []
    survey = tallies[0].survey
    for tally in tallies:
        alike = survey.mechanism.two_valued or tally.survey.mechanism == survey.mechanism
        if tally.survey.encoding != survey.encoding or tally.survey.alphabet != survey.alphabet or not alike:
            raise TallyMismatch(
                f"tally is for survey {tally.survey.digest[:8]}, the first one is for {survey.digest[:8]}; "
                "decode together only tallies with one encoding, and one mechanism if it is not hit or miss",
                ours=survey.digest,
                theirs=tally.survey.digest,
            )
        if tally.n == 0:
            raise DecodeError("tally must hold at least one report, got none").because("empty")
    symbols = _candidates(survey, candidates)
    if decoder is None and _is_long(survey, len(symbols)):
        decoder = Screening()
    design = _design(survey, symbols, decoder, complete=complete)
    if decoder is None:
        plain = Inversion() if isinstance(design, BlockDesign) else LeastSquares()
        decoder = DEFAULT if constraint is None else plain
    limit = Projected() if constraint is None else constraint
    if not isinstance(decoder, Decoder):
        raise DecodeError(f"decoder must be a value such as LeastSquares(), got {decoder!r}")
    if not isinstance(limit, Constraint):
        raise DecodeError(f"constraint must be a value such as Projected(), got {limit!r}")
    estimate_of: Callable[..., Estimate] = Estimate.of
    if isinstance(decoder, Screening):
        estimate_of, solutions = ScreenedEstimate.of, decoder.solve(tallies, design, progress)
    else:
        solutions = decoder.solve(tallies, design)
    return [
        estimate_of(solution, symbols, decoder, limit, tally, design, turnover, change)
        for solution, tally in zip(solutions, tallies, strict=True)
    ]


def _is_long(survey: Survey, count: int) -> bool:
    """Whether an open alphabet has so many candidates that they are screened."""
    equations = survey.cohorts * (survey.cells - 1) + 1
    return survey.alphabet.is_open and count > min(_SCREENED_FROM, max(_SHORT * equations, _SCREENED_SHORT))


def _design(survey: Survey, symbols: tuple[Symbol, ...], decoder: Decoder | None, *, complete: bool) -> Design:
    if isinstance(decoder, Screening) and survey.alphabet.is_open:
        return StreamedDesign(survey.encoding, keys_of(survey, symbols))
    entries = len(symbols) * survey.cohorts * survey.hashes
    if survey.alphabet.is_open and len(symbols) > _SCREENED_FROM and entries > _MOST_CELLS:
        raise DecodeError(
            f"candidates must have at most {_MOST_CELLS} cells over all cohorts for {type(decoder).__name__}, got "
            f"{entries}; name no decoder: long lists are screened"
        ).because("many")
    return design_of(survey, symbols, background=survey.alphabet.is_open and not complete)


def _tallies(given: object) -> list[Tally]:
    if isinstance(given, (Tally, str)) or not isinstance(given, Iterable):
        raise DecodeError(f"tallies must be a list of tallies, got {type(given).__name__}; decode takes a single one")
    found = list(given)
    for one in found:
        if not isinstance(one, Tally):
            raise DecodeError(_no_tally(one))
    return found


def _no_tally(value: object) -> str:
    steps = {
        ReportTable: "count the reports first: dn.decode(dn.count(survey, reports))",
        Report: "count the reports first: dn.decode(dn.count(survey, reports))",
        Survey: "decode what was counted, not the survey",
        Estimate: "it is decoded already",
        str: "read a file with dn.Tally.load(path)",
        list: "add tallies up with sum(tallies), or decode each with dn.decode_all",
    }
    step = next((step for kind, step in steps.items() if isinstance(value, kind)), "make one with dn.count")
    return f"tally must be a Tally, got {type(value).__name__}; {step}"


def _candidates(survey: Survey, candidates: Iterable[object] | None) -> tuple[Symbol, ...]:
    if survey.symbols is not None:
        if candidates is not None:
            raise DecodeError("candidates must not be given for a closed alphabet; its symbols are the candidates")
        return survey.symbols
    if candidates is None:
        search = ", or search without a list, with dn.discover" if survey.encoding.finds_text else ""
        raise DecodeError(f"candidates must be given for an open alphabet: the symbols to look for{search}")
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Iterable):
        raise DecodeError(f"candidates must be a collection of symbols, got one {type(candidates).__name__}")
    found = read_candidates(survey.alphabet, tuple(candidates))
    if not found:
        raise DecodeError("candidates must hold at least one symbol, got none")
    alike = len(set(map(type, found))) == 1  # else the type keeps 1 and "1" apart from b"1"
    if len(set(found) if alike else set(zip(map(type, found), found, strict=True))) != len(found):
        raise DecodeError("candidates must be distinct after NFC normalisation; remove the repeats").because("alike")
    return found

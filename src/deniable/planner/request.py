"""The validated request of a plan: two of n, error and epsilon, over an alphabet."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

from deniable.errors import DeniableError
from deniable.mechanisms import checked_sensitive, parse_epsilon
from deniable.planner.options import Option, PlanLimits
from deniable.planner.shapes import Shape, shapes_of
from deniable.survey import Alphabet, Survey, Symbol, read_candidates, sensitive_positions
from deniable.theory import Losses, count_of

PlanProgress = Callable[[str, float, float, int], None]  # name of the stage, the share that is done, 1.0 and 1
EPSILONS = (1e-3, 12.0)  # nats: the range of a plan; below it no realistic n is enough, above it privacy is weak
PEOPLE = (2.0, 1e15)  # people: the range of a plan; the upper end is below 2**53, where floats are still exact
_MOST_SYMBOLS = 1 << 16  # symbols or candidates: as many as a report has cells at most (survey.blocks.MAX_CELLS)
_AIM = 0.95  # share of the allowed failures that is aimed at: 9.5 % for a confidence of 90 %
# The metric of each error argument, and its upper end: the largest distance of two distributions.
ERRORS = {"max_l1": ("l1", 2.0), "max_l2": ("l2", 2**0.5), "max_error": ("max", 1.0), "visible": ("visible", 1.0)}
# The arguments of `plan` that make a request, for one report of each person.
REQUEST = (
    *("n", "epsilon", "epsilon_report", *ERRORS, "metric", "symbols", "candidates", "sensitive", "other", "text"),
    *("shape", "confidence", "max_bytes", "max_cohorts", "name", "seed"),
)


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """Two of n, epsilon and error, with the alphabet and the limits. `metric` is l1, l2, max or visible.

    `epsilon` is that of one report, which decides every error. `lifetime` is that of all reports of an answer, where
    each report is randomised again, and decides none.
    """

    n: int | None
    epsilon: object
    metric: str
    target: float | None
    alphabet: Alphabet
    candidates: tuple[Symbol, ...] | None
    shapes: list[Shape]
    confidence: float
    limits: PlanLimits
    name: str
    seed: int
    lifetime: object = None
    participation: str = "once"
    hidden: tuple[int, ...] = ()  # places of the sensitive answers, where only some are

    @property
    def found(self) -> str:
        """Which of epsilon, n and error is found."""
        return "epsilon" if self.epsilon is None else "n" if self.n is None else "error"

    @property
    def level(self) -> float:
        """The quantile that is aimed at: a little above the confidence, as a margin for prediction and simulation."""
        return self.confidence if self.target is None else 1 - _AIM * (1 - self.confidence)

    @property
    def is_open(self) -> bool:
        return self.alphabet.is_open

    @property
    def size(self) -> int:
        return len(self.alphabet) if self.candidates is None else len(self.candidates)

    @cached_property
    def spends(self) -> float:
        return float(parse_epsilon(self.epsilon))

    def survey_of(self, option: Option, epsilon: object = None) -> Survey:
        """The survey of an option, at the epsilon of one report that is asked for or given here."""
        return option.survey(
            self.alphabet,
            self.epsilon if epsilon is None else epsilon,
            lifetime=self.lifetime,
            name=self.name,
            seed=self.public_seed,
            participation=self.participation,
        )

    @property
    def argument(self) -> str:
        """The argument of `plan` that names this error."""
        return next(name for name, (metric, _) in ERRORS.items() if metric == self.metric)

    @property
    def public_seed(self) -> bytes:
        """Of hash functions and permutations: the same request gets the same survey."""
        return hashlib.sha256(f"deniable plan {self.seed} {self.size} {self.name}".encode()).digest()[:16]


def ask(
    *,
    n: object = None,
    epsilon: object = None,
    epsilon_report: object = None,
    metric: object = None,
    symbols: Iterable[object] | int | None = None,
    candidates: Iterable[object] | int | None = None,
    sensitive: Iterable[object] | None = None,
    other: object = None,
    text: str = "folded",
    shape: object = "worst",
    confidence: object = 0.9,
    max_bytes: object = None,
    max_cohorts: object = None,
    name: str = "",
    seed: object = 0,
    **errors: object,
) -> PlanRequest:
    """The request that the arguments of `plan` ask, or a sentence that says what is wrong with them."""
    given = {key: value for key, value in errors.items() if value is not None}
    if len(given) > 1:
        raise DeniableError(f"one error must be asked for, got {' and '.join(given)}; the plan tells the others")
    stated = [what for what, value in (("n", n), ("epsilon", epsilon)) if value is not None] + list(given)
    if epsilon_report is not None and epsilon is None:
        raise DeniableError(
            f"epsilon must be given with epsilon_report, got {', '.join(stated) or 'none'}: it is the budget of all "
            "reports of an answer, and no error depends on it; without epsilon_report the plan finds what one report "
            "needs"
        )
    if len(stated) != 2:
        raise DeniableError(
            f"two of n, epsilon and an error (max_l1, max_l2, max_error or visible) must be given, "
            f"got {', '.join(stated) or 'none'}; the third is what the plan finds"
        )
    people = None if n is None else count_of("n", n, 2, int(PEOPLE[1]))
    for label, value in (("epsilon", epsilon), ("epsilon_report", epsilon_report)):
        if value is not None and not EPSILONS[0] <= float(parse_epsilon(value, label)) <= EPSILONS[1]:
            raise DeniableError(
                f"{label} must be from {EPSILONS[0]:g} to {EPSILONS[1]:g} in a plan, "
                f"got {float(parse_epsilon(value, label)):g}"
            )
    lifetime = None
    if epsilon_report is not None:
        if parse_epsilon(epsilon_report) >= parse_epsilon(epsilon):
            raise DeniableError(
                f"epsilon_report must be below epsilon, {float(parse_epsilon(epsilon)):g}, got "
                f"{float(parse_epsilon(epsilon_report)):g}; leave it out where one report may spend all of epsilon"
            )
        lifetime, epsilon = epsilon, epsilon_report
    if given and metric is not None:
        raise DeniableError(f"metric must not be given with {next(iter(given))}, which names the error already")
    found, target = "l1" if metric is None else metric, None
    if found not in Losses.METRICS:
        raise DeniableError(f"metric must be one of {', '.join(Losses.METRICS)}, got {found!r}")
    for key, value in given.items():
        found, most = ERRORS[key]
        target = _number(key, value, most)
    alphabet, names = _alphabet(symbols, candidates, other, text)
    hidden: tuple[int, ...] = ()
    if sensitive is not None:
        if alphabet.is_open:
            raise DeniableError("sensitive must be given with symbols: which answers are sensitive is part of a list")
        hidden = checked_sensitive(len(alphabet), sensitive_positions(alphabet, sensitive))
    size = len(alphabet) if names is None else len(names)
    if size > _MOST_SYMBOLS:
        raise DeniableError(
            f"symbols must number at most {_MOST_SYMBOLS} in a plan, got {size}; plan for the commonest"
        )
    limits = PlanLimits(
        None if max_bytes is None else count_of("max_bytes", max_bytes, 1),
        None if max_cohorts is None else count_of("max_cohorts", max_cohorts, 1),
        again=lifetime is not None,
    )
    level = checked_confidence(confidence)
    shapes = shapes_of(shape, size)
    return PlanRequest(
        people,
        epsilon,
        str(found),
        target,
        alphabet,
        names,
        shapes,
        level,
        limits,
        name,
        count_of("seed", seed, 0),
        lifetime,
        hidden=hidden,
    )


def checked_confidence(value: object) -> float:
    """The share of surveys that are to meet an error.

    >>> checked_confidence(0.9)
    0.9
    """
    level = _number("confidence", value, 1.0)
    if not 0.5 <= level <= 0.99:
        raise DeniableError(f"confidence must be from 0.5 to 0.99, got {level:g}; it is a share of repeats")
    return level


def _number(name: str, value: object, most: float) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise DeniableError(f"{name} must be a number, got {type(value).__name__}") from None
    if not isfinite(number) or not 0 < number < most:
        raise DeniableError(f"{name} must be above 0 and below {most:.3g}, got {number:g}")
    return number


def _alphabet(
    symbols: Iterable[object] | int | None, candidates: Iterable[object] | int | None, other: object, text: str
) -> tuple[Alphabet, tuple[Symbol, ...] | None]:
    if (symbols is None) == (candidates is None):
        raise DeniableError(
            "symbols (a closed alphabet) or candidates (an open one) must be given, one of the two; "
            "each is a list or a number"
        )
    if symbols is not None:
        if text != "folded":
            raise DeniableError("text must not be given with symbols, which are chosen and not typed")
        return Alphabet.closed(symbols, other), None
    if other is not None:
        raise DeniableError("other must not be given with candidates: an open alphabet accepts every answer")
    # The checks of a closed alphabet are those of a candidate list: distinct, at least two.
    assert candidates is not None
    given, alphabet = tuple(Alphabet.closed(candidates)), Alphabet.open(text=text)
    names = read_candidates(alphabet, given)
    if len(names) < 2:
        raise DeniableError("candidates must be two answers or more, got one in several spellings")
    return alphabet, names

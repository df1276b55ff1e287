"""Plans for surveys that discover text: how much privacy or how many people find texts of a share, by which levels.

A text is found if every level keeps its beginning, and the last one declares it. Its beginning is at least as frequent
as the text itself. With V(epsilon) the variance of a share by one report, a level of a_l n people has the error
sqrt(V / (a_l n)); it keeps the best K_l of its candidates, so a share must be z_l errors above zero, where z_l is the
normal quantile of K_l over all; and the last one tests S candidates at once. So that each of L levels is passed
with the probability p**(1 / L), and so the text found with p, the share must be z_l + d errors, d the quantile of that:

    share = (z_l + d) sqrt(V / (a_l n)),      which is smallest for a_l proportional to (z_l + d)**2

and is then sqrt(V sum (z_l + d)**2 / n). That is the worst case: nothing else begins like the text, and it is so long
that the last level alone sees all of it.
"""

import hashlib
import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import cast

from deniable.decoders import search_sizes
from deniable.errors import DeniableError, PlanError
from deniable.mechanisms import check_size
from deniable.planner.request import EPSILONS, PEOPLE, checked_confidence
from deniable.planner.solve import least
from deniable.planner.told import ToldPlan
from deniable.survey import MAX_LENGTH, Prefixes, Survey, default_levels, discovery
from deniable.theory import count_of, hashed_variance

__all__ = ["TextPlan", "plan_texts"]

_CLOSE = 1e-4  # relative accuracy of the epsilon that is found
_WEAKEST = 10.0  # the largest epsilon that is tried: with 22,000 cells a cohort
_ZIPF = 100_000  # texts of the population that a number of texts is counted in
_FEW = 256  # cohorts where there are few people
_REPORTS = 100  # of a cohort, at least, where there are more of them
_LEAST_PEOPLE = 1000  # below it counts are not nearly normal


@dataclass(frozen=True, slots=True)
class TextPlan(ToldPlan):
    """A survey that finds texts of a share that was asked for.

    Parameters
    ----------
    survey : Survey
        Ready to use.
    n : int
        People, one report from each.
    epsilon : float
        The privacy budget, in nats.
    share : float
        A text that at least this share of people wrote is declared, in a share `confidence` of surveys, whatever the
        others wrote.
    confidence : float
        That share.
    found : str
        Which of "n", "epsilon" and "share" was found.
    texts : int, optional
        As many texts were asked for: `share` is that of the last of them, if shares fall as one over the rank and
        there are 100,000 texts.

    Examples
    --------
    >>> import deniable as dn
    >>> plan = dn.plan(n=1_000_000, discover_above=0.01, length=6)
    >>> plan.found, plan.epsilon < 2.5, plan.survey.encoding.length, plan.to_json()["share"]
    ('epsilon', True, 6, 0.01)
    >>> plan.rows()[2]
    ('finds', 'texts of at least 1 % of people, each in 90 % of surveys')
    >>> dn.plan(n=1_000_000, discover=20, length=6).share.__round__(4)
    0.0041
    """

    _named = ("n", "epsilon", "share", "confidence", "found", "texts")
    survey: Survey
    n: int
    epsilon: float
    share: float
    confidence: float
    found: str
    texts: int | None = None

    @property
    def levels(self) -> tuple[tuple[int, int], ...]:
        """Of the survey: bytes, and cohorts."""
        return cast(Prefixes, self.survey.encoding).levels

    @property
    def words(self) -> str:
        """What is found, in words.

        >>> import deniable as dn
        >>> dn.plan(n=1_000_000, discover_above=0.01, length=6).words
        'texts of at least 1 % of people, each in 90 % of surveys'
        """
        of = "" if self.texts is None else f"the {self.texts} most frequent of 100,000 texts by Zipf's law: "
        share, sure = f"{100 * self.share:.3g} %", f"{100 * self.confidence:g} %"
        return f"{of}texts of at least {share} of people, each in {sure} of surveys"

    def rows(self) -> list[tuple[str, str]]:
        return [
            ("people", self._marked("n", f"{self.n:,}")),
            ("epsilon", self._marked("epsilon", f"{self.epsilon:.4g}")),
            ("finds", self._marked("share", self.words)),
            ("cohorts of bytes", ", ".join(f"{cohorts} of {length}" for length, cohorts in self.levels)),
        ]

    @property
    def note(self) -> str:
        """What the rows do not say."""
        return "That holds whatever the others write. What many write that begins alike is found with fewer people."


def plan_texts(
    *,
    n: object,
    epsilon: object,
    discover: object,
    discover_above: object,
    length: object = None,
    confidence: float = 0.9,
    name: str = "",
    seed: int = 0,
    text: str = "folded",
) -> TextPlan:
    """Epsilon, n, or the smallest share that is found, from the two others; see `plan`."""
    if discover is not None and discover_above is not None:
        raise DeniableError(
            "discover and discover_above must not both be given: either how many texts, or how frequent"
        )
    wanted = discover is not None or discover_above is not None
    given = [n is not None, epsilon is not None, wanted]
    if sum(given) != 2:
        raise DeniableError(
            f"two of n, epsilon and discover (or discover_above) must be given, got {sum(given)} of them; the third is "
            "what the plan finds"
        )
    level = checked_confidence(confidence)
    size = check_size("length", 32 if length is None else length, 1, MAX_LENGTH)
    texts = None if discover is None else count_of("discover", discover, 1, _ZIPF)
    share = _share(discover_above) if texts is None else 1 / (texts * sum(1 / rank for rank in range(1, _ZIPF + 1)))
    people = None if n is None else count_of("n", n, _LEAST_PEOPLE, int(PEOPLE[1]))
    design = _Design(size, level, name, seed, text)
    if not wanted:
        assert people is not None
        survey = design.survey(epsilon, people)
        return TextPlan(survey, people, survey.epsilon, design.smallest(survey, people), level, "share")
    if people is None:
        survey = design.survey(epsilon, int(PEOPLE[1]))
        needed = math.ceil(design.reach * hashed_variance(survey, share) / share**2)
        if needed > PEOPLE[1]:
            raise PlanError(
                f"discover_above {share:g} must be larger: at epsilon {survey.epsilon:g} no crowd is enough"
            )
        people = max(needed, _LEAST_PEOPLE)
        return TextPlan(design.survey(epsilon, people), people, survey.epsilon, share, level, "n", texts)

    def smallest(epsilon: object) -> float:
        return design.smallest(design.survey(epsilon, people), people)

    if smallest(_WEAKEST) > share:
        raise PlanError(
            f"discover_above must be at least {smallest(_WEAKEST):.3g} with {people:,} people, got {share:.3g}; "
            "ask more people, or tell fewer bytes apart (length)"
        )
    found = least(lambda epsilon: smallest(f"{epsilon:.6g}") <= share, EPSILONS[0], _WEAKEST, _CLOSE)
    survey = design.survey(f"{found:.6g}", people)
    return TextPlan(survey, people, survey.epsilon, share, level, "epsilon", texts)


def _share(value: object) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 0.5:
        raise DeniableError(f"discover_above must be a share above 0 and up to 0.5, got {value}")
    return float(value)


class _Design:
    """Levels for texts of one length, and what they need."""

    def __init__(self, length: int, confidence: float, name: str, seed: int, text: str) -> None:
        self.name, self.length, self.text = name, length, text
        # Of hash functions: the same request gets the same survey.
        self.seed = hashlib.sha256(f"deniable plan {seed} {length} bytes {name}".encode()).digest()[:16]
        self.lengths = [length for length, _ in default_levels(length, MAX_LENGTH)]
        *kept, tested = search_sizes(self.lengths)
        law = NormalDist()
        passed = law.inv_cdf(confidence ** (1 / len(self.lengths)))
        quantiles = [-law.inv_cdf(min(left / seen, 0.5)) for seen, left in kept] + [-law.inv_cdf(0.05 / tested[0])]
        self.weights = [(quantile + passed) ** 2 for quantile in quantiles]
        self.reach = sum(self.weights)  # the square of how many errors of all people together a share must be

    def survey(self, epsilon: object, n: int) -> Survey:
        """The survey at an epsilon."""
        most = discovery(epsilon=epsilon, length=self.length).cohorts
        total = max(min(most, n // _REPORTS), _FEW, 4 * len(self.weights))
        ends = [round(total * sum(self.weights[: i + 1]) / self.reach) for i in range(len(self.weights))]
        levels = [(b, max(end - start, 1)) for b, end, start in zip(self.lengths, ends, [0, *ends], strict=False)]
        return discovery(
            epsilon=epsilon, length=self.length, levels=levels, name=self.name, seed=self.seed, text=self.text
        )

    def smallest(self, survey: Survey, n: int) -> float:
        """The smallest share that is found; a share above one half is as good as none."""
        share = 0.0
        for _ in range(50):  # the variance depends on the share, a little
            share = min(math.sqrt(self.reach * hashed_variance(survey, share) / n), 1.0)
        return share

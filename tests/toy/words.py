"""cli/words.py: what a notice says. (A channel has sentences already; these are its own.)"""

from fractions import Fraction

from deniable.cli.words import chance, doings, truths
from deniable.survey import Survey

from .band import Band
from .plain import Plain


@truths.add(Band)
def band_truth(survey: Survey) -> str:
    row = survey.mechanism.weights((1,))
    true, near, far = (chance(Fraction(weight, survey.mechanism.span)) for weight in (row[1], row[0], row[3]))
    return f"The true answer is sent with probability {true} or more, one beside it with {near}, any other with {far}."


@doings.add(Band)
def band_doing(survey: Survey) -> str:
    return f"Your device rolls dice that only it can see. {band_truth(survey)}"


@truths.add(Plain)
def plain_truth(survey: Survey) -> str:
    hit, miss = chance(survey.mechanism.hit), chance(survey.mechanism.miss)
    return f"The plain truth is sent with probability {hit}, each of the others with {miss}."


@doings.add(Plain)
def plain_doing(survey: Survey) -> str:
    return f"Your device rolls dice that only it can see. {plain_truth(survey)}"

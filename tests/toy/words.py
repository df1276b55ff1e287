"""cli/words.py: what a notice says. (A channel has sentences already; these are its own.)"""

from fractions import Fraction

from deniable.cli.words import Sentences, chance, sentences
from deniable.survey import Survey

from .band import Band


@sentences.add(Band)
class BandSentences(Sentences):
    @staticmethod
    def truth(survey: Survey) -> str:
        row = survey.mechanism.weights((1,))
        true, near, far = (chance(Fraction(weight, survey.mechanism.span)) for weight in (row[1], row[0], row[3]))
        return (
            f"The true answer is sent with probability {true} or more, one beside it with {near}, any other with {far}."
        )

    @staticmethod
    def sent(survey: Survey) -> str:
        return f"Your device rolls dice that only it can see. {BandSentences.truth(survey)}"

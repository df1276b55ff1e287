"""The notice of a design that people run by hand: no device, no bytes, and maybe no cover for some answers."""

from fractions import Fraction

from deniable.cli.probability_words import at_most, chance
from deniable.cli.text import shown
from deniable.survey import Survey

__all__ = ["hand_notice", "hand_promises"]


def hand_promises(survey: Survey) -> list[str]:
    """What each true answer is promised, a sentence each, from the exact ratios.

    >>> import deniable as dn
    >>> print(hand_promises(dn.design("mangat", p="3/4"))[0])
    Whoever would truthfully answer no has no deniability: some of what they say is never said by others.
    """
    told, found = [], survey.privacy()
    for answer, row in zip(found.answers, found.ratios, strict=True):
        who = f"Whoever would truthfully answer {shown(answer)}"
        if any(ratio is None for ratio in row):
            told.append(f"{who} has no deniability: some of what they say is never said by others.")
        else:
            most = max((ratio for ratio in row if ratio is not None), default=Fraction(1))
            told.append(f"{who} can deny it: whatever they say is at most {at_most(most)} times likelier than under ")
            told[-1] += "another answer."
    return told


def hand_notice(survey: Survey) -> list[tuple[str, str]]:
    """What a respondent should know before answering, as (heading, paragraph).

    >>> import deniable as dn
    >>> [heading for heading, _ in hand_notice(dn.design("warner", p="7/10"))][:2]
    ['What is asked', 'What you say']
    """
    name = f" “{shown(survey.name)}”" if survey.name else ""
    mechanism, rows = survey.mechanism, []
    for cell, answer in enumerate(survey.symbols or ()):
        parts = [
            f"{shown(said)} with probability {chance(mechanism.probability(column, (cell,)))}"
            for column, said in enumerate(mechanism.said)
        ]
        rows.append(f"Whose true answer is {shown(answer)} says {', '.join(parts)}.")
    return [
        (
            "What is asked",
            f"The survey{name} learns how often each answer occurs among everyone. Chance decides, in your hands, what "
            "you say: dice, cards or a second question that only you see the outcome of.",
        ),
        ("What you say", " ".join(rows)),
        ("What that protects", " ".join(hand_promises(survey))),
        (
            "What is not protected",
            "What everyone's answers say together: the survey exists to learn that. The outcome of the dice or cards, "
            "if anyone sees it. Asking you again: each time adds up.",
        ),
        (
            "The numbers",
            f"{survey.title}, epsilon {survey.privacy().largest:.6g} between the two answers that it tells apart best; "
            f"survey {survey.digest}.",
        ),
    ]

"""Privacy in words: sentences made from a survey's own integers, never from a nominal epsilon."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from deniable.cli.hand_words import hand_notice, hand_promises
from deniable.cli.probability_words import at_most as at_most
from deniable.cli.probability_words import chance as chance
from deniable.cli.text import shown
from deniable.crowds import Crowd
from deniable.crowds import shown as shown_up
from deniable.mechanisms import (
    KRR,
    BitFlip,
    Blocks,
    Budgets,
    Channel,
    HandRun,
    Mechanism,
    Registry,
    Sensitive,
    SensitiveDesign,
    Subset,
)
from deniable.survey import Agreement, Survey, is_at_least, participation_words, strength


def belief_after(before: Fraction, odds: Fraction) -> Fraction:
    """The most that one report can raise a belief to: Bayes' rule at the worst likelihood ratio.

    >>> belief_after(Fraction(1, 10), Fraction(9))
    Fraction(1, 2)
    """
    return before * odds / (before * odds + 1 - before)


def taking_part(made: Agreement) -> list[tuple[str, str]]:
    """How people take part in a survey or a form that is asked again, a row for each thing that is stated.

    >>> import deniable as dn
    >>> dict(taking_part(dn.warner(epsilon=1, participation="window:day:turnover=0.05")))["turnover"]
    '5 % of the devices are replaced each day'
    """
    if made.participation == "once":
        return []
    told = [("answered", participation_words(made.participation))]
    if made.turnover is not None:
        told.append(("turnover", f"{100 * made.turnover:g} % of the devices are replaced each {made.window}"))
    if made.change is not None:
        told.append(("change", f"{100 * made.change:g} % of those that stay draw their answer anew each {made.window}"))
    return told


def odds_sentence(survey: Survey) -> str:
    """The guarantee, in words.

    >>> import deniable as dn
    >>> odds_sentence(dn.krr(symbols=12, epsilon=2))
    'Whatever you answer, any report is at most 7.4 times likelier than under another answer.'
    >>> odds_sentence(dn.krr(symbols=12, epsilon=2, epsilon_report=1))[67:]
    'under another answer; all your reports of one answer together are at most 7.4 times.'
    """
    return guarantees.of(survey.mechanism.permanent)(survey)[0]


def _alike(survey: Survey) -> tuple[str, str, str]:
    odds = at_most(survey.mechanism.odds)
    one = f"Whatever you answer, any report is at most {odds} times likelier than under another answer"
    return _both_stages(survey, one), "a certain answer", "any answer"


def _both_stages(survey: Survey, one: str) -> str:
    if not survey.mechanism.twice:
        return one + "."
    return f"{one}; all your reports of one answer together are at most {at_most(_lifetime(survey))} times."


def _lifetime(survey: Survey) -> Fraction:
    """The worst likelihood ratio of all reports of one answer."""
    return survey.mechanism.permanent.odds


def truth_sentence(survey: Survey) -> str:
    """How often the truth is in a report, in words.

    >>> import deniable as dn
    >>> truth_sentence(dn.warner(epsilon=1))
    'The true answer is sent with probability 73 %, the other one with probability 27 %.'
    """
    return truths.of(survey.mechanism.permanent)(survey)


def text_sentence(survey: Survey) -> str:
    """How text is read where answers are open, in words.

    >>> import deniable as dn
    >>> text_sentence(dn.olh(epsilon=1, text="exact"))
    'Text counts exactly as it is written: "Yes" and "yes" are two answers.'
    """
    if survey.alphabet.text == "exact":
        return 'Text counts exactly as it is written: "Yes" and "yes" are two answers.'
    return 'Capitals and blanks around words make no difference: " Yes" and "yes" are one answer.'


def scale_sentence(survey: Survey) -> str:
    """What becomes of a number, in words.

    >>> import deniable as dn
    >>> scale_sentence(dn.number(18, 90, 1, bins=64))
    'Numbers from 18 to 90 are sorted into 64 bins. Smaller and larger ones count in the first and the last bin.'
    >>> scale_sentence(dn.number(0, 80, 1, step="0.5", outside="refuse"))
    'Numbers from 0 to 80 are rounded to steps of 0.5. Others are refused: nothing is sent for them.'
    """
    scale = survey.alphabet.bins
    assert scale is not None
    sorted_into = f"rounded to steps of {scale.step}" if scale.step else f"sorted into {scale.bins} bins"
    place = "as the first and the last number" if scale.step else "in the first and the last bin"
    rest = (
        "Others are refused: nothing is sent for them."
        if scale.outside == "refuse"
        else f"Smaller and larger ones count {place}."
    )
    return f"Numbers from {scale.low} to {scale.high} are {sorted_into}. {rest}"


def _answering_again(survey: Survey) -> str:
    """How often a device answers, and what all its reports together reveal."""
    asked = participation_words(survey.participation)
    if survey.every > 1:
        return (
            f"Your device answers {asked}: it draws its turn by chance, before any answer, and keeps it. Each of its "
            f"reports has noise of its own, so what they say of you adds up: n reports together are at most "
            f"{at_most(survey.mechanism.odds)} to the power n times likelier than under other answers (n times epsilon "
            f"{survey.epsilon_report:g}). That also covers whether, and when, your answer changed. The {survey.window} "
            f"in which you take part shows which of {survey.every} groups your device is in."
        )
    boxes = survey.encoding.occupied == 1 and not survey.encoding.own_cells  # answers of a box share their noise
    other = "in another box" if boxes else "that you have not given before"
    in_all = f", up to epsilon {survey.epsilon_worst:g} in all" if survey.permanent_responses else ""
    return (
        f"Your device answers {asked}. While your answer stays the same and your device keeps its state, all your "
        f"reports together, however many, are at most {at_most(_lifetime(survey))} times likelier than under another "
        f"answer (epsilon {survey.epsilon:g}). Each answer {other} can spend as much again{in_all}. "
        "Whoever sees all reports of your device may see when your answer changed."
    )


THAT_IS_ALL = " That is all:"  # begins what a notice says of the bytes of a survey


def report_bytes(survey: Survey) -> int:
    """How many bytes one packed report has: the same for every answer."""
    return survey.report_format.length


# What is promised to whom, in words: the guarantee, the answer that a reader of reports may come to believe in, and
# what can be denied. Most mechanisms promise every answer the same.
guarantees: Registry[Callable[[Survey], tuple[str, str, str]]] = Registry(
    "deniable.cli.words.guarantees", Mechanism, "sentence on what is promised"
)
guarantees.add(Mechanism)(_alike)


@guarantees.add(Sensitive, SensitiveDesign)
def _sensitive_guarantee(survey: Survey) -> tuple[str, str, str]:
    places = survey.mechanism.permanent.sensitive  # type: ignore[attr-defined]
    names, odds = _listed(survey, places), at_most(survey.mechanism.odds)
    return (
        f"Only some answers need hiding here: {names}. A sensitive answer is deniable against every other answer: any "
        f"report of it is at most {odds} times likelier than under any other answer. An answer that is not sensitive "
        "may be seen for what it is. Someone who reports a harmless answer is known not to have reported a sensitive "
        "one.",
        "a certain sensitive answer",
        "any sensitive answer",
    )


@guarantees.add(Blocks)
def _block_guarantee(survey: Survey) -> tuple[str, str, str]:
    odds = at_most(survey.mechanism.odds)
    return (
        f"Your answer is hidden within its group, and the group is not: any report is at most {odds} times likelier "
        "than under another answer of the same group, and it shows which group that is.",
        "a certain answer of its group",
        "which answer of its group is yours",
    )


@guarantees.add(Budgets)
def _budget_guarantee(survey: Survey) -> tuple[str, str, str]:
    mechanism = survey.mechanism.permanent
    told = []
    for place, budget in sorted(enumerate(mechanism.budgets), key=lambda pair: pair[1]):  # type: ignore[attr-defined]
        members = [x for x, group in enumerate(mechanism.groups) if group == place]  # type: ignore[attr-defined]
        told.append(f"{_listed(survey, members)} (epsilon {float(budget):g})")
    return (
        f"Answers have budgets of their own: {'; '.join(told)}. Between two answers the smaller one holds: a report is "
        "at most e to that power times likelier under one than under the other, and over all answers at most "
        f"{at_most(survey.mechanism.odds)} times.",
        "a certain answer",
        "any answer",
    )


@guarantees.add(HandRun)
def _hand_guarantee(survey: Survey) -> tuple[str, str, str]:
    return " ".join(hand_promises(survey)), "a certain answer", "an answer that is promised so"


def _listed(survey: Survey, places: Sequence[int], most: int = 12) -> str:
    """Some answers by name."""
    names = [shown(survey.symbols[place]) for place in places[:most]] if survey.symbols else []
    return ", ".join(names) + (f" and {len(places) - most} more" if len(places) > most else "")


# Sentences on the noise of a mechanism, or of a chain that begins with it: how often a report has the true answer
# (`truth_sentence`), and for respondents what a device does with an answer.
truths: Registry[Callable[[Survey], str]] = Registry("deniable.cli.words.truths", Mechanism, "sentence on the truth")
doings: Registry[Callable[[Survey], str]] = Registry("deniable.cli.words.doings", Mechanism, "sentence on what is sent")

_DICE = "Your device rolls dice that only it can see"


def _rates(survey: Survey) -> tuple[str, str]:
    return chance(survey.mechanism.hit), chance(survey.mechanism.miss)


def _boxes(survey: Survey) -> str:
    if survey.encoding.own_cells:
        return ""
    return (
        f"A public rule sorts all possible answers into {survey.cells} boxes, by a different sorting in each of "
        f"{survey.cohorts} groups of devices, so a box stands for many answers. "
    )


@truths.add(Channel)
def _row_truth(survey: Survey) -> str:
    mechanism = survey.mechanism
    weights = [weight for cell in range(survey.cells) for weight in mechanism.weights((cell,))]
    least, most = (chance(Fraction(weight, mechanism.span)) for weight in (min(weights), max(weights)))
    return (
        f"A report is one of {survey.columns} numbers; whatever the true answer is, each has a probability of at "
        f"least {least} and at most {most}."
    )


@doings.add(Channel)
def _row_doing(survey: Survey) -> str:
    return (
        f"{_DICE} and sends one of the numbers from 1 to {survey.columns}. How likely each number is depends on "
        f"your answer, by a public table. {_row_truth(survey)}"
    )


@truths.add(Sensitive)
def _sensitive_truth(survey: Survey) -> str:
    keep, other, own = _table_chances(survey)
    hidden = survey.mechanism.permanent.sizes[0]  # type: ignore[attr-defined]
    first = f"A sensitive answer is sent as it is with probability {keep}"
    if hidden > 1:
        others = "the other sensitive one" if hidden == 2 else f"each of the {hidden - 1} other sensitive ones"
        first += f", and as {others} with {other}"
    return (
        f"{first}. Any other answer is sent as it is with probability {own}, and as "
        f"{'each of the sensitive ones' if hidden > 1 else 'the sensitive one'} with {other}."
    )


@truths.add(SensitiveDesign)
def _design_truth(survey: Survey) -> str:
    keep, other, own = _table_chances(survey)
    design = survey.mechanism.permanent.design  # type: ignore[attr-defined]
    return (
        f"A report is one of {survey.columns} numbers. Each sensitive answer has {design.occupied} of the first "
        f"{design.cells}: each of those is sent with probability {keep}, each other of the first {design.cells} with "
        f"{other}. Any other answer has a number of its own, which is sent with probability {own}, and each of the "
        f"first {design.cells} with {other}."
    )


def _table_chances(survey: Survey) -> tuple[str, str, str]:
    found = survey.mechanism.permanent.thresholds()
    keep, other, own = (chance(Fraction(found[name], survey.mechanism.span)) for name in ("keep", "other", "own"))
    return keep, other, own


@truths.add(Blocks)
def _block_truth(survey: Survey) -> str:
    kinds = survey.mechanism.permanent.kinds  # type: ignore[attr-defined]
    least, most = (chance(Fraction(choose(kind.own for kind in kinds), survey.mechanism.span)) for choose in (min, max))
    likely = (
        f"probability {least}" if least == most else f"a probability from {least} to {most}, by the size of its group"
    )
    return f"The true answer is sent with {likely}; otherwise another answer of its group, each equally likely."


@doings.add(Sensitive, SensitiveDesign, Blocks)
def _table_doing(survey: Survey) -> str:
    return f"{_DICE}. {truth_sentence(survey)}"


@truths.add(KRR)
def _krr_truth(survey: Survey) -> str:
    (hit, miss), encoding = _rates(survey), survey.encoding
    if encoding.is_design and survey.hashes > 1:
        return (
            f"A report is one of {survey.cells} numbers: each of the {survey.hashes} that stand for the true "
            f"answer with probability {hit}, each other with {miss}."
        )
    what = "answer" if encoding.own_cells else "number" if encoding.is_design else "cell"
    if survey.cells == 2:
        return f"The true {what} is sent with probability {hit}, the other one with probability {miss}."
    others = survey.cells - 1
    return f"The true {what} is sent with probability {hit}, each of the {others} others with probability {miss}."


def _near(survey: Survey) -> str:
    return ", the same ones as its neighbours but for few" if survey.encoding.is_ordered else ""


@doings.add(KRR)
def _krr_doing(survey: Survey) -> str:
    (hit, miss), k, own = _rates(survey), survey.cells, survey.hashes * survey.mechanism.hit
    lost = chance(1 - survey.mechanism.hit)
    if survey.encoding.is_design and survey.hashes > 1:
        return (
            f"A public rule gives every possible answer {survey.hashes} of the numbers from 1 to {k}{_near(survey)}, "
            f"so a number stands for many answers. {_DICE}. With probability {chance(own)} it sends one of the numbers "
            f"of your true answer; with probability {chance(1 - own)} it sends one of the others, each equally likely "
            f"({miss} each)."
        )
    if survey.encoding.is_design:
        return (
            f"A public rule gives every possible answer a number of its own from 1 to {k}. {_DICE}. With "
            f"probability {hit} it sends the number of your true answer; with probability {lost} it sends "
            f"{'the other one' if k == 2 else f'one of the {k - 1} other numbers, each equally likely'} "
            f"({miss} each)."
        )
    thing = "answer" if survey.encoding.own_cells else "box"
    other = "the other one" if k == 2 else f"one of the {k - 1} others, each equally likely ({miss} each)"
    return (
        f"{_boxes(survey)}{_DICE}. With probability {hit} it sends the number of your true {thing}; with "
        f"probability {lost} it sends {other}."
    )


@truths.add(BitFlip)
def _bit_truth(survey: Survey) -> str:
    (hit, miss), k = _rates(survey), survey.cells
    if _is_even(survey):
        return f"Each of {k} yes-or-no marks is sent as it is with probability {hit}, flipped with {miss}."
    return f"Of {k} yes-or-no marks the true one is sent with probability {hit}, each other with {miss}."


@doings.add(BitFlip)
def _bit_doing(survey: Survey) -> str:
    (hit, miss), k, boxes = _rates(survey), survey.cells, _boxes(survey)
    thing, mine, fill = "box", "the box of your answer", f"fills in a list of {k} marks, one for each"
    if survey.encoding.own_cells:
        thing, mine = "possible answer", "yours"
    elif survey.hashes > 1:
        boxes, mine = f"{boxes}Your answer has up to {survey.hashes} boxes. ", "those of your answer"
    start = f"{boxes}Your device {fill} {thing}: yes for {mine}, no for the others."
    if _is_even(survey):
        return (
            f"{start} Then it rolls dice that only it can see and turns each mark into its opposite with "
            f"probability {miss}, before it sends the list."
        )
    return (
        f"{start} Then it rolls dice that only it can see: your yes stays with probability {hit}, and each no "
        f"turns into a yes with probability {miss}, before it sends the list."
    )


def _is_even(survey: Survey) -> bool:
    """Whether a set bit is cleared with the same probability as an empty one is set."""
    return survey.mechanism.permanent.hit == 1 - survey.mechanism.permanent.miss


@truths.add(Subset)
def _set_truth(survey: Survey) -> str:
    hit, miss = _rates(survey)
    return (
        f"A report names {survey.mechanism.hits} of {survey.cells} answers: the true one with probability {hit}, "
        f"each other with {miss}."
    )


@doings.add(Subset)
def _set_doing(survey: Survey) -> str:
    hit, miss = _rates(survey)
    return (
        f"{_DICE} and makes a list of {survey.mechanism.hits} of the {survey.cells} possible answers. With "
        f"probability {hit} yours is on it; each other answer is with probability {miss}. Then it sends the list."
    )


def _deniability(survey: Survey, what: str) -> str:
    if is_at_least(survey.epsilon_spent, "strong"):
        return f"You can honestly deny {what}."
    if is_at_least(survey.epsilon_spent, "weak"):
        return f"You can deny {what}, but a report makes yours a good deal likelier."
    return "That is hardly any protection: a report can make your answer nearly certain."


def crowd_sentences(crowd: Crowd) -> str:
    """What the counts tell, in words: the odds, rounded up, and what that rests on."""
    tenth = chance(belief_after(Fraction(1, 10), Fraction(math.exp(crowd.epsilon)) * (1 + Fraction(1, 10**9))), up=True)
    same = "" if crowd.cohorts == 1 else " in your group"
    return (
        f"For anyone who sees only the counts, and not your report: if {crowd.n:,} people answer honestly, a belief of "
        f"10 % becomes at most {tenth}, because your report is hidden among those of the others{same} (epsilon "
        f"{shown_up(crowd.epsilon)}, but for a chance of {crowd.delta:g}). This holds for one round, and only if "
        "nobody keeps the order, the time or the sender of reports."
    )


def notice(survey: Survey, crowd: Crowd | None = None) -> list[tuple[str, str]]:
    """What a respondent should know before answering, as (heading, paragraph); every number is the survey's own."""
    if survey.mechanism.said:
        return hand_notice(survey)
    promise, certain, deniable = guarantees.of(survey.mechanism.permanent)(survey)
    tenth = chance(belief_after(Fraction(1, 10), survey.mechanism.odds), up=True)
    all_of_them, again, a_report = "", "sends the same bytes", ""
    if survey.mechanism.twice:
        most = chance(belief_after(Fraction(1, 10), _lifetime(survey)), up=True)
        all_of_them = f" (at most {most} after seeing all your reports of that answer)"
        again = "sends other bytes, made from the same first roll of the dice"
        a_report = f" and {float(survey.mechanism.report_bound):g} a report (spent: {survey.epsilon_report:.6g})"
    name = f" “{shown(survey.name)}”" if survey.name else ""
    hidden = "it" if deniable == "any answer" else deniable
    cohort = (
        ""
        if survey.cohorts == 1
        else f" your group number (one of {survey.cohorts}, drawn at random once; it is the same in all your reports "
        "to this survey, so they can be linked to each other by it);"
    )
    return [
        (
            "What is asked",
            f"The survey{name} learns how often each answer occurs among everyone. Your own answer is randomised on "
            f"your device, so that nobody, the collector included, can be sure of {hidden}."
            + (f" {text_sentence(survey)}" if survey.alphabet.is_open else "")
            + (f" {scale_sentence(survey)} That is done on your device." if survey.alphabet.bins is not None else ""),
        ),
        (
            "What is sent",
            f"{doings.of(survey.mechanism.permanent)(survey)}{THAT_IS_ALL} {report_bytes(survey)} bytes, "
            "randomised before they leave.",
        ),
        (
            "What that protects",
            f"{promise} So someone who thinks beforehand that {certain} is yours with "
            f"probability 10 % can believe it with at most {tenth} after seeing your report{all_of_them}, however much "
            f"they know and compute. {_deniability(survey, deniable)}",
        ),
        *([] if crowd is None else [("What the crowd adds", crowd_sentences(crowd))]),
        (
            "What can be seen",
            f"That you took part, and when;{cohort} the address you sent from, if the network shows it.",
        ),
        (
            "What is not protected",
            "What everyone's reports say together: the survey exists to learn that, whether or not you take part. "
            "Further surveys: each one spends its own protection, and they add up. Different answers to this survey at "
            f"different times: each new answer is a new report. (Repeating the same answer {again}, as "
            "long as your device keeps its state.) Anything on your device or network that watches you answer.",
        ),
        *([] if survey.participation == "once" else [("If you answer again", _answering_again(survey))]),
        (
            "The numbers",
            f"{survey.title}, epsilon {survey.epsilon:g} (spent: {survey.epsilon_spent:.6g}){a_report}: "
            f"{strength(survey.epsilon_spent)} privacy; likelihood ratio at most {float(_lifetime(survey)):.6g}; "
            f"survey {survey.digest}.",
        ),
    ]

"""The questions of a form, and its parts: a part is an ordinary survey over one question, or over a related pair.

A question says which answers exist, whether it may be skipped, and on which public answer it depends. A part says how
they leave the device. The symbols of a pair are numbers: the place of the first answer times the number of second
answers, plus the place of the second.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from deniable.errors import AlphabetError, SurveyError
from deniable.survey.alphabet import Alphabet, Symbol, canonical_symbol
from deniable.survey.survey import Survey, check_title

__all__ = ["MAX_PAIRS", "MAX_QUESTIONS", "NO_ANSWER", "FormPart", "Question", "check_name"]

NO_ANSWER = "no answer"  # the symbol that a form adds to a question that may be skipped
MAX_QUESTIONS = 256  # questions of a form: a report holds a slot for each
MAX_PAIRS = 1 << 12  # pairs of answers of two related questions: a bit a pair in a report, at most
_NAME = 64  # characters of a question's name


def check_name(name: object) -> str:
    """The name of a question: what answers, columns and estimates are looked up by.

    >>> check_name("smokes")
    'smokes'
    """
    if not isinstance(name, str) or not name.isidentifier() or len(name) > _NAME:
        shown = repr(name[:_NAME]) if isinstance(name, str) else type(name).__name__
        raise SurveyError(
            f"a question's name must be a word of at most {_NAME} letters, digits and underscores, got {shown}; "
            "what people read is the name of its survey"
        )
    if name != unicodedata.normalize("NFC", name):
        raise SurveyError(f"a question's name must be NFC-normalised, got {name!r}")
    return name


@dataclass(frozen=True, slots=True)
class Question:
    """One question of a form.

    Parameters
    ----------
    name : str
        What answers are given by: `{"smokes": "yes"}`.
    alphabet : Alphabet
        Which answers exist.
    title : str
        What people read.
    skip : bool
        Whether it may be left out: `NO_ANSWER` is then one of its answers, randomised like any other.
    when : tuple, optional
        The public question that it depends on, and the answers to that at which it is asked.

    Examples
    --------
    >>> question = Question("smokes", Alphabet.closed(["no", "yes"]), skip=True)
    >>> question.answers.symbols, question.answer(None)
    (('no', 'yes', 'no answer'), 'no answer')
    """

    name: str
    alphabet: Alphabet
    title: str = ""
    skip: bool = False
    when: tuple[str, tuple[Symbol, ...]] | None = None

    def __post_init__(self) -> None:
        check_name(self.name)
        check_title(self.title)
        if self.skip and self.alphabet.symbols is not None and NO_ANSWER in self.alphabet.symbols:
            raise SurveyError(
                f"question {self.name!r} must not have the answer {NO_ANSWER!r} if it may be skipped: the form adds it"
            )

    @property
    def answers(self) -> Alphabet:
        """The alphabet with `NO_ANSWER` in it, if that is an answer."""
        if not self.skip or self.alphabet.symbols is None:
            return self.alphabet
        return Alphabet((*self.alphabet.symbols, NO_ANSWER), self.alphabet.other)

    def answer(self, value: object) -> object:
        """What a person said as a symbol of `answers`; nothing, None, is `NO_ANSWER` where that is allowed.

        Parameters
        ----------
        value : object
            The answer. It is not shown in an error.

        Raises
        ------
        AlphabetError
            If the question must be answered and was not, or a number is none.
        """
        if value is None or (self.skip and isinstance(value, str) and value == NO_ANSWER):
            if not self.skip:
                raise AlphabetError(f"{self.name}: it must be answered; a form says with skip= what may be left out")
            return NO_ANSWER
        # The names of bins stand for numbers where the alphabet with `NO_ANSWER` is no scale any more.
        return self._named(self.alphabet.canonical, value) if self.alphabet.bins is not None else value

    def _named(self, work: Callable[[object], object], value: object) -> Any:
        """What `work` makes of an answer; where it refuses, the sentence says of which question."""
        try:
            return work(value)
        except AlphabetError as error:
            raise AlphabetError(f"{self.name}: {error}") from None

    def to_json(self) -> dict[str, object]:
        """The fields that a form's file has for it."""
        fields: dict[str, object] = {"name": self.name, "title": self.title, "alphabet": self.alphabet.to_json()}
        return fields | ({"skip": 1} if self.skip else {})


@dataclass(frozen=True, slots=True)
class FormPart:
    """What is randomised as one: a question, or a related pair of them.

    Parameters
    ----------
    questions : tuple of Question
        One or two.
    survey : Survey
        Its answers are those of the question, or the numbers of the pairs.

    Examples
    --------
    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(["x", "y", "z"], epsilon=1), c=dn.krr(4, epsilon=1), epsilon=2,
    ...                relate=[("a", "b")])
    >>> part = form.parts[0]
    >>> part.name, len(part.survey.alphabet), part.symbol({"a": "yes", "b": "z"}), part.pair(5)
    ('a, b', 6, 5, ('yes', 'z'))
    """

    questions: tuple[Question, ...]
    survey: Survey

    @property
    def name(self) -> str:
        """The names of its questions, for columns and messages."""
        return ", ".join(question.name for question in self.questions)

    @property
    def when(self) -> tuple[str, tuple[Symbol, ...]] | None:
        """On which public answer it depends."""
        return self.questions[0].when

    def symbol(self, answers: Mapping[str, object]) -> object:
        """The symbol of its survey that a person's answers are.

        Parameters
        ----------
        answers : mapping
            By the names of the questions.

        Raises
        ------
        AlphabetError
            If one of them is none; the message names the question and does not show the answer.
        """
        given = [question.answer(answers.get(question.name)) for question in self.questions]
        if len(given) == 1:
            return given[0]
        first, second = (one._named(one.answers.index, value) for one, value in zip(self.questions, given, strict=True))
        return first * len(self.questions[1].answers) + second

    def pair(self, symbol: int) -> tuple[Symbol, Symbol]:
        """The two answers that a symbol of a pair's survey stands for.

        Parameters
        ----------
        symbol : int
            The number of the pair.
        """
        first, second = (question.answers.symbols or () for question in self.questions)
        return first[symbol // len(second)], second[symbol % len(second)]

    def with_answers(self, answers: Mapping[str, Alphabet]) -> "FormPart":
        """The same part over other answers, as many of each question as before.

        Parameters
        ----------
        answers : mapping
            By the names of questions; what is not there stays.

        Examples
        --------
        >>> import deniable as dn
        >>> part = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=2).parts[1]
        >>> part.with_answers({"b": Alphabet.closed(["x", "y", "z"])}).survey.symbols
        ('x', 'y', 'z')
        """
        own = tuple(replace(one, alphabet=answers.get(one.name, one.alphabet)) for one in self.questions)
        return FormPart(own, replace(self.survey, alphabet=part_alphabet(own)))

    def to_json(self) -> dict[str, object]:
        """The fields that a form's file has for it; its answers follow from the questions."""
        return {
            "questions": [question.name for question in self.questions],
            "encoding": self.survey.encoding.to_json(),
            "mechanism": self.survey.mechanism.to_json(),
        }


def part_alphabet(questions: tuple[Question, ...]) -> Alphabet:
    """The alphabet of the survey of a part."""
    if len(questions) == 1:
        return questions[0].answers
    sizes = [len(question.answers) for question in questions]
    if any(question.alphabet.is_open for question in questions):
        raise SurveyError(
            f"related questions must have lists of answers, got {questions[0].name!r} and {questions[1].name!r}; one "
            "of them is answered with any text: make it closed with symbols="
        )
    if sizes[0] * sizes[1] > MAX_PAIRS:
        raise SurveyError(
            f"related questions must have at most {MAX_PAIRS} pairs of answers, got {sizes[0]} times {sizes[1]}; "
            "use fewer answers, or wider bins"
        )
    return Alphabet.closed(sizes[0] * sizes[1])


def check_condition(name: str, when: tuple[str, tuple[object, ...]], public: Mapping[str, Question]) -> None:
    """Refuse a condition on an answer that is not public, or on one that does not exist."""
    depends, wanted = when
    if depends not in public:
        raise SurveyError(
            f"question {name!r} must depend on a public answer, got {depends!r}, which is private: whether {name!r} is "
            "answered would show what was answered there; ask it of everybody, or name a public question"
        )
    known = public[depends].alphabet.symbols or ()
    if not wanted or any(canonical_symbol(value) not in known for value in wanted):
        raise SurveyError(f"question {name!r} must depend on answers that {depends!r} has, got another, or none")

"""Words for epsilon, such as "strong": notices, pages, hints and plans all use this scale.

`service/pages/words.js` holds the same table for browsers; tests/contracts/test_pages.py compares the two.
"""

from math import inf

__all__ = ["SCALE", "bound_of", "is_at_least", "strength"]

# (largest epsilon of the step, word), most private first. In nats, of all reports of one answer together. At the
# bound of a step they can raise a prior belief of 10 % to 23 %, 45 %, 69 %, 86 %.
SCALE = ((1.0, "very strong"), (2.0, "strong"), (3.0, "moderate"), (4.0, "weak"), (inf, "hardly any"))
_ROUNDING = 0.005  # epsilon is shown with two decimals, and what is shown as 2.00 must have the word of 2


def strength(epsilon: float) -> str:
    """The word for an epsilon, to stand before "privacy".

    >>> [strength(epsilon) for epsilon in (0.5, 1, 1.01, 2, 2.004, 2.01, 3, 4, 4.2)]
    ['very strong', 'very strong', 'strong', 'strong', 'strong', 'moderate', 'moderate', 'weak', 'hardly any']
    """
    return next(word for most, word in SCALE if epsilon < most + _ROUNDING)


def bound_of(word: str) -> float:
    """The largest epsilon that has this word or a better one.

    >>> bound_of("strong")
    2.0
    """
    return next(most for most, name in SCALE if name == word)


def is_at_least(epsilon: float, word: str) -> bool:
    """Whether an epsilon has this word or a better one.

    >>> is_at_least(1.5, "strong"), is_at_least(2.5, "strong")
    (True, False)
    """
    return epsilon < bound_of(word) + _ROUNDING

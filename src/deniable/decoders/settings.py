"""What empirical Bayes was tuned to, in one place. docs/results/ablation.md has what each field is worth."""

from dataclasses import dataclass

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The constants of `EmpiricalBayes`. Two kinds: safeguards against a prior that is wrong, and limits on work.

    `crowding` is the number of unknowns an equation, where cohorts share cells.

    >>> Settings().rounds(0.01), Settings().rounds(0.3), Settings().rounds(2.0)
    ((1, 1), (2, 1), (12, 6))
    """

    # Safeguards; studies/ablation.py switches each of them off.
    few_symbols: int = 4  # up to so many are projected: too few to learn a prior from
    crowded: float = 0.5  # crowding from which what is seen of a symbol is mostly what is believed of the others
    sure_saving: float = 0.07  # of projection's loss: an answer that promises to save less goes part of the way; 0: off
    sure_saving_crowded: float = 0.3  # the same where cohorts are crowded, of the loss of weighted least squares,
    most_doubted: int = 63  # for up to so many symbols: more of them teach a better prior
    plausible: float = 0.1  # of the best prior's evidence, from which a prior must not lose by the answer; above 1: off
    step: float = 0.4  # of each round after the first, towards the new beliefs: larger steps circle
    level_margin: float = 6.0  # of chi-square, beside 2 log S, that the answer must beat equal shares by; -inf: off
    loose: float = 0.03  # crowding below which symbols hardly disturb each other: one round
    short_rounds: int = 12  # rounds where unknowns outnumber equations; the answers of the last half are averaged
    weight_rounds: int = 3  # rounds after which the weights of the cells have settled
    most_weighed_symbols: int = 1024  # symbols of a block design up to which its cells are weighed: 1e-7 s times S^3

    # Limits on work.
    fitted: int = 512  # observations that a prior is learned from, evenly spread over the sorted ones
    steering_fitted: int = 256  # the same, in rounds whose answer is not used
    orders: int = 4  # in which they are visited
    most_dense_unknowns: int = 512  # up to which the regression is inverted; beyond, it is solved by iteration
    least_squares_tolerance: float = 1e-9  # relative residual of least squares where it is iterated
    undetermined_tolerance: float = 1e-4  # relative residual of least squares where it determines no symbol

    def rounds(self, crowding: float) -> tuple[int, int]:
        """How many rounds of beliefs there are, and of how many at the end the answers are averaged."""
        if crowding >= 1:
            return self.short_rounds, self.short_rounds - self.short_rounds // 2
        return 1 if crowding < self.loose else 2, 1

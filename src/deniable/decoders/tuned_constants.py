"""The tuned constants of empirical Bayes, in one place.

The values of `EmpiricalBayesSettings` were chosen by `studies.ablation`, which switches off one safeguard at a time:
docs/results/ablation.md has what each is worth. Those of `PriorSettings` were chosen on the cells of `studies.decoders`
when the decoder became the default: docs/decisions/0010-default-decoder.md.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PriorSettings:
    """How priors are fitted to noisy shares (`prior`) and how an answer is taken from a posterior (`shrinkage`)."""

    nodes: int = 64  # quadrature nodes per share
    coarse_nodes: int = 32  # the same, where the answers of several rounds are averaged
    reach: float = 6.0  # standard errors that the quadrature covers
    widths: tuple[float, ...] = (1.0, 0.3, 0.1)  # standard deviations of log p in a component, one family each
    uniform_width: float = 0.03  # the same near p = 1 / S, where a uniform population has all its shares
    zero_masses: tuple[float, ...] = (0.1, 0.5, 0.9)  # initial weights of the atom at zero
    resolution: float = 0.15  # standard errors of p: components are no narrower, because noise would hide it
    decay: float = 2 / 3  # exponent of the step sizes of predictive recursion (Newton 2002: between 1/2 and 1)
    observations_per_em_step: int = 8  # one step of expectation maximisation for so many observations,
    max_em_steps: int = 64  # and at most so many
    min_quantile_weight: float = 0.5  # of the quantiles in an l1 answer; the rest is the projected means
    min_base_variance: float = 0.3  # share of an observation's variance that does not depend on p, at least
    max_reweightings: int = 12  # of priors by the guard, before it mixes with the projected estimate
    reweighting_rate: float = 30.0  # log weight that a prior gains per relative excess of its expected loss


PRIOR = PriorSettings()


@dataclass(frozen=True, slots=True)
class EmpiricalBayesSettings:
    """The constants of `EmpiricalBayes`: safeguards against a wrong prior, and limits on work.

    *Crowding* is the number of unknowns per equation where cohorts share cells.

    >>> [EmpiricalBayesSettings().rounds(crowding) for crowding in (0.01, 0.3, 2.0)]
    [(1, 1), (2, 1), (12, 6)]
    """

    # Safeguards; studies/ablation.py switches each of them off.
    max_projected_symbols: int = 4  # up to so many symbols are projected: too few to fit a prior to
    crowded_from: float = 0.5  # crowding from which estimates depend mostly on beliefs about the other symbols
    min_saving: float = 0.07  # of the projected loss: a smaller expected saving is taken in part; 0: off
    min_saving_crowded: float = 0.3  # the same for crowded cohorts, relative to weighted least squares,
    max_doubted_symbols: int = 63  # for up to so many symbols: more of them allow a better prior
    min_evidence_ratio: float = 0.1  # to the best prior: from it on the guard protects a prior; above 1: off
    belief_step: float = 0.4  # damping of the belief updates after the first round; undamped ones oscillate
    uniform_margin: float = 6.0  # chi-square, beside 2 log S, by which an answer must fit better than equal shares
    single_round_below: float = 0.03  # crowding below which symbols hardly interact: one round
    underdetermined_rounds: int = 12  # rounds where unknowns outnumber equations; the last half is averaged
    weight_rounds: int = 3  # rounds in which the cell weights are recomputed
    most_weighed_symbols: int = 1024  # of a block design whose cells are weighted: 1e-7 s times S**3

    # Limits on work.
    prior_observations: int = 512  # that a prior is fitted to, evenly spread over the sorted ones
    steering_observations: int = 256  # the same, in rounds whose answer is not used
    prior_orders: int = 4  # orders in which predictive recursion visits them
    max_dense_unknowns: int = 512  # up to which the normal equations are inverted; beyond, they are iterated
    least_squares_tolerance: float = 1e-9  # relative residual where least squares is iterated
    underdetermined_tolerance: float = 1e-4  # the same with fewer equations than unknowns

    def rounds(self, crowding: float) -> tuple[int, int]:
        """The number of rounds of expectation propagation, and how many of the last are averaged."""
        if crowding >= 1:
            return self.underdetermined_rounds, self.underdetermined_rounds - self.underdetermined_rounds // 2
        return 1 if crowding < self.single_round_below else 2, 1

"""Closed-form risk, lower bounds, covariance and identifiability: the results of the paper as functions.

`expected_loss` takes a survey, with the probabilities it realises, or a setting of parameters that is not a survey yet
(`ErrorModel`). No other room derives the variance of an estimate. The functions named after a mechanism are
the paper's formulas in its own letters. `docs/reference/paper.md` says which equation each one is, and where the paper
errs.
"""

from deniable.theory.arguments import count_of, distribution
from deniable.theory.binary import factor_through_warner
from deniable.theory.cohorts import CohortSettings
from deniable.theory.covariance import (
    inversion_covariance,
    inversion_cumulants,
    inversion_variances,
    least_squares_moments,
)
from deniable.theory.deviation import folded_normal_mean, mean_absolute_deviation
from deniable.theory.error_model import (
    Classes,
    ErrorModel,
    bit_rates,
    block_model,
    channel_model,
    krr_rates,
    mechanism_model,
    oue_rates,
    sensitive_model,
    subset_rates,
    support_model,
)
from deniable.theory.hashed_shares import hashed_variance
from deniable.theory.identifiability import (
    cells_to_the_cohorts,
    cohorts_for_mass,
    cohorts_for_rank,
    distinguishable_strings,
    equations,
    rank_bound,
    recoverable_mass,
)
from deniable.theory.krappor import (
    krappor_l1,
    krappor_l1_inflation,
    krappor_l1_worst,
    krappor_l2,
    krappor_l2_inflation,
    krappor_l2_worst,
)
from deniable.theory.krr import krr_l1, krr_l1_inflation, krr_l1_worst, krr_l2, krr_l2_inflation, krr_l2_worst
from deniable.theory.krr_or_krappor import crossover, krr_advantage, krr_wins_from_log_half
from deniable.theory.loss import ExpectedLoss, Losses, drawn_estimates, expected_loss, losses_of
from deniable.theory.minimax import private_minimax_l1, private_minimax_l2
from deniable.theory.nonprivate import minimax_l1, minimax_l2, ml_l1, ml_l1_worst, ml_l2, ml_l2_worst
from deniable.theory.observer import linking_probability, naming_probability
from deniable.theory.risk import l1_risk, l2_risk
from deniable.theory.score_law import ScoreLaw
from deniable.theory.shared_noise import (
    cell_variance,
    permanent_share,
    repeated_reports,
    returning_share,
    sum_variance,
)
from deniable.theory.support import support_l2, support_variances

__all__ = [
    "Classes",
    "CohortSettings",
    "ErrorModel",
    "ExpectedLoss",
    "Losses",
    "ScoreLaw",
    "bit_rates",
    "block_model",
    "cell_variance",
    "cells_to_the_cohorts",
    "channel_model",
    "cohorts_for_mass",
    "cohorts_for_rank",
    "count_of",
    "crossover",
    "distinguishable_strings",
    "distribution",
    "drawn_estimates",
    "equations",
    "expected_loss",
    "factor_through_warner",
    "folded_normal_mean",
    "hashed_variance",
    "inversion_covariance",
    "inversion_cumulants",
    "inversion_variances",
    "krappor_l1",
    "krappor_l1_inflation",
    "krappor_l1_worst",
    "krappor_l2",
    "krappor_l2_inflation",
    "krappor_l2_worst",
    "krr_advantage",
    "krr_l1",
    "krr_l1_inflation",
    "krr_l1_worst",
    "krr_l2",
    "krr_l2_inflation",
    "krr_l2_worst",
    "krr_rates",
    "krr_wins_from_log_half",
    "l1_risk",
    "l2_risk",
    "least_squares_moments",
    "linking_probability",
    "losses_of",
    "mean_absolute_deviation",
    "mechanism_model",
    "minimax_l1",
    "minimax_l2",
    "ml_l1",
    "ml_l1_worst",
    "ml_l2",
    "ml_l2_worst",
    "naming_probability",
    "oue_rates",
    "permanent_share",
    "private_minimax_l1",
    "private_minimax_l2",
    "rank_bound",
    "recoverable_mass",
    "repeated_reports",
    "returning_share",
    "sensitive_model",
    "subset_rates",
    "sum_variance",
    "support_l2",
    "support_model",
    "support_variances",
]

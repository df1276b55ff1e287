"""Tally -> Estimate: unbias, solve, constrain."""

from deniable.decoders.base import Decoder, unbias
from deniable.decoders.comparison import Difference, difference
from deniable.decoders.constraints import Constraint, Normalized, Projected, Unconstrained
from deniable.decoders.contaminated import Contaminated
from deniable.decoders.decoding import DEFAULT, decode, decode_all
from deniable.decoders.diagnostics import ChiSquare, Diagnostics
from deniable.decoders.discovered import DiscoveredEstimate
from deniable.decoders.discovering import MOST, Beginnings, discover, search_sizes
from deniable.decoders.empirical_bayes import EmpiricalBayes, shrink
from deniable.decoders.estimate import Estimate
from deniable.decoders.form_difference import FormDifference, MarginalDifference
from deniable.decoders.form_estimate import FormEstimate, MarginalEstimate
from deniable.decoders.intervals import Group, Mass
from deniable.decoders.inversion import Inversion
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.likelihood import Likelihood
from deniable.decoders.limits import JeffreysLimits, check_level
from deniable.decoders.marginal_rows import MarginalRows
from deniable.decoders.planted import Planted, chance_in_words
from deniable.decoders.prior import Observations
from deniable.decoders.quantity import Cumulative, Quantity
from deniable.decoders.quantity_limits import weights_of_sums, worst_deviation
from deniable.decoders.raw_reports import likelihood_of_reports
from deniable.decoders.repeated import Repeated, check_part
from deniable.decoders.rows import DifferenceRows, EstimateRows, ResultRows, finite_record, plain_cell
from deniable.decoders.screened import ScreenedEstimate
from deniable.decoders.screening import Screening
from deniable.decoders.shown import ROWS, note_on_rest
from deniable.decoders.simplex import project, project_rows
from deniable.decoders.strategies import CONSTRAINTS, DECODERS, constraint_of, decoder_of
from deniable.decoders.summary import Density, density_of, figures_of
from deniable.decoders.unlisted import own_and_unlisted
from deniable.decoders.weighted import WeightedLeastSquares, cell_weights

__all__ = [
    "CONSTRAINTS",
    "DECODERS",
    "DEFAULT",
    "MOST",
    "ROWS",
    "Beginnings",
    "ChiSquare",
    "Constraint",
    "Contaminated",
    "Cumulative",
    "Decoder",
    "Density",
    "Diagnostics",
    "Difference",
    "DifferenceRows",
    "DiscoveredEstimate",
    "EmpiricalBayes",
    "Estimate",
    "EstimateRows",
    "FormDifference",
    "FormEstimate",
    "Group",
    "Inversion",
    "JeffreysLimits",
    "LeastSquares",
    "Likelihood",
    "MarginalDifference",
    "MarginalEstimate",
    "MarginalRows",
    "Mass",
    "Normalized",
    "Observations",
    "Planted",
    "Projected",
    "Quantity",
    "Repeated",
    "ResultRows",
    "ScreenedEstimate",
    "Screening",
    "Unconstrained",
    "WeightedLeastSquares",
    "cell_weights",
    "chance_in_words",
    "check_level",
    "check_part",
    "constraint_of",
    "decode",
    "decode_all",
    "decoder_of",
    "density_of",
    "difference",
    "discover",
    "figures_of",
    "finite_record",
    "likelihood_of_reports",
    "note_on_rest",
    "own_and_unlisted",
    "plain_cell",
    "project",
    "project_rows",
    "search_sizes",
    "shrink",
    "unbias",
    "weights_of_sums",
    "worst_deviation",
]

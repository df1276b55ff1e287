"""Tests of terms of a regression: Wald's, and that of the likelihood ratio of two models."""

from typing import Any

import numpy as np

from deniable.errors import DecodeError

OBSERVED = "observed information"  # standard errors of people who were sampled independently


def wald_test(fit: Any, terms: str | list[str]) -> tuple[float, int, float]:
    """See `Regression.wald_test`."""
    from scipy.stats import chi2
    from scipy.stats import f as fisher

    wide = {str(term): [fit.terms[place] for place in places] for term, places in fit.spec.term_indices.items()}
    named = [terms] if isinstance(terms, str) else list(terms)
    asked = list(
        dict.fromkeys(one for name in named for one in ([name] if name in fit.terms else wide.get(name, [name])))
    )
    if unknown := [term for term in asked if term not in fit.terms]:
        raise DecodeError(f"terms must be among {', '.join(fit.terms)}, got {unknown[0]!r}")
    blocks = 1 if fit.is_linear else len(fit.others)
    places = [block * len(fit.terms) + fit.terms.index(term) for block in range(blocks) for term in asked]
    if fit.unknown[places].any():
        raise DecodeError("terms of a test must have finite estimates, got one without; compare likelihoods instead")
    value, cov = fit.theta[places], fit.covariance_scaled[np.ix_(places, places)]
    statistic = float(value @ np.linalg.solve(cov, value))
    if np.isfinite(fit.freedom):
        return statistic, len(places), float(fisher.sf(statistic / len(places), len(places), fit.freedom))
    return statistic, len(places), float(chi2.sf(statistic, len(places)))


def lr_test(fit: Any, smaller: Any) -> tuple[float, int, float]:
    """See `Regression.lr_test`."""
    from scipy.stats import chi2

    if fit.cov_type != OBSERVED or smaller.cov_type != OBSERVED:
        raise DecodeError(
            "likelihoods must be of people who were sampled independently, got weights or clusters; use wald_test"
        )
    if smaller.nobs != fit.nobs or smaller.answers != fit.answers or not set(smaller.terms) < set(fit.terms):
        raise DecodeError("smaller must be a model of the same reports with fewer of the terms, got another")
    more = fit.problem.size - smaller.problem.size
    statistic = max(2 * (fit.llf - smaller.llf), 0.0)
    return statistic, more, float(chi2.sf(statistic, more))

"""A fit as text, as statsmodels prints one, and as JSON."""

from typing import Any

import numpy as np


def fit_as_json(fit: Any) -> dict[str, Any]:
    """See `Regression.to_json`."""
    params, errors = fit.flat()
    bounds, p = fit.conf_int().to_numpy(), np.ravel(np.asarray(fit.pvalues).T)
    rows = []
    for place, name in enumerate(fit.names):
        numbers = (params[place], errors[place], p[place], *bounds[place])
        kept = [float(value) if np.isfinite(value) else None for value in numbers]
        term = {"answer": name[0], "term": name[1]} if isinstance(name, tuple) else {"term": str(name)}
        rows.append(term | dict(zip(("coefficient", "standard_error", "p_value", "low", "high"), kept, strict=True)))
    return {
        "formula": fit.formula,
        "survey": fit.survey.digest,
        "people": fit.nobs,
        "left_out": fit.dropped,
        "log_likelihood": fit.llf,
        "standard_errors": fit.cov_type,
        "converged": fit.converged,
        "coefficients": rows,
        "notes": list(fit.notes),
    }


def fit_as_text(fit: Any) -> str:
    """See `Regression.summary`."""
    logit = "logit" if len(fit.others) == 1 else "multinomial logit"
    lines = [
        f"Regression on randomised reports: {fit.formula}",
        f"{'linear, normal errors' if fit.is_linear else logit}, {fit.survey.title}, {fit.nobs:,} people in "
        f"{fit.distinct:,} distinct rows",
        f"log-likelihood {fit.llf:.3f}, standard errors: {fit.cov_type}",
    ]
    params, errors = fit.flat()
    bounds, p = fit.conf_int().to_numpy(), np.ravel(np.asarray(fit.pvalues).T)
    names = [" ".join(name) if isinstance(name, tuple) else str(name) for name in fit.names]
    wide = max(len(name) for name in [*names, "coefficient"])
    letter = "t" if np.isfinite(fit.freedom) else "z"
    lines += [
        "=" * (wide + 65),
        f"{'':<{wide}} {'coef':>11} {'std err':>10} {letter:>8} {f'P>|{letter}|':>7} {'[0.025':>11} {'0.975]':>11}",
    ]
    if not fit.is_linear:
        asked = fit.others[0] if len(fit.others) == 1 else "each answer"
        lines.insert(3, f"log odds of {asked} against {fit.answers[fit.base]}")
    for place, name in enumerate(names):
        z = params[place] / errors[place]
        lines.append(
            f"{name:<{wide}} {_number(params[place]):>11} {_number(errors[place]):>10} {z:>8.3f} {p[place]:>7.3f} "
            f"{_number(bounds[place, 0]):>11} {_number(bounds[place, 1]):>11}"
        )
    return "\n".join([*lines, "=" * (wide + 65), *fit.notes])


def _number(value: float) -> str:
    """Four decimals; four digits where a number is so small or large that these would hide it: one unit of an income.

    >>> _number(0.5), _number(0.0000213), _number(-123456.0), _number(float("inf"))
    ('0.5000', '2.13e-05', '-1.235e+05', 'inf')
    """
    return f"{value:.4f}" if value == 0 or 1e-3 <= abs(value) < 1e5 else f"{value:.4g}"

"""How exact the share of one answer is under hashing, whoever else answered."""

from deniable.survey import Survey


def hashed_variance(survey: Survey, share: float) -> float:
    """The variance of the unbiased estimate of a share by one report, where each report names one hashed cell.

    All other answers are spread evenly over the cells, as hash functions drawn at random spread them.

    Parameters
    ----------
    survey : Survey
        Of hashed answers under k-RR.
    share : float
        Of the people who gave the answer.

    Returns
    -------
    float
        n times the variance of n reports.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.orr(epsilon=2, cells=8, cohorts=64)
    >>> round(hashed_variance(survey, 0.01), 3)
    0.744
    """
    _, slope = survey.mechanism.affine
    seen = (1 - share) / survey.cells + share * (slope + (1 - slope) / survey.cells)
    return seen * (1 - seen) / (slope * (1 - 1 / survey.cells)) ** 2

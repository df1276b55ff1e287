"""One question of a related pair as rows of plain values, in the shape of `EstimateRows`."""

import math
from typing import Any

import numpy as np

from deniable.decoders.form_estimate import MarginalEstimate
from deniable.decoders.limits import check_level
from deniable.decoders.rows import ResultRows


class MarginalRows(ResultRows):
    """The shares of one question, summed over the answers of the other. Marks and diagnostics are the pair's, not here.

    >>> import deniable as dn
    >>> form = dn.form(a=dn.warner(epsilon=1), b=dn.krr(3, epsilon=1), epsilon=4, relate=[("a", "b")])
    >>> p = {("a", "b"): [[0.5, 0.1, 0.1], [0.1, 0.1, 0.1]]}
    >>> estimate = dn.decode(dn.simulate(form, p, n=10**7, rng=np.random.default_rng(0)))
    >>> told = MarginalRows(estimate["b"]).to_json()
    >>> [(row["symbol"], round(row["probability"], 2)) for row in told["estimates"]], told["unallocated"]
    ([(0, 0.6), (1, 0.2), (2, 0.2)], None)
    """

    FIELDS = ("probability", "raw", "standard_error", "raw_low", "raw_high")
    MARK = "significant"
    KEY = "estimates"

    def __init__(
        self, estimate: MarginalEstimate, *, level: float = 0.95, simultaneous: bool = False, top: int | None = None
    ) -> None:
        check_level(level)
        shares = estimate.probabilities
        order = np.argsort(-shares, kind="stable")[:top].tolist()
        super().__init__(estimate.symbols, list(estimate.symbols), order)
        self.estimate, self.level, self.simultaneous = estimate, level, simultaneous
        limits = estimate.intervals(level, simultaneous=simultaneous)
        columns = np.column_stack([shares, estimate.raw, estimate.standard_errors, limits])
        self.numbers = dict(zip(order, columns[order].tolist(), strict=True))
        self.marks = [None] * len(estimate.symbols)

    @property
    def rest_name(self) -> str:
        return ""  # a question of a pair has a list: nothing is left over

    def head(self) -> dict[str, Any]:
        joint, question = self.estimate.joint, self.estimate.part.questions[self.estimate.place]
        survey = joint.tally.survey
        known = all(math.isfinite(error) for error in self.estimate.standard_errors.tolist())
        return {
            "survey": survey.digest,
            "name": question.title or question.name,
            "mechanism": survey.title,
            "epsilon_spent": survey.epsilon_spent,
            "n": self.estimate.n,
            "decoder": type(joint.decoder).__name__,
            "constraint": type(joint.constraint).__name__,
            "level": self.level,
            "simultaneous": self.simultaneous,
            "intervals": "approximate" if known else None,
            "shared_noise": joint.shared_noise or None,
            "sharing": joint.sharing,
        }

    def context(self) -> dict[str, Any]:
        survey = self.estimate.joint.tally.survey
        about = {"question": self.head()["name"], "n": self.estimate.n, "epsilon": survey.epsilon}
        return about | {"level": self.level}

    def more(self) -> dict[str, Any]:
        return {"groups": [], "diagnostics": None}

"""The best option at an epsilon and n, and the epsilon or n that a target needs, by predictions of `theory`.

Normal draws through the decoder (`expected_loss`) cost milliseconds. They are the same for every option, n and epsilon.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf, sqrt

import numpy as np

from deniable.decoders import DEFAULT, Inversion
from deniable.lab import normal_draws
from deniable.planner.options import Family, Option
from deniable.planner.request import EPSILONS, PEOPLE, PlanRequest
from deniable.planner.shapes import Shape
from deniable.planner.solve import Outside, crossing
from deniable.planner.visible import smallest_visible
from deniable.theory import Classes, Losses, expected_loss

_POWERS = {"l1": 1.0, "l2": 2.0, "max": 8.0}  # p of the p-norm of standard deviations by which options are ranked
_NUMBERS, _ROWS = 40_000, (10, 2000)  # normal numbers drawn for one loss, and the least and most rows of them
_COMPARED = 1.12  # options with noise within this factor of the least are compared by predicted losses
_TIE = 1.01  # losses within this factor count as equal: prefer no cohorts, then the shorter report
_MUCH_SHORTER, _SHORTER_TIE = 8, 1.03  # for a report at least 8 times shorter a loss may be larger by 3 %
_ACTIVE = 0.93  # shapes with a loss of at least this share of the largest stay active during the search
_FEW_ROWS = 16  # least number of draws with which all shapes are compared


@dataclass
class Search:
    """The losses of options over the shapes that matter, for one request.

    `paper` restricts the decoder to the paper's. `active` are the shapes that are near the worst where the search is.
    """

    request: PlanRequest
    families: Sequence[Family]
    paper: bool = False
    active: list[Shape] = field(default_factory=list)
    _known: dict[tuple[object, ...], Losses] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.decoder = Inversion() if self.paper else DEFAULT
        self.families = [family for family in self.families if len(family)]
        self.active = self.active or self.request.shapes[:1]

    @property
    def power(self) -> float:
        return _POWERS.get(self.request.metric, 1.0)

    @property
    def rows(self) -> int:
        """Draws of one loss: large alphabets need fewer."""
        return int(min(max(_NUMBERS // self.request.size, _ROWS[0]), _ROWS[1]))

    @property
    def ruler(self) -> Classes:
        """The population over which noise is summed to rank options: the worst shape so far.

        For the smallest visible share it is the shares 0 and the target, weighted 3 to 1: a symbol is visible if its
        share exceeds three or four standard errors at share 0 plus one at its own share.
        """
        if self.request.metric != "visible":
            return self.active[0].classes
        return Classes(np.array([0.0, self.request.target or 0.01]), np.array([3.0, 1.0]), 0.0)

    @property
    def weighted(self) -> bool:
        """Whether cells are weighted by their variances: the default decoder does so, error bars do not."""
        return not self.paper and self.request.metric != "visible"

    def best(self, family: Family, epsilon: float, n: float) -> tuple[Option, float]:
        """The family's option of least noise, and that noise."""
        return family.best(epsilon, n, self.ruler, self.power, weighted=self.weighted)

    def ranked(self, epsilon: float, n: float) -> list[tuple[Option, float]]:
        """The best option of every family, least noise first."""
        found = [self.best(family, epsilon, n) for family in self.families]
        return sorted((pair for pair in found if np.isfinite(pair[1])), key=lambda pair: pair[1])

    def noise(self, family: Family, epsilon: float, n: float) -> float:
        """The score of a family's best option, per person: its noise is this over the root of n."""
        return self.best(family, epsilon, n)[1]

    def losses(self, option: Option, epsilon: float, n: float, shape: Shape, rows: int | None = None) -> Losses:
        label = (option.family.name, option.place, epsilon, n, shape.name, rows)
        if label not in self._known:
            model = option.model(epsilon, n, shape.classes if self.weighted else None)
            normals = normal_draws(self.request.size, rows or self.rows, self.request.seed)
            drawn = expected_loss(model, shape.p, n, self.decoder, normals=normals).decoded
            assert drawn is not None
            self._known[label] = drawn
        return self._known[label]

    def loss(self, option: Option, epsilon: float, n: float) -> float:
        """The loss that is compared with the target: its quantile at the worst active shape."""
        request = self.request
        model = option.model(epsilon, n)
        if not np.isfinite(model.base):  # too few people for its cohorts
            return inf
        if request.metric == "visible":
            return smallest_visible(model, n, request.size)
        found = (self.losses(option, epsilon, n, shape) for shape in self.active)
        return max(losses.quantile(request.metric, request.level) for losses in found)

    def look_around(self, option: Option, epsilon: float, n: float) -> bool:
        """Make the shapes with nearly the largest loss here the active ones; return whether the worst is a new one."""
        request = self.request
        if request.metric == "visible" or len(request.shapes) == 1:
            return False
        shapes = self.by_loss(option, epsilon, n)
        first, second = (self._screened(option, epsilon, n, shape) for shape in shapes[:2])
        near = shapes[: 2 if second >= _ACTIVE * first else 1]
        new = near[0].name not in {shape.name for shape in self.active}
        self.active = near
        return new

    def by_loss(self, option: Option, epsilon: float, n: float, *, besides: Shape | None = None) -> list[Shape]:
        """All shapes, or all but one, the worst first, by a few draws."""
        shapes = [shape for shape in self.request.shapes if shape is not besides]
        return sorted(shapes, key=lambda shape: -self._screened(option, epsilon, n, shape))

    def _screened(self, option: Option, epsilon: float, n: float, shape: Shape) -> float:
        rows = max(_FEW_ROWS, self.rows // 8)
        return self.losses(option, epsilon, n, shape, rows).quantile(self.request.metric, self.request.level)

    def worst(self, option: Option, epsilon: float, n: float) -> Shape:
        """The active shape with the largest loss."""
        request = self.request
        metric = "l1" if request.metric == "visible" else request.metric
        return max(self.active, key=lambda s: self.losses(option, epsilon, n, s).quantile(metric, request.level))

    def chosen(self, epsilon: float, n: float) -> Option | None:
        """The option of least loss here; among those alike one without cohorts, then the shortest report."""
        ranked = self.ranked(epsilon, n)
        if not ranked:
            return None
        near = [option for option, score in ranked if score <= _COMPARED * ranked[0][1]][:4]
        if len(near) == 1:
            return near[0]
        values = [self.loss(option, epsilon, n) for option in near]
        long = near[int(np.argmin(values))].report_bytes
        alike = [
            option
            for option, value in zip(near, values, strict=True)
            if value <= min(values) * (_SHORTER_TIE if option.report_bytes * _MUCH_SHORTER <= long else _TIE)
        ]
        return min(alike, key=lambda option: (option.cohorts > 1, option.report_bytes))

    def first(self, epsilon: float, n: float) -> Option | None:
        ranked = self.ranked(epsilon, n)
        return ranked[0][0] if ranked else None

    def of(self, family: Family) -> Callable[[float, float], Option]:
        return lambda epsilon, n: self.best(family, epsilon, n)[0]

    def solve(self, pick: Callable[[float, float], Option | None], target: float, *, start: float) -> float:
        """The epsilon, or the n, at which this choice of options reaches the target; `Outside` if there is none."""
        request = self.request

        def at(epsilon: float, n: float) -> float:
            option = pick(epsilon, n)
            return inf if option is None else self.loss(option, epsilon, n)

        if request.found == "epsilon":
            people = float(request.n or 0)
            low, high = EPSILONS
            return crossing(lambda e: at(e, people), target, low=low, high=high, start=start)
        low, high = PEOPLE
        spends = request.spends
        return crossing(lambda n: at(spends, n), target, low=low, high=high, start=start, power=0.5)

    def same_noise(self, family: Family, level: float, *, epsilon: float, n: float) -> float | None:
        """The epsilon, or the n, at which a family's noise is `level`, from closed forms alone; None if never."""

        def noise(e: float, people: float) -> float:
            return self.noise(family, e, people) / sqrt(people)

        try:
            if self.request.found == "n":
                low, high = PEOPLE
                return crossing(lambda people: noise(epsilon, people), level, low=low, high=high, start=n, power=0.5)
            low, high = EPSILONS
            return crossing(lambda e: noise(e, n), level, low=low, high=high, start=epsilon)
        except Outside as outside:
            return EPSILONS[0] if outside.below and self.request.found != "n" else None

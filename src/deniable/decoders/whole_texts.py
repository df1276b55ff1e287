"""Tests and estimates of whole texts, by the reports of all levels that see all of a text.

A text of four bytes is hashed whole, with its end mark, in the cohorts of every level of four bytes or more. All of
these speak for it, not the last level alone. Levels that see only its beginning do not: other texts begin like it.

The test of a candidate is a sum over its cells, of the residuals of a model that the candidate has no part in. If
nobody wrote it, its cells are independent of all counts, so the sum is one of random cells of a known table, and its
p-value is exact (`drawn`). Three things keep it so:

* Whether a candidate is tested was decided by levels that do not see all of it: other people, other hash functions. Of
  the texts that a level completes only the best are looked at further, but the error is shared among all of them.
* What is declared joins the model in rounds, and is never tested again. As long as nothing false is declared, models
  depend on what people wrote alone. Each round has its own part of the allowed error, so no fit can be tuned to its
  candidates.
* Candidates whose beginnings are promising have more of the error (weighted Bonferroni): the promise is that of levels
  which do not see the text.

Levels are people of their own, so their estimates are independent. Each is by least squares with the declared texts,
and with the beginnings that are surely there, which only take their noise away; they are averaged by their precision.

Claim: with probability `level` or more no text is declared that nobody wrote.
Proof: tests/statistical/test_discovery.py::test_texts_that_nobody_wrote_are_rarely_declared
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import unbias
from deniable.decoders.drawn import drawn_z, judged
from deniable.decoders.fit import LinearFit
from deniable.decoders.least_squares import LeastSquares
from deniable.decoders.levels import level_design
from deniable.matrices import StreamedDesign
from deniable.survey import END
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]
Progress = Callable[[int, int], None]

CUT = "\N{HORIZONTAL ELLIPSIS}"  # ends a text that is longer than the last level
_EARLY_ROUNDS = 8  # rounds in which heavy texts are declared before the last one, at most
_EARLY = 1 / 32  # of the allowed error for each of them: they only take away noise
_LAST = 1 - _EARLY_ROUNDS * _EARLY  # the rest is for the last round
_SURE = 4.5  # standard errors from which a beginning is taken out of the noise of its level
_NEAR = 1.0  # standard errors above zero from which a candidate is scored again in the next round
_CLEARER = 0.8  # of the error when all were scored: from there on all are scored again
_MARGIN = 0.7  # standard errors below the threshold from which a p-value is computed: normal scores are approximate
_MODELLED = 0.5  # unknowns of a fit per equation, at most
_BEGINNINGS = 0.25  # of them for beginnings


class LevelFit:
    """The reports of one level, with what is surely there taken out.

    Parameters
    ----------
    tally
        The level's own (`level_tally`).
    beginnings
        Beginnings that may be there, of this level's length.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.discovery(epsilon=6, length=2, levels=[(2, 32)], seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.7, 0.3], 10**5, np.random.default_rng(0), symbols=["ab", "cde"])
    >>> level = LevelFit(tally, [b"cd", b"xy"])
    >>> level.beginnings, level.shares(level.designed([b"ab\\xff", b"zz\\xff"])).round(1) + 0.0
    ([b'cd'], array([0.7, 0. ]))
    >>> level.fit([b"ab\\xff"], []).raw.round(1)
    array([0.7, 0.3])
    """

    def __init__(self, tally: Tally, beginnings: Sequence[bytes]) -> None:
        self.tally, self._u, self._rows = tally, unbias(tally), tally.reports > 0
        self.equations = int(self._rows.sum()) * (tally.survey.cells - 1)
        self.beginnings: list[bytes] = []
        self.fit([], [])
        if beginnings:
            # By exact tails: what shares many cells with a heavy text by chance would take a part of its share.
            sums = self.designed(beginnings).scores(self.table[None])[0]
            z, most = drawn_z(self.table[self._rows], sums), int(_BEGINNINGS * self.equations)
            self.beginnings = [beginnings[i] for i in np.argsort(-z, kind="stable")[:most].tolist() if z[i] > _SURE]
            self.fit([], [])

    def designed(self, keys: Sequence[bytes]) -> StreamedDesign:
        """The cells of some candidates."""
        return level_design(self.tally, keys)

    def fit(self, texts: Sequence[bytes], begun: Sequence[bytes]) -> LinearFit:
        """Estimate texts that this level sees whole, beginnings of declared ones and its own; residuals follow."""
        keys = list(dict.fromkeys([*texts, *begun, *self.beginnings]))[: int(_MODELLED * self.equations)]
        design = self.designed(keys).part(np.arange(len(keys)))
        found = LinearFit(LeastSquares().solve([self.tally], design)[0].raw, self.tally, design)
        table = (self._u - design.forward(found.unknowns)) * self.tally.reports[:, None]
        self.table = np.where(self._rows[:, None], table - table.mean(axis=1, keepdims=True), 0.0)
        self.variance = max(float((self.table**2).mean(axis=1).sum()), 1e-300)
        return found

    @property
    def scale(self) -> float:
        """What the sum of the table over a text's cells is on average, for a text that everyone wrote."""
        return self.tally.n * (1 - 1 / self.tally.survey.cells)

    @property
    def error(self) -> float:
        """One standard error of a share by this level alone."""
        return float(np.sqrt(self.variance)) / self.scale

    @property
    def precision(self) -> float:
        """Of such a share: one over its variance."""
        return self.error**-2

    @property
    def weighted(self) -> Floats:
        """The table of cohorts with reports, so that sums over levels are weighted by precision."""
        return self.table[self._rows] * (self.scale / self.variance)

    def sums(self, design: StreamedDesign, progress: Progress | None = None) -> Floats:
        """Of some candidates, weighted."""
        return np.asarray(design.scores(self.table[None], progress)[0] * (self.scale / self.variance))

    def shares(self, design: StreamedDesign, progress: Progress | None = None) -> Floats:
        """Estimated shares of some candidates."""
        return np.asarray(design.scores(self.table[None], progress)[0] / self.scale)


def text_of(key: bytes) -> str:
    """What people read: the text without its end mark, or the beginning of one that was cut.

    >>> text_of(b"elk\\xff"), text_of(b"zebras"), text_of(b"caf\\xc3")
    ('elk', 'zebras\u2026', 'caf\\\\xc3\u2026')
    """
    return key[:-1].decode("utf-8") if key.endswith(END) else key.decode("utf-8", "backslashreplace") + CUT


@dataclass
class Texts:
    """Whole texts that are tested: what cohorts hash of them, and the first level that sees all of each.

    There may be a million, so nothing else is kept of a text; `text_of` says how it reads. `promise` is that of the
    beginning a text comes from (a logarithm), by which the allowed error is shared among all texts that there were,
    those included that are not looked at further.

    Examples
    --------
    >>> texts = Texts()
    >>> texts.share(np.log([0.5, 0.25, 0.25]))
    >>> texts.add([b"elk\\xff"], 1, np.log([0.5]))
    >>> texts.keys, texts.chances, texts.size
    ([b'elk\\xff'], array([0.5]), 3)
    """

    keys: list[bytes] = field(default_factory=list)
    first: Places = field(default_factory=lambda: np.zeros(0, np.intp))
    promise: Floats = field(default_factory=lambda: np.zeros(0))
    size: int = 0  # of all that had a share
    _total: float = -np.inf

    def share(self, promise: Floats) -> None:
        """Share the allowed error with so many more texts."""
        self.size += len(promise)
        self._total = float(np.logaddexp.reduce(np.append(promise, self._total)))

    def add(self, keys: Sequence[bytes], first: int, promise: Floats) -> None:
        """Test texts that a level is the first to see whole; texts of two levels differ in length."""
        self.keys += keys
        self.first = np.append(self.first, np.full(len(keys), first, np.intp))
        self.promise = np.append(self.promise, promise)

    def name(self, listed: Mapping[bytes, int]) -> None:
        """Test texts that somebody named, each with the first level that sees it whole, and with a promise of one."""
        if not listed:
            return
        self.share(np.zeros(len(listed)))
        found = {key: place for place, key in enumerate(self.keys) if key in listed}
        again = [*found.values()]
        self.promise[again] = np.maximum(self.promise[again], 0.0)
        new = {key: first for key, first in listed.items() if key not in found}
        self.keys += new
        self.first = np.append(self.first, np.array([*new.values()], np.intp))
        self.promise = np.append(self.promise, np.zeros(len(new)))

    @property
    def chances(self) -> Floats:
        """The part of the allowed error that each one has; together at most one."""
        return np.asarray(np.exp(self.promise - self._total))


@dataclass(frozen=True)
class Declared:
    """What was declared: `places` among the candidates, `shares` with their `covariance`, by all levels together.

    `needed` is the smallest share that would have been declared, `adjusted` the p-values times what a test of all
    candidates costs. `scores` and `errors` are of all candidates, without what was declared being taken out for itself.
    """

    places: Places
    shares: Floats
    covariance: Floats
    needed: Floats
    adjusted: Floats
    scores: Floats
    errors: Floats
    last: LinearFit  # of the last level, by which diagnostics are made
    reports: Floats  # that speak for each declared text

    def ordered(self, order: Places) -> "Declared":
        """The same in another order, without what is not determined."""
        order = order[np.isfinite(self.covariance.diagonal()[order])]
        by_text = {name: getattr(self, name)[order] for name in ("places", "shares", "needed", "adjusted", "reports")}
        return replace(self, covariance=self.covariance[np.ix_(order, order)], **by_text)


class WholeTexts:
    """The test and the estimate of texts in the levels of one tally."""

    def __init__(self, levels: Sequence[LevelFit], lengths: Sequence[int], texts: Texts) -> None:
        self.levels, self.lengths, self.keys = levels, lengths, texts.keys
        self.first, self.chances = texts.first, texts.chances
        # Which texts each level sees whole, and their cells.
        self._seen = [np.flatnonzero(self.first <= number) for number in range(len(levels))]

    @cached_property
    def _designs(self) -> list[StreamedDesign]:
        return [
            level.designed([*compress(self.keys, self.first <= number)]) for number, level in enumerate(self.levels)
        ]

    def declared(self, allowed: float, progress: Progress | None = None) -> Declared:
        """What is declared with family-wise error `allowed`."""
        size = len(self.keys)
        places, needed, adjusted = np.zeros(0, np.intp), np.zeros(0), np.zeros(0)
        most = int(_MODELLED * self.levels[-1].equations)
        near, all_sums = np.ones(size, bool), np.zeros(size)
        parts, error = [_EARLY] * _EARLY_ROUNDS + [_LAST], self.levels[-1].error
        while parts:
            part = parts.pop(0)
            all_sums[near] = self._sums(near, progress if len(parts) == _EARLY_ROUNDS else None)
            open_ = near.copy()
            open_[places] = False
            p_values, least, z = self._tested(all_sums, open_, allowed * part)
            new = np.flatnonzero(open_ & (p_values <= allowed * part * self.chances))
            new = new[np.argsort(p_values[new], kind="stable")][: most - len(places)]
            if not len(new):
                parts = parts[-1:]  # straight to the last round, or out of it
                continue
            places = np.concatenate([places, new])
            needed = np.concatenate([needed, least[new]])
            adjusted = np.concatenate([adjusted, p_values[new] / np.maximum(_LAST * self.chances[new], 1e-300)])
            near &= z > _NEAR
            self._fit(places)
            if self.levels[-1].error < _CLEARER * error:  # heavy texts hid others
                near, error = np.ones(size, bool), self.levels[-1].error
        fits = self._fit(places)
        precision = np.cumsum([level.precision for level in self.levels[::-1]])[::-1][self.first]
        shares, covariance = self._together(places, fits)
        reports = np.cumsum([level.tally.n for level in self.levels[::-1]])[::-1].astype(np.float64)[self.first[places]]
        return Declared(
            places,
            shares,
            covariance,
            needed,
            adjusted,
            all_sums / precision,
            1 / np.sqrt(precision),
            fits[-1],
            reports,
        )

    def _fit(self, places: Places) -> list[LinearFit]:
        """The fits of all levels with these texts in the model."""
        found, first = [], self.first[places]
        for number, (level, length) in enumerate(zip(self.levels, self.lengths, strict=True)):
            keys = [self.keys[i] for i in places.tolist()]
            whole = [key for key, here in zip(keys, first <= number, strict=True) if here]
            found.append(
                level.fit(whole, [key[:length] for key, here in zip(keys, first > number, strict=True) if here])
            )
        return found

    def _sums(self, some: npt.NDArray[np.bool_], progress: Progress | None) -> Floats:
        """The sums of some candidates over all levels that see them whole."""
        found, total = np.zeros(len(some)), len(self.levels)
        for number, (level, seen, design) in enumerate(zip(self.levels, self._seen, self._designs, strict=True)):
            inside = some[seen]
            told = None if progress is None else _part(progress, number, total)
            part = design if inside.all() else StreamedDesign(design.encoding, design.keys[inside])
            found[seen[inside]] += level.sums(part, told)
        return found[some]

    def _tested(self, sums: Floats, some: npt.NDArray[np.bool_], allowed: float) -> tuple[Floats, Floats, Floats]:
        """P-values of some candidates, the share that each needs, and normal scores; one and zero for the others."""
        from scipy.special import ndtri

        p_values, needed, z = np.ones(len(sums)), np.full(len(sums), np.inf), np.zeros(len(sums))
        for number in range(len(self.levels)):
            group = np.flatnonzero(some & (self.first == number))
            if not len(group):
                continue
            table = np.concatenate([level.weighted for level in self.levels[number:]])
            precision = sum(level.precision for level in self.levels[number:])
            z[group] = drawn_z(table, sums[group])
            chances = np.clip(allowed * self.chances[group], 1e-300, 0.5)
            close = np.flatnonzero(z[group] > np.maximum(-ndtri(chances) - _MARGIN, 0.0))
            for i, chance in zip(group[close].tolist(), chances[close].tolist(), strict=True):
                log_p, least = judged(table, float(sums[i]), 1, chance)
                p_values[i], needed[i] = np.exp(log_p), least / precision
        return p_values, needed, z

    def _together(self, places: Places, fits: Sequence[LinearFit]) -> tuple[Floats, Floats]:
        """Shares by all levels, weighted by their precision, and the covariance of those."""
        size, first = len(places), self.first[places]
        weights = np.zeros((len(self.levels), size))
        estimates, covariances = [], []
        for number, (level, fit) in enumerate(zip(self.levels, fits, strict=True)):
            here = np.flatnonzero(first <= number)
            found, noise = np.zeros(size), np.zeros((size, size))
            if len(here) and len(here) <= fit.size:
                known = np.isfinite(fit.standard_errors[: len(here)])
                here, inner = here[known], np.flatnonzero(known)
                found[here] = fit.raw[inner]
                noise[np.ix_(here, here)] = fit.covariance[np.ix_(inner, inner)]
                weights[number, here] = level.precision
            estimates.append(found)
            covariances.append(noise)
        total = weights.sum(axis=0)
        weights /= np.where(total > 0, total, 1.0)
        shares = sum((w * found for w, found in zip(weights, estimates, strict=True)), np.zeros(size))
        covariance = sum(
            (np.outer(w, w) * noise for w, noise in zip(weights, covariances, strict=True)), np.zeros((size, size))
        )
        covariance[np.diag_indices(size)] = np.where(total > 0, covariance.diagonal(), np.inf)
        return shares, covariance


def _part(progress: Progress, number: int, total: int) -> Progress:
    """Progress of one level as a part of all of them."""
    return lambda done, of: progress(number * of + done, total * of)

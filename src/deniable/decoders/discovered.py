"""`DiscoveredEstimate`: the texts that a search declared, with shares and error bars that own the search."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from deniable.decoders.base import Decoder
from deniable.decoders.by_symbol import symbol_list
from deniable.decoders.constraints import Projected
from deniable.decoders.estimate import Estimate
from deniable.decoders.fit import LinearFit
from deniable.decoders.intervals import Group, Mass
from deniable.decoders.levels import beginning_shares, level_tally
from deniable.decoders.limits import SkewedLimits, check_level
from deniable.decoders.screening import Screening
from deniable.decoders.selection import JudgedLimits, SelectedLimits
from deniable.decoders.shown import largest_shares
from deniable.decoders.whole_texts import Declared, Texts, text_of
from deniable.errors import DecodeError
from deniable.survey import END, Prefixes, Symbol
from deniable.tally import Tally

Floats = npt.NDArray[np.float64]

_LIST_SHARE = 3.0  # standard errors of the best known text: the share that texts of a list are supposed to have
_SOME_OTHER = 0.02  # chance that a beginning is there because of another text (decision 0123)
_RANKED = 1 << 14  # texts whose beginnings are looked up for a list, at most


@dataclass(frozen=True)
class Candidates:
    """What a search tested.

    Parameters
    ----------
    keys
        The texts, as cohorts hash them.
    first
        For each the first level that sees all of it.
    size
        How many there were, with those that their first level had shown to be small.
    raw, standard_errors
        Estimates of what each has beside the declared ones, by levels that see all of it, and the errors of those.
    promise
        Logarithms of the chances of their beginnings, by levels that do not see all of a text.

    Examples
    --------
    >>> keys = (b"elk\\xff", b"lynx\\xff")
    >>> tested = Candidates(keys, np.zeros(2, int), 2, np.array([0.1, 0.2]), np.array([0.01, 0.1]), np.zeros(2))
    >>> tested.symbols, tested.odds.argsort(), tested.ranked.tolist()
    (('elk', 'lynx'), array([1, 0]), [0, 1])
    """

    keys: Sequence[bytes]
    first: npt.NDArray[np.intp]
    size: int
    raw: Floats
    standard_errors: Floats
    promise: Floats

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """What people read of all of them."""
        return tuple(map(text_of, self.keys))

    @property
    def share(self) -> float:
        """The share that a text is supposed to have if it is there, when texts are ranked."""
        return _LIST_SHARE * float(self.standard_errors.min(initial=np.inf))

    @property
    def odds(self) -> Floats:
        """Logarithms of the odds of that share against none, by levels that see all of a text.

        Texts are not ranked by estimates: of a hundred thousand that have large errors the largest are large by chance.
        """
        return log_odds(self.raw, self.standard_errors, self.share)

    @property
    def ranked(self) -> npt.NDArray[np.intp]:
        """The places of those with the best odds and promise, best first."""
        return np.argsort(-(self.odds + self.promise), kind="stable")[:_RANKED]


def log_odds(estimates: Floats, errors: Floats | float, share: float) -> Floats:
    """The logarithm of the likelihood of a share over that of none, of estimates with normal errors.

    >>> log_odds(np.array([0.0, 0.02]), 0.01, 0.02)
    array([-2.,  2.])
    """
    return np.asarray((estimates * share - share**2 / 2) / np.square(errors))


def beginning_odds(tally: Tally, keys: Sequence[bytes], known: Mapping[bytes, float], share: float) -> Floats:
    """The logarithm of the odds of beginnings that one level sees, without what `known` texts have of them.

    A beginning that is there may be that of another text, so it can say no more for one than how rare that is.

    >>> import deniable as dn
    >>> survey = dn.discovery(epsilon=6, length=4, levels=[(2, 32), (4, 32)], seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.7, 0.3], 10**5, np.random.default_rng(0), symbols=["lynx", "elk"])
    >>> keys = [b"lynx\\xff", b"elk\\xff", b"zebr"]
    >>> beginning_odds(level_tally(tally, 0), keys, {b"lynx\\xff": 0.7}, 0.1) > 0
    array([False,  True, False])
    """
    (length, _) = cast(Prefixes, tally.survey.encoding).levels[0]
    beginnings = [key[:length] for key in keys]
    distinct = [*dict.fromkeys(beginnings)]
    shares = beginning_shares(tally, distinct)
    left = dict(zip(distinct, shares.values.tolist(), strict=True))
    for key, value in known.items():
        seen_whole = key.endswith(END) and len(key) <= length + 1
        if not seen_whole and key[:length] in left:
            left[key[:length]] -= value
    odds = log_odds(np.array([left[beginning] for beginning in beginnings]), shares.error, share)
    return np.asarray(odds - np.logaddexp(np.log1p(-_SOME_OTHER), np.log(_SOME_OTHER) + odds))


@dataclass(frozen=True, eq=False, repr=False)
class DiscoveredEstimate(Estimate):
    """The result of `discover`: `symbols` are the declared texts, largest first, and everything else is the rest.

    A text that was cut, because it is longer than the survey's last level, ends with an ellipsis; bytes at its end that
    are part of a character only are written as \\\\xNN.

    Parameters
    ----------
    tested
        All texts that were tested.
    declared
        Estimates of what was declared, by the reports of all levels that see all of a text. The other parameters are
        those of `Estimate`.
    characters
        Those of which texts alone were looked for, in order; None: all but control characters.

    Examples
    --------
    >>> import deniable as dn
    >>> survey = dn.discovery(epsilon=4, length=4, cohorts=256, seed=bytes(16))
    >>> tally = dn.simulate(survey, [0.6, 0.4], 10**5, np.random.default_rng(0), symbols=["lynx", "elk"])
    >>> found = dn.discover(tally, alphabet="letters")
    >>> found.symbols, found.interval_kind, found.leading(3)[:2] == list(found.symbols)
    (('lynx', 'elk'), 'conditional', True)
    >>> found  # doctest: +ELLIPSIS
    <2 texts discovered in 100000 reports, of ... tested: 'lynx' 0.6...
    """

    tested: Candidates = field(kw_only=True)
    declared: Declared = field(kw_only=True)
    characters: str | None = field(kw_only=True, default=None)

    @classmethod
    def of_search(
        cls, declared: Declared, texts: Texts, decoder: Decoder, tally: Tally, characters: Sequence[str] | None
    ) -> "DiscoveredEstimate":
        """The estimate of what a search declared; what no report can tell from another text is left out."""
        tested = Candidates(texts.keys, texts.first, texts.size, declared.scores, declared.errors, texts.promise)
        constraint = Projected()
        rest = 1 - float(declared.shares.sum())
        shares = constraint.apply(np.append(declared.shares, rest))
        order = np.lexsort([-declared.shares, -shares[:-1]])
        declared = declared.ordered(order)
        names = tuple(text_of(texts.keys[i]) for i in declared.places.tolist())
        return cls(
            names, shares[:-1][order], declared.shares, decoder,
            constraint, tally.copy(), declared.last.design, rest=(float(shares[-1]), rest), tested=tested,
            declared=declared, characters=None if characters is None else "".join(characters),
        )  # fmt: skip

    @property
    def fit(self) -> LinearFit:
        """The linear algebra of the last level by itself, by which diagnostics are made."""
        return self.declared.last

    @property
    def smallest(self) -> float:
        """About the share from which a text is declared, if the last level alone sees all of it; 1 where none is."""
        from scipy.special import ndtri

        assert isinstance(self.decoder, Screening)
        chance = (1 - self.decoder.level) / max(self.tested.size, 1)
        return min(float(-ndtri(chance) * self.tested.standard_errors.max(initial=0.0)), 1.0)

    @property
    def searched(self) -> dict[str, Any]:
        """How many texts were tested, of which characters, and about the smallest share that is declared."""
        about = {"candidates": self.tested.size, "smallest": self.smallest, "characters": self.characters}
        return {"searched": about}

    @property
    def takes_minutes(self) -> bool:
        """False: error bars are part of the search."""
        return False

    @property
    def rest_name(self) -> str:
        """ "(all others)": what was not declared, whether or not it was looked at."""
        return "(all others)"

    @cached_property
    def unallocated(self) -> Mass | None:
        """The mass that no declared text explains."""
        assert self.rest is not None
        return self._mass(np.ones(len(self.symbols)), self.rest[0], self.rest[1])

    def _mass(self, which: Floats, value: float, raw: float) -> Mass:
        variance = np.array([max(float(which @ self.covariance @ which), 0.0)])
        none = np.zeros(1)
        return Mass(value, raw, float(np.sqrt(variance[0])), SkewedLimits(np.array([raw]), variance, none, none))

    @property
    def covariance(self) -> Floats:
        """The estimated covariance of `raw`."""
        return self.declared.covariance

    @cached_property
    def standard_errors(self) -> Floats:
        """One standard error per declared text, of `raw`."""
        return np.sqrt(np.maximum(self.covariance.diagonal(), 0.0))

    @property
    def groups(self) -> tuple[Group, ...]:
        """None: texts that no report can tell apart are not declared."""
        return ()

    def intervals(self, level: float = 0.95, *, simultaneous: bool = False, exact: bool = True) -> Floats:
        """Confidence intervals of the declared texts, given that they were declared (`decoders.selection`).

        With `simultaneous` all of them hold at once, and so do those of all candidates that were tested, declared or
        not (Bonferroni). How candidates were chosen does not matter: other people's reports chose them.

        Parameters
        ----------
        level
            The confidence level, between 0 and 1.
        simultaneous
            Whether all intervals hold at once with probability `level`.
        exact
            Without effect: these intervals are never exact.

        Returns
        -------
        ndarray of shape (S, 2)
        """
        alpha = 1 - check_level(level)
        if simultaneous:
            return self._limits.between(alpha / max(self.tested.size, 1))
        return SelectedLimits(self._limits).between(alpha)

    @cached_property
    def _limits(self) -> JudgedLimits:
        variance = self.standard_errors**2
        # One more report moves a share by a step; hits are about Poisson, whose third cumulant is that many steps.
        step = 1 / (self.declared.reports * self.tally.survey.mechanism.affine[1])
        plain = SkewedLimits(self.raw, variance, variance * step, step)
        return JudgedLimits(plain, self.declared.adjusted, self.declared.needed)

    @property
    def interval_kind(self) -> str:
        """ "conditional": intervals hold, approximately, given which texts were declared."""
        return "conditional"

    def significant(self, level: float = 0.95) -> npt.NDArray[np.bool_]:
        """Which texts are above zero, family-wise over all candidates that were tested.

        Parameters
        ----------
        level
            The probability that all marks are right.

        Returns
        -------
        ndarray of bool
        """
        return np.asarray(self.declared.adjusted <= 1 - check_level(level))

    def total(self, symbols: Iterable[object]) -> Mass:
        """The mass of several declared texts together.

        Raises
        ------
        DecodeError
            If one of them was not declared.
        """
        named = symbol_list(symbols)
        if not named:
            raise DecodeError("symbols must hold at least one symbol, got none")
        which = np.zeros(len(self.symbols))
        which[[self.index(symbol) for symbol in named]] = 1.0
        return self._mass(which, float(which @ self.probabilities), float(which @ self.raw))

    def leading(self, count: int = 32) -> list[Symbol]:
        """The texts that are most likely there, declared or not: what there may be, without a test.

        Ranked by the odds of all levels: those that see a text whole, and those that see its beginning.

        Parameters
        ----------
        count
            How many.

        Returns
        -------
        list of str
            Declared ones first, then most likely ones first.

        Raises
        ------
        DecodeError
            If `count` is no number from 0 on.
        """
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise DecodeError(f"count must be a number of texts from 0 on, got {count!r:.80}")
        if count <= len(self.symbols):
            return [*self.symbols[:count]]
        tested, places = self.tested, self.tested.ranked
        odds, first = tested.odds[places], tested.first[places]
        declared = [tested.keys[i] for i in self.declared.places.tolist()]
        known = dict(zip(declared, self.raw.tolist(), strict=True))
        for number in range(int(first.max(initial=0))):
            partly = np.flatnonzero(first > number)
            keys = [tested.keys[i] for i in places[partly].tolist()]
            odds[partly] += beginning_odds(level_tally(self.tally, number), keys, known, tested.share)
        best = places[np.argsort(-odds, kind="stable")]
        rest = [text_of(key) for key in (tested.keys[i] for i in best.tolist()) if key not in known]
        return [*self.symbols, *rest][:count]

    def __repr__(self) -> str:
        """The largest of the declared texts, and what they leave."""
        assert self.rest is not None
        size, looked = len(self.symbols), self.tested.size
        some = f"{largest_shares(self, min(size, 3))}; " if size else ""
        texts = f"{size} text" + "s" * (size != 1)
        return f"<{texts} discovered in {self.n} reports, of {looked} tested: {some}all others {self.rest[0]:.3f}>"

"""What the published channel of each mechanism makes of the events of an audit, registered by type."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from deniable.mechanisms import KRR, BitFlip, Chain, Channel, Mechanism, Registry, Subset
from deniable.survey import Survey

Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Values(Protocol):
    """The values of an audit, by number: their cells in every cohort, shape (C, h, values), and which they share."""

    survey: Survey
    table: npt.NDArray[Any]

    def _only(self, a: int, b: int) -> Mask: ...
    def _has(self, owner: int, other: int) -> Mask: ...


def chances_of(mechanism: Mechanism, occupied: tuple[int, ...]) -> Floats:
    """The channel's row of an answer, over all responses."""
    if mechanism.one_column:
        return np.array([weight / mechanism.span for weight in mechanism.weights(occupied)])
    return np.array([float(mechanism.probability(y, occupied)) for y in range(mechanism.outputs)])


@dataclass(frozen=True, slots=True)
class Published:
    """What the published channel of one family, or of a chain that begins with one, makes of the events of an audit.

    `speaks` gives P(a report of a value speaks for a and against b), and of two reports both, in every cohort;
    `second_stage` P(response | permanent response), all of it. `independent_bits` are so given the answer.
    """

    speaks: Callable[[Values, int, int, int], tuple[Floats, Floats]]
    second_stage: Callable[[Any], Floats] | None = None
    independent_bits: bool = False


published: Registry[Published] = Registry("deniable.audit.published.published", Mechanism, "chance of its events")


def _row_speaks(roles: Values, value: int, a: int, b: int) -> tuple[Floats, Floats]:
    (mine,), (only,) = roles.table[:, :, a], roles._only(a, b)
    law = chances_of(roles.survey.mechanism, tuple(roles.table[0, :, value].tolist()))
    named = mine[only]  # a table may have fewer columns than answers
    one = np.array([law[named[named < len(law)]].sum()])
    return one, one  # without a second stage a device sends the same report again


def _krr_speaks(roles: Values, value: int, a: int, b: int) -> tuple[Floats, Floats]:
    mechanism, only = roles.survey.mechanism, roles._only(a, b)
    first = mechanism.permanent
    size, shared = only.sum(axis=1), (only & roles._has(value, a)).sum(axis=1)
    permanent = shared * float(first.hit) + (size - shared) * float(first.miss)
    keep, other = _again(mechanism) or (1.0, 0.0)
    return _mixture(permanent, keep + (size - 1) * other, size * other)


def _krr_again(chain: Chain) -> Floats:
    keep, other = _again(chain)
    return np.asarray(other + (keep - other) * np.eye(chain.outputs))


def _bit_speaks(roles: Values, value: int, a: int, b: int) -> tuple[Floats, Floats]:
    mechanism, only, against = roles.survey.mechanism, roles._only(a, b), roles._only(b, a)
    hit, miss = float(mechanism.permanent.hit), float(mechanism.permanent.miss)
    (flip,) = _again(mechanism) or (0.0,)
    one, both = np.ones(len(only)), np.ones(len(only))
    for mask, occupied, wanted in ((only, roles._has(value, a), True), (against, roles._has(value, b), False)):
        p = np.where(occupied, hit, miss)
        single, double = _mixture(p if wanted else 1 - p, 1 - flip, flip)
        one *= np.where(mask, single, 1.0).prod(axis=1)
        both *= np.where(mask, double, 1.0).prod(axis=1)
    return one, both


def _bit_again(chain: Chain) -> Floats:
    (flip,), responses = _again(chain), np.arange(chain.outputs)
    changed = np.bitwise_count(responses[:, None] ^ responses)
    return np.asarray(flip**changed * (1 - flip) ** (chain.cells - changed))


def _set_speaks(roles: Values, value: int, a: int, b: int) -> tuple[Floats, Floats]:
    mechanism = roles.survey.mechanism
    first, k, w = mechanism.permanent, mechanism.cells, mechanism.hits or 0
    neither, with_one = (float(p) for p in first.pairs)
    held = float(first.hit if value == a else first.miss)
    permanent = np.array([held - (with_one if value in (a, b) else neither)])
    (keep,) = _again(mechanism) or (1.0,)
    blind = (1 - keep) * w * (k - w) / (k * (k - 1))
    return _mixture(permanent, keep + blind, blind)


def _set_again(chain: Chain) -> Floats:
    (keep,), allowed = _again(chain), np.bitwise_count(np.arange(chain.outputs)) == chain.hits
    return np.asarray(keep * np.diag(allowed) + (1 - keep) * np.outer(allowed, allowed) / allowed.sum())


published.add(Channel)(Published(_row_speaks))
published.add(KRR)(Published(_krr_speaks, _krr_again))
published.add(BitFlip)(Published(_bit_speaks, _bit_again, independent_bits=True))
published.add(Subset)(Published(_set_speaks, _set_again))


def _again(mechanism: Any) -> tuple[float, ...]:
    """The probabilities of the second stage, in the order of `Mechanism.again_fields`; empty without one."""
    return tuple(t / 2**mechanism.width for t in mechanism.report_thresholds().values()) if mechanism.twice else ()


def _mixture(permanent: Any, if_true: Any, if_false: Any) -> tuple[Floats, Floats]:
    """P(an event of one report, of both) that has these chances if it holds of the permanent response, and if not."""
    one = permanent * if_true + (1 - permanent) * if_false
    return one, permanent * if_true**2 + (1 - permanent) * if_false**2

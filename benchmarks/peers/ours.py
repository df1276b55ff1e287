"""The same questions as `worker` answers, for this package, and for plain NumPy."""

from functools import lru_cache
from time import process_time
from typing import Any

import numpy as np

import deniable as dn
from benchmarks import limits

__all__ = [
    "COHORTS",
    "estimated",
    "numpy_encode",
    "numpy_estimate",
    "our_decode",
    "our_encode",
    "our_estimate",
    "our_whole",
    "survey",
]

BLOCK = 100_000
BITS = ("SUE", "OUE", "SS")  # mechanisms whose reports are a bit a symbol
COHORTS = 1024
_rng = np.random.default_rng(0)


def survey(mechanism: str, symbols: int, epsilon: float) -> dn.Survey:
    """The survey for a peer's mechanism. Local hashing is open, as theirs, with a new public seed each time."""
    if mechanism == "OLH":
        cells = round(np.exp(epsilon)) + 1
        cohorts = COHORTS
        while cohorts * (cells - 1) < 8 * symbols:  # fewer would leave least squares too little to go on
            cohorts *= 2
        return dn.olh(epsilon=epsilon, cohorts=cohorts)
    preset = {"GRR": dn.krr, "SUE": dn.krappor, "OUE": dn.oue, "SS": dn.subset, "HR": dn.hadamard}[mechanism]
    return preset(symbols, epsilon=epsilon)


@lru_cache(maxsize=4)
def _codes(symbols: int, n: int) -> Any:
    return _rng.integers(0, symbols, n)


def _repeat(work: Any, seconds: float, mechanism: str, symbols: int) -> float:
    """Seconds a row of `work(codes)`, over about `seconds`; bits of so many people as fit."""
    n, done, spent = max(1024, 2**23 // symbols) if mechanism in BITS else BLOCK, 0, 0.0
    codes = _codes(symbols, n)
    while spent < seconds:
        start = process_time()
        work(codes)
        spent += process_time() - start
        done += n
    return spent / done


@lru_cache(maxsize=4)
def _fixed(mechanism: str, symbols: int, epsilon: float) -> dn.Survey:
    return survey(mechanism, symbols, epsilon)


def our_encode(mechanism: str, symbols: int, epsilon: float, seconds: float) -> float:
    asked = _fixed(mechanism, symbols, epsilon)
    return _repeat(lambda codes: dn.privatize(asked, codes), seconds, mechanism, symbols)


def numpy_encode(mechanism: str, symbols: int, epsilon: float, seconds: float) -> float:
    limit = limits.ENCODE[mechanism]
    return _repeat(lambda codes: limit(codes, symbols, epsilon, _rng), seconds, mechanism, symbols)


def estimated(tally: dn.Tally, symbols: int, decoder: str) -> dn.Estimate:
    """By the default decoder, or unbiased; candidates of an open alphabet are all there are, as peers assume."""
    limit = None if decoder == "default" else dn.Unconstrained()
    if tally.survey.alphabet.is_open:
        return dn.decode(tally, candidates=range(symbols), complete=True, constraint=limit)
    return dn.decode(tally, constraint=limit)


def our_estimate(mechanism: str, symbols: int, epsilon: float, n: int) -> tuple[float, float, float]:
    """Seconds to count `n` reports, to decode them unbiased, and to decode them by the default."""
    asked = survey(mechanism, symbols, epsilon)
    bits = not asked.mechanism.one_column
    pool = dn.privatize(asked, _codes(symbols, min(n, BLOCK // 10 if bits else BLOCK)))
    tables = [pool] * (n // len(pool))
    start = process_time()
    tally = dn.count(asked, tables)
    counted = process_time()
    estimated(tally, symbols, "unbiased")
    unbiased = process_time()
    if asked.alphabet.is_open:  # hashed anew: the default must pay for that too
        asked = survey(mechanism, symbols, epsilon)
        tally = dn.count(asked, [dn.privatize(asked, _codes(symbols, len(pool)))] * len(tables))
    before = process_time()
    estimated(tally, symbols, "default")
    return counted - start, unbiased - counted, process_time() - before


def our_decode(mechanism: str, symbols: int, epsilon: float, decoder: str) -> float:
    """Seconds to decode a simulated tally of 10**6 people, with all that a new survey needs for it."""
    asked = survey(mechanism, symbols, epsilon)
    population = dn.lab.geometric(symbols, symbols / 5)
    if asked.alphabet.is_open:  # not simulated: that would set up what decoding needs, and it must pay for it here
        tally = dn.count(asked, dn.privatize(asked, _rng.choice(symbols, 10**6, p=population)))
    else:
        tally = dn.simulate(asked, population, 10**6, _rng)
    start = process_time()
    estimated(tally, symbols, decoder)
    return process_time() - start


def numpy_estimate(mechanism: str, symbols: int, epsilon: float, n: int) -> float:
    size = min(n, BLOCK // 10) if mechanism in BITS else n
    reports = limits.ENCODE[mechanism](_codes(symbols, size), symbols, epsilon, _rng)
    start = process_time()
    limits.ESTIMATE[mechanism](reports, symbols, epsilon, size)
    took = process_time() - start
    return took * n / size  # bits of so many people do not fit; the counting is by blocks anyway


def our_whole(mechanism: str, symbols: int, epsilon: float, n: int) -> float:
    """Seconds from `n` answers to the unbiased estimate, in blocks that fit."""
    asked = survey(mechanism, symbols, epsilon)
    block = max(1, min(n, BLOCK * 10, 2**28 // symbols))
    codes = _codes(symbols, block)
    start = process_time()
    tally = dn.Tally(asked)
    done = 0
    while done < n:
        tally += dn.count(asked, dn.privatize(asked, codes[: n - done]))
        done += block
    estimated(tally, symbols, "unbiased")
    return process_time() - start

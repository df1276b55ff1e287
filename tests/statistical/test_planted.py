"""How often the check of shares below zero is wrong, and planted reports are noticed; what a defence takes away."""

import numpy as np
import pytest

import deniable as dn
from deniable.decoders.floor import FloorLaw
from deniable.decoders.planted import reports_to_plant
from deniable.survey import Survey
from studies.poisoning import drawn
from tests.statistical.harness import accept, binomial_p_value, generator, reject
from tests.surveys import LARGE, named, symbols_of

pytestmark = pytest.mark.slow

SIZE, REPEATS = 40, 150
PLAIN = dn.Projected()
WORST = np.eye(SIZE)[0]  # all shares but one are zero: none is higher by chance alone


def candidates(survey: Survey) -> tuple[object, ...] | None:
    return symbols_of(survey, SIZE) if survey.symbols is None else None


def above(count: int, n: int, rate: float) -> float:
    """How likely at least so many are at this rate; one sided."""
    return binomial_p_value(max(count, int(n * rate)), n, rate)


@pytest.mark.parametrize("n", [400, 20_000])
@pytest.mark.parametrize("name", ["krr", "oue", "subset", "projective", "orr-closed", "olh-open", "number", "channel"])
def test_shares_below_zero_are_rarely_an_alarm(name: str, n: int) -> None:
    """At 5 % at most one survey in ten is called odd, where all shares but one are zero."""
    survey, rng = LARGE[name], generator(f"below zero {name} {n}")
    tallies = [dn.simulate(survey, WORST, n, rng, **named(survey, SIZE)) for _ in range(REPEATS)]
    found = dn.decode_all(tallies, candidates=candidates(survey), constraint=PLAIN)
    odd = sum((floor := FloorLaw.of(e.fit)) is not None and floor.test(e.fit.unknowns).p_value < 0.05 for e in found)
    accept("below-zero", above(odd, REPEATS, 0.1))
    if name == "krr" and n == 400:
        # The mutant takes the standard errors that each count suggests: where it is low by chance they are too small.
        low = sum(float((np.minimum(e.raw / e.standard_errors, 0) ** 2).sum()) > 32.0 for e in found)
        reject("below-zero", above(low, REPEATS, 0.1))


def attacked(
    survey: Survey, share: float, targets: list[int], n: int, rng: np.random.Generator, careful: bool
) -> dn.Tally:
    """A tally of n reports of which some were planted by whoever knows an earlier result."""
    p = dn.lab.geometric(SIZE, 5)
    before = dn.decode(
        dn.simulate(survey, p, n, rng, **named(survey, SIZE)), candidates=candidates(survey), constraint=PLAIN
    )
    sent = reports_to_plant(before.fit, np.array(targets), share, careful=careful)
    honest = dn.simulate(survey, p, n - round(share * n), rng, **named(survey, SIZE))
    return honest + drawn(survey, *sent, rng)


POWERS = [
    *[("krappor", 0.01), ("oue", 0.016), ("orr-closed", 0.008), ("orappor-closed-bloom", 0.009)],
    *[("blocks", 0.05), ("number", 0.02), ("budgets", 0.03), ("discovery", 0.015)],
]


@pytest.mark.parametrize(("name", "share"), POWERS)
def test_an_alarm_is_as_likely_as_said(name: str, share: float) -> None:
    """Within 0.12: what is said depends on the estimate that it is computed from."""
    survey, rng, n = LARGE[name], generator(f"planted {name}"), 20_000
    p = dn.lab.geometric(SIZE, 5)
    first = dn.simulate(survey, p, n, rng, **named(survey, SIZE))
    estimate = dn.decode(first, candidates=candidates(survey), constraint=PLAIN)

    def chance(part: float) -> tuple[float, float]:
        found = estimate.planted([estimate.symbols[20]], share=part)
        return found.noticed, found.careful_noticed

    for careful in (False, True):
        tallies = [attacked(survey, share, [20], n, rng, careful) for _ in range(REPEATS)]
        alarms = sum(
            bool(e.diagnostics.alarms)
            for e in dn.decode_all(tallies, candidates=candidates(survey), constraint=PLAIN)
        )  # fmt: skip
        said = chance(share)[careful]
        accept("planted-power", near(alarms, said))
        if not careful:  # the mutant forgets half of the planted reports
            reject("planted-power", near(alarms, chance(share / 2)[0]))


def near(count: int, chance: float, width: float = 0.12) -> float:
    nearest = float(np.clip(count / REPEATS, max(chance - width, 0.0), min(chance + width, 1.0)))
    return binomial_p_value(count, REPEATS, nearest)


SURVEYS: dict[str, Survey] = {"oue": dn.oue(symbols=SIZE, epsilon=1), "subset": dn.subset(symbols=SIZE, epsilon=1)}


@pytest.mark.parametrize("name", SURVEYS)
def test_the_contaminated_mixture_takes_most_of_the_gain_away(name: str) -> None:
    """10 % planted on five symbols: half of what the default reports, in 4 of 5 surveys; honest ones are left alone."""
    survey, rng, n, targets = SURVEYS[name], generator(f"defence {name}"), 100_000, [30, 31, 32, 33, 34]
    repeats = 60

    def kept(decoder: dn.Contaminated | None) -> int:
        """How many tallies have more than half of the gain left."""
        return sum(
            float(dn.decode(t, decoder=decoder).probabilities[targets].sum())
            > 0.5 * float(dn.decode(t).probabilities[targets].sum())
            for t in tallies
        )

    tallies = [attacked(survey, 0.1, targets, n, rng, careful=False) for _ in range(repeats)]
    accept("planted-defence", above(kept(dn.Contaminated()), repeats, 0.2))
    reject("planted-defence", above(kept(None), repeats, 0.2))  # the mutant changes nothing
    honest = [dn.simulate(survey, dn.lab.geometric(SIZE, 5), n, rng) for _ in range(repeats)]
    changed = sum(
        not np.array_equal(dn.decode(t).probabilities, dn.decode(t, decoder=dn.Contaminated()).probabilities)
        for t in honest
    )
    accept("planted-defence", above(changed, repeats, 0.01))

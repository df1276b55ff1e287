"""How people take part changes no law of the bytes, and a refusal is the same whatever the answer is."""

import contextlib
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest

import deniable as dn
from deniable.client.forgetting import forgetting
from deniable.noise import Entropy
from deniable.survey import PARTICIPATIONS, PRESETS, Survey
from tests.exact.laws import check_memoised, check_survey, law_of
from tests.exact.walker import Law, walk

SEED = bytes(range(16))
SHAPES: dict[str, dict[str, Any]] = {
    "warner": {},
    "krr": {"symbols": 4},
    "krappor": {"symbols": 3},
    "oue": {"symbols": 3},
    "subset": {"symbols": 5, "size": 2},
    "hadamard": {"symbols": 4},
    "projective": {"symbols": 7, "order": 2, "dimension": 3},
    "orr": {"cells": 4, "cohorts": 3, "seed": SEED},
    "olh": {"cohorts": 3, "seed": SEED},
    "discovery": {"length": 4, "levels": [(2, 1), (4, 2)], "seed": SEED},
    "number": {"low": 0, "high": 1, "bins": 5},
    "ordered": {"symbols": 4},
    "orappor": {"cells": 4, "cohorts": 2, "hashes": 2, "seed": SEED},
    "sensitive": {"symbols": 4, "sensitive": [0, 2]},
    "blocks": {"groups": [[0, 1], [2, 3]]},
    "channel": {"matrix": [[0.7, 0.3], [0.4, 0.6]]},
}
AGAIN = (*PARTICIPATIONS[1:], "window:day:turnover=0.05", "window:day:turnover=0.05:change=0.1")
WINDOWED = [how for how in AGAIN if how != "event"]


def answers(survey: Survey) -> tuple[object, ...]:
    return survey.symbols or ("a", "b", "c" if survey.encoding.kind == "prefixes" else 7)


def unnamed(survey: Survey, value: object) -> dict[bytes, Any]:
    """The law of a packed report without the eight bytes that name its survey."""
    law = law_of(survey, value).probabilities
    assert {wire[1:9].hex() for wire in law} == {survey.digest[:16]}
    return {wire[:1] + wire[9:]: chance for wire, chance in law.items()}


def test_every_preset_is_here() -> None:
    assert set(SHAPES) == set(PRESETS)


@pytest.mark.parametrize("how", AGAIN)
@pytest.mark.parametrize("preset", SHAPES)
def test_the_law_of_the_bytes_does_not_depend_on_participation(preset: str, how: str) -> None:
    make = PRESETS[preset]
    once, again = make(epsilon=1, **SHAPES[preset]), make(epsilon=1, participation=how, **SHAPES[preset])
    assert once.digest != again.digest
    check_survey(again, answers(again))
    for value in answers(once):
        assert unnamed(again, value) == unnamed(once, value)


MakeClient = Callable[[Survey, Entropy], dn.Client]
EVERY = 3  # windows to one turn
FIRST = 1_795_012_200.0  # 2026-11-18T14:30Z


def histories(survey: Survey, values: Sequence[object], make: MakeClient) -> Law[tuple[Any, ...]]:
    """The law of all that a device shows that is asked in each of so many windows: a report, or a refusal.

    The eight bytes that name the survey are left out.
    """

    def run(entropy: Entropy) -> tuple[Any, ...]:
        client, shown = make(survey, entropy), list[Any]()
        for step, value in enumerate(values):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("time.time", lambda step=step: FIRST + 86_400 * step)
                try:
                    wire = client.report(value).pack()
                    shown.append(wire[:1] + wire[9:])
                except dn.ParticipationError as problem:
                    shown.append(str(problem))
        return tuple(shown)

    return walk(run, width=survey.mechanism.width)


def check_turns(make: MakeClient, values: Sequence[object]) -> None:
    """Each device has one turn in `EVERY` windows, whatever it would answer, with chance 1 / EVERY for each.

    In its turn it sends what the published channel gives for the answer of that window, with fresh noise; in all other
    windows one sentence, which says when its turn is and is the same for all answers.
    """
    survey = dn.krr(symbols=3, epsilon=1, participation=f"window:day:share=1/{EVERY}")
    own = {value: unnamed(dn.krr(symbols=3, epsilon=1), value) for value in {*values}}
    found: dict[int, Fraction] = {}
    for shown, chance in histories(survey, values, make).probabilities.items():
        turns = [step for step, one in enumerate(shown) if isinstance(one, bytes)]
        assert turns, "every device has a turn"
        assert turns == list(range(turns[0], len(values), EVERY)), "one in so many windows, and no other"
        assert turns[0] < EVERY
        expected = Fraction(1, EVERY)
        for step, one in enumerate(shown):
            if step in turns:
                expected *= own[values[step]][one]
            else:
                day = 18 + step + (turns[0] - step) % EVERY
                assert one == (
                    f"this survey must be answered in one day of {EVERY} on this device; the next answer is taken from "
                    f"2026-11-{day}T00:00Z"
                )
        assert chance == expected, "turns are drawn alike, before any answer, and noise is fresh"
        found[turns[0]] = found.get(turns[0], Fraction(0)) + chance
    assert set(found.values()) == {Fraction(1, EVERY)}
    assert len(found) == EVERY


@pytest.mark.parametrize("preset", SHAPES)
def test_the_law_of_the_bytes_does_not_depend_on_turns(preset: str) -> None:
    make = PRESETS[preset]
    once = make(epsilon=1, **SHAPES[preset])
    survey = make(epsilon=1, participation="window:day:share=1/2", **SHAPES[preset])
    for value in answers(once)[:2]:
        found: dict[bytes, Any] = {}
        law = histories(survey, (value, value), lambda survey, noise: dn.Client(survey, memoize=False, entropy=noise))
        for shown, chance in law.probabilities.items():
            (wire,) = (one for one in shown if isinstance(one, bytes))
            found[wire] = found.get(wire, 0) + chance
        assert found == unnamed(once, value)


@pytest.mark.parametrize("values", [(0,) * 6, (0, 1, 2, 2, 1, 0), (1, 1, 2, 0, 1, 2)])
def test_a_turn_is_drawn_before_any_answer_and_independent_of_it(values: tuple[int, ...]) -> None:
    check_turns(lambda survey, entropy: dn.Client(survey, memoize=False, entropy=entropy), values)


class WaitsForAnswer(dn.Client):
    """A mutant: with one answer it passes its turn on to the next window."""

    def _charged(self, kept: Any, *, queue: bool) -> Any:
        if self._later:
            kept.turns[self._survey.digest] = (kept.turns[self._survey.digest] + 1) % EVERY
        return super()._charged(kept, queue=queue)

    def _made(self, answer: list[object], *, queue: bool = False) -> dn.Report:
        self._later = answer[0] == 2
        return super()._made(answer, queue=queue)


class TurnOfCohort(dn.Client):
    """A mutant: it takes the first turn more often than the others."""

    def _join(self, kept: Any) -> None:
        super()._join(kept)
        if self._survey.every > 1:
            kept.turns[self._survey.digest] = self._entropy.uniform_below(4) % EVERY


class SameNoise(dn.Client):
    """A mutant: the noise of its first report is that of all."""

    def _made(self, answer: list[object], *, queue: bool = False) -> dn.Report:
        report = super()._made(answer, queue=queue)
        self._first = getattr(self, "_first", report)
        return self._first


@pytest.mark.parametrize("mutant", [WaitsForAnswer, TurnOfCohort, SameNoise])
def test_a_turn_that_depends_on_anything_is_caught(mutant: type[dn.Client]) -> None:
    with pytest.raises(AssertionError):
        check_turns(lambda survey, entropy: mutant(survey, memoize=False, entropy=entropy), (0, 1, 2, 2, 2, 2))


def test_a_client_that_memoises_does_not_where_devices_take_turns() -> None:
    """The noise of one answer is the same in all windows of a survey that all answer, and fresh in one with turns."""
    bits, sent = dn.oue(symbols=64, epsilon=1, participation="window"), []
    for survey in (bits, dn.oue(symbols=64, epsilon=1, participation="window:day:share=1/2")):
        client = dn.Client(survey)
        for step in range(4):
            with pytest.MonkeyPatch.context() as patch, contextlib.suppress(dn.ParticipationError):
                patch.setattr("time.time", lambda step=step: FIRST + 86_400 * step)
                sent.append(client.report(0).pack())
    assert [len(sent), len(set(sent[:4])), len(set(sent[4:]))] == [6, 1, 2]
    assert client.ledger[survey].fresh == 2
    assert client.ledger.spent == client.ledger.worst == 2.0


@pytest.mark.parametrize("how", [None, "event"])
def test_without_windows_answers_repeat_their_bytes(how: str | None) -> None:
    survey = dn.krr(symbols=4, epsilon=1, participation=how or "once")
    check_memoised(dn.Client, survey, (0, 1, 2, 3))


class Untouchable:
    """An answer that notes whether anybody looked at it."""

    def __init__(self) -> None:
        self.looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name != "looks":
            object.__setattr__(self, "looks", object.__getattribute__(self, "looks") + 1)
        return object.__getattribute__(self, name)


Outcomes = tuple[frozenset[object], int]


def second_answers(survey: Survey, make: MakeClient, first: object, values: list[Any]) -> set[Outcomes]:
    """What can come of a second answer in a window, over all randomness: the bytes, or the error and its sentence."""

    def run(entropy: Entropy) -> Outcomes:
        client = make(survey, entropy)
        client.report(first)
        found: set[object] = set()
        for value in values:
            try:
                found.add(client.report(value).pack())
            except dn.DeniableError as problem:
                found.add((type(problem), str(problem)))
        return (frozenset(found), client.ledger[survey].fresh)

    return set(walk(run, width=survey.mechanism.width).probabilities)


def fresh(survey: Survey, entropy: Entropy) -> dn.Client:
    return dn.Client(survey, memoize=False, entropy=entropy)


class LooksFirst(dn.Client):
    """A mutant: it encodes the answer before it asks whether there may be one."""

    def _made(self, answer: list[object], *, queue: bool = False) -> dn.Report:
        tried = forgetting(self._randomized, answer[0])
        if isinstance(tried, str):
            raise dn.AlphabetError(tried)
        return super()._made(answer, queue=queue)


def looks_first(survey: Survey, entropy: Entropy) -> dn.Client:
    return LooksFirst(survey, memoize=False, entropy=entropy)


@pytest.fixture(autouse=True)
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 1_795_012_200.0)  # 2026-11-18T14:30Z


@pytest.mark.parametrize("how", WINDOWED)
@pytest.mark.parametrize("first", [0, 3])
def test_a_refusal_is_the_same_for_every_answer_and_all_randomness(how: str, first: int) -> None:
    survey, looked = dn.krr(symbols=4, epsilon=1, participation=how), Untouchable()
    outcomes = second_answers(survey, fresh, first, [0, 1, 2, 3, "kiwi", None, looked])
    window = how.split(":")[1]
    from_then = {"hour": "18T15:00Z", "day": "19T00:00Z", "week": "23T00:00Z"}[window]
    often = {"hour": "once an hour", "day": "once a day", "week": "once a week"}[window]
    sentence = f"this survey must be answered {often} on this device; the next answer is taken from 2026-11-{from_then}"
    assert outcomes == {(frozenset({(dn.ParticipationError, sentence)}), 1)}
    assert looked.looks == 0


def test_a_client_that_looks_at_the_answer_first_is_caught() -> None:
    survey, looked = dn.krr(symbols=4, epsilon=1, participation="window"), Untouchable()
    ((found, _),) = second_answers(survey, looks_first, 0, [0, "kiwi", looked])
    kinds = {outcome[0] for outcome in found if isinstance(outcome, tuple)}
    assert kinds == {dn.ParticipationError, dn.AlphabetError}
    assert looked.looks > 0

"""Several collectors on one PostgreSQL: they wait for each other, never for ever, and nobody is told 503."""

import asyncio
import logging
from collections import Counter
from typing import Any

import pytest

from deniable.service import intake
from deniable.service.backends import open_store
from deniable.service.entries import Ended, Outcome, Upload
from deniable.service.problems import Contended, Unavailable
from deniable.service.sqlite import SQLiteStore
from deniable.service.tokens import read_budget
from tests.cluster import Cluster
from tests.collector import Caller, Ticking, counted, one_cell_each, records, run
from tests.waiting import wait_for

SURVEY = one_cell_each()
PATH = f"/v1/surveys/{SURVEY.digest}"
TOKENS, CONNECTIONS, REQUESTS = 4, 32, 12


def storm(cluster: Cluster) -> tuple[Counter[int], int]:
    """The answers to 32 connections that send with four tokens to two collectors; and how often the reports, of which
    each is sent to both, were counted."""

    async def scene() -> tuple[Counter[int], int]:
        address = cluster.fresh()
        stores = [open_store(address) for _ in range(2)]
        async with Caller(stores[0]) as one, Caller(stores[1]) as two:
            await one.create(SURVEY, uploads="token", minimum=0)
            made = [
                await one.admin("POST", f"{PATH}/tokens", {"kind": "upload", "quota": 10**6}) for _ in range(TOKENS)
            ]
            secrets = [answer.json()["token"] for answer in made]
            answers: Counter[int] = Counter()

            async def connection(place: int) -> None:
                for number in range(REQUESTS):
                    # Neighbours bring the same reports, each to another collector and with another token.
                    first = (place // 2) * REQUESTS + (number if place % 2 else REQUESTS - 1 - number)
                    call, secret = (one, two)[place % 2], secrets[(place + number) % TOKENS]
                    answer = await call.upload(SURVEY, records(SURVEY, [3 * first + i for i in range(3)]), token=secret)
                    answers[answer.status] += 1

            await asyncio.gather(*map(connection, range(CONNECTIONS)))
            cells = counted(stores[0].tally(stores[0].entries()[0]))
            assert cells.max() == 1
            used = sum(token.used for token in stores[0].tokens(stores[0].entries()[0]))
            assert used == cells.sum(), "each report was paid for once"
            return answers, int(cells.sum())

    return run(scene())


def test_two_collectors_and_several_tokens_wait_for_nobody_for_ever(cluster: Cluster) -> None:
    assert storm(cluster) == ({200: CONNECTIONS * REQUESTS}, CONNECTIONS // 2 * REQUESTS * 3)


@pytest.mark.slow
def test_collectors_that_lock_tokens_as_they_come_are_found_out(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Mutant: each token is locked when its first upload is written, and a deadlock is not tried again."""
    real = intake.Intake.write_one

    def later(self: Any, session: Any, uploads: list[Upload], budget: Any, **more: Any) -> list[Outcome]:
        missing = [upload for upload in uploads if upload.token not in budget]
        for upload in missing:
            budget |= read_budget(session, [upload], " FOR UPDATE")
            session.run("SELECT pg_sleep(0.03)")
        return real(self, session, uploads, budget, **more)

    monkeypatch.setattr(intake, "read_budget", lambda *_: {})
    monkeypatch.setattr(intake.Intake, "write_one", later)
    monkeypatch.setattr("deniable.service.writer._ATTEMPTS", 1)
    with caplog.at_level(logging.CRITICAL):
        wait_for(lambda: storm(cluster)[0][503], "two groups that meet")  # the first storm has them, nearly always


@pytest.mark.parametrize("times", [7, 8])
def test_what_the_database_undid_is_done_again_a_few_times(tmp_path: Any, times: int) -> None:
    store = SQLiteStore(tmp_path)
    real, left = store.write, [times]

    def contended(*args: Any, **more: Any) -> list[Outcome | Ended]:
        if left[0]:
            left[0] -= 1
            raise Contended("PostgreSQL does not answer", "deadlock detected")
        return real(*args, **more)

    store.write = contended

    async def scene() -> None:
        async with Caller(store) as call:
            await call.create(SURVEY)
            answer = await call.upload(SURVEY, records(SURVEY, [1]))
            assert answer.status == (200 if times < 8 else 503)

    run(scene())


def test_deadlocks_and_changed_states_are_what_is_contended(cluster: Cluster) -> None:
    store = open_store(cluster.fresh())
    for state, kind in (("40P01", Contended), ("40001", Contended), ("22012", Unavailable)):
        with pytest.raises(Unavailable) as caught, store.writing() as session:
            session.run(f"DO $$ BEGIN RAISE EXCEPTION 'as told' USING ERRCODE = '{state}'; END $$")
        assert type(caught.value) is kind
    store.close()


def test_the_process_that_decodes_reads_postgresql_itself(cluster: Cluster) -> None:
    async def scene() -> None:
        async with Caller(open_store(cluster.fresh()), clock=(clock := Ticking())) as call:
            await call.create(SURVEY, minimum=3, results="public")
            await call.upload(SURVEY, records(SURVEY, range(5)))
            clock.pass_hours(49)
            told = await call("GET", f"{PATH}/estimate?candidates=a,b")
            assert (told.status, told.json()["n"]) == (200, 5)
            assert (await call("GET", f"{PATH}/trend?candidates=a,b")).json()["windows"][0]["n"] == 5

    run(scene())

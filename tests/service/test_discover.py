"""The search over HTTP: what people wrote, limits with an answer that says where to go on, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import deniable as dn
from deniable.service.sqlite import SQLiteStore
from tests.collector import Caller, run
from tests.service.test_results import OPEN, answers

SURVEY = dn.discovery(epsilon=6, length=4, cohorts=64, seed=bytes(16))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    made = SQLiteStore(tmp_path)
    yield made
    made.close()


def test_what_people_wrote_is_found_and_a_search_that_gave_up_is_resumed(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(SURVEY, minimum=1)
            await answers(call, SURVEY, 0, ["ash"] * 1200 + ["oak"] * 800)
            where = {"alphabet": "ahkos", "level": 1 - 1e-6}  # how rarely a text is found that nobody wrote
            found = (await call.admin("POST", f"{path}/discover", where)).json()
            assert [row["symbol"] for row in found["estimates"]] == ["ash", "oak"]
            assert all(row["significant"] for row in found["estimates"])
            assert found["intervals"] == "conditional"
            assert found["n"] == 2000
            assert found["searched"]["candidates"] > 30
            assert found["searched"]["characters"] == "ahkos"
            assert 0 < found["searched"]["smallest"] < 0.3
            lines = await call.admin("POST", f"{path}/discover", where | {"format": "csv", "top": 1})
            assert lines.body.decode().splitlines()[1].startswith("ash,")

            limited = await call.admin("POST", f"{path}/discover", where | {"most": 60})
            told = limited.json()
            assert limited.status == 422
            assert told["type"] == "urn:deniable:problem:unfinished"
            assert told["detail"] == (
                "a search must end within its limits, got to level 1 of 3 with 60 candidates; resume it with a higher "
                "limit, or name an alphabet or known prefixes"
            )
            assert told["resume"]["levels"] == 1
            again = await call.admin("POST", f"{path}/discover", where | {"resume": told["resume"]})
            assert again.json()["estimates"] == found["estimates"]

            # As the Results page asks: a few seconds at a time.
            hurried = await call.admin("POST", f"{path}/discover", where | {"seconds": 1e-9})
            assert (hurried.status, hurried.json()["resume"]["levels"]) == (422, 0)
            patient = where | {"seconds": 3600, "resume": hurried.json()["resume"]}
            assert (await call.admin("POST", f"{path}/discover", patient)).json()["estimates"] == found["estimates"]

            for wrong in ({}, {"levels": 1, "kept": [["61"]], "promise": [[0]], "looked": 0}):
                refused = await call.admin("POST", f"{path}/discover", {"resume": wrong})
                assert refused.status == 422
                assert refused.json()["detail"] == (
                    "resume must be the beginnings of an unfinished search; start again without it"
                )
            other = await call.admin("POST", f"{path}/discover", {"alphabet": "letters", "resume": told["resume"]})
            assert other.status == 422
            assert other.json()["detail"].startswith(
                "resume must be of a search of the same survey, with the same alphabet"
            )
            word = await call.admin("POST", f"{path}/discover", {"alphabet": "latin"})
            assert word.status == 422
            assert word.json()["detail"].startswith(
                "alphabet must be 'digits', 'domains', 'letters' or single characters"
            )
            malformed = await call.admin("POST", f"{path}/discover", {"most": 0})
            assert malformed.status == 400
            assert "most must be a number from 1 to 16777216" in malformed.json()["detail"]
            for seconds in (0, 3601):
                malformed = await call.admin("POST", f"{path}/discover", {"seconds": seconds})
                assert malformed.status == 400
                assert "seconds must be a number of seconds above 0 and up to 3600" in malformed.json()["detail"]
            assert (await call("POST", f"{path}/discover", where)).status == 401

    run(scene())


def test_a_question_of_a_form_is_searched(store: SQLiteStore) -> None:
    """Like a survey of its own: the part has its tally, and whoever skipped it wrote "no answer"."""
    form = dn.form(word=SURVEY, smokes=dn.warner(epsilon=1), spend="each", skip=["smokes"])

    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(form, minimum=1)
            people = [{"word": word, "smokes": None} for word in ["ash"] * 1200 + ["oak"] * 800]
            packed = [dn.Client(form, memoize=False).report(one).pack() for one in people]
            body = b"".join(i.to_bytes(16, "big") + wire for i, wire in enumerate(packed))
            assert (await call.upload(form, body)).json()["accepted"] == 2000
            where = {"question": "word", "alphabet": "ashok", "level": 1 - 1e-6}
            found = (await call.admin("POST", f"{path}/discover", where)).json()
            assert [row["symbol"] for row in found["estimates"]] == ["ash", "oak"]
            assert found["survey"] == form.digest

    run(scene())


def test_a_survey_with_a_list_has_nothing_to_discover(store: SQLiteStore) -> None:
    async def scene() -> None:
        async with Caller(store) as call:
            path = await call.create(OPEN, minimum=1)
            await answers(call, OPEN, 0, ["ash"] * 10)
            refused = await call.admin("POST", f"{path}/discover", {})
            assert refused.status == 422
            assert refused.json()["detail"].startswith("tally must be of a survey that discovers text (dn.discovery)")

    run(scene())

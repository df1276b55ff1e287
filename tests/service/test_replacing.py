"""Editing: another survey in the place of one that nobody has answered."""

import json
from pathlib import Path

import deniable as dn
from deniable.service.sqlite import SQLiteStore
from deniable.survey import Agreement
from tests.collector import Caller, Ticking, run

FIRST = dn.krr(["no", "yes"], epsilon=2, name="Do you smook?")
OTHER = dn.krr(["no", "yes"], epsilon=2, name="Do you drink?")
FORM = dn.form(smokes=dn.warner(epsilon=1), likes=dn.krr(["a", "b", "c"], epsilon=1), epsilon=2, name="Habits")


def body(survey: Agreement, **rules: object) -> dict[str, object]:
    return {"survey": json.loads(survey.to_json()), "rules": rules}


def one(survey: dn.Survey) -> bytes:
    return bytes(16) + dn.Client(survey).report("yes").pack()


def test_a_survey_without_answers_is_edited_and_its_keys_stay(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path), clock=Ticking()) as call:
            path = await call.create(FIRST, minimum=1, introduction="Hello.")
            owner = (await call.admin("POST", f"{path}/tokens", {"kind": "owner", "name": "private link"})).json()
            assert (await call("POST", f"{path}/replace", body(FORM), token=owner["token"])).status == 403
            made = await call.admin("POST", f"{path}/replace", body(FORM, minimum=2, thanks="Thanks!"))
            assert made.status == 201, made
            told = made.json()
            assert told["digest"] == FORM.digest
            assert (told["rules"]["thanks"], told["rules"]["introduction"], told["rules"]["minimum"]) == (
                "Thanks!",
                "",
                2,
            )
            assert (await call("GET", path)).status == 404
            new = f"/v1/surveys/{FORM.digest}"
            assert (await call("GET", f"{new}/windows", token=owner["token"])).status == 200
            listed = (await call.admin("GET", f"{new}/tokens")).json()["tokens"]
            assert [token["name"] for token in listed] == ["private link"]
            answers = {"smokes": "yes", "likes": "b"}
            sent = bytes(16) + dn.Client(FORM).report(answers).pack()
            assert (await call.upload(FORM, sent)).json()["accepted"] == 1
            refused = await call.upload(FIRST, one(FIRST))
            assert refused.status == 404

    run(story())


def test_what_may_not_be_edited_is_said(tmp_path: Path) -> None:
    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path), clock=Ticking()) as call:
            path = await call.create(FIRST, minimum=1)
            await call.create(OTHER)
            refused = await call.admin("POST", f"{path}/replace", body(OTHER))
            assert (refused.status, refused.json()["detail"]) == (
                409, f"survey {OTHER.digest[:8]} must be new here, got one that is asked already; change its wording",
            )  # fmt: skip
            assert (await call("GET", path)).status == 200, "nothing is lost"
            wrong = await call.admin("POST", f"{path}/replace", body(FORM, closes="2001-01-01"))
            assert (wrong.status, wrong.json()["detail"].split(",")[0]) == (422, "closes must be in the future")
            # Other rules of the same survey.
            same = await call.admin("POST", f"{path}/replace", body(FIRST, minimum=7))
            assert (same.status, same.json()["rules"]["minimum"]) == (201, 7)
            assert (await call.upload(FIRST, one(FIRST))).json()["accepted"] == 1
            answered = await call.admin("POST", f"{path}/replace", body(FORM))
            told = (
                f"survey {FIRST.digest[:8]} must have no answers to be edited, got some or was closed for good; make a "
                "new version of it instead"
            )
            assert (answered.status, answered.json()["detail"]) == (409, told)
            assert (await call.admin("GET", f"{path}/counters")).json()["counters"]["accepted"] == 1
            other = f"/v1/surveys/{OTHER.digest}"
            await call.admin("POST", f"{other}/close", {"final": True})
            assert (await call.admin("POST", f"{other}/replace", body(FORM))).status == 409
            assert (await call.admin("POST", "/v1/surveys/" + "0" * 64 + "/replace", body(FORM))).status == 404

    run(story())

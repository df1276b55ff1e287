"""A survey in the place of another one, in every store: tokens move, answers are never lost, the store stays sound."""

from dataclasses import replace

import pytest

from deniable.errors import StoreError
from deniable.service.entries import Outcome, Rules, Token
from tests.collector import one_cell_each
from tests.contracts.conftest import NOW, SURVEY, Open, upload

OTHER = one_cell_each(1024, "another one")


def test_a_survey_takes_the_place_and_the_tokens_of_another(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules())
    token = Token("a" * 64, entry.key, "owner", None, 0, "private link")
    assert store.add_token(token)
    assert store.replace("0" * 64, OTHER, Rules()) is None
    found = store.replace(SURVEY.digest, OTHER, Rules(minimum=3))
    assert found is not None
    assert (found.survey, found.rules) == (OTHER, Rules(minimum=3))
    assert store.entry(SURVEY.digest) is None
    assert store.tokens(found) == [replace(token, survey=found.key)]
    again = store.replace(OTHER.digest, OTHER, Rules(minimum=4))
    assert again is not None
    assert again.rules.minimum == 4
    store = reopen()
    kept = store.entry(OTHER.digest)
    assert kept is not None
    assert (kept.rules.minimum, len(store.tokens(kept))) == (4, 1)
    assert list(store.check()) == []


def test_answers_and_other_surveys_are_never_replaced(reopen: Open) -> None:
    store = reopen()
    entry, _ = store.create(SURVEY, Rules())
    other, _ = store.create(OTHER, Rules())
    with pytest.raises(StoreError, match="must be new here, got one that is asked already; change its wording"):
        store.replace(SURVEY.digest, OTHER, Rules())
    assert store.write([upload(entry, range(3))], hours=NOW) == [Outcome(3, 0)]
    with pytest.raises(StoreError, match="must have no answers to be edited, got some or was closed for good"):
        store.replace(SURVEY.digest, one_cell_each(1024, "a third"), Rules())
    assert store.tally(entry).n == 3
    store.end(OTHER.digest)
    with pytest.raises(StoreError, match="make a new version of it instead"):
        store.replace(OTHER.digest, one_cell_each(1024, "a third"), Rules())
    assert store.entry(OTHER.digest) is not None
    assert other.key != entry.key
    assert list(store.check()) == []

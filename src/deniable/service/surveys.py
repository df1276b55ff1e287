"""Plans, surveys and tokens: what an administrator does, and with one survey whoever owns it."""

import logging
from collections.abc import Callable

from msgspec import UNSET, Raw, UnsetType, to_builtins
from msgspec.structs import asdict

from deniable.errors import DeniableError, StoreError
from deniable.service import form_models, models
from deniable.service.answers import Answer
from deniable.service.clock import minute_label, minute_of
from deniable.service.collector import Collector, unknown_survey
from deniable.service.entries import FOR_GOOD, Entry, Rules, Token
from deniable.service.problems import RequestError, why
from deniable.service.tokens import hash_of, new_secret
from deniable.survey import Agreement, checked_name, read_agreement

_log = logging.getLogger("deniable.service")
_ID_DIGITS = 16  # of a token's hash, which name it
_MOST_PLANNED = 1 << 12  # symbols or candidates of one plan: seconds, not minutes


async def plan(collector: Collector, given: models.PlanRequest) -> Answer[models.Plan]:
    """How much privacy for how many people and what error: a survey, and what to expect of it."""
    for name, symbols in (("symbols", given.symbols), ("candidates", given.candidates), ("ordered", given.ordered)):
        if (len(symbols) if isinstance(symbols, list) else symbols or 0) > _MOST_PLANNED:
            raise _too_many(name)
    arguments = {name: value for name, value in asdict(given).items() if value is not None}
    return Answer(200, await collector.planning.answer(arguments))


async def plan_form(collector: Collector, given: form_models.FormPlanRequest) -> Answer[form_models.PlannedForm]:
    """How much privacy for how many people and what errors: a form, and what to expect of each question."""
    for question in given.questions:
        for symbols in (question.symbols, question.ordered):
            if len(symbols or ()) > _MOST_PLANNED:
                raise _too_many(f"answers of {question.name!r}")
    arguments = {name: value for name, value in to_builtins(given).items() if value is not None}
    return Answer(200, await collector.planning.answer(arguments))


def _too_many(what: str) -> RequestError:
    sentence = f"{what} must be at most {_MOST_PLANNED} here; deniable plan takes more"
    return RequestError(422, "plan", sentence, more={"reason": "many"})


def _shown(collector: Collector, entry: Entry, reports: int | UnsetType = UNSET) -> models.RegisteredSurvey:
    """A survey as anyone may see it now. Its text is handed on as it is: a large one costs a copy and not a second."""
    return models.RegisteredSurvey(
        digest=entry.survey.digest,
        state="closed" if entry.ended(collector.clock.minutes()) else "open",
        final=entry.final,
        rules=entry.rules.to_json(),
        reports=reports,
        survey=Raw(entry.text),
    )


async def list_surveys(collector: Collector) -> models.SurveyList:
    """Every survey, each with how many reports were accepted."""
    reports, entries = await collector.read(lambda: (collector.store.reports(), collector.store.entries()))
    return models.SurveyList([_shown(collector, entry, reports.get(entry.key, 0)) for entry in entries])


async def survey(collector: Collector, entry: Entry) -> models.RegisteredSurvey:
    """One survey and its rules."""
    return _shown(collector, entry)


async def create(collector: Collector, given: models.NewSurvey) -> Answer[models.RegisteredSurvey]:
    """A new survey, or the same one once more."""
    minute = collector.clock.minutes()

    def work() -> tuple[Entry, bool]:  # all of it in the writer's thread: a large survey takes a while to read
        survey, rules = _read(given)
        if collector.store.entry(survey.digest) is None:
            _check_new(survey, rules, minute)
        try:
            return collector.store.create(survey, rules)
        except StoreError as problem:
            raise RequestError(409, "exists", str(problem)) from None

    entry, new = await collector.writer.call(work)
    if new:
        _note("created", entry)
    return Answer.of(_shown(collector, entry), 201 if new else 200)


async def replace(collector: Collector, entry: Entry, given: models.NewSurvey) -> models.RegisteredSurvey:
    """Another survey in the place of one that nobody has answered: to edit it. Its tokens are those of the new one."""
    minute = collector.clock.minutes()

    def work() -> Entry | None:
        survey, rules = _read(given)
        _check_new(survey, rules, minute)
        try:
            return collector.store.replace(entry.survey.digest, survey, rules)
        except StoreError as problem:
            raise RequestError(409, "answered", str(problem)) from None

    found = await collector.writer.call(work)
    if found is None:
        raise unknown_survey(entry.survey.digest)
    collector.forget(entry)
    collector.forget_tokens()
    await collector.decoding.forget()
    _note("replaced", entry)
    _note("created", found)
    return _shown(collector, found)


def _read(given: models.NewSurvey) -> tuple[Agreement, Rules]:
    try:
        survey = read_agreement(given.survey)
        return survey, Rules.of(survey, given.rules)
    except DeniableError as problem:
        raise RequestError(422, "survey", str(problem), more=why(problem)) from None


def _check_new(survey: Agreement, rules: Rules, minute: int) -> None:
    """What must hold of a survey only when it is made."""
    _check_future(rules, minute)
    try:
        checked_name(survey.name)
    except DeniableError as problem:
        raise RequestError(422, "survey", str(problem), more=why(problem)) from None


def _check_future(rules: Rules, minute: int) -> None:
    if rules.closes is not None and minute_of(rules.closes) <= minute:
        told = f"closes must be in the future, got {rules.closes} at {minute_label(minute)}"
        raise RequestError(422, "survey", f"{told}; to end a survey now, close it", more={"reason": "past"})


async def _put(
    collector: Collector, entry: Entry, event: str, work: Callable[[], Entry | None]
) -> models.RegisteredSurvey:
    """Put another state of a survey in place of the one before, unless it was deleted meanwhile."""
    found = await collector.writer.call(work)
    if found is None:
        raise unknown_survey(entry.survey.digest)
    collector.changed(entry)
    _note(event, entry)
    return _shown(collector, found)


def _note(event: str, entry: Entry) -> None:
    _log.info("survey", extra={"fields": {"event": event, "survey": entry.survey.digest}})


async def close(collector: Collector, entry: Entry, given: models.Closing) -> models.RegisteredSurvey:
    """Take no more reports until the survey is opened again, or with {"final": true} for good."""
    day = FOR_GOOD if given.final else max(collector.clock.minutes() // 1440, FOR_GOOD + 1)
    return await _put(collector, entry, "closed", lambda: collector.store.end(entry.survey.digest, day=day))


async def reopen(collector: Collector, entry: Entry) -> models.RegisteredSurvey:
    """Take reports again."""
    minute = collector.clock.minutes()
    try:
        return await _put(
            collector, entry, "reopened", lambda: collector.store.reopen(entry.survey.digest, minute=minute)
        )
    except StoreError as problem:
        raise RequestError(409, "final", str(problem)) from None


async def change(collector: Collector, entry: Entry, given: models.RuleChange) -> models.RegisteredSurvey:
    """Other texts or another closing date, in place of those before."""
    try:
        rules = entry.rules.changed(given.rules)
        if "closes" in given.rules:
            _check_future(rules, collector.clock.minutes())
        return await _put(collector, entry, "changed", lambda: collector.store.change(entry.survey.digest, given.rules))
    except StoreError as problem:
        raise RequestError(422, "survey", str(problem), more=why(problem)) from None


async def delete(collector: Collector, entry: Entry) -> models.DeletedSurvey:
    """Delete a survey with everything under it."""
    reports = await collector.writer.call(lambda: collector.store.delete(entry.survey.digest))
    if reports is None:
        raise unknown_survey(entry.survey.digest)
    collector.forget(entry)
    await collector.decoding.forget()
    _note("deleted", entry)
    return models.DeletedSurvey(entry.survey.digest, reports)


async def tokens(collector: Collector, entry: Entry) -> models.TokenList:
    """The tokens of a survey, without their secrets."""
    return models.TokenList(
        [_described(token) for token in await collector.read(lambda: collector.store.tokens(entry))]
    )


async def add_token(collector: Collector, entry: Entry, given: models.NewToken) -> models.RegisteredToken:
    """A new token; the answer is the only place where its secret is ever shown."""
    secret = new_secret()
    token = Token(hash_of(secret), entry.key, given.kind, given.quota, 0, given.name)
    if not await collector.writer.call(lambda: collector.store.add_token(token)):
        raise unknown_survey(entry.survey.digest)
    return _described(token, secret)


async def drop_token(collector: Collector, entry: Entry, token: str) -> Answer[None]:
    """Revoke a token."""
    if not await collector.writer.call(lambda: collector.store.drop_token(entry, token)):
        raise RequestError(404, "unknown-token", "there is no such token of this survey")
    collector.forget_tokens()
    return Answer(204, b"")


def _described(token: Token, secret: str | UnsetType = UNSET) -> models.RegisteredToken:
    return models.RegisteredToken(
        token=secret, id=token.hash[:_ID_DIGITS], kind=token.kind, quota=token.quota, used=token.used, name=token.name
    )

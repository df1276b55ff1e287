"""The table of routes: every route of the collector is declared here, once, and nowhere else.

What a route takes and gives is in the types of its handler. From both follow the check of its role, of its query or
body, its dispatch, what a browser learns by a preflight request, and its part of the OpenAPI document (see `routing`).
The static pages are in `pages`.
"""

from deniable.service import results, status, surveys
from deniable.service.models import ReportBatch, UploadOutcome, UploadQuery
from deniable.service.routing import Route

_SURVEY = "/v1/surveys/{digest}"

# `App` answers uploads before it looks into the table: each layer would be paid for by every report.
_UPLOAD = Route(
    "POST", f"{_SURVEY}/reports", "upload", None,
    "count reports; what is named accepted or duplicate is on disk, once",
    name="upload", problems=(410, 415, 429),
    query=UploadQuery, body=ReportBatch, answer=UploadOutcome, binary_body=True,
)  # fmt: skip
UPLOAD = _UPLOAD.pattern
ROUTES = (
    Route("GET", "/healthz", "public", status.health, "whether the process is alive"),
    Route("GET", "/readyz", "public", status.ready, "whether reports can be stored"),
    Route("GET", "/openapi.json", "public", status.openapi, "this document"),
    Route("GET", "/metrics", "admin", status.metrics, "counters for Prometheus"),
    Route(
        "GET", "/v1/collector", "public", status.collector_address,
        "where people reach this collector, if it was told (--public-url)", name="collector",
    ),
    Route(
        "POST", "/v1/plan", "admin", surveys.plan,
        "how much privacy for how many people and what error: a survey, and what to expect of it",
        problems=(422,), ends_with_caller=True,
    ),
    Route(
        "POST", "/v1/plan/form", "admin", surveys.plan_form,
        "the same for a form of several questions: what it costs, how sharp each answer will be, who answers what",
        problems=(422,), ends_with_caller=True,
    ),
    Route("GET", "/v1/surveys", "admin", surveys.list_surveys, "every survey", name="list"),
    Route(
        "POST", "/v1/surveys", "admin", surveys.create,
        "add a survey; it and most of its rules cannot be changed afterwards (200: it was there already)",
        statuses=(200, 201), problems=(409, 422),
    ),
    Route("GET", _SURVEY, "public", surveys.survey, "a survey and its rules"),
    Route(
        "PATCH", _SURVEY, "owner", surveys.change, "other texts, frames or closing date", problems=(422,)
    ),
    Route(
        "DELETE", _SURVEY, "owner", surveys.delete,
        "delete a survey with its counts, report ids and tokens; there is no way back",
    ),
    Route(
        "POST", f"{_SURVEY}/replace", "admin", surveys.replace,
        "put another survey in the place of one that nobody has answered; its tokens go on working",
        statuses=(201,), problems=(409, 422),
    ),
    Route("POST", f"{_SURVEY}/close", "owner", surveys.close, "take no more reports"),
    Route(
        "POST", f"{_SURVEY}/reopen", "owner", surveys.reopen,
        "take reports again; a closing date that has passed is taken off", problems=(409,),
    ),
    _UPLOAD,
    Route("GET", f"{_SURVEY}/tokens", "admin", surveys.tokens, "its tokens, without their secrets"),
    Route(
        "POST", f"{_SURVEY}/tokens", "admin", surveys.add_token, "a new upload, read or owner token",
        statuses=(201,), problems=(422,),
    ),
    Route("DELETE", f"{_SURVEY}/tokens/{{token}}", "admin", surveys.drop_token, "revoke a token", statuses=(204,)),
    Route("GET", f"{_SURVEY}/counters", "admin", results.counters, "reports by fate"),
    Route("GET", f"{_SURVEY}/windows", "read", results.windows, "windows and their reports"),
    Route(
        "GET", f"{_SURVEY}/tally", "read", results.tally, "the tally of a range, as a tally file",
        problems=(409, 422), ends_with_caller=True,
    ),
    Route(
        "POST", f"{_SURVEY}/discover", "read", results.discover,
        "the texts that people wrote in a range, found without a list (422 `unfinished`: resume it with `resume`)",
        problems=(409, 422), ends_with_caller=True,
    ),
    *(
        Route(method, f"{_SURVEY}/{handler.__name__}", "read", handler, summary + more,
              name=handler.__name__ + suffix, problems=(409, 422), ends_with_caller=True)
        for handler, summary in (
            (results.estimate, "the decoded distribution of a range"),
            (results.trend, "every window of a range, and which of them differ from those before"),
            (results.difference, "how shares changed from a range to a later one"),
        )
        for method, suffix, more in (("GET", "", ""), ("POST", "_post", ", for long lists of candidates"))
    ),
)  # fmt: skip

"""What requests bring and what answers hold, as types: they check requests, and the OpenAPI document is made from them.

A field states its rule once: its type and bounds are checked and documented, and `must` is how a refusal says it. The
upload path checks for itself (`envelope`), so `ReportBatch` and `UploadQuery` are for the document alone.
"""

from dataclasses import fields
from typing import Annotated, Any, ClassVar, Literal, get_args

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

from deniable.service.clock import WINDOWS
from deniable.service.entries import BOUNDS, CHANGEABLE, CHOICES, LONGEST, Rules
from deniable.service.records import REASONS
from deniable.survey import SCALE

# The names of `decoders.strategies`, which the collector's process must not load.
Decoder = Literal[
    "empirical-bayes", "empirical-bayes-ordered", "inversion", "least-squares", "weighted-least-squares", "likelihood",
    "screening", "contaminated",
]  # fmt: skip
Constraint = Literal["none", "normalized", "projected"]
Format = Literal["json", "csv", "arrow"]
DECODERS, CONSTRAINTS = get_args(Decoder), get_args(Constraint)
FORMATS = {"json": "application/json", "csv": "text/csv; charset=utf-8", "arrow": "application/vnd.apache.arrow.stream"}
_MOST_CANDIDATES = 1 << 20  # symbols of one decode request: a million take about 30 s (docs/results/benchmarks.md)
_MOST_TABULATED = 1 << 11  # candidates of a cross-table of two ranges: as many as its covariance may have
_MOST_SEARCHED = 1 << 24  # candidates of one search: about as long as a decode may take
_LONGEST_SEARCH = 3600  # seconds


def _told(description: str | None = None, *, must: str | None = None, **schema: object) -> Meta:
    """What people read about a field, how a refusal words its rule, and what else its schema says."""
    return Meta(description=description, extra={"must": must} if must else None, extra_json_schema=schema or None)


# Requests.


# Why something is refused, where one type of problem has many reasons and pages meet them.
Reason = Literal[
    "again", "alike", "alphabet", "beginnings", "characters", "control", "empty", "groups", "levels", "many", "past",
    "slow",
]  # fmt: skip


class Input(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The query of a GET or the JSON body of another method. A field that breaks its rule is refused with `refusal`, a
    status and a word. `whole_numbers`: nothing in it may have a fraction. `described` is what a body must be, where the
    list of its fields would be too long to say. `may_be_empty`: no body is as good as an empty object."""

    refusal: ClassVar[tuple[int, str]] = (400, "malformed")
    whole_numbers: ClassVar[bool] = True
    described: ClassVar[str | None] = None
    may_be_empty: ClassVar[bool] = False


def _rules_schema(names: tuple[str, ...]) -> dict[str, Any]:
    """The JSON Schema of a survey's rules, from what `Rules.read` checks."""
    defaults: dict[str, Any] = {rule.name: rule.default for rule in fields(Rules)}
    about: dict[str, Any] = {
        "closes": {
            "type": ["string", "null"],
            "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}(:[0-9]{2})?)?Z?$",
            "description": "no report is taken from this time on, in UTC; a date alone is its first minute",
            "examples": ["2026-11-20T17:00Z"],
        },
        "introduction": {"description": "plain text above the question"},
        "thanks": {"description": "plain text after an answer"},
        "frames": {
            "type": "array",
            "items": {"type": "string"},
            "maxItems": 20,
            "description": "origins whose pages may show the answer page in a frame",
            "examples": [["https://www.example.org"]],
        },
    }
    for name, choices in CHOICES.items():
        about[name] = {"type": "string", "enum": list(choices)}
    for name, (low, high) in BOUNDS.items():
        kind = ["integer", "null"] if defaults[name] is None else "integer"
        about[name] = {"type": kind, "minimum": low, "maximum": high}
    for name, longest in LONGEST.items():
        about[name] |= {"type": "string", "maxLength": longest}
    defaults["frames"] = list(defaults["frames"])
    properties = {name: about[name] | {"default": defaults[name]} for name in names}
    return {"type": "object", "additionalProperties": False, "properties": properties}


# `Rules` and `Survey` read these themselves: stores and files hold them, too.
_Rules = Annotated[Any, Meta(extra_json_schema=_rules_schema(tuple(rule.name for rule in fields(Rules))))]
_Changes = Annotated[Any, Meta(extra_json_schema=_rules_schema(CHANGEABLE))]


class NewSurvey(Input, frozen=True, kw_only=True):
    survey: Annotated[Any, _told("the file that clients load", type="object")]
    rules: _Rules = field(default_factory=dict)


class RuleChange(Input, frozen=True, kw_only=True):
    rules: _Changes


class Closing(Input, frozen=True, kw_only=True):
    may_be_empty = True

    final: Annotated[bool, _told("for good: forget the ids now")] = False


class NewToken(Input, frozen=True, kw_only=True):
    refusal = (422, "token")

    kind: Annotated[Literal["upload", "read", "owner"], _told(must="be upload, read or owner")]
    quota: Annotated[
        Annotated[int, Meta(ge=1, le=2**53 - 1)] | None,
        _told(must="be a positive number of reports, for upload tokens only"),
    ] = None
    name: Annotated[str, Meta(max_length=200), _told(must="be text of at most 200 characters")] = ""

    def __post_init__(self) -> None:
        if self.quota is not None and self.kind != "upload":
            raise ValueError("quota")
        if any(letter == "\x00" or "\ud800" <= letter <= "\udfff" for letter in self.name):
            raise ValueError("name")


_Day = Annotated[int, Meta(ge=1, le=(1 << 20) - 1, description="UTC days since 1970-01-01")]
_Id = Annotated[str, Meta(pattern="^[0-9a-fA-F]{32}$")]


class UploadQuery(Input, frozen=True, kw_only=True):
    day: _Day | UnsetType = UNSET
    batch: _Id | UnsetType = UNSET


class OneReport(Input, frozen=True, kw_only=True):
    id: _Id
    report: Annotated[str, _told(contentEncoding="base64")]
    day: _Day | UnsetType = UNSET


class ReportBatch(Input, frozen=True, kw_only=True):
    reports: Annotated[list[OneReport], Meta(min_length=1, max_length=65536)]


_Time = Annotated[
    str | None,
    _told(must="be text like 2026-11-15", pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2})?$", examples=["2026-11-15"]),
]


class Range(Input, frozen=True, kw_only=True):
    """The hours from one time on, before another; without one of them, as far as there are reports."""

    whole_numbers = False
    described = "a JSON object of parameters"

    from_: _Time = field(default=None, name="from")
    to: _Time = None


_Level = Annotated[float, Meta(gt=0, lt=1), _told(must="be a number between 0 and 1, for instance 0.95")]
_Simultaneous = Annotated[bool, _told("all intervals hold at once")]
_Top = Annotated[
    Annotated[int, Meta(ge=1, le=2**31 - 1)] | None,
    _told("only so many symbols, the largest", must="be a positive number of symbols"),
]


class OfQuestion(Range, frozen=True, kw_only=True):
    """What is asked of a survey, or of one question of a form."""

    question: Annotated[
        Annotated[str, Meta(min_length=1, max_length=64)] | None,
        _told("of a form: the name of the question that is meant", must="be the name of a question of the form"),
    ] = None


class DecodeRequest(OfQuestion, frozen=True, kw_only=True):
    """How to decode; what is None is left to `decode`."""

    decoder: Annotated[Decoder | None, _told("the best known, unless given")] = None
    constraint: Constraint | None = None
    candidates: Annotated[
        Annotated[list[Any], Meta(min_length=1, max_length=_MOST_CANDIDATES)] | None,
        _told("symbols as a survey writes them", must=f"be a list of 1 to {_MOST_CANDIDATES} symbols"),
    ] = None
    complete: Annotated[bool, _told("the candidates are all there is")] = False
    level: _Level = 0.95
    simultaneous: _Simultaneous = False
    top: _Top = None
    order: Annotated[
        Literal["size", "own"], _told("of the rows: the largest first, or as in the survey or the list of candidates")
    ] = "size"
    turnover: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        _told(
            "the part of the devices that are replaced each window, where people take part again",
            must="be a number from 0 to 1, for instance 0.05",
        ),
    ] = None
    change: Annotated[
        Annotated[float, Meta(ge=0, le=1)] | None,
        _told(
            "the part of the devices that stay and draw their answer anew each window",
            must="be a number from 0 to 1, for instance 0.1",
        ),
    ] = None


class EstimateRequest(DecodeRequest, frozen=True, kw_only=True):
    format: Format = "json"


class TrendRequest(DecodeRequest, frozen=True, kw_only=True):
    format: Annotated[Literal["json"], _told(must="be json for results over time")] = "json"


class DiscoverRequest(OfQuestion, frozen=True, kw_only=True):
    """Where to look for texts that nobody listed, and for how long."""

    alphabet: Annotated[
        Annotated[str, Meta(min_length=1, max_length=1 << 12)] | None,
        _told(
            "digits, domains, letters, or all characters that texts may have", must="be characters, or a name of some"
        ),
    ] = None
    prefixes: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=1 << 10)] | None,
        _told("texts one of which every answer begins with", must="be a list of 1 to 1024 texts"),
    ] = None
    candidates: Annotated[
        Annotated[list[str], Meta(min_length=1, max_length=1 << 16)] | None,
        _told("texts that are tested in any case", must="be a list of 1 to 65536 texts"),
    ] = None
    level: _Level = 0.95
    simultaneous: _Simultaneous = False
    top: _Top = None
    most: Annotated[
        int,
        Meta(ge=1, le=_MOST_SEARCHED),
        _told("candidates to look at before giving up", must=f"be a number from 1 to {_MOST_SEARCHED}"),
    ] = _MOST_SEARCHED
    seconds: Annotated[
        Annotated[float, Meta(gt=0, le=_LONGEST_SEARCH)] | None,
        _told(
            "when to give up, if that is before the collector's own limit",
            must=f"be a number of seconds above 0 and up to {_LONGEST_SEARCH}",
        ),
    ] = None
    resume: Annotated[dict[str, Any] | None, _told("`resume` of the problem that a search gave up with")] = None
    format: Format = "json"


class DifferenceRequest(EstimateRequest, frozen=True, kw_only=True):
    against_from: _Time = None
    against_to: _Time = None


class CrosstabRequest(OfQuestion, frozen=True, kw_only=True):
    """Two related questions of a form in one range; or a question in two ranges, of different people."""

    rows: Annotated[str | None, _told("of a form: a question, whose answers are the rows")] = None
    columns: Annotated[str | None, _told("a question that is related to it")] = None
    against_from: _Time = None
    against_to: _Time = None
    candidates: Annotated[
        Annotated[list[Any], Meta(min_length=1, max_length=_MOST_TABULATED)] | None,
        _told("symbols as a survey writes them", must=f"be a list of 1 to {_MOST_TABULATED} symbols"),
    ] = None
    level: _Level = 0.95
    format: Format = "json"


Decoded = DecodeRequest | DiscoverRequest | CrosstabRequest  # what the process that decodes is asked

_Number = int | float | None
_ENDS = "the two ends of a scale, in place of symbols or candidates"
_MOST_BINS = 1 << 12  # of one plan: seconds, not minutes


class PlanRequest(Input, frozen=True, kw_only=True):
    """The arguments of dn.plan: two of n, epsilon and one error, and symbols, candidates, number or ordered."""

    whole_numbers = False
    described = "a JSON object of the planner's arguments"

    n: int | None = None
    epsilon: _Number | str = None
    epsilon_report: _Number | str = None
    max_l1: _Number = None
    max_l2: _Number = None
    max_error: _Number = None
    visible: _Number = None
    metric: str | None = None
    symbols: list[Any] | int | None = None
    candidates: list[Any] | int | None = None
    sensitive: list[Any] | None = None
    number: Annotated[Annotated[list[_Number | str], Meta(min_length=2, max_length=2)] | None, _told(_ENDS)] = None
    ordered: list[Any] | int | None = None
    bins: Annotated[int, Meta(ge=2, le=_MOST_BINS)] | None = None
    step: _Number | str = None
    outside: Annotated[Literal["clamp", "refuse"] | None, _told("numbers outside of the scale")] = None
    max_mean_error: _Number = None
    discover: Annotated[int | None, _told("of the most frequent texts, found without a list")] = None
    discover_above: Annotated[_Number, _told("the smallest share of a text that is found without a list")] = None
    length: Annotated[int | None, _told("of such texts in bytes, at most; 32 where it is not given")] = None
    other: Any = None
    text: str | None = None
    shape: str | list[Any] | None = None
    confidence: _Number = None
    max_bytes: int | None = None
    max_cohorts: int | None = None
    name: str | None = None
    seed: int | None = None


# Answers.


class HealthStatus(Struct, frozen=True):
    status: Literal["alive", "ready"]
    clock: Annotated[Literal["trusted", "jumped"], _told("jumped: nothing is purged")] | UnsetType = UNSET


class Address(Struct, frozen=True):
    public_url: str | None


class Document(Struct, frozen=True):
    """OpenAPI 3.1."""

    openapi: str
    info: dict[str, Any]
    paths: dict[str, Any]
    components: dict[str, Any]


class RegisteredSurvey(Struct, frozen=True, kw_only=True):
    """A survey as anyone may see it: the public agreement and the collector's rules."""

    digest: str
    state: Literal["open", "closed"]
    final: Annotated[bool, _told("closed for good: it cannot be opened again")]
    rules: _Rules
    reports: Annotated[int, _told("how many were accepted; in the list of all surveys")] | UnsetType = UNSET
    survey: Annotated[Raw, _told("the file that clients load", type="object")]


class SurveyList(Struct, frozen=True):
    surveys: list[RegisteredSurvey]


class DeletedSurvey(Struct, frozen=True):
    digest: str
    reports: Annotated[int, _told("that went")]


class RegisteredToken(Struct, frozen=True, kw_only=True):
    token: Annotated[str, _told("the secret, in the answer that creates it and never again")] | UnsetType = UNSET
    id: str
    kind: str
    quota: int | None
    used: int
    name: str


class TokenList(Struct, frozen=True):
    tokens: list[RegisteredToken]


class Counters(Struct, frozen=True):
    """How many reports met which fate."""

    counters: dict[str, int]


class RefusedReport(Struct, frozen=True):
    index: int
    id: str | None
    reason: Annotated[str, Meta(extra_json_schema={"enum": list(REASONS[2:])})]


class UploadOutcome(Struct, frozen=True):
    accepted: int
    duplicate: int
    refused: list[RefusedReport]


class _Exactly(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An answer that has all of its fields and no other."""


class ShownWindow(_Exactly, frozen=True, kw_only=True):
    start: str
    end: str
    reports: int


class WindowList(_Exactly, frozen=True, kw_only=True):
    window: Annotated[str, Meta(extra_json_schema={"enum": list(WINDOWS)})]
    minimum: int
    live: Annotated[bool, _told("whether windows that have not ended are here, too")]
    reports: Annotated[int, _told("so far, in all; where not live, in windows that have ended")]
    windows: list[ShownWindow]


# What follows is written by the processes that decode and plan; the collector hands it on as it is.

_Share = Annotated[float | None, _told("null: the reports do not determine it")]
_Bound = Annotated[str, _told("an hour, in UTC; without a bound, where its windows begin or end")]


class NoiseShared(_Exactly, frozen=True, kw_only=True):
    case: Literal["unnamed", "all", "some", "unknown", "left_out"]
    windows: Annotated[int | None, _told("that were added up")]
    wider: Annotated[float | None, _told("how many times as wide as for as many people error bars are")]
    turnover: float | None
    change: float | None


class _Decoded(_Exactly, frozen=True, kw_only=True):
    survey: str
    level: float
    simultaneous: bool
    intervals: Annotated[
        Literal["exact", "approximate", "conditional"] | None,
        _told("conditional: given that a candidate was kept, or not; null: too many for error bars"),
    ]
    shared_noise: Annotated[
        str | None, _told("which error bars are shown where the same devices took part again; null elsewhere")
    ]
    sharing: Annotated[NoiseShared | None, _told("what shared_noise says, for a page in another language")]
    from_: _Bound = field(name="from")
    to: _Bound


class _Interval(_Exactly, frozen=True, kw_only=True):
    raw: _Share
    standard_error: _Share
    raw_low: _Share
    raw_high: _Share


class Share(_Interval, frozen=True, kw_only=True):
    probability: _Share


class SymbolShare(Share, frozen=True, kw_only=True):
    symbol: Any
    significant: Annotated[bool | None, _told("above zero, family-wise: all marks are right at the level")]


class Group(_Exactly, frozen=True, kw_only=True):
    symbols: list[Any]
    probability: _Share
    standard_error: _Share


class ChiSquareTest(_Exactly, frozen=True, kw_only=True):
    statistic: float
    degrees: int
    p_value: float


class Diagnostics(_Exactly, frozen=True, kw_only=True):
    rank: int
    condition: _Share
    twins: list[list[Any]]
    fit: ChiSquareTest | None
    cohorts: ChiSquareTest | None
    floor: Annotated[ChiSquareTest | None, _told("the test of shares below zero; null beyond 1,024 symbols")]
    influence: Annotated[float, _told("what 1 % planted reports can add to one symbol, at most")]
    noticed: Annotated[float, _told("the probability that a check raises an alarm then")]
    careful: Annotated[float, _told("what they add if they are made to look ordinary")]
    careful_noticed: Annotated[float, _told("the probability that a check raises an alarm then")]
    alarms: list[str]


class ShownFigure(_Exactly, frozen=True, kw_only=True):
    """A number, or one of the answers in an order, and its interval."""

    value: Any
    low: Any
    high: Any


_Figures = Annotated[
    dict[str, ShownFigure], _told("of answers in an order: the mean (or the mean place), the median and the quartiles")
]


class ShownBand(_Exactly, frozen=True, kw_only=True):
    from_: float = field(name="from")
    to: float
    low: Annotated[float, _told("limit of the share of the range")]
    high: float


class ShownDensity(_Exactly, frozen=True, kw_only=True):
    edges: Annotated[list[float], _told("of the bins, one more than these")]
    bands: list[ShownBand]


class ShownSearch(_Exactly, frozen=True, kw_only=True):
    candidates: Annotated[int, _told("texts that were tested")]
    smallest: Annotated[float, _told("about the share from which a text is declared, if the last level alone sees it")]
    characters: Annotated[str | None, _told("of which texts alone were looked for; null: all but control characters")]


class Estimate(_Decoded, frozen=True, kw_only=True):
    name: str
    mechanism: str
    epsilon_spent: float
    n: int
    decoder: str
    constraint: str
    estimates: Annotated[list[SymbolShare], _told("largest first")]
    unallocated: Annotated[
        Share | None,
        _told("what no candidate explains; where intervals are conditional, what no kept candidate does"),
    ]
    groups: Annotated[list[Group], _told("candidates that no report can tell apart, and their sum")]
    diagnostics: Diagnostics | None
    figures: _Figures | UnsetType = UNSET
    density: Annotated[ShownDensity, _told("of numbers in bins")] | UnsetType = UNSET
    searched: Annotated[ShownSearch, _told("of a search for texts")] | UnsetType = UNSET


class ShareChange(_Interval, frozen=True, kw_only=True):
    before: _Share
    after: _Share


class SymbolChange(ShareChange, frozen=True, kw_only=True):
    symbol: Any
    changed: Annotated[bool | None, _told("significantly, family-wise: all marks are right at the level")]


class ComparedSurvey(_Exactly, frozen=True, kw_only=True):
    survey: str
    n: int


class Difference(_Decoded, frozen=True, kw_only=True):
    against_from: _Bound
    against_to: _Bound
    before: ComparedSurvey
    after: ComparedSurvey
    changes: Annotated[list[SymbolChange], _told("largest first")]
    unallocated: Annotated[ShareChange | None, _told("what no candidate explains")]


class TableSide(_Exactly, frozen=True, kw_only=True):
    name: Annotated[str, _told("the question; of two ranges: range")]
    symbols: list[Any]


class TableCell(_Exactly, frozen=True, kw_only=True):
    row: Any
    column: Any
    probability: Annotated[float, _told("the share of all people")]
    raw: float
    standard_error: _Share
    low: _Share
    high: _Share
    within_row: _Share
    within_row_low: _Share
    within_row_high: _Share
    certain: Annotated[int, _told("1: surely more people than independence gives it; -1: fewer; 0: not known")]


class IndependenceTest(_Exactly, frozen=True, kw_only=True):
    statistic: _Share
    degrees_of_freedom: int
    p_value: _Share
    why_not: Annotated[str, _told("why there is no p-value; else empty")]


class CrosstabTable(_Exactly, frozen=True, kw_only=True):
    survey: str
    from_: _Bound = field(name="from")
    to: _Bound
    against_from: _Bound | UnsetType = UNSET
    against_to: _Bound | UnsetType = UNSET
    rows: TableSide
    columns: TableSide
    n: int
    level: float
    cells: Annotated[list[TableCell], _told("row after row")]
    independence: IndependenceTest


class SmoothShare(_Exactly, frozen=True, kw_only=True):
    symbol: Any
    probability: float
    raw_low: float
    raw_high: float


class TrendWindow(_Exactly, frozen=True, kw_only=True):
    start: str
    end: str
    n: int
    estimates: Annotated[list[SymbolShare], _told("from this window alone")]
    figures: _Figures | UnsetType = UNSET
    smooth: Annotated[list[SmoothShare] | None, _told("from all windows together; null: they are not tracked")]
    changed: Annotated[list[Any], _told("symbols whose share changed in this window")]


class LatestShare(_Exactly, frozen=True, kw_only=True):
    symbol: Any
    raw: Annotated[float, _told("the unbiased estimate from the last window alone")]
    normal: Annotated[
        float, _told("the mean of the windows before it since the share last changed; with a `cycle`, of those alike")
    ]
    raw_low: Annotated[float, _told("of the interval of the difference")]
    raw_high: float
    unusual: Annotated[bool, _told("significantly other than normal, family-wise: all marks are right at the level")]


class Trend(_Exactly, frozen=True, kw_only=True):
    survey: str
    window: str
    level: float
    latest: Annotated[list[LatestShare] | None, _told("the last window against a normal one")]
    turnover: Annotated[
        float | None, _told("about how many devices are replaced, or change their answer, each window; null elsewhere")
    ]
    cycle: Annotated[int | None, _told("windows after which shares repeat: 7 days, 24 hours; null where they do not")]
    problem: Annotated[str | None, _told("why windows could not be tracked")]
    reason: Annotated[Reason | None, _told("the same in a word, where there is one")]
    windows: Annotated[list[TrendWindow], _told("oldest first")]


class PlannedCrowd(_Exactly, frozen=True, kw_only=True):
    """What whoever sees only the counts may learn of anyone, where n honest people answer once."""

    n: int
    delta: Annotated[float, _told("with which probability it may fail")]
    epsilon: Annotated[float | None, _told("at most; null: see `problem`")]
    problem: Annotated[str | None, _told("why there is none")]
    reason: Annotated[Literal["certain", "slow"] | None, _told("the same in a word")]


class Plan(Struct, frozen=True):
    """Beside these, all that `Plan.to_json` of the planner says."""

    survey: dict[str, Any]
    epsilon: float
    n: int
    errors: dict[str, Any]
    crowd: PlannedCrowd


class PossiblePlan(_Exactly, frozen=True, kw_only=True):
    n: int
    epsilon: float
    privacy: Annotated[str, Meta(extra_json_schema={"enum": [word for _, word in SCALE]})]
    error: Annotated[float, _told("predicted, of the kind that was asked for")]


class Problem(Struct, frozen=True, kw_only=True):
    """An RFC 9457 problem."""

    type: str
    title: str
    status: int
    detail: str
    least: Annotated[float | None, _told("the smallest possible error, where a plan is not")] | UnsetType = UNSET
    alternatives: Annotated[list[PossiblePlan], _told("plans that are, where one is not")] | UnsetType = UNSET
    survey: Annotated[str, _told("the digest, where a device acts on `type`: closed, unknown")] | UnsetType = UNSET
    resume: Annotated[dict[str, Any], _told("where a search can be resumed that gave up")] | UnsetType = UNSET
    reason: Annotated[Reason, _told("why, in a word, where a page says it in its language")] | UnsetType = UNSET

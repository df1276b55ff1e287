"""Plans of forms over HTTP: what is asked, and what is answered. `models` has the rest."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from deniable.service.models import Input, _told

_MOST_BINS = 1 << 12  # of one question: seconds, not minutes
_Number = int | float | None


class AskedQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question of a form, and how people answer: `symbols`, `ordered`, `number` or `candidates`."""

    name: Annotated[str, Meta(min_length=1, max_length=64, description="what answers are looked up by: an identifier")]
    title: Annotated[str, Meta(max_length=500, description="what people read")] = ""
    symbols: list[Any] | None = None
    sensitive: list[Any] | None = None
    ordered: list[Any] | None = None
    number: Annotated[list[int | float | str], Meta(min_length=2, max_length=2)] | None = None
    bins: Annotated[int, Meta(ge=2, le=_MOST_BINS)] | None = None
    step: _Number | str = None
    outside: Literal["clamp", "refuse"] | None = None
    candidates: Annotated[int, Meta(ge=2, le=_MOST_BINS, description="how many texts will be looked for")] | None = None
    text: Literal["folded", "exact"] | None = None
    skip: Annotated[bool, Meta(description="whether it may be left out")] = False


class FormPlanRequest(Input, frozen=True, kw_only=True):
    """A form's questions, and two of n, epsilon and max_error. An error of means is a share of their range."""

    whole_numbers = False
    described = "a JSON object with the questions of a form"

    questions: Annotated[
        list[AskedQuestion], Meta(min_length=2, max_length=256), _told(must="be a list of 2 to 256 questions")
    ]
    n: int | None = None
    epsilon: _Number | str = None
    max_error: _Number = None
    relate: list[list[str]] | None = None
    confidence: _Number = None
    name: Annotated[str, Meta(max_length=500)] = ""


class PlannedFormQuestion(Struct, frozen=True):
    """Beside these, what `FormPlan.to_json` of the planner says of a question."""

    name: str
    title: str
    measure: Annotated[
        Literal["share", "mean", "place"], _told("what its error is of: the worst share, the mean, the mean place")
    ]
    error: Annotated[float, _told("what the error stays below in a share `confidence` of surveys")]
    mechanism: str
    epsilon: float


class SpendingOption(Struct, frozen=True):
    name: str
    drawn: Annotated[int, _told("how many parts each person answers")]
    needs: Annotated[float | None, _told("the epsilon, the people or the error that it takes; null: it cannot")]


class PlannedForm(Struct, frozen=True):
    """A form that is ready to be asked, what to expect of it, and what other ways to spend its budget cost."""

    form: dict[str, Any]
    n: int
    epsilon: float
    confidence: float
    found: Literal["n", "epsilon", "error"]
    report_bytes: int
    questions: list[PlannedFormQuestion]
    spendings: Annotated[list[SpendingOption], _told("the best first")]

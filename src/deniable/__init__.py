"""Learn what a crowd does without learning what anyone does.

    import deniable as dn

    survey = dn.krr(symbols=["chrome", "firefox", "safari"], epsilon=2.0)
    report = dn.Client(survey).report("firefox")            # all that leaves the device
    tally = dn.Tally(survey); tally.accumulate(report)      # all that the collector keeps
    estimate = dn.decode(tally)                             # a distribution with honest error bars

Importing this package loads nothing but the standard library: the device's side (`Survey`, `Client`, `Report`) never
needs more. The rest (NumPy, SciPy, Arrow) is loaded when a name that needs it is first used, and where it is not
installed, that name raises `MissingExtra` with the command that installs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from deniable.errors import (
    AlphabetError,
    AuditError,
    BudgetError,
    DataError,
    DecodeError,
    DeliveryError,
    DeniableError,
    EngineError,
    MissingExtra,
    ParticipationError,
    PlanError,
    StateError,
    StoreError,
    SurveyError,
    TallyError,
    TallyMismatch,
    UnfinishedSearch,
    UnknownSymbol,
    WireError,
)
from deniable.reports import Report
from deniable.survey import (
    Form,
    Survey,
    blocks,
    channel,
    design,
    discovery,
    form,
    hadamard,
    krappor,
    krr,
    number,
    olh,
    orappor,
    ordered,
    orr,
    oue,
    projective,
    sensitive,
    subset,
    warner,
)

if TYPE_CHECKING:
    from deniable import lab, theory
    from deniable.client import Client, Ledger
    from deniable.columns import ReportTable
    from deniable.crowds import Crowd, crowd
    from deniable.decoders import (
        Contaminated,
        EmpiricalBayes,
        Estimate,
        Inversion,
        LeastSquares,
        Likelihood,
        Normalized,
        Projected,
        Screening,
        Unconstrained,
        WeightedLeastSquares,
        decode,
        decode_all,
        difference,
        discover,
    )
    from deniable.engines import count, privatize
    from deniable.planner import Plan, plan
    from deniable.relations import Crosstab, Regression, crosstab, regress
    from deniable.simulation import simulate
    from deniable.tally import Tally
    from deniable.tracking import Tracked, track

__version__ = "0.2.0"

# Loaded on first use: name -> the room it lives in.
_LAZY = {
    "Client": "client",
    "Contaminated": "decoders",
    "Crosstab": "relations",
    "Crowd": "crowds",
    "EmpiricalBayes": "decoders",
    "Estimate": "decoders",
    "Inversion": "decoders",
    "LeastSquares": "decoders",
    "Ledger": "client",
    "Likelihood": "decoders",
    "Normalized": "decoders",
    "Plan": "planner",
    "Projected": "decoders",
    "Regression": "relations",
    "ReportTable": "columns",
    "Screening": "decoders",
    "Tally": "tally",
    "Unconstrained": "decoders",
    "WeightedLeastSquares": "decoders",
    "count": "engines",
    "crosstab": "relations",
    "crowd": "crowds",
    "decode": "decoders",
    "decode_all": "decoders",
    "difference": "decoders",
    "discover": "decoders",
    "lab": "",
    "plan": "planner",
    "privatize": "engines",
    "regress": "relations",
    "simulate": "simulation",
    "theory": "",
    "track": "tracking",
    "Tracked": "tracking",
}

__all__ = [
    "AlphabetError",
    "AuditError",
    "BudgetError",
    "Client",
    "Contaminated",
    "Crosstab",
    "Crowd",
    "DataError",
    "DecodeError",
    "DeliveryError",
    "DeniableError",
    "EmpiricalBayes",
    "EngineError",
    "Estimate",
    "Form",
    "Inversion",
    "LeastSquares",
    "Ledger",
    "Likelihood",
    "MissingExtra",
    "Normalized",
    "ParticipationError",
    "Plan",
    "PlanError",
    "Projected",
    "Regression",
    "Report",
    "ReportTable",
    "Screening",
    "StateError",
    "StoreError",
    "Survey",
    "SurveyError",
    "Tally",
    "TallyError",
    "TallyMismatch",
    "Tracked",
    "Unconstrained",
    "UnfinishedSearch",
    "UnknownSymbol",
    "WeightedLeastSquares",
    "WireError",
    "__version__",
    "blocks",
    "channel",
    "count",
    "crosstab",
    "crowd",
    "decode",
    "decode_all",
    "design",
    "difference",
    "discover",
    "discovery",
    "form",
    "hadamard",
    "krappor",
    "krr",
    "lab",
    "number",
    "olh",
    "orappor",
    "ordered",
    "orr",
    "oue",
    "plan",
    "privatize",
    "projective",
    "regress",
    "sensitive",
    "simulate",
    "subset",
    "theory",
    "track",
    "warner",
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = _LAZY[name]
    if room != "client":
        from deniable.errors import require

        require(f"to use deniable.{name}", "analysis")
    value = getattr(import_module(f"deniable.{room}"), name) if room else import_module(f"deniable.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)

"""From settings to tables: which experiments the wanted figures need, run in an order that serves all of them."""

from collections.abc import Iterable

from deniable.lab.experiments import DISTRIBUTIONS, LOSSES, KaryTask, Moments, groups, spans, truth
from deniable.reproduce.grid_search import STUDIES, Study, rows
from deniable.reproduce.pool import Results
from deniable.reproduce.privacy import privacy_rows
from deniable.reproduce.settings import KARY_EPSILONS, KARY_SIZES, KARY_USERS, Settings
from deniable.theory import ml_l1

Row = dict[str, object]

_EVERYTHING = tuple((name, n) for name in DISTRIBUTIONS for n in KARY_USERS)
_COMPARED = tuple((name, n) for name in ("geometric", "dirichlet") for n in (100, 30_000))
# What each figure needs: (distribution, n) of the k-ary experiments, studies with or without parameters, privacy.
_KARY = {
    "decoders": (("geometric", 30_000),),
    "l2_decoders": (("geometric", 30_000),),
    "krr_vs_rappor": _COMPARED,
    "l2_krr_vs_rappor": _COMPARED,
    "all_decoders": _EVERYTHING,
    "all_krr_vs_rappor": _EVERYTHING,
}
_OPEN, _CLOSED, _LARGE, _HUGE = STUDIES
_LINES: dict[str, tuple[tuple[Study, bool], ...]] = {
    "orr_vs_rappor_open": ((_OPEN, False),),
    "open_set_zoom": ((_OPEN, False),),
    "orr_vs_rappor_closed": ((_CLOSED, False),),
    "closed_set_zoom": ((_CLOSED, False),),
    "open_set_params": ((_OPEN, True),),
    "closed_set_params": ((_CLOSED, True),),
    "open_set_params_s4096": ((_LARGE, True),),
    "open_set_params_s4096_u1e8": ((_HUGE, True),),
    "open_set_zoom_s4096": ((_LARGE, False), (_HUGE, False)),
}
_PRIVACY = {
    "privacy_at_n_open": ("open", 256),
    "privacy_at_n_closed": ("closed", 256),
    "privacy_at_n_open_s4096": ("open", 4096),
}


def tables(settings: Settings, results: Results) -> dict[str, list[Row]]:
    """Every table that the wanted figures (all of them, if none is named) and the claims read.

    Parameters
    ----------
    settings : Settings
        What is run.
    results : Results
        Computes what is not there yet.

    Returns
    -------
    dict of str to list of rows
        The tables by name; a row is a dictionary.

    Examples
    --------
    >>> from deniable.reproduce.cache import ResultCache
    >>> with ResultCache(":memory:", seed=0) as store, Results(store) as results:
    ...     found = tables(Settings(figures=("geometric_ground_truth",)), results)
    >>> len(found["population"]), found["kary"]
    (256, [])
    """
    names = settings.figures or ("geometric_ground_truth", *_KARY, *_LINES, *_PRIVACY)
    wanted = dict.fromkeys(pair for name in names for pair in _KARY.get(name, ()))
    studies: dict[Study, bool] = {}
    for study, parameters in (pair for name in names for pair in _LINES.get(name, ())):
        studies[study] = studies.get(study, False) or parameters
    targets = [_PRIVACY[name] for name in names if name in _PRIVACY]
    results.expect(_expected(settings, wanted, studies, targets))

    found: dict[str, list[Row]] = {name: [] for name in ("kary", "lines", "baselines", "privacy", "screen")}
    found["population"] = [{"symbol": s, "probability": float(p)} for s, p in enumerate(truth(256))]
    found["kary"] = kary_rows(wanted, settings, results)
    if studies:
        found["lines"], found["screen"] = rows(list(studies.items()), settings, results)
    for symbols, n in dict.fromkeys((study.symbols, study.n) for study in studies):
        p = truth(symbols)
        found["baselines"] += [
            {"S": symbols, "n": n, "name": "empirical", "loss": ml_l1(p, n, exact=True)},
            {"S": symbols, "n": n, "name": "uniform", "loss": float(abs(p - 1 / symbols).sum())},
        ]
    if targets:
        privacy, screen = privacy_rows(targets, settings, results)
        found["privacy"] = privacy
        found["screen"] += [row for row in screen if row not in found["screen"]]
    return found


def _expected(
    settings: Settings, kary: Iterable[tuple[str, int]], studies: dict[Study, bool], targets: list[tuple[str, int]]
) -> float:
    """The rough cost of all stages, so that the time left includes those that have not begun."""
    cost = sum(task.cost for task in _kary_tasks(kary, settings))
    for study, parameters in studies.items():
        quick, full = (30, 400) if study.symbols == 256 else (70, 1400)
        cost += (full if settings.full else quick) * (1.0 if parameters else 0.25)
    for _, symbols in targets:
        cost += (300 if symbols == 256 else 600) if settings.full else 40
    return cost * (10 if settings.exhaustive else 1)


def _kary_tasks(wanted: Iterable[tuple[str, int]], settings: Settings) -> list[KaryTask]:
    asked = set(wanted)
    found = []
    for n in KARY_USERS:
        for group in groups():
            names = tuple(name for name in group if (name, n) in asked)
            if names:
                found += [
                    KaryTask(n, size, names, KARY_EPSILONS, *span)
                    for size in KARY_SIZES
                    for span in spans(settings.evaluations, size)
                ]
    return found


def kary_rows(wanted: Iterable[tuple[str, int]], settings: Settings, results: Results) -> list[Row]:
    """The table `kary`: experiments 2 and 3."""
    tasks = _kary_tasks(wanted, settings)
    numbers = results(tasks, "k-ary decoders")
    parts: dict[tuple[str, int, int], list[tuple[int, list[float]]]] = {}
    for task in tasks:
        for name in task.distributions:
            found = numbers[task.key(name)]
            parts.setdefault((name, task.n, task.size), []).append((task.stop - task.start, found))
    table: list[Row] = []
    for name, n, size in sorted(parts, key=lambda part: (DISTRIBUTIONS.index(part[0]), *part[1:])):
        moments = Moments.gather(parts[name, n, size], len(KARY_EPSILONS))
        for place, epsilon in enumerate(KARY_EPSILONS):
            for kind, loss in enumerate(LOSSES):
                row: Row = {"distribution": name, "n": n, "k": size, "epsilon": epsilon, "loss": loss}
                table.append(row | {"evaluations": moments.evaluations} | _compared(moments, place, kind))
    return table


def _compared(moments: Moments, epsilon: int, loss: int) -> Row:
    means = moments.means(epsilon, loss)

    def best(*names: str) -> str:
        return min(names, key=means.__getitem__)

    row: Row = dict(means)
    for family, rivals in (("krr", ("normalised", "ml")), ("krappor", ("standard", "normalised"))):
        rival, own = best(*(f"{family}_{name}" for name in rivals)), f"{family}_projected"
        row |= {
            f"{family}_gain": means[own] - means[rival],
            f"{family}_gain_se": moments.standard_error(epsilon, loss, own, rival),
            f"{family}_rival": rival.partition("_")[2],
        }
    krr = best("krr_standard", "krr_normalised", "krr_projected", "krr_ml")
    krappor = best("krappor_standard", "krappor_normalised", "krappor_projected")
    return row | {
        "krr_best": krr.partition("_")[2],
        "krappor_best": krappor.partition("_")[2],
        "difference": means[krr] - means[krappor],
        "difference_se": moments.standard_error(epsilon, loss, krr, krappor),
    }

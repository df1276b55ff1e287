"""Every figure, in the paper's order, with its caption in our own words.

Paper: all of its figures, and three that it describes without printing them (label "ours").
"""

from collections.abc import Callable
from functools import partial

from deniable.reproduce.figures.base import EPSILON, Figure, Rows
from deniable.reproduce.figures.captions import BANDS, CELL_NOTES, CELLS, EUCLIDEAN, LINE_NOTES, SMALL
from deniable.reproduce.figures.heatmaps import decoder_rows, grid_plot, mechanism_rows, small_plot
from deniable.reproduce.figures.lines import Panel, curve_plot, curve_rows, parameter_plot, parameter_rows
from deniable.reproduce.figures.population import population_plot, population_rows
from deniable.reproduce.figures.privacy import privacy_plot, privacy_rows

_MILLION = 10**6  # users
_FULL = Panel("S = 256, n = 1,000,000", 256, _MILLION)
_ZOOM = (
    Panel(f"All {EPSILON} (logarithmic axes)", 256, _MILLION),
    Panel(f"{EPSILON} up to 2 (linear axes)", 256, _MILLION, low=True),
)
_LARGE = (Panel("n = 1,000,000", 4096, _MILLION), Panel("n = 100,000,000", 4096, 10**8))
_LOG = "Both axes are logarithmic."
_BOTH = "Left the whole range, right the private end alone."
_S256 = (
    "The paper's caption says S = 4096, but its text cites this figure for S = 256, and a later figure has the same "
    "caption: 256 is meant. "
)


def _decoders(name: str, loss: str) -> Figure:
    return Figure(
        name=name,
        label=f"fig:{name}",
        title=f"What projecting onto the simplex gains, in {loss.upper()}",
        caption=f"Mean {loss.upper()} loss of the projected decoder minus that of the next best decoder, for k-RR "
        "(left: the better of normalised and maximum likelihood) and k-RAPPOR (right: the better of standard and "
        f"normalised). Geometric population, 30,000 users. {CELLS}",
        notes=f"The paper does not give the number of users of this figure; ours is 30,000. "
        f"{EUCLIDEAN if loss == 'l2' else ''}{CELL_NOTES}",
        tables=("kary",),
        data=partial(decoder_rows, loss=loss, distributions=("geometric",), ns=(30000,)),
        plot=partial(grid_plot, boundary=False),
    )


def _mechanisms(name: str, loss: str) -> Figure:
    return Figure(
        name=name,
        label=f"fig:{name}",
        title=f"k-RR against k-RAPPOR, each with its best decoder, in {loss.upper()}",
        caption=f"Mean {loss.upper()} loss of the best k-RR decoder minus that of the best k-RAPPOR decoder: blue is "
        "where k-RR wins. Above, the geometric population (skewed); below, populations drawn from a Dirichlet (flat); "
        f"100 users on the left, 30,000 on the right. Below the black staircase k < exp({EPSILON}): there the paper "
        f"finds k-RR better. {CELLS}",
        notes=f"The best decoder is the one with the smallest mean in that cell. "
        f"{EUCLIDEAN if loss == 'l2' else ''}{CELL_NOTES}",
        tables=("kary",),
        data=partial(mechanism_rows, loss=loss, distributions=("geometric", "dirichlet"), ns=(100, 30000)),
        plot=partial(grid_plot, boundary=True),
    )


def _curves(name: str, label: str, alphabet: str, title: str, panels: tuple[Panel, ...], axes: str) -> Figure:
    which = {
        "open": "O-RR and O-RAPPOR on an open alphabet (hashed symbols)",
        "closed": "O-RR and O-RAPPOR on a closed alphabet (permuted symbols), beside k-RR and k-RAPPOR",
    }
    return Figure(
        name=name,
        label=label,
        title=title,
        caption=f"{which[alphabet]}, S = {panels[0].S} symbols: loss by {EPSILON}, with k, C and h chosen for each "
        f"point. {axes} {BANDS} Dotted: the expected loss of counting the raw symbols, with no privacy, and that of "
        "guessing the uniform distribution.",
        notes=LINE_NOTES,
        tables=("lines", "baselines"),
        data=partial(curve_rows, alphabet=alphabet, panels=panels),
        plot=partial(curve_plot, panels=panels),
    )


def _parameters(name: str, label: str, alphabet: str, symbols: int, n: int, more: str = "") -> Figure:
    return Figure(
        name=name,
        label=label,
        title=f"One parameter held fixed: {alphabet} alphabet, S = {symbols}, n = {n:,}",
        caption=f"Loss by {EPSILON} with the number of cells k, of cohorts C or of hashes h held at the value that "
        "the colour tells, and the others chosen for each point. Both axes are logarithmic and the same in all "
        f"panels; O-RR has no h. {BANDS}",
        notes=f"{more}{LINE_NOTES}",
        tables=("lines",),
        data=partial(parameter_rows, alphabet=alphabet, symbols=symbols, n=n),
        plot=parameter_plot,
    )


def _privacy(name: str, alphabet: str, symbols: int) -> Figure:
    return Figure(
        name=name,
        label=f"fig:{name}",
        title=f"The privacy that a wanted loss leaves: {alphabet} alphabet, S = {symbols}",
        caption=f"The smallest {EPSILON} at which the median L1 loss falls to the target, by the number of users n; "
        "lower is more private, and both axes are logarithmic. Bars are 99 % intervals. A point is absent where the "
        f"target needs an {EPSILON} above 10 (too few users) or below 0.1.",
        notes="Which points are out of range is told by the column `reached` of the table privacy. The paper does not "
        f"say which n it used. {LINE_NOTES}",
        tables=("privacy",),
        data=partial(privacy_rows, alphabet=alphabet, symbols=symbols),
        plot=privacy_plot,
    )


def _everywhere(name: str, title: str, blue: str, data: Callable[..., Rows]) -> Figure:
    return Figure(
        name=name,
        label="ours",
        title=f"{title} on every population and number of users",
        caption=f"What the paper says it tried and does not print: blue is where {blue}. {SMALL}",
        notes=CELL_NOTES,
        tables=("kary",),
        data=partial(data, loss="l1"),
        plot=small_plot,
    )


_POPULATION = Figure(
    name="geometric_ground_truth",
    label="fig:geometric_ground_truth",
    title="The population of the hashed experiments",
    caption="Probability of each of the S = 256 symbols: geometric with mean S / 5, cut off at S, scaled to sum to 1.",
    notes="S / 5 is the mean before the cut; after it the mean is 49.4 instead of 51.2.",
    tables=("population",),
    data=population_rows,
    plot=population_plot,
)

_BEATS = "the best k-RR decoder beats the best k-RAPPOR decoder"
_OPEN, _CLOSED = "O-RR against O-RAPPOR, open alphabet", "O-RR against O-RAPPOR, closed alphabet"
_IN_ORDER = (
    _decoders("decoders", "l1"),
    _mechanisms("krr_vs_rappor", "l1"),
    _curves("orr_vs_rappor_open", "fig:orr_vs_rappor:open", "open", _OPEN, (_FULL,), _LOG),
    _curves("orr_vs_rappor_closed", "fig:orr_vs_rappor:closed", "closed", _CLOSED, (_FULL,), _LOG),
    _POPULATION,
    _decoders("l2_decoders", "l2"),
    _mechanisms("l2_krr_vs_rappor", "l2"),
    _everywhere("all_decoders", "Projection", "the projected decoder beats the next best one", decoder_rows),
    _everywhere("all_krr_vs_rappor", "k-RR against k-RAPPOR", _BEATS, mechanism_rows),
    _curves("open_set_zoom", "fig:open_set_zoom", "open", f"{_OPEN}: the private end", _ZOOM, _BOTH),
    _curves("closed_set_zoom", "fig:closed_set_zoom", "closed", f"{_CLOSED}: the private end", _ZOOM, _BOTH),
    _privacy("privacy_at_n_open", "open", 256),
    _privacy("privacy_at_n_closed", "closed", 256),
    _parameters("open_set_params", "fig:open_set_params", "open", 256, _MILLION, _S256),
    _parameters("closed_set_params", "fig:closed_set_params", "closed", 256, _MILLION, _S256),
    _curves("open_set_zoom_s4096", "fig:open_set_zoom_s4096", "open", f"{_OPEN} of 4096 symbols", _LARGE, _LOG),
    _privacy("privacy_at_n_open_s4096", "open", 4096),
    _parameters("open_set_params_s4096", "fig:open_set_params_s4096", "open", 4096, _MILLION),
    _parameters("open_set_params_s4096_u1e8", "fig:open_set_params_s4096_u1e8", "open", 4096, 10**8),
)
FIGURES: dict[str, Figure] = {figure.name: figure for figure in _IN_ORDER}

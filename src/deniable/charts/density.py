"""A density with a band: the chart of numbers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from deniable.charts.base import BAR, INK, RULE, TRUTH, figure_text, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt

_MARKS, _APART = 8, 14  # pixels from the top to the first figure, and from one to the next


def density_chart(
    edges: Sequence[float],
    shares: Sequence[float],
    bands: Sequence[tuple[float, float, float, float]],
    *,
    figures: Mapping[str, tuple[float, float, float]] | None = None,
    level: float = 0.95,
    title: str | None = None,
    subtitle: str | None = None,
) -> "alt.LayerChart":
    """The density of a quantity as a histogram, and the intervals of wider ranges as boxes over it.

    Single bins are known too badly to have intervals that say anything, so the band is one of ranges of many bins.

    Parameters
    ----------
    edges : sequence of float
        The edges of the bins, one more than bins.
    shares : sequence of float
        The share of each bin.
    bands : sequence of tuples
        Of each range its ends, and the lower and upper limit of its share.
    figures : mapping, optional
        Numbers to mark, such as the mean and the median, by name: each with the limits of its interval.
    level : float
        The coverage of the intervals, for the labels.
    title, subtitle : str, optional
        The heading, and a line under it.

    Returns
    -------
    altair.LayerChart
        Shown by a notebook, written by `save_chart`.

    Raises
    ------
    DeniableError
        If there is not one edge more than shares.

    Examples
    --------
    >>> chart = density_chart([0, 1, 2], [0.4, 0.6], [(0, 2, 0.9, 1.0)])
    >>> [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    ['rect', 'rect']
    """
    require("to draw a chart", "charts")
    import altair as alt

    if len(edges) != len(shares) + 1 or not shares:
        raise DeniableError(f"a density must have one edge more than shares, got {len(edges)} and {len(shares)}")
    band = f"{100 * level:g} % interval of a range"
    kinds = {"density": BAR, band: RULE} | dict(zip(figures or {}, (INK, TRUTH), strict=False))
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
        legend=alt.Legend(title=None, orient="top", symbolSize=140),
    )
    rows: list[dict[str, Any]] = [
        {"x": left, "to": right, "floor": 0.0, "density": share / (right - left), "kind": "density"}
        for left, right, share in zip(edges, edges[1:], shares, strict=False)
    ]
    rows += [{"x": a, "to": b, "low": low / (b - a), "high": high / (b - a), "kind": band} for a, b, low, high in bands]
    across = alt.X("x:Q", title="answer", scale=alt.Scale(domain=[edges[0], edges[-1]], nice=False))
    up = alt.Y(
        "density:Q",
        title="share of respondents per unit",
        axis=alt.Axis(domain=False, ticks=False, format="~g"),
        scale=alt.Scale(domainMin=0),
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(x=across, x2="to:Q", color=colour)
    bins = base.transform_filter("isValid(datum.density)").mark_rect(opacity=0.8).encode(y=up, y2="floor:Q")
    ranges = base.transform_filter("isValid(datum.low)").mark_rect(opacity=0.25).encode(y=alt.Y("low:Q"), y2="high:Q")
    layers = [bins, ranges]
    if figures:
        marked = [
            {
                "kind": name,
                "x": value,
                "low": low,
                "high": high,
                "value": f"{figure_text(value)} ({figure_text(low)} to {figure_text(high)})",
            }
            for name, (value, low, high) in figures.items()
        ]
        ticks = alt.Chart(alt.InlineData(values=marked)).encode(
            color=colour, tooltip=[alt.Tooltip("kind:N", title="figure"), alt.Tooltip("value:N", title="estimate")]
        )
        for place, name in enumerate(figures):
            one = ticks.transform_filter(f"datum.kind == '{name}'")
            height = alt.value(_MARKS + _APART * place)
            layers.append(one.mark_rule(strokeDash=[4, 3], strokeWidth=1.5).encode(x=across))
            layers.append(one.mark_rule(strokeWidth=4, clip=True).encode(x=alt.X("low:Q"), x2="high:Q", y=height))
            layers.append(one.mark_point(filled=True, opacity=1, size=110).encode(x=across, y=height))
    described = f"Estimated density of {len(shares)} bins with {100 * level:g} % intervals of {len(bands)} ranges"
    return styled(*layers, described=described, title=title, subtitle=subtitle)

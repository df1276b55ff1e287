"""A density with a band: the chart of numbers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from deniable.charts.base import BAR, RULE, styled
from deniable.errors import DeniableError, require

if TYPE_CHECKING:
    import altair as alt


def density_chart(
    edges: Sequence[float],
    shares: Sequence[float],
    bands: Sequence[tuple[float, float, float, float]],
    *,
    level: float = 0.95,
    title: str | None = None,
    subtitle: str | None = None,
) -> "alt.LayerChart":
    """The density of a quantity as an area, and the intervals of wider ranges as boxes over it.

    Single bins are known too badly to have intervals that say anything, so the band is one of ranges of many bins.

    Parameters
    ----------
    edges : sequence of float
        The edges of the bins, one more than bins.
    shares : sequence of float
        The share of each bin.
    bands : sequence of tuples
        Of each range its ends, and the lower and upper limit of its share.
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
    ['area', 'rect']
    """
    require("to draw a chart", "charts")
    import altair as alt

    if len(edges) != len(shares) + 1 or not shares:
        raise DeniableError(f"a density must have one edge more than shares, got {len(edges)} and {len(shares)}")
    band = f"{100 * level:g} % interval of a range"
    kinds = {"density": BAR, band: RULE}
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
        legend=alt.Legend(title=None, orient="top", symbolSize=140),
    )
    curve: list[dict[str, Any]] = []
    for left, right, share in zip(edges, edges[1:], shares, strict=False):
        height = share / (right - left)
        curve += [{"x": left, "density": height, "kind": "density"}, {"x": right, "density": height, "kind": "density"}]
    boxes = [{"x": a, "to": b, "low": low / (b - a), "high": high / (b - a), "kind": band} for a, b, low, high in bands]
    across = alt.X("x:Q", title="answer", scale=alt.Scale(domain=[edges[0], edges[-1]], nice=False))
    up = alt.Y(
        "density:Q", title="share of respondents per unit", axis=alt.Axis(domain=False, ticks=False, format="~g")
    )
    area = alt.Chart(alt.InlineData(values=curve)).mark_area(opacity=0.8).encode(x=across, y=up, color=colour)
    rects = (
        alt.Chart(alt.InlineData(values=boxes))
        .mark_rect(opacity=0.25)
        .encode(x=across, x2="to:Q", y=alt.Y("low:Q"), y2="high:Q", color=colour)
    )
    described = f"Estimated density of {len(shares)} bins with {100 * level:g} % intervals of {len(boxes)} ranges"
    return styled(area, rects, described=described, title=title, subtitle=subtitle)

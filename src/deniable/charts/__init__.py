"""One chart grammar for the whole project: Altair (Vega-Lite), rendered offline by vl-convert.

A chart is a value: `estimate_chart` describes it, a notebook shows it, `save_chart` writes it as SVG, PNG, HTML or
Vega-Lite JSON. The JavaScript that draws it ships inside the Python package, so nothing is fetched from anywhere, and
an HTML file carries its own copy. Colours are from Okabe and Ito's palette, told apart by people who see few colours;
shape and direction carry the same distinctions.
"""

from deniable.charts.bars import estimate_chart
from deniable.charts.base import DARK, FORMATS, chart_bytes, chart_format, figure_text, javascript, save_chart, stacked
from deniable.charts.changes import difference_chart, trend_chart
from deniable.charts.counts import counts_chart
from deniable.charts.crosstab import crosstab_chart
from deniable.charts.curves import curves_chart
from deniable.charts.density import density_chart
from deniable.charts.honest import crowd_chart
from deniable.charts.plan import plan_chart
from deniable.charts.power import power_chart
from deniable.charts.templates import templates

__all__ = [
    "DARK",
    "FORMATS",
    "chart_bytes",
    "chart_format",
    "counts_chart",
    "crosstab_chart",
    "crowd_chart",
    "curves_chart",
    "density_chart",
    "difference_chart",
    "estimate_chart",
    "figure_text",
    "javascript",
    "plan_chart",
    "power_chart",
    "save_chart",
    "stacked",
    "templates",
    "trend_chart",
]

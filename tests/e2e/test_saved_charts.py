"""Charts that the command line saves as HTML: opened from the disk, without a network, under their own policy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

import deniable as dn
from deniable.charts import curves_chart, estimate_chart, save_chart, trend_chart
from tests.e2e.conftest import PATIENCE

pytestmark = pytest.mark.slow

SURVEY: dn.Survey = dn.krr(["never", "once", "</script><script>window.hacked=1</script>"], epsilon=2)
DAY = {"name": "never", "estimate": 0.3, "low": 0.2, "high": 0.4, "changed": False}


def estimated(*counts: int) -> dn.Estimate:
    return dn.decode(dn.Tally(SURVEY, [list(counts)]))


CHARTS: dict[str, Callable[[], Any]] = {
    "estimate": lambda: estimated(500, 300, 200).plot(raw=True),
    "difference": lambda: dn.difference(estimated(500, 300, 200), estimated(300, 500, 200)).plot(),
    "plan": lambda: dn.plan(n=10_000, symbols=5, max_l1=0.1).chart(),
    "truth": lambda: estimate_chart(["a"], [0.5], [[0.4, 0.6]], truth=[0.45]),
    "trend": lambda: trend_chart([DAY | {"window": "2026-11-15"}, DAY | {"window": "2026-11-16", "changed": True}]),
    "curves": lambda: curves_chart(
        [{"mechanism": "k-RR", "epsilon": e, "error": 1 / e} for e in (1.0, 2.0)], epsilon=1.5
    ),
}


@pytest.mark.parametrize("name", CHARTS)
def test_a_saved_page_draws_itself(name: str, browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "chart.html"
    save_chart(CHARTS[name](), path)
    context = browser.new_context(offline=True)
    context.set_default_timeout(PATIENCE)
    faults: list[str] = []
    asked: list[str] = []
    try:
        page = context.new_page()
        page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        page.locator("#chart svg .mark-group").first.wait_for()
        assert page.locator("#chart svg path").count() > 3
        assert page.evaluate("window.hacked") is None
        assert faults == []
        assert asked == [path.as_uri()], "one file is all"
    finally:
        context.close()

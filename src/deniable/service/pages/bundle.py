"""The process that `Library` starts: it makes the charts' JavaScript and writes it to its standard output."""

import contextlib
import json
import os
import sys
from pathlib import Path


def make() -> dict[str, str]:
    """The files, by name.

    >>> sorted(make())
    ['charts.json', 'vega.js']
    """
    from deniable.charts import javascript, templates
    from deniable.service.pages.texts import chart_words

    charts = templates() | {"words": chart_words()}
    return {"vega.js": javascript(), "charts.json": json.dumps(charts, ensure_ascii=False)}


if __name__ == "__main__":
    os.nice(10)  # uploads come first
    with contextlib.suppress(OSError):  # where memory runs out, this is what goes, and not the collector
        Path("/proc/self/oom_score_adj").write_text("1000")
    made = json.dumps(make()).encode()
    with contextlib.suppress(BrokenPipeError):  # the collector has ended meanwhile
        sys.stdout.buffer.write(made)
        sys.stdout.buffer.flush()

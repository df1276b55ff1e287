"""The process that `Library` starts: it makes the charts' JavaScript and writes it to its standard output."""

import json
import sys

__all__ = ["make"]


def make() -> dict[str, str]:
    """The files, by name. vegaEmbed carries the interpreter that evaluates Vega's expressions without `eval`.

    >>> sorted(make())
    ['charts.json', 'vega.js']
    """
    import vl_convert

    from deniable.charts import templates

    library = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return {"vega.js": library, "charts.json": json.dumps(templates(), ensure_ascii=False)}


if __name__ == "__main__":
    json.dump(make(), sys.stdout)

"""Counters for Prometheus: what was taken and refused, and how the store is. Nothing about who sent it."""

from collections import Counter

_LONGEST = 100  # characters of a name
_HELP = {
    "deniable_requests_total": ("counter", "Requests answered, by route and status."),
    "deniable_reports_total": ("counter", "Reports by survey and outcome since this process started."),
    "deniable_waiting_reports": ("gauge", "Reports that wait for the next commit."),
    "deniable_open_ids": ("gauge", "Report ids that are kept to find duplicates."),
    "deniable_store_ready": ("gauge", "1 if the store can be written."),
    "deniable_clock_trusted": ("gauge", "0 once the clock has jumped by an hour or more; nothing is purged then."),
}


class Metrics:
    """Counts by labels, printed in Prometheus' text format.

    >>> metrics = Metrics()
    >>> metrics.requests["upload", 200] += 2
    >>> print(metrics.text({"deniable_store_ready": 1}).splitlines()[2])
    deniable_requests_total{route="upload",status="200"} 2

    Each survey has one name, so naming it adds no series; its digest tells those apart that share one.
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.reports: Counter[tuple[str, str]] = Counter()
        self.names: dict[str, str] = {}

    def name(self, digest: str, name: str) -> None:
        """Tell what a survey is called; it has a series from then on, also without a report."""
        self.names[digest] = name
        self.reports[digest, "accepted"] += 0

    def forget(self, digest: str) -> None:
        """Drop the series of a survey that was deleted."""
        self.names.pop(digest, None)
        for key in [key for key in self.reports if key[0] == digest]:
            del self.reports[key]

    def text(self, gauges: dict[str, float]) -> str:
        samples = {
            "deniable_requests_total": [
                (f'{{route="{route}",status="{status}"}}', count)
                for (route, status), count in sorted(self.requests.items())
            ],
            "deniable_reports_total": [
                (f'{{survey="{digest}",name="{_name(self.names.get(digest, ""), digest)}",outcome="{outcome}"}}', count)
                for (digest, outcome), count in sorted(self.reports.items())
            ],
        }
        lines = []
        for name, (kind, text) in _HELP.items():
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{labels} {value}" for labels, value in samples.get(name, [])]
            if name in gauges:
                lines.append(f"{name} {gauges[name]:g}")
        return "\n".join(lines) + "\n"


def _name(name: str, digest: str) -> str:
    """What a survey is called, as the value of a label: one line, cut, escaped as the format asks. A survey without a
    name is called by the start of its digest, as in the collector's sentences.

    >>> print(_name('Say "no"\\nor not?', ""), _name("", "3f9a1c22d0"))
    Say \\"no\\" or not? 3f9a1c22
    """
    line = " ".join(name.split())
    line = "".join(character if character.isprintable() else "\ufffd" for character in line)
    if len(line) > _LONGEST:
        line = line[: _LONGEST - 1] + "…"
    return line.replace("\\", r"\\").replace('"', r"\"") or digest[:8]

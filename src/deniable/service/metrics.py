"""Counters for Prometheus: what was taken and refused, and how the store is. Nothing about who sent it."""

from collections import Counter

__all__ = ["Metrics"]

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
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.reports: Counter[tuple[str, str]] = Counter()

    def text(self, gauges: dict[str, float]) -> str:
        samples = {
            "deniable_requests_total": [
                (f'{{route="{route}",status="{status}"}}', count)
                for (route, status), count in sorted(self.requests.items())
            ],
            "deniable_reports_total": [
                (f'{{survey="{digest}",outcome="{outcome}"}}', count)
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

"""Count on Spark: each partition is counted as Arrow batches, and the partial counts are added up in a tree.

Only `privatize` sees answers. Executors need this package, NumPy and Arrow; the core never imports Spark.
"""

from deniable.engines.spark.counting import count
from deniable.engines.spark.privatizing import privatize
from deniable.engines.spark.report_files import count_files
from deniable.engines.spark.streaming import count_stream, read_windows

__all__ = ["count", "count_files", "count_stream", "privatize", "read_windows"]

"""Measure some tables of the comparison again, and put them in the place of those of the last `make bench`.

python -m benchmarks.peers TABLE...       then python -m benchmarks.page
"""

import sys

from benchmarks.peers import FIGURES, measured
from benchmarks.peers.figures import read, write


def main(*names: str) -> None:
    for name in names:
        found = list(measured([name]))
        again = {figure.cell.table for figure in found}
        write(FIGURES, [figure for figure in read(FIGURES) if figure.cell.table not in again] + found)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Speed and memory, as ratios to something measured in the same run. `make bench`; see `__main__` for the table."""

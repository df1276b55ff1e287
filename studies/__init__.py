"""Studies that were run once and can be run again: each writes a page and a table under docs/results."""

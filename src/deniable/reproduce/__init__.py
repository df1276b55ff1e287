"""`deniable reproduce`: every experiment of the paper, its figures, and its claims checked against the numbers."""

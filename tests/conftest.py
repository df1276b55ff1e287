"""One hypothesis profile for the whole suite: the same examples on every run, and no time limit on a busy machine."""

from hypothesis import settings

settings.register_profile("deniable", deadline=None, derandomize=True, database=None, max_examples=100)
settings.load_profile("deniable")

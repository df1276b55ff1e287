"""A mechanism that the project does not have, file by file as CONTRIBUTING's "A new mechanism" lists them.

`band` is the type alone; each of the other files registers it in one room. `tests/docs/test_new_mechanism.py` copies
them to a package of their own and uses the mechanism from end to end.
"""

"""Two mechanisms that the project does not have, file by file as CONTRIBUTING's "A new mechanism" lists them.

`band.Band` is a channel of any shape, `plain.Plain` hit or miss with nothing that others have. The types are in files
of their own; each other file registers them in one room. `tests/docs/test_new_mechanism.py` copies all of them to a
package and uses the mechanisms from end to end.
"""

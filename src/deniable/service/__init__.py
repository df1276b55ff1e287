"""The collector: an HTTP door to tallies, and nothing that could hold a true answer.

What it reads from a request is a report id, a day and a packed report; what it keeps is ids (until they may be
forgotten) and counts. It never imports `client`, and everything between the socket and the store sees only `survey`,
`reports` and `tally`; decoding happens in a process of its own.
"""

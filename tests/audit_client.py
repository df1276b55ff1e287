"""A client for `deniable audit`: `python -m tests.audit_client SURVEY [FORM]`. Also functions for `--python`."""

import base64
import sys
from collections.abc import Sequence

import deniable as dn

SURVEY = dn.krr(symbols=["no", "yes", "maybe"], epsilon=2)


def honest(values: Sequence[object]) -> list[bytes]:
    client = dn.Client(SURVEY)
    return [client.report(value).pack() for value in values]


def truthful(values: Sequence[object]) -> list[bytes]:
    assert SURVEY.symbols is not None
    return [dn.Report(SURVEY, 0, bytes([SURVEY.symbols.index(value)])).pack() for value in values]


def main(survey_path: str, form: str = "hex") -> int:
    survey = dn.Survey.load(survey_path)
    numbers = {str(symbol): symbol for symbol in survey.symbols or ()}
    for count, line in enumerate(sys.stdin):
        client = dn.Client(survey)
        values = [numbers.get(text, text) for text in line.rstrip("\n").split("\t")]
        reports = [client.report(value).pack() for value in values]
        if form == "once" and len(reports) == 2:
            reports = reports[:1]
        if form == "stops" and count == 500:
            return 3
        if form == "short" and count == 500:
            return 0
        if form == "chatty" and count == 7:
            print("hello")
        if form == "versions" and values[0] in ("no", "yes"):
            reports = [b"\x02" + report[1:] for report in reports[:: 1 + count % 2]] * (1 + count % 2)
        texts = [base64.b64encode(r).decode() if form == "base64" else r.hex() for r in reports]
        print("\t".join(texts))
    if form == "more":
        print(texts[0])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

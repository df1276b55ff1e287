"""Surveys and reports that every client must refuse, each with a part of the sentence that says why."""

import json
from collections.abc import Callable

from deniable.mechanisms import KRR, Subset
from deniable.survey import Survey

Fields = dict[str, dict[str, object]]


def bad_surveys(good: dict[str, Survey]) -> list[object]:
    """One change to a good survey each; the digest is checked last, so it need not be forged."""
    found: list[object] = []

    def text(reason: str, broken: str) -> None:
        found.append({"reason": reason, "text": broken})

    def change(title: str, reason: str, edit: Callable[[Fields], object]) -> None:
        fields = json.loads(good[title].to_json())
        edit(fields)
        text(reason, json.dumps(fields, separators=(",", ":")))

    def put(title: str, part: str, name: str, value: object, reason: str) -> None:
        change(title, reason, lambda fields: fields[part].__setitem__(name, value))

    def top(name: str, value: object, reason: str) -> None:
        change("krr", reason, lambda fields: fields.update({name: value}))  # type: ignore[dict-item]

    whole = good["krr"].to_json()
    text("survey must be JSON text: ", "")
    text("survey must be JSON text: ", whole[:-1])
    text("survey must be JSON text: ", whole + "}")
    text("survey must be an object, got list", "[]")
    text("survey fields must not repeat", whole[:-1] + ',"name":"fruit"}')
    text("survey fields must not repeat", whole.replace('"cells":5', '"cells":9,"cells":5'))
    text("survey fields must not repeat", whole.replace('"cells":5', '"cells":5,"c\\u0065lls" : 5'))
    text("survey fields must not repeat", whole.replace('{"bytes":"ff"}', '{"bytes":"00","bytes":"ff"}'))
    text("survey numbers must be integers, got '5.0'; epsilon is text", whole.replace('"cells":5', '"cells":5.0'))
    text("survey numbers must be integers, got 'NaN'", whole.replace('"cells":5', '"cells":NaN'))
    text("survey numbers must be integers, got '1e999'", whole.replace('"cells":5', '"cells":1e999'))
    change("krr", "survey must have the field 'digest'", lambda fields: fields.pop("digest"))
    change("krr", "mechanism must have the field 'keep'", lambda fields: fields["mechanism"].pop("keep"))
    top("colour", "red", "survey must not have the field 'colour'; this version does not know it")
    put("krr", "mechanism", "delta", "0", "mechanism must not have the field 'delta'")
    put("krr", "encoding", "seed", "00", "encoding must not have the field 'seed'")
    put("orr, open", "alphabet", "symbols", ["a", "b"], "alphabet must not have the field 'symbols'")
    put("orr, open", "alphabet", "other", "a", "alphabet must not have the field 'other'")

    top(
        "format",
        "deniable-survey/2",
        "format must be 'deniable-survey/1', got 'deniable-survey/2'; this version reads no other",
    )
    top("format", 1, "survey field 'format' must be text, got int")
    top("name", 5, "survey field 'name' must be text, got int")
    top("name", "x" * 501, "name must be text of at most 500 characters")
    top("name", "\ud800", "name must be valid Unicode text, got one with a lone surrogate")
    top("name", "vegetables", "the survey was altered after it was made")
    top("digest", good["krr"].digest.upper(), "the survey was altered after it was made")
    top("digest", "", "the survey was altered after it was made")
    top("alphabet", [], "alphabet kind must be 'open', 'closed' or 'number', got 'None'")
    top("encoding", "direct", "encoding kind must be 'direct', 'hashed', 'permuted', 'hadamard', 'projective', 'neighb")
    top("mechanism", None, "mechanism kind must be 'krr', 'bitflip', 'subset', 'sensitive', 'sensitive-design', ")

    put("krr", "alphabet", "kind", "ajar", "alphabet kind must be 'open', 'closed' or 'number', got 'ajar'")
    put("krr", "alphabet", "symbols", "apple", "alphabet symbols must be a list, got str")
    put("krr", "alphabet", "symbols", ["a"], "symbols must number from 2 to 16777216, got 1")
    put("krr", "alphabet", "symbols", ["a", "a"], "symbols must be distinct after NFC normalisation, got 'a' more than")
    put("krr", "alphabet", "symbols", ["a", None], "symbols must be text, integers or tagged bytes")
    put("krr", "alphabet", "symbols", ["a", True], "symbols must be text, integers or tagged bytes")
    put("krr", "alphabet", "symbols", ["a", {"int": 2**60}], "symbols must be text, integers or tagged bytes")
    put("krr", "alphabet", "symbols", ["a", "\ud800"], "symbols must be text, integers or tagged bytes")
    put("krr", "alphabet", "symbols", ["a", {"bytes": "f"}], "symbols must be text, integers or tagged bytes")
    for odd in ("e\u0301", 2**53, {"int": "5"}, {"bytes": "FF"}, {"bytes": "ff 00"}, {"int": "+1152921504606846976"}):
        put("krr", "alphabet", "symbols", ["a", odd], "symbols must be in canonical form: NFC text, plain integers")
    put("krr", "alphabet", "other", "kiwi", "other must be one of the symbols")

    put("krr", "encoding", "kind", "plain", "'projective', 'neighbours' or 'prefixes', got 'plain'")
    put("krr", "encoding", "cells", "5", "encoding field 'cells' must be an integer, got str")
    put("krr", "encoding", "cells", True, "encoding field 'cells' must be an integer, got bool")
    put("krr", "alphabet", "symbols", [1, 2], "a direct encoding of 5 cells must have a closed alphabet of that many")
    put("orr, open", "encoding", "cells", 1, "cells must be at least 2, got 1")
    put("orr, open", "encoding", "cells", 2**24 + 1, "cells must be at most 16777216, got 16777217")
    put("orr, open", "encoding", "cohorts", 0, "cohorts must be at least 1, got 0")
    put("orr, open", "encoding", "cohorts", 2**20 + 1, "cohorts must be at most 1048576, got 1048577")
    put("orr, open", "encoding", "hashes", 0, "hashes must be at least 1, got 0")
    put("orr, open", "encoding", "hashes", 65, "hashes must be at most 64, got 65")
    put("orr, open", "encoding", "hashes", 2, "hashes must be 1 for k-ary randomised response, got 2; use orappor")
    put("orr, open", "encoding", "seed", "FF" * 16, "encoding field 'seed' must be lower-case hexadecimal")
    put("orr, open", "encoding", "seed", "f", "encoding field 'seed' must be lower-case hexadecimal")
    put("orr, open", "encoding", "seed", "ff" * 7, "seed must be 8 to 64 bytes")
    put("orr, open", "encoding", "seed", "ff" * 65, "seed must be 8 to 64 bytes")
    put("orr, open", "encoding", "kind", "permuted", "a permuted encoding of 0 symbols must have a closed alphabet")
    put("orr, closed", "encoding", "kind", "hashed", "a hashed encoding must have an open alphabet; a closed one is")
    put("orappor, open", "encoding", "cells", 2**16 + 1, "cells must be at most 65536, got 65537")
    put("orr, open", "encoding", "cohorts", 2**20, "the survey was altered after it was made")

    pairs = "levels must be a list of pairs, bytes and cohorts, such as [[2, 64], [4, 192]]"
    shapes: list[object] = [[], [[2, 1, 1], [6, 5]], [2, 6], [["2", 6]], [[2, True], [6, 5]]]
    for levels in shapes:
        put("discovery", "encoding", "levels", levels, pairs)
    for name, levels in {"int": 7, "str": "ab", "dict": {}}.items():
        put("discovery", "encoding", "levels", levels, f"encoding field 'levels' must be a list, got {name}")
    put(
        "discovery",
        "encoding",
        "levels",
        [[4, 1], [2, 2], [6, 3]],
        "levels must rise in length, got [4, 2, 6]; a level",
    )
    put(
        "discovery",
        "encoding",
        "levels",
        [[2, 1], [2, 2], [6, 3]],
        "levels must rise in length, got [2, 2, 6]; a level",
    )
    put("discovery", "encoding", "levels", [[0, 3], [6, 3]], "length of a level must be at least 1, got 0")
    put("discovery", "encoding", "levels", [[256, 6]], "length of a level must be at most 255, got 256")
    put("discovery", "encoding", "levels", [[2, 0], [6, 6]], "cohorts of a level must be at least 1, got 0")
    put("discovery", "encoding", "levels", [[2, 2], [6, 3]], "encoding field 'cohorts' must be 5 for its levels, got 6")
    put("discovery", "encoding", "levels", [[2, 3], [6, 3]], "the survey was altered after it was made")
    put("discovery", "encoding", "overlong", "keep", "overlong must be 'cut' or 'refuse', got 'keep'")
    put("discovery", "encoding", "seed", "FF" * 8, "encoding field 'seed' must be lower-case hexadecimal")
    put("discovery", "encoding", "hashes", 1, "encoding must not have the field 'hashes'")
    closed: dict[str, object] = {"kind": "closed", "symbols": ["a", "b"]}
    change(
        "discovery",
        "an encoding of prefixes must have an open alphabet; a closed one has nothing to discover",
        lambda fields: fields.update(alphabet=closed),
    )

    put("krr", "mechanism", "kind", "laplace", "mechanism kind must be 'krr', 'bitflip', 'subset', 'sensitive', ")
    put("krr", "mechanism", "width", 32, "width must be at least 64, got 32")
    put("krr", "mechanism", "width", 128, "width must be at most 64, got 128")
    put("krr", "mechanism", "epsilon", 1, "mechanism field 'epsilon' must be text, got int")
    for spelling in ("0.10", "1e-1", "1/10", " 0.1", "+0.1", ".1", "0_0.1"):
        put("krr", "mechanism", "epsilon", spelling, "epsilon must be spelled '0.1' in a survey, got ")
    for epsilon in ("nan", "inf", "-1", "", "one", "0x1", "1/0", "\u0661", "1e\u0661", "1" * 401):
        put("krr", "mechanism", "epsilon", epsilon, "epsilon must be a positive finite number, decimal text or a")
    put("krr", "mechanism", "epsilon", "0", "; a survey with epsilon 0 carries no information")
    for epsilon in ("1e999999999", "1e-999999999", "64.1", "0.0000000009", "0." + "3" * 100):
        put("krr", "mechanism", "epsilon", epsilon, "epsilon must be between 1e-9 and 64 with at most 256-bit parts")
    put("krr", "mechanism", "epsilon", "64", "epsilon must be realisable in 64-bit words, got 64 for 5 cells, which")
    put("krr", "mechanism", "keep", "4503599627370496", "whoever wrote this survey computes another mechanism")
    put("krr", "mechanism", "keep", 4503599627370496, "mechanism field 'keep' must be text, got int")
    put("krr", "mechanism", "other", "+1", "threshold 'other' must be ")
    put("krappor", "mechanism", "flip", "1", "threshold 'flip' must be ")
    put("oue", "mechanism", "clear", "1", "threshold 'clear' must be 9223372036854775808 for epsilon 2.5, got '1'")
    put("krappor", "mechanism", "clear", "9223372036854775808", "threshold 'flip' must be ")
    change("oue", "threshold 'flip' must be ", lambda fields: fields["mechanism"].pop("clear"))
    put("hadamard", "encoding", "cells", 16, "encoding field 'cells' must be 8 for this design, got 16")
    put("hadamard", "encoding", "blocks", 0, "blocks must be at least 1, got 0")
    put("hadamard", "encoding", "blocks", 9, "blocks must be at most 8, got 9")
    put("hadamard", "encoding", "blocks", 2, "threshold 'keep' must be ")
    put("hadamard", "mechanism", "keep", "1", "threshold 'keep' must be ")
    put("hadamard", "alphabet", "symbols", ["a", "b"], "encoding field 'cells' must be 4 for this design, got 8")
    put("projective", "encoding", "order", 4, "order must be a prime, got 4")
    put("projective", "encoding", "dimension", 1, "dimension must be at least 2, got 1")
    put("projective", "encoding", "dimension", 17, "dimension must be at most 16, got 17")
    put("projective", "encoding", "dimension", 4, "encoding field 'cells' must be 15 for this design, got 7")
    put("projective, counted", "encoding", "order", 7, "symbols must be at most 57, the points of dimension 3 over 7")
    put("projective", "alphabet", "kind", "open", "alphabet must not have the field 'symbols'")
    put("number", "alphabet", "low", "18.0", "low must be spelled '18' in a survey")
    put("number", "alphabet", "low", "1e1", "low must be spelled '10' in a survey")
    put("number", "alphabet", "low", 18, "alphabet field 'low' must be text, got int")
    put("number", "alphabet", "low", "nan", "low must be a finite number, got 'nan'")
    put("number", "alphabet", "low", "90", "low must be below high, got 90 and 90")
    put(
        "number",
        "alphabet",
        "high",
        "1000000000000000",
        "high must be below 10**15 in size and have at most 10 decimal",
    )
    put("number", "alphabet", "high", "90.00000000001", "high must be below 10**15 in size and have at most 10 decimal")
    put("number", "alphabet", "bins", 1, "bins must be at least 2, got 1")
    put("number", "alphabet", "bins", 65, "encoding field 'cells' must be 95 for this design, got 94")
    put("number", "alphabet", "outside", "ignore", "outside must be 'clamp' or 'refuse', got 'ignore'")
    put("number", "alphabet", "step", "1", "alphabet must not have the field 'bins'")
    put("number, step", "alphabet", "step", "0.4", "step must be above zero and divide the range from low to high")
    put("number, step", "alphabet", "step", "0", "step must be above zero and divide the range from low to high")
    put("number, step", "alphabet", "step", "-0.25", "step must be above zero and divide the range from low to high")
    put("number", "encoding", "reach", 14, "encoding field 'cells' must be 92 for this design, got 94")
    put("number", "encoding", "reach", -1, "reach must be at least 0, got -1")
    put("ordered", "alphabet", "symbols", ["a", "b"], "encoding field 'cells' must be 4 for this design, got 7")
    put("subset", "mechanism", "size", 0, "size must be at least 1, got 0")
    put("subset", "mechanism", "size", 5, "size must be at most 4, got 5")
    put("subset", "mechanism", "size", "2", "mechanism field 'size' must be an integer, got str")
    put("subset", "mechanism", "size", 3, "threshold 'inside' must be ")

    one = "epsilon_report must be below epsilon, 2, got 2; leave it out where one report may spend all of epsilon"
    put("krr, again", "mechanism", "epsilon_report", "2", one)
    put("krr, again", "mechanism", "epsilon_report", "0.50", "epsilon_report must be spelled '0.5' in a survey, got ")
    put("krr, again", "mechanism", "epsilon_report", "1", "threshold 'report_keep' must be ")
    put("krr, again", "mechanism", "epsilon_report", 1, "mechanism field 'epsilon_report' must be text, got int")
    put("krr, again", "mechanism", "report_other", "1", "threshold 'report_other' must be ")
    put("krappor, again", "mechanism", "report_flip", "1", " for epsilon 2.5 and 1/3 a report, got '1'; whoever")
    put("subset, again", "mechanism", "report_keep", "1", "threshold 'report_keep' must be ")
    put("krr", "mechanism", "epsilon_report", "0.05", "mechanism must have the field 'report_keep'")
    put(
        "krr", "mechanism", "report_keep", "1", "mechanism must not have the field 'report_keep'; this version does not"
    )
    put("krr, again", "mechanism", "report_flip", "1", "mechanism must not have the field 'report_flip'")
    change(
        "krr, again",
        "mechanism must not have the field 'report_keep'; this version does not know it",
        lambda fields: fields["mechanism"].pop("epsilon_report"),
    )

    def _with_sets(fields: Fields) -> None:
        made = Subset(8, 2, 3)
        fields["mechanism"] = {"kind": "subset", "epsilon": "2", "width": 64, "size": 3, "inside": str(made.inside)}

    change("orr, open", "subset selection must have a cell for every symbol, got 'hashed' cells", _with_sets)
    flips = {"kind": "bitflip", "epsilon": "1", "width": 64, "flip": "6964443425282461696"}
    change("hadamard", "threshold 'flip' must be ", lambda fields: fields.__setitem__("mechanism", flips))
    put("orappor, open", "mechanism", "clear", "9223372036854775808", "distance must be 2 for optimised bit flips, got")
    put(
        "orr, folded",
        "alphabet",
        "text",
        "exact",
        "alphabet field 'text' must be 'folded', got 'exact'; exact text has",
    )
    put(
        "orr, folded",
        "alphabet",
        "text",
        "loose",
        "alphabet field 'text' must be 'folded', got 'loose'; exact text has",
    )
    put("orr, folded", "alphabet", "text", True, "alphabet field 'text' must be text, got bool")
    put("orr, open", "alphabet", "text", "folded", "the survey was altered after it was made")
    put("krr", "alphabet", "text", "folded", "alphabet must not have the field 'text'; this version does not know it")
    known = "participation must be 'once', 'window:hour', 'window:day', 'window:week' or 'event', got "
    for wrong in ("daily", "window:month", "window:", "window:day ", "Event", ""):
        top("participation", wrong, known + repr(wrong))
    follows = (
        "turnover and change must follow a window, in this order, from 0 to 1 with at most four digits after the "
        "point, as in 'window:day:turnover=0.05:change=0.1', got "
    )
    for tail in ("", "2", "0.0", "0.50", ".5", "0.00001", "0.5%", "0.5 ", "-0.1"):
        top("participation", f"window:day:turnover={tail}", follows + repr(f"window:day:turnover={tail}"))
        both = f"window:day:turnover=0.05:change={tail}"
        top("participation", both, follows + repr(both))
    for tail in ("change=0.1:turnover=0.05", "turnover=0.5:turnover=0.5", "change=0.1:share=1/7", "change"):
        wrong = f"window:day:{tail}"
        top("participation", wrong, (known if tail == "change" else follows) + repr(wrong))
    turns = (
        "share must follow a window, from 1/2 to 1/99999, as in 'window:day:share=1/7', and without a turnover, got "
    )
    for tail in ("", "1", "1/1", "1/0", "2/7", "1/07", "0.5", "1/100000", "1/7 ", "1/7:turnover=0.1", "1/-7"):
        top("participation", f"window:day:share={tail}", turns + repr(f"window:day:share={tail}"))
    top("participation", "event:share=1/7", turns + repr("event:share=1/7"))
    top("participation", "window:share=1/7", known + repr("window:share=1/7"))
    top("participation", "window:day:turnover=0.05:share=1/7", follows + repr("window:day:turnover=0.05:share=1/7"))
    top("participation", "event:turnover=0.5", follows + repr("event:turnover=0.5"))
    top("participation", "window:turnover=0.5", known + repr("window:turnover=0.5"))
    for spelling in ("once", "window"):
        top("participation", spelling, f"participation must be in its one spelling, got {spelling!r}; leave the field")
    for kind, wrong_type in (("NoneType", None), ("list", ["event"]), ("int", 1), ("bool", True)):
        top("participation", wrong_type, f"survey field 'participation' must be text, got {kind}")
    top("participation", "event", "the survey was altered after it was made")
    daily = good["warner, once a day"].to_json()
    text("the survey was altered after it was made", daily.replace("window:day", "window:hour"))
    text("the survey was altered after it was made", daily.replace(',"participation":"window:day"', ""))
    text("survey fields must not repeat", daily[:-1] + ',"participation":"window:day"}')
    text("the survey was altered after it was made", daily.replace("window:day", "window:day:turnover=0.05"))
    text("the survey was altered after it was made", daily.replace("window:day", "window:day:share=1/7"))
    bad_tables(put)
    return found


def bad_tables(put: Callable[[str, str, str, object, str], None]) -> None:
    """Changes to tables of weights: other rows than the parameters give, and rows that break their promise."""
    other = "whoever wrote this survey computes another mechanism"
    put("sensitive", "mechanism", "sensitive", [2], "threshold 'keep' must be 18446744073709551616 for epsilon 1")
    put("sensitive", "mechanism", "sensitive", [3, 2], "mechanism field 'sensitive' must be [2, 3] for epsilon 1")
    put("sensitive", "mechanism", "sensitive", [2, 2, 3], "mechanism field 'sensitive' must be [2, 3] for epsilon 1")
    put("sensitive", "mechanism", "sensitive", [], "sensitive must name at least one answer, got none")
    put("sensitive", "mechanism", "sensitive", [0, 1, 2, 3], "sensitive must leave out at least one answer, got all 4")
    put("sensitive", "mechanism", "sensitive", [2, 4], "sensitive must be at most 3, got 4")
    put("sensitive", "mechanism", "sensitive", [True, 3], "mechanism field 'sensitive' must be a list of integers")
    put("sensitive", "mechanism", "sensitive", "2", "mechanism field 'sensitive' must be a list, got str")
    put("sensitive", "mechanism", "own", "1", "threshold 'own' must be")
    put("sensitive", "mechanism", "other", "1", "threshold 'other' must be")
    put(
        "sensitive",
        "mechanism",
        "epsilon_report",
        "0.5",
        "a chain must start with one stage of its own, got 'sensitive'",
    )
    put("sensitive", "mechanism", "kind", "sensitive-design", "mechanism must have the field 'dimension'")
    put("sensitive-design", "mechanism", "order", 3, "threshold 'keep' must be")
    put("sensitive-design", "mechanism", "order", 4, "order must be a prime, got 4")
    put("sensitive-design", "mechanism", "dimension", 2, "symbols must be at most 3, the points of dimension 2 over 2")
    put("sensitive-design", "mechanism", "kind", "sensitive", "mechanism must not have the field 'dimension'")
    put("blocks", "mechanism", "groups", [0, 0, 1, 1, 2, 2], "mechanism field 'others' must be")
    put("blocks", "mechanism", "groups", [1, 1, 0, 0, 0, 2], "groups must be at most 0, got 1")
    put("blocks", "mechanism", "groups", [0] * 6, "groups must be two or more with at least two answers in one of them")
    put("blocks", "mechanism", "groups", [0, 1, 2, 3, 4, 5], "groups must be two or more with at least two answers")
    put("blocks", "mechanism", "groups", [0, 0, 1, 1, 1], other)
    put("blocks", "mechanism", "others", ["1", "1", "0"], other)
    eighth = 2**61
    good = [[str(4 * eighth), str(eighth), str(2 * eighth)], [str(4 * eighth), str(3 * eighth), "0"]]
    loud = [[str(7 * eighth), str(eighth // 2), str(eighth // 4)], good[1]]
    negative = [[str(4 * eighth), "-1", str(2 * eighth)], good[1]]
    put("budgets", "mechanism", "weights", loud, "weights of an answer of group 0 must add up to 2**64, got")
    put("budgets", "mechanism", "weights", negative, "mechanism field 'weights' must be rows of decimal text")
    put("budgets", "mechanism", "weights", good[:1], "budgets must be one for each of 2 groups, and weights 3 for each")
    put("budgets", "mechanism", "weights", [good[0], [*good[1], "0"]], "budgets must be one for each of 2 groups")
    put("budgets", "mechanism", "weights", [good[0], [*good[1][:2], "1"]], "0 where there is no such answer")
    put("budgets", "mechanism", "raised", [0, 2], "raised must be at most 1, got 2")
    put("budgets", "mechanism", "raised", [0, 0], "weights of an answer of group 0 must add up to 2**64")
    put("budgets", "mechanism", "budgets", ["2", "0.5"], "weights of groups 0 and 1 must have ratios of at most e**0.5")
    put("budgets", "mechanism", "budgets", ["2.0", "1"], "mechanism field 'budgets' must be")
    put("budgets", "mechanism", "budgets", ["2"], "budgets must be one for each of 2 groups")
    put("budgets", "mechanism", "budgets", ["1.9", "1"], "epsilon must be spelled '1.9' in a survey, got '2'")
    put("budgets", "mechanism", "epsilon", "3", "epsilon must be spelled '2' in a survey, got '3'")
    half, most = str(2**63), str(2**63 - 1)
    put("table", "mechanism", "rows", [[half, half], [half, most], [half, half]], "must be 2 integers from 0 on that")
    put("table", "mechanism", "rows", [[half, half], [half, half], [most, "0", half]], "must be 2 integers from 0 on")
    put("table", "mechanism", "rows", [[half, half]] * 2, "mechanism and encoding must share their cells, got 2 and 3")
    put(
        "table",
        "mechanism",
        "rows",
        [[half, half], [str(2**64), "0"], [half, half]],
        "ratio of at most e**1.8, got more",
    )
    tenth = 2**64 // 10
    far = [[half, half], [str(2**64 - tenth), str(tenth)], [str(tenth), str(2**64 - tenth)]]
    put("table", "mechanism", "rows", far, "ratio of at most e**1.8, got more")  # of the last two rows alone
    least = KRR(2, "1.8").other - 1
    unit = [[str(2**64 - least if x == y else least) for y in range(2)] for x in (0, 1, 1)]
    put("table", "mechanism", "rows", unit, "ratio of at most e**1.8, got more")  # by one unit of a weight
    put("table", "mechanism", "rows", [[half, "0" + half]] * 3, "mechanism field 'rows' must be")
    put("table", "mechanism", "rows", [[str(2**64)]] * 3, "columns must be at least 2, got 1")
    put("table", "mechanism", "rows", [[half, 2**63]] * 3, "mechanism field 'rows' must be rows of decimal text")
    put("table", "mechanism", "rows", "1", "mechanism field 'rows' must be a list, got str")
    put("table", "mechanism", "epsilon", "1", "ratio of at most e**1, got more")


def bad_reports(good: dict[str, Survey]) -> list[object]:
    """Bytes that are not reports of the survey named."""
    found: list[object] = []

    def add(title: str, payload: str, reason: str) -> None:
        head = "01" + good[title].digest[:16]
        found.append({"survey": title, "report": payload.replace("HEAD", head), "reason": reason})

    other = "01" + good["krr"].digest[:16] + "00"
    add("warner", "", "report must have wire version 1, got nothing")
    add("warner", "00", "report must have wire version 1, got 0")
    add("warner", "02" + good["warner"].digest[:16] + "00", "report must have wire version 1, got 2")
    add("warner", other, f"report must be for survey {good['warner'].digest[:16]}, got {good['krr'].digest[:16]}; it")
    add("warner", "01" + good["warner"].digest[:14], "it answers another survey")
    add("warner", "HEAD", "report must be 10 bytes, got 9")
    add("warner", "HEAD0000", "report must be 10 bytes, got 11")
    add("warner", "HEAD02", "report response must be one that the mechanism can produce")
    add("warner", "HEADff", "report response must be one that the mechanism can produce")
    add("krr, counted", "HEAD2b", "report must be 11 bytes, got 10")
    add("krr, counted", "HEAD2c01", "report response must be one that the mechanism can produce")
    add("krappor", "HEAD08", "report response must be one that the mechanism can produce")
    add("krappor, counted", "HEAD000010", "report response must be one that the mechanism can produce")
    add("orr, open", "HEAD0300", "report cohort must be below 3, got 3")
    add("orr, open", "HEAD0008", "report response must be one that the mechanism can produce")
    add("orr, closed", "HEAD2c0100", "report cohort must be below 300, got 300")
    add("orr, closed", "HEAD010000ff", "report must be 12 bytes, got 13")
    add("orappor, open", "HEAD080000", "report cohort must be below 8, got 8")
    add("orappor, open", "HEAD000010", "report response must be one that the mechanism can produce")
    for payload in ("00", "01", "07", "23", "c0"):
        add("subset", "HEAD" + payload, "report response must be one that the mechanism can produce")
    add("hadamard", "HEAD08", "report response must be one that the mechanism can produce")
    for title, columns in (("sensitive", 4), ("sensitive-design", 13), ("blocks", 6), ("budgets", 3), ("table", 4)):
        add(title, f"HEAD{columns:02x}", "report response must be one that the mechanism can produce")
    add("projective", "HEAD07", "report response must be one that the mechanism can produce")
    return found

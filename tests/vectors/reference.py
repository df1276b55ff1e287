"""A second, tiny implementation of the format, from its description alone: plain integers and the `hmac` module.

Nothing of `deniable` is imported, so vectors that agree with this are not the library agreeing with itself.
"""

import hmac
import json
import math
import re
import unicodedata
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

M64 = 2**64


def value_of(tagged: Any) -> Any:
    """A symbol from its JSON form."""
    if isinstance(tagged, dict):
        if "double" in tagged:
            return float(tagged["double"])
        return bytes.fromhex(tagged["bytes"]) if "bytes" in tagged else int(tagged["int"])
    assert tagged is None or isinstance(tagged, (str, int))
    return tagged


FOLDED = [
    *((0x41, 0x376), (0x37F, 0x37F), (0x391, 0x3A1), (0x3A3, 0x52E), (0x531, 0x556), (0x587, 0x587), (0x10A0, 0x10C5)),
    *((0x10C7, 0x10C7), (0x10CD, 0x10CD), (0x1C80, 0x1C88), (0x1C90, 0x1CBA), (0x1CBD, 0x1CBF), (0x1E9A, 0x1EFE)),
    *((0x2132, 0x2183), (0x24B6, 0x24CF), (0x2C00, 0x2C2E), (0x2C60, 0x2CF2), (0xA640, 0xA69A), (0xA722, 0xA7B8)),
    *((0xFB00, 0xFB06), (0xFB13, 0xFB17), (0xFF21, 0xFF3A), (0x10400, 0x10427), (0x104B0, 0x104D3)),
    *((0x10C80, 0x10CB2), (0x118A0, 0x118BF), (0x16E40, 0x16E5F), (0x1E900, 0x1E921)),
]


def folded_letter(letter: str) -> str:
    """One letter of a text in NFD: the standard's full case folding, but for two scripts."""
    if letter == "\u0131":
        return "i"
    if "\u13a0" <= letter <= "\u13ef":  # Cherokee: the standard folds to its capitals
        return chr(ord(letter) + 0xAB70 - 0x13A0)
    if "\u13f0" <= letter <= "\u13f5":
        return chr(ord(letter) + 8)
    return letter.casefold() if any(first <= ord(letter) <= last for first, last in FOLDED) else letter


def folded(text: str) -> str:
    blank = re.compile("[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200b\u2028\u2029\u202f\u205f\u3000\ufeff]+")
    apart = "".join(map(folded_letter, unicodedata.normalize("NFD", text)))
    while "i\u0307" in apart:
        apart = apart.replace("i\u0307", "i")
    return unicodedata.normalize("NFC", blank.sub(" ", apart).strip(" "))


def message(symbol: str | int | bytes) -> bytes:
    if isinstance(symbol, str):
        return b"s" + unicodedata.normalize("NFC", symbol).encode()
    return b"b" + symbol if isinstance(symbol, bytes) else b"i" + str(symbol).encode()


def fingerprint(seed: bytes, data: bytes) -> int:
    return int.from_bytes(hmac.new(seed, data, "sha256").digest()[:8], "little")


def splitmix(start: int, index: int) -> int:
    """Number `index` (from 0) of SplitMix64 started at `start`: Steele, Lea and Flood 2014."""
    z = (start + 0x9E3779B97F4A7C15 * (index + 1)) % M64
    z = ((z ^ (z // 2**30)) * 0xBF58476D1CE4E5B9) % M64
    z = ((z ^ (z // 2**27)) * 0x94D049BB133111EB) % M64
    return z ^ (z // 2**31)


def below(word: int, bound: int) -> int:
    return word * bound // M64


def permutation(key: int, size: int) -> list[int]:
    """The whole permutation: ten Feistel rounds on a rectangle of a by b, then walking back into [0, size)."""
    a = math.isqrt(size)
    a += a * a < size
    b = math.ceil(size / a)
    step = {}
    for left in range(a):
        for right in range(b):
            x, y = left, right
            for turn in range(5):
                x = (x + below(splitmix(key, 2 * turn * 2**32 + y), a)) % a
                y = (y + below(splitmix(key, (2 * turn + 1) * 2**32 + x), b)) % b
            step[left * b + right] = x * b + y
    image = []
    for start in range(size):
        at = step[start]
        while at >= size:
            at = step[at]
        image.append(at)
    return image


def sylvester(row: int, column: int) -> int:
    """An entry of the Hadamard matrix that doubling builds: [[H, H], [H, -H]]."""
    if row == column == 0:
        return 1
    half = 2 ** (max(row, column).bit_length() - 1)
    sign = -1 if row >= half and column >= half else 1
    return sign * sylvester(row % half, column % half)


def points(order: int, dimension: int) -> list[tuple[int, ...]]:
    """All vectors whose first digit that is not zero is 1, in lexicographic order."""
    vectors = product(range(order), repeat=dimension)
    return [vector for vector in vectors if next((digit for digit in vector if digit), 0) == 1]


def bin_names(alphabet: dict[str, Any]) -> list[str]:
    """The names of the bins of a scale, in order."""

    def plain(number: Fraction) -> str:
        text = f"{abs(number.numerator * 10**12 // number.denominator):013d}"
        return "-" * (number < 0) + f"{text[:-12]}.{text[-12:]}".rstrip("0").rstrip(".")

    low, high = Fraction(alphabet["low"]), Fraction(alphabet["high"])
    if "step" in alphabet:
        step = Fraction(alphabet["step"])
        return [plain(low + i * step) for i in range(int((high - low) / step) + 1)]
    ends = [
        low + Fraction(int((high - low) * 10**12) * i // alphabet["bins"], 10**12) for i in range(alphabet["bins"] + 1)
    ]
    return [f"{plain(a)} to {plain(b)}" for a, b in pairwise(ends)]


def bin_of(alphabet: dict[str, Any], number: float) -> int | None:
    """The bin of a double; None if it is refused. Floats of Python are compared with fractions rounded to doubles."""
    low, high = float(Fraction(alphabet["low"])), float(Fraction(alphabet["high"]))
    if not math.isfinite(number) or (alphabet["outside"] == "refuse" and not low <= number <= high):
        return None
    names = bin_names(alphabet)
    if "step" in alphabet:
        half = Fraction(alphabet["step"]) / 2
        firsts = [float(Fraction(name) - half) for name in names]
    else:
        firsts = [float(name.split(" to ")[0]) for name in names]
    return max(sum(first <= number for first in firsts) - 1, 0)


def occupied(fields: dict[str, Any], cohort: int, symbol: str | int | bytes) -> list[int]:
    """The cells of a symbol, from the fields of a survey's JSON."""
    encoding, alphabet = fields["encoding"], fields["alphabet"]
    position = 0
    if alphabet["kind"] == "closed":
        known = [message(value_of(s)) for s in alphabet["symbols"]]
        position = known.index(message(symbol))
    if alphabet["kind"] == "number":
        assert isinstance(symbol, str)
        position = bin_names(alphabet).index(symbol)
    if encoding["kind"] == "direct":
        return [position]
    if encoding["kind"] == "neighbours":
        return list(range(position, position + 2 * encoding["reach"] + 1))
    if encoding["kind"] == "hadamard":
        size = encoding["cells"] // encoding["blocks"]
        row, start = position // encoding["blocks"] + 1, position % encoding["blocks"] * size
        return [start + y for y in range(size) if sylvester(row, y) > 0]
    if encoding["kind"] == "projective":
        all_points = points(encoding["order"], encoding["dimension"])
        mine = all_points[position]
        return [
            i
            for i, point in enumerate(all_points)
            if sum(a * b for a, b in zip(mine, point, strict=True)) % encoding["order"] == 0
        ]
    seed, k = bytes.fromhex(encoding["seed"]), encoding["cells"]
    if encoding["kind"] == "prefixes":
        assert isinstance(symbol, str)
        data = message(folded(symbol) if alphabet.get("text") == "folded" else symbol)[1:]
        for length, cohorts in encoding["levels"]:
            if cohort < cohorts:
                ended = data[:length] + (b"" if len(data) > length else b"\xff")
                return [below(splitmix(fingerprint(seed, bytes([length]) + ended), cohort), k)]
            cohort -= cohorts
    indices = [cohort * encoding["hashes"] + j for j in range(encoding["hashes"])]
    if encoding["kind"] == "hashed":
        read = folded(symbol) if alphabet.get("text") == "folded" and isinstance(symbol, str) else symbol
        start = fingerprint(seed, message(read))
        return sorted({below(splitmix(start, i), k) for i in indices})
    root = fingerprint(seed, b"permutations")
    return sorted({permutation(splitmix(root, i), len(alphabet["symbols"]))[position] % k for i in indices})


def other_weight(epsilon: Fraction, cells: int) -> int:
    """ceil(2**64 / (e**epsilon + cells - 1)) from a Taylor sum below e**epsilon by less than 2**-200."""
    total = term = Fraction(1)
    i = 0
    while term > Fraction(1, 2**200) or i <= 2 * epsilon:
        i += 1
        term *= epsilon / i
        total += term
    return math.ceil(M64 / (total + cells - 1))


def table_row(fields: dict[str, Any], x: int) -> list[int] | None:
    """The weights of one answer, column by column; None where the mechanism is no table."""
    mechanism, size = fields["mechanism"], fields["encoding"]["cells"]
    kind = mechanism["kind"]
    if kind == "table":
        return [int(weight) for weight in mechanism["rows"][x]]
    if kind == "budgets":
        groups, row = mechanism["groups"], []
        for raised, weights in zip(mechanism["raised"], mechanism["weights"], strict=True):
            columns = [y for y in range(size) if groups[y] == raised] if raised != -1 else [-1]
            row += [int(weights[0 if y == x else 1 + groups[x]]) for y in columns]
        return row
    if kind == "blocks":
        groups, row = mechanism["groups"], []
        for group, other in enumerate(mechanism["others"]):
            members = [y for y in range(size) if groups[y] == group]
            rest = M64 - (len(members) - 1) * int(other)
            row += [0 if groups[x] != group else rest if y == x else int(other) for y in members]
        return row
    if kind not in ("sensitive", "sensitive-design"):
        return None
    hidden = mechanism["sensitive"]
    seen = [y for y in range(size) if y not in hidden]
    spots: list[tuple[int, ...]] = [(y,) for y in range(len(hidden))]
    own = {hidden.index(x)} if x in hidden else set()
    if kind == "sensitive-design":
        spots = points(mechanism["order"], mechanism["dimension"])
        mine = spots[hidden.index(x)] if x in hidden else ()
        products = [sum(a * b for a, b in zip(mine, spot, strict=False)) for spot in spots]
        own = {i for i, dot in enumerate(products) if mine and dot % mechanism["order"] == 0}
    keep, other = int(mechanism["keep"]), int(mechanism["other"])
    row = [keep if i in own else other for i in range(len(spots))]
    return row + [M64 - len(spots) * other if y == x else 0 for y in seen]


def respond(fields: dict[str, Any], cells: list[int], words: Iterator[int]) -> int:
    mechanism = fields["mechanism"]
    if (row := table_row(fields, cells[0])) is not None:
        word, column = next(words), 0
        while word >= row[column]:
            word -= row[column]
            column += 1
        return column
    if mechanism["kind"] == "krr":
        keep, other = int(mechanism["keep"]), int(mechanism["other"])
        word = next(words)
        others = [cell for cell in range(fields["encoding"]["cells"]) if cell not in cells]
        inside = len(cells) * keep
        return cells[word // keep] if word < inside else others[(word - inside) // other]
    if mechanism["kind"] == "subset":
        inside = next(words) < int(mechanism["inside"])
        others = [cell for cell in range(fields["encoding"]["cells"]) if cell != cells[0]]
        for step in range(mechanism["size"]):
            bound = len(others) - step
            place = step + next(word for word in words if word < M64 // bound * bound) % bound
            others[step], others[place] = others[place], others[step]
        chosen = others[: mechanism["size"]]
        return sum(2**cell for cell in ([*chosen[:-1], cells[0]] if inside else chosen))
    response = 0
    for i in range(fields["encoding"]["cells"]):
        flipped = next(words) < int(mechanism.get("clear", mechanism["flip"]) if i in cells else mechanism["flip"])
        response += 2**i if flipped != (i in cells) else 0
    return response


def respond_again(fields: dict[str, Any], response: int, words: Iterator[int]) -> int:
    """The second stage, from the permanent response alone; without `epsilon_report` there is none."""
    mechanism, cells = fields["mechanism"], fields["encoding"]["cells"]
    if "epsilon_report" not in mechanism:
        return response
    if mechanism["kind"] == "krr":
        word, keep = next(words), int(mechanism["report_keep"])
        others = [cell for cell in range(cells) if cell != response]
        return response if word < keep else others[(word - keep) // int(mechanism["report_other"])]
    if mechanism["kind"] == "subset":
        kept, order = next(words) < int(mechanism["report_keep"]), list(range(cells))
        for step in range(mechanism["size"]):
            bound = cells - step
            place = step + next(word for word in words if word < M64 // bound * bound) % bound
            order[step], order[place] = order[place], order[step]
        return response if kept else sum(2**cell for cell in order[: mechanism["size"]])
    return sum(2**i for i in range(cells) if (response // 2**i % 2) != (next(words) < int(mechanism["report_flip"])))


def pack(fields: dict[str, Any], cohort: int, response: int) -> bytes:
    """Version, eight bytes of digest, cohort, payload."""
    cells, cohorts = fields["encoding"]["cells"], fields["encoding"].get("cohorts", 1)
    row = table_row(fields, 0)
    outputs = len(row) if row is not None else cells if fields["mechanism"]["kind"] == "krr" else 2**cells
    sizes = [next(n for n in range(10_000) if count <= 256**n) for count in (cohorts, outputs)]
    head = b"\1" + bytes.fromhex(fields["digest"][:16])
    return head + cohort.to_bytes(sizes[0], "little") + response.to_bytes(sizes[1], "little")


def fresh_report(text: str, symbol: str | int | bytes, words: list[int]) -> bytes:
    """What a client sends on these words: first the cohort, by rejection, then the answer."""
    fields, drawn = json.loads(text), iter(words)
    cohorts = fields["encoding"].get("cohorts", 1)
    cohort = next(word for word in drawn if word < M64 // cohorts * cohorts) % cohorts
    first = respond(fields, occupied(fields, cohort, symbol), drawn)
    wire = pack(fields, cohort, respond_again(fields, first, drawn))
    assert list(drawn) == []
    return wire


def permanent_report(text: str, symbol: str | int | bytes, cohort: int, secret: bytes, fresh: list[int]) -> bytes:
    """What a memoising client sends: words from HMAC(secret, label), four a block; `fresh` for a second stage."""
    fields = json.loads(text)
    cells = occupied(fields, cohort, symbol)
    label = b"permanent" + bytes.fromhex(fields["digest"])
    label += b"".join(number.to_bytes(4, "little") for number in [cohort, *cells])

    def words() -> Iterator[int]:
        for block in range(2**32):
            data = len(label).to_bytes(8, "little") + label + block.to_bytes(8, "little")
            digest = hmac.new(secret, data, "sha256").digest()
            yield from (int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16, 24))

    again = iter(fresh)
    wire = pack(fields, cohort, respond_again(fields, respond(fields, cells, words()), again))
    assert list(again) == []
    return wire


def form_part(fields: dict[str, Any], place: int) -> dict[str, Any]:
    """The survey that a part is, from the questions that it names."""
    part = fields["parts"][place]
    asked = [next(q for q in fields["questions"] if q["name"] == name) for name in part["questions"]]
    lists = [form_symbols(question) for question in asked]
    if len(asked) == 2:
        alphabet: dict[str, Any] = {"kind": "closed", "symbols": list(range(len(lists[0]) * len(lists[1])))}
    elif "skip" in asked[0] and asked[0]["alphabet"]["kind"] != "open":
        alphabet = {**asked[0]["alphabet"], "kind": "closed", "symbols": lists[0]}
    else:
        alphabet = asked[0]["alphabet"]
    return {"alphabet": alphabet, "encoding": part["encoding"], "mechanism": part["mechanism"]}


def form_symbols(question: dict[str, Any]) -> list[Any]:
    alphabet = question["alphabet"]
    listed = bin_names(alphabet) if alphabet["kind"] == "number" else alphabet.get("symbols", [])
    return listed + ["no answer"] * ("skip" in question)


def form_symbol(question: dict[str, Any], answers: dict[str, Any]) -> Any:
    """One answer in the words of its part: nothing is "no answer", a number beside that is the name of its bin."""
    value, alphabet = answers.get(question["name"]), question["alphabet"]
    if value is None:
        return "no answer"
    symbols = [value_of(symbol) for symbol in form_symbols(question)]
    if alphabet["kind"] == "number" and value not in symbols:
        place = bin_of(alphabet, value)
        assert place is not None
        return symbols[place]
    return value if alphabet["kind"] == "open" or value in symbols else value_of(alphabet["other"])


def form_place(question: dict[str, Any], answers: dict[str, Any]) -> int:
    """The place of an answer to a related question."""
    return [value_of(symbol) for symbol in form_symbols(question)].index(form_symbol(question, answers))


def form_report(
    text: str, answers: dict[str, Any], drawn: list[int], cohorts: list[int], words: Any, fresh: Iterator[int]
) -> bytes:
    """The bytes of a device that drew these parts and cohorts; `words(place, cohort, cells)` gives those of a part."""
    fields = json.loads(text)
    conditions = {name: (public, wanted) for name, public, wanted in fields.get("when", [])}
    slots, shown = [], 0
    for place, part in enumerate(fields["parts"]):
        survey = form_part(fields, place) | {"digest": ""}
        public, wanted = conditions.get(part["questions"][0], (None, []))
        asked = place in drawn and (public is None or answers.get(public) in [value_of(symbol) for symbol in wanted])
        if not asked:
            slots.append(bytes(len(pack(survey, 0, 0)) - 1))
            continue
        own = [next(q for q in fields["questions"] if q["name"] == name) for name in part["questions"]]
        symbol = form_symbol(own[0], answers)
        if len(own) == 2:
            symbol = form_place(own[0], answers) * len(form_symbols(own[1])) + form_place(own[1], answers)
        cells = occupied(survey, cohorts[place], symbol)
        response = respond_again(survey, respond(survey, cells, words(place, cohorts[place], cells)), fresh)
        slots.append(pack(survey, cohorts[place], response)[1:])
        shown += 1 << place
    size = len(slots)
    differs = fields["drawn"] < size or any(part["questions"][0] in conditions for part in fields["parts"])
    mask = shown.to_bytes((size + 7) // 8, "little") if differs else b""
    return b"\1" + bytes.fromhex(fields["digest"])[:8] + mask + b"".join(slots)


def fresh_form(text: str, answers: dict[str, Any], words: list[int]) -> bytes:
    """What a client sends on these words: which parts, its cohorts, then the answers, part by part."""
    fields, drawing = json.loads(text), iter(words)

    def under(bound: int) -> int:
        return next(word for word in drawing if word < M64 // bound * bound) % bound

    left = list(range(len(fields["parts"])))
    drawn = left if fields["drawn"] == len(left) else [left.pop(under(len(left))) for _ in range(fields["drawn"])]
    cohorts = [under(part["encoding"].get("cohorts", 1)) for part in fields["parts"]]
    wire = form_report(text, answers, drawn, cohorts, lambda *_: drawing, drawing)
    assert list(drawing) == []
    return wire


def permanent_form(text: str, answers: dict[str, Any], cohort: int, secret: bytes, fresh: list[int]) -> bytes:
    """What a memoising client sends that has drawn this number: the parts as bits, then the cohorts."""
    fields = json.loads(text)
    cohort, chosen = divmod(cohort, 1 << len(fields["parts"]))
    cohorts = []
    for part in fields["parts"]:
        cohort, own = divmod(cohort, part["encoding"].get("cohorts", 1))
        cohorts.append(own)

    def words(place: int, own: int, cells: list[int]) -> Iterator[int]:
        label = b"permanent part" + bytes.fromhex(fields["digest"])
        label += b"".join(number.to_bytes(4, "little") for number in [place, own, *cells])
        for block in range(2**32):
            data = len(label).to_bytes(8, "little") + label + block.to_bytes(8, "little")
            digest = hmac.new(secret, data, "sha256").digest()
            yield from (int.from_bytes(digest[at : at + 8], "little") for at in (0, 8, 16, 24))

    drawn, again = [place for place in range(len(cohorts)) if chosen >> place & 1], iter(fresh)
    wire = form_report(text, answers, drawn, cohorts, words, again)
    assert list(again) == []
    return wire

"""Random surveys and reports for hypothesis: every preset, any alphabet, small sizes."""

import unicodedata

from hypothesis import strategies as st

import deniable as dn

words64 = st.integers(0, 2**64 - 1)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
symbols = st.one_of(texts, st.integers(-(10**20), 10**20), st.binary(max_size=12))
seeds = st.binary(min_size=8, max_size=64)
epsilons = st.one_of(
    st.decimals("0.01", "9", places=2).map(str),
    st.fractions("1/10", 9, max_denominator=60),
    st.floats(0.01, 9),
)
names = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), max_size=12)  # of new surveys


def canonical(symbol: object) -> object:
    return unicodedata.normalize("NFC", symbol) if isinstance(symbol, str) else symbol


alphabets = st.lists(symbols, min_size=2, max_size=12, unique_by=lambda s: (type(s).__name__, canonical(s)))


CLOSED = {
    "krr": dn.krr,
    "krappor": dn.krappor,
    "oue": dn.oue,
    "subset": dn.subset,
    "hadamard": dn.hadamard,
    "projective": dn.projective,
}


@st.composite
def surveys(draw: st.DrawFn) -> dn.Survey:
    """Any preset, with any alphabet and small sizes."""
    kind = draw(st.sampled_from(["warner", *CLOSED, *["orr", "orappor"] * 4]))
    epsilon, name = draw(epsilons), draw(names)
    listed = draw(alphabets)
    if kind == "warner":
        return dn.warner(epsilon=epsilon, name=name, symbols=listed[:2])
    other = draw(st.none() | symbols)
    if kind in CLOSED:
        return CLOSED[kind](listed, epsilon=epsilon, name=name, other=other)
    closed = draw(st.booleans())
    chosen, catch_all = (listed, other) if closed else (None, None)
    cells, cohorts = draw(st.integers(2, 70)), draw(st.sampled_from([1, 2, 3, 256, 257, 1000]))
    if kind == "orr":
        return dn.orr(
            epsilon=epsilon, cells=cells, cohorts=cohorts, seed=draw(seeds), symbols=chosen, name=name, other=catch_all
        )
    hashes = draw(st.integers(1, 4))
    return dn.orappor(
        epsilon=epsilon, cells=cells, cohorts=cohorts, hashes=hashes, seed=draw(seeds),
        symbols=chosen, name=name, other=catch_all,
    )  # fmt: skip


@st.composite
def reports(draw: st.DrawFn) -> dn.Report:
    survey = draw(surveys())
    if survey.mechanism.one_column or survey.mechanism.hits is None:
        response = draw(st.integers(0, survey.mechanism.outputs - 1))
    else:
        chosen = draw(st.permutations(range(survey.cells)))[: survey.mechanism.hits]
        response = sum(1 << cell for cell in chosen)
    payload = response.to_bytes(survey.mechanism.payload_bytes, "little")
    return dn.Report(survey, draw(st.integers(0, survey.cohorts - 1)), payload)

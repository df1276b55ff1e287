"""Columns of numbers put every row into the bin that the client puts it into, by whichever door it comes."""

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deniable as dn
from deniable.columns import bins_of
from deniable.columns.codes import codes_of, readable
from deniable.survey import Survey

SURVEYS = [
    dn.number(0, 1, 30, bins=100),
    dn.number("-7.75", 12, 30, step="0.25"),
    dn.number(18, 90, 30, bins=64, outside="refuse"),
]


def bins_by_client(survey: Survey, numbers: list[float]) -> list[int]:
    return [survey.key(number) for number in numbers]


@pytest.mark.parametrize("survey", SURVEYS[:2], ids=repr)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_every_double_is_in_the_clients_bin(survey: Survey, numbers: list[float]) -> None:
    assert bins_of(survey, numbers).tolist() == bins_by_client(survey, numbers)


@pytest.mark.parametrize("survey", SURVEYS, ids=repr)
def test_edges_and_their_neighbours(survey: Survey) -> None:
    scale = survey.alphabet.bins
    assert scale is not None
    near = [x for e in scale.edges for x in (math.nextafter(e, -9e9), e, math.nextafter(e, 9e9))]
    numbers = [x for x in near if scale.outside == "clamp" or float(scale.low) <= x <= float(scale.high)]
    for column in (np.array(numbers), pa.array(numbers), numbers, pa.chunked_array([numbers[:5], numbers[5:]])):
        codes, keys = codes_of(survey, readable(column))
        assert keys[codes].tolist() == bins_by_client(survey, numbers)


def test_integers_beyond_doubles_are_rounded_as_the_client_rounds_them() -> None:
    survey = dn.number(0, "999999999999999", 1, bins=7)
    whole = [0, 2**53 + 1, -(2**63), 2**63 - 1, 142857142857142]
    assert bins_of(survey, np.array(whole)).tolist() == bins_by_client(survey, whole)  # type: ignore[arg-type]


def test_decimals_and_names_of_bins_are_taken_one_by_one() -> None:
    from decimal import Decimal

    survey = SURVEYS[0]
    codes, keys = codes_of(survey, readable(pa.array([Decimal("0.29"), Decimal("0.30")])))
    assert keys[codes].tolist() == [29, 30]
    codes, keys = codes_of(survey, readable(["0.29 to 0.3", "0 to 0.01"]))
    assert keys[codes].tolist() == [29, 0]


def test_rows_that_are_no_numbers_are_counted_and_not_shown() -> None:
    survey = SURVEYS[2]
    with pytest.raises(dn.AlphabetError) as caught:
        dn.privatize(survey, np.array([20.0, math.nan, math.inf, 17.0]))
    assert str(caught.value) == (
        "column must hold only finite numbers from 18 to 90, got 3 rows without one; filter them, and read texts as "
        "numbers first"
    )
    with pytest.raises(dn.AlphabetError) as caught:
        dn.privatize(SURVEYS[0], [0.5, "much"])
    assert str(caught.value) == (
        "column must hold only finite numbers, got 1 row without one; filter them, and read texts as numbers first"
    )
    with pytest.raises(dn.AlphabetError, match="column must not have missing answers, got 1"):
        dn.privatize(survey, pa.array([20.0, None]))
    with pytest.raises(dn.AlphabetError, match="numbers must be answers to a survey of numbers, got k-RR"):
        dn.simulate(dn.krr(symbols=3, epsilon=1), numbers=[1], rng=np.random.default_rng(0))
    with pytest.raises(dn.AlphabetError, match="numbers must be a list or an array of numbers, got something else"):
        dn.simulate(survey, numbers=["20"], rng=np.random.default_rng(0))
    with pytest.raises(
        dn.DecodeError, match="numbers must be given alone: they say how many people there are, and what they answer"
    ):
        dn.simulate(survey, n=3, numbers=[20], rng=np.random.default_rng(0))
    with pytest.raises(dn.DecodeError, match="p must be given, or numbers for a survey of numbers"):
        dn.simulate(survey, rng=np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_files_of_numbers(tmp_path: Path, kind: str) -> None:
    """At epsilon 30 a report is nearly the answer, so what was counted shows which bin each row was in."""
    survey = dn.number(0, 4, 30, bins=4, reach=0)
    numbers = [0.5, 1.0, 2.75, 3.5, 9.0]
    path = tmp_path / f"rows.{kind}"
    if kind == "parquet":
        pq.write_table(pa.table({"x": [*numbers, math.nan, None]}), path)
    elif kind == "csv":
        path.write_text("x\n" + "".join(f"{x}\n" for x in numbers) + "nan\nfew\n")
    else:
        path.write_text("".join(f'{{"x": {x}}}\n' for x in numbers) + '{"x": "nan"}\n{"x": "few"}\n')
    refused: dict[str, int] = {}
    reports = dn.privatize(survey, path, column="x", refused=refused)
    assert sum(refused.values()) == 2
    assert dn.count(survey, reports).counts.tolist() == [[1, 1, 1, 2]]

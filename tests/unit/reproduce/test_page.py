"""The folder and the page of `deniable reproduce`: complete, whole, self-contained and safe to open."""

import html
import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import deniable as dn
from deniable.reproduce import page
from deniable.reproduce.artifacts import csv_bytes, parquet_bytes, picture, put
from deniable.reproduce.figures import FIGURES, Figure
from deniable.reproduce.settings import Settings
from tests.unit.reproduce.reproduce_tables import Row, tables


@dataclass(frozen=True)
class Claim:
    id: str
    section: str
    sentence: str
    verdict: str
    measured: str
    exceptions: str


CLAIMS = [
    Claim("a", "4.4.1", "the projected decoder is better", "holds", "156 of 156 cells", ""),
    Claim("b", "4.4.2", "k-RR is better where k < e", "holds except", "90 %", "k = 2 with epsilon < 1, " * 9 + "all"),
    Claim("c", "5", "<script>alert(1)</script>", "does not hold", "<b>&", '"'),
    Claim('d" onclick="', "5", "not seen", "not measured", "", ""),
]
FACTS = {"command": "deniable reproduce --seed 3", "versions": "<i>numpy</i> 2"}
REAL = ["decoders", "krr_vs_rappor", "all_krr_vs_rappor", "open_set_zoom", "privacy_at_n_open"]


def write(folder: Path, figures: list[str], told: list[str] | None = None) -> list[Path]:
    progress = told.append if told is not None else (lambda _: None)
    return page.write(folder, tables(), CLAIMS, Settings(seed=3), FACTS, figures, progress)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One figure of each shape, as it is."""
    found = tmp_path_factory.mktemp("out") / "deep" / "folder"
    write(found, REAL)
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every figure, with one small picture in place of all of them: drawing takes most of the time."""
    found = tmp_path_factory.mktemp("whole")
    drawn = picture(FIGURES["geometric_ground_truth"].draw(tables()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "draw", lambda figure, found: None)
        patch.setattr(page, "picture", lambda chart: drawn)
        write(found, list(FIGURES))
    return found


@pytest.fixture(scope="module")
def index(folder: Path) -> str:
    return (folder / "index.html").read_text(encoding="utf-8")


def test_every_figure_and_table_has_its_files(whole: Path) -> None:
    assert {path.name for path in (whole / "figures").iterdir()} == {f"{name}.svg" for name in FIGURES}
    assert {path.name for path in (whole / "tables").iterdir()} == {f"{name}.parquet" for name in tables()}
    assert not [path for path in whole.rglob("*") if path.name.endswith(".partial")]


def test_the_page_has_every_figure_with_its_words_and_links(whole: Path) -> None:
    index = (whole / "index.html").read_text(encoding="utf-8")
    places = [index.index(f'<section id="{name}">') for name in FIGURES]
    assert places == sorted(places)
    for name, figure in FIGURES.items():
        assert f'<a href="#{name}">' in index
        assert f'<a href="figures/{name}.svg">svg</a>' in index
        assert figure.label == "ours" or f">{figure.label}</span>" in index
    assert index.count("<svg ") == len(FIGURES)
    assert all(f'<a href="tables/{name}.parquet">parquet</a>' in index for name in tables())


def test_the_page_has_every_claim_and_counts_the_verdicts(index: str) -> None:
    assert index.count('<tr id="claim-') == len(CLAIMS)
    for verdict in page.VERDICTS:
        assert f" 1 {verdict}</span>" in index
        assert f" {verdict}</span></td>" in index
    assert "A quick run, with smaller counts than the paper's: 200 evaluations" in index
    assert index.index('id="claims"') < index.index('id="figures"')


def test_a_long_text_is_folded_and_nothing_of_it_is_lost(index: str) -> None:
    pattern = r'<details><summary>(k = 2.*?) <span class="more">. more</span></summary>(.*?)</details>'
    ((head, rest),) = re.findall(pattern, index)
    assert html.unescape(f"{head} {rest}") == CLAIMS[1].exceptions
    assert len(html.unescape(head)) <= 150


def test_what_others_wrote_is_escaped(index: str) -> None:
    assert "<script" not in index
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in index
    assert "&lt;b&gt;&amp;" in index
    assert "&lt;i&gt;numpy&lt;/i&gt; 2" in index
    assert 'onclick="' not in index.replace("onclick=&quot;", "")


def test_the_page_asks_for_nothing(index: str) -> None:
    assert "default-src 'none'" in index
    assert "script-src" not in index
    assert re.findall(r"http(?!-equiv)", index) == []
    links = re.findall(r"""(?:src|href)=["']([^"']+)""", index)
    assert {link.split(":")[0] if ":" in link else link[:1] for link in links} <= {"#", "f", "t", "c"}


def test_names_inside_pictures_do_not_clash(index: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', index)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"url\(#([^)]+)\)", index)) <= set(ids)


def test_marks_tell_their_numbers_without_a_script(index: str) -> None:
    assert re.search(r"<title>k = 64, .{1,40} \N{PLUS-MINUS SIGN} ", index)
    assert re.search(r"<title>O-RR, . = 0.5: ", index)


def test_data_files_hold_the_rows_of_their_tables(folder: Path) -> None:
    import pyarrow.parquet as pq

    for name, rows in tables().items():
        columns = dict.fromkeys(column for row in rows for column in row)
        found = pq.read_table(folder / "tables" / f"{name}.parquet").to_pylist()
        assert found == [{column: row.get(column) for column in columns} for row in rows]
    assert json.loads((folder / "claims.json").read_text(encoding="utf-8"))[2]["sentence"] == CLAIMS[2].sentence
    assert (folder / "claims.csv").read_text(encoding="utf-8").count("\n") == 5


@pytest.mark.slow
def test_the_same_tables_give_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    told: list[str] = []
    names = ["decoders", "privacy_at_n_open"]
    first, second = write(tmp_path / "a", names, told), write(tmp_path / "b", names)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    for name in names:
        one, other = (place / "figures" / f"{name}.svg" for place in (tmp_path / "a", folder))
        assert one.read_bytes() == other.read_bytes()
    assert told[-3:] == ["figure decoders", "figure privacy_at_n_open", "index.html"]


def test_without_rows_there_is_a_page_and_no_data(tmp_path: Path) -> None:
    nothing: dict[str, list[dict[str, object]]] = {"kary": []}
    found = page.write(tmp_path, nothing, [], Settings(full=True), {}, ["decoders"], lambda _: None)
    names = [str(path.relative_to(tmp_path)) for path in found]
    assert names == ["claims.csv", "claims.json", "figures/decoders.svg", "index.html"]
    text = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "No claims were checked in this run." in text
    assert "No numbers for this figure in this run." in text
    assert "A full run, with the paper's counts: 10,000 evaluations" in text


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / "file" / "inside"
    sentence = f"{place / 'claims.csv'} cannot be written: not a directory; name another folder"
    with pytest.raises(dn.DeniableError, match=f"^{re.escape(sentence)}$"):
        page.write(place, {}, [], Settings(), {}, [], lambda _: None)


def test_a_file_that_cannot_be_moved_to_its_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "index.html").mkdir()
    with pytest.raises(dn.DeniableError, match=r"index\.html cannot be written: is a directory; name another folder$"):
        put(tmp_path / "index.html", b"page")
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]


def test_tables_may_have_missing_values_and_columns() -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[Row] = [{"k": 2, "loss": None}, {"k": 4, "loss": 0.5, "name": 'a,"b'}]
    assert csv_bytes(rows) == b'k,loss,name\n2,,\n4,0.5,"a,""b"\n'
    read = pq.read_table(pa.BufferReader(parquet_bytes(rows))).to_pylist()
    assert read == [{"k": 2, "loss": None, "name": None}, {"k": 4, "loss": 0.5, "name": 'a,"b'}]


def test_a_picture_is_shorter_and_looks_the_same() -> None:
    import vl_convert

    chart = FIGURES["geometric_ground_truth"].draw(tables())
    plain, svg = vl_convert.vegalite_to_svg(chart.to_dict()), picture(chart)
    assert len(svg) < len(plain) / 1.2
    for tag in ("text", "line", "path"):  # those with nothing to draw are left out
        assert len(re.findall(rf"<{tag}\b(?! d=\"\")[^>]*>", svg)) == len(
            re.findall(rf"<{tag}\b(?![^>]* d=\"\")[^>]*>", plain)
        )
    places = [re.findall(r"-?\d+\.?\d*", " ".join(re.findall(r'\btransform="([^"]*)"', text))) for text in (plain, svg)]
    assert len(places[0]) == len(places[1])
    assert all(abs(float(one) - float(other)) <= 0.0051 for one, other in zip(*places, strict=True))
    assert re.findall(r"<text[^>]*>([^<]*)", svg) == re.findall(r"<text[^>]*>([^<]*)", plain)

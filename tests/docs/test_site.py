"""The documentation site: it builds without a warning, is whole and small, and loads nothing from elsewhere."""

import inspect
import json
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

import deniable as dn
from deniable.service.pages import site as served
from deniable.service.sqlite import SQLiteStore
from docs import notebooks
from docs.arguments import ARGUMENTS
from examples.notebooks import NAMES
from tests.collector import Caller, run
from tests.docs.blocks import ROOT
from tests.docs.site import build

LARGEST = 95 * 10**5  # bytes of the site, with a dozen notebooks; packed into the wheel it is a third of that
SOURCES = sorted((ROOT / "docs").rglob("*.md"))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("documentation"))


class Reader(HTMLParser):
    """The links, names and inline code of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.names: set[str] = set()
        self.inline: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names.add(found.get("id", ""))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img", "link"):
            self.loads += [found[name] for name in ("src", "href") if name in found]
        if (tag == "script" and "src" not in found) or tag == "style":
            self.inline.append(tag)
        self.inline += [f"{tag} {name}" for name in found if name == "style" or name.startswith("on")]


def read(page: Path) -> Reader:
    reader = Reader()
    reader.feed(page.read_text(encoding="utf-8"))
    return reader


@pytest.mark.slow
def test_the_site_is_whole_and_small(site: Path) -> None:
    for source in SOURCES:
        assert (site / source.relative_to(ROOT / "docs")).with_suffix(".html").is_file(), source
    assert sum(path.stat().st_size for path in site.rglob("*") if path.is_file()) < LARGEST
    assert {path.suffix for path in site.rglob("*") if path.is_file()} <= {*served.KINDS, ".txt"}


@pytest.mark.slow
def test_every_public_name_is_in_the_reference(site: Path) -> None:
    pages = "".join(path.read_text(encoding="utf-8") for path in (site / "reference" / "api").glob("*.html"))
    names = set(re.findall(r'id="([\w.]+)"', pages))
    assert "each with a hash function of its own" in pages, "the text of a parameter"
    assert "best when epsilon is at least about ln k" in pages, "a docstring, as it was written"
    modules = {"lab", "theory"}
    assert {f"deniable.{name}" for name in set(dn.__all__) - modules - {"__version__"}} <= names
    for module in modules:
        assert all(re.search(rf'id="deniable\.[\w.]*\b{name}"', pages) for name in getattr(dn, module).__all__), module


@pytest.mark.slow
def test_pages_load_nothing_from_elsewhere_and_have_no_inline_code(site: Path) -> None:
    for page in site.rglob("*.html"):
        found = read(page)
        assert found.inline == [], page.name
        for target in found.loads:
            assert not target.startswith(("http", "//")), (page.name, target)
            assert target == "#" or (page.parent / target.partition("?")[0]).exists(), (page.name, target)


@pytest.mark.slow
def test_links_and_their_places_are_there(site: Path) -> None:
    pages = {page: read(page) for page in site.rglob("*.html")}
    for page, found in pages.items():
        for link in found.links:
            if re.match(r"\w+:", link):
                continue
            file, _, place = link.partition("#")
            there = (page.parent / file).resolve() if file else page
            assert there in pages or there.exists(), (page.name, link)
            if place and there in pages:
                assert place in pages[there].names, (page.name, link)


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in SOURCES
        if page.parent.name in ("tutorials", "how-to", "explanation") and page.stem not in ("index", "glossary")
    ],
    ids=lambda page: str(page.relative_to(ROOT / "docs")),
)
def test_a_page_begins_with_what_the_reader_will_have(page: Path) -> None:
    """CONTRIBUTING, "What a capability brings to the documentation": a title, then a sentence in bold."""
    title, _, body = page.read_text(encoding="utf-8").partition("\n")
    assert title.startswith("# ")
    assert body.lstrip().startswith("**")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_a_page_with_its_output_and_without_inline_styles(name: str, tmp_path: Path) -> None:
    assert (ROOT / "docs" / "examples" / f"{name}.md").is_file()
    text = notebooks.page(ROOT / "examples" / "notebooks" / f"{name}.ipynb", tmp_path, "../")
    assert text.startswith("# ")
    assert "```python" in text
    assert " style=" not in text
    assert "<script" not in text
    pictures = re.findall(r'<img src="../_images/([\w.-]+)"', text)
    assert sorted(pictures) == sorted(path.name for path in tmp_path.iterdir())
    assert pictures or "<table" in text


@pytest.mark.parametrize("name", [name for name in dn.__all__ if inspect.isfunction(getattr(dn, name))])
def test_every_argument_of_a_public_function_has_words(name: str) -> None:
    function = getattr(dn, name)
    own = "Parameters\n----------" in (inspect.getdoc(function) or "")
    assert own or set(inspect.signature(function).parameters) <= set(ARGUMENTS)


def test_the_page_of_errors_has_every_exception() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    classes = [value for name in dn.__all__ if isinstance(value := getattr(dn, name), type)]
    kinds = {kind.__name__ for kind in classes if issubclass(kind, dn.DeniableError)}
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE)) == kinds - {"DeniableError"}


def test_the_documentation_is_served_with_a_policy_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "site"
    (folder / "how-to").mkdir(parents=True)
    (folder / "index.html").write_text("<p>first</p>")
    (folder / "how-to" / "index.html").write_text("<p>second</p>")
    (folder / "secret.py").write_text("no")
    (tmp_path / "outside.html").write_text("no")
    monkeypatch.setattr(served, "ROOT", folder)
    served._site.cache_clear()

    async def story() -> None:
        async with Caller(SQLiteStore(tmp_path / "store")) as call:
            moved = await call("GET", "/docs")
            assert (moved.status, moved.headers["location"]) == (308, "/docs/")
            first = await call("GET", "/docs/")
            assert (first.status, first.body) == (200, b"<p>first</p>")
            policy = first.headers["content-security-policy"]
            assert "form-action 'self'" in policy
            assert "unsafe" not in policy
            assert (await call("GET", "/docs/how-to/")).body == b"<p>second</p>"
            for path in ("secret.py", "../outside.html", "how-to/../../outside.html", "nothing.html", "how-to"):
                assert (await call("GET", f"/docs/{path}")).status == 404, path
            assert "form-action 'none'" in (await call("GET", "/")).headers["content-security-policy"]

    run(story())
    served._site.cache_clear()


def test_where_it_was_not_built_the_page_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(served, "ROOT", tmp_path / "nothing")
    served._site.cache_clear()
    assert served.file_of("") == ("index.html", served.ABSENT)
    assert b"make docs" in served.ABSENT
    assert served.file_of("index.html") is None
    served._site.cache_clear()


def test_the_calculators_agree_with_the_library() -> None:
    """The page's JavaScript, in Node, beside exact thresholds and the theory of the package."""
    cases = [(epsilon, n, k) for epsilon in (0.5, 1, 2, 4) for n in (1000, 10**6) for k in (2, 5, 20)]
    code = f"""import {{ posterior, standardError }} from {json.dumps(str(ROOT / "docs/_static/widgets.js"))};
    const both = ([e, n, k]) => [posterior(e, 0.1), standardError(e, n, k, 1 / k)];
    console.log(JSON.stringify({json.dumps(cases)}.map(both)));
    """
    done = subprocess.run(["node", "--input-type=module", "-e", code], capture_output=True, text=True, check=True)
    for (epsilon, n, k), (belief, error) in zip(cases, json.loads(done.stdout), strict=True):
        survey = dn.krr(symbols=k, epsilon=epsilon)
        odds = float(survey.mechanism.odds) / 9  # a belief of 10 % has odds of one to nine
        assert belief == pytest.approx(odds / (1 + odds), rel=1e-9)
        total = dn.theory.l2_risk(survey, [1 / k] * k, n)  # k equal variances
        assert error == pytest.approx((total / k) ** 0.5, rel=1e-6)

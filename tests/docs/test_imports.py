"""The map of rooms, drawn from the imports: an arrow that points back fails here."""

import ast
import importlib
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "deniable"

# Each room may import what stands before it, never what stands after it.
ROOMS = (
    "errors",
    "noise",
    "mechanisms",
    "survey",
    "reports",
    "client",
    "charts",
    "tally",
    "columns",
    "engines",
    "matrices",
    "theory",
    "crowds",
    "simulation",
    "decoders",
    "tracking",
    "relations",
    "lab",
    "planner",
    "audit",
    "reproduce",
    "service",
    "cli",
)
DEVICE = ROOMS[:6]
DOORS = ("__init__", "__main__")
PACKAGES = {"numpy", "scipy", "pyarrow", "cryptography", "altair", "vl_convert", "uvicorn", "psycopg", "msgspec"}
PACKAGES |= {"pyspark", "py4j", "formulaic", "pandas"}

# What a report passes on its way to the disk, and the rooms that it may see there.
UPLOAD_PATH = (
    "uploads envelope entries records form_records gathering writer requests problems health clock metrics "
    "configuration store intake stored_surveys tokens tallies retention replacing framing window_blocks shards "
    "store_check migrations seals seen database sqlite postgres"
)
UPLOAD_ROOMS = {"errors", "survey", "reports", "tally", "service"}

# A door beside a room's `__init__`, for what most users of the room do not need and should not load.
SECOND_DOORS = {"deniable.lab.experiments"}


@cache
def files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def nodes(tree: ast.AST) -> list[ast.AST]:
    """All of a tree. A dozen rules walk through every file: once is enough."""
    return list(ast.walk(tree))


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0]
    return first.removesuffix(".py")


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, wherever the statement stands; `from a import b` counts as a and a.b."""
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module is not None
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def rooms_imported(tree: ast.AST) -> set[str]:
    parts = [name.split(".") for name in imported(tree)]
    return {part[1] for part in parts if part[0] == "deniable" and len(part) > 1 and part[1] in ROOMS}


@cache
def draw_map() -> dict[str, set[str]]:
    """room -> the rooms it imports, itself left out."""
    drawn: dict[str, set[str]] = {}
    for path in files():
        room = room_of(path)
        drawn.setdefault(room, set()).update(rooms_imported(parsed(path)) - {room})
    return drawn


def backward(drawn: dict[str, set[str]]) -> list[str]:
    """The arrows that point back, as text."""
    order = {room: place for place, room in enumerate(ROOMS)}
    return [f"{room} imports {other}" for room in ROOMS for other in drawn.get(room, ()) if order[other] > order[room]]


@cache
def exported(room: str) -> set[str]:
    """What the door of a room offers: its `__all__`."""
    path = SOURCE / room / "__init__.py"
    for node in parsed(path).body if path.exists() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def past_doors(tree: ast.AST, room: str) -> set[str]:
    """The modules inside other rooms that a file imports, and the private names it takes from their doors."""
    found = set()
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name.count(".") > 1}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("deniable."):
            inside = node.module.split(".")
            offered = exported(inside[1]) if len(inside) == 2 else set()
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if len(inside) > 2:
                    found.add(node.module)
                elif alias.name.startswith("_") or (alias.name not in offered and is_module(name)):
                    found.add(name)
    return {name for name in found if name.startswith("deniable.") and name.split(".")[1] != room} - SECOND_DOORS


def is_module(name: str) -> bool:
    path = SOURCE.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def test_rooms_import_each_other_through_their_doors() -> None:
    found = [
        f"{path.relative_to(SOURCE)} imports {module}"
        for path in files()
        for module in sorted(past_doors(parsed(path), room_of(path)))
    ]
    assert found == [], "import these from the room's door (its __init__), which may offer more"


@pytest.mark.parametrize(
    "code",
    [
        "from deniable.survey.alphabet import TEXTS",
        "def f():\n    from deniable.survey import alphabet",
        "import deniable.survey.alphabet as a",
        "from deniable.noise import _words",
    ],
)
def test_a_way_past_a_door_is_found(code: str) -> None:
    assert past_doors(ast.parse(code), "cli")
    assert not past_doors(ast.parse(code), "survey") or "noise" in code


@pytest.mark.parametrize(
    "code",
    [
        "from deniable.survey import TEXTS",
        "from deniable.survey import strength",
        "from deniable import lab, survey",
        "from deniable.lab.experiments import truth",
    ],
)
def test_a_door_is_no_way_past_itself(code: str) -> None:
    assert not past_doors(ast.parse(code), "cli")


@pytest.mark.parametrize("room", [room for room in ROOMS if (SOURCE / room / "__init__.py").exists()])
def test_every_name_of_a_door_is_there(room: str) -> None:
    module = importlib.import_module(f"deniable.{room}")
    assert [name for name in sorted(exported(room)) if not hasattr(module, name)] == []
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018


def test_every_room_is_on_the_map() -> None:
    assert set(draw_map()) == {*ROOMS, *DOORS}


def test_no_arrow_points_back() -> None:
    assert backward(draw_map()) == []


def test_the_drawing_sees_a_sabotaged_import() -> None:
    hidden = "def f():\n    from deniable import lab\n    from deniable.decoders import decode\n"
    found = backward({"tally": rooms_imported(ast.parse(hidden))})
    assert sorted(found) == ["tally imports decoders", "tally imports lab"]


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_packages_are_the_declared_ones(path: Path) -> None:
    allowed = set(sys.stdlib_module_names) | {"deniable"}
    if room_of(path) not in (*DEVICE, *DOORS):
        allowed |= PACKAGES
    assert {name.split(".")[0] for name in imported(parsed(path))} <= allowed


def test_the_device_side_imports_only_itself_and_the_standard_library() -> None:
    drawn = draw_map()
    assert all(drawn[room] <= set(DEVICE) for room in DEVICE)


def module_of(path: Path) -> str:
    """The full name of a module; that of a door is the room's."""
    return ".".join(("deniable", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__")


def draw_modules(trees: dict[str, ast.AST]) -> dict[str, set[str]]:
    """module -> the modules it imports, wherever the statement stands: in a function, or for types alone.

    `from a import b` is an import of a.b where that is a module, and of a elsewhere.
    """
    drawn: dict[str, set[str]] = {name: set() for name in trees}
    for name, tree in trees.items():
        for node in nodes(tree):
            if isinstance(node, ast.Import):
                drawn[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                drawn[name] |= inside & set(trees) | ({str(node.module)} if inside - set(trees) else set())
    return {name: (others & set(trees)) - {name} for name, others in drawn.items()}


def circles(drawn: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that import each other, however long the way round is."""
    reached = {name: set(others) for name, others in drawn.items()}
    for through in drawn:  # Warshall's closure
        for name in drawn:
            if through in reached[name]:
                reached[name] |= reached[through]
    rings = {tuple(sorted(other for other in reached[name] if name in reached[other])) for name in drawn}
    return sorted(list(ring) for ring in rings if ring)


def test_no_modules_of_a_room_import_each_other_in_a_circle() -> None:
    assert circles(draw_modules({module_of(path): parsed(path) for path in files()})) == []


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("from deniable.room.b import g", "def g():\n    from deniable.room.a import f"),
        ("from deniable.room import b", "import deniable.room.a"),
        ("from deniable.room import b", "if TYPE_CHECKING:\n    from deniable.room.a import F"),
        ("from deniable.room.b import g", "from deniable.room import g"),  # the door imports a
    ],
)
def test_a_circle_is_found(first: str, second: str) -> None:
    door = "from deniable.room.a import f"
    trees: dict[str, ast.AST] = {"deniable.room": ast.parse(door), "deniable.room.a": ast.parse(first)}
    assert circles(draw_modules({**trees, "deniable.room.b": ast.parse("import os")})) == []
    (ring,) = circles(draw_modules({**trees, "deniable.room.b": ast.parse(second)}))
    assert {"deniable.room.a", "deniable.room.b"} <= set(ring)


def test_charts_import_only_errors_and_how_to_write_and_load_their_packages_late() -> None:
    for path in (SOURCE / "charts").glob("*.py"):
        tree = parsed(path)
        assert rooms_imported(tree) <= {"errors", "survey", "charts"}
        assert {name for name in imported(tree) if name.startswith("deniable.survey.")} <= {
            "deniable.survey.write_atomically"
        }
        top = ast.Module([node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))], [])
        assert {name.split(".")[0] for name in imported(top)} & PACKAGES == set()


def test_the_collector_never_imports_a_client() -> None:
    """It has no code that could encode an answer, so none that could hold one."""
    assert draw_map()["service"] & {"client", "simulation", "lab", "noise"} == set()


@pytest.mark.parametrize("name", UPLOAD_PATH.split())
def test_the_upload_path_sees_only_surveys_reports_and_tallies(name: str) -> None:
    tree = ast.parse((SOURCE / "service" / f"{name}.py").read_text())
    assert rooms_imported(tree) <= UPLOAD_ROOMS
    inside = {part.split(".")[2] for part in imported(tree) if part.startswith("deniable.service.")}
    assert inside <= set(UPLOAD_PATH.split())


def test_taking_a_report_loads_neither_a_client_nor_a_decoder(tmp_path: Path) -> None:
    """The modules that are loaded once a report is on disk; `deniable` itself offers `Client`, and nothing else may."""
    code = """
import sys, types
sys.modules["deniable.client"] = stand_in = types.ModuleType("deniable.client")
stand_in.Client = stand_in.Ledger = None
import deniable as dn
from deniable.service.entries import Rules, Upload
from deniable.service.sqlite import SQLiteStore
from deniable.service.app import App
from deniable.service.configuration import Options
store = SQLiteStore(sys.argv[1])
entry, _ = store.create(dn.krr(symbols=4, epsilon=1), Rules())
report = dn.Report(entry.survey, 0, bytes([2])).pack()
assert store.write([Upload(entry, bytes(16) + report)], hours=480000)[0].accepted == 1
App(store, Options(sys.argv[1]), admin_token="a secret that is long enough")
print(*sorted(name.split(".")[1] for name in sys.modules if name.startswith("deniable.")))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = set(done.stdout.split())
    assert loaded <= UPLOAD_ROOMS | {"client", "mechanisms", "noise"}, "the stand-in for clients is never used"


def random_uses(tree: ast.AST) -> list[str]:
    """Where a file names numpy's seeded generators or Python's: in code, annotations in quotes included."""
    found = []
    for node in nodes(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("random", "default_rng", "RandomState"):
            found.append(f"line {node.lineno}: .{node.attr}")
        elif isinstance(node, ast.Name) and node.id == "default_rng":
            found.append(f"line {node.lineno}: default_rng")
        elif isinstance(node, (ast.FunctionDef, ast.AnnAssign)):
            notes = [node.annotation] if isinstance(node, ast.AnnAssign) else [a.annotation for a in node.args.args]
            texts = [n.value for n in notes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            found += [f"line {node.lineno}: {text}" for text in texts if ".random" in text]
    found += [name for name in imported(tree) if name in ("random", "numpy.random") or name.startswith("numpy.random.")]
    return found


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_seeded_randomness_appears_only_in_simulation_and_lab(path: Path) -> None:
    if room_of(path) not in ("simulation", "lab"):
        assert random_uses(parsed(path)) == []


@pytest.mark.parametrize(
    "code",
    ["import random", "from numpy.random import default_rng", "np.random.rand()", "def f(g: 'np.random.Generator'): 0"],
)
def test_the_search_for_seeded_randomness_finds_it(code: str) -> None:
    assert random_uses(ast.parse(code))


def test_private_randomness_comes_from_few_places() -> None:
    """os.urandom: the entropy source, a survey's public seed, the key of a bulk column; and the collector's secrets
    and the doctor's test of the source, which nobody's privacy rests on."""
    callers = {
        str(path.relative_to(SOURCE))
        for path in files()
        for node in nodes(parsed(path))
        if isinstance(node, ast.Attribute)
        and node.attr in ("urandom", "getrandom", "token_bytes", "token_hex", "randbits", "SystemRandom")
    }
    mine = {"service/seen.py", "service/tokens.py", "cli/doctor.py"}
    assert callers == {"noise.py", "survey/open_presets.py", "columns/stream.py", *mine}


@pytest.mark.parametrize("module", ["deniable", "deniable.cli", "deniable.client", "deniable.charts"])
def test_importing_loads_nothing_but_the_standard_library(module: str) -> None:
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    allowed = set(sys.stdlib_module_names) | {"deniable", "__main__"}
    loaded = {name for name in done.stdout.split() if not name.startswith(("_", "sitecustomize", "usercustomize"))}
    assert loaded - allowed == set()

"""The wings and rooms of the package: no two files import one another, no room knows of one that comes after it."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import mote
from tests.conftest import COLLECTED

TOP = Path(mote.__file__).parent
DIGITS = TOP.parents[1] / "models" / "digits.tflite"
WINGS = {
    "base": (),
    "hardware": ("npu", "cores", "targets", "toolchain"),
    "ir": ("graph", "ops"),
    "frontends": ("features", "data"),
    "compiler": ("kernels", "passes", "offload", "plan", "lower", "emit", "package"),
    "deploy": ("wire", "update", "agent", "firmware", "boards"),
    "bench": ("pictures", "metrics", "execute", "measure", "evaluation"),
    "optimize": ("train", "search", "tune", "compress", "nas"),
    "ui": ("reporter", "api", "project", "cli"),
}
"""The wings, and the rooms of each. A wing may import those before it, a room the rooms before it. Files and folders
of a wing that are no room join its rooms: they stand last."""
ROOMS = tuple(f"{wing}/{name}".rstrip("/") for wing, rooms in WINGS.items() for name in (*rooms, ""))
PLACE = {name: i for i, name in enumerate(ROOMS)}
WORKBENCH = ("deploy", "bench", "optimize", "ui")
"""The wings that stand on the compiler: none is needed to compile, or to understand how."""
UNRELATED = {
    "compiler/passes": {"frontends"},
    "bench/metrics": {"frontends/data", "compiler/kernels", "ir/ops"},
}
"""Rooms that do not import one another although the order would let them."""
ANSWER = re.compile(r"^\| .+\? \| `([\w/.]+)` \| `(\w+)` \|", re.MULTILINE)
"""A question of a newcomer, as docs/develop/architecture.md answers it: the file, and the name to look for."""
API_LINES = 800
"""Lines of `ui/api` at most: what functions do is in the rooms."""


@cache
def _imports(path: Path) -> list[tuple[ast.Import | ast.ImportFrom, bool]]:
    """The import statements of a file, and whether each is in a function. The tree, of which they are a hundredth, is
    not kept."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    return [found for found in _statements(module.body) if isinstance(found[0], ast.Import | ast.ImportFrom)]


def _statements(body: Iterable[ast.AST], inside: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    for node in body:
        yield node, inside
        deeper = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for block in ("body", "orelse", "finalbody", "handlers", "cases"):
            yield from _statements(getattr(node, block, ()), deeper)


@cache
def modules() -> dict[str, Path]:
    """Every module of the package, and its file."""
    return {".".join(p.relative_to(TOP.parent).with_suffix("").parts).removesuffix(".__init__"): p for p in _files()}


@cache
def imports() -> dict[str, set[str]]:
    """Every file of the package, and the files that it imports, anywhere in it."""
    files = modules()
    found = {}
    for name, path in files.items():
        used: set[str] = set()
        for node, _ in _imports(path):
            if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                whole = {f"{node.module}.{alias.name}" for alias in node.names}
                used |= {module if module in files else node.module for module in whole}
            elif isinstance(node, ast.Import):
                used |= {alias.name for alias in node.names}
        found[name] = {module for module in used if module in files and module != name}
    return found


def _files() -> list[Path]:
    return sorted(TOP.rglob("*.py"))


def test_no_two_files_import_one_another() -> None:
    try:
        list(TopologicalSorter(imports()).static_order())
    except CycleError as error:
        raise AssertionError(f"files that import one another: {error.args[1]}") from None


def test_rooms_do_not_know_what_comes_after_them() -> None:
    wrong = [
        f"{name} imports {module}"
        for name, used in imports().items()
        for module in used
        if room(name) in PLACE and room(module) in PLACE
        if PLACE[room(module)] > PLACE[room(name)] or room(module) in UNRELATED.get(room(name), ())
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_c_files_include_what_comes_before_them() -> None:
    """Headers that are in no room are generated, or of an operating system. Adapters are for what they include."""
    files = [path for ending in ("c", "h") for path in TOP.rglob(f"*.{ending}") if "adapters" not in path.parts]
    rooms = {path.name: room_of(path.relative_to(TOP)) for path in files}
    wrong = [
        f"{path.relative_to(TOP)} includes {name}"
        for path in files
        for name in re.findall(r'^#include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
        if name in rooms and PLACE[rooms[name]] > PLACE[room_of(path.relative_to(TOP))]
    ]
    assert not wrong, "\n".join(wrong)


def test_every_wing_and_room_has_its_place() -> None:
    packages = {path.parent.relative_to(TOP).as_posix() for path in TOP.glob("*/__init__.py")}
    assert packages == set(WINGS)
    assert {name for name in ROOMS if not (TOP / name / "__init__.py").exists()} == set()


def test_every_wing_says_what_lives_there() -> None:
    """Its README: what it is, what it may import, where to begin; files that it names exist."""
    for wing, rooms in WINGS.items():
        text = (TOP / wing / "README.md").read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 14, wing
        assert "It may import " in text and "Begin with " in text, wing
        assert [name for name in rooms if f"`{name}/`" not in text] == [], wing
        assert [
            name for name in re.findall(r"`([\w/.]+(?:/|\.py))`", text) if not (TOP / wing / name).exists()
        ] == [], wing


def test_a_room_of_many_files_has_folders() -> None:
    many = {name: len([*(TOP / name).glob("*.py")]) for name in ROOMS}
    assert {name: count for name, count in many.items() if count > 15} == {}


def test_the_picture_of_the_rooms_is_true() -> None:
    """docs/develop/architecture.md draws the wings as floors, the first at the bottom, with a sentence for each
    room."""
    page = (TOP.parents[1] / "docs" / "develop" / "architecture.md").read_text(encoding="utf-8")
    picture = page.split("## The wings")[1].split("```")[1]
    floors = [re.findall(r"(\w+)/", line) for line in reversed(picture.splitlines()) if line.strip()]
    assert {floor[0]: tuple(floor[1:]) for floor in floors} == WINGS and [floor[0] for floor in floors] == list(WINGS)
    rows = re.findall(r"^\| `([\w/]+)/` \|", page, re.MULTILINE)
    assert rows == [name for name in ROOMS if "/" in name]


def test_questions_of_newcomers_are_answered_in_three_clicks() -> None:
    """Files that the page names for five questions exist, at most three folders below the wing's, and hold the name."""
    page = (TOP.parents[1] / "docs" / "develop" / "architecture.md").read_text(encoding="utf-8")
    answers = ANSWER.findall(page)
    assert len(answers) >= 5
    for path, name in answers:
        assert path.count("/") <= (5 if path.startswith("tests/") else 4), path
        text = (TOP.parents[1] / path if path.startswith("tests/") else TOP / path).read_text(encoding="utf-8")
        assert re.search(rf"\b{name}\b", text), path


def test_modules_beside_the_wings_are_doors() -> None:
    """Only names that users import stand beside the wings, and what all may import: the version."""
    beside = {path.name for path in TOP.glob("*.py")}
    assert beside == {"__init__.py", "__main__.py", "quantize.py", "search.py", "targets.py", "version.py"}


def test_the_compiler_needs_no_workbench() -> None:
    """A model is compiled, and its C generated, without any module of the wings above the compiler."""
    script = f"import sys, mote; mote.compile({str(DIGITS)!r}, target='cortex-m4', flash='64K'); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[1] for name in done.stdout.split() if name.startswith("mote.")}
    assert loaded & set(WINGS) == set(WINGS) - set(WORKBENCH)


def test_the_python_api_is_thin() -> None:
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in (TOP / "ui" / "api").rglob("*.py"))
    assert lines <= API_LINES


def room_of(path: Path) -> str:
    """The room of a file, given from the package on; that of a wing's own files is the wing."""
    wing, *inner = path.parts
    return f"{wing}/{inner[0]}" if inner and f"{wing}/{inner[0]}" in PLACE else wing


def room(module: str) -> str:
    """The room of a module; no room for those beside the wings."""
    _, *parts = module.split(".")
    return next((name for name in ("/".join(parts[:2]), "/".join(parts[:1])) if name in PLACE), "")


def test_imports_are_absolute() -> None:
    """The tests of this file see those only."""
    assert not [
        path for path in _files() for node, _ in _imports(path) if isinstance(node, ast.ImportFrom) and node.level
    ]


def test_imports_by_string_know_the_rooms() -> None:
    """A module that is imported by its name obeys the order of rooms too."""
    wrong = [
        f"{name} imports {module}"
        for name, path in modules().items()
        for module in re.findall(r'"(mote(?:\.\w+)+)"', path.read_text(encoding="utf-8"))
        if room(name) in PLACE and PLACE.get(room(module), -1) > PLACE[room(name)]
    ]
    assert not wrong


def test_imports_stand_at_the_top() -> None:
    """A late import hides a circle."""
    late = [
        f"{path.relative_to(TOP)}:{node.lineno}"
        for path in _files()
        for node, inside in _imports(path)
        if inside and isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("mote"))
    ]
    assert not late


def test_every_test_file_is_collected(request: pytest.FixtureRequest) -> None:
    """Files of equal names once hid one another. Where a folder is tested, all of its files are collected, also those
    whose cases are left to other runs."""
    tests = request.config.rootpath / "tests"
    folders = {request.config.rootpath / name for name in request.config.args}
    texts = {path: path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py")}
    assert not [path for path in texts if not (path.parent / "__init__.py").exists()]
    holding = {path for path, text in texts.items() if "def test_" in text and folders & set(path.parents)}
    assert sorted(holding - request.config.stash[COLLECTED]) == []


INSTRUCTION_SET = re.compile(r"\b(?:__asm|MOTE_DSP|MOTE_HELIUM|MOTE_VFP|__(?:ARM|arm|thumb|riscv|aarch64|x86|i386))")
INCLUDED = re.compile(r'^#include "(mote_\w+\.h)"', re.MULTILINE)


def test_portable_kernels_know_no_instruction_set() -> None:
    """No assembly, no macro of a core, and no header of another folder than the primitives, which choose the core's."""
    kernels = TOP / "compiler" / "kernels"
    own = [*(kernels / "portable").rglob("*.h"), *(kernels / "primitives").glob("*.h")]
    known = {path.name for path in own} | {
        path.name for path in (TOP / "compiler" / "emit" / "image" / "runtime").glob("*.h")
    }
    wrong = [path.name for path in own if INSTRUCTION_SET.search(path.read_text(encoding="utf-8"))]
    assert wrong == ["mote_compiler.h"], "barriers stand there"
    portable = (path for path in own if "portable" in path.parts)
    foreign = [(path.name, set(INCLUDED.findall(path.read_text(encoding="utf-8"))) - known) for path in portable]
    assert [(name, headers) for name, headers in foreign if headers] == []

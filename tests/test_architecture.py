"""The rooms of the house: no two files import one another, and no room knows of one that comes after it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import mote
from tests.conftest import COLLECTED

TOP = Path(mote.__file__).parent
ROOMS = (
    "npu",
    *("graph", "ops", "cores", "targets", "kernels", "frontends", "passes", "features", "data"),
    "metrics",
    *("offload", "plan", "lower", "emit", "deploy", "package", "pictures"),
    *("toolchain", "boards", "compiler", "execute", "measure", "search", "tune", "evaluation", "train", "compress"),
    *("reporter", "nas"),
    *("api", "project", "cli"),
)
"""Every room may import those before it in this list, and no others."""
UNRELATED = {
    "passes": {"frontends"},
    "features": {"frontends", "passes", "kernels"},
    "data": {"frontends", "passes", "kernels"},
    "metrics": {"data", "kernels", "ops"},
}
"""Rooms that do not import one another although the order would let them."""


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
    place = {name: i for i, name in enumerate(ROOMS)}
    wrong = [
        f"{name} imports {module}"
        for name, used in imports().items()
        for module in used
        if room(name) in place and room(module) in place
        if place[room(module)] > place[room(name)] or room(module) in UNRELATED.get(room(name), ())
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_c_files_include_what_comes_before_them() -> None:
    """Headers that are in no room are generated, or of an operating system."""
    files = [path for ending in ("c", "h") for path in TOP.rglob(f"*.{ending}")]
    rooms = {path.name: path.relative_to(TOP).parts[0] for path in files}
    wrong = [
        f"{path.relative_to(TOP)} includes {name}"
        for path in files
        for name in re.findall(r'^#include "(.+)"', path.read_text(encoding="utf-8"), re.MULTILINE)
        if name in rooms and ROOMS.index(rooms[name]) > ROOMS.index(path.relative_to(TOP).parts[0])
    ]
    assert not wrong, "\n".join(wrong)


def test_every_room_has_its_place() -> None:
    assert sorted(ROOMS) == sorted(path.name for path in TOP.iterdir() if (path / "__init__.py").exists())


def test_a_room_of_many_files_has_folders() -> None:
    many = {room: sum(path.is_file() for path in (TOP / room).iterdir()) for room in ROOMS}
    assert {room: count for room, count in many.items() if count > 15} == {}


def test_the_picture_of_the_rooms_is_true() -> None:
    """docs/develop/architecture.md draws the rooms as floors, the first at the bottom, with a sentence for each."""
    page = (TOP.parents[1] / "docs" / "develop" / "architecture.md").read_text(encoding="utf-8")
    picture = page.split("## The rooms")[1].split("```")[1]
    floors = [re.findall(r"(\w+)/", line) for line in reversed(picture.splitlines())]
    assert [name for floor in floors for name in floor] == list(ROOMS)
    assert re.findall(r"^\| `(\w+)/` \|", page, re.MULTILINE) == list(ROOMS)


def test_modules_that_are_no_room_import_no_room() -> None:
    """`errors`, `files`, `text` and their like are below all rooms; `quantize` is the public door of one."""
    doors = {"mote", "mote.__main__", "mote.quantize"}
    wrong = [
        f"{n} imports {m}"
        for n, used in imports().items()
        for m in used
        if n not in doors and n.count(".") == 1 and room(n) not in ROOMS and room(m) in ROOMS
    ]
    assert not wrong, "\n".join(sorted(wrong))


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def test_imports_are_absolute() -> None:
    """The tests of this file see those only."""
    assert not [
        path for path in _files() for node, _ in _imports(path) if isinstance(node, ast.ImportFrom) and node.level
    ]


def test_imports_by_string_know_the_rooms() -> None:
    """A module that is imported by its name obeys the order of rooms too; `mote.quantize` is a public door."""
    place = {name: i for i, name in enumerate(ROOMS)}
    wrong = [
        f"{name} imports {module}"
        for name, path in modules().items()
        for module in re.findall(r'"mote\.(\w+)(?:\.\w+)+"', path.read_text(encoding="utf-8"))
        if room(name) in place and place.get(module, -1) > place[room(name)]
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
    """Files of equal names once hid one another. `make test` collects all, also what it leaves to other targets."""
    tests = request.config.rootpath / "tests"
    texts = {path: path.read_text(encoding="utf-8") for path in tests.rglob("test_*.py")}
    assert not [path for path in texts if not (path.parent / "__init__.py").exists()]
    holding = {path for path, text in texts.items() if "def test_" in text}
    if [request.config.rootpath / name for name in request.config.args] == [tests]:
        assert sorted(holding - request.config.stash[COLLECTED]) == []


INSTRUCTION_SET = re.compile(r"\b(?:__asm|MOTE_DSP|MOTE_HELIUM|MOTE_VFP|__(?:ARM|arm|thumb|riscv|aarch64|x86|i386))")
INCLUDED = re.compile(r'^#include "(mote_\w+\.h)"', re.MULTILINE)


def test_portable_kernels_know_no_instruction_set() -> None:
    """No assembly, no macro of a core, and no header of another folder than the primitives, which choose the core's."""
    kernels = TOP / "kernels"
    own = [*(kernels / "portable").rglob("*.h"), *(kernels / "primitives").glob("*.h")]
    known = {path.name for path in own} | {path.name for path in (TOP / "emit" / "image" / "runtime").glob("*.h")}
    wrong = [path.name for path in own if INSTRUCTION_SET.search(path.read_text(encoding="utf-8"))]
    assert wrong == ["mote_compiler.h"], "barriers stand there"
    portable = (path for path in own if "portable" in path.parts)
    foreign = [(path.name, set(INCLUDED.findall(path.read_text(encoding="utf-8"))) - known) for path in portable]
    assert [(name, headers) for name, headers in foreign if headers] == []

"""Everything that depends on the architecture is in its record: nothing outside of `cores` asks for one by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import mote
from mote.hardware import targets
from mote.hardware.cores import ARCHITECTURES, HOST, Architecture

SOURCES = Path(mote.__file__).parent
CROSS = [core for core in ARCHITECTURES.values() if core is not HOST]
EMULATED = [core for core in CROSS if core.boards]


@pytest.mark.parametrize("name", targets.names())
def test_every_target_has_a_record(name: str) -> None:
    target = targets.load(name)
    core = target.core
    assert core.name == target.arch
    machine = target.qemu_machine or target.simavr_mcu
    assert core not in EMULATED or (machine in core.boards and target.cycle_model in core.cycles)


@pytest.mark.parametrize("core", CROSS, ids=lambda core: core.name)
def test_a_record_names_its_compiler(core: Architecture) -> None:
    assert core.title and core.gcc and core.library and bool(core.gcc_packages) != bool(core.gcc_remedy)


@pytest.mark.parametrize("core", EMULATED, ids=lambda core: core.name)
def test_a_record_is_whole(core: Architecture) -> None:
    assert core.cycles and core.code is not None
    if core.qemu:
        assert core.qemu_packages and core.exceptions
    for file in (core.start, core.measure):
        assert (
            file is not None and file.is_file() and core.name in file.relative_to(SOURCES / "hardware" / "cores").parts
        )
    machines = [other.code.elf_machine for other in EMULATED if other.code is not None]
    assert machines.count(core.code.elf_machine) == 1


def names_of_architectures(tree: ast.AST) -> Iterator[int]:
    """The lines that name an emulated architecture, or that compare with or choose by the name of the host."""
    emulated, native = {core.name for core in CROSS}, {HOST.name}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node.value in emulated:
            yield node.lineno
        chosen = node.keys if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Compare):
            chosen = [leaf for side in (node.left, *node.comparators) for leaf in ast.walk(side)]
        if any(isinstance(leaf, ast.Constant) and leaf.value in native for leaf in chosen):
            yield node.lineno


def test_no_file_outside_of_cores_names_an_architecture() -> None:
    """But for packages, whose ecosystems have names of their own for architectures."""
    allowed = ("hardware/cores", "compiler/package", "deploy/agent")
    quoted = re.compile("|".join(f"""["']{core.name}["']""" for core in (*CROSS, HOST)))
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(SOURCES.rglob("*.py"))}
    wrong = [
        f"{path.relative_to(SOURCES)}:{line}"
        for path, text in texts.items()
        if not any(path.is_relative_to(SOURCES / room) for room in allowed) and quoted.search(text)
        for line in names_of_architectures(ast.parse(text))
    ]
    assert not wrong


@pytest.mark.parametrize(
    "text", ['x.arch == "arm"', '{"riscv": 1}', 'x.arch in ("host", "y")', '{"host": 1}', 'x.arch != "host"']
)
def test_what_names_an_architecture_is_found(text: str) -> None:
    assert list(names_of_architectures(ast.parse(text))) == [1]

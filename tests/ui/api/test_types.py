"""Types of the public API: known to type checkers for every name, without `Any` where a type can be said."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

import mote
from mote.compiler.given import CompileOptions
from mote.compiler.settings import TABLE

ROOT = Path(__file__).parents[3]
USER = Path(__file__).with_name("typed_user.py")
OPEN = {
    *("model", "models", "example_inputs", "data", "test", "validate", "keep", "against", "around"),
    *("source", "settings", "options", "constants", "parameters", "targets"),
}
"""Parameters that take objects of other packages: models, arrays, data sets, values of options."""


def test_type_checkers_know_every_name() -> None:
    """They read imports that never run, each from where the name is loaded when it is asked for."""
    (block,) = [
        node.body
        for node in ast.parse(Path(mote.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    homes = {
        alias.name: str(node.module).removeprefix("mote.")
        for node in block
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    homes |= {node.targets[0].id: "api.doors" for node in block if isinstance(node, ast.Assign)}  # type: ignore[attr-defined]
    known = {name for name in mote.__all__ if not name.startswith("__")}
    assert known <= set(homes)
    assert set(homes) - known <= {"QuantizeModule", "SearchModule", "TargetsModule"}
    for name, home in mote._HOMES.items():
        assert getattr(import_module(f"mote.{homes[name]}"), name) is getattr(mote, name), f"{name} is of {home}"


def test_a_program_has_every_name() -> None:
    tree = ast.parse(USER.read_text(encoding="utf-8"))
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "mote"
    }
    assert used == set(mote.__all__)
    checked = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mypy"]["files"]
    assert USER.relative_to(ROOT).as_posix() in checked


@pytest.mark.slow
def test_a_type_checker_accepts_the_program() -> None:
    """As a user runs it: with the package as it is published, and no settings of this repository; `make types` checks
    the same program with the package."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--cache-dir", os.devnull]
    done = subprocess.run(
        [*command, str(USER)],
        capture_output=True,
        text=True,
        cwd=USER.parent,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )
    ours = [line for line in done.stdout.splitlines() if line.startswith("typed_user.py") or USER.name in line]
    assert not [line for line in ours if "error" in line], done.stdout


@pytest.mark.parametrize("name", [name for name in mote.__all__ if not name.startswith("__")])
def test_signatures_say_types(name: str) -> None:
    public = getattr(mote, name)
    if inspect.isclass(public):
        assert public.__doc__
        return
    signature = inspect.signature(inspect.unwrap(public))
    assert signature.return_annotation not in (inspect.Signature.empty, "Any")
    for parameter in signature.parameters.values():
        assert parameter.annotation is not inspect.Parameter.empty, parameter.name
        assert "Any" not in str(parameter.annotation) or parameter.name in OPEN, parameter.name


def test_options_are_typed() -> None:
    """Keywords of `mote.compile` are the fields of Settings, and how a command line says some of them."""
    assert set(CompileOptions.__annotations__) == set(TABLE)

"""Every command has its function in `mote`, and every option a parameter of the same name."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import Any

import pytest

import mote
from mote.frontends.data.dataset import dataset
from mote.optimize.compress.mixed_precision.search import mix
from mote.ui.cli import COMMANDS

SHELL_ONLY = {"completion"}
"""Commands about the shell itself."""
PRINTED = {"help", "json", "output", "picture", "force", "wide", "plugin", "depfile", "junit"}
"""Options about files and what is printed: methods of results (`write`, `svg`, `json`, `junit`) do that in Python."""
RENAMED = {
    "shape": "shapes",
    "set": "constants",
    "kernel": "kernels",
    "no-shrink": "shrink",
    "no-verify": "verify",
    "no-restart": "restart",
    "from": "sources",
    "search from": "around",
    "for": "purposes",
    "outputs": "outputs",
}
"""Options that may be given several times are plural in Python, and switches that say no are switches that say yes."""
ELSEWHERE = {
    "compile": {"adapter", "source", "package", "metadata", "shared-arena", "run-together"},
    "runtime": {"adapter", "package", "metadata"},
    "plan": {"layer"},
    "pack": {"c-array"},
    "profile": {"functions", "elf", "entry"},
    "evaluate": {"confusion-picture", "noise-picture"},
    "prune": {"channels", "blocks", "clusters"},
    "ota": {"forever"},
    "flash": {"yes"},
    "cmake": {"keywords", "flags"},
    "quantize": set(),
    "search": {"resume"},
}
"""Options that other functions and methods are for: `compile_several`, `Compiled.write(package=...)`,
`MemoryPlan.kernels`, `Image.c_array`, `profile_elf`, `prune(kind=...)`."""
QUANTIZED_FIRST = {"quantize", "calibrate"}
"""Options of commands that compile: `mote.quantize` gives a model to compile."""
READS_DATA = {"inputs", "labels", "preprocess"}
"""Options about samples: `mote.dataset(data, inputs=..., labels=..., preprocess=...)`."""


def function(command: str) -> Callable[..., Any]:
    made: Callable[..., Any] = getattr(mote, command.replace("-", "_"))
    return made


def options(command: str) -> set[str]:
    parser = argparse.ArgumentParser()
    import_module(f"mote.ui.cli.commands.{command.replace('-', '_')}").add(parser)
    names = set()
    for action in parser._actions:
        long = [name[2:] for name in action.option_strings if name.startswith("--")]
        names.add(long[0] if long else action.dest if not action.option_strings else action.option_strings[0][1:])
    return names


def parameters(command: str) -> set[str]:
    own = inspect.signature(function(command)).parameters
    names = set(own)
    if any(p.kind is p.VAR_KEYWORD for p in own.values()):
        names |= {"trust_target", "point", "pins", *(f.name for f in fields(mote.Settings))}
    if command == "quantize":
        names |= parameters_of(mix) | {"trust_target", *(f.name for f in fields(mote.Settings))}
    return names


def renamed(command: str, name: str) -> str:
    """The parameter of an option, by its name or by that of a command and its own."""
    return RENAMED.get(f"{command} {name}", RENAMED.get(name, name))


def parameters_of(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters)


def test_every_command_has_its_function() -> None:
    missing = [name for name in COMMANDS if name not in SHELL_ONLY and not callable(function(name))]
    assert not missing
    undocumented = [name for name in COMMANDS if name not in SHELL_ONLY and not inspect.unwrap(function(name)).__doc__]
    assert not undocumented


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in SHELL_ONLY])
def test_options_are_parameters(command: str) -> None:
    known = parameters(command)
    allowed = PRINTED | ELSEWHERE.get(command, set()) | QUANTIZED_FIRST
    if "data" in options(command):
        allowed = allowed | READS_DATA
        assert parameters_of(dataset) >= READS_DATA
    missing = {
        name
        for name in options(command)
        if not {renamed(command, name).replace("-", "_"), name, f"{name}s"} & known and name not in allowed
    }
    assert not missing, f"mote.{command.replace('-', '_')} has no parameters for the options {sorted(missing)}"


@pytest.mark.parametrize("name", ["quantize", "search", "targets"])
def test_modules_with_the_name_of_a_command_are_both(name: str) -> None:
    """However the module was imported: by the package, by itself, or from it."""
    module = import_module(f"mote.{name}")
    assert getattr(mote, name) is module and callable(module)
    assert inspect.signature(module) == inspect.signature(module.__wrapped__)
    assert module.__doc__ and module.__file__


def test_quantize_is_a_function_and_has_functions() -> None:
    assert mote.quantize.post_training is mote.quantize.__wrapped__
    assert {"mix", "prepare", "train", "convert"} <= set(mote.quantize._HOMES)

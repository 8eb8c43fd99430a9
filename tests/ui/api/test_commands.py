"""Every command has its function in `mote`, and every option a parameter of the same name."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest

import mote
from mote.compiler.given import CompileOptions, ReadKeywords
from mote.frontends.data.dataset import dataset
from mote.optimize.compress.mixed_precision.search import MixingPlan, MixOptions, mix
from mote.optimize.compress.prune.pruning_plan import PruneOptions, PruningPlan
from mote.optimize.compress.quantize.pipeline import Methods
from mote.optimize.compress.quantize.post_training import QuantizationPlan, QuantizeOptions
from mote.optimize.nas.searcher import SearchOptions, SearchPlan
from mote.optimize.tune.tune import TuneOptions, TuningPlan
from mote.ui.cli import COMMANDS

SHELL_ONLY = {"cache", "completion"}
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
    return parameters_of(function(command)) | (parameters_of(mix) if command == "quantize" else set())


def renamed(command: str, name: str) -> str:
    """The parameter of an option, by its name or by that of a command and its own."""
    return RENAMED.get(f"{command} {name}", RENAMED.get(name, name))


def parameters_of(function: Callable[..., Any]) -> set[str]:
    """The names of parameters, and of the keywords that `**options` are."""
    own = inspect.signature(function).parameters
    names = {name for name, p in own.items() if p.kind is not p.VAR_KEYWORD}
    for hint in (h for name, h in get_type_hints(inspect.unwrap(function)).items() if name not in names):
        names |= {key for keywords in get_args(hint) for key in getattr(keywords, "__annotations__", ())}
    return names


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


@pytest.mark.parametrize(
    ("keywords", "base", "records"),
    [
        (SearchOptions, CompileOptions, [SearchPlan]),
        (PruneOptions, ReadKeywords, [PruningPlan]),
        (QuantizeOptions, ReadKeywords, [QuantizationPlan, Methods]),
        (MixOptions, CompileOptions, [MixingPlan]),
        (TuneOptions, CompileOptions, [TuningPlan]),
    ],
)
def test_keywords_are_the_fields_of_their_records(keywords: type, base: type, records: list[type]) -> None:
    """With the same types, and none that a compilation or a reader has."""
    own = {n: t.__forward_arg__ for n, t in keywords.__annotations__.items() if n not in base.__annotations__}
    stated = {f.name: f.type for record in records for f in fields(record)}
    assert own == {name: kind for name, kind in stated.items() if name not in base.__annotations__}


def test_unknown_keywords_are_refused() -> None:
    wrong: Any = {"sampels": 3}
    calls: list[Callable[[], object]] = [
        lambda: mote.search("a.npz", test="b.npz", **wrong),
        lambda: mote.prune("a.onnx", "b.npz", macs="50%", **wrong),
        lambda: mote.quantize("a.onnx", "b.npz", **wrong),
        lambda: mote.quantize.mix("a.onnx", "b.npz", "c.npz", max_accuracy_drop="1%", **wrong),
        lambda: mote.tune("a.onnx", **wrong),
    ]
    for call in calls:
        with pytest.raises(mote.MoteError, match="no option 'sampels'"):
            call()

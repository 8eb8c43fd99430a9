"""Compiled models on disk: the same as made anew, and whatever is wrong with an entry changes no result."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mote.base import cache
from mote.base.cache import CacheFolder
from mote.bench.measure.time_limit import MeasuredTime
from mote.compiler import kept, line
from mote.compiler.compiled import Compiled
from mote.compiler.plan.json_codec import dump, load, same
from mote.compiler.settings import make_settings
from mote.compiler.stages import CompilerSession, using
from mote.frontends.features.steps import STEPS
from mote.ui.cli import main
from tests.compiler.test_stages import CORE, DIGITS, FILES, MODELS
from tests.helpers.support import needs_litert

UNNEEDED = ("mote.compiler.line", "mote.compiler.plan.planner", "mote.compiler.passes.pipeline", "mote.compiler.packer")
"""Modules that nothing needs to use a compiled model from the cache."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[str]:
    """The sources that were compiled, with a cache folder of the test's own."""
    called: list[str] = []
    compile_source: Callable[..., Compiled] = line.compile_source

    def counted(source: Any, *arguments: Any, **options: Any) -> Compiled:
        called.append(source.where)
        return compile_source(source, *arguments, **options)

    monkeypatch.setattr(line, "compile_source", counted)
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path / "cache"))
    return called


def fresh(model: Any = DIGITS, **options: Any) -> Compiled:
    """A compiled model, as another process would have it."""
    with using(CompilerSession(disk=True)):
        return kept.compile(model, **{"target": CORE, **options})


def entries(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / cache.MODELS).glob("*"))


OPTIONS: list[dict[str, Any]] = [
    {},
    {"target": "host"},
    {"optimize": "size", "single_file": True, "name": "other"},
    {"ram": 3000, "step": "row"},
    {"postprocess": "detect(1,0.8)", "labels": [*"abcdefghij"]},
    {"input": "rows", "instances": True},
    {"target": "rp2350", "cores": 2},
    {"train": "last"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_model_of_the_disk_is_the_one_that_was_made(options: dict[str, Any], made: list[str]) -> None:
    first, second = fresh(**options), fresh(**options)
    assert len(made) == 1
    assert second.project.files == first.project.files and second.json() == first.json()
    assert second.settings == first.settings and second.model == first.model and second.path == first.path
    for name in ("prepared", "plan", "program", "reserve", "warnings", "renamed"):
        assert same(load(dump(getattr(first, name))), load(dump(getattr(second, name)))), name
    assert second.plan.graph is second.prepared.whole or first.plan.graph is not first.prepared.whole


def test_what_it_depends_on_makes_another(made: list[str], tmp_path: Path) -> None:
    for options in OPTIONS:
        fresh(**options)
    named = tmp_path / "another.tflite"
    shutil.copyfile(DIGITS, named)
    assert f"{named.stem}.c" in fresh(named).project.files
    assert len(made) == len(OPTIONS) + 1


@pytest.mark.parametrize("option", FILES)
def test_a_file_that_is_written_anew_makes_another(option: str, made: list[str], tmp_path: Path) -> None:
    name, first, second, options = FILES[option]
    path, files = tmp_path / name, []
    for data in (first, second, first):
        path.write_bytes(data)
        others = options(path)
        files.append(fresh(others.pop("model", DIGITS), **others).project.files)
    assert files[0] == files[2] != files[1] and len(made) == (3 if option == "encrypt" else 2)


def test_keys_hold_no_paths(made: list[str], tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        shutil.copyfile(DIGITS, tmp_path / folder / "digits.tflite")
        compiled = fresh(tmp_path / folder / "digits.tflite")
        assert compiled.path == compiled.file.where == str(tmp_path / folder / "digits.tflite")
    assert len(made) == 1


def test_what_depends_on_more_is_not_kept(made: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a key, a C compiler, other packages, an object, a measured budget, or Python code of users."""
    (tmp_path / "aes.key").write_bytes(bytes(range(16)))
    cases: list[tuple[Any, dict[str, Any]]] = [
        (DIGITS, {"encrypt": str(tmp_path / "aes.key")}),
        (DIGITS, {"flash": "64K"}),
        (DIGITS, {"target": "stm32f407", "place_code": "ram"}),
        (MODELS / "digits.onnx", {}),
    ]
    for model, options in cases:
        fresh(model, **options)
    with using(CompilerSession(disk=True)):
        kept.compile_within(DIGITS, make_settings(CORE), [MeasuredTime()])
    monkeypatch.setitem(STEPS, "mine", lambda signal: signal)
    fresh()
    assert len(made) == len(cases) + 2 and not entries(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "bit", "empty", "foreign", "plan", "value", "field", "settings", "overlap"])
def test_a_damaged_entry_is_made_again(damage: str, made: list[str], tmp_path: Path) -> None:
    first = fresh()
    (file,) = entries(tmp_path)
    data, folder = bytearray(file.read_bytes()), CacheFolder(file.parent)
    text = folder.read(file.name)
    assert text is not None
    whole = load(text.decode())
    assert isinstance(whole, kept.KeptModel)
    data[len(data) // 2] ^= 1
    buffers = tuple(replace(b, offsets=tuple(0 for _ in b.offsets)) for b in first.plan.buffers)
    if damage in ("cut", "bit", "empty"):
        file.write_bytes({"cut": bytes(data[:-9]), "bit": bytes(data), "empty": b""}[damage])
    elif damage == "foreign":
        fresh(optimize="size")
        (other,) = {*entries(tmp_path)} - {file}
        shutil.copyfile(other, file)
    else:
        wrong = {
            "plan": first.plan,
            "value": 3,
            "field": replace(whole, compiled={"plan": first.plan}),
            "settings": replace(whole, settings={"no_such": 1}),
            "overlap": replace(whole, compiled={**whole.compiled, "plan": replace(first.plan, buffers=buffers)}),
        }[damage]
        folder.write(file.name, dump(wrong).encode())
    before = len(made)
    assert fresh().project.files == first.project.files and len(made) == before + 1
    assert fresh().project.files == first.project.files and len(made) == before + 1, "it was written anew"


def test_off_keeps_nothing(made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(cache.VARIABLE, cache.OFF)
    fresh()
    fresh()
    assert len(made) == 2 and not entries(tmp_path)


@needs_litert
def test_verify_after_compile_needs_no_compiler_of_models(made: list[str], tmp_path: Path) -> None:
    """Neither the pipeline nor kernels are imported, in another process; what is compared is the same."""
    with using(CompilerSession(disk=True)):
        assert main(["compile", str(DIGITS), "-t", "host", "-o", str(tmp_path / "out")]) == 0
    command = ["verify", str(DIGITS), "-t", "host", "--inputs", "2", "--json"]
    code = f"import sys; from mote.ui.cli import main; main({command!r}); print('loaded:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    told, _, loaded = done.stdout.rpartition("loaded:")
    assert json.loads(told)["exact"]
    own = {name for name in loaded.split() if name.startswith("mote.")}
    assert not own & {*UNNEEDED} and len(own) < 420 and len(made) == 1
    assert not {name for name in own if name.startswith("mote.compiler.kernels.portable.")}

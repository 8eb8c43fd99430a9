"""Runtimes as C libraries: fixed sets of kernels, and images that run with just these, on every core."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mote import MoteError
from mote.bench.evaluation.images import load_image, run_image, verify_image
from mote.bench.execute.interpreter import Interpreter
from mote.bench.measure.runner import bench
from mote.compiler.emit.image.entries import Limits, entry_files
from mote.compiler.emit.image.kernels import KernelRecord
from mote.compiler.emit.image.manifest import parse_manifest, read_manifest
from mote.compiler.emit.image.sources import runtime_files
from mote.compiler.emit.image.stock_kernels import TUNED, everything, minimal, stock, tuned
from mote.compiler.kernels.contract import Call
from mote.compiler.line import compile
from mote.compiler.packer import pack
from mote.compiler.settings import make_settings
from mote.deploy.runtime import runtime
from mote.hardware import targets, toolchain
from mote.hardware.toolchain import Mode
from mote.ui.cli import main
from tests.compiler.emit.image.image_models import DIGITS
from tests.helpers.network import SCALE, Net, Quant
from tests.helpers.support import emulated, needs, needs_litert

KEYWORDS = str(Path(DIGITS).with_name("keywords.tflite"))
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wno-sign-conversion", "-pedantic", "-Werror")
"""gcc 12 warns of signs in an unsigned product of int8 elements where it is told -fwrapv."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A runtime with what digits is planned with on a Cortex-M4, code that is made for its layers included."""
    place = tmp_path_factory.mktemp("runtime") / "library"
    runtime([DIGITS], target="cortex-m4").write(place)
    return place


@pytest.fixture(scope="module")
def packed(folder: Path) -> Path:
    """Digits for that runtime."""
    path = folder.with_name("digits.mote")
    pack(DIGITS, target="cortex-m4", runtime=folder).write(path)
    return path


@pytest.mark.slow
def test_all_kernels_of_the_stock_runtime_compile(tmp_path: Path) -> None:
    compiled_entries(everything(), tmp_path)


def test_some_kernels_of_the_stock_runtime_compile(tmp_path: Path) -> None:
    """Images are for one core, which needs no runs of channels."""
    assert len(everything()) > 600 and {k.call for k in everything()} == {*Call} - {Call.CHANNELS}
    compiled_entries(everything()[::12], tmp_path)


def compiled_entries(kernels: Sequence[KernelRecord], folder: Path) -> None:
    """Each has an entry, checks of its parameters, and a struct of the fields that its record names."""
    needs("gcc")
    files = {**runtime_files(), **entry_files(kernels, Limits())}
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    sources = [name for name in files if name.endswith(".c")]
    command = ["gcc", "-std=c99", "-fwrapv", "-fsyntax-only", *WARNINGS, *sources]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


@pytest.mark.slow
def test_the_stock_runtime_is_what_planning_finds_today_for_keywords() -> None:
    stock_has_kernels_of(KEYWORDS)


def test_the_stock_runtime_is_what_planning_finds_today() -> None:
    stock_has_kernels_of(DIGITS)


def stock_has_kernels_of(model: str) -> None:
    """Records that the code has outgrown would be of no use to anybody."""
    known = stock(targets.load("cortex-m4"))
    for target in ("cortex-m4", "cortex-m0plus"):
        for kernel in pack(model, target=target).program.kernels:
            assert known.lacks(kernel) == ""


def test_a_manifest_is_read_back_as_it_was_written(folder: Path) -> None:
    found = read_manifest(folder)
    assert parse_manifest(json.loads(found.to_json()), found.where) == found
    assert any(k.assembly for k in found.kernels) and any(k.name == "conv2d_s8" for k in found.kernels)
    (folder / "manifest.json").rename(folder / "kept.json")
    with pytest.raises(MoteError, match="cannot read the file"):
        read_manifest(folder)
    (folder / "manifest.json").write_text("{}", encoding="utf-8")
    with pytest.raises(MoteError, match="no manifest"):
        read_manifest(folder)
    (folder / "kept.json").replace(folder / "manifest.json")


def test_the_tuned_set_has_all_its_kernels_and_takes_any_shape() -> None:
    """Beside the minimal set; the only code from the compiler is that of layers of any depth."""
    m4 = targets.load("cortex-m4")
    kernels = {k.name: k for k in tuned(m4).kernels}
    shared = {"pointwise4x2_wide_planar_11_any"}
    assert kernels.keys() == {*TUNED, *shared, *(k.name for k in minimal(m4).kernels)}
    assert {k.name for k in kernels.values() if k.assembly} == shared
    used = {k.name for k in pack(windows(), target="cortex-m4", runtime=tuned(m4)).program.kernels}
    assert {"depthwise3_any_s1_relu_10", "depthwise_any5_s1_relu_10", "depthwise_any7_s2_relu_10", *shared} <= used
    with pytest.raises(MoteError, match="need DSP instructions"):
        tuned(targets.load("cortex-m3"))


class Rectified(Net):
    """Layers whose outputs are not negative."""

    def quant(self) -> Quant:
        return SCALE, -128


def windows() -> bytes:
    """Depthwise layers of several windows, behind 1x1 convolutions of few and of many channels."""
    net = Rectified()
    x = net.input(1, 20, 12, 8)
    for size, stride in ((3, 1), (5, 1), (7, 1), (7, 2)):
        x = net.depthwise(net.conv(x, 24, 1), 1, size, stride=stride)
    return net.finish(net.conv(x, 8, 1))


@pytest.mark.slow
@needs_litert
def test_the_tuned_set_on_a_core(tmp_path: Path) -> None:
    """All kernels in one C file, in the memory that is promised, and exact."""
    emulated("cortex-m4")
    runtime("tuned", target="cortex-m4").write(tmp_path / "tuned")
    assert {p.name for p in (tmp_path / "tuned").glob("mote_kernel_*.c")} == {"mote_kernel_set.c"}
    (tmp_path / "windows.tflite").write_bytes(windows())
    pack(tmp_path / "windows.tflite", target="cortex-m4", runtime=tmp_path / "tuned").write(tmp_path / "windows.mote")
    image = load_image(tmp_path / "windows.mote", target="cortex-m4", runtime=tmp_path / "tuned")
    assert verify_image(image, 2).passed
    every = replace(image, kernels=list(read_manifest(tmp_path / "tuned").kernels))
    on = bench(replace(every.firmware, optimize="size"), tmp_path)
    sizes = toolchain.sizes(on.elf(Mode.MEASURE), image.target)
    assert sizes is not None and sizes.code <= 48 << 10


@pytest.mark.slow
def test_a_model_is_planned_with_the_kernels_of_the_firmware_only(folder: Path) -> None:
    made = pack(DIGITS, target="cortex-m4", runtime=folder)
    assert any(k.assembly for k in made.records) and {k.id for k in made.records} <= set(read_manifest(folder).by_id)
    with pytest.raises(MoteError, match=r"the runtime in .* has no kernel .*, nor another one that computes"):
        pack(KEYWORDS, target="cortex-m4", runtime=folder)
    small = minimal(targets.load("xtensa-lx7"))
    assert 10 < len(small.kernels) < 40 and all(
        not k.instances or {*k.headers} & {"join", "learned_bias"} for k in small.kernels
    )
    settings = make_settings("xtensa-lx7")
    assert {k.name for k in pack(KEYWORDS, settings, runtime=small.fixed).records} <= {k.name for k in small.kernels}
    tight = replace(small, limits=replace(small.limits, taps=2))
    with pytest.raises(MoteError, match="windows of at most 2 rows"):
        pack(KEYWORDS, settings, runtime=tight.fixed)


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m0plus", "cortex-m55", "rv32imc"])
def test_one_image_runs_on_every_core(core: str, folder: Path, packed: Path) -> None:
    """Packed for a Cortex-M4, with code that is made for its layers: the others run their portable twins. The host is
    the fifth, and what all are compared with."""
    here = Interpreter(packed, runtime=folder)
    value = np.random.default_rng(5).integers(-128, 128, here.get_input_details()[0]["shape"]).astype(np.int8)
    here.set_tensor(0, value)
    here.invoke()
    result = run_image(load_image(packed, target=emulated(core), runtime=folder), value, layers=False)
    (got,) = result.values.values()
    np.testing.assert_array_equal(got, here.get_tensor(1))
    assert result.ram.static is not None and result.ram.static <= 256


@pytest.mark.slow
@needs_litert
def test_every_tensor_of_an_image_is_compared_with_its_model(tmp_path: Path) -> None:
    emulated("cortex-m4")
    path = tmp_path / "digits.mote"
    pack(DIGITS, target="cortex-m4").write(path)
    loaded = load_image(path, target="cortex-m4")
    found = verify_image(loaded, 2, source=DIGITS)
    assert found.exact and found.tensors == 8 and found.reference.startswith("LiteRT")
    with pytest.raises(MoteError, match="is not the model"):
        verify_image(loaded, 2, source=KEYWORDS)


@pytest.mark.slow
def test_commands_take_images(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "digits.mote")
    assert main(["pack", DIGITS, "-o", path, "--runtime", str(folder), "-t", "cortex-m4"]) == 0
    capsys.readouterr()
    assert main(["run", path, "--runtime", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["target"] == "host" and len(found["layers"]) == 8 and found["flash"]["constants"] > 6000
    assert main(["verify", path, "--runtime", str(folder), "--inputs", "2"]) == 0
    assert "against the same image on this computer" in capsys.readouterr().out
    assert main(["run", path]) == 1
    assert "the stock runtime has no kernel" in capsys.readouterr().err
    assert main(["run", path, "--ram", "min"]) == 1
    assert "planned already" in capsys.readouterr().err
    assert main(["run", DIGITS, "--runtime", str(folder)]) == 1
    assert "is for images" in capsys.readouterr().err


def test_a_runtime_is_written_and_builds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs("make", "cc")
    place, image = tmp_path / "library", str(tmp_path / "digits.mote")
    assert main(["runtime", "-o", str(place), "--kernels", DIGITS, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["limits"]["taps"] >= 3 and "manifest.json" in found["files"]
    assert main(["pack", DIGITS, "-o", image, "--runtime", str(place)]) == 0
    built = subprocess.run(["make", "-s", "CFLAGS=-O0 -fwrapv"], cwd=place, capture_output=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([str(place / "example/example")], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.splitlines() == list(compile(DIGITS).package.example.lines)
    assert main(["runtime", "-o", str(place), "--kernels", str(tmp_path / "none.tflite")]) == 1

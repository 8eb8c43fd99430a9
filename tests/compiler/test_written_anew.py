"""Files that are written anew between two compilations in one process: what was made of the old ones is not taken."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mote
from mote.compiler.kernels import catalogue, cost, library, structs
from mote.compiler.kernels.contract import Kernel, Packed
from mote.compiler.offload.backends import GENERATORS, offload
from mote.compiler.offload.cmsis_nn.files import PATH
from mote.compiler.offload.contract import Artifact, Generator, Invocation, Pointer
from mote.compiler.offload.ethos_u import EthosU
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.settings import make_settings
from mote.frontends.data.dataset import dataset
from mote.hardware import targets
from mote.hardware.toolchain import compilers
from mote.ir.graph.types import DType
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.optimize.nas.costs.shape_candidates import ShapeCandidates
from mote.optimize.tune.trials import _code, _external
from mote.ui.cli import main
from mote.ui.reporter.command import compile_command
from tests.helpers.network import Net

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "models" / "digits.tflite"
RNG = np.random.default_rng(0)


def network() -> bytes:
    net = Net(3)
    return net.finish(net.fully_connected(net.mean(net.conv(net.input(1, 6, 6, 3), 8, 3)), 3))


def written(make: Callable[[int], None], compile: Callable[[], Any]) -> None:
    """The same file twice is the same result, another one is another."""
    results = []
    for content in (0, 0, 1):
        make(content)
        results.append(compile())
    assert results[0] == results[1] != results[2]


def samples(scale: int, shape: tuple[int, ...] = (12, 6, 6, 3)) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    return rng.normal(0, 0.1 + 2 * scale, shape).astype(np.float32), np.arange(shape[0]) % 3


def test_samples_to_learn_from(tmp_path: Path) -> None:
    """Wherever they are: the ranges of gradients are measured on what the file has now."""
    pictures_of = pytest.importorskip("PIL.Image")
    model, file, pictures = network(), tmp_path / "data.npz", tmp_path / "pictures"
    own = replace(dataset(samples(0)), inputs={"input": np.array(samples(0)[0])})

    def table(content: int) -> None:
        x, y = samples(content)
        np.savez(file, x=x, y=y)
        os.utime(file, (0, 0))
        own.inputs["input"][...] = x

    def folder(content: int) -> None:
        rng = np.random.default_rng(2)
        for i in range(9):
            path = pictures / str(i % 3) / f"{i}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            pictures_of.fromarray(rng.integers(0, 40 + 200 * content, (6, 6, 3)).astype(np.uint8)).save(path)

    def known(data: Any) -> str:
        settings = make_settings(train="last", train_data=data)
        assert settings.train_data is not None
        return settings.train_data.digest()

    written(table, lambda: dict(mote.compile(model, train="0,2", train_data=str(file)).project.files))
    written(table, lambda: known(own))
    written(folder, lambda: known(pictures))


def test_samples_are_part_of_what_was_read(tmp_path: Path) -> None:
    """The command and the rule for make name the file; what budgets choose is of the samples of now."""
    np.savez(tmp_path / "data.npz", **dict(zip("xy", samples(0), strict=True)))
    settings = make_settings(train="last", train_data=tmp_path / "data.npz")
    assert settings.train_data is not None and settings.train_data.where == str(tmp_path / "data.npz")
    made = mote.compile(network(), settings)
    words = compile_command(made)
    assert words[words.index("--train-data") + 1] == str(tmp_path / "data.npz")
    (tmp_path / "net.tflite").write_bytes(network())
    rule, pins = tmp_path / "net.d", tmp_path / "pins.toml"
    given = ["compile", str(tmp_path / "net.tflite"), "--train", "last", "--train-data", str(tmp_path / "data.npz")]
    assert main([*given, "-o", str(tmp_path / "out"), "--depfile", str(rule)]) == 0
    assert "data.npz" in rule.read_text() and not pins.exists()


def test_a_table_of_costs(tmp_path: Path) -> None:
    table, target = tmp_path / "own.json", tmp_path / "own.toml"
    target.write_text('extends = "cortex-m4"\ncosts = "own.json"\n')
    known = json.loads((cost.TABLES / "cortex-m4.json").read_text(encoding="utf-8"))

    def make(content: int) -> None:
        families = {
            name: {f: n * (1 + content) for f, n in family.items()} for name, family in known["families"].items()
        }
        table.write_text(json.dumps({**known, "families": families}))

    written(make, lambda: mote.compile(DIGITS, target=target).cost)


def test_pins_labels_and_keys(tmp_path: Path) -> None:
    labels, key, target = tmp_path / "labels.txt", tmp_path / "key", tmp_path / "own.toml"
    written(
        lambda content: labels.write_text("\n".join(f"{content}{i}" for i in range(10))) and None,
        lambda: mote.compile(DIGITS, labels=str(labels)).project.files["digits.h"],
    )
    written(
        lambda content: key.write_bytes(bytes(range(content, content + 16))) and None,
        lambda: mote.compile(DIGITS, target="cortex-m4", encrypt=str(key)).project.files["digits.c"],
    )
    written(
        lambda content: target.write_text(f'extends = "cortex-m4"\nclock_hz = {content + 1}000000\n') and None,
        lambda: targets.load(str(target)).clock_hz,
    )


def test_external_data_of_the_same_size_and_time(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    path = tmp_path / "net.onnx"
    info = onnx.helper.make_tensor_value_info

    def make(content: int) -> None:
        weights = onnx.numpy_helper.from_array(np.full((4, 3), content + 1, np.float32), "w")
        node = onnx.helper.make_node("MatMul", ["x", "w"], ["y"])
        x, y = info("x", onnx.TensorProto.FLOAT, (1, 4)), info("y", onnx.TensorProto.FLOAT, (1, 3))
        model = onnx.helper.make_model(onnx.helper.make_graph([node], "net", [x], [y], [weights]))
        for file in tmp_path.glob("*"):
            file.unlink()
        onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
        os.utime(tmp_path / "w.bin", (0, 0))

    written(make, lambda: dict(mote.compile(path).project.files))


@pytest.fixture
def registered() -> Iterator[None]:
    """What a test registers ends with it."""
    kernels, added, generators = list(catalogue.KERNELS), dict(library._added), dict(GENERATORS)
    yield
    catalogue.KERNELS[:] = kernels
    for known, before in ((library._added, added), (GENERATORS, generators)):
        known.clear()
        known.update(before)


def test_a_header_of_a_user(tmp_path: Path, registered: None) -> None:
    """The fields of its struct, its macros, and the key of its costs."""
    files = ("mote_own_part.h",)

    def make(content: int) -> None:
        macro = f"#define MOTE_OWN(a) ((a) + {content})\n"
        library.add(files[0], f"{macro}typedef struct {{ int32_t {'ab'[content]}; }} mote_own_part_t;\n")

    written(make, lambda: structs.fields(files, "mote_own_part_t"))
    written(make, lambda: structs.macros(files))
    written(make, lambda: _code(files, library.added_texts()))


def test_kernels_of_a_user_in_a_search(registered: None) -> None:
    """Layers of a shape that was asked for before are asked again, of the catalogue of now."""
    graph = mote.compile(network()).plan.graph
    (layer,) = (n for n, op in enumerate(graph.ops) if isinstance(op, FullyConnected))
    how = Lowering(frozenset(), Policy.BALANCED)

    def offered() -> list[str]:
        return [packed.name for packed in ShapeCandidates(graph).all_kernels((layer,), how)]

    before = offered()
    types = next(k.types for k in catalogue.KERNELS if k.computes == (FullyConnected,) and DType.INT8 in k.types.inputs)
    catalogue.register(Kernel("own", (FullyConnected,), types, lambda view: Packed("own", {})))
    assert "own" not in before and "own" in offered()


class Fixed(Generator):
    """Takes what a file says for what a layer costs."""

    name = "fixed"

    def __init__(self, file: Path) -> None:
        self.file = file

    def contents(self, target: targets.Target) -> str:
        return self.file.read_text()

    def claims(self, graph: Any, target: targets.Target) -> Any:
        return (op for op in graph.ops if isinstance(op, FullyConnected))

    def build(self, region: Any, graph: Any, target: targets.Target) -> Artifact:
        call = Invocation("fixed", (Pointer(region.inputs[0]), Pointer(region.outputs[0])))
        return Artifact((call,), float(self.file.read_text()), "fixed.h", files={"fixed.h": "", "fixed.c": ""})


def test_files_of_a_generator(tmp_path: Path, registered: None) -> None:
    file, source = tmp_path / "costs", tmp_path / "own.c"
    mote.register_generator(Fixed(file))
    model = mote.compile(network()).plan.graph

    def costs() -> list[float]:
        offers = offload(["fixed"], targets.load("cortex-m4")).kernels(model)
        return [kernel.artifact.cost for kernels in offers.values() for kernel in kernels]

    written(lambda content: file.write_text(str(content)) and None, costs)
    artifact = Artifact((), 0.0, "own.h", sources=(str(source),))
    written(lambda content: source.write_text(f"int own = {content};") and None, lambda: _external(artifact))


def test_sources_of_cmsis_nn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A function that is no longer there is not called."""
    root = tmp_path / "library"
    shutil.copytree(ROOT / "tests" / "compiler" / "offload" / "cmsis_nn" / "library", root)
    monkeypatch.setenv(PATH, str(root))
    graph = mote.compile(network()).plan.graph
    files = {path: path.read_text() for path in root.rglob("*.c")}

    def make(content: int) -> None:
        for path, text in files.items():
            path.write_text(text.replace("arm_convolve", "arm_other") if content else text)

    def taken() -> list[Any]:
        return sorted(offload(["cmsis-nn"], targets.load("cortex-m4")).kernels(graph))

    written(make, taken)


def test_the_configuration_of_an_npu(tmp_path: Path) -> None:
    target, config = tmp_path / "own.toml", tmp_path / "vela.ini"
    npu = 'core = "ethos-u55-128"\nsystem_config = "Mine"\nmemory_mode = "Mine"\nconfig = "vela.ini"\n'
    target.write_text(f'extends = "cortex-m55"\n[npu]\n{npu}')

    def make(content: int) -> None:
        config.write_text(f"[System_Config.Mine]\ncore_clock={content}\n[Memory_Mode.Mine]\n")

    written(make, lambda: EthosU().contents(targets.load(str(target))))


def test_a_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that was updated is asked again, and its objects are its own, also where it says the same version."""
    program = tmp_path / "cc"
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

    def make(content: int) -> None:
        program.write_text(f"#!/bin/sh\necho 'cc 1.2.3' # {'x' * content}\necho '#define X {content}'\n")
        program.chmod(0o755)
        os.utime(program, (content, content))

    compiler = compilers.Compiler("host", ("cc",), "1.2.3")
    written(make, lambda: compiler.key)
    written(make, lambda: compilers._predefined(("cc",)))
    assert compilers.version_of(("cc", "--version")) == "1.2.3"

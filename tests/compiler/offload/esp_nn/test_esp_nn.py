"""The backend `esp-nn`: every function that it calls, with a stand-in for ESP-NN and, where there is one, with the
user's own, on this computer and on an emulated core; exact to the reference."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote.base.errors import MoteError
from mote.bench.execute.host_library import HostModel
from mote.bench.execute.stimuli import stimuli
from mote.compiler.compiled import Compiled
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.backends import GENERATORS
from mote.compiler.offload.contract import Artifact, Offloaded
from mote.compiler.offload.esp_nn import EspNN
from mote.compiler.offload.esp_nn.library import PATH, Edition, includes, sources
from mote.compiler.offload.esp_nn.operators import layer
from mote.compiler.offload.esp_nn.rounding import twice_multiplier
from mote.compiler.package.libraries import arduino, esp_idf
from mote.compiler.passes.pipeline import optimize
from mote.frontends import load
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import rescale
from mote.ir.ops.matrix.round_once import once_results
from tests.helpers.network import Net
from tests.helpers.support import needs
from tests.optimize.tune.counting import Counted

STANDIN = Path(__file__).parent / "standin"
USERS = os.environ.get(PATH, "")
PARTS = ("esp32", "esp32c3", "esp32s3", "esp32p4")
users = pytest.mark.skipif(not USERS, reason=f"{PATH} names no ESP-NN")


class Cheap(EspNN):
    """Every function that there is, whatever time and flash it takes."""

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        made = super().build(region, graph, target)
        return made if isinstance(made, Refusal) else replace(made, cost=0.0, code=0, linked={"everything": 0})


@pytest.fixture(params=[pytest.param(str(STANDIN), id="standin"), pytest.param(USERS, id="users", marks=users)])
def library(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A folder with ESP-NN, and the backend in which every function costs nothing."""
    monkeypatch.setenv(PATH, request.param)
    before = dict(GENERATORS)
    mote.register_generator(Cheap())
    yield request.param
    GENERATORS.clear()
    GENERATORS.update(before)


def layers() -> bytes:
    """Every function, with windows and paddings of several kinds, on one input."""
    net = Net(3)
    x = net.input(2, 9, 8, 6)
    image = net.conv(x, 16, 3, fused_activation_function="RELU6")
    wide = net.depthwise(image, 1, 3, fused_activation_function="RELU")
    outputs = [
        net.conv(image, 5, (5, 2), stride=2, padding="VALID"),
        net.conv(x, 7, 1),
        net.conv(x, 8, 1, stride=2, padding="VALID"),
        net.conv(x, 3, 4),
        net.depthwise(image, 1, (4, 3), stride=2),
        net.depthwise(x, 4, 3, padding="VALID"),
        net.depthwise(x, 3, 5),
        net.pool(image, (3, 2), stride=(2, 1)),
        net.moved("AVERAGE_POOL_2D", [x], filter_height=3, filter_width=3, padding="SAME"),
        net.moved("MAX_POOL_2D", [x], filter_height=2, filter_width=3, padding="SAME"),
        net.add(image, wide),
        net.op("ADD", [wide, image], fused_activation_function="RELU"),
        net.op("MUL", [image, wide]),
        net.op("MUL", [net.writer.const("factors", net.weights(1, 1, 1, 16), 0.02, 7), image], net.shapes[image]),
        net.op("HARD_SWISH", [wide]),
        net.op("HARD_SWISH", [x], quant=(0.4, -5)),
        net.op("LOGISTIC", [image], quant=(1 / 256, -128)),
        net.op("SOFTMAX", [wide], quant=(1 / 256, -128), beta=1.0),
        net.mean(image),
    ]
    vectors = net.fully_connected(net.reshape(wide, 18, 128), 9)
    per_channel = net.constants(vectors, net.weights(11, 9))
    outputs += [vectors, net.op("FULLY_CONNECTED", [vectors, *per_channel], (18, 11))]
    outputs.append(net.op("FULLY_CONNECTED", [vectors, per_channel[0], -1], (18, 11)))
    return net.finish(*outputs)


def tiny() -> bytes:
    net = Net()
    return net.finish(net.fully_connected(net.flat(net.conv(net.input(1, 4, 4, 4), 8)), 4))


TINY = tiny()


def offloaded(compiled: Compiled) -> list[Offloaded]:
    return [step.kernel for step in compiled.plan.steps if isinstance(step.kernel, Offloaded)]


KINDS = {
    *("conv", "depthwise", "average", "max", "softmax", "hard_swish", "mean"),
    *("fully_connected", "fully_connected_per_channel"),
}
WRAPPED = {f"esp_nn_layer_{kind}" for kind in KINDS}
PLAIN = {
    "esp_nn_add_elementwise_s8",
    "esp_nn_mul_elementwise_s8",
    "esp_nn_mul_broadcast_channel_s8",
    "esp_nn_logistic_s8",
}


def compiled_for(part: str) -> Compiled:
    compiled = mote.compile(layers(), target=part, backend="esp-nn", optimize="speed")
    assert {c.function for kernel in offloaded(compiled) for c in kernel.artifact.calls} == WRAPPED | PLAIN
    return compiled


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("part", ["esp32", "esp32s3"])
def test_every_function_on_this_computer(library: str, part: str) -> None:
    """Of the ESP32-S3's edition those functions run that are for any core."""
    check_outputs(compiled_for(part), 3)


def check_outputs(compiled: Compiled, count: int) -> None:
    """Every output of some inferences equals the reference."""
    graph = compiled.plan.graph
    cases = stimuli(graph, count)
    made = HostModel(compiled).run(cases)
    for number, case in enumerate(cases):
        expected = graph.evaluate(case)
        for tensor, values in zip(graph.outputs, made, strict=True):
            right = expected[tensor].reshape(values[number].shape)
            assert np.array_equal(values[number], right), graph.tensors[tensor].name


def random_layers(seed: int) -> bytes:
    """Convolutions, depthwise and fully connected layers and pools of random shapes."""
    net = Net(seed)

    def one(*values: int) -> int:
        return int(net.rng.choice(values))

    outputs = []
    for _ in range(4):
        x = net.input(1, one(3, 5, 8, 11), one(2, 4, 7, 9), one(1, 3, 4, 5, 8, 16, 17))
        small = min(net.shapes[x][1:3])
        window: dict[str, Any] = {"stride": one(1, 2, 3), "padding": ("SAME", "VALID")[one(0, 1)]}
        kernel = one(*range(1, small + 1)), one(*range(1, small + 1))
        outputs += [net.conv(x, one(1, 4, 6, 9), kernel, **window), net.depthwise(x, one(1, 2, 4, 5), kernel, **window)]
        outputs += [net.pool(x, kernel, kind) for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")]
        outputs.append(net.fully_connected(net.flat(x), one(1, 3, 8)))
    return net.finish(*outputs)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 16))])
def test_random_layers(library: str, seed: int) -> None:
    check_outputs(mote.compile(random_layers(seed), target="esp32", backend="esp-nn", optimize="speed"), 2)


@pytest.mark.quick_cases(1)
def test_every_function_on_an_emulated_core(library: str) -> None:
    assert mote.verify(compiled_for("esp32c3"), inputs=1).exact


class OnXtensa(Cheap):
    """The generic edition for the one Xtensa core that is emulated."""

    def serves(self, target: Target) -> bool:
        return True

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        return super().build(region, graph, targets.load("esp32"))


@pytest.mark.slow
def test_the_generic_edition_on_emulated_xtensa(library: str) -> None:
    """An ESP32 has no emulator; the compiler and the byte order are those of its family."""
    needs("xtensa-lx106-elf-gcc", "qemu-system-xtensa")
    mote.register_generator(OnXtensa())
    compiled = mote.compile(layers(), target="xtensa-lx106", backend="esp-nn", optimize="speed")
    assert len(offloaded(compiled)) == 24
    assert mote.verify(compiled, inputs=1).exact


def test_only_parts_of_espressif(library: str) -> None:
    assert [part for part in targets.names() if EspNN().serves(targets.load(part))] == sorted(PARTS)
    with pytest.raises(MoteError, match="backend 'esp-nn' does not serve the target cortex-m4"):
        mote.compile(layers(), target="cortex-m4", backend="esp-nn")


def test_vectors_lie_at_multiples_of_16_bytes(library: str) -> None:
    plan = compiled_for("esp32s3").plan
    for step in plan.steps:
        if isinstance(step.kernel, Offloaded):
            op = plan.op(step)
            tensors = [plan.place[t].offset for t in (*op.inputs, *op.outputs) if t in plan.place]
            assert all(at % 16 == 0 for at in (*tensors, step.scratch or 0)), op.name


def test_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(PATH, raising=False)
    with pytest.raises(MoteError, match="ESP_NN_PATH is not set") as error:
        mote.compile(layers(), target="esp32", backend="esp-nn")
    assert "managed_components/espressif__esp-nn" in str(error.value)
    for folder, version, what in (("include", "", "has no include/esp_nn.h"), ("", "1.1.2", "has ESP-NN 1.1.2")):
        monkeypatch.setenv(PATH, str(tmp_path))
        if version:
            (tmp_path / "include" / "esp_nn.h").touch()
            (tmp_path / "idf_component.yml").write_text(f"version: '{version}'\n", encoding="utf-8")
        else:
            (tmp_path / folder).mkdir()
        told = EspNN().missing()
        assert told is not None and what in told.what
    (tmp_path / "idf_component.yml").unlink()
    told = EspNN().missing()
    assert told is not None and "of an unknown version" in told.what


def refusals(net: Net, *outputs: int, edition: Edition = Edition.GENERIC) -> list[str]:
    graph = optimize(load(net.finish(*outputs)))[0]
    made = [layer(op, graph, edition) for op in graph.ops]
    return [m.why for m in made if isinstance(m, Refusal)]


def test_operators_that_it_does_not_compute() -> None:
    net = Net(1)
    x = net.input(1, 8, 8, 4)
    wide = net.op("MUL", [x, net.writer.const("row", net.weights(1, 1, 8, 1), 0.02, 7)], net.shapes[x])
    why = refusals(net, net.conv(x, 4, dilation=2), wide, net.op("MEAN", [x, net.ints(1)], (1, 8, 4)))
    assert why == [
        "ESP-NN multiplies tensors of one shape, or channels by a number each",
        "ESP-NN has no dilated windows",
        "ESP-NN has means of all pixels of an image only",
    ]
    floats = Net(1, "float32")
    assert refusals(floats, floats.conv(floats.input(1, 8, 8, 4), 4)) == ["ESP-NN computes with int8 activations"]
    swish = Net(1)
    y = swish.op("HARD_SWISH", [swish.input(1, 8, quant=(0.05, -3))], quant=(0.05, -2))
    assert refusals(swish, y, edition=Edition.P4) == [
        "ESP-NN rounds products of negative numbers another way on an ESP32-P4"
    ]


@users
def test_the_files_of_its_own_build() -> None:
    """Those for any core that the CMakeLists.txt of ESP-NN lists."""
    where = Path(USERS).resolve()
    listed = re.findall(r'"(src/[^"]+)"', (where / "CMakeLists.txt").read_text(encoding="utf-8"))
    assert sources(where) == sorted(where / path for path in listed if path.endswith(".c") and "_esp32" not in path)


def test_an_esp_idf_component_depends_on_it(library: str, tmp_path: Path) -> None:
    """The registry's component has the files: the package names no path, and other ecosystems refuse theirs."""
    compiled = mote.compile(layers(), target="esp32s3", backend="esp-nn", single_file=True)
    files = {path: str(text) for path, text in esp_idf.files(compiled.package).items()}
    assert 'dependencies: {"idf": ">=5.0", "espressif/esp-nn": "==1.2.3"}' in files["idf_component.yml"]
    assert "src/esp_nn_layers.h" in files and not any(library in text for text in files.values())
    with pytest.raises(MoteError, match="a package for arduino holds all of its files"):
        arduino.files(compiled.package)


@pytest.mark.parametrize("kind", ["make", "cmake"])
def test_other_builds_take_its_folder_as_a_variable(kind: str, library: str, tmp_path: Path) -> None:
    """They compile the edition for any core, which runs on this computer."""
    needs("cc", kind)
    compiled = mote.compile(TINY, target="esp32c3", backend="esp-nn", optimize="speed", name="tiny")
    assert offloaded(compiled)
    compiled.write(tmp_path, [kind])
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(library in text for text in texts)
    build = f"{tmp_path}/build"
    build_it = {"make": ["make", "-s", "CFLAGS=-std=gnu99 -w"], "cmake": ["cmake", "--build", build]}
    if kind == "cmake":
        subprocess.run(["cmake", "-S", str(tmp_path), "-B", build], check=True, capture_output=True)
    subprocess.run(build_it[kind], cwd=tmp_path, check=True, capture_output=True)
    example = tmp_path / ("example/example" if kind == "make" else "build/example")
    lines = subprocess.run([example], capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines == list(compiled.package.example.lines)
    other = tmp_path / "other"
    (other / "include").mkdir(parents=True)
    (other / "include" / "esp_nn.h").touch()
    (other / "idf_component.yml").write_text('version: "1.2.4"\n', encoding="utf-8")
    configure = ["make", "-B"] if kind == "make" else ["cmake", "-S", str(tmp_path), "-B", build]
    refused = subprocess.run(
        configure, cwd=tmp_path, capture_output=True, text=True, env=os.environ | {PATH: str(other)}
    )
    assert refused.returncode and "calls functions of ESP-NN 1.2.3" in " ".join(refused.stderr.split())


def test_an_agent_of_esp_idf_depends_on_it(library: str) -> None:
    """The agent's component has the model in it, so that it needs the library too."""
    made = mote.agent(TINY, target="esp32s3", backend="esp-nn", optimize="speed", package="esp-idf")
    files = {path: str(text) for path, text in made.files.items()}
    assert '  espressif/esp-nn: "==1.2.3"\n' in files["components/mote_agent/idf_component.yml"]
    assert not any(library in text for text in files.values())
    plain = mote.agent(TINY, target="esp32s3", package="esp-idf")
    assert "components/mote_agent/idf_component.yml" not in plain.files


def c_of_the_component(compiled: Compiled, folder: Path, library: str, *options: str) -> list[str]:
    """The errors of the component's C, compiled as ESP-IDF does, with these options of the project."""
    for path, text in esp_idf.files(compiled.package).items():
        if path.startswith("src/"):
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_text(str(text), encoding="utf-8")
    (folder / "sdkconfig.h").write_text("".join(f"#define {name} 1\n" for name in options), encoding="utf-8")
    flags = [f"-I{path}" for path in (folder, *includes(Path(library)))]
    command = ["cc", "-std=gnu17", "-Wall", "-Werror", "-DESP_PLATFORM", *flags, "-fsyntax-only", "src/model.c"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return re.findall(r"error: (.*)", done.stderr)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("part", PARTS)
def test_the_component_compiles_for_every_edition(library: str, part: str, tmp_path: Path) -> None:
    """With the declarations of the edition that the project's configuration chooses."""
    compiled = mote.compile(layers(), target=part, backend="esp-nn", single_file=True, optimize="speed")
    options = ("CONFIG_NN_OPTIMIZED", f"CONFIG_IDF_TARGET_{part.upper()}")
    assert c_of_the_component(compiled, tmp_path, library, *options) == []
    (why,) = c_of_the_component(compiled, tmp_path, library, *options, "CONFIG_NN_SKIP_NUDGE")
    assert "results would not be exact" in why


@users
def test_costs_are_those_of_an_emulated_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a tenth, but for the waits for code."""
    monkeypatch.setenv(PATH, USERS)
    pinned = dict.fromkeys("0124", "esp-nn")
    net = Net(5)
    x = net.input(1, 7, 7, 10)
    image = net.depthwise(net.conv(x, 12, 3), 1, 3)
    model = net.finish(net.fully_connected(net.flat(net.conv(image, 6, 1)), 5))
    compiled = mote.compile(model, target="esp32c3", backend="esp-nn", kernels=pinned)
    costs = [kernel.artifact.cost for kernel in offloaded(compiled)]
    measured = [p for p in mote.profile(compiled).layers if p.kernel == "esp-nn"]
    assert len(costs) == len(measured) == 4
    total = sum(p.cycles - p.waits.code for p in measured)
    assert sum(costs) == pytest.approx(total, rel=0.1)


@settings(max_examples=60)
@given(st.floats(-12, 1), st.integers(-128, 127), st.integers(1, 1 << 20))
def test_two_roundings_that_give_one(log: float, zero: int, limit: int) -> None:
    """Whatever multiplier is found gives LiteRT's result for every sum; all sums are tried."""
    real = 2.0**log
    scale = twice_multiplier(real, zero, limit)
    if scale is not None:
        sums = np.arange(-limit, limit + 1)
        assert np.array_equal(np.clip(rescale(sums, *scale) + zero, -128, 127), once_results(sums, real, zero))


@pytest.mark.slow
def test_tuning_measures_the_generic_edition_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The functions with vectors run nowhere here, so that their time is not known."""
    monkeypatch.setenv(PATH, str(STANDIN))
    result = mote.tune(TINY, target="esp32c3", backend="mote,esp-nn", trials=40, measurer=Counted(("esp-nn",)))
    assert "esp-nn" in result.pins.kernels.values()
    with pytest.raises(MoteError, match="nothing here measures the time of 'esp-nn'"):
        mote.tune(TINY, target="esp32p4", backend="mote,esp-nn", trials=3, measurer=Counted())


def test_exploring_shows_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PATH, str(STANDIN))
    front = mote.explore(TINY, target="esp32s3", backend="mote,esp-nn", points=1, measure=False)
    assert front.own is not None and any(point.external for point in front.points)
    assert min(p.cost for p in front.points) < min(p.cost for p in front.own.points)

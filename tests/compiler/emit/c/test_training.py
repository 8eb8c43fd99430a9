"""Firmware trains a model by the functions of its C."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from mote.compiler.compiled import Compiled
from mote.compiler.line import compile, compile_graph
from mote.compiler.passes.training.integer_losses import quantized_output
from mote.compiler.passes.training.labelled import label_values, loss_of
from mote.compiler.passes.training.spec import parsed
from mote.compiler.settings import make_settings
from mote.compiler.training.with_training import with_training
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole
from mote.ir.ops.elementwise.quantize import quantized
from tests.compiler.emit.c.test_project import FLAGS, compiler_or_skip, run
from tests.deploy.update.update_bench import NO_LEAKS, SANITIZED
from tests.helpers.network import Net

HERE = Path(__file__).parent
SAMPLES, RATE, CURVE = 8, 0.01, 1e-5


def classifier() -> Graph:
    net = Net(0, "float32")
    x = net.conv(net.input(1, 5, 4, 2), 3, 3, fused_activation_function="RELU")
    x = net.fully_connected(net.flat(x), 4)
    return tflite.parse(net.finish(net.op("SOFTMAX", [x], beta=1.0)), "classifier")


def positions() -> Graph:
    """A class for each pixel."""
    net = Net(1, "float32")
    x = net.conv(net.input(1, 2, 3, 2), 3, 1)
    return tflite.parse(net.finish(net.op("SOFTMAX", [x], beta=1.0)), "positions")


def regression() -> Graph:
    net = Net(2, "float32")
    return tflite.parse(net.finish(net.fully_connected(net.input(1, 6), 1)), "regression")


def features() -> Graph:
    net = Net(3, "int8")
    return tflite.parse(net.finish(net.conv(net.input(1, 4, 4, 2), 5, 3)), "features")


def compiled(graph: Graph, name: str, train: str, target: str = "host", **options: object) -> Compiled:
    return compile_graph(graph, make_settings(target, name=name, train=train, **options))


def samples(graph: Graph, seed: int, few: int = 4) -> Array:
    """As many as a session has: the same few again and again, so that there is something to learn."""
    rng, t = np.random.default_rng(seed), graph.tensors[graph.inputs[0]]
    drawn = rng.uniform(-100, 100, (few, t.size)) if t.dtype.integer else rng.normal(size=(few, t.size))
    return np.tile(drawn, (SAMPLES // few, 1)).astype(t.dtype.numpy)


def curve(graph: Graph, inputs: Array, right: Sequence[Array], rate: float | None = None) -> list[float]:
    """The losses of the NumPy reference."""
    loss = loss_of(graph)
    assert loss is not None
    states: Mapping[int, Array] = {
        s.before: np.array([rate], np.float32) for s in graph.states if s.role is StateRole.RATE and rate is not None
    }
    losses = []
    for x, wanted in zip(inputs, right, strict=True):
        given = {graph.inputs[0]: x.reshape(graph.tensors[graph.inputs[0]].shape)}
        states = graph.carried(graph.evaluate({**given, **states, **label_values(graph, wanted)}))
        losses.append(float(states[loss.before][0]))
    return losses


def defined(name: str, values: Array) -> str:
    """An array of C."""
    kinds = {"float32": "float", "int32": "int32_t", "int8": "int8_t"}
    shape = "".join(f"[{n}]" for n in values.shape)
    numbers = ", ".join(map(repr, values.ravel().tolist()))
    return f"static const {kinds[values.dtype.name]} {name}{shape} = {{{numbers}}};\n"


def test_sessions_of_training(tmp_path: Path) -> None:
    """The losses are the reference's; what is wrong changes nothing; what is not finite is not saved."""
    rng = np.random.default_rng(5)
    graphs = {"net": classifier(), "dots": positions(), "seen": features()}
    trains = {"net": "last,0:momentum=0.9,decay=0.001", "dots": "last:rate=0.1", "seen": "prototype:classes=3"}
    given = {name: samples(graph, 7, 2 if name == "seen" else 4) for name, graph in graphs.items()}
    labels = np.tile(rng.integers(0, 4, SAMPLES // 2), 2).astype(np.int32)
    dots = np.tile(rng.integers(-1, 3, (SAMPLES // 2, 6)), (2, 1)).astype(np.int32)
    header = f"enum {{ SAMPLES = {SAMPLES}, DOTS_LABELS = 6 }};\n#define NET_RATE {RATE}f\n"
    header += defined("net_labels", labels) + defined("dots_labels", dots)
    header += "".join(defined(f"{name}_samples", values) for name, values in given.items())
    (tmp_path / "samples.h").write_text(header)
    for name, graph in graphs.items():
        compiled(graph, name, trains[name]).write(tmp_path / name)
    folders = [f"-I{name}" for name in graphs]
    sources = [str(HERE / "training.c"), *(f"{name}/{name}.c" for name in graphs)]
    run(
        [compiler_or_skip("gcc"), *FLAGS, "-Wno-missing-braces", *SANITIZED, *folders, *sources, "-o", "train", "-lm"],
        tmp_path,
    )
    done = subprocess.run(["./train"], cwd=tmp_path, env=NO_LEAKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    printed = [line.split() for line in done.stdout.splitlines()]
    for name, right, rate in (("net", labels.reshape(-1, 1), RATE), ("dots", dots.reshape(-1, 1, 2, 3), None)):
        losses = [float(loss) for model, loss in printed if model == name]
        wanted = curve(with_training(graphs[name], parsed(trains[name]), None), given[name], list(right), rate)
        assert losses == pytest.approx(wanted, rel=CURVE) and losses[-1] < losses[SAMPLES // 2 - 1]


USE = """\
#include "net.hpp"
#include <cmath>
#include <cstdio>
#define REQUIRE(fact) do { if (!(fact)) { std::printf("line %d: %s\\n", __LINE__, #fact); return 1; } } while (0)
using mote::status;
static uint64_t first[(NET_ARENA_BYTES + 7) / 8], second[(NET_ARENA_BYTES + 7) / 8];
static float after(mote::net_model &model, float target, int steps) {
    for (int i = 0; i < steps; i++) {
        for (float &x : model.input()) x = 0.5f;
        if (model.train_target(mote::view<const float>(&target, 1)) != status::ok) return NAN;
    }
    return model.loss();
}
int main() {
    static mote::net_model a(first), b(second);
    static uint8_t record[mote::net_model::weights_bytes];
    const float two[2] = {1.0f, 2.0f};
    REQUIRE(a && b && a.train_begin(0.0f) == status::bad_state && a.train_target(two) == status::bad_size);
    REQUIRE(a.train_begin(0.1f) == status::ok && b.train_begin(0.1f) == status::ok);
    const float before = after(a, 3.0f, 1);
    REQUIRE(after(a, 3.0f, 30) < 0.01f * before && a.train_end() == status::ok);
    REQUIRE(after(b, 3.0f, 1) == before); /* instances learn apart */
    REQUIRE(a.export_weights(record) == status::ok && b.import_weights(record) == status::ok);
    REQUIRE(after(b, 3.0f, 1) < 0.01f * before && b.train_end() == status::ok);
    REQUIRE(std::isnan(after(b, NAN, 1)) && b.train_end() == status::bad_state && b.reset() == status::ok);
    REQUIRE(b.train_end() == status::ok && after(b, 3.0f, 1) == before && a.train_end() == status::ok);
    return 0;
}
"""


def test_instances_of_the_class_learn_apart(tmp_path: Path) -> None:
    """A regression, in an arena of the caller's."""
    compiled(regression(), "net", "last", instances=True, caller_arena=True, cpp=True, single_file=True).write(tmp_path)
    (tmp_path / "use.cpp").write_text(USE)
    run([compiler_or_skip("gcc"), *FLAGS, "-c", "net.c"], tmp_path)
    cpp = [compiler_or_skip("g++"), "-std=c++17", "-Wall", "-Wextra", "-Werror"]
    run([*cpp, "use.cpp", "net.o", "-o", "use", "-lm"], tmp_path)
    run(["./use"], tmp_path)


TARGETS = """\
#include "net.hpp"
#include "samples.h"
#include <cmath>
#include <cstdio>
#include <cstring>
#define REQUIRE(fact) do { if (!(fact)) { std::printf("line %d: %s\\n", __LINE__, #fact); return 1; } } while (0)
using mote::status;
int main() {
    mote::net_model net;
    const int8_t few[1] = {0};
    REQUIRE(net.train_target(few) == status::bad_size && net_train_target(NULL) == MOTE_BAD_STATE);
    REQUIRE(net.quantize_target(NAN) == -7 && net.quantize_target(1e9f) == 127 && net.quantize_target(-1e9f) == -128);
    for (int i = 0; i < SAMPLES; i++) {
        int8_t target[3];
        for (int k = 0; k < 3; k++) target[k] = net.quantize_target(right[i][k]);
        std::memcpy(net_input(), samples[i], NET_INPUT_BYTES);
        REQUIRE(net.train_target(target) == status::ok);
        std::printf("%g %g %g\\n", net.output()[0], net.output()[1], net.output()[2]);
    }
    return net.train_end() == status::ok ? 0 : 1;
}
"""


def test_targets_of_int8_models_are_quantized(tmp_path: Path) -> None:
    """Also where the output is a float: what it shows before each step are the reference's bits."""
    net, rng = Net(6), np.random.default_rng(6)
    x = net.fully_connected(net.fully_connected(net.input(1, 5), 4), 3, quant=(0.04, -7))
    graph, train = tflite.parse(net.finish(net.op("DEQUANTIZE", [x], quant=(None, 0))), "net"), "last:rate=0.5"
    train += ",loss=mean_squared_error"
    given, right = samples(graph, 8), rng.normal(size=(SAMPLES, 3)).astype(np.float32)
    compiled(graph, "net", train, cpp=True).write(tmp_path)
    header = f"enum {{ SAMPLES = {SAMPLES} }};\n" + defined("samples", given) + defined("right", right)
    (tmp_path / "samples.h").write_text(header)
    (tmp_path / "use.cpp").write_text(TARGETS)
    run([compiler_or_skip("gcc"), *FLAGS, "-c", "net.c"], tmp_path)
    run(
        [compiler_or_skip("g++"), "-std=c++17", "-Wall", "-Wextra", "-Werror", "use.cpp", "net.o", "-o", "use"],
        tmp_path,
    )
    done = subprocess.run(["./use"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    made = [[float(x) for x in line.split()] for line in done.stdout.splitlines()]
    training, wanted, states = with_training(graph, parsed(train), None), [], dict[int, Array]()
    for x, target in zip(given, quantized(right, quantized_output(graph)), strict=True):
        values = training.evaluate(
            {graph.inputs[0]: x.reshape(1, 5), **states, **label_values(training, target.reshape(1, 3))}
        )
        states = training.carried(values)
        wanted.append(values[graph.outputs[0]].reshape(-1))
    np.testing.assert_allclose(made, wanted, rtol=1e-5)
    assert not np.array_equal(made[0], made[SAMPLES // 2])


PUSH = """\
#include "net.h"
#include <stdio.h>
#define REQUIRE(fact) do { if (!(fact)) { printf("line %d: %s\\n", __LINE__, #fact); return 1; } } while (0)
int main(void) {
    static const int16_t window[512];
    REQUIRE(net_init() == MOTE_OK && net_push(window, 100) == MOTE_WAITING && net_learned_samples() == 0);
    REQUIRE(net_train(1) == MOTE_BAD_STATE && net_train(0) == MOTE_OK);
    REQUIRE(net_push(window, 156) == MOTE_OK && net_learned_samples() == 1);
    REQUIRE(net_push(window, 256) == MOTE_OK && net_learned_samples() == 1);
    REQUIRE(net_train(0) == MOTE_OK && net_push(window, 512) == MOTE_OK && net_learned_samples() == 2);
    return 0;
}
"""


def test_a_label_is_for_the_window_that_is_pushed_next(tmp_path: Path) -> None:
    model = Path(__file__).parents[4] / "examples" / "vibration" / "vibration.tflite"
    compile(str(model), name="net", train="one-class").write(tmp_path)
    (tmp_path / "use.c").write_text(PUSH)
    run([compiler_or_skip("gcc"), *FLAGS, *SANITIZED, "use.c", "net.c", "-o", "use", "-lm"], tmp_path)
    run(["./use"], tmp_path)


def integers() -> Graph:
    """Convolutions of every kind in int8, and a classifier."""
    net = Net(4, "int8")
    x = net.conv(net.input(1, 9, 8, 3), 8, 3, stride=2, fused_activation_function="RELU")
    x = net.add(x, net.conv(net.depthwise(x, 1, 3, fused_activation_function="RELU6"), 8, 1))
    return tflite.parse(net.finish(net.fully_connected(net.mean(x), 4)), "integers")


def test_models_that_learn_are_cpp(tmp_path: Path) -> None:
    """For a core with kernels of its own for training."""
    graph = integers()
    data = samples(graph, 3).reshape(SAMPLES, 9, 8, 3), np.arange(SAMPLES) % 4
    compiled(graph, "net", "biases,0,1,2", "cortex-m4", train_data=data).write(tmp_path)
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]
    run([compiler_or_skip("g++"), "-x", "c++", *flags, "net.c"], tmp_path)

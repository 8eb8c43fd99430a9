"""float32 layers with weights of half precision in flash: the same bits as with the weights in float32."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.kernels.contract import Refusal, View
from mote.compiler.kernels.pack.weights.halves import are_halves, in_halves
from mote.compiler.kernels.vfp import blocks
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.export import export
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType
from tests.compiler.kernels.c_harness import Program
from tests.compiler.kernels.test_blocks_f32 import FPU, FloatCase, configs, layer
from tests.helpers.offered import PORTABLE, offered
from tests.helpers.support import emulated, examples, needs_litert, soaked
from tests.ir.ops.windows import test_conv

ODD = np.array([0.0, -0.0, 2.0**-24, -(2.0**-24), 1023 * 2.0**-24, 2.0**-14, -65504.0, 65504.0], np.float16)
"""Zeros, the least and the largest number without a leading one, the least with one, and the largest."""
USUAL = test_conv.Config(
    "CONV_2D", "float32", 1, (9, 9), 4, 8, (3, 3), (1, 1), (1, 1), "SAME", "RELU", False, True, 1.0, (0, 0), 1
)
QUICK = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def halved(g: Graph, seed: int) -> tuple[Graph, Op]:
    """The graph with weights that half precision holds, odd ones among them."""
    rng, op = np.random.default_rng(seed), g.ops[0]
    weights = op.input(g, 1)
    assert weights.data is not None
    odd = rng.choice(ODD, weights.shape)
    data = np.where(rng.random(weights.shape) < 0.2, odd, weights.data.astype(np.float16)).astype(np.float32)
    return g.with_ops(g.ops, [replace(weights, data=data)]), op


def check(layers: list[test_conv.Config], core: str, features: frozenset[str]) -> None:
    """Kernels with weights of either precision, all those that there are."""
    program, sizes = Program(core), []
    for config in layers:
        g, op = halved(layer(config)[0], config.seed)
        kernels = offered(g, op, features, fast=True)
        names = " ".join(kernel.name for kernel in kernels)
        assert "_halves" in names and "f32" in names and ("blocks_halves" in names) == bool(features), names
        cases = [FloatCase(g, op, kernel, config.seed) for kernel in kernels]
        for case in cases:
            case.call(program)
        sizes.append((g, cases[0].expected.size, sum(len(case.ways) for case in cases)))
    got = np.frombuffer(program.run(), np.uint32)
    for g, size, count in sizes:
        results, got = got[: size * count].reshape(count, size), got[size * count :]
        bits = np.where(np.isnan(results.view(np.float32)), 0x7FC00000, results)
        assert (bits == bits[0]).all(), g.text()
    assert not got.size


@given(st.lists(configs(), min_size=8, max_size=8))
@QUICK
def test_on_the_host(layers: list[test_conv.Config]) -> None:
    check(layers, "host", FPU)


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
@given(st.lists(configs(), min_size=6, max_size=6))
@QUICK
def test_on_cores_that_round_products_or_not(core: str, layers: list[test_conv.Config]) -> None:
    check(layers, emulated(core), FPU)


def test_without_an_fpu() -> None:
    layers = [replace(USUAL, kind=kind, outputs=1 if kind[0] == "D" else 5) for kind in KINDS]
    check(layers, emulated("cortex-m0"), PORTABLE)


def test_every_number() -> None:
    """All that are finite, expanded by the core or in plain C, one at a time and four side by side."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    bits = bits[np.isfinite(bits.view(np.float16))]
    wanted = bits.view(np.float16).astype(np.float32)
    assert np.array_equal(in_halves(wanted), bits)
    for core in ("host", "cortex-m3", "cortex-m4", "cortex-m55"):
        program = Program(emulated(core) if core != "host" else core)
        program.includes["mote_half.h"] = None
        given, out = program.block(bits.nbytes, bits), program.block(wanted.nbytes)
        program.say(
            f"for (int32_t i = 0; i < {bits.size}; i++) {{",
            f"    ((float *){out})[i] = mote_half(((const uint16_t *){given})[i]);",
            "}",
        )
        program.write(out, wanted.nbytes)
        assert program.run() == wanted.tobytes(), core


@pytest.mark.parametrize("wrong", [1.0 + 2.0**-11, 65520.0, 2.0**-25, np.inf, np.nan])
def test_other_weights_are_refused(wrong: float) -> None:
    g, op = halved(layer(USUAL)[0], 0)
    weights = op.input(g, 1)
    data = weights.data.copy()
    data[0, 0, 0, 0] = wrong
    other = g.with_ops(g.ops, [replace(weights, data=data)])
    assert are_halves(View(g, (op,))) and not are_halves(View(other, (op,)))
    assert not any("halves" in kernel.name for kernel in offered(other, op, FPU))
    answers = [kernel.bind(View(other, (op,))) for kernel in blocks.KERNELS if kernel.name == "conv2d_blocks_halves"]
    assert answers == [Refusal("float16 does not represent its weights exactly")]


def model(size: tuple[int, int] = (6, 6)) -> bytes:
    """One layer of each kind, as a converter stores it in half precision: float16 constants that DEQUANTIZE reads."""
    layers = [replace(USUAL, kind=kind, size=size, outputs=1 if kind[0] == "D" else 24, channels=16) for kind in KINDS]
    g = tflite.parse(test_conv.model(layers), "layers")
    halves = [
        replace(t, data=t.data.astype(np.float16).astype(np.float32), stored=DType.FLOAT16)
        for op in g.ops
        for t in (op.input(g, 1),)
        if t.data is not None
    ]
    return export(g.with_ops(g.ops, halves), "layers").data


@needs_litert
@pytest.mark.parametrize("core", soaked(("cortex-m0", "cortex-m4", "cortex-m55"), ("cortex-m4",)))
def test_models_keep_two_bytes_a_weight(core: str) -> None:
    compiled = compile(model(), target=emulated(core))
    assert all("halves" in step.kernel.name for step in compiled.plan.steps)
    assert verify(compiled, 1).passed


def test_onnx_models_do_as_well() -> None:
    """float16 initializers, cast to float32."""
    onnx_models = pytest.importorskip("tests.helpers.onnx_models")
    net = onnx_models.Net()
    weights = net.op("Cast", net.const(net.rng.normal(size=(16, 8, 3, 3)).astype(np.float16)), to=1)
    net.output(net.op("Conv", net.input(1, 8, 6, 6), weights, pads=[1, 1, 1, 1]))
    compiled = compile(net.model(), target="cortex-m4")
    kernels = {step.kernel.name: step.kernel for step in compiled.plan.steps}
    assert kernels["conv2d_blocks_halves"].constants < 2.2 * 16 * 8 * 9

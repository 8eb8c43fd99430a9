"""Layers with int16 activations on instruction sets, whole and by rows: on the host and on emulated cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.contract import Refusal, View
from mote.compiler.kernels.pack.requantize.high_s16 import high_scale
from mote.frontends import tflite
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from tests.compiler.kernels.c_harness import Case, Program
from tests.helpers.offered import DSP, offered
from tests.helpers.support import examples
from tests.ir.ops.windows import test_conv
from tests.ir.ops.windows.test_conv import Config

HELIUM = frozenset({"mve", "dsp"})
FEW = settings(max_examples=examples(2), deadline=None, suppress_health_check=list(HealthCheck))
VECTORED = ("conv4_s16", "depthwise4_s16", "fully_connected8_vectors_s16")
CONNECTED = ("fully_connected8_s16_wide", "fully_connected8_s16")
SCALAR = frozenset({"mul32"})
SCALARS = ("conv_fours_s16", "depthwise_fours_s16")
FAMILIES = ("conv4x2_s16_wide", "conv4x2_s16", "depthwise4x2_s16", *CONNECTED)


@dataclass(frozen=True)
class Shorts(Case):
    """A case whose inputs are int16: any, or the least and the largest only."""

    @cached_property
    def inputs(self) -> list[Array]:
        rng, shape = np.random.default_rng(self.seed), self.op.input(self.graph).shape
        any_ = rng.choice([-32768, 32767], shape) if self.seed % 4 == 0 else rng.integers(-32768, 32768, shape)
        return [any_.astype(np.int16), *(self.graph.tensors[i].data for i in self.op.inputs[1:] if i >= 0)]


def layer(
    size: tuple[int, int], channels: int, outputs: int, kernel: tuple[int, int] = (1, 1), **more: object
) -> Config:
    config = Config(
        kind="CONV_2D", dtype="int16", batch=1, size=size, channels=channels, outputs=outputs, kernel=kernel,
        stride=(1, 1), dilation=(1, 1), padding="SAME", activation="RELU", per_channel=True, bias=True, gain=1.0,
        zeros=(0, 0), seed=1,
    )  # fmt: skip
    return replace(config, **more)  # type: ignore[arg-type]


def parsed(config: Config) -> Graph:
    return tflite.parse(test_conv.model([config]), "model")


def cases_of(g: Graph, families: Sequence[str], features: frozenset[str], seed: int) -> list[Case]:
    kernels = (kernel for kernel in offered(g, g.ops[0], features) if kernel.family in families)
    return [Shorts(g, g.ops[0], kernel, seed) for kernel in kernels]


def cases(configs: Sequence[Config], families: Sequence[str], features: frozenset[str]) -> list[Case]:
    graphs = [parsed(c) for c in configs]
    return [case for i, g in enumerate(graphs) for case in cases_of(g, families, features, i)]


def check(some: Sequence[Case], core: str) -> None:
    """All of them in one program."""
    program = Program(core)
    for case in some:
        case.call(program)
    got = np.frombuffer(program.run(), np.int16)
    for case in some:
        for how in case.ways:
            result, got = got[: case.expected.size], got[case.expected.size :]
            assert np.array_equal(result, case.expected.reshape(-1)), (how, case.kernel.name, case.graph.text())
    assert not got.size


CONVOLUTIONS = [
    layer((3, 8), 4, 2), layer((2, 5), 64, 4, activation="NONE"), layer((1, 7), 17, 4), layer((2, 2), 90, 2, batch=2),
    layer((6, 8), 3, 4, (3, 3), activation="RELU6"), layer((9, 10), 1, 6, (10, 4), stride=(2, 2)),
    layer((5, 7), 8, 4, (3, 3), activation="NONE"), layer((4, 6), 16, 2, (3, 3), stride=(2, 2)),
    layer((5, 11), 2, 2, (2, 5), padding="VALID", activation="RELU_N1_TO_1"), layer((4, 1), 40, 6, (3, 1)),
    layer((6, 5), 8, 2, (3, 1), dilation=(2, 1)), layer((5, 3), 24, 2, (5, 5)),
]  # fmt: skip


def depthwise(size: tuple[int, int], channels: int, kernel: tuple[int, int], **more: object) -> Config:
    return layer(size, channels, 1, kernel, kind="DEPTHWISE_CONV_2D", **more)


DEPTHWISE = [
    depthwise((5, 8), 4, (3, 3)), depthwise((3, 5), 64, (3, 3), activation="NONE"), depthwise((7, 2), 2, (3, 3)),
    depthwise((7, 9), 6, (3, 3), stride=(2, 2), activation="RELU6"), depthwise((6, 7), 8, (5, 5), padding="VALID"),
    depthwise((5, 6), 2, (7, 7), activation="RELU_N1_TO_1"), depthwise((9, 1), 10, (5, 1), padding="VALID", batch=2),
    depthwise((4, 11), 4, (1, 4), stride=(1, 3)), depthwise((9, 4), 2, (4, 2), dilation=(2, 1)),
]  # fmt: skip


def connected(vectors: int, depth: int, outputs: int, **more: object) -> Config:
    return layer((vectors, 1), depth, outputs, kind="FULLY_CONNECTED", per_channel=False, **more)


VECTORS = [
    connected(1, 40, 16), connected(3, 13, 11, activation="NONE"), connected(1, 6, 1, activation="RELU6"),
    connected(2, 27, 8, seed=2), connected(1, 64, 10, gain=0.3), connected(2, 8, 9, seed=4, activation="NONE"),
]  # fmt: skip


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["host", "cortex-m4"])
def test_layers(core: str) -> None:
    some = cases([*CONVOLUTIONS, *DEPTHWISE, *VECTORS], FAMILIES, DSP)
    assert len(some) == 2 * len(CONVOLUTIONS) + len(DEPTHWISE) + 2 * len(VECTORS)
    check(some, core)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["host", "cortex-m55"])
def test_layers_in_vectors(core: str) -> None:
    layers = [*CONVOLUTIONS, *DEPTHWISE, *VECTORS]
    some = cases(layers, VECTORED, HELIUM)
    assert len(some) == len(layers)
    check(some, core)


ALONE = [layer((2, 1), 9, 3), layer((3, 2), 6, 5, (2, 2)), layer((4, 3), 5, 1, activation="NONE")]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["host", "cortex-m3", "cortex-m0plus", "rv32imc"])
def test_layers_without_simd(core: str) -> None:
    some = cases([*CONVOLUTIONS, *ALONE, *DEPTHWISE], SCALARS, SCALAR)
    assert len(some) == len(CONVOLUTIONS) + len(ALONE) + sum(c.kernel[1] == 3 for c in DEPTHWISE)
    check(some, core)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"])
@given(data=st.data())
@FEW
def test_any_layer(kind: str, data: st.DataObject) -> None:
    configs = data.draw(st.lists(test_conv.configs(kind), min_size=8, max_size=8))
    by_channel = kind == "DEPTHWISE_CONV_2D"
    even = [replace(c, channels=2 * c.channels, outputs=1) if by_channel else c for c in configs]
    even = [replace(c, outputs=2 * c.outputs, seed=c.seed | 1) if kind == "CONV_2D" else c for c in even]
    wide = [replace(c, dtype="int16") for c in even]
    check([*cases(wide, FAMILIES, DSP), *cases(wide, VECTORED, HELIUM), *cases(wide, SCALARS, SCALAR)], "host")


def _scaled(config: Config) -> object:
    g = parsed(config)
    return high_scale(View(g, (g.ops[0],)), g.ops[0].activation)


def test_sums_that_may_not_fit_are_refused() -> None:
    """Sums of 517 weights of 127 with inputs of 2^15 reach 2^31."""
    fits, leaves = layer((1, 4), 300, 2), layer((1, 4), 1100, 2)
    assert not isinstance(_scaled(fits), Refusal)
    refused = _scaled(leaves)
    assert isinstance(refused, Refusal) and "32 bits" in refused.why


def test_channels_without_weights_have_fixed_results() -> None:
    """Their scales may be far from those of the others, and their biases large."""
    plain = parsed(layer((1, 4), 8, 4))
    _, w, b = plain.ops[0].inputs
    weights, bias = (np.array(plain.tensors[i].data) for i in (w, b))
    weights[1], bias[1] = 0, 1 << 33
    tensors = {i: replace(plain.tensors[i], data=data) for i, data in ((w, weights), (b, bias))}
    g = replace(plain, tensors={**plain.tensors, **tensors})
    scale = high_scale(View(g, (g.ops[0],)), g.ops[0].activation)
    assert not isinstance(scale, Refusal)
    assert scale.fixed.tolist() == [False, True, False, False]
    assert not scale.weights(weights, 0)[1].any() and scale.weights(weights, 0)[0].any()
    check([*cases_of(g, FAMILIES, DSP, 1), *cases_of(g, VECTORED, HELIUM, 1)], "host")


def test_sums_that_wrap_are_refused() -> None:
    refused = _scaled(layer((1, 4), 8, 2, seed=2))
    assert isinstance(refused, Refusal) and "wrap" in refused.why

"""float32 layers by blocks: the same bits as the portable kernels, whatever the layer, whole and row by row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.kernels.contract import View
from mote.compiler.kernels.vfp import blocks
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import allowed_difference
from tests.compiler.kernels.c_harness import Case, Program
from tests.helpers.offered import named, offered
from tests.helpers.support import emulated, examples, needs_litert
from tests.ir.ops.windows import test_conv

FPU = frozenset({"fpu"})
PORTABLE = {"CONV_2D": "conv2d_f32", "DEPTHWISE_CONV_2D": "depthwise_f32", "FULLY_CONNECTED": "fully_connected_f32"}
QUICK = settings(max_examples=examples(3), deadline=None, suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class FloatCase(Case):
    """Every fourth one is given what is not finite too."""

    @cached_property
    def inputs(self) -> list[Array]:
        rng = np.random.default_rng(self.seed)
        found = rng.normal(size=self.op.input(self.graph).shape).astype(np.float32)
        if self.seed % 4 == 0:
            odd = rng.choice(np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, -0.0], np.float32), found.shape)
            found = np.where(rng.random(found.shape) < 0.05, odd, found)
        found = found.astype(np.float32)
        return [found, *(self.graph.tensors[i].data for i in self.op.inputs[1:] if i >= 0)]

    @cached_property
    def expected(self) -> Array:
        with np.errstate(all="ignore"):
            return super().expected


def layer(config: test_conv.Config) -> tuple[Graph, Op]:
    g = tflite.parse(test_conv.model([config]), "layer")
    return g, g.ops[0]


def configs() -> st.SearchStrategy[test_conv.Config]:
    """Layers that blocks are for, with what is left over in each direction, and wider images than the usual ones."""

    def changed(c: test_conv.Config, width: int, outputs: int, channels: int) -> test_conv.Config:
        wide = replace(c, dtype="float32", size=(c.size[0], c.size[1] + width), channels=channels)
        return replace(wide, outputs=1 if c.kind == "DEPTHWISE_CONV_2D" else outputs)

    kinds = st.sampled_from(sorted(PORTABLE)).flatmap(test_conv.configs)
    return st.builds(changed, kinds, st.integers(0, 9), st.integers(4, 13), st.integers(4, 11))


def check(layers: list[test_conv.Config], core: str) -> None:
    program, pairs = Program(core), []
    for config in layers:
        g, op = layer(config)
        fast, plain = offered(g, op, FPU)[0], named(PORTABLE[config.kind], g, op)
        assert "blocks" in fast.name and plain is not None
        pairs.append((FloatCase(g, op, fast, config.seed), FloatCase(g, op, plain, config.seed)))
    for pair in pairs:
        for case in pair:
            case.call(program)
    got = np.frombuffer(program.run(), np.float32)
    for fast, plain in pairs:
        size = fast.expected.size
        results = [got[i * size :][:size] for i in range(len(fast.ways) + len(plain.ways))]
        got = got[len(results) * size :]
        for result in results[1:]:
            assert np.array_equal(result, results[0], equal_nan=True), fast.graph.text()
        if np.isfinite(fast.inputs[0]).all() and np.abs(fast.inputs[0]).max() < 1e30:
            limit = allowed_difference(fast.expected, 100.0)
            assert np.abs(results[0] - fast.expected.reshape(-1)).max() <= limit
    assert not got.size


def batch(count: int) -> st.SearchStrategy[list[test_conv.Config]]:
    return st.lists(configs(), min_size=count, max_size=count)


@given(batch(14))
@QUICK
def test_on_the_host(layers: list[test_conv.Config]) -> None:
    check(layers, "host")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
@given(batch(14))
@QUICK
def test_on_cores_that_round_products_or_not(core: str, layers: list[test_conv.Config]) -> None:
    check(layers, emulated(core))


ODD = np.array([np.inf, -np.inf, np.nan, 3e38, -3e38, -0.0, 0.0, 6.5, -1.0], np.float32)
LIMITS = {"NONE": np.finfo(np.float32).max * np.array([-1, 1]), "RELU": (0, np.finfo(np.float32).max), "RELU6": (0, 6)}


def pair(kind: str, activation: str, size: int) -> Graph:
    w = Writer("pair")
    a, b = w.input("a", (1, size), "float32"), w.input("b", (1, size), "float32")
    y = w.tensor("y", (1, size), "float32")
    w.op(kind, [a, b], [y], fused_activation_function=activation)
    w.output(y)
    return tflite.parse(w.finish(), "pair")


@pytest.mark.parametrize("core", ["host", "cortex-m4", "cortex-m55"])
def test_sums_and_products_by_fours(core: str) -> None:
    """As each element by itself, what is not finite as well, whatever is left over. Helium makes zeros of what is below
    the least normal number."""
    program, wanted = Program(emulated(core)), []
    rng = np.random.default_rng(5)
    for kind, activation, size in product(("ADD", "SUB", "MUL"), LIMITS, (1, 4, 7, 30)):
        g = pair(kind, activation, size)
        kernel = offered(g, g.ops[0], FPU)[0]
        usual = rng.normal(size=(2, size)).astype(np.float32)
        values = np.where(rng.random((2, size)) < 0.3, rng.choice(ODD, (2, size)), usual).astype(np.float32)
        a, b = (program.block(4 * size, values[position]) for position in kernel.entry.operands)
        out = program.block(4 * size)
        program.say(f"mote_{kernel.name}({program.params(kernel)}, {a}, {b}, {out}, {size});")
        program.write(out, 4 * size)
        with np.errstate(all="ignore"):
            result = {"ADD": np.add, "SUB": np.subtract, "MUL": np.multiply}[kind](*values)
        low, high = np.array(LIMITS[activation], np.float32)
        result = np.where(result < low, low, result)
        wanted.append(np.where(result > high, high, result))
    assert np.array_equal(np.frombuffer(program.run(), np.float32), np.concatenate(wanted), equal_nan=True)


def test_what_does_not_fit_is_refused() -> None:
    usual = test_conv.Config(
        "CONV_2D", "float32", 1, (5, 5), 4, 4, (3, 3), (1, 1), (1, 1), "SAME", "RELU", False, True, 1.0, (0, 0), 1
    )
    refused = {
        "there are fewer than four output channels": replace(usual, outputs=3),
        "inputs go into several output channels": replace(usual, kind="DEPTHWISE_CONV_2D", outputs=2),
        "it is for windows of one pixel": usual,
        "pointwise_blocks_f32 is for windows of one pixel": replace(usual, kernel=(1, 1)),
    }
    for why, config in refused.items():
        view = View(*(lambda g, op: (g, (op,)))(*layer(config)))
        found = [kernel.bind(view) for kernel in blocks.KERNELS if kernel.computed(view)]
        assert why in [getattr(answer, "why", "") for answer in found]


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
def test_the_planner_takes_them_and_the_model_is_right(core: str) -> None:
    """The second model has one layer of each kind without an activation, so that a compiler knows more in advance; its
    depthwise layer is too small for blocks to be worth it."""
    usual = test_conv.Config(
        "CONV_2D", "float32", 1, (9, 9), 4, 8, (3, 3), (1, 1), (1, 1), "SAME", "RELU", False, True, 1.0, (0, 0), 1
    )
    kinds = [replace(usual, kind=kind, outputs=1 if kind.startswith("D") else 10) for kind in sorted(PORTABLE)]
    several = [*kinds, replace(usual, kernel=(1, 1), activation="RELU6")]
    for layers in (several, [replace(kind, batch=1, size=(1, 9), activation="NONE") for kind in kinds]):
        compiled = compile(test_conv.model(layers), target=emulated(core), optimize="speed")
        assert sum("blocks" not in step.kernel.name for step in compiled.plan.steps) <= (layers is not several)
        assert verify(compiled, 2).passed

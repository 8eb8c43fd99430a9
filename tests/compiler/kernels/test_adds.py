"""Kernels that keep running sums: one input row at a time, in any order, the output over the sums or elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote.compiler.kernels.contract import Call, Packed
from mote.compiler.kernels.pack.planar import Planar
from mote.frontends import tflite
from mote.ir.graph import Graph, Op
from mote.ir.graph.rows import OUTSIDE, row_count
from mote.ir.graph.tensor import Array
from tests.compiler.kernels.c_harness import Program, inputs_of, rows_of
from tests.helpers.offered import adding, offered
from tests.helpers.support import examples
from tests.ir.ops.reductions import test_mean
from tests.ir.ops.windows import test_conv, test_pool


@st.composite
def vertical(draw: st.DrawFn, *, dilated: bool = True) -> tuple[str, int, int, int, int]:
    """Padding, input rows, kernel, stride and dilation of a window with one output row."""
    kernel, dilation = draw(st.integers(1, 6)), draw(st.sampled_from([1, 1, 2, 3] if dilated else [1]))
    stride = draw(st.integers(1, 7))
    if draw(st.booleans()):
        return "SAME", draw(st.integers(1, stride)), kernel, stride, dilation
    extent = (kernel - 1) * dilation + 1
    return "VALID", draw(st.integers(extent, extent + stride - 1)), kernel, stride, dilation


@st.composite
def layers_with_weights(draw: st.DrawFn, kind: str) -> test_conv.Config:
    padding, height, kernel, stride, dilation = draw(vertical())
    columns, spread = draw(st.integers(1, 5)), draw(st.sampled_from([1, 1, 2]))
    least = (columns - 1) * spread + 1 if padding == "VALID" else 1
    return test_conv.Config(
        kind=kind,
        dtype="int8",
        batch=1,
        size=(height, draw(st.integers(least, least + 5))),
        channels=draw(st.integers(1, 9)),
        outputs=draw(st.integers(1, 9) if kind == "CONV_2D" else st.sampled_from([1, 1, 2, 3])),
        kernel=(kernel, columns),
        stride=(stride, draw(st.integers(1, 3))),
        dilation=(dilation, spread),
        padding=padding,
        activation=draw(st.sampled_from(test_conv.ACTIVATIONS)),
        per_channel=draw(st.booleans()),
        bias=draw(st.booleans()),
        gain=draw(st.sampled_from([0.02, 0.3, 1.0, 4.0])),
        zeros=(draw(st.integers(-128, 127)), draw(st.integers(-128, 127))),
        seed=draw(st.integers(0, 1 << 30)),
    )


@st.composite
def pools(draw: st.DrawFn) -> test_pool.Config:
    padding, height, kernel, stride, _ = draw(vertical(dilated=False))
    columns = draw(st.integers(1, 5))
    least = columns if padding == "VALID" else 1
    size = [height, draw(st.integers(least, least + 5))]
    window = {
        "padding": padding,
        "size": size,
        "kernel": (kernel, columns),
        "stride": (stride, draw(st.integers(1, 3))),
    }
    return draw(test_pool.configs(("int8",))) | window | {"batch": 1}


@st.composite
def means(draw: st.DrawFn) -> test_mean.Config:
    shape = draw(st.lists(st.integers(1, 6), min_size=2, max_size=5))
    rows = list(range(max(len(shape) - 2, 1)))
    axes = [*rows, len(shape) - 2] if len(shape) > 2 and draw(st.booleans()) else rows
    return draw(test_mean.configs()) | {"dtype": "int8", "shape": shape, "axes": axes}


FAMILIES = {
    "conv": st.lists(layers_with_weights("CONV_2D"), min_size=10, max_size=10).map(test_conv.model),
    "depthwise": st.lists(layers_with_weights("DEPTHWISE_CONV_2D"), min_size=10, max_size=10).map(test_conv.model),
    "pool": st.lists(pools(), min_size=14, max_size=14).map(test_pool.model),
    "mean": st.lists(means(), min_size=14, max_size=14).map(test_mean.model),
}


def taps(op: Op, g: Graph) -> list[tuple[int, int]]:
    """Each tap inside the image and its row."""
    rows = op.reads(g, 0, 0) or range(row_count(op.input(g).shape))
    return [(tap, row) for tap, row in enumerate(rows) if row != OUTSIDE]


def call(program: Program, op: Op, g: Graph, kernel: Packed, values: Array) -> int:
    """The kernel in three orders, its output elsewhere and over its sums."""
    params, nbytes = program.params(kernel), op.output(g).nbytes
    blocks = [program.block(row.nbytes, row) for row in rows_of(values)]
    order = taps(op, g)
    mixed = [order[i] for i in np.random.default_rng(0).permutation(len(order))]
    cases = [(order, False), (order, True), (order[::-1], False), (order[::-1], True), (mixed, True)]
    for calls, over in cases:
        sums = program.block(max(kernel.needs.sums, nbytes) if over else kernel.needs.sums)
        out = sums if over else program.block(nbytes)
        for i, (tap, row) in enumerate(calls):
            part = (i == 0) + 2 * (i == len(calls) - 1)
            program.say(f"mote_{kernel.name}({params}, {blocks[row]}, {tap}, {part}, {sums}, {out});")
        program.write(out, nbytes)
    return len(cases)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("family", FAMILIES)
@given(st.data())
@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
def test_running_sums(family: str, data: st.DataObject) -> None:
    g = tflite.parse(data.draw(FAMILIES[family]), "model")
    program, want = Program(), []
    for op in g.ops:
        kernel = adding(g, op)
        if kernel is None:
            continue
        assert kernel.needs.scratch is None
        values = inputs_of(op, g)
        repeated = call(program, op, g, kernel, values[0])
        want += [(op.kind, op.evaluate(g, values)[0])] * repeated
    got = program.run()
    for kind, expected in want:
        found, got = np.frombuffer(got[: expected.size], np.int8), got[expected.size :]
        assert np.array_equal(found.reshape(expected.shape), expected), (kind, g.text())
    assert not got


PLAIN = test_conv.Config(
    "CONV_2D", "int8", 1, (5, 4), 3, 2, (5, 1), (1, 1), (1, 1), "VALID", "NONE", True, True, 1.0, (3, -4), 0
)
POOL = test_pool.PLAIN | {"size": [6, 2], "kernel": (6, 2), "padding": "VALID"}
MEAN: test_mean.Config = {"dtype": "int8", "axes": [1, 2], "keep_dims": True, "scales": (0.1, 0.1), "zeros": (0, 0)}
MODELS = {
    "conv2d_add_s8": test_conv.model([PLAIN]),
    "depthwise_add_s8": test_conv.model([test_conv.Config(**{**vars(PLAIN), "kind": "DEPTHWISE_CONV_2D"})]),
    "avg_pool_add_s8": test_pool.model([POOL]),
    "max_pool_add_s8": test_pool.model([POOL | {"kind": "MAX_POOL_2D"}]),
    "mean_add_s8": test_mean.model([MEAN | {"shape": (1, 6, 2, 3)}]),
}
NOT_THESE = {
    "one row in, one row out": test_conv.model([test_conv.Config(**{**vars(PLAIN), "size": (1, 4), "kernel": (1, 1)})]),
    "two rows out": test_conv.model([test_conv.Config(**{**vars(PLAIN), "size": (6, 4)})]),
    "two images": test_conv.model([test_conv.Config(**{**vars(PLAIN), "batch": 2})]),
    "floats": test_pool.model([POOL | {"dtype": "float32"}]),
    "channels averaged": test_mean.model([MEAN | {"shape": (1, 6, 2, 3), "axes": [1, 2, 3]}]),
    "two means": test_mean.model([MEAN | {"shape": (2, 6, 2, 3)}]),
    "rows kept": test_mean.model([MEAN | {"shape": (4, 5, 6), "keep_dims": False}]),
}


@pytest.mark.parametrize("name", MODELS)
def test_where_there_are_running_sums(name: str) -> None:
    g = tflite.parse(MODELS[name], "model")
    (op,) = g.ops
    kernel = adding(g, op)
    assert kernel is not None
    each = 1 if name == "max_pool_add_s8" else 4
    assert (kernel.name, kernel.entry.call, kernel.needs.sums) == (name, Call.ADDS, each * op.output(g).size)
    assert all(k.entry.call is not Call.ADDS for k in offered(g, op))


@pytest.mark.parametrize("why", NOT_THESE)
def test_where_there_are_none(why: str) -> None:
    g = tflite.parse(NOT_THESE[why], "model")
    assert adding(g, g.ops[0]) is None


def test_other_layouts_have_none() -> None:
    g = tflite.parse(MODELS["conv2d_add_s8"], "model")
    assert adding(g, g.ops[0], writes=Planar(8, 1)) is None

"""Constants as files store them: float16, several elements a byte, sparse, behind the FlatBuffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError, UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR, Level, SparsityParameters, Writer
from mote.ir.graph.tensor import Array, Shape
from tests.helpers.support import check, check_numpy, needs_litert

pytestmark = needs_litert


def sparse(
    dense: Array, order: Sequence[int], blocks: Sequence[int] = (), sizes: Sequence[int] = (), **kinds: str
) -> tuple[Array, SparsityParameters]:
    """The elements of an array that a file lists, and how: levels of the tensor's axes are lists where `kinds` has a
    type for their indices (`level0="uint8"`), the others are dense. Blocks lie along the axes `blocks`."""
    shape = list(dense.shape)
    inner = []
    for axis, size in zip(blocks, sizes, strict=True):
        shape[axis] //= size
        inner.append(size)
    split = dense.reshape([n for axis, m in enumerate(shape) for n in (m, dense.shape[axis] // m)])
    own = [2 * axis for axis in range(dense.ndim)] + [2 * axis + 1 for axis in blocks]
    other = [i for i in range(split.ndim) if i not in own]
    expanded = split.transpose(own + other).reshape(shape + inner).transpose(order)
    nodes, levels = expanded[None], []
    for i, size in enumerate(expanded.shape):
        kind = kinds.get(f"level{i}")
        if kind is None:
            levels.append(Level(size))
            nodes = nodes.reshape(-1, *expanded.shape[i + 1 :])
            continue
        used = nodes.any(axis=tuple(range(2, nodes.ndim))) if nodes.ndim > 2 else nodes != 0
        segments = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
        levels.append(Level(0, segments.tolist(), np.nonzero(used)[1].tolist(), kind))
        nodes = nodes[used]
    return nodes.reshape(-1), SparsityParameters(order, blocks, levels)


def sparse_model(shape: Shape, dtype: str, listed: Array, how: SparsityParameters) -> bytes:
    """DENSIFY, and float16 on to float32, added to an input."""
    w = Writer("sparse")
    scale = 0.1 if dtype == "int8" else None
    k = w.const("k", listed, scale, shape=shape, sparsity=how)
    dense = w.tensor("dense", shape, dtype, scale)
    w.op("DENSIFY", [k], [dense])
    if dtype == "float16":
        dense, half = w.tensor("wide", shape, "float32"), dense
        w.op("DEQUANTIZE", [half], [dense], version=3)
    kind = "int8" if dtype == "int8" else "float32"
    x, y = w.input("x", shape, kind, scale), w.tensor("y", shape, kind, scale)
    w.op("ADD", [x, dense], [y])
    w.output(y)
    return w.finish()


def listed_in_blocks(dtype: str) -> bytes:
    """Blocks of two along the last axis, of which rows and blocks that are zero are left out."""
    dense = np.zeros((4, 6), dtype)
    dense[1, 2] = dense[3, 5] = 1
    return sparse_model(dense.shape, dtype, *sparse(dense, (0, 1, 2), (1,), (2,), level0="uint8", level1="uint8"))


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_sparse_tensors_become_dense(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 4))
    blocks = sorted(data.draw(st.sets(st.integers(0, rank - 1), max_size=2)))
    sizes = [data.draw(st.integers(1, 3)) for _ in blocks]
    shape = [data.draw(st.integers(1, 4)) for _ in range(rank)]
    for axis, size in zip(blocks, sizes, strict=True):
        shape[axis] *= size
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    dtype = data.draw(st.sampled_from(["float32", "int8", "float16"]))
    dense = (rng.integers(-127, 128, shape) * (rng.random(shape) < data.draw(st.floats(0, 1)))).astype(dtype)
    dense.reshape(-1)[-1] = 1
    order = [*rng.permutation(rank).tolist(), *(rank + rng.permutation(len(blocks))).tolist()]
    kinds = {f"level{i}": data.draw(st.sampled_from(["int32", "uint16", "uint8"])) for i in range(rank)}
    dropped = data.draw(st.sets(st.sampled_from(sorted(kinds))))
    listed, how = sparse(dense, order, blocks, sizes, **{k: v for k, v in kinds.items() if k not in dropped})
    model = sparse_model(dense.shape, dtype, listed, how)
    graph = tflite.parse(model, "model")
    np.testing.assert_array_equal(graph.tensors[1 + (dtype == "float16")].data, dense.astype(np.float64))
    check_numpy(graph, model, inputs=1)


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_damaged_sparsity_is_refused_or_means_something(data: st.DataObject) -> None:
    """Whatever the numbers are: a tensor of its shape, or an error that says so."""
    dense = np.zeros((4, 6), np.float32)
    dense[1, 2] = dense[3, 5] = 1
    listed, how = sparse(dense, (0, 1, 2), (1,), (2,), level0="int32", level1="uint8")
    number = st.integers(-2, 7) | st.sampled_from([1 << 30, -(1 << 31)])
    levels = list(how.levels)
    for _ in range(data.draw(st.integers(1, 3))):
        what = data.draw(st.sampled_from(["order", "blocks", "size", "segments", "indices", "level"]))
        i = data.draw(st.integers(0, len(levels) - 1)) if levels else 0
        if what == "order":
            how = replace(how, traversal_order=data.draw(st.lists(number, max_size=4)))
        elif what == "blocks":
            how = replace(how, block_map=data.draw(st.lists(number, max_size=2)))
        elif what == "level":
            levels = levels[:i]
        elif levels and what == "size":
            levels[i] = replace(levels[i], size=data.draw(number))
        elif levels:
            changed = data.draw(st.lists(st.integers(0, 7), max_size=6))
            segments = changed if what == "segments" else levels[i].segments or changed
            levels[i] = replace(levels[i], segments=segments, indices=changed if what == "indices" else ())
    try:
        graph = tflite.parse(sparse_model(dense.shape, "float32", listed, replace(how, levels=levels)), "damaged")
    except MoteError as error:
        assert "damaged" in str(error)
    else:
        assert graph.tensors[1].data is not None and graph.tensors[1].data.shape == dense.shape


def test_sparse_weights() -> None:
    """LiteRT's fully connected layer takes sparse weights as they are."""
    rng = np.random.default_rng(1)
    dense = (rng.normal(size=(8, 12)) * (rng.random((8, 12)) < 0.3)).astype(np.float32)
    listed, how = sparse(dense, (0, 1), level1="uint8")
    w = Writer("sparse")
    x, y = w.input("x", (2, 12), "float32"), w.tensor("y", (2, 8), "float32")
    w.op("FULLY_CONNECTED", [x, w.const("k", listed, shape=dense.shape, sparsity=how), NO_TENSOR], [y], version=8)
    w.output(y)
    check_numpy(tflite.parse(w.finish(), "model"), w.finish())


def layers(dtype: str, least: int, most: int, kinds: Sequence[str]) -> bytes:
    """An int8 network with weights of fewer bits."""
    rng = np.random.default_rng(5)
    w = Writer("packed")
    t = w.input("x", (1, 5, 5, 3), "int8", 0.02, 3)
    for i, kind in enumerate(kinds):
        shape: Shape = {"CONV_2D": (7 - 2 * i, 3, 3, 3), "DEPTHWISE_CONV_2D": (1, 3, 3, 3)}.get(kind, (5, 75))
        channels = shape[3] if kind == "DEPTHWISE_CONV_2D" else shape[0]
        scales = rng.uniform(0.01, 0.03, channels if i % 2 == 0 else 1)
        axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
        k = w.const("k", rng.integers(least, most + 1, shape).astype(np.int8), scales, axis=axis, dtype=dtype)
        b = w.const("b", rng.integers(-200, 200, channels).astype(np.int32))
        dense = kind == "FULLY_CONNECTED"
        y = w.tensor("y", (1, 5) if dense else (1, 5, 5, channels), "int8", 0.05, -4)
        w.op(kind, [t, k, b], [y], **({"version": 10} if dense else {"version": 6}))
        t = t if dense else y
        w.output(y)
    return w.finish()


def test_int4_weights() -> None:
    """Odd numbers of elements too: 5 filters of 27."""
    check(layers("int4", -8, 7, ["DEPTHWISE_CONV_2D", "DEPTHWISE_CONV_2D", "CONV_2D"]))
    check_numpy(tflite.parse(model := layers("int4", -8, 7, ["FULLY_CONNECTED"] * 2), "model"), model)


def test_int2_weights() -> None:
    check_numpy(tflite.parse(model := layers("int2", -2, 1, ["FULLY_CONNECTED"] * 2), "model"), model)


def half(outside: bool = False) -> bytes:
    rng = np.random.default_rng(2)
    w = Writer("half", outside=outside)
    x = w.input("x", (2, 6), "float32")
    operands = []
    for shape in ((5, 6), (5,)):
        wide = w.tensor("wide", shape, "float32")
        w.op("DEQUANTIZE", [w.const("half", rng.normal(size=shape).astype(np.float16))], [wide], version=3)
        operands.append(wide)
    y = w.tensor("y", (2, 5), "float32")
    w.op("FULLY_CONNECTED", [x, *operands], [y])
    w.output(y)
    return w.finish()


def test_float16_constants() -> None:
    compiled = check(half())
    assert [op.kind for op in compiled.source.ops] == ["FULLY_CONNECTED"]


def test_buffers_behind_the_flatbuffer() -> None:
    inside, outside = (tflite.parse(half(where), "model") for where in (False, True))
    for i, t in inside.tensors.items():
        if t.data is not None:
            np.testing.assert_array_equal(t.data, outside.tensors[i].data)
    check_numpy(outside, half(outside=True))
    with pytest.raises(MoteError, match="runs past the end of the file"):
        tflite.parse(half(outside=True)[:-4], "cut.tflite")


def activation(kind: str, dtype: str) -> bytes:
    w = Writer("activation")
    x, y = w.input("x", (2, 6), dtype), w.tensor("y", (2, 6), "float32" if kind == "DEQUANTIZE" else dtype)
    w.op(kind, [x], [y])
    w.output(y)
    return w.finish()


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (partial(activation, "DEQUANTIZE", "float16"), "float16 that is computed at run time .* float32 or int8"),
        (partial(activation, "RELU", "float16"), "has type float16: only constants may, which DEQUANTIZE reads"),
        (partial(activation, "RELU", "int4"), "has type int4: only constants may"),
        (partial(activation, "RELU", "uint4"), "has type uint4"),
        (partial(activation, "DENSIFY", "float32"), "only constants can be sparse"),
    ],
)
def test_types_that_nothing_is_computed_in(model: partial[bytes], says: str) -> None:
    with pytest.raises(UnsupportedError, match=says):
        tflite.parse(model(), "model")

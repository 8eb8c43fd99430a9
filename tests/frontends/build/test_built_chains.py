"""Chains of operators that change how elements are counted, and others between them: what they compute is what NumPy
does, and nothing is moved that need not be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.files import temporary_folder
from mote.frontends.build import Builder, Value, elementwise, matrix, moves, norms, reductions, windows
from mote.ir.graph import Graph
from mote.ir.graph.element_order import ElementOrder
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from tests.helpers.built import Network, close
from tests.helpers.support import examples


@dataclass
class Chain:
    """A value and what it is, as both grow."""

    b: Builder
    value: Value
    array: Array
    rng: np.random.Generator
    earlier: list[tuple[Value, Array]] = field(default_factory=list)

    def constant(self, *shape: int) -> Array:
        return self.rng.uniform(-1, 1, shape).astype(np.float32)

    def becomes(self, value: Value, array: Array) -> None:
        assert value.shape == array.shape
        self.value, self.array = value, array.astype(np.float32)


Step = Callable[[Chain, st.DataObject], None]


def transpose(c: Chain, data: st.DataObject) -> None:
    axes = data.draw(st.permutations(range(c.value.rank)))
    c.becomes(moves.transpose(c.b, c.value, axes), c.array.transpose(axes))


def reshape(c: Chain, data: st.DataObject) -> None:
    """Two axes become one, or one two."""
    shape = list(c.value.shape)
    at = data.draw(st.integers(0, len(shape) - 1))
    if len(shape) > 1 and (len(shape) > 5 or data.draw(st.booleans())):
        at = min(at, len(shape) - 2)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        divisors = [d for d in range(1, shape[at] + 1) if shape[at] % d == 0]
        d = data.draw(st.sampled_from(divisors))
        shape[at : at + 1] = [d, shape[at] // d]
    c.becomes(moves.reshape(c.b, c.value, shape), c.array.reshape(shape))


def whole_reshape(c: Chain, data: st.DataObject) -> None:
    """A shape that has nothing to do with the one before."""
    size, shape = c.value.size, []
    while size > 1 and len(shape) < 4:
        d = data.draw(st.sampled_from([d for d in range(2, size + 1) if size % d == 0]))
        shape.append(d)
        size //= d
    shape += [size] if size > 1 else []
    c.becomes(moves.reshape(c.b, c.value, shape), c.array.reshape(shape))


def unary(c: Chain, data: st.DataObject) -> None:
    c.becomes(elementwise.relu(c.b, c.value), np.maximum(c.array, 0))


def with_constant(c: Chain, data: st.DataObject) -> None:
    shape = [n if data.draw(st.booleans()) else 1 for n in c.value.shape]
    other = c.constant(*shape)
    c.becomes(elementwise.sub(c.b, c.b.constant(other), c.value), other - c.array)


def with_earlier(c: Chain, data: st.DataObject) -> None:
    """What an earlier value has in other orders meets this one, where shapes fit."""
    for value, array in c.earlier:
        if sorted(value.shape) == sorted(c.value.shape) and value.rank == c.value.rank:
            axes = _onto(value.shape, c.value.shape)
            c.becomes(elementwise.add(c.b, c.value, moves.transpose(c.b, value, axes)), c.array + array.transpose(axes))
            return
    c.earlier.append((c.value, c.array))


def _onto(shape: tuple[int, ...], wanted: tuple[int, ...]) -> list[int]:
    left = list(enumerate(shape))
    axes = []
    for n in wanted:
        found = next(pair for pair in left if pair[1] == n)
        left.remove(found)
        axes.append(found[0])
    return axes


def slice_(c: Chain, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, c.value.rank - 1))
    size = c.value.shape[axis]
    places = range(size)[data.draw(st.slices(size))]
    if places:
        made = moves.slice_(c.b, c.value, axis, places[0], len(places), places.step if len(places) > 1 else 1)
        c.becomes(made, c.array.take(list(places), axis))


def concat(c: Chain, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, c.value.rank - 1))
    other = c.constant(*c.value.shape[:axis], 2, *c.value.shape[axis + 1 :])
    if c.value.size < 400:
        made = moves.concat(c.b, [c.value, c.b.constant(other), c.value], axis)
        c.becomes(made, np.concatenate([c.array, other, c.array], axis))


def pad(c: Chain, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, c.value.rank - 1))
    pairs = [(1, 2) if a == axis else (0, 0) for a in range(c.value.rank)]
    mode = data.draw(st.sampled_from(("constant", "edge")))
    if c.value.size < 400:
        c.becomes(moves.pad(c.b, c.value, pairs, mode), np.pad(c.array, pairs, mode))


def linear(c: Chain, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, c.value.rank - 1))
    weights = c.constant(c.value.shape[axis], 3)
    c.becomes(
        matrix.linear(c.b, c.value, weights, axis=axis), np.moveaxis(np.moveaxis(c.array, axis, -1) @ weights, -1, axis)
    )


def reduce(c: Chain, data: st.DataObject) -> None:
    axes = data.draw(st.lists(st.integers(0, c.value.rank - 1), min_size=1, max_size=2, unique=True))
    c.becomes(reductions.mean(c.b, c.value, axes, True), c.array.mean(tuple(axes), keepdims=True))


def softmax(c: Chain, data: st.DataObject) -> None:
    axis = data.draw(st.integers(0, c.value.rank - 1))
    e = np.exp(c.array - c.array.max(axis, keepdims=True))
    c.becomes(norms.softmax(c.b, c.value, axis), e / e.sum(axis, keepdims=True))


def conv(c: Chain, data: st.DataObject) -> None:
    if c.value.rank != 4 or c.value.size > 600:
        return
    channels = c.value.shape[1]
    weights, bias = c.constant(channels, channels, 2, 3), c.constant(channels)
    axes = windows.window((2, 3), pads=[(1, 0), (0, 2)])
    c.becomes(windows.conv(c.b, c.value, weights, bias, axes), _convolved(c.array, weights) + bias.reshape(-1, 1, 1))


def depthwise(c: Chain, data: st.DataObject) -> None:
    if c.value.rank != 4 or c.value.size > 600:
        return
    channels = c.value.shape[1]
    weights = c.constant(channels, 1, 2, 3)
    axes = windows.window((2, 3), pads=[(1, 0), (0, 2)])
    dense = np.zeros((channels, channels, 2, 3), np.float32)
    dense[np.arange(channels), np.arange(channels)] = weights[:, 0]
    c.becomes(windows.conv(c.b, c.value, weights, None, axes, channels), _convolved(c.array, dense))


def _convolved(x: Array, weights: Array) -> Array:
    padded = np.pad(x, [(0, 0), (0, 0), (1, 0), (0, 2)])
    seen = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), axis=(2, 3))
    return np.einsum("nchwkl,ockl->nohw", seen, weights)


def shuffle(c: Chain, data: st.DataObject) -> None:
    """Channels, of which there are two groups at least, change places."""
    if c.value.rank != 4 or c.value.shape[1] % 2:
        return
    n, channels, *space = c.value.shape
    apart, swapped = (n, 2, channels // 2, *space), (0, 2, 1, 3, 4)
    moved = moves.transpose(c.b, moves.reshape(c.b, c.value, apart), swapped)
    array = c.array.reshape(apart).transpose(swapped).reshape(c.array.shape)
    c.becomes(moves.reshape(c.b, moved, c.value.shape), array)


ANY = (
    transpose,
    reshape,
    whole_reshape,
    unary,
    with_constant,
    with_earlier,
    slice_,
    concat,
    pad,
    linear,
    reduce,
    softmax,
    conv,
    depthwise,
    shuffle,
)
COUNTING = (transpose, reshape, unary, with_constant)
"""Operators that need no order."""
CHANNELS_LAST = (unary, with_constant, conv, depthwise, shuffle, conv)
"""What networks of images are made of."""


def run(data: st.DataObject, steps: tuple[Step, ...], shape: tuple[int, ...], *, images: bool) -> tuple[Chain, Graph]:
    """A random chain, checked."""
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))
    x = rng.uniform(-1, 1, shape).astype(np.float32)
    b = Builder("chain", "channels-last" if images else "model")
    chain = Chain(b, b.input("x", shape, DType.FLOAT32, channels_last=images), x, rng)
    for i in range(data.draw(st.integers(1, 7))):
        with b.layer(i, "STEP", f"step{i}"):
            data.draw(st.sampled_from(steps))(chain, data)
            chain.value = b.named(chain.value, f"value{i}")
    b.output(chain.value, "y")
    graph = b.finish().graph()
    values = graph.evaluate({graph.inputs[0]: graph.tensors[graph.inputs[0]].part(x)})
    t = graph.tensors[graph.outputs[0]]
    np.testing.assert_allclose(values[t.id], t.part(chain.array).reshape(t.shape), 1e-3, 1e-4)
    return chain, graph


def transposes(graph: Graph) -> int:
    return sum(op.kind == "TRANSPOSE" for op in graph.ops)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_chain_is_what_numpy_gives(data: st.DataObject) -> None:
    run(data, ANY, data.draw(st.sampled_from(((2, 4, 3, 5), (1, 6, 4, 4), (4, 6), (3, 4, 5)))), images=False)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_counting_otherwise_moves_nothing(data: st.DataObject) -> None:
    """Only the edge wants the order of the file, once."""
    chain, graph = run(data, COUNTING, (2, 4, 6), images=False)
    assert transposes(graph) == (0 if chain.value.arrangement.is_plain else 1)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_networks_of_images_have_no_transpose(data: st.DataObject) -> None:
    """Convolutions, channel shuffles and operators on elements, until a fully connected layer reads all of it."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (1, 4, 3, 3)).astype(np.float32)
    b = Builder("images")
    chain = Chain(b, b.input("x", x.shape, DType.FLOAT32, channels_last=True), x, rng)
    for i in range(data.draw(st.integers(1, 6))):
        with b.layer(i, "STEP", f"step{i}"):
            data.draw(st.sampled_from(CHANNELS_LAST))(chain, data)
    weights = chain.constant(chain.value.size, 2)
    with b.layer(9, "GEMM", "last"):
        last = matrix.gemm(b, moves.flatten(b, chain.value), b.constant(weights))
    b.output(last, "y")
    graph = b.finish().graph()
    assert transposes(graph) == 0
    values = graph.evaluate({graph.inputs[0]: x.transpose(0, 2, 3, 1)})
    np.testing.assert_allclose(values[graph.outputs[0]], chain.array.reshape(1, -1) @ weights, 1e-3, 1e-4)


@pytest.mark.slow
@settings(max_examples=examples(12), deadline=None)
@given(st.data())
def test_chains_as_c(data: st.DataObject) -> None:
    """Several chains as one program, planned for little memory, or for inputs that come row by row."""
    network = Network()
    for i in range(6):
        shape = data.draw(st.sampled_from(((1, 4, 6, 5), (1, 6, 4, 4), (2, 4, 3, 5), (4, 6), (3, 4, 5))))
        rng = np.random.default_rng(i)
        x = rng.uniform(-1, 1, shape).astype(np.float32)
        arrays: list[Array] = []

        def make(b: Builder, value: Value, x: Array = x, rng: Any = rng, arrays: Any = arrays) -> Value:
            chain = Chain(b, value, x, rng)
            for _ in range(data.draw(st.integers(2, 6))):
                data.draw(st.sampled_from(ANY))(chain, data)
            arrays.append(chain.array)
            return chain.value

        network.add(make, arrays, x, images=len(shape) == 4)
    options = data.draw(st.sampled_from(({"least_ram": True}, {"optimize": "size"}, {"step": "row"})))
    with temporary_folder() as folder:
        close(network.executed(folder, **options), network.wanted, 1e-3, 1e-4)


@given(st.data())
def test_arrangements_are_kept_apart_and_joined(data: st.DataObject) -> None:
    """An arrangement is the same however finely its axes are cut, and stored values come back."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    order = data.draw(st.permutations(range(len(sizes))))
    arrangement = ElementOrder(tuple(sizes), tuple(order)).canonical()
    value = np.arange(prod(sizes)).reshape(sizes)
    stored = value.transpose(order).reshape(-1)
    assert np.array_equal(arrangement.stored(value, (prod(sizes),)), stored)
    assert np.array_equal(arrangement.logical(stored, tuple(sizes)), value)
    atoms = arrangement.split(tuple(sizes))
    assert atoms is not None and ElementOrder.of(atoms) == arrangement
    other = ElementOrder(tuple(sizes), tuple(data.draw(st.permutations(range(len(sizes)))))).canonical()
    found = arrangement.move(other)
    assert found is not None
    shape, permutation = found
    moved = stored.reshape(shape).transpose(permutation).reshape(-1)
    assert np.array_equal(moved, other.stored(value, (prod(sizes),)))

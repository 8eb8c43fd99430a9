"""Attention without TRANSPOSE: every form of it, exact, and token by token."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.compiler.line import compile
from mote.compiler.passes.pipeline import optimize
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.ops.matrix.batch_matmul import HeadMatmul
from mote.ir.ops.moves.pad_concat_transpose import Transpose
from tests.helpers.support import batch, check, examples, needs_litert
from transformer import Shape, decoder

SCALES = {"int8": (0.05, 0.2, 1 / 256, 0.05), "int16": (0.001, 0.2, 1 / 32768, 0.001)}
"""Of inputs, scores, their shares, results."""


@dataclass(frozen=True)
class Attention:
    """One attention, and how the file writes it."""

    dtype: str = "int8"
    tokens: int = 5
    keys: int = 6
    heads: int = 2
    part: int = 4
    batch: bool = True
    """There is an axis of one in front."""
    turned: bool = True
    """The product turns the keys, not the TRANSPOSE."""
    values_turned: bool = False
    mask: tuple[int, ...] | None = None
    """The shape of a mask, with 0 for the sizes of (heads, tokens, keys)."""
    known: bool = True
    """The mask is a constant."""
    first: bool = False
    """The scale is the first operand of the product with it."""
    shown: bool = False
    """The shares are an output too."""

    @property
    def axes(self) -> tuple[int, ...]:
        return (1,) if self.batch else ()


def add_attention(w: Writer, c: Attention, name: str) -> None:
    scales = SCALES.get(c.dtype, (None,) * 4)
    zero = 0 if c.dtype != "int8" else 3
    zeros = (zero, zero, -128 if c.dtype == "int8" else 0, zero)
    rng = np.random.default_rng(1)

    def tensor(shape: tuple[int, ...], kind: int) -> int:
        return w.tensor(f"{name}_t", (*c.axes, *shape), c.dtype, scales[kind], zeros[kind])

    def constant(values: np.ndarray, kind: int) -> int:
        if c.dtype == "float32":
            return w.const("c", values.astype(np.float32))
        return w.const("c", np.round(values / scales[kind] + zeros[kind]).astype(c.dtype), scales[kind], zeros[kind])

    def op(kind: str, inputs: list[int], shape: tuple[int, ...], like: int, **options: object) -> int:
        y = tensor(shape, like)
        w.op(kind, inputs, [y], **options)
        return y

    def split(x: int, tokens: int, turn: bool) -> int:
        order = (1, 2, 0) if turn else (1, 0, 2)
        order = (0, *(i + 1 for i in order)) if c.batch else order
        shape = (c.heads, c.part, tokens) if turn else (c.heads, tokens, c.part)
        return op("TRANSPOSE", [x, w.const("order", np.int32(order))], shape, 0)

    sizes = (c.tokens, c.keys, c.keys)
    shapes = [(*c.axes, n, c.heads, c.part) for n in sizes]
    given = [w.input(f"{name}_{i}", shape, c.dtype, scales[0], zero) for i, shape in enumerate(shapes)]
    q, k = split(given[0], c.tokens, False), split(given[1], c.keys, not c.turned)
    v = split(given[2], c.keys, c.values_turned)
    matrix = (c.heads, c.tokens, c.keys)
    x = op("BATCH_MATMUL", [q, k], matrix, 1, adj_y=c.turned, version=4)
    factor = constant(np.array(0.5), 1)
    x = op("MUL", [factor, x] if c.first else [x, factor], matrix, 1)
    if c.mask is not None:
        shape = tuple(matrix[i - len(c.mask)] if n == 0 else n for i, n in enumerate(c.mask))
        if c.known:
            mask = constant(np.where(rng.uniform(size=shape) < 0.3, -5.0, 0.0), 1)
        else:
            mask = w.input(f"{name}_mask", shape, c.dtype, scales[1], zeros[1])
        x = op("ADD", [x, mask], matrix, 1)
    x = op("SOFTMAX", [x], matrix, 2)
    if c.shown:
        w.output(x)
    x = op("BATCH_MATMUL", [x, v], (c.heads, c.tokens, c.part), 3, adj_y=c.values_turned, version=4)
    order = (0, 2, 1, 3) if c.batch else (1, 0, 2)
    x = op("TRANSPOSE", [x, w.const("order", np.int32(order))], (c.tokens, c.heads, c.part), 3)
    w.output(x)


def model(*attentions: Attention) -> bytes:
    w = Writer("attention")
    for i, c in enumerate(attentions):
        add_attention(w, c, f"a{i}")
    return w.finish()


def attentions() -> st.SearchStrategy[Attention]:
    return st.builds(
        Attention,
        dtype=st.sampled_from(["int8", "int8", "int16", "float32"]),
        tokens=st.integers(1, 6),
        keys=st.integers(1, 9),
        heads=st.integers(1, 4),
        part=st.integers(1, 9),
        batch=st.booleans(),
        turned=st.booleans(),
        values_turned=st.booleans(),
        mask=st.sampled_from([None, (0,), (0, 0), (1, 0, 0), (0, 0, 0), (1, 1, 0), (0, 1, 0)]),
        first=st.booleans(),
    )


@needs_litert
@given(batch(attentions(), 6, 3))
@settings(max_examples=examples(3, 1), deadline=None)
def test_random_attentions(found: list[Attention]) -> None:
    compiled = check(model(*found), inputs=2, least_ram=True)
    several = sum(min(c.heads, c.keys, c.part) > 1 for c in found)
    assert sum(isinstance(op, HeadMatmul) for op in compiled.plan.graph.ops) >= 2 * several


KEPT = {
    "masks": Attention(mask=(0, 0, 0), known=False),
    "shown": Attention(shown=True),
}


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("name", KEPT)
def test_what_stays_as_it_is(name: str) -> None:
    """A mask that is computed for each head, shares that somebody else wants."""
    graph, _ = optimize(tflite.parse(model(KEPT[name]), name))
    assert sum(isinstance(op, Transpose) for op in graph.ops) == 4
    check(model(KEPT[name], replace(KEPT[name], dtype="float32")), inputs=1)


def test_masks_that_are_computed() -> None:
    graph, savings = optimize(tflite.parse(model(Attention(mask=(1, 1, 1, 0), known=False)), "model"))
    assert not any(isinstance(op, Transpose) for op in graph.ops)
    assert [s.detail for s in savings if s.name == "fold heads"] == ["4 TRANSPOSE"]


@pytest.mark.slow
def test_attention_matrices_are_never_whole() -> None:
    """Eight matrices of 32 x 32 bytes: the least memory is that of vectors that wait, and a few rows."""
    shape = Shape(heads=8, layers=1, hidden=16, words=8)
    plan = compile(decoder(shape), target="cortex-m4", least_ram=True).plan
    vectors, matrix = shape.length * shape.width, shape.heads * shape.length**2
    assert plan.arena < 3 * vectors + 1500 < matrix

"""BATCH_MATMUL: `mote_batch_matmul.h`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

import numpy as np

from mote.compiler.kernels.contract import (
    FLOAT32,
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Packed,
    Params,
    Refusal,
    Structs,
    View,
    signature,
)
from mote.compiler.kernels.pack.params import channel_structs, output_params
from mote.compiler.kernels.pack.requantize.even import NOT_TO_EVEN, TO_EVEN, even_channels, even_sums, rounds_to_even
from mote.ir.graph.numeric.fixedpoint import INT32_MAX, reduced
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.matrix.batch_matmul import BatchMatmul, HeadMatmul, MatrixProduct

TURNED, LINES = "_turned", "_lines"
"""Suffixes of kernels that also have a function for one row of a product: with a transposed right matrix, or with
rows."""


@dataclass(frozen=True)
class _Form:
    """Types and operations that the macros of `mote_batch_matmul.h` take: parameter struct, operand, product,
    accumulator and result types; subtraction of zero points, accumulation, requantization, and a dot product of many
    elements at once."""

    params: str
    left: str
    right: str
    each: str
    sum: str
    out: str
    zero: str = "MOTE_MATMUL_NO_ZERO"
    plus: str = "MOTE_MATMUL_ADD"
    finish: str = "MOTE_MATMUL_PLAIN"
    run: str = "MOTE_MATMUL_NO_RUN"

    def instances(self, name: str, lines: str) -> tuple[Instance, ...]:
        """The macro instances. `lines`: TURNED or LINES if there is a function for one row of a product, otherwise
        empty."""
        how = self.zero, self.plus, self.finish
        types = self.params, self.left, self.right, self.each, self.sum, self.out
        instances = [Instance("MOTE_BATCH_MATMUL", (name, *types, *how, self.run))]
        if lines == TURNED:
            instances.append(Instance("MOTE_BATCH_MATMUL_TURNED", (name, self.left, self.right, self.out)))
        if lines == LINES:
            each = self.left, self.right, self.each, self.sum, self.out
            instances.append(Instance("MOTE_BATCH_MATMUL_LINES", (name, *each, *how)))
        return tuple(instances)


WIDE = "mote_matmul_wide_t"
PLAIN = "mote_matmul_plain_t"
BYTES = _Form(
    "mote_matmul_s8_t", "int8_t", "int8_t", "int32_t", "int32_t", "int8_t", "MOTE_MATMUL_LEFT_ZERO", "MOTE_PLUS",
    "MOTE_MATMUL_S8", "MOTE_MATMUL_RUN_S8",
)  # fmt: skip
EVEN = replace(BYTES, params="mote_matmul_even_t", finish="MOTE_MATMUL_EVEN")
SUMS = _Form(PLAIN, "int8_t", "int8_t", "int32_t", "int32_t", "int32_t")
REAL = _Form(PLAIN, "float", "float", "float", "float", "float", run="MOTE_MATMUL_RUN_F32")


def _wide(right: str) -> _Form:
    return _Form(WIDE, "int16_t", right, "int32_t", "int64_t", "int16_t", finish="MOTE_MATMUL_WIDE")


@dataclass(frozen=True)
class Walk:
    """Strides of a batched product: batch axes (size, and stride in both operands), rows per product, products per
    output row, and strides in both operands from line to line and along the accumulated axis."""

    axes: list[tuple[int, int, int]]
    rows: int
    runs: int
    left: tuple[int, int]
    right: tuple[int, int]


def product_walk(view: View) -> Walk:
    """Whole products, all of which one row has."""
    op = view.the(MatrixProduct)
    if isinstance(op, HeadMatmul):
        heads, (rows, depth, _) = view.output.shape[1], op.sizes(view.graph)
        walk = _head_walk(view, op)
        return replace(walk, axes=walk.axes[1:], rows=rows, left=(heads * depth, 1))
    walk = _matrix_walk(view, view.the(BatchMatmul))
    return replace(walk, runs=prod(size for size, _, _ in walk.axes))


def _batch_walk(view: View, op: BatchMatmul) -> Walk:
    """Strides of a BATCH_MATMUL, whose output row is one product, or one row of it where tensors have two axes."""
    walk = _matrix_walk(view, op)
    if len(view.output.shape) > 2:
        return walk
    return replace(walk, axes=[(walk.rows, walk.left[0], 0)], rows=1)


def _matrix_walk(view: View, op: BatchMatmul) -> Walk:
    """Strides of a BATCH_MATMUL whose output rows are whole products."""
    g = view.graph
    rows, depth, columns = op.sizes(g)
    left = (1, rows) if op.left_turned else (depth, 1)
    right = (depth, 1) if op.right_turned else (1, columns)
    a, b = (np.array(op.steps(g, p)) * op.input(g, p).shape[-1] * op.input(g, p).shape[-2] for p in (0, 1))
    axes = [axis for axis in zip(op.batches(g), a.tolist(), b.tolist(), strict=True) if axis[0] > 1]
    return Walk(axes, rows, 1, left, right)


def _head_walk(view: View, op: HeadMatmul) -> Walk:
    """Strides of attention heads that are read in place: an output row has one line for each head, multiplied by that
    head's part of every line of the right operand."""
    rows, depth, columns = op.sizes(view.graph)
    heads, part = view.output.shape[1], depth if op.right_turned else columns
    right = (heads * depth, 1) if op.right_turned else (1, heads * columns)
    return Walk([(rows, heads * depth, 0), (heads, depth, part)], 1, heads, (depth, 1), right)


def sizes(view: View, walk: Walk, run: int) -> Params:
    """Sizes and strides of a batched matrix product (`mote_matmul_t`); `run`: output elements of a product."""
    _, depth, columns = view.the(MatrixProduct).sizes(view.graph)
    loops = np.array(walk.axes[::-1] or [(1, 0, 0)], np.int64)
    return {
        "walk": {
            "run": run,
            "b_step": 1,
            "runs": walk.runs,
            "axes": len(loops),
            "axis": Structs("mote_axis_t", loops),
        },
        "rows": walk.rows,
        "depth": depth,
        "columns": columns,
        "left_line": walk.left[0],
        "left_step": walk.left[1],
        "right_line": walk.right[0],
        "right_step": walk.right[1],
    }


def _packed(view: View, name: str, form: _Form, more: Params) -> Packed:
    op, g, lines = view.the(MatrixProduct), view.graph, ""
    if isinstance(op, BatchMatmul) and op.by_lines(g) and op.reads(g, 1, 0) is not None:
        lines = TURNED if op.right_turned else LINES
    walk = _head_walk(view, op) if isinstance(op, HeadMatmul) else _batch_walk(view, view.the(BatchMatmul))
    params: Params = {"size": sizes(view, walk, walk.rows * op.sizes(g)[2]), **more}
    together = (1,) if isinstance(op, HeadMatmul) else ()
    row = f"{name}{lines}_row" if lines else ""
    instances = form.instances(name, lines)
    return Packed(
        name + lines, params, Entry(Call.ROWS, operands=(0, 1), row=row, together=together), instances=instances
    )


def _bytes(view: View) -> Packed | Refusal:
    op = view.the(MatrixProduct)
    if rounds_to_even(view):
        return TO_EVEN
    channels = channel_structs(*(np.array([n], np.int64) for n in (0, *op.scale(view.graph))))
    _, mult, shift = channels.rows[0].tolist()
    more: Params = {
        "left_zero": view.input.zero_point,
        "right_zero": op.input(view.graph, 1).zero_point,
        "mult": mult,
        "shift": shift,
        "output": output_params(Activation.NONE, view.output, channels),
    }
    return _packed(view, "batch_matmul_s8", BYTES, more)


def _even(view: View) -> Packed | Refusal:
    """Packs the int8 product with results rounded to even."""
    if not rounds_to_even(view):
        return NOT_TO_EVEN
    op, y = view.the(MatrixProduct), view.output
    left, right = op.input(view.graph), op.input(view.graph, 1)
    far = [abs(t.zero_point) + 128 for t in (left, right)]
    limit = min(op.sizes(view.graph)[1] * far[0] * far[1], INT32_MAX)
    sums = even_sums(op.ratio(view.graph), y.zero_point, limit)
    _, mult, shift = even_channels(sums, np.zeros(1, np.int64)).rows[0].tolist()
    more: Params = {
        "left_zero": left.zero_point,
        "right_zero": right.zero_point,
        "mult": mult,
        "shift": shift,
        "output": output_params(Activation.NONE, y),
    }
    return _packed(view, "batch_matmul_even_s8", EVEN, more)


def _sums(view: View) -> Packed:
    return _packed(view, "batch_matmul_s8_s32", SUMS, {})


def _shorts(view: View) -> Packed:
    op = view.the(MatrixProduct)
    right = op.input(view.graph, 1).dtype
    mult, shift = op.scale(view.graph)
    more: Params = {"scale": {"mult": int(reduced(mult)), "shift": 15 - shift}}
    if right == DType.INT8:
        return _packed(view, "batch_matmul_s16_s8", _wide("int8_t"), more)
    return _packed(view, "batch_matmul_s16", _wide("int16_t"), more)


def _real(view: View) -> Packed:
    return _packed(view, "batch_matmul_f32", REAL, {})


HEADER = "batch_matmul"
INT16 = signature(DType.INT16, DType.INT16)
KERNELS = tuple(
    kernel
    for op in (BatchMatmul, HeadMatmul)
    for kernel in (
        Kernel("batch_matmul", (op,), INT8, _bytes, header=HEADER),
        Kernel("batch_matmul_even", (op,), INT8, _even, header=f"even_{HEADER}", costs=HEADER),
        Kernel("batch_matmul_sums", (op,), signature(DType.INT8, DType.INT32), _sums, header=HEADER, costs=HEADER),
        Kernel("batch_matmul_s16", (op,), INT16, _shorts, header=HEADER),
        Kernel("batch_matmul_f32", (op,), FLOAT32, _real, header=f"{HEADER}_f32"),
    )
)

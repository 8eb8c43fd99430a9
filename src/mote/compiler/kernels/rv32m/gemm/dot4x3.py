"""Convolutions four pixels and three output channels at a time, with two products in one multiplication (SWAR): packed
weights and constants of `mote_dot4x3_s8.h`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.compiler.kernels.contract import Instance, Packed, Refusal, View
from mote.compiler.kernels.rv32m.gemm.dot4x3_assembly import block
from mote.compiler.kernels.swar import gemm
from mote.compiler.kernels.swar.gemm import LONG, NO_CONSTANTS, Layer, Stream, left_over
from mote.ir.graph.numeric.fixedpoint import Ints

HEADER = "dot4x3_s8"


def blocks(channels: int) -> list[int]:
    """Split channels (at least two) into blocks of three, and at most two blocks of two at the end."""
    twos = -channels % 3
    return [3] * ((channels - 2 * twos) // 3) + [2] * twos


def stream(view: View) -> Stream | Refusal:
    """Weights and constants of all blocks in the order in which the kernel reads them."""
    layer = gemm.layer(view, LONG)
    if isinstance(layer, Refusal):
        return layer
    if layer.constants.slow.any():
        return NO_CONSTANTS
    if len(layer.starts) == 1:
        return Refusal("there is one output channel")
    ends = np.cumsum(blocks(len(layer.starts))).tolist()
    parts = [_block(layer, slice(begin, end)) for begin, end in zip([0, *ends], ends, strict=False)]
    form = f"dot4x3_{_form(layer)}_{_unroll(view)}"
    return Stream(form, np.concatenate(parts), np.zeros((0, 4), np.int64), layer.weights.density)


def _form(layer: Layer) -> str:
    return "linear" if layer.sums.linear else "plain"


def _unroll(view: View) -> int:
    """Unroll factor of the loop over groups of inputs."""
    return 1 if gemm.groups_of(view) % 2 else 2


def _block(layer: Layer, own: slice) -> Ints:
    words = layer.weights.words[own]
    groups: Ints = words.reshape(len(words), -1, 2).transpose(1, 0, 2).reshape(-1)
    behind = zip(layer.weights.spills[own], layer.constants.rows[own], strict=True)
    rest = [part for spills, row in behind for part in (left_over(spills), row)]
    return np.concatenate([layer.starts[own], groups, *rest])


def pack(view: View) -> Packed | Refusal:
    """The GEMM kernel with two-byte weights, as an alternative of `gemm4x3`."""
    pointwise = gemm.for_pointwise(view)
    packed = gemm.pack(view, LONG, view.once(stream), pointwise=pointwise)
    if isinstance(packed, Refusal):
        return packed
    unroll, (kernel,) = _unroll(view), packed.instances
    form = str(kernel.arguments[0]).split("_")[1]
    names = {lanes: f"{form}_{lanes}_{unroll}" for lanes in (3, 2)}
    code = (
        Instance("MOTE_DOT4X3_CODE", (form, lanes, name), block(lanes, unroll, linear=form == "linear"))
        for lanes, name in names.items()
    )
    run = Instance("MOTE_DOT4X3", (kernel.arguments[0], *names.values()))
    return replace(packed, instances=(*code, run, kernel), headers=(HEADER,))

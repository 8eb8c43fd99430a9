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
    made = gemm.layer(view, LONG)
    if isinstance(made, Refusal):
        return made
    if made.constants.slow.any():
        return NO_CONSTANTS
    if len(made.starts) == 1:
        return Refusal("there is one output channel")
    ends = np.cumsum(blocks(len(made.starts))).tolist()
    parts = [_block(made, slice(begin, end)) for begin, end in zip([0, *ends], ends, strict=False)]
    form = f"dot4x3_{_form(made)}_{_unroll(view)}"
    return Stream(form, np.concatenate(parts), np.zeros((0, 4), np.int64), made.weights.density)


def _form(made: Layer) -> str:
    return "linear" if made.sums.linear else "plain"


def _unroll(view: View) -> int:
    """Unroll factor of the loop over groups of inputs."""
    return 1 if gemm.groups_of(view) % 2 else 2


def _block(made: Layer, own: slice) -> Ints:
    words = made.weights.words[own]
    groups: Ints = words.reshape(len(words), -1, 2).transpose(1, 0, 2).reshape(-1)
    behind = zip(made.weights.spills[own], made.constants.rows[own], strict=True)
    rest = [part for spills, row in behind for part in (left_over(spills), row)]
    return np.concatenate([made.starts[own], groups, *rest])


def pack(view: View) -> Packed | Refusal:
    """The kernel for weights of two bytes."""
    pointwise = gemm.for_pointwise(view)
    made = gemm.pack(view, LONG, view.once(stream), pointwise=pointwise)
    if isinstance(made, Refusal):
        return made
    unroll, (walk,) = _unroll(view), made.instances
    form = str(walk.arguments[0]).split("_")[1]
    names = {lanes: f"{form}_{lanes}_{unroll}" for lanes in (3, 2)}
    code = (
        Instance("MOTE_DOT4X3_CODE", (form, lanes, name), block(lanes, unroll, linear=form == "linear"))
        for lanes, name in names.items()
    )
    run = Instance("MOTE_DOT4X3", (walk.arguments[0], *names.values()))
    return replace(made, instances=(*code, run, walk), headers=(HEADER,))

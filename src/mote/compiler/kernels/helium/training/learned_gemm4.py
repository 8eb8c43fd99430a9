"""Convolutions with trainable weights and biases, which pack the current weights and call the kernels for constant
weights: `mote_learned_gemm4_s8.h`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import (
    INT8,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Refusal,
    Value,
    View,
    aligned,
)
from mote.compiler.kernels.helium.gemm import gemm4
from mote.compiler.kernels.helium.gemm.gemm4 import VECTOR, columns_of, vectors_of
from mote.compiler.kernels.helium.gemm.gemm_assembly import CHANNELS
from mote.compiler.kernels.pack.requantize.vector import COUNT, LaneForm
from mote.compiler.kernels.portable.windows.learned_layers import OPERANDS, learned_layer
from mote.ir.ops.common import BIAS, WEIGHTS
from mote.ir.ops.windows.conv import Conv2D

MOST_DEPTH = 1 << 15
"""Most weights of a channel: their sum times a zero point fits 32 bits, and their offsets 16."""
WEIGHT, PIXEL, FOUR = 0.6, 0.3, 250.0
"""Estimated cycles: of packing a weight, of each input for each four channels (rows may be copied), and the overhead of
each four channels."""


def _pack(view: View, kernel: Kernel) -> Packed | Refusal:
    op = view.the(Conv2D)
    depth = op.depth(view.graph)
    layer = learned_layer(view, depth)
    if isinstance(layer, Refusal):
        return layer
    if view.output.shape[0] > 1 or depth > MOST_DEPTH:
        return Refusal(f"it is for one image, and at most {MOST_DEPTH} weights of a channel")
    packed = kernel.pack(view)
    if isinstance(packed, Refusal):
        return packed
    ordered = vectors_of(columns_of(view)) if kernel in gemm4.SLIDING else None
    return _with_weights(view, packed, layer["bits"], ordered)


def _with_weights(view: View, inner: Packed, bits: Value, order: NDArray[np.int64] | None) -> Packed:
    """Wrap a packed kernel, without its weights, and with constants without biases. `order`: order in which the kernel
    reads the vectors of a channel's weights; None: memory order."""
    op, flat, own = view.the(Conv2D), inner.entry.call is Call.FLAT, aligned(inner.needs.scratch or 0)
    gemm = inner.params["gemm"]
    assert isinstance(gemm, Mapping) and isinstance(gemm["weights"], np.ndarray) and isinstance(gemm["fours"], int)
    fours = gemm["fours"]
    vectors = gemm["weights"].size // (CHANNELS * VECTOR * fours)
    given: Params = {
        "depth": op.depth(view.graph),
        "zero": view.input.zero_point,
        "units": inner.entry.units if flat else view.output.shape[1],
        "own": own,
        "vectors": vectors,
        "from": (VECTOR * (np.arange(vectors, dtype=np.int64) if order is None else order)).astype(np.uint16),
        "bits": bits,
    }
    held = 4 * CHANNELS * COUNT[LaneForm.TWICE] + CHANNELS * VECTOR * vectors
    opening = WEIGHT * op.input(view.graph, WEIGHTS).size + fours * (PIXEL * view.input.size + FOUR)
    return replace(
        inner,
        name=f"{inner.name}_weights",
        family="",
        params={"kernel": {**inner.params, "gemm": {**gemm, "weights": 0}}, "learned": given},
        entry=Entry(operands=OPERANDS, taps=inner.entry.taps),
        needs=Needs(own + held),
        price=replace(inner.price, opening=opening),
        instances=(*inner.instances, Instance(f"MOTE_LEARNED_GEMM4_{inner.entry.call.name}", (inner.name,))),
        headers=("learned_gemm4_s8",),
        biases=None,
    )


KERNELS = tuple(
    Kernel(
        f"learned_{kernel.name}",
        (Conv2D,),
        INT8,
        partial(_pack, kernel=kernel),
        header=kernel.header,
        isa=kernel.isa,
        lanes=kernel.lanes,
        costs=kernel.name,
        learned=frozenset({WEIGHTS, BIAS}),
    )
    for kernel in gemm4.LAYERS
)

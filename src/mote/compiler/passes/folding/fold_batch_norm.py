"""Fold a per-channel MUL, ADD or SUB by a constant into the float layer before it: the form in which converters leave
batch normalization. Results may change in the last bits, because float arithmetic is reordered."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import learned
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.conv3d import Conv3D, Conv3DTranspose
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.grouped_conv import GroupedConv2D

Layer = Conv2D | GroupedConv2D | DepthwiseConv2D | FullyConnected | Conv3D | Conv3DTranspose
CHANNELS: dict[type[Op], int] = {DepthwiseConv2D: 3, Conv3D: 4, Conv3DTranspose: 3}
"""The axis of the weights that has the output channels, if it is not the first."""


def run(graph: Graph) -> Graph:
    while (folded := _fold_one(graph)) is not None:
        graph = folded
    return graph


def _fold_one(graph: Graph) -> Graph | None:
    for layer in graph.ops:
        after = graph.only_consumer(layer.outputs[0])
        if after is None or not _foldable(graph, layer):
            continue
        factor = _per_channel(graph, after, layer.outputs[0])
        if factor is not None:
            return _fold(graph, layer, after, factor)
    return None


def _foldable(graph: Graph, layer: Op) -> bool:
    return (
        isinstance(layer, Layer)
        and layer.activation == Activation.NONE
        and not learned(graph, layer)
        and layer.output(graph).dtype == layer.input(graph, 1).dtype == DType.FLOAT32
    )


def _per_channel(graph: Graph, op: Op, x: int) -> NDArray[np.float64] | None:
    """The constant per channel by which `op` multiplies `x`, or that it adds or subtracts; None if it does anything
    else."""
    if op.kind not in ("MUL", "ADD", "SUB") or op.output(graph).shape != graph.tensors[x].shape:
        return None
    if op.kind == "SUB" and op.inputs[0] != x:
        return None
    data = graph.tensors[op.inputs[1] if op.inputs[0] == x else op.inputs[0]].data
    channels = graph.tensors[x].shape[-1]
    if data is None or data.size not in (1, channels) or (data.size > 1 and data.shape[-1] != channels):
        return None
    return np.broadcast_to(data.reshape(-1).astype(np.float64), (channels,))


def _fold(graph: Graph, layer: Op, after: Op, factor: NDArray[np.float64]) -> Graph:
    w, b = layer.input(graph, 1), layer.tensor(graph, 2)
    assert w.data is not None
    channels = layer.output(graph).shape[-1]
    weights = w.data.astype(np.float64)
    bias = np.zeros(channels) if b is None or b.data is None else b.data.astype(np.float64)
    if after.kind == "MUL":
        axis = next((axis for kind, axis in CHANNELS.items() if isinstance(layer, kind)), 0)
        weights = weights * factor.reshape([-1 if i == axis else 1 for i in range(weights.ndim)])
        bias = bias * factor
    else:
        bias = bias + (factor if after.kind == "ADD" else -factor)
    first = graph.fresh_id()
    new_w = replace(w, id=first, data=weights.astype(np.float32))
    new_b = Tensor(first + 1, f"{layer.name}/bias", (channels,), DType.FLOAT32, None, bias.astype(np.float32))
    inputs = (layer.inputs[0], new_w.id, new_b.id)
    folded = layer.with_(inputs=inputs, outputs=after.outputs, activation=getattr(after, "activation", Activation.NONE))
    assert ABSENT not in folded.inputs
    ops = (folded if op is layer else op for op in graph.ops if op is not after)
    return graph.with_ops(ops, [new_w, new_b])

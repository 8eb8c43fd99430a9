"""Operators without constant operands: those without options, with a fused activation, or with one or two numbers."""

from __future__ import annotations

import numpy as np

from mote.frontends.tflite.emit.emitter import Emitter, UnsaidError
from mote.frontends.tflite.writer import BlockwiseQuantization
from mote.ir.graph import Op
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import LeakyRelu, LookupTable
from mote.ir.ops.elementwise.arithmetic import Add, Arithmetic
from mote.ir.ops.elementwise.cast import Cast
from mote.ir.ops.elementwise.select import Select
from mote.ir.ops.elementwise.unary_math import Gelu
from mote.ir.ops.indexing.gather import Gather
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.blockwise import BlockwiseFullyConnected, BlockwiseLookup
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.fully_connected_dynamic import Projection
from mote.ir.ops.reductions.normalize import L2Normalization, LocalResponseNormalization
from mote.ir.ops.reductions.softmax import Softmax


def plain(e: Emitter, op: Op) -> None:
    """An operator without options that has the same name in TFLite."""
    e.op(op.kind, e.all(op.inputs), e.all(op.outputs))


def table(e: Emitter, op: LookupTable) -> None:
    """A lookup table of 8-bit codes as a GATHER."""
    x, y = op.input(e.graph), op.output(e.graph)
    numbers, places = (e.writer.tensor(f"{y.name} ({what})", x.shape, DType.INT32) for what in ("numbers", "places"))
    e.op("CAST", [e.at(x.id)], [numbers], in_data_type=x.dtype.value, out_data_type="int32")
    e.op("ADD", [numbers, e.ints(128)], [places])
    e.op("GATHER", [e.constant(y, op.values, "of all numbers"), places], [e.at(y.id)])


def arithmetic(e: Emitter, op: Arithmetic) -> None:
    e.activated(op, op.activation, op.kind, e.all(op.inputs))


def addition(e: Emitter, op: Add) -> None:
    """An addition, whose option for int16 selects power-of-two scales."""
    powers = op.shifts is not None or op.input(e.graph).dtype != DType.INT16
    e.activated(op, op.activation, op.kind, e.all(op.inputs), pot_scale_int16=powers)


def cast(e: Emitter, op: Cast) -> None:
    types = {"in_data_type": op.input(e.graph).dtype.value, "out_data_type": op.output(e.graph).dtype.value}
    e.op("CAST", e.all(op.inputs), e.all(op.outputs), **types)


def gelu(e: Emitter, op: Gelu) -> None:
    e.op("GELU", e.all(op.inputs), e.all(op.outputs), approximate=op.approximate)


def leaky_relu(e: Emitter, op: LeakyRelu) -> None:
    e.op("LEAKY_RELU", e.all(op.inputs), e.all(op.outputs), alpha=op.alpha)


def softmax(e: Emitter, op: Softmax) -> None:
    e.op("SOFTMAX", e.all(op.inputs), e.all(op.outputs), beta=op.beta)


def l2_normalization(e: Emitter, op: L2Normalization) -> None:
    e.op("L2_NORMALIZATION", e.all(op.inputs), e.all(op.outputs))


def local_response_normalization(e: Emitter, op: LocalResponseNormalization) -> None:
    numbers = {"radius": op.radius, "bias": op.bias, "alpha": op.alpha, "beta": op.beta}
    e.op(op.kind, e.all(op.inputs), e.all(op.outputs), **numbers)


def select(e: Emitter, op: Select) -> None:
    e.op("SELECT" if op.leading else "SELECT_V2", e.all(op.inputs), e.all(op.outputs))


def fully_connected(e: Emitter, op: FullyConnected | Projection) -> None:
    """FULLY_CONNECTED, whose option tells the bias type of int16 layers."""
    x, w, b = op.input(e.graph), op.input(e.graph, 1), op.tensor(e.graph, 2)
    usual = DType.INT32 if w.dtype == DType.INT16 else DType.INT64
    stated = {"quantized_bias_type": b.dtype.value} if x.dtype == DType.INT16 and b and b.dtype != usual else {}
    inputs = [e.at(op.inputs[0]), weights(e, op, 1), *e.all(op.inputs[2:])]
    e.activated(op, op.activation, "FULLY_CONNECTED", inputs, keep_num_dims=op.keep_dims, **stated)


def blockwise_fully_connected(e: Emitter, op: BlockwiseFullyConnected) -> None:
    inputs = [e.at(op.inputs[0]), _blockwise(e, *op.inputs[1::2]), e.at(op.inputs[2])]
    e.activated(op, op.activation, "FULLY_CONNECTED", inputs, keep_num_dims=op.keep_dims)


def blockwise_lookup(e: Emitter, op: BlockwiseLookup) -> None:
    e.op("EMBEDDING_LOOKUP", [e.at(op.inputs[0]), _blockwise(e, *op.inputs[1:])], e.all(op.outputs))


def _blockwise(e: Emitter, codes: int, scales: int) -> int:
    """A block-wise quantized constant, as in the file that was read."""
    t, held = e.graph.tensors[codes], e.graph.tensors[scales]
    assert t.data is not None and held.data is not None
    factors = held.data.astype(np.float16) if held.stored == DType.FLOAT16 else held.data
    blocks = BlockwiseQuantization(e.writer.const(held.name, factors), t.size // held.size)
    return e.writer.const(t.name, t.data, dtype="" if t.stored is None else t.stored.value, blocks=blocks)


def weights(e: Emitter, op: Op, position: int) -> int:
    """The weights of a layer; int8 weights of a float layer are dequantized by the file."""
    w = op.input(e.graph, position)
    if op.input(e.graph).dtype == DType.INT8 and w.dtype == DType.INT16 and not (w.quant and w.quant.unsigned):
        raise UnsaidError("its weights minus their zero point need 9 bits")
    if op.input(e.graph).dtype != DType.FLOAT32 or w.dtype != DType.INT8:
        return e.at(w.id)
    wide = e.floats(w, "float", w.shape)
    e.op("DEQUANTIZE", [e.at(w.id)], [wide])
    return wide


def batch_matmul(e: Emitter, op: BatchMatmul) -> None:
    turned = {"adj_x": op.left_turned, "adj_y": op.right_turned}
    e.op("BATCH_MATMUL", e.all(op.inputs), e.all(op.outputs), **turned)


def gather(e: Emitter, op: Gather) -> None:
    e.op("GATHER", e.all(op.inputs), e.all(op.outputs), axis=op.axis, batch_dims=op.batch_axes)


def embedding_lookup(e: Emitter, op: Gather) -> None:
    table, places = op.inputs
    e.op("EMBEDDING_LOOKUP", [e.at(places), e.at(table)], e.all(op.outputs))

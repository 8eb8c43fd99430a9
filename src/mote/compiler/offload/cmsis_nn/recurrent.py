"""Calls of layers with states."""

from __future__ import annotations

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.cmsis_nn.literals import constants, dims, literal, pair
from mote.compiler.offload.contract import SCRATCH, Blob, Invocation, Pointer
from mote.compiler.offload.library.call import LibraryCall
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import INT32_MAX
from mote.ir.graph.types import DType
from mote.ir.ops.common import bias_values
from mote.ir.ops.recurrent.svdf import BIAS, STATE, Svdf


def svdf(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, Svdf)
    x, w, time, state, y = (*(op.input(graph, p) for p in (0, 1, 2, STATE)), op.output(graph))
    if x.dtype != DType.INT8 or state.dtype != DType.INT16:
        return Refusal(f"it computes int8 with a state of int16, not {x.dtype} with {state.dtype}")
    peak = graph.peak(op)
    if peak is None or max(peak.total, peak.part) > INT32_MAX:
        return Refusal("sums may leave 32 bits")
    assert w.data is not None and time.data is not None
    (filters, memory), (batches, size) = time.shape, x.shape
    units = filters // op.rank
    into, out = op.scales(graph)
    bias = bias_values(op.tensor(graph, BIAS), units).astype("int32")
    blobs = Blob("weights", w.data), Blob("time", time.data), Blob("bias", bias)
    ends = [pair(*t.dtype.limits) for t in (state, y)]
    arguments = (
        *(Pointer(SCRATCH), 4 * batches * filters, 4 * batches * units),
        literal("svdf_params", op.rank, x.zero_point, y.zero_point, *ends),
        *(literal("per_tensor_quant_params", *scale) for scale in (into, out)),
        *(dims((batches, size, 1, 1)), Pointer(x.id), Pointer(state.id)),
        *(dims((filters, size, 1, 1)), dims((filters, memory, 1, 1)), *constants(blobs)),
        *(dims((batches, units, 1, 1)), Pointer(y.id)),
    )
    name = "svdf_state_s16_s8"
    scratch = 4 * batches * (filters + units)
    return LibraryCall(Invocation(f"cmsis_nn_{name}", arguments), (f"arm_{name}",), blobs, scratch)


def lstm(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    """Always refuses: the gate functions of CMSIS-NN give other results than LiteRT."""
    return Refusal("its gates are lines between 256 values, LiteRT computes them as a series: results would differ")

"""Finds the regions of a graph that an Ethos-U can compute, as large as possible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from mote.base.errors import MoteError
from mote.compiler.offload.ethos_u.exact import InexactError, multipliers, rounds_once
from mote.compiler.offload.ethos_u.inexact import difference
from mote.compiler.offload.ethos_u.job import MOST_TENSORS, job_of
from mote.compiler.offload.ethos_u.vela import Configuration, NotAcceptedError, compiled
from mote.frontends.tflite.export import export
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Region, joined, region_problem
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.activations import HardSwish, LeakyRelu, Logistic, Relu, Relu0To1, Relu6, ReluN1To1, Tanh
from mote.ir.ops.elementwise.arithmetic import Add, Mul, Sub
from mote.ir.ops.elementwise.binary_unscaled import Maximum, Minimum
from mote.ir.ops.elementwise.prelu import PRelu
from mote.ir.ops.elementwise.squared_difference import SquaredDifference
from mote.ir.ops.elementwise.unary_math import Abs, Gelu, Log
from mote.ir.ops.matrix.batch_matmul import BatchMatmul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.moves.pad_concat_transpose import Concatenation, Pack, Pad, Transpose
from mote.ir.ops.moves.reshape import Reshape
from mote.ir.ops.moves.slice import Slice
from mote.ir.ops.reductions.mean import Mean
from mote.ir.ops.reductions.reduce import ReduceMax
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.resize import ResizeNearest
from mote.ir.ops.windows.transpose_conv import TransposeConv

EXACT: Mapping[type[Op], frozenset[DType]] = {
    kind: frozenset({DType.INT8})
    for kind in (
        *(Conv2D, DepthwiseConv2D, TransposeConv, FullyConnected, BatchMatmul),
        *(AveragePool, MaxPool, Mean, ReduceMax, Softmax, ResizeNearest),
        *(Add, Sub, Mul, Maximum, Minimum, SquaredDifference),
        *(Relu, Relu6, ReluN1To1, Relu0To1, LeakyRelu, PRelu, HardSwish, Logistic, Tanh, Gelu, Abs, Log),
        *(Reshape, Pad, Concatenation, Pack, Slice, Transpose),
    )
}
"""By operator: the element types for which its results on the Ethos-U equal LiteRT's."""


@dataclass(frozen=True)
class ExportedRegion:
    """A region exported as a `.tflite` file."""

    data: bytes
    inputs: tuple[int, ...]
    """The input tensors, without duplicates, in the order of the file."""
    outputs: tuple[int, ...]


def members(region: Op) -> tuple[Op, ...]:
    return region.ops if isinstance(region, Region) else (region,)


def exported(region: Op, graph: Graph) -> ExportedRegion:
    """Exports a region to a file of its own."""
    inputs = tuple(dict.fromkeys(t for _, t in region.computed(graph)))
    part = replace(graph, ops=members(region), inputs=inputs, outputs=region.outputs, states=())
    return ExportedRegion(export(part, region.where).data, inputs, region.outputs)


def problem(graph: Graph, op: Op, config: Configuration) -> str:
    """Why an operator stays on the core; empty if the Ethos-U can compute it exactly."""
    types = EXACT.get(type(op))
    if types is None:
        return "its results on the Ethos-U are not known to equal LiteRT's"
    if op.updates or op.bodies:
        return "it writes a state"
    for tensor in (*op.activations(graph), *map(graph.tensors.__getitem__, op.outputs)):
        if tensor.dtype not in types:
            return f"it has {tensor.dtype} tensors"
        if tensor.quant is None or tensor.quant.unsigned:
            return "it rounds as uint8 files do" if tensor.quant else "it is not quantized"
    if reason := difference(graph, op):
        return reason
    try:
        if rounds_once(op):
            multipliers(graph, op)
        job_of(compiled(exported(op, graph).data, config))
    except (InexactError, NotAcceptedError) as reason:
        return str(reason)
    except MoteError as error:
        return error.reason
    return ""


def regions(graph: Graph, config: Configuration) -> Iterator[Op]:
    """The maximal regions of operators that the Ethos-U can compute."""
    accepted = [op for op in graph.ops if not problem(graph, op, config)]
    for ops in _grown(graph, accepted):
        yield from _compiling(graph, ops, config)


def _grown(graph: Graph, ops: Sequence[Op]) -> list[list[Op]]:
    """Groups operators, in execution order, into regions with the producers of their inputs, as long as the result is a
    valid region."""
    parts: list[list[Op]] = []
    for op in ops:
        near = [part for part in parts if any(t in _made(part) for t in op.inputs)]
        merged = _ordered(graph, [op, *(o for part in near for o in part)])
        if near and _fits(graph, merged):
            parts = [part for part in parts if all(part is not other for other in near)]
            parts.append(merged)
            continue
        for part in near:
            merged = _ordered(graph, [*part, op])
            if _fits(graph, merged):
                parts[next(i for i, other in enumerate(parts) if other is part)] = merged
                break
        else:
            parts.append([op])
    return [part for part in (_trimmed(graph, part) for part in parts) if part]


def _fits(graph: Graph, ops: Sequence[Op]) -> bool:
    """Whether operators form a valid region with few enough inputs and outputs; reshapes at its end are ignored."""
    rest = _trimmed(graph, ops)
    if not rest:
        return True
    region = joined(graph, rest)
    count = len({t for _, t in region.computed(graph)}) + len(region.outputs)
    return not region_problem(graph, rest) and count <= MOST_TENSORS


def _trimmed(graph: Graph, ops: Sequence[Op]) -> list[Op]:
    """The operators without reshapes whose results are read outside, as these compute nothing."""
    rest = list(ops)
    while rest:
        inside = {id(op) for op in rest}
        seen = [op for op in rest if op.is_view and _is_seen(graph, op, inside)]
        if not seen:
            return [] if all(op.is_view for op in rest) else rest
        rest = [op for op in rest if all(op is not other for other in seen)]
    return rest


def _is_seen(graph: Graph, op: Op, inside: set[int]) -> bool:
    readers = [reader for t in op.outputs for reader in graph.consumers.get(t, [])]
    return any(t in graph.outputs for t in op.outputs) or not all(id(reader) in inside for reader in readers)


def _compiling(graph: Graph, ops: Sequence[Op], config: Configuration) -> Iterator[Op]:
    """The region, or parts of it if Vela does not compile it as a whole."""
    pending: list[Sequence[Op]] = [ops]
    while pending:
        part = pending.pop(0)
        if not (part := _trimmed(graph, part)) or region_problem(graph, part):
            continue
        region = joined(graph, part)
        if len(part) == 1 or _compiles(region, graph, config):
            yield region
        else:
            pending[:0] = [part[: len(part) // 2], part[len(part) // 2 :]]


def _compiles(region: Op, graph: Graph, config: Configuration) -> bool:
    try:
        job_of(compiled(exported(region, graph).data, config))
    except NotAcceptedError:
        return False
    return True


def _made(ops: Sequence[Op]) -> set[int]:
    return {t for op in ops for t in op.outputs}


def _ordered(graph: Graph, ops: Sequence[Op]) -> list[Op]:
    return sorted(ops, key=lambda op: graph.places[id(op)])

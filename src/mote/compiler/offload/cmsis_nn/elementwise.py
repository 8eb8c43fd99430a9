"""Calls of softmax, additions and multiplications."""

from __future__ import annotations

from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload.cmsis_nn.literals import SUFFIX, Argument, constants
from mote.compiler.offload.contract import Blob, Invocation, Pointer
from mote.compiler.offload.library.call import LibraryCall
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType
from mote.ir.ops.common import MOST_SHIFT, quantized_range
from mote.ir.ops.elementwise.arithmetic import HEADROOM, Add, Arithmetic, Mul
from mote.ir.ops.reductions.softmax import EXP_LINES, RECIPROCAL_LINES, Softmax


def softmax(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, Softmax)
    x, y = op.input(graph), op.output(graph)
    if x.dtype not in SUFFIX or y.dtype != x.dtype:
        return Refusal(f"it computes int8 and int16, not {x.dtype} to {y.dtype}")
    rows = x.size // x.shape[-1]
    name = f"softmax_{SUFFIX[x.dtype]}"
    if x.dtype == DType.INT16:
        mult, shift = op.scaling16(x)
        tables = [Blob("exponentials", EXP_LINES), Blob("reciprocals", RECIPROCAL_LINES)]
        given: list[Argument] = [Pointer(x.id), rows, x.shape[-1], mult, shift, *constants(tables), Pointer(y.id)]
        return LibraryCall(Invocation(f"cmsis_nn_{name}", tuple(given)), (f"arm_{name}",), tuple(tables))
    mult, shift, radius = op.scaling(graph)
    if shift > MOST_SHIFT:
        return Refusal(f"it shifts differences by at most {MOST_SHIFT} places, not {shift}")
    arguments = (Pointer(x.id), rows, x.shape[-1], mult, shift, -radius, Pointer(y.id))
    return LibraryCall(Invocation(f"cmsis_nn_{name}", arguments), (f"arm_{name}",))


def add(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, Add)
    if op.shifts is not None:
        return Refusal("LiteRT adds numbers with scales that are powers of two otherwise")
    if problem := _problem(graph, op):
        return Refusal(problem)
    first, second, result = op.multipliers(graph)
    a, b, y = op.input(graph), op.input(graph, 1), op.output(graph)
    before = (-a.zero_point, *first, -b.zero_point, *second, HEADROOM[y.dtype])
    return _call(graph, op, "elementwise_add", before, result)


def multiply(graph: Graph, op: Op, target: Target) -> LibraryCall | Refusal:
    assert isinstance(op, Mul)
    if problem := _problem(graph, op):
        return Refusal(problem)
    return _call(
        graph,
        op,
        "elementwise_mul",
        (-op.input(graph).zero_point, -op.input(graph, 1).zero_point),
        op.multiplier(graph),
    )


def _problem(graph: Graph, op: Arithmetic) -> str:
    a, b, y = op.input(graph), op.input(graph, 1), op.output(graph)
    if y.dtype not in SUFFIX or op.whole(graph):
        return f"it computes quantized int8 and int16, not {y.dtype}"
    if a.shape != b.shape:
        return "it repeats no operand"
    peak = graph.peak(op)
    return "sums may leave 32 bits" if peak is not None and peak.wraps else ""


def _call(graph: Graph, op: Arithmetic, name: str, before: tuple[int, ...], result: tuple[int, int]) -> LibraryCall:
    """The call of an element-wise function. `before`: the arguments between operands and output; `result`: multiplier
    and shift of the output."""
    y = op.output(graph)
    inputs = [op.input(graph, p) for p in (0, 1)]
    blobs = [Blob(f"operand{p}", t.data) for p, t in enumerate(inputs) if t.data is not None]
    operands: list[Argument] = [Pointer(t.id if t.data is None else f"operand{p}") for p, t in enumerate(inputs)]
    ends = quantized_range(op.activation, y)
    name = f"arm_{name}_{SUFFIX[y.dtype]}"
    arguments = (*operands, *before, Pointer(y.id), y.zero_point, *result, *ends, y.size)
    return LibraryCall(Invocation(name, arguments), (name,), tuple(blobs))

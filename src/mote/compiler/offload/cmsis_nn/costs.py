"""About the cycles that functions of CMSIS-NN take, tables that `benchmarks/fit_cmsis_nn.py` fits to emulated cores;
and the bytes of code that they link, which `benchmarks/library_code.py` measures."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from mote.compiler.offload.cmsis_nn.files import AGAIN, ONCE
from mote.compiler.offload.cmsis_nn.sizes import DSP, MVE
from mote.compiler.offload.library.call import LibraryCall
from mote.compiler.offload.library.tables import CODE, tables
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType
from mote.ir.ops.common import WindowOp
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D

Amounts = Mapping[str, float]
"""Cycles by the feature; others take none."""
USUAL = {MVE: "cortex-m55", DSP: "cortex-m4"}
"""The tables of cores that have none, by what they can do."""
PLAIN = "cortex-m3"
"""The table of cores with neither feature."""
CALL = 100
"""About the bytes of a call: the structs that it is given are filled on the stack."""


def cycles(graph: Graph, op: Op, target: Target) -> float:
    """The estimate, with the time that constants are waited for."""
    known = table(target)[family(graph, op)]
    computing = sum(known.get(name, 0.0) * amount for name, amount in features(graph, op).items())
    reads = target.constant_reads
    return computing + (reads.stream(round(constants_read(graph, op))) if reads.waits else 0.0)


def family(graph: Graph, op: Op) -> str:
    """The kind of function that computes an operator: the name of its costs."""
    name = op.kind.lower()
    if isinstance(op, Conv2D) and op.pointwise:
        name = "pointwise"
    elif isinstance(op, DepthwiseConv2D):
        kernel = op.vertical.kernel, op.horizontal.kernel
        name += "" if op.multiplier == 1 else "_multiplied"
        name += "_3x3" if op.multiplier == 1 and kernel == (3, 3) else ""
    return name + ("_s16" if op.input(graph).dtype == DType.INT16 else "")


def features(graph: Graph, op: Op) -> dict[str, float]:
    """What takes time: products, those of a last odd pixel and those that are left over fours or sixteens; elements of
    windows that are gathered, elements and pixels of the output, the call."""
    y, products = op.output(graph), op.macs(graph)
    taps = op.vertical.kernel * op.horizontal.kernel if isinstance(op, WindowOp) else 0
    pixels, depth = prod(y.shape[:-1]), products // y.size
    amounts = {
        "product": products,
        "odd": products // pixels * (pixels % 2),
        "rest": y.size * (depth % 4),
        "lanes": y.size * (-depth % 16),
        "gathered": pixels * taps * op.input(graph).channels,
        "output": y.size,
        "pixel": pixels,
        "call": 1,
    }
    return {name: float(amount) for name, amount in amounts.items()}


def constants_read(graph: Graph, op: Op) -> int:
    """Bytes of weights that are loaded: convolutions go through all of them for every other pixel."""
    w = op.tensor(graph, 1) if op.weights == 1 else None
    if w is None or w.data is None:
        return 0
    pixels = prod(op.output(graph).shape[:-1])
    return w.data.nbytes * (pixels if not isinstance(op, Conv2D) else -(-pixels // 2))


def table(target: Target) -> Mapping[str, Amounts]:
    """The table of a core."""
    known: dict[str, dict[str, Amounts]] = tables(__package__)
    return known.get(target.costs, known[alike(target)])


def alike(target: Target) -> str:
    """The core that is known of those which can do what the target's can."""
    return next((name for feature, name in USUAL.items() if feature in target.features), PLAIN)


def linked(call: LibraryCall, target: Target) -> dict[str, int]:
    """The functions that a call links, with their bytes; those that round once are compiled a second time."""
    known: dict[str, dict[str, dict[str, int]]] = tables(__package__, CODE)
    code = known.get(target.costs, known[alike(target)])[call.invocation.function.removesuffix(AGAIN)]
    return {f"{ONCE}{name}": size for name, size in code.items()} if call.once else dict(code)

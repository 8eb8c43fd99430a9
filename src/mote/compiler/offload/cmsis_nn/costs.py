"""Approximate cycles of CMSIS-NN's functions, by tables that `benchmarks/fit_cmsis_nn.py` fits to emulated cores; and
the bytes of code that they link, measured by `benchmarks/library_code.py`."""

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
"""Cycles per unit of each feature; missing features cost none."""
USUAL = {MVE: "cortex-m55", DSP: "cortex-m4"}
"""By core feature: the core whose table is used for cores without one."""
PLAIN = "cortex-m3"
"""The core whose table is used for cores with neither feature."""
CALL = 100
"""Approximate bytes of a call, which fills parameter structs on the stack."""


def cycles(graph: Graph, op: Op, target: Target) -> float:
    """Estimated cycles, including wait states of reading constants."""
    known = table(target)[family(graph, op)]
    computing = sum(known.get(name, 0.0) * amount for name, amount in features(graph, op).items())
    reads = target.constant_reads
    return computing + (reads.stream(round(constants_read(graph, op))) if reads.waits else 0.0)


def family(graph: Graph, op: Op) -> str:
    """The kind of function that computes an operator, by which its costs are stored."""
    name = op.kind.lower()
    if isinstance(op, Conv2D) and op.pointwise:
        name = "pointwise"
    elif isinstance(op, DepthwiseConv2D):
        kernel = op.vertical.kernel, op.horizontal.kernel
        name += "" if op.multiplier == 1 else "_multiplied"
        name += "_3x3" if op.multiplier == 1 and kernel == (3, 3) else ""
    return name + ("_s16" if op.input(graph).dtype == DType.INT16 else "")


def features(graph: Graph, op: Op) -> dict[str, float]:
    """Work counts by cost feature: products, products for an odd last pixel and for rests of 4 or 16, gathered window
    elements, output elements and pixels, calls."""
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
    """Bytes of weights that are read: convolutions read all of them for every second pixel."""
    w = op.tensor(graph, 1) if op.weights == 1 else None
    if w is None or w.data is None:
        return 0
    pixels = prod(op.output(graph).shape[:-1])
    return w.data.nbytes * (pixels if not isinstance(op, Conv2D) else -(-pixels // 2))


def table(target: Target) -> Mapping[str, Amounts]:
    """The cost table of a target's core."""
    known: dict[str, dict[str, Amounts]] = tables(__package__)
    return known.get(target.costs, known[alike(target)])


def alike(target: Target) -> str:
    """The core with a cost table whose features are those of the target's."""
    return next((name for feature, name in USUAL.items() if feature in target.features), PLAIN)


def linked(call: LibraryCall, target: Target) -> dict[str, int]:
    """The functions that a call links, with their bytes of code. Variants that round once are compiled in addition,
    under names of their own."""
    known: dict[str, dict[str, dict[str, int]]] = tables(__package__, CODE)
    code = known.get(target.costs, known[alike(target)])[call.invocation.function.removesuffix(AGAIN)]
    return {f"{ONCE}{name}": size for name, size in code.items()} if call.once else dict(code)

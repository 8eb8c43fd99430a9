"""Models with the kernels for instruction sets, whose portable twins run on any computer: small layers, each pinned to
a kernel that has a header of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, Packed, View, written
from mote.compiler.kernels.structs import closure
from mote.compiler.passes.rewriting import half_precision
from mote.frontends import tflite
from mote.frontends.model import Model
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.ir.graph import Graph
from mote.ir.graph.types import DType
from tests.compiler.kernels.test_fits_of_cores import LINEAR, conv, models
from tests.helpers.built import side_by_side
from tests.helpers.network import Net
from tests.ir.ops.windows import test_conv

CORES = ("cortex-m7", "cortex-m55", "cortex-m0plus", "cortex-m3", "rv32imc", "rv32imc_zve32x", "avr5")
"""Between them they have every instruction set that there are kernels for."""
LARGER = [conv((3, 3), 16, 16, size=(12, 12)), conv((3, 3), 16, 16, size=(12, 12), **LINEAR)]
"""Of so many tiles that Winograd's kernels take them."""


@dataclass(frozen=True)
class PinnedLayer:
    graph: Graph
    pin: str
    headers: frozenset[str]


def host_as(core: str) -> Target:
    """This computer, compiled for as if it had the instructions of a core."""
    like = targets.load(core)
    return replace(targets.load("host"), name=f"host-{core}", features=like.features, costs=like.costs)


def pinned_models() -> Iterator[tuple[str, Model, Target, list[str]]]:
    """For each core the name of a model, the model, its target, and its pins."""
    covered: set[str] = set()
    for core in CORES:
        target = host_as(core)
        layers = list(_layers(target.features, covered))
        if layers:
            pins = [f"{n}={layer.pin}" for n, layer in enumerate(layers)]
            yield f"kernels_of_{core.replace('-', '_')}", side_by_side(layer.graph for layer in layers), target, pins


def _layers(features: frozenset[str], covered: set[str]) -> Iterator[PinnedLayer]:
    """Layers with the kernels for these features that have headers which are not covered yet."""
    seen: set[str] = set()
    for graph in _graphs():
        for layer in _pinned(graph, features, seen):
            if layer.headers - covered:
                covered |= layer.headers
                yield layer


def _pinned(graph: Graph, features: frozenset[str], seen: set[str]) -> Iterator[PinnedLayer]:
    """A graph's only operator with each kernel for instruction sets, and with each value of its knobs, where it is the
    first operator that these are for."""
    view = View(graph, graph.ops)
    packed = [(kernel.family, kernel) for kernel in catalogue.candidates(view, features)]
    for name, knobs in catalogue.knobs(view, features).items():
        for knob, values in knobs.items():
            for changed in [((knob, value),) for value in values[1:] if name + written(((knob, value),)) not in seen]:
                bound = next(catalogue.with_knobs(view, features, changed, named=name))[1]
                packed += [(name + written(changed), bound)] if isinstance(bound, Packed) else []
    for pin, kernel in packed:
        if kernel.isa and (kernel.needs.reads, kernel.needs.writes) == (NHWC, NHWC):
            seen.add(pin)
            yield PinnedLayer(graph, pin, _headers(kernel))


def _headers(kernel: Packed) -> frozenset[str]:
    return frozenset(closure(f"mote_{name}.h" for name in kernel.headers))


@cache
def _graphs() -> tuple[Graph, ...]:
    """Graphs of one operator."""
    table = Net()
    data = [
        *models(),
        *(test_conv.model([layer]) for layer in LARGER),
        table.finish(table.op("LOGISTIC", [table.input(1, 4, 4, 3)], quant=(1 / 256, -128))),
    ]
    plain = [tflite.parse(each, "layer") for each in data]
    real = [graph for graph in plain if graph.tensors[graph.inputs[0]].dtype == DType.FLOAT32]
    every = [*plain, *(half_precision.run(graph)[0] for graph in real)]
    return tuple(graph for graph in every if len(graph.ops) == 1)

"""`mote shrink`: removes what provably cannot change any output, and verifies on random inputs that outputs stay
equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from mote.base.errors import MoteError, explaining
from mote.base.files import temporary_folder
from mote.base.notebook import table
from mote.base.results import Result
from mote.bench.execute.stimuli import stimuli
from mote.bench.measure.runner import bench
from mote.compiler import line
from mote.compiler.compiled import Compiled
from mote.compiler.given import CompileOptions
from mote.compiler.options.parsing import check_at_least
from mote.compiler.passes.shrinking.report import Removal
from mote.compiler.passes.shrinking.shrink import run as shrunk
from mote.compiler.passes.shrinking.shrink import totals, weight_bytes
from mote.compiler.settings import make_settings
from mote.compiler.subject import given_model
from mote.hardware import toolchain
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array

INPUTS = 2000
"""Default number of inputs for the verification; fewer for large models."""
FEWEST = 20
CHECKED_MACS = 5 * 10**9
"""Default limit of MACs for the verification, if above FEWEST inputs."""
BATCH = 250
"""Inputs evaluated per batch."""

Outputs = Iterator[list[bytes]]
"""Raw outputs of successive inferences."""


COLUMNS = ("#", "layer", "op", "removed", "channels", "MACs", "weight bytes")
"""The columns of the table of layers."""


@dataclass(frozen=True)
class LayerSize:
    """Size of a layer, or total of a model."""

    channels: int = 0
    """Output channels."""
    macs: int = 0
    """MACs."""
    weights: int = 0
    """Bytes of constants."""

    def __add__(self, other: LayerSize) -> LayerSize:
        return LayerSize(self.channels + other.channels, self.macs + other.macs, self.weights + other.weights)


@dataclass(frozen=True)
class ShrunkLayer:
    """A layer's size before and after shrinking."""

    index: int
    """Layer number."""
    op: str
    """Operator kind."""
    name: str
    """The name of the layer."""
    before: LayerSize
    """Original size."""
    after: LayerSize
    """Remaining size; all zero if the layer was removed."""
    removed: dict[str, int]
    """Number of removed items, by kind of removal."""
    short: str = ""
    """The layer's short name, the same in all reports."""

    @property
    def row(self) -> tuple[object, ...]:
        """Its row of the table: `COLUMNS`."""
        removed = ", ".join(f"{count} {what}" for what, count in self.removed.items())
        return (self.index, self.short, self.op, removed, *arrows(self.before, self.after))


@dataclass(frozen=True)
class ShrinkResult(Result):
    """Result of `mote shrink`."""

    TITLE = "{model}"
    JSON = "*, equal"

    model: str
    """Model file name, or a description of the model object."""
    layers: list[ShrunkLayer]
    """Sizes of all layers before and after."""
    before: LayerSize
    """Total size of the original model."""
    after: LayerSize
    """Total size of the shrunk model."""
    proofs: dict[str, str]
    """Why results cannot change, for each kind of removal."""
    inputs: int
    """Number of inputs on which outputs were compared."""
    differing: int
    """Number of inputs on which some output differs."""
    checked: str
    """Program that computed the outputs: generated C or the NumPy reference."""

    def __repr__(self) -> str:
        macs = f"{self.before.macs:,} -> {self.after.macs:,} MACs"
        return f"<ShrinkResult of {self.model!r}: {macs}, outputs {'equal' if self.equal else 'differ'}>"

    @property
    def equal(self) -> bool:
        """Whether outputs are equal on all inputs."""
        return self.differing == 0

    @property
    def changed(self) -> list[ShrunkLayer]:
        """The layers that shrink."""
        return [layer for layer in self.layers if layer.removed or layer.before != layer.after]

    def _facts(self) -> dict[str, object]:
        _, macs, weights = arrows(self.before, self.after)
        return {"MACs": macs, "weight bytes": weights, "outputs equal": self.equal, "inputs": self.inputs}

    def _parts(self) -> list[str]:
        return [table(COLUMNS, [layer.row for layer in self.changed], left=4)]


def arrows(before: LayerSize, after: LayerSize) -> tuple[str, str, str]:
    """Channels, MACs and weight bytes before and after."""
    pairs = zip(astuple(before), astuple(after), strict=True)
    channels, macs, weights = (f"{was:,}" if was == left else f"{was:,} -> {left:,}" for was, left in pairs)
    return channels, macs, weights


@explaining()
def shrink(
    model: Any,
    example_inputs: Any = None,
    *,
    inputs: int | None = None,
    seed: int = 0,
    **options: Unpack[CompileOptions],
) -> ShrinkResult:
    """Shrink a model, given as to `compile`, and compare its outputs with the original's on `inputs` random inputs
    (default 2,000, fewer for large models): both compiled for the host, or computed by the NumPy reference if there is
    no C compiler. Options are the fields of Settings except `target` and `shrink`."""
    if inputs is not None:
        check_at_least("inputs", inputs, 1)
    check_at_least("seed", seed, 0)
    given: dict[str, Any] = {"optimize": "speed", **options}  # fastest to plan: RAM is no matter here
    settings = make_settings(**given)
    model = given_model(model, settings, example_inputs)
    whole, small = (line.compile(model, replace(settings, shrink=on)) for on in (False, True))
    before = whole.plan.graph
    after, removals = shrunk(before)
    layers = _layers(before, after, removals)
    inputs = inputs or min(INPUTS, max(FEWEST, CHECKED_MACS // max(whole.macs, 1)))
    differing, checked = _compare(whole, small, inputs, seed)
    return ShrinkResult(
        model=whole.path,
        layers=layers,
        before=sum((layer.before for layer in layers), LayerSize()),
        after=sum((layer.after for layer in layers), LayerSize()),
        proofs={kind.name: kind.proof for kind in totals(removals)},
        inputs=inputs,
        differing=differing,
        checked=checked,
    )


def _layers(before: Graph, after: Graph, removals: list[Removal]) -> list[ShrunkLayer]:
    sizes = _sizes(after)
    return [
        ShrunkLayer(
            op.index,
            op.kind,
            op.name,
            size,
            sizes.get(op.outputs[0], LayerSize()),
            {kind.name: count for kind, count in totals(r for r in removals if r.index == op.index).items()},
            before.short_name(op),
        )
        for op, size in zip(before.ops, _sizes(before).values(), strict=True)
    ]


def _sizes(graph: Graph) -> dict[int, LayerSize]:
    """Operator sizes by output tensor."""
    return {
        op.outputs[0]: LayerSize(op.output(graph).channels, op.macs(graph), weight_bytes(graph, op)) for op in graph.ops
    }


def _compare(whole: Compiled, small: Compiled, inputs: int, seed: int) -> tuple[int, str]:
    """Number of inputs with different outputs, and what computed them."""
    graph = whole.plan.graph
    sizes = [min(BATCH, inputs - first) for first in range(0, inputs, BATCH)]
    batches = [stimuli(graph, size, seed + i) for i, size in enumerate(sizes)]
    try:
        compiler = toolchain.find_compiler(whole.settings.target)
    except MoteError:
        pairs = zip(_evaluate(whole.plan.graph, batches), _evaluate(small.plan.graph, batches), strict=True)
        return sum(a != b for a, b in pairs), "the NumPy reference"
    with temporary_folder() as folder:
        runs = [_run(compiled, folder / str(i), batches) for i, compiled in enumerate((whole, small))]
        checked = f"the generated C on the host (C compiler {compiler.version})"
        return sum(a != b for a, b in zip(*runs, strict=True)), checked


def _run(compiled: Compiled, folder: Path, batches: list[list[dict[int, Array]]]) -> Outputs:
    folder.mkdir()
    on = bench(compiled, folder)
    for cases in batches:
        raw = [[case[t].tobytes() for t in compiled.plan.graph.inputs] for case in cases]
        yield from on.execute(Mode.MEASURE, raw).outputs


def _evaluate(graph: Graph, batches: list[list[dict[int, Array]]]) -> Outputs:
    for cases in batches:
        states: dict[int, Array] = {}
        for case in cases:
            values = graph.evaluate(case | states)
            states = graph.carried(values)
            yield [np.ascontiguousarray(values[t]).tobytes() for t in graph.outputs]

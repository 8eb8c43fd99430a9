"""`mote shrink`: removes what cannot change a result, by layer, and checks that outputs stay the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from mote.base.errors import MoteError, explaining
from mote.base.files import temporary_folder
from mote.base.notebook import card, table
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
"""Default number of inputs for the check, fewer for large models."""
FEWEST = 20
CHECKED_MACS = 5 * 10**9
"""Default budget of MACs for the check, beyond the fewest inputs."""
BATCH = 250
"""Inputs in memory at once."""

Outputs = Iterator[list[bytes]]
"""Outputs of successive inferences."""


@dataclass(frozen=True)
class LayerSize:
    """Size of a layer, or of all layers of a model."""

    channels: int = 0
    """Output channels."""
    macs: int = 0
    """Multiply-accumulate operations."""
    weights: int = 0
    """Bytes of constants."""

    def __add__(self, other: LayerSize) -> LayerSize:
        return LayerSize(self.channels + other.channels, self.macs + other.macs, self.weights + other.weights)


@dataclass(frozen=True)
class ShrunkLayer:
    """`after` is all zero where the layer is gone; `removed`: how many of what."""

    index: int
    """The layer's number."""
    op: str
    """The operator."""
    name: str
    """The name of the layer."""
    before: LayerSize
    """The size in the model."""
    after: LayerSize
    """The size that is left; all zero where the layer is gone."""
    removed: dict[str, int]
    """The number of things that were removed, by kind."""
    short: str = ""
    """The layer's short name, the same in all reports."""


@dataclass(frozen=True)
class ShrinkResult(Result):
    """`proofs`: why results cannot change; `differing`: on how many inputs an output did, as computed by `checked`."""

    DERIVED = ("equal",)

    model: str
    """The model's file, or what its object is called."""
    layers: list[ShrunkLayer]
    """The layers before and after."""
    before: LayerSize
    """The size of the model."""
    after: LayerSize
    """The size that is left."""
    proofs: dict[str, str]
    """The reason why results cannot change, for each kind of removal."""
    inputs: int
    """Inputs on which outputs were compared."""
    differing: int
    """Inputs on which an output differs."""
    checked: str
    """The program that computed the outputs."""

    def __repr__(self) -> str:
        macs = f"{self.before.macs:,} -> {self.after.macs:,} MACs"
        return f"<ShrinkResult of {self.model!r}: {macs}, outputs {'equal' if self.equal else 'differ'}>"

    def _repr_html_(self) -> str:
        changed = [x for x in self.layers if x.removed or x.before != x.after]
        rows = [
            (
                x.index,
                x.op,
                x.name,
                ", ".join(f"{count} {what}" for what, count in x.removed.items()),
                _arrow(x.before.channels, x.after.channels),
                _arrow(x.before.macs, x.after.macs),
                _arrow(x.before.weights, x.after.weights),
            )
            for x in changed
        ]
        facts = {
            "MACs": _arrow(self.before.macs, self.after.macs),
            "weight bytes": _arrow(self.before.weights, self.after.weights),
            "outputs equal": self.equal,
            "inputs": self.inputs,
        }
        head = ("#", "op", "name", "removed", "channels", "MACs", "weight bytes")
        return card(self.model, facts, table(head, rows, left=4))

    @property
    def equal(self) -> bool:
        """Whether outputs are equal on all inputs."""
        return self.differing == 0


def _arrow(before: int, after: int) -> str:
    return f"{before:,}" if before == after else f"{before:,} → {after:,}"


@explaining()
def shrink(
    model: Any,
    example_inputs: Any = None,
    *,
    inputs: int | None = None,
    seed: int = 0,
    **options: Unpack[CompileOptions],
) -> ShrinkResult:
    """Shrink a model, given as to `compile`, and compare its outputs with those of the whole one on so many
    inputs (as a rule 2,000, fewer of a large model): both as compiled for the host, or by the reference in NumPy where
    there is no compiler. Options are the fields of Settings but for `target` and `shrink`."""
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
    """Sizes of operators, by output."""
    return {
        op.outputs[0]: LayerSize(op.output(graph).channels, op.macs(graph), weight_bytes(graph, op)) for op in graph.ops
    }


def _compare(whole: Compiled, small: Compiled, inputs: int, seed: int) -> tuple[int, str]:
    """How many inputs give different outputs, and what computed them."""
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

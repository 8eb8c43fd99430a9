"""The pass pipeline: one list of passes with the stages that each is for. The graph is verified after every pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Flag, auto
from functools import reduce
from operator import or_

from mote.compiler.passes.folding import (
    fold_batch_norm,
    fold_constants,
    fold_forests,
    fold_heads,
    keep_bytes,
    remove_dead_code,
    remove_identities,
    simplify_control,
)
from mote.compiler.passes.folding.simplify_control import everywhere
from mote.compiler.passes.fusing import (
    fuse_activations,
    fuse_blocks,
    fuse_functions,
    fuse_lines,
    fuse_moves,
    fuse_pads,
    fuse_tables,
    join_depthwise,
)
from mote.compiler.passes.rewriting import (
    depthwise_to_convolutions,
    flatten_sequences,
    half_precision,
    pools_to_means,
    products_to_layers,
    split_recurrent_results,
    strip_io,
    tflm_numerics,
)
from mote.compiler.passes.saving import Saving
from mote.compiler.passes.shrinking import shrink
from mote.compiler.passes.streaming import slide_windows, update_states
from mote.ir.graph import Graph


class Stage(Flag):
    """The compilations that a pass is applied in."""

    TFLM = auto()
    """Models that are compiled with the numerics of TFLite Micro."""
    INT8_IO = auto()
    """Models whose float inputs and outputs are replaced by int8 ones."""
    COMPILE = auto()
    """All models that are compiled or packed."""
    OWN_CODE = auto()
    """Models whose kernels may be code generated for them, as opposed to images, which run on the fixed kernels of a
    firmware."""
    SHRINK = auto()
    """Models that are shrunk: what cannot change a result is removed."""
    HALF = auto()
    """Models whose float32 layers are computed in half precision."""
    QUANTIZE = auto()
    """Float models before they are quantized: only passes whose results TFLite can express, as the quantized graph
    becomes a file."""


@dataclass(frozen=True)
class Pass:
    """A pass of the pipeline."""

    name: str
    run: Callable[[Graph], Graph | tuple[Graph, str]]
    """The pass: gives the new graph, with a line of text if it does more than remove layers."""
    stages: Stage = Stage.COMPILE
    caveat: str = ""
    """How outputs may differ from those of the model file; empty for exact passes."""

    def apply(self, graph: Graph) -> tuple[Graph, Saving]:
        result = self.run(graph)
        after, detail = result if isinstance(result, tuple) else (result, _removed(graph, result))
        return after.verify(), Saving(self.name, len(graph.ops) - len(after.ops), detail, self.caveat)


BOTH = Stage.COMPILE | Stage.QUANTIZE

PASSES: tuple[Pass, ...] = (
    Pass("TFLite Micro numerics", everywhere(tflm_numerics.run), Stage.TFLM),
    Pass("strip float edges", strip_io.run, Stage.INT8_IO),
    Pass("fold constants", everywhere(fold_constants.run), BOTH),
    Pass("simplify control flow", simplify_control.run, BOTH),
    Pass("remove dead code", everywhere(remove_dead_code.run), BOTH),
    Pass("remove identities", everywhere(remove_identities.run), BOTH),
    Pass("fold forests", everywhere(fold_forests.run)),
    Pass("fuse moves", everywhere(fuse_moves.run)),
    Pass("products to layers", everywhere(products_to_layers.run), BOTH),
    Pass("fold heads", everywhere(fold_heads.run)),
    Pass("flatten sequences", everywhere(flatten_sequences.run)),
    Pass("slide windows", slide_windows.run),
    Pass("update states", update_states.run),
    Pass("join depthwise", everywhere(join_depthwise.run)),
    Pass("depthwise to convolutions", everywhere(depthwise_to_convolutions.run)),
    Pass("fold batch norm", everywhere(fold_batch_norm.run), BOTH, caveat="float results may change in the last bits"),
    Pass("fuse blocks", everywhere(fuse_blocks.run), BOTH),
    Pass("fuse pads", everywhere(fuse_pads.run), BOTH),
    Pass("fuse activations", everywhere(fuse_activations.run), BOTH),
    Pass("fuse tables", everywhere(fuse_tables.run)),
    Pass("fuse functions", everywhere(fuse_functions.run), Stage.OWN_CODE),
    Pass("fuse lines", everywhere(fuse_lines.run), Stage.OWN_CODE),
    Pass("keep bytes", everywhere(keep_bytes.run)),
    Pass("remove identities again", everywhere(remove_identities.run), BOTH),
    Pass("shrink", shrink.reported, Stage.SHRINK),
    Pass("half precision", half_precision.run, Stage.HALF, caveat="layers round to half precision"),
    Pass("pools to means", everywhere(pools_to_means.run), Stage.QUANTIZE),
    Pass("split recurrent results", everywhere(split_recurrent_results.run), Stage.QUANTIZE),
)


def optimize(
    graph: Graph, *, io: str = "model", numerics: str = "litert", shrinking: bool = False, own_code: bool = True
) -> tuple[Graph, list[Saving]]:
    """Runs the passes for a model that is compiled; returns what each changed. `own_code`: kernels may be code
    generated for this model."""
    asked = {
        Stage.TFLM: numerics == "tflm",
        Stage.HALF: numerics == "half",
        Stage.INT8_IO: io == "int8",
        Stage.OWN_CODE: own_code,
        Stage.SHRINK: shrinking,
    }
    return apply(graph, reduce(or_, (stage for stage, wanted in asked.items() if wanted), Stage.COMPILE))


def apply(graph: Graph, stages: Stage) -> tuple[Graph, list[Saving]]:
    """Runs the passes of some stages, in the order of the list."""
    savings = []
    for step in PASSES:
        if step.stages & stages:
            graph, saving = step.apply(graph)
            savings.append(saving)
    return graph, [saving for saving in savings if saving.detail]


def _removed(before: Graph, after: Graph) -> str:
    """The kinds and numbers of layers of the model file that `before` has and `after` has not, as text."""
    kept, flow = {op.index for op in after.ops}, {op.index for op in after.ops if op.bodies}
    kinds = [op.kind for op in before.ops if op.index not in (flow if op.bodies else kept)]
    counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    return ", ".join(f"{n} {kind}" for kind, n in counts.items())

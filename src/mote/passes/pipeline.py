"""The pipeline: one list. The graph is verified after every pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mote.graph import Graph
from mote.passes import (
    control,
    flatten_sequences,
    fold_batch_norm,
    fold_constants,
    fold_heads,
    fuse_activations,
    fuse_blocks,
    fuse_functions,
    fuse_lines,
    fuse_moves,
    fuse_pads,
    fuse_tables,
    join_depthwise,
    products_to_layers,
    remove_dead_code,
    remove_identities,
    shrink,
    slide_windows,
    strip_io,
    tflm_numerics,
    update_states,
)


@dataclass(frozen=True)
class Saving:
    """What one pass did: how many operators it removed, and a line for a person to read."""

    name: str
    removed: int
    detail: str
    caveat: str = ""
    """In which way outputs may differ from those of the model file; empty where they do not."""

    @property
    def exact(self) -> bool:
        return not self.caveat


Pass = Callable[[Graph], Graph]

PIPELINE: tuple[tuple[str, Pass], ...] = (
    ("fold constants", fold_constants.run),
    ("simplify control flow", control.run),
    ("remove dead code", remove_dead_code.run),
    ("remove identities", remove_identities.run),
    ("fuse moves", fuse_moves.run),
    ("products to layers", products_to_layers.run),
    ("fold heads", fold_heads.run),
    ("flatten sequences", flatten_sequences.run),
    ("slide windows", slide_windows.run),
    ("update states", update_states.run),
    ("join depthwise", join_depthwise.run),
    ("fold batch norm", fold_batch_norm.run),
    ("fuse blocks", fuse_blocks.run),
    ("fuse pads", fuse_pads.run),
    ("fuse activations", fuse_activations.run),
    ("fuse tables", fuse_tables.run),
    ("fuse functions", fuse_functions.run),
    ("fuse lines", fuse_lines.run),
    ("remove identities again", remove_identities.run),
)
OUTERMOST = ("strip float edges", "simplify control flow", "slide windows", "update states")
"""Passes that do not go through the bodies of control flow: they are about the model's edges, go there themselves, or
make states of what bodies are given."""
OWN_CODE = ("fuse functions", "fuse lines")
"""Passes that make operators whose kernels are code of the model's own: a firmware that is not made for it has none."""
CAVEATS = {"fold batch norm": "float results may change in the last bits"}
"""What is to be said of passes that are not exact."""


def optimize(
    graph: Graph, *, io: str = "model", numerics: str = "litert", shrinking: bool = False, own_code: bool = True
) -> tuple[Graph, list[Saving]]:
    """Run every pass; say what each removed. `own_code`: kernels may be code that is made for this model."""
    pipeline = tuple((name, run) for name, run in PIPELINE if own_code or name not in OWN_CODE)
    if io == "int8":
        pipeline = (("strip float edges", strip_io.run), *pipeline)
    if numerics == "tflm":
        pipeline = (("TFLite Micro numerics", tflm_numerics.run), *pipeline)
    savings = []
    for name, run in pipeline:
        before, graph = graph, (run if name in OUTERMOST else control.everywhere(run))(graph).verify()
        if gone := _gone(before, graph):
            removed = len(before.ops) - len(graph.ops)
            savings.append(Saving(name, removed, gone, CAVEATS.get(name, "")))
    if shrinking:
        before = graph
        graph, removals = shrink.run(before)
        if removals:
            savings.append(Saving("shrink", len(before.ops) - len(graph.ops), shrink.summary(before, graph, removals)))
    return graph, savings


def _gone(before: Graph, after: Graph) -> str:
    """The layers of the file that `before` has and `after` has no more, by kind."""
    kept, flow = {op.index for op in after.ops}, {op.index for op in after.ops if op.bodies}
    kinds = [op.kind for op in before.ops if op.index not in (flow if op.bodies else kept)]
    counts = {kind: kinds.count(kind) for kind in sorted(set(kinds))}
    return ", ".join(f"{n} {kind}" for kind, n in counts.items())

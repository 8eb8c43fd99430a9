"""The form of a float graph that is quantized: constants and batch norms folded, activations in the layers before them.

Only passes whose results can be said in TFLite belong here: the integer graph becomes a file.
"""

from __future__ import annotations

from mote.graph import Graph
from mote.passes import (
    control,
    fold_batch_norm,
    fold_constants,
    fuse_activations,
    fuse_blocks,
    fuse_pads,
    products_to_layers,
    remove_dead_code,
    remove_identities,
)
from mote.quantize import pools, results

PASSES = (
    fold_constants.run,
    control.run,
    remove_dead_code.run,
    remove_identities.run,
    products_to_layers.run,
    fold_batch_norm.run,
    fuse_blocks.run,
    fuse_pads.run,
    fuse_activations.run,
    remove_identities.run,
    pools.run,
    results.run,
)


def normal(graph: Graph) -> Graph:
    """The graph in that form. Tensors keep their ids; operators are numbered anew in the order of their execution, so
    that a number means one operator."""
    for run in PASSES:
        graph = run(graph).verify()
    return graph.with_ops(op.with_(index=i) for i, op in enumerate(graph.ops))

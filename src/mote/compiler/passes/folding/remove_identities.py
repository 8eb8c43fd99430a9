"""Remove operators that are identities, and collapse reshapes of reshapes.

The remaining reshapes cost nothing: the planner lets their outputs share the buffer of their inputs.
"""

from __future__ import annotations

from mote.compiler.passes.redirect import redirect
from mote.ir.graph import Graph


def run(graph: Graph) -> Graph:
    replaced = {
        op.outputs[0]: op.inputs[0] for op in graph.ops if op.is_identity(graph) and op.outputs[0] not in graph.outputs
    }
    graph = redirect(graph, replaced)
    return _collapse_views(graph.with_ops(op for op in graph.ops if op.outputs[0] not in replaced))


def _collapse_views(graph: Graph) -> Graph:
    """Makes reshapes of reshapes read the input of the first one, and drops reshapes that nothing reads any more."""
    ops = []
    for op in graph.ops:
        source = graph.producers.get(op.inputs[0]) if op.is_view else None
        while source is not None and source.is_view:
            op = op.with_(inputs=(source.inputs[0], *op.inputs[1:]))
            source = graph.producers.get(source.inputs[0])
        ops.append(op)
    graph = graph.with_ops(ops)
    read = {t for op in graph.ops for t in op.inputs} | set(graph.outputs)
    return graph.with_ops(op for op in graph.ops if not op.is_view or op.outputs[0] in read)

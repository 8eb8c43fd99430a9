"""Per-layer precisions of a network as the quantizer takes them: by operator index."""

from __future__ import annotations

from collections.abc import Mapping

from mote.compiler.passes.normal_form import normal
from mote.ir.graph import Graph
from mote.optimize.nas.spaces.network import Network


def quantizer_layers(network: Network, graph: Graph) -> Mapping[int, str]:
    """The option `layers` of `mote.quantize` for a network's float graph: precisions other than int8, by operator index
    in the graph's normal form."""
    if not network.precisions:
        return {}
    return numbered(network, normal(graph))


def numbered(network: Network, graph: Graph) -> Mapping[int, str]:
    """Precisions other than int8, by operator index in a float graph in normal form."""
    names = dict(enumerate(layer.name for layer in network.layers))
    precisions = {op.index: network.precisions.get(names.get(graph.layer_of(op), "")) for op in graph.ops}
    return {index: precision for index, precision in precisions.items() if precision is not None}

"""Integer graphs that are written at once are those that the quantizer makes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mote.ir.graph import Graph
from mote.ir.graph.graph import ABSENT
from mote.optimize.nas.graphs.integers import thorough_graph
from mote.optimize.nas.graphs.quick import NotQuickError, quick_graph
from mote.optimize.nas.spaces.network import Network
from tests.optimize.nas.graphs.drawn import QUICK, networks
from tests.optimize.nas.graphs.networks import FAMILIES, mobile


def _seen(graph: Graph) -> list[tuple[object, ...]]:
    """Operators with their tensors, which are numbered in the order in which they are met."""
    numbers: dict[int, int] = {}

    def tensor(i: int) -> object:
        if i == ABSENT:
            return None
        t, number = graph.tensors[i], numbers.setdefault(i, len(numbers))
        assert t.quant is not None
        scales = t.quant.scale.tobytes(), t.quant.zero_point.tobytes(), t.quant.axis
        return number, t.shape, t.dtype, t.stored, *scales, None if t.data is None else t.data.tobytes()

    return [
        (repr(op.with_(inputs=(), outputs=(), name="")), *map(tensor, (*op.inputs, *op.outputs))) for op in graph.ops
    ]


@pytest.mark.parametrize("name", ["separable", "residual", "mobile", "temporal", "table"])
def test_families_are_written_as_the_quantizer_writes_them(name: str) -> None:
    network = FAMILIES[name]()
    assert _seen(quick_graph(network, 1)) == _seen(thorough_graph(network, 1))


def test_swish_and_precisions_are_written_as_the_quantizer_writes_them() -> None:
    network = mobile(32, "hardswish", gate=True)
    network = replace(network, precisions={"block1.expand": "int4", "logits": "int4", "block2.sum": "int4"})
    assert _seen(quick_graph(network, 0)) == _seen(thorough_graph(network, 0))
    with pytest.raises(NotQuickError):
        quick_graph(replace(network, precisions={"block1.expand": "int16"}), 0)


@given(networks(QUICK), st.integers(0, 3))
@settings(max_examples=50)
def test_all_convolutional_networks_are_written_as_the_quantizer_writes_them(network: Network, seed: int) -> None:
    try:
        quick = quick_graph(network, seed)
    except NotQuickError:
        assume(False)
    assert _seen(quick) == _seen(thorough_graph(network, seed))

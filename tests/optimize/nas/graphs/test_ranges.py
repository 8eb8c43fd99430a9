"""Likely ranges: sums of what layers compute take one step, as they mostly do with the scales of trained networks."""

from __future__ import annotations

from typing import Any

import pytest

from mote.compiler.kernels.armv7em.elementwise.arithmetic import FOUR
from mote.compiler.kernels.pack.requantize.add import ONE_STEP, affine
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.types import Activation, DType
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import HardSwish
from mote.ir.ops.elementwise.arithmetic import INT8, Add
from mote.ir.ops.windows.conv import Conv2D
from mote.optimize.compress.quantize.encode import Range, steps
from mote.optimize.nas.graphs.ranges import range_after

EDGES: dict[str, Any] = {"inputs": (0, 1), "outputs": (2,), "name": "", "index": 0}
FUSED = (Activation.NONE, Activation.RELU, Activation.RELU6)
LAYERS = (
    *(Conv2D(**EDGES, vertical=Axis(1), horizontal=Axis(1), activation=activation) for activation in FUSED),
    HardSwish(**EDGES),
    *(Add(**EDGES, activation=activation) for activation in FUSED),
)


def _tensor(number: int, ends: Range) -> Tensor:
    return Tensor(number, "", (1,), DType.INT8, steps(*ends, DType.INT8))


@pytest.mark.parametrize("activation", FUSED)
@pytest.mark.parametrize("first", range(len(LAYERS)))
def test_sums_of_layers_take_one_step(first: int, activation: Activation) -> None:
    op = Add(**EDGES, activation=activation)
    a, y = _tensor(0, range_after(LAYERS[first], [])), _tensor(2, range_after(op, []))
    for second in LAYERS:
        b = _tensor(1, range_after(second, [], second=True))
        want = op.exact(Graph("", {0: a, 1: b, 2: y}, (op,), (0, 1), (2,)), INT8[:, None], INT8[None, :])
        for precision in (ONE_STEP, FOUR):
            assert affine(want, a.scale / y.scale, b.scale / y.scale, precision) is not None

"""Layouts are open: a folder of kernels may bring one of its own, which the planner, its checker and the executor
treat as they do the planar one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import NHWC, Kernel, Layout, Packed, Refusal, View
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.ir.graph import Graph, Tensor
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.common import Axis
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from tests.compiler.plan.graphs import GraphNet
from tests.compiler.plan.test_plan import LEAST, planned

MIRROR = frozenset({"mirror"})


@dataclass(frozen=True)
class Mirrored:
    """Channels from the last one to the first, and a few bytes behind each row."""

    name: ClassVar[str] = "mirrored"
    spare: int = 8

    @property
    def planes(self) -> tuple[int, int]:
        return 0, 0

    def row_bytes(self, tensor: Tensor, rows: int) -> int:
        return tensor.nbytes // rows + self.spare

    def load(self, flat: Array, shape: Shape) -> Array:
        return flat.reshape(*shape[:-2], -1)[..., : -self.spare].reshape(shape)[..., ::-1]

    def store(self, values: Array) -> Array:
        flat = values[..., ::-1].reshape(*values.shape[:-2], -1)
        return np.pad(flat, [(0, 0)] * (flat.ndim - 1) + [(0, self.spare)])


def _free(kernel: Kernel, **layouts: bool) -> Kernel:
    """A kernel that costs nothing, reads the layout or may write it."""

    def pack(view: View) -> Packed | Refusal:
        found = kernel.pack(view)
        if isinstance(found, Refusal):
            return found
        needs = replace(found.needs, reads=view.reads, writes=view.writes)
        return replace(found, needs=needs, price=replace(found.price, cost=0.0))

    def reads(view: View) -> Layout | None:
        return Mirrored()

    own = {"reads": reads} if layouts.get("reads") else {"writes": (Mirrored,)}
    return replace(kernel, name=f"{kernel.name}_mirrored", pack=pack, isa=MIRROR, **own)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """On cores with the feature, depthwise layers read the layout, and convolutions can write it."""
    plain = {k.name: k for k in catalogue.KERNELS if not k.isa}
    own = [_free(plain["depthwise"], reads=True), _free(plain["conv2d"], writes=True)]
    monkeypatch.setattr(catalogue, "KERNELS", [*own, *catalogue.KERNELS])


def network() -> Graph:
    net = GraphNet(1)
    three = Axis(3, 1, 1, 1, 1)
    x = net.conv(net.input(1, 9, 7, 3), 6, three, three)
    return net.graph(net.conv(net.depthwise(x, three, three), 4))


@pytest.mark.parametrize("goal", [Goal(), LEAST, Goal(ram=1 << 20)], ids=("balanced", "least", "roomy"))
def test_a_layout_of_a_folder(goal: Goal, kernels: None) -> None:
    graph = network()
    depthwise = next(op for op in graph.ops if isinstance(op, DepthwiseConv2D))
    found = planned(graph, Lowering(MIRROR, Policy.SPEED), goal)
    layouts = {b.layout for b in found.buffers if depthwise.inputs[0] in b.tensors}
    assert layouts == {NHWC if goal.least else Mirrored()}
    assert all(b.layout == NHWC for b in found.buffers if depthwise.inputs[0] not in b.tensors)


def test_the_layout_is_for_cores_with_the_feature(kernels: None) -> None:
    found = planned(network(), Lowering(frozenset(), Policy.SPEED), Goal())
    assert all(b.layout == NHWC for b in found.buffers)

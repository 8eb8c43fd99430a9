"""Pins: a layer has the kernel that was named, the plan says so, and the result is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mote import compile, verify
from mote.base.errors import MoteError
from mote.compiler.passes.pipeline import optimize
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.planner import plan, plan_one_memory
from mote.compiler.plan.prepared import Memo
from mote.compiler.plan.selection.candidates import Candidates, ordered
from mote.compiler.plan.selection.config import ROOMY
from mote.compiler.plan.selection.pins import pinned
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import Selection
from mote.frontends import tflite
from mote.ir.ops.common import Axis
from tests.compiler.plan.graphs import GraphNet
from tests.compiler.plan.test_plan import DSP, LEAST, MODELS, PUSHED, model
from tests.compiler.plan.test_planned_regions import Joining
from tests.helpers.network import Net
from tests.helpers.support import emulated, soaked

HOW = Lowering(DSP, Policy.BALANCED)


def kernel_of(found: Plan, number: int) -> tuple[str, str]:
    """The family of an operator's kernel, and the reason for it."""
    ((step, why),) = [(s, found.choices[s.ops][0].why) for _, (s, *_) in found.works if number in s.ops]
    return step.kernel.family, why


GOALS = {"knee": Goal(), "least": LEAST, "pushed": PUSHED, "within": Goal(9_000)}


@pytest.mark.parametrize("name", soaked(GOALS, ["pushed"]))
def test_every_kernel_that_a_layer_could_have(name: str) -> None:
    goal = GOALS[name]
    net = Net()
    x = net.conv(net.conv(net.input(1, 9, 8, 4), 8, stride=2), 8, 1)
    graph = ordered(optimize(tflite.parse(net.finish(net.mean(net.depthwise(x))), "model"))[0])
    for number in (1, 2):
        offered = Selection(Candidates(graph), HOW, Goal(), ROOMY).variants[number,]
        for family in {k.family for k in offered}:
            found = plan(graph, HOW, replace(goal, pins={str(number): family}))
            assert kernel_of(found, number) == (family, "pinned")


def test_by_name_on_a_core() -> None:
    emulated("cortex-m4")
    pins = {
        "2_conv_2d": "pointwise_s8",
        "3_depthwise_conv_2d": "depthwise",
        "6_fully_connected": "fully_connected4_wide",
    }
    compiled = compile(MODELS / "digits.tflite", target="cortex-m4", kernels=pins)
    kernels = {op.name: (steps[0].kernel.name, steps[0].kernel.family) for op, steps in compiled.plan.works}
    assert all(kernel in kernels[layer] for layer, kernel in pins.items())
    assert verify(compiled, 2).passed


def test_a_pinned_layer_is_in_no_chain() -> None:
    """Unless the pin names the chain's kernel."""
    net = GraphNet()
    x = net.conv(net.input(1, 6, 5, 4), 4)
    graph = net.graph(net.conv(net.depthwise(x, Axis(3), Axis(3)), 8))
    for pins, together in (
        ({}, True),
        ({"1": "depthwise_s8"}, False),
        ({"1": "joined"}, True),
        ({"2": "joined"}, True),
    ):
        how = Lowering()
        found = plan_one_memory(Memo(pinned(Joining(graph, [(1, 2)]), pins, how)), how, Goal(pins=pins)).plan
        assert ((1, 2) in {s.ops for s in found.steps}) == together


@pytest.mark.parametrize(
    ("pins", "says"),
    [
        ({"depthwise": "depthwise"}, "there is no layer 'depthwise'"),
        ({"3_depthwise_conv2d": "depthwise"}, "did you mean: 3_depthwise_conv_2d"),
        ({"10": "depthwise"}, "there is no layer '10'"),
        ({"3": "winograd"}, r"'3_depthwise_conv_2d' has no kernel 'winograd'(.|\n)*depthwise_s8, depthwise3"),
    ],
    ids=["name", "near", "view", "kernel"],
)
def test_what_does_not_fit_is_refused(pins: dict[str, str], says: str) -> None:
    with pytest.raises(MoteError, match=says):
        compile(MODELS / "keywords.tflite", target="cortex-m4", kernels=pins)


def test_a_kernel_that_its_neighbours_do_not_allow() -> None:
    """What the model gives out is not planar."""
    graph = model("keywords")
    open_inside = replace(graph, outputs=(*graph.outputs, graph.ops[0].outputs[0]))
    with pytest.raises(MoteError, match="cannot have the kernel 'depthwise3' here"):
        plan(open_inside, HOW, Goal(pins={"1": "depthwise3"}))

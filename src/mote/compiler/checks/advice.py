"""Warnings about a compiled model on its target."""

from __future__ import annotations

from dataclasses import replace

from mote.compiler.kernels import cost
from mote.compiler.kernels.catalogue import UNMEASURED
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.selection.reasons import refusals
from mote.hardware.targets import Target

INTEGER = {"CONV_2D": "conv2d", "DEPTHWISE_CONV_2D": "depthwise", "FULLY_CONNECTED": "fully_connected"}
"""By kind of operator: the family of its int8 kernels in the cost tables."""


def advice(plan: Plan, target: Target) -> tuple[str, ...]:
    """Warnings for a plan on a target."""
    return (*_slow_floats(plan, target), *_unmeasured(plan, target))


def _unmeasured(plan: Plan, target: Target) -> list[str]:
    """Warnings about kernels that were not considered because the core's cost table lacks them."""
    if plan.how.priced is None:
        return []
    refused = [each for step in plan.steps for each in refusals(plan, step)]
    kernels = [each.kernel for each in refused if each.why == UNMEASURED.why]
    return [
        f"the kernel '{kernel}' is not considered: the table of costs {target.costs} has nothing for it; "
        f"benchmarks/fit_costs.py --core {target.costs} --only {kernel} --update measures it"
        for kernel in dict.fromkeys(kernels)
    ]


def _slow_floats(plan: Plan, target: Target) -> list[str]:
    """Warns of float32 layers on a core without an FPU."""
    if target.is_host or {"fpu", "float32"} & target.features:
        return []
    graph = plan.graph
    layers = {step.ops: step for step in plan.steps}
    slow = [s for s in layers.values() if plan.op(s).macs(graph) and plan.op(s).input(graph).dtype.real]
    if not slow:
        return []
    costs = cost.load(target.costs)
    known = [(plan.op(s), s) for s in slow if plan.op(s).kind in INTEGER]
    floats = sum(costs.of(graph, op, s.kernel, whole=True) for op, s in known)
    integers = sum(
        costs.of(graph, op, replace(s.kernel, price=replace(s.kernel.price, costs=INTEGER[op.kind])), whole=True)
        for op, s in known
    )
    times = f", about {floats / integers:.0f} times as slow as the same layers of int8" if integers else ""
    count = "a layer computes" if len(slow) == 1 else f"{len(slow)} layers compute"
    return [
        f"{count} in float32, and {target.name} has no floating-point unit: every product is a call of the compiler's "
        f"library{times}; quantize the model to int8 (full integer quantization), or choose a core with an FPU"
    ]

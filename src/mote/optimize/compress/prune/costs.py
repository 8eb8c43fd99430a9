"""Costs of a pruned model on a target, after quantization to int8."""

from __future__ import annotations

from dataclasses import dataclass

from mote.bench.measure.run import run as run_model
from mote.bench.measure.runner import missing_tools
from mote.compiler.fitting.code_size import code_size
from mote.compiler.line import compile_graph, planned
from mote.compiler.settings import Settings
from mote.hardware.targets import Target
from mote.ir.graph import Graph
from mote.ir.graph.region import Region
from mote.optimize.compress.quantize.pipeline import CalibratedModel
from mote.optimize.compress.quantize.quantizer import quantized

TARGET = "cortex-m4"
"""Default core for cost estimates."""


@dataclass(frozen=True)
class PrunedCosts:
    """Costs of an int8 model on a target."""

    flash: int
    """Bytes of code and constants."""
    ram: int
    """Bytes of RAM."""
    cycles: int
    """Estimated cycles of an inference."""
    instructions: int | None
    """Instructions of an inference on the emulated core; None if not run."""


def costs_of(graph: Graph, settings: Settings, *, run: bool) -> PrunedCosts:
    """Compiles an integer graph and returns its costs; with `run` it is also executed on the emulated core."""
    compiled = compile_graph(graph, settings)
    cycles = compiled.cost
    if run:
        result = run_model(compiled, layers=False)
        return PrunedCosts(result.flash.total, compiled.plan.ram, cycles, result.instructions)
    return PrunedCosts(code_size(compiled).flash, compiled.plan.ram, cycles, None)


def obstacle(target: Target) -> str:
    """Reason why models cannot be run on a target; empty if they can."""
    missing = missing_tools(target)
    return missing.reason if missing else ""


def prices(graph: Graph, calibrated: CalibratedModel, settings: Settings, unit: str) -> dict[int, float]:
    """Cost of each operator of a float graph, by output tensor, in the unit of the pruning target; removing channels
    saves a proportional share."""
    if unit == "macs":
        return {op.outputs[0]: float(op.macs(graph)) for op in graph.ops}
    if unit == "flash":
        return {op.outputs[0]: float(_weights(graph, op.outputs[0])) for op in graph.ops}
    return _cycles(quantized(graph, calibrated.ranges, insides=calibrated.insides), settings)


def _weights(graph: Graph, y: int) -> int:
    """Number of weights and biases of the operator that computes a tensor."""
    op = graph.producers[y]
    given = (op.tensor(graph, position) for position in range(len(op.inputs)))
    return sum(t.size for t in given if t is not None and t.data is not None)


def _cycles(graph: Graph, settings: Settings) -> dict[int, float]:
    """Estimated cycles of operators; those fused into one kernel share its cost by their MACs."""
    plan = planned(graph, settings)
    cycles: dict[int, float] = {}
    for op, steps in plan.works:
        taken = settings.costs.of(plan.graph, op, steps[0].kernel, steps[0].whole)
        parts = op.ops if isinstance(op, Region) else (op,)
        total = sum(part.macs(plan.graph) for part in parts)
        for part in parts:
            share = part.macs(plan.graph) / total if total else 1 / len(parts)
            cycles[part.outputs[0]] = taken * share
    return cycles

"""Roofline: how close each layer is to the core's peak, and what bounds it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from mote.bench.measure.profiler.result import LayerProfile
from mote.compiler.plan.memory.traffic import activations
from mote.compiler.plan.selection.estimate import layer_costs
from mote.hardware.targets import Target
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subject

STREAMED = 1 << 16
"""Bytes of constants that the bandwidth of flash is computed with: many lines of it."""


class LayerBound(StrEnum):
    """The kind of work that most of a layer's cycles are spent on."""

    COMPUTE = "multiplications"
    LOADS = "loads and stores"
    FLASH = "flash waits"
    OVERHEAD = "other instructions"


def roofline(subject: Subject) -> dict[str, Any] | None:
    """Roofs of the core and its memory, and a point for each layer: number, MACs, bytes of constants, bytes of
    activations, cycles, what bounds it and a sentence about that. None for a core without a known peak."""
    target = subject.compiled.settings.target
    if target.peak_macs is None:
        return None
    points = _measured(subject) if subject.profile else _estimated(subject)
    return {
        "measured": subject.profile is not None,
        "loads_known": subject.profile.loads_known if subject.profile else False,
        "peak": target.peak_macs,
        "load_bytes": target.load_bytes,
        "flash_bytes": flash_bandwidth(target),
        "memory": str(target.constant_reads),
        "points": [point for point in points if point[0]],
        "reason": subject.reason,
    }


def _measured(subject: Subject) -> list[list[Any]]:
    profile, plan = subject.profile, subject.compiled.plan
    assert profile is not None
    moved = activations(plan)
    points = []
    for layer, nbytes, (_, steps) in zip(profile.layers, moved, plan.works, strict=True):
        loaded = layer.waits.loaded if profile.loads_known else steps[0].kernel.constants
        shares = spent(layer)
        kind, sentence = (None, "") if shares is None else (bound(shares), explained(layer, shares, profile.peak_macs))
        points.append([layer.number, layer.macs, loaded, nbytes, layer.cycles, kind, sentence])
    return points


def _estimated(subject: Subject) -> list[list[Any]]:
    """Points by the planner's estimate, each constant read once; what bounds a layer is not known then."""
    compiled, plan = subject.compiled, subject.compiled.plan
    costs = layer_costs(compiled.costs, plan)
    return [
        [plan.number(steps[0]), op.macs(plan.graph), steps[0].kernel.constants, nbytes, round(cycles), None, ""]
        for (op, steps), nbytes, cycles in zip(plan.works, activations(plan), costs, strict=True)
    ]


def flash_bandwidth(target: Target) -> float | None:
    """Bytes of constants in flash that the core can load in a cycle, wait states included; None where it does not wait
    for them, or where nothing says how much it loads."""
    waits = target.constant_reads.stream(STREAMED)
    if target.load_bytes is None or not waits:
        return None
    return STREAMED / (STREAMED / target.load_bytes + waits)


def spent(layer: LayerProfile) -> dict[LayerBound, float] | None:
    """Shares of a layer's cycles; None where instructions are not told apart."""
    if layer.mix is None or not layer.cycles:
        return None
    cycles = {
        LayerBound.COMPUTE: layer.mix.multiply,
        LayerBound.LOADS: layer.mix.memory,
        LayerBound.FLASH: layer.waits.code + layer.waits.constants,
        LayerBound.OVERHEAD: layer.mix.other,
    }
    return {kind: n / layer.cycles for kind, n in cycles.items()}


def bound(shares: Mapping[LayerBound, float]) -> LayerBound:
    """The kind of work that takes most of the cycles; the first of `LayerBound` where several take as many."""
    return max(LayerBound, key=lambda kind: shares[kind])


def explained(layer: LayerProfile, shares: Mapping[LayerBound, float], peak: int | None) -> str:
    """A sentence about what a layer's cycles are spent on."""
    parts = sorted(LayerBound, key=lambda kind: -shares[kind])
    said = ", ".join(f"{shares[kind]:.0%} {kind}" for kind in parts if round(shares[kind], 2) > 0)
    reached = f"{layer.macs / layer.cycles:.2f} MACs a cycle, {layer.peak:.0%} of {peak}" if layer.peak else "no MACs"
    return f"{reached}; cycles: {said}"


SECTION = Section("roofline", "Roofline", each=roofline)

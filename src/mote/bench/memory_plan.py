"""`mote.plan`: a model's memory plan as data, text and picture, and the kernel of each layer with the reason."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from mote.base.notebook import picture, table
from mote.base.progress import Say, silent
from mote.base.results import Result, as_json, plain
from mote.bench.pictures import plans
from mote.bench.pictures.memory import Holding, MemoryMap, direction
from mote.compiler import kept, line
from mote.compiler.compiled import Compiled, kernel_label
from mote.compiler.given import CompileOptions
from mote.compiler.plan.plan import ControlFlowKernel, Plan, Step
from mote.compiler.plan.selection.cores import divided
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.external_report import ExternalRegion, external_regions
from mote.compiler.plan.selection.pins import one_layer
from mote.compiler.plan.selection.reasons import refusals
from mote.ir.graph import Op
from mote.ir.graph.ranges import Peak
from mote.ir.ops.control.control_flow import While


@dataclass(frozen=True)
class KernelOption:
    """A kernel of the core considered for a layer."""

    kernel: str
    """Kernel name (or family)."""
    chosen: bool
    """Whether the plan uses it."""
    why: str
    """Why it was chosen or not."""
    cost: int | None
    """Estimated cost in the target's unit; None if the kernel does not fit."""
    constants: int | None
    """Bytes of constants in flash; None if the kernel does not fit."""
    scratch: int | None
    """Bytes of scratch memory; None if the kernel does not fit."""


@dataclass(frozen=True, repr=False)
class MemoryPlan(Result):
    """The memory plan of a compiled model."""

    LINE = (
        "of {compiled.path!r} for {compiled.settings.target.name}: RAM {ram:,} bytes, live at once {memory.peak:,},"
        " bound {memory.bound:,}, {compiled.plan.steps!n:,} steps"
    )
    TITLE = "{title}"
    FACTS = (
        "RAM=ram:size, arena:size, least possible=bound:size, {compiled.costs.unit}=compiled.cost,"
        " steps=compiled.plan.steps!n"
    )

    compiled: Compiled
    """The compiled model."""

    @property
    def title(self) -> str:
        """The model and its target."""
        return f"{Path(self.compiled.path).name} for {self.compiled.settings.target.name}"

    @cached_property
    def memory(self) -> MemoryMap:
        """All tensor rows with addresses and lifetimes."""
        return MemoryMap(self.compiled.plan)

    @property
    def ram(self) -> int:
        """Bytes of the tensor arena and of static variables."""
        return self.compiled.plan.ram

    @property
    def arena(self) -> int:
        """Bytes of the tensor arena."""
        return self.compiled.plan.arena

    @property
    def bound(self) -> int:
        """Lower bound of the arena over all schedules."""
        return self.memory.bound

    def svg(self) -> str:
        """SVG of the tensor arena over time."""
        return plans.arena(self.memory, self.title)

    @cached_property
    def regions(self) -> list[ExternalRegion]:
        """Regions offered to backends: which ones they compute, the cost compared with Mote's own kernels, and why.
        Empty without `backend`."""
        plan = self.compiled.plan
        return external_regions(plan, line.offload_of(plan.graph, self.compiled.settings, self.compiled.reserve))

    def kernels(self, layer: str | int) -> list[KernelOption]:
        """All kernels of the core for a layer (by name or number), with cost or the reason why they do not fit."""
        plan, layer = self.compiled.plan, str(layer)
        works = {plan.number(steps[0]): (op, steps[0]) for op, steps in plan.works}
        alone = {plan.graph.numbers[n]: step for _, step in works.values() for n in step.ops if n >= 0}
        layers = {number: (op.name, plan.graph.short_name(op)) for number, (op, _) in works.items()}
        step = alone[layer] if layer in alone else works[one_layer(layers, layer, "option layer")][1]
        offered = [
            KernelOption(o.family, o.chosen, o.why, o.cost, o.constants, o.scratch)
            for o in plan.choices.get(step.ops, ())
        ]
        return [*offered, *(KernelOption(r.kernel, False, r.why, None, None, None) for r in refusals(plan, step))]

    def json(self) -> dict[str, Any]:
        """The plan as JSON types, explained in docs/compile/planning.md."""
        compiled, memory = self.compiled, self.memory
        plan = compiled.plan
        costs = compiled.costs
        return {
            "model": compiled.path,
            "target": compiled.settings.target.name,
            "costs": {"core": costs.core, "unit": costs.unit, "estimate": round(estimate(costs, plan))},
            "totals": as_json(
                self,
                "ram, arena, static=compiled.plan.static, live=memory.peak, bound, gap=memory.gap,"
                " steps=compiled.plan.steps!n, macs=compiled.macs",
            ),
            "memories": [{"name": memory.name(i) or None, "arena": n} for i, n in enumerate(plan.arenas)],
            "peak": {
                "step": memory.peak_step,
                "holds": [{"name": h.name, "role": h.role, "bytes": n} for h, n in memory.held(memory.peak_step)],
            },
            "operators": [
                {
                    "numbers": list(steps[0].ops),
                    "layer": plan.number(steps[0]),
                    "short": plan.graph.short_name(op),
                    "op": op.kind,
                    "name": op.name,
                    "kernel": kernel_label(compiled, i),
                    "mode": plan.runs(steps),
                    "direction": direction(steps),
                    "steps": len(steps),
                    "macs": op.macs(plan.graph),
                    "sums": _sums(plan, steps[0]),
                    "bodies": body_plans(op, steps[0]),
                    "choice": plain(plan.choices.get(steps[0].ops, ())),
                    "refused": plain(list(refusals(plan, steps[0]))),
                    **({"cores": divided(plan, op, steps)} if compiled.settings.cores > 1 else {}),
                }
                for i, (op, steps) in enumerate(plan.works)
            ],
            "regions": plain(self.regions),
            "steps": [
                {
                    "operator": plan.numbers[s.ops],
                    "op": plan.op(s).kind,
                    "kernel": s.kernel.name,
                    "rows": [s.rows.lo, s.rows.hi],
                    "tap": s.tap,
                    "scratch": None
                    if s.scratch is None
                    else {"memory": s.scratch_memory, "offset": s.scratch, "bytes": s.kernel.needs.scratch},
                    "live": memory.live[i],
                }
                for i, s in enumerate(plan.steps)
            ],
            "kept": kept_states(compiled),
            "buffers": [_buffer(h, compiled) for h in memory.holdings],
            "cells": [
                {"buffer": i, "tensor": h.name} | as_json(c, "row, offset, bytes=nbytes, memory, first, last, role")
                for i, h in enumerate(memory.holdings)
                for c in h.cells
            ],
        }

    def _parts(self) -> list[str]:
        plan = self.compiled.plan
        rows = [
            (
                plan.number(steps[0]),
                plan.graph.short_name(op),
                op.kind,
                kernel_label(self.compiled, i),
                plan.runs(steps),
                len(steps),
            )
            for i, (op, steps) in enumerate(plan.works)
        ]
        layers = table(("#", "layer", "op", "kernel", "runs", "steps"), rows, left=5)
        return [picture(self.svg(), f"{self.title}: the tensor arena over time"), layers]


def plan(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> MemoryPlan:
    """Plan a model for a target: kernel of each layer, order of its rows, and their addresses in the tensor arena.

    Arguments are those of `mote.compile`. A notebook draws the result; `kernels(layer)` lists a layer's kernels with
    costs."""
    return MemoryPlan(kept.compile(model, settings, example_inputs=example_inputs, say=say, **options))


def body_plans(op: Op, step: Step) -> list[dict[str, Any]]:
    """Plans of control flow bodies, which are placed in the scratch memory of their step."""
    if not isinstance(step.kernel, ControlFlowKernel):
        return []
    return [
        {
            "name": plan.graph.name,
            "arena": plan.arena,
            "turns": op.trips if isinstance(op, While) else 1,
            "operators": [
                {
                    "op": inner.kind,
                    "name": inner.name,
                    "kernel": steps[0].kernel.name,
                    "mode": plan.runs(steps),
                    "macs": inner.macs(plan.graph),
                    "bodies": body_plans(inner, steps[0]),
                }
                for inner, steps in plan.works
            ],
        }
        for plan in step.kernel.plans
    ]


def _buffer(h: Holding, compiled: Compiled) -> dict[str, Any]:
    tensors = compiled.plan.graph.tensors
    b = h.buffer
    return {
        **as_json(h, "name, role, memory, stored, first, last, peak"),
        "tensors": [] if b is None else [tensors[t].name for t in b.tensors],
        "rows": 1 if b is None else len(b.offsets),
        "row_bytes": h.cells[0].nbytes if b is None else b.row_bytes,
        "layout": None if b is None else str(b.layout),
    }


def peak_of(plan: Plan, step: Step) -> Peak | None:
    """Maximum absolute accumulator values of the operators in a step."""
    peaks = [plan.graph.peak(plan.graph.ops[i]) for i in step.ops if i >= 0]
    return max((peak for peak in peaks if peak), key=lambda peak: peak.total, default=None)


def _sums(plan: Plan, step: Step) -> dict[str, Any] | None:
    peak = peak_of(plan, step)
    return None if peak is None else {"largest": peak.total, "spare_bits": round(peak.headroom, 3), "wrap": peak.wraps}


def kept_states(compiled: Compiled) -> list[dict[str, Any]]:
    """The model's states and how they are stored."""
    tensors = compiled.plan.graph.tensors
    return [
        {
            "name": tensors[b.tensors[0]].name,
            "stored": "as it is" if not window else "slides" if b.ring is None else "ring buffer",
            "rows": len(b.offsets),
            "row_bytes": b.row_bytes,
            "bytes": len(b.offsets) * b.row_bytes,
        }
        for b, window in compiled.plan.kept
    ]

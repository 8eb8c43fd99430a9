"""`mote.plan`: the memory plan of a model as data, text and picture, and the kernel of each layer with the reason."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from mote.base.notebook import card, picture, sizes, table
from mote.base.progress import Say, silent
from mote.bench.pictures import plans
from mote.bench.pictures.memory import Holding, MemoryMap, direction
from mote.compiler import kept, line
from mote.compiler.compiled import Compiled, kernel_label
from mote.compiler.given import CompileOptions
from mote.compiler.plan.plan import Bodied, Plan, Step
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
    """A kernel that the core has for a layer."""

    kernel: str
    """The family or the name of the kernel."""
    chosen: bool
    """Whether the plan uses it."""
    why: str
    """The reason for or against it."""
    cost: int | None
    """The estimated cost in the unit of the target's costs; None where the kernel does not fit."""
    constants: int | None
    """Bytes of constants in flash; None where the kernel does not fit."""
    scratch: int | None
    """Bytes of working memory; None where the kernel does not fit."""


@dataclass(frozen=True)
class MemoryPlan:
    """The memory plan of a compiled model."""

    compiled: Compiled
    """The compiled model, whose `plan` this is."""

    def __repr__(self) -> str:
        plan = self.compiled.plan
        return (
            f"<MemoryPlan of {self.compiled.path!r} for {self.compiled.settings.target.name}: RAM {self.ram:,} bytes,"
            f" live at once {self.memory.peak:,}, bound {self.memory.bound:,}, {len(plan.steps):,} steps>"
        )

    def _repr_html_(self) -> str:
        plan = self.compiled.plan
        facts = {
            "RAM": sizes(self.ram),
            "arena": sizes(self.arena),
            "least possible": sizes(self.memory.bound),
            self.compiled.costs.unit: self.compiled.cost,
            "steps": len(plan.steps),
        }
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
        return card(self.title, facts, picture(self.svg(), f"{self.title}: the tensor arena over time"), layers)

    @property
    def title(self) -> str:
        """The model and its target."""
        return f"{Path(self.compiled.path).name} for {self.compiled.settings.target.name}"

    @cached_property
    def memory(self) -> MemoryMap:
        """The rows of all tensors with their places and lifetimes."""
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
        """The least bytes that any schedule of the model's rows can take."""
        return self.memory.bound

    def svg(self) -> str:
        """The tensor arena over time as an SVG."""
        return plans.arena(self.memory, self.title)

    @cached_property
    def regions(self) -> list[ExternalRegion]:
        """The regions that backends have been asked for: which they compute, what that costs against Mote's own
        kernels, and why. Empty without `backend`."""
        plan = self.compiled.plan
        return external_regions(plan, line.offload_of(plan.graph, self.compiled.settings, self.compiled.reserve))

    def kernels(self, layer: str | int) -> list[KernelOption]:
        """Every kernel that the core has for a layer, given by its name or number: its cost, or why it does not fit."""
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
        """The plan as JSON types; docs/compile/planning.md explains the keys."""
        compiled, memory = self.compiled, self.memory
        plan = compiled.plan
        costs = compiled.costs
        return {
            "model": compiled.path,
            "target": compiled.settings.target.name,
            "costs": {"core": costs.core, "unit": costs.unit, "estimate": round(estimate(costs, plan))},
            "totals": {
                "ram": plan.ram,
                "arena": plan.arena,
                "static": plan.static,
                "live": memory.peak,
                "bound": memory.bound,
                "gap": memory.gap,
                "steps": len(plan.steps),
                "macs": compiled.macs,
            },
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
                    "choice": [asdict(option) for option in plan.choices.get(steps[0].ops, ())],
                    "refused": [asdict(refused) for refused in refusals(plan, steps[0])],
                    **({"cores": divided(plan, op, steps)} if compiled.settings.cores > 1 else {}),
                }
                for i, (op, steps) in enumerate(plan.works)
            ],
            "regions": [asdict(region) | {"layers": list(region.layers)} for region in self.regions],
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
                {
                    "buffer": i,
                    "tensor": h.name,
                    "row": c.row,
                    "offset": c.offset,
                    "bytes": c.nbytes,
                    "memory": c.memory,
                    "first": c.first,
                    "last": c.last,
                    "role": c.role,
                }
                for i, h in enumerate(memory.holdings)
                for c in h.cells
            ],
        }


def plan(
    model: Any,
    settings: Any = None,
    *,
    example_inputs: Any = None,
    say: Say = silent,
    **options: Unpack[CompileOptions],
) -> MemoryPlan:
    """Plan a model for a target: the kernel of each layer, the order of its rows, and a place in the tensor arena for
    each of them.

    The arguments are those of `mote.compile`. In a notebook the result is drawn; `kernels(layer)` lists the kernels of
    a layer with their costs."""
    return MemoryPlan(kept.compile(model, settings, example_inputs=example_inputs, say=say, **options))


def body_plans(op: Op, step: Step) -> list[dict[str, Any]]:
    """The plans of the bodies of control flow, which lie in the scratch of its step."""
    if not isinstance(step.kernel, Bodied):
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
        "name": h.name,
        "role": h.role,
        "tensors": [] if b is None else [tensors[t].name for t in b.tensors],
        "rows": 1 if b is None else len(b.offsets),
        "row_bytes": h.cells[0].nbytes if b is None else b.row_bytes,
        "layout": None if b is None else str(b.layout),
        "memory": h.memory,
        "stored": h.stored,
        "first": h.first,
        "last": h.last,
        "peak": h.peak,
    }


def peak_of(plan: Plan, step: Step) -> Peak | None:
    """How far the sums of the operators go that a step names."""
    peaks = [plan.graph.peak(plan.graph.ops[i]) for i in step.ops if i >= 0]
    return max((peak for peak in peaks if peak), key=lambda peak: peak.total, default=None)


def _sums(plan: Plan, step: Step) -> dict[str, Any] | None:
    peak = peak_of(plan, step)
    return None if peak is None else {"largest": peak.total, "spare_bits": round(peak.headroom, 3), "wrap": peak.wraps}


def kept_states(compiled: Compiled) -> list[dict[str, Any]]:
    """The states of a model and how they are stored."""
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

"""Memory over time: the life of every row in the arena, the peak, the proven bound, and all RAM beside it."""

from __future__ import annotations

from typing import Any

from mote.bench.pictures.memory import Holding, HoldingKind, LifetimeBox, MemoryMap
from mote.bench.pictures.svg import colour
from mote.compiler.plan.plan import Plan
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subject

FREE = "#9aa4ae"
"""The colour of working memory whose output is in no arena."""


def memory(subject: Subject) -> dict[str, Any]:
    """Lifetimes as rows of whole numbers: boxes are holding, first byte, end, first step, last step, first row, last
    row. Step -1 is the caller before the run; `live` begins with it."""
    chart, plan = subject.memory, subject.compiled.plan
    places = {layer.number: i for i, layer in enumerate(subject.layers)}
    return {
        "arenas": [[chart.name(i), nbytes] for i, nbytes in enumerate(plan.arenas)],
        "steps": [places.get(plan.number(step), -1) for step in plan.steps],
        "holdings": [_holding(subject, h, paint) for h, paint in zip(chart.holdings, colours(chart), strict=True)],
        "boxes": [_box(i, box) for i, h in enumerate(chart.holdings) for box in h.boxes],
        "live": list(chart.live.values()),
        "peak": chart.peak,
        "peak_step": chart.peak_step,
        "bound": chart.bound,
        "ram": _ram(subject),
    }


def colours(chart: MemoryMap) -> list[str]:
    """A colour for each tensor; accumulators and scratch have that of their operator's output."""
    tensors = [h for h in chart.holdings if h.role is HoldingKind.TENSOR]
    of = {t: colour(i) for i, h in enumerate(tensors) for t in h.cells[0].tensors}
    return [of.get(_shown_tensor(chart.plan, h), FREE) for h in chart.holdings]


def _shown_tensor(plan: Plan, holding: Holding) -> int:
    """The tensor that a holding is, or that it helps to compute."""
    if holding.role is HoldingKind.TENSOR:
        return holding.cells[0].tensors[0]
    return plan.op(plan.steps[holding.first]).outputs[0]


def _holding(subject: Subject, holding: Holding, paint: str) -> list[Any]:
    """Name, kind, number of the layer that writes it, memory, how it is stored, the most live bytes, colour."""
    layer = holding.number or _writer(subject.compiled.plan, holding)
    return [holding.name, holding.role.value, layer, holding.memory, holding.stored, holding.peak, paint]


def _writer(plan: Plan, holding: Holding) -> str:
    """The number of the layer that computes a tensor; nothing for an input."""
    tensors = set(holding.cells[0].tensors)
    return next((plan.number(steps[0]) for op, steps in plan.works if tensors & set(op.outputs)), "")


def _box(index: int, box: LifetimeBox) -> list[int]:
    return [index, box.offset, box.end, box.first, box.last, min(box.rows), max(box.rows)]


def _ram(subject: Subject) -> list[list[Any]]:
    """Bytes of RAM by use: name, bytes (None where they are not known), and where the number is from."""
    plan, ran = subject.compiled.plan, subject.ran
    rows: list[list[Any]] = [["Arena", plan.arena, "planned: activations, accumulators and scratch"]]
    static = ran.ram.static if ran and ran.ram.static is not None else None
    kept = plan.kept_bytes
    if kept:
        rows.append(["States", kept, "planned: kept from one inference to the next"])
    if static is None:
        rows.append(["Static", plan.static - kept, "planned: the place in the schedule and counters"])
    else:
        rows.append(["Static", static - kept, "linked: the place in the schedule, counters and alignment"])
    if ran and ran.ram.code:
        rows.append(["Code in RAM", ran.ram.code, "linked: copied from flash"])
    stack = ran.ram if ran else None
    if stack is None or (stack.stack is None and stack.stack_measured is None):
        rows.append(["Stack", None, "not measured"])
    elif stack.stack is None:
        rows.append(["Stack", stack.stack_measured, "measured in this run; no bound is known"])
    else:
        measured = "" if stack.stack_measured is None else f"; {stack.stack_measured:,} bytes measured in this run"
        rows.append(["Stack", stack.stack, f"the most of any run, by the call graph of the linked code{measured}"])
    rows.append(["Total", sum(nbytes or 0 for _, nbytes, _ in rows), "" if ran else "without the stack"])
    return rows


SECTION = Section("memory", "Memory", each=memory)

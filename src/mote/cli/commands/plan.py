"""`mote plan`: the memory plan: which tensor lies where in the tensor arena, and when."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mote.cli.commands.compile import two_cores_line
from mote.cli.common import (
    add_compile_options,
    add_svg,
    bold,
    bound_line,
    print_json,
    progress,
    settings,
    shorten,
    shortened,
    table,
    write_svg,
)
from mote.compiler import line
from mote.compiler.compiled import Compiled, kernel_label
from mote.graph import Op
from mote.graph.ranges import Peak
from mote.ops.control.control_flow import While
from mote.pictures import plans
from mote.pictures.memory import Holding, MemoryMap, direction, traffic_lines
from mote.pictures.text import arena_maps, letters
from mote.plan.plan import Bodied, Option, Plan, Runs, Step
from mote.plan.selection.cores import divided
from mote.plan.selection.estimate import estimate
from mote.plan.selection.pins import one_layer
from mote.plan.selection.select import refusals

WIDTH = 100
"""Columns of the map where the terminal has no width."""
MODES = {Runs.WHOLE: "whole", Runs.ROWS: "by rows", Runs.SUMS: "by sums", Runs.INPUT: "handed over"}


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, calibrated=True)
    add_svg(p, "draw the arena over time into this file")
    p.add_argument(
        "--layer",
        metavar="LAYER",
        help="only the kernels of this layer (by name or number), and why each is chosen or not",
    )


def run(arguments: argparse.Namespace) -> int:
    with progress("planning") as say:
        compiled = line.compile(arguments.model, settings(arguments), say=say)
        memory = MemoryMap(compiled.plan)
    write_svg(arguments.svg, lambda: plans.arena(memory, _title(compiled)))
    if arguments.json:
        print_json(describe(compiled, memory))
    elif arguments.layer:
        print(kernels(compiled, arguments.layer))
    else:
        print_text(compiled, memory)
    return 0


def kernels(compiled: Compiled, layer: str) -> str:
    """Every kernel that the core has for a layer: what it costs, or why it does not fit."""
    plan = compiled.plan
    numbered = {str(n): (op, steps[0]) for op, steps in plan.works for n in steps[0].ops}
    numbered |= {steps[0].number: (op, steps[0]) for op, steps in plan.works}
    layers = {number: op.name for number, (op, step) in numbered.items() if number == step.number}
    _, step = numbered[layer if layer in numbered else one_layer(layers, layer, "option layer")]
    offered = [
        (o.family, "chosen: " * o.chosen + o.why, o.cost, o.constants, o.scratch)
        for o in plan.choices.get(step.ops, ())
    ]
    refused = [(r.kernel, f"does not fit: {r.why}", "-", "-", "-") for r in refusals(plan, step)]
    unit = plan.goal.costs.unit
    return table(("kernel", "why", unit, "constants", "working memory"), [*offered, *refused], left=2)


def _title(compiled: Compiled) -> str:
    return f"{Path(compiled.path).name} for {compiled.settings.target.name}"


def describe(compiled: Compiled, memory: MemoryMap) -> dict[str, Any]:
    """The plan as data; docs/compile/planning.md explains the keys."""
    plan = compiled.plan
    costs = compiled.settings.costs
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
                "op": op.kind,
                "name": op.name,
                "kernel": kernel_label(compiled, i),
                "mode": plan.runs(steps),
                "direction": direction(steps),
                "steps": len(steps),
                "macs": op.macs(plan.graph),
                "sums": _sums(plan, steps[0]),
                "bodies": _bodies(op, steps[0]),
                "choice": [asdict(option) for option in plan.choices.get(steps[0].ops, ())],
                "refused": [asdict(refused) for refused in refusals(plan, steps[0])],
                **({"cores": divided(plan, op, steps)} if compiled.settings.cores > 1 else {}),
            }
            for i, (op, steps) in enumerate(plan.works)
        ],
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
        "kept": kept(compiled),
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


def _bodies(op: Op, step: Step) -> list[dict[str, Any]]:
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
                    "bodies": _bodies(inner, steps[0]),
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


def print_text(compiled: Compiled, memory: MemoryMap) -> None:
    plan = compiled.plan
    steps = len(plan.steps)
    print(bold(f"{compiled.path} for {compiled.settings.target.name}"))
    print(f"  RAM:   {plan.ram:,} bytes = arena {plan.arena:,} + static {plan.static:,}{_memories(memory)}")
    print(f"  live:  {memory.peak:,} bytes at most, at {_step(memory.peak_step, steps)}")
    print(bound_line(plan, memory.bound))
    print(f"  steps: {steps:,} of {_modes(compiled)}")
    costs = compiled.settings.costs
    waits = ", waits for constants in flash included" if costs.memory.waits else ""
    print(f"  cost:  about {estimate(costs, plan):,.0f} modelled {costs.unit}, by the table of {costs.core}{waits}")
    for text in traffic_lines(plan):
        print(f"  {text}")
    if compiled.settings.cores > 1:
        print(f"  cores: {two_cores_line(compiled)}")
    print()
    print(_operators(compiled))
    if compiled.settings.cores > 1:
        print()
        print(_on_two_cores(compiled))
    for op, (step, *_) in plan.works:
        for text in _body_lines(_bodies(op, step), f"#{step.number} {op.kind}"):
            print(text)
    print()
    print(_buffers(memory, steps))
    print()
    if plan.graph.states:
        print(_kept(compiled))
        print()
    at = _step(memory.peak_step, steps) + _label(compiled, memory.peak_step)
    print(bold(f"{memory.peak:,} bytes are live at {at}"))
    of = dict(zip(map(id, memory.holdings), letters(memory), strict=True))
    for h, n in memory.held(memory.peak_step):
        print(f"  {n:>9,}  {100 * n / memory.peak:3.0f}%  {of[id(h)]}  {shorten(h.label, 72)}")
    print()
    print(bold("the arena: steps across, bytes down"))
    print(arena_maps(memory, _width()))


def _memories(memory: MemoryMap) -> str:
    """How the arena is spread, where it is."""
    arenas = memory.plan.arenas
    return ": " + ", ".join(f"{n:,} in {memory.name(i)}" for i, n in enumerate(arenas)) if len(arenas) > 1 else ""


def _width() -> int:
    """Columns for the map: the terminal's width, at most WIDTH."""
    return min(WIDTH, os.get_terminal_size().columns) if sys.stdout.isatty() else WIDTH


def _step(step: int, steps: int) -> str:
    return "the start" if step < 0 else "the end" if step >= steps else f"step {step}"


def _label(compiled: Compiled, step: int) -> str:
    return f": {shorten(list(compiled.plan.labels())[step], 72)}" if 0 <= step < len(compiled.plan.steps) else ""


def _modes(compiled: Compiled) -> str:
    modes = [runs for _, steps in compiled.plan.works if (runs := compiled.plan.runs(steps)) is not Runs.INPUT]
    pushed = "; the input is handed over row by row" if compiled.plan.pushed else ""
    counts = ", ".join(f"{modes.count(m)} {text}" for m, text in MODES.items() if m in modes)
    return f"{len(modes)} operators: {counts}{pushed}"


def _operators(compiled: Compiled) -> str:
    names = shortened([op.name for op, _ in compiled.plan.works])
    rows = [
        (
            steps[0].number,
            name,
            op.kind,
            kernel_label(compiled, i),
            _how(compiled.plan.runs(steps), direction(steps)),
            _why(compiled.plan.choices.get(steps[0].ops, ())),
            len(steps),
            *(("", "") if (peak := _peak(compiled.plan, steps[0])) is None else (peak.total, f"{peak.headroom:.1f}")),
        )
        for i, ((op, steps), name) in enumerate(zip(compiled.plan.works, names, strict=True))
    ]
    head = ("#", "operator", "op", "kernel", "runs", "why this kernel", "steps", "largest sum", "spare bits")
    return table(head, rows, left=6)


def _on_two_cores(compiled: Compiled) -> str:
    """How the cores share each operator."""
    plan = compiled.plan
    names = shortened([op.name for op, _ in plan.works])
    rows = [(s[0].number, name, op.kind, divided(plan, op, s)) for (op, s), name in zip(plan.works, names, strict=True)]
    return table(("#", "operator", "op", "on two cores"), rows, left=4)


def _body_lines(bodies: list[dict[str, Any]], inside: str) -> Iterator[str]:
    """Print the bodies of control flow, a line for each."""
    for body in bodies:
        turns = "turns as its condition says" if body["turns"] is None else f"{body['turns']:,} turns"
        kinds = ", ".join(f"{x['op']} ({x['kernel']})" for x in body["operators"]) or "nothing"
        much = f"{turns}, " if body["turns"] != 1 else ""
        yield f"  inside of {inside}, '{shorten(body['name'], 40)}': {much}{body['arena']:,} bytes: {kinds}"
        for x in body["operators"]:
            yield from _body_lines(x["bodies"], f"{inside} > {x['op']}")


def _peak(plan: Plan, step: Step) -> Peak | None:
    """How far the sums of the operators go that a step names."""
    peaks = [plan.graph.peak(plan.graph.ops[i]) for i in step.ops if i >= 0]
    return max((peak for peak in peaks if peak), key=lambda peak: peak.total, default=None)


def _sums(plan: Plan, step: Step) -> dict[str, Any] | None:
    peak = _peak(plan, step)
    return None if peak is None else {"largest": peak.total, "spare_bits": round(peak.headroom, 3), "wrap": peak.wraps}


def _why(choice: tuple[Option, ...]) -> str:
    """The reason for a kernel, and against the next best where there is one that would be faster."""
    if not choice:
        return ""
    chosen, *others = choice
    faster = next((o for o in others if o.cost < chosen.cost), None)
    return chosen.why if faster is None else f"{chosen.why}; {faster.family} {faster.why}"


def _how(runs: Runs, way: str | None) -> str:
    return MODES[runs] if way is None else f"{MODES[runs]}, {way}"


def _kept(compiled: Compiled) -> str:
    states = kept(compiled)
    names = shortened([k["name"] for k in states])
    rows = [(name, *list(k.values())[1:]) for name, k in zip(names, states, strict=True)]
    return table(("kept for the next run", "stored", "rows", "row bytes", "bytes"), rows, left=2)


def kept(compiled: Compiled) -> list[dict[str, Any]]:
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


def _buffers(memory: MemoryMap, steps: int) -> str:
    rows = []
    names = shortened([h.label for h in memory.holdings])
    for letter, name, h in zip(letters(memory), names, memory.holdings, strict=True):
        b = h.buffer
        rows.append(
            (
                letter,
                name,
                "" if b is None else str(b.layout),
                h.stored + (f" in {memory.name(h.memory)}" if len(memory.plan.arenas) > 1 else ""),
                1 if b is None else len(b.offsets),
                h.cells[0].nbytes if b is None else b.row_bytes,
                "start" if h.first < 0 else h.first,
                "end" if h.last >= steps else h.last,
                h.peak,
            )
        )
    head = ("map", "buffer", "layout", "stored", "rows", "row bytes", "from", "to", "live at most")
    return table(head, rows, left=4)

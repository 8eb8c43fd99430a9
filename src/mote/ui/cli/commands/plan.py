"""`mote plan`: the memory plan: which tensor lies where in the tensor arena, and when."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

from mote.base.text import cut, short_names
from mote.bench.memory_plan import MemoryPlan, body_plans, kept_states, peak_of, plan
from mote.bench.pictures.memory import MemoryMap, direction, traffic_lines
from mote.bench.pictures.text import arena_maps, letters
from mote.compiler.compiled import Compiled, kernel_label
from mote.compiler.plan.plan import Option, Plan, Runs
from mote.compiler.plan.selection.cores import divided
from mote.compiler.plan.selection.estimate import estimate
from mote.compiler.plan.selection.external_report import ExternalRegion
from mote.ui.cli.commands.compile import two_cores_line
from mote.ui.cli.common import bold, print_json, progress, show, table
from mote.ui.cli.options.compiling import add_compile_options, settings
from mote.ui.cli.options.drawing import add_picture, write_picture
from mote.ui.cli.table import alias, drop, fold, shorten
from mote.ui.cli.terminal import width

WIDTH = 100
"""The most columns of the map."""
FIT = (
    alias("kernel", 16),
    drop("largest sum"),
    drop("spare bits"),
    drop("op"),
    drop("steps"),
    fold("why this kernel"),
)
"""Columns that a narrow terminal does without, the least important first."""
MODES = {Runs.WHOLE: "whole", Runs.ROWS: "by rows", Runs.SUMS: "by sums", Runs.INPUT: "handed over"}


def add(p: argparse.ArgumentParser) -> None:
    add_compile_options(p, calibrated=True)
    add_picture(p, "the arena over time")
    p.add_argument(
        "--layer",
        metavar="LAYER",
        help="only the kernels of this layer (by name or number), and why each is chosen or not",
    )


def run(arguments: argparse.Namespace) -> int:
    with progress("planning") as say:
        made = plan(arguments.model, settings(arguments), say=say)
    write_picture(arguments.picture, made.svg)
    if arguments.json:
        print_json(made.json())
    elif arguments.layer:
        print_kernels(made, arguments.layer)
    else:
        print_text(made.compiled, made.memory, made.regions)
    return 0


def print_kernels(made: MemoryPlan, layer: str) -> None:
    """Print every kernel that the core has for a layer: what it costs, or why it does not fit."""
    options = made.kernels(layer)
    offered = [
        (o.kernel, "chosen: " * o.chosen + o.why, o.cost, o.constants, o.scratch) for o in options if o.cost is not None
    ]
    head = ("kernel", "why", made.compiled.plan.goal.costs.unit, "constants", "working memory")
    print(table(head, offered, left=2, fit=(fold("why"),)))
    refused: dict[str, list[str]] = {}
    for o in options:
        if o.cost is None:
            refused.setdefault(o.why, []).append(o.kernel)
    if refused:
        show(bold("do not fit"))
    for why, names in refused.items():
        show(f"  {why}: {', '.join(names)}", 4)


def print_text(compiled: Compiled, memory: MemoryMap, regions: Sequence[ExternalRegion] = ()) -> None:
    plan = compiled.plan
    steps = len(plan.steps)
    show(bold(f"{compiled.path} for {compiled.settings.target.name}"))
    show(f"  RAM:   {plan.ram:,} bytes = arena {plan.arena:,} + static {plan.static:,}{_memories(memory)}")
    show(f"  live:  {memory.peak:,} bytes at most, at {_step(memory.peak_step, steps)}")
    show(_bound_line(plan, memory.bound))
    show(f"  steps: {steps:,} of {_modes(compiled)}")
    costs = compiled.costs
    waits = ", waits for constants in flash included" if costs.memory.waits else ""
    show(f"  cost:  about {estimate(costs, plan):,.0f} modelled {costs.unit}, by the table of {costs.core}{waits}")
    for text in traffic_lines(plan):
        show(f"  {text}")
    if compiled.settings.cores > 1:
        show(f"  cores: {two_cores_line(compiled)}")
    show()
    print(_operators(compiled))
    if regions:
        show()
        show(bold("backends"))
    for region in regions:
        show(f"  {_region_line(region, costs.unit)}", 4)
    if compiled.settings.cores > 1:
        show()
        print(_on_two_cores(compiled))
    for op, (step, *_) in plan.works:
        for text in _body_lines(body_plans(op, step), f"#{plan.number(step)} {op.kind}"):
            show(text)
    show()
    print(_buffers(memory, steps))
    show()
    if plan.graph.states:
        print(_kept(compiled))
        show()
    at = _step(memory.peak_step, steps) + _label(compiled, memory.peak_step)
    show(bold(f"{memory.peak:,} bytes are live at {at}"))
    of = dict(zip(map(id, memory.holdings), letters(memory), strict=True))
    for h, n in memory.held(memory.peak_step):
        show(f"  {n:>9,}  {100 * n / memory.peak:3.0f}%  {of[id(h)]}  {h.short_label}")
    show()
    show(bold("the arena: steps across, bytes down"))
    print(arena_maps(memory, min(WIDTH, width())))


def _region_line(region: ExternalRegion, unit: str) -> str:
    """Who computes a region, what that costs, and why."""
    variant = f"[variant={region.variant}]" if region.variant else ""
    own = f", Mote {region.own_cost:,}" if region.own_cost is not None else ""
    costs = f"{region.cost:,} {unit}{own}, {region.ram:,} bytes of RAM: " if region.cost is not None else ""
    verb = "computes" if region.taken else "does not compute"
    return f"{region.backend}{variant} {verb} layer {layer_ranges(region.layers)}: {costs}{region.why}"


def layer_ranges(layers: Sequence[str]) -> str:
    """Numbers of layers, those that follow one another as ranges: 0-3+5."""
    parts: list[list[str]] = []
    for layer in layers:
        follows = bool(parts) and layer.isdigit() and parts[-1][-1].isdigit() and int(layer) == int(parts[-1][-1]) + 1
        if follows:
            parts[-1].append(layer)
        else:
            parts.append([layer])
    return "+".join(part[0] if len(part) == 1 else f"{part[0]}-{part[-1]}" for part in parts)


def _memories(memory: MemoryMap) -> str:
    """How the arena is spread, where it is."""
    arenas = memory.plan.arenas
    return ": " + ", ".join(f"{n:,} in {memory.name(i)}" for i, n in enumerate(arenas)) if len(arenas) > 1 else ""


def _step(step: int, steps: int) -> str:
    return "the start" if step < 0 else "the end" if step >= steps else f"step {step}"


def _label(compiled: Compiled, step: int) -> str:
    return f": {list(compiled.plan.labels())[step]}" if 0 <= step < len(compiled.plan.steps) else ""


def _modes(compiled: Compiled) -> str:
    modes = [runs for _, steps in compiled.plan.works if (runs := compiled.plan.runs(steps)) is not Runs.INPUT]
    pushed = "; the input is handed over row by row" if compiled.plan.pushed else ""
    counts = ", ".join(f"{modes.count(m)} {text}" for m, text in MODES.items() if m in modes)
    return f"{len(modes)} operators: {counts}{pushed}"


def _operators(compiled: Compiled) -> str:
    plan = compiled.plan
    rows = [
        (
            plan.number(steps[0]),
            plan.graph.short_name(op),
            op.kind,
            kernel_label(compiled, i),
            _how(compiled.plan.runs(steps), direction(steps)),
            _why(compiled.plan.choices.get(steps[0].ops, ())),
            len(steps),
            *(("", "") if (peak := peak_of(compiled.plan, steps[0])) is None else (peak.total, f"{peak.headroom:.1f}")),
        )
        for i, (op, steps) in enumerate(compiled.plan.works)
    ]
    head = ("#", "layer", "op", "kernel", "runs", "why this kernel", "steps", "largest sum", "spare bits")
    return table(head, rows, left=6, fit=FIT)


def _on_two_cores(compiled: Compiled) -> str:
    """How the cores share each operator."""
    plan = compiled.plan
    rows = [(plan.number(s[0]), plan.graph.short_name(op), op.kind, divided(plan, op, s)) for op, s in plan.works]
    return table(("#", "layer", "op", "on two cores"), rows, left=4, fit=(fold("on two cores"),))


def _body_lines(bodies: list[dict[str, Any]], inside: str) -> Iterator[str]:
    """Print the bodies of control flow, a line for each."""
    for body in bodies:
        turns = "turns as its condition says" if body["turns"] is None else f"{body['turns']:,} turns"
        kinds = ", ".join(f"{x['op']} ({x['kernel']})" for x in body["operators"]) or "nothing"
        much = f"{turns}, " if body["turns"] != 1 else ""
        yield f"  inside of {inside}, '{cut(body['name'], 40)}': {much}{body['arena']:,} bytes: {kinds}"
        for x in body["operators"]:
            yield from _body_lines(x["bodies"], f"{inside} > {x['op']}")


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
    states = kept_states(compiled)
    names = short_names([k["name"] for k in states], 36)
    rows = [(name, *list(k.values())[1:]) for name, k in zip(names, states, strict=True)]
    head = ("kept for the next run", "stored", "rows", "row bytes", "bytes")
    return table(head, rows, left=2, fit=(shorten(head[0], 20),))


def _buffers(memory: MemoryMap, steps: int) -> str:
    rows = []
    for letter, h in zip(letters(memory), memory.holdings, strict=True):
        b = h.buffer
        rows.append(
            (
                letter,
                h.short_label,
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
    return table(head, rows, left=4, fit=(drop("layout"), drop("rows"), drop("row bytes"), shorten("buffer", 16)))


def _bound_line(plan: Plan, bound: int) -> str:
    """The lower bound of the arena over all plans, and how far the arena is above it."""
    over = plan.arena - bound
    more = f"{over:,} ({100 * over / max(1, bound):.1f}%) more" if over > 0 else "just that"
    return f"  bound: {bound:,} bytes: no schedule of the model's rows takes less; the arena takes {more}"

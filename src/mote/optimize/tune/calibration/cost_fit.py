"""Fits kernel cost tables of a core to measured layers.

Layers of many shapes (`cost_layers`) are computed by every applicable kernel: whole, by rows, and by groups of rows.
`mote.compiler.kernels.cost.features` counts the work of a kernel; this module fits cycles per unit of work, assuming
zero-wait memory. The table also holds the bytes of constants that are read, on which parts with slow flash wait."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import mean, median
from typing import NamedTuple

import numpy as np

from mote.base.errors import MoteError
from mote.bench.measure.least_squares import non_negative
from mote.bench.measure.profiler.costs import steps
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.project import Job, generate
from mote.compiler.kernels import cost
from mote.compiler.kernels.catalogue import KERNELS
from mote.compiler.kernels.contract import NHWC, OTHER, OTHER_F32, OTHER_S16, Call, Layout, Packed
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.memory.layout import arrange
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.scheduling.directed_plans import UNLIMITED
from mote.compiler.plan.scheduling.rows import build, operator
from mote.compiler.plan.scheduling.schedule import Run, Schedule
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.config import ROOMY
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import Selection
from mote.compiler.prepared_graph import unchanged
from mote.compiler.settings import Settings, make_settings
from mote.frontends import Format, Source
from mote.hardware.targets import Target
from mote.ir.graph import Graph
from mote.ir.graph.region import Numbers
from mote.ir.ops.control.state import SlidingWindow
from mote.optimize.tune.calibration.cost_layers import (
    SMALL_WINDOWS,
    WINDOWS,
    CostLayer,
    graph_of,
    models,
    preprocessing_graphs,
    small,
    streamed,
)

DIGITS = 3
"""Significant digits of a cost in the table."""
UNIT = "cycles"
SMALL = 3000
"""Cycles added to the denominator of relative errors, so that small layers weigh less."""
ROUGH = ("product", "output", "input")
"""Work features for families without alternatives, for which a rough fit suffices."""
FEW, FINE = 10, ("row", "call", "rest", "edge")
"""With fewer than FEW layers the FINE work features are not fitted, if the family has no alternatives."""
MORE = ("output", "pixel", "call")
"""Work features of extra work fused into a kernel of another family."""
CODED = ("symbol", "expanded")
"""Work features of decompressing weights."""
EVERY = 3
"""By default every third of the layers that have several kernels is measured."""

CostTable = dict[str, dict[str, float]]


@dataclass(frozen=True)
class CostCore:
    """A core whose kernels are measured; `step_costs` measures a compiled plan."""

    name: str
    only: frozenset[str] = frozenset()
    """Kernel families to measure; empty for all."""
    level: str = "balanced"
    """Optimization policy whose C compiler flags are measured."""

    @cached_property
    def settings(self) -> Settings:
        return make_settings(self.name, optimize=self.level)

    @cached_property
    def how(self) -> Lowering:
        """Lowering options with the policy `size`, under which no kernel is excluded."""
        target = self.settings.target
        return Lowering(target.features, Policy.SIZE, copied=target.core.flash_apart)

    def kernels(self, graph: Graph) -> dict[Numbers, list[Packed]]:
        return ops_of(graph, self.how)

    def wanted(self, kernels: Iterable[Packed]) -> list[Packed]:
        """Kernels of the families to measure, without fused kernels whose cost is the sum of their parts."""
        return [k for k in kernels if not k.price.parts and (not self.only or families_of(k)[0] in self.only)]

    def pick(self, kernels: Sequence[Packed], n: int, whole: bool) -> Packed:
        """The nth kernel to measure that can run whole or by rows as requested, or the last one if there are fewer."""
        able = [k for k in kernels if not whole or k.entry.call is not Call.ADDS]
        wanted = self.wanted(able) or able
        return wanted[min(n, len(wanted) - 1)]

    def run(self, graph: Graph, kernels: Mapping[Numbers, Packed], whole: bool) -> list[StepCost]:
        """Measured cost of each step when a graph runs with these kernels, one operator after another."""
        plan = plan_of(graph, kernels, whole, self.how)
        target = self.settings.target
        options = ProjectOptions("layers", target=target.name, flash_apart=target.core.flash_apart)
        job = Job(plan, options)
        source = Source("layers", Format.TFLITE, b"")
        of = unchanged(graph), plan, job.program, generate(job)
        return self.step_costs(Compiled(*of, self.settings, "layers", source))

    def step_costs(self, compiled: Compiled) -> list[StepCost]:
        """Cost of each step of a plan on the emulated core, without memory waits."""
        (costs,) = steps(compiled)
        return [StepCost(each.cycles - each.waits.code - each.waits.constants, each.waits.loaded) for each in costs]


class StepCost(NamedTuple):
    """Measured cost of a step: cycles and bytes of constants read."""

    cycles: int
    read: int
    """Bytes of constants that the step reads."""


class CostSample(NamedTuple):
    """A measured layer with the work features of its kernel."""

    family: str
    beside: tuple[str, ...]
    """Families of extra work fused into the kernel, if any."""
    layer: str
    kernel: str
    rows: int
    """Rows per call; 0 if the layer runs whole."""
    features: dict[str, float]
    cycles: int
    read: int = 0
    """Bytes of constants that the layer reads."""
    alone: bool = False
    """Whether the kernel has no alternative for this layer."""


class CostTables(NamedTuple):
    """Fitted costs by kernel family and work feature."""

    cycles: CostTable
    reads: CostTable
    levels: CostTable
    """Factors on cycles of families compiled with other optimization policies."""


def layers_of(core: CostCore, every: int) -> list[list[CostLayer]]:
    """The layers to measure on a core, grouped into models."""
    target = core.settings.target
    return small() if target.core.flash_apart else models(every, "mve" in target.features)


def usable(target: Target) -> set[str]:
    """Cost families of the single-operator kernels available on a target."""
    kernels = [k for k in KERNELS if k.on(target.features) and len(k.computes) == 1]
    return {k.costs or k.name for k in kernels}


def known(core: CostCore) -> CostTables:
    """The cost tables that a core already has."""
    costs = core.settings.costs
    if costs.unit != UNIT:
        raise MoteError(f"the table of {core.name} has {costs.unit}", remedy="fit all of it")
    sections = costs.families, costs.reads, costs.levels
    return CostTables(*({family: dict(c) for family, c in gathered.items()} for gathered in sections))


def known_levels(core: CostCore) -> CostTable:
    return {policy: dict(factors) for policy, factors in core.settings.costs.levels.items()}


def keep(core: CostCore, tables: CostTables) -> None:
    """Adds known costs (of this core, else of a Cortex-M4) for kernel families that are never the best choice on the
    core, so that no layer measured them."""
    own, other = core.settings.costs, cost.load(cost.USUAL)
    for family in usable(core.settings.target) - set(tables.cycles):
        costs = own if own.unit == UNIT and family in own.families else other
        if family in costs.families:
            tables.cycles[family] = dict(costs.families[family])
            tables.reads[family] = dict(costs.reads.get(family, {}))


def measure_model(core: CostCore, part: Sequence[CostLayer]) -> list[CostSample]:
    """Measures the layers of one model with each of their kernels: whole, by rows, and by groups of rows."""
    gathered = []
    choices = [max(len(core.wanted(kernels)) for kernels in core.kernels(graph_of([layer])).values()) for layer in part]
    for n in range(max(choices)):
        graph = graph_of([layer for layer, count in zip(part, choices, strict=True) if n < count])
        variants = core.kernels(graph)
        for whole, grouped in ((True, True), (False, True), (False, False)):
            picked = {ops: core.pick(kernels, n, whole) for ops, kernels in variants.items()}
            if not grouped:
                picked = {ops: _row_by_row(k) for ops, k in picked.items()}
            for (ops, kernel), taken in zip(picked.items(), core.run(graph, picked, whole), strict=True):
                if core.wanted([kernel]):
                    op, rows = (
                        operator(graph, ops),
                        0 if whole or kernel.entry.call is Call.WHOLE else kernel.entry.group,
                    )
                    others = [k for k in variants[ops] if k.price.coding is None and not k.needs.sums]
                    alone = kernel.entry.call is Call.ADDS or len(others) == 1
                    features = cost.features(graph, op, kernel, not rows)
                    families = families_of(kernel)
                    named = (families[0], families[1:], op.name, kernel.name, rows)
                    gathered.append(CostSample(*named, features, *taken, alone))
    return gathered


def families_of(kernel: Packed) -> tuple[str, ...]:
    """Cost families of a kernel; measurements are attributed to the first one. Fused extra work and weight
    decompression are families of their own."""
    expands = kernel.price.coding is not None and kernel.price.coding.expanded > 0
    return tuple(filter(None, (cost.CODED if expands else "", kernel.price.more, kernel.price.costs)))


def _row_by_row(kernel: Packed) -> Packed:
    """The kernel with one row per call, if it can compute single rows."""
    return replace(kernel, entry=replace(kernel.entry, group=1)) if kernel.price.tile[0] == 1 else kernel


def ops_of(graph: Graph, lowering: Lowering) -> dict[Numbers, list[Packed]]:
    """Kernels of every operator, including those that accumulate row by row. Operators of a fused region are one entry,
    if some fused kernel's cost is not just the sum of its parts."""
    candidates, layouts = Candidates(graph), layouts_of(graph, lowering)
    pieces: dict[int, Numbers] = {n: (n,) for n in range(len(graph.ops))}
    for region in candidates.regions(lowering):
        able = any(not kernel.price.parts for kernel in candidates.kernels(region, lowering))
        if able and all(pieces[n] == (n,) for n in region):
            pieces |= dict.fromkeys(region, region)
    gathered = {}
    for ops in (ops for n, ops in pieces.items() if n == ops[-1]):
        op = candidates.op(ops)
        reads, writes = (layouts.get(t, NHWC) for t in (op.inputs[0], op.outputs[0]))
        how = replace(lowering, reads=reads, writes=writes, coded=True)
        adding = candidates.accumulating(ops, how)
        gathered[ops] = [*candidates.kernels(ops, how), *([] if adding is None else [adding])]
    return gathered


class SingleCandidates(Candidates):
    """Candidate kernels without fused regions, since costs must be known before fusion can be judged."""

    def regions(self, how: Lowering) -> list[Numbers]:
        return []


def layouts_of(graph: Graph, how: Lowering) -> dict[int, Layout]:
    return Selection(SingleCandidates(graph), how, Goal(), ROOMY).layouts


def plan_of(graph: Graph, kernel: Mapping[Numbers, Packed], whole: bool, how: Lowering) -> Plan:
    """A plan that runs the operators one after another with these kernels, whole or by rows."""
    rows = build(
        graph, tuple(kernel), lambda ops: kernel[ops], lambda ops: kernel[ops], layouts_of(graph, how), most=UNLIMITED
    )
    runs = [
        Run(node, whole or not work.splits)
        for work in rows.works
        for node in ([work.whole] if whole and work.whole else work.by_rows)
    ]
    return arrange(rows, Schedule(tuple(runs), 0), lambda ops, _: kernel[ops], how, Goal()).plan


def fit(samples: Sequence[CostSample], known: CostTables) -> CostTables:
    """Non-negative least-squares fit of relative errors; families without samples keep their `known` costs."""
    gathered = families(samples)
    cycles, reads = (
        {family: costs for family, costs in table.items() if family not in gathered}
        for table in (known.cycles, known.reads)
    )
    if cost.BY_ROWS not in cycles:
        cycles[cost.BY_ROWS] = {"row": rounded(by_rows(samples))}
    for family in sorted(gathered, key=lambda name: (name == cost.CODED, bool(gathered[name][0].beside))):
        own = gathered[family]
        names = CODED if family == cost.CODED else _names(family, own)
        cycles[family] = _costs(cycles, own, names, [s.cycles for s in own])
        reads[family] = _costs({**reads, cost.BY_ROWS: {}}, own, names, [s.read for s in own])
    known_reads = {family: costs for family, costs in sorted(reads.items()) if costs}
    return CostTables(dict(sorted(cycles.items())), known_reads, known.levels)


def _names(family: str, samples: Sequence[CostSample]) -> tuple[str, ...]:
    """Work features to fit for a family, limited by what its samples can distinguish."""
    if family in (OTHER, OTHER_S16, OTHER_F32):
        return ROUGH
    if samples[0].beside:
        return MORE
    names = dict.fromkeys(name for s in samples for name in s.features)
    few = samples[0].alone and len({s.layer for s in samples}) < FEW
    return tuple(name for name in names if not few or name not in FINE)


def _costs(
    table: CostTable, samples: Sequence[CostSample], names: Sequence[str], amount: Sequence[int]
) -> dict[str, float]:
    """Fits costs of the named work features to an amount (cycles or bytes) per sample, after subtracting what `table`
    already predicts."""
    taken = np.array(amount)
    weight = 1 / (taken + SMALL)
    amounts = np.array([[s.features.get(name, 0.0) for name in names] for s in samples])
    costs = non_negative(amounts * weight[:, None], (taken - [predicted(table, s) for s in samples]) * weight)
    return {name: rounded(c) for name, c in zip(names, costs, strict=True) if rounded(c) > 0}


def sliding(core: CostCore) -> dict[str, float]:
    """Cost of moving a sliding window in memory: per call and per byte."""
    graph = streamed(SMALL_WINDOWS if core.settings.target.core.flash_apart else WINDOWS)
    kernels = {ops: kernels[0] for ops, kernels in core.kernels(graph).items()}
    gathered = zip(graph.ops, core.run(graph, kernels, True), strict=True)
    windows = [(op.output(graph).nbytes, taken.cycles) for op, taken in gathered if isinstance(op, SlidingWindow)]
    amounts, taken = np.array([[nbytes, 1.0] for nbytes, _ in windows]), np.array([taken for _, taken in windows])
    byte, call = non_negative(amounts / taken[:, None], np.ones(len(windows)))
    return {"byte": rounded(byte), "call": rounded(call)}


def signals(core: CostCore) -> dict[str, float]:
    """Median ratio of preprocessing cycles to those of a Cortex-M4."""
    ratios = []
    for graph in preprocessing_graphs():
        kernels = {ops: kernels[0] for ops, kernels in core.kernels(graph).items()}
        each = zip(kernels.values(), core.run(graph, kernels, True), strict=True)
        ratios += [taken.cycles / kernel.price.work for kernel, taken in each if kernel.price.work]
    return {"work": rounded(median(ratios))}


def by_rows(samples: Sequence[CostSample]) -> float:
    """Overhead in cycles per row when an operator runs by rows instead of whole with the same kernel."""
    whole = {(s.layer, s.kernel): s for s in samples if not s.rows}
    gathered = []
    for s in samples:
        other = whole.get((s.layer, s.kernel))
        if s.rows == 1 and s.features["row"] > 1 and other is not None and other.features == s.features:
            gathered.append((s.cycles - other.cycles) / s.features["row"])
    return median(gathered)


def families(samples: Sequence[CostSample]) -> dict[str, list[CostSample]]:
    """Samples by kernel family."""
    gathered: dict[str, list[CostSample]] = defaultdict(list)
    for sample in samples:
        gathered[sample.family].append(sample)
    return gathered


def rounded(value: float) -> float:
    """Rounds a cost to the table's number of digits."""
    return float(f"{value:.{DIGITS}g}")


def predicted(table: CostTable, sample: CostSample) -> float:
    """Predicted cost of a layer; families missing in the table count as zero."""
    parts = [table.get(family, {}) for family in (sample.family, *sample.beside)]
    total = sum(part.get(name, 0.0) * amount for part in parts for name, amount in sample.features.items())
    return total + (sample.features["row"] * table[cost.BY_ROWS].get("row", 0.0) if sample.rows else 0.0)


def report(table: CostTable, samples: Sequence[CostSample], worst: int) -> list[str]:
    """Text lines of errors and costs by family, with the `worst` predictions of each."""
    row = table[cost.BY_ROWS]["row"]
    slide = table[cost.SLIDE]["byte"]
    lines = [
        f"{len(samples)} layers; {row:g} for a row by rows, {slide:g} for a byte of a window that slides",
        f"{'family':<28} layers   mean  worst  costs",
    ]
    for family, gathered in sorted(families(samples).items()):
        errors = [predicted(table, s) / s.cycles - 1 for s in gathered]
        costs = ", ".join(f"{name} {value:g}" for name, value in table[family].items())
        largest = max(map(abs, errors))
        lines.append(f"{family:<28} {len(gathered):6} {mean(map(abs, errors)):6.1%} {largest:6.1%}  {costs}")
        ranked = sorted(zip(errors, gathered, strict=True), key=lambda e: -abs(e[0]))
        for error, s in ranked[:worst]:
            how = f"{s.rows} rows at once" if s.rows else "whole"
            lines.append(f"    {error:+6.1%} of {s.cycles:,}: {s.layer}, {s.kernel}, {how}")
    return lines


def merged(samples: Iterable[CostSample]) -> list[CostSample]:
    """Samples in a fixed order; of repeated measurements of a layer and kernel the slowest counts, as some kernels are
    faster if a model calls them only once."""
    most: dict[str, CostSample] = {}
    for sample in samples:
        key = str(sample[:6])
        most[key] = max(sample, most.get(key, sample), key=lambda each: each.cycles)
    return [most[key] for key in sorted(most)]


def table_text(tables: CostTables, measured: str) -> str:
    """Cost tables as JSON text with a line per family, for readable diffs."""
    head = f'  "unit": "{UNIT}",\n  "measured": {json.dumps(measured)},\n'
    body = f'  "families": {_lines(tables.cycles)},\n  "reads": {_lines(tables.reads)}'
    body += f',\n  "levels": {_lines(tables.levels)}\n' if tables.levels else "\n"
    return f"{{\n{head}{body}}}\n"


def _lines(table: CostTable) -> str:
    rows = ",\n".join(f"    {json.dumps(family)}: {json.dumps(costs)}" for family, costs in sorted(table.items()))
    return f"{{\n{rows}\n  }}"

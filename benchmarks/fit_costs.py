"""Fits what kernels cost on a core, src/mote/kernels/costs/CORE.json, to layers that are run in the emulator.

    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4              # how well costs are described
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --update     # the same, and write the table
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core all --update --jobs 16 # the tables of all cores
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --only depthwise3 conv2d --update
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --worst 5    # with the worst layers
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --level size --update  # built with -Os
    PYTHONPATH=src:models python benchmarks/fit_costs.py --check                       # estimates of whole models

Layers of many shapes (cost_layers.py) are computed by every kernel that can compute them, whole, by rows, and by groups
of rows, on the emulated core; the cycle model of `mote profile` says what each took, in memory that answers at once.
`mote.kernels.cost.features` says what takes time there, this how much. `--only` measures the kernels of some families
and keeps what the table says of all others. `--level size` builds layers with the compiler's optimization for that
policy, and fits how many times as long each family takes. `--core native` measures the time that steps take on this
computer, the shortest of several, one layer after another (`--jobs 1`). Beside cycles the table says how many bytes of
constants are read, which is what parts with slow flash wait for. All cores take about ten minutes on two processors.
With `--cache FOLDER` no layer is run a second time, so that several machines can measure, each with `--part I/N`,
before one of them fits the table to what is in all their caches.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import Pool
from multiprocessing.pool import Pool as Workers
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

import mlperf_tiny
from cost_layers import SMALL_WINDOWS, WINDOWS, Layer, graph_of, models, preprocessing_graphs, small, streamed
from host_steps import times
from mote import compile, cores, profile, toolchain
from mote.compiler.compiled import Compiled
from mote.compiler.settings import Settings, make_settings
from mote.emit.c.options import ProjectOptions
from mote.emit.c.project import Job, Project, generate
from mote.errors import MoteError
from mote.frontends import Format, Source
from mote.graph import Graph
from mote.graph.region import Numbers
from mote.kernels import cost
from mote.kernels.catalogue import KERNELS
from mote.kernels.contract import NHWC, OTHER, OTHER_F32, OTHER_S16, SIGNAL, Call, Layout, Packed
from mote.measure.least_squares import non_negative
from mote.measure.profiler import instructions
from mote.measure.profiler.costs import steps
from mote.ops.control.state import SlidingWindow
from mote.plan.goal import Goal
from mote.plan.memory.layout import arrange
from mote.plan.plan import Plan
from mote.plan.scheduling.rows import build, operator
from mote.plan.scheduling.schedule import Run, Schedule
from mote.plan.scheduling.strategies import UNLIMITED
from mote.plan.selection.estimate import estimate
from mote.plan.selection.request import Lowering, Policy
from mote.plan.selection.select import ROOMY, Offers, Selection
from mote.targets import Target

DIGITS = 3
"""Significant digits of a cost."""
UNIT = "cycles"
NANOSECONDS = ", cycles of 1 GHz"
"""On this computer time is measured: the table `native` has nanoseconds."""
SMALL = 3000
"""Cycles: errors of layers that take few more do not count as much."""
ROUGH = ("product", "output", "input")
"""The features of kernels that nothing has to choose between."""
FEW, FINE = 10, ("row", "call", "rest", "edge")
"""Layers that are too few to tell these features from others, where nothing is to be chosen by them."""
MORE = ("output", "pixel", "call")
"""What is done beside what another family is known to take."""
CODED = ("symbol", "expanded")
"""What is done to expand weights."""

TABLES = Path(cost.__file__).with_name("costs")
FOLDER = Path(__file__).parent.parent / "models"
BUNDLED = ("digits", "keywords")

Table = dict[str, dict[str, float]]
EVERY = 3
"""Of the layers that several kernels can compute every third tells enough."""


@dataclass(frozen=True)
class Core:
    """An emulated core, with all kernels that it can use."""

    name: str
    cache: Path | None = None
    """The folder that remembers what was measured."""
    only: frozenset[str] = frozenset()
    """The families that are measured; none named: all."""
    level: str = "balanced"
    """The policy whose optimization of the C compiler is measured."""

    @cached_property
    def settings(self) -> Settings:
        return make_settings(self.name, optimize=self.level)

    @cached_property
    def how(self) -> Lowering:
        """For size no kernel is left out."""
        target = self.settings.target
        return Lowering(target.features, Policy.SIZE, copied=target.core.flash_apart)

    def kernels(self, graph: Graph) -> dict[Numbers, list[Packed]]:
        return ops_of(graph, self.how)

    def wanted(self, kernels: Iterable[Packed]) -> list[Packed]:
        """Those of the families that are measured; what costs as much as its parts do is not."""
        return [k for k in kernels if not k.price.parts and (not self.only or families_of(k)[0] in self.only)]

    def pick(self, kernels: Sequence[Packed], n: int, whole: bool) -> Packed:
        """The nth that is wanted and can be run so, or another one where there are not so many."""
        able = [k for k in kernels if not whole or k.entry.call is not Call.ADDS]
        found = self.wanted(able) or able
        return found[min(n, len(found) - 1)]

    def run(self, graph: Graph, kernels: Mapping[Numbers, Packed], whole: bool) -> list[Taken]:
        """What each kernel takes."""
        plan = plan_of(graph, kernels, whole, self.how)
        target = self.settings.target
        options = ProjectOptions("layers", target=target.name, flash_apart=target.core.flash_apart)
        project = generate(Job(plan, options))
        known = None if self.cache is None else self.cache / f"{self.settings.target.name}-{self._digest(project)}.json"
        if known is not None and known.exists():
            return [Taken(*each) for each in json.loads(known.read_text())]
        compiled = Compiled(graph, plan, (), project, self.settings, "layers", Source("layers", Format.TFLITE, b""))
        if self.settings.target.is_host:
            taken = [Taken(nanoseconds, 0) for nanoseconds in times(compiled)]
        else:
            (found,) = steps(compiled)
            taken = [Taken(cost.cycles, cost.waits.loaded) for cost in found]
        if known is not None:
            known.write_text(json.dumps(taken))
        return taken

    def _digest(self, project: Project) -> str:
        """A name for what is measured: by what is compiled, how, and what counts the cycles."""
        target = self.settings.target
        sources = [Path(instructions.__file__), *sorted(Path(cores.__file__).parent.rglob("*.py"))]
        model = [path.read_text(encoding="utf-8") for path in sources]
        files = {name: project.files[name] for name in sorted(project.files)}
        text = json.dumps([files, self.level, target.gcc_flags, toolchain.find_compiler(target).version, model])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


class Taken(NamedTuple):
    """What a step took."""

    cycles: int
    read: int
    """Bytes of constants that it loaded."""


class Sample(NamedTuple):
    """What a layer took."""

    family: str
    beside: tuple[str, ...]
    """The families of what else was computed, if any."""
    layer: str
    kernel: str
    rows: int
    """That are computed at once: 0 where it runs whole."""
    features: dict[str, float]
    cycles: int
    read: int = 0
    """Bytes of constants that were loaded."""
    alone: bool = False
    """No other kernel can compute it in the same way."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("--core", nargs="+", help="the targets whose kernels are measured; 'all' that have tables")
    what.add_argument("--check", nargs="*", metavar="CORE", help="compare estimates of models with the emulator")
    p.add_argument("--update", action="store_true", help="write the tables")
    p.add_argument("--only", nargs="+", metavar="FAMILY", help="measure kernels of these families, keep other costs")
    p.add_argument("--level", default="balanced", choices=("balanced", "size"), help="how the C compiler optimizes")
    p.add_argument("--worst", type=int, default=0, metavar="N", help="show the N worst layers of each family")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many layers are measured at once")
    p.add_argument("--cache", type=Path, help="a folder that remembers what was measured")
    p.add_argument(
        "--every", type=int, default=EVERY, metavar="N", help="measure every Nth of the layers with a choice"
    )
    p.add_argument("--part", type=_part, metavar="I/N", help="measure a part of the layers into the cache, fit nothing")
    arguments = p.parse_args()
    with Pool(arguments.jobs) as pool, TemporaryDirectory(prefix="mote-") as folder:
        if arguments.check is not None:
            for line in check(arguments.check or cost.tables(), pool):
                print(line, flush=True)
            return
        cache = arguments.cache or Path(folder)
        cache.mkdir(parents=True, exist_ok=True)
        names = cost.tables() if arguments.core == ["all"] else arguments.core
        only = frozenset(arguments.only or ())
        cores = [Core(name, cache, only, arguments.level) for name in names]
        first, step = arguments.part or (0, 1)
        measured = [measure([core], pool, layers_of(core, arguments.every)[first::step])[0] for core in cores]
        if arguments.part:
            return
        for core, samples in zip(cores, measured, strict=True):
            if arguments.level != "balanced":
                tables = slower(core, samples)
                print(f"{core.name}: {tables.levels[core.level]}", flush=True)
                if arguments.update:
                    write(core, tables)
                continue
            tables = fit(samples, known(core) if only else Tables({}, {}, known_levels(core)))
            if not only or SIGNAL in only:
                tables.cycles[SIGNAL] = signals(core)
            if not only:
                tables.cycles[cost.SLIDE] = sliding(core)
                keep(core, tables)
            print(f"{core.name}:", *report(tables.cycles, samples, arguments.worst), sep="\n", flush=True)
            if arguments.update:
                write(core, tables)


def layers_of(core: Core, every: int) -> list[list[Layer]]:
    """The layers that a core is measured with."""
    target = core.settings.target
    return small() if target.core.flash_apart else models(every, "mve" in target.features)


def _part(text: str) -> tuple[int, int]:
    """I/N: every Nth model of layers, from number I on."""
    first, count = map(int, text.split("/"))
    if not 0 <= first < count:
        raise ValueError
    return first, count


class Tables(NamedTuple):
    """Cycles, and bytes of constants that are read, of each feature of each family."""

    cycles: Table
    reads: Table
    levels: Table
    """How many times as long families take that are built for other policies."""


def slower(core: Core, samples: Sequence[Sample]) -> Tables:
    """What the tables of a core say already, and how many times as long the families of samples take that were built
    with the compiler's optimization for another policy."""
    tables = known(core)
    ratios = defaultdict(list)
    for sample in samples:
        if not sample.beside:
            ratios[sample.family].append(sample.cycles / predicted(tables.cycles, sample))
    factors = {family: _rounded(median(found)) for family, found in ratios.items()}
    own = tables.levels.get(core.level, {})
    return tables._replace(levels=tables.levels | {core.level: dict(sorted((own | factors).items()))})


def known_levels(core: Core) -> Table:
    return {policy: dict(factors) for policy, factors in core.settings.costs.levels.items()}


def known(core: Core) -> Tables:
    """What the tables of a core say already."""
    costs = core.settings.costs
    if costs.unit != UNIT:
        raise SystemExit(f"the table of {core.name} has {costs.unit}: fit all of it")
    sections = costs.families, costs.reads, costs.levels
    return Tables(*({family: dict(c) for family, c in found.items()} for found in sections))


def usable(target: Target) -> set[str]:
    """The families of the kernels that a core could use, but for those of several operators."""
    kernels = [k for k in KERNELS if k.on(target.features) and len(k.computes) == 1]
    return {k.costs or k.name for k in kernels}


def keep(core: Core, tables: Tables) -> None:
    """Costs of kernels that no layer has on a core, because it has better ones for all of them: those that are known,
    or those of a Cortex-M4."""
    own, other = core.settings.costs, cost.load(cost.USUAL)
    for family in usable(core.settings.target) - set(tables.cycles):
        costs = own if own.unit == UNIT and family in own.families else other
        if family in costs.families:
            tables.cycles[family] = dict(costs.families[family])
            tables.reads[family] = dict(costs.reads.get(family, {}))


def write(core: Core, tables: Tables) -> None:
    """One line for each family, so that a difference can be read."""
    target = core.settings.target
    tools = (toolchain.find_compiler(target), toolchain.find_emulator(target))
    said = ", ".join(f"{tool.kind} {tool.version}".strip() for tool in tools)
    measured = said + (NANOSECONDS if target.is_host else "")
    head = f'  "unit": "{UNIT}",\n  "measured": {json.dumps(measured)},\n'
    levels = tables.levels
    body = f'  "families": {_lines(tables.cycles)},\n  "reads": {_lines(tables.reads)}'
    body += f',\n  "levels": {_lines(levels)}\n' if levels else "\n"
    path = Path(target.costs) if target.costs.endswith(".json") else TABLES / f"{target.name}.json"
    path.write_text(f"{{\n{head}{body}}}\n", encoding="utf-8")


def _lines(table: Table) -> str:
    rows = ",\n".join(f"    {json.dumps(family)}: {json.dumps(costs)}" for family, costs in sorted(table.items()))
    return f"{{\n{rows}\n  }}"


def check(cores: Sequence[str], pool: Workers) -> Iterator[str]:
    """Models, compiled for each core: what they take, and how far estimates are from that, with the core's own table
    and with that of a Cortex-M4."""
    yield "| core | model | cycles | estimate | error | with the table of a Cortex-M4 |"
    yield "|---|---|--:|--:|--:|--:|"
    yield from pool.imap(_checked, [(core, name) for core in cores for name in (*BUNDLED, *mlperf_tiny.NAMES)])


def _checked(case: tuple[str, str]) -> str:
    """A line of that table."""
    core, name = case
    compiled = compile(FOLDER / f"{name}.tflite" if name in BUNDLED else mlperf_tiny.build(name), target=core)
    taken = profile(compiled, layers=False).cycles
    own = estimate(compiled.settings.costs, compiled.plan)
    try:
        usual = f"{estimate(cost.load(cost.USUAL), compiled.plan) / taken - 1:+.1%}"
    except MoteError:  # the plan has kernels that a Cortex-M4 does not
        usual = "-"
    return f"| {core} | {name} | {taken:,} | {own:,.0f} | {own / taken - 1:+.1%} | {usual} |"


def measure(cores: Sequence[Core], pool: Workers, parts: Sequence[Sequence[Layer]]) -> list[list[Sample]]:
    """What layers take on each core with each of their kernels. Some kernels are faster where a model calls them once:
    of a layer that was measured several times the most counts."""
    found: list[dict[str, Sample]] = [{} for _ in cores]
    tasks = [(n, core, part) for part in parts for n, core in enumerate(cores)]
    for n, samples in pool.imap_unordered(_measured, tasks):
        for sample in samples:
            key = str(sample[:6])
            found[n][key] = max(sample, found[n].get(key, sample), key=lambda s: s.cycles)
    return [[samples[key] for key in sorted(samples)] for samples in found]


def _measured(task: tuple[int, Core, Sequence[Layer]]) -> tuple[int, list[Sample]]:
    n, core, part = task
    return n, measure_model(core, part)


def measure_model(core: Core, part: Sequence[Layer]) -> list[Sample]:
    """The same for the layers of one model, whole, by rows, and by groups of rows."""
    found = []
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
                    found.append(Sample(*named, features, *taken, alone))
    return found


def families_of(kernel: Packed) -> tuple[str, ...]:
    """The families that describe a kernel. The first is fitted to what it takes: what is done beside another one
    is one by itself, and so is expanding weights."""
    expands = kernel.price.coding is not None and kernel.price.coding.expanded > 0
    return tuple(filter(None, (cost.CODED if expands else "", kernel.price.more, kernel.price.costs)))


def _row_by_row(kernel: Packed) -> Packed:
    """The kernel with one row a call, if it can compute one alone."""
    return replace(kernel, entry=replace(kernel.entry, group=1)) if kernel.price.tile[0] == 1 else kernel


def ops_of(graph: Graph, lowering: Lowering) -> dict[Numbers, list[Packed]]:
    """Every operator with its kernels, the one that keeps running sums among them; together, where a kernel computes
    several that does not cost what kernels for each of them do."""
    offers, layouts = Offers(graph), layouts_of(graph, lowering)
    pieces: dict[int, Numbers] = {n: (n,) for n in range(len(graph.ops))}
    for region in offers.regions(lowering):
        able = any(not kernel.price.parts for kernel in offers.kernels(region, lowering))
        if able and all(pieces[n] == (n,) for n in region):
            pieces |= dict.fromkeys(region, region)
    found = {}
    for ops in (ops for n, ops in pieces.items() if n == ops[-1]):
        op = offers.op(ops)
        reads, writes = (layouts.get(t, NHWC) for t in (op.inputs[0], op.outputs[0]))
        how = replace(lowering, reads=reads, writes=writes, coded=True)
        adding = offers.adding(ops, how)
        found[ops] = [*offers.kernels(ops, how), *([] if adding is None else [adding])]
    return found


class Apart(Offers):
    """Kernels of one operator each: whether it pays to compute several together is not known before costs are."""

    def regions(self, how: Lowering) -> list[Numbers]:
        return []


def layouts_of(graph: Graph, how: Lowering) -> dict[int, Layout]:
    return Selection(Apart(graph), how, Goal(), ROOMY).layouts


def plan_of(graph: Graph, kernel: Mapping[Numbers, Packed], whole: bool, how: Lowering) -> Plan:
    """One after another, each by its kernel."""
    rows = build(
        graph,
        tuple(kernel),
        lambda ops: kernel[ops],
        lambda ops: kernel[ops],
        layouts_of(graph, how),
        most=UNLIMITED,
    )
    runs = [
        Run(node, whole or not work.splits)
        for work in rows.works
        for node in ([work.whole] if whole and work.whole else work.by_rows)
    ]
    return arrange(rows, Schedule(tuple(runs), 0), lambda ops, _: kernel[ops], how, Goal()).plan


def fit(samples: Sequence[Sample], known: Tables) -> Tables:
    """Costs, none below zero, with the least relative errors; those of families without samples are as known."""
    found = families(samples)
    cycles, reads = (
        {family: costs for family, costs in table.items() if family not in found}
        for table in (known.cycles, known.reads)
    )
    if cost.BY_ROWS not in cycles:
        cycles[cost.BY_ROWS] = {"row": _rounded(by_rows(samples))}
    for family in sorted(found, key=lambda name: (name == cost.CODED, bool(found[name][0].beside))):
        own = found[family]
        names = CODED if family == cost.CODED else _names(family, own)
        cycles[family] = _costs(cycles, own, names, [s.cycles for s in own])
        reads[family] = _costs({**reads, cost.BY_ROWS: {}}, own, names, [s.read for s in own])
    known_reads = {family: costs for family, costs in sorted(reads.items()) if costs}
    return Tables(dict(sorted(cycles.items())), known_reads, known.levels)


def _names(family: str, samples: Sequence[Sample]) -> tuple[str, ...]:
    """The features that a family is described by: not more than so many layers can tell apart."""
    if family in (OTHER, OTHER_S16, OTHER_F32):
        return ROUGH
    if samples[0].beside:
        return MORE
    names = dict.fromkeys(name for s in samples for name in s.features)
    few = samples[0].alone and len({s.layer for s in samples}) < FEW
    return tuple(name for name in names if not few or name not in FINE)


def _costs(table: Table, samples: Sequence[Sample], names: Sequence[str], amount: Sequence[int]) -> dict[str, float]:
    """What those features take that are named, of an amount for each layer, beside what is known already."""
    taken = np.array(amount)
    weight = 1 / (taken + SMALL)
    amounts = np.array([[s.features.get(name, 0.0) for name in names] for s in samples])
    costs = non_negative(amounts * weight[:, None], (taken - [predicted(table, s) for s in samples]) * weight)
    return {name: _rounded(c) for name, c in zip(names, costs, strict=True) if _rounded(c) > 0}


def sliding(core: Core) -> dict[str, float]:
    """What windows take that slide in memory, each and for each byte."""
    graph = streamed(SMALL_WINDOWS if core.settings.target.core.flash_apart else WINDOWS)
    kernels = {ops: kernels[0] for ops, kernels in core.kernels(graph).items()}
    found = zip(graph.ops, core.run(graph, kernels, True), strict=True)
    windows = [(op.output(graph).nbytes, taken.cycles) for op, taken in found if isinstance(op, SlidingWindow)]
    amounts, taken = np.array([[nbytes, 1.0] for nbytes, _ in windows]), np.array([taken for _, taken in windows])
    byte, call = non_negative(amounts / taken[:, None], np.ones(len(windows)))
    return {"byte": _rounded(byte), "call": _rounded(call)}


def signals(core: Core) -> dict[str, float]:
    """How many times as long as on a Cortex-M4 preprocessing takes: the median of its operators."""
    ratios = []
    for graph in preprocessing_graphs():
        kernels = {ops: kernels[0] for ops, kernels in core.kernels(graph).items()}
        each = zip(kernels.values(), core.run(graph, kernels, True), strict=True)
        ratios += [taken.cycles / kernel.price.work for kernel, taken in each if kernel.price.work]
    return {"work": _rounded(median(ratios))}


def by_rows(samples: Sequence[Sample]) -> float:
    """What a row takes more by rows than as part of the whole, where the kernel does the same."""
    whole = {(s.layer, s.kernel): s for s in samples if not s.rows}
    found = []
    for s in samples:
        other = whole.get((s.layer, s.kernel))
        if s.rows == 1 and s.features["row"] > 1 and other is not None and other.features == s.features:
            found.append((s.cycles - other.cycles) / s.features["row"])
    return median(found)


def families(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """The samples of each."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        found[sample.family].append(sample)
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def predicted(table: Table, sample: Sample) -> float:
    """What a table says of a layer; a family that it does not have yet counts nothing."""
    parts = [table.get(family, {}) for family in (sample.family, *sample.beside)]
    total = sum(part.get(name, 0.0) * amount for part in parts for name, amount in sample.features.items())
    return total + (sample.features["row"] * table[cost.BY_ROWS].get("row", 0.0) if sample.rows else 0.0)


def report(table: Table, samples: Sequence[Sample], worst: int) -> list[str]:
    """A table of errors and costs by family."""
    row = table[cost.BY_ROWS]["row"]
    slide = table[cost.SLIDE]["byte"]
    lines = [
        f"{len(samples)} layers; {row:g} for a row by rows, {slide:g} for a byte of a window that slides",
        f"{'family':<28} layers   mean  worst  costs",
    ]
    for family, found in sorted(families(samples).items()):
        errors = [predicted(table, s) / s.cycles - 1 for s in found]
        costs = ", ".join(f"{name} {value:g}" for name, value in table[family].items())
        largest = max(map(abs, errors))
        lines.append(f"{family:<28} {len(found):6} {mean(map(abs, errors)):6.1%} {largest:6.1%}  {costs}")
        ranked = sorted(zip(errors, found, strict=True), key=lambda e: -abs(e[0]))
        for error, s in ranked[:worst]:
            how = f"{s.rows} rows at once" if s.rows else "whole"
            lines.append(f"    {error:+6.1%} of {s.cycles:,}: {s.layer}, {s.kernel}, {how}")
    return lines


if __name__ == "__main__":
    main()

"""Fits what kernels cost on a core, src/mote/kernels/costs/CORE.json, to layers that are run in the emulator.

    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4              # how well costs are described
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --update     # the same, and write the table
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --worst 5    # with the worst layers
    PYTHONPATH=src:models python benchmarks/fit_costs.py --check                       # estimates of whole models

Layers of many shapes (cost_layers.py) are computed by every kernel that can compute them, whole, by rows, and by groups
of rows, on the emulated core. `mote.kernels.cost.features` says what takes time there, this how much. It takes ten
minutes for a core with DSP instructions, four for one without; with `--cache FOLDER` no layer is run a second time.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from multiprocessing import Pool
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import mlperf_tiny
from cost_layers import Layer, graph_of, models, streamed
from mote import compile, run, toolchain
from mote.api.compiler import Compiled, Settings, make_settings
from mote.api.measure import bench, stimulus
from mote.codegen.options import ProjectOptions
from mote.codegen.project import Job, Project, generate
from mote.graph import Graph
from mote.graph.chain import Numbers
from mote.kernels import cost
from mote.kernels.contract import OTHER, OTHER_F32, Call, Layout, Packed
from mote.ops.state import Window
from mote.plan.estimate import estimate
from mote.plan.goal import Goal
from mote.plan.layout import arrange
from mote.plan.lowering import Lowering, Policy
from mote.plan.plan import Plan
from mote.plan.rows import build, operator
from mote.plan.schedule import Run, Schedule
from mote.plan.select import ROOMY, Offers, Selection
from mote.plan.strategies import UNLIMITED

DIGITS = 3
"""Significant digits of a cost."""
SMALL = 2000
"""Instructions: errors of layers that take few more do not count as much."""
TINY = 1e-9
"""Nothing, in coefficients that are found step by step."""
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


@dataclass(frozen=True)
class Core:
    """An emulated core, with all kernels that it can use."""

    name: str
    cache: Path | None = None
    """The folder that remembers what was measured."""

    @cached_property
    def settings(self) -> Settings:
        return make_settings(self.name)

    @cached_property
    def how(self) -> Lowering:
        """For size no kernel is left out."""
        return Lowering(self.settings.target.features, Policy.SIZE)

    def run(self, graph: Graph, kernels: Mapping[Numbers, Packed], whole: bool) -> list[int]:
        """Instructions of what each kernel computes."""
        plan = plan_of(graph, kernels, whole, self.how)
        project = generate(Job(plan, ProjectOptions("layers", target=self.settings.target.name)))
        known = None if self.cache is None else self.cache / f"{self.settings.target.name}-{_digest(project)}.json"
        if known is not None and known.exists():
            found: list[int] = json.loads(known.read_text())
            return found
        compiled = Compiled(graph, plan, (), project, self.settings, "layers", b"")
        with TemporaryDirectory(prefix="mote-") as folder:
            execution = bench(compiled, Path(folder)).execute(toolchain.Mode.PROFILE, stimulus(compiled, None))
        assert execution.steps is not None
        if known is not None:
            known.write_text(json.dumps(execution.steps[0]))
        return execution.steps[0]


def _digest(project: Project) -> str:
    text = json.dumps({name: project.files[name] for name in sorted(project.files)})
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Sample(NamedTuple):
    """What a layer took."""

    family: str
    beside: str
    """The family of what else was computed, if any."""
    layer: str
    kernel: str
    rows: int
    """That are computed at once: 0 where it runs whole."""
    features: dict[str, float]
    instructions: int
    expands: bool = False
    """Weights, before another kernel of its family runs."""
    alone: bool = False
    """No other kernel can compute it in the same way."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = p.add_mutually_exclusive_group(required=True)
    what.add_argument("--core", help="the target whose kernels are measured")
    what.add_argument("--check", nargs="*", metavar="CORE", help="compare estimates of models with the emulator")
    p.add_argument("--update", action="store_true", help="write the table")
    p.add_argument("--worst", type=int, default=0, metavar="N", help="show the N worst layers of each family")
    p.add_argument("--cache", type=Path, help="a folder that remembers what was measured")
    arguments = p.parse_args()
    if arguments.check is not None:
        for line in check(arguments.check or cost.tables()):
            print(line, flush=True)
        return
    core = Core(arguments.core, arguments.cache)
    samples = measure(core)
    table = fit(samples) | {cost.SLIDE: sliding(core)}
    for line in report(table, samples, arguments.worst):
        print(line)
    if arguments.update:
        write(core, table)


def write(core: Core, table: Table) -> None:
    """One line for each family, so that a difference can be read."""
    target = core.settings.target
    tools = (toolchain.find_compiler(target), toolchain.find_emulator(target))
    measured = ", ".join(f"{tool.kind} {tool.version}" for tool in tools)
    rows = ",\n".join(f"    {json.dumps(family)}: {json.dumps(costs)}" for family, costs in sorted(table.items()))
    head = f'  "unit": "instructions",\n  "measured": {json.dumps(measured)},\n'
    path = Path(target.costs) if target.costs.endswith(".json") else TABLES / f"{target.name}.json"
    path.write_text(f'{{\n{head}  "families": {{\n{rows}\n  }}\n}}\n', encoding="utf-8")


def check(cores: Sequence[str]) -> Iterator[str]:
    """Models, compiled for each core: what they take, and how far estimates are from that, with the core's own table
    and with that of a Cortex-M4."""
    yield "| core | model | instructions | estimate | error | with the table of a Cortex-M4 |"
    yield "|---|---|--:|--:|--:|--:|"
    for core in cores:
        for name in (*BUNDLED, *mlperf_tiny.NAMES):
            compiled = compile(FOLDER / f"{name}.tflite" if name in BUNDLED else mlperf_tiny.build(name), target=core)
            taken = run(compiled, layers=False).instructions
            assert taken is not None
            own, usual = (estimate(costs, compiled.plan) for costs in (compiled.settings.costs, cost.load(cost.USUAL)))
            yield f"| {core} | {name} | {taken:,} | {own:,.0f} | {own / taken - 1:+.1%} | {usual / taken - 1:+.1%} |"


def measure(core: Core) -> list[Sample]:
    """What layers take with each of their kernels. Some kernels are faster where a model calls them once: of a layer
    that was measured several times the most counts."""
    found: dict[str, Sample] = {}
    with Pool() as pool:
        for part in pool.imap(partial(measure_model, core), models()):
            for sample in part:
                key = str(sample[:6])
                found[key] = max(sample, found.get(key, sample), key=lambda s: s.instructions)
    return list(found.values())


def measure_model(core: Core, part: Sequence[Layer]) -> list[Sample]:
    """The same for the layers of one model, whole, by rows, and by groups of rows."""
    found = []
    choices = [max(map(len, ops_of(graph_of([layer]), core.how).values())) for layer in part]
    for n in range(max(choices)):
        graph = graph_of([layer for layer, count in zip(part, choices, strict=True) if n < count])
        variants = ops_of(graph, core.how)
        for whole, grouped in ((True, True), (False, True), (False, False)):
            able = [[k for k in kernels if not whole or k.call is not Call.ADDS] for kernels in variants.values()]
            picked = [kernels[min(n, len(kernels) - 1)] for kernels in able]
            picked = picked if grouped else [replace(k, group=1) if _single(k) else k for k in picked]
            took = core.run(graph, dict(zip(variants, picked, strict=True)), whole)
            for (ops, kernels), kernel, taken in zip(variants.items(), picked, took, strict=True):
                op = operator(graph, ops)
                rows = 0 if whole or kernel.call is Call.WHOLE else kernel.group
                features = cost.features(graph, op, kernel, not rows)
                expands = kernel.coding is not None and kernel.coding.expanded > 0
                alone = kernel.call is Call.ADDS or len([k for k in kernels if k.coding is None and not k.sums]) == 1
                families = (kernel.more, kernel.costs) if kernel.more else (kernel.costs, "")
                found.append(Sample(*families, op.name, kernel.name, rows, features, taken, expands, alone))
    return found


def _single(kernel: Packed) -> bool:
    """Whether it can compute one row alone."""
    return kernel.tile[0] == 1


def ops_of(graph: Graph, lowering: Lowering) -> dict[Numbers, list[Packed]]:
    """Every operator with its kernels, the one that keeps running sums among them; together, where a kernel computes
    several."""
    offers, layouts = Offers(graph), layouts_of(graph, lowering)
    pieces: dict[int, Numbers] = {n: (n,) for n in range(len(graph.ops))}
    for chain in offers.chains(lowering):
        if all(pieces[n] == (n,) for n in chain) and offers.kernels(chain, lowering):
            pieces |= dict.fromkeys(chain, chain)
    found = {}
    for ops in (ops for n, ops in pieces.items() if n == ops[-1]):
        op = offers.op(ops)
        reads, writes = (layouts.get(t, Layout.NHWC) for t in (op.inputs[0], op.outputs[0]))
        how = replace(lowering, reads=reads, writes=writes, coded=True)
        adding = offers.adding(ops, how)
        found[ops] = [*offers.kernels(ops, how), *([] if adding is None else [adding])]
    return found


class Apart(Offers):
    """Kernels of one operator each: whether it pays to compute several together is not known before costs are."""

    def chains(self, how: Lowering) -> list[Numbers]:
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


def fit(samples: Sequence[Sample]) -> Table:
    """Costs, none below zero, with the least relative errors."""
    table = {cost.BY_ROWS: {"row": _rounded(by_rows(samples))}}
    for family, found in sorted(families(samples).items(), key=lambda item: bool(item[1][0].beside)):
        if family != cost.CODED:
            table[family] = _costs(table, found, _names(family, found))
    table[cost.CODED] = _costs(table, families(samples)[cost.CODED], CODED)
    return dict(sorted(table.items()))


def _names(family: str, samples: Sequence[Sample]) -> tuple[str, ...]:
    """The features that a family is described by: not more than so many layers can tell apart."""
    if family in (OTHER, OTHER_F32):
        return ROUGH
    if samples[0].beside:
        return MORE
    names = dict.fromkeys(name for s in samples for name in s.features)
    few = samples[0].alone and len({s.layer for s in samples}) < FEW
    return tuple(name for name in names if not few or name not in FINE)


def _costs(table: Table, samples: Sequence[Sample], names: Sequence[str]) -> dict[str, float]:
    """What those features take that are named, beside what is known already."""
    taken = np.array([s.instructions for s in samples])
    weight = 1 / (taken + SMALL)
    amounts = np.array([[s.features.get(name, 0.0) for name in names] for s in samples])
    costs = non_negative(amounts * weight[:, None], (taken - [predicted(table, s) for s in samples]) * weight)
    return {name: _rounded(c) for name, c in zip(names, costs, strict=True) if _rounded(c) > 0}


def non_negative(amounts: NDArray[np.float64], wanted: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coefficients, none below zero, with the least squares of errors: one after another is let in where that helps,
    and those that would turn negative are put back to zero (Lawson and Hanson)."""
    size = np.linalg.norm(amounts, axis=0)
    a = amounts / np.where(size > 0, size, 1)
    x, free = np.zeros(a.shape[1]), np.zeros(a.shape[1], bool)
    while True:
        gain = np.where(free, 0, a.T @ (wanted - a @ x))
        if gain.max() < TINY:
            return x / np.where(size > 0, size, 1)
        free[gain.argmax()] = True
        while True:
            best = np.zeros_like(x)
            best[free] = np.linalg.lstsq(a[:, free], wanted, rcond=None)[0]
            below = free & (best <= 0)
            if not below.any():
                break
            x += (x[below] / (x[below] - best[below])).min() * (best - x)
            free &= x > TINY
        x = best


def sliding(core: Core) -> dict[str, float]:
    """What windows take that slide in memory, each and for each byte."""
    graph = streamed()
    kernels = [kernels[0] for _, kernels in ops_of(graph, core.how)]
    found = zip(graph.ops, core.run(graph, kernels, True), strict=True)
    windows = [(op.output(graph).nbytes, taken) for op, taken in found if isinstance(op, Window)]
    amounts, taken = np.array([[nbytes, 1.0] for nbytes, _ in windows]), np.array([taken for _, taken in windows])
    byte, call = non_negative(amounts / taken[:, None], np.ones(len(windows)))
    return {"byte": _rounded(byte), "call": _rounded(call)}


def by_rows(samples: Sequence[Sample]) -> float:
    """What a row takes more by rows than as part of the whole, where the kernel does the same."""
    whole = {(s.layer, s.kernel): s for s in samples if not s.rows}
    found = []
    for s in samples:
        other = whole.get((s.layer, s.kernel))
        if s.rows == 1 and s.features["row"] > 1 and other is not None and other.features == s.features:
            found.append((s.instructions - other.instructions) / s.features["row"])
    return median(found)


def families(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """The samples of each; those of all families that expand weights are together."""
    found: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        found[cost.CODED if sample.expands else sample.family].append(sample)
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def predicted(table: Table, sample: Sample) -> float:
    costs = table.get(sample.family, {})
    if sample.expands:
        costs = table.get(cost.CODED, {}) | costs
    parts = [costs, table[sample.beside]] if sample.beside else [costs]
    total = sum(part.get(name, 0.0) * amount for part in parts for name, amount in sample.features.items())
    return total + (sample.features["row"] * table[cost.BY_ROWS]["row"] if sample.rows else 0.0)


def report(table: Table, samples: Sequence[Sample], worst: int) -> list[str]:
    """A table of errors and costs by family."""
    row = table[cost.BY_ROWS]["row"]
    slide = table[cost.SLIDE]["byte"]
    lines = [
        f"{len(samples)} layers; {row:g} for a row by rows, {slide:g} for a byte of a window that slides",
        f"{'family':<28} layers   mean  worst  costs",
    ]
    for family, found in sorted(families(samples).items()):
        errors = [predicted(table, s) / s.instructions - 1 for s in found]
        costs = ", ".join(f"{name} {value:g}" for name, value in table[family].items())
        largest = max(map(abs, errors))
        lines.append(f"{family:<28} {len(found):6} {mean(map(abs, errors)):6.1%} {largest:6.1%}  {costs}")
        ranked = sorted(zip(errors, found, strict=True), key=lambda e: -abs(e[0]))
        for error, s in ranked[:worst]:
            how = f"{s.rows} rows at once" if s.rows else "whole"
            lines.append(f"    {error:+6.1%} of {s.instructions:,}: {s.layer}, {s.kernel}, {how}")
    return lines


if __name__ == "__main__":
    main()

"""Fits what kernels cost on a core, src/mote/compiler/kernels/costs/CORE.json, to layers that are run in the emulator.

    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4              # how well costs are described
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --update     # the same, and write the table
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core all --update --jobs 16 # the tables of all cores
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --only depthwise3 conv2d --update
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --worst 5    # with the worst layers
    PYTHONPATH=src:models python benchmarks/fit_costs.py --core cortex-m4 --level size --update  # built with -Os
    PYTHONPATH=src:models python benchmarks/fit_costs.py --check                       # estimates of whole models

Layers of many shapes (`mote.optimize.tune.calibration.cost_layers`) are computed by every kernel that can compute them,
whole, by rows, and by groups of rows, on the emulated core; the cycle model of `mote profile` says what each took, in
memory that answers at once. `mote.compiler.kernels.cost.features` says what takes time there, this how much. `--only`
measures the kernels of some families and keeps what the table says of all others. `--level size` builds layers with the
compiler's optimization for that policy, and fits how many times as long each family takes. `--core native` measures the
time that steps take on this computer, the shortest of several, one layer after another (`--jobs 1`). Beside cycles the
table says how many bytes of constants are read, which is what parts with slow flash wait for. All cores take about ten
minutes on two processors. With `--cache FOLDER` no layer is run a second time, so that several machines can measure,
each with `--part I/N`, before one of them fits the table to what is in all their caches. `mote calibrate-target
--costs` fits one to a board."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from multiprocessing.pool import Pool as Workers
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import mlperf_tiny
from host_steps import times
from mote import compile, profile
from mote.base.errors import MoteError
from mote.bench.measure.profiler import instructions
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.project import Project
from mote.compiler.kernels import cost
from mote.compiler.kernels.contract import SIGNAL
from mote.compiler.plan.selection.estimate import estimate
from mote.hardware import cores, toolchain
from mote.optimize.tune.calibration.cost_fit import (
    EVERY,
    CostCore,
    CostSample,
    CostTables,
    StepCost,
    fit,
    keep,
    known,
    known_levels,
    layers_of,
    measure_model,
    merged,
    predicted,
    report,
    rounded,
    signals,
    sliding,
    table_text,
)
from mote.optimize.tune.calibration.cost_layers import CostLayer

NANOSECONDS = ", cycles of 1 GHz"
"""On this computer time is measured: the table `native` has nanoseconds."""
TABLES = Path(cost.__file__).with_name("costs")
FOLDER = Path(__file__).parent.parent / "models"
BUNDLED = ("digits", "keywords")


@dataclass(frozen=True)
class Core(CostCore):
    """An emulated core, or this computer, that remembers what was measured."""

    cache: Path | None = None
    """The folder for that."""

    def taken(self, compiled: Compiled) -> list[StepCost]:
        """The costs of each step: of this computer, nanoseconds."""
        digest = self._digest(compiled.project)
        remembered = None if self.cache is None else self.cache / f"{self.settings.target.name}-{digest}.json"
        if remembered is not None and remembered.exists():
            return [StepCost(*each) for each in json.loads(remembered.read_text())]
        host = self.settings.target.is_host
        taken = [StepCost(each, 0) for each in times(compiled)] if host else super().taken(compiled)
        if remembered is not None:
            remembered.write_text(json.dumps(taken))
        return taken

    def _digest(self, project: Project) -> str:
        """A name for what is measured: by what is compiled, how, and what counts the cycles."""
        target = self.settings.target
        sources = [Path(instructions.__file__), *sorted(Path(cores.__file__).parent.rglob("*.py"))]
        model = [path.read_text(encoding="utf-8") for path in sources]
        files = {name: project.files[name] for name in sorted(project.files)}
        text = json.dumps([files, self.level, target.gcc_flags, toolchain.find_compiler(target).version, model])
        return hashlib.sha256(text.encode()).hexdigest()[:16]


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
        cores = [Core(name, only, arguments.level, cache) for name in names]
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
            tables = fit(samples, known(core) if only else CostTables({}, {}, known_levels(core)))
            if not only or SIGNAL in only:
                tables.cycles[SIGNAL] = signals(core)
            if not only:
                tables.cycles[cost.SLIDE] = sliding(core)
                keep(core, tables)
            print(f"{core.name}:", *report(tables.cycles, samples, arguments.worst), sep="\n", flush=True)
            if arguments.update:
                write(core, tables)


def _part(text: str) -> tuple[int, int]:
    """I/N: every Nth model of layers, from number I on."""
    first, count = map(int, text.split("/"))
    if not 0 <= first < count:
        raise ValueError
    return first, count


def slower(core: Core, samples: Sequence[CostSample]) -> CostTables:
    """What the tables of a core say already, and how many times as long the families of samples take that were built
    with the compiler's optimization for another policy."""
    tables = known(core)
    ratios = defaultdict(list)
    for sample in samples:
        if not sample.beside:
            ratios[sample.family].append(sample.cycles / predicted(tables.cycles, sample))
    factors = {family: rounded(median(found)) for family, found in ratios.items()}
    own = tables.levels.get(core.level, {})
    return tables._replace(levels=tables.levels | {core.level: dict(sorted((own | factors).items()))})


def write(core: Core, tables: CostTables) -> None:
    """One line for each family, so that a difference can be read."""
    target = core.settings.target
    tools = (toolchain.find_compiler(target), toolchain.find_emulator(target))
    said = ", ".join(f"{tool.kind} {tool.version}".strip() for tool in tools)
    measured = said + (NANOSECONDS if target.is_host else "")
    path = Path(target.costs) if target.costs.endswith(".json") else TABLES / f"{target.name}.json"
    path.write_text(table_text(tables, measured), encoding="utf-8")


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
    own = estimate(compiled.costs, compiled.plan)
    try:
        usual = f"{estimate(cost.load(cost.USUAL), compiled.plan) / taken - 1:+.1%}"
    except MoteError:  # the plan has kernels that a Cortex-M4 does not
        usual = "-"
    return f"| {core} | {name} | {taken:,} | {own:,.0f} | {own / taken - 1:+.1%} | {usual} |"


def measure(cores: Sequence[Core], pool: Workers, parts: Sequence[Sequence[CostLayer]]) -> list[list[CostSample]]:
    """What layers take on each core with each of their kernels."""
    samples: list[list[CostSample]] = [[] for _ in cores]
    tasks = [(n, core, part) for part in parts for n, core in enumerate(cores)]
    for n, some in pool.imap_unordered(_measured, tasks):
        samples[n] += some
    return [merged(each) for each in samples]


def _measured(task: tuple[int, Core, Sequence[CostLayer]]) -> tuple[int, list[CostSample]]:
    n, core, part = task
    return n, measure_model(core, part)


if __name__ == "__main__":
    main()

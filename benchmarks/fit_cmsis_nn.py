"""Fits what functions of CMSIS-NN cost on cores, src/mote/compiler/offload/cmsis_nn/costs.json, to layers that are run
in the emulator; the sources are those of CMSIS_NN_PATH.

    PYTHONPATH=src:models python benchmarks/fit_cmsis_nn.py --core cortex-m4 cortex-m7           # how well they fit
    PYTHONPATH=src:models python benchmarks/fit_cmsis_nn.py --core cortex-m0plus --update        # and write the table

Cores that run the same instructions are measured in one run: the cycle model of `mote profile` says what each takes, in
memory that answers at once.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from mote.base.errors import MoteError
from mote.bench.measure.least_squares import non_negative
from mote.bench.measure.profiler.costs import steps
from mote.compiler.kernels.contract import Refusal
from mote.compiler.line import compile_graph
from mote.compiler.offload import backends, cmsis_nn
from mote.compiler.offload.cmsis_nn.calls import CALLERS
from mote.compiler.offload.cmsis_nn.costs import family, features
from mote.compiler.offload.contract import Artifact, Offloaded
from mote.compiler.offload.library.tables import TABLES
from mote.compiler.passes.pipeline import optimize
from mote.compiler.settings import make_settings
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.optimize.tune.calibration.cost_layers import CostLayer, graph_of, layers

TABLE = Path(cmsis_nn.__file__).with_name(TABLES)
BATCH = 12
"""Layers in a model."""
MANY = 12
"""Layers of a kind of which every Nth is measured."""
DIGITS = 3
"""Significant digits of a cost."""
MULTIPLIED = [
    CostLayer("DEPTHWISE_CONV_2D", size, channels, channels * times, kernel, dtype=dtype)
    for dtype in ("int8", "int16")
    for size, channels, kernel, times in (
        *(((8, 8), 8, (3, 3), 2), ((6, 6), 4, (3, 5), 4), ((9, 9), 1, (3, 3), 8)),
        *(((12, 12), 6, (2, 2), 3), ((7, 7), 16, (3, 3), 2), ((10, 4), 3, (4, 4), 8)),
    )
]
"""Depthwise convolutions with several outputs for each channel."""
Sample = tuple[dict[str, float], int]
"""The features of a layer, and its cycles."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--core", nargs="+", required=True, help="targets that run the same instructions")
    p.add_argument("--update", action="store_true", help="write the table")
    p.add_argument("--every", type=int, default=2, metavar="N", help="measure every Nth layer")
    arguments = p.parse_args()
    cores = [targets.load(name) for name in arguments.core]
    samples = measured(cores, arguments.every)
    tables = json.loads(TABLE.read_text(encoding="utf-8"))
    for core in cores:
        tables[core.costs] = fitted(core.costs, samples[core.name])
    if arguments.update:
        TABLE.write_text(text(tables), encoding="utf-8")


class Chosen(cmsis_nn.CmsisNN):
    """Computes all that it can."""

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        made = super().build(region, graph, target)
        return made if isinstance(made, Refusal) else replace(made, cost=0.0, code=0, linked={"everything": 0})


def measured(cores: Sequence[Target], every: int) -> dict[str, dict[str, list[Sample]]]:
    """The samples of each core by the family."""
    backends.register(Chosen())
    samples: dict[str, dict[str, list[Sample]]] = {core.name: defaultdict(list) for core in cores}
    plain = few(chosen_layers(), every)
    graphs = [graph_of(plain[start : start + BATCH]) for start in range(0, len(plain), BATCH)]
    for graph in (optimize(one, numerics="tflm")[0] for one in (*graphs, remembering())):
        try:
            compiled = compile_graph(graph, make_settings(cores[0].name, backend="cmsis-nn", optimize="balanced"))
        except MoteError as error:
            print(error)
            continue
        planned = compiled.plan.graph
        for core, taken in zip(cores, steps(compiled, cores), strict=True):
            for (op, made), cost in zip(compiled.plan.works, taken, strict=True):
                if isinstance(made[0].kernel, Offloaded):
                    spent = cost.cycles - cost.waits.code - cost.waits.constants
                    samples[core.name][family(planned, op)].append((features(planned, op), spent))
    return samples


def chosen_layers() -> list[CostLayer]:
    """Layers that CMSIS-NN may compute, each once: its functions see no difference between weights."""
    kinds = {op.kind for op in CALLERS}
    plain = [
        replace(layer, kept=1.0, block=(1, 1), values=(), added=False, clamped=False, linear=False, before=0)
        for layer in layers()
        if layer.dtype in ("int8", "int16") and layer.kind in kinds and layer.bits == 8 and not layer.repeated
    ]
    return [*dict.fromkeys(plain), *MULTIPLIED]


def remembering() -> Graph:
    """Layers that remember what they were given."""
    w, rng = Writer("remembering"), np.random.default_rng(0)
    for size, units, rank, memory in ((16, 8, 1, 4), (40, 16, 2, 10), (64, 32, 1, 8), (10, 6, 2, 20), (128, 24, 1, 3)):
        filters = units * rank
        operands = [
            w.input("x", (1, size), "int8", 0.05, 3),
            w.const("weights", rng.integers(-127, 128, (filters, size)).astype(np.int8), 0.01),
            w.const("time", rng.integers(-3000, 3000, (filters, memory)).astype(np.int16), 0.0001),
            w.const("bias", rng.integers(-2000, 2000, units).astype(np.int32), 0.0000002),
            w.variable("state", (1, memory * filters), "int16", 0.002, 0),
        ]
        y = w.tensor("y", (1, units), "int8", 0.004, -128)
        w.op("SVDF", operands, [y], rank=rank, fused_activation_function="RELU")
        w.output(y)
    return tflite.parse(w.finish(), "remembering")


def few(plain: Sequence[CostLayer], every: int) -> list[CostLayer]:
    """Every Nth of layers of which there are many; those of one type are together."""
    kinds: dict[tuple[str, str], list[CostLayer]] = defaultdict(list)
    for layer in sorted(plain, key=lambda layer: layer.dtype, reverse=True):
        kinds[layer.kind, layer.dtype].append(layer)
    return [one for same in kinds.values() for one in same[:: every if len(same) > MANY else 1]]


def text(tables: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """The tables as JSON, a family in a line."""
    cores = [
        f'"{core}": {{\n' + ",\n".join(f' "{name}": {json.dumps(known)}' for name, known in sorted(of.items())) + "\n}"
        for core, of in sorted(tables.items())
    ]
    return "{" + ",\n".join(cores) + "}\n"


def fitted(core: str, samples: dict[str, list[Sample]]) -> dict[str, dict[str, float]]:
    """Cycles of each feature of each family, with the least squares of relative errors."""
    table = {}
    for name, gathered in sorted(samples.items()):
        names = list(gathered[0][0])
        amounts = np.array([[each[n] for n in names] for each, _ in gathered])
        cycles = np.array([spent for _, spent in gathered], np.float64)
        costs = non_negative(amounts / cycles[:, None], np.ones(len(cycles)))
        errors = np.abs(amounts @ costs / cycles - 1)
        print(f"{core}: {name}: {len(gathered)} layers, off by {median(errors):.1%}, at most {errors.max():.1%}")
        table[name] = {n: float(f"{cost:.{DIGITS}g}") for n, cost in zip(names, costs, strict=True) if cost > 0}
    return table


if __name__ == "__main__":
    main()

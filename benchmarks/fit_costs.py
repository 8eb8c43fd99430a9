"""Fits src/mote/plan/costs.json, what kernels cost in instructions, to layers that are run in the emulator.

    PYTHONPATH=src:models python benchmarks/fit_costs.py             # how well each family's costs are described
    PYTHONPATH=src:models python benchmarks/fit_costs.py --update    # the same, and write costs.json
    PYTHONPATH=src:models python benchmarks/fit_costs.py --worst 5   # with the layers that are described worst

Layers of many shapes are computed by every kernel that can compute them, whole, by rows, and by groups of rows, on an
emulated Cortex-M4. `mote.plan.cost.features` says what takes time there, this how much. It takes six minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from multiprocessing import Pool
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from mote import toolchain
from mote.api.compiler import Compiled, make_settings
from mote.api.measure import bench, stimulus
from mote.codegen.project import Model, Options, generate
from mote.frontends import tflite
from mote.graph import Graph, Op
from mote.graph.rows import row_count
from mote.plan import cost
from mote.plan.kernel import Call, Kernel, Layout, Lowering
from mote.plan.layout import arrange
from mote.plan.plan import Plan
from mote.plan.planner import UNLIMITED, choose_layouts
from mote.plan.rows import build
from mote.plan.schedule import Run, Schedule
from tflite_writer import Writer

TABLE = Path(cost.__file__).with_name("costs.json")
TARGET = make_settings("cortex-m4")
HOW = Lowering(TARGET.target.features, "size")
"""Then no kernel is left out."""
BATCH = 24
"""Layers in a model."""
DIGITS = 3
"""Significant digits of a cost."""
SMALL = 2000
"""Instructions: errors of layers that take few more do not count as much."""
ROUGH = ("product", "output", "input")
"""The features of kernels that nothing has to choose between."""
CODED = ("symbol", "expanded")
"""What is done to expand weights."""

Table = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Layer:
    """A layer to measure."""

    kind: str
    size: tuple[int, int]
    inputs: int
    outputs: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    padding: str = "SAME"
    linear: bool = False
    clamped: bool = False
    """The activation cuts off more than int8 does: the fastest kernels cannot do that."""
    before: int = 0
    """Channels of a 1x1 convolution before it, so that its input can lie as it likes."""
    kept: float = 1.0
    """The share of blocks of weights that are not zero."""
    block: tuple[int, int] = (1, 1)
    """Outputs and inputs of these."""

    @property
    def spatial(self) -> tuple[int, int]:
        if self.padding == "SAME":
            high, wide = (-(-n // self.stride) for n in self.size)
        else:
            high, wide = ((n - k) // self.stride + 1 for n, k in zip(self.size, self.kernel, strict=True))
        return high, wide

    def __str__(self) -> str:
        (h, w), (kh, kw) = self.size, self.kernel
        how = " linear" if self.linear else " clamped" if self.clamped else ""
        how += f" {self.kept:.0%} kept" if self.kept < 1 else ""
        return f"{self.kind} {h}x{w}x{self.inputs} {kh}x{kw}/{self.stride} {self.padding} to {self.outputs}{how}"


POINTWISE = [
    ((12, 12), 16, 32), ((25, 5), 64, 64), ((6, 6), 128, 128), ((3, 3), 256, 256), ((24, 24), 8, 16),
    ((48, 48), 8, 8), ((5, 5), 40, 240), ((5, 5), 240, 40), ((11, 11), 24, 144), ((11, 11), 144, 24),
    ((7, 13), 12, 31), ((4, 4), 96, 10), ((20, 20), 16, 96), ((20, 20), 48, 16), ((1, 49), 40, 64),
    ((9, 9), 6, 20), ((10, 10), 3, 8), ((8, 8), 32, 5), ((1, 1), 40, 128), ((1, 1), 128, 128), ((1, 1), 128, 32),
    ((1, 1), 30, 60), ((1, 1), 64, 64), ((9, 1), 24, 40), ((1, 2), 32, 16),
]  # fmt: skip
CONV = [
    ((12, 12), 8, 16, (3, 3), 1), ((16, 16), 16, 16, (3, 3), 1), ((8, 8), 32, 32, (3, 3), 1),
    ((10, 10), 16, 24, (3, 3), 1), ((8, 8), 64, 32, (3, 3), 1), ((32, 32), 4, 8, (3, 3), 1),
    ((24, 24), 8, 8, (3, 3), 1), ((6, 6), 64, 64, (3, 3), 1), ((4, 4), 32, 64, (3, 3), 1),
    ((7, 7), 16, 16, (3, 3), 1), ((5, 9), 12, 20, (3, 3), 1), ((3, 3), 48, 48, (3, 3), 1),
    ((20, 6), 24, 40, (3, 3), 1), ((13, 13), 16, 32, (3, 3), 1), ((48, 20), 3, 8, (3, 3), 2),
    ((16, 16), 16, 32, (3, 3), 2), ((8, 8), 32, 64, (3, 3), 2), ((17, 17), 8, 16, (3, 3), 2),
    ((12, 12), 24, 24, (3, 3), 2), ((32, 32), 4, 8, (3, 3), 2), ((10, 10), 48, 16, (3, 3), 2),
    ((25, 10), 1, 64, (10, 4), 2), ((12, 12), 3, 16, (5, 5), 1), ((14, 14), 8, 12, (5, 5), 2),
    ((16, 16), 16, 32, (1, 1), 2), ((9, 1), 40, 32, (3, 1), 1), ((9, 9), 6, 9, (3, 3), 1),
    ((20, 20), 2, 3, (3, 3), 1), ((14, 14), 1, 16, (3, 3), 1), ((28, 28), 1, 8, (3, 3), 2),
    ((5, 1), 40, 32, (5, 1), 1), ((3, 1), 40, 64, (3, 1), 1), ((10, 1), 30, 20, (10, 1), 1),
]  # fmt: skip
DEPTHWISE = [
    ((12, 12), 16, (3, 3), 1), ((25, 5), 64, (3, 3), 1), ((24, 24), 8, (3, 3), 1), ((6, 6), 96, (3, 3), 1),
    ((3, 3), 128, (3, 3), 1), ((48, 48), 4, (3, 3), 1), ((11, 11), 24, (3, 3), 1), ((10, 10), 48, (3, 3), 1),
    ((24, 24), 16, (3, 3), 2), ((12, 12), 32, (3, 3), 2), ((6, 6), 64, (3, 3), 2), ((9, 21), 20, (3, 3), 2),
    ((48, 32), 6, (3, 3), 2), ((10, 10), 32, (5, 5), 1), ((20, 20), 12, (5, 5), 1), ((5, 5), 96, (5, 5), 1),
    ((20, 20), 16, (5, 5), 2), ((11, 11), 32, (5, 5), 2), ((10, 10), 24, (7, 7), 1), ((20, 20), 12, (7, 7), 1),
    ((5, 5), 64, (7, 7), 1), ((20, 20), 12, (7, 7), 2), ((11, 11), 24, (7, 7), 2), ((7, 7), 30, (3, 3), 1),
    ((30, 1), 64, (5, 1), 1), ((49, 1), 40, (9, 1), 1), ((3, 1), 40, (3, 1), 1), ((5, 1), 128, (5, 1), 1),
    ((10, 1), 128, (10, 1), 1), ((21, 1), 60, (21, 1), 1), ((15, 1), 30, (15, 1), 1), ((9, 1), 64, (9, 1), 1),
    ((24, 1), 128, (10, 1), 1), ((8, 1), 48, (5, 1), 1),
]  # fmt: skip
FULLY_CONNECTED = [
    (1, 640, 128), (1, 128, 128), (1, 128, 8), (1, 8, 128), (1, 64, 12), (1, 256, 4), (1, 100, 30), (1, 512, 64),
    (10, 32, 24), (49, 16, 10), (1, 1000, 10), (1, 37, 41), (1, 400, 120), (1, 120, 84), (20, 64, 16), (1, 1024, 32),
    (1, 300, 1), (1, 32, 3), (1, 960, 1),
]  # fmt: skip
OTHER = [
    ("ADD", (12, 12), 16), ("ADD", (6, 6), 64), ("MUL", (10, 10), 24), ("AVERAGE_POOL_2D", (25, 5), 64),
    ("AVERAGE_POOL_2D", (8, 8), 64), ("MAX_POOL_2D", (12, 12), 16), ("MAX_POOL_2D", (24, 24), 8),
]  # fmt: skip

ZEROS = {
    "CONV_2D": ((1.0, (1, 1)), (0.1, (1, 1)), (0.5, (2, 4)), (0.25, (2, 4))),
    "FULLY_CONNECTED": ((1.0, (1, 1)), (0.1, (1, 1)), (0.5, (4, 8)), (0.25, (4, 8))),
}
"""`kept` and `block` of one layer after another."""


def layers() -> list[Layer]:
    """Shapes like those of small networks, and some odd ones."""
    found = [Layer("CONV_2D", *shape, linear=i % 3 == 2) for i, shape in enumerate(POINTWISE)]
    for i, (size, inputs, outputs, kernel, stride) in enumerate(CONV):
        padding = "VALID" if i % 4 == 3 or size[1] == 1 else "SAME"
        found.append(Layer("CONV_2D", size, inputs, outputs, kernel, stride, padding, i % 3 == 2))
    for i, (vectors, inputs, outputs) in enumerate(FULLY_CONNECTED):
        found.append(Layer("FULLY_CONNECTED", (1, vectors), inputs, outputs, linear=i % 3 == 2))
    found = [_pruned(layer, i) for i, layer in enumerate(found)]
    found += [replace(layer, linear=False, clamped=True) for layer in found if layer.kind == "FULLY_CONNECTED"]
    for i, (size, channels, kernel, stride) in enumerate(DEPTHWISE):
        padding = "VALID" if i % 4 == 3 or kernel[1] == 1 else "SAME"
        for before in (0, 4 * (1 + i % 5)):
            layer = Layer("DEPTHWISE_CONV_2D", size, channels, channels, kernel, stride, padding, i % 3 == 2)
            found.append(replace(layer, before=before))
    for kind, size, channels in OTHER:
        kernel = size if kind.startswith("AVERAGE") else (2, 2)
        found.append(Layer(kind, size, channels, channels, kernel, 2, "VALID"))
    return found


def _pruned(layer: Layer, i: int) -> Layer:
    choices = ZEROS[layer.kind]
    kept, block = choices[i % len(choices)]
    return replace(layer, kept=kept, block=block)


class Sample(NamedTuple):
    """What a layer took."""

    family: str
    layer: str
    kernel: str
    rows: int
    """That are computed at once: 0 where it runs whole."""
    features: dict[str, float]
    instructions: int
    expands: bool = False
    """Weights, before another kernel of its family runs."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--update", action="store_true", help="write the table")
    p.add_argument("--worst", type=int, default=0, metavar="N", help="show the N worst layers of each family")
    arguments = p.parse_args()
    samples = measure(layers())
    table = fit(samples)
    for line in report(table, samples, arguments.worst):
        print(line)
    if arguments.update:
        TABLE.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def measure(wanted: Sequence[Layer]) -> list[Sample]:
    """What layers take with each of their kernels. Every model has layers of all kinds. Some kernels are faster where a
    model calls them once: of a layer that was measured several times the most counts."""
    models = -(-len(wanted) // BATCH)
    found: dict[str, Sample] = {}
    with Pool() as pool:
        for part in pool.imap(measure_model, [wanted[i::models] for i in range(models)]):
            for sample in part:
                key = str(sample[:5])
                found[key] = max(sample, found.get(key, sample), key=lambda s: s.instructions)
    return list(found.values())


def measure_model(part: Sequence[Layer]) -> list[Sample]:
    """The same for the layers of one model, whole, by rows, and by groups of rows."""
    found = []
    choices = [max(len(kernels) for _, kernels in ops_of(graph_of([layer]))) for layer in part]
    for n in range(max(choices)):
        graph = graph_of([layer for layer, count in zip(part, choices, strict=True) if n < count])
        variants = ops_of(graph)
        for whole, grouped in ((True, True), (False, True), (False, False)):
            able = [[k for k in kernels if not whole or k.call is not Call.ADDS] for _, kernels in variants]
            picked = [kernels[min(n, len(kernels) - 1)] for kernels in able]
            picked = picked if grouped else [replace(k, group=1) if _single(k) else k for k in picked]
            for op, kernel, taken in zip(graph.ops, picked, run(graph, picked, whole), strict=True):
                rows = 0 if whole or kernel.call is Call.WHOLE else kernel.group
                features = cost.features(graph, op, kernel, not rows)
                expands = kernel.coding is not None and kernel.coding.expanded > 0
                found.append(Sample(kernel.family, op.name, kernel.name, rows, features, taken, expands))
    return found


def _single(kernel: Kernel) -> bool:
    """Whether it can compute one row alone."""
    return kernel.tile[0] == 1


def ops_of(graph: Graph) -> list[tuple[Op, list[Kernel]]]:
    """Every operator with its kernels, the one that keeps running sums among them."""
    layouts = choose_layouts(graph, HOW)
    found = []
    for op in graph.ops:
        reads, writes = (layouts.get(t, Layout.NHWC) for t in (op.inputs[0], op.outputs[0]))
        how = replace(HOW, reads=reads, writes=writes)
        kernels = [*op.variants(graph, how), *op.coded(graph, how)]
        if row_count(op.output(graph).shape) == 1 and not reads.planar:
            kernels += [k for k in [op.lower(graph, replace(how, adds=True))] if k.call is Call.ADDS]
        found.append((op, kernels))
    return found


def run(graph: Graph, kernels: Sequence[Kernel], whole: bool) -> list[int]:
    """Instructions of each operator."""
    plan = plan_of(graph, kernels, whole)
    golden = [np.zeros(graph.tensors[t].shape, np.int8) for t in graph.outputs]
    project = generate(Model(plan, Options("layers", target=TARGET.target.name), golden))
    compiled = Compiled(graph, plan, (), project, TARGET, "layers", b"")
    with TemporaryDirectory(prefix="mote-") as folder:
        found = bench(compiled, Path(folder)).execute(toolchain.Mode.PROFILE, stimulus(compiled, None))
    assert found.steps is not None
    return found.steps[0]


def plan_of(graph: Graph, kernels: Sequence[Kernel], whole: bool) -> Plan:
    """One operator after another, each by its kernel."""
    kernel = {id(op): k for op, k in zip(graph.ops, kernels, strict=True)}
    rows = build(
        graph,
        graph.ops,
        lambda op: kernel[id(op)],
        lambda op: kernel[id(op)],
        choose_layouts(graph, HOW),
        most=UNLIMITED,
    )
    runs = [
        Run(node, whole or not work.splits)
        for work in rows.works
        for node in ([work.whole] if whole and work.whole else work.by_rows)
    ]
    return arrange(rows, Schedule(tuple(runs), 0), lambda op, _: kernel[id(op)])


def graph_of(part: Iterable[Layer]) -> Graph:
    w = Writer("layers")
    for layer in part:
        _add(w, layer)
    return tflite.parse(w.finish(), "layers")


def _add(w: Writer, layer: Layer) -> None:
    shape: tuple[int, ...] = (1, *layer.size, layer.before or layer.inputs)
    shape = shape[2:] if layer.kind == "FULLY_CONNECTED" else shape
    x = w.input("x", shape, "int8", scale=0.05, zero_point=-128)
    if layer.before:
        x = _weighted(w, Layer("CONV_2D", layer.size, layer.before, layer.inputs), x)
    if layer.kind in ("ADD", "MUL"):
        other = w.input("z", shape, "int8", scale=0.0371, zero_point=-20)
        y = w.tensor(str(layer), shape, "int8", scale=0.0617, zero_point=-10)
        w.op(layer.kind, [x, other], [y])
    elif layer.kind.endswith("POOL_2D"):
        y = w.tensor(str(layer), (1, *layer.spatial, layer.outputs), "int8", scale=0.05, zero_point=-128)
        high, wide = layer.kernel
        w.op(layer.kind, [x], [y], filter_height=high, filter_width=wide, **_moves(layer))
    else:
        y = _weighted(w, layer, x)
    w.output(y)


def _weighted(w: Writer, layer: Layer, x: int) -> int:
    """A layer with weights that are spread as trained ones are, and outputs that use their range."""
    shape: tuple[int, ...]
    out: tuple[int, ...] = (1, *layer.spatial, layer.outputs)
    axis, options = 0, _moves(layer)
    if layer.kind == "CONV_2D":
        shape = (layer.outputs, *layer.kernel, layer.inputs)
    elif layer.kind == "DEPTHWISE_CONV_2D":
        shape, axis = (1, *layer.kernel, layer.outputs), 3
    else:
        shape, out, options = (layer.outputs, layer.inputs), out[2:], {}
    rng = np.random.default_rng(0)
    weights = np.clip(rng.normal(0, 30, shape), -127, 127).astype(np.int8)
    weights = _without_blocks(weights, layer) if layer.kept < 1 else weights
    scale = np.float32(0.01) * 2 ** -rng.uniform(0, 1, layer.outputs).astype(np.float32)
    scale = scale[:1] if layer.kind == "FULLY_CONNECTED" else scale
    k = w.const("k", weights, scale=scale, axis=axis)
    b = w.const("b", rng.integers(-2000, 2001, layer.outputs).astype(np.int32), scale=scale * np.float32(0.05))
    wide = float(0.05 * 0.01 * 40 * (weights.size / layer.outputs) ** 0.5)
    y = w.tensor(str(layer), out, "int8", scale=wide, zero_point=3 if layer.linear or layer.clamped else -128)
    w.op(layer.kind, [x, k, b], [y], fused_activation_function="NONE" if layer.linear else "RELU", **options)
    return y


def _without_blocks(weights: NDArray[np.int8], layer: Layer) -> NDArray[np.int8]:
    """Weights [outputs, ..] with zeros in all blocks but some."""
    (high, wide), matrix = layer.block, weights.reshape(layer.outputs, -1)
    rows, columns = -(-matrix.shape[0] // high), -(-matrix.shape[1] // wide)
    kept = np.random.default_rng(1).permutation(rows * columns).reshape(rows, columns) < layer.kept * rows * columns
    mask = kept.repeat(high, axis=0).repeat(wide, axis=1)[: matrix.shape[0], : matrix.shape[1]]
    return (matrix * mask).reshape(weights.shape)


def _moves(layer: Layer) -> dict[str, Any]:
    """How its window moves."""
    return {"padding": layer.padding, "stride_h": layer.stride, "stride_w": layer.stride}


def fit(samples: Sequence[Sample]) -> Table:
    """Costs, none below zero, with the least relative errors."""
    table = {cost.BY_ROWS: {"row": _rounded(by_rows(samples))}}
    for family, found in families(samples).items():
        if family != cost.CODED:
            names = ROUGH if family == cost.OTHER else tuple(dict.fromkeys(name for s in found for name in s.features))
            table[family] = _costs(table, found, names)
    table[cost.CODED] = _costs(table, families(samples)[cost.CODED], CODED)
    return dict(sorted(table.items()))


def _costs(table: Table, samples: Sequence[Sample], names: Sequence[str]) -> dict[str, float]:
    """What those features take that are named, beside what is known already."""
    taken = np.array([s.instructions for s in samples])
    weight = 1 / (taken + SMALL)
    amounts = np.array([[s.features.get(name, 0.0) for name in names] for s in samples])
    costs, _ = nnls(amounts * weight[:, None], (taken - [estimate(table, s) for s in samples]) * weight)
    return {name: _rounded(c) for name, c in zip(names, costs, strict=True) if _rounded(c) > 0}


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


def estimate(table: Table, sample: Sample) -> float:
    costs = table.get(sample.family, {})
    if sample.expands:
        costs = table.get(cost.CODED, {}) | costs
    total = sum(costs.get(name, 0.0) * amount for name, amount in sample.features.items())
    return total + (sample.features["row"] * table[cost.BY_ROWS]["row"] if sample.rows else 0.0)


def report(table: Table, samples: Sequence[Sample], worst: int) -> list[str]:
    """A table of errors and costs by family."""
    row = table[cost.BY_ROWS]["row"]
    lines = [f"{len(samples)} layers; {row:g} for a row by rows", f"{'family':<28} layers   mean  worst  costs"]
    for family, found in sorted(families(samples).items()):
        errors = [estimate(table, s) / s.instructions - 1 for s in found]
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

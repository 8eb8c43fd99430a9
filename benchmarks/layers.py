"""Every kind of layer against the limit of its core: benchmarks/layers.json and the tables of docs/measure/layers.md.

    PYTHONPATH=src:.:models:benchmarks python benchmarks/layers.py                          # what has changed
    PYTHONPATH=src:.:models:benchmarks python benchmarks/layers.py --update                 # write both
    PYTHONPATH=src:.:models:benchmarks python benchmarks/layers.py --only bmm softmax --core cortex-m4
    PYTHONPATH=src:.:models:benchmarks python benchmarks/layers.py --only conv --host       # this computer, by time
    CMSIS_NN_PATH=... python benchmarks/layers.py --cmsis-nn --update                       # beside CMSIS-NN

Each model of `layer_models.py` is one layer. It is compiled for each core with `--optimize speed` (for a Cortex-M4
also with the default settings) and run in the emulator, which counts its instructions; the cycle model of `mote
profile` says its cycles. Instructions are those of a whole inference with the call, divided by the layer's products or
elements. The limit beside them is that of a good loop written by hand (`LIMITS`): no proof, but the same for all
kernels. Counts depend on the C compiler, so layers.json names its version and holds for no other; the tests measure all
of it, in turns, and fail where a count has grown by more than 2%.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from multiprocessing import Pool
from pathlib import Path
from typing import NamedTuple

import host
from generated_table import Page
from layer_models import LayerModel, layers
from mote import compile, profile
from mote.base.errors import MoteError
from mote.compiler.plan.selection.estimate import estimate
from mote.hardware import targets, toolchain

HERE = Path(__file__).parent
RECORD = HERE / "layers.json"
PAGE = Page(HERE.parent / "docs" / "measure" / "layers.md", "<!-- layers -->", "<!-- /layers -->")
M4, M55, M0, M3, RISCV, AVR = "cortex-m4", "cortex-m55", "cortex-m0plus", "cortex-m3", "rv32imc", "avr6"
CORES = (M4, M55, M3, M0, RISCV, AVR)
TITLES = {M4: "M4", M55: "M55", M3: "M3", M0: "M0+", RISCV: "rv32imc", AVR: "AVR"}
NO_FPU = (M3, M0, RISCV, AVR)
MARGIN = 0.02
"""How much slower a layer may become."""
UPDATE = "python benchmarks/layers.py --update"
SPEED, BALANCED, CMSIS_NN = "speed", "balanced", "cmsis-nn"

LIMITS: Mapping[str, Mapping[str, tuple[float, ...]]] = {
    # row: type: instructions of a product or an element on M4, M55, M3, M0+, rv32imc, AVR
    "conv": {"int8": (0.5, 0.08, 1.25, 1.75, 1.75, 6), "int16": (0.5, 0.16, 1.75, 2.75, 2.75, 12)},
    "winograd": {"int8": (0.22, 0.08, 1.25, 1.75, 1.75, 6)},
    "fully_connected": {"int8": (0.75, 0.1, 1.5, 2.25, 2.25, 7), "int16": (0.75, 0.2, 2, 3, 3, 13)},
    "matmul": {"int8": (0.6, 0.1, 1.5, 2, 2, 7), "int16": (0.6, 0.2, 2, 3, 3, 13)},
    "table": {"int8": (3.25, 0.32, 3.25, 4.25, 5, 7), "int16": (6.5, 1.28, 6.5, 9, 9, 24)},
    "add": {"int8": (5, 1.6, 8, 11, 11, 30), "int16": (6, 3.2, 10, 14, 14, 40)},
    "mul": {"int8": (6, 1.6, 9, 16, 12, 36), "int16": (7, 3.2, 11, 18, 14, 46)},
    "maximum": {"int8": (1.4, 0.2, 5, 6, 5, 7), "int16": (2, 0.4, 5, 6, 5, 12)},
    "max_pool": {"int8": (0.75, 0.2, 3, 4, 4, 6), "int16": (1.5, 0.4, 3, 4, 4, 10)},
    "max_pool3": {"int8": (1.6, 0.3, 6, 8, 8, 12)},
    "average_pool": {"int8": (2, 0.4, 3, 4, 4, 12), "int16": (3, 0.8, 3, 4, 4, 16)},
    "average_pool3": {"int8": (9, 1.5, 14, 20, 20, 60)},
    "mean": {"int8": (0.75, 0.1, 2, 3, 3, 6), "int16": (1, 0.2, 2, 3, 3, 8)},
    "softmax": {"int8": (11, 3, 14, 20, 18, 60), "int16": (11, 3, 14, 20, 18, 80)},
    "normalize": {"int8": (25, 6, 40, 60, 50, 150)},
    "transpose": {"int8": (1.25, 0.4, 1.5, 2, 2, 3), "int16": (1.5, 0.5, 2, 3, 2, 6)},
    "copy": {"int8": (0.5, 0.13, 0.5, 0.6, 0.6, 3), "int16": (1, 0.25, 1, 1.2, 1.2, 6)},
    "bilinear": {"int8": (40, 12, 50, 70, 60, 200)},
    "nearest": {"int8": (1.5, 0.4, 1.5, 2, 2, 6)},
}
"""Instructions of a loop that is as good as one by hand. Products: SMLAD and its kin compute two, VMLADAV sixteen, and
weights and activations are loaded for blocks of outputs; 3x3 with stride 1 takes 2.25 times fewer by Winograd's
algorithm; a matrix times a vector loads each weight for one product. Cores without such instructions multiply two
outputs in halves of a register. Elements: loads, work and stores, four at a time where the core can."""
FLOAT_LIMITS: Mapping[str, tuple[float, ...]] = {
    "conv": (1.1, 0.35, 60, 120, 70, 250), "fully_connected": (1.1, 0.35, 60, 120, 70, 250),
    "matmul": (1.1, 0.35, 60, 120, 70, 250), "table": (20, 4, 150, 250, 200, 600), "add": (3, 0.75, 40, 60, 50, 120),
    "mul": (3, 0.75, 35, 70, 45, 150), "max_pool": (2, 0.5, 5, 6, 6, 20), "max_pool3": (4, 0.75, 10, 12, 12, 40),
    "average_pool": (3, 0.75, 30, 50, 40, 100), "average_pool3": (12, 2, 100, 200, 130, 400),
    "mean": (1.25, 0.3, 30, 50, 40, 100), "softmax": (20, 4, 150, 250, 200, 600),
    "normalize": (12, 3, 200, 350, 250, 800), "transpose": (2.5, 1, 2.5, 3, 3, 10), "copy": (2, 0.5, 2, 2.4, 2.4, 12),
    "bilinear": (24, 6, 300, 500, 400, 1200), "nearest": (6, 1.6, 6, 8, 8, 24),
}  # fmt: skip
"""The same for float32. Without a floating-point unit: calls of the compiler's library, and functions in integers."""


class Figures(NamedTuple):
    """An inference of a layer."""

    instructions: int
    cycles: int
    estimate: int
    """Cycles that the plan says."""


Case = tuple[str, str, str]
"""Layer, core, and setting (or library)."""


def limit(layer: LayerModel, core: str) -> float:
    """Instructions of a product or an element."""
    row = FLOAT_LIMITS[layer.limit] if layer.dtype == "float32" else LIMITS[layer.limit][layer.dtype]
    return row[CORES.index(core)]


def cases(only: Sequence[str] = (), cores: Sequence[str] = CORES, cmsis_nn: bool = False) -> list[Case]:
    """What is measured. AVRs have memory for small layers; software floating point takes its time."""
    found = []
    for layer in layers():
        if only and not any(part in layer.name for part in only):
            continue
        for core in cores:
            if (core == AVR or (layer.dtype == "float32" and core in NO_FPU)) and not layer.small:
                continue
            settings = [SPEED, *([BALANCED] if core == M4 else []), *([CMSIS_NN] if core == M4 and cmsis_nn else [])]
            found += [(layer.name, core, setting) for setting in settings]
    return found


def measure(case: Case) -> Figures | None:
    """An inference in the emulator; None where CMSIS-NN has no function for the layer."""
    name, core, setting = case
    model = next(layer for layer in layers() if layer.name == name).build()
    if setting == CMSIS_NN:
        try:
            compiled = compile(model, target=core, optimize=SPEED, backend=[CMSIS_NN], kernels=[f"0={CMSIS_NN}"])
        except MoteError:
            return None
    else:
        compiled = compile(model, target=core, optimize=setting)
    timed = profile(compiled, layers=False)
    assert timed.instructions is not None and timed.cycles is not None
    return Figures(timed.instructions, timed.cycles, round(estimate(compiled.costs, compiled.plan)))


def key(case: Case) -> str:
    return " ".join(case)


def load() -> tuple[dict[str, str], dict[str, Figures]]:
    """The compilers of the cores, and what was measured with them."""
    if not RECORD.exists():
        return {}, {}
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    return record["compilers"], {case: Figures(*figures) for case, figures in record["figures"].items()}


def text(compilers: Mapping[str, str], figures: Mapping[str, Figures]) -> str:
    """One line for each case, so that a difference can be read."""
    order = {key(case): n for n, case in enumerate(cases(cmsis_nn=True))}
    rows = [f"    {json.dumps(k)}: {json.dumps(figures[k])}" for k in sorted(figures, key=lambda k: order[k])]
    lines = ",\n".join(rows)
    return f'{{\n  "compilers": {json.dumps(compilers)},\n  "figures": {{\n{lines}\n  }}\n}}\n'


def compiler(core: str) -> str:
    found = toolchain.find_compiler(targets.load(core))
    return f"{found.kind} {found.version}"


def slower(case: Case, before: Figures | None, after: Figures) -> list[str]:
    """Counts that have grown by more than the margin."""
    if before is None:
        return [f"{key(case)} is not in {RECORD.name}: {UPDATE}"]
    pairs = (("instructions", before.instructions, after.instructions), ("cycles", before.cycles, after.cycles))
    return [
        f"{key(case)}: {what} {old:,} -> {new:,} ({new / old - 1:+.1%})"
        for what, old, new in pairs
        if new > old * (1 + MARGIN)
    ]


def tables(figures: Mapping[str, Figures]) -> str:
    """The tables of the page: of all layers, and how many are how far from their limits."""
    return f"{summary(figures)}\n\n{rows(figures)}"


def _times(layer: LayerModel, core: str, figures: Mapping[str, Figures], setting: str = SPEED) -> float | None:
    """How many times the limit a layer takes."""
    taken = figures.get(key((layer.name, core, setting)))
    return None if taken is None else taken.instructions / layer.work / limit(layer, core)


def summary(figures: Mapping[str, Figures]) -> str:
    """For each core how many layers are within a multiple of their limits, and how far estimates are off."""
    lines = [
        "| core | layers | up to 1.5x of the limit | up to 2.5x | up to 5x | more | worst | estimates within 10% |",
        "|---|--:|--:|--:|--:|--:|---|--:|",
    ]
    for core in CORES:
        ratios = {x.name: r for x in layers() if (r := _times(x, core, figures)) is not None}
        if not ratios:
            continue
        worst = max(ratios, key=lambda name: ratios[name])
        bands = [sum(lo < r <= hi for r in ratios.values()) for lo, hi in ((0, 1.5), (1.5, 2.5), (2.5, 5), (5, 1e9))]
        own = [figures[key((name, core, SPEED))] for name in ratios]
        near = sum(abs(f.estimate / f.cycles - 1) <= 0.1 for f in own)
        cells = [TITLES[core], len(ratios), *bands, f"`{worst}` {ratios[worst]:.1f}x", near]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def rows(figures: Mapping[str, Figures]) -> str:
    """A line for each layer: instructions of a product or an element, and how many times the limit that is."""
    libraries = any(case.endswith(CMSIS_NN) for case in figures)
    head = ["layer", "of", f"{TITLES[M4]} default", *(TITLES[core] for core in CORES)]
    head += ["M4 with CMSIS-NN"] if libraries else []
    head.append("M4 estimate")
    lines = [f"| {' | '.join(head)} |", f"|---|---{'|--:' * (len(head) - 2)}|"]
    for layer in layers():
        cells = [f"`{layer.name}`", "element" if layer.limit in ELEMENTS else "product"]
        usual = figures.get(key((layer.name, M4, BALANCED)))
        cells.append("" if usual is None else _number(usual.instructions / layer.work))
        for core in CORES:
            taken = figures.get(key((layer.name, core, SPEED)))
            if taken is None:
                cells.append("")
                continue
            each = taken.instructions / layer.work
            cells.append(f"{_number(each)} ({each / limit(layer, core):.1f}x)")
        if libraries:
            other = figures.get(key((layer.name, M4, CMSIS_NN)))
            cells.append("" if other is None else _number(other.instructions / layer.work))
        own = figures.get(key((layer.name, M4, SPEED)))
        cells.append("" if own is None else f"{own.estimate / own.cycles - 1:+.0%}")
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


ELEMENTS = frozenset(LIMITS) - {"conv", "winograd", "fully_connected", "matmul"}
"""The limits that are of elements."""


def _number(value: float) -> str:
    """Three digits."""
    return (
        f"{value:.3f}"
        if value < 1
        else f"{value:.2f}"
        if value < 10
        else f"{value:.1f}"
        if value < 100
        else f"{value:,.0f}"
    )


def on_this_computer(names: Iterable[str]) -> Iterator[str]:
    """Time with vectors against portable C and LiteRT, in one run: not kept, since time is not repeatable."""
    yield "| layer | portable C, µs | vectors, µs | LiteRT, µs | vectors against portable C |\n|---|--:|--:|--:|--:|"
    models = {layer.name: layer for layer in layers()}
    for name in dict.fromkeys(names):
        with suppress(ValueError):
            taken = host.times(models[name].build())
            portable, vectors, litert = (taken[each] * host.MICRO for each in (host.PORTABLE, host.NATIVE, host.LITERT))
            yield f"| `{name}` | {portable:,.1f} | {vectors:,.1f} | {litert:,.1f} | {vectors / portable:.2f} |"


def _said(figures: Figures) -> str:
    return "{:,} instructions, {:,} cycles, {:,} estimated".format(*figures)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", nargs="+", default=(), metavar="PART", help="layers whose names contain one of these")
    p.add_argument(
        "--core", nargs="+", default=CORES, choices=CORES, metavar="CORE", help=f"some of {', '.join(CORES)}"
    )
    p.add_argument("--cmsis-nn", action="store_true", help="also CMSIS-NN, from the sources in CMSIS_NN_PATH")
    p.add_argument("--host", action="store_true", help="time on this computer instead")
    p.add_argument("--update", action="store_true", help="write layers.json and the page")
    p.add_argument("--jobs", type=int, help="how many layers are measured at once")
    options = p.parse_args()
    chosen = cases(options.only, options.core, options.cmsis_nn)
    if options.host:
        for line in on_this_computer(name for name, _, _ in chosen):
            print(line, flush=True)
        return
    compilers, figures = load()
    with Pool(options.jobs) as pool:
        for case, after in zip(chosen, pool.imap(measure, chosen), strict=True):
            before = figures.get(key(case))
            if after is None:
                continue
            if before != after:
                print(f"{key(case)}: {_said(after)}{f', was {_said(before)}' if before else ''}", flush=True)
            figures[key(case)] = after
            compilers[case[1]] = compiler(case[1])
    if options.update:
        known = {key(case) for case in cases(cmsis_nn=True)}
        figures = {case: figures[case] for case in figures if case in known}
        RECORD.write_text(text(dict(sorted(compilers.items())), figures), encoding="utf-8")
        PAGE.path.write_text(PAGE.with_table(tables(figures)), encoding="utf-8")
    print(summary(figures))


if __name__ == "__main__":
    main()

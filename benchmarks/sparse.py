"""What it saves to leave out blocks of zeros: modelled cycles of layers by the share of their weights that are zero.

    PYTHONPATH=src:models python benchmarks/sparse.py            # the table of docs/compile/kernels.md
    PYTHONPATH=src:models python benchmarks/sparse.py --write    # put it there

Every kernel that a layer can have runs on an emulated Cortex-M4.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from compare import included
from mote.compiler.kernels.contract import Call
from mote.optimize.tune.calibration.cost_fit import CostCore, ops_of
from mote.optimize.tune.calibration.cost_layers import CostLayer, graph_of

CORE = CostCore("cortex-m4")
PAGE = Path(__file__).parents[1] / "docs" / "compile" / "kernels.md"
ZEROS = (0.0, 0.25, 0.5, 0.75, 0.9)
LAYERS = (
    CostLayer("CONV_2D", (12, 12), 64, 64, block=(2, 4)),
    CostLayer("CONV_2D", (12, 12), 64, 64, block=(1, 4)),
    CostLayer("CONV_2D", (12, 12), 64, 64, block=(1, 1)),
    CostLayer("CONV_2D", (10, 10), 32, 32, (3, 3), block=(2, 4)),
    CostLayer("FULLY_CONNECTED", (1, 1), 512, 64, block=(4, 8)),
    CostLayer("FULLY_CONNECTED", (1, 1), 512, 64, block=(1, 4)),
)

Figures = dict[tuple[CostLayer, float], dict[str, tuple[int, int]]]
"""Cycles and bytes of constants of a layer with some zeros, by the family of the kernel."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--write", action="store_true", help="write the table into the page")
    write = p.parse_args().write
    text = table(measure(LAYERS, ZEROS))
    print(text)
    if write:
        PAGE.write_text(included(PAGE.read_text(encoding="utf-8"), {"sparse": text}), encoding="utf-8")


def measure(layers: tuple[CostLayer, ...], zeros: tuple[float, ...]) -> Figures:
    cases = [(layer, share) for layer in layers for share in zeros]
    graph = graph_of([replace(layer, kept=1 - share) for layer, share in cases])
    offered = ops_of(graph, CORE.how)
    kernels = [
        [k for k in found if k.entry.call is not Call.ADDS and k.price.coding is None] for found in offered.values()
    ]
    figures: Figures = {case: {} for case in cases}
    for n in range(max(map(len, kernels))):
        picked = [found[min(n, len(found) - 1)] for found in kernels]
        took = CORE.run(graph, dict(zip(offered, picked, strict=True)), True)
        for case, kernel, taken in zip(cases, picked, took, strict=True):
            figures[case][kernel.family] = taken.cycles, kernel.constants
    return figures


def table(figures: Figures) -> str:
    """For each share of zeros the fastest kernel, with what it takes over the fastest without zeros."""
    lines = [f"| layer | blocks | {' | '.join(f'{share:.0%}' for share in ZEROS)} |", "|---" * (2 + len(ZEROS)) + "|"]
    for layer in LAYERS:
        high, wide = layer.block
        dense = min(figures[layer, 0.0].values())
        cells = []
        for share in ZEROS:
            family, (taken, nbytes) = min(figures[layer, share].items(), key=lambda found: found[1])
            cells.append(f"{taken:,} ({taken / dense[0]:.2f}x)<br>{nbytes:,} bytes<br>`{family}`")
        lines.append(f"| {layer} | {high}x{wide} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

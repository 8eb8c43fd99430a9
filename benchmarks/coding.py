"""What coding weights saves with --optimize size: one Markdown table on standard output.

    python benchmarks/coding.py [--models FOLDER] [--target cortex-m4]

For each model: its weights, and what no code of single weights goes below; the other constants; flash and instructions
with weights as they are, and coded where that is worth it; RAM, which is the same or less. FOLDER holds the published
models; without it, architectures of the same shapes with random weights stand in, which do not compress.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from unittest.mock import patch

import numpy as np

from anchors import load
from mote import compile, run
from mote.compiler.compiled import Compiled
from mote.compiler.plan.selection import code_size_model
from mote.ir.graph.tensor import Array

HEAD = (
    "model",
    "weights",
    "their entropy",
    "other constants",
    "flash",
    "coded",
    "layers",
    "instructions",
    "coded",
    "RAM",
    "coded",
)
NO_DECODER = 1 << 30
"""More code than anything saves."""


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--target", default="cortex-m4")
    arguments = p.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|---|{'--:|' * (len(HEAD) - 1)}", flush=True)
    for anchor in load():
        print(row(anchor.name, anchor.model(arguments.models), arguments.target), flush=True)


def row(name: str, model: Path | bytes, target: str) -> str:
    coded = compile(model, target=target, io="int8", optimize="size")
    with patch.object(code_size_model, "DECODER", NO_DECODER):
        plain = compile(model, target=target, io="int8", optimize="size")
    weights = weights_of(plain)
    kernels = [steps[0].kernel for _, steps in coded.plan.works]
    before, after = run(plain), run(coded)
    assert before.instructions is not None and after.instructions is not None
    cells = [
        sum(w.size for w in weights),
        round(sum(map(entropy, weights))),
        plain.project.constants - sum(w.size for w in weights),
        before.flash.total,
        f"{after.flash.total:,} ({after.flash.total / before.flash.total:.2f}x)",
        sum(k.price.coding is not None for k in kernels),
        before.instructions,
        f"{after.instructions:,} ({after.instructions / before.instructions:.2f}x)",
        plain.plan.ram,
        coded.plan.ram,
    ]
    return f"| {name} | {' | '.join(c if isinstance(c, str) else f'{c:,}' for c in cells)} |"


def weights_of(compiled: Compiled) -> list[Array]:
    """The int8 weights of its layers."""
    graph = compiled.plan.graph
    constants = [op.input(graph, 1).data for op in graph.ops if len(op.inputs) > 2]
    return [data for data in constants if data is not None and data.dtype == np.int8]


def entropy(weights: Array) -> float:
    """Bytes that a code of single weights takes at least."""
    counts = np.unique(weights, return_counts=True)[1]
    return float(-(counts * np.log2(counts / weights.size)).sum() / 8)


if __name__ == "__main__":
    main()

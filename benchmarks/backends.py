"""Cycles of models with Mote's own kernels, with those of CMSIS-NN wherever it has one, and with the planner's choice
of both, as a table: docs/compile/backends.md has it. The sources are those of CMSIS_NN_PATH.

    PYTHONPATH=src:models python benchmarks/backends.py --models kws.tflite ic.tflite --core cortex-m4 cortex-m55
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import mote
from mote.compiler.compiled import Compiled
from mote.compiler.offload import backends
from mote.compiler.offload.cmsis_nn import CmsisNN
from mote.compiler.offload.contract import Offloaded
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op

HEADS = ("model", "core", "mote", "cmsis-nn", "both", "layers of cmsis-nn", "RAM mote", "RAM cmsis-nn", "RAM both")


class Everywhere(CmsisNN):
    """Taken wherever it computes a layer."""

    def estimate(self, graph: Graph, op: Op, target: Target) -> float:
        return 0.0


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", nargs="+", type=Path, required=True, help="the .tflite files")
    p.add_argument("--core", nargs="+", required=True, help="targets whose cycles are modelled")
    arguments = p.parse_args()
    print(f"| {' | '.join(HEADS)} |\n|{'---|' * 2}{'--:|' * (len(HEADS) - 2)}", flush=True)
    for row in rows(arguments.models, arguments.core):
        print(f"| {' | '.join(f'{cell:,}' if isinstance(cell, int) else cell for cell in row)} |", flush=True)


def rows(models: Sequence[Path], cores: Sequence[str]) -> Iterator[tuple[str | int, ...]]:
    """A row for each model on each core."""
    for model in models:
        for core in cores:
            made = [compiled(model, core, generator) for generator in (None, Everywhere(), CmsisNN())]
            cycles = [mote.profile(one, layers=False).cycles for one in made]
            taken = sum(isinstance(step.kernel, Offloaded) for step in made[2].plan.steps)
            yield model.stem, core, *cycles, f"{taken} of {len(made[2].plan.works)}", *(one.plan.ram for one in made)


def compiled(model: Path, core: str, generator: CmsisNN | None) -> Compiled:
    """A model for speed, with a generator or without."""
    if generator is None:
        return mote.compile(str(model), target=core, optimize="speed")
    backends.register(generator)
    return mote.compile(str(model), target=core, optimize="speed", backend=generator.name)


if __name__ == "__main__":
    main()

"""float32 networks against other engines, as a Markdown table.

    PYTHONPATH=src:models python benchmarks/floats.py [--models FOLDER] [--cores cortex-m4 ...]

FOLDER holds the published models of MLPerf Tiny; without it, architectures of the same shapes with random weights stand
in. Everything is computed with `--optimize speed`, and verified on Cortex-M4.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import mlperf_tiny
from mote import compile, profile, run, verify

CORES = ("cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55")
M4 = "cortex-m4"


@dataclass(frozen=True)
class Network:
    """A network, and what others take for it on Cortex-M4: instructions under QEMU -icount, the fastest of several
    builds."""

    name: str
    file: str
    architecture: str
    others: dict[str, float]

    def model(self, folder: Path | None) -> bytes:
        path = folder / self.file if folder else None
        return path.read_bytes() if path else mlperf_tiny.build(self.architecture, dtype="float32")


NETWORKS = (
    Network("IC", "pretrainedResnet.tflite", "ic", {"TFLM": 88068509, "onnx2c": 116.2e6}),
    Network("VWW", "vww_96_float.tflite", "vww", {"onnx2c": 54.1e6}),
)
HEAD = "| model | core | M instructions | per MAC | M cycles | RAM + flash | others, M instructions on M4 | equal |"


def row(network: Network, core: str, folder: Path | None) -> str:
    compiled = compile(network.model(folder), target=core, optimize="speed")
    cost, cycles = run(compiled, layers=False), profile(compiled, layers=False).cycles
    instructions = cost.instructions or 0
    flash = (cost.flash.code or 0) + cost.flash.constants
    others = ", ".join(
        f"{name} {taken / 1e6:.1f} ({instructions / taken:.2f}x)" for name, taken in network.others.items()
    )
    cells = [
        network.name,
        core,
        f"{instructions / 1e6:.2f}",
        f"{instructions / compiled.macs:.2f}",
        f"{cycles / 1e6:.2f}",
        f"{cost.ram.arena + (cost.ram.static or 0):,} + {flash:,}",
        others if core == M4 else "",
        ("yes" if verify(compiled, 2).passed else "NO") if core == M4 else "",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--cores", nargs="+", default=CORES, metavar="CORE", help="some of the cores")
    arguments = p.parse_args()
    print(HEAD, "|---|---|--:|--:|--:|--:|---|---|", sep="\n", flush=True)
    for network in NETWORKS:
        for core in arguments.cores:
            print(row(network, core, arguments.models), flush=True)


if __name__ == "__main__":
    main()

"""Instructions and memory of spectral features of a frame on emulated cores: the table of docs/improve/features.md.

PYTHONPATH=src:. python benchmarks/spectral_features.py [CORE ...]
"""

from __future__ import annotations

import sys

from tests.ir.ops.features import test_spectral as cases

FRAMES = {
    "`mfcc`: 480 samples, 512 points, 40 filters, 10 coefficients": (3, 160, cases.MFCC),
    "`log-mel`: 1,024 samples, 1,024 points, 40 filters": (2, 512, cases.LOG_MEL),
}
"""The frames of MLPerf Tiny's keyword spotter and streaming wake word: rows of samples, samples of a row, features."""


def main(*cores: str) -> None:
    print("| a frame | core | instructions | RAM with its samples | constants | code |\n|---|---|--:|--:|--:|--:|")
    for name, (rows, unit, fields) in FRAMES.items():
        for core in cores or ("cortex-m4", "cortex-m55", "cortex-m0plus"):
            made = cases.measured(core, rows, unit, **fields)
            sizes = (made.instructions, made.ram.arena, made.flash.constants, made.flash.code)
            print(f"| {name} | {core} | {' | '.join(f'{size:,}' for size in sizes)} |")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Instructions of motion features on an emulated core: the table of docs/improve/features.md.

PYTHONPATH=src:. python benchmarks/motion_features.py [CORE]
"""

from __future__ import annotations

import sys

from tests.compiler.kernels.c_harness import Program
from tests.helpers.offered import first
from tests.ir.ops.features import test_motion as cases

from mote.ir.ops.features.motion import Statistic, Wavelet, WindowSpectrum, WindowStatistics, WindowWavelet

CHANNELS, UNIT, ROWS = 3, 64, 2
"""Windows of 128 samples of three axes, in rows of as many samples as a hop has."""
EDGES = (1, 4, 8, 16, 32, 65)
FEATURES = {
    "mean, rms": (WindowStatistics, {"statistics": (Statistic.MEAN, Statistic.RMS)}),
    "all ten statistics": (WindowStatistics, {"statistics": tuple(Statistic)}),
    "five bands, dominant frequency": (WindowSpectrum, {"edges": EDGES, "dominant": True, "hann": True}),
    "four levels of Haar's wavelet": (WindowWavelet, {"wavelet": Wavelet.HAAR, "levels": 4}),
    "four levels of Daubechies' wavelet": (WindowWavelet, {"wavelet": Wavelet.DAUBECHIES4, "levels": 4}),
}


def instructions(core: str) -> dict[str, tuple[int, int]]:
    """Instructions for a window, and bytes of working memory, by what is computed."""
    x, program, scratch = cases.samples("noise", UNIT * ROWS, CHANNELS, 3), Program(core), []
    for kind, attributes in FEATURES.values():
        case = cases.case(kind, x, UNIT, ROWS, 1, **attributes)
        kernel = first(case.graph, frozenset({"dsp"}) if core != "cortex-m0" else frozenset())
        params, given, out = program.params(kernel), program.block(x.nbytes, x), program.block(case.expected().nbytes)
        scratch.append(kernel.needs.scratch or 0)
        work = f", {program.block(scratch[-1])}" if scratch[-1] else ""
        program.time(f"mote_{kernel.name}({params}, {given}, {out}, 0, 1{work});")
    return dict(zip(FEATURES, zip(program.measure(), scratch, strict=True), strict=True))


def main(core: str = "cortex-m4") -> None:
    print("| 128 samples of 3 axes | instructions | working memory |\n|---|--:|--:|")
    for name, (count, scratch) in instructions(core).items():
        print(f"| {name} | {count:,} | {scratch} bytes |")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The cycle models of RISC-V cores against the cores themselves, in RTL: a row for each core and model.

    python benchmarks/rtl.py [MODEL ...] [--core ibex ...] [--optimize speed] [--layers]

Needs `pip install '.[rtl]'`. A model runs on the core's RTL, which takes a minute for 20 million cycles; the cycle
model then counts the instructions that ran there. Outputs are compared with the reference's. `--layers` has a row for
each layer. The model is `models/digits.tflite` where none is given.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from mote import compile, profile
from mote.bench.measure.profiler import Profile
from mote.hardware.toolchain.emulators import RTL

CORES = ("ibex", "cv32e40p", "picorv32")
DIGITS = Path(__file__).parents[1] / "models" / "digits.tflite"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*", type=Path, default=[DIGITS], metavar="MODEL")
    p.add_argument("--core", nargs="+", default=CORES, metavar="CORE", help=f"targets with RTL: {', '.join(CORES)}")
    p.add_argument("--optimize", default="speed", help="a setting of `mote compile` (default: speed)")
    p.add_argument("--layers", action="store_true", help="a row for each layer, too")
    arguments = p.parse_args()
    print("| core | model | instructions | cycles in RTL | an instruction | by the cycle model | |")
    print("|---|---|--:|--:|--:|--:|--:|", flush=True)
    for core in arguments.core:
        for model in arguments.models:
            print(core, model.stem, file=sys.stderr, flush=True)
            compiled = compile(model, target=core, optimize=arguments.optimize)
            measured = profile(compiled, emulator=RTL, layers=arguments.layers)
            print(row(core, model.stem, measured), flush=True)
            for layer in measured.layers:
                print(f"| | {layer.name} | {layer.instructions:,} | {layer.cycles:,} | | | |", flush=True)


def row(core: str, model: str, measured: Profile) -> str:
    assert measured.modelled is not None
    counts = f"{measured.instructions:,} | {measured.cycles:,} | {measured.cycles / measured.instructions:.2f}"
    return f"| {core} | {model} | {counts} | {measured.modelled:,} | {measured.modelled / measured.cycles - 1:+.2%} |"


if __name__ == "__main__":
    main()

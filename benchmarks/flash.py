"""Mote where flash waits, against the best that others have published on silicon: a row of a table.

    python benchmarks/flash.py [--models FOLDER] [--only KWS ...] [--optimize speed] [--wait-states 5] [--read-bytes 8]
                               [--lines 8] [--place-code ram] [--place-constants ram] [--target NAME]

Published cycles are measured on parts whose flash waits, so that modelled cycles are held against them with the same
waits or not at all. The default is a Cortex-M4 like an STM32L4R5 at 120 MHz, the part of most published results: 5 wait
states, 64-bit reads, 8 lines kept for constants, 1 KB of cache and a prefetch for code. `--place-code ram` executes
inner loops from RAM, which answers at once; `--place-constants ram` reads constants from there. `--target` takes
another one, a bundled part or a file, as it is. FOLDER holds the published models; without it, architectures of the
same shapes with random weights stand in.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from anchors import Anchor, load
from mote import compile, profile
from mote.bench.measure.profiler import Profile
from mote.hardware import targets
from mote.hardware.targets import Reads, Target

CORE = "cortex-m4"
CODE_CACHE = 1024
"""Bytes of code that an STM32L4's cache keeps."""


def waiting(wait_states: int = 5, read_bytes: int = 8, lines: int = 8) -> Target:
    """A Cortex-M4 whose flash waits, without limits."""
    reads = Reads(
        wait_states=wait_states,
        read_bytes=read_bytes,
        line_bytes=read_bytes,
        prefetch=True,
        code_lines=CODE_CACHE // read_bytes,
        data_lines=lines,
    )
    return replace(targets.load(CORE), name=f"{CORE} with waits", reads=reads)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--only", nargs="+", metavar="MODEL", help="some of the models")
    p.add_argument("--optimize", default="speed", help="a setting of `mote compile` (default: speed)")
    p.add_argument("--wait-states", type=int, default=5)
    p.add_argument("--read-bytes", type=int, default=8)
    p.add_argument("--lines", type=int, default=8, help="lines that are kept for constants")
    p.add_argument("--place-code", default="flash", help="ram: inner loops are executed from RAM")
    p.add_argument("--place-constants", default="flash", help="ram: start-up copies constants to RAM")
    p.add_argument("--target", help="a bundled part or a file, instead of a Cortex-M4 with these waits")
    arguments = p.parse_args()
    target = waiting(arguments.wait_states, arguments.read_bytes, arguments.lines)
    if arguments.target:
        target = targets.load(arguments.target)
    rows = []
    for anchor in load():
        best = anchor.best_published(target.cpu)
        if best and anchor.name in (arguments.only or [anchor.name]):
            print(anchor.name, file=sys.stderr, flush=True)
            options = {"optimize": arguments.optimize, "io": "int8"}
            options |= {"place_code": arguments.place_code, "place_constants": arguments.place_constants}
            compiled = compile(anchor.model(arguments.models), target=target, **options)
            rows.append(row(anchor, profile(compiled, layers=False), best))
    how = f"--optimize {arguments.optimize}, code in {arguments.place_code}, constants in {arguments.place_constants}"
    print(f"{target.name}, {target.code_reads}, {how}\n")
    print(
        "| model | cycles | without waits | waits for code | for constants | bytes of flash read | best published | |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    print("\n".join(rows))


def row(anchor: Anchor, found: Profile, best: tuple[str, int]) -> str:
    engine, cycles = best
    w = found.waits
    cells = [found.cycles, found.core_cycles, w.code, w.constants, w.fetched]
    numbers = " | ".join(f"{n:,}" for n in cells)
    return f"| {anchor.name} | {numbers} | {cycles:,} ({engine}) | {found.cycles / cycles:.2f}x |"


if __name__ == "__main__":
    main()

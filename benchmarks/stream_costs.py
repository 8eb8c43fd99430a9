"""What a step of a stream costs: one Markdown table on standard output.

    python benchmarks/stream_costs.py [--models FOLDER] [--target cortex-m4]

SWW and KWS of MLPerf Tiny, the whole window against only what is new (KWS pads its window, so it is its causal form),
and the models of the pymicro-wakeword package where it is installed, which keep a state by themselves. FOLDER holds the
published models; without it, architectures of the same shapes with random weights stand in. RAM is arena, state and
counters. The last columns are what TFLite Micro takes, for a window (SWW, KWS) or for the same step: arena and static
memory, measured in the same way.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from anchors import load  # first: it says where the models' scripts are

# isort: split
from mote import compile, run
from mote.compiler.settings import OPTIMIZE

WAKE_WORDS = {
    "alexa": (170_400, 18_916),
    "hey_jarvis": (161_080, 18_180),
    "hey_mycroft": (174_800, 20_212),
    "okay_nabu": (253_440, 21_236),
}
"""Instructions of a step and RAM of TFLite Micro (2026-08) with CMSIS-NN (2026-07) on a Cortex-M4 under QEMU: gcc 12.2
-O3 (faster than -O2), only the operators that are needed, the fifth step of the self-test's input."""
HEAD = ("model", "what", "--optimize", "MACs", "instructions", "RAM", "flash", "TFLM instructions", "TFLM RAM")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--target", default="cortex-m4")
    arguments = p.parse_args()
    print(f"| {' | '.join(HEAD)} |\n|---|---|---|{'--:|' * (len(HEAD) - 3)}", flush=True)
    rivals = {anchor.name: anchor for anchor in load()}
    for name, how in (("SWW", {"stream": 1}), ("KWS", {"stream": 1, "causal": True})):
        anchor = rivals[name]
        model, tflm = anchor.model(arguments.models), anchor.rival[1]
        for what, options in (("window", {}), ("causal stream" if "causal" in how else "stream", how)):
            for optimize in OPTIMIZE:
                taken = measure(model, arguments.target, optimize=optimize, io="int8", **options)
                print(row(name, what, optimize, taken, tflm["instructions"]["cortex-m4"], tflm["ram"]), flush=True)
    for path in wake_words():
        for optimize in OPTIMIZE:
            taken = measure(path, arguments.target, optimize=optimize)
            print(row(path.stem, "step", optimize, taken, *WAKE_WORDS[path.stem]), flush=True)


def measure(model: bytes | Path, target: str, **options: Any) -> list[int]:
    """MACs, instructions, RAM and flash."""
    compiled = compile(model, target=target, **options)
    result = run(compiled, layers=False)
    assert result.instructions is not None
    return [compiled.macs, result.instructions, compiled.plan.ram, result.flash.total]


def row(name: str, what: str, optimize: str, taken: list[int], *others: int) -> str:
    cells = [name, what, optimize, *(f"{n:,}" for n in (*taken, *others))]
    return f"| {' | '.join(cells)} |"


def wake_words() -> list[Path]:
    package = find_spec("pymicro_wakeword")
    if package is None or package.origin is None:
        return []
    return sorted((Path(package.origin).parent / "models").glob("*.tflite"))


if __name__ == "__main__":
    main()

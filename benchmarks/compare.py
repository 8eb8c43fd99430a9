"""Mote against the numbers in anchors.json: one Markdown table on standard output.

    python benchmarks/compare.py [--models FOLDER] [--target cortex-m4] [--optimize balanced]

FOLDER holds the published models (MLPerf Tiny and MCUNet); without it, architectures of the same shapes with random
weights stand in: the same arena and code, nearly the same instructions.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))

import mlperf_tiny  # noqa: E402
from mote import compile, run, verify  # noqa: E402


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    p.add_argument("--target", default="cortex-m4")
    p.add_argument("--optimize", default="balanced")
    p.add_argument("--inputs", type=int, default=4, help="inputs of the verification")
    arguments = p.parse_args()
    anchors = json.loads((HERE / "anchors.json").read_text())
    del anchors["about"]
    print("| model | instructions | per MAC | other engine | ratio | RAM: arena + static | other | stack | "
          "code | other | constants | exact | compile |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|--:|")
    for name, anchor in anchors.items():
        print(row(name, anchor, arguments), flush=True)


def row(name: str, anchor: dict[str, Any], arguments: argparse.Namespace) -> str:
    model: Path | bytes
    model = arguments.models / anchor["file"] if arguments.models else mlperf_tiny.build(anchor["architecture"])
    start = time.perf_counter()
    compiled = compile(model, target=arguments.target, optimize=arguments.optimize, io="int8")
    seconds = time.perf_counter() - start
    cost = run(compiled)
    checked = verify(compiled, arguments.inputs)
    assert cost.instructions is not None
    ram = cost.ram.arena + (cost.ram.static or 0)
    cells = [
        name,
        f"{cost.instructions:,}",
        f"{cost.instructions / compiled.macs:.2f}",
        f"{anchor['instructions']:,} ({anchor['engine']})",
        f"{cost.instructions / anchor['instructions']:.2f}x",
        f"{ram:,}",
        f"{anchor['ram']:,}",
        f"{cost.ram.stack:,}",
        f"{cost.flash.code:,}",
        f"{anchor['code']:,}",
        f"{cost.flash.constants:,}",
        f"{'yes' if checked.exact else 'NO'} ({checked.tensors} tensors)",
        f"{seconds:.2f} s",
    ]
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()

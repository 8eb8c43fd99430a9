"""Instructions of one inference on every core, as a Markdown table.

    python benchmarks/cores.py [--models FOLDER]

FOLDER holds the published models; without it, architectures of the same shapes with random weights stand in.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "models"))

import mlperf_tiny  # noqa: E402
from mote import compile, run  # noqa: E402

CORES = ("cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m7", "cortex-m33", "cortex-m55", "rv32imc")


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, help="folder with the published models")
    folder = p.parse_args().models
    anchors = json.loads((HERE / "anchors.json").read_text())
    del anchors["about"]
    print(f"| M instructions | {' | '.join(CORES)} |\n|---|{'--:|' * len(CORES)}")
    for name, anchor in anchors.items():
        model = folder / anchor["file"] if folder else mlperf_tiny.build(anchor["architecture"])
        counts = [run(compile(model, target=core, io="int8")).instructions or 0 for core in CORES]
        print(f"| {name} | {' | '.join(f'{n / 1e6:.2f}' for n in counts)} |", flush=True)


if __name__ == "__main__":
    main()

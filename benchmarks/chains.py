"""What it saves to make one operator of those that converters write for one idea: instructions and memory on a core.

PYTHONPATH=src:models:. python benchmarks/chains.py          # prints the table of docs/compile/kernels.md
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from unittest.mock import patch

from tests.helpers import idioms as chains
from tests.helpers.forgetting import forgetting
from tests.helpers.network import Net

from mote.bench.measure import run
from mote.compiler import line
from mote.compiler.passes import pipeline

FUSING = ("fuse moves", "fuse tables", "fuse functions", "fuse lines")
"""The passes in question."""
ROWS: dict[str, tuple[str, Callable[[Net, int], int] | Callable[[Net], int]]] = {
    "SiLU": ("int8", chains.silu),
    "GELU with tanh": ("int8", chains.gelu),
    "hard swish": ("int8", chains.hard_swish),
    "SiLU, float32": ("float32", chains.silu),
    "GELU with tanh, float32": ("float32", chains.gelu),
    "hard swish, float32": ("float32", chains.hard_swish),
    "layer norm (Keras)": ("int8", chains.layer_norm),
    "layer norm (PyTorch)": ("int8", chains.layer_norm_apart),
    "RMS norm": ("int8", chains.rms_norm),
    "L2 normalization": ("int8", chains.l2_norm),
    "layer norm (Keras), float32": ("float32", chains.layer_norm),
    "layer norm (PyTorch), float32": ("float32", chains.layer_norm_apart),
    "RMS norm, float32": ("float32", chains.rms_norm),
    "TRANSPOSE and back": ("int8", chains.back_and_forth),
    "joined slices": ("int8", chains.joined_slices),
    "upsampling by TILE": ("int8", chains.tiled),
    "upsampling by PACK": ("int8", chains.packed),
    "upsampling by CONCATENATION": ("int8", chains.repeated),
    "DEPTH_TO_SPACE by TRANSPOSE": ("int8", chains.depth_to_space),
}


def model(dtype: str, build: Callable[..., int]) -> bytes:
    """The chain alone, between the model's input and output."""
    net = Net(5, dtype)
    moves = build in chains.MOVES
    return net.finish(build(net) if moves else build(net, net.input(*chains.LINES)))


def measured(data: bytes, core: str, fused: bool) -> tuple[int, int]:
    """Instructions of an inference, and bytes of the arena."""
    kept = tuple(entry for entry in pipeline.PASSES if fused or entry.name not in FUSING)
    with forgetting(), patch.object(pipeline, "PASSES", kept):
        compiled = line.compile(data, target=core)
    found = run.run(compiled)
    assert found.instructions is not None
    return found.instructions, compiled.plan.arena


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", default="cortex-m4")
    core = parser.parse_args().core
    print("| chain | instructions, apart | as one | arena, apart | as one |")
    print("|---|--:|--:|--:|--:|")
    for name, (dtype, build) in ROWS.items():
        data = model(dtype, build)
        (slow, much), (fast, little) = (measured(data, core, fused) for fused in (False, True))
        print(f"| {name} | {slow:,} | {fast:,} | {much:,} | {little:,} |", flush=True)


if __name__ == "__main__":
    main()

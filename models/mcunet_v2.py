"""Networks of the MCUNetV2 kind with seeded random weights: inverted residuals with squeeze-and-excite.

`LARGE` takes images of 224x224. Its shapes set apart what three ways of scheduling need (bytes of int8 tensors):

- layer by layer 1,505,280: 112x112 pixels, 24 channels in and 96 out;
- row by row 239,680: a gate exists only after the whole 28x28x240 tensor that it scales, while the block's
  28x28x40 input waits for the residual sum, beside three expanded rows under the depthwise window;
- row by row, where the two blocks at 28x28 expand and filter twice, once for the gate and once to be scaled,
  129,920: then the largest is the block at 14x14 with 480 channels, which does so once.

`SMALL` has the same structure at 32x32, and `TINY` two of its blocks at 16x16, for tests.

    python models/mcunet_v2.py OUTDIR
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from random_net import RandomNet, start
from reference_quantizer import Net, to_float32, to_int8

_IMAGE = (1, 2)
"""The axes of height and width."""


@dataclass(frozen=True)
class Block:
    """An inverted residual: expand with 1x1 (unless that is the width already), filter, gate, project with 1x1."""

    kernel: int
    stride: int
    expanded: int
    channels: int
    gated: bool = False


@dataclass(frozen=True)
class Shape:
    """Square images, a 3x3 convolution at stride 2, blocks, a 1x1 convolution, the mean, a fully connected layer."""

    name: str
    side: int
    stem: int
    blocks: tuple[Block, ...]
    head: int
    classes: int
    samples: int
    """How many images it is calibrated on."""


LARGE = Shape(
    name="mcunet_v2_large",
    side=224,
    stem=16,
    blocks=(
        Block(3, 1, 16, 24),
        Block(3, 2, 96, 24),
        Block(3, 1, 72, 24),
        Block(3, 2, 72, 40),
        Block(3, 1, 240, 40, gated=True),
        Block(3, 1, 240, 40, gated=True),
        Block(5, 2, 240, 80, gated=True),
        Block(3, 1, 480, 80, gated=True),
        Block(7, 1, 320, 80, gated=True),
        Block(5, 1, 384, 96, gated=True),
        Block(5, 1, 384, 96, gated=True),
        Block(5, 2, 480, 160, gated=True),
        Block(7, 1, 640, 160, gated=True),
        Block(5, 1, 800, 160, gated=True),
    ),
    head=512,
    classes=1000,
    samples=4,
)
SMALL = Shape(
    name="mcunet_v2_small",
    side=32,
    stem=8,
    blocks=(
        Block(3, 1, 8, 8),
        Block(3, 2, 32, 8),
        Block(3, 1, 48, 8, gated=True),
        Block(3, 1, 48, 8, gated=True),
        Block(5, 2, 48, 16, gated=True),
        Block(7, 1, 64, 16, gated=True),
    ),
    head=48,
    classes=10,
    samples=32,
)
TINY = replace(SMALL, name="mcunet_v2_tiny", side=16, blocks=SMALL.blocks[1:3], samples=4)


def _mobilenet_v2() -> Shape:
    """Groups of blocks: how much wider inside, channels, how many, the stride of the first."""
    groups = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
    blocks, width = [], 32
    for factor, channels, count, stride in groups:
        for i in range(count):
            blocks.append(Block(3, 1 if i else stride, factor * width, channels))
            width = channels
    return Shape("mobilenet_v2", 224, 32, tuple(blocks), 1280, 1000, 1)


MOBILENET_V2 = _mobilenet_v2()


def build(shape: Shape = LARGE, seed: int = 0, dtype: str = "int8") -> bytes:
    """The `.tflite` file of a network; the same arguments give the same bytes."""
    if dtype not in ("int8", "float32"):
        raise ValueError(f"no model type {dtype} (there are: int8, float32)")
    net = network(shape, seed)
    return to_float32(net) if dtype == "float32" else to_int8(net)


def network(shape: Shape, seed: int = 0) -> Net:
    """The float network on its calibration batch."""
    r = start(shape.name, seed, shape.samples, (shape.side, shape.side, 3), -1.0, 1.0)
    x = r.conv(0, shape.stem, (3, 3), (2, 2), activation="RELU6")
    for block in shape.blocks:
        x = inverted_residual(r, x, block)
    x = r.conv(x, shape.head, activation="RELU6")
    r.fully_connected(r.net.mean(x, _IMAGE, rescaled=True), shape.classes, together=True)
    return r.net


def inverted_residual(r: RandomNet, x: int, block: Block) -> int:
    """Added to its input where the shapes allow."""
    inputs = r.net.values[x].shape[-1]
    y = r.conv(x, block.expanded, activation="RELU6") if block.expanded != inputs else x
    y = r.depthwise(y, (block.kernel, block.kernel), (block.stride, block.stride), activation="RELU6")
    if block.gated:
        y = _gated(r, y, max(8, inputs // 4))
    y = r.conv(y, block.channels, activation="NONE")
    same_shape = r.net.values[x].shape == r.net.values[y].shape
    return r.net.add(y, x) if same_shape else y


def _gated(r: RandomNet, x: int, squeezed: int) -> int:
    """Squeeze-and-excite: each channel times a number between 0 and 1 that depends on the means of all."""
    gate = r.net.mean(x, _IMAGE, keep_dims=True, rescaled=True)
    gate = r.conv(gate, squeezed, activation="RELU", together=True)
    gate = r.conv(gate, r.net.values[x].shape[-1], activation="NONE", together=True)
    return r.net.mul(x, r.net.logistic(gate))


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes both models into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="where to write the .tflite files")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other weights (default: 0)")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    for shape in (LARGE, SMALL):
        path = options.folder / f"{shape.name}_int8.tflite"
        path.write_bytes(build(shape, options.seed))
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

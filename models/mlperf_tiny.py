"""The MLPerf Tiny architectures with seeded random weights: test material of real shapes, free to ship.

Layer by layer the shapes, strides, paddings and activations are those of the MLPerf Tiny reference models
(and, for "mcunet", of an MCUNet for person detection); the weights are random and know nothing.

    python models/mlperf_tiny.py OUTDIR
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from random_net import RandomNet, start
from reference_quantizer import Net, to_float32, to_int8


def _ad(seed: int) -> Net:
    """Anomaly detection: a fully connected autoencoder over 5 frames of 128 features."""
    r = start("ad", seed, 96, (640,), -85.0, 15.0)
    x = 0
    for units in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = r.fully_connected(x, units, "RELU")
    r.fully_connected(x, 640)
    return r.net


def _kws(seed: int) -> Net:
    """Keyword spotting: a depthwise-separable CNN over 49 frames of 10 features."""
    r = start("kws", seed, 24, (49, 10, 1), -123.0, 26.0)
    x = r.conv(0, 64, (10, 4), (2, 2))
    for _ in range(4):
        x = r.conv(r.depthwise(x), 64)
    r.classifier(x, 12)
    return r.net


def _ic(seed: int) -> Net:
    """Image classification: ResNet-8 on 32x32 images."""
    r = start("ic", seed, 8, (32, 32, 3), 0.0, 255.0)
    x = r.conv(0, 16, (3, 3))
    y = r.conv(r.conv(x, 16, (3, 3)), 16, (3, 3), activation="NONE")
    x = r.net.add(x, y, "RELU")
    for channels in (32, 64):
        y = r.conv(r.conv(x, channels, (3, 3), (2, 2)), channels, (3, 3), activation="NONE")
        shortcut = r.conv(x, channels, (1, 1), (2, 2), activation="NONE")
        x = r.net.add(shortcut, y, "RELU")
    r.classifier(x, 10)
    return r.net


def _vww(seed: int) -> Net:
    """Visual wake words: MobileNetV1 0.25 on 96x96 images."""
    r = start("vww", seed, 8, (96, 96, 3), 0.0, 1.0)
    x = r.conv(0, 8, (3, 3), (2, 2))
    blocks = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]
    for channels, stride in blocks:
        x = r.conv(r.depthwise(x, stride=(stride, stride)), channels)
    r.classifier(x, 2)
    return r.net


def _sww(seed: int) -> Net:
    """Streaming wake word: a one-dimensional depthwise-separable CNN over 30 frames of 40 features."""
    r = start("sww", seed, 64, (30, 1, 40), 0.0, 0.94)
    x = 0
    for taps, channels in ((3, 128), (5, 128), (10, 128), (15, 32)):
        x = r.depthwise(x, (taps, 1), padding="VALID", activation="NONE")
        x = r.conv(x, channels, padding="VALID")
    r.classifier(x, 3)
    return r.net


# Inverted residuals of the MCUNet: kernel, stride, expanded channels, output channels.
_MCUNET_BLOCKS = [
    (3, 2, 48, 16), (3, 1, 48, 16), (3, 1, 48, 16),
    (7, 2, 48, 24), (3, 1, 144, 24), (5, 1, 120, 24),
    (7, 2, 144, 40), (7, 1, 240, 40), (3, 1, 240, 48), (3, 1, 192, 48),
    (5, 2, 240, 96), (3, 1, 480, 96), (3, 1, 384, 96), (7, 1, 288, 160),
]  # fmt: skip


def _mcunet(seed: int) -> Net:
    """MCUNet: inverted residuals with depthwise kernels of 3, 5 and 7 on 80x80 images."""
    r = start("mcunet", seed, 8, (80, 80, 3), -1.0, 1.0)
    x = r.conv(_padded(r.net, 0, 3), 16, (3, 3), (2, 2), "VALID", "RELU6")
    x = r.conv(r.depthwise(x, activation="RELU6"), 8, padding="VALID", activation="NONE")
    for kernel, stride, expanded, channels in _MCUNET_BLOCKS:
        x = _inverted_residual(r, x, kernel, stride, expanded, channels)
    x = r.net.transpose(x, (0, 3, 1, 2))
    x = r.net.mean(r.net.mean(x, [3]), [2])
    r.fully_connected(x, 2)
    return r.net


def _inverted_residual(r: RandomNet, x: int, kernel: int, stride: int, expanded: int, channels: int) -> int:
    """Expand, filter, project; added to its input where the shapes allow."""
    y = r.conv(x, expanded, padding="VALID", activation="RELU6")
    even = r.net.values[x].shape[1] % 2 == 0
    if stride > 1 and even:
        y = r.depthwise(_padded(r.net, y, kernel), (kernel, kernel), (stride, stride), "VALID", "RELU6")
    else:
        y = r.depthwise(y, (kernel, kernel), (stride, stride), activation="RELU6")
    y = r.conv(y, channels, padding="VALID", activation="NONE")
    same_shape = r.net.values[x].shape == r.net.values[y].shape
    return r.net.add(y, x) if same_shape else y


def _padded(net: Net, x: int, kernel: int) -> int:
    """Symmetric padding as PyTorch has it, where SAME would pad an even image more after than before."""
    half = kernel // 2
    return net.pad(x, [(0, 0), (half, half), (half, half), (0, 0)])


_NETS: dict[str, Callable[[int], Net]] = {
    "ad": _ad, "kws": _kws, "ic": _ic, "vww": _vww, "sww": _sww, "mcunet": _mcunet,
}  # fmt: skip
NAMES = tuple(_NETS)
"""The architectures that `build` knows."""


def build(name: str, seed: int = 0, dtype: str = "int8") -> bytes:
    """The `.tflite` file of an architecture; the same arguments give the same bytes."""
    if name not in _NETS:
        raise ValueError(f"no architecture {name} (there are: {', '.join(NAMES)})")
    if dtype not in ("int8", "float32"):
        raise ValueError(f"no model type {dtype} (there are: int8, float32)")
    net = _NETS[name](seed)
    return to_float32(net) if dtype == "float32" else to_int8(net, float_edges=name == "mcunet")


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes each int8 model, and the float32 image classifier, into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="where to write the .tflite files")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other weights (default: 0)")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    wanted = [*((name, "int8") for name in NAMES), ("ic", "float32")]
    for name, dtype in wanted:
        path = options.folder / f"{name}_{dtype}.tflite"
        path.write_bytes(build(name, options.seed, dtype))
        print(f"{path}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()

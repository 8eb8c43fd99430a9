"""Layers to which kernel costs are fitted: shapes of small networks, and some odd ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.compiler.passes.fusing import fuse_lines
from mote.compiler.passes.rewriting import half_precision
from mote.compiler.passes.streaming import stream
from mote.frontends import tflite
from mote.frontends.features.building import built
from mote.frontends.features.pipeline import preprocessing
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph

PREPROCESSING = (
    ("audio(channels=2),mono,remove-dc", 400),
    ("audio,pre-emphasis=31/32,micro-frontend(hop=320)", 800),
    ("motion(rate=100),motion-features(frame=64,hop=64,features=std+kurtosis,bands=1-5-20-50,wavelet=haar)", 64),
    ("motion(rate=100),low-pass=10", 100),
    ("camera(64x8,rgb565),gray,resize=32x4", 0),
)
"""Preprocessing pipelines to measure: (steps, samples in a clip)."""
BATCH = 24
"""Layers per measured model."""


@dataclass(frozen=True)
class CostLayer:
    """A layer to measure, as shapes, types and properties of its weights."""

    kind: str
    size: tuple[int, int]
    inputs: int
    outputs: int
    kernel: tuple[int, int] = (1, 1)
    stride: int = 1
    padding: str = "SAME"
    linear: bool = False
    clamped: bool = False
    """Whether the activation clamps tighter than int8, which the fastest kernels do not support."""
    zero: int = -128
    """Zero point of the input."""
    before: int = 0
    """Channels of a preceding 1x1 convolution, so that the layer's input may have any layout; 0 for none."""
    kept: float = 1.0
    """Fraction of nonzero weight blocks."""
    block: tuple[int, int] = (1, 1)
    """Block size of sparsity: (outputs, inputs)."""
    values: tuple[int, ...] = ()
    """Distinct values of the weights; empty for any."""
    added: bool = False
    """Whether an ADD follows, which a fused kernel may compute."""
    turned: bool = False
    """Whether the second matrix of a product is transposed."""
    repeated: bool = False
    """Whether the second operand is per channel (broadcast)."""
    groups: int = 1
    """Groups of channels of a convolution."""
    dtype: str = "int8"
    halves: bool = False
    """Whether float weights are stored as float16."""
    bits: int = 8
    """Bits per weight."""
    half: bool = False
    """Whether it is computed in half precision."""
    scales: tuple[float, float, float] = (0.05, 0.0371, 0.0617)
    """Scales of the first operand, the second operand and the result of arithmetic."""

    @property
    def spatial(self) -> tuple[int, int]:
        if self.padding == "SAME":
            high, wide = (-(-n // self.stride) for n in self.size)
        else:
            high, wide = ((n - k) // self.stride + 1 for n, k in zip(self.size, self.kernel, strict=True))
        return high, wide

    @property
    def nbytes(self) -> int:
        """Bytes of its inputs and outputs."""
        operands = 2 if self.kind in PAIRS else 1
        values = operands * prod(self.size) * self.inputs + prod(self.spatial) * self.outputs
        if self.kind == "BATCH_MATMUL":
            values += self.size[0] * self.inputs * self.outputs
        return values * {"int8": 1, "int16": 2, "float32": 4}[self.dtype]

    @property
    def weights(self) -> int:
        return prod(self.kernel) * self.inputs * self.outputs // self.groups if self.kind in WEIGHTED else 0

    def __str__(self) -> str:
        (h, w), (kh, kw) = self.size, self.kernel
        how = " linear" if self.linear else " clamped" if self.clamped else ""
        how += f" {self.kept:.0%} kept" if self.kept < 1 else ""
        how += f" of {len(self.values)} values" if self.values else ""
        how += " added" if self.added else ""
        how += f" in {self.groups} groups" if self.groups > 1 else ""
        how += " repeated" if self.repeated else " turned" if self.turned else ""
        how += f" {self.dtype}" if self.dtype != "int8" else ""
        how += f" zero point {self.zero}" if self.zero != -128 else ""
        how += f" {self.bits} bits" if self.bits != 8 else ""
        how += " halves" if self.halves else " in half precision" if self.half else ""
        how += {AWKWARD: " awkward", EQUAL: " of equal scales"}.get(self.scales, "")
        return f"{self.kind} {h}x{w}x{self.inputs} {kh}x{kw}/{self.stride} {self.padding} to {self.outputs}{how}"


END = 1000
"""Marks the output of a layer of several operators."""
WINDOWS = [(5, 16), (9, 40), (3, 64), (12, 10), (4, 128), (20, 24)]
SMALL = 1200
"""Bytes of inputs and outputs that fit next to the stack in 2 KB of RAM."""
SMALL_WINDOWS = [(5, 4), (3, 8), (6, 6), (4, 16), (9, 3)]
"""Convolutions over time for parts with little RAM: (rows of the window, output channels)."""
WEIGHTED = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "TRANSPOSE_CONV")
POINTWISE = [
    ((12, 12), 16, 32), ((25, 5), 64, 64), ((6, 6), 128, 128), ((3, 3), 256, 256), ((24, 24), 8, 16),
    ((48, 48), 8, 8), ((5, 5), 40, 240), ((5, 5), 240, 40), ((11, 11), 24, 144), ((11, 11), 144, 24),
    ((7, 13), 12, 31), ((4, 4), 96, 10), ((20, 20), 16, 96), ((20, 20), 48, 16), ((1, 49), 40, 64),
    ((9, 9), 6, 20), ((10, 10), 3, 8), ((8, 8), 32, 5), ((1, 1), 40, 128), ((1, 1), 128, 128), ((1, 1), 128, 32),
    ((1, 1), 30, 60), ((1, 1), 64, 64), ((9, 1), 24, 40), ((1, 2), 32, 16),
]  # fmt: skip
CONV = [
    ((12, 12), 8, 16, (3, 3), 1), ((16, 16), 16, 16, (3, 3), 1), ((8, 8), 32, 32, (3, 3), 1),
    ((10, 10), 16, 24, (3, 3), 1), ((8, 8), 64, 32, (3, 3), 1), ((32, 32), 4, 8, (3, 3), 1),
    ((24, 24), 8, 8, (3, 3), 1), ((6, 6), 64, 64, (3, 3), 1), ((4, 4), 32, 64, (3, 3), 1),
    ((7, 7), 16, 16, (3, 3), 1), ((5, 9), 12, 20, (3, 3), 1), ((3, 3), 48, 48, (3, 3), 1),
    ((20, 6), 24, 40, (3, 3), 1), ((13, 13), 16, 32, (3, 3), 1), ((48, 20), 3, 8, (3, 3), 2),
    ((16, 16), 16, 32, (3, 3), 2), ((8, 8), 32, 64, (3, 3), 2), ((17, 17), 8, 16, (3, 3), 2),
    ((12, 12), 24, 24, (3, 3), 2), ((32, 32), 4, 8, (3, 3), 2), ((10, 10), 48, 16, (3, 3), 2),
    ((25, 10), 1, 64, (10, 4), 2), ((12, 12), 3, 16, (5, 5), 1), ((14, 14), 8, 12, (5, 5), 2),
    ((16, 16), 16, 32, (1, 1), 2), ((9, 1), 40, 32, (3, 1), 1), ((9, 9), 6, 9, (3, 3), 1),
    ((20, 20), 2, 3, (3, 3), 1), ((14, 14), 1, 16, (3, 3), 1), ((28, 28), 1, 8, (3, 3), 2),
    ((5, 1), 40, 32, (5, 1), 1), ((3, 1), 40, 64, (3, 1), 1), ((10, 1), 30, 20, (10, 1), 1),
    ((8, 8), 1, 16, (3, 3), 1),
]  # fmt: skip
GROUPED = [
    ((8, 8), 32, 32, (3, 3), 1, 4), ((8, 8), 64, 64, (3, 3), 1, 8), ((12, 12), 32, 32, (3, 3), 2, 4),
    ((9, 9), 16, 24, (3, 3), 1, 2), ((10, 10), 64, 64, (1, 1), 1, 4), ((12, 12), 24, 48, (1, 1), 1, 3),
    ((7, 7), 48, 24, (3, 3), 1, 3), ((5, 5), 64, 64, (3, 3), 1, 16), ((16, 16), 8, 16, (3, 3), 1, 2),
    ((20, 1), 32, 32, (5, 1), 1, 2), ((6, 6), 32, 64, (5, 5), 1, 4), ((4, 12), 80, 40, (1, 1), 1, 2),
    ((13, 13), 24, 24, (3, 3), 2, 3), ((4, 4), 128, 64, (3, 3), 1, 2), ((6, 16), 16, 32, (3, 3), 1, 4),
    ((11, 6), 40, 40, (3, 3), 1, 5),
]  # fmt: skip
"""Grouped convolutions: size, channels, kernel, stride, groups."""
DEPTHWISE = [
    ((12, 12), 16, (3, 3), 1), ((25, 5), 64, (3, 3), 1), ((24, 24), 8, (3, 3), 1), ((6, 6), 96, (3, 3), 1),
    ((3, 3), 128, (3, 3), 1), ((48, 48), 4, (3, 3), 1), ((11, 11), 24, (3, 3), 1), ((10, 10), 48, (3, 3), 1),
    ((24, 24), 16, (3, 3), 2), ((12, 12), 32, (3, 3), 2), ((6, 6), 64, (3, 3), 2), ((9, 21), 20, (3, 3), 2),
    ((48, 32), 6, (3, 3), 2), ((10, 10), 32, (5, 5), 1), ((20, 20), 12, (5, 5), 1), ((5, 5), 96, (5, 5), 1),
    ((20, 20), 16, (5, 5), 2), ((11, 11), 32, (5, 5), 2), ((10, 10), 24, (7, 7), 1), ((20, 20), 12, (7, 7), 1),
    ((5, 5), 64, (7, 7), 1), ((20, 20), 12, (7, 7), 2), ((11, 11), 24, (7, 7), 2), ((7, 7), 30, (3, 3), 1),
    ((30, 1), 64, (5, 1), 1), ((49, 1), 40, (9, 1), 1), ((3, 1), 40, (3, 1), 1), ((5, 1), 128, (5, 1), 1),
    ((10, 1), 128, (10, 1), 1), ((21, 1), 60, (21, 1), 1), ((15, 1), 30, (15, 1), 1), ((9, 1), 64, (9, 1), 1),
    ((24, 1), 128, (10, 1), 1), ((8, 1), 48, (5, 1), 1), ((30, 1), 40, (3, 1), 1), ((28, 1), 128, (5, 1), 1),
    ((12, 1), 16, (5, 1), 1), ((40, 1), 24, (7, 1), 1),
]  # fmt: skip
MULTIPLIED = [
    ((12, 12), 16, 32, (3, 3), 1), ((16, 16), 4, 32, (3, 3), 1), ((10, 10), 8, 24, (5, 5), 1),
    ((9, 9), 12, 24, (7, 7), 2), ((24, 24), 3, 12, (3, 3), 2), ((11, 11), 13, 13, (3, 3), 1),
]  # fmt: skip
"""Depthwise layers with more outputs than inputs, and with channels that do not come in fours."""
CENTERED = [
    ((12, 12), 16, (3, 3), 1), ((6, 6), 96, (3, 3), 1), ((24, 24), 16, (3, 3), 2), ((10, 10), 32, (5, 5), 1),
    ((20, 20), 6, (5, 5), 1), ((5, 5), 64, (5, 5), 1), ((20, 20), 16, (5, 5), 2), ((10, 10), 24, (7, 7), 1),
    ((7, 7), 48, (7, 7), 1), ((11, 11), 24, (7, 7), 2), ((49, 1), 40, (3, 1), 1), ((32, 1), 64, (15, 1), 1),
    ((40, 40), 3, (3, 3), 1),
    ((1, 64), 12, (1, 9), 1), ((100, 1), 16, (5, 1), 1), ((1, 20), 32, (1, 7), 1), ((12, 1), 24, (10, 1), 1),
]  # fmt: skip
"""Depthwise layers behind operators whose outputs may be negative."""
FULLY_CONNECTED = [
    (1, 640, 128), (1, 128, 128), (1, 128, 8), (1, 8, 128), (1, 64, 12), (1, 256, 4), (1, 100, 30), (1, 512, 64),
    (10, 32, 24), (49, 16, 10), (1, 1000, 10), (1, 37, 41), (1, 400, 120), (1, 120, 84), (20, 64, 16), (1, 1024, 32),
    (1, 300, 1), (1, 32, 3), (1, 960, 1),
]  # fmt: skip
SIMPLE = [
    ("ADD", (12, 12), 16), ("ADD", (6, 6), 64), ("MUL", (10, 10), 24), ("AVERAGE_POOL_2D", (25, 5), 64),
    ("AVERAGE_POOL_2D", (8, 8), 64), ("MAX_POOL_2D", (12, 12), 16), ("MAX_POOL_2D", (24, 24), 8),
]  # fmt: skip

RGB = 3
"""Channels of an RGB image."""
Image = tuple[tuple[int, int], int]
"""Shape of an image: ((height, width), channels)."""
Pool = tuple[tuple[int, int], int, tuple[int, int], int]
"""A pooling layer: ((height, width), channels, window, stride)."""
POOLS = ("MAX_POOL_2D", "AVERAGE_POOL_2D")
POOL: list[Pool] = [
    ((12, 12), 16, (2, 2), 2), ((24, 24), 8, (3, 3), 2), ((10, 10), 24, (3, 3), 1), ((7, 7), 48, (7, 7), 1),
    ((25, 5), 64, (25, 5), 1), ((4, 4), 128, (4, 4), 1), ((16, 16), 6, (2, 2), 2),
]  # fmt: skip
WINDOWED_POOL: list[Pool] = [
    ((16, 16), 32, (2, 2), 2), ((16, 16), 32, (3, 3), 2), ((16, 16), 32, (3, 3), 1), ((9, 9), 24, (3, 3), 1),
    ((12, 10), 16, (2, 2), 1), ((5, 5), 40, (2, 2), 2), ((7, 7), 17, (3, 3), 2), ((24, 24), 16, (2, 2), 2),
    ((4, 4), 100, (3, 3), 1), ((8, 8), 64, (3, 3), 1),
]  # fmt: skip
"""Pools over small windows of many channels."""
SMALL_POOL: list[Pool] = [
    ((8, 8), 8, (2, 2), 2),
    ((9, 9), 4, (3, 3), 2),
    ((4, 4), 16, (4, 4), 1),
    ((10, 6), 6, (3, 2), 1),
]
IMAGES = [((12, 12), 16), ((5, 5), 40), ((20, 20), 6), ((1, 1), 64), ((3, 30), 12)]
MORE_IMAGES = [*IMAGES, ((16, 16), 32), ((8, 8), 16), ((2, 2), 100), ((1, 1), 17), ((6, 10), 30)]
SMALL_IMAGES = [((4, 4), 16), ((8, 6), 5), ((1, 1), 40), ((2, 12), 10)]
"""Shapes for element-wise and data movement operators."""
ANY = ("LOGISTIC", "QUANTIZE", "DEQUANTIZE", "MEAN", "PAD", "TRANSPOSE", "CONCATENATION", "RESIZE_NEAREST_NEIGHBOR",
       "RESIZE_BILINEAR")  # fmt: skip
PRODUCTS = [
    (1, 32, 32, 32), (4, 32, 16, 32), (4, 32, 32, 8), (1, 13, 21, 9), (1, 1, 64, 32), (2, 16, 64, 16), (3, 7, 40, 24),
    (1, 48, 12, 48), (2, 24, 5, 6), (1, 8, 6, 10), (2, 4, 8, 3),
    (1, 3, 20, 4),
]  # fmt: skip
"""Products of two matrices: how many, their rows, depth and columns."""
VECTORS = [(1, 10), (1, 12), (1, 2), (1, 100), (20, 10), (49, 4), (32, 32), (20, 16), (8, 100), (3, 300)]
AWKWARD = (0.0687, 0.0852, 0.1888)
"""Scales of operands and result that no low-bit requantization constants represent."""
MOVED = [((16, 16), 16), ((12, 12), 5), ((6, 10), 7), ((8, 16), 32), ((9, 7), 12), ((4, 30), 9), ((20, 4), 40)]
"""Images that are put together, cut, turned and padded."""
EQUAL = (0.05, 0.05, 0.0617)
"""Scales of operands that are equal."""
REAL = ("ADD", "MUL", "MEAN", "LOGISTIC", "QUANTIZE")
"""Operators that are also measured in float32."""
FLOAT_CONV: list[Any] = [
    ((6, 6), 8, 16, (3, 3), 1), ((4, 4), 16, 24, (3, 3), 1), ((9, 9), 3, 8, (3, 3), 2), ((7, 7), 1, 12, (5, 5), 1),
    ((10, 1), 20, 10, (10, 1), 1), ((5, 5), 12, 20, (3, 3), 1), ((5, 5), 16, 24), ((3, 3), 40, 32), ((1, 9), 24, 40),
    ((6, 6), 8, 8), ((1, 1), 64, 64), ((4, 5), 12, 31),
]  # fmt: skip
FLOAT_DEPTHWISE = [
    ((6, 6), 16, (3, 3), 1), ((12, 12), 4, (3, 3), 1), ((3, 3), 40, (3, 3), 1), ((9, 9), 12, (3, 3), 2),
    ((5, 5), 16, (5, 5), 1), ((6, 6), 10, (7, 7), 1), ((15, 1), 30, (9, 1), 1),
]  # fmt: skip
FLOAT_CONNECTED = [(1, 128, 32), (1, 64, 12), (10, 32, 24), (1, 37, 41), (1, 300, 1)]
"""Small float layers, since a multiplication takes hundreds of cycles without an FPU."""
NORMS = ("LAYER_NORM", "LAYER_NORM_APART", "LAYER_NORM_SCALED", "RMS_NORM")
"""Normalizations as converters write them, which passes fuse."""
REDUCED = ("SUM", "REDUCE_MAX")
"""Reductions of each vector to one number."""
ROWS = [(1, 16), (2, 40), (6, 24), (32, 32), (32, 64), (16, 48), (8, 128), (5, 77), (3, 300)]
"""Vectors that are normalized or reduced: how many, and their elements."""
WIDE = ("ADD", "MUL", "LOGISTIC", "QUANTIZE", "MEAN")
"""Operators that are also measured with int16 activations."""
FUNCTIONS = ("LOGISTIC", "TANH", "EXP", "GELU", "HARD_SWISH", "RELU", "LEAKY_RELU")
PAIRS = ("ADD", "MUL", "MAXIMUM", "SQUARED_DIFFERENCE")
"""Functions of two tensors."""
TRANSPOSED = [
    ((6, 6), 8, 16, (3, 3), 2), ((5, 5), 24, 8, (2, 2), 2), ((8, 8), 12, 12, (3, 3), 1), ((8, 8), 16, 8, (4, 4), 2),
    ((7, 8), 32, 16, (2, 2), 2), ((4, 4), 32, 32, (4, 4), 2), ((10, 6), 8, 4, (5, 5), 2), ((8, 9), 16, 16, (3, 3), 2),
    ((12, 12), 8, 8, (2, 2), 2), ((6, 6), 16, 16, (3, 3), 1),
]  # fmt: skip

ZEROS = {
    "CONV_2D": ((1.0, (1, 1)), (0.1, (1, 1)), (0.5, (2, 4)), (0.25, (2, 4))),
    "FULLY_CONNECTED": ((1.0, (1, 1)), (0.1, (1, 1)), (0.5, (4, 8)), (0.25, (4, 8))),
}
"""Values of `kept` and `block` that consecutive layers cycle through."""


BINARY, TERNARY = (-90, 90), (-90, 0, 90)


def layers() -> list[CostLayer]:
    return [*_several_kernels(), *_one_kernel(), *_awkward(), *_grouped(), *_chains()]


def models(every: int = 1, half: bool = False) -> list[list[CostLayer]]:
    """All layers, grouped into models; of those with several kernels every Nth is taken. `half` adds half-precision
    layers."""
    kinds = [
        _every_nth(_several_kernels(), every),
        _one_kernel(),
        _awkward(),
        _grouped(),
        _every_nth(_chains(), every),
        *([_half()] if half else []),
    ]
    parts = [(gathered, -(-len(gathered) // BATCH)) for gathered in kinds]
    return [gathered[i::count] for gathered, count in parts for i in range(count)]


def small() -> list[list[CostLayer]]:
    """Layers for parts with a few kilobytes of RAM, one per model."""
    windows = [
        CostLayer("CONV_2D", (8, 8), 1, 16, (3, 3)),
        CostLayer("CONV_2D", (8, 8), 1, 4, (3, 3)),
        CostLayer("CONV_2D", (9, 7), 3, 8, (3, 3), 2),
        CostLayer("CONV_2D", (6, 6), 8, 12, (3, 3), padding="VALID", linear=True),
        CostLayer("CONV_2D", (6, 6), 8, 24, (3, 3), padding="VALID"),
        CostLayer("CONV_2D", (12, 5), 2, 8, (5, 3)),
        CostLayer("CONV_2D", (5, 5), 16, 4, (3, 3)),
        CostLayer("CONV_2D", (4, 4), 4, 32, (2, 2)),
        CostLayer("CONV_2D", (1, 20), 4, 8, (1, 5)),
        CostLayer("CONV_2D", (4, 6), 6, 16, (3, 3)),
        CostLayer("CONV_2D", (6, 6), 8, 16),
        CostLayer("CONV_2D", (4, 4), 24, 32),
        CostLayer("CONV_2D", (4, 4), 16, 10, linear=True),
        CostLayer("CONV_2D", (2, 8), 40, 8),
        CostLayer("CONV_2D", (5, 3), 12, 20),
        CostLayer("DEPTHWISE_CONV_2D", (8, 8), 16, 16, (3, 3), 2),
        CostLayer("DEPTHWISE_CONV_2D", (4, 4), 24, 24, (3, 3)),
        CostLayer("DEPTHWISE_CONV_2D", (6, 5), 8, 8, (3, 3), padding="VALID"),
        CostLayer("DEPTHWISE_CONV_2D", (10, 1), 12, 12, (5, 1)),
        CostLayer("DEPTHWISE_CONV_2D", (7, 7), 4, 4, (5, 5)),
    ]
    vectors = [
        CostLayer("FULLY_CONNECTED", (1, 1), *s) for s in ((32, 10), (64, 16), (128, 12), (16, 4), (400, 8), (60, 30))
    ]
    tables = [
        CostLayer("LOGISTIC", size, channels, channels) for size, channels in (((4, 4), 16), ((1, 1), 10), ((8, 8), 8))
    ]
    linear = [replace(layer, linear=True) for layer in windows]
    types = [replace(layer, dtype=dtype) for layer in (*windows, *vectors) for dtype in ("int16", "float32")]
    functions = (((1, 1), 10), ((1, 1), 64), ((5, 7), 3))
    types += [CostLayer("LOGISTIC", size, channels, channels, dtype="float32") for size, channels in functions]
    others = [*_one_kernel(SMALL_POOL, SMALL_IMAGES), *_one_kernel(), *_awkward(SMALL_IMAGES)]
    fitting = [layer for layer in (*types, *others) if layer.nbytes <= SMALL and layer.weights <= 2 * SMALL]
    return [[layer] for layer in (*windows, *linear, *vectors, *tables, *fitting)]


def _every_nth(gathered: list[CostLayer], every: int) -> list[CostLayer]:
    """Every Nth layer, plus all fully connected layers (quick to measure), 3x3 convolutions (most alternatives) and
    layers with few input channels (first layers of networks)."""
    return [x for i, x in enumerate(gathered) if i % every == 0 or _always_measured(x)]


def _always_measured(layer: CostLayer) -> bool:
    if layer.values or layer.zero != -128:
        return True
    if layer.kind == "FULLY_CONNECTED":
        return not layer.clamped
    usual = layer.kernel == (3, 3) and layer.stride == 1
    return layer.kind == "CONV_2D" and not layer.added and (usual or layer.inputs <= RGB)


def _several_kernels() -> list[CostLayer]:
    """Layers for which there are several kernels."""
    gathered = [CostLayer("CONV_2D", *shape, linear=i % 3 == 2) for i, shape in enumerate(POINTWISE)]
    for i, (size, inputs, outputs, kernel, stride) in enumerate(CONV):
        padding = "VALID" if i % 4 == 3 or size[1] == 1 else "SAME"
        gathered.append(CostLayer("CONV_2D", size, inputs, outputs, kernel, stride, padding, i % 3 == 2))
    for i, (vectors, inputs, outputs) in enumerate(FULLY_CONNECTED):
        gathered.append(CostLayer("FULLY_CONNECTED", (1, vectors), inputs, outputs, linear=i % 3 == 2))
    gathered = [_pruned(layer, i) for i, layer in enumerate(gathered)]
    gathered += [replace(layer, linear=False, clamped=True) for layer in gathered if layer.kind == "FULLY_CONNECTED"]
    gathered += _few_values()
    for i, (size, channels, kernel, stride) in enumerate(DEPTHWISE):
        padding = "VALID" if i % 4 == 3 or kernel[1] == 1 else "SAME"
        for before in (0, 4 * (1 + i % 5)):
            layer = CostLayer("DEPTHWISE_CONV_2D", size, channels, channels, kernel, stride, padding, i % 3 == 2)
            gathered.append(replace(layer, before=before))
    for shape in MULTIPLIED:
        layer = CostLayer("DEPTHWISE_CONV_2D", *shape)
        gathered += [layer, replace(layer, linear=True, zero=5)]
    for i, (size, channels, kernel, stride) in enumerate(CENTERED):
        layer = CostLayer("DEPTHWISE_CONV_2D", size, channels, channels, kernel, stride, zero=-1)
        gathered.append(replace(layer, linear=i % 2 == 0))
    for kind, size, channels in SIMPLE:
        kernel = size if kind.startswith("AVERAGE") else (2, 2)
        gathered.append(CostLayer(kind, size, channels, channels, kernel, 2, "VALID"))
    return gathered


def _few_values() -> list[CostLayer]:
    """Convolutions with binary, ternary and sparse ternary weights."""
    kinds = BINARY, TERNARY, (*TERNARY, 0, 0, 0)
    shapes = [(size, n, outputs, (1, 1), 1) for size, n, outputs in POINTWISE[:10:2]] + CONV[:12:3]
    return [
        CostLayer("CONV_2D", *shape, linear=i % 3 == 2, values=values)
        for values in kinds
        for i, shape in enumerate(shapes)
    ]


def _chains() -> list[CostLayer]:
    """Convolutions fused with a following ADD; the same shapes are measured without it, so that the difference is the
    cost of the ADD."""
    plain = [x for x in _several_kernels() if x.kind == "CONV_2D" and x.outputs % 2 == 0 and not x.values]
    return [replace(layer, kept=1.0, added=True) for layer in plain]


def _one_kernel(pool: Sequence[Pool] = POOL, images: Sequence[Image] = IMAGES) -> list[CostLayer]:
    """Layers for which each core has one kernel."""
    gathered = []
    for size, channels, kernel, stride in pool:
        for kind in POOLS:
            for padding in ("SAME", "VALID")[kernel == size :]:
                gathered.append(CostLayer(kind, size, channels, channels, kernel, stride, padding))
    for size, channels in images:
        for kind in ("ADD", "MUL"):
            plain = CostLayer(kind, size, channels, channels)
            gathered += [plain, replace(plain, clamped=True), replace(plain, repeated=True)]
            gathered.append(replace(plain, clamped=True, repeated=True))
        gathered += [CostLayer(kind, size, channels, channels) for kind in ANY]
        gathered.append(CostLayer("REDUCE_MAX", size, channels, channels))
    gathered += [CostLayer("SOFTMAX", (1, vectors), n, n) for vectors, n in VECTORS]
    gathered += [CostLayer("TRANSPOSE_CONV", *shape) for shape in TRANSPOSED]
    gathered += _products(PRODUCTS)
    gathered += _rows((*NORMS, *REDUCED, "L2_NORMALIZATION"))
    gathered += [*_floats(), *_wide(), *_packed(), *_pairs(images), *_halved(images), *_moved(images)]
    return [*gathered, *_functions(images), *_resizes(images), *_pools(images)]


def _pairs(images: Sequence[Image]) -> list[CostLayer]:
    """Functions of two tensors, or of one and a vector for each pixel, other than sums and products of int8."""
    kinds = [("MAXIMUM", dtype) for dtype in ("int8", "int16", "float32")] + [("SQUARED_DIFFERENCE", "int8")]
    kinds += [(kind, dtype) for kind in ("ADD", "MUL") for dtype in ("int16", "float32")]
    return [
        CostLayer(kind, size, channels, channels, dtype=dtype, repeated=repeated)
        for kind, dtype in kinds
        for size, channels in (MORE_IMAGES if images is IMAGES else images)
        for repeated in (False, True)
        if repeated or kind not in ("ADD", "MUL")
    ]


def _moved(images: Sequence[Image]) -> list[CostLayer]:
    """Concatenations, slices, transposes and padding, of runs of few and many bytes at all kinds of places."""
    joined = MOVED if images is IMAGES else images
    gathered = []
    for i, (size, channels) in enumerate(joined):
        for dtype in ("int8", "int16", "float32"):
            layer = CostLayer("CONCATENATION", size, channels, channels, dtype=dtype)
            gathered += [replace(layer, outputs=channels + 2 * i + 1), replace(layer, repeated=True)]
            gathered += [replace(layer, kind="TRANSPOSE"), replace(layer, kind="TRANSPOSE", turned=True)]
            gathered += [replace(layer, kind="SLICE", outputs=max(channels // 2, 1)), replace(layer, kind="PAD")]
    return gathered


def _halved(images: Sequence[Image]) -> list[CostLayer]:
    """Sums of int16 numbers of equal scales."""
    gathered = []
    for size, channels in images:
        layer = CostLayer("ADD", size, channels, channels, dtype="int16", scales=EQUAL)
        gathered += [layer, replace(layer, repeated=True)]
    return gathered


def _rows(kinds: Sequence[str]) -> list[CostLayer]:
    """Normalizations and reductions of vectors."""
    return [CostLayer(kind, (1, vectors), n, 1 if kind in REDUCED else n) for kind in kinds for vectors, n in ROWS]


def _resizes(images: Sequence[Image]) -> list[CostLayer]:
    kinds = [
        ("RESIZE_NEAREST_NEIGHBOR", "int16"),
        ("RESIZE_NEAREST_NEIGHBOR", "float32"),
        ("RESIZE_BILINEAR", "float32"),
    ]
    return [CostLayer(kind, size, n, n, dtype=dtype) for kind, dtype in kinds for size, n in images]


def _pools(images: Sequence[Image]) -> list[CostLayer]:
    shapes = WINDOWED_POOL if images is IMAGES else SMALL_POOL
    return [
        CostLayer(kind, size, n, n, kernel, stride, dtype=dtype)
        for dtype in ("int8", "int16", "float32")
        for kind in POOLS
        for size, n, kernel, stride in shapes
    ]


def _functions(images: Sequence[Image]) -> list[CostLayer]:
    """Functions of one tensor that are computed."""
    kinds = [(kind, "float32") for kind in FUNCTIONS] + [("TANH", "int16"), ("EXP", "int16")]
    return [
        CostLayer(kind, size, channels, channels, dtype=dtype)
        for kind, dtype in kinds
        for size, channels in (MORE_IMAGES if images is IMAGES else images)
    ]


def _products(sizes: Sequence[tuple[int, int, int, int]]) -> list[CostLayer]:
    plain = [CostLayer("BATCH_MATMUL", (count, rows), depth, columns) for count, rows, depth, columns in sizes]
    return [*plain, *(replace(layer, turned=True) for layer in plain)]


def _awkward(images: Sequence[Image] = IMAGES) -> list[CostLayer]:
    """Additions whose scales prevent SIMD kernels (four at a time)."""
    gathered = [CostLayer("ADD", size, channels, channels, scales=AWKWARD) for size, channels in images]
    return [*gathered, *(replace(layer, repeated=True) for layer in gathered)]


def _grouped() -> list[CostLayer]:
    """Grouped convolutions, with and without a padded border, and both forms of results."""
    gathered = []
    for i, (size, inputs, outputs, kernel, stride, groups) in enumerate(GROUPED):
        padding = "VALID" if i % 4 == 3 or size[1] == 1 else "SAME"
        gathered.append(CostLayer("CONV_2D", size, inputs, outputs, kernel, stride, padding, i % 3 == 2, groups=groups))
    return gathered


def _packed() -> list[CostLayer]:
    """Fully connected layers with packed int4 weights."""
    return [CostLayer("FULLY_CONNECTED", (1, vectors), n, outputs, bits=4) for vectors, n, outputs in FULLY_CONNECTED]


def _floats() -> list[CostLayer]:
    """A selection of layers in float32."""
    gathered = [CostLayer("CONV_2D", *shape) for shape in FLOAT_CONV]
    gathered += [
        CostLayer("DEPTHWISE_CONV_2D", size, n, n, kernel, stride) for size, n, kernel, stride in FLOAT_DEPTHWISE
    ]
    gathered += [CostLayer("FULLY_CONNECTED", (1, vectors), n, outputs) for vectors, n, outputs in FLOAT_CONNECTED]
    gathered += [replace(layer, halves=True) for layer in gathered]
    gathered += [CostLayer(kind, size, n, n, kernel, 2, "VALID") for size, n, kernel, _ in POOL[::3] for kind in POOLS]
    gathered += [CostLayer(kind, size, n, n) for size, n in IMAGES[:3] for kind in REAL]
    gathered += [CostLayer("SOFTMAX", (1, vectors), n, n) for vectors, n in VECTORS[::2]]
    gathered += _products(PRODUCTS[3:])
    gathered += _rows(NORMS)
    return [replace(layer, dtype="float32") for layer in gathered]


def _half() -> list[CostLayer]:
    """Float layers in half precision."""
    gathered = [CostLayer("CONV_2D", *shape) for shape in FLOAT_CONV]
    gathered += [CostLayer("FULLY_CONNECTED", (1, vectors), n, outputs) for vectors, n, outputs in FLOAT_CONNECTED]
    return [replace(layer, dtype="float32", half=True) for layer in gathered]


def _wide() -> list[CostLayer]:
    """A selection of layers with int16 activations."""
    convolutions: list[Any] = [*POINTWISE[::2], *CONV[::2], *CONV[-5::2]]
    gathered = [CostLayer("CONV_2D", *shape) for shape in convolutions]
    gathered += [
        CostLayer("DEPTHWISE_CONV_2D", size, n, n, kernel, stride) for size, n, kernel, stride in DEPTHWISE[::3]
    ]
    gathered += [CostLayer("FULLY_CONNECTED", (1, vectors), n, outputs) for vectors, n, outputs in FULLY_CONNECTED]
    gathered += [CostLayer(kind, size, n, n, kernel, 2, "VALID") for size, n, kernel, _ in POOL[::3] for kind in POOLS]
    gathered += [CostLayer(kind, size, n, n) for size, n in IMAGES for kind in WIDE]
    gathered += [CostLayer("SOFTMAX", (1, vectors), n, n) for vectors, n in VECTORS]
    gathered += _products(PRODUCTS[3:])
    return [replace(layer, dtype="int16") for layer in gathered]


def _pruned(layer: CostLayer, i: int) -> CostLayer:
    choices = ZEROS[layer.kind]
    kept, block = choices[i % len(choices)]
    return replace(layer, kept=kept, block=block)


def graph_of(part: Sequence[CostLayer]) -> Graph:
    w = Writer("layers")
    for layer in part:
        _add(w, layer)
    graph = tflite.parse(w.finish(), "layers")
    graph = fuse_lines.run(graph) if any(layer.kind in NORMS for layer in part) else graph
    half = {str(layer) for layer in part if layer.half}
    return half_precision.run(graph, lambda op: op.output(graph).name in half)[0] if half else graph


def streamed(windows: Sequence[tuple[int, int]]) -> Graph:
    """A streaming graph of consecutive convolutions over time, each with a sliding window in memory."""
    w = Writer("streamed")
    length, channels = 64, windows[0][1]
    x = w.input("x", (1, length, 1, channels), "int8", 0.05, -128)
    for kernel, outputs in windows:
        layer = CostLayer("CONV_2D", (length, 1), channels, outputs, (kernel, 1), padding="VALID")
        x, length, channels = _weighted(w, layer, x), layer.spatial[0], outputs
    w.output(x)
    return stream.run(tflite.parse(w.finish(), "streamed"), 1, 1, causal=False)


def preprocessing_graphs() -> list[Graph]:
    """Preprocessing graphs of short clips and small images."""
    graphs = []
    for text, samples in PREPROCESSING:
        steps = preprocessing(text)
        graph = built(steps.operators, replace(steps.sensor, rate=steps.rate), samples)[1]
        assert graph is not None
        graphs.append(graph)
    return graphs


def _add(w: Writer, layer: CostLayer) -> None:
    shape: tuple[int, ...] = (1, *layer.size, layer.before or layer.inputs)
    shape = shape[2:] if layer.kind in ("FULLY_CONNECTED", "SOFTMAX", "L2_NORMALIZATION") else shape
    shape = shape[1:] if layer.kind in NORMS or (layer.kind in REDUCED and layer.outputs == 1) else shape
    x = w.input("x", shape, *_type(layer, layer.zero, layer.scales[0]))
    if layer.before:
        x = _weighted(w, CostLayer("CONV_2D", layer.size, layer.before, layer.inputs), x)
    if layer.kind == "BATCH_MATMUL":
        y = _product(w, layer, x)
    elif layer.kind in NORMS:
        y = _norm(w, layer, x, shape)
    elif layer.kind in PAIRS:
        y = _arithmetic(w, layer, x, shape)
    elif layer.kind in POOLS:
        y = w.tensor(str(layer), (1, *layer.spatial, layer.outputs), *_type(layer, -128, 0.05))
        high, wide = layer.kernel
        w.op(layer.kind, [x], [y], filter_height=high, filter_width=wide, **_window_attributes(layer))
    elif layer.kind in WEIGHTED:
        y = _weighted(w, layer, x)
        y = _added(w, layer, y) if layer.added else y
    else:
        y = _unary(w, layer, x, shape)
    w.output(y)


def _type(layer: CostLayer, zero_point: int, scale: float) -> tuple[Any, ...]:
    """Type, scale and zero point of a layer's activations."""
    if layer.dtype == "float32":
        return (layer.dtype,)
    return (layer.dtype, scale / 128, 0) if layer.dtype == "int16" else (layer.dtype, scale, zero_point)


def _product(w: Writer, layer: CostLayer, x: int) -> int:
    """A product of computed matrices for each of the image's rows."""
    count, rows = layer.size
    sizes = (layer.outputs, layer.inputs) if layer.turned else (layer.inputs, layer.outputs)
    scale = 0.05 * 0.0371 * 100 * layer.inputs**0.5
    other = w.input("z", (1, count, *sizes), *_type(layer, 4, 0.0371))
    y = w.tensor(str(layer), (1, count, rows, layer.outputs), *_type(layer, 3, scale))
    w.op("BATCH_MATMUL", [x, other], [y], adj_y=layer.turned, version=4)
    return y


def _arithmetic(w: Writer, layer: CostLayer, x: int, shape: tuple[int, ...]) -> int:
    first, second, result = layer.scales
    fused: dict[str, Any] = {"fused_activation_function": "RELU" if layer.clamped else "NONE"}
    zeros = (-20, -10)
    if layer.kind == "MAXIMUM":  # of numbers that mean the same
        second, result, zeros = first, first, (layer.zero, layer.zero)
    other = w.input("z", shape[-1:] if layer.repeated else shape, *_type(layer, zeros[0], second))
    y = w.tensor(str(layer), shape, *_type(layer, zeros[1], result))
    w.op(layer.kind, [x, other], [y], **(fused if layer.kind in ("ADD", "MUL") else {}))
    return y


def _norm(w: Writer, layer: CostLayer, x: int, shape: tuple[int, ...]) -> int:
    """A normalization of each vector along the last axis."""
    one, last = (*shape[:-1], 1), w.const("axis", np.array([len(shape) - 1], np.int32))

    def op(kind: str, given: list[int], of: tuple[int, ...], scale: float, zero: int, **options: Any) -> int:
        name = str(layer) if zero == END else "t"
        y = w.tensor(name, of, *_type(layer, 0 if zero == END else zero, scale))
        w.op(kind, given, [y], **options)
        return y

    def vector(seed: int) -> int:
        values = np.random.default_rng(seed).integers(-100, 101, shape[-1])
        real = layer.dtype == "float32"
        return w.const(
            "v", (values / 100).astype(np.float32) if real else values.astype(np.int8), None if real else 0.01
        )

    def inverse(squares: int) -> int:
        variance = op("MEAN", [squares, last], one, 0.1, -128, keep_dims=True)
        return op("RSQRT", [variance], one, 0.02, -128)

    if layer.kind == "RMS_NORM":
        gain = inverse(op("MUL", [x, x], shape, 0.1, -128))
        return op("MUL", [op("MUL", [x, gain], shape, 0.03, 0), vector(0)], shape, 0.03, END)
    mean = op("MEAN", [x, last], one, 0.02, 1, keep_dims=True)
    gain = inverse(op("SQUARED_DIFFERENCE", [x, mean], shape, 0.2, -128))
    if layer.kind == "LAYER_NORM_APART":
        return op("MUL", [op("SUB", [x, mean], shape, 0.05, 2), gain], shape, 0.03, END)
    if layer.kind == "LAYER_NORM_SCALED":
        factors = op("MUL", [gain, vector(0)], shape, 0.02, 0)
        offset = op("SUB", [vector(1), op("MUL", [mean, factors], shape, 0.02, 0)], shape, 0.02, 3)
        return op("ADD", [op("MUL", [x, factors], shape, 0.03, 0), offset], shape, 0.04, END)
    shift = op("MUL", [mean, gain], one, 0.02, 0)
    return op("SUB", [op("MUL", [x, gain], shape, 0.05, 0), shift], shape, 0.03, END)


def _added(w: Writer, layer: CostLayer, x: int) -> int:
    """Adds an ADD after a layer, with scales for which fused kernels can requantize in one step."""
    shape = (1, *layer.spatial, layer.outputs)
    zero_point, scale = 3 if layer.linear else -128, _output_scale(prod(layer.kernel) * layer.inputs)
    other = w.input("z", shape, *_type(layer, -20, 0.742 * scale))
    y = w.tensor(f"sum of {layer}", shape, *_type(layer, zero_point, 1.234 * scale))
    w.op("ADD", [x, other], [y], fused_activation_function="NONE")
    return y


def _unary(w: Writer, layer: CostLayer, x: int, shape: tuple[int, ...]) -> int:
    """Adds an operator with one activation input, and constants for its parameters."""
    high, wide, channels = shape[1:] if len(shape) == 4 else (1, 1, 1)
    constants: dict[str, Any] = {
        "MEAN": [1, 2],
        **dict.fromkeys(REDUCED, [1, 2] if layer.outputs > 1 else [len(shape) - 1]),
        "PAD": [[0, 0], [1, 1], [1, 2], [0, 0]],
        "TRANSPOSE": [0, 2, 1, 3] if layer.turned else [0, 3, 1, 2],
        "RESIZE_NEAREST_NEIGHBOR": [2 * high, 2 * wide],
        "RESIZE_BILINEAR": [2 * high, 2 * wide],
    }
    more = layer.outputs - channels if layer.outputs > channels else channels
    shapes = {
        "MEAN": (1, channels),
        **dict.fromkeys(REDUCED, (1, channels) if layer.outputs > 1 else shape[:-1]),
        "PAD": (1, high + 2, wide + 3, channels),
        "TRANSPOSE": (1, wide, high, channels) if layer.turned else (1, channels, high, wide),
        "RESIZE_NEAREST_NEIGHBOR": (1, 2 * high, 2 * wide, channels),
        "RESIZE_BILINEAR": (1, 2 * high, 2 * wide, channels),
        "CONCATENATION": (1, 2 * high, wide, channels) if layer.repeated else (1, high, wide, channels + more),
        "SLICE": (1, high, wide, layer.outputs),
    }
    given = [x] + ([w.const("how", np.array(constants[layer.kind], np.int32))] if layer.kind in constants else [])
    if layer.kind == "CONCATENATION":
        given.append(w.input("z", shape if layer.repeated else (*shape[:-1], more), *_type(layer, -128, 0.05)))
    if layer.kind == "SLICE":
        begin = (0, 0, 0, channels - layer.outputs)
        given += [w.const(name, np.array(x, np.int32)) for name, x in (("begin", begin), ("size", shapes["SLICE"]))]
    scales = {"LOGISTIC": 1 / 256, "TANH": 1 / 256, "SOFTMAX": 1 / 256, "QUANTIZE": 0.07, "L2_NORMALIZATION": 1 / 128}
    scale = scales.get(layer.kind, 0.05)
    types = {"DEQUANTIZE": "float32", "QUANTIZE": "int8"}
    zero = {"L2_NORMALIZATION": 0, "REDUCE_MAX": layer.zero}.get(layer.kind, -128)
    out = _type(replace(layer, dtype=types.get(layer.kind, layer.dtype)), zero, scale)
    y = w.tensor(str(layer), shapes.get(layer.kind, shape), *out)
    attributes: dict[str, dict[str, Any]] = {
        "CONCATENATION": {"axis": 1 if layer.repeated else 3},
        "LEAKY_RELU": {"alpha": 0.1},
    }
    options = attributes.get(layer.kind, {})
    w.op(layer.kind, given, [y], **options)
    return y


def _weighted(w: Writer, layer: CostLayer, x: int) -> int:
    """Adds a layer with normally distributed weights and an output scale that uses the full range."""
    shape: tuple[int, ...] = (layer.outputs, *layer.kernel, layer.inputs // layer.groups)
    out: tuple[int, ...] = (1, *layer.spatial, layer.outputs)
    axis, options = 0, _window_attributes(layer)
    if layer.kind == "DEPTHWISE_CONV_2D":
        shape, axis = (1, *layer.kernel, layer.outputs), 3
    elif layer.kind == "FULLY_CONNECTED":
        shape, out, options = (layer.outputs, layer.inputs), out[2:], {}
    elif layer.kind == "TRANSPOSE_CONV":
        out = (1, *(n * layer.stride for n in layer.size), layer.outputs)
    rng = np.random.default_rng(0)
    weights = np.clip(rng.normal(0, 30, shape), -127, 127).astype(np.int8)
    weights = rng.choice(np.array(layer.values, np.int8), shape) if layer.values else weights
    weights = _without_blocks(weights, layer) if layer.kept < 1 else weights
    weights >>= 8 - layer.bits
    scale = np.float32(0.01) * 2 ** -rng.uniform(0, 1, layer.outputs).astype(np.float32)
    scale = scale[:1] if layer.kind == "FULLY_CONNECTED" else scale
    bias = rng.integers(-2000, 2001, layer.outputs).astype(np.int32)
    if layer.dtype == "float32":
        real = weights.astype(np.float32) / np.float32(128 if layer.halves else 127)
        k, b = w.const("k", real), w.const("b", bias.astype(np.float32) / 1000)
    else:
        step = np.float32(_type(layer, 0, 0.05)[1])
        bias = bias.astype(np.int64) if layer.dtype == "int16" else bias
        k, b = w.const("k", weights, scale=scale, axis=axis), w.const("b", bias, scale=scale * step)
    zero_point = 3 if layer.linear or layer.clamped else -128
    y = w.tensor(str(layer), out, *_type(layer, zero_point, _output_scale(weights.size // layer.outputs)))
    inputs = [x, k, b]
    if layer.kind == "TRANSPOSE_CONV":
        inputs = [w.const("shape", np.array(out, np.int32)), k, x, b]
    w.op(layer.kind, inputs, [y], fused_activation_function="NONE" if layer.linear else "RELU", **options)
    return y


def _output_scale(depth: int) -> float:
    """Output scale for sums of `depth` products."""
    return float(0.05 * 0.01 * 40 * depth**0.5)


def _without_blocks(weights: NDArray[np.int8], layer: CostLayer) -> NDArray[np.int8]:
    """Weights with blocks set to zero at random, except for a fraction `kept`."""
    (high, wide), matrix = layer.block, weights.reshape(layer.outputs, -1)
    rows, columns = -(-matrix.shape[0] // high), -(-matrix.shape[1] // wide)
    kept = np.random.default_rng(1).permutation(rows * columns).reshape(rows, columns) < layer.kept * rows * columns
    mask = kept.repeat(high, axis=0).repeat(wide, axis=1)[: matrix.shape[0], : matrix.shape[1]]
    return (matrix * mask).reshape(weights.shape)


def _window_attributes(layer: CostLayer) -> dict[str, Any]:
    """Padding and stride attributes of a layer."""
    return {"padding": layer.padding, "stride_h": layer.stride, "stride_w": layer.stride}

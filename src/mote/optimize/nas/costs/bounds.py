"""Lower bounds of RAM, flash and cycles from layer shapes alone, to reject most networks without building a graph."""

from __future__ import annotations

from functools import lru_cache
from math import prod

from mote.compiler.settings import Settings
from mote.ir.graph.rows import OUTSIDE
from mote.ir.ops.common import Axis
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.nas.spaces.layers import INPUT, ConvLayer, NetworkLayer, WindowLayer
from mote.optimize.nas.spaces.network import Network

WINOGRAD = 4
"""Upper bound of the savings in multiplications of a 3x3 convolution by Winograd."""
BITS = {Precision.INT4: 4, Precision.INT8: 8, Precision.INT16: 8, Precision.FLOAT16: 16, Precision.FLOAT32: 32}
"""Bits per weight, by precision."""


def bounds(network: Network, settings: Settings) -> tuple[int, int, int]:
    """Lower bounds of RAM bytes, flash bytes and cycles; 0 where nothing can be said with these settings."""
    return _ram(network, settings), _flash(network, settings), _cycles(network, settings)


def _ram(network: Network, settings: Settings) -> int:
    """Lower bound of RAM: the input, or the input rows that one output row of a layer reads."""
    if settings.stream is not None:
        return 0
    rows_arrive = settings.input == "rows" or bool(settings.preprocess or network.preprocess)
    input_bytes = 0 if rows_arrive else prod(network.input)
    return max([input_bytes, *(_window(network, layer) for layer in network.layers)])


def _window(network: Network, layer: NetworkLayer) -> int:
    """Bytes of the input rows that a layer's window reads at once; 0 if a kernel may avoid storing them (a single
    output row accumulated row by row, or input from a fused depthwise convolution)."""
    if not isinstance(layer, WindowLayer):
        return 0
    (input_shape,) = network.given(layer)
    output_shape = network.shapes[layer.name]
    before = next((other for other in network.layers if other.name == layer.inputs[0]), None)
    if layer.inputs[0] == INPUT or output_shape[0] == 1 or (isinstance(before, ConvLayer) and before.depthwise):
        return 0
    axis = layer.axes(input_shape)[0]
    tops = range(-axis.before, -axis.before + output_shape[0] * axis.stride, axis.stride)
    taps = (sum(0 <= top + k * axis.dilation < input_shape[0] for k in range(axis.kernel)) for top in tops)
    return max(taps) * prod(input_shape[1:])


def _flash(network: Network, settings: Settings) -> int:
    """Lower bound of flash: weights of convolutions and dense layers; 0 if they may be compressed."""
    if settings.optimize == "size" or settings.encrypt:
        return 0
    return sum(_weight_bits(network, layer) for layer in network.layers) // 8


def _weight_bits(network: Network, layer: NetworkLayer) -> int:
    bits = BITS[Precision(network.precisions.get(layer.name, Precision.INT8))]
    weights = sum(prod(s) for s in layer.parameters(*network.given(layer)).values() if len(s) > 1)
    return bits * int(weights * _tap_fraction(network, layer))


def _tap_fraction(network: Network, layer: NetworkLayer) -> float:
    """Fraction of kernel taps that ever read inside the image; the compiler trims the others."""
    if not isinstance(layer, ConvLayer):
        return 1.0
    (input_shape,) = network.given(layer)
    axes = zip(layer.axes(input_shape), input_shape[:2], strict=True)
    return prod(_taps_inside(axis, size) for axis, size in axes) / prod(layer.kernel)


@lru_cache(maxsize=1024)
def _taps_inside(axis: Axis, size: int) -> int:
    return int((axis.positions(size) != OUTSIDE).any(axis=0).sum())


def _cycles(network: Network, settings: Settings) -> int:
    """Lower bound of cycles: multiply-accumulates at the core's peak rate."""
    peak = settings.target.peak_macs
    if not peak or settings.backend or settings.stream is not None or settings.target.is_host:
        return 0
    macs = 0
    for layer in network.layers:
        fewer = WINOGRAD if isinstance(layer, ConvLayer) and layer.kernel == (3, 3) and not layer.depthwise else 1
        macs += int(layer.macs(*network.given(layer)) * _tap_fraction(network, layer)) // fewer
    return macs // (peak * max(settings.cores, 1))

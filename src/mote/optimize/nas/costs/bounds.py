"""Lower bounds of costs from the shapes of layers alone: most networks that do not fit are seen without a graph."""

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
"""How many times fewer products a convolution of 3x3 may take."""
BITS = {Precision.INT4: 4, Precision.INT8: 8, Precision.INT16: 8, Precision.FLOAT16: 16, Precision.FLOAT32: 32}
"""Bits of a weight."""


def bounds(network: Network, settings: Settings) -> tuple[int, int, int]:
    """RAM, flash and cycles that no plan of a network goes below; 0 where settings leave none."""
    return _ram(network, settings), _flash(network, settings), _cycles(network, settings)


def _ram(network: Network, settings: Settings) -> int:
    """The input, or the rows that one row of a layer's output is computed from, where they lie in RAM."""
    if settings.stream is not None:
        return 0
    rows_arrive = settings.input == "rows" or bool(settings.preprocess or network.preprocess)
    given = 0 if rows_arrive else prod(network.input)
    return max([given, *(_window(network, layer) for layer in network.layers)])


def _window(network: Network, layer: NetworkLayer) -> int:
    """Bytes of the rows that a layer reads at once. A row of a single one may be added up as its input rows arrive, and
    what a depthwise convolution hands to the next layer may never be stored."""
    if not isinstance(layer, WindowLayer):
        return 0
    (given,) = network.given(layer)
    made = network.shapes[layer.name]
    before = next((other for other in network.layers if other.name == layer.inputs[0]), None)
    if layer.inputs[0] == INPUT or made[0] == 1 or (isinstance(before, ConvLayer) and before.depthwise):
        return 0
    axis = layer.axes(given)[0]
    tops = range(-axis.before, -axis.before + made[0] * axis.stride, axis.stride)
    taps = (sum(0 <= top + k * axis.dilation < given[0] for k in range(axis.kernel)) for top in tops)
    return max(taps) * prod(given[1:])


def _flash(network: Network, settings: Settings) -> int:
    """The weights of convolutions and dense layers, unless they may be compressed."""
    if settings.optimize == "size" or settings.encrypt:
        return 0
    return sum(_weight_bits(network, layer) for layer in network.layers) // 8


def _weight_bits(network: Network, layer: NetworkLayer) -> int:
    bits = BITS[Precision(network.precisions.get(layer.name, Precision.INT8))]
    weights = sum(prod(s) for s in layer.parameters(*network.given(layer)).values() if len(s) > 1)
    return bits * int(weights * _used(network, layer))


def _used(network: Network, layer: NetworkLayer) -> float:
    """The share of a kernel's taps that ever lie inside of the image: shrinking trims the others."""
    if not isinstance(layer, ConvLayer):
        return 1.0
    (given,) = network.given(layer)
    axes = zip(layer.axes(given), given[:2], strict=True)
    return prod(_taps(axis, size) for axis, size in axes) / prod(layer.kernel)


@lru_cache(maxsize=1024)
def _taps(axis: Axis, size: int) -> int:
    return int((axis.positions(size) != OUTSIDE).any(axis=0).sum())


def _cycles(network: Network, settings: Settings) -> int:
    """Multiply-accumulate operations at the peak of the core."""
    peak = settings.target.peak_macs
    if not peak or settings.backend or settings.stream is not None or settings.target.is_host:
        return 0
    macs = 0
    for layer in network.layers:
        fewer = WINOGRAD if isinstance(layer, ConvLayer) and layer.kernel == (3, 3) and not layer.depthwise else 1
        macs += int(layer.macs(*network.given(layer)) * _used(network, layer)) // fewer
    return macs // (peak * max(settings.cores, 1))

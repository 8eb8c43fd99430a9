"""Normalization layers, with the statistics of training or of the input."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build import moves, norms, reductions
from mote.frontends.build.builder import Value
from mote.frontends.keras.archive import DamagedArchiveError
from mote.frontends.keras.call import LayerCall, Parser
from mote.ir.graph.tensor import Array

UNIT = 1e-12
"""Lower bound of a squared norm."""


def batch_normalization(call: LayerCall) -> Value:
    x, layer = call.x, call.layer
    axis = x.axis(layer.integer("axis", -1))
    channels = x.shape[axis]
    scale, center = layer.flag("scale", True), layer.flag("center", True)
    scales = call.weight(0, (channels,), "scale") if scale else np.ones(channels, np.float32)
    offsets = call.weight(int(scale), (channels,), "offset") if center else np.zeros(channels, np.float32)
    mean, variance = (call.weight(scale + center + i, (channels,), what) for i, what in enumerate(("mean", "variance")))
    return norms.batch_norm(call.b, x, scales, offsets, mean, variance, layer.real("epsilon", 1e-3), axis)


def layer_normalization(call: LayerCall) -> Value:
    x, layer = call.x, call.layer
    axes = x.axes(layer.list_of_integers("axis"))
    scale, center = layer.flag("scale", True), layer.flag("center", True)
    if layer.options.get("rms_scaling"):
        return _by_variance(call, axes)
    gamma = _along(call, 0, "scale", axes) if scale else None
    beta = _along(call, int(scale), "offset", axes) if center else None
    return norms.layer_norm(call.b, x, axes, gamma, beta, layer.real("epsilon", 1e-3))


def _by_variance(call: LayerCall, axes: Sequence[int]) -> Value:
    """Scaling by the variance, which Keras once called RMS scaling."""
    b, x = call.b, call.x
    _, _, inverse = norms.standardized(b, x, axes, call.layer.real("epsilon", 1e-3))
    made = e.mul(b, x, inverse)
    return e.mul(b, made, _along(call, 0, "scale", axes))


def _along(call: LayerCall, number: int, what: str, axes: Sequence[int]) -> Value:
    """A weight for some axes, reshaped to broadcast to the input."""
    sizes = call.x.shape
    weight = call.weight(number, [sizes[a] for a in axes], what)
    return call.b.constant(weight.reshape([n if a in axes else 1 for a, n in enumerate(sizes)]))


def rms_normalization(call: LayerCall) -> Value:
    x = call.x
    axes = x.axes(call.layer.list_of_integers("axis"))
    return norms.rms_norm(call.b, x, axes, _along(call, 0, "scale", axes), call.layer.real("epsilon", 1e-6))


def group_normalization(call: LayerCall) -> Value:
    """Group normalization, with channels on any axis."""
    b, x, layer = call.b, call.x, call.layer
    axis = x.axis(layer.integer("axis", -1))
    channels, groups = x.shape[axis], layer.integer("groups", 32)
    groups = channels if groups == -1 else groups
    scale, center = layer.flag("scale", True), layer.flag("center", True)
    gamma = call.weight(0, (channels,), "scale") if scale else None
    beta = call.weight(int(scale), (channels,), "offset") if center else None
    order = [0, axis, *(a for a in range(1, x.rank) if a != axis)]
    turned = moves.transpose(b, x, order)
    made = norms.group_norm(b, turned, groups, gamma, beta, layer.real("epsilon", 1e-3))
    return moves.transpose(b, made, [order.index(a) for a in range(x.rank)])


def unit_normalization(call: LayerCall) -> Value:
    """L2 normalization to unit vectors."""
    b, x = call.b, call.x
    squares = reductions.sum_square(b, x, x.axes(call.layer.list_of_integers("axis")), True)
    return e.mul(b, x, e.rsqrt(b, e.maximum(b, squares, e.scalar(b, UNIT))))


def normalization(call: LayerCall) -> Value:
    """Normalization by a mean and a variance, given or adapted to data."""
    x, layer = call.x, call.layer
    said = layer.get("axis", -1)
    axes = () if said is None else x.axes(layer.list_of_integers("axis"))
    shape = [n if a in axes else 1 for a, n in enumerate(x.shape)]
    if layer.get("mean", None) is not None:
        mean, variance = (_given(call, option, shape) for option in ("mean", "variance"))
    else:
        sizes = [x.shape[a] for a in axes]
        mean, variance = (call.weight(i, sizes, what).reshape(shape) for i, what in enumerate(("mean", "variance")))
    root = np.maximum(np.sqrt(variance.astype(np.float64)), np.finfo(np.float32).tiny)
    least = 1e-7
    root = np.maximum(root, least)
    factor, offset = (1 / root, -mean / root) if not layer.flag("invert", False) else (root, mean)
    b = call.b
    made = e.mul(b, x, b.constant(np.asarray(factor, np.float32)))
    return e.add(b, made, b.constant(np.asarray(offset, np.float32)))


def _given(call: LayerCall, option: str, shape: Sequence[int]) -> Array:
    try:
        values = np.asarray(call.layer.get(option), np.float64)
        return np.broadcast_to(values.reshape(shape) if values.size == np.prod(shape) else values, shape)
    except (TypeError, ValueError):
        raise DamagedArchiveError(f"the {option} of '{call.layer.name}' does not fit {tuple(shape)}") from None


def rescaling(call: LayerCall) -> Value:
    scale, offset = (np.asarray(call.layer.get(option), np.float32) for option in ("scale", "offset"))
    if scale.ndim > 1 or offset.ndim > 1:
        raise UnsupportedNodeError("scales of several axes are not supported")
    x = call.x
    made = x if np.all(scale == 1) else e.mul(call.b, x, call.b.constant(scale))
    return made if np.all(offset == 0) else e.add(call.b, made, call.b.constant(offset))


LAYERS: Mapping[str, Parser] = {
    "BatchNormalization": batch_normalization,
    "GroupNormalization": group_normalization,
    "LayerNormalization": layer_normalization,
    "Normalization": normalization,
    "RMSNormalization": rms_normalization,
    "Rescaling": rescaling,
    "UnitNormalization": unit_normalization,
}

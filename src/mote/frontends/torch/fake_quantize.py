"""Fake quantization, as modules have it in quantization-aware training: quantize and dequantize nodes in its place.

Where codes have at most 8 bits, nodes are those of the PT2E flow, so that layers between them are computed on codes. A
tensor with other codes, or one grid per channel that is no weight, is rounded in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.ir.graph.types import DType

Emit = Callable[..., Any]
"""Adds a call of a function with arguments to the graph, and returns its node."""
RANGES = {"int8": DType.INT8.limits, "uint8": DType.UINT8.limits}
"""The codes that have 8 bits."""
OBSERVE = "it still observes ranges: call module.apply(torch.ao.quantization.disable_observer) before the export"


def is_fixed(node: Any) -> bool:
    """Whether a value follows from weights and buffers alone."""
    return bool(node.meta.get("fixed"))


def _data(torch: Any, given: Any) -> Any:
    """A parameter of quantization as a tensor: a number, or a buffer of the module."""
    if isinstance(given, int | float):
        return torch.tensor(given)
    data = given.meta.get("data")
    if data is None:
        raise UnsupportedNodeError("its scale or zero point is computed: register it as a buffer, or give a number")
    return data


def _kind(low: int, high: int) -> str | None:
    """The type of codes, where they have 8 bits."""
    return next((kind for kind, (least, most) in RANGES.items() if least <= low < high <= most), None)


def _per_tensor(torch: Any, emit: Emit, x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    grid = float(np.float32(_data(torch, scale).item())), int(_data(torch, zero).item())
    if (kind := _kind(low, high)) is None:
        return _rounded(torch, emit, x, *grid, low, high)
    bounds = *grid, low, high, getattr(torch, kind)
    own = torch.ops.quantized_decomposed
    return emit(own.dequantize_per_tensor.default, emit(own.quantize_per_tensor.default, x, *bounds), *bounds)


def _per_channel(torch: Any, emit: Emit, x: Any, scale: Any, zero: Any, axis: int, low: int, high: int) -> Any:
    kind = _kind(low, high)
    if kind is None or not is_fixed(x):
        shape = [-1 if a == axis % x.meta["val"].dim() else 1 for a in range(x.meta["val"].dim())]
        view = torch.ops.aten.view.default
        return _rounded(torch, emit, x, emit(view, scale, shape), emit(view, zero, shape), low, high)
    bounds = scale, zero, axis, low, high, getattr(torch, kind)
    own = torch.ops.quantized_decomposed
    return emit(own.dequantize_per_channel.default, emit(own.quantize_per_channel.default, x, *bounds), *bounds)


def _rounded(torch: Any, emit: Emit, x: Any, scale: Any, zero: Any, low: int, high: int) -> Any:
    """The numbers of the nearest codes, by operators on floats."""
    aten = torch.ops.aten
    inverse = (
        float(np.float32(1) / np.float32(scale)) if isinstance(scale, float) else emit(aten.reciprocal.default, scale)
    )
    codes = emit(aten.add.Tensor, emit(aten.round.default, emit(aten.mul.Tensor, x, inverse)), zero)
    return emit(aten.mul.Tensor, emit(aten.sub.Tensor, emit(aten.clamp.default, codes, low, high), zero), scale)


def _observed(torch: Any, emit: Emit, x: Any, *given: Any) -> Any:
    """The operator that may observe ranges first, which turns it into another one with each inference."""
    observes, enabled, _, _, scale, zero, _, low, high, axis, *rest = given
    if _data(torch, observes).item():
        raise UnsupportedNodeError(OBSERVE)
    if not _data(torch, enabled).item():
        return x
    if rest and rest[0]:
        return _per_channel(torch, emit, x, scale, zero, axis, low, high)
    return _per_tensor(torch, emit, x, scale, zero, low, high)


FAKE: Mapping[str, Callable[..., Any]] = {
    "aten.fake_quantize_per_tensor_affine.default": _per_tensor,
    "aten.fake_quantize_per_tensor_affine.tensor_qparams": _per_tensor,
    "aten.fake_quantize_per_channel_affine.default": _per_channel,
    "aten.fused_moving_avg_obs_fake_quant.default": _observed,
}
"""Makers of the nodes, by the operator whose arguments they take."""

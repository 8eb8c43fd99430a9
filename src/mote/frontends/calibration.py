"""Implausible scales: of tensors that were quantized without calibration data, or that the data never reached."""

from __future__ import annotations

from collections.abc import Iterable

from mote.ir.graph import Tensor
from mote.ir.graph.types import DType

RANDOM = "calibrated with random numbers, for its size only: its accuracy means nothing"
"""Metadata of a file that was quantized without calibration data."""
LEAST, MOST = 2.0**-40, 2.0**40
"""Bounds of plausible activation scales."""
APART = 2.0**16
"""Ratio between the largest and the smallest activation scale of a layer above which calibration is in doubt."""


def meaningless(tensors: Iterable[Tensor]) -> str | None:
    """The reason why no layer can compute with activations of these scales; None where they are plausible."""
    for t in _quantized(tensors):
        if not LEAST <= t.scale <= MOST:
            return f"the scale of '{t.name}' is {t.scale:.6g}, so that its {t.dtype} values cannot be dequantized"
    return None


def doubtful(tensors: Iterable[Tensor]) -> str | None:
    """Implausible scales of a layer that cannot be compiled: likely the reason for it."""
    known = list(tensors)
    scales = sorted(_quantized(known), key=lambda t: t.scale)
    if bad := meaningless(known):
        return bad
    if scales and scales[-1].scale > APART * scales[0].scale:
        low, high = scales[0], scales[-1]
        return f"the scales of '{low.name}' ({low.scale:.6g}) and '{high.name}' ({high.scale:.6g}) are far apart"
    return None


def _quantized(tensors: Iterable[Tensor]) -> list[Tensor]:
    """The per-tensor quantized activations."""
    kinds = (DType.INT8, DType.INT16)
    quantized = [t for t in tensors if t.data is None and t.dtype in kinds and t.quant is not None]
    return [t for t in quantized if t.quant is not None and not t.quant.per_channel]

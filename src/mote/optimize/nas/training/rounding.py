"""Rounds int4 weights of a trained network before it is scored, to estimate their accuracy loss without fine-tuning."""

from __future__ import annotations

import torch

from mote.bench.execute.torch.float32.common import Value
from mote.optimize.compress.quantize.types.precision import Precision
from mote.optimize.nas.training.module import NetworkModule


def round_weights(module: NetworkModule) -> bool:
    """Rounds the weights of int4 layers in place, with a scale per output channel; batch normalization must be
    recalibrated afterwards. Returns whether there are such layers."""
    narrow = [name for name, precision in module.network.precisions.items() if precision == Precision.INT4]
    with torch.no_grad():
        for name in narrow:
            for value in module.layer(name).parameters(recurse=False):
                if value.dim() > 1:
                    value.copy_(rounded(value))
    return bool(narrow)


def rounded(weights: Value) -> Value:
    """Weights [channels, ...] rounded to symmetric int4 with a scale per channel."""
    step = weights.abs().amax(dim=tuple(range(1, weights.dim())), keepdim=True) / Precision.INT4.most
    return torch.where(step > 0, torch.round(weights / step) * step, weights)

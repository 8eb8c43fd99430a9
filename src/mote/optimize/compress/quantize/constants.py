"""Quantizes the weights and biases of layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op, Quantization, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.optimize.compress.quantize.encode import bias_steps, weight_scales, weight_steps
from mote.optimize.compress.quantize.types.litert_rules import FAMILIES
from mote.optimize.compress.quantize.types.precision import Precision, Rounded


@dataclass(frozen=True)
class ConstantOverrides:
    """Precomputed constants: integer weights by float tensor id, and float biases by layer output (also for layers
    without a bias)."""

    weights: Mapping[int, Rounded] = field(default_factory=dict)
    biases: Mapping[int, Array] = field(default_factory=dict)


def layer_constants(
    graph: Graph, op: Op, input_scale: float, precision: Precision, chosen: ConstantOverrides
) -> list[Tensor]:
    """Quantized weights and bias tensors of a layer, with the ids of the float ones; an added bias has the id
    ABSENT."""
    w, b = op.input(graph, 1), op.tensor(graph, 2)
    assert w.data is not None
    axis = FAMILIES[type(op)].channel_axis
    bias = chosen.biases.get(op.outputs[0], None if b is None else b.data)
    rounded = chosen.weights.get(w.id)
    if rounded is None:
        scale = weight_scales(w.data, axis, precision.most, bias, input_scale)
        rounded = Rounded(weight_steps(w.data, scale, axis, precision.most), scale)
    zeros = np.zeros(rounded.scale.size, np.int64)
    quant = Quantization(rounded.scale, zeros, axis)
    values = rounded.values.astype(np.int8)
    stored = DType.INT4 if precision is Precision.INT4 else None
    weights = replace(w, dtype=DType.INT8, data=values, quant=quant, stored=stored)
    if bias is None:
        return [weights]
    like = b or Tensor(ABSENT, f"{op.name}/bias", bias.shape, DType.FLOAT32)
    return [weights, _bias(like, bias, np.float32(input_scale) * rounded.scale, precision)]


LEAST_FLOAT16 = 64
"""Constants with fewer elements stay float32 instead of float16."""


def as_float16(t: Tensor) -> Tensor | None:
    """A float constant rounded to float16; None for other constants, small ones, and values out of range."""
    if t.data is None or t.dtype != DType.FLOAT32 or t.size < LEAST_FLOAT16:
        return None
    with np.errstate(over="ignore"):
        data = t.data.astype(np.float16).astype(np.float32)
    return replace(t, data=data, stored=DType.FLOAT16) if np.isfinite(data).all() else None


def _bias(like: Tensor, bias: Array, products: NDArray[np.float32], precision: Precision) -> Tensor:
    """A bias quantized with the accumulator's scale; int64 for int16 activations."""
    dtype = DType.INT64 if precision.activations == DType.INT16 else DType.INT32
    quant = Quantization(products, np.zeros(products.size, np.int64))
    return replace(like, dtype=dtype, data=bias_steps(bias, products, dtype), quant=quant)

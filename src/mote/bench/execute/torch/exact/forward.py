"""Evaluates an integer graph, operator by operator, bit-exact with the NumPy reference, LiteRT and the generated C.

Integer tensors are int64, float tensors float32."""

from __future__ import annotations

import numpy as np
import torch

from mote.base.errors import working_on
from mote.bench.execute.torch.exact.fixedpoint import Ints, half_away
from mote.bench.execute.torch.exact.operators import exact
from mote.bench.execute.torch.float32 import twin
from mote.bench.execute.torch.float32.common import Operands, Value, given
from mote.ir.graph import Graph, Op, Tensor
from mote.ir.graph.graph import ABSENT
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.elementwise.quantize import Dequantize, Quantize

SHORT = (DType.INT8, DType.INT16)
"""Types whose values are exact in single precision."""


def in_steps(x: Value, like: Tensor, rounding: Rounding = Rounding.ONCE, factor: float | None = None) -> Ints:
    """Quantizes floats as QUANTIZE does."""
    real = x.to(torch.float32)
    single = torch.tensor(like.scale if factor is None else factor, dtype=torch.float32, device=x.device)
    wide = (real / single if factor is None else real * single).to(torch.float64)
    rounded = torch.round(wide) if rounding is Rounding.EVEN else half_away(wide)
    return torch.clamp(rounded + like.zero_point, *like.dtype.limits).to(torch.int64)


def real_numbers(q: Ints, like: Tensor) -> Value:
    """Dequantizes integers as DEQUANTIZE does."""
    quant = like.quant
    assert quant is not None
    shape = [quant.scale.size if axis == quant.axis else 1 for axis in range(q.dim() - 1)] if quant.per_channel else []
    scale, zero = (
        torch.from_numpy(np.array(part).reshape(shape)).to(q.device) for part in (quant.scale, quant.zero_point)
    )
    if like.dtype in SHORT:
        return q.to(torch.float32).sub_(zero).mul_(scale)
    return scale * (q - zero).to(torch.float32)


def step(g: Graph, op: Op, values: Operands) -> tuple[Value, ...]:
    """Evaluates one operator for all samples."""
    with working_on(op), torch.no_grad():
        if isinstance(op, Quantize):
            return (in_steps(given(values, 0), op.output(g), op.rounding, op.factor),)
        if isinstance(op, Dequantize):
            return (real_numbers(given(values, 0), op.input(g)),)
        real = op.output(g).dtype == DType.FLOAT32
        results = (twin if real else exact)(g, op)(g, op, values)
    return results if isinstance(results, tuple) else (results,)


def constant(t: Tensor, device: torch.device) -> Value:
    """Value of a constant for one sample."""
    assert t.data is not None
    data = np.asarray(t.data, np.int64 if t.dtype.integer else t.data.dtype)
    return torch.from_numpy(np.array(data)).to(device).unsqueeze(0)


def forward(graph: Graph, inputs: dict[int, Value]) -> dict[int, Value]:
    """Evaluates all activations from inputs by id, with a leading axis of samples."""
    known = dict(inputs)
    device = next(iter(inputs.values())).device
    for state in graph.states:
        known[state.before] = torch.from_numpy(np.array(state.initial)).to(device).unsqueeze(0)
    for op in graph.ops:
        operands = [
            None if i == ABSENT else known[i] if i in known else constant(graph.tensors[i], device) for i in op.inputs
        ]
        known |= dict(zip(op.outputs, step(graph, op, operands), strict=True))
    return known

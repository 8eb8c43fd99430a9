"""`mote.graph.fixedpoint` for tensors of PyTorch, on whatever device they are: the same integers, bit for bit."""

from __future__ import annotations

import torch

from mote.execute.torch.float32.common import Value

Ints = torch.Tensor
"""Of int64."""


def wrap32(x: Ints) -> Ints:
    """x as a 32-bit register holds it."""
    return x.to(torch.int32).to(torch.int64)


def high_mul(a: Ints, b: Ints | int) -> Ints:
    """floor((a * b + 2^30) / 2^31): the high half of the doubled product, rounded."""
    return (a * b + (1 << 30)) >> 31


def rounding_shift_right(x: Ints, bits: Ints) -> Ints:
    """x / 2^bits, halves away from zero."""
    nudge = torch.where(bits > 0, (1 << bits) >> 1, 0) - ((bits > 0) & (x < 0)).to(torch.int64)
    return (x + nudge) >> bits


def rescale(x: Ints, mantissa: Ints, shift: Ints) -> Ints:
    """x * mantissa / 2^31 * 2^shift, rounded twice."""
    left = torch.clamp(shift, min=0)
    high = high_mul(wrap32(x << left), mantissa)
    return rounding_shift_right(high, torch.clamp(-shift, min=0))


def rescale_wide(x: Ints, mantissa: Ints, shift: Ints) -> Ints:
    """x * mantissa / 2^31 * 2^shift of sums of 64 bits, with a mantissa of 15 bits, rounded once, in 32 bits."""
    reduced = torch.where(mantissa < 0x7FFF0000, (mantissa + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - shift
    return wrap32((x * reduced + (1 << (total - 1))) >> total)


def half_away(x: Value) -> Value:
    """Real numbers as whole ones, halves away from zero."""
    whole = torch.trunc(x)
    return whole + torch.copysign(((x - whole).abs() >= 0.5).to(x.dtype), x)


def scale_once(x: Ints, real: Value) -> Ints:
    """x * real, rounded once, halves away from zero."""
    return half_away(torch.clamp(x.to(torch.float64) * real, -(2.0**32), 2.0**32)).to(torch.int64)


def scale_even(x: Ints, real: Value) -> Ints:
    """x * real in single precision, halves to even."""
    product = x.to(torch.float32) * real.to(torch.float32)
    return torch.round(torch.clamp(product, -(2.0**32), 2.0**32)).to(torch.int64)

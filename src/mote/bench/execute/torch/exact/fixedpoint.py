"""`mote.ir.graph.numeric.fixedpoint` for PyTorch tensors on any device, bit for bit."""

from __future__ import annotations

import torch

from mote.bench.execute.torch.float32.common import Value

Ints = torch.Tensor
"""Integers as int64 tensors."""


def wrap32(x: Ints) -> Ints:
    """Wraps integers to int32 (two's complement)."""
    return x.to(torch.int32).to(torch.int64)


def high_mul(a: Ints, b: Ints | int) -> Ints:
    """floor((a * b + 2
    30) / 2
    31): rounding doubling high multiplication."""
    return (a * b + (1 << 30)) >> 31


def rounding_shift_right(x: Ints, bits: Ints) -> Ints:
    """x / 2
    bits, rounded half away from zero."""
    nudge = torch.where(bits > 0, (1 << bits) >> 1, 0) - ((bits > 0) & (x < 0)).to(torch.int64)
    return (x + nudge) >> bits


def rescale(x: Ints, mantissa: Ints, shift: Ints) -> Ints:
    """x * mantissa / 2
    31 * 2
    shift, rounded twice as gemmlowp does."""
    left = torch.clamp(shift, min=0)
    high = high_mul(wrap32(x << left), mantissa)
    return rounding_shift_right(high, torch.clamp(-shift, min=0))


def rescale_down(x: Value, mantissa: Ints, shift: Ints) -> Value:
    """In-place `rescale` of int32 values in double precision, for shifts <= 0. The mantissa is split in halves, so that
    products are exact."""
    high, low = (part.to(torch.float64) for part in (mantissa >> 16, mantissa & 0xFFFF))
    half = torch.tensor(float(1 << 30), dtype=torch.float64, device=x.device)
    once = torch.addcmul(half, x, low).mul_(2.0**-16).floor_().addcmul_(x, high).mul_(2.0**-15).floor_()
    once.mul_(torch.exp2(shift.to(torch.float64)))
    return once.add_(torch.copysign(torch.tensor(0.5, dtype=torch.float64), once)).trunc_()


def rescale_wide(x: Ints, mantissa: Ints, shift: Ints) -> Ints:
    """Requantizes int64 accumulators with a 15-bit mantissa: x * mantissa / 2^31 * 2^shift, rounded once, to 32
    bits."""
    reduced = torch.where(mantissa < 0x7FFF0000, (mantissa + (1 << 15)) >> 16, 0x7FFF)
    total = 15 - shift
    return wrap32((x * reduced + (1 << (total - 1))) >> total)


def half_away(x: Value) -> Value:
    """Rounds floats to integers, half away from zero."""
    whole = torch.trunc(x)
    return whole + torch.copysign(((x - whole).abs() >= 0.5).to(x.dtype), x)


def scale_once(x: Ints, real: Value) -> Ints:
    """x * real, rounded once, half away from zero."""
    return half_away(torch.clamp(x.to(torch.float64) * real, -(2.0**32), 2.0**32)).to(torch.int64)


def scale_even(x: Ints, real: Value) -> Ints:
    """x * real in single precision, rounded half to even."""
    product = x.to(torch.float32) * real.to(torch.float32)
    return torch.round(torch.clamp(product, -(2.0**32), 2.0**32)).to(torch.int64)

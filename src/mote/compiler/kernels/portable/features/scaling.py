"""The final scaling step of preprocessing (`mote_affine_map.h`), and the mean of channels (`mote_mono.h`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mote.compiler.kernels.contract import (
    SIGNAL,
    Call,
    Entry,
    Instance,
    Kernel,
    Packed,
    Params,
    Price,
    Refusal,
    Signature,
    View,
)
from mote.compiler.kernels.contract import signature as typed
from mote.compiler.kernels.portable.elementwise.quantize import NAMES
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.elementwise.quantize import QUANTIZED
from mote.ir.ops.features.channels import Mono
from mote.ir.ops.features.scaling import SOURCES, AffineMap

BYTES = (DType.INT8, DType.UINT8)
LEAST_SLOPE, MOST_SHIFT = 1e-9, 45
"""Smallest slope and largest shift with which a channel's offset and the product with a 32-bit integer fit 64 bits."""
MOST_STEPS = 255
BY_TABLE, BY_LINE, BY_SEARCH, IN_DOUBLES, A_SAMPLE, A_CHANNEL = 7, 20, 110, 150, 6, 3
"""Estimated cycles on a Cortex-M4 per element of each kernel: lookup table, multiply and shift, binary search, double
precision, and mean of channels per output and per input."""
MULTIPLIERS = (0, 1, 2, 4, 8, 16)
"""Increments of the rounded multiplier that are tried until an offset exists: a slightly larger one rounds the ties at
-0.5 and 0.5 away from zero, as quantization does."""


def _price(view: View, cycles: float) -> Price:
    return Price(work=cycles * view.output.size)


def _entry(view: View) -> Entry:
    return Entry(Call.FLAT, view.output.size // view.the(AffineMap).channels)


def _named(view: View, verb: str, macro: str, *types: DType) -> tuple[str, tuple[Instance, ...]]:
    """Name of the function for these types, and the macro instance that defines it."""
    name = "_".join((verb, *(NAMES[t][0] for t in types)))
    return name, (Instance(macro, (name, *(NAMES[t][1] for t in types))),)


def _table(view: View) -> Packed:
    op, x, y = view.the(AffineMap), view.input, view.output
    every = np.arange(256, dtype=np.int64).astype(np.uint8).view(x.dtype.numpy)
    tables = op.of(view.graph, np.repeat(every[:, None], op.channels, 1)).T
    name, made = _named(view, "map_table", "MOTE_MAP_TABLE", x.dtype, y.dtype)
    params: Params = {"channels": op.channels, "table": np.ascontiguousarray(tables)}
    return Packed(name, params, _entry(view), price=_price(view, BY_TABLE), instances=made)


@dataclass(frozen=True, eq=False)
class Channel:
    """Output of a channel as an increasing function of its integer inputs (negated if it decreases): `low`, plus one
    from each integer in `begin` on."""

    falls: bool
    slope: float
    low: int
    begin: list[int]

    @property
    def high(self) -> int:
        return self.low + len(self.begin)

    def line(self, shift: int) -> tuple[int, int] | None:
        """Searches a multiplier and an offset with clamp((x * multiplier + offset) >> shift, low, high) equal to the
        output for every integer; None if there are none. It is enough to check both sides of each step."""
        levels = list(enumerate(self.begin, self.low + 1))
        for more in MULTIPLIERS:
            mult = round(self.slope * 2.0**shift) + more
            least = max(((k << shift) - x * mult for k, x in levels), default=self.low << shift)
            most = min(((k << shift) - (x - 1) * mult - 1 for k, x in levels), default=self.low << shift)
            if least <= most and mult < 1 << 31:
                return (-mult if self.falls else mult), (least + most) // 2
        return None


def _channel(view: View, number: int) -> Channel:
    op = view.the(AffineMap)
    factor = op.factor[min(number, len(op.factor) - 1)]
    falls = factor < 0
    least, most = view.input.dtype.limits

    def results(x: Array) -> Array:
        every = np.zeros((x.size, op.channels), np.int64)
        every[:, number] = -x if falls else x
        return op.of(view.graph, every)[:, number].astype(np.int64)

    first, last = (-most, -least) if falls else (least, most)
    low, high = (int(results(np.array([end], np.int64))[0]) for end in (first, last))
    begin = _first_reaching(results, np.arange(low + 1, high + 1, dtype=np.int64), first, last)
    return Channel(falls, abs(factor) / view.output.scale, low, begin.tolist())


def _fixed(view: View) -> Packed | Refusal:
    op, x, y = view.the(AffineMap), view.input, view.output
    channels = [_channel(view, c) for c in range(op.channels)]
    widest = max(LEAST_SLOPE, *(c.slope for c in channels))
    shift = int(np.clip(30 - np.ceil(np.log2(widest)), 0, MOST_SHIFT))
    lines = [c.line(shift) for c in channels]
    if any(line is None for line in lines):
        return _steps(view, channels)
    mult, offset = zip(*(line for line in lines if line is not None), strict=True)
    name, made = _named(view, "map_fixed", "MOTE_MAP_FIXED", x.dtype, y.dtype)
    params: Params = {
        "channels": op.channels,
        "shift": shift,
        "mult": np.array(mult, np.int32),
        "lo": np.array([c.low for c in channels], np.int32),
        "hi": np.array([c.high for c in channels], np.int32),
        "offset": np.array(offset, np.int64),
    }
    return Packed(name, params, _entry(view), price=_price(view, BY_LINE), instances=made)


def _steps(view: View, channels: list[Channel]) -> Packed | Refusal:
    """Packs a binary search over all steps, for channels that no multiplier and offset reproduce: float32 is coarser
    than 32-bit integers."""
    count = max(len(c.begin) for c in channels)
    if count > MOST_STEPS:
        return Refusal(f"no multiplier gives its roundings for every integer, and there are {count:,} of them")
    begin = np.full((len(channels), count), DType.INT32.limits[1], np.int32)
    for row, channel in zip(begin, channels, strict=True):
        row[: len(channel.begin)] = channel.begin
    name, made = _named(view, "map_steps", "MOTE_MAP_STEPS", view.input.dtype, view.output.dtype)
    params: Params = {
        "channels": len(channels),
        "count": count,
        "begin": begin.reshape(-1),
        "least": np.array([c.low for c in channels], np.int32),
        "sign": np.array([-1 if c.falls else 1 for c in channels], np.int32),
    }
    return Packed(name, params, _entry(view), price=_price(view, BY_SEARCH), instances=made)


def _first_reaching(results: Callable[[Array], Array], levels: Array, first: int, last: int) -> Array:
    """For each output level, the smallest integer whose output reaches it, by bisection."""
    below, reaching = np.full(levels.shape, first, np.int64), np.full(levels.shape, last, np.int64)
    while (below + 1 < reaching).any():
        middle = (below + reaching) // 2
        enough = results(middle) >= levels
        below, reaching = np.where(enough, below, middle), np.where(enough, middle, reaching)
    return reaching


def _real(view: View) -> Packed:
    op, x = view.the(AffineMap), view.input
    name, made = _named(view, "map_real", "MOTE_MAP_REAL", x.dtype)

    def each(values: tuple[float, ...]) -> Array:
        return np.broadcast_to(np.array(values, np.float64), (op.channels,))

    params: Params = {
        "channels": op.channels,
        "factor": _pairs(each(op.factor)),
        "offset": _pairs(each(op.offset)),
        "lo": each(op.low).astype(np.float32),
        "hi": each(op.high).astype(np.float32),
    }
    return Packed(name, params, _entry(view), price=_price(view, IN_DOUBLES), instances=made)


def _pairs(values: Array) -> Array:
    """Each number as a float32 and the float32 of its rounding error."""
    first = values.astype(np.float32)
    return np.stack([first, (values - first).astype(np.float32)], -1).reshape(-1)


def _mono(view: View) -> Packed:
    price = Price(work=A_SAMPLE * view.output.size + A_CHANNEL * view.input.size)
    return Packed("mono", {"channels": view.input.shape[-1]}, Entry(Call.FLAT, view.output.size), price=price)


KERNELS = (
    Kernel(
        "map_table", (AffineMap,), Signature(frozenset(BYTES), frozenset(BYTES)), _table, "affine_map", costs=SIGNAL
    ),
    Kernel(
        "map_fixed",
        (AffineMap,),
        Signature(frozenset(SOURCES), frozenset(QUANTIZED)),
        _fixed,
        "affine_map",
        costs=SIGNAL,
    ),
    Kernel(
        "map_real",
        (AffineMap,),
        Signature(frozenset(SOURCES), frozenset({DType.FLOAT32})),
        _real,
        "affine_map",
        costs=SIGNAL,
    ),
    Kernel("mono", (Mono,), typed(DType.INT16, DType.INT16), _mono, "mono", costs=SIGNAL),
)

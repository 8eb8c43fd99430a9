"""Convolutions three pixels at a time: the weights and constants of `mote_gemm3_s8.h`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mote.graph import Graph
from mote.graph.fixedpoint import Ints, wrap32
from mote.graph.tensor import Shape
from mote.ops.common import bias_values, int8_range, pad_to
from mote.ops.narrow import Sums, narrow, widest
from mote.ops.sparse import paired, without_zeros
from mote.plan.kernel import Call, Kernel, Lowering, Value, units_of
from mote.plan.rows import aligned

if TYPE_CHECKING:
    from mote.ops.conv import Conv2D

Weights = Literal["wide", "pair"]
"""Two bytes a weight, or one: see the header."""
WEIGHTS: tuple[Weights, ...] = ("pair", "wide")
BLOCKS = (4, 2)
"""Products of a sum that are left out together where all of their weights are zero."""

SHORT = 16
"""Rows with fewer pixels than this are better computed three at once."""
MOST_SHIFT = 23
"""Further shifted, zero points do not fit a register."""
TAIL = 28
"""Bytes behind the widened inputs."""


def matrix_of(g: Graph, op: Conv2D) -> Ints:
    """Weights [outputs, depth] in the order of the widened inputs: the whole words of each row of the window, then what
    is left of each row; padded to a multiple of four with zeros."""
    w = op.input(g, 1)
    assert w.data is not None
    rows = w.data.astype(np.int64).reshape(w.shape[0], w.shape[1], -1)
    whole = rows.shape[2] // 4 * 4
    parts = [part.reshape(w.shape[0], -1) for part in (rows[:, :, :whole], rows[:, :, whole:])]
    return pad_to(np.concatenate(parts, axis=1), 1, 4)


@dataclass(frozen=True)
class Packed:
    """The weights and constants of pairs of channels."""

    biases: Ints
    """[pairs, 2]"""
    words: Ints
    """[pairs, depth / 2, words]: two weights of each of the channels."""
    constants: Ints
    """[pairs, constants]"""
    shift: int

    def stream(self) -> Ints:
        pairs = len(self.words)
        return np.concatenate([self.biases, self.words.reshape(pairs, -1), self.constants], axis=1).reshape(-1)

    def sparse(self, depth: int, offsets: Ints) -> tuple[Ints, float] | None:
        """The stream without blocks of `depth` weights that are zero, and the share of those that are left; `offsets`:
        where each channel's outputs go. The partner of one that has none goes where it does."""
        pairs, _, words = self.words.shape
        left = without_zeros(self.words.reshape(pairs, -1, depth // 2 * words), 6 * depth, words)
        if left is None:
            return None
        both = np.append(offsets, offsets[-1])[: 2 * pairs].reshape(pairs, 2)
        rows = zip(self.biases, left.rows, self.constants, both, strict=True)
        stream = np.concatenate([part for row in rows for part in row])
        return np.concatenate([[len(stream)], stream]), left.density


def lower(g: Graph, op: Conv2D, how: Lowering, weights: Weights) -> list[Kernel]:
    """The kernels for weights as they are, and without blocks of zeros where there are many; none where the layer's
    numbers do not allow them."""
    y = op.output(g)
    if int8_range(op.activation, y) != (-128, 127) or (how.writes.planar and y.zero_point != -128):
        return []
    matrix = matrix_of(g, op)
    x, sums = op.input(g), op.sums(g, g.ranges[op.inputs[0]])
    bias = bias_values(op.tensor(g, 2), y.shape[3]) - x.zero_point * matrix.sum(axis=1)
    pack = _wide if weights == "wide" else _pair
    packed = pack(matrix, bias, sums, how)
    if packed is None:
        return []
    depth, out = matrix.shape[1], "planar" if how.writes.planar else "linear" if sums.linear else "nhwc"
    found = [_kernel(g, op, how, Form(weights, out, packed.shift), depth, packed.stream())]
    for block in BLOCKS:
        order = paired((_words(matrix) != 0).reshape(len(matrix), -1, block // 2).any(axis=2))
        if order is None:
            continue
        packed = pack(matrix[order], bias[order], sums.some(order), how)
        left = packed.sparse(block, order * (how.writes.line or 1)) if packed else None
        if packed and left:
            stream, density = left
            kernel = _kernel(g, op, how, Form(weights, out, packed.shift, f"sparse{block}"), depth, stream)
            found.append(replace(kernel, density=density))
    return found


class Form(NamedTuple):
    """Which kernel: that for these weights, outputs and shift, and blocks of weights that may be missing."""

    weights: str
    outputs: str
    shift: int
    blocks: str = ""

    @property
    def kind(self) -> str:
        return f"{self.weights}_{self.blocks}" if self.blocks else self.weights

    @property
    def instance(self) -> str:
        if self.blocks:
            return f"MOTE_GEMM3_SPARSE({self.weights}, {self.blocks}, {self.outputs}, {self.shift})"
        return f"MOTE_GEMM3({self.weights}, {self.outputs}, {self.shift})"


def _kernel(g: Graph, op: Conv2D, how: Lowering, form: Form, depth: int, stream: Ints) -> Kernel:
    x, y = op.input(g), op.output(g)
    name = f"{form.kind}_{form.outputs}_{form.shift}"
    gemm: dict[str, Value] = {
        "depth": depth,
        "channels": y.shape[3],
        "pixel": y.shape[3],
        "planes": how.writes.line,
        "before": how.writes.before,
        "stream": wrap32(stream).astype(np.int32),
    }
    one = y.shape[0] == 1
    common: dict[str, Any] = {
        "header": "gemm3_s8",
        "instances": (form.instance,),
        "writes": how.writes,
        "tile": (1, 3),
        "lanes": 2,
        "group": _group(y.shape) if one else 1,
        "dsp": True,
    }
    scratch = 6 * depth + TAIL
    out_row = how.writes.line * y.shape[3] if how.writes.planar else y.shape[2] * y.shape[3]
    if op.pointwise and x.shape[3] % 4 == 0:
        params: dict[str, Value] = {
            "width": y.shape[2],
            "in_channels": x.shape[3],
            "in_stride": x.shape[2] * x.shape[3],
        }
        params |= {"out_stride": out_row, "gemm": gemm}
        common |= {
            "scratch": scratch,
            "family": f"pointwise3_{form.kind}",
            "rows": f"pointwise3_{name}_rows" if one else "",
        }
        if how.writes.planar:
            return Kernel(f"pointwise3_rows_{name}", params, Call.ROWS, **common)
        return Kernel(f"pointwise3_{name}", params, Call.FLAT, units_of(y.shape, y.shape[3]), **common)
    patch = op.patch(g)
    window = patch["rows"]
    assert isinstance(window, dict)
    patch["rows"] = window | {"out_stride": out_row}
    line = op.horizontal.kernel * x.shape[3]
    taps = op.vertical.kernel
    scratch += 3 * aligned(taps * (line % 4)) + aligned(line) + taps * line
    return Kernel(
        f"conv3_{name}",
        {"patch": patch, "gemm": gemm},
        Call.ROWS,
        row=f"conv3_{name}_row",
        rows=f"conv3_{name}_rows" if one and op.vertical.dilation == 1 else "",
        taps=taps,
        scratch=aligned(scratch),
        family=f"conv3_{form.kind}",
        **common,
    )


def _group(shape: Shape) -> int:
    """How many rows at once: blocks of three pixels go on in the next row, where rows are short and do not hold them
    without a rest."""
    return 3 if shape[2] % 3 and shape[2] < SHORT else 1


def _words(values: Ints) -> Ints:
    """[.., depth] 16-bit values as words of two, as widening gives them: 0 and 2, then 1 and 3 of each four."""
    fours = values.reshape(*values.shape[:-1], -1, 4) & 0xFFFF
    words = np.stack([fours[..., 0] | fours[..., 2] << 16, fours[..., 1] | fours[..., 3] << 16], axis=-1)
    return words.reshape(*values.shape[:-1], -1)


def _pairs(values: NDArray[Any]) -> NDArray[Any]:
    """[channels, ..] as [pairs, 2, ..], with zeros for a last one's partner."""
    padded = pad_to(values, 0, 2)
    return padded.reshape(-1, 2, *values.shape[1:])


def _wide(matrix: Ints, bias: Ints, sums: Sums, how: Lowering) -> Packed | None:
    found = widest(sums, matrix)
    if found is None:
        return None
    if how.writes.planar:
        found = found.unsigned()
    biases, words = _pairs(found.biases(bias)), _pairs(_words(found.scaled(matrix)))
    constants = _pairs(found.constants(sums.linear))
    return Packed(biases, words.transpose(0, 2, 1), constants.reshape(len(words), -1), found.shift)


def _pair(matrix: Ints, bias: Ints, sums: Sums, how: Lowering) -> Packed | None:
    """The first channel of a pair is rescaled step by step, with its own shift; the second one, whose sums come times
    256, with constants like those of wide weights, but for its own shift."""
    constant, right = sums.constant, -sums.shift
    fits = (right >= 1) & (right <= MOST_SHIFT) & (np.maximum(np.abs(sums.low), np.abs(sums.high)) < 1 << 22)
    weights = _pairs(np.where(constant[:, None], 0, matrix))
    both = weights[:, 0] + 256 * weights[:, 1]
    if not np.all(fits | constant) or both.max(initial=0) > 32767 or both.min(initial=0) < -32768:
        return None
    second = _second(sums, how.writes.planar)
    if second is None:
        return None
    biases = _pairs(np.where(constant, 0, bias))
    offsets = _pairs(second[:, 0])
    biases = np.stack([biases[:, 0], biases[:, 0] + 256 * biases[:, 1] + offsets[:, 1]], axis=1)
    constants = _pairs(_first(sums, how.writes.planar))[:, 0], _pairs(second[:, 1:])[:, 1]
    return Packed(biases, _words(both)[:, :, None], np.concatenate(constants, axis=1), 0)


def _first(sums: Sums, unsigned: bool) -> Ints:
    """[channels, 3]: twice the multiplier less 2^32, what is added before the shift, and the shift."""
    right = np.where(sums.constant, 1, -sums.shift)
    value, zero = sums.outputs(sums.low) + 128 * unsigned, sums.zero + 128 * unsigned
    constants = np.stack([2 * sums.mult - (1 << 32), (1 << (right - 1)) + (zero << right), right], axis=1)
    return np.where(sums.constant[:, None], np.stack([0 * value, value << 1, right], axis=1), constants)


def _second(sums: Sums, unsigned: bool) -> Ints | None:
    """[channels]: the offset of sums times 256, the multiplier, what is added, `fix` for linear outputs, the shift."""
    shifts = np.clip(-sums.shift, 1, MOST_SHIFT - 7) + 7
    rows = np.zeros((len(shifts), 4 + sums.linear), np.int64)
    for shift in np.unique(shifts):
        these = shifts == shift
        found = narrow(sums.some(these), int(shift), np.full(these.sum(), 8), fixed=True)
        if found is None:
            return None
        found = found.unsigned() if unsigned else found
        rows[these] = np.column_stack([found.offset, found.constants(sums.linear), shifts[these]])
    return rows

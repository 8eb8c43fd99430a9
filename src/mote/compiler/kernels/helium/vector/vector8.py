"""Matrix-vector products: packed weights and constants of `mote_fully_connected8_s8.h`, for fully connected layers and
convolutions with few pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mote.compiler.kernels.contract import (
    INT8,
    Biases,
    Call,
    Entry,
    Instance,
    Kernel,
    Needs,
    Packed,
    Params,
    Price,
    Refusal,
    View,
    units_of,
)
from mote.compiler.kernels.helium.common import HELIUM, NO_CONSTANTS
from mote.compiler.kernels.helium.requantize import Requantize
from mote.compiler.kernels.helium.vector.vector_assembly import fully_connected
from mote.compiler.kernels.pack.learned_bias import learning
from mote.compiler.kernels.pack.params import pad_to, window_params
from mote.compiler.kernels.pack.requantize.vector import LaneForm, Lanes, Limits, lanes, lanes_params
from mote.compiler.kernels.portable.matrix.fully_connected import sums_of as vector_sums
from mote.compiler.kernels.portable.matrix.fully_connected import vectors
from mote.compiler.kernels.portable.windows.conv import sums_of
from mote.ir.graph.numeric.fixedpoint import Ints, wrap32
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import bias_values, int8_range
from mote.ir.ops.matrix.accumulators import Accumulators
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.windows.conv import Conv2D

VECTOR, OUTPUTS = 16, 8
ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
"""Order of eight outputs in memory: narrowing puts the first four into the bottom and the others into the top halves of
words."""
MOST_STEPS = 12
"""Most input vectors that the code unrolls."""
FEW_PIXELS = 2


@dataclass(frozen=True)
class Matrix:
    """Constants of a layer as matrix; weights have shape [outputs, inputs]."""

    weights: NDArray[np.int8]
    lanes: Lanes
    constants: NDArray[np.int32]
    owners: NDArray[np.int64]
    """For each element of `constants`: number, from 1, of the output whose bias is part of it; 0: none."""
    same: int | None = None
    """The multiplier of all outputs if their scales are equal (per-tensor quantization): `constants` then only has
    biases."""

    @property
    def steps(self) -> int:
        """Number of input vectors (16 inputs each)."""
        return -(-int(self.weights.shape[1]) // VECTOR)

    @property
    def round(self) -> int:
        """Unroll factor of the loop over input vectors."""
        if self.steps <= MOST_STEPS:
            return self.steps
        return max(n for n in range(1, MOST_STEPS + 1) if self.steps % n == 0)

    def params(self) -> Params:
        """Parameters `mote_fc8_t`."""
        weights = pad_to(pad_to(self.weights, 0, OUTPUTS), 1, VECTOR).reshape(-1, OUTPUTS, self.steps, VECTOR)
        return {
            "weights": np.ascontiguousarray(weights[:, ORDER].transpose(0, 2, 1, 3)).reshape(-1),
            "constants": self.constants,
            "loops": self.steps // self.round,
            "lanes": lanes_params(self.lanes),
            "mult": self.same or 0,
            "depth": self.weights.shape[1],
            "channels": len(self.weights),
        }

    def biases(self, path: str) -> Biases:
        """Where trained biases are stored in the parameters; `path`: of the constants."""
        factors = self.lanes.bias_factors
        return Biases(path, scale=np.broadcast_to(factors, len(self.weights)), owners=self.owners)

    def instances(self) -> tuple[str, tuple[Instance, ...]]:
        """Name of the code, and the macro instances that define it."""
        requantize, rest = Requantize.of(self.lanes), len(self.weights) % OUTPUTS
        looped, same = self.steps > self.round, self.same is not None
        parts = [f"{self.round}{'n' if looped else ''}", "same" if same else "each", requantize.name]
        name = "_".join([*parts, *([f"rest{rest}"] if rest else [])])
        code = fully_connected(self.round, looped, same, requantize, rest)
        arguments = (name, self.round, int(same), requantize.form, requantize.shift)
        function = Instance("MOTE_FC8_CODE", arguments, tuple(code), (int(looped), rest))
        return name, (function, Instance("MOTE_FULLY_CONNECTED8", (name,)))


def matrix(weights: NDArray[np.int8], bias: Ints, sums: Accumulators, limits: Limits) -> Matrix | None:
    """Pack the constants of a layer; None: no requantization is exact. `bias`: with the input's zero point folded
    in."""
    one = _one(sums)
    requantization = lanes(one, limits) if one is not None else None
    if requantization is not None and requantization.form is LaneForm.LINE and not requantization.constant[0]:
        added = wrap32((bias << requantization.scale) + requantization.offset[0])
        eights, owners = (
            _in_eights(values[:, None]) for values in (added.astype(np.int32), np.arange(len(bias), dtype=np.int64) + 1)
        )
        return Matrix(weights, requantization, eights, owners, int(requantization.mult[0]))
    requantization = lanes(sums, limits)
    if requantization is None:
        return None
    packed = requantization.weights(weights.astype(np.int64)).astype(np.int8)
    constants, owners = (_in_eights(rows) for rows in (requantization.constants(bias), requantization.owners))
    return Matrix(packed, requantization, constants, owners)


def _in_eights(rows: Array) -> Array:
    """Pack constants [outputs, constants] as [groups of eight][halves][constants][four], with zeros for missing
    outputs."""
    eights = pad_to(rows, 0, OUTPUTS).reshape(-1, OUTPUTS, rows.shape[1])
    fours = eights[:, ORDER].reshape(-1, 4, rows.shape[1])
    return np.ascontiguousarray(fours.transpose(0, 2, 1)).reshape(-1)


def _one(sums: Accumulators) -> Accumulators | None:
    """The accumulators of all outputs merged into one if their scales are equal; else None."""
    scales = [sums.mult, sums.shift, *([] if sums.real is None else [sums.real])]
    if any(np.any(scale != scale[0]) for scale in scales) or not np.all(sums.fits):
        return None
    real = None if sums.real is None else sums.real[:1]
    return Accumulators(
        sums.low.min(keepdims=True),
        sums.high.max(keepdims=True),
        sums.mult[:1],
        sums.shift[:1],
        sums.zero,
        real,
        sums.even,
    )


def _bias(view: View, weights: NDArray[np.int8]) -> Ints:
    """The biases with the input's zero point folded in."""
    bias = bias_values(view.op.tensor(view.graph, 2), len(weights))
    folded: Ints = bias - view.input.zero_point * weights.astype(np.int64).sum(axis=1)
    return folded


def _layer(view: View) -> Matrix | None:
    w, limits = view.constant(1), int8_range(view.the(FullyConnected).activation, view.output)
    return matrix(w, _bias(view, w), view.once(vector_sums), limits)


def _window(view: View) -> Matrix | None:
    w = view.constant(1)
    rows = w.reshape(len(w), -1)
    return matrix(rows, _bias(view, rows), sums_of(view), int8_range(view.the(Conv2D).activation, view.output))


def _packed(matrix: Matrix, count: int) -> Packed:
    name, instances = matrix.instances()
    depth = matrix.weights.shape[1]
    scratch = VECTOR * matrix.steps if depth % VECTOR else 0
    params = matrix.params()
    density = VECTOR * matrix.steps / depth
    name = f"fully_connected8_{name}"
    return Packed(
        name,
        params,
        Entry(Call.FLAT, count),
        Needs(scratch=scratch),
        Price(density=density),
        instances=instances,
        biases=matrix.biases("constants"),
    )


def _fully_connected(view: View) -> Packed | Refusal:
    matrix = view.once(_layer)
    return NO_CONSTANTS if matrix is None else _packed(matrix, vectors(view))


def _conv(view: View) -> Packed | Refusal:
    """A convolution as one matrix-vector product for each pixel, for rows of few pixels and unpadded windows."""
    op, x, y = view.the(Conv2D), view.input, view.output
    v, h = op.vertical, op.horizontal
    if v.before or v.after or h.before or h.after or h.dilation > 1:
        return Refusal("windows are padded or dilated")
    if y.shape[2] > (FEW_PIXELS if op.pointwise else 1):
        return Refusal("it is for rows of one pixel, or two")
    matrix = view.once(_window)
    if matrix is None:
        return NO_CONSTANTS
    if op.pointwise:
        return _packed(matrix, units_of(y.shape, y.shape[3]))
    window = window_params(view)["rows"]
    assert isinstance(window, dict)
    name, instances = matrix.instances()
    name = f"fully_connected8_rows_{name}"
    return Packed(
        name,
        {"rows": window, "line": h.kernel * x.shape[3], "vector": matrix.params()},
        Entry(Call.ROWS, row=f"{name}_row", taps=v.kernel),
        Needs(scratch=VECTOR * matrix.steps),
        Price(density=VECTOR * matrix.steps / matrix.weights.shape[1]),
        instances=instances,
        biases=matrix.biases("vector.constants"),
    )


def _kernel(kind: type[FullyConnected] | type[Conv2D]) -> Kernel:
    pack, header = _fully_connected if kind is FullyConnected else _conv, "fully_connected8_s8"
    return learning(Kernel("fully_connected8", (kind,), INT8, pack, header=header, isa=HELIUM, lanes=OUTPUTS))


KERNELS = (_kernel(FullyConnected), _kernel(Conv2D))

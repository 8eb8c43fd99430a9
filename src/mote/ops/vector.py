"""A matrix times a vector: the weights and constants of `mote_fully_connected4_s8.h`, for fully connected layers and
convolutions of few pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.graph.fixedpoint import Ints, wrap32
from mote.ops.common import pad_to
from mote.plan.kernel import Call, Kernel, Value

DEPTH = 8
"""So many inputs are multiplied at a time."""
WORTH_WIDENING = 8
"""Of fewer outputs inputs need not be widened once for all."""
HEADER = "fully_connected4_s8"


@dataclass(frozen=True)
class Matrix:
    """The weights [outputs, inputs] of a layer, the rows of its `mote_channel_t`, and its output's zero point; results
    are clamped to all of int8."""

    weights: NDArray[np.int8]
    channel: Ints
    zero: int
    once: bool
    """Rounded once, as FULLY_CONNECTED is; or twice, as convolutions are."""

    def kernels(self, vectors: int, *, wide: bool) -> list[Kernel]:
        """For vectors one after another: with inputs that are widened as they are read, and once. None where the
        layer's numbers do not allow it."""
        if not self._fits(wide):
            return []
        channels, inputs = self.weights.shape
        name, params, family = self._name(wide), self._params(wide), _family(wide)
        depth = params["depth"]
        common: dict[str, Any] = {"header": HEADER, "dsp": True}
        assert isinstance(depth, int)
        found = []
        if inputs == depth:
            found.append(Kernel(f"{name}_s8", params, Call.FLAT, vectors, family=family, **common))
        if inputs < depth or channels >= WORTH_WIDENING:
            common |= {"scratch": 2 * depth, "family": f"{family}_roomy"}
            found.append(Kernel(f"{name}_roomy_s8", params, Call.FLAT, vectors, **common))
        return found

    def by_rows(self, window: Value, taps: int, *, wide: bool) -> list[Kernel]:
        """For vectors in as many pieces as a window has rows, each row wherever it lies."""
        if not self._fits(wide):
            return []
        line = self.weights.shape[1] // taps
        pieces = pad_to(self.weights.reshape(-1, taps, line), 2, 4)
        padded = replace(self, weights=pieces.reshape(len(pieces), -1))
        params: dict[str, Value] = {"rows": window, "line": line, "vector": padded._params(wide)}
        depth = pieces[0].size
        name, family = f"{self._name(wide)}_rows_s8", f"{_family(wide)}_roomy"
        more: dict[str, Any] = {"taps": taps, "scratch": 2 * (depth + -depth % DEPTH), "family": family}
        return [Kernel(name, params, Call.ROWS, row=f"{name}_row", header=HEADER, dsp=True, **more)]

    def _fits(self, wide: bool) -> bool:
        to_the_right = self.channel[:, 2].min() >= (1 if self.once else 0)
        return bool(to_the_right) and (wide or pairs_fit(self.weights, self.channel[:, 0]))

    def _name(self, wide: bool) -> str:
        return f"fully_connected4{'_wide' * wide}{'' if self.once else '_twice'}"

    def _params(self, wide: bool) -> dict[str, Value]:
        """`mote_fc4_t`."""
        start, mult, shift = self.channel.T
        channels, inputs = self.weights.shape
        scale = four_scales(mult, shift - 1, 0 if wide else 8) if self.once else four_scales(mult << 1, shift, 0)
        weights = four_outputs(self.weights, start, wide=wide)
        return {
            "inputs": inputs,
            "channels": channels,
            "depth": inputs + -inputs % DEPTH,
            "block": weights.shape[1],
            "zero": 2 * self.zero + 1,
            "step": 8 if len(scale) > 1 else 0,
            "scale": scale.reshape(-1),
            "weights": weights.reshape(-1),
        }


def _family(wide: bool) -> str:
    return "fully_connected4_wide" if wide else "fully_connected4"


def pairs_fit(weights: NDArray[np.int8], start: Ints) -> bool:
    """Whether two outputs' weights fit a half word, w0 + 256 * w1, and their sums a register."""
    matrix = weights.astype(np.int64)
    most = start + np.maximum(127 * matrix, -128 * matrix).sum(axis=1)
    least = start + np.minimum(127 * matrix, -128 * matrix).sum(axis=1)
    largest = int(np.maximum(np.abs(most), np.abs(least)).max())
    return bool(matrix.min() > -128) and 257 * largest < 1 << 31


def four_scales(mult: Ints, shift: Ints, more: int) -> NDArray[np.int32]:
    """Multiplier and shift of four outputs in a row, one row where all are the same. Every other output's sum comes
    shifted left by `more`."""
    fours = [np.pad(a, (0, -len(a) % 4), "edge").reshape(-1, 4) for a in (wrap32(mult), shift)]
    rows = np.stack([fours[0], np.minimum(fours[1] + more * (np.arange(4) % 2), 31)], axis=2).astype(np.int32)
    return rows[:1] if np.all(rows == rows[0]) else rows


def four_outputs(matrix: NDArray[np.int8], start: Ints, *, wide: bool) -> NDArray[np.int32]:
    """Four outputs in a row: where their sums start, then words of two weights of each output, or pair of outputs, in
    turn."""
    starts = pad_to(start, 0, 4).reshape(-1, 4)
    lanes = pad_to(pad_to(matrix.astype(np.int64), 0, 4), 1, DEPTH)
    if not wide:
        starts[:, 1::2] = starts[:, 0::2] + 256 * starts[:, 1::2]
        lanes = lanes[0::2] + 256 * lanes[1::2]
    ordered = lanes.reshape(len(lanes), -1, 4)[:, :, [0, 2, 1, 3]]
    pairs = ordered.reshape(len(starts), len(lanes) // len(starts), -1, 2).transpose(0, 2, 1, 3)
    words = (pairs[..., 0] & 0xFFFF | pairs[..., 1] << 16).reshape(len(starts), -1)
    return np.concatenate([wrap32(starts), words], axis=1).astype(np.int32)

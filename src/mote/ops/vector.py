"""A matrix times a vector: the weights and constants of `mote_fully_connected4_s8.h`, for fully connected layers and
convolutions of few pixels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mote.graph.fixedpoint import Ints, wrap32
from mote.ops.common import pad_to
from mote.ops.narrow import Sums, widest
from mote.plan.kernel import Call, Kernel, Value

DEPTH = 8
"""So many inputs are multiplied at a time."""
WORTH_WIDENING = 8
"""Of fewer outputs inputs need not be widened once for all."""


@dataclass(frozen=True)
class Packed:
    """What the kernels of a layer have in common: the beginning of their names, their family and `mote_fc4_t`."""

    name: str
    family: str
    params: dict[str, Value]
    instances: tuple[str, ...] = ()

    def kernel(self, what: str, params: dict[str, Value], call: Call, family: str, **more: Any) -> Kernel:
        common: dict[str, Any] = {"header": "fully_connected4_s8", "instances": self.instances, "dsp": True}
        return Kernel(f"{self.name}{what}_s8", params, call, family=f"{self.family}{family}", **common, **more)


@dataclass(frozen=True)
class Matrix:
    """The weights [outputs, inputs] of a layer, the rows of its `mote_channel_t`, and its sums; results are clamped to
    all of int8."""

    weights: NDArray[np.int8]
    channel: Ints
    sums: Sums

    def kernels(self, vectors: int, *, wide: bool) -> list[Kernel]:
        """For vectors one after another: with inputs that are widened as they are read, and once. None where the
        layer's numbers do not allow it."""
        packed = self._wide() if wide else self._pairs()
        if packed is None:
            return []
        channels, inputs = self.weights.shape
        found = []
        if inputs == self.depth:
            found.append(packed.kernel("", packed.params, Call.FLAT, "", units=vectors))
        if inputs < self.depth or channels >= WORTH_WIDENING:
            room = 2 * self.depth
            found.append(packed.kernel("_roomy", packed.params, Call.FLAT, "_roomy", units=vectors, scratch=room))
        return found

    def by_rows(self, window: Value, taps: int, *, wide: bool) -> list[Kernel]:
        """For vectors in as many pieces as a window has rows, each row wherever it lies."""
        line = self.weights.shape[1] // taps
        pieces = pad_to(self.weights.reshape(-1, taps, line), 2, 4)
        padded = replace(self, weights=pieces.reshape(len(pieces), -1))
        packed = padded._wide() if wide else padded._pairs()
        if packed is None:
            return []
        params: dict[str, Value] = {"rows": window, "line": line, "vector": packed.params}
        row, room = f"{packed.name}_rows_s8_row", 2 * padded.depth
        return [packed.kernel("_rows", params, Call.ROWS, "_roomy", row=row, taps=taps, scratch=room)]

    @property
    def depth(self) -> int:
        """The inputs, padded."""
        inputs = int(self.weights.shape[1])
        return inputs + -inputs % DEPTH

    def _pairs(self) -> Packed | None:
        start, mult, shift = self.channel.T
        once, largest = self.sums.once, int(np.maximum(-self.sums.low, self.sums.high).max())
        if shift.min() < (1 if once else 0) or not pairs_fit(self.weights, largest):
            return None
        name, family = "fully_connected4" if once else "fully_connected4_twice", "fully_connected4"
        scale = four_scales(mult, shift - 1, 8) if once else four_scales(mult << 1, shift, 0)
        words = four_outputs(self.weights.astype(np.int64), start, wide=False)
        return Packed(name, family, self._params(scale, words))

    def _wide(self) -> Packed | None:
        matrix = self.weights.astype(np.int64)
        found = widest(self.sums, matrix)
        if found is None:
            return None
        form, shift = "linear" if self.sums.linear else "relu", found.shift
        constants = pad_to(found.constants(self.sums.linear), 0, 4)
        words = four_outputs(found.scaled(matrix), found.biases(self.channel[:, 0]), wide=True)
        words = np.concatenate([words, constants.reshape(len(words), -1)], axis=1)
        name, instance = f"fully_connected4_{form}_{shift}", f"MOTE_FULLY_CONNECTED4({form}, {shift})"
        return Packed(name, "fully_connected4_wide", self._params(None, words), (instance,))

    def _params(self, scale: NDArray[np.int32] | None, words: Ints) -> dict[str, Value]:
        """`mote_fc4_t`."""
        return {
            "inputs": self.weights.shape[1],
            "channels": self.weights.shape[0],
            "depth": self.depth,
            "block": words.shape[1],
            "zero": 2 * self.sums.zero + 1,
            "step": 8 if scale is not None and len(scale) > 1 else 0,
            "scale": 0 if scale is None else scale.reshape(-1),
            "weights": wrap32(words).astype(np.int32).reshape(-1),
        }


def pairs_fit(weights: NDArray[np.int8], largest: int) -> bool:
    """Whether two outputs' weights fit a half word, w0 + 256 * w1, and sums no larger than that, two to a register."""
    return bool(weights.min() > -128) and 257 * largest < 1 << 31


def four_scales(mult: Ints, shift: Ints, more: int) -> NDArray[np.int32]:
    """Multiplier and shift of four outputs in a row, one row where all are the same. Every other output's sum comes
    shifted left by `more`."""
    fours = [np.pad(a, (0, -len(a) % 4), "edge").reshape(-1, 4) for a in (wrap32(mult), shift)]
    rows = np.stack([fours[0], np.minimum(fours[1] + more * (np.arange(4) % 2), 31)], axis=2).astype(np.int32)
    return rows[:1] if np.all(rows == rows[0]) else rows


def four_outputs(matrix: Ints, start: Ints, *, wide: bool) -> Ints:
    """Four outputs in a row: where their sums start, then words of two weights of each output, or pair of outputs, in
    turn."""
    starts = pad_to(start, 0, 4).reshape(-1, 4)
    lanes = pad_to(pad_to(matrix, 0, 4), 1, DEPTH)
    if not wide:
        starts[:, 1::2] = starts[:, 0::2] + 256 * starts[:, 1::2]
        lanes = lanes[0::2] + 256 * lanes[1::2]
    ordered = lanes.reshape(len(lanes), -1, 4)[:, :, [0, 2, 1, 3]]
    pairs = ordered.reshape(len(starts), len(lanes) // len(starts), -1, 2).transpose(0, 2, 1, 3)
    words = (pairs[..., 0] & 0xFFFF | pairs[..., 1] << 16).reshape(len(starts), -1)
    return np.concatenate([starts, words], axis=1)

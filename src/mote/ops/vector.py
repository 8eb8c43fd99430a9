"""A matrix times a vector: the weights and constants of `mote_fully_connected4_s8.h`, for fully connected layers and
convolutions of few pixels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mote.graph.fixedpoint import Ints, wrap32
from mote.ops.common import pad_to
from mote.ops.narrow import Sums, widest
from mote.ops.sparse import without_zeros
from mote.plan.kernel import Call, Kernel, Value

DEPTH = 8
"""So many inputs are multiplied at a time."""
WORTH_WIDENING = 8
"""Of fewer outputs inputs need not be widened once for all."""
BLOCKS = (8, 4)
"""Inputs that are left out together where all of their weights for four outputs are zero."""


class Form(NamedTuple):
    """`mote_fc4_t` for widened inputs: the end of its kernels' names and families, and the share of weights in it."""

    end: str
    params: dict[str, Value]
    density: float = 1.0


@dataclass(frozen=True)
class Packed:
    """What the kernels of a layer have in common: the beginning of their names and their family. The first form has
    all weights, others none of blocks of zeros."""

    name: str
    family: str
    forms: list[Form]
    instances: tuple[str, ...] = ()

    def kernel(self, what: str, params: dict[str, Value], call: Call, family: str, **more: Any) -> Kernel:
        common: dict[str, Any] = {"header": "fully_connected4_s8", "instances": self.instances, "lanes": 4, "dsp": True}
        return Kernel(f"{self.name}{what}_s8", params, call, family=f"{self.family}{family}", **common, **more)


@dataclass(frozen=True)
class Matrix:
    """The weights [outputs, inputs] of a layer, the rows of its `mote_channel_t`, and its sums; results are clamped to
    all of int8."""

    weights: NDArray[np.int8]
    channel: Ints
    sums: Sums

    def kernels(self, vectors: int, *, wide: bool) -> list[Kernel]:
        """For vectors one after another: with inputs that are widened as they are read, and once; without blocks of
        zeros where there are many. None where the layer's numbers do not allow it."""
        packed = self._wide() if wide else self._pairs()
        if packed is None:
            return []
        (channels, inputs), found = self.weights.shape, []
        if inputs == self.depth:
            found.append(packed.kernel("", packed.forms[0].params, Call.FLAT, "", units=vectors))
        widened = packed.forms if inputs < self.depth or channels >= WORTH_WIDENING else packed.forms[1:]
        for end, params, density in widened:
            more: dict[str, Any] = {"units": vectors, "scratch": 2 * self.depth, "density": density}
            found.append(packed.kernel(end, params, Call.FLAT, end, **more))
        return found

    def by_rows(self, window: Value, taps: int, *, wide: bool) -> list[Kernel]:
        """For vectors in as many pieces as a window has rows, each row wherever it lies."""
        line = self.weights.shape[1] // taps
        pieces = pad_to(self.weights.reshape(-1, taps, line), 2, 4)
        padded = replace(self, weights=pieces.reshape(len(pieces), -1))
        packed = padded._wide() if wide else padded._pairs()
        if packed is None:
            return []
        found = []
        for end, vector, density in packed.forms:
            params: dict[str, Value] = {"rows": window, "line": line, "vector": vector}
            more: dict[str, Any] = {"taps": taps, "scratch": 2 * padded.depth, "density": density}
            more |= {"row": f"{packed.name}{end}_rows_s8_row"}
            found.append(packed.kernel(f"{end}_rows", params, Call.ROWS, end, **more))
        return found

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
        return Packed(name, family, self._forms(scale, words, words[:, :0]))

    def _wide(self) -> Packed | None:
        matrix = self.weights.astype(np.int64)
        found = widest(self.sums, matrix)
        if found is None:
            return None
        form, shift = "linear" if self.sums.linear else "relu", found.shift
        words = four_outputs(found.scaled(matrix), found.biases(self.channel[:, 0]), wide=True)
        constants = pad_to(found.constants(self.sums.linear), 0, 4).reshape(len(words), -1)
        name, instance = f"fully_connected4_{form}_{shift}", f"MOTE_FULLY_CONNECTED4({form}, {shift})"
        return Packed(name, "fully_connected4_wide", self._forms(None, words, constants), (instance,))

    def _forms(self, scale: NDArray[np.int32] | None, words: Ints, constants: Ints) -> list[Form]:
        """Of what `four_outputs` gives, and constants of four outputs in a row."""
        starts, weights = words[:, :4], words[:, 4:]
        found = [Form("_roomy", self._params(scale, zip(starts, weights, constants, strict=True)))]
        for block in BLOCKS:
            left = without_zeros(weights.reshape(len(words), self.depth // block, -1), 2 * block, 0)
            if left is not None:
                params = self._params(scale, zip(starts, left.rows, constants, strict=True))
                found.append(Form(f"_sparse{block}", params, left.density))
        return found

    def _params(self, scale: NDArray[np.int32] | None, parts: Iterable[tuple[Ints, ...]]) -> dict[str, Value]:
        """`mote_fc4_t`; `parts` of all that four outputs have."""
        fours = [np.concatenate(four) for four in parts]
        return {
            "inputs": self.weights.shape[1],
            "channels": self.weights.shape[0],
            "depth": self.depth,
            "rest": sum(map(len, fours[: len(self.weights) // 4])),
            "zero": 2 * self.sums.zero + 1,
            "step": 8 if scale is not None and len(scale) > 1 else 0,
            "scale": 0 if scale is None else scale.reshape(-1),
            "weights": wrap32(np.concatenate(fours)).astype(np.int32),
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

"""Stateful Signal operators of TFLite Micro's audio front end: framer, delay, overlap-add, stacker, noise estimate of
spectral subtraction.

TFLite Micro keeps their memory inside of the operator; here it is a state of the graph. Outputs that TFLite Micro
leaves unwritten (not enough samples yet) are zeros, or the previous output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType
from mote.ir.ops.signal.audio_stateless import MicroOp

COUNTERS = 3


def typed(g: Graph, op: Op, *dtypes: DType) -> str | None:
    """Why the types of an operator's first input and output are not supported (both one of `dtypes`), or None."""
    x, y = op.input(g), op.output(g)
    if x.dtype in dtypes and y.dtype == x.dtype:
        return None
    return f"{x.dtype} input with {y.dtype} output is not supported (only {', '.join(dtypes)})"


class FrameCount(MicroOp):
    """Counts hops of a signal for SignalFramer: `more` per inference, up to `most`. Input and output: the counter's
    state."""

    more: int
    most: int
    kind = "SignalFramer count"

    @property
    def updates(self) -> dict[int, int]:
        return {0: 0}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1,)]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (hops,) = values
        assert hops is not None
        return [np.minimum(np.maximum(hops, 0) + self.more, self.most).astype(hops.dtype)]


class Framer(MicroOp):
    """SignalFramer: splits a streamed signal into overlapping frames. Inputs: the signal [.., samples]; the state: the
    last `kept` samples of each signal (at least one); the hop count including this inference. Outputs: frames [..,
    frames, size]; the state. A frame begins with the `kept` samples before its hop. The first `missing` hops give
    zeros."""

    size: int
    step: int
    kept: int
    missing: int
    kind = "SignalFramer"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        *outer, samples = self.input(g).shape
        return [(*outer, samples // self.step, self.size), self.input(g, 1).shape]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, DType.INT16)

    def frames(self, g: Graph) -> int:
        return self.input(g).shape[-1] // self.step

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, kept, hops = values
        assert x is not None and kept is not None and hops is not None
        lines = np.concatenate([kept[:, : self.kept], x.reshape(len(kept), -1)], axis=1)
        frames = np.zeros((len(kept), self.frames(g), self.size), x.dtype)
        for i in np.flatnonzero(self._done(g, hops)):
            frames[:, i] = lines[:, i * self.step : i * self.step + self.size]
        after = kept.copy()
        after[:, : self.kept] = lines[:, lines.shape[1] - self.kept :]
        return [frames, after]

    def _done(self, g: Graph, hops: Array) -> NDArray[np.bool_]:
        """Mask of the frames of this inference that are complete."""
        frames = self.frames(g)
        return np.asarray(hops[0] - frames + np.arange(frames, dtype=np.int64) >= self.missing)

    def unwritten(self, g: Graph, values: Mapping[int, Array]) -> NDArray[np.bool_] | None:
        return np.broadcast_to(~self._done(g, values[self.inputs[2]])[:, None], self.output(g).shape)


class Ready(MicroOp):
    """SignalReady: whether element `at` of a state is at least `least`; the second output of SignalFramer and
    SignalStacker."""

    at: int
    least: int
    kind = "SignalReady"

    def shapes(self, g: Graph) -> list[Shape]:
        return [()]

    def unsupported(self, g: Graph) -> str | None:
        y = self.output(g)
        return None if y.dtype == DType.BOOL else f"{y.dtype} output is not supported (only bool)"

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (counters,) = values
        assert counters is not None
        return [np.array(counters.reshape(-1)[self.at] >= self.least)]


class Delay(MicroOp):
    """SignalDelay: delays signals. Inputs: signals [.., samples], and the state: the delayed samples of each signal."""

    kind = "SignalDelay"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape, self.input(g, 1).shape]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, DType.INT16)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, kept = values
        assert x is not None and kept is not None
        lines = np.concatenate([kept, x.reshape(len(kept), -1)], axis=1)
        size = x.shape[-1]
        return [lines[:, :size].reshape(x.shape), lines[:, size:]]


class OverlapAdd(MicroOp):
    """SignalOverlapAdd: sums frames where they overlap, saturated to int16. Inputs: frames [.., frames, size], and the
    state: the partial sums after the last step of each signal."""

    step: int
    kind = "SignalOverlapAdd"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        *outer, frames, _ = self.input(g).shape
        return [(*outer, frames * self.step), self.input(g, 1).shape]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, DType.INT16, DType.FLOAT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, kept = values
        assert x is not None and kept is not None
        *_, frames, size = x.shape
        lines = x.reshape(len(kept), frames, size)
        output = np.zeros((len(kept), frames, self.step), x.dtype)
        sums = kept
        for i in range(frames):
            sums = np.concatenate([sums, np.zeros((len(kept), self.step), x.dtype)], axis=1)
            if x.dtype == np.int16:
                sums = np.clip(sums.astype(np.int32) + lines[:, i], -32768, 32767).astype(np.int16)
            else:
                sums = sums + lines[:, i]
            output[:, i], sums = sums[:, : self.step], sums[:, self.step :]
        return [output.reshape(self.output(g).shape), sums]

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)


class StackCount(MicroOp):
    """Updates the counters of SignalStacker, its state: number of waiting frames; age of the last stack (`step` when it
    is completed, one less per frame, 0 if there was none); and progress: 0 no frame yet, 1 the first frame, 2 later
    frames. A stack has `frames` frames, and the first frame counts as `left` more."""

    left: int
    frames: int
    step: int
    kind = "SignalStacker count"

    @property
    def updates(self) -> dict[int, int]:
        return {0: 0}

    def shapes(self, g: Graph) -> list[Shape]:
        return [(COUNTERS,)]

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        (counters,) = values
        assert counters is not None
        waiting, age, progress = (int(n) for n in counters)
        waiting = waiting + 1 if progress else self.left + 1
        age = max(age - 1, 0)
        if waiting >= self.frames:
            waiting, age = waiting - self.step, self.step
        return [np.array([waiting, age, 2 if progress else 1], counters.dtype)]


class Stacker(MicroOp):
    """SignalStacker: concatenates the last `left` + 1 + `right` frames, every `step` frames. Inputs: a frame; the
    state: the kept frames; the counters after counting this frame. Outputs: the stack, and the state. Between stacks
    the output is the last stack."""

    left: int
    right: int
    step: int
    kind = "SignalStacker"

    @property
    def updates(self) -> dict[int, int]:
        return {1: 1}

    @property
    def frames(self) -> int:
        return self.left + 1 + self.right

    @property
    def kept(self) -> int:
        """Number of frames in the state: the last stack, and frames since then."""
        return self.frames + self.step - 1

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.frames * self.input(g).size,), self.input(g, 1).shape]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, DType.INT16)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, kept, counters = values
        assert x is not None and kept is not None and counters is not None
        _, age, progress = (int(n) for n in counters)
        lines = np.concatenate([kept[1:], x.reshape(1, -1)])
        if progress == 1:
            lines[-1 - self.left :] = x
        end = len(lines) - (self.step - age)
        stack = lines[end - self.frames : end] if age else np.zeros((self.frames, x.size), x.dtype)
        return [stack.reshape(-1), lines]

    def unwritten(self, g: Graph, values: Mapping[int, Array]) -> NDArray[np.bool_] | None:
        return np.full(self.output(g).shape, values[self.inputs[2]][1] == 0)


class NoiseEstimate(MicroOp):
    """Noise estimate per channel, smoothed over time: the second output of SignalFilterBankSpectralSubtraction. Inputs:
    channels, the previous estimate. Even and odd channels have different weights."""

    shares: tuple[int, int]
    """Weights of the new value, for even and odd channels."""
    rests: tuple[int, int]
    """Weights of the previous estimate, for even and odd channels."""
    smoothing_bits: int
    bits: int
    clamping: bool
    kind = "SignalFilterBankSpectralSubtraction noise"

    @property
    def updates(self) -> dict[int, int]:
        return {0: 1}

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, DType.UINT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, before = values
        assert x is not None and before is not None
        signal = x << np.uint32(self.smoothing_bits)
        odd = np.arange(x.size, dtype=np.int64) & 1
        weights, rests = (
            np.array(w, np.int64).astype(np.uint32).astype(np.uint64)[odd] for w in (self.shares, self.rests)
        )
        with np.errstate(over="ignore"):
            mixed = signal.astype(np.uint64) * weights + before.astype(np.uint64) * rests
        estimate = (mixed >> np.uint64(self.bits)).astype(np.uint32)
        return [np.minimum(estimate, signal) if self.clamping else estimate]


class SpectralSubtraction(MicroOp):
    """Subtracts the noise estimate from channels, keeping a minimum share: the first output of
    SignalFilterBankSpectralSubtraction. Inputs: channels, the noise estimate."""

    least: int
    smoothing_bits: int
    bits: int
    kind = "SignalFilterBankSpectralSubtraction"

    def shapes(self, g: Graph) -> list[Shape]:
        return [self.input(g).shape]

    def unsupported(self, g: Graph) -> str | None:
        return typed(g, self, DType.UINT32)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, noise = values
        assert x is not None and noise is not None
        signal = x << np.uint32(self.smoothing_bits)
        left = (signal - np.minimum(noise, signal)) >> np.uint32(self.smoothing_bits)
        with np.errstate(over="ignore"):
            floor = (x.astype(np.uint64) * np.uint64(self.least & 0xFFFFFFFF)) >> np.uint64(self.bits)
        return [np.maximum(left, floor.astype(np.uint32))]

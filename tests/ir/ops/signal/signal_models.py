"""Models of Signal operators, and their comparison with TFLite Micro."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.tolerance import compare
from tests.helpers.flex import options
from tests.helpers.support import tflite_micro

needs_micro = pytest.mark.skipif(bool(reference.micro_missing()), reason=reference.micro_missing())
TYPES = {"int16": 7, "int32": 2, "float32": 0}


class Front:
    """A model of Signal operators as it grows."""

    def __init__(self) -> None:
        self.writer, self.count = Writer("front"), 0

    def finish(self) -> bytes:
        return self.writer.finish()

    def input(self, shape: Shape, dtype: str = "int16") -> int:
        self.count += 1
        return self.writer.input(f"x{self.count}", shape, dtype)

    def op(self, name: str, inputs: Sequence[int], results: Sequence[tuple[Shape, str]], **values: Any) -> list[int]:
        """All results are outputs of the model as well."""
        self.count += 1
        outputs = [self.writer.tensor(f"{name}{self.count}_{k}", *result) for k, result in enumerate(results)]
        self.writer.op("CUSTOM", inputs, outputs, custom_code=name, custom_options=options(**values))
        self.writer.output(*outputs)
        return outputs

    def const(self, values: Array) -> int:
        return self.writer.const("constant", values)

    def window(self, x: int, shape: Shape, window: Array, shift: int = 12) -> int:
        return self.op("SignalWindow", [x, self.const(window)], [(shape, "int16")], shift=shift)[0]

    def rfft(self, x: int, outer: Shape, length: int, dtype: str = "int16") -> int:
        values = {"T": TYPES[dtype], "fft_length": length}
        return self.op("SignalRfft", [x], [((*outer, length + 2), dtype)], **values)[0]

    def irfft(self, x: int, outer: Shape, length: int, dtype: str = "int16") -> int:
        values = {"T": TYPES[dtype], "fft_length": length}
        return self.op("SignalIrfft", [x], [((*outer, length), dtype)], **values)[0]

    def auto_scale(self, x: int, size: int) -> list[int]:
        return self.op("SignalFftAutoScale", [x], [((size,), "int16"), ((), "int32")])

    def energy(self, x: int, bins: int, start: int = 0, end: int | None = None) -> int:
        end = bins if end is None else end
        return self.op("SignalEnergy", [x], [((bins,), "uint32")], start_index=start, end_index=end)[0]

    def filter_bank(self, x: int, widths: Sequence[int], seed: int = 0) -> int:
        rng = np.random.default_rng(seed)
        starts = np.concatenate([[0], np.cumsum(widths)[:-1]]).astype(np.int16)
        weights = rng.integers(-(1 << 15) if seed % 2 else 0, 1 << 15, sum(widths)).astype(np.int16)
        rests = rng.integers(0, 1 << 15, sum(widths)).astype(np.int16)
        constants = [self.const(v) for v in (weights, rests, starts, starts, np.array(widths, np.int16))]
        channels = len(widths) - 1
        return self.op("SignalFilterBank", [x, *constants], [((channels,), "uint64")], num_channels=channels)[0]

    def square_root(self, x: int, bits: int, channels: int) -> int:
        return self.op("SignalFilterBankSquareRoot", [x, bits], [((channels,), "uint32")])[0]

    def subtraction(self, x: int, channels: int, **changes: Any) -> list[int]:
        usual = {
            "alternate_one_minus_smoothing": 15402,
            "alternate_smoothing": 982,
            "clamping": False,
            "min_signal_remaining": 819,
            "num_channels": channels,
            "one_minus_smoothing": 15975,
            "smoothing": 409,
            "smoothing_bits": 10,
            "spectral_subtraction_bits": 14,
        }
        results = [((channels,), "uint32")] * 2
        return self.op("SignalFilterBankSpectralSubtraction", [x], results, **{**usual, **changes})

    def pcan(self, x: int, noise: int, channels: int, shift: int = 6, seed: int = 0) -> int:
        table = np.random.default_rng(seed).integers(-(1 << 15), 1 << 15, 125).astype(np.int16)
        return self.op("SignalPCAN", [x, noise, self.const(table)], [((channels,), "uint32")], snr_shift=shift)[0]

    def log(self, x: int, channels: int, scale: int = 1600, bits: int = 3) -> int:
        values = {"input_correction_bits": bits, "output_scale": scale}
        return self.op("SignalFilterBankLog", [x], [((channels,), "int16")], **values)[0]

    def framer(self, x: int, shape: Shape, size: int, step: int, prefill: bool) -> int:
        results = [((*shape[:-1], shape[-1] // step, size), "int16"), ((), "bool")]
        return self.op("SignalFramer", [x], results, frame_size=size, frame_step=step, prefill=prefill)[0]

    def delay(self, x: int, shape: Shape, length: int) -> int:
        return self.op("SignalDelay", [x], [(shape, "int16")], delay_length=length)[0]

    def overlap_add(self, x: int, shape: Shape, step: int, dtype: str = "int16") -> int:
        result = ((*shape[:-2], shape[-2] * step), dtype)
        return self.op("SignalOverlapAdd", [x], [result], T=TYPES[dtype], frame_step=step)[0]

    def stacker(self, x: int, channels: int, left: int, right: int, step: int) -> int:
        results = [((channels * (left + right + 1),), "int16"), ((), "bool")]
        context = {"stacker_left_context": left, "stacker_right_context": right}
        return self.op("SignalStacker", [x], results, num_channels=channels, **context, stacker_step=step)[0]


def over_time(data: bytes, steps: int = 12, seed: int = 0, small: bool = False) -> None:
    """NumPy against TFLite Micro, step after step; `small`: with weak signals."""
    g = tflite.parse(data, "model")
    with tflite_micro():
        theirs, ours, sizes = reference.micro(data, g), reference.numpy(g), reference.magnitudes(g)
        for case in stimuli(g, steps, seed):
            case = {t: _weak(v, seed) if small else v for t, v in case.items()}
            want, got, size = theirs(case), ours(case), sizes(case)
            assert want is not None and got is not None
            for op in g.ops:
                for t in op.outputs:
                    if not g.tensors[t].inner:
                        value = want[t].reshape(got[t].shape)
                        diff, bad = compare(got[t], value, size.get(t, 0.0))
                        assert not bad, f"{op.kind}: {bad} differ, by {diff}: {got[t]} is not {value}"


def _weak(values: Array, seed: int) -> Array:
    if values.dtype == np.float32:
        return values
    return np.asarray(values >> np.asarray(seed % (8 * values.dtype.itemsize)).astype(values.dtype))


def everything(*, alone: bool = True) -> bytes:
    """A front end as TFLite Micro's, and each operator alone, with odd numbers."""
    front = Front()
    x = front.input((1, 40))
    frames = front.framer(x, (1, 40), 60, 20, prefill=False)
    windowed = front.window(frames, (1, 2, 60), np.arange(60, dtype=np.int16) * 70)
    line = front.writer.tensor("line", (120,), "int16")
    front.writer.op("RESHAPE", [windowed, front.const(np.array([120], np.int32))], [line], new_shape=[120])
    scaled, bits = front.auto_scale(line, 120)
    energy = front.energy(front.rfft(scaled, (), 128), 65, 2, 60)
    roots = front.square_root(front.filter_bank(energy, [4, 6, 5, 7, 8, 9, 12]), bits, 6)
    clean, noise = front.subtraction(roots, 6)
    logs = front.log(front.pcan(clean, noise, 6), 6)
    front.stacker(logs, 6, 2, 1, 2)
    if not alone:
        return front.finish()
    for dtype, length in (("int16", 30), ("int32", 64), ("int32", 20), ("float32", 24), ("float32", 16)):
        y = front.input((2, length - 3), dtype)
        front.irfft(front.rfft(y, (2,), length, dtype), (2,), length, dtype)
    front.delay(x, (1, 40), 7)
    front.framer(x, (1, 40), 10, 5, prefill=True)
    front.overlap_add(front.input((2, 3, 8)), (2, 3, 8), 3)
    front.overlap_add(front.input((2, 8), "float32"), (2, 8), 5, "float32")
    front.square_root(front.input((5,), "uint64"), front.input((), "int32"), 5)
    wide = front.input((5,), "uint32")
    front.log(wide, 5, 1 << 16, 0)
    front.subtraction(wide, 5, clamping=True)
    return front.finish()


def single(name: str, x: Shape, results: Sequence[tuple[Shape, str]], dtype: str = "int16", **values: Any) -> bytes:
    """One operator of this name with an input of the shape `x`; `values`: its options."""
    front = Front()
    front.op(name, [front.input(x, dtype)], results, **values)
    return front.finish()

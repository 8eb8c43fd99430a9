"""The Signal operators against TFLite Micro, tensor by tensor, over many steps: it is the one that knows them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError, UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.bench.execute.stimuli import stimuli
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.limits import TooLargeError
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.tolerance import compare
from mote.ir.ops.signal.audio_stateless import square_roots
from mote.ir.ops.signal.fft import factors
from tests.helpers.flex import options
from tests.helpers.support import emulated, examples, tflite_micro

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


@needs_micro
@settings(max_examples=examples(24), deadline=None)
@given(
    st.sampled_from([n for n in range(4, 200, 2) if factors(n // 2)]),
    st.sampled_from(["int16", "int32", "float32"]),
    st.sampled_from([(), (1,), (3,), (2, 2)]),
    st.integers(0, 100),
)
def test_transforms(length: int, dtype: str, outer: Shape, short: int) -> None:
    front = Front()
    x = front.input((*outer, max(1, length - short)), dtype)
    front.irfft(front.rfft(x, outer, length, dtype), outer, length, dtype)
    front.irfft(front.input((*outer, length + 2), dtype), outer, length, dtype)
    over_time(front.finish(), 7, short, small=short % 2 == 0)


@needs_micro
@settings(max_examples=examples(18), deadline=None)
@given(st.integers(1, 20), st.integers(1, 3), st.integers(0, 31), st.integers(0, 100))
def test_samples(size: int, vectors: int, shift: int, seed: int) -> None:
    front, rng = Front(), np.random.default_rng(seed)
    windows = rng.integers(-(1 << 15), 1 << 15, size).astype(np.int16)
    front.window(front.input((vectors, size)), (vectors, size), windows, shift)
    scaled, _ = front.auto_scale(front.input((2 * size,)), 2 * size)
    front.energy(scaled, size, int(rng.integers(0, size + 1)) if seed % 2 else 0)
    over_time(front.finish(), 9, seed, small=True)


@needs_micro
@pytest.mark.parametrize("values", [[-32768, 5], [-32768, -5], [-32768, -5, 3, -9], [7, -32768], [0, 0], [-32768] * 2])
def test_the_lowest_sample(values: list[int]) -> None:
    """Its absolute value has no 16 bits, and what TFLite Micro makes of it depends on what comes after it."""
    front = Front()
    x = front.input((len(values),))
    front.auto_scale(x, len(values))
    data = front.finish()
    g = tflite.parse(data, "model")
    case = {x: np.array(values, np.int16)}
    with tflite_micro():
        want, got = reference.micro(data, g)(case), g.evaluate(case)
        assert want is not None and all(np.array_equal(want[t].reshape(got[t].shape), got[t]) for t in g.outputs)


@needs_micro
@settings(max_examples=examples(18), deadline=None)
@given(st.lists(st.integers(0, 9), min_size=2, max_size=9), st.integers(0, 31), st.integers(0, 200))
def test_channels(widths: list[int], shift: int, seed: int) -> None:
    front, rng, n = Front(), np.random.default_rng(seed), len(widths) - 1
    widths = [*widths[:-1], widths[-1] + 1]
    front.filter_bank(front.input((sum(widths),), "uint32"), widths, seed)
    wide = front.input((n,), "uint64")
    front.square_root(wide, front.input((), "int32") if seed % 3 else front.const(np.int32(shift)), n)
    x = front.input((n,), "uint32")
    changes = {"clamping": bool(seed % 2), "smoothing_bits": int(rng.integers(0, 20))}
    if seed % 5 == 0:
        changes |= {"smoothing": -1, "one_minus_smoothing": (1 << 31) - 1, "spectral_subtraction_bits": shift}
    clean, noise = front.subtraction(x, n, **changes)
    gained = front.pcan(clean, noise, n, shift, seed)
    front.log(gained, n, int(rng.integers(0, 1 << 16)), int(rng.integers(0, 20)))
    front.log(x, n, int(rng.choice([1, 1600, -5, 1 << 30])), shift)
    over_time(front.finish(), 10, seed, small=bool(seed % 4))


@needs_micro
@settings(max_examples=examples(24), deadline=None)
@given(
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 3),
    st.sampled_from([(), (1,), (2,), (2, 3)]),
    st.integers(0, 99),
)
def test_frames(size: int, step: int, frames: int, outer: Shape, seed: int) -> None:
    front, rng = Front(), np.random.default_rng(seed)
    shape = (*outer, frames * step)
    x = front.input(shape)
    front.framer(x, shape, size, step, prefill=size >= step and seed % 2 == 0)
    front.delay(x, shape, int(rng.integers(0, 20)))
    for dtype in ("int16", "float32"):
        whole = (*outer, frames, size)
        front.overlap_add(front.input(whole, dtype), whole, min(step, size), dtype)
    left, right = (int(n) for n in rng.integers(0, 4, 2))
    front.stacker(front.input((size,)), size, left, right, int(rng.integers(1, left + right + 2)))
    over_time(front.finish(), 14, seed)


def test_square_roots() -> None:
    squares = [n * n + k for n in (3, 0xFFFE, 1 << 20, (1 << 32) - 2) for k in (-1, 0, n, n + 1, 2 * n)]
    for n in (*range(70), 0xFFFFFFFF, 0xFFFE0001, 1 << 32, (1 << 32) + (1 << 17), (1 << 64) - 1, *squares):
        root = math.isqrt(n)
        exact = min(root + (n - root * root > root), 0xFFFFFFFF)
        assert square_roots(np.array([n], np.uint64)) == (0xFFFF if 0xFFFF0000 < n < 1 << 32 else exact)


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


@needs_micro
def test_c() -> None:
    data = everything()
    over_time(data, 5)
    with tflite_micro():
        result = verify(compile(data), 5, sanitize=True)
        assert result.passed and result.reference == "TFLite Micro", result.mismatches


@pytest.mark.slow
@needs_micro
@pytest.mark.parametrize("alone", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_on_a_core(alone: bool) -> None:
    with tflite_micro():
        result = verify(compile(everything(alone=alone), target=emulated("cortex-m4")), 4)
        assert result.passed, result.mismatches


def test_without_tflite_micro(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mote's own reference takes its place, and the result says so."""
    front = Front()
    front.delay(front.input((4,)), (4,), 3)
    for there in (False, True):
        monkeypatch.setattr(reference, "require", missing)
        monkeypatch.setattr(reference, "installed", lambda package, there=there: there)
        reference.micro_missing.cache_clear()
        result = verify(compile(front.finish()), 3)
        why = "cannot be loaded" if there else "is not installed"
        assert result.passed and result.reference == f"numpy (TFLite Micro {why})"
    reference.micro_missing.cache_clear()


def missing(package: str, **_: Any) -> None:
    raise MoteError(f"needs {package}")


@needs_micro
def test_with_an_operator_that_tflite_micro_lacks() -> None:
    front = Front()
    delayed = front.delay(front.input((4,)), (4,), 3)
    twice = front.writer.tensor("twice", (8,), "int16")
    front.writer.op("TILE", [delayed, front.const(np.array([2], np.int32))], [twice])
    front.writer.output(twice)
    result = verify(compile(front.finish()), 3)
    assert result.passed and result.reference == "numpy (TFLite Micro does not run the model)"


def _bad(name: str, x: Shape, results: Sequence[tuple[Shape, str]], dtype: str = "int16", **values: Any) -> bytes:
    front = Front()
    front.op(name, [front.input(x, dtype)], results, **values)
    return front.finish()


STACK: Mapping[str, int] = {"stacker_left_context": 1, "stacker_right_context": 1, "stacker_step": 1, "num_channels": 4}


@pytest.mark.parametrize(
    "data",
    [
        _bad("SignalRfft", (14,), [((16,), "int16")], T=7, fft_length=14),
        _bad("SignalRfft", (2,), [((4,), "int16")], T=7, fft_length=2),
        _bad("SignalRfft", (8,), [((10,), "int16")], T=2, fft_length=8),
        _bad("SignalRfft", (9,), [((10,), "int16")], T=7, fft_length=8),
        _bad("SignalRfft", (8,), [((10,), "int8")], T=7, fft_length=8),
        _bad("SignalRfft", (8,), [((10,), "uint8")], "uint8", fft_length=8),
        _bad("SignalIrfft", (8,), [((8,), "int16")], T=7, fft_length=8),
        _bad("SignalEnergy", (8,), [((4,), "uint32")], start_index=0, end_index=5),
        _bad("SignalEnergy", (8,), [((4,), "int32")], start_index=0, end_index=4),
        _bad("SignalEnergy", (8,), [((4,), "uint32")], start_index=-1, end_index=4),
        _bad("SignalFramer", (8,), [((3, 4), "int16"), ((), "bool")], frame_size=4, frame_step=3, prefill=True),
        _bad("SignalFramer", (8,), [((2, 3), "int16"), ((), "bool")], frame_size=3, frame_step=4, prefill=True),
        _bad("SignalFramer", (8,), [((2, 4), "int16"), ((1,), "bool")], frame_size=4, frame_step=4, prefill=True),
        _bad("SignalFramer", (8,), [((2, 4), "int16"), ((), "int8")], frame_size=4, frame_step=4, prefill=True),
        _bad("SignalFramer", (8,), [((2, 4), "int16")], frame_size=4, frame_step=4, prefill=True),
        _bad("SignalFramer", (8,), [((2, 4), "int16"), ((), "bool")], frame_size=1 << 30, frame_step=4, prefill=True),
        _bad("SignalDelay", (8,), [((8,), "int16")], delay_length=-1),
        _bad("SignalDelay", (8,), [((8,), "int32")], delay_length=2),
        _bad("SignalDelay", (8,), [((8,), "int16")]),
        _bad("SignalDelay", (9000, 8), [((9000, 8), "int16")], delay_length=1 << 23),
        _bad("SignalOverlapAdd", (2, 4), [((10,), "int16")], T=7, frame_step=5),
        _bad("SignalOverlapAdd", (4,), [((4,), "int16")], T=7, frame_step=2),
        _bad("SignalOverlapAdd", (2, 4), [((4,), "int32")], "int32", T=2, frame_step=2),
        _bad("SignalStacker", (4,), [((12,), "int16"), ((), "bool")], **{**STACK, "stacker_step": 0}),
        _bad("SignalStacker", (4,), [((12,), "int16"), ((), "bool")], **{**STACK, "stacker_step": 4}),
        _bad("SignalStacker", (4,), [((8,), "int16"), ((), "bool")], **STACK),
        _bad("SignalStacker", (4,), [((12,), "int16"), ((), "bool")], **{**STACK, "num_channels": 3}),
        _bad("SignalFilterBankLog", (4,), [((4,), "int16")], "uint32", output_scale=1, input_correction_bits=32),
        _bad("SignalFilterBankLog", (4,), [((4,), "int16")], "uint32", output_scale=1),
        _bad("SignalFilterBankLog", (4,), [((4,), "int16")], "int32", output_scale=1, input_correction_bits=2),
        _bad("SignalFftAutoScale", (4, 1), [((4, 1), "int16"), ((), "int32")]),
        _bad("SignalFilterBankSpectralSubtraction", (4,), [((4,), "uint32")] * 2, "uint32", num_channels=4),
        _bad("SignalWindow", (4,), [((4,), "int16")], shift=3),
        _bad("SignalPCAN", (4,), [((4,), "uint32")], "uint32", snr_shift=3),
        _bad("SignalFilterBank", (4,), [((4,), "uint64")], "uint32", num_channels=4),
        _bad("SignalFilterBankSquareRoot", (4,), [((4,), "uint32")], "uint64"),
    ],
)
def test_what_does_not_fit_is_refused(data: bytes) -> None:
    with pytest.raises((UnsupportedError, MalformedError, TooLargeError)):
        tflite.parse(data, "model")


def test_channels_that_reach_outside() -> None:
    front = Front()
    front.filter_bank(front.input((9,), "uint32"), [4, 6])
    with pytest.raises(UnsupportedError, match="reaches outside"):
        tflite.parse(front.finish(), "model")

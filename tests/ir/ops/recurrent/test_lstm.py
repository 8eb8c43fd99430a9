"""UNIDIRECTIONAL_SEQUENCE_LSTM against LiteRT over many steps, and layers that are refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import MoteError, UnsupportedError
from mote.compiler.kernels.contract import Packed
from mote.compiler.kernels.pack.params import scale_params
from mote.compiler.passes.folding import fold_constants
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR, Writer
from mote.ir.graph.numeric.fixedpoint import quantize_multiplier, rescale, rounding_shift_right, wrap32
from mote.ir.graph.numeric.fixedpoint16 import inverse_sqrt, logistic16, saturate16, tanh16
from tests.compiler.kernels.c_harness import Program
from tests.helpers.offered import DSP, HELIUM, PORTABLE, first
from tests.helpers.support import batch, emulated, examples, needs_litert, varied
from tests.ir.ops.recurrent.lstm_models import Config, add_layer, any_kind, model, plain
from tests.ir.ops.recurrent.over_time import c_over_time, check_over_time, inputs_over_time, numpy_over_time


@needs_litert
@given(varied(st.lists(plain(), min_size=10, max_size=10)), st.sampled_from([PORTABLE, DSP, HELIUM]))
@settings(max_examples=examples(3, 1), deadline=None)
def test_random_configurations(layers: list[Config], features: frozenset[str]) -> None:
    check_over_time(model(*layers), 30, features=features)


@needs_litert
@given(varied(st.lists(any_kind(), min_size=10, max_size=10)), st.sampled_from([PORTABLE, DSP, HELIUM]))
@settings(max_examples=examples(6, 1), deadline=None)
def test_random_kinds(layers: list[Config], features: frozenset[str]) -> None:
    check_over_time(model(*layers), 20, features=features)


FEATURES = {"host": HELIUM, "cortex-m4": DSP, "cortex-m55": HELIUM}


@needs_litert
@pytest.mark.parametrize("core", ["cortex-m4", "cortex-m55"])
@given(layers=batch(any_kind(("int8",)), 8, 4))
@settings(max_examples=examples(5, 1), deadline=None)
def test_on_cores(core: str, layers: list[Config]) -> None:
    check_over_time(model(*layers), 12, program=Program(emulated(core)), features=FEATURES[core])


@needs_litert
def test_hundreds_of_steps() -> None:
    c = Config(inputs=16, cells=20, gain=2.0)
    check_over_time(model(replace(c, outputs=12), replace(c, dtype="float32")), 200)


LARGE = [
    Config(batch=2, cells=40, outputs=24, gain=2.0),
    Config(cells=40, peepholes=True, coupled=True),
    Config(cells=40, normalized=True, gain=3.0),
    Config(cells=32, outputs=32, normalized=True, peepholes=True, time=3),
]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("core", FEATURES)
def test_large_ones_of_any_kind(core: str) -> None:
    """Where LiteRT is no oracle on every machine, the kernel against NumPy."""
    program = Program(emulated(core))
    g = tflite.parse(model(*LARGE), "model")
    steps = inputs_over_time(g, 20, 1)
    for mine, wanted in zip(c_over_time(g, steps, program, FEATURES[core]), numpy_over_time(g, steps, -1), strict=True):
        assert all(np.array_equal(mine[out], wanted[out]) for out in mine)


EVERY = np.arange(-32768, 32768)


RUN = 211
"""Numbers of a run, which are no multiple of a vector's."""


@pytest.mark.parametrize("core", FEATURES)
def test_every_value_of_the_runs(core: str) -> None:
    program = Program(emulated(core), includes={"mote_gates_s16.h": None})
    program.say(f"for (int32_t x = -32768; x < 32768; x += {RUN}) {{", f"const int32_t n = mote_min({RUN}, 32768 - x);")
    program.say(f"int16_t v[{RUN}], y[8][{RUN}] = {{{{0}}}};", "for (int32_t i = 0; i < n; i++) {")
    program.say("v[i] = y[0][i] = (int16_t)(x + i);", "}", "mote_logistic_run_s16(y[0], n);")
    for bits in range(7):
        program.say(f"mote_tanh_run_s16(v, {bits}, y[{1 + bits}], n);")
    program.write("y", 8 * RUN * 2)
    program.say("}")
    got = np.frombuffer(program.run(), np.int16).reshape(-1, 8, RUN).transpose(1, 0, 2).reshape(8, -1)[:, : len(EVERY)]
    assert np.array_equal(got[0], logistic16(EVERY))
    for bits in range(7):
        assert np.array_equal(got[1 + bits], tanh16(EVERY, bits)), bits


@pytest.mark.parametrize("core", FEATURES)
def test_what_gates_make_of_cells(core: str) -> None:
    program = Program(emulated(core), includes={"mote_gates_s16.h": None})
    rng, wanted = np.random.default_rng(1), []
    for n, bits, clip in ((1, 0, 32768), (7, 4, 32768), (40, 3, 9000), (21, 6, 32767)):
        values = rng.integers(-32768, 32768, (4, n))
        values[:, rng.random(n) < 0.3] = rng.choice([-32768, 0, 32767])
        kept, given, fresh, cell = values
        kept, given = np.maximum(kept, 0), np.maximum(given, 0)
        arrays = (kept, given, fresh, cell)
        program.say("{")
        for name, value in zip(("kept", "given", "fresh", "cell"), arrays, strict=True):
            program.say(f"int16_t {name}[] = {{{', '.join(map(str, value.tolist()))}}};")
        program.say(f"mote_cells_run_s16(kept, given, fresh, cell, {n}, {bits}, {clip});")
        program.write("cell", 2 * n)
        new = rounding_shift_right(kept * cell, 15) + rounding_shift_right(given * fresh, 15 + bits)
        cell = np.clip(saturate16(new), -clip, clip)
        wanted.append(cell.astype(np.int16).tobytes())
        program.say(f"int8_t out[{n}];")
        for real, zero in ((128 / 2**30, -3), (0.4, 100), (0.8, 0), (2.5, 7)):
            mult, shift = quantize_multiplier(real)
            scale = scale_params(mult, shift)
            program.say(f"mote_shown_run_s16(kept, fresh, out, {n}, {scale['mult']}, {scale['shift']}, {zero});")
            program.write("out", n)
            shown = np.clip(wrap32(rescale(kept * fresh, mult, shift) + zero), -128, 127)
            wanted.append(shown.astype(np.int8).tobytes())
        program.say("}")
    assert program.run() == b"".join(wanted)


def test_functions_are_what_they_are_called() -> None:
    x = EVERY / 4096
    assert np.abs(logistic16(EVERY) / 32768 - 1 / (1 + np.exp(-x))).max() < 6e-4
    for bits in range(7):
        assert np.abs(tanh16(EVERY, bits) / 32768 - np.tanh(x * 2.0 ** (bits - 3))).max() < 6e-4, bits
    for n in [1, 2, 3, 100, 12345, 1 << 20, (1 << 30) + 7]:
        mult, shift = inverse_sqrt(n)
        assert mult / 2**31 * 2.0**shift == pytest.approx(n**-0.5, rel=2e-6)


def kernel(c: Config, features: frozenset[str] = DSP) -> Packed:
    return first(fold_constants.run(tflite.parse(model(c), "model")), features)


def test_which_kernel() -> None:
    """Biases of gates that are not normalized are part of sums, which have to fit pairs."""
    assert kernel(Config()).name == "lstm_pairs_s8"
    assert kernel(Config(normalized=True)).name == "lstm_norm_pairs_s8"
    assert kernel(Config(gain=1e-4)).name == "lstm_s8"
    assert kernel(Config(dtype="float32")).name == "lstm_f32"

    assert kernel(Config(), HELIUM).name == "lstm_vectors_s8"
    assert kernel(Config(normalized=True), HELIUM).name == "lstm_norm_vectors_s8"
    assert kernel(Config(stateless=True, gain=1e-4), HELIUM).name == "lstm_stateless_vectors_s8"
    assert kernel(Config(stateless=True)).name == "lstm_stateless_pairs_s8"
    assert kernel(Config(stateless=True, gain=1e-4)).name == "lstm_stateless_s8"


@needs_litert
def test_a_state_that_is_written_and_read_again_is_refused() -> None:
    """What an LSTM leaves in a variable tensor that the file has written is no tensor of the graph."""
    w = Writer("read again")
    add_layer(w, 0, Config(stateless=True))
    y = w.tensor("cells", (1, 8), "float32")
    w.op("DEQUANTIZE", [next(i for i, t in enumerate(w._tensors) if t.name == "c0")], [y])
    w.output(y)
    with pytest.raises(MoteError):
        tflite.parse(w.finish(), "model")


def test_working_memory() -> None:
    assert kernel(Config(inputs=9, cells=6)).needs.scratch == 6 * 6 + 2 * 16 + 2 * 8
    assert kernel(Config(inputs=9, cells=6, outputs=10)).needs.scratch == 7 * 6 + 2 * 16 + 2 * 16 + 2 * 8


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(cell_bits=7), "LiteRT wants a power of two from 2\\^-15 to 2\\^-9"),
        (Config(cells=4, outputs=6, peepholes=True), "peepholes with a projection are not supported"),
        (Config(batch=2, outputs=4, peepholes=True, time_major=True), "peepholes with a projection"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(model(config), "model")


def layer(
    changes: dict[int, tuple[tuple[int, ...], str] | None], *, inner: int = 5, count: int = 24, **options: str
) -> bytes:
    """An int8 layer of 4 cells for 3 inputs, with other (shape, type) of some of its inputs, or without them."""
    w = Writer("layer")
    shapes = {0: (1, 2, 3), 18: (1, 4), 19: (1, 4)}
    shapes |= {1 + g: (4, 3) for g in range(4)} | {5 + g: (4, 4) for g in range(4)} | {12 + g: (4,) for g in range(4)}
    tensors = {
        p: (shape, "int8" if p < 9 or p == 18 else "int16" if p == 19 else "int32") for p, shape in shapes.items()
    }
    reads = [NO_TENSOR] * count
    for p, found in (tensors | changes).items():
        if found is None:
            continue
        scale = None if found[1] == "float32" else 2.0**-12
        make = w.input if p == 0 else w.variable if p in (18, 19) else None
        reads[p] = make(f"t{p}", *found, scale=scale) if make else w.const(f"t{p}", np.ones(*found), scale=scale)
    y = w.tensor("y", (1, 2, 4), "int8", scale=2.0**-7)
    how = {"fused_activation_function": "TANH"} | options
    hidden = [w.tensor(f"m{i}", (0,), "int8", scale=2.0**-7) for i in range(inner)]
    w.op("UNIDIRECTIONAL_SEQUENCE_LSTM", reads, [y], intermediates=hidden, **how)
    w.output(y)
    return w.finish()


def test_the_old_form_with_20_inputs() -> None:
    g = tflite.parse(layer({}, count=20), "model")
    assert g.evaluate({g.inputs[0]: np.zeros((1, 2, 3), np.int8)})[g.outputs[0]].shape == (1, 2, 4)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (layer({}, count=21), "21 inputs are not supported"),
        (layer({}, fused_activation_function="RELU"), "an activation other than TANH"),
        (layer({}, inner=4), "quantization of gates or of the hidden output is missing"),
        (layer({2: None}), "input 2 has the shape None, which should be .4, 3."),
        (layer({7: ((4,), "int8")}), "input 7 has the shape .4,., which should be .4, 4."),
        (layer({8: ((4,), "int8")}), "the sequence must have 3 axes, and weights 2"),
        (layer({8: ((4, 2), "int8")}), "input 5 has the shape"),
        (layer({19: ((1, 5), "int16")}), "a state of shape .1, 5. does not fit 1 sequences of 4 values"),
        (layer({4: ((4, 3), "float32")}), "int8 input with float32 weights is not supported"),
        (layer({13: ((4,), "int64")}), "int8 input with int64 bias is not supported"),
        (layer({19: ((1, 4), "int8")}), "int8 input with int8 state is not supported"),
        (layer({10: ((4,), "int16")}), "input 10 has the shape .4,., which should be None"),
    ],
)
def test_what_does_not_fit(data: bytes, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(data, "model")

"""SVDF against LiteRT, over many steps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import NO_TENSOR, Writer
from mote.ir.graph.numeric.fixedpoint import quantize_multiplier, rescale
from tests.compiler.kernels.c_harness import Program
from tests.helpers.offered import DSP, PORTABLE
from tests.helpers.support import batch, check_numpy, emulated, examples, micro_agrees, needs_litert, tflite_micro
from tests.ir.ops.recurrent.over_time import check_over_time, inputs_over_time, numpy_over_time


@dataclass(frozen=True)
class Config:
    """`gains`: how much of their range the state and the output use. `state`: the type of the state of an int8 layer,
    and of its weights over time; the last of `zeros` is the zero point of an int8 one."""

    dtype: str = "int8"
    batch: int = 1
    inputs: int = 8
    units: int = 4
    rank: int = 2
    memory: int = 5
    bias: bool = True
    activation: str = "RELU"
    zeros: tuple[int, int, int] = (3, -128, 0)
    gains: tuple[float, float] = (0.5, 0.5)
    extreme: bool = False
    seed: int = 0
    state: str = "int16"


def configs(
    dtypes: tuple[str, ...] = ("int8", "int8", "float32"), states: tuple[str, ...] = ("int16",)
) -> st.SearchStrategy[Config]:
    def allowed(c: Config) -> Config:
        usual = c.activation if c.state == "int8" and c.activation == "NONE" else "RELU"
        return replace(c, activation=usual) if c.dtype == "int8" else c

    zero = st.integers(-128, 127) | st.sampled_from([-128, 127])
    return st.builds(
        Config,
        dtype=st.sampled_from(dtypes),
        state=st.sampled_from(states),
        batch=st.sampled_from([1, 1, 2, 3]),
        inputs=st.integers(1, 20),
        units=st.integers(1, 6),
        rank=st.sampled_from([1, 1, 2, 3]),
        memory=st.integers(1, 12),
        bias=st.booleans(),
        activation=st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"]),
        zeros=st.tuples(zero, st.just(-128) | zero, st.just(0) | zero),
        gains=st.tuples(*[st.sampled_from([0.001, 0.1, 0.5, 2.0, 50.0, 1e-7, 1e4])] * 2),
        extreme=st.sampled_from([False, False, True]),
        seed=st.integers(0, 1 << 30),
    ).map(allowed)


def add_layer(w: Writer, i: int, c: Config) -> None:
    rng = np.random.default_rng(c.seed)
    filters = c.units * c.rank
    shapes = {"k": (filters, c.inputs), "t": (filters, c.memory), "b": (c.units,)}
    if c.dtype == "float32":
        x = w.input(f"x{i}", (c.batch, c.inputs), c.dtype)
        consts = {n: w.const(f"{n}{i}", rng.normal(size=s).astype(np.float32)) for n, s in shapes.items()}
        state = w.variable(f"s{i}", (c.batch, filters * c.memory), c.dtype)
        y = w.tensor(f"y{i}", (c.batch, c.units), c.dtype)
    else:
        top = float(np.iinfo(c.state).max) + 1
        kept = float(0.05 * 0.01 * 127 * 128 * c.inputs**0.5 / top / c.gains[0])
        out = float(kept * 0.001 * 0.2 * top**2 * min(c.gains[0], 1) * (c.memory * c.rank) ** 0.5 / 128 / c.gains[1])
        zero, bias = (c.zeros[2], 1 << 12) if c.state == "int8" else (0, 1 << 20)
        x = w.input(f"x{i}", (c.batch, c.inputs), c.dtype, scale=0.05, zero_point=c.zeros[0])
        consts = {
            "k": w.const(f"k{i}", weights(rng, c, shapes["k"], "int8"), scale=0.01),
            "t": w.const(f"t{i}", weights(rng, c, shapes["t"], c.state), scale=0.001),
            "b": w.const(f"b{i}", rng.integers(-bias, bias, c.units).astype(np.int32), scale=kept * 0.001),
        }
        state = w.variable(f"s{i}", (c.batch, filters * c.memory), c.state, scale=kept, zero_point=zero)
        y = w.tensor(f"y{i}", (c.batch, c.units), c.dtype, scale=out, zero_point=c.zeros[1])
    reads = [x, consts["k"], consts["t"], consts["b"] if c.bias else NO_TENSOR, state]
    w.op("SVDF", reads, [y], rank=c.rank, fused_activation_function=c.activation)
    w.output(y)


def weights(rng: np.random.Generator, c: Config, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    top = np.iinfo(dtype).max
    found = rng.choice([-top, top], shape) if c.extreme else rng.integers(-top, top + 1, shape)
    return found.astype(dtype)


def model(*layers: Config) -> bytes:
    w = Writer("svdf")
    for i, c in enumerate(layers):
        add_layer(w, i, c)
    return w.finish()


@needs_litert
@given(batch(configs(), 18, 9), st.sampled_from([PORTABLE, DSP]))
@settings(max_examples=examples(2, 1), deadline=None)
def test_random_configurations(layers: list[Config], features: frozenset[str]) -> None:
    check_over_time(model(*layers), 30, features=features)


@needs_litert
@given(st.lists(configs(("int8",)), min_size=18, max_size=18))
@settings(max_examples=examples(4), deadline=None)
def test_on_cortex_m4(layers: list[Config]) -> None:
    check_over_time(model(*layers), 20, program=Program(emulated("cortex-m4")), features=DSP)


@given(st.lists(configs(("int8",), ("int8",)), min_size=18, max_size=18), st.sampled_from([PORTABLE, DSP]))
@settings(max_examples=examples(2), deadline=None)
def test_int8_states(layers: list[Config], features: frozenset[str]) -> None:
    """LiteRT takes such states for int16: NumPy is the judge of the C, and TFLite Micro that of NumPy."""
    check_over_time(model(*layers), 30, features=features)


@pytest.mark.slow
def test_int8_states_on_cortex_m4() -> None:
    layers = [Config(state="int8", memory=m, zeros=(3, -128, z)) for m, z in ((1, 0), (4, 5), (9, -100), (16, 127))]
    check_over_time(model(*layers), 20, program=Program(emulated("cortex-m4")), features=DSP)


@given(st.lists(configs(("int8",), ("int8",)), min_size=18, max_size=18))
@settings(max_examples=examples(6), deadline=None)
def test_int8_states_as_tflite_micro_has_them(layers: list[Config]) -> None:
    """Biases are needed there, with scales that differ by less than 1e-5 from the product of their factors."""
    data = model(*(replace(c, bias=True, gains=(max(c.gains[0], 1e-3), c.gains[1])) for c in layers))
    g = tflite.parse(data, "model")
    given = inputs_over_time(g, 20, 0)
    ours = numpy_over_time(g, given, 10)
    with tflite_micro() as runtime:
        interpreter = runtime.Interpreter.from_bytes(data)
        for number, (step, values) in enumerate(zip(given, ours, strict=True)):
            if number == 10:
                interpreter.reset()
            for i, t in enumerate(g.inputs):
                interpreter.set_input(step[t], i)
            interpreter.invoke()
            for i, t in enumerate(g.outputs):
                np.testing.assert_array_equal(values[t], interpreter.get_output(i), f"{layers[i]} at step {number}")


def near_halves(state: str) -> bytes:
    """A layer that rescales its biases to where products of scales in float32 and in double round otherwise."""
    s, t, y = (float(np.float32(x)) for x in (0.07, 0.003, 210.0))
    halves = np.rint((np.arange(-127, 127) + 0.5) / (s * t / y)).astype(np.int64)
    sums = (halves[:, None] + np.arange(-1, 2)).reshape(-1)
    single, double = (
        rescale(sums, *quantize_multiplier(float(kind(s) * kind(t) / kind(y)))) for kind in (np.float32, np.float64)
    )
    biases = sums[single != double].astype(np.int32)
    assert len(biases) > 3
    w = Writer("near_halves")
    x = w.input("x", (1, 1), "int8", scale=s)
    k, time = w.const("k", np.ones((len(biases), 1), np.int8), scale=1.0), np.zeros((len(biases), 1), state)
    kept = w.variable("s", (1, len(biases)), state, scale=s)
    out = w.tensor("y", (1, len(biases)), "int8", scale=y)
    reads = [x, k, w.const("t", time, scale=t), w.const("b", biases, scale=s * t), kept]
    w.op("SVDF", reads, [out], rank=1, fused_activation_function="RELU")
    w.output(out)
    return w.finish()


def test_scales_of_tflite_micro_are_double() -> None:
    micro_agrees(near_halves("int8"))
    micro_agrees(near_halves("int16"), numerics="tflm")


@needs_litert
def test_scales_of_litert_are_float() -> None:
    check_numpy(tflite.parse(near_halves("int16"), "model"), near_halves("int16"))


def test_who_judges_int8_states() -> None:
    """LiteRT reads such a state as int16, past its end; TFLite Micro crashes without a bias."""
    c = Config(state="int8")
    who = "numpy (TFLite Micro" if reference.micro_missing() else "TFLite Micro"
    compiled = compile(model(c))
    result = verify(compiled, 12, sanitize=True)
    assert result.passed and result.reference.startswith(who) and not compiled.warnings
    alone = verify(compile(model(replace(c, bias=False))), 12)
    assert alone.passed and alone.reference.startswith("numpy")


def test_states_that_wrap_are_named() -> None:
    (warning,) = compile(model(Config(state="int8", zeros=(3, -128, 9)))).warnings
    assert "zero point 9, with which values near the ends of its range wrap" in warning


@needs_litert
def test_hundreds_of_steps() -> None:
    """A keyword spotter's layer, which has forgotten its first input ten times over."""
    c = Config(inputs=40, units=32, rank=2, memory=20)
    check_over_time(model(c, replace(c, dtype="float32")), 200)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(activation="NONE"), "int8 with fused activation NONE is not supported"),
        (Config(state="int8", activation="RELU6"), "int8 with fused activation RELU6 .*TFLite Micro omits it"),
        (Config(activation="TANH", dtype="float32"), "fused activation TANH is not supported"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(model(config), "model")


def broken(**changes: object) -> bytes:
    """A model whose tensors do not fit: their (shape, type, scale) by name."""
    fields: dict[str, tuple[tuple[int, ...], str, float | None]] = {
        "k": ((4, 3), "int8", 0.01),
        "t": ((4, 5), "int16", 0.01),
        "s": ((1, 20), "int16", 0.01),
    }
    fields |= {k: v for k, v in changes.items() if k in fields}  # type: ignore[misc]
    w = Writer("broken")
    x = w.input("x", (1, 3), "int8", scale=0.05)
    k, t = (w.const(n, np.ones(fields[n][0], fields[n][1]), scale=fields[n][2]) for n in ("k", "t"))
    keep = w.variable if changes.get("variable", True) else w.input
    s = keep("s", *fields["s"])
    y = w.tensor("y", (1, 2), "int8", scale=0.05)
    w.op("SVDF", [x, k, t, NO_TENSOR, s], [y], rank=changes.get("rank", 2), fused_activation_function="RELU")
    w.output(y)
    return w.finish()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rank": 3}, "rank 3 and a state of shape"),
        ({"k": ((4, 2), "int8", 0.01)}, "do not fit an input of shape"),
        ({"s": ((1, 19), "int16", 0.01)}, "a state of shape .* do not fit 4 filters"),
        ({"s": ((1, 20), "int8", 0.01)}, "int16 weights over time .*TFLite Micro wants int8 with an int8 state"),
        ({"s": ((1, 20), "float32", None)}, "int8 input with float32 state is not supported .LiteRT wants int16"),
        ({"t": ((4, 5), "int8", 0.01)}, "int8 weights over time .*LiteRT wants int16"),
        ({"k": ((4, 3), "float32", None)}, "int8 input with float32 weights"),
        ({"t": ((4, 5), "int16", None)}, "weights over time must have one scale"),
        ({"variable": False}, "a state must be a variable tensor"),
    ],
)
def test_what_does_not_fit(changes: dict[str, object], reason: str) -> None:
    assert tflite.parse(broken(), "model").states
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(broken(**changes), "model")

"""QUANTIZE, DEQUANTIZE and CAST against LiteRT: ties, neighbours of ties, values far outside."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote import compile
from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.network import FLOAT, Net
from tests.helpers.support import batch, check, check_numpy, exact_on, examples, needs_litert, tflite_micro

SIZE = 2048


@st.composite
def quants(draw: st.DrawFn) -> tuple[float, int]:
    """Scales around what float inputs from -1 to 1 need, and powers of two, which give ties."""
    exponent = draw(st.floats(-9, 2))
    scale = draw(st.sampled_from([2.0**exponent, 2.0 ** round(exponent)]))
    return float(np.float32(scale)), draw(st.sampled_from([-128, 0, 127]) | st.integers(-128, 127))


def model(layers: list[tuple[float, int]], size: int = SIZE) -> bytes:
    """float32 -> int8 -> float32 for each quantization."""
    net, outputs = Net(dtype="float32"), []
    for quant in layers:
        q = net.op("QUANTIZE", [net.input(size)], quant=quant)
        outputs += [q, net.op("DEQUANTIZE", [q])]
    return net.finish(*outputs)


@needs_litert
@given(st.lists(quants(), min_size=15, max_size=15))
@settings(max_examples=examples(5), deadline=None)
def test_random_quantizations(layers: list[tuple[float, int]]) -> None:
    """The generated C on random floats, and on a ramp that meets ties where the scale is a power of two."""
    check(model(layers, 2049), inputs=6)


def edges(scale: float) -> np.ndarray:
    """Ties, their neighbours, values far outside (but inside int32, where LiteRT still clamps)."""
    ties = ((np.arange(-300, 300) + 0.5) * np.float64(scale)).astype(np.float32)
    up, down = (np.nextafter(ties, np.float32(to)) for to in (np.inf, -np.inf))
    far = np.array([1e6, -1e6, 2e9, -2e9, 0.0, -0.0, 1e-40], np.float64) * scale
    found = np.concatenate([ties, up, down, far]).astype(np.float32)
    return np.pad(found, (0, SIZE - len(found)))


@needs_litert
@given(quants())
@settings(max_examples=100, deadline=None)
def test_ties(quant: tuple[float, int]) -> None:
    """NumPy against LiteRT. A division, not a multiplication by the inverse: at ties that shows."""
    data = model([quant])
    graph = tflite.parse(data, "model")
    case = {graph.inputs[0]: edges(quant[0])}
    want = reference.litert(data)(case)
    for tensor, got in graph.evaluate(case).items():
        assert np.array_equal(got, want[tensor])


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("scale", [0.05, 0.0078125, 0.3])
def test_ties_in_c(scale: float) -> None:
    """The same edges through the generated code, on a core with an FPU too: they are a constant, to which nothing is
    added."""
    net = Net(dtype="float32")
    nothing = net.op("MUL", [net.input(SIZE), net.writer.const("zero", np.float32(0))])
    values = net.op("ADD", [nothing, net.writer.const("edges", edges(scale))])
    model = net.finish(net.op("QUANTIZE", [values], quant=(scale, 3)))
    check(model, inputs=2)
    exact_on("cortex-m4", model, 2)


@needs_litert
def test_every_int8() -> None:
    net = Net()
    model = net.finish(net.op("DEQUANTIZE", [net.input(256, quant=(0.0371, -9))], quant=FLOAT))
    check_numpy(tflite.parse(model, "model"), model, inputs=6)


@pytest.mark.parametrize(
    ("kind", "dtypes", "scale", "reason"),
    [
        ("QUANTIZE", ("float32", "int32"), 0.1, "float32 to int32 is not supported"),
        ("QUANTIZE", ("uint8", "int32"), 0.1, "uint8 input with int32 output is not supported"),
        ("QUANTIZE", ("int64", "int8"), 0.1, "int64 input with int8 output is not supported"),
        ("QUANTIZE", ("int16", "int8"), [0.1, 0.2], "no per-tensor quantization"),
        ("QUANTIZE", ("int8", "uint8"), [0.1, 0.2], "no per-tensor quantization"),
        ("QUANTIZE", ("float32", "int8"), [0.1, 0.2], "no per-tensor quantization"),
        ("DEQUANTIZE", ("int32", "float32"), 0.1, "int32 to float32 is not supported"),
        ("DEQUANTIZE", ("int8", "float32"), [0.1, 0.2], "no per-tensor quantization"),
    ],
)
def test_unsupported(kind: str, dtypes: tuple[str, str], scale: float | list[float], reason: str) -> None:
    w = Writer("unsupported")
    x, y = (
        w.tensor(name, (2,), dtype, None if dtype == "float32" else scale)
        for name, dtype in zip("xy", dtypes, strict=True)
    )
    w._inputs.append(x)
    w.op(kind, [x], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(w.finish(), "model")


@needs_litert
@given(
    st.lists(
        st.tuples(quants(), quants(), st.sampled_from(["int8", "uint8"]), st.sampled_from(["int8", "uint8"])),
        min_size=8,
        max_size=8,
    )
)
@settings(max_examples=examples(3), deadline=None)
def test_between_bytes(layers: list[tuple[tuple[float, int], tuple[float, int], str, str]]) -> None:
    """Every byte, from scale to scale and from int8 to uint8 and back."""
    w = Writer("bytes")
    for i, (given_, wanted, first, second) in enumerate(layers):
        zeros = [q[1] + (128 if dtype == "uint8" else 0) for q, dtype in ((given_, first), (wanted, second))]
        x = w.input(f"x{i}", (256,), first, given_[0], zeros[0])
        y = w.tensor(f"y{i}", (256,), second, wanted[0], zeros[1])
        w.op("QUANTIZE", [x], [y])
        w.output(y)
    check(w.finish(), inputs=6)


LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
PAIRS = (
    ("int8", "int16"),
    ("uint8", "int16"),
    ("int16", "int8"),
    ("int16", "int16"),
    ("int16", "int32"),
    ("int32", "int8"),
    ("int32", "int16"),
)
"""The integers between which LiteRT has QUANTIZE, but for those between bytes."""


def real_model(wanted: str, scale: float, zero: int, size: int = SIZE) -> bytes:
    """float32 -> integer -> float32."""
    w = Writer("real")
    add_real(w, wanted, scale, zero, size)
    return w.finish()


def add_real(w: Writer, wanted: str, scale: float, zero: int, *shape: int) -> None:
    x, q = w.input(f"real_{wanted}", shape, "float32"), w.tensor(wanted, shape, wanted, scale, zero)
    w.op("QUANTIZE", [x], [q])
    y = w.tensor(f"again_{wanted}", shape, "float32")
    w.op("DEQUANTIZE", [q], [y])
    w.output(q, y)


@needs_litert
@pytest.mark.parametrize("wanted", LIMITS)
@given(st.floats(-14, 0), st.booleans(), st.floats(0, 1))
@settings(max_examples=20, deadline=None)
def test_ties_of_other_types(wanted: str, exponent: float, whole: bool, position: float) -> None:
    low, high = LIMITS[wanted]
    scale = float(np.float32(2.0 ** (round(exponent) if whole else exponent)))
    zero = 0 if wanted == "int16" else round(low + (high - low) * position)
    data = real_model(wanted, scale, zero)
    graph = tflite.parse(data, "model")
    around = np.random.default_rng(0).integers(low - zero, high - zero, 100) * scale
    case = {graph.inputs[0]: np.append(edges(scale)[:-100], around).astype(np.float32)}
    want = reference.litert(data)(case)
    for tensor, got in graph.evaluate(case).items():
        assert np.array_equal(got, want[tensor])


Rescaling = tuple[tuple[str, str], tuple[float, int], tuple[float, int]]
"""Two types, and the quantizations of both."""


@st.composite
def rescalings(draw: st.DrawFn) -> Rescaling:
    pair = draw(st.sampled_from(PAIRS))
    quants = []
    for dtype in pair:
        scale = float(np.float32(2.0 ** draw(st.floats(-12, 0) | st.integers(-12, 0))))
        low, high = LIMITS.get(dtype, (-1000, 1000))
        quants.append((scale, 0 if "int16" in pair else draw(st.integers(low, high))))
    if pair[0] == "int32":
        quants[0] = quants[0][0] / 65536, quants[0][1]
    return pair, quants[0], quants[1]


def rescaled_model(layers: list[Rescaling], size: int) -> bytes:
    w = Writer("rescaled")
    for i, layer in enumerate(layers):
        add_rescaling(w, i, layer, size)
    return w.finish()


def add_rescaling(w: Writer, i: int, layer: Rescaling, *shape: int) -> None:
    pair, x_quant, y_quant = layer
    x, y = w.input(f"x{i}", shape, pair[0], *x_quant), w.tensor(f"y{i}", shape, pair[1], *y_quant)
    w.op("QUANTIZE", [x], [y])
    w.output(y)


@needs_litert
@given(st.lists(rescalings(), min_size=20, max_size=20))
@settings(max_examples=10, deadline=None)
def test_between_integers(layers: list[Rescaling]) -> None:
    data = rescaled_model(layers, 1000)
    check_numpy(tflite.parse(data, "model"), data, inputs=6)


def test_from_int8_to_int32() -> None:
    """TensorFlow Lite Micro has it, and LiteRT has not."""
    data = rescaled_model([(("int8", "int32"), (0.05, 3), (0.0001, 7))], 256)
    codes = np.arange(-128, 128).astype(np.int8)
    graph = tflite.parse(data, "model")
    result = verify(compile(data), 6, sanitize=True)
    assert result.passed and "from int8 to int32" in result.reference
    with tflite_micro() as runtime:
        interpreter = runtime.Interpreter.from_bytes(data)
        interpreter.set_input(codes, 0)
        interpreter.invoke()
        assert np.array_equal(graph.evaluate({graph.inputs[0]: codes})[graph.outputs[0]], interpreter.get_output(0))


TYPES = ("bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "float32")
SOME = ("bool", "int8", "int64", "float32")
"""Fewer, with and without a sign and a fraction."""
FAR = [sign * 2.0**k for k in (0, 6, 7, 8, 15, 16, 24, 31, 32, 63, 64, 100) for sign in (1, -1)]
REALS = [*FAR, np.inf, -np.inf, np.nan, 0.0, -0.0, 0.5, -0.5, 127.5, -128.5, 255.9, -0.9, 1e-30]


def cast_model(given_: str, values: np.ndarray | None = None) -> bytes:
    """One type to every type, of an input or of constants, to which nothing is added."""
    w = Writer("casts")
    x = w.input("x", (333,) if values is None else values.shape, given_)
    if values is not None:
        nothing, y = (w.tensor(name, values.shape, given_) for name in ("nothing", "y"))
        w.op("MUL", [x, w.const("zero", np.float32(0))], [nothing])
        w.op("ADD", [nothing, w.const("values", values)], [y])
        x = y
    for dtype in TYPES:
        y = w.tensor(dtype, w._tensors[x].shape, dtype)
        w.op("CAST", [x], [y])
        w.output(y)
    return w.finish()


def all_casts(types: Sequence[str] = TYPES) -> bytes:
    w = Writer("casts")
    add_casts(w, 333, types=types)
    return w.finish()


def add_casts(w: Writer, *shape: int, types: Sequence[str] = TYPES) -> None:
    """Every type to every other one."""
    for given_ in types:
        x = w.input(given_, shape, given_)
        for dtype in types:
            y = w.tensor(f"{given_}_{dtype}", shape, dtype)
            w.op("CAST", [x], [y])
            w.output(y)


def neighbours(values: list[float]) -> np.ndarray:
    found = np.array(values, np.float32)
    return np.concatenate([found, *(np.nextafter(found, np.float32(to)) for to in (np.inf, -np.inf))])


@needs_litert
def test_casts_of_real_numbers() -> None:
    """Those that do not fit, infinite ones and NaN too: LiteRT defines all of them."""
    data = cast_model("float32")
    graph = tflite.parse(data, "model")
    case = {graph.inputs[0]: np.resize(neighbours(REALS), 333)}
    want = reference.litert(data)(case)
    for tensor, got in graph.evaluate(case).items():
        assert np.array_equal(got, want[tensor], equal_nan=got.dtype == np.float32)


@pytest.mark.slow
@needs_litert
def test_every_cast_in_c() -> None:
    check(all_casts(), inputs=6)
    exact_on("cortex-m4", all_casts(), 6)


@needs_litert
def test_casts_and_conversions_in_c() -> None:
    check(all_casts(SOME), inputs=6)
    finite = neighbours([x for x in REALS if np.isfinite(x)])
    check(cast_model("float32", finite), inputs=2)


@needs_litert
@given(batch(rescalings(), 16, 8))
@settings(max_examples=examples(2, 1), deadline=None)
def test_conversions_in_c(layers: list[Rescaling]) -> None:
    check(rescaled_model(layers, 333), inputs=6)


@needs_litert
def test_conversions_on_a_core() -> None:
    exact_on("cortex-m4", all_casts(SOME), 6)
    exact_on("cortex-m0plus", real_model("int16", 0.001, 0, 1000), 6)
    exact_on("cortex-m4", real_model("uint8", 0.02, 77, 1000), 6)


@needs_litert
@pytest.mark.parametrize("wanted", ["uint8", "int16"])
def test_ties_of_other_types_in_c(wanted: str) -> None:
    net = Net(dtype="float32")
    nothing = net.op("MUL", [net.input(SIZE), net.writer.const("zero", np.float32(0))])
    values = net.op("ADD", [nothing, net.writer.const("edges", edges(0.3))])
    q = net.writer.tensor("q", (SIZE,), wanted, 0.3, 99 if wanted == "uint8" else 0)
    net.writer.op("QUANTIZE", [values], [q])
    check(net.finish(q), inputs=2)


@pytest.mark.quick_cases(2)
@needs_litert
@pytest.mark.parametrize(
    ("dtype", "axis"), [*product(("int8", "uint8"), (None, 0, 1)), ("int16", None)], ids=lambda part: str(part)
)
def test_weights_that_are_dequantized(dtype: str, axis: int | None) -> None:
    """Nothing is left of it at run time."""
    rng, (low, high) = np.random.default_rng(0), LIMITS[dtype]
    shape = (5, 8)
    scales = 0.05 if axis is None else rng.uniform(0.01, 0.1, shape[axis])
    zeros = 3 if axis is None and dtype != "int16" else np.zeros(np.size(scales), int).tolist()
    w = Writer("weights")
    stored = w.const("stored", rng.integers(low, high, shape).astype(dtype), scales, zeros, axis or 0)
    weights, y = w.tensor("weights", shape, "float32"), w.tensor("y", (2, 5), "float32")
    w.op("DEQUANTIZE", [stored], [weights])
    w.op("FULLY_CONNECTED", [w.input("x", (2, 8), "float32"), weights, -1], [y])
    w.output(y)
    assert [op.kind for op in check(w.finish()).plan.graph.ops] == ["FULLY_CONNECTED"]


@needs_litert
def test_a_cast_takes_quantized_bytes_as_they_are_stored() -> None:
    w = Writer("bytes")
    x, y, z = w.input("x", (256,), "uint8", 0.1, 7), w.tensor("y", (256,), "float32"), w.tensor("z", (256,), "float32")
    w.op("CAST", [x], [y])
    w.op("DEQUANTIZE", [x], [z])
    w.output(y, z)
    check(w.finish(), inputs=6)


def test_a_cast_to_the_same_type_is_nothing() -> None:
    w = Writer("same")
    x, y, z = w.input("x", (5,), "int32"), w.tensor("y", (5,), "int32"), w.tensor("z", (5,), "int8")
    w.op("CAST", [x], [y])
    w.op("CAST", [y], [z])
    w.output(z)
    assert [op.kind for op in compile(w.finish()).plan.graph.ops] == ["CAST"]


def test_edges_of_16_bits_are_not_stripped() -> None:
    """`--io int8` leaves conversions to int8 to the caller, and no others."""
    assert [op.kind for op in compile(real_model("int16", 0.1, 0, 5), io="int8").plan.graph.ops] == [
        "QUANTIZE",
        "DEQUANTIZE",
    ]

"""Functions of one tensor beside the activations, in all their types, and the activations in int16, against LiteRT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote import compile
from mote.base.errors import MoteError, UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.ops.elementwise.activations import LookupTable, Unary
from tests.helpers.network import Net
from tests.helpers.support import ON_ARM, check, check_numpy, exact_on, examples, needs_litert, tflite_micro

RAMP = 6
"""The sixth stimulus is a ramp over all values of an integer."""
WIDE = 1 << 16
"""So many elements of a ramp are all int16 values."""
INT8 = ("EXP", "LOG", "SQRT", "RSQRT", "GELU", "ABS", "NEG", "RELU_0_TO_1")
INT16 = ("EXP", "LOG", "SQRT", "RSQRT", "ABS", "NEG", "RELU", "RELU6", "LEAKY_RELU", "LOGISTIC", "TANH")
FLOAT32 = ("EXP", "LOG", "SQRT", "RSQRT", "SIN", "COS", "FLOOR", "SQUARE", "SIGN", "ABS", "NEG", "GELU", "RELU_0_TO_1")
INEXACT = {"EXP", "LOG", "RSQRT"} if ON_ARM else set()
"""What LiteRT's tables for int16 are not exact in."""
NOT_IN_REFERENCE = ("CEIL", "ROUND", "ELU")
"""Among LiteRT's reference kernels these are missing; its other kernels have them."""

Quant = tuple[float, int]


@dataclass(frozen=True)
class Config:
    kind: str
    dtype: str = "int8"
    x: Quant | None = (0.05, 3)
    y: Quant | None = (0.04, -5)
    alpha: float = 0.2
    approximate: bool = False

    @property
    def options(self) -> dict[str, float | bool]:
        if self.kind == "GELU":
            return {"approximate": self.approximate}
        return {"alpha": self.alpha} if self.kind == "LEAKY_RELU" else {}


def scales(low: float, high: float) -> st.SearchStrategy[float]:
    """Powers of two, whole ones among them."""
    wide = st.floats(low, high).map(lambda e: float(np.float32(2.0**e)))
    return wide | st.integers(int(low), int(high)).map(lambda e: 2.0**e)


@st.composite
def bytes_(draw: st.DrawFn, kinds: Sequence[str] = INT8) -> Config:
    """What overflows float32, and roots of negative numbers, LiteRT does not define."""
    kind = draw(st.sampled_from(kinds))
    zeros = st.sampled_from([-128, 0, 127]) | st.integers(-128, 127)
    x = draw(scales(-9, 1)), draw(zeros)
    y = draw(st.just(x) | st.tuples(scales(-8, 1), zeros))
    if kind == "EXP":
        x = min(x[0], 0.05), x[1]
    if kind in ("SQRT", "RSQRT"):
        x = x[0], -128
    return Config(kind, "int8", x, y, approximate=draw(st.booleans()))


@st.composite
def words(draw: st.DrawFn) -> Config:
    kind = draw(st.sampled_from(sorted(set(INT16) - INEXACT)))
    x = draw(scales(-17, -8)), 0
    y = draw(st.just(x) | st.tuples(scales(-17, -8), st.just(0)))
    if kind == "EXP":
        x = min(x[0], 0.0004), 0
    if kind in ("LOGISTIC", "TANH"):
        y = 1 / 32768, 0
    return Config(kind, "int16", x, y, draw(st.sampled_from([0.01, 0.3, 1.5, 0.0, -0.3])))


def model(layers: Sequence[Config], *shape: int) -> bytes:
    w = Writer("functions")
    for i, layer in enumerate(layers):
        add_layer(w, i, layer, *(shape or (256,)))
    return w.finish()


def add_layer(w: Writer, i: int, c: Config, *shape: int) -> None:
    """Roots of int16 values get absolute values: LiteRT has no others."""
    x_quant, y_quant = ({} if q is None else {"scale": q[0], "zero_point": q[1]} for q in (c.x, c.y))
    x = w.input(f"x{i}", shape, c.dtype, **x_quant)
    if c.kind in ("SQRT", "RSQRT") and c.dtype == "int16":
        positive = w.tensor(f"abs{i}", shape, c.dtype, **x_quant)
        w.op("ABS", [x], [positive])
        x = positive
    y = w.tensor(f"y{i}", shape, c.dtype, **y_quant)
    w.op(c.kind, [x], [y], **c.options)
    w.output(y)


def graph(*layers: Config) -> Graph:
    return tflite.parse(model(layers), "model")


@pytest.mark.slow
@needs_litert
@given(st.lists(bytes_(), min_size=32, max_size=32))
@settings(max_examples=10, deadline=None)
def test_int8(layers: list[Config]) -> None:
    check_numpy(graph(*layers), model(layers), RAMP)


@needs_litert
@given(st.lists(bytes_(("GELU", "RELU_0_TO_1")), min_size=12, max_size=12))
@settings(max_examples=examples(2), deadline=None)
def test_uint8(layers: list[Config]) -> None:
    unsigned = [
        replace(c, dtype="uint8", x=(c.x[0], c.x[1] + 128), y=(c.y[0], c.y[1] + 128)) for c in layers if c.x and c.y
    ]
    check(model(unsigned), RAMP)


@needs_litert
@given(st.lists(words(), min_size=12, max_size=12))
@settings(max_examples=4, deadline=None)
def test_every_int16(layers: list[Config]) -> None:
    data = model(layers, WIDE)
    check_numpy(tflite.parse(data, "model"), data, RAMP)


@needs_litert
def test_sigmoids_of_any_scale() -> None:
    """Powers of two that are exact multiples and those next to them, and the widest and the narrowest arguments."""
    found = [2.0**-40, 1e-9, 2.0**-13, 2.0**-12, 2.0**-11, 2.0**-10, 1.0005 * 2**-12, 1.001 * 2**-12, 0.7, 2.7, 5.3]
    layers = [Config(kind, "int16", (x, 0), (2**-15, 0)) for kind in ("LOGISTIC", "TANH") for x in found]
    data = model(layers, 4096)
    check_numpy(tflite.parse(data, "model"), data, RAMP)


@needs_litert
@given(scales(-17, -8), scales(-17, -8), st.integers(-3000, 3000), st.booleans())
@settings(max_examples=20, deadline=None)
def test_gelu_of_every_int16(x: float, y: float, zero: int, approximate: bool) -> None:
    """In the last bits of erfc and tanh C libraries differ, which moves an end of a line by one now and then; on Arm
    more often."""
    data = model([Config("GELU", "int16", (x, zero), (y, zero), approximate=approximate)], WIDE)
    codes = np.arange(-32768, 32768).astype(np.int16)
    want = reference.litert(data)({0: codes})[1]
    got = tflite.parse(data, "model").evaluate({0: codes})[1]
    difference = np.abs(got.astype(int) - want)
    assert difference.max() <= 1 and np.count_nonzero(difference) < WIDE // (5 if ON_ARM else 100)


PLAIN = (
    *(Config("NEG", dtype, None, None) for dtype in ("int8", "int16", "int32", "int64")),
    *(Config("ABS", dtype, None, None) for dtype in ("int16", "int32")),
    Config("SIGN", "int32", None, None),
    Config("LOGICAL_NOT", "bool", None, None),
)
"""Numbers that stand for themselves."""


@pytest.mark.slow
@needs_litert
@given(st.lists(bytes_(), min_size=9, max_size=9), st.lists(words(), min_size=9, max_size=9))
@settings(max_examples=examples(2), deadline=None)
def test_integers_in_c(narrow: list[Config], wide: list[Config]) -> None:
    check(model([*PLAIN, *narrow, *wide], 1001), RAMP)


def floats(kinds: Sequence[str], factors: Sequence[float], *extremes: float) -> bytes:
    """Inputs from -1 to 1, multiplied by a factor; and constants, to which nothing is added."""
    w = Writer("floats")
    x = w.input("x", (101,), "float32")
    sources = []
    for i, factor in enumerate(factors):
        sources.append(w.tensor(f"scaled{i}", (101,), "float32"))
        w.op("MUL", [x, w.const(f"factor{i}", np.float32(factor))], [sources[-1]])
    if extremes:
        nothing, edges = (w.tensor(name, (len(extremes),), "float32") for name in ("nothing", "edges"))
        w.op("MUL", [w.input("any", (len(extremes),), "float32"), w.const("zero", np.float32(0))], [nothing])
        w.op("SUB", [w.const("constants", np.float32(extremes)), nothing], [edges])
        sources.append(edges)
    for kind in kinds:
        for i, source in enumerate(sources):
            y = w.tensor(f"{kind}{i}", w._tensors[source].shape, "float32")
            w.op(kind, [source], [y], **Config(kind, approximate=i % 2 == 1).options)
            w.output(y)
    return w.finish()


FACTORS = (1e-4, 1.0, 3.0, 40.0, 5000.0)
EDGES = (0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999997, 8388607.5, -8388607.5, 1e-40, 3e38, -3e38)


@needs_litert
def test_float32() -> None:
    check(floats(FLOAT32, FACTORS, *EDGES), RAMP)


@needs_litert
def test_functions_that_the_reference_kernels_lack() -> None:
    """They are verified against NumPy, and that is held against LiteRT's other kernels."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    data = floats(NOT_IN_REFERENCE, FACTORS, *EDGES)
    graph = tflite.parse(data, "model")
    with pytest.raises(MoteError, match="CEIL"):
        reference.litert(data)
    result = verify(compile(data), RAMP, sanitize=True)
    assert result.passed and "LiteRT has no reference kernel for CEIL" in result.reference, result.mismatches
    interpreter = Interpreter(
        model_content=data,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
        experimental_preserve_all_tensors=True,
    )
    interpreter.allocate_tensors()
    case: dict[int, Array] = {
        graph.inputs[0]: np.linspace(-1, 1, 101).astype(np.float32),
        graph.inputs[1]: np.zeros(len(EDGES), np.float32),
    }
    for t, value in case.items():
        interpreter.set_tensor(t, value)
    interpreter.invoke()
    for t, got in graph.evaluate(case).items():
        np.testing.assert_allclose(got, interpreter.get_tensor(t), rtol=1e-6)


@needs_litert
@given(st.lists(st.tuples(scales(-9, 1), scales(-8, 1), st.integers(-128, 127)), min_size=20, max_size=20))
@settings(max_examples=10, deadline=None)
def test_elu_int8(layers: list[tuple[float, float, int]]) -> None:
    """Against TensorFlow Lite Micro, which has it."""
    data = model([Config("ELU", "int8", (x, zero), (y, -zero - 1)) for x, y, zero in layers])
    graph = tflite.parse(data, "model")
    codes = np.arange(-128, 128).astype(np.int8)
    got = graph.evaluate(dict.fromkeys(graph.inputs, codes))
    with tflite_micro() as runtime:
        interpreter = runtime.Interpreter.from_bytes(data)
        for i in range(len(layers)):
            interpreter.set_input(codes, i)
        interpreter.invoke()
        for i, t in enumerate(graph.outputs):
            assert np.array_equal(got[t], interpreter.get_output(i))


@pytest.mark.slow
@needs_litert
def test_on_a_core() -> None:
    layers = [
        *PLAIN,
        *(Config(kind, "int16", (0.0003, 0), (1 / 32768, 0)) for kind in INT16),
        *(Config(kind, "int8", (0.03, -128), (0.1, -128), approximate=True) for kind in INT8),
    ]
    exact_on("cortex-m4", model(layers), RAMP)
    exact_on("cortex-m0plus", floats((*FLOAT32, "GELU"), (1.0, 40.0)), 3)


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("mode", [{"least_ram": True}, {"input": "rows"}], ids=str)
def test_sixteen_bits_by_rows(mode: dict[str, Any]) -> None:
    """A network with 16-bit activations between real numbers; its RELU is clamped to by the layer before."""
    rng, shape = np.random.default_rng(0), (1, 6, 5, 3)
    w = Writer("wide")

    def add(kind: str, operands: list[int], dtype: str, scale: float | None = None, **options: Any) -> int:
        y = w.tensor(f"t{len(w._tensors)}", shape, dtype, scale)
        w.op(kind, operands, [y], **options)
        return y

    q = add("QUANTIZE", [w.input("x", shape, "float32")], "int16", 3e-5)
    weights = w.const("weights", rng.integers(-127, 128, (3, 3, 3, 3)).astype(np.int8), [0.01, 0.02, 0.01])
    bias = w.const("bias", rng.integers(-9999, 9999, 3).astype(np.int64), [3e-7, 6e-7, 3e-7])
    layer = add("CONV_2D", [q, weights, bias], "int16", 2e-4, padding="SAME")
    positive = add("RELU", [layer], "int16", 2e-4)
    gate = add("LOGISTIC", [add("LEAKY_RELU", [q], "int16", 3e-4, alpha=0.1)], "int16", 2**-15)
    real = add("DEQUANTIZE", [gate], "float32")
    narrow = add("QUANTIZE", [add("SQRT", [add("ABS", [positive], "int16", 1e-4)], "int16", 1e-4)], "int8", 0.02)
    w.output(real, narrow, add("CAST", [add("EXP", [real], "float32")], "int32"))
    assert "RELU" not in {op.kind for op in check(w.finish(), **mode).plan.graph.ops}


@needs_litert
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_layers_clamp_to_the_unit_interval(dtype: str) -> None:
    net = Net(dtype=dtype)
    layer = net.conv(net.input(1, 5, 4, 3), 2)
    model = net.finish(net.op("RELU_0_TO_1", [layer], quant=net.quants[layer]))
    assert [op.kind for op in check(model).plan.graph.ops] == ["CONV_2D"]


def test_gelu_in_c() -> None:
    layers = [Config("GELU", "int16", (0.0003, 7), (0.0002, -4), approximate=a) for a in (False, True)]
    result = verify(compile(model(layers, 1001)), RAMP, sanitize=True)
    assert result.passed and "depends on the C library" in result.reference, result.mismatches
    exact_on("cortex-m4", model(layers), RAMP)


def test_roots_of_negative_numbers() -> None:
    """LiteRT stops there; here they are the roots of zero."""
    data = model([Config("SQRT", "int8", (0.1, 0), (0.1, 5)), Config("RSQRT", "int8", (0.1, 0), (0.1, 5))])
    graph = tflite.parse(data, "model")
    codes = np.arange(-128, 128).astype(np.int8)
    roots, inverses = (graph.evaluate(dict.fromkeys(graph.inputs, codes))[t] for t in graph.outputs)
    assert set(roots[:129]) == {5} and set(inverses[:129]) == {127}
    result = verify(compile(data), RAMP)
    assert result.passed and "stops at negative numbers" in result.reference


def test_chains_become_one_table() -> None:
    """Each of these functions is a table, and so is a chain of all of them."""
    w = Writer("chain")
    x = w.input("x", (300,), "int8", 0.05, -128)
    for kind in ("ABS", "SQRT", "RSQRT", "LOG", "NEG", "EXP", "GELU", "ELU", "RELU_0_TO_1"):
        y = w.tensor(kind, (300,), "int8", 0.05, -20)
        w.op(kind, [x], [y])
        x = y
    w.output(x)
    data = w.finish()
    (table,) = compile(data).plan.graph.ops
    assert isinstance(table, LookupTable)
    values = np.arange(300).astype(np.int8)
    assert np.array_equal(table.values[values.astype(int) + 128], tflite.parse(data, "model").evaluate({0: values})[x])


def test_ranges_follow_the_table() -> None:
    g = graph(Config("SQRT", "int8", (1.0, -128), (0.5, -100)))
    (op,) = g.ops
    assert isinstance(op, Unary)
    found = op.range(g, [g.ranges[g.inputs[0]]])
    assert found is not None and (found.low.min(), found.high.max()) == (-100, -100 + int(2 * 255**0.5))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config("HARD_SWISH", "int16"), "int16 input is not supported"),
        (Config("RELU_N1_TO_1", "int16"), "int16 input is not supported"),
        (Config("SIN"), "int8 input is not supported"),
        (Config("SQUARE", "int32", None, None), "int32 input is not supported"),
        (Config("SIGN", "int64", None, None), "int64 input is not supported"),
        (Config("EXP", "int16", (0.001, 5), (0.001, 0)), "has the zero point 5, LiteRT wants 0"),
        (Config("LOG", "int16", None, None), "no per-tensor quantization"),
        (Config("EXP", "int8", None, None), "no per-tensor quantization"),
        (Config("ABS", "int16", (0.1, 0), None), "no per-tensor quantization"),
        (Config("ABS", "int8", (1.0, 0), (1e-10, 0)), "2\\^30 and more"),
        (Config("RSQRT", "int8", (1e-11, 0), (1e-10, 0)), "2\\^30 and more"),
        (Config("LOGISTIC", "int16", (0.001, 0), (0.001, 0)), "LiteRT wants 1/32768"),
        (Config("TANH", "int16", (0.001, 0), (2**-14, 0)), "LiteRT wants 1/32768"),
        (Config("TANH", "int16", (6.0, 0), (2**-15, 0)), "does not fit LiteRT's 32 bits"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        graph(config)


def test_other_types_and_arities_are_refused() -> None:
    w = Writer("types")
    x, y = w.input("x", (4,), "float32"), w.tensor("y", (4,), "int32")
    w.op("NEG", [x], [y])
    w.op("GELU", [x, x], [w.tensor("z", (4,), "float32")])
    w.output(y)
    with pytest.raises(UnsupportedError) as refused:
        tflite.parse(w.finish(), "model")
    assert "float32 input with int32 output" in str(refused.value) and "has 2 inputs" in str(refused.value)

"""Functions of two and more tensors against LiteRT, in every type that it takes, on random shapes and quantizations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute import reference
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array, Shape
from tests.helpers.support import batch, check, check_numpy, exact_on, examples, micro_agrees, needs_litert
from tests.ir.ops.elementwise.test_arithmetic import ACTIVATIONS, Shapes, computed_alone, shape_pairs

SIGNED = ("int8", "int16", "int32", "int64", "float32")
COMPARISONS = ("EQUAL", "NOT_EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL")
TYPES: dict[str, tuple[str, ...]] = {
    "ADD": ("int16", "int32", "int64"),
    "SUB": ("int16", "int32", "int64"),
    "MUL": ("int16", "int32", "int64"),
    "DIV": ("int8", "int16", "int32", "float32"),
    "PRELU": ("int16",),
    "MAXIMUM": (*SIGNED, "uint8"),
    "MINIMUM": (*SIGNED, "uint8"),
    "FLOOR_DIV": ("int8", "int16", "int32", "float32"),
    "FLOOR_MOD": SIGNED,
    "SQUARED_DIFFERENCE": ("int8", "int32", "float32"),
    "POW": ("int32", "float32"),
    "ATAN2": ("float32",),
    "BITWISE_XOR": ("int8", "uint8", "int16", "int32"),
    "RIGHT_SHIFT": ("int8", "uint8", "int16", "int32"),
    "LOGICAL_AND": ("bool",),
    "LOGICAL_OR": ("bool",),
    "EQUAL": (*SIGNED, "bool"),
    "NOT_EQUAL": (*SIGNED, "bool"),
    **dict.fromkeys(COMPARISONS[2:], SIGNED),
}
DIVISIONS = ("DIV", "FLOOR_DIV", "FLOOR_MOD")
FUSED = ("ADD", "SUB", "MUL", "DIV")
Quant = dict[str, Any]


@dataclass(frozen=True)
class Config:
    """One layer. `constant`: which operand is one, if any (an index, or -1). `scales`: of both operands and the output;
    none where numbers stand for themselves."""

    kind: str
    dtype: str
    shapes: Shapes = ((2, 3, 4), (2, 3, 4))
    constant: int = -1
    activation: str = "NONE"
    scales: tuple[float, float, float] | None = None
    zeros: tuple[int, int, int] = (0, 0, 0)
    options: dict[str, Any] = field(default_factory=dict)
    seed: int = 0

    def quant(self, position: int) -> Quant:
        return {} if self.scales is None else {"scale": self.scales[position], "zero_point": self.zeros[position]}

    def type_of(self, position: int) -> str:
        """The slopes of PRELU are int8."""
        return "int8" if self.kind == "PRELU" and position == 1 else self.dtype

    @property
    def output(self) -> tuple[str, Quant]:
        return ("bool", {}) if self.kind in COMPARISONS else (self.dtype, self.quant(2))


@st.composite
def configs(draw: st.DrawFn) -> Config:
    kind = draw(st.sampled_from(list(TYPES)))
    dtype = draw(st.sampled_from(TYPES[kind]))
    shapes = draw(shape_pairs())
    if kind == "ATAN2":
        shapes = (shapes[0], shapes[0])
    if kind == "PRELU":
        whole = np.broadcast_shapes(*shapes)
        shapes = (whole, shapes[1])
    scales = draw(_scales(kind, dtype))
    shifted = kind in ("ADD", "SUB") and scales is not None and all(np.log2(s) % 1 == 0 for s in scales)
    if shifted and kind == "ADD":
        shapes = (shapes[0], shapes[0])
    zero = st.integers(-128, 127) if scales is not None and dtype == "int8" else st.just(0)
    return Config(
        kind,
        dtype,
        shapes,
        draw(st.sampled_from([-1, -1, -1, 0, 1])),
        draw(st.sampled_from(ACTIVATIONS)) if kind in FUSED else "NONE",
        scales,
        (draw(zero), draw(zero), draw(zero)),
        {"pot_scale_int16": draw(st.booleans())} if kind in ("ADD", "SUB") and not shifted else {},
        draw(st.integers(0, 1 << 30)),
    )


@st.composite
def _scales(draw: st.DrawFn, kind: str, dtype: str) -> tuple[float, float, float] | None:
    """Such as LiteRT takes."""
    a, b, y = (float(np.float32(2.0 ** draw(st.floats(-9, -1)))) for _ in range(3))
    if dtype not in ("int8", "int16"):
        return None
    if kind == "DIV":  # what it shifts right by 32 places and more is undefined
        ratio = 2.0 ** draw(st.floats(7, 12)) if dtype == "int8" else 2.0 ** draw(st.floats(14.1, 14.9))
        return a, b, float(np.float32(a / b / ratio))
    if kind == "SQUARED_DIFFERENCE":
        return a, b, max(y, float(np.float32(max(a, b) ** 2 / 2000)))
    if dtype == "int16" and kind in ("ADD", "SUB"):
        one, other = draw(st.sampled_from([(4, 4), (4, 9), (9, 4), (12, 10)]))
        powers = (2.0**-one, 2.0**-other, 2.0 ** -min(one, other))
        return draw(st.sampled_from([powers, (a, b, y), (a, b, y)]))
    if kind == "MUL":
        return a, b, max(y, float(np.float32(2.1 * a * b)))
    plain = dtype == "int16" and kind in ("ADD", "MUL", "EQUAL", "LESS")
    return None if plain and draw(st.booleans()) else (a, b, y)


@dataclass
class Model:
    """A model of many layers."""

    writer: Writer = field(default_factory=lambda: Writer("pairs"))
    count: int = 0

    def layer(self, c: Config) -> int:
        rng, i = np.random.default_rng(c.seed), self.count
        self.count += 1
        operands = []
        for j, shape in enumerate(c.shapes):
            if j == c.constant:
                values = _bounded(c, j, _values(rng, shape, c.type_of(j)))
                operands.append(self.writer.const(f"c{i}_{j}", values, **c.quant(j)))
            else:
                x = self.writer.input(f"x{i}_{j}", shape, c.type_of(j), **c.quant(j))
                operands.append(self._within(c, j, x, shape, rng))
        dtype, quant = c.output
        y = self.writer.tensor(f"y{i}", np.broadcast_shapes(*c.shapes), dtype, **quant)
        fused = {"fused_activation_function": c.activation} if c.kind in FUSED else {}
        self.writer.op(c.kind, operands, [y], **fused, **c.options)
        self.writer.output(y)
        return y

    def _within(self, c: Config, position: int, x: int, shape: Shape, rng: np.random.Generator) -> int:
        """The operand, kept to numbers that LiteRT takes."""
        for kind, bound in _bounds(c, position, rng):
            limit = self.writer.const(f"limit{self.count}", np.array(bound, c.dtype), **c.quant(position))
            y = self.writer.tensor(f"within{self.count}", shape, c.dtype, **c.quant(position))
            self.writer.op(kind, [x, limit], [y])
            x = y
        return x

    def finish(self) -> bytes:
        return self.writer.finish()


def _bounds(c: Config, position: int, rng: np.random.Generator) -> list[tuple[str, float]]:
    """No divisors of zero (nor of -1, by which LiteRT divides the least number), no powers that overflow."""
    if c.kind in DIVISIONS and position == 1:
        zero = c.zeros[1] if c.kind == "DIV" else 0
        if c.dtype == "float32":
            return [("MAXIMUM", 0.01)]
        above = (zero < 100 and rng.random() < 0.6) or zero - 2 < -128
        return [("MAXIMUM", min(zero + 1, 127)) if above else ("MINIMUM", zero - 2)]
    if c.kind == "POW" and c.dtype == "int32":
        return [("MINIMUM", 8), ("MAXIMUM", -8 if position == 0 else 0)]
    return [("MAXIMUM", 0.05)] if c.kind == "POW" and position == 0 else []


def _bounded(c: Config, position: int, values: Array) -> Array:
    for kind, bound in _bounds(c, position, np.random.default_rng(c.seed)):
        values = (np.maximum if kind == "MAXIMUM" else np.minimum)(values, np.array(bound, c.dtype))
    return values


def _values(rng: np.random.Generator, shape: Shape, dtype: str) -> Array:
    """Numbers of all sizes."""
    if dtype == "float32":
        return rng.normal(0, 2, shape).astype(np.float32)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(np.bool_)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    anything = rng.integers(least, most, shape, np.int64, endpoint=True)
    some = rng.choice(np.array([least, most, 0, 1, 3], np.int64), shape)
    return np.where(rng.random(shape) < 0.6, anything, some).astype(dtype)


def model(*layers: Config) -> bytes:
    found = Model()
    for layer in layers:
        found.layer(layer)
    return found.finish()


def graph(*layers: Config) -> Graph:
    return tflite.parse(model(*layers), "model")


@needs_litert
@given(batch(configs(), 32, 16))
@settings(max_examples=examples(20), deadline=None)
def test_random_layers_in_numpy(layers: list[Config]) -> None:
    check_numpy(graph(*layers), model(*layers))


@needs_litert
@given(batch(configs(), 32, 16))
@settings(max_examples=examples(3, 1), deadline=None)
def test_random_layers(layers: list[Config]) -> None:
    check(model(*layers))


@needs_litert
@pytest.mark.parametrize(
    ("kind", "quants"),
    [
        ("DIV", ((0.05, -128), (0.05, -128), (0.004, -128))),
        ("DIV", ((0.5, 3), (0.01, -9), (0.25, 5))),
        ("SQUARED_DIFFERENCE", ((0.05, 3), (0.03, -7), (0.06, -128))),
        ("EQUAL", ((0.05, 3), (0.03, -7), (1.0, 0))),
        ("LESS", ((0.003, 100), (0.0027, 0), (1.0, 0))),
        ("GREATER_EQUAL", ((0.9, 0), (0.9, 0), (1.0, 0))),
    ],
)
def test_every_pair_of_int8(kind: str, quants: tuple[tuple[float, int], ...]) -> None:
    """Divisors are all but zero."""
    scales, zeros = zip(*quants, strict=True)
    c = Config(kind, "int8", ((256, 1), (1, 255)), 1, scales=scales, zeros=zeros)
    w = Writer("pairs")
    codes = np.arange(-128, 128).astype(np.int8)
    x = w.input("x", (256, 1), "int8", **c.quant(0))
    b = w.const("b", codes[codes != zeros[1]][None], **c.quant(1))
    dtype, quant = c.output
    y = w.tensor("y", (256, 255), dtype, **quant)
    w.op(kind, [x, b], [y])
    w.output(y)
    check_numpy(tflite.parse(w.finish(), "model"), w.finish(), inputs=6)


@needs_litert
def test_real_numbers_that_are_none() -> None:
    """Infinity, what is no number, and zeros with a sign, in all pairs."""
    numbers = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0, 3e38, -1e-40], np.float32)
    for kind in ("ADD", "MUL", "DIV", "MAXIMUM", "MINIMUM", "FLOOR_MOD", *COMPARISONS):
        c = Config(kind, "float32", ((9, 1), (1, 9)))
        g, run = graph(c), reference.litert(model(c))
        case = {g.inputs[0]: numbers[:, None], g.inputs[1]: numbers[None]}
        got, want = g.evaluate(case)[g.outputs[0]], run(case)
        assert want is not None
        np.testing.assert_array_equal(got, want[g.outputs[0]], kind)


WIDTHS = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")
SELECTIONS: list[tuple[str, tuple[Shape, Shape, Shape]]] = [
    ("SELECT", ((2, 3, 4), (2, 3, 4), (2, 3, 4))),
    ("SELECT", ((), (2, 3, 4), (2, 3, 4))),
    ("SELECT", ((2,), (2, 3, 4), (2, 3, 4))),
    ("SELECT", ((3,), (3, 1), (3, 1))),
    ("SELECT_V2", ((2, 3, 4), (2, 3, 4), (2, 3, 4))),
    ("SELECT_V2", ((4,), (2, 3, 1), (1, 3, 4))),
    ("SELECT_V2", ((2, 1, 1, 1), (5,), ())),
    ("SELECT_V2", ((1, 4, 1), (3, 1, 5), (3, 4, 1))),
    ("SELECT_V2", ((2, 1, 2, 1, 2, 1), (1, 3, 1, 2, 1, 3), (2, 1, 1, 1, 1, 3))),
    ("SELECT_V2", ((), (), ())),
]


def select(w: Writer, kind: str, dtype: str, shapes: tuple[Shape, Shape, Shape], constant: int = -1) -> None:
    """Of two tensors by a condition, one of which may be a constant."""
    rng = np.random.default_rng(len(dtype))
    operands = [
        w.const("constant", _values(rng, shape, t)) if p == constant else w.input("x", shape, t)
        for p, (shape, t) in enumerate(zip(shapes, ("bool", dtype, dtype), strict=True))
    ]
    out = w.tensor("out", np.broadcast_shapes(*(shapes[1:] if kind == "SELECT" else shapes)), dtype)
    w.op(kind, operands, [out])
    w.output(out)


def add_n(w: Writer, dtype: str, count: int, shape: Shape = (2, 3, 5), quants: Sequence[Quant] = ({}, {})) -> None:
    inputs = [w.input(f"x{i}", shape, dtype, **quants[0]) for i in range(count)]
    out = w.tensor("sum", shape, dtype, **quants[1])
    w.op("ADD_N", inputs, [out])
    w.output(out)


@needs_litert
def test_selections_and_sums_of_many() -> None:
    w = Writer("many")
    for n, (dtype, (kind, shapes)) in enumerate(product(("int8", "int16", "int64", "float32"), SELECTIONS)):
        select(w, kind, dtype, shapes, constant=n % 4 - 1)
    for dtype, count in product(("int32", "float32"), (2, 5)):
        add_n(w, dtype, count)
    check(w.finish(), inputs=6)


def exact_in_numpy(model: bytes, inputs: int = 6) -> None:
    """The C against the NumPy reference, where LiteRT has no result."""
    result = verify(compile(model, numerics="tflm"), inputs, sanitize=True)
    assert result.exact, result.mismatches


def test_int8_sums_of_many_are_those_of_tensorflow_lite_micro() -> None:
    """LiteRT has none."""
    every = Writer("every")
    for count, x, y in ((2, (0.05, 3), (0.06, -7)), (15, (0.01, -128), (0.13, 0)), (5, (0.5, 100), (0.5, 127))):
        w, quants = Writer("many"), [{"scale": s, "zero_point": z} for s, z in (x, y)]
        for model in (w, every):
            add_n(model, "int8", count, (256,), quants)
        micro_agrees(w.finish())
    exact_in_numpy(every.finish())


def test_squares_that_tensorflow_lite_micro_alone_has() -> None:
    """Of int16, and of int8 with an output of a small scale."""
    layers = [
        Config("SQUARED_DIFFERENCE", "int16", ((300,), (300,)), scales=(0.001, 0.0007, 0.03)),
        Config("SQUARED_DIFFERENCE", "int16", ((300,), (1,)), scales=(0.5, 0.5, 0.001)),
        Config("SQUARED_DIFFERENCE", "int8", ((256,), (256,)), scales=(0.5, 0.4, 1e-5), zeros=(3, -7, 11)),
    ]
    for layer in layers:
        micro_agrees(model(layer))
    exact_in_numpy(model(*layers))


def by_rows() -> bytes:
    """Layers on an image, each of rows of the one before, and of smaller tensors that are repeated."""
    w = Writer("rows")
    quants: list[Quant] = [{"scale": 0.05, "zero_point": z} for z in (3, -7, 11)]
    image, line, pixel = (1, 8, 6, 4), (1, 1, 6, 4), (1, 8, 1, 1)
    x, a, b = (w.input(n, s, "int8", **q) for n, s, q in zip("xab", (image, line, pixel), quants, strict=True))

    def op(kind: str, operands: list[int], dtype: str = "int8", quant: Quant = quants[0]) -> int:
        y = w.tensor(kind, image, dtype, **({} if dtype == "bool" else quant))
        w.op(kind, operands, [y])
        return y

    large = op("MAXIMUM", [x, a])
    small = op("MINIMUM", [b, large])
    square = op("SQUARED_DIFFERENCE", [small, a], quant={"scale": 0.5, "zero_point": -128})
    where = op("LOGICAL_OR", [op("LESS", [small, b], "bool"), op("EQUAL", [x, large], "bool")], "bool")
    w.output(op("SELECT_V2", [where, square, w.const("other", np.int8(5), **quants[1])]))
    return w.finish()


@needs_litert
def test_rows_are_computed_alone() -> None:
    compiled = check(by_rows(), inputs=6, least_ram=True)
    assert not any(step.whole for step in compiled.plan.steps)
    assert compiled.plan.arena < compile(by_rows(), optimize="speed").plan.arena


@pytest.mark.parametrize("shapes", [((2, 1, 4, 1), (1, 3, 1, 5)), ((3, 1), (1, 4)), ((5,), (3, 2, 2, 1, 1))])
def test_any_rows_can_be_computed(shapes: Shapes, tmp_path: Path) -> None:
    rng, whole = np.random.default_rng(0), np.broadcast_shapes(*shapes)
    operands = [_values(rng, shape, "int16") for shape in shapes]
    g = graph(Config("MAXIMUM", "int16", shapes))
    assert np.array_equal(computed_alone(g, operands, tmp_path), np.maximum(*operands))
    condition = _values(rng, (*whole[:-1], 1), "bool")
    w = Writer("select")
    select(w, "SELECT_V2", "int16", (condition.shape, *shapes))
    g = tflite.parse(w.finish(), "model")
    assert np.array_equal(computed_alone(g, [condition, *operands], tmp_path), np.where(condition, *operands))


FITTING: dict[tuple[str, str], tuple[float, float, float]] = {
    **{(kind, "int8"): (0.05, 0.03, 0.06) for kind in (*COMPARISONS, "SQUARED_DIFFERENCE")},
    **{(kind, "int16"): (0.05, 0.03, 0.06) for kind in ("ADD", "SUB", "MUL", "PRELU", "NOT_EQUAL")},
    ("DIV", "int8"): (0.05, 0.05, 0.004),
    ("DIV", "int16"): (2.0**-12, 2.0**-12, 2.0**-14.5),
}
"""Scales, where an operator wants some."""


def every_layer(most: int = len(WIDTHS)) -> Iterator[Config]:
    """Each function in all of its types, or in as many at most: of tensors of one shape, and of those that are
    repeated."""
    for kind, types in TYPES.items():
        for n, dtype in enumerate((*types[:1], *types[:0:-1])[:most]):
            other = (2, 3) if n % 2 == 0 else (1, 3)
            yield Config(kind, dtype, ((2, 3), other), scales=FITTING.get((kind, dtype)))
    yield Config("ADD", "int16", ((2, 3), (2, 3)), scales=(0.5, 0.125, 0.5))
    yield Config("MUL", "int16", ((2, 3), (1, 3)), activation="RELU")


def every_kernel(most: int = len(WIDTHS), sums: Sequence[str] = ("int32", "float32")) -> bytes:
    """The same in one model, with selections and sums of many tensors."""
    found = Model()
    for layer in every_layer(most):
        found.layer(layer)
    for dtype in WIDTHS[:most]:
        select(found.writer, "SELECT_V2", dtype, ((1, 2, 1), (2, 1, 3), (2, 2, 1)))
    for dtype in sums:
        quants = [{"scale": 0.05, "zero_point": 3}] * 2 if dtype == "int8" else [{}] * 2
        add_n(found.writer, dtype, 3, (3,), quants)
    return found.finish()


def test_on_a_small_core() -> None:
    exact_on("cortex-m4", every_kernel(1, ["int32"]), 2)


@pytest.mark.slow
def test_every_width_on_a_small_core() -> None:
    exact_on("cortex-m4", every_kernel())


def test_a_scalar_makes_a_table() -> None:
    """Of one int8 value, which fuses with the layers before and behind."""
    w = Writer("tables")
    quant: Quant = {"scale": 0.05, "zero_point": 3}
    x = w.input("x", (4, 64), "int8", **quant)
    for kind in ("MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "BITWISE_XOR", "FLOOR_MOD", "SUB"):
        operands = [x, w.const("constant", np.array([5], np.int8), **quant)]
        x = w.tensor(kind, (4, 64), "int8", **quant)
        w.op(kind, operands[:: -1 if kind in ("SQUARED_DIFFERENCE", "SUB") else 1], [x])
    w.output(x)
    g = tflite.parse(w.finish(), "model")
    assert all(op.table(g) is not None for op in g.ops)
    compiled = check(w.finish(), inputs=6)
    assert [step.kernel.name for step in compiled.plan.steps] == ["lut_s8"]


def test_what_litert_stops_at() -> None:
    """Integers divided by zero and by -1, negative exponents, powers that wrap."""
    w = Writer("zeros")
    scales = {"int8": FITTING["DIV", "int8"], "int16": FITTING["DIV", "int16"]}
    for kind, dtype in (*product(("DIV", "FLOOR_DIV", "FLOOR_MOD"), ("int8", "int16", "int32")), ("POW", "int32")):
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        c = Config(kind, dtype, ((6, 1), (1, 6)), scales=scales.get(dtype))
        operands = [w.input(n, s, dtype, **c.quant(p)) for p, (n, s) in enumerate(zip("ab", c.shapes, strict=True))]
        y = w.tensor("y", (6, 6), dtype, **c.quant(2))
        w.op(kind, operands, [y])
        w.output(y)
        g = tflite.parse(w.finish(), "model")
        values = np.array([0, -1, 1, least, most, 7], dtype)
        (got,) = g.ops[-1].evaluate(g, [values[:, None], values[None]])
        if kind == "POW":
            assert got[5].tolist() == [1, 0, 7, 0, pow(7, most, 1 << 32) - (1 << 32), 823543]
        else:
            assert not got[:, 0].any()
        if kind == "FLOOR_MOD":
            assert not got[:, 1].any()
        if kind == "FLOOR_DIV" or (kind, dtype) == ("DIV", "int32"):
            assert got[3:, 1].tolist() == [most if kind == "DIV" else least, -most, -7]
    exact_in_numpy(w.finish())


@needs_litert
def test_masks_of_infinity() -> None:
    """As attention has them: before SOFTMAX, elements that do not count are infinitely small."""
    w = Writer("masked")
    mask = np.tril(np.ones((4, 4), np.bool_))
    x = w.input("x", (2, 4, 4), "float32")
    scores, sums, most, y = (w.tensor(f"t{i}", (2, 4, 4), "float32") for i in range(4))
    small = w.const("small", np.float32(-np.inf))
    w.op("SELECT_V2", [w.const("mask", mask[None]), x, small], [scores])
    w.op("ADD", [scores, w.const("bias", np.where(mask, 0, -np.inf)[None].astype(np.float32))], [sums])
    w.op("MAXIMUM", [sums, small], [most])
    w.op("SOFTMAX", [most], [y])
    w.output(scores, y)
    check(w.finish(), inputs=6)
    with pytest.raises(UnsupportedError, match="infinity or NaN"):
        tflite.parse(built("MUL", [FLOATS, np.float32(np.inf)], FLOATS), "model")
    with pytest.raises(UnsupportedError, match="infinity or NaN"):
        tflite.parse(built("ADD", [FLOATS, np.float32(np.nan)], FLOATS), "model")


@needs_litert
def test_quantized_uint8() -> None:
    """It is int8 inside."""
    w = Writer("uint8")
    quants: list[Quant] = [{"scale": 0.05, "zero_point": z} for z in (120, 3, 0)]
    x, y = (w.input(n, (2, 70), "uint8", **q) for n, q in zip("xy", quants, strict=False))

    def op(kind: str, operands: list[int], dtype: str, quant: Quant) -> int:
        out = w.tensor(kind, (2, 70), dtype, **quant)
        w.op(kind, operands, [out])
        w.output(out)
        return out

    large = op("MAXIMUM", [y, w.const("above", np.array([[4]], np.uint8), **quants[1])], "uint8", quants[1])
    quotient = op("DIV", [x, large], "uint8", {"scale": 0.004, "zero_point": 128})
    truths = [op(kind, [x, y], "bool", {}) for kind in COMPARISONS]
    op("SELECT_V2", [truths[2], x, quotient], "uint8", quants[0])
    check(w.finish(), inputs=6)


SCALES = (0.05, 0.03, 0.06)


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config("MAXIMUM", "bool"), "bool input is not supported"),
        (Config("LOGICAL_AND", "int32"), "int32 input is not supported"),
        (Config("DIV", "int64"), "int64 input is not supported"),
        (Config("POW", "int8", scales=SCALES), "int8 input is not supported"),
        (Config("SQUARED_DIFFERENCE", "int8", scales=(3e4, 3e4, 1e-6)), "too small"),
        (Config("SQUARED_DIFFERENCE", "int16", scales=SCALES, zeros=(1, 0, 0)), "another zero point than 0"),
        (Config("SUB", "int16"), "no per-tensor quantization"),
        (Config("ADD", "int16", scales=SCALES, zeros=(0, 1, 0)), "another zero point than 0"),
        (Config("MUL", "int16", scales=SCALES, zeros=(0, 0, 1)), "another zero point than 0"),
        (Config("MUL", "int16", scales=(1.0, 1.0, 0.5)), "too small"),
        (Config("ADD", "int16", scales=(0.5, 0.25, 1.0)), "must be the larger one"),
        (Config("ADD", "int16", ((2, 3), (3,)), scales=(0.5, 0.25, 0.5)), "LiteRT aborts"),
        (Config("EQUAL", "int8"), "no per-tensor quantization"),
        (Config("LESS", "int8", scales=(1.0, 0.5, 1.0)), "scales of 1 and more"),
        (Config("NOT_EQUAL", "int16"), "LiteRT computes nothing"),
        (Config("ATAN2", "float32", ((2, 3), (3,))), "LiteRT does not broadcast ATAN2"),
        (Config("MINIMUM", "int32", ((1,) * 7, (2,))), "more than 6 axes"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        graph(config)


def built(kind: str, inputs: Sequence[tuple[str, Shape] | Array], output: tuple[str, Shape]) -> bytes:
    """A layer of any inputs: types and shapes, or constants."""
    w = Writer("built")
    operands = [w.input("x", i[1], i[0]) if isinstance(i, tuple) else w.const("c", i) for i in inputs]
    y = w.tensor("y", output[1], output[0])
    w.op(kind, operands, [y])
    w.output(y)
    return w.finish()


INTS, FLOATS, TRUTHS = ("int32", (2, 3)), ("float32", (2, 3)), ("bool", (2, 3))


@pytest.mark.parametrize(
    ("kind", "inputs", "output", "reason"),
    [
        ("MAXIMUM", [INTS], INTS, "has 1 inputs"),
        ("MAXIMUM", [INTS, FLOATS], INTS, "int32 input with float32 input"),
        ("MAXIMUM", [INTS, INTS], FLOATS, "int32 input with float32 output"),
        ("LESS", [INTS, FLOATS], TRUTHS, "int32 and float32 inputs"),
        ("LESS", [INTS, INTS], INTS, "with int32 output"),
        ("MINIMUM", [INTS, ("int32", (2,))], INTS, "do not fit each other"),
        ("DIV", [INTS, np.int32([1, 0, 2])], INTS, "division by a constant zero"),
        ("FLOOR_DIV", [FLOATS, np.float32([0])], FLOATS, "division by a constant zero"),
        ("FLOOR_MOD", [INTS, np.int32(0)], INTS, "division by a constant zero"),
        ("POW", [INTS, np.int32(-1)], INTS, "a negative exponent"),
        ("SELECT", [INTS, INTS, INTS], INTS, "a condition of type int32"),
        ("SELECT", [TRUTHS, INTS, FLOATS], INTS, "int32 and float32 inputs"),
        ("SELECT", [TRUTHS, INTS, ("int32", (3,))], INTS, "which SELECT requires to be equal"),
        ("SELECT", [("bool", (3,)), INTS, INTS], INTS, "does not fit inputs"),
        ("SELECT_V2", [("bool", (2,)), INTS, INTS], INTS, "do not fit each other"),
        ("SELECT_V2", [TRUTHS, INTS], INTS, "has 2 inputs"),
        ("ADD_N", [INTS], INTS, "has 1 inputs"),
        ("ADD_N", [INTS, ("int32", (3,))], INTS, "are not equal"),
        ("ADD_N", [TRUTHS, TRUTHS], TRUTHS, "bool input is not supported"),
        ("ADD_N", [INTS] * 121, INTS, "more than 120"),
        ("PRELU", [("int16", (2, 3)), ("int16", (3,))], ("int16", (2, 3)), "int16 input is not supported"),
    ],
)
def test_refused(kind: str, inputs: list[tuple[str, Shape] | Array], output: tuple[str, Shape], reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(built(kind, inputs, output), "model")


def test_int8_sums_of_many_have_one_scale() -> None:
    w = Writer("many")
    quants = [{"scale": s, "zero_point": 0} for s in (0.5, 0.25, 0.5)]
    inputs = [w.input("x", (3,), "int8", **q) for q in quants[:2]]
    w.op("ADD_N", inputs, [y := w.tensor("y", (3,), "int8", **quants[2])])
    w.output(y)
    with pytest.raises(UnsupportedError, match="different scales"):
        tflite.parse(w.finish(), "model")

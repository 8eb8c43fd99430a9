"""Models of functions of two and more tensors: any type, shapes, quantizations, constants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array, Shape
from tests.ir.ops.elementwise.test_arithmetic import ACTIVATIONS, Shapes, shape_pairs

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
def configs(draw: st.DrawFn, kinds: Sequence[str] = tuple(TYPES)) -> Config:
    kind = draw(st.sampled_from(kinds))
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
                values = _bounded(c, j, random_values(rng, shape, c.type_of(j)))
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


def random_values(rng: np.random.Generator, shape: Shape, dtype: str) -> Array:
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
        w.const("constant", random_values(rng, shape, t)) if p == constant else w.input("x", shape, t)
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


def exact_in_numpy(model: bytes, inputs: int = 6) -> None:
    """The C against the NumPy reference, where LiteRT has no result."""
    result = verify(compile(model, numerics="tflm"), inputs, sanitize=True)
    assert result.exact, result.mismatches


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


def built(kind: str, inputs: Sequence[tuple[str, Shape] | Array], output: tuple[str, Shape]) -> bytes:
    """A layer of any inputs: types and shapes, or constants."""
    w = Writer("built")
    operands = [w.input("x", i[1], i[0]) if isinstance(i, tuple) else w.const("c", i) for i in inputs]
    y = w.tensor("y", output[1], output[0])
    w.op(kind, operands, [y])
    w.output(y)
    return w.finish()


INTS, FLOATS, TRUTHS = ("int32", (2, 3)), ("float32", (2, 3)), ("bool", (2, 3))

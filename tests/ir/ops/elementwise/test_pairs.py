"""Functions of two tensors against LiteRT, in every type that it takes, on random shapes and quantizations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from mote.base.errors import UnsupportedError
from mote.bench.execute import reference
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array, Shape
from tests.helpers.support import batch, check, check_numpy, exact_on, examples, needs_litert
from tests.ir.ops.elementwise.pair_models import (
    COMPARISONS,
    FLOATS,
    INTS,
    TRUTHS,
    Config,
    Quant,
    built,
    configs,
    every_kernel,
    graph,
    model,
    random_values,
    select,
)
from tests.ir.ops.elementwise.test_arithmetic import Shapes, computed_alone


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
    operands = [random_values(rng, shape, "int16") for shape in shapes]
    g = graph(Config("MAXIMUM", "int16", shapes))
    assert np.array_equal(computed_alone(g, operands, tmp_path), np.maximum(*operands))
    condition = random_values(rng, (*whole[:-1], 1), "bool")
    w = Writer("select")
    select(w, "SELECT_V2", "int16", (condition.shape, *shapes))
    g = tflite.parse(w.finish(), "model")
    assert np.array_equal(computed_alone(g, [condition, *operands], tmp_path), np.where(condition, *operands))


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
    ("config", "error"),
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
def test_errors_of_types_and_quantizations(config: Config, error: str) -> None:
    with pytest.raises(UnsupportedError, match=error):
        graph(config)


@pytest.mark.parametrize(
    ("kind", "inputs", "output", "error"),
    [
        ("MAXIMUM", [INTS], INTS, "has 1 inputs"),
        ("MUL", [FLOATS, np.float32(np.inf)], FLOATS, "infinity or NaN"),
        ("ADD", [FLOATS, np.float32(np.nan)], FLOATS, "infinity or NaN"),
        ("MAXIMUM", [INTS, FLOATS], INTS, "int32 input with float32 input"),
        ("MAXIMUM", [INTS, INTS], FLOATS, "int32 input with float32 output"),
        ("LESS", [INTS, FLOATS], TRUTHS, "int32 and float32 inputs"),
        ("LESS", [INTS, INTS], INTS, "with int32 output"),
        ("MINIMUM", [INTS, ("int32", (2,))], INTS, "do not fit each other"),
        ("PRELU", [("int16", (2, 3)), ("int16", (3,))], ("int16", (2, 3)), "int16 input is not supported"),
    ],
)
def test_errors(kind: str, inputs: Sequence[tuple[str, Shape] | Array], output: tuple[str, Shape], error: str) -> None:
    with pytest.raises(UnsupportedError, match=error):
        tflite.parse(built(kind, inputs, output), "model")

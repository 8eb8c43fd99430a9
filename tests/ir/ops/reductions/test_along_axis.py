"""ARG_MAX, ARG_MIN, CUMSUM, TOPK_V2 and SEGMENT_SUM against LiteRT, on random shapes, axes and types."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.bench.execute.stimuli import stimuli
from mote.compiler.kernels.contract import Call
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import check, check_on, exact_on, examples, micro_agrees, needs_litert

TYPES = {
    "ARG_MAX": ("int8", "uint8", "int32", "float32", "bool"),
    "ARG_MIN": ("int8", "uint8", "int32", "float32", "bool"),
    "CUMSUM": ("int32", "int64", "float32"),
    "TOPK_V2": ("int8", "uint8", "int16", "int32", "int64", "float32"),
    "SEGMENT_SUM": ("int32", "float32"),
}
INDICES = {"ARG_MAX": ("int32", "int64"), "ARG_MIN": ("int32", "int64"), "TOPK_V2": ("int32", "int16")}
ON_REFERENCE = tuple(kind for kind in TYPES if kind != "SEGMENT_SUM")
"""LiteRT has no reference kernel for the other one."""


@dataclass(frozen=True)
class Config:
    """`number`: the axis, or how many elements are wanted."""

    kind: str
    dtype: str
    shape: tuple[int, ...]
    number: int
    index: str = "int32"
    exclusive: bool = False
    reverse: bool = False
    segments: tuple[int, ...] = ()


@st.composite
def configs(draw: st.DrawFn) -> Config:
    kind = draw(st.sampled_from(ON_REFERENCE))
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5).map(tuple))
    number = draw(st.integers(1, shape[-1]) if kind == "TOPK_V2" else st.integers(-len(shape), len(shape) - 1))
    index = draw(st.sampled_from(INDICES.get(kind, ("int32",))))
    flags = draw(st.tuples(st.booleans(), st.booleans()))
    return Config(kind, draw(st.sampled_from(TYPES[kind])), shape, number, index, *flags)


def add(w: Writer, i: int, c: Config, x: int) -> None:
    """A layer whose outputs are the model's."""
    number = w.const(f"number{i}", np.int32(c.segments or c.number))
    left = list(c.shape)
    if c.kind == "TOPK_V2":
        left[-1] = c.number
        outputs = [w.tensor(f"y{i}", left, c.dtype), w.tensor(f"z{i}", left, c.index)]
        options: dict[str, object] = {}
    elif c.kind.startswith("ARG"):
        left = [n for k, n in enumerate(left) if k != c.number % len(left)] if abs(c.number) <= len(left) else left
        outputs, options = [w.tensor(f"y{i}", left, c.index)], {"output_type": c.index}
    elif c.kind == "SEGMENT_SUM":
        outputs, options = [w.tensor(f"y{i}", (max(c.segments) + 1, *left[1:]), c.dtype)], {}
    else:
        outputs = [w.tensor(f"y{i}", left, c.dtype)]
        options = {"exclusive": c.exclusive, "reverse": c.reverse}
    w.op(c.kind, [x, number], outputs, **options)
    w.output(*outputs)


def model(*layers: Config, shared: bool = False) -> bytes:
    """Layers with an input each, or all with the same."""
    w = Writer("along")
    for i, c in enumerate(layers):
        add(w, i, c, 0 if shared and i else w.input(f"x{i}", c.shape, c.dtype))
    return w.finish()


@pytest.mark.slow
@needs_litert
@given(st.lists(configs(), min_size=40, max_size=40))
@settings(max_examples=examples(3), deadline=None)
def test_random_configurations(layers: list[Config]) -> None:
    check(model(*layers), inputs=5)


@needs_litert
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_rows(dtype: str) -> None:
    """An output of one row that has the indices of every input row, and rows of their own."""
    shape = (1, 6, 5, 60)
    layers = [Config("ARG_MAX", dtype, shape, axis, index) for axis in (-1, 2) for index in ("int32", "int64")]
    layers += [Config("ARG_MIN", dtype, shape, 3), Config("TOPK_V2", dtype, shape, 3)]
    compiled = check(model(*layers, shared=True), inputs=4, input="rows", least_ram=True)
    assert {Call.ADDS, Call.FLAT} <= {step.kernel.entry.call for step in compiled.plan.steps}
    if dtype == "float32":
        sums = [Config("CUMSUM", dtype, shape, axis) for axis in (2, 3)]
        check(model(*sums, shared=True), inputs=4, input="rows", least_ram=True)


def test_segmentation_keeps_no_image() -> None:
    """Of the classes of each pixel there is a row at a time."""
    w = Writer("segmentation")
    x = w.input("x", (1, 12, 12, 2), "int8", 0.1)
    small = np.random.default_rng(0).integers(-9, 9, (20, 1, 1, 2)).astype(np.int8)
    y = w.tensor("y", (1, 12, 12, 20), "int8", 0.1)
    w.op("CONV_2D", [x, w.const("k", small, 0.1)], [y], padding="SAME")
    add(w, 0, Config("ARG_MAX", "int8", (1, 12, 12, 20), -1), y)
    assert compile(w.finish(), least_ram=True).plan.peak <= 12 * 12 * 2 + 12 * 20 + 2 * 12 * 12 * 4


@needs_litert
def test_ties_and_what_is_no_number() -> None:
    """Along the last axis LiteRT's ARG_MAX treats what is no number in one way or another, depending on its version."""
    none, most = np.nan, np.inf
    odd = [none, -most, none, -most], [most, none, most, 3], [none] * 4
    rows = np.float32([[none, 1, 2, 2], [0.0, -0.0, 0.0, none], [-1] * 4, *odd])
    layers = [Config(kind, "float32", (6, 4), 0) for kind in ("ARG_MAX", "ARG_MIN")]
    layers += [Config("TOPK_V2", "float32", (6, 4), k) for k in (1, 3, 4)]
    check_on(model(*layers), [rows] * len(layers), [np.flip(rows).copy()] * len(layers))
    ties = np.float32([[1, 2, 2], [0.0, -0.0, 0.0], [most, -most, most]])
    last = [Config(kind, "float32", (3, 3), 1) for kind in ("ARG_MAX", "ARG_MIN")]
    check_on(model(*last), [ties] * 2, [-ties] * 2)


@needs_litert
def test_segment_sum() -> None:
    """Against LiteRT's other kernels."""
    from ai_edge_litert.interpreter import Interpreter

    shapes = {(6, 3): (0, 0, 1, 1, 1, 2), (4,): (0, 1, 2, 3), (5, 2, 2): (0, 0, 0, 0, 0)}
    for dtype in TYPES["SEGMENT_SUM"]:
        data = model(*(Config("SEGMENT_SUM", dtype, shape, 0, segments=ids) for shape, ids in shapes.items()))
        result = verify(compile(data), 4, sanitize=True)
        assert result.passed and "no reference kernel" in result.reference
        graph, interpreter = tflite.parse(data, "segments"), Interpreter(model_content=data)
        interpreter.allocate_tensors()
        for case in stimuli(graph, 4):
            for t, value in case.items():
                interpreter.set_tensor(t, value)
            interpreter.invoke()
            ours = graph.evaluate(case)
            for t in graph.outputs:
                np.testing.assert_allclose(ours[t], interpreter.get_tensor(t), rtol=1e-5)


def int8_sums(*layers: Config, seed: int = 0, writer: Writer | None = None) -> bytes:
    """Running sums between random scales and zero points, behind what the writer has."""
    rng = np.random.default_rng(seed)
    w = writer or Writer("sums")
    for i, c in enumerate(layers):
        quants = [(float(rng.uniform(0.01, 0.1)), int(rng.integers(-128, 128))) for _ in range(2)]
        x, y = w.input(f"s{i}", c.shape, "int8", *quants[0]), w.tensor(f"t{i}", c.shape, "int8", *quants[1])
        axis = w.const(f"axis{i}", np.int32(c.number))
        w.op("CUMSUM", [x, axis], [y], exclusive=c.exclusive, reverse=c.reverse)
        w.output(y)
    return w.finish()


def test_int8_sums() -> None:
    """They are TFLite Micro's."""
    layers = [
        Config("CUMSUM", "int8", (2, 3, 40), axis, "", exclusive, reverse)
        for axis in (0, 1, -1)
        for exclusive in (False, True)
        for reverse in (False, True)
    ]
    result = verify(compile(int8_sums(*layers)), 4, sanitize=True)
    assert result.exact and "no CUMSUM of int8" in result.reference
    for seed, layer in enumerate(layers):
        micro_agrees(int8_sums(layer, seed=seed))


def every() -> list[Config]:
    """A layer of every kind and type."""
    shape = (2, 3, 4)
    layers = [Config(kind, dtype, shape, 1) for kind in ON_REFERENCE for dtype in TYPES[kind]]
    others = [Config(kind, TYPES[kind][0], shape, 2, INDICES.get(kind, "?")[-1], True, True) for kind in ON_REFERENCE]
    return layers + others


@pytest.mark.slow
@needs_litert
def test_on_a_core() -> None:
    exact_on("cortex-m4", model(*every()))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config("ARG_MAX", "int8", (2, 3), 2), "axis .2. does not fit"),
        (Config("ARG_MAX", "int16", (2, 3), 1), "int16 input is not supported"),
        (Config("ARG_MAX", "int8", (2, 3), 1, "int16"), "int16 indices are not supported"),
        (Config("CUMSUM", "int8", (2, 3), 1), "has no per-tensor quantization"),
        (Config("CUMSUM", "int16", (2, 3), 1), "int16 input is not supported"),
        (Config("CUMSUM", "int32", (2, 3), -3), "axis .-3. does not fit"),
        (Config("TOPK_V2", "int8", (2, 3), 4), "the .4. largest elements"),
        (Config("TOPK_V2", "bool", (2, 3), 2), "bool input is not supported"),
        (Config("TOPK_V2", "int8", (2, 3), 2, "int64"), "int64 indices are not supported"),
        (Config("TOPK_V2", "int8", (1, 40000), 2, "int16"), "do not fit int16"),
        (Config("SEGMENT_SUM", "int32", (3,), 0, segments=(0, 2, 2)), "segments .0, 2, 2. do not fit"),
        (Config("SEGMENT_SUM", "int32", (3,), 0, segments=(0, 1)), "segments .0, 1. do not fit"),
        (Config("SEGMENT_SUM", "int64", (2,), 0, segments=(0, 1)), "int64 input is not supported"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(model(config), "model")

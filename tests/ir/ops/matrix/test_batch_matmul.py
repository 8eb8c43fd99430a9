"""BATCH_MATMUL against LiteRT: shapes, broadcasting, operands that lie either way round, types, quantization."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import check, exact_on, examples, needs_litert

pytestmark = needs_litert
Shapes = tuple[tuple[int, ...], tuple[int, ...]]
TYPES = (
    ("int8", "int8", "int8"),
    ("int8", "int8", "int8"),
    ("int16", "int16", "int16"),
    ("int16", "int8", "int16"),
    ("float32", "float32", "float32"),
    ("int8", "int8", "int32"),
)


@dataclass(frozen=True)
class Config:
    """One layer: the axes before the matrices, their sizes, which operand is turned, which one is a constant (an index,
    or -1), and how far results go of what their type holds."""

    types: tuple[str, str, str] = TYPES[0]
    batches: Shapes = ((), ())
    sizes: tuple[int, int, int] = (3, 4, 5)
    turned: tuple[bool, bool] = (False, False)
    constant: int = -1
    zeros: tuple[int, int, int] = (0, 0, 0)
    gain: float = 1.0
    seed: int = 0

    @property
    def shapes(self) -> Shapes:
        rows, depth, columns = self.sizes
        left = (depth, rows) if self.turned[0] else (rows, depth)
        right = (columns, depth) if self.turned[1] else (depth, columns)
        return (*self.batches[0], *left), (*self.batches[1], *right)

    @property
    def result(self) -> tuple[int, ...]:
        return (*np.broadcast_shapes(*self.batches), self.sizes[0], self.sizes[2])


@st.composite
def batches(draw: st.DrawFn) -> Shapes:
    shape = tuple(draw(st.lists(st.integers(1, 3), max_size=3)))
    kept = [tuple(n if draw(st.booleans()) else 1 for n in shape) for _ in range(2)]
    cut = draw(st.integers(0, len(shape)))
    return draw(st.sampled_from([(shape, shape), (shape, kept[0][cut:]), (kept[0], kept[1]), (kept[1][cut:], shape)]))


def configs() -> st.SearchStrategy[Config]:
    sizes = st.integers(1, 9)
    zeros = st.integers(-128, 127)
    return st.builds(
        Config,
        types=st.sampled_from(TYPES),
        batches=batches(),
        sizes=st.tuples(sizes, st.integers(1, 20), sizes),
        turned=st.tuples(st.booleans(), st.booleans()),
        constant=st.sampled_from([-1, -1, -1, 0, 1]),
        zeros=st.tuples(zeros, zeros | st.just(0), zeros),
        gain=st.sampled_from([0.02, 0.3, 1.0, 30.0]),
        seed=st.integers(0, 1 << 30),
    )


def any_values(rng: np.random.Generator, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    if dtype == "float32":
        return rng.normal(0, 2, shape).astype(np.float32)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


def add_layer(w: Writer, i: int, c: Config) -> None:
    rng = np.random.default_rng(c.seed)
    zeros = c.zeros if c.types[0] == "int8" else (0, 0, 0)
    scales = rng.uniform(0.01, 0.1, 2).tolist()
    spread = {"int8": 127 * 70, "int16": 70 * 127 if c.types[1] == "int8" else 19000}.get(c.types[0], 1)
    result = float(scales[0] * scales[1] * spread * c.sizes[1] ** 0.5 / 60 * c.gain)
    operands = []
    for j, shape in enumerate(c.shapes):
        quant = {} if c.types[j] == "float32" else {"scale": scales[j], "zero_point": zeros[j]}
        name = f"x{i}_{j}"
        if j == c.constant:
            operands.append(w.const(name, any_values(rng, c.types[j], shape), **quant))
        else:
            operands.append(w.input(name, shape, c.types[j], **quant))
    quant = {} if c.types[2] in ("float32", "int32") else {"scale": result, "zero_point": zeros[2]}
    y = w.tensor(f"y{i}", c.result, c.types[2], **quant)
    w.op("BATCH_MATMUL", operands, [y], adj_x=c.turned[0], adj_y=c.turned[1], version=4)
    w.output(y)


def model(*layers: Config) -> bytes:
    w = Writer("products")
    for i, c in enumerate(layers):
        add_layer(w, i, c)
    return w.finish()


@given(st.lists(configs(), min_size=16, max_size=16))
@settings(max_examples=examples(3), deadline=None)
def test_random_products(layers: list[Config]) -> None:
    check(model(*layers))


SCALES = {"int8": (0.05, 0.5, 8.0), "int16": (0.05, 150.0, 8e5)}
"""Of inputs, of products, and of products with those."""


def chain(dtype: str, batch: tuple[int, ...], turned: bool, rows: int = 16) -> bytes:
    """A product that is wide, of which another one makes little."""
    w = Writer("chain")
    zero = 0 if dtype == "int16" else 5
    quants = [{"scale": s, "zero_point": zero} for s in SCALES[dtype]] if dtype in SCALES else [{}] * 3
    wide = 4 * rows
    sizes = ((rows, 4), (4, wide), (wide, 2))
    names = ("x", "z", "v")
    shapes = [(*batch, *(s[::-1] if turned and i else s)) for i, s in enumerate(sizes)]
    x, z, v = (w.input(name, shape, dtype, **quants[0]) for name, shape in zip(names, shapes, strict=True))
    y = w.tensor("y", (*batch, rows, wide), dtype, **quants[1])
    small = w.tensor("small", (*batch, rows, 2), dtype, **quants[2])
    w.op("BATCH_MATMUL", [x, z], [y], adj_y=turned, version=4)
    w.op("BATCH_MATMUL", [y, v], [small], adj_y=turned, version=4)
    w.output(small)
    return w.finish()


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("dtype", "batch", "turned"),
    [("int8", (), False), ("int16", (), True), ("float32", (), False), ("int8", (3, 2), False)],
)
def test_products_run_by_rows(dtype: str, batch: tuple[int, ...], turned: bool) -> None:
    """Lines of matrices, and matrices of batches."""
    compiled = check(chain(dtype, batch, turned), inputs=1, least_ram=True)
    assert not any(step.whole for step in compiled.plan.steps)


def test_constant_matrices_are_layers() -> None:
    plain = Config(batches=((2, 3), (1,)), constant=1, zeros=(7, 0, -3))
    real = Config(("float32",) * 3, ((2,), ()), turned=(False, True), constant=1)
    wide = Config(("int16", "int8", "int16"), ((2,), ()), turned=(False, True), constant=1)
    kept = Config(batches=((2,), ()), constant=1, zeros=(7, 9, -3))
    compiled = check(model(plain, real, wide, kept))
    assert [op.kind for op in compiled.plan.graph.ops] == ["FULLY_CONNECTED"] * 3 + ["BATCH_MATMUL"]


@pytest.mark.slow
def test_on_cores() -> None:
    layers = [
        Config(types, ((2, 1), (3,)), (5, 17, 6), turned, zeros=(-128, 127, 4), gain=0.3)
        for types in TYPES
        for turned in ((False, False), (True, True), (False, True))
    ]
    for core in ("cortex-m4", "rv32imc"):
        exact_on(core, model(*layers))


def test_rows_of_a_stream() -> None:
    """Rows of the left matrix come one by one."""
    w = Writer("stream")
    quant = {"scale": 0.3, "zero_point": 7}
    x = w.input("x", (1, 12, 4), "int8", 0.05, 3)
    k = w.const("k", any_values(np.random.default_rng(0), "int8", (4, 5)), 0.02, 9)
    y, mean = w.tensor("y", (1, 12, 5), "int8", **quant), w.tensor("mean", (1, 5), "int8", **quant)
    w.op("BATCH_MATMUL", [x, k], [y], version=4)
    w.op("MEAN", [y, w.const("axis", np.int32([1]))], [mean])
    w.output(mean)
    compiled = compile(w.finish(), stream=1)
    assert compiled.plan.graph.ops[0].output(compiled.plan.graph).shape == (1, 1, 5)
    assert verify(compiled, 4, sanitize=True).exact


def test_sums_that_wrap() -> None:
    deep = Config(sizes=(1, 140_000, 1), turned=(False, True), zeros=(-128, 127, 0), gain=1000.0)
    assert check(model(deep), inputs=1).plan.graph.sums_wrap


@pytest.mark.parametrize(
    ("shapes", "types", "why"),
    [
        (((4,), (4, 4), (4, 4)), ("int8",) * 3, "must have 2 to 5 axes"),
        (((2, 3), (4, 2), (2, 2)), ("int8",) * 3, "do not fit each other"),
        (((2, 2, 3), (3, 3, 2), (2, 2, 2)), ("int8",) * 3, "do not fit each other"),
        (((2, 3), (3, 2), (2, 2)), ("int8", "int16", "int16"), "int8 matrices times int16 ones with int16 results"),
        (((2, 3), (3, 2), (2, 2)), ("int32", "int32", "int32"), "int32 matrices times int32 ones"),
        (((1, 1 << 18), (1 << 18, 1), (1, 1)), ("int16",) * 3, r"sums of 262,144 products .* \(131,072 at most\)"),
    ],
)
def test_what_is_refused(
    shapes: tuple[tuple[int, ...], ...], types: tuple[str, ...], why: str, zero: int = 0, scale: float = 0.5
) -> None:
    w = Writer("refused")
    left, right, result = zip(shapes, types, strict=True)
    x = w.input("x", *left, scale=0.5, zero_point=zero)
    z = w.input("z", *right, scale=0.5)
    y = w.tensor("y", *result, scale=scale)
    w.op("BATCH_MATMUL", [x, z], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match=why):
        tflite.parse(w.finish(), "model")


def test_what_quantization_is_refused() -> None:
    shapes = ((2, 3), (3, 2), (2, 2))
    test_what_is_refused(shapes, ("int16",) * 3, "a zero point that is not 0", zero=1)
    test_what_is_refused(shapes, ("int16",) * 3, r"multiplied by 2\^7 and more", scale=1e-3)
    test_what_is_refused(shapes, ("int8",) * 3, r"multiplied by 2\^30 and more", scale=1e-11)


def with_scales(dtype: str, turned: bool, axis: int | None = None) -> bytes:
    """A product with a constant int8 matrix that has a scale for each column."""
    w, rng = Writer("scales"), np.random.default_rng(0)
    x = w.input("x", (2, 3, 4), dtype, 0.01)
    matrix = rng.integers(-127, 128, (1, 5, 4) if turned else (1, 4, 5)).astype(np.int8)
    axis = (1 if turned else 2) if axis is None else axis
    scales = 0.01 * 2.0 ** np.arange(matrix.shape[axis])
    y = w.tensor("y", (2, 3, 5), dtype, 0.05 if dtype == "int16" else 2.0)
    w.op("BATCH_MATMUL", [x, w.const("w", matrix, scales, axis=axis)], [y], adj_y=turned, version=4)
    w.output(y)
    return w.finish()


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_constants_with_a_scale_for_each_column(dtype: str, turned: bool) -> None:
    """LiteRT's kernels compute zeros for them; converters write them all the same."""
    compiled = compile(with_scales(dtype, turned))
    result = verify(compiled, 2, sanitize=True)
    assert result.exact and result.reference == "numpy (LiteRT's BATCH_MATMUL treats per-channel scales as 0)"
    graph = compiled.source
    x = np.random.default_rng(1).integers(-100, 100, (2, 3, 4)).astype(dtype)
    w, y = (graph.tensors[t] for t in (graph.ops[0].inputs[1], graph.outputs[0]))
    assert w.data is not None and w.quant is not None
    want = (x * 0.01) @ (w.data * w.quant.scale[:, None]).T / y.scale
    assert np.abs(graph.evaluate({graph.inputs[0]: x})[y.id] - want).max() <= 0.501


def test_scales_along_the_depth_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="scales on axis 1 are not those of the result's columns"):
        compile(with_scales("int8", False, 1))

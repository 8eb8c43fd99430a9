"""SUM, REDUCE_MAX and their kin against LiteRT (and TFLite Micro), on random shapes, axes, types and quantizations."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.bench.evaluation.verify import verify
from mote.compiler.kernels.contract import Call
from mote.compiler.line import compile
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.ops.reductions.reduce import Sum
from tests.helpers.network import Net, Quant
from tests.helpers.support import batch, check, check_on, exact_on, examples, micro_agrees, needs_litert

NUMBERS = ("int8", "int16", "int32", "int64", "float32")
TYPES = {
    "MEAN": NUMBERS,
    "SUM": ("int32", "int64", "float32", "bool"),
    "REDUCE_MAX": (*NUMBERS, "uint8", "bool"),
    "REDUCE_MIN": (*NUMBERS, "uint8", "bool"),
    "REDUCE_PROD": (*NUMBERS, "uint8", "bool"),
    "REDUCE_ANY": ("bool",),
    "REDUCE_ALL": ("bool",),
}
"""Quantized sums are wrong in LiteRT's reference."""
PLAIN: Quant = (None, 0)


@dataclass(frozen=True)
class Config:
    kind: str = "REDUCE_MAX"
    dtype: str = "int8"
    shape: tuple[int, ...] = (1, 4, 5, 6)
    axes: tuple[int, ...] = (1, 2)
    keep_dims: bool = False
    input: Quant = PLAIN
    output: Quant = PLAIN


def quantized(draw: st.DrawFn, kind: str, dtype: str) -> tuple[Quant, Quant]:
    """Of the input and the output. int16 is symmetric, extremes keep the quantization, and products may have none."""
    if dtype not in ("int8", "int16") or (kind == "REDUCE_PROD" and draw(st.booleans())):
        return PLAIN, PLAIN
    zeros = st.integers(-128, 127) if dtype == "int8" else st.just(0)
    quant = st.tuples(st.floats(0.004, 0.2), zeros)
    first = draw(quant)
    return first, first if kind in ("REDUCE_MAX", "REDUCE_MIN") or draw(st.booleans()) else draw(quant)


@st.composite
def configs(draw: st.DrawFn, kinds: tuple[str, ...] = tuple(TYPES)) -> Config:
    kind = draw(st.sampled_from(kinds))
    dtype = draw(st.sampled_from(TYPES[kind]))
    shape = draw(st.lists(st.integers(1, 5), min_size=1, max_size=5).map(tuple))
    rank = len(shape)
    axes = st.lists(st.integers(-rank, rank - 1), min_size=1, max_size=rank).map(tuple)
    pixels = ((1, 2), (2, 1), (-1,)) if rank == 4 else ((0,), (-1,))
    chosen = draw(axes | st.sampled_from(pixels) | st.just(tuple(range(rank))))
    return Config(kind, dtype, shape, chosen, draw(st.booleans()), *quantized(draw, kind, dtype))


def add(w: Writer, i: int, c: Config, x: int) -> None:
    """A layer whose output is the model's."""
    axes = tuple({a % len(c.shape) for a in c.axes if -len(c.shape) <= a < len(c.shape)})
    shape = np.zeros(c.shape).sum(axis=axes, keepdims=c.keep_dims).shape
    y = w.tensor(f"y{i}", shape, c.dtype, *c.output)
    w.op(c.kind, [x, w.const(f"axes{i}", np.int32(c.axes))], [y], keep_dims=c.keep_dims)
    w.output(y)


def model(*layers: Config, shared: bool = False) -> bytes:
    """Layers with an input each, or all with the same."""
    w = Writer("reductions")
    for i, c in enumerate(layers):
        add(w, i, c, 0 if shared and i else w.input(f"x{i}", c.shape, c.dtype, *c.input))
    return w.finish()


@needs_litert
@given(batch(configs(), 40, 20))
@settings(max_examples=examples(3, 1), deadline=None)
def test_random_configurations(layers: list[Config]) -> None:
    check(model(*layers), inputs=5)


VARIETY = (
    ("REDUCE_MAX", "int8"),
    ("REDUCE_MIN", "float32"),
    ("MEAN", "int16"),
    ("SUM", "int32"),
    ("SUM", "float32"),
    ("REDUCE_ANY", "bool"),
)
OTHERS = (
    ("SUM", "int8"),
    ("REDUCE_PROD", "int8"),
    ("REDUCE_PROD", "int16"),
    ("REDUCE_PROD", "int64"),
    ("MEAN", "int64"),
    ("REDUCE_ALL", "bool"),
)
QUANTS = {"int8": ((0.1, 3), (0.1, 3)), "int16": ((0.1, 0), (0.2, 0))}


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize(("kind", "dtype"), [v for v in VARIETY if v != ("REDUCE_MIN", "float32")])
def test_rows_and_running_sums(kind: str, dtype: str) -> None:
    """One row made from many, one of each, and rows that are kept in an output of one row."""
    forms = [(axes, keep) for axes in ((1, 2), (3,), (1,), (1, 3), (1, 2, 3)) for keep in (False, True)]
    layers = [Config(kind, dtype, (1, 6, 5, 3), axes, keep, *QUANTS.get(dtype, ())) for axes, keep in forms]
    compiled = check(model(*layers, shared=True), inputs=4, input="rows")
    assert {Call.ADDS, Call.FLAT} <= {step.kernel.entry.call for step in compiled.plan.steps}


@pytest.mark.parametrize(("kind", "sum_bytes"), [("SUM", 4), ("REDUCE_MAX", 1)])
def test_global_pooling_keeps_no_image(kind: str, sum_bytes: int) -> None:
    """A layer in one of its rows, and running sums: much less than its whole output."""
    net = Net()
    y = net.conv(net.input(1, 16, 16, 2, quant=(0.05, 0)), 24, 1)
    z = net.op(kind, [y, net.ints(1, 2)], (1, 24), net.quants[y])
    compiled = compile(net.finish(z), least_ram=True)
    assert compiled.plan.peak <= 16 * 16 * 2 + 16 * 24 + sum_bytes * 24 + 24


@needs_litert
def test_what_is_no_finite_number() -> None:
    least, none = -np.inf, np.nan
    rows = np.float32([[least, least], [none, 1], [1, none], [none, none], [-np.inf, np.inf], [0.0, -0.0]])
    layers = [Config(kind, "float32", (6, 2), axes) for kind in ("REDUCE_MAX", "REDUCE_MIN") for axes in ((1,), (0, 1))]
    check_on(model(*layers), [rows] * 4, [np.flip(rows)] * 4, [np.full_like(rows, least)] * 4)


@needs_litert
def test_integers_wrap() -> None:
    layers = [Config(kind, t, (2, 9), (1,)) for kind in ("SUM", "REDUCE_PROD") for t in ("int32", "int64")]
    ends = [np.full((2, 9), np.iinfo(c.dtype).max, c.dtype) for c in layers]
    check_on(model(*layers, Config("MEAN", "int64", (2, 9), (1,))), [*ends, ends[1]], [*(~x for x in ends), ~ends[1]])


def sums(seed: int, dtype: str) -> Config:
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(1, 5, rng.integers(1, 5)))
    axes = tuple(int(a) for a in rng.integers(-len(shape), len(shape), rng.integers(1, 3)))
    quants = [(float(rng.uniform(0.01, 0.3)), int(rng.integers(-128, 128)) * (dtype == "int8")) for _ in range(2)]
    return Config("SUM", dtype, shape, axes, bool(seed % 2), *quants)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_quantized_sums(dtype: str) -> None:
    """LiteRT's reference reads their bytes as uint8, so that TFLite Micro is the judge."""
    layers = [sums(seed, dtype) for seed in range(24)]
    data = model(*layers)
    graph = tflite.parse(data, "sums")
    assert all(op.misjudged(graph) for op in graph.ops if isinstance(op, Sum))
    result = verify(compile(data), 4, sanitize=True)
    assert result.exact and result.reference.startswith("numpy (LiteRT's reference takes")
    for layer in layers:
        micro_agrees(model(layer))


@needs_litert
def test_sums_of_uint8() -> None:
    """They become int8 inside, with the same arithmetic, and LiteRT has them right."""
    layers = [sums(seed, "int8") for seed in range(24)]
    quants = [[(scale, zero + 128) for scale, zero in (c.input, c.output)] for c in layers]
    found = [replace(c, dtype="uint8", input=x, output=y) for c, (x, y) in zip(layers, quants, strict=True)]
    assert verify(check(model(*found), inputs=5), 1, sanitize=True).reference == "LiteRT BUILTIN_REF"


@pytest.mark.slow
@needs_litert
def test_on_a_core() -> None:
    kinds = (*VARIETY, *OTHERS)
    layers = [
        Config(k, t, (1, 3, 4, 5), axes, False, *QUANTS.get(t, ())) for k, t in kinds for axes in ((1, 2), (1, 3))
    ]
    exact_on("cortex-m4", model(*layers))


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (Config(axes=(4,), input=(0.1, 0), output=(0.1, 0)), "axes .4. do not fit an input of 4 axes"),
        (Config(input=(0.1, 0), output=(0.1, 1)), "LiteRT wants the input's"),
        (Config(input=(0.1, 0)), "LiteRT wants the input's"),
        (Config("SUM"), "has no per-tensor quantization"),
        (Config("SUM", input=(1.0, 0), output=(1e-10, 0)), "multiplied by 2.30 and more"),
        (Config("MEAN", "int16", input=(0.1, 0), output=(0.1, 5)), "zero point 5, LiteRT wants 0"),
        (Config("MEAN", "bool"), "bool input is not supported"),
        (Config("REDUCE_ANY", "int8"), "int8 input is not supported .only bool."),
        (Config("REDUCE_PROD", input=(0.1, 0)), "has no per-tensor quantization"),
        (Config("REDUCE_PROD", output=(0.1, 0)), "a quantized output of an input that is not"),
        (Config("REDUCE_PROD", input=(1e5, 0), output=(1e-5, 0)), "multiplied by 2.14 and more"),
        (Config("SUM", "float32", (2,) * 8, (0, 2, 4, 6)), "more than 3 separate groups of axes"),
    ],
)
def test_unsupported(config: Config, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        tflite.parse(model(config), "model")

"""GATHER, GATHER_ND, EMBEDDING_LOOKUP, MIRROR_PAD and slices that begin at run time against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote.base.errors import UnsupportedError
from mote.compiler.emit.c.programs import golden
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.ops.indexing.index_bounds import input_bounds
from tests.helpers.support import batch, check, check_numpy, examples, needs_litert
from tests.ir.ops.moves.test_strided import DTYPES, quant, sizes

pytestmark = needs_litert
Config = dict[str, Any]
INDICES = ["int16", "int32", "int64"]


def constant_or_input(w: Writer, name: str, values: np.ndarray, *, constant: bool) -> int:
    return w.const(name, values) if constant else w.input(name, values.shape, values.dtype.name)


@st.composite
def gathers(draw: st.DrawFn) -> Config:
    shape = draw(sizes(1, 5))
    axis = draw(st.integers(0, len(shape) - 1))
    batches = draw(st.integers(0, axis))
    more = draw(st.lists(st.integers(1, 3), max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    indices = rng.integers(0, shape[axis], (*shape[:batches], *more)).astype(draw(st.sampled_from(INDICES)))
    if draw(st.booleans()) and more:  # evenly spaced ones are a slice
        indices = np.broadcast_to(np.arange(more[-1]) % shape[axis], indices.shape).astype(indices.dtype)
    negative = draw(st.booleans())
    return {
        "kind": "GATHER",
        "shape": shape,
        "indices": indices,
        "constant": draw(st.booleans()),
        "out": [*shape[:axis], *indices.shape[batches:], *shape[axis + 1 :]],
        "options": {"axis": axis - len(shape) if negative else axis, "batch_dims": batches},
    }


@st.composite
def tuples(draw: st.DrawFn) -> Config:
    shape = draw(sizes(1, 5))
    depth = draw(st.integers(1, len(shape)))
    outer = draw(st.lists(st.integers(1, 4), max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    indices = rng.integers(0, shape[:depth], (*outer, depth)).astype(draw(st.sampled_from(INDICES)))
    out = [*outer, *shape[depth:]]
    return {"kind": "GATHER_ND", "shape": shape, "indices": indices, "constant": draw(st.booleans()), "out": out}


@st.composite
def embeddings(draw: st.DrawFn) -> Config:
    shape = draw(sizes(2, 4, 6))
    count = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    indices = rng.integers(0, shape[0], count).astype(np.int32)
    config: Config = {"kind": "EMBEDDING_LOOKUP", "indices": indices, "out": [count, *shape[1:]]}
    scales = draw(st.sampled_from([[], [0.02], np.linspace(0.01, 0.3, shape[0])]))
    table = rng.integers(-128, 128, shape).astype(np.int8)
    return config | {"constant": draw(st.booleans()), "table": table, "scales": scales}


@st.composite
def mirrors(draw: st.DrawFn) -> Config:
    mode = draw(st.sampled_from(["REFLECT", "SYMMETRIC"]))
    shape = draw(sizes(1, 5))
    some = [n - (mode == "REFLECT") for n in shape]
    paddings = [[draw(st.integers(0, min(m, 3))) if draw(st.booleans()) else 0 for _ in "ab"] for m in some]
    out = [n + a + b for n, (a, b) in zip(shape, paddings, strict=True)]
    index = draw(st.sampled_from([np.int32, np.int64]))
    return {"kind": "MIRROR_PAD", "shape": shape, "table": index(paddings), "out": out, "options": {"mode": mode}}


@st.composite
def moving_slices(draw: st.DrawFn) -> Config:
    shape = draw(sizes(1, 5))
    size = [draw(st.integers(1, n)) for n in shape]
    begin = np.zeros(len(shape), draw(st.sampled_from(["int32", "int64"])))
    return {"kind": "SLICE", "shape": shape, "indices": begin, "size": size, "out": size}


def add(w: Writer, i: int, c: Config) -> None:
    dtype, kind = c["dtype"], c["kind"]
    y = w.tensor(f"y{i}", c["out"], dtype, **quant(dtype))
    options = c.get("options", {})
    if kind == "EMBEDDING_LOOKUP":
        places = constant_or_input(w, f"i{i}", c["indices"], constant=c["constant"])
        scaled = len(c["scales"]) > 0 and dtype == "float32"
        values = c["table"] if scaled else c["table"].astype(dtype)
        table = w.const(f"t{i}", values, **({"scale": c["scales"]} if scaled else quant(dtype)))
        w.op(kind, [places, table], [y], version=4)
        w.output(y)
        return
    x = w.input(f"x{i}", c["shape"], dtype, **quant(dtype))
    if kind == "MIRROR_PAD":
        w.op(kind, [x, w.const(f"p{i}", c["table"])], [y], **options)
    elif kind == "SLICE":
        begin = w.input(f"i{i}", c["indices"].shape, c["indices"].dtype.name)
        w.op(kind, [x, begin, w.const(f"s{i}", np.array(c["size"], c["indices"].dtype))], [y], **options)
    else:
        w.op(kind, [x, constant_or_input(w, f"i{i}", c["indices"], constant=c["constant"])], [y], **options)
    w.output(y)


def model(layers: list[Config]) -> bytes:
    w = Writer("lookups")
    for i, c in enumerate(layers):
        add(w, i, c)
    return w.finish()


@st.composite
def any_lookup(draw: st.DrawFn) -> Config:
    c = draw(st.one_of(gathers(), tuples(), embeddings(), mirrors(), moving_slices()))
    known = ["int8", "float32", "float32"] if c["kind"] == "EMBEDDING_LOOKUP" else DTYPES
    return c | {"dtype": draw(st.sampled_from(known))}


IMAGE: Config = {"dtype": "int8", "shape": [2, 3, 4], "constant": False}
TABLE: Config = {"constant": False, "indices": np.int32([0, 1]), "table": np.arange(6, dtype=np.int8).reshape(3, 2)}
PLAIN: list[Config] = [
    IMAGE | {"kind": "GATHER", "indices": np.int64([0, 1]), "out": [2, 2, 4], "options": {"axis": 1}},
    IMAGE
    | {"kind": "GATHER", "indices": np.int16([[0, 1]] * 2), "out": [2, 2, 4], "options": {"axis": 1, "batch_dims": 1}},
    IMAGE
    | {
        "kind": "GATHER",
        "indices": np.int32([[0, 2, 2]]),
        "constant": True,
        "out": [2, 1, 3, 4],
        "options": {"axis": 1},
    },
    IMAGE | {"kind": "GATHER_ND", "indices": np.int32([[0, 1], [1, 2]]), "out": [2, 4]},
    IMAGE
    | {
        "kind": "MIRROR_PAD",
        "table": np.int32([[0, 0], [1, 2], [0, 1]]),
        "out": [2, 6, 5],
        "options": {"mode": "REFLECT"},
    },
    IMAGE | {"kind": "SLICE", "indices": np.zeros(3, np.int32), "size": [1, 2, 3], "out": [1, 2, 3]},
    TABLE | {"kind": "EMBEDDING_LOOKUP", "dtype": "float32", "scales": np.float32([0.1, 0.2, 0.3]), "out": [2, 2]},
]
"""One of each."""


@given(batch(any_lookup(), 40, 20))
@settings(max_examples=examples(3, 1), deadline=None)
def test_lookups(layers: list[Config]) -> None:
    check(model(layers), inputs=2)


@given(st.lists(any_lookup(), min_size=40, max_size=40))
@settings(max_examples=examples(16), deadline=None)
def test_numpy(layers: list[Config]) -> None:
    """The same in NumPy alone, far more often."""
    data = model(layers)
    check_numpy(tflite.parse(data, "model"), data, inputs=1)


@st.composite
def moving_strided_slices(draw: st.DrawFn) -> Config:
    """Axes that an index picks, axes that are taken whole, and those of which the output says how much."""
    shape = draw(sizes(1, 4))
    masks = dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask"), 0)
    strides, size = [], []
    for axis, n in enumerate(shape):
        kind = draw(st.sampled_from(["picked", "whole", "part"]))
        stride = 1 if kind == "picked" else draw(st.integers(1, 2))
        strides.append(stride)
        masks["shrink_axis_mask"] |= (kind == "picked") << axis
        masks["begin_mask"] |= (kind == "whole") << axis
        masks["end_mask"] |= (kind == "whole") << axis
        size.append({"picked": 1, "whole": -(-n // stride)}.get(kind, draw(st.integers(1, -(-n // stride)))))
    out = [m for axis, m in enumerate(size) if not masks["shrink_axis_mask"] >> axis & 1]
    return {"shape": shape, "strides": strides, "size": size, "out": out, "masks": masks}


def add_moving(w: Writer, i: int, c: Config) -> None:
    """The end is as far from the begin as the output is large."""
    x, begin = w.input(f"x{i}", c["shape"], "int8", **quant("int8")), w.input(f"i{i}", [len(c["shape"])], "int32")
    y = w.tensor(f"y{i}", c["out"], "int8", **quant("int8"))
    strides = np.int32(c["strides"])
    ends = [w.const(f"e{i}", np.int32(c["size"]) * strides), w.const(f"s{i}", strides)]
    w.op("STRIDED_SLICE", [x, begin, *ends], [y], offset=True, **c["masks"])
    w.output(y)


@given(st.lists(moving_strided_slices(), min_size=24, max_size=24))
@settings(max_examples=examples(3), deadline=None)
def test_moving_strided_slices(layers: list[Config]) -> None:
    w = Writer("moving")
    for i, c in enumerate(layers):
        add_moving(w, i, c)
    check(w.finish(), inputs=2)


def test_a_row_that_an_index_picks() -> None:
    """As a converter writes it: the end is computed as well, and nobody looks at it."""
    w = Writer("row")
    x, at, end = w.input("x", (4, 3), "float32"), w.input("at", (1,), "int32"), w.input("end", (1,), "int32")
    y = w.tensor("y", (3,), "float32", signature=(-1,))
    w.op("STRIDED_SLICE", [x, at, end, w.const("one", np.int32([1]))], [y], shrink_axis_mask=1)
    w.output(y)
    check(w.finish())


def test_inputs_that_become_indices() -> None:
    """What is tried on a model, and what its self-test feeds it with, are indices that mean something."""
    w = Writer("words")
    words = w.input("words", (1, 6), "int32")
    flat, y = w.tensor("flat", (6,), "int32"), w.tensor("y", (6, 2), "float32")
    w.op("RESHAPE", [words, w.const("shape", np.int32([6]))], [flat])
    w.op("EMBEDDING_LOOKUP", [flat, w.const("table", np.arange(10, dtype=np.float32).reshape(5, 2))], [y])
    w.output(y)
    graph = check(w.finish()).source
    assert input_bounds(graph) == {words: (0, 4)}
    given = golden.FULL.inputs(graph)[words]
    assert given.min() >= 0 and given.max() <= 4 and len(np.unique(given)) > 2


def test_what_nobody_needs_has_indices_too() -> None:
    """LiteRT computes it all the same."""
    w = Writer("dead")
    x, at = w.input("x", (3, 2), "float32"), w.input("at", (2,), "int32")
    y, z = w.tensor("y", (2, 2), "float32"), w.tensor("z", (3, 2), "float32")
    w.op("GATHER", [x, at], [y])
    w.op("ADD", [x, x], [z])
    w.output(z)
    check(w.finish())


def test_what_lies_outside_is_zeros() -> None:
    """LiteRT refuses it."""
    w = Writer("outside")
    x = w.input("x", (3, 2), "int8", **quant("int8"))
    one, two = w.input("one", (4,), "int64"), w.input("two", (2, 2), "int32")
    table = w.const("table", np.float32([[1, 2], [3, 4]]))
    rows = w.input("rows", (2,), "int32")
    outputs = [w.tensor(n, s, "int8", **quant("int8")) for n, s in (("a", (4, 2)), ("b", (2,)), ("c", (2, 2)))]
    looked = w.tensor("d", (2, 2), "float32")
    w.op("GATHER", [x, one], [outputs[0]], axis=0)
    w.op("GATHER_ND", [x, two], [outputs[1]])
    w.op("SLICE", [x, rows, w.const("size", np.int32([2, 2]))], [outputs[2]])
    w.op("EMBEDDING_LOOKUP", [rows, table], [looked])
    w.output(*outputs, looked)
    values = np.arange(1, 7, dtype=np.int8).reshape(3, 2)
    case = [values, np.int64([1, -1, 3, 1 << 40]), np.int32([[0, 1], [0, 2]]), np.int32([5, -7])]
    compiled = mote.compile(w.finish())
    given = dict(zip(compiled.source.inputs, case, strict=True))
    want = compiled.source.evaluate(given)
    found = mote.run(compiled, given, layers=False).values
    assert [want[t].tolist() for t in compiled.source.outputs] == [
        [[3, 4], [0, 0], [0, 0], [0, 0]],
        [2, 0],
        [[3, 4], [5, 6]],
        [[0.0, 0.0], [0.0, 0.0]],
    ]
    for t in compiled.source.outputs:
        assert np.array_equal(found[compiled.source.tensors[t].name], want[t])


@pytest.mark.parametrize(
    ("kind", "shapes", "options", "said"),
    [
        ("GATHER", [(2,)], {"axis": 3}, "do not fit indices"),
        ("GATHER", [(2,)], {"axis": -4}, "do not fit indices"),
        ("GATHER", [(2,)], {"axis": 1, "batch_dims": 2}, "do not fit indices"),
        ("GATHER", [(4, 2)], {"axis": 1, "batch_dims": 1}, "do not fit indices"),
        ("GATHER_ND", [(2, 4)], {}, "do not fit an input"),
        ("GATHER_ND", [()], {}, "do not fit an input"),
        ("MIRROR_PAD", [[[3, 0], [0, 0], [0, 0]]], {"mode": "SYMMETRIC"}, "do not fit an input"),
        ("MIRROR_PAD", [[[2, 0], [0, 0], [0, 0]]], {"mode": "REFLECT"}, "do not fit an input"),
        ("MIRROR_PAD", [[[0, 0]]], {"mode": "REFLECT"}, "do not fit an input"),
        ("MIRROR_PAD", [[[0, -1], [0, 0], [0, 0]]], {"mode": "REFLECT"}, "do not fit an input"),
    ],
)
def test_what_does_not_fit_is_refused(kind: str, shapes: list[Any], options: Config, said: str) -> None:
    w = Writer("refused")
    x, y = w.input("x", (2, 3, 4), "float32"), w.tensor("y", (1,), "float32")
    constants = [w.const("c", np.int32(s) if isinstance(s, list) else np.zeros(s, np.int32)) for s in shapes]
    w.op(kind, [x, *constants], [y], **options)
    w.output(y)
    with pytest.raises(UnsupportedError, match=said):
        tflite.parse(w.finish(), "model")


@pytest.mark.parametrize("index", [-1, 3])
def test_constant_indices_outside_are_refused(index: int) -> None:
    w = Writer("outside")
    x, y = w.input("x", (3,), "float32"), w.tensor("y", (1,), "float32")
    w.op("GATHER", [x, w.const("i", np.int32([index]))], [y])
    w.output(y)
    with pytest.raises(UnsupportedError, match=f"an index from {index} to {index} is outside"):
        tflite.parse(w.finish(), "model")

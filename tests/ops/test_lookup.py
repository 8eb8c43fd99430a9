"""GATHER, GATHER_ND, EMBEDDING_LOOKUP, MIRROR_PAD and slices that begin at run time against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from test_walk import DTYPES, quant, sizes

from mote.frontends import tflite
from support import check, check_numpy, examples, needs_litert
from tflite_writer import Writer

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


@given(st.lists(any_lookup(), min_size=40, max_size=40))
@settings(max_examples=examples(3), deadline=None)
def test_lookups(layers: list[Config]) -> None:
    check(model(layers), inputs=2)


@given(st.lists(any_lookup(), min_size=40, max_size=40))
@settings(max_examples=examples(16), deadline=None)
def test_numpy(layers: list[Config]) -> None:
    """The same in NumPy alone, far more often."""
    data = model(layers)
    check_numpy(tflite.parse(data, "model"), data, inputs=1)

"""BROADCAST_TO, TILE, REVERSE_V2 and blocks of pixels against LiteRT, on random configurations."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.support import batch, check, check_numpy, examples, needs_litert

pytestmark = needs_litert
Config = dict[str, Any]
DTYPES = ["int8", "int8", "float32", "int32", "int16", "uint8", "int64", "bool"]


def quant(dtype: str) -> Config:
    if dtype == "int16":
        return {"scale": 0.01, "zero_point": 0}
    return {"scale": 0.05, "zero_point": -5} if dtype == "int8" else {}


def sizes(least: int, most: int, largest: int = 4) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, largest), min_size=least, max_size=most)


@st.composite
def broadcasts(draw: st.DrawFn) -> Config:
    shape = draw(sizes(1, 6))
    own = shape[draw(st.integers(0, len(shape))) :]
    own = [n if draw(st.booleans()) else 1 for n in own]
    return {"kind": "BROADCAST_TO", "shape": own, "out": shape, "constants": [np.int32(shape)]}


@st.composite
def tiles(draw: st.DrawFn) -> Config:
    shape = draw(sizes(1, 5, 3))
    times = [draw(st.sampled_from([1, 1, 2, 3])) for _ in shape]
    out = [n * m for n, m in zip(shape, times, strict=True)]
    index = draw(st.sampled_from([np.int32, np.int64]))
    return {"kind": "TILE", "shape": shape, "out": out, "constants": [index(times)]}


@st.composite
def reverses(draw: st.DrawFn) -> Config:
    """LiteRT takes neighbouring axes only."""
    shape = draw(sizes(1, 6))
    lo = draw(st.integers(0, len(shape) - 1))
    hi = draw(st.integers(lo + 1, len(shape)))
    axes = [a - draw(st.sampled_from([0, len(shape)])) for a in range(lo, hi)]
    return {"kind": "REVERSE_V2", "shape": shape, "out": shape, "constants": [np.int32(axes)]}


@st.composite
def depths(draw: st.DrawFn) -> Config:
    n, height, width, channels = (draw(st.integers(1, 3)) for _ in range(4))
    block = draw(st.integers(1, 3))
    image, deep = [n, height * block, width * block, channels], [n, height, width, channels * block**2]
    config: Config = {"constants": [], "options": {"block_size": block}}
    if draw(st.booleans()):
        return config | {"kind": "DEPTH_TO_SPACE", "shape": deep, "out": image}
    return config | {"kind": "SPACE_TO_DEPTH", "shape": image, "out": deep}


@st.composite
def batches(draw: st.DrawFn) -> Config:
    """Images with one axis or two; what is padded on one way is cropped on the other."""
    n, channels = draw(st.integers(1, 2)), draw(st.integers(1, 3))
    axes = draw(st.integers(1, 2))
    blocks = [draw(st.integers(1, 3)) for _ in range(axes)]
    small = [draw(st.integers(1, 4)) for _ in range(axes)]
    edges = [[draw(st.integers(0, m * b - 1)), 0] for m, b in zip(small, blocks, strict=True)]
    for (before, _), edge, m, b in zip(edges, edges, small, blocks, strict=True):
        edge[1] = draw(st.integers(0, m * b - 1 - before))
    cut = [m * b - sum(edge) for m, b, edge in zip(small, blocks, edges, strict=True)]
    one, many = [n, *cut, channels], [n * int(np.prod(blocks)), *small, channels]
    config: Config = {"constants": [np.int32(blocks), np.int32(edges)]}
    if draw(st.booleans()):
        return config | {"kind": "SPACE_TO_BATCH_ND", "shape": one, "out": many}
    return config | {"kind": "BATCH_TO_SPACE_ND", "shape": many, "out": one}


def add(w: Writer, i: int, c: Config) -> None:
    dtype = c["dtype"]
    how = {"scale": 0.05, "zero_point": 7} if dtype == "uint8" else quant(dtype)
    x, y = w.input(f"x{i}", c["shape"], dtype, **how), w.tensor(f"y{i}", c["out"], dtype, **how)
    reads = [x, *(w.const(f"c{i}_{k}", value) for k, value in enumerate(c["constants"]))]
    w.op(c["kind"], reads, [y], version=2 if c["kind"] == "BROADCAST_TO" else 1, **c.get("options", {}))
    w.output(y)


def model(layers: list[Config]) -> bytes:
    w = Writer("walks")
    for i, c in enumerate(layers):
        add(w, i, c)
    return w.finish()


@st.composite
def any_walk(draw: st.DrawFn) -> Config:
    """LiteRT's DEPTH_TO_SPACE and SPACE_TO_DEPTH know fewer types."""
    c = draw(st.one_of(broadcasts(), tiles(), reverses(), depths(), batches()))
    known = [d for d in DTYPES if d not in ("bool", "int16") or "DEPTH" not in c["kind"]]
    return c | {"dtype": draw(st.sampled_from(known))}


BLOCKS: Config = {"dtype": "int8", "constants": [np.int32([2, 2]), np.int32([[1, 0], [0, 1]])]}
DEEP: Config = {"dtype": "int8", "constants": [], "options": {"block_size": 2}}
PLAIN: list[Config] = [
    {"kind": "BROADCAST_TO", "dtype": "float32", "shape": [2, 1], "out": [3, 2, 2], "constants": [np.int32([3, 2, 2])]},
    {"kind": "TILE", "dtype": "int64", "shape": [2, 3], "out": [4, 3], "constants": [np.int32([2, 1])]},
    {"kind": "REVERSE_V2", "dtype": "int16", "shape": [2, 2, 3], "out": [2, 2, 3], "constants": [np.int32([0, 1])]},
    DEEP | {"kind": "DEPTH_TO_SPACE", "shape": [1, 2, 2, 8], "out": [1, 4, 4, 2]},
    DEEP | {"kind": "SPACE_TO_DEPTH", "shape": [1, 4, 4, 2], "out": [1, 2, 2, 8]},
    BLOCKS | {"kind": "SPACE_TO_BATCH_ND", "shape": [1, 3, 3, 2], "out": [4, 2, 2, 2]},
    BLOCKS | {"kind": "BATCH_TO_SPACE_ND", "shape": [4, 2, 2, 2], "out": [1, 3, 3, 2]},
]
"""One of each."""
TALL: Config = {"kind": "BROADCAST_TO", "dtype": "int8", "shape": [40, 1], "out": [2, 40, 3]}
TALL |= {"constants": [np.int32([2, 40, 3])]}
"""An output row of more input rows than are taken one by one."""


@given(batch(any_walk(), 40, 20))
@settings(max_examples=examples(3, 1), deadline=None)
def test_walks(layers: list[Config]) -> None:
    check(model(layers), inputs=2)


@given(st.lists(any_walk(), min_size=40, max_size=40))
@settings(max_examples=examples(16), deadline=None)
def test_numpy(layers: list[Config]) -> None:
    """The same in NumPy alone, far more often."""
    data = model(layers)
    check_numpy(tflite.parse(data, "model"), data, inputs=1)


def test_twice_from_the_same_place() -> None:
    """Without sanitizers, as users build it: GCC 12 left such copies out."""
    layer = {"kind": "TILE", "dtype": "float32", "shape": [1, 8, 16, 1], "out": [1, 8, 16, 2]}
    result = mote.verify(mote.compile(model([layer | {"constants": [np.int32([1, 1, 1, 2])]}])), 1)
    assert result.exact, result.mismatches

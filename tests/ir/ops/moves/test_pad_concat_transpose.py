"""PAD, TRANSPOSE, CONCATENATION, PACK, slices and UNPACK against LiteRT, on random configurations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.graph import Graph
from tests.helpers.offered import first
from tests.helpers.support import check, check_numpy, examples, needs_litert

pytestmark = needs_litert
Config = dict[str, Any]
DTYPES = ["int8", "int8", "float32", "int32", "int16", "uint8", "int64", "bool"]
QUANT: Config = {"scale": 0.05, "zero_point": -5}


def shapes(least: int = 1, most: int = 5) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(1, 5), min_size=least, max_size=most)


def quant(dtype: str) -> Config:
    return QUANT if dtype == "int8" else {}


def scalar(dtype: str, seed: int) -> np.ndarray:
    """A value to pad with."""
    return np.array(seed % 100 - 50 if dtype != "float32" else seed / 7).astype(dtype)


@st.composite
def pads(draw: st.DrawFn) -> Config:
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(shapes())
    image = draw(st.booleans())  # as before a convolution: rows and columns only
    some = st.sampled_from([0, 0, 1, 2])
    paddings = [(draw(some), draw(some)) if not image or i in (1, 2) else (0, 0) for i in range(len(shape))]
    value = draw(st.integers(0, 99))
    return {"kind": "PAD", "dtype": dtype, "shape": shape, "paddings": paddings, "value": value}


def add_pad(w: Writer, i: int, c: Config) -> None:
    x = w.input(f"x{i}", c["shape"], c["dtype"], **quant(c["dtype"]))
    shape = [before + n + after for n, (before, after) in zip(c["shape"], c["paddings"], strict=True)]
    y = w.tensor(f"y{i}", shape, c["dtype"], **quant(c["dtype"]))
    reads = [x, w.const(f"paddings{i}", np.int32(c["paddings"]))]
    if c["value"] % 2:
        reads.append(w.const(f"value{i}", scalar(c["dtype"], c["value"]), **quant(c["dtype"])))
    w.op("PADV2" if c["value"] % 2 else "PAD", reads, [y])
    w.output(y)


@st.composite
def transposes(draw: st.DrawFn) -> Config:
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(shapes(2, 6))
    permutation = draw(st.permutations(range(len(shape))))
    return {"kind": "TRANSPOSE", "dtype": dtype, "shape": shape, "permutation": permutation}


def add_transpose(w: Writer, i: int, c: Config) -> None:
    x = w.input(f"x{i}", c["shape"], c["dtype"], **quant(c["dtype"]))
    y = w.tensor(f"y{i}", [c["shape"][p] for p in c["permutation"]], c["dtype"], **quant(c["dtype"]))
    w.op("TRANSPOSE", [x, w.const(f"permutation{i}", np.int32(c["permutation"]))], [y])
    w.output(y)


@st.composite
def concatenations(draw: st.DrawFn) -> Config:
    shape = draw(shapes())
    return {
        "kind": "CONCATENATION",
        "dtype": draw(st.sampled_from(DTYPES)),
        "shape": shape,
        "axis": draw(st.integers(-len(shape), len(shape) - 1)),
        "sizes": draw(st.lists(st.integers(1, 4), min_size=2, max_size=8)),
        "constant": draw(st.booleans()),
    }


def add_concatenation(w: Writer, i: int, c: Config) -> None:
    reads, shape = [], list(c["shape"])
    for k, n in enumerate(c["sizes"]):
        shape[c["axis"]] = n
        if k == 1 and c["constant"]:
            reads.append(w.const(f"x{i}_{k}", np.ones(shape, c["dtype"]), **quant(c["dtype"])))
        else:
            reads.append(w.input(f"x{i}_{k}", shape, c["dtype"], **quant(c["dtype"])))
    shape[c["axis"]] = sum(c["sizes"])
    y = w.tensor(f"y{i}", shape, c["dtype"], **quant(c["dtype"]))
    w.op("CONCATENATION", reads, [y], axis=c["axis"])
    w.output(y)


@st.composite
def slices(draw: st.DrawFn) -> Config:
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(shapes())
    begin = [draw(st.integers(0, n - 1)) for n in shape]
    size = [draw(st.sampled_from([-1, *range(1, n - b + 1)])) for n, b in zip(shape, begin, strict=True)]
    return {"kind": "SLICE", "dtype": dtype, "shape": shape, "begin": begin, "size": size}


def add_slice(w: Writer, i: int, c: Config) -> None:
    x = w.input(f"x{i}", c["shape"], c["dtype"], **quant(c["dtype"]))
    axes = zip(c["shape"], c["begin"], c["size"], strict=True)
    y = w.tensor(f"y{i}", [n - b if s == -1 else s for n, b, s in axes], c["dtype"], **quant(c["dtype"]))
    w.op("SLICE", [x, *(w.const(f"{k}{i}", np.int32(c[k])) for k in ("begin", "size"))], [y])
    w.output(y)


@st.composite
def strided_slices(draw: st.DrawFn) -> Config:
    """Indices as in NumPy: (begin, end, stride), an index (shrinks the axis), an ellipsis or a new axis."""
    shape = draw(shapes())
    spec: list[Any] = []
    for n in shape:
        stride = draw(st.sampled_from([1, 1, 1, 2, 3, -1, -2]))
        ends = st.one_of(st.none(), st.integers(-n - 1, n + 1))
        part = draw(st.one_of(st.integers(-n, n - 1), st.builds(slice, ends, ends, st.just(stride))))
        nothing = isinstance(part, slice) and not range(n)[part]
        spec.append(slice(None, None, stride) if nothing else part)
    # LiteRT takes an ellipsis for one axis at least.
    lo = draw(st.integers(0, len(spec) - 1))
    hi = draw(st.integers(lo + 1, len(spec)))
    spec = draw(st.sampled_from([spec, spec[:hi], [*spec[:lo], Ellipsis, *spec[hi:]]]))
    for _ in range(draw(st.sampled_from([0, 0, 1, 2]))):
        spec = spec.copy()
        spec.insert(draw(st.integers(0, len(spec))), None)
    return {"kind": "STRIDED_SLICE", "dtype": draw(st.sampled_from(DTYPES)), "shape": shape, "spec": spec}


def add_strided_slice(w: Writer, i: int, c: Config) -> None:
    result = np.zeros(c["shape"])[tuple(c["spec"])]
    begin, end, strides = [], [], []
    masks = dict.fromkeys(("begin", "end", "ellipsis", "new_axis", "shrink_axis"), 0)
    for bit, s in enumerate(c["spec"]):
        plain = isinstance(s, slice)
        begin.append(s.start or 0 if plain else s if isinstance(s, int) else 0)
        end.append(s.stop or 0 if plain else begin[-1] + 1)
        strides.append(s.step if plain else 1)
        masks["begin"] |= (plain and s.start is None) << bit
        masks["end"] |= (plain and s.stop is None) << bit
        masks["ellipsis"] |= (s is Ellipsis) << bit
        masks["new_axis"] |= (s is None) << bit
        masks["shrink_axis"] |= isinstance(s, int) << bit
    x = w.input(f"x{i}", c["shape"], c["dtype"], **quant(c["dtype"]))
    y = w.tensor(f"y{i}", result.shape, c["dtype"], **quant(c["dtype"]))
    indices = {"begin": begin, "end": end, "strides": strides}
    constants = [w.const(f"{k}{i}", np.int32(v)) for k, v in indices.items()]
    w.op("STRIDED_SLICE", [x, *constants], [y], **{f"{k}_mask": v for k, v in masks.items()})
    w.output(y)


@st.composite
def splits(draw: st.DrawFn) -> Config:
    shape = draw(shapes())
    equal = draw(st.booleans())
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    return {
        "kind": "SPLIT",
        "dtype": draw(st.sampled_from([d for d in DTYPES if d != "bool"])),
        "shape": shape,
        "axis": draw(st.integers(-len(shape), len(shape) - 1)),
        "equal": equal,
        "sizes": [sizes[0]] * len(sizes) if equal else sizes,
    }


def add_split(w: Writer, i: int, c: Config) -> None:
    shape, outputs = list(c["shape"]), []
    shape[c["axis"]] = sum(c["sizes"])
    x = w.input(f"x{i}", shape, c["dtype"], **quant(c["dtype"]))
    for k, n in enumerate(c["sizes"]):
        shape[c["axis"]] = n
        outputs.append(w.tensor(f"y{i}_{k}", shape, c["dtype"], **quant(c["dtype"])))
    axis = w.const(f"axis{i}", np.int32(c["axis"]))
    if c["equal"]:
        w.op("SPLIT", [axis, x], outputs, num_splits=len(outputs))
    else:
        sizes = w.const(f"sizes{i}", np.int32(c["sizes"]))
        w.op("SPLIT_V", [x, sizes, axis], outputs, num_splits=len(outputs))
    w.output(*outputs)


@st.composite
def packs(draw: st.DrawFn) -> Config:
    shape = draw(shapes(0, 4))
    return {
        "kind": draw(st.sampled_from(["PACK", "UNPACK"])),
        "dtype": draw(st.sampled_from([d for d in DTYPES if d not in ("bool", "int64")])),
        "shape": shape,
        "axis": draw(st.integers(-len(shape) - 1, len(shape))),
        "count": draw(st.integers(1, 6)),
    }


def add_pack(w: Writer, i: int, c: Config) -> None:
    axis = c["axis"] % (len(c["shape"]) + 1)
    whole, how = [*c["shape"][:axis], c["count"], *c["shape"][axis:]], quant(c["dtype"])
    if c["kind"] == "PACK":
        reads = [w.input(f"x{i}_{k}", c["shape"], c["dtype"], **how) for k in range(c["count"])]
        outputs = [w.tensor(f"y{i}", whole, c["dtype"], **how)]
        w.op("PACK", reads, outputs, axis=c["axis"], values_count=c["count"])
    else:
        x = w.input(f"x{i}", whole, c["dtype"], **how)
        outputs = [w.tensor(f"y{i}_{k}", c["shape"], c["dtype"], **how) for k in range(c["count"])]
        w.op("UNPACK", [x], outputs, axis=c["axis"], num=c["count"])
    w.output(*outputs)


ADD = {
    "PACK": add_pack,
    "UNPACK": add_pack,
    "PAD": add_pad,
    "TRANSPOSE": add_transpose,
    "CONCATENATION": add_concatenation,
    "SLICE": add_slice,
    "STRIDED_SLICE": add_strided_slice,
    "SPLIT": add_split,
}


def model(layers: list[Config]) -> bytes:
    w = Writer("moves")
    for i, c in enumerate(layers):
        ADD[c["kind"]](w, i, c)
    # A model needs one layer at least, and a slice of nothing is left out.
    add_slice(w, len(layers), {"shape": [2], "begin": [0], "size": [1], "dtype": "int8"})
    return w.finish()


KINDS = [pads, transposes, concatenations, slices, strided_slices, splits, packs]


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("configs", KINDS)
def test_moves(configs: Any) -> None:
    @given(st.lists(configs(), min_size=24, max_size=24))
    @settings(max_examples=examples(3), deadline=None)
    def compare(layers: list[Config]) -> None:
        check(model(layers), inputs=2)

    compare()


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("configs", KINDS)
def test_numpy(configs: Any) -> None:
    """The same in NumPy alone, far more often."""

    @given(st.lists(configs(), min_size=24, max_size=24))
    @settings(max_examples=examples(16), deadline=None)
    def compare(layers: list[Config]) -> None:
        data = model(layers)
        check_numpy(tflite.parse(data, "model"), data, inputs=1)

    compare()


def parse_one(layer: Config) -> Graph:
    return tflite.parse(model([layer]), "model")


def test_what_moves_nothing_is_a_reshape() -> None:
    image: Config = {"dtype": "int8", "shape": [1, 6, 1, 4]}
    layers = [
        image | {"kind": "TRANSPOSE", "permutation": [2, 1, 0, 3]},
        image | {"kind": "SLICE", "begin": [0] * 4, "size": [-1] * 4},
        image | {"kind": "STRIDED_SLICE", "spec": [0, slice(None, None, 1), 0]},
        image | {"kind": "PAD", "paddings": [(0, 0)] * 4, "value": 0},
    ]
    assert [op.kind for op in tflite.parse(model(layers), "model").ops[:-1]] == ["RESHAPE"] * 4


def test_few_loops_and_long_runs() -> None:
    """NHWC to NCHW is a matrix transposed; a slice of whole rows is one run of bytes."""
    image: Config = {"dtype": "int32", "shape": [1, 6, 5, 4]}
    graph = parse_one(image | {"kind": "TRANSPOSE", "permutation": [0, 3, 1, 2]})
    axes: Any = first(graph).params["axis"]
    assert axes.rows.tolist() == [[4, 4, 120], [30, 16, 4]]
    graph = parse_one(image | {"kind": "SLICE", "begin": [0, 1, 0, 0], "size": [-1] * 4})
    parts: Any = first(graph).params["part"]
    assert parts.rows[0, -4:].tolist() == [1, 0, 0, 5 * 4 * 4]


def unsupported(w: Writer) -> str:
    with pytest.raises(UnsupportedError) as error:
        tflite.parse(w.finish(), "model")
    return str(error.value)


def test_concatenation_of_different_scales() -> None:
    w = Writer("join")
    a, b = (w.input(n, (1, 2), "int8", scale=s, zero_point=0) for n, s in (("a", 0.1), ("b", 0.2)))
    y = w.tensor("y", (1, 4), "int8", scale=0.2, zero_point=0)
    w.op("CONCATENATION", [a, b], [y], axis=1)
    w.output(y)
    assert "same quantization" in unsupported(w)


@pytest.mark.parametrize("count", [9, 40])
def test_concatenation_of_many(count: int) -> None:
    w = Writer("join")
    inputs = [w.input(f"x{i}", (2, 2), "int8", **QUANT) for i in range(count)]
    y, z = w.tensor("y", (2, 2 * count), "int8", **QUANT), w.tensor("z", (2, count, 2), "int8", **QUANT)
    w.op("CONCATENATION", inputs, [y], axis=1)
    w.op("PACK", inputs, [z], axis=1, values_count=count)
    w.output(y, z)
    check(w.finish())


def test_concatenation_of_too_many() -> None:
    w = Writer("join")
    inputs = [w.input(f"x{i}", (1, 2), "float32") for i in range(121)]
    y = w.tensor("y", (1, 242), "float32")
    w.op("CONCATENATION", inputs, [y], axis=1)
    w.output(y)
    assert "121 inputs are not supported (120 at most)" in unsupported(w)


def test_shapes_as_values() -> None:
    """As a converter makes a state of zeros for a batch whose size it does not know."""
    w = Writer("zeros")
    x = w.input("x", (2, 3), "float32")
    shape, batch = w.tensor("shape", (2,), "int32"), w.tensor("batch", (), "int32")
    w.op("SHAPE", [x], [shape])
    w.op("STRIDED_SLICE", [shape, *(w.const(f"i{k}", np.int32([k])) for k in (0, 1, 1))], [batch], shrink_axis_mask=1)
    dims = w.tensor("dims", (2,), "int32")
    w.op("PACK", [batch, w.const("three", np.int32(3))], [dims], values_count=2)
    filled, zeros, y, z = (w.tensor(n, (2, 3), "float32") for n in "fzab")
    w.op("FILL", [dims, w.const("half", np.float32(0.5))], [filled])
    w.op("ZEROS_LIKE", [x], [zeros])
    w.op("ADD", [x, filled], [y])
    w.op("MUL", [zeros, y], [z])
    w.output(y, z)
    compiled = check(w.finish())
    assert [op.kind for op in compiled.plan.graph.ops] == ["ADD", "MUL"]


def test_slice_outside() -> None:
    w = Writer("cut")
    x, y = w.input("x", (4,), "int8", **QUANT), w.tensor("y", (3,), "int8", **QUANT)
    w.op("SLICE", [x, w.const("begin", np.int32([2])), w.const("size", np.int32([3]))], [y])
    w.output(y)
    assert "reach outside" in unsupported(w)


def test_padding_with_infinity() -> None:
    """As in front of a maximum."""
    w = Writer("pad")
    x, y = w.input("x", (1, 3), "float32"), w.tensor("y", (1, 5), "float32")
    reads = [x, w.const("paddings", np.int32([[0, 0], [1, 1]])), w.const("value", np.float32(-np.inf))]
    w.op("PADV2", reads, [y])
    w.output(y)
    check(w.finish())

"""SCATTER_ND, SPARSE_TO_DENSE, ONE_HOT, DYNAMIC_UPDATE_SLICE, diagonals and REVERSE_SEQUENCE against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mote
from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from tests.helpers.network import Net
from tests.helpers.support import batch, check, check_numpy, exact_on, examples, needs_litert
from tests.ir.ops.indexing import test_gather as test_lookup
from tests.ir.ops.indexing.test_gather import constant_or_input
from tests.ir.ops.moves import test_strided as test_walk
from tests.ir.ops.moves.test_strided import quant, sizes

pytestmark = needs_litert
Config = dict[str, Any]


@st.composite
def scatters(draw: st.DrawFn) -> Config:
    """Parts at places of which several may be the same."""
    shape = draw(sizes(1, 5))
    depth = draw(st.integers(1, len(shape)))
    outer = draw(st.lists(st.integers(1, 4), min_size=1, max_size=2))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    indices = rng.integers(0, shape[:depth], (*outer, depth)).astype(np.int32)
    return {
        "kind": "SCATTER_ND",
        "dtype": draw(st.sampled_from(["float32", "int8", "uint8", "int32", "int64", "bool"])),
        "indices": indices,
        "constant": draw(st.booleans()),
        "updates": [*outer, *shape[depth:]],
        "out": shape,
    }


@st.composite
def sparse(draw: st.DrawFn) -> Config:
    shape = draw(sizes(1, 4))
    flat = len(shape) == 1 and draw(st.booleans())
    count = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    indices = rng.integers(0, shape, (count, len(shape))).astype(draw(st.sampled_from(["int32", "int64"])))
    return {
        "kind": "SPARSE_TO_DENSE",
        "dtype": draw(st.sampled_from(["float32", "int8", "uint8", "int32", "int64"])),
        "indices": indices.reshape(-1) if flat else indices,
        "constant": draw(st.booleans()),
        "one": draw(st.booleans()),
        "out": shape,
    }


@st.composite
def one_hots(draw: st.DrawFn) -> Config:
    """LiteRT looks at the low half of indices of 64 bits."""
    shape, depth = draw(sizes(0, 4)), draw(st.integers(1, 5))
    axis = draw(st.integers(-1, len(shape)))
    at = len(shape) if axis == -1 else axis
    return {
        "kind": "ONE_HOT",
        "dtype": draw(st.sampled_from(["float32", "int8", "uint8", "int32", "int64", "bool"])),
        "shape": shape,
        "index": draw(st.sampled_from(["int32", "int64"])),
        "depth": depth,
        "small": draw(st.booleans()),
        "out": [*shape[:at], depth, *shape[at:]],
        "options": {"axis": axis},
    }


@st.composite
def updates(draw: st.DrawFn) -> Config:
    """The begin is any number: what would reach outside is moved inside."""
    shape = draw(sizes(1, 5))
    return {
        "kind": "DYNAMIC_UPDATE_SLICE",
        "dtype": draw(st.sampled_from(["float32", "int8", "int32", "int64", "bool"])),
        "updates": [draw(st.integers(1, n)) for n in shape],
        "index": draw(st.sampled_from(["int32", "int64"])),
        "begin": [draw(st.integers(-1, n)) for n in shape],
        "constant": draw(st.booleans()),
        "out": shape,
    }


@st.composite
def diagonals(draw: st.DrawFn) -> Config:
    shape = draw(sizes(1, 4))
    out = [*shape, draw(st.integers(1, 4))]
    kind = draw(st.sampled_from(["MATRIX_DIAG", "MATRIX_SET_DIAG"]))
    return {
        "kind": kind,
        "dtype": draw(st.sampled_from(["float32", "int8", "uint8", "int16", "int32", "int64"])),
        "updates": shape if kind == "MATRIX_DIAG" else [*shape[:-1], min(out[-2:])],
        "out": [*shape, shape[-1]] if kind == "MATRIX_DIAG" else out,
    }


@st.composite
def reversed_sequences(draw: st.DrawFn) -> Config:
    shape = draw(sizes(2, 5))
    axis, batch = draw(st.permutations(range(len(shape))))[:2]
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    lengths = rng.integers(1, shape[axis] + 1, shape[batch]).astype(draw(st.sampled_from(["int32", "int64"])))
    return {
        "kind": "REVERSE_SEQUENCE",
        "dtype": draw(st.sampled_from(["float32", "uint8", "int16", "int32", "int64"])),
        "indices": lengths,
        "constant": draw(st.booleans()),
        "out": shape,
        "options": {"seq_dim": axis, "batch_dim": batch},
    }


def add(w: Writer, i: int, c: Config) -> None:
    dtype, kind = c["dtype"], c["kind"]
    how = quant(dtype)

    def value(name: str, number: float) -> int:
        return w.const(f"{name}{i}", np.array(number).astype(dtype), **how)

    def tensor(shape: list[int]) -> int:
        return w.input(f"x{i}_{len(shape)}", shape, dtype, **how)

    y = w.tensor(f"y{i}", c["out"], dtype, **how)
    if "indices" in c:
        indices = constant_or_input(w, f"i{i}", c["indices"], constant=c["constant"])
    if kind == "SCATTER_ND":
        reads = [indices, tensor(c["updates"]), w.const(f"s{i}", np.int32(c["out"]))]
    elif kind == "SPARSE_TO_DENSE":
        values = value("v", 5) if c["one"] else tensor([len(c["indices"])])
        reads = [indices, w.const(f"s{i}", np.array(c["out"], c["indices"].dtype)), values, value("d", -3)]
    elif kind == "ONE_HOT":
        x = w.input(f"x{i}", c["shape"], c["index"])
        if c["small"]:
            x = w.const(f"x{i}", np.arange(int(np.prod(c["shape"]))).reshape(c["shape"]).astype(c["index"]))
        reads = [x, w.const(f"n{i}", np.int32(c["depth"])), value("on", 3), value("off", -2)]
    elif kind == "DYNAMIC_UPDATE_SLICE":
        begin = constant_or_input(w, f"i{i}", np.array(c["begin"], c["index"]), constant=c["constant"])
        reads = [tensor(c["out"]), w.input(f"u{i}", c["updates"], dtype, **how), begin]
    elif kind == "REVERSE_SEQUENCE":
        reads = [tensor(c["out"]), indices]
    else:
        whole = [] if kind == "MATRIX_DIAG" else [tensor(c["out"])]
        reads = [*whole, w.input(f"u{i}", c["updates"], dtype, **how)]
    w.op(
        kind,
        reads,
        [y],
        version=2 if c.get("index") == "int64" and kind == "DYNAMIC_UPDATE_SLICE" else 1,
        **c.get("options", {}),
    )
    w.output(y)


def model(layers: list[Config]) -> bytes:
    w = Writer("scatters")
    for i, c in enumerate(layers):
        add(w, i, c)
    return w.finish()


KINDS = st.one_of(scatters(), sparse(), one_hots(), updates(), diagonals(), reversed_sequences())


PLACES: Config = {"indices": np.int32([[0, 1], [1, 2], [0, 1]]), "constant": False, "out": [2, 3]}
PLAIN: list[Config] = [
    *(
        PLACES | {"kind": "SCATTER_ND", "dtype": d, "updates": [3]}
        for d in ("float32", "int8", "uint8", "int32", "int64", "bool")
    ),
    PLACES | {"kind": "SPARSE_TO_DENSE", "dtype": "float32", "one": False},
    {
        "kind": "ONE_HOT",
        "dtype": "int8",
        "shape": [3],
        "index": "int64",
        "depth": 4,
        "small": False,
        "out": [3, 4],
        "options": {"axis": -1},
    },
    {
        "kind": "DYNAMIC_UPDATE_SLICE",
        "dtype": "int8",
        "updates": [1, 2],
        "index": "int32",
        "begin": [0, 0],
        "constant": False,
        "out": [2, 3],
    },
    {"kind": "MATRIX_DIAG", "dtype": "int16", "updates": [2, 3], "out": [2, 3, 3]},
    {"kind": "MATRIX_SET_DIAG", "dtype": "int8", "updates": [2, 2], "out": [2, 2, 3]},
    {
        "kind": "REVERSE_SEQUENCE",
        "dtype": "int16",
        "indices": np.int32([1, 2]),
        "constant": False,
        "out": [2, 3, 2],
        "options": {"seq_dim": 1, "batch_dim": 0},
    },
]
"""One of each."""


@given(batch(KINDS, 40, 20))
@settings(max_examples=examples(3, 1), deadline=None)
def test_scatters(layers: list[Config]) -> None:
    check(model(layers), inputs=3)


@given(batch(KINDS, 40, 20))
@settings(max_examples=examples(16), deadline=None)
def test_numpy(layers: list[Config]) -> None:
    """The same in NumPy alone, far more often."""
    data = model(layers)
    check_numpy(tflite.parse(data, "model"), data, inputs=6)


def test_what_has_no_place_is_left_out() -> None:
    """LiteRT refuses it."""
    w = Writer("outside")
    at, parts = w.input("at", (3, 1), "int32"), w.input("parts", (3, 2), "float32")
    x, lengths = w.input("x", (2, 3), "float32"), w.input("lengths", (2,), "int64")
    y, z, r = w.tensor("y", (2, 2), "float32"), w.tensor("z", (4,), "float32"), w.tensor("r", (2, 3), "float32")
    w.op("SCATTER_ND", [at, parts, w.const("shape", np.int32([2, 2]))], [y])
    one = w.const("one", np.float32(1))
    w.op("SPARSE_TO_DENSE", [at, w.const("size", np.int32([4])), one, w.const("two", np.float32(2))], [z])
    w.op("REVERSE_SEQUENCE", [x, lengths], [r], seq_dim=1, batch_dim=0)
    w.output(y, z, r)
    case = np.int32([[-1], [3], [1]]), np.arange(6), np.arange(6), np.int64([-5, 1 << 40])
    compiled = mote.compile(w.finish())
    tensors = [compiled.source.tensors[t] for t in compiled.source.inputs]
    given = {t.id: value.astype(t.dtype.numpy).reshape(t.shape) for t, value in zip(tensors, case, strict=True)}
    want, found = compiled.source.evaluate(given), mote.run(compiled, given, layers=False).values
    assert {name: value.tolist() for name, value in found.items()} == {
        "y": [[0, 0], [4, 5]],
        "z": [2, 1, 2, 1],
        "r": [[0, 1, 2], [5, 4, 3]],
    }
    for t in compiled.source.outputs:
        assert np.array_equal(found[compiled.source.tensors[t].name], want[t])


@pytest.mark.parametrize(
    ("kind", "inputs", "options", "said"),
    [
        ("SCATTER_ND", [np.int32([[0]]), (1, 3), np.int32([2, 2])], {}, "do not fit an output"),
        ("SCATTER_ND", [np.int32([[0, 0, 0]]), (1,), np.int32([2, 2])], {}, "do not fit an output"),
        ("SCATTER_ND", [np.int32([[0]]), (1, 2), (2,)], {}, "output's shape must be a constant"),
        ("SPARSE_TO_DENSE", [np.int32([[0, 0]]), np.int32([2]), (1,), ()], {}, "do not fit an output"),
        ("SPARSE_TO_DENSE", [np.int32([0]), np.int32([2]), (3,), ()], {}, "do not fit an output"),
        ("ONE_HOT", [np.int32([0]), np.int32(0), (), ()], {"axis": -1}, "does not fit an input"),
        ("ONE_HOT", [np.int32([0]), np.int32(3), (), ()], {"axis": 2}, "does not fit an input"),
        ("ONE_HOT", [np.int32([0]), np.int32(3), (2,), ()], {"axis": 0}, "does not fit an input"),
        ("DYNAMIC_UPDATE_SLICE", [(2, 2), (3, 1), np.int32([0, 0])], {}, "do not fit an input"),
        ("DYNAMIC_UPDATE_SLICE", [(2, 2), (1, 1), np.int32([0])], {}, "do not fit an input"),
        ("MATRIX_DIAG", [()], {}, "not a diagonal"),
        ("MATRIX_SET_DIAG", [(2, 3), (3,)], {}, "not diagonals"),
        ("REVERSE_SEQUENCE", [(2, 3), np.int32([1, 1])], {"seq_dim": 0, "batch_dim": 0}, "do not fit an input"),
        ("REVERSE_SEQUENCE", [(2, 3), np.int32([1, 1])], {"seq_dim": 0, "batch_dim": 1}, "do not fit an input"),
        ("REVERSE_SEQUENCE", [(2, 3), np.int32([1, 1])], {"seq_dim": -1, "batch_dim": 0}, "do not fit an input"),
        ("EMBEDDING_LOOKUP", [np.int32([[0]]), (2, 2)], {}, "are not supported"),
        ("EMBEDDING_LOOKUP", [np.int32([2]), (2, 2)], {}, "is outside"),
    ],
)
def test_what_does_not_fit_is_refused(kind: str, inputs: list[Any], options: Config, said: str) -> None:
    w = Writer("refused")
    y = w.tensor("y", (1,), "float32")
    reads = [
        w.input(f"x{i}", value, "float32") if isinstance(value, tuple) else w.const(f"c{i}", value)
        for i, value in enumerate(inputs)
    ]
    w.op(kind, reads, [y], **options)
    w.output(y)
    with pytest.raises(UnsupportedError, match=said):
        tflite.parse(w.finish(), "model")


def every() -> bytes:
    """One of each operator that moves, picks or puts elements."""
    w = Writer("every")
    for family in (test_walk, test_lookup):
        for i, c in enumerate(family.PLAIN):
            family.add(w, i, c)
    for i, c in enumerate(PLAIN):
        add(w, i, c)
    test_walk.add(w, len(PLAIN), test_walk.TALL)
    return w.finish()


@pytest.mark.slow
def test_on_a_core() -> None:
    """Where words do not lie as on the host."""
    exact_on("cortex-m4", every(), 1)


def test_what_is_written_over_is_not_copied() -> None:
    """A tensor that nobody else reads is changed where it lies."""
    net = Net(1)
    x, begin = net.input(1, 64, 4), net.writer.input("begin", (3,), "int32")
    curved = net.op("TANH", [x], quant=(1 / 128, 0))
    changed = net.moved("DYNAMIC_UPDATE_SLICE", [curved, net.slice(curved, (0, 0, 0), (1, 2, 4)), begin])
    diagonal = net.moved("SLICE", [curved, net.ints(0, 0, 0), net.ints(1, 1, 4)], (1, 1, 4))
    set_ = net.moved("MATRIX_SET_DIAG", [changed, net.reshape(diagonal, 1, 4)])
    compiled = check(net.finish(net.op("MUL", [set_, set_])))
    assert compiled.plan.ram < 1.5 * 64 * 4

"""Shapes that a file leaves open or computes: what follows from others is known, what does not is refused."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from mote.base.errors import UnsupportedError
from mote.frontends import tflite
from mote.frontends.tflite.writer import Writer
from mote.ir.ops.moves.gather_constant import Pick
from tests.helpers.support import check, needs_litert


class Shapes(Writer):
    """A model with the arithmetic of shapes that converters write."""

    def __init__(self, *shape: int) -> None:
        super().__init__("shapes")
        self.x = self.input("x", shape, "float32", signature=[-1, *shape[1:]])

    def integers(
        self, kind: str, reads: list[int], shape: tuple[int, ...], dtype: str = "int32", **options: int
    ) -> int:
        """An operator on integers whose result the file says all of."""
        y = self.tensor(kind.lower(), shape, dtype)
        self.op(kind, reads, [y], **options)
        return y

    def ints(self, *values: int, dtype: str = "int32") -> int:
        return self.const("ints", np.array(values, dtype))

    def number(self, value: int) -> int:
        return self.const("number", np.int32(value))

    def size(self, axis: int) -> int:
        """The size of an axis of the input."""
        whole = self.integers("SHAPE", [self.x], (3,))
        ends = [self.ints(axis), self.ints(axis + 1), self.ints(1)]
        return self.integers("STRIDED_SLICE", [whole, *ends], (), shrink_axis_mask=1)

    def left_open(self, kind: str, reads: list[int], rank: int, dtype: str = "float32", **options: int) -> int:
        """An operator of whose result the file says only how many axes it has."""
        y = self.tensor(kind.lower(), [1] * rank, dtype, signature=[-1] * rank)
        self.op(kind, reads, [y], version=2 if kind == "BROADCAST_TO" else 1, **options)
        return y

    def finish_with(self, *outputs: int) -> bytes:
        self.output(*outputs)
        return self.finish()


@needs_litert
def test_what_follows_from_shapes_is_known() -> None:
    w = Shapes(2, 3, 4)
    rows, columns = w.size(0), w.size(2)
    flat = w.left_open("RESHAPE", [w.x, w.integers("PACK", [rows, w.number(-1)], (2,), values_count=2)], 2)
    assert flat
    counted = w.left_open("RANGE", [w.number(0), columns, w.number(1)], 1, "int32")
    picked = w.left_open("GATHER", [w.x, counted], 3, axis=2)
    times = w.integers("PACK", [rows, w.number(1), w.number(2)], (3,), values_count=3)
    tiled = w.left_open("TILE", [w.x, times], 3)
    both = w.integers("BROADCAST_ARGS", [w.ints(5, 1, 1, 1), w.integers("SHAPE", [w.x], (3,))], (4,))
    wide = w.left_open("BROADCAST_TO", [w.x, both], 4)
    halves = w.left_open("FILL", [w.integers("SHAPE", [wide], (4,)), w.const("half", np.float32(0.5))], 4)
    sums = w.left_open("ADD", [wide, halves], 4)
    rank = w.integers("RANK", [sums], ())
    spread = w.left_open("EXPAND_DIMS", [flat, w.ints(-1, dtype="int64")], 3)
    gone = w.left_open("SQUEEZE", [spread], 2, squeeze_dims=[-1])  # type: ignore[arg-type]
    halved = w.left_open("STRIDED_SLICE", [gone, w.ints(0, 1), w.ints(2, 12), w.ints(1, 2)], 2)
    joined = w.left_open("CONCATENATION", [halved, halved], 2, axis=-1)
    packed = w.left_open("PACK", [joined, joined], 3, axis=0, values_count=2)
    ends = [w.ints(0), w.integers("PACK", [rank], (1,), values_count=1), w.ints(3)]
    cut = w.left_open("STRIDED_SLICE", [sums, *ends], 4)
    compiled = check(w.finish_with(picked, tiled, packed, cut))
    shapes = [compiled.source.tensors[t].shape for t in compiled.source.outputs]
    assert shapes == [(2, 3, 4), (4, 3, 8), (2, 2, 12), (2, 2, 3, 4)]


@needs_litert
def test_scalars_and_nothing() -> None:
    """The shape of a scalar has no elements; joining nothing to something changes nothing."""
    w = Shapes(1, 1, 1)
    nothing = w.const("nothing", np.zeros(0, np.int32))
    scalar = w.tensor("scalar", (), "float32")
    w.op("RESHAPE", [w.x, nothing], [scalar])
    squeezed = w.tensor("squeezed", (), "float32")
    w.op("SQUEEZE", [w.x], [squeezed])
    y, z = w.tensor("y", (2, 2), "float32"), w.tensor("z", (), "float32")
    w.op("BROADCAST_TO", [scalar, w.ints(2, 2)], [y], version=2)
    w.op("ADD", [scalar, squeezed], [z])
    check(w.finish_with(y, z))


@needs_litert
def test_places_of_constants() -> None:
    """What WHERE finds in a constant is an index like any other."""
    w = Shapes(2, 3, 4)
    found = w.left_open("WHERE", [w.const("mask", np.array([[True, False], [True, True]]))], 2, "int64")
    columns = w.left_open("SLICE", [found, w.ints(0, 1), w.ints(-1, 1)], 2, "int64")
    flat = w.left_open("RESHAPE", [columns, w.ints(-1)], 1, "int64")
    y = w.left_open("GATHER", [w.x, flat], 3, axis=1)
    compiled = check(w.finish_with(y))
    (op,) = compiled.source.ops
    assert isinstance(op, Pick)
    assert op.places == (None, (0, 0, 1), None)


def unknown_reshape(w: Shapes) -> int:
    return w.left_open("RESHAPE", [w.x, w.input("shape", (2,), "int32")], 2)


def unknown_places(w: Shapes) -> int:
    return w.left_open("WHERE", [w.x], 2, "int64")


def unknown_range(w: Shapes) -> int:
    return w.left_open("RANGE", [w.number(0), w.input("limit", (), "int32"), w.number(1)], 1, "int32")


def unknown_tile(w: Shapes) -> int:
    return w.left_open("TILE", [w.x, w.input("times", (3,), "int32")], 3)


def unknown_size(w: Shapes) -> int:
    y = w.tensor("y", (0, 3), "float32", signature=(-1, 3))
    w.op("CONCATENATION", [w.x], [y], axis=0)
    return y


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (unknown_reshape, r"the new shape must be a constant, or follow from shapes(.|\n)*give the model fixed sizes"),
        (unknown_places, "the number of its results is only known at run time"),
        (unknown_range, "begin, end and step must be a constant"),
        (unknown_tile, "how often to repeat must be a constant"),
    ],
)
def test_what_does_not_follow_is_refused(build: Callable[[Shapes], int], said: str) -> None:
    w = Shapes(2, 3, 4)
    with pytest.raises(UnsupportedError, match=said):
        tflite.parse(w.finish_with(build(w)), "model")


@pytest.mark.parametrize(
    ("kind", "reads", "options", "said"),
    [
        ("BROADCAST_TO", ([3, 3, 4],), {}, "cannot be broadcast"),
        ("BROADCAST_TO", ([3, 4],), {}, "cannot be broadcast"),
        ("TILE", ([1, 2],), {}, "cannot be repeated"),
        ("TILE", ([1, -2, 1],), {}, "cannot be repeated"),
        ("REVERSE_V2", ([3],), {}, "cannot be reversed"),
        ("REVERSE_V2", ([1, -2],), {}, "cannot be reversed"),
        ("DEPTH_TO_SPACE", (), {"block_size": 2}, "has no blocks"),
        ("SPACE_TO_DEPTH", (), {"block_size": 2}, "has no blocks"),
        ("SPACE_TO_BATCH_ND", ([2], [[0, 0]]), {}, "not a multiple of blocks"),
        ("SPACE_TO_BATCH_ND", ([0], [[0, 0]]), {}, "do not fit an input"),
        ("SPACE_TO_BATCH_ND", ([2, 2], [[0, 0]]), {}, "do not fit an input"),
        ("BATCH_TO_SPACE_ND", ([3], [[0, 0]]), {}, "not a multiple of blocks"),
        ("BATCH_TO_SPACE_ND", ([2], [[3, 3]]), {}, "leave nothing"),
        ("BATCH_TO_SPACE_ND", ([2], [[-1, 0]]), {}, "do not fit an input"),
        ("SQUEEZE", (), {"squeeze_dims": [1]}, "cannot be removed"),
        ("SQUEEZE", (), {"squeeze_dims": [5]}, "cannot be removed"),
        ("EXPAND_DIMS", ([4],), {}, "cannot be expanded"),
        ("RANGE", ([0], [5]), {}, "a range of float32 is not supported"),
        ("RESHAPE", ([5, -1],), {}, "cannot be reshaped to"),
        ("RESHAPE", ([-1, -1],), {}, "cannot be reshaped to"),
        ("RESHAPE", ([0, -1],), {}, "cannot be reshaped to"),
        ("TILE", ([],), {}, "cannot be repeated"),
        ("MEAN", ([],), {}, "has no elements"),
    ],
)
def test_what_makes_no_sense_is_refused(
    kind: str, reads: tuple[list[int], ...], options: dict[str, int], said: str
) -> None:
    w = Shapes(2, 3, 4)
    constants = [w.const("ints", np.array(values, np.int32)) for values in reads]
    data = w.finish_with(w.left_open(kind, [w.x, *constants], 2, **options))
    with pytest.raises(UnsupportedError, match=said):
        tflite.parse(data, "model")

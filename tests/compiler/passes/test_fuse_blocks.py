"""Convolutions of blocks become convolutions with gaps, where that is the same."""

from __future__ import annotations

import pytest

from mote.compiler.passes import pipeline
from mote.frontends import tflite
from mote.ir.ops.common import WindowOp
from tests.helpers.network import Net
from tests.helpers.support import check, needs_litert

Edges = tuple[int, int]


def dilated(
    dtype: str = "int8", block: int = 2, edges: Edges = (2, 3), crops: Edges = (0, 1), *, deep: bool = False
) -> bytes:
    """A convolution with gaps as converters write it: images of 9x7 pixels that are padded to 14x12."""
    net = Net(3, dtype)
    x = net.input(1, 9, 9, 3)
    padded = 9 + sum(edges)
    many = (block**2, padded // block, padded // block, 3)
    table = net.ints(edges, edges)
    images = net.moved("SPACE_TO_BATCH_ND", [x, net.ints(block, block), table], many)
    y = net.depthwise(images, 2, padding="VALID") if deep else net.conv(images, 4, padding="VALID")
    _, height, width, channels = net.shapes[y]
    size = (1, height * block - sum(crops), width * block - sum(crops), channels)
    operands = [y, net.ints(block, block), net.ints(crops, crops)]
    return net.finish(net.moved("BATCH_TO_SPACE_ND", operands, size))


def over_time(dtype: str = "int8", *, first: bool = True) -> bytes:
    """The same of a sequence, which is seen as an image of one row or of one column."""
    net = Net(4, dtype)
    x = net.input(1, 10, 3)
    steps = net.moved("SPACE_TO_BATCH_ND", [x, net.ints(2), net.ints((4, 0))], (2, 7, 3))
    axis = 1 if first else 2
    image = net.moved("EXPAND_DIMS", [steps, net.ints(axis)], (2, 1, 7, 3) if first else (2, 7, 1, 3))
    y = net.conv(image, 4, (1, 3) if first else (3, 1), padding="VALID", fused_activation_function="RELU")
    flat = net.moved("SQUEEZE", [y], (2, 5, 4), squeeze_dims=[axis])
    return net.finish(net.moved("BATCH_TO_SPACE_ND", [flat, net.ints(2), net.ints((0, 0))], (1, 10, 4)))


def kinds(model: bytes) -> list[str]:
    graph, _ = pipeline.optimize(tflite.parse(model, "model"))
    return [op.kind for op in graph.ops]


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_images(dtype: str) -> None:
    for model in (dilated(dtype), dilated(dtype, deep=True), dilated(dtype, 3, (3, 3), (2, 1))):
        compiled = check(model)
        (op,) = compiled.plan.graph.ops
        assert isinstance(op, WindowOp)
        assert op.vertical.dilation > 1


@needs_litert
def test_sequences() -> None:
    for model in (over_time(), over_time(first=False), over_time("float32")):
        assert [op.kind for op in check(model).plan.graph.ops if not op.is_view] == ["CONV_2D"]


def test_images_of_a_batch_are_left_alone() -> None:
    """Crops that cut into the image itself, and blocks of other sizes."""
    assert kinds(dilated(crops=(3, 0)))[-1] == "SLICE"
    net = Net(5)
    x = net.input(1, 4, 4, 2)
    images = net.moved("SPACE_TO_BATCH_ND", [x, net.ints(2, 2), net.ints((0, 0), (0, 0))], (4, 2, 2, 2))
    y = net.conv(images, 2, 1)
    other = net.moved("BATCH_TO_SPACE_ND", [y, net.ints(4, 1), net.ints((0, 0), (0, 0))], (1, 8, 2, 2))
    assert kinds(net.finish(other)) == ["SPACE_TO_BATCH_ND", "CONV_2D", "BATCH_TO_SPACE_ND"]
    assert kinds(net.finish(images))[:2] == ["SPACE_TO_BATCH_ND", "CONV_2D"]


@pytest.mark.quick_cases(1)
@needs_litert
@pytest.mark.parametrize("first", [True, False])
def test_short_sequences(first: bool) -> None:
    """What is left is one step for each place of a block, or one block."""
    for size in (2, 6):
        net = Net(6)
        x = net.input(1, size, 3)
        steps = net.moved("SPACE_TO_BATCH_ND", [x, net.ints(2), net.ints((4, 0))], (2, size // 2 + 2, 3))
        shape = (2, 1, size // 2 + 2, 3) if first else (2, size // 2 + 2, 1, 3)
        image = net.moved("EXPAND_DIMS", [steps, net.ints(1 if first else 2)], shape)
        y = net.conv(image, 4, (1, 3) if first else (3, 1), padding="VALID")
        flat = net.reshape(y, 2, size // 2, 4)
        model = net.finish(net.moved("BATCH_TO_SPACE_ND", [flat, net.ints(2), net.ints((0, 0))], (1, size, 4)))
        assert [op.kind for op in check(model).plan.graph.ops if not op.is_view] == ["CONV_2D"]

"""Kinds of blocks by their names in space files: from MobileNetV2's inverted residual to a gated recurrent unit.

A block that keeps its input's shape in every network of the space has a residual connection; others have none or a
projection. So layers of one name mean the same in all networks of a space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mote.optimize.nas.spaces.layer_stack import ONE, LayerStack, Pair
from mote.optimize.nas.spaces.layers import (
    ActivationLayer,
    AttentionLayer,
    DenseLayer,
    GruLayer,
    MeanLayer,
    MulLayer,
    NormLayer,
)
from mote.optimize.nas.spaces.options import OptionValue

BANDS = 3
"""Kernel size over frequency bins in a `bc_resnet` block."""


@dataclass(frozen=True)
class BlockValues:
    """Chosen option values of one block."""

    name: str
    """Prefix of the names of its layers."""
    width: int
    """Number of output channels."""
    keeps: bool
    """Whether it keeps its input's shape in every network of the space."""
    kernel: Pair = ONE
    stride: Pair = ONE
    dilation: Pair = ONE
    expand: float = 1
    heads: int = 1
    activation: str = "relu"

    def layer(self, name: str) -> str:
        """Full name of a layer of this block."""
        return f"{self.name}.{name}"


Building = Callable[[LayerStack, BlockValues], None]
KEPT = None
"""Default of the option `width`: as many channels as the input."""
REQUIRED = ""
"""Marks an option without a default."""


@dataclass(frozen=True)
class NetworkBlock:
    """A kind of block: how to build it, its options and their defaults."""

    build: Building
    options: Mapping[str, OptionValue | None]
    """Options besides depth and precision, with their defaults."""
    about: str
    sequence: bool = False
    """Whether its input must be a sequence (time, 1, channels)."""
    rows: bool = False
    """Whether its weight shapes depend on the width of its input."""
    shared: bool = True
    """Whether a supernet can share its weights."""
    shortcut: bool = True
    """Whether it adds its input to its output when the shape is kept."""


def _conv(stack: LayerStack, block: BlockValues) -> None:
    name = block.layer("conv")
    stack.conv(name, block.width, block.kernel, block.stride, block.dilation, activation=block.activation)


def _frames(stack: LayerStack, block: BlockValues) -> None:
    columns = stack.shape[1]
    name = block.layer("conv")
    kernel, stride = (block.kernel[0], columns), (block.stride[0], columns)
    stack.conv(name, block.width, kernel, stride, activation=block.activation)


def _pool(stack: LayerStack, block: BlockValues) -> None:
    stack.pool(block.layer("pool"), block.kernel, block.stride, largest=True)


def _mobile(stack: LayerStack, block: BlockValues) -> None:
    _inverted(stack, block, ())


def _tenet(stack: LayerStack, block: BlockValues) -> None:
    _inverted(stack, block, range(3, max(block.kernel), 2))


def _inverted(stack: LayerStack, block: BlockValues, branches: range | tuple[int, ...]) -> None:
    source = stack.last
    inner = max(round(block.expand * stack.channels), 1)
    if inner != stack.channels:
        stack.conv(block.layer("expand"), inner, activation=block.activation)
    stack.depthwise(
        block.layer("depthwise"),
        block.kernel,
        block.stride,
        block.dilation,
        activation=block.activation,
        branches=branches,
    )
    stack.conv(block.layer("project"), block.width)
    if block.keeps:
        stack.add(block.layer("add"), source)


def _fused(stack: LayerStack, block: BlockValues) -> None:
    source = stack.last
    inner = max(round(block.expand * stack.channels), 1)
    stack.conv(block.layer("expand"), inner, block.kernel, block.stride, activation=block.activation)
    stack.conv(block.layer("project"), block.width)
    if block.keeps:
        stack.add(block.layer("add"), source)


def _separable(stack: LayerStack, block: BlockValues) -> None:
    name = block.layer("depthwise")
    stack.depthwise(name, block.kernel, block.stride, block.dilation, activation=block.activation)
    stack.conv(block.layer("pointwise"), block.width, activation=block.activation)


def _residual(stack: LayerStack, block: BlockValues) -> None:
    source = stack.last
    stack.conv(block.layer("conv1"), block.width, block.kernel, block.stride, activation=block.activation)
    inside = stack.conv(block.layer("conv2"), block.width, block.kernel)
    _shortcut(stack, block, source, inside)


def _bottleneck(stack: LayerStack, block: BlockValues) -> None:
    source = stack.last
    inner = max(round(block.expand * block.width), 1)
    stack.conv(block.layer("reduce"), inner, activation=block.activation)
    stack.conv(block.layer("conv"), inner, block.kernel, block.stride, activation=block.activation)
    inside = stack.conv(block.layer("restore"), block.width)
    _shortcut(stack, block, source, inside)


def _shortcut(stack: LayerStack, block: BlockValues, source: str, inside: str) -> None:
    """Adds the block's input, projected by a pointwise convolution if shapes differ."""
    if not block.keeps:
        stack.conv(block.layer("shortcut"), block.width, stride=block.stride, source=source)
    else:
        stack.last = source
    stack.add(block.layer("add"), inside, block.activation)


def _repconv(stack: LayerStack, block: BlockValues) -> None:
    branches = (1, 0) if block.keeps else (1,)
    name = block.layer("conv")
    stack.conv(name, block.width, block.kernel, block.stride, activation=block.activation, branches=branches)


def _broadcast(stack: LayerStack, block: BlockValues) -> None:
    source = stack.last
    if not block.keeps:
        stack.conv(block.layer("pointwise"), block.width, activation=block.activation)
    bands = stack.depthwise(block.layer("bands"), (1, BANDS), block.stride)
    stack.append(MeanLayer(block.layer("mean"), (bands,), axes=(1,)))
    stack.depthwise(block.layer("time"), block.kernel, ONE, block.dilation, activation=block.activation)
    stack.conv(block.layer("mix"), block.width, activation=block.activation)
    stack.add(block.layer("broadcast"), bands, "none" if block.keeps else block.activation)
    if block.keeps:
        stack.add(block.layer("add"), source, block.activation)


def _temporal(stack: LayerStack, block: BlockValues) -> None:
    source = stack.last
    stack.depthwise(block.layer("depthwise"), block.kernel, block.stride, block.dilation)
    stack.conv(block.layer("pointwise"), block.width, activation="none" if block.keeps else block.activation)
    if block.keeps:
        stack.add(block.layer("add"), source, block.activation)


def _gated(stack: LayerStack, block: BlockValues) -> None:
    source = stack.last
    inside = stack.depthwise(block.layer("depthwise"), block.kernel, block.stride, block.dilation)
    stack.conv(block.layer("gate"), block.width)
    gate = stack.append(ActivationLayer(block.layer("sigmoid"), (stack.last,), activation="sigmoid"))
    value = stack.conv(block.layer("value"), block.width, activation=block.activation, source=inside)
    stack.append(MulLayer(block.layer("product"), (value, gate)))
    if block.keeps:
        stack.add(block.layer("add"), source)


def _gru(stack: LayerStack, block: BlockValues) -> None:
    stack.append(GruLayer(block.layer("gru"), (stack.last,), units=block.width))


def _transformer(stack: LayerStack, block: BlockValues) -> None:
    if not block.keeps:
        stack.conv(block.layer("embed"), block.width)
    source = stack.last
    size = -(-block.width // block.heads)
    stack.append(NormLayer(block.layer("norm1"), (source,)))
    stack.append(AttentionLayer(block.layer("attention"), (stack.last,), heads=block.heads, size=size))
    source = stack.add(block.layer("add1"), source)
    stack.append(NormLayer(block.layer("norm2"), (source,)))
    inner = max(round(block.expand * block.width), 1)
    stack.conv(block.layer("widen"), inner, activation=block.activation, norm=False)
    stack.conv(block.layer("narrow"), block.width, norm=False)
    stack.add(block.layer("add2"), source)


def _dense(stack: LayerStack, block: BlockValues) -> None:
    name = block.layer("dense")
    stack.append(DenseLayer(name, (stack.last,), units=block.width, activation=block.activation, norm=True))


_WINDOW: Mapping[str, OptionValue | None] = {"width": KEPT, "stride": 1, "kernel": 3, "activation": "relu"}
_DILATED = {**_WINDOW, "dilation": 1}
BLOCKS: Mapping[str, NetworkBlock] = {
    "conv": NetworkBlock(_conv, {**_DILATED, "width": REQUIRED}, "a convolution", shortcut=False),
    "pool": NetworkBlock(_pool, {"kernel": 2, "stride": 2}, "max pooling", shortcut=False),
    "separable": NetworkBlock(
        _separable, _DILATED, "a depthwise and a pointwise convolution (MobileNet, DS-CNN)", shortcut=False
    ),
    "mobile": NetworkBlock(_mobile, {**_DILATED, "expand": 4}, "an inverted residual (MobileNetV2)"),
    "fused": NetworkBlock(
        _fused,
        {**_WINDOW, "expand": 2},
        "an inverted residual whose first convolution is no depthwise one (EfficientNetV2)",
    ),
    "residual": NetworkBlock(_residual, _WINDOW, "two convolutions beside a shortcut (ResNet)"),
    "bottleneck": NetworkBlock(
        _bottleneck, {**_WINDOW, "expand": 0.25}, "a convolution over fewer channels beside a shortcut (ResNet-50)"
    ),
    "repconv": NetworkBlock(
        _repconv, _WINDOW, "a convolution trained with a 1x1 and an identity branch (RepVGG, RepCNN)"
    ),
    "bc_resnet": NetworkBlock(
        _broadcast, _DILATED, "2-D over bins, 1-D over time, whose result is broadcast over the bins (BC-ResNet)"
    ),
    "frames": NetworkBlock(
        _frames,
        {"width": REQUIRED, "stride": 1, "kernel": 3, "activation": "relu"},
        "a convolution over whole rows: bins or pixels of a row become channels of a sequence",
        rows=True,
        shortcut=False,
    ),
    "temporal": NetworkBlock(
        _temporal, _DILATED, "a depthwise convolution over time and a pointwise one (TC-ResNet, MatchboxNet)", True
    ),
    "tenet": NetworkBlock(
        _tenet, {**_DILATED, "kernel": 9, "expand": 3}, "an inverted residual over time with branches (TENet)", True
    ),
    "gated": NetworkBlock(_gated, _DILATED, "a convolution over time whose channels are gated (SparkNet)", True),
    "gru": NetworkBlock(_gru, {"width": REQUIRED}, "a gated recurrent unit", True, shared=False, shortcut=False),
    "transformer": NetworkBlock(
        _transformer,
        {"width": KEPT, "heads": 2, "expand": 2, "activation": "relu"},
        "attention and a perceptron, each behind layer normalization and beside a shortcut",
        True,
        shared=False,
    ),
    "mlp": NetworkBlock(
        _dense, {"width": REQUIRED, "activation": "relu"}, "a fully connected layer", shared=False, shortcut=False
    ),
}

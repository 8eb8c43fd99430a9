"""Layers of a network as data, from which PyTorch modules and graphs are built.

A feature map is (height, width, channels), a sequence (time, 1, channels), a spectrogram (time, bins, channels), a
table row (features,)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from mote.base.errors import MoteError
from mote.ir.ops.common import Axis

Shape = tuple[int, ...]
"""Shape of one sample, channels last."""
INPUT = "input"
"""Name of the network's input among the inputs of layers."""
ACTIVATIONS = ("none", "relu", "relu6", "hardswish")
PADDINGS = ("same", "valid", "causal")
"""Values of `padding`. `causal` is `same`, but along the height (time) all padding comes before the first row, so that
the network can stream."""


@dataclass(frozen=True)
class NetworkLayer:
    """A layer. Its name also identifies its weights: networks of one space share weights between layers of equal
    name."""

    name: str
    inputs: tuple[str, ...]
    """Names of the layers whose outputs it reads, or INPUT."""

    def shape(self, *inputs: Shape) -> Shape:
        """Output shape, for inputs of these shapes."""
        return inputs[0]

    def macs(self, *inputs: Shape) -> int:
        """MACs per sample."""
        return 0

    def parameters(self, *inputs: Shape) -> dict[str, Shape]:
        """Shapes of its exported constants by name, with batch normalization folded."""
        return {}


@dataclass(frozen=True)
class WindowLayer(NetworkLayer):
    """A layer with a sliding window over height and width."""

    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: str = "same"

    def axes(self, given: Shape) -> tuple[Axis, Axis]:
        """Window along height and width, with the padding for an input of this shape."""
        height, width = (
            _axis(
                size, kernel, stride, dilation, self.padding if not number else self.padding.replace("causal", "same")
            )
            for number, (size, kernel, stride, dilation) in enumerate(
                zip(given[:2], self.kernel, self.stride, self.dilation, strict=True)
            )
        )
        return height, width

    def positions(self, given: Shape) -> tuple[int, int]:
        """Output height and width."""
        height, width = (axis.size(size) for axis, size in zip(self.axes(given), given[:2], strict=True))
        if min(height, width) < 1:
            raise MoteError(
                f"a window of {self.kernel} does not fit an input of {given[0]}x{given[1]}", where=self.name
            )
        return height, width


def _axis(size: int, kernel: int, stride: int, dilation: int, padding: str) -> Axis:
    extent = (kernel - 1) * dilation + 1
    if padding == "valid":
        return Axis(kernel, stride, dilation)
    if padding == "causal":
        return Axis(kernel, stride, dilation, extent - 1, 0)
    total = max((-(-size // stride) - 1) * stride + extent - size, 0)
    return Axis(kernel, stride, dilation, total // 2, total - total // 2)


@dataclass(frozen=True)
class ConvLayer(WindowLayer):
    """A convolution with batch normalization and an activation.

    `weights` are exported as [filters, height, width, channels], or [height, width, channels] if depthwise."""

    filters: int = 0
    """Output channels; ignored if depthwise."""
    depthwise: bool = False
    activation: str = "relu"
    norm: bool = True
    """Whether training uses batch normalization; it is folded into weights and bias on export."""
    branches: tuple[int, ...] = ()
    """Kernel sizes of parallel branches during training, each with batch normalization; 0 is an identity branch. A size
    applies to both axes, capped at the kernel's own (3 next to 9x1 is 3x1). Export merges the branches into the kernel
    (structural reparameterization): at its center, or at its end along the time axis if causal."""

    def shape(self, *inputs: Shape) -> Shape:
        return (*self.positions(inputs[0]), inputs[0][2] if self.depthwise else self.filters)

    def macs(self, *inputs: Shape) -> int:
        return prod(self.shape(*inputs)) * prod(self.kernel) * (1 if self.depthwise else inputs[0][2])

    def parameters(self, *inputs: Shape) -> dict[str, Shape]:
        channels = inputs[0][2]
        weights = (*self.kernel, channels) if self.depthwise else (self.filters, *self.kernel, channels)
        return {"weights": weights, "bias": (channels if self.depthwise else self.filters,)}


@dataclass(frozen=True)
class DenseLayer(NetworkLayer):
    """A fully connected layer over all elements of its input; `weights` are exported as [units, elements]."""

    units: int = 0
    activation: str = "none"
    norm: bool = False

    def shape(self, *inputs: Shape) -> Shape:
        return (self.units,)

    def macs(self, *inputs: Shape) -> int:
        return self.units * prod(inputs[0])

    def parameters(self, *inputs: Shape) -> dict[str, Shape]:
        return {"weights": (self.units, prod(inputs[0])), "bias": (self.units,)}


@dataclass(frozen=True)
class PoolLayer(WindowLayer):
    """Max or average pooling."""

    largest: bool = False
    """True for max pooling, False for average pooling."""

    def shape(self, *inputs: Shape) -> Shape:
        return (*self.positions(inputs[0]), inputs[0][2])


@dataclass(frozen=True)
class MeanLayer(NetworkLayer):
    """Mean over height, width or both: both give a vector, one keeps its axis with size 1."""

    axes: tuple[int, ...] = (0, 1)

    def shape(self, *inputs: Shape) -> Shape:
        given = inputs[0]
        if self.axes == (0, 1):
            return (given[2],)
        return tuple(1 if axis in self.axes else size for axis, size in enumerate(given))


@dataclass(frozen=True)
class LastLayer(NetworkLayer):
    """Last time step of a sequence, as a vector."""

    def shape(self, *inputs: Shape) -> Shape:
        return (prod(inputs[0][1:]),)


@dataclass(frozen=True)
class AddLayer(NetworkLayer):
    """Sum of two inputs with broadcasting, and an activation."""

    activation: str = "none"

    def shape(self, *inputs: Shape) -> Shape:
        return _broadcast(*inputs)


@dataclass(frozen=True)
class MulLayer(NetworkLayer):
    """Product of two inputs with broadcasting, such as a gate."""

    def shape(self, *inputs: Shape) -> Shape:
        return _broadcast(*inputs)


@dataclass(frozen=True)
class ActivationLayer(NetworkLayer):
    """A separate activation: one of ACTIVATIONS, `sigmoid` or `tanh`."""

    activation: str = "relu"


@dataclass(frozen=True)
class ConcatLayer(NetworkLayer):
    """Concatenation along the channels."""

    def shape(self, *inputs: Shape) -> Shape:
        return (*inputs[0][:-1], sum(shape[-1] for shape in inputs))


@dataclass(frozen=True)
class GruLayer(NetworkLayer):
    """A GRU over time: (time, 1, channels) to (time, 1, units).

    `kernel`, `recurrent`, `bias` and `recurrent_bias` are exported in PyTorch's gate order: reset, update, new."""

    units: int = 0

    def shape(self, *inputs: Shape) -> Shape:
        return (inputs[0][0], 1, self.units)

    def macs(self, *inputs: Shape) -> int:
        return inputs[0][0] * 3 * self.units * (inputs[0][2] + self.units)

    def parameters(self, *inputs: Shape) -> dict[str, Shape]:
        gates = 3 * self.units
        return {
            "kernel": (gates, inputs[0][2]),
            "recurrent": (gates, self.units),
            "bias": (gates,),
            "recurrent_bias": (gates,),
        }


@dataclass(frozen=True)
class NormLayer(NetworkLayer):
    """Layer normalization over the channels, with `scale` and `bias`."""

    def parameters(self, *inputs: Shape) -> dict[str, Shape]:
        return {"scale": (inputs[0][-1],), "bias": (inputs[0][-1],)}


@dataclass(frozen=True)
class AttentionLayer(NetworkLayer):
    """Multi-head self-attention over time; keeps the shape (time, 1, channels).

    `query`, `key`, `value` [heads * size, channels] and `out` [channels, heads * size] are exported, each with a bias
    such as `query_bias`."""

    heads: int = 1
    size: int = 16
    """Channels per head."""

    def macs(self, *inputs: Shape) -> int:
        time, _, channels = inputs[0]
        inner = self.heads * self.size
        return 4 * time * channels * inner + 2 * time * time * inner

    def parameters(self, *inputs: Shape) -> dict[str, Shape]:
        channels, inner = inputs[0][2], self.heads * self.size
        projections = dict.fromkeys(("query", "key", "value"), (inner, channels)) | {"out": (channels, inner)}
        return projections | {f"{name}_bias": shape[:1] for name, shape in projections.items()}


def _broadcast(one: Shape, other: Shape) -> Shape:
    rank = max(len(one), len(other))
    one, other = ((1,) * (rank - len(shape)) + shape for shape in (one, other))
    if any(a != b and 1 not in (a, b) for a, b in zip(one, other, strict=True)):
        raise MoteError(f"{one} and {other} do not broadcast")
    return tuple(map(max, one, other))

"""Gradients of operators with sliding windows: CONV_2D, DEPTHWISE_CONV_2D, AVERAGE_POOL_2D and MAX_POOL_2D (NHWC).

`gradient` is that of the operator's output before its fused activation. Sums are in double precision, rounded to
float32 once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from mote.ir.graph import Graph, Op
from mote.ir.graph.numeric.fixedpoint import Ints
from mote.ir.graph.rows import OUTSIDE, inside, row_count
from mote.ir.graph.tensor import Array, Shape
from mote.ir.ops.common import Axis
from mote.ir.ops.training.types import real_problem

Doubles = NDArray[np.float64]


class Tap:
    """A kernel tap of a window: the input pixels that it reads, and the output positions where it does."""

    def __init__(self, at: tuple[int, int], rows: Ints, columns: Ints) -> None:
        self.at = at
        self.outputs = [np.flatnonzero(axis != OUTSIDE) for axis in (rows, columns)]
        self.inputs = [axis[axis != OUTSIDE] for axis in (rows, columns)]

    def at_inputs(self, x: Array) -> Array:
        """Gather the input pixels that the tap reads, for the output positions where it reads any."""
        return x[:, self.inputs[0][:, None], self.inputs[1]]

    def at_outputs(self, gradient: Array) -> Array:
        """Gather the gradient at the output positions where the tap reads a pixel."""
        return gradient[:, self.outputs[0][:, None], self.outputs[1]]

    def scatter_add(self, sums: Doubles, parts: Array) -> None:
        """Scatter-add contributions of the tap's output positions to the input pixels that it reads."""
        sums[:, self.inputs[0][:, None], self.inputs[1]] += parts


def taps(vertical: Axis, horizontal: Axis, height: int, width: int) -> Iterator[Tap]:
    """The kernel taps of a window over an image of that size, row by row."""
    rows, columns = vertical.positions(height), horizontal.positions(width)
    for at in product(range(vertical.kernel), range(horizontal.kernel)):
        yield Tap(at, rows[:, at[0]], columns[:, at[1]])


class WindowGradient(Op):
    """Base of input gradients of windowed operators, for images of height and width `size`. Input 0 is the gradient of
    the operator's output."""

    size: tuple[int, int]
    vertical: Axis
    horizontal: Axis

    def channels(self, g: Graph) -> int:
        """Number of channels of the images."""
        return self.input(g).channels

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g).shape[0], *self.size, self.channels(g))]

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        """Rows of the gradient whose windows contain image row `y`: one for each window row from the top, OUTSIDE if
        there is none. Of weights: all rows."""
        if position > 0:
            return tuple(range(row_count(self.input(g, position).shape)))
        v, height = self.vertical, self.input(g).shape[1]
        image, row = divmod(y, self.size[0])
        places = [divmod(row + v.before - k * v.dilation, v.stride) for k in range(v.kernel)]
        rows = [inside(at, height) if rest == 0 else OUTSIDE for at, rest in places]
        return tuple(r if r == OUTSIDE else r + image * height for r in rows)

    def unsupported(self, g: Graph) -> str | None:
        sizes = self.vertical.size(self.size[0]), self.horizontal.size(self.size[1])
        if sizes != self.input(g).shape[1:3]:
            return f"images of {self.size} give outputs of {sizes}, not {self.input(g).shape[1:3]}"
        return real_problem(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        gradient = values[0]
        assert gradient is not None
        sums = np.zeros(self.shapes(g)[0])
        others = [value.astype(np.float64) for value in values[1:] if value is not None]
        self.spread(sums, gradient.astype(np.float64), others)
        return [sums.astype(np.float32)]

    def spread(self, sums: Doubles, gradient: Doubles, others: Sequence[Doubles]) -> None:
        """Add to the input gradient (`sums`) the contributions of the output gradient and the other inputs."""
        raise NotImplementedError

    def taps(self) -> Iterator[Tap]:
        return taps(self.vertical, self.horizontal, *self.size)

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)


class ConvInputGradient(WindowGradient):
    """CONV_2D_INPUT_GRADIENT. Inputs: gradient, [out, kh, kw, in] weights. Unlike TRANSPOSE_CONV it takes weights in
    the layout of the convolution, and supports dilation."""

    kind = "CONV_2D_INPUT_GRADIENT"

    def channels(self, g: Graph) -> int:
        return self.input(g, 1).shape[3]

    def macs(self, g: Graph) -> int:
        n, height, width, _ = self.input(g).shape
        return n * height * width * self.input(g, 1).size

    def spread(self, sums: Doubles, gradient: Doubles, others: Sequence[Doubles]) -> None:
        (weights,) = others
        for tap in self.taps():
            tap.scatter_add(sums, tap.at_outputs(gradient) @ weights[:, *tap.at])


class DepthwiseInputGradient(WindowGradient):
    """DEPTHWISE_CONV_2D_INPUT_GRADIENT. Inputs: gradient, [1, kh, kw, out] weights."""

    multiplier: int = 1
    kind = "DEPTHWISE_CONV_2D_INPUT_GRADIENT"

    def channels(self, g: Graph) -> int:
        return self.input(g).channels // self.multiplier

    def macs(self, g: Graph) -> int:
        return self.input(g).size * self.vertical.kernel * self.horizontal.kernel

    def spread(self, sums: Doubles, gradient: Doubles, others: Sequence[Doubles]) -> None:
        (weights,) = others
        for tap in self.taps():
            parts = tap.at_outputs(gradient) * weights[0, *tap.at]
            tap.scatter_add(sums, parts.reshape(*parts.shape[:3], sums.shape[3], self.multiplier).sum(axis=4))


class AveragePoolGradient(WindowGradient):
    """AVERAGE_POOL_2D_GRADIENT. Input: gradient; each element is distributed equally to the pixels of its window inside
    the image."""

    kind = "AVERAGE_POOL_2D_GRADIENT"

    def spread(self, sums: Doubles, gradient: Doubles, others: Sequence[Doubles]) -> None:
        axes = zip((self.vertical, self.horizontal), self.size, strict=True)
        rows, columns = ((axis.positions(n) != OUTSIDE).sum(axis=1) for axis, n in axes)
        shares = gradient / np.maximum(rows[:, None, None] * columns[:, None], 1)
        for tap in self.taps():
            tap.scatter_add(sums, tap.at_outputs(shares))


class MaxPoolGradient(WindowGradient):
    """MAX_POOL_2D_GRADIENT. Inputs: gradient, pooled images; each gradient goes to the largest pixel of its window, the
    first of equals in row-major order."""

    kind = "MAX_POOL_2D_GRADIENT"

    def reads(self, g: Graph, position: int, y: int) -> tuple[int, ...] | None:
        return None

    def spread(self, sums: Doubles, gradient: Doubles, others: Sequence[Doubles]) -> None:
        (x,) = others
        largest = np.full(gradient.shape, -np.inf)
        argmax = np.full(gradient.shape, OUTSIDE, np.int64)
        for number, tap in enumerate(self.taps()):
            here = np.full(gradient.shape, -np.inf)
            here[:, tap.outputs[0][:, None], tap.outputs[1]] = tap.at_inputs(x)
            argmax = np.where(here > largest, number, argmax)
            largest = np.maximum(here, largest)
        for number, tap in enumerate(self.taps()):
            tap.scatter_add(sums, np.where(tap.at_outputs(argmax) == number, tap.at_outputs(gradient), 0.0))

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        """Upper bound of the magnitude (for tolerances): a pixel may be the maximum of as many windows as there are
        taps."""
        assert values[0] is not None
        most = np.abs(values[0]).max(initial=0) * self.vertical.kernel * self.horizontal.kernel
        return [np.full(self.shapes(g)[0], most)]


class WeightGradient(Op):
    """Base of weight gradients of convolutions. Inputs: images, gradient of the output."""

    vertical: Axis
    horizontal: Axis

    def unsupported(self, g: Graph) -> str | None:
        _, height, width, _ = self.input(g).shape
        sizes = self.vertical.size(height), self.horizontal.size(width)
        if sizes != self.input(g, 1).shape[1:3]:
            return f"images of {(height, width)} give outputs of {sizes}, not {self.input(g, 1).shape[1:3]}"
        return real_problem(g, self)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        x, gradient = values
        assert x is not None and gradient is not None
        weights = np.zeros(self.shapes(g)[0])
        pixels, gradients = x.astype(np.float64), gradient.astype(np.float64)
        for tap in taps(self.vertical, self.horizontal, *x.shape[1:3]):
            weights[:, *tap.at] = self.products(tap.at_inputs(pixels), tap.at_outputs(gradients))
        return [weights.astype(np.float32)]

    def products(self, pixels: Doubles, gradient: Doubles) -> Doubles:
        """Sums of products of gradient and pixels for a kernel tap, over all positions."""
        raise NotImplementedError

    def terms(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        return self.evaluate(g, values)


class ConvWeightGradient(WeightGradient):
    """CONV_2D_WEIGHT_GRADIENT: [out, kh, kw, in], the layout of CONV_2D's weights."""

    kind = "CONV_2D_WEIGHT_GRADIENT"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(self.input(g, 1).channels, self.vertical.kernel, self.horizontal.kernel, self.input(g).channels)]

    def macs(self, g: Graph) -> int:
        n, height, width, _ = self.input(g, 1).shape
        return n * height * width * self.output(g).size

    def products(self, pixels: Doubles, gradient: Doubles) -> Doubles:
        return np.asarray(gradient.reshape(-1, gradient.shape[3]).T @ pixels.reshape(-1, pixels.shape[3]))


class DepthwiseWeightGradient(WeightGradient):
    """DEPTHWISE_CONV_2D_WEIGHT_GRADIENT: [1, kh, kw, out], the layout of DEPTHWISE_CONV_2D's weights."""

    kind = "DEPTHWISE_CONV_2D_WEIGHT_GRADIENT"

    def shapes(self, g: Graph) -> list[Shape]:
        return [(1, self.vertical.kernel, self.horizontal.kernel, self.input(g, 1).channels)]

    def macs(self, g: Graph) -> int:
        return self.input(g, 1).size * self.vertical.kernel * self.horizontal.kernel

    def products(self, pixels: Doubles, gradient: Doubles) -> Doubles:
        multiplier = gradient.shape[3] // pixels.shape[3]
        return np.asarray((np.repeat(pixels, multiplier, axis=3) * gradient).sum(axis=(0, 1, 2)))

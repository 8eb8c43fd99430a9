"""Operators that another compiler has made a command stream for an Ethos-U of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod

import numpy as np

from mote.hardware.npu.functional import execute
from mote.hardware.npu.stream import CommandStream, NpuOperation, decode, operations
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape


class NpuStream(Op, eq=False):
    """A command stream with its constants, the last input. The others, and the outputs, have places in its working
    memory: they are copied there, and from there."""

    payload: bytes
    """The stream as the driver takes it."""
    scratch: int
    """Bytes of working memory, base pointer 1."""
    fast: int
    """Bytes of the driver's fast memory, base pointer 2."""
    results: tuple[Shape, ...]
    """Shapes of the outputs."""
    places: tuple[int, ...]
    """Offsets in the working memory: of the inputs without constants, then of the outputs."""
    kind = "ETHOS_U"

    @cached_property
    def stream(self) -> CommandStream:
        return decode(self.payload)

    @property
    def tensors(self) -> tuple[tuple[int, int], ...]:
        """The inputs that are copied, then the outputs, each with its offset in the working memory."""
        return tuple(zip((*self.inputs[:-1], *self.outputs), self.places, strict=True))

    def shapes(self, g: Graph) -> list[Shape]:
        return list(self.results)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        *given, constants = (np.ascontiguousarray(v).reshape(-1).view(np.uint8) for v in values if v is not None)
        scratch = np.zeros(self.scratch, np.uint8)
        for data, at in zip(given, self.places, strict=False):
            scratch[at : at + data.size] = data
        execute(self.stream, [constants.copy(), scratch, np.zeros(self.fast, np.uint8)])
        made = []
        for number, at in zip(self.outputs, self.places[len(given) :], strict=True):
            tensor = g.tensors[number]
            data = scratch[at : at + tensor.nbytes].copy()
            made.append(data.view(tensor.dtype.numpy).reshape(tensor.shape))
        return made

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no operator of Ethos-U"

    def macs(self, g: Graph) -> int:
        return sum(map(_macs, operations(self.stream)))


def _macs(operation: NpuOperation) -> int:
    """Multiplications of a convolution."""
    if operation.name not in ("CONV", "DEPTHWISE"):
        return 0
    sizes = [operation.value(f"OFM_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH", "DEPTH")]
    sizes += [operation.value("IFM_DEPTH_M1") + 1] if operation.name == "CONV" else []
    for axis, dilation in (("HEIGHT", "dilate_y"), ("WIDTH", "dilate_x")):
        spread = operation.value("KERNEL_STRIDE", dilation) + 1
        sizes.append(operation.value(f"KERNEL_{axis}_M1") // spread + 1)
    return prod(sizes)

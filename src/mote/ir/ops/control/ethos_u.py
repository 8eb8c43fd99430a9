"""ETHOS_U: operators that another compiler (Vela) translated to an Ethos-U command stream."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from mote.base.deferred import deferred
from mote.ir.graph import Graph, Op
from mote.ir.graph.tensor import Array, Shape

if TYPE_CHECKING:
    from mote.hardware.npu import functional, stream
    from mote.hardware.npu.stream import CommandStream, NpuOperation
else:
    functional, stream = map(deferred, ("mote.hardware.npu.functional", "mote.hardware.npu.stream"))


class NpuStream(Op, eq=False):
    """A command stream for an Ethos-U. Its constants are the last input; the other inputs are copied into its working
    memory, and the outputs out of it."""

    payload: bytes
    """The command stream in the driver's format."""
    scratch: int
    """Size of the working memory in bytes (base pointer 1)."""
    fast: int
    """Size of the driver's fast memory in bytes (base pointer 2)."""
    results: tuple[Shape, ...]
    """Shapes of the command stream's outputs."""
    places: tuple[int, ...]
    """Offsets in the working memory: of the non-constant inputs, then of the outputs."""
    kind = "ETHOS_U"

    @cached_property
    def stream(self) -> CommandStream:
        return stream.decode(self.payload)

    @property
    def tensors(self) -> tuple[tuple[int, int], ...]:
        """The tensors that are copied, inputs then outputs, each with its offset in the working memory."""
        return tuple(zip((*self.inputs[:-1], *self.outputs), self.places, strict=True))

    def shapes(self, g: Graph) -> list[Shape]:
        return list(self.results)

    def evaluate(self, g: Graph, values: Sequence[Array | None]) -> list[Array]:
        *inputs, constants = (np.ascontiguousarray(v).reshape(-1).view(np.uint8) for v in values if v is not None)
        scratch = np.zeros(self.scratch, np.uint8)
        for data, at in zip(inputs, self.places, strict=False):
            scratch[at : at + data.size] = data
        functional.execute(self.stream, [constants.copy(), scratch, np.zeros(self.fast, np.uint8)])
        outputs = []
        for number, at in zip(self.outputs, self.places[len(inputs) :], strict=True):
            tensor = g.tensors[number]
            data = scratch[at : at + tensor.nbytes].copy()
            outputs.append(data.view(tensor.dtype.numpy).reshape(tensor.shape))
        return outputs

    def misjudged(self, g: Graph) -> str | None:
        return "LiteRT has no operator of Ethos-U"

    def macs(self, g: Graph) -> int:
        return sum(map(_macs, stream.operations(self.stream)))


def _macs(operation: NpuOperation) -> int:
    """Multiply-accumulates of a convolution; 0 for other operations."""
    if operation.name not in ("CONV", "DEPTHWISE"):
        return 0
    sizes = [operation.value(f"OFM_{axis}_M1") + 1 for axis in ("HEIGHT", "WIDTH", "DEPTH")]
    sizes += [operation.value("IFM_DEPTH_M1") + 1] if operation.name == "CONV" else []
    for axis, dilation in (("HEIGHT", "dilate_y"), ("WIDTH", "dilate_x")):
        spread = operation.value("KERNEL_STRIDE", dilation) + 1
        sizes.append(operation.value(f"KERNEL_{axis}_M1") // spread + 1)
    return prod(sizes)

"""Arguments of CMSIS-NN's functions: structs as C literals, constants, and working memory."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.offload.contract import SCRATCH, Blob, Pointer
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis

Argument = Pointer | int | str
SUFFIX = {DType.INT8: "s8", DType.INT16: "s16"}
"""What names of functions end in, by the type of activations."""


def literal(struct: str, *values: object) -> str:
    """The address of a struct."""
    return f"&(const cmsis_nn_{struct}){{{', '.join(map(str, values))}}}"


def pair(horizontal: int, vertical: int) -> str:
    """A cmsis_nn_tile, or the ends of an activation."""
    return f"{{{horizontal}, {vertical}}}"


def dims(shape: Sequence[int]) -> str:
    return literal("dims", *shape)


def tiles(vertical: Axis, horizontal: Axis) -> list[str]:
    """Stride, padding and dilation, each horizontal first."""
    return [
        pair(horizontal.stride, vertical.stride),
        pair(horizontal.before, vertical.before),
        pair(horizontal.dilation, vertical.dilation),
    ]


def working(scratch: int) -> tuple[Argument, int]:
    """The arguments for working memory."""
    return (Pointer(SCRATCH) if scratch else "NULL"), scratch


def constants(blobs: Sequence[Blob]) -> list[Argument]:
    return [Pointer(blob.name) for blob in blobs]

"""Arguments of CMSIS-NN's functions: structs as C literals, constants, and working memory."""

from __future__ import annotations

from collections.abc import Sequence

from mote.compiler.offload.contract import SCRATCH, Blob, Pointer
from mote.ir.graph.types import DType
from mote.ir.ops.common import Axis

Argument = Pointer | int | str
SUFFIX = {DType.INT8: "s8", DType.INT16: "s16"}
"""By type of activations: the suffix of function names."""


def literal(struct: str, *values: object) -> str:
    """The C expression for the address of a struct literal."""
    return f"&(const cmsis_nn_{struct}){{{', '.join(map(str, values))}}}"


def pair(horizontal: int, vertical: int) -> str:
    """A literal of cmsis_nn_tile, or of an activation's range."""
    return f"{{{horizontal}, {vertical}}}"


def dims(shape: Sequence[int]) -> str:
    return literal("dims", *shape)


def tiles(vertical: Axis, horizontal: Axis) -> list[str]:
    """Literals of stride, padding and dilation, each horizontal first."""
    return [
        pair(horizontal.stride, vertical.stride),
        pair(horizontal.before, vertical.before),
        pair(horizontal.dilation, vertical.dilation),
    ]


def working(scratch: int) -> tuple[Argument, int]:
    """The arguments for working memory: pointer and size."""
    return (Pointer(SCRATCH) if scratch else "NULL"), scratch


def constants(blobs: Sequence[Blob]) -> list[Argument]:
    return [Pointer(blob.name) for blob in blobs]

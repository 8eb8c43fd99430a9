"""The operator of files that Vela has compiled: a command stream of an Ethos-U, with its constants and memories.

Its inputs are the stream, the constants, the working memory and the fast memory, and then the tensors that it reads.
Where they and the outputs lie in the working memory is metadata of the file.
"""

from __future__ import annotations

from mote.base.errors import MoteError, UnsupportedNodeError
from mote.frontends.tflite.node import Node
from mote.hardware.npu.hazards import judge
from mote.hardware.npu.stream import decode
from mote.ir.graph import Tensor
from mote.ir.graph.types import DType
from mote.ir.ops.control.ethos_u import NpuStream

STREAM, CONSTANTS, WORKING, FAST, TENSORS = range(5)
"""Positions of inputs, and the first one of a tensor."""
MOST_TENSORS = 5
"""Inputs and outputs that are handed over with a job at most."""
MEMORIES = ("command stream", "constants", "working memory", "fast memory")


def stream(node: Node) -> NpuStream:
    """A command stream that touches only its own memory; another one is refused."""
    try:
        return _stream(node)
    except UnsupportedNodeError as reason:
        raise UnsupportedNodeError(str(reason), "give Mote the `.tflite` file that vela was given") from None


def _stream(node: Node) -> NpuStream:
    if len(node.inputs) <= TENSORS or not node.outputs or -1 in node.inputs:
        raise UnsupportedNodeError(f"has {len(node.inputs)} inputs and {len(node.outputs)} outputs")
    for position, what in enumerate(MEMORIES):
        tensor = node.input(position)
        if tensor.dtype not in (DType.UINT8, DType.INT8) or (tensor.data is None) != (position >= WORKING):
            raise UnsupportedNodeError(f"its {what} ('{tensor.name}') is no such thing")
    payload, scratch = node.constant(STREAM, MEMORIES[STREAM]).tobytes(), node.input(WORKING).nbytes
    # Without a fast memory of its own the working memory stands in its place, and no stream uses it.
    fast = node.input(FAST).nbytes if node.inputs[FAST] != node.inputs[WORKING] else 0
    tensors = [*map(node.input, range(TENSORS, len(node.inputs))), *map(node.output, range(len(node.outputs)))]
    if len(tensors) > MOST_TENSORS:
        raise UnsupportedNodeError(f"it has {len(tensors)} inputs and outputs, and jobs have {MOST_TENSORS} at most")
    if wrong := [t.name for t in tensors if t.data is not None]:
        raise UnsupportedNodeError(f"it reads the constant '{wrong[0]}' beside its own constants")
    if wrong := [t.name for t in tensors if t.quant is not None and t.quant.unsigned]:
        raise UnsupportedNodeError(f"'{wrong[0]}' is uint8, which other layers of the file do not take as it is")
    places = tuple(_place(node, tensor, scratch) for tensor in tensors)
    try:
        judge(decode(payload), (node.input(CONSTANTS).nbytes, scratch, fast), (False, True, True))
    except MoteError as error:
        raise UnsupportedNodeError(f"its command stream is refused: {_said(error)}") from None
    return NpuStream(
        **{**node.same(), "inputs": (*node.inputs[TENSORS:], node.inputs[CONSTANTS])},
        payload=payload,
        scratch=scratch,
        fast=fast,
        results=tuple(t.shape for t in tensors[len(node.inputs) - TENSORS :]),
        places=places,
    )


def _place(node: Node, tensor: Tensor, scratch: int) -> int:
    """Where a tensor begins in the working memory, in which all of it lies."""
    at = node.arena[tensor.id] if tensor.id < len(node.arena) else -1
    if at < 0:
        raise UnsupportedNodeError(f"the file does not say where '{tensor.name}' lies in the working memory")
    if at + tensor.nbytes > scratch:
        raise UnsupportedNodeError(f"'{tensor.name}' does not lie in the working memory")
    return at


def _said(error: MoteError) -> str:
    return f"{error.where}: {error.reason}" if error.where else error.reason

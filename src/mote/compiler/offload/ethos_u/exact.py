"""FULLY_CONNECTED on the Ethos-U with LiteRT's rounding.

LiteRT scales sums in double precision and rounds once; Vela lets the hardware round twice, as for convolutions. The
hardware can also round once (NATURAL: halves up), which gives equal results for the multipliers that
`mote.ir.ops.matrix.round_once` proves: the round mode is changed in the command stream, and multipliers, if they
differ, in the table of scales.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mote.compiler.offload.ethos_u.job import CONSTANTS, rewritten
from mote.compiler.offload.ethos_u.vela import VelaModel
from mote.hardware.npu.commands import Command
from mote.hardware.npu.stream import CommandStream, NpuOperation, decode
from mote.ir.graph import Graph, Op
from mote.ir.graph.types import DType, Rounding
from mote.ir.ops.common import real_scales
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.matrix.round_once import Scale, same_once

FULLY_CONNECTED = "FullyConnected"
"""Name of FULLY_CONNECTED in Vela."""
RECORD = 10
"""Bytes per channel in the table of scales."""
BIAS = {"ethos-u55": 5, "ethos-u65": 5, "ethos-u85": 4}
"""By family: bytes of the bias in an entry of the table of scales, before the multiplier (4 bytes) and the shift."""
NEAR = 2.0**-22
"""Maximum relative difference between Vela's factor and the operator's, as Vela multiplies scales in single
precision."""
Scales = Mapping[float, Scale]
"""By scaling factor: its multiplier and shift."""


class InexactError(Exception):
    """Raised if no constants make an operator exact; the message gives the reason."""


def rounds_once(op: Op) -> bool:
    return isinstance(op, FullyConnected) and op.rounding is Rounding.ONCE


def multipliers(graph: Graph, op: Op) -> Scales:
    """The multipliers and shifts for an operator's scaling factors that are exact if the hardware rounds once; raises
    InexactError if there are none."""
    assert isinstance(op, FullyConnected)
    x, w, y = op.input(graph), op.input(graph, 1), op.output(graph)
    given = graph.ranges.get(x.id)
    if x.dtype != DType.INT8 or given is None:
        raise InexactError(f"{x.dtype} sums are not known to be exact")
    sums = op.sums(graph, given)
    limit = int(np.abs([sums.low, sums.high]).max())
    exact: dict[float, Scale] = {}
    for real, mult, shift in zip(
        real_scales(x, w, y, y.channels).tolist(), sums.mult.tolist(), sums.shift.tolist(), strict=True
    ):
        if not same_once(real, y.zero_point, limit, (mult, shift)):
            raise InexactError(f"no multiplier rounds a factor of {real:g} as LiteRT does")
        exact[real] = mult, shift
    return exact


def exact_once(model: VelaModel, layers: Sequence[Scales]) -> tuple[bytes, bytes]:
    """The payload and constants of a model changed so that FULLY_CONNECTED operators round once; `layers`: their
    multipliers in the order of the file."""
    stream = decode(model.payload)
    first = stream.commands[0].offset
    order = sorted({o.source for o in model.operations.values() if o.kind == FULLY_CONNECTED})
    if len(order) != len(layers):
        raise InexactError(f"Vela has {len(order)} FULLY_CONNECTED operators, and the region {len(layers)}")
    by_offset = {
        first + offset: layers[order.index(o.source)]
        for offset, o in model.operations.items()
        if o.kind == FULLY_CONNECTED
    }
    constants = bytearray(model.constants)
    copies: dict[tuple[int, int], int] = {}

    def change(operation: NpuOperation) -> dict[str, Command]:
        if operation.name == "DMA_START":
            _note_copy(operation, copies)
        scales = by_offset.get(operation.command.offset)
        if operation.name != "CONV" or scales is None:
            return {}
        _rescale(constants, operation, copies, scales, BIAS[stream.config.core])
        return _naturally(stream, operation)

    names = frozenset({"OFM_PRECISION", "OFM_SCALE"})
    return rewritten(stream, names, change).encode(), bytes(constants)


def _naturally(stream: CommandStream, operation: NpuOperation) -> dict[str, Command]:
    """The register with the round mode changed to NATURAL."""
    name = "OFM_SCALE" if stream.config.core == "ethos-u85" else "OFM_PRECISION"
    register = operation.register(name)
    names = register.kind.field("round_mode").values
    assert names is not None
    value = next(number for number, said in names.items() if said == "NATURAL")
    return {name: register.with_value(value, "round_mode")}


def _note_copy(operation: NpuOperation, copies: dict[tuple[int, int], int]) -> None:
    """Records the source address of constants that DMA copies to working memory."""
    if operation.value("DMA0_SRC_REGION", "region") == CONSTANTS and not operation.value("DMA0_DST_REGION", "place"):
        to = operation.value("DMA0_DST_REGION", "region"), operation.value("DMA0_DST")
        copies[to] = operation.value("DMA0_SRC")


def _rescale(
    constants: bytearray, operation: NpuOperation, copies: Mapping[tuple[int, int], int], scales: Scales, skip: int
) -> None:
    """Writes the multipliers of an operation's channels to the table of scales."""
    region, base = operation.value("SCALE_REGION"), operation.value("SCALE_BASE")
    if region != CONSTANTS:
        start = max((at for r, at in copies if r == region and at <= base), default=None)
        if start is None:
            raise InexactError("its scales are not among the constants")
        base = copies[region, start] + base - start
    for channel in range(operation.value("OFM_DEPTH_M1") + 1):
        at = base + RECORD * channel + skip
        factor = int.from_bytes(constants[at : at + 4], "little") * 2.0 ** -(constants[at + 4] & 63)
        near = {scale for real, scale in scales.items() if abs(factor - real) <= NEAR * real}
        if len(near) != 1:
            what = "is that of channels that differ" if near else "is not the operator's"
            raise InexactError(f"Vela scales a channel by {factor:g}, which {what}")
        ((mult, shift),) = near
        constants[at : at + 5] = mult.to_bytes(4, "little") + bytes([31 - shift])

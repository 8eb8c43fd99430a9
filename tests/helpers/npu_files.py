"""Files with command streams of an Ethos-U, as Vela writes them, that need no Vela."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from mote.frontends.tflite.writer import Writer
from mote.hardware.npu.stream import made

BYTES = 64
"""Bytes of each tensor."""
SCRATCH = 4 * BYTES


def copying(*moves: tuple[int, int], bytes_: int = BYTES, core: str = "ethos-u55", macs: int = 128) -> bytes:
    """A payload that copies bytes inside of its working memory, from one offset to another, one after the other."""
    stream = made(core, macs, [])
    commands = [stream.command("DMA0_SRC_REGION", 1), stream.command("DMA0_DST_REGION", 1)]
    commands.append(stream.command("DMA0_LEN").with_value(bytes_))
    for source, target in moves:
        commands += [stream.command("DMA0_SRC").with_value(source), stream.command("DMA0_DST").with_value(target)]
        commands += [stream.command("DMA_START"), stream.command("DMA_WAIT")]
    return stream.with_commands([*commands, stream.command("STOP", 0xFFFF)]).encode()


def npu_file(
    payload: bytes,
    places: Sequence[int] = (0, BYTES),
    *,
    scratch: int = SCRATCH,
    arena: bool = True,
    inputs: int = 1,
    layers: int = 0,
) -> bytes:
    """A file with one command stream. `places`: of the inputs, and then of the output, in the working memory; `layers`:
    how many of the core follow."""
    w = Writer("npu")
    stream = w.const("ethos_u_command_stream", np.frombuffer(payload, np.uint8))
    constants = w.const("read_only", np.arange(BYTES, dtype=np.uint8))
    work = w.tensor("scratch", (scratch,), "uint8")
    given = [w.input(f"x{i}", (1, BYTES), "int8", 0.1, 0) for i in range(inputs)]
    y = w.tensor("y", (1, BYTES), "int8", 0.1, 0)
    w.op("CUSTOM", [stream, constants, work, work, *given], [y], custom_code="ethos-u", custom_options=b"\x01\x04\x01")
    if arena:
        offsets = [-1, -1, 0, *places]
        w.note("OfflineMemoryAllocation", struct.pack(f"<{3 + len(offsets)}i", 0, 1, len(offsets), *offsets))
    for i in range(layers):
        z = w.tensor(f"z{i}", (1, BYTES), "int8", 0.2, 0)
        w.op("ADD", [y, y], [z], fused_activation_function="NONE")
        y = z
    w.output(y)
    return w.finish()

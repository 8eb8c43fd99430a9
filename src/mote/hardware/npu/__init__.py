"""Ethos-U command streams: decoding, memory safety checks, disassembly, and execution by a functional model."""

from mote.hardware.npu.disassembly import disassemble
from mote.hardware.npu.functional import execute
from mote.hardware.npu.stream import CommandStream, NpuOperation, decode, operations

__all__ = ["CommandStream", "NpuOperation", "decode", "disassemble", "execute", "operations"]

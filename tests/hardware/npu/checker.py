"""The checker for firmware, called on this machine."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from enum import IntEnum
from functools import cache

from mote.hardware.npu.sources import check_files
from mote.hardware.toolchain import host

REGIONS = 8


class Status(IntEnum):
    """`mote_npu_status`."""

    OK = 0
    PAYLOAD = 1
    CORE = 2
    COMMAND = 3
    VALUE = 4
    UNSET = 5
    ALIGNMENT = 6
    OUTSIDE = 7
    READ_ONLY = 8


@cache
def library(core: str = "ethos-u55") -> ctypes.CDLL:
    sources = check_files(core)
    return host.load(sources, [name for name in sources if name.endswith(".c")])


def decided(
    payload: bytes, sizes: Sequence[int], writable: Sequence[bool], core: str = "ethos-u55"
) -> tuple[Status, int]:
    """The status, and where the stream was refused by the checker of a core."""
    words = (ctypes.c_uint32 * max(1, -(-len(payload) // 4)))()
    ctypes.memmove(words, payload, len(payload))
    given = (ctypes.c_uint32 * REGIONS)(*sizes)
    bits = sum(1 << n for n, may in enumerate(writable) if may)
    at = ctypes.c_uint32()
    return Status(library(core).mote_npu_check(words, len(payload), given, bits, ctypes.byref(at))), at.value

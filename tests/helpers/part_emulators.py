"""Running firmware of parts: in QEMU's boards, and in Unicorn with the memories of any Cortex-M part."""

from __future__ import annotations

import select
import shutil
import struct
import subprocess
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from mote.hardware.targets import Target

PAGE = 0x1000
SYS_WRITE0, SYS_EXIT = 0x04, 0x20
PERIPHERALS = (0x40000000, 0x20000000)
READY = {"pl011": 0x00, "stm32": 0x80, "stm32f4": 0x80, "nrf": 0x01, "cmsdk": 0x00}
STATUS = {"pl011": 0x18, "stm32": 0x1C, "stm32f4": 0x00, "nrf": 0x11C, "cmsdk": 0x04}
DATA = {"pl011": 0x00, "stm32": 0x28, "stm32f4": 0x04, "nrf": 0x51C, "cmsdk": 0x00}


def qemu_lines(command: Sequence[str], count: int, timeout_s: float = 30.0, typed: bytes = b"") -> list[str]:
    """The lines that a firmware prints in QEMU, which is ended after the last one that is wanted. `typed` is sent to it
    after its first line."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"not installed: {command[0]}")
    quiet = ("-display", "none", "-monitor", "none")
    streams = {
        "stdin": subprocess.PIPE if typed else subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.STDOUT,
    }  # semihosting prints there
    with subprocess.Popen([*command, *quiet], **streams) as process:
        assert process.stdout is not None
        said, end = b"", time.monotonic() + timeout_s
        try:
            while said.count(b"\n") < count and time.monotonic() < end:
                if select.select([process.stdout], [], [], 0.2)[0]:
                    data = process.stdout.read1(4096)
                    said += data
                    if not data:
                        break
                    if typed and b"\n" in said:
                        assert process.stdin is not None
                        process.stdin.write(typed)
                        process.stdin.flush()
                        typed = b""
        finally:
            process.kill()
    return said.decode(errors="replace").splitlines()


def hex_bytes(text: str) -> dict[int, bytes]:
    """The records of an Intel HEX file by address; checksums are checked."""
    upper, pieces = 0, {}
    for line in text.splitlines():
        row = bytes.fromhex(line.removeprefix(":"))
        assert sum(row) & 0xFF == 0 and len(row) == row[0] + 5
        address, kind, data = int.from_bytes(row[1:3], "big"), row[3], row[4:-1]
        if kind == 4:
            upper = int.from_bytes(data, "big") << 16
        elif kind == 0:
            pieces[upper + address] = data
    return pieces


def unicorn_lines(target: Target, image: Path, count: int) -> list[str]:
    """The lines that an Intel HEX file prints on an emulated part: from the vectors that the core takes after a reset,
    by semihosting or by the part's UART, whose registers answer that they are ready."""
    unicorn: Any = pytest.importorskip("unicorn")
    names: Any = import_module("unicorn.arm_const")
    cpu = getattr(names, f"UC_CPU_ARM_{target.unicorn_cpu}")
    uc = unicorn.Uc(unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB, cpu)
    for memory in target.memories:
        if memory.origin is not None:
            uc.mem_map(memory.origin, -(-memory.size // PAGE) * PAGE)
    uc.mem_map(0xE000E000, PAGE)
    pieces = hex_bytes(image.read_text())
    for address, data in pieces.items():
        uc.mem_write(address, data)
    said = bytearray()

    def stop_when_done() -> None:
        if said.count(b"\n") >= count:
            uc.emu_stop()

    def read(_uc: Any, offset: int, size: int, _: Any) -> int:
        address = PERIPHERALS[0] + offset
        serial = target.serial
        if serial and address == serial.base + STATUS[serial.kind]:
            return READY[serial.kind]
        return sum(t.value for t in serial.setup if t.how == "wait" and t.address == address) if serial else 0

    def write(_uc: Any, offset: int, size: int, value: int, _: Any) -> None:
        serial = target.serial
        if serial and PERIPHERALS[0] + offset == serial.base + DATA[serial.kind]:
            said.append(value & 0xFF)
            stop_when_done()

    def trapped(_uc: Any, number: int, _: Any) -> None:
        operation, block = (int(uc.reg_read(r)) for r in (names.UC_ARM_REG_R0, names.UC_ARM_REG_R1))
        if bytes(uc.mem_read(uc.reg_read(names.UC_ARM_REG_PC), 2)) != b"\xab\xbe" or operation == SYS_EXIT:
            uc.emu_stop()
            return
        assert operation == SYS_WRITE0
        text = bytes(uc.mem_read(block, 64)).split(b"\0")[0]
        said.extend(text)
        uc.reg_write(names.UC_ARM_REG_PC, (uc.reg_read(names.UC_ARM_REG_PC) + 2) | 1)

    uc.mmio_map(*PERIPHERALS, read, None, write, None)
    uc.hook_add(unicorn.UC_HOOK_INTR, trapped)
    first = min(pieces) + (0x100 if target.boot.header == "rp2040" else 0)
    stack, start = struct.unpack("<2I", uc.mem_read(first, 8))
    uc.reg_write(names.UC_ARM_REG_SP, stack)
    uc.emu_start(start, 0xFFFFFFFE, timeout=20_000_000)
    return said.decode(errors="replace").splitlines()

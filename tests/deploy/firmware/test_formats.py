"""Formats of firmware: beside objcopy's, and by the words of their specifications."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.deploy.firmware.build import STAGE, checksum, with_checksum
from mote.deploy.firmware.formats import Loaded, binary, intel_hex, loaded, uf2
from mote.hardware.toolchain.elf import LoadSegment
from tests.helpers.part_emulators import hex_bytes
from tests.helpers.support import needs

SOURCE = """
    .section .first, "a", %progbits
    .ascii "at the start of flash"
    .section .second, "a", %progbits
    .space 70000, 0x5a
    .section .third, "aw", %progbits
    .ascii "copied to RAM"
    .section .fourth, "aw", %nobits
    .space 100
"""
SCRIPT = """
ENTRY(first)
MEMORY { FLASH : ORIGIN = 0x0800FF80, LENGTH = 1M RAM : ORIGIN = 0x20000000, LENGTH = 64K }
SECTIONS
{
    .first : { first = .; *(.first) } > FLASH
    .second 0x08010040 : { *(.second) } > FLASH
    .third : ALIGN(8) { *(.third) } > RAM AT > FLASH
    .fourth (NOLOAD) : { *(.fourth) } > RAM
}
"""


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pieces with a gap, across a border of 64 KB, with initial values of RAM and without."""
    needs("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("elf")
    (folder / "a.s").write_text(SOURCE)
    (folder / "a.ld").write_text(SCRIPT)
    command = ["arm-none-eabi-gcc", "-nostdlib", "-Ta.ld", "a.s", "-o", "a.elf"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "a.elf"


def objcopy(elf: Path, *options: str) -> bytes:
    output = elf.with_name("copy")
    subprocess.run(["arm-none-eabi-objcopy", *options, elf, output], check=True)
    return output.read_bytes()


def test_a_raw_binary_is_objcopys(elf: Path) -> None:
    assert binary(loaded(elf)) == objcopy(elf, "-O", "binary", "--gap-fill", "0xff")


def test_objcopy_reads_what_intel_hex_was_written_from(elf: Path) -> None:
    image = loaded(elf)
    elf.with_name("own.hex").write_bytes(intel_hex(image))
    back = objcopy(elf.with_name("own.hex"), "-I", "ihex", "-O", "binary", "--gap-fill", "0xff")
    assert back == binary(image)
    assert hex_bytes(objcopy(elf, "-O", "ihex").decode()).keys() >= {image.parts[0].address}


def test_intel_hex_is_what_its_specification_says() -> None:
    image = Loaded((LoadSegment(0x0001FFFE, b"\x01\x02\x03"),), 0x00020001)
    rows = [
        *(":020000040001F9", ":02FFFE000102FE", ":020000040002F8", ":0100000003FC"),
        *(":0400000500020001F4", ":00000001FF"),
    ]
    assert intel_hex(image).decode().splitlines() == rows


def test_uf2_has_a_block_for_each_page() -> None:
    image = Loaded((LoadSegment(0x100000F0, bytes(range(32))), LoadSegment(0x10000300, b"end")), 0)
    data = uf2(image, 0xE48BFF56)
    blocks = [struct.unpack("<8I476sI", data[at : at + 512]) for at in range(0, len(data), 512)]
    assert len(data) == 3 * 512
    for number, block in enumerate(blocks):
        assert block[:3] == (0x0A324655, 0x9E5D5157, 0x2000) and block[9] == 0x0AB16F30
        assert block[4:8] == (256, number, 3, 0xE48BFF56) and not any(block[8][256:])
    assert [block[3] for block in blocks] == [0x10000000, 0x10000100, 0x10000300]
    assert blocks[0][8][:256] == b"\xff" * 0xF0 + bytes(range(16))
    assert blocks[1][8][:256] == bytes(range(16, 32)) + b"\xff" * 0xF0
    assert blocks[2][8][:256] == b"end" + b"\xff" * 253


def test_a_raw_binary_does_not_span_memories() -> None:
    image = Loaded((LoadSegment(0x08000000, b"a"), LoadSegment(0x90000000, b"b")), 0)
    with pytest.raises(MoteError, match="bytes apart"):
        binary(image)


def test_a_boot_stage_ends_in_its_checksum() -> None:
    assert checksum(b"123456789") == 0x0376E6E7  # the check value of CRC-32/MPEG-2
    stage = with_checksum(b"code")
    assert len(stage) == STAGE and stage[:8] == b"code\0\0\0\0"
    assert checksum(stage[:-4]) == int.from_bytes(stage[-4:], "little")
    with pytest.raises(MoteError, match="room for 252"):
        with_checksum(bytes(253))

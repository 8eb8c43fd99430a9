"""Firmware formats: raw binary, Intel HEX and UF2, from the loadable bytes of an ELF file."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from mote.base.errors import MoteError
from mote.hardware.toolchain.elf import LoadSegment

ERASED = 0xFF
"""Value of an erased flash byte."""
MOST_GAP = 1 << 20
"""Maximum gap between parts in a raw binary, which must fill all gaps."""
PAGE = 256
"""Data bytes per UF2 block, the page size of flash."""
_ROW = 16
_ALLOCATED, _NO_BITS = 2, "SHT_NOBITS"
_UF2_BEGIN, _UF2_SECOND, _UF2_END, _UF2_HAS_FAMILY = 0x0A324655, 0x9E5D5157, 0x0AB16F30, 0x2000


@dataclass(frozen=True)
class Loaded:
    """Loadable bytes of a firmware by load address (ordered, no overlaps), and its entry address."""

    parts: tuple[LoadSegment, ...]
    entry: int

    @property
    def nbytes(self) -> int:
        return sum(len(part.data) for part in self.parts)


class _Segment(NamedTuple):
    """Segment of an ELF file: address, bytes in the file, load address."""

    address: int
    size: int
    loaded: int


def loaded(elf: Path) -> Loaded:
    """Loadable bytes of an ELF file as a debugger writes them: from its sections, so that no file headers are
    included."""
    from elftools.elf.elffile import ELFFile

    with elf.open("rb") as file:
        image = ELFFile(file)
        loads = [
            _Segment(int(s["p_vaddr"]), int(s["p_filesz"]), int(s["p_paddr"]))
            for s in image.iter_segments()
            if s["p_type"] == "PT_LOAD"
        ]
        sections = [
            s for s in image.iter_sections() if s["sh_flags"] & _ALLOCATED and s["sh_type"] != _NO_BITS and s["sh_size"]
        ]
        pieces = [LoadSegment(_load_address(int(s["sh_addr"]), loads), bytes(s.data())) for s in sections]
        return Loaded(tuple(_joined(pieces)), int(image.header["e_entry"]))


def _load_address(address: int, segments: Sequence[_Segment]) -> int:
    """Load address of a section at a virtual address."""
    for segment in segments:
        if segment.address <= address < segment.address + segment.size:
            return address - segment.address + segment.loaded
    return address


def _joined(pieces: Iterable[LoadSegment]) -> Iterator[LoadSegment]:
    """Pieces by address, with adjacent ones joined."""
    before: LoadSegment | None = None
    for piece in sorted(pieces, key=lambda p: p.address):
        if before is not None and before.address + len(before.data) == piece.address:
            before = LoadSegment(before.address, before.data + piece.data)
            continue
        if before is not None:
            if before.address + len(before.data) > piece.address:
                raise MoteError(f"two sections are loaded to {piece.address:#x}")
            yield before
        before = piece
    if before is not None:
        yield before


def binary(image: Loaded) -> bytes:
    """Raw binary from the first to the last address; gaps read as erased flash."""
    data = bytearray()
    for before, part in zip((None, *image.parts), image.parts, strict=False):
        gap = part.address - (before.address + len(before.data)) if before else 0
        if gap > MOST_GAP:
            raise MoteError(
                f"has parts {gap:,} bytes apart, in different memories, and a raw binary has no addresses",
                where="option output bin",
                remedy="use hex or elf, or keep the constants in one memory with --flash BYTES",
            )
        data += bytes([ERASED]) * gap + part.data
    return bytes(data)


def intel_hex(image: Loaded) -> bytes:
    """Intel HEX with 32-bit addresses and entry point."""
    lines, upper = [], 0
    for part in image.parts:
        at = part.address
        while at < part.address + len(part.data):
            if at >> 16 != upper:
                upper = at >> 16
                lines.append(_record(0, 4, struct.pack(">H", upper)))
            end = min(at + _ROW, (at | 0xFFFF) + 1, part.address + len(part.data))
            lines.append(_record(at & 0xFFFF, 0, part.data[at - part.address : end - part.address]))
            at = end
    lines += [_record(0, 5, struct.pack(">I", image.entry)), _record(0, 1, b"")]
    return "".join(lines).encode()


def _record(address: int, kind: int, data: bytes) -> str:
    body = struct.pack(">BHB", len(data), address, kind) + data
    return f":{body.hex()}{-sum(body) & 0xFF:02x}\n".upper()


def uf2(image: Loaded, family: int) -> bytes:
    """UF2: a 512-byte block per flash page, with the part's family id."""
    pages: dict[int, bytearray] = {}
    for part in image.parts:
        for page in range(part.address // PAGE * PAGE, part.address + len(part.data), PAGE):
            content = pages.setdefault(page, bytearray([ERASED]) * PAGE)
            start, end = max(page, part.address), min(page + PAGE, part.address + len(part.data))
            content[start - page : end - page] = part.data[start - part.address : end - part.address]
    blocks = []
    for number, (page, content) in enumerate(sorted(pages.items())):
        head = (_UF2_BEGIN, _UF2_SECOND, _UF2_HAS_FAMILY, page, PAGE, number, len(pages), family)
        blocks.append(struct.pack("<8I476sI", *head, bytes(content), _UF2_END))
    return b"".join(blocks)

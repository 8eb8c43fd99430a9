"""Compiles a C project to a static library, or with start-up code and `main` to an ELF file."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mote.base.errors import BudgetError, MoteError
from mote.compiler.package.firmware.layout import FirmwareMap
from mote.compiler.package.firmware.sources import FOLDER, SCRIPT, FirmwareSources
from mote.hardware.targets import Target
from mote.hardware.targets.flags import optimization
from mote.hardware.toolchain.builder import COMMON, Compilation, libraries, overflowed, target_flags
from mote.hardware.toolchain.compilers import Compiler, compile_or_raise, first_line, zig_command

STAGE = 256
"""Bytes of a boot stage; the last four are its checksum."""
MAP = ".map"
"""File suffix of a linker map."""
_FOLDERS = re.compile(r"(?<![\w.)])/(?:[^\s/()]+/)+")
"""Folder names in a map, which differ from build to build."""
_SMALL = ("-Os", "-ffreestanding", "-fno-builtin")


@dataclass(frozen=True)
class Build:
    """A C project in a build folder with its compiler settings; `sources` are the model's files."""

    project: Path
    sources: Sequence[str]
    target: Target
    compiler: Compiler
    optimize: str
    flags: Sequence[str] = ()
    """Compiler options for the model's files."""

    @property
    def workdir(self) -> Path:
        return self.project.parent / "build"

    def objects(self, sources: Sequence[str], extra: Sequence[str], kind: str) -> list[str]:
        """Compiles files of the project to objects."""
        flags = self._flags(extra)
        return [
            self._compilation.object(flags, self.project.resolve() / source, f"{kind}_{i}_{Path(source).stem}.o")
            for i, source in enumerate(sources)
        ]

    def secret(self, text: str) -> list[str]:
        """Compiles C with a key, without caching; no objects for an empty text."""
        if not text:
            return []
        path = self.project / "secret.c"
        path.write_text(text, encoding="utf-8")
        return [self._compilation.compiled(self._flags(()), path, "secret.o")]

    def _flags(self, extra: Sequence[str]) -> list[str]:
        project = self.project.resolve()
        how = optimization(self.optimize, self.target.cpu)
        tuning = how.gcc if self.compiler.kind == "gcc" else ()
        return [*self._base, how.level, *tuning, *extra, f"-I{project}", f"-ffile-prefix-map={project}=."]

    @property
    def _compilation(self) -> Compilation:
        self.workdir.mkdir(exist_ok=True)
        return Compilation(self.compiler.key, self.project.resolve(), self.workdir.resolve())

    @property
    def _base(self) -> list[str]:
        return [*self.compiler.command, *target_flags(self.target, self.compiler), *COMMON]

    def model(self) -> list[str]:
        return self.objects(self.sources, self.flags, "model")

    def library(self, name: str) -> bytes:
        """Builds a static library of the model."""
        archive = self.workdir / f"lib{name}.a"
        objects = self.model()
        command = [*_archiver(self.compiler), "rcsD", str(archive.resolve()), *objects]
        compile_or_raise(command, self.workdir, archive.name)
        return archive.read_bytes()

    def elf(self, firmware: FirmwareSources, flags: Sequence[str] = (), more: Sequence[str] = ()) -> Path:
        """Links the firmware; `flags` are options for the program's files, `more` further objects."""
        include = f"-I{(self.project / FOLDER).resolve()}"
        small = [name for name in firmware.sources if name.startswith(f"{FOLDER}/")]
        others = [name for name in firmware.sources if name not in small]
        objects = [
            *self.objects(small, (*_SMALL, include, *flags), "firmware"),
            *self.objects(others, (include, *flags), "main"),
            *self.model(),
            *more,
        ]
        if firmware.stage:
            objects += self._stage(firmware.stage)
        elf = self.workdir.resolve() / "firmware.elf"
        script = (self.project / SCRIPT).resolve()
        try:
            self.link([*objects, *libraries(self.compiler)], script, elf)
        except MoteError as error:
            raise _too_large(str(error), firmware.layout, self.target) or error from None
        return elf

    def link(self, objects: Sequence[str], script: Path, elf: Path) -> None:
        """Links objects and linker options by a script; the linker map is next to the ELF file."""
        # zig has no start files for a part, and with -Os keeps the names of functions only where it is asked to debug.
        own = ("-nostartfiles", *self.target.gcc_link_flags) if self.compiler.kind == "gcc" else ("-g",)
        shown = elf.resolve().with_suffix(MAP)
        # zig passes no file for a map on to its linker, which prints it.
        mapped = f"-Wl,-Map={shown}" if self.compiler.kind == "gcc" else "-Wl,--print-map"
        link = [
            *self._base,
            *own,
            "-static",
            f"-T{script.resolve()}",
            "-Wl,--gc-sections",
            mapped,
            *objects,
            "-o",
            str(elf.resolve()),
        ]
        printed = compile_or_raise(link, self.workdir, f"linking for {self.target.name}")
        text = shown.read_text(encoding="utf-8", errors="replace") if self.compiler.kind == "gcc" else printed
        shown.write_text(_FOLDERS.sub("", text), encoding="utf-8")

    def _stage(self, source: str) -> list[str]:
        """Object file of a boot stage with its checksum."""
        from elftools.elf.elffile import ELFFile

        (assembled,) = self.objects([source], (), "stage")
        with Path(assembled).open("rb") as file:
            (code,) = (bytes(s.data()) for s in ELFFile(file).iter_sections() if s.name == ".mote.stage")
        generated = self.project / FOLDER / "stage.S"
        words = struct.unpack(f"<{STAGE // 4}I", with_checksum(code))
        listed = "".join(f"    .word {word:#010x}\n" for word in words)
        generated.write_text(f'    .section .mote.boot, "a", %progbits\n{listed}', encoding="utf-8")
        return self.objects([f"{FOLDER}/{generated.name}"], (), "checked")


def with_checksum(code: bytes) -> bytes:
    """Boot stage of the RP2040: 252 bytes and their CRC-32 (most significant bit first, no final inversion)."""
    if len(code) > STAGE - 4:
        raise MoteError(f"the boot stage has {len(code)} bytes, and there is room for {STAGE - 4}")
    padded = code.ljust(STAGE - 4, b"\0")
    return padded + struct.pack("<I", checksum(padded))


def checksum(data: bytes) -> int:
    """CRC-32/MPEG-2."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte << 24
        for _ in range(8):
            crc = (crc << 1 ^ (0x04C11DB7 if crc >> 31 else 0)) & 0xFFFFFFFF
    return crc


def _archiver(compiler: Compiler) -> list[str]:
    if compiler.command == zig_command():
        return [*compiler.command[:-1], "ar"]
    return [first_line((*compiler.command, "-print-prog-name=ar"))]


def _too_large(said: str, layout: FirmwareMap, target: Target) -> BudgetError | None:
    """Error for a linker's message about memory that is too small; None for other messages."""
    sizes = {region.symbol: region for region in layout.regions}
    over = {sizes[name]: count for name, count in overflowed(said).items() if name in sizes}
    if not over:
        return None
    reason = " and ".join(
        f"{region.size + count:,} bytes of {region.name}, {count:,} more than its {region.size:,}"
        for region, count in over.items()
    )
    return BudgetError(
        f"the firmware does not fit: it needs {reason}",
        where=f"target {target.name}",
        remedy="use a smaller model, --ram min, --optimize size or a larger part",
    )

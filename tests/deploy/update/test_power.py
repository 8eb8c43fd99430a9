"""Power fails at every single flash operation, torn in every way; what comes in is nonsense: the device goes on."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from pathlib import Path
from zlib import crc32

import pytest
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

from mote.deploy.update import delta
from mote.hardware import targets
from mote.hardware.toolchain import find_compiler
from tests.deploy.update.update_bench import HERE, INCLUDE, MODULE, built, image, pair, ran, sources, stand_in_signed
from tests.helpers.support import emulated, needs

PAGE = HERE.parents[2] / "docs" / "deploy" / "updates.md"
THOROUGH = ["thorough"] if os.environ.get("MOTE_FUZZ") else []
MOST_CODE = 5 * 1024
"""Bytes of the update module with the protocol on a Cortex-M4 at -Os; the texts of errors are left to the firmware."""
MOST_CODE_WITH_VERIFIER = 12 * 1024
MOST_RAM = 128
"""Bytes of an updater; the firmware gives a buffer of 256 as well."""


def update_program(folder: Path) -> tuple[Path, list[str]]:
    """The program that cuts power while updates go on, and the files that these are of."""
    old, new = pair()
    files = {
        "old": stand_in_signed(image(1, old)),
        "new": stand_in_signed(image(2, new)),
        "forged": stand_in_signed(image(2, new), forged=True),
    }
    files["delta"] = delta.encode(files["old"], files["new"])
    assert len(files["delta"]) < len(files["new"]) / 5
    for name, data in files.items():
        (folder / name).write_bytes(data)
    program = built(folder, [HERE / "power.c", HERE / "nor.c", *sources(*MODULE)], *(["-O2"] if THOROUGH else []))
    return program, [str(folder / name) for name in ("old", "new", "delta", "forged")]


def test_settings_are_checked_and_numbers_of_records_go_round(tmp_path: Path) -> None:
    program, files = update_program(tmp_path)
    assert "runs 0 cuts 0" in ran(program, *files, "quick")


@pytest.mark.slow
def test_a_model_is_there_after_every_cut(tmp_path: Path) -> None:
    """Cuts at every operation of every scenario on five kinds of flash; among them a second cut while it recovers."""
    program, files = update_program(tmp_path)
    said = ran(program, *files, *THOROUGH)
    found = re.search(r"runs (\d+) cuts (\d+)", said)
    assert found and int(found[1]) > 10_000 and int(found[2]) > 6_000
    rows = re.findall(
        r"^(.+?) \| (.+?) \| operations (\d+) erases (\d+) writes (\d+) bytes (\d+) worst (\d+)$", said, re.M
    )
    assert len(rows) == 22 * 5
    for scenario, flash, _, _, _, _, worst in rows:
        if scenario in ("update", "delta update") and "pages" not in flash:
            assert int(worst) == 1, "no sector is erased twice in an update"


def test_nothing_that_comes_in_does_harm(tmp_path: Path) -> None:
    """Mutants of streams and deltas, frames, and flash that no updater has written; `make fuzz` does it for longer."""
    installed = bytearray((7 * i ^ i >> 3) & 0xFF for i in range(1024))
    installed[:24] = struct.pack("<4sHHIIII", b"MOTE", 1, 192, 1024, 0, 3, 0)
    installed[12:16] = struct.pack("<I", crc32(installed[16:]))
    new = image(4, bytes(installed[400:900]) + bytes(100) + bytes(installed[300:500]))
    (tmp_path / "image").write_bytes(new)
    (tmp_path / "delta").write_bytes(delta.encode(bytes(installed), new))
    files = [HERE / "fuzz_update.c", HERE / "nor.c", *sources(*MODULE)]
    program = built(tmp_path, files, "-DSTANDALONE")
    count = 400_000 if THOROUGH else 4_000
    said = ran(program, str(tmp_path / "image"), str(tmp_path / "delta"), str(count))
    found = re.search(r"accepted (\d+) answered (\d+)", said)
    assert found and int(found[1]) > count / 20 and int(found[2]) > count


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_it_compiles_without_a_warning(tmp_path: Path, compiler: str) -> None:
    """For 64 bits; 32 bits are those of the device, below."""
    needs(compiler)
    files = [str(path) for path in sources(*MODULE)]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-O2", *INCLUDE]
    subprocess.run([compiler, *flags, "-fsyntax-only", *files], check=True, cwd=tmp_path)


def allocated(path: Path) -> int:
    """Bytes of an object file that take memory on the device."""
    with path.open("rb") as file:
        return sum(s["sh_size"] for s in ELFFile(file).iter_sections() if s["sh_flags"] & SH_FLAGS.SHF_ALLOC)


def test_it_is_small(tmp_path: Path) -> None:
    target = targets.load(emulated("cortex-m4"))
    compiler = find_compiler(target)
    if compiler.kind != "gcc":
        pytest.skip("code is counted as gcc compiles it")
    flags = [
        *compiler.command,
        *target.gcc_flags,
        "-std=c99",
        "-Os",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-pedantic",
        "-Werror",
    ]
    sizes = {}
    for path in sources(*MODULE, "ed25519", "sha512"):
        made = tmp_path / f"{path.stem}.o"
        subprocess.run([*flags, *INCLUDE, "-c", str(path), "-o", str(made)], check=True)
        sizes[path.stem.removeprefix("mote_")] = allocated(made)
    update = sum(sizes[name] for name in (*MODULE, "frame") if name != "update_text")
    assert update <= MOST_CODE, sizes
    assert sum(sizes.values()) <= MOST_CODE_WITH_VERIFIER, sizes
    told = re.search(r"^\| all of it \| ([\d,]+) bytes of code \|$", PAGE.read_text(encoding="utf-8"), re.M)
    assert told and int(told[1].replace(",", "")) == pytest.approx(sum(sizes.values()), rel=0.05), sizes
    probe = f'#include "mote_update.h"\ntypedef char fits[sizeof(mote_update_t) <= {MOST_RAM} ? 1 : -1];\n'
    subprocess.run([*flags, *INCLUDE, "-fsyntax-only", "-xc", "-"], input=probe.encode(), check=True)

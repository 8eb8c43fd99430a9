"""The firmware's printf, beside that of the host's C library."""

from __future__ import annotations

import random
import struct
import subprocess
from pathlib import Path

import mote.compiler.package.firmware as firmware
from tests.helpers.support import needs

FOLDER = Path(firmware.__file__).parent
REALS = ("%g", "%f", "%e", "%.3f", "%.0f", "%10.2e", "%-12g", "%.10g", "%.1g", "%.0e", "%010.2f", "%.15f")
WHOLE = ("%d", "%5d", "%-5d|", "%05d", "%u", "%x", "%08x")
LONG = ("%lld", "%llu", "%-24lld|", "%llx")
ODD = (0, 1 << 31, 0x7F800000, 0xFF800000, 1, 0x7F7FFFFF, 0x00800000, 0x49742408, 0x3F000000, 0x40200000, 0x3DCCCCCD)
HOOK = """
#include <string.h>
#include <unistd.h>
void mote_write(const char *text) { if (write(1, text, strlen(text)) < 0) _exit(1); }
"""


def program(seed: int) -> str:
    rng = random.Random(seed)
    bits = [*ODD, *(rng.getrandbits(32) for _ in range(90))]
    bits = [b for b in bits if b & 0x7F800000 != 0x7F800000 or not b & 0x7FFFFF]  # not NaN, whose sign is anyone's
    reals = [struct.unpack("<f", struct.pack("<I", b))[0] for b in bits]
    texts = [v.hex() if v - v == 0 else ("-1.0/0" if v < 0 else "1.0/0") for v in reals]
    calls = [f'printf("{form}\\n", {v});' for form in REALS for v in texts]
    wholes = [0, -1, 2**31 - 1, -(2**31) + 1, *(rng.randint(-(2**31) + 1, 2**31 - 1) for _ in range(40))]
    calls += [f'printf("{form}\\n", {v});' for form in WHOLE for v in wholes]
    longs = [0, -1, 2**63 - 1, *(rng.randint(-(2**63) + 1, 2**63 - 1) for _ in range(40))]
    calls += [f'printf("{form}\\n", {v}LL);' for form in LONG for v in longs]
    calls += ['printf("%s|%.2s|%8s|%-8s|%c|%%|%ld\\n", "abc", "abc", "abc", "abc", 122, -7L);', 'puts("end");']
    return "int printf(const char *, ...);\nint puts(const char *);\nint main(void) {\n" + "\n".join(calls) + "\n}\n"


def test_printf_is_the_c_librarys(tmp_path: Path) -> None:
    needs("cc")
    (tmp_path / "main.c").write_text(program(7))
    (tmp_path / "hook.c").write_text(HOOK)
    strict = ("-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
    plain = ("cc", "-w", "-O0", "-fno-builtin")
    console = ("cc", *strict, "-fno-builtin", "-O1", "-c", str(FOLDER / "console.c"), "-o", "console.o")
    for command in (console, (*plain, "main.c", "console.o", "hook.c", "-o", "own"), (*plain, "main.c", "-o", "libc")):
        subprocess.run(command, cwd=tmp_path, check=True)
    own, libc = (
        subprocess.run([tmp_path / name], capture_output=True, text=True, check=True).stdout.splitlines()
        for name in ("own", "libc")
    )
    assert own == libc

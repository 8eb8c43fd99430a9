"""Generated C for a core with an `int` and addresses of 16 bits that no target names: MSP430, by zig's clang."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import mote

STRING_H = """#include <stddef.h>
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
"""
"""What the generated C takes of a C library that zig does not have for this core."""


def test_compiles_without_warnings_for_msp430(tmp_path: Path) -> None:
    pytest.importorskip("ziglang", reason="needs zig: pip install ziglang")
    mote.compile("models/digits.tflite", target="host").write(tmp_path)
    (tmp_path / "string.h").write_text(STRING_H)
    flags = ["-target", "msp430-freestanding-none", "-std=c99", "-Os", "-Wall", "-Wextra", "-Werror", f"-I{tmp_path}"]
    command = [sys.executable, "-m", "ziglang", "cc", *flags, "-c", str(tmp_path / "digits.c"), "-o"]
    built = subprocess.run([*command, str(tmp_path / "model.o")], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "model.o").read_bytes()[18:20] == b"\x69\x00", "no ELF file for MSP430"

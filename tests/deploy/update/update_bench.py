"""What tests of updates share: images that are right on the outside and hold noise, since updates do not look inside;
and programs in C around the update module, under the sanitizers."""

from __future__ import annotations

import os
import random
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

from mote.hardware import targets, toolchain

HERE = Path(__file__).parent
UPDATE = HERE.parents[2] / "src" / "mote" / "deploy" / "update"
WIRE = UPDATE.parent / "wire"
KERNELS = UPDATE.parents[1] / "compiler" / "kernels"
FOLDERS = (UPDATE, WIRE, KERNELS / "portable" / "common", KERNELS / "primitives", KERNELS / "avre" / "primitives")
INCLUDE = tuple(f"-I{folder}" for folder in FOLDERS)
MODULE = ("update", "examine", "journal", "delta", "ota", "update_text")
"""The update module without the verifier."""
FLAGS = ("-std=c99", "-D_POSIX_C_SOURCE=200809L", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror")
SANITIZED = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
NO_LEAKS = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}
"""Nothing is allocated, and to look for leaks at the end takes seconds."""


def sources(*names: str) -> list[Path]:
    """C files of the update module, and of the framing that it is built on."""
    return [*(UPDATE / f"mote_{name}.c" for name in names), WIRE / "mote_frame.c"]


def built(folder: Path, files: Sequence[Path], *flags: str, compiler: str | None = None) -> Path:
    """A program for the host."""
    program = folder / "program"
    command = toolchain.find_compiler(targets.load("host"), compiler).command
    subprocess.run(
        [*command, *FLAGS, *SANITIZED, *flags, *INCLUDE, f"-I{HERE}", *map(str, files), "-o", str(program)], check=True
    )
    return program


def ran(program: Path, *arguments: str) -> str:
    """What a program says that comes to its end."""
    done = subprocess.run(
        [str(program), *arguments], env=NO_LEAKS, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def image(version: int, payload: bytes, product: int = 7) -> bytes:
    """Without a signature; its bytes are made a multiple of 8."""
    payload += bytes(-len(payload) % 8)
    rest = struct.pack("<II", version, 0) + bytes(164) + struct.pack("<I", product) + payload
    return struct.pack("<4sHHII", b"MOTE", 1, 192, 16 + len(rest), crc32(rest)) + rest


def stand_in_signed(data: bytes, *, forged: bool = False) -> bytes:
    """With the signature of the stand-in verifier in power.c."""
    return data + struct.pack("<4sI8sI60x", b"SIGN", 1, b"stand in", crc32(data, 0x12345678) ^ forged)


def pair(bytes_of_each: int = 900, seed: int = 0) -> tuple[bytes, bytes]:
    """Payloads of an image and of its successor: parts are moved, replaced, dropped and added."""
    rng = random.Random(seed)
    old = rng.randbytes(bytes_of_each)
    third = bytes_of_each // 3
    new = old[third : 2 * third] + rng.randbytes(60) + old[:third] + bytes(40) + old[2 * third + 50 :]
    return old, new

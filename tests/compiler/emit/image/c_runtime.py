"""The C runtime in this process, for tests: compiled with any kernels, and called as firmware calls it."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import mote
from mote.bench.execute.host_runtime import ArenaNeeds, HostMemory, Problem, TensorInfo
from mote.compiler.kernels import library

TOP = Path(mote.__file__).parent
RUNTIME = TOP / "compiler" / "emit" / "image" / "runtime"
SOURCES = sorted(map(str, RUNTIME.glob("*.c")))
INCLUDES = [f"-I{p}" for p in (RUNTIME, *library.FOLDERS, *library.FITS)]
STRICT = ["-std=c99", "-fwrapv", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"]
CHECKED = ["-g1", "-Og", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
OK, NOT_READY, BAD_ARENA, BUSY, WAITING, BAD_STATE, DAMAGED = 0, 1, 2, 4, 5, 7, 8
BAD_IMAGE, NO_KERNEL, UNSUPPORTED = 9, 10, 11


def built(out: Path, sources: Sequence[str | Path], *flags: str, compiler: str = "gcc") -> Path:
    """A program or library of C files, or of objects."""
    command = [compiler, *STRICT, *INCLUDES, *flags, *map(str, sources), "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


class Library:
    """A runtime with its kernels."""

    def __init__(self, path: Path) -> None:
        self.c = ctypes.CDLL(str(path))
        self.c.mote_input.restype = self.c.mote_output.restype = ctypes.c_void_p
        self.c.mote_state_bytes.restype = self.c.mote_input_count.restype = ctypes.c_size_t
        self.c.mote_output_count.restype = ctypes.c_size_t
        self.c.mote_status_text.restype = ctypes.c_char_p

    def needs(self, image: bytes) -> tuple[int, ArenaNeeds]:
        found, kept = ArenaNeeds(), _words(image)
        return self.c.mote_needs(
            kept.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(len(image)), ctypes.byref(found)
        ), found


def _words(data: bytes | int) -> np.ndarray:
    """Memory at a multiple of 8: with this content, or of so many bytes."""
    raw = data if isinstance(data, bytes) else bytes(data)
    return np.frombuffer(raw.ljust(-(-len(raw) // 8) * 8 + 8, b"\0"), np.uint64).copy()


class Model:
    """An interpreter, with memory of its own unless some is given."""

    def __init__(self, library: Library, image: bytes, **given: int | np.ndarray | None) -> None:
        """`given`: `state` (None: from the arena), `arena`, `arena_bytes`, `state_bytes`."""
        self.library, self.c = library, library.c
        self.it = ctypes.create_string_buffer(256)
        self.image, self.problem = _words(image), Problem()
        status, needs = library.needs(image)
        needs = needs if status == OK else ArenaNeeds()
        state = given.get("state", _words(needs.state))
        more = needs.state if state is None else 0
        arenas = [_words(n + more * (i == 0)) for i, n in enumerate(needs.arena)]
        arenas[0] = given.get("arena", arenas[0])
        sizes = [n + more * (i == 0) for i, n in enumerate(needs.arena)]
        sizes[0] = given.get("arena_bytes", sizes[0])
        self.kept = [state, *arenas]
        self.memory = HostMemory()
        for i, arena in enumerate(arenas):
            self.memory.arena[i], self.memory.arena_bytes[i] = arena.ctypes.data, sizes[i]
        self.memory.state = None if state is None else state.ctypes.data
        self.memory.state_bytes = given.get("state_bytes", 0 if state is None else needs.state)
        self.status = self.init(len(image))

    def init(self, nbytes: int) -> int:
        kernels = ctypes.addressof(ctypes.c_char.in_dll(self.c, "mote_kernels"))
        return int(
            self.c.mote_init(
                self.it,
                ctypes.c_void_p(kernels),
                self.image.ctypes.data_as(ctypes.c_void_p),
                ctypes.c_size_t(nbytes),
                ctypes.byref(self.memory),
                ctypes.byref(self.problem),
            )
        )

    def call(self, name: str, *arguments: object) -> int:
        return int(getattr(self.c, f"mote_{name}")(self.it, *arguments))

    def set(self, values: np.ndarray, index: int = 0) -> None:
        raw = np.ascontiguousarray(values).tobytes()
        ctypes.memmove(self.c.mote_input(self.it, ctypes.c_size_t(index)), raw, len(raw))

    def get(self, nbytes: int, index: int = 0) -> np.ndarray:
        return np.frombuffer(ctypes.string_at(self.c.mote_output(self.it, ctypes.c_size_t(index)), nbytes), np.uint8)

    def info(self, what: str, index: int = 0) -> TensorInfo:
        found = TensorInfo()
        status = self.call(f"{what}_info", ctypes.c_size_t(index), ctypes.byref(found))
        assert status == OK
        return found

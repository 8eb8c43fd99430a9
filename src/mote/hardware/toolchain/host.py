"""Loads C code as shared libraries into this process; compiled once and cached."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache as remembered
from pathlib import Path

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.base.files import fill, temporary_folder
from mote.hardware.targets.flags import optimization
from mote.hardware.toolchain import cache
from mote.hardware.toolchain.builder import libraries, target_flags
from mote.hardware.toolchain.compilers import compile_or_raise, find_compiler

FLAGS = ("-std=c99", "-fwrapv", "-fPIC", "-shared")
"""Compiler options; signed overflow wraps, as kernels may need."""


def load(
    texts: Mapping[str, str],
    sources: Sequence[str],
    copy: int = 0,
    target: str = "host",
    external: Sequence[str] = (),
    includes: Sequence[str] = (),
) -> ctypes.CDLL:
    """Loads the shared library of C files (names among the texts), once per process. A `copy` with another number has
    its own variables. The target `native` uses all instructions of this CPU. `external` are further C files by path,
    `includes` their include folders."""
    folders = [Path(folder) for folder in includes]
    outside = cache.key([], cache.included([Path(file) for file in external], folders)) if external else ""
    return _load(tuple(sorted(texts.items())), tuple(sources), copy, target, tuple(external), tuple(includes), outside)


@remembered
def _load(
    texts: tuple[tuple[str, str], ...],
    sources: tuple[str, ...],
    copy: int,
    name: str,
    external: tuple[str, ...],
    includes: tuple[str, ...],
    outside: str,
) -> ctypes.CDLL:
    target = targets.load(name)
    compiler = find_compiler(target)
    level = optimization("speed", target.cpu).level
    flags = [*compiler.command, *target.gcc_flags, *target_flags(target, compiler), level, *FLAGS]
    state = hashlib.sha256("\0".join([compiler.key, *flags, *sources, *external, outside]).encode())
    for name, text in texts:
        state.update(f"\0{name}\0{len(text)}\0{text}".encode())
    with temporary_folder() as folder:
        output = folder / "mote.so"

        def build() -> None:
            fill(folder, dict(texts))
            folders = [f"-I{path}" for path in (folder, *includes)]
            files = [*(str(folder / name) for name in sources), *external]
            command = [*flags, *folders, *files, "-o", str(output), *(libraries(compiler) if external else ())]
            compile_or_raise(command, folder, sources[0])

        cache.fetch(state.hexdigest(), output, build)
        return _opened(output)


def _opened(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise MoteError(
            f"what was compiled for this computer cannot be loaded: {error}", remedy="mote doctor"
        ) from None

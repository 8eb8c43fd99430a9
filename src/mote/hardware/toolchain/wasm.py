"""Compiles C code to WebAssembly modules for browsers, by zig or by clang with LLVM's linker."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping, Sequence

from mote.base.errors import MoteError
from mote.base.extras import megabytes
from mote.base.files import fill, temporary_folder
from mote.hardware.toolchain import cache
from mote.hardware.toolchain.builder import HARNESS
from mote.hardware.toolchain.compilers import Compiler, compile_or_raise, version_of, zig_command

REMEDY = f'pip install "moteml[zig]" ({megabytes("extras", "zig")} MB), or apt install clang lld'
FLAGS = (
    *("-std=c99", "-O2", "-fwrapv", "-ffp-contract=off", "-fno-stack-protector"),
    *("-isystem", str(HARNESS / "freestanding" / "include")),
    *("-Wl,--no-entry", "-Wl,--strip-all", "-Wl,-z,stack-size=1048576"),
)
"""Compiler options; signed overflow wraps, as kernels may need."""
TARGETS = {
    "zig": ("-target", "wasm32-freestanding", "-mcpu=generic+bulk_memory", "-fno-sanitize=all"),
    "clang": ("--target=wasm32-unknown-unknown", "-mbulk-memory", "-ffreestanding", "-Wl,--stack-first"),
}
"""Options for 32-bit WebAssembly with bulk memory instructions, by kind of compiler. The stack is placed before the
data, so that overflow traps; zig does so by default."""
MEMORY = "memory_wasm.c"
"""C file with functions of <string.h>; those of <math.h>, which only user kernels call, are in zig's compiler-rt."""


def find_wasm_compiler() -> Compiler:
    """Finds zig of the wheel, else clang if LLVM's WebAssembly linker is installed."""
    if zig := zig_command():
        return Compiler("zig", zig, version_of((*zig[:-1], "version")))
    if shutil.which("clang") and shutil.which("wasm-ld"):
        return Compiler("clang", ("clang",), version_of(("clang", "--version")))
    raise MoteError("no C compiler for WebAssembly was found", remedy=REMEDY)


def wasm_module(
    texts: Mapping[str, str], sources: Sequence[str], exports: Sequence[str], compiler: Compiler | None = None
) -> bytes:
    """The module of C files (names among the texts): it imports nothing, and exports its memory and the named
    functions."""
    compiler = compiler or find_wasm_compiler()
    texts = {**texts, MEMORY: (HARNESS / MEMORY).read_text(encoding="utf-8")}
    sources = [*sources, MEMORY]
    functions = any("#include <math.h>" in text for text in texts.values())
    alone = () if functions and compiler.kind == "zig" else ("-nostdlib",)
    flags = [*compiler.command, *TARGETS[compiler.kind], *FLAGS, *alone, *(f"-Wl,--export={name}" for name in exports)]
    state = hashlib.sha256("\0".join([compiler.key, *flags, *sources]).encode())
    for name, text in sorted(texts.items()):
        state.update(f"\0{name}\0{len(text)}\0{text}".encode())
    with temporary_folder() as folder:
        output = folder / "mote.wasm"

        def build() -> None:
            fill(folder, texts)
            # Without paths, the linker's messages and the module are the same wherever the folder lies.
            compile_or_raise([*flags, "-I.", *sources, "-o", output.name], folder, sources[0])

        cache.fetch(state.hexdigest(), output, build)
        return output.read_bytes()

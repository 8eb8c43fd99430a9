"""The runtime is C99 that compilers have nothing to say about, and small."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.compiler.emit.image.c_runtime import INCLUDES, SOURCES, STRICT
from tests.helpers.support import needs

CORES = {
    "gcc": ["-O1"],
    "clang": ["-O1"],
    "arm-none-eabi-gcc": ["-Os", "-mcpu=cortex-m4", "-mthumb"],
    "riscv64-unknown-elf-gcc": ["-Os", "-march=rv32imc", "-mabi=ilp32", "--specs=picolibc.specs"],
}
KB = 1024


def objects(compiler: str, folder: Path, *flags: str) -> list[Path]:
    needs(compiler)
    command = [compiler, *STRICT, *INCLUDES, *CORES[compiler], *flags, "-c", *SOURCES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(folder.glob("*.o"))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("compiler", CORES)
def test_nothing_is_said(compiler: str, tmp_path: Path) -> None:
    objects(compiler, tmp_path, *(["-DMOTE_RUNTIME_TRACE=traced"] if compiler == "clang" else []))


def test_the_manual_is_for_cpp_too(tmp_path: Path) -> None:
    needs("g++")
    use = "int main() { return mote_invoke(nullptr) + mote_train_end(nullptr); }"
    (tmp_path / "a.cpp").write_text(f'#include "mote_runtime.h"\n#include "mote_train.h"\n{use}\n')
    flags = ["-std=c++11", "-Wall", "-Wextra", "-Werror", *INCLUDES, "-c", "a.cpp"]
    subprocess.run(["g++", *flags], cwd=tmp_path, check=True)


def test_it_is_small(tmp_path: Path) -> None:
    """Instructions, without messages and tables, and without what only images need that learn; and what an interpreter
    takes beside the memory that is asked for."""
    found = [o for o in objects("arm-none-eabi-gcc", tmp_path, "-ffunction-sections") if o.name != "mote_train.o"]
    said = subprocess.run(["arm-none-eabi-size", "-A", *found], capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in said.splitlines() if line.startswith((".text", ".rodata", ".data", ".bss"))]
    sizes = {kind: sum(int(n) for name, n, _ in lines if name.startswith(kind)) for kind in (".text", ".rodata")}
    assert sizes[".text"] <= 6 * KB + 256
    assert sizes[".rodata"] <= KB
    assert not any(int(n) for name, n, _ in lines if name in (".data", ".bss")), "no variables of its own"
    size = "typedef char at_most_64[sizeof(mote_interpreter_t) <= 64 ? 1 : -1];\n"
    (tmp_path / "size.c").write_text(f'#include "mote_runtime.h"\n{size}')
    flags = [*STRICT, *INCLUDES, *CORES["arm-none-eabi-gcc"], "-c", "size.c"]
    subprocess.run(["arm-none-eabi-gcc", *flags], cwd=tmp_path, check=True)

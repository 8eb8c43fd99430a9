"""What compilers do wrong for Helium, and that Mote's builds keep out of its way (docs/compile/targets.md)."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from mote.compiler.kernels import library
from mote.compiler.line import compile
from mote.hardware import targets
from mote.hardware.targets import Target
from mote.hardware.toolchain import builder
from tests.helpers.support import emulated, needs
from tests.ir.ops.windows.test_pool import model

FLAG = "-fno-tree-vectorize"
HELIUM = [name for name in targets.names() if "mve" in targets.load(name).features]
POOL = {"kind": "MAX_POOL_2D", "dtype": "int8", "batch": 1, "size": [4, 4], "channels": 16, "kernel": (2, 2)}
POOL |= {"stride": (2, 2), "padding": "VALID", "activation": "NONE", "scale": 0.05, "zero_point": 3}
NARROWING = re.compile(r"\bvqshru?n[bt{]", re.IGNORECASE)
"""GNU as 2.40 assembles these as those that round."""

# Entries 0 and 7 are the padding: the second vector of four is where gcc 12.2 is wrong.
ROWS = """\
extern char base[], zero[];
void rows(char **r) { for (int i = 0; i < 8; i++) { int y = i - 1; r[i] = y < 0 || y >= 6 ? zero : base + y * 768; } }
"""


def test_some_targets_have_helium() -> None:
    assert {"cortex-m55", "cortex-m85"} <= set(HELIUM)


@pytest.mark.parametrize("name", HELIUM)
def test_every_build_for_helium_has_the_flag(name: str) -> None:
    """What `mote run` builds with, and the files for builds of the user's own, which tell gcc only."""
    target: Target = targets.load(name)
    files = compile(model([POOL]), target=name, name="net").project.files
    assert FLAG in target.gcc_flags and FLAG not in target.zig_flags
    assert f"$<$<C_COMPILER_ID:GNU>:{FLAG}>" in files["CMakeLists.txt"]
    assert re.search(rf"^CFLAGS .*Free Software.*{FLAG}", files["Makefile"], re.MULTILINE)
    assert FLAG in files["net.h"]


@pytest.mark.parametrize("optimize", ["speed", "size"])
def test_measured_builds_have_the_flag(optimize: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(builder, "compile_or_raise", lambda command, *_: called.append(command))
    monkeypatch.setattr(builder.cache, "fetch", lambda key, output, make: make())
    target = targets.load(emulated("cortex-m55"))
    compiler = builder.Compiler("gcc", ("gcc",), "")
    source = tmp_path / "net.c"
    source.write_text("")
    builder.build(
        tmp_path, [source], source, target, compiler, mode=builder.Mode.MEASURE, optimize=optimize, workdir=tmp_path
    )
    compiled = [command for command in called if "-c" in command]
    assert compiled and all(FLAG in command for command in compiled)


def test_other_targets_do_not_have_it() -> None:
    files = compile(model([POOL]), target="cortex-m4", name="net").project.files
    assert not any(FLAG in text for name, text in files.items() if not name.startswith("mote_"))


@pytest.mark.parametrize("level", ["-O2", "-O3"])
def test_gcc_does_not_vectorise_what_includes_the_kernels(level: str, tmp_path: Path) -> None:
    """Also where a user's own build omits the flag."""
    needs("arm-none-eabi-gcc")

    def vectors(text: str) -> bool:
        (tmp_path / "rows.c").write_text(text)
        core = [flag for flag in targets.load("cortex-m55").gcc_flags if flag != FLAG]
        command = ["arm-none-eabi-gcc", *core, level, *(f"-I{folder}" for folder in library.FOLDERS), "-S", "-o-"]
        made = subprocess.run([*command, str(tmp_path / "rows.c")], capture_output=True, text=True, check=True)
        return re.search(r"\bq[0-7]\b", made.stdout) is not None

    if not vectors(ROWS):
        pytest.skip("this gcc does not vectorise for Helium")
    assert not vectors(f'#include "mote_common.h"\n{ROWS}')


def test_no_kernel_narrows_without_rounding() -> None:
    files = [path for folder in library.FOLDERS for path in Path(str(folder)).iterdir() if path.suffix in (".h", ".py")]
    wrong = [path.name for path in files if NARROWING.search(path.read_text())]
    assert len(files) > 100 and not wrong
    assert NARROWING.search('"vqshrunb.s16 q0, q1, #6"') and not NARROWING.search('f"vqrshrn{end}.s32 q0, q1, #16"')

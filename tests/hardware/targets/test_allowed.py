"""The compiler flags that a target file may have without being trusted."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.hardware import targets
from mote.hardware.targets import allowed

REFUSED = """
-wrapper -B/tmp -specs=x --specs=x -fplugin=x.so @file -Xassembler -Wl,--plugin,x x.c -Wa,-al=x -Wp,-MD,x
-include -imacros -I/tmp -L/tmp -lx -DX=1 -Ux -o -MD -E -save-temps -dumpdir -fdump-tree-all
-fprofile-use=x -mllvm -Xclang -load -T -x -mcpu -mcpu= -mcpu=/etc/x -mcpu=-x -mthumb=x -target
-ffast-math -mcpu=a,b
"""


@pytest.mark.parametrize("flag", [*REFUSED.split(), "", "-mcpu=a b"])
def test_other_flags_are_for_trusted_files(tmp_path: Path, flag: str) -> None:
    path = tmp_path / "board.toml"
    for key in ("gcc_flags", "zig_flags"):
        path.write_text(f'extends = "cortex-m4"\n{key} = ["-mcpu=cortex-m4", "{flag}"]\n')
        with pytest.raises(MoteError, match=f"'{key}' has ") as error:
            targets.load(str(path))
        assert "--trust-target" in error.value.remedy
        assert flag in getattr(targets.load(str(path), trusted=True), key)
    (tmp_path / "child.toml").write_text('extends = "board.toml"\n')
    with pytest.raises(MoteError, match="'zig_flags' has "):
        targets.load(str(tmp_path / "child.toml"))


def test_allowed_options_are_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "compile" / "targets.md").read_text()
    for flag in (*allowed.VALUED, *allowed.PLAIN, *allowed.FOLLOWED):
        assert f"`{flag}" in page, flag

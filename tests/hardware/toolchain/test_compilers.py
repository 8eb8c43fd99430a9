"""Commands of compilers: their temporary files lie in ours."""

from __future__ import annotations

from pathlib import Path

from mote.hardware.toolchain.compilers import compile_or_raise


def test_compilers_leave_their_files_in_our_folder(tmp_path: Path) -> None:
    """One that is killed has no time to delete them."""
    compile_or_raise(["sh", "-c", "echo x > $TMPDIR/made"], tmp_path, "a compiler")
    assert (tmp_path / "made").exists()

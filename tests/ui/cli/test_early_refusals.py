"""Options that can be checked without a plan are refused before one is made: it may take minutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.ui.cli.test_cli import DIGITS, ROOT, mote

NOWHERE = "absent/folder/file"
TEST = ("--data", "models/digits_test.npz")
LABELS = "absent.txt"
COMPILE = ("compile", DIGITS, "-o", "{tmp}/out")
SEVERAL = ("compile", DIGITS, "models/kws_conv.onnx", "-o", "{tmp}/out")
REFUSED = {
    (*COMPILE, "--name", "m"): "use 'model_m'",
    (*COMPILE, "--labels", "{tmp}/three.txt"): "there are 3 labels",
    (*COMPILE, "--package", "zephyr", "--output", "lib"): "is built by its ecosystem",
    (*COMPILE, "--source", NOWHERE): "option source",
    (*COMPILE, "--adapter", "freertos", "--caller-arena"): "option adapter",
    (*COMPILE, "--depfile", NOWHERE): "cannot be written (No such file or directory)",
    ("compile", DIGITS, "-o", "{tmp}/three.txt/out"): "cannot be written (Not a directory)",
    ("compile", DIGITS, "-o", "{tmp}/three.txt"): "is a file",
    ("compile", DIGITS, "-o", "."): "current folder",
    ("compile", DIGITS, "-o", f"{NOWHERE}.zip"): "cannot be written",
    (*SEVERAL, "--package", "zephir"): "did you mean: zephyr",
    (*SEVERAL, "--metadata", "nothing"): "metadata",
    (*SEVERAL, "--source", NOWHERE): "option source",
    (*SEVERAL, "--adapter", "freertos", "--shared-arena"): "option adapter",
    ("plan", DIGITS, "--picture", f"{NOWHERE}.svg"): "cannot be written",
    ("explore", DIGITS, "--picture", "{tmp}"): "cannot be written (Is a directory)",
    ("run", DIGITS, "--data", NOWHERE): "cannot be read",
    ("run", DIGITS, "--output", NOWHERE): "cannot be written",
    ("run", DIGITS, "-t", "cortex-m4", "--emulator", "simavr"): "option emulator",
    ("profile", DIGITS, "-t", "cortex-m4", "--data", NOWHERE): "cannot be read",
    ("profile", DIGITS, "-t", "cortex-m4", "--capture", NOWHERE): "cannot read the file",
    ("evaluate", DIGITS, *TEST, "--metric", "top"): "is no metric",
    ("evaluate", DIGITS, *TEST, "--against", NOWHERE): "cannot read the file",
    ("evaluate", DIGITS, *TEST, "--confusion-picture", NOWHERE): "cannot be written",
    ("report", DIGITS, "-o", NOWHERE): "cannot be written",
    ("pack", DIGITS, "-o", NOWHERE): "cannot be written",
    ("pack", DIGITS, "-o", "{tmp}/x.mote", "--labels", "{tmp}/three.txt"): "there are 3 labels",
    ("pack", DIGITS, "-o", "{tmp}/x.mote", "--name", "m"): "use 'model_m'",
    ("runtime", "--kernels", DIGITS, "-o", "{tmp}/x", "--package", "zephir"): "did you mean: zephyr",
    ("tune", DIGITS, "-t", "cortex-m4", "-o", NOWHERE): "cannot be written",
}


def test_bad_options_are_refused_before_planning(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def planned(*_: object, **__: object) -> None:
        raise AssertionError("a plan was made")

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("mote.compiler.line.plan", planned)
    (tmp_path / "three.txt").write_text("a\nb\nc\n")
    before = sorted(tmp_path.rglob("*"))
    for words, reason in REFUSED.items():
        status, _, err = mote(capsys, *(word.replace("{tmp}", str(tmp_path)) for word in words))
        assert status == 1 and reason in err, f"{' '.join(words)}: {err}"
    assert sorted(tmp_path.rglob("*")) == before


def test_places_that_can_be_written_are_not_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders that are not there yet, devices, and files that are replaced."""
    monkeypatch.chdir(ROOT)
    (tmp_path / "old.npz").write_bytes(b"PK")
    for path in ("/dev/null", tmp_path / "old.npz", tmp_path / "new.npz"):
        assert mote(capsys, "run", DIGITS, "--output", str(path))[0] == 0
    assert np.load(tmp_path / "old.npz").files == np.load(tmp_path / "new.npz").files
    assert mote(capsys, "compile", DIGITS, "-o", str(tmp_path / "a" / "b" / "out"))[0] == 0

"""Every documented command in a terminal of 80 columns: no line is wider."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from mote.compiler.offload.esp_nn.library import PATH
from mote.ui.cli import help
from tests.compiler.offload.esp_nn.test_esp_nn import STANDIN
from tests.helpers.support import emulated, needs_litert
from tests.ui.cli.test_cli import ROOT, mote

QUICK = (
    "inspect models/digits.tflite",
    "plan models/digits.tflite -t cortex-m4 --layer 2",
    "pack models/digits.tflite -t cortex-m4 -o build/digits.mote",
    "dump build/digits.mote",
    "ops",
    "ops --format onnx",
    "targets",
    "doctor",
)
NOT_RUN = {
    *("ota", "flash", "board", "calibrate-target", "fit-energy", "check-generator", "disassemble"),
    *("sign", "verify-image", "delta", "build", "check", "completion", "dump"),
}
"""Commands whose examples need a device, or files that are not here."""
MORE = (
    "plan models/keywords.tflite -t cortex-m4 --ram min",
    "explore models/keywords.tflite -t cortex-m4 --points 3",
    "profile models/keywords.tflite -t stm32l4r5",
    "plan models/keywords.tflite -t rp2350 --cores 2",
    "compile models/digits.tflite models/keywords.tflite -t cortex-m4 --shared-arena -o build/both",
    "quantize models/digits_float.tflite --data models/digits_train.npz --max-accuracy-drop 2% --evaluations 4"
    " --test models/digits_test.npz -o build/mixed.tflite",
    "prune models/digits_float.tflite --data models/digits_train.npz --blocks --macs 70% -o build/blocks.tflite",
)
EXAMPLES = tuple(
    f"{name} {given}"
    for name, all in help.EXAMPLES.items()
    if name not in NOT_RUN
    for given, _ in all
    if "--resume" not in given  # a search that was interrupted
)


@pytest.fixture(autouse=True)
def _in_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").symlink_to(ROOT / "models")
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    if PATH not in os.environ:
        monkeypatch.setenv(PATH, str(STANDIN))


def wider(text: str, columns: int = 80) -> list[str]:
    """Lines that are wider for another reason than a path or a name that is there to be copied."""
    return [line for line in text.splitlines() if len(line) > columns and max(map(len, line.split())) < columns // 2]


def test_quick_commands_fit(capsys: pytest.CaptureFixture[str]) -> None:
    for command in QUICK:
        status, out, err = mote(capsys, *shlex.split(command))
        assert status == 0, err
        assert not wider(out), f"mote {command}"


@pytest.mark.slow
@needs_litert
@pytest.mark.parametrize("command", (*EXAMPLES, *MORE))
def test_examples_run_and_fit(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    emulated("cortex-m4")
    status, out, err = mote(capsys, *shlex.split(command))
    assert status == 0, err
    assert "--wide" in command or not wider(out)

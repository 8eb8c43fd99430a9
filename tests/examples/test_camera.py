"""The camera's example: lines pushed on an emulated core give what the reference gives."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

from mote.base.errors import MoteError
from tests.helpers.support import PUBLIC_MODELS, emulated, needs_litert

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "camera" / "camera.py"
DIGITS = (
    *("--model", str(ROOT / "models" / "digits.tflite")),
    *("--steps", "camera(320x240,rgb565),crop=240x240,gray,resize(8x8,method=area),scale=1/255"),
)
pytestmark = needs_litert


def told(*arguments: str) -> tuple[int, str, str]:
    emulated("cortex-m4")
    done = subprocess.run([sys.executable, EXAMPLE, *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.slow
def test_several_images_of_a_file_with_raw_lines(tmp_path: Path) -> None:
    lines = np.random.default_rng(0).integers(0, 256, (2, 240, 640), np.uint8)
    (tmp_path / "camera.raw").write_bytes(lines.tobytes())
    code, said, error = told(*DIGITS, "--camera", str(tmp_path / "camera.raw"))
    assert code == 0, error
    assert "All outputs are equal" in said and said.count("\nimage ") == 2


def test_a_file_of_another_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "short.raw").write_bytes(bytes(640))
    with pytest.raises(MoteError, match="640 bytes are no images of 240 lines of 640"):
        run_path(str(EXAMPLE))["lines_of"](str(tmp_path / "short.raw"))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["", "vww_96_int8.tflite"])
def test_a_person_detector_takes_little_memory(model: str) -> None:
    if model and not (PUBLIC_MODELS / model).exists():
        pytest.skip(f"needs {model}")
    code, said, error = told(*(("--model", str(PUBLIC_MODELS / model)) if model else ()))
    assert code == 0, error
    ram = re.search(r"^RAM +([\d,]+) bytes", said, re.MULTILINE)
    assert ram and int(ram[1].replace(",", "")) <= 11_200

"""The table `[npu]` of a target file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mote.hardware import targets
from tests.hardware.targets.refused import error_of

NPU = 'extends = "stm32f746"\n[npu]\n'
TOLD = f'{NPU}core = "ethos-u55-128"\nsystem_config = "A"\nmemory_mode = "B"\n'


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('extends = "cortex-m4"\nnpu = 1', "'npu' must be a table"),
        (NPU, "in [npu]: 'core' is missing"),
        (f'{NPU}cores = "x"', "in [npu]: unknown key 'cores'\n  help: did you mean: core"),
        (TOLD.replace("u55-128", "u55-100"), "unknown core 'ethos-u55-100'\n  help: did you mean: ethos-u55-"),
        (TOLD.replace('"A"', '"A]"'), "'system_config' must be the name of a section of Vela's, not 'A]'"),
        (f'{TOLD}memories = ["sram9"]', "'memories' names 'sram9', which is no RAM for data"),
        (f'{TOLD}memories = "sram"', "'memories' must be a list of names"),
        (f"{TOLD}irq = -1", "'irq' must be a whole number from 0 to 495, not -1"),
        (f'{TOLD}fast = "x"', "'fast': not a size"),
        (f"{TOLD}config = 3", "'config' must be a string"),
    ],
)
def test_errors(tmp_path: Path, text: str, error: str) -> None:
    assert error in error_of(tmp_path, text)


def test_a_configuration_of_vela_lies_beside_the_target(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(f'{TOLD}config = "vela.ini"', encoding="utf-8")
    npu = targets.load(str(tmp_path / "mine.toml")).npu
    assert npu and npu.config == str((tmp_path / "vela.ini").resolve())
    assert tmp_path / "vela.ini" in targets.sources(str(tmp_path / "mine.toml"))

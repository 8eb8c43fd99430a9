"""A C compiler with the flags of another core is told what is wrong, and what to do about it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from mote.compiler.line import compile
from tests.helpers.network import Net
from tests.helpers.support import needs

MODELS = Path(__file__).parents[4] / "models"
M4, M55 = "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard"


def floats() -> bytes:
    net = Net(dtype="float32")
    return net.finish(net.fully_connected(net.input(1, 12), 4))


def complaints(folder: Path, command: str) -> str:
    """The errors of a C compiler."""
    needs(command.split()[0])
    done = subprocess.run([*command.split(), "-fsyntax-only", "net.c"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode != 0) == ("#error" in done.stderr), done.stderr
    return done.stderr


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("target", "flags", "what"),
    [
        ("cortex-m4", M4, ""),
        ("cortex-m4", "-mcpu=cortex-m0plus", "DSP instructions"),
        ("cortex-m4", "-mcpu=cortex-m33+nodsp", "DSP instructions"),
        ("cortex-m4", "-mcpu=cortex-m3 -DMOTE_PORTABLE", ""),
        ("cortex-m55", M55, ""),
        ("cortex-m55", "-mcpu=cortex-m33", "Helium"),
        ("cortex-m0plus", M4, ""),
    ],
)
def test_instructions_that_the_compiler_is_not_told_of(target: str, flags: str, what: str, tmp_path: Path) -> None:
    compile(MODELS / "digits.tflite", target=target, name="net", optimize="speed").write(tmp_path)
    said = complaints(tmp_path, f"arm-none-eabi-gcc {flags} -mthumb")
    assert (f"net is for {target} and uses {what}" if what else "") in said
    if what:
        assert {"cortex-m4": M4, "cortex-m55": M55}[target] in said and "MOTE_PORTABLE" in said
    else:
        assert said == ""


def test_a_float_model_without_its_fpu(tmp_path: Path) -> None:
    compile(floats(), target="cortex-m4", name="net").write(tmp_path)
    assert complaints(tmp_path, f"arm-none-eabi-gcc {M4}") == ""
    assert "uses the FPU" in complaints(tmp_path, "arm-none-eabi-gcc -mcpu=cortex-m4 -mfloat-abi=soft")
    assert complaints(tmp_path, "gcc") == ""


def test_objects_that_a_core_with_16_bit_addresses_cannot_have(tmp_path: Path) -> None:
    net = Net()
    compile(net.finish(net.fully_connected(net.input(1, 200), 200)), name="net").write(tmp_path)
    assert "net has an object of 40000 bytes" in complaints(tmp_path, "avr-gcc -mmcu=atmega2560")
    assert complaints(tmp_path, "gcc") == ""

"""AVR: layers with products of bytes and constants in program memory, on the host and in simavr."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote import compile, pack, profile, run, verify
from mote.base.errors import BudgetError, MoteError
from mote.frontends.tflite.writer import Writer
from tests.compiler.kernels.c_harness import KERNELS
from tests.compiler.kernels.families import FAMILIES
from tests.helpers.support import HOST_AVR, check, emulated, exact_on, examples, needs, needs_litert, soaked
from tests.ir.ops.control.flows import branches

pytestmark = needs_litert
DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"
LAYERS = ("conv", "depthwise", "fully connected")
HEALTH = list(HealthCheck)


@pytest.mark.slow
@pytest.mark.parametrize("family", LAYERS)
@given(st.data())
@settings(max_examples=examples(8, 1), deadline=None, suppress_health_check=HEALTH)
def test_twins(family: str, data: st.DataObject) -> None:
    check(data.draw(FAMILIES[family]), target=HOST_AVR)


@pytest.mark.parametrize(
    ("family", "core"), soaked([(f, c) for f in FAMILIES for c in ("avr5", "avr6")], [("conv", "avr5")])
)
@given(st.data())
@settings(max_examples=examples(2, 1), deadline=None, suppress_health_check=HEALTH)
def test_layers_are_exact(family: str, core: str, data: st.DataObject) -> None:
    exact_on(core, data.draw(FAMILIES[family]))


@pytest.mark.slow
def test_digits_in_two_kilobytes() -> None:
    """On an ATmega328P, with all constants in program memory; the cycle model agrees with the simulator."""
    compiled = compile(DIGITS, target=emulated("atmega328p"))
    result = run(compiled, layers=False)
    assert result.unit == "cycles" and result.ram.total <= 2048 and (result.ram.static or 0) < 16
    assert profile(compiled, layers=False).cycles == result.instructions
    assert verify(compiled, 1).passed


@pytest.mark.parametrize("flow", [False, True])
def test_what_needs_one_address_space_is_refused(flow: bool, tmp_path: Path) -> None:
    """Control flow, and constants that are decrypted."""
    key = tmp_path / "key"
    key.write_bytes(bytes(range(16)))
    with pytest.raises(MoteError, match="control flow does not run on AVR" if flow else "cannot be decrypted"):
        compile(branches("int8") if flow else DIGITS, target="atmega2560", encrypt="" if flow else str(key))


def test_images_are_refused() -> None:
    with pytest.raises(MoteError, match="runs no images"):
        pack(DIGITS, target="atmega2560")


def test_constants_beyond_64_kilobytes_are_refused() -> None:
    w, rng = Writer("large"), np.random.default_rng(0)
    x = w.input("x", (1, 170), "int8", 0.05)
    for i in range(3):
        weights = w.const(f"w{i}", rng.integers(-127, 128, (170, 170), np.int8), 0.01)
        y = w.tensor(f"y{i}", (1, 170), "int8", 0.05)
        w.op("FULLY_CONNECTED", [x, weights, -1], [y])
        x = y
    w.output(x)
    with pytest.raises(BudgetError, match="of program memory reach"):
        compile(w.finish(), target="avr6")


@pytest.mark.parametrize("language", ["avr-gcc -std=c99", "avr-g++ -std=c++11 -x c++"])
def test_headers_are_clean(language: str, tmp_path: Path) -> None:
    """Without a warning, in C and C++, by the compiler that assembles what is in them."""
    needs("avr-gcc", "avr-g++")
    source = tmp_path / "all.c"
    names = ("conv2d_avr_s8", "depthwise_avr_s8", "vectors_avr_s8", "lut_avr_s8")
    source.write_text("".join(f'#include "mote_{name}.h"\n' for name in names))
    flags = [
        "-mmcu=atmega328p",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wconversion",
        "-pedantic",
        "-Werror",
        "-Wno-unused-function",
    ]
    done = subprocess.run([*language.split(), *flags, *KERNELS, "-c", str(source), "-o", str(tmp_path / "all.o")])
    assert done.returncode == 0

"""Xtensa LX106, the core of an ESP8266, in QEMU."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote import compile, run, verify
from mote.hardware.cores.instructions import ControlKind
from mote.hardware.cores.xtensa.lx106.decode import decode
from mote.hardware.toolchain import builder
from tests.compiler.kernels.families import FAMILIES
from tests.helpers.support import emulated, exact_on, examples, needs, needs_litert

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"
AT = 0x60000100


@pytest.mark.slow
@needs_litert
def test_digits() -> None:
    """Exact, and with no more stack than its machine code can take."""
    compiled = compile(DIGITS, target=emulated("esp8266"))
    result = run(compiled, layers=False)
    assert result.ram.stack is not None and result.ram.stack_measured is not None
    assert 0 < result.ram.stack_measured <= result.ram.stack
    assert verify(compiled, 1).passed


@needs_litert
@pytest.mark.slow
@pytest.mark.parametrize("family", ["conv", "depthwise", "fully connected", "pool", "arithmetic"])
@given(st.data())
@settings(max_examples=examples(2, 1), deadline=None, suppress_health_check=list(HealthCheck))
def test_layers(family: str, data: st.DataObject) -> None:
    exact_on("xtensa-lx106", data.draw(FAMILIES[family]))


@pytest.mark.parametrize(
    ("word", "size", "kind", "target", "grows"),
    [
        (0xFFA756, 3, ControlKind.BRANCH, AT + 4 - 6, 0),  # bnez a7
        (0x000106, 3, ControlKind.JUMP, AT + 8, 0),  # j
        (0xF0C112, 3, ControlKind.PLAIN, 0, 16),  # addi a1, a1, -16
        (0xF00D, 2, ControlKind.RETURN, 0, 0),  # ret.n
        (0x000080, 3, ControlKind.RETURN, 0, 0),  # ret
        (0x401400, 3, ControlKind.PLAIN, 0, 0),  # ssl a4
    ],
)
def test_instructions(word: int, size: int, kind: ControlKind, target: int, grows: int) -> None:
    decoded = decode(lambda at: word, AT, {})
    assert (decoded.size, decoded.kind, decoded.target, decoded.grows) == (size, kind, target, grows)


def test_a_stack_pointer_that_is_computed_is_refused() -> None:
    assert decode(lambda at: 0x801120, AT, {}).kind is ControlKind.DYNAMIC  # add a1, a1, a2
    assert decode(lambda at: 0xC01120, AT, {2: 64}).grows == 64  # sub a1, a1, a2


ROM = Path(builder.HARNESS) / "rom_lx106.c"
NAMES = (
    "umulsidi3",
    "muldi3",
    "udivsi3",
    "umodsi3",
    "divsi3",
    "addsf3",
    "subsf3",
    "mulsf3",
    "floatsisf",
    "floatunsisf",
)
PROGRAM = """
static uint32_t state = 1;
static uint32_t next(void) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state;
}
static int same(float a, float b) { return (a != a && b != b) || word_of(a) == word_of(b); }
int main(void) {
    for (long i = 0; i < 500000; i++) {
        uint32_t a = next(), b = next();
        if (i % 2 == 0)
            b = (b & 0x807fffffu) | ((a & 0x7f800000u) ^ (next() & 0x0f800000u));
        if (i % 7 == 0)
            a &= 0x80ffffffu;
        const float x = float_of(a), y = float_of(b);
        volatile float sum = x + y, difference = x - y, product = x * y, whole = (float)(int32_t)a, size = (float)a;
        const uint64_t v = (uint64_t)a << 20 | b, w = (uint64_t)b << 18 ^ a;
        if (!same(sum, my_addsf3(x, y)) || !same(difference, my_subsf3(x, y)) || !same(product, my_mulsf3(x, y)))
            return 1;
        if (!same(whole, my_floatsisf((int32_t)a)) || !same(size, my_floatunsisf(a)) || my_muldi3(v, w) != v * w)
            return 2;
        if (b != 0 && (my_udivsi3(a, b) != a / b || my_umodsi3(a, b) != a % b))
            return 3;
        const int32_t p = (int32_t)(a >> 1), q = (int32_t)b;
        if (b != 0 && (my_divsi3(p, q) != p / q || my_divsi3(-p, q) != -p / q))
            return 4;
    }
    return 0;
}
"""


def test_the_arithmetic_of_the_rom(tmp_path: Path) -> None:
    """On this computer, under other names, against its own."""
    needs("gcc")
    names = "".join(f"#define __{name} my_{name}\n" for name in (*NAMES, "fixunssfsi"))
    source = tmp_path / "rom.c"
    source.write_text(f'#include <stdint.h>\n{names}#include "{ROM}"\n{PROGRAM}')
    program = tmp_path / "rom"
    subprocess.run(["gcc", "-O2", "-ffp-contract=off", str(source), "-o", str(program)], check=True)
    assert subprocess.run([str(program)]).returncode == 0

"""Code that is executed from RAM: where it really is, that it computes the same, what it counts, and where it is
refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import mote
from mote.base.errors import BudgetError, MoteError
from mote.base.files import temporary_folder
from mote.bench.measure.profiler import steps
from mote.bench.measure.runner import bench
from mote.compiler.emit.c.ramcode import hot_files, in_ram
from mote.compiler.kernels import library
from mote.hardware import targets, toolchain
from mote.hardware.cores.arm.decode import decode
from mote.hardware.cores.instructions import ControlKind, Decoded, Read
from mote.hardware.toolchain import Mode
from mote.hardware.toolchain.builder import board_of
from mote.hardware.toolchain.machine_code import read_code
from mote.ui.cli import main
from tests.helpers.network import Net
from tests.helpers.slow_flash import SLOW
from tests.helpers.support import emulated

pytest.importorskip("capstone")

DIGITS = str(Path(__file__).parents[4] / "models" / "digits.tflite")
FUNCTION = re.compile(r"\bstatic\b[^;={]*?\b[\w#]+\([^;]*?\) \{", re.DOTALL)
"""The head of a static function, of a macro that defines one as well."""
PART = """
[[memory]]
name = "flash"
kind = "flash"
size = "1M"
wait_states = 5
read_bytes = 8
code_lines = 4
data_lines = 8
[[memory]]
name = "sram"
kind = "ram"
size = "64K"
"""


@pytest.fixture
def slow(tmp_path: Path) -> str:
    """A Cortex-M4 whose flash waits."""
    emulated("cortex-m4")
    return part(tmp_path, SLOW)


def part(folder: Path, text: str) -> str:
    path = folder / f"part{len(list(folder.iterdir()))}.toml"
    path.write_text(text)
    return str(path)


def kernel_files() -> Iterator[str]:
    for folder in library.FOLDERS:
        yield from (path.name for path in folder.iterdir() if path.name.endswith(".h"))


def test_every_function_of_every_kernel_is_moved() -> None:
    for file in kernel_files():
        for found in FUNCTION.finditer(in_ram(library.header(file))):
            assert "MOTE_RAMFUNC" in found[0] or "MOTE_WINOGRAD_SMALL" in found[0], (file, found[0])
    text = in_ram(library.header("mote_compiler.h"))
    assert text.count("#ifndef MOTE_RAMFUNC") == 1 and "noinline, unused)) static MOTE_RAMFUNC" in text


def test_data_is_not_moved() -> None:
    text = "static const uint32_t mote_table[2] = {mote_f(1), 2};\nstatic int8_t mote_x;\n"
    assert in_ram(text) == text
    assert in_ram("static const int8_t *mote_f(int x) {").startswith("static MOTE_RAMFUNC const int8_t *mote_f(")
    assert in_ram("static void me_work(int n) {", "me_") == "static MOTE_RAMFUNC void me_work(int n) {"


def test_what_is_hot(slow: str) -> None:
    """Kernels that take nearly all of the time, and not those that are called once for a handful of numbers."""
    plan = mote.compile(DIGITS, target="cortex-m4").plan
    found = hot_files(plan)
    assert 0 < len(found) < len({s.kernel.files for s in plan.steps}) and "mote_mean_s8.h" not in found


@pytest.mark.slow
def test_it_is_executed_from_ram(slow: str) -> None:
    """The same results; nine tenths of the instructions are at addresses in RAM; the gain is what was waited for."""
    placed = mote.compile(DIGITS, target=slow, place_code="ram")
    plain = placed.in_flash()
    one, other = mote.run(plain, layers=False), mote.run(placed, layers=False)
    for name, values in one.values.items():
        np.testing.assert_array_equal(values, other.values[name])
    assert other.ram.code == placed.ram_code > 2048 and one.ram.code == 0
    assert other.ram.total - one.ram.total == other.ram.code and other.flash.total >= one.flash.total
    profiled = mote.profile(placed, layers=False)
    with temporary_folder() as folder:
        elf = bench(placed, folder).elf(Mode.MEASURE)
        code, sizes = read_code(elf), toolchain.sizes(elf, placed.settings.target)
    assert sizes is not None and sizes.ram_code == placed.ram_code < sizes.code
    ram = board_of(placed.settings.target).ram[0]
    there = sum(f.instructions for f in profiled.functions if code.functions[f.name] >= ram)
    assert there > 0.9 * profiled.instructions
    assert profiled.saved is not None and profiled.saved > 0.05 * profiled.cycles
    assert profiled.waits.code < 0.1 * profiled.saved


def test_one_file_and_the_manual(slow: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    placed = mote.compile(DIGITS, target=slow, place_code="ram", single_file=True, instances=True)
    alone = mote.run(placed, layers=False)
    assert alone.ram.code > 2048
    assert ".mote_ramfunc" in placed.project.files["digits.h"] and "RamFunc" in placed.project.files["digits.h"]
    assert ".mote_ramfunc" not in mote.compile(DIGITS, target=slow).project.files["digits.h"]
    assert main(("compile", DIGITS, "-t", slow, "--place-code", "ram", "-o", str(tmp_path / "out"))) == 0
    assert re.search(r"RAM: arena [\d,]+ bytes \(live at once: [\d,]+\), code [\d,]+ bytes", capsys.readouterr().out)


@pytest.mark.slow
def test_code_takes_ram_from_a_budget(slow: str) -> None:
    """What the code takes is not there for the arena; where too little is left, the refusal says what took it."""
    generous = mote.compile(DIGITS, target=slow, place_code="ram", optimize="speed")
    code = generous.ram_code
    budget = code + generous.plan.arena - 200
    tight = mote.compile(DIGITS, target=slow, place_code="ram", optimize="speed", ram=budget)
    assert tight.plan.ram + tight.ram_code <= budget and tight.plan.arena < generous.plan.arena
    with pytest.raises(BudgetError) as error:
        mote.compile(DIGITS, target=slow, place_code="ram", ram=code // 2)
    assert "RAM" in str(error.value)


def test_memory_for_code_alone(tmp_path: Path) -> None:
    """Code in ITCM takes nothing of the RAM for data, and must fit."""
    emulated("cortex-m7")
    found = mote.compile(DIGITS, target="stm32f746", place_code="ram")
    assert found.ram_beside == 0 < found.ram_code and found.ram_limit == 320 << 10
    itcm = PART + '[[memory]]\nname = "itcm"\nkind = "ram"\nsize = "1K"\nholds = ["code"]\n'
    itcm = itcm.replace('kind = "ram"\nsize = "64K"', 'kind = "ram"\nsize = "64K"\nholds = ["data"]')
    with pytest.raises(BudgetError, match="bytes of itcm"):
        mote.compile(DIGITS, target=part(tmp_path, f'extends = "cortex-m4"\n{itcm}'), place_code="ram")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('extends = "cortex-m4"\n', "code in flash is fetched without waits"),
        ('extends = "host"\n', "the host has no flash"),
        (f'extends = "cortex-m4"\n{PART}holds = ["data"]\n', "none of its RAM can be executed"),
        (f'extends = "cortex-m4"\n{PART}wait_states = 9\n', "code in RAM has 9 wait states"),
        (f'extends = "cortex-m4"\n{PART.replace("wait_states = 5", "")}', "code in flash is fetched without waits"),
    ],
)
def test_refusals(text: str, why: str, tmp_path: Path) -> None:
    with pytest.raises(MoteError) as error:
        mote.compile(DIGITS, target=part(tmp_path, text), place_code="ram")
    assert why in str(error.value) and "option place_code" in str(error.value)


def test_not_with_a_shared_arena(slow: str) -> None:
    with pytest.raises(MoteError, match="several models"):
        mote.compile_shared([DIGITS], target=slow, place_code="ram")


@pytest.mark.slow
def test_long_code_is_not_chosen_where_it_waits(tmp_path: Path) -> None:
    """Where a part keeps less code than one loop has, shorter loops are chosen, which take fewer cycles there; from RAM
    the long ones are, as on a core without waits."""
    emulated("cortex-m4")
    small = part(tmp_path, SLOW.replace("code_lines = 4", "code_lines = 96\nprefetch = true"))
    kept = 96 * 8
    net = Net()
    model = net.finish(net.conv(net.input(1, 10, 5, 64), 64, 1))
    unaware, aware, in_ram_ = (
        mote.compile(model, target=target, place_code=place, optimize="speed")
        for target, place in (("cortex-m4", "flash"), (small, "flash"), (small, "ram"))
    )
    longest = [max(s.kernel.code_bytes for s in c.plan.steps) for c in (unaware, aware, in_ram_)]
    assert longest[0] > kept >= longest[1] and longest[2] > kept
    ((there,), (here,)) = (steps(c, [targets.load(small)]) for c in (unaware, aware))
    assert sum(s.cycles for s in here) < 0.9 * sum(s.cycles for s in there)


def code(*halves: int) -> Read:
    """Memory that begins with these halfwords, at address 0."""
    data = b"".join(half.to_bytes(2, "little") for half in halves)
    return lambda at: int.from_bytes(data[at : at + 4], "little")


def walk(read: Read, count: int) -> Decoded:
    """The last of some instructions in order."""
    at, known = 0, {}
    for _ in range(count):
        found = decode(read, at, known)
        at, known = at + found.size, found.known
    return found


@pytest.mark.parametrize(
    ("read", "count"),
    [
        # GNU's for Armv7-M: ldr.w pc, [pc]
        (code(0xF85F, 0xF000, 0x194D, 0x2001), 1),
        # GNU's for Armv6-M: push {r0}; ldr r0, [pc, #8]; mov ip, r0; pop {r0}; bx ip; nop
        (code(0xB401, 0x4802, 0x4684, 0xBC01, 0x4760, 0xBF00, 0x194D, 0x2001), 5),
        # LLVM's for Armv7-M: movw ip, #0x194d; movt ip, #0x2001; bx ip
        (code(0xF641, 0x1C4D, 0xF2C2, 0x0C01, 0x4760), 3),
        # LLVM's for Armv6-M: push {r0, r1}; ldr r0, [pc, #4]; str r0, [sp, #4]; pop {r0, pc}
        (code(0xB403, 0x4801, 0x9001, 0xBD01, 0x194D, 0x2001), 4),
    ],
)
def test_far_jumps_of_linkers_are_followed(read: Read, count: int) -> None:
    last = walk(read, count)
    assert (last.kind, last.target) == (ControlKind.JUMP, 0x2001194C)

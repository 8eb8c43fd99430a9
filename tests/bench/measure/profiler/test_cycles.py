"""The cycle models against sequences counted by hand from the manuals' tables.

Each sequence is a function of a small program that runs in QEMU; the cycles are those of the function with its return,
`bx lr`, which takes 2 cycles on a Cortex-M0+ and 3 on the others unless a sequence returns by itself.
"""

from __future__ import annotations

import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import pytest

from mote.bench.measure.profiler.instructions import cycle_model, disassemble
from mote.bench.measure.profiler.trace import trace
from mote.bench.measure.profiler.traced import TracedRun
from mote.hardware import targets, toolchain
from mote.hardware.cores import ARCHITECTURES
from mote.hardware.cores.instructions import Timed
from mote.hardware.toolchain.builder import board_of
from mote.hardware.toolchain.machine_code import read_code
from tests.helpers.support import emulated

pytest.importorskip("capstone")

RETURN = {"m0plus": 2, "m3": 3, "m4": 3, "m33": 3}
ALL = ("m0plus", "m3", "m4")
V7M = ("m3", "m4")

# name: (instructions, {core: cycles without `bx lr`}). r4 and r5 point to memory, the word at r4 to r4; r6 is 0.
CASES: dict[str, tuple[str, dict[str, int]]] = {
    "nothing": ("", dict.fromkeys(ALL, 0)),
    "data_processing": ("adds r0, r0, r1; movs r2, #1; cmp r2, r0; lsls r1, r2, #3", dict.fromkeys(ALL, 4)),
    "multiply": ("muls r0, r1, r0", dict.fromkeys(ALL, 1)),
    "load": ("ldr r0, [r4]; nop", dict.fromkeys(ALL, 2 + 1)),
    "load_byte": ("ldrb r0, [r4]; nop", dict.fromkeys(ALL, 2 + 1)),
    "literal": ("ldr r0, =0x12345678; nop", dict.fromkeys(ALL, 2 + 1)),
    # "LDR are pipelined when possible": every load behind another takes one cycle less.
    "loads": ("ldr r0, [r4]; ldr r1, [r4, #4]; ldr r2, [r4, #8]", {"m0plus": 6, "m3": 4, "m4": 4}),
    "trm_example": ("ldr r0, [r4, r6]; ldr r1, [r4]; ldr r2, [r5, #4]", {"m0plus": 6, "m3": 4, "m4": 4}),
    "load_of_an_address": ("ldr r3, [r4]; ldr r0, [r3]", dict.fromkeys(ALL, 2 + 2)),
    "loads_apart": ("ldr r0, [r4]; adds r1, r0, #1; ldr r2, [r4]", dict.fromkeys(ALL, 2 + 1 + 2)),
    # "STR Rx,[Ry,#imm] is always one cycle"; nothing is pipelined after a store.
    "store": ("str r0, [r5]", {"m0plus": 2, "m3": 1, "m4": 1}),
    "load_store": ("ldr r0, [r4]; str r0, [r5, #20]", {"m0plus": 4, "m3": 3, "m4": 3}),
    "store_load": ("str r0, [r5]; ldr r0, [r4]", {"m0plus": 4, "m3": 3, "m4": 3}),
    "store_register_offset": ("str r0, [r5, r6]", dict.fromkeys(ALL, 2)),
    "load_store_register_offset": ("ldr r0, [r4, r6]; str r1, [r5, r6]", {"m0plus": 4, "m3": 3, "m4": 3}),
    # "an address dependent on the result of a preceding data processing operation stalls for an additional cycle".
    "address_from_data": ("mov r2, r4; ldr r0, [r2]", {"m0plus": 3, "m3": 4, "m4": 4}),
    "base_from_data": ("mov r2, r4; ldmia r2!, {r0, r1}", {"m0plus": 4, "m3": 5, "m4": 5}),
    "data_stored": ("adds r0, r0, #1; str r0, [r5]", {"m0plus": 3, "m3": 2, "m4": 2}),
    "ldm": ("ldmia r4!, {r0, r1, r2, r3}", dict.fromkeys(ALL, 1 + 4)),
    "stm": ("stmia r5!, {r0, r1, r2}", dict.fromkeys(ALL, 1 + 3)),
    "push_pop": ("push {r4, r5, r6, r7}; pop {r4, r5, r6, r7}", dict.fromkeys(ALL, 5 + 5)),
    "ldr_ldm": ("ldr r0, [r4]; ldmia r5!, {r1, r2}", dict.fromkeys(ALL, 2 + 3)),
    "ldrd_strd": ("ldrd r0, r1, [r4]; strd r0, r1, [r5]", dict.fromkeys(V7M, 3 + 3)),
    "post_increment": ("ldr r0, [r4], #4; ldr r1, [r4], #4", dict.fromkeys(V7M, 2 + 1)),
    # Branches: 1 + P, with P = 2; 2 on a Cortex-M0+.
    "loop": ("movs r0, #5; 1: subs r0, #1; bne 1b", {"m0plus": 1 + 5 + 4 * 2 + 1, "m3": 19, "m4": 1 + 5 + 4 * 3 + 1}),
    "taken": ("cmp r0, r0; beq 1f; nop; 1:", {"m0plus": 3, "m3": 4, "m4": 4}),
    "not_taken": ("cmp r0, r0; bne 1f; nop; 1:", dict.fromkeys(ALL, 3)),
    "unconditional": ("b 1f; nop; 1:", {"m0plus": 2, "m3": 3, "m4": 3}),
    "cbz": ("movs r0, #0; cbz r0, 1f; nop; 1:", dict.fromkeys(V7M, 1 + 3)),
    "cbnz_not_taken": ("movs r0, #0; cbnz r0, 1f; nop; 1:", dict.fromkeys(V7M, 1 + 1 + 1)),
    "it": ("cmp r0, r0; ite eq; moveq r1, #2; movne r1, #3", dict.fromkeys(V7M, 4)),
    "it_return": ("cmp r0, r0; it ne; bxne lr", dict.fromkeys(V7M, 3)),
    # Two cycles for the load, one for the addition, three for the reload.
    "table": ("movs r0, #0; tbb [pc, r0]; .byte 1, 1; 1:", dict.fromkeys(V7M, 1 + 6)),
    "divide": ("movs r1, #3; sdiv r0, r0, r1", dict.fromkeys(V7M, 1 + 12)),
    "multiply_accumulate": ("mla r0, r1, r2, r0", {"m3": 2, "m4": 1}),
    "multiply_subtract": ("mls r0, r1, r2, r0", {"m3": 2, "m4": 1}),
    "long_multiply": ("smull r0, r1, r2, r3; umull r0, r1, r2, r3", {"m3": 5 + 5, "m4": 2}),
    "long_accumulate": ("smlal r0, r1, r2, r3", {"m3": 7, "m4": 1}),
    "barriers": ("isb; dsb", {"m0plus": 3 + 3, "m3": 3 + 1, "m4": 3 + 1}),
    "special_register": ("mrs r0, msp", {"m0plus": 3, "m3": 2, "m4": 2}),
    "dsp": ("smlad r0, r1, r2, r0; sxtb16 r1, r2; ssat r1, #8, r1, asr #3; smmlar r0, r1, r2, r0", {"m4": 4}),
    "dsp_loop": (
        "movs r0, #3; 1: ldr r1, [r4]; ldr r2, [r5]; smlad r3, r1, r2, r3; subs r0, #1; bne 1b",
        {"m4": 1 + 3 * (2 + 1 + 1 + 1) + 2 * 3 + 1},
    ),
    "float": ("vadd.f32 s0, s1, s2; vmul.f32 s3, s4, s5", {"m4": 2}),
    "float_used_at_once": ("vadd.f32 s0, s1, s2; vadd.f32 s3, s0, s1", {"m4": 1 + 1 + 1}),
    "float_accumulate": ("vfma.f32 s0, s1, s2; nop", {"m4": 3 + 1}),
    "float_divide": ("vdiv.f32 s0, s1, s2; nop", {"m4": 14 + 1}),
    "float_load": ("vldr s0, [r4]; nop", {"m4": 2 + 1}),
    "float_loads": ("vldr s0, [r4]; vldr s1, [r4, #4]; nop", {"m4": 2 + 1 + 1}),
    "float_load_double": ("vldr d0, [r4]; nop", {"m4": 3 + 1}),
    "float_store": ("vstr s0, [r5]; nop", {"m4": 2 + 1}),
    "float_loads_of_many": ("vldmia r4!, {s0-s3}; vpush {d8}; vpop {d8}", {"m4": 5 + 3 + 3}),
    "float_moves": ("vmov s0, r0; vmov r1, s0; vmov r0, r1, s0, s1", {"m4": 1 + 1 + 2}),
}
# These return by themselves; `helper` is `bx lr`.
WHOLE: dict[str, tuple[str, dict[str, int]]] = {
    "return_by_pop": ("push {r4, lr}; pop {r4, pc}", {"m0plus": 3 + (3 + 2), "m3": 9, "m4": 3 + (1 + 2 + 3)}),
    "call": ("push {r4, lr}; bl helper; pop {r4, pc}", {"m0plus": 3 + 3 + 2 + 5, "m3": 15, "m4": 3 + 3 + 3 + 6}),
    "call_by_register": (
        "push {r4, lr}; ldr r3, =helper; blx r3; pop {r4, pc}",
        {"m0plus": 3 + 2 + 2 + 2 + 5, "m3": 17, "m4": 3 + 2 + 3 + 3 + 6},
    ),
    "move_to_pc": ("mov pc, lr", {"m0plus": 2, "m3": 3, "m4": 3}),
    "load_many_to_pc": ("stmia r5, {r3, lr}; ldmia r5, {r3, pc}", dict.fromkeys(V7M, 3 + 6)),
    "load_to_pc": ("str lr, [r5]; ldr pc, [r5]", dict.fromkeys(V7M, 1 + 5)),
}
START = """
    .syntax unified
    .thumb
    .section .vectors, "a"
    .word 0x{stack:x}, start
    .text
    .thumb_func
    .type start, %function
start:
    ldr r0, =0xE000ED88
    ldr r1, =0xF00000
    str r1, [r0]
    ldr r4, =0x{ram:x}
    str r4, [r4]
{calls}
    movs r0, #0x18
    ldr r1, =0x20026
    bkpt 0xAB
    .ltorg
    .thumb_func
    .type helper, %function
helper: bx lr
"""
CALL = "    ldr r4, =0x{ram:x}\n    ldr r5, =0x{ram:x} + 64\n    movs r6, #0\n    bl {name}\n"
FUNCTION = "    .thumb_func\n    .type {name}, %function\n    .balign 4\n{name}:\n    {body}\n    .ltorg\n"


def program(core: str) -> str:
    board = board_of(targets.load(f"cortex-{core}"))
    ram = board.ram[0]
    chosen = {n: f"{b}; bx lr" for n, (b, c) in CASES.items() if core in c} | {
        n: b for n, (b, c) in WHOLE.items() if core in c
    }
    calls = "".join(CALL.format(ram=ram, name=name) for name in chosen)
    functions = "".join(FUNCTION.format(name=n, body=b.replace("; ", "\n    ")) for n, b in chosen.items())
    return START.format(stack=ram + 0x10000, ram=ram, calls=calls) + functions


@cache
def ran(core: str) -> TracedRun:
    """All sequences of a core, in one run."""
    target = targets.load(emulated(f"cortex-{core}"))
    if not shutil.which("arm-none-eabi-gcc") or toolchain.find_emulator(target).kind != "qemu":
        pytest.skip("needs arm-none-eabi-gcc and qemu-system-arm")
    folder = Path(mkdtemp(prefix="mote-test-"))
    source, elf = folder / "program.s", folder / "program.elf"
    source.write_text(program(core))
    vectors = board_of(target).vectors
    link = ["-nostdlib", f"-Wl,--section-start=.vectors={vectors:#x},-Ttext={vectors + 0x400:#x},-estart"]
    subprocess.run(["arm-none-eabi-gcc", *target.gcc_flags, *link, str(source), "-o", str(elf)], check=True)
    code = read_code(elf)
    traced = trace(elf, code, target, toolchain.find_emulator(target), folder, 60)
    shutil.rmtree(folder)
    return TracedRun(code, traced, target, board_of(target))


@pytest.mark.quick_cases(10)
@pytest.mark.parametrize(
    ("core", "name"), [(core, name) for name, (_, cycles) in (CASES | WHOLE).items() for core in cycles]
)
def test_sequences_counted_by_hand(core: str, name: str) -> None:
    body, cycles = (CASES | WHOLE)[name]
    returned = RETURN[core] if name in CASES else 0
    assert ran(core).region(name).cost().cycles == cycles[core] + returned, body


def test_the_m33_is_taken_for_an_m4() -> None:
    assert cycle_model(targets.load("cortex-m33")).estimate
    assert cycle_model(targets.load("cortex-m33")).block == cycle_model(targets.load("cortex-m4")).block


def test_published_tables_are_no_estimates() -> None:
    cycles = {n: c for core in ARCHITECTURES.values() for n, c in core.cycles.items()}
    arm, riscv = {"cortex-m0", "cortex-m0plus", "cortex-m3", "cortex-m4"}, {"ibex", "cv32e40p", "picorv32"}
    assert {n for n, c in cycles.items() if not c.estimate} == arm | riscv | {"avr5", "avr6"}


def block(tmp_path: Path, core: str, text: str) -> list[Timed]:
    """Assembled, not run."""
    target = targets.load(core)
    gcc = "arm-none-eabi-gcc" if target.arch == "arm" else "riscv64-unknown-elf-gcc"
    if not shutil.which(gcc):
        pytest.skip(f"{gcc} is not installed")
    source, elf = tmp_path / "x.s", tmp_path / "x.o"
    head = ".syntax unified\n.thumb\n" if target.arch == "arm" else ""
    source.write_text(head + text.replace("; ", "\n") + "\n")
    subprocess.run([gcc, *target.gcc_flags, "-c", str(source), "-o", str(elf)], check=True)
    code = read_code(elf)
    (size,) = [len(data) for _, data in code.sections if data]
    return disassemble(code, [(0, size)])[0]


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("add r0, r0, #1; add r1, r1, #1", 1),  # a pair
        ("add r0, r0, #1; add r1, r0, #1", 2),  # the second needs the first
        ("ldr r0, [r4]; ldr r1, [r5]", 1),  # two loads
        ("str r0, [r4]; str r1, [r5]", 2),  # one store a cycle
        ("smlad r0, r1, r2, r0; smlad r3, r1, r2, r3", 2),  # one multiplier
        ("smlad r0, r1, r2, r0; smlad r0, r3, r5, r0", 2),  # the sum is passed on
        ("smlad r0, r1, r2, r0; ldr r3, [r4]", 1),
        ("ldr r0, [r4]; ldr r1, [r0]", 3),  # an address is needed one cycle early
        ("ldm r4, {r0, r1, r2, r3}", 2),
        ("sdiv r0, r0, r1", 7),
    ],
)
def test_the_m7_starts_two_at_a_time(tmp_path: Path, text: str, cycles: int) -> None:
    assert cycle_model(targets.load("cortex-m7")).block(block(tmp_path, "cortex-m7", text)) == cycles


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("add r0, r0, #1; add r1, r1, #1", 2),
        ("ldr r0, [r4]; add r1, r0, #1", 3),
        ("ldr r0, [r4]; add r1, r2, #1", 2),
        ("vldrb.8 q0, [r0]; vldrb.8 q1, [r1]", 4),  # two beats each on one pipeline
        ("vldrb.8 q0, [r0]; vmladava.s8 r2, q0, q1", 3),  # beats of two pipelines overlap
        ("vmul.i32 q0, q1, q2; vadd.i32 q3, q3, q4; vqrdmulh.s32 q0, q0, r1", 4),
        ("vmladava.s8 r2, q0, q1; add r0, r0, r1", 3),  # only vectors overlap
        ("vmladava.s8 r2, q0, q1; stm r3!, {r0, r2}", 6),  # sums come late
        ("vldrw.u32 q0, [q1, #64]!; vmladav.s8 r0, q0, q2", 6),  # four words of a gather
        ("vldrb.u8 q0, [r0, q1]; vstrw.32 q0, [r1, q2]", 20),  # sixteen bytes, four words
        ("vst40.8 {q0, q1, q2, q3}, [r0]; vst41.8 {q0, q1, q2, q3}, [r0]", 4),
    ],
)
def test_the_m55_overlaps_beats(tmp_path: Path, text: str, cycles: int) -> None:
    assert cycle_model(targets.load("cortex-m55")).block(block(tmp_path, "cortex-m55", text)) == cycles


@pytest.mark.parametrize(
    ("text", "cycles"), [("add a0, a0, a1; mul a0, a0, a1", 2), ("lw a0, 0(a1); sw a0, 0(a2)", 3), ("lb a0, 4(sp)", 2)]
)
def test_riscv(tmp_path: Path, text: str, cycles: int) -> None:
    assert cycle_model(targets.load("rv32imc")).block(block(tmp_path, "rv32imc", text)) == cycles


RTL_CORES = ("ibex", "cv32e40p", "picorv32")
# Cycles on each core, as its RTL takes them; `.option norvc` makes instructions of 4 bytes.
RISCV_CASES = {
    "c.add a0, a1; c.sub a2, a3": (2, 2, 6),
    "lw a0, 0(a1); c.add a2, a3": (3, 2, 8),
    "lw a0, 0(a1); c.add a2, a0": (3, 3, 8),  # a result that is not there yet
    "lw a0, 0(a1); sw a0, 0(a2)": (4, 3, 10),
    "sw a0, 0(a1); sw a0, 4(a1)": (4, 2, 10),
    "mul a0, a1, a2": (3, 1, 6),
    "mulh a0, a1, a2": (4, 5, 6),
    "div a0, a1, a2": (37, 35, 40),
    "c.nop; .option norvc; add a0, a1, a2": (2, 2, 7),  # in two words
    "c.nop; c.nop; .option norvc; add a0, a1, a2": (3, 3, 9),
    "c.add a5, a4; jr a5": (2, 3, 6),  # the address is not there yet
}


@pytest.mark.parametrize("text", RISCV_CASES)
def test_riscv_cores_that_have_rtl(tmp_path: Path, text: str) -> None:
    cycles = [cycle_model(targets.load(core)).block(block(tmp_path, core, text)) for core in RTL_CORES]
    assert tuple(cycles) == RISCV_CASES[text]


JUMPS = {
    ".option norvc; beqz a0, 1f; 1: nop": (2, 2, 2),
    "beqz a0, 1f; .balign 4; .option norvc; 1: nop": (2, 2, 3),  # the branch ends within a word
    "c.nop; c.beqz a0, 1f; 1: c.nop": (2, 2, 2),
    "beqz a0, 1f; .option norvc; nop; 1: nop": (3, 3, 4),  # the target lies in two words
    "j 1f; 1: c.nop": (1, 1, 0),
    "jr a5; c.nop": (1, 1, 3),
}


@pytest.mark.parametrize("text", JUMPS)
def test_taken_jumps_on_cores_that_have_rtl(tmp_path: Path, text: str) -> None:
    """From the jump to the last instruction."""
    instructions = block(tmp_path, "ibex", text)
    (jump,) = (i for i in instructions if i.flow.jumps)
    cycles = [cycle_model(targets.load(core)).join(jump, instructions[-1], True) for core in RTL_CORES]
    assert tuple(cycles) == JUMPS[text]


@pytest.mark.parametrize(
    ("text", "cycles"),
    [
        ("lw a0, 0(a1); add a2, a3, a4", 2),
        ("lw a0, 0(a1); add a2, a3, a0", 3),
        ("lw a0, 0(a1); max a2, a3, a0", 3),  # of Zbb, which the disassembler does not know
        ("lw a0, 0(a1); sext.h a2, a0", 3),
        ("lw a0, 0(a1); sh2add a2, a3, a4", 2),
        ("lw a0, 0(a1); sw a0, 0(a2)", 2),  # passed on
        ("lw a0, 0(a1); sw a2, 0(a0)", 3),
        ("mulh a0, a1, a2; divu a3, a4, a5", 19),
    ],
)
def test_hazard3(tmp_path: Path, text: str, cycles: int) -> None:
    assert cycle_model(targets.load("hazard3")).block(block(tmp_path, "hazard3", text)) == cycles


def test_hazard3_predicts_that_a_loop_goes_on(tmp_path: Path) -> None:
    """Ten bytes copied, for which the data sheet counts 52 cycles."""
    loop = "1: lbu a3, (a0); sb a3, (a1); addi a0, a0, 1; addi a1, a1, 1; bltu a1, a2, 1b; ret"
    model, (*body, back) = cycle_model(targets.load("hazard3")), block(tmp_path, "hazard3", loop)
    again, ends = (model.join(body[-1], after, jumped) for after, jumped in ((body[0], True), (back, False)))
    assert 10 * model.block(body) + 9 * again + ends == 52


def test_low_overhead_loops(tmp_path: Path) -> None:
    tasks = [i.task.name for i in block(tmp_path, "cortex-m55", "dls lr, r0; 1: nop; le lr, 1b")]
    assert tasks == ["ALU", "ALU", "LOOP"]


UNITS = {
    "VECTOR_MULTIPLY": """
        vmladav.s8 r0, q0, q1; vmladava.u16 lr, q6, q7; vmlaldava.s16 r0, r1, q0, q1; vmla.s32 q0, q1, r2
        vmlas.s32 q0, q3, r5; vmul.i32 q0, q1, q2; vmul.i32 q0, q1, r9; vqdmulh.s32 q0, q1, q2
        vqrdmulh.s32 q0, q1, r3; vqrdmulh.s32 q0, q1, q2; vqrdmlah.s32 q0, q1, r4; vqdmlah.s32 q0, q1, r4
        vmulh.u32 q0, q1, q2; vrmulh.s16 q0, q1, q2; vmullb.s8 q0, q1, q2; vmullt.u16 q0, q1, q2
        vfma.f32 q0, q1, q2; vfma.f32 q0, q1, r2; vfms.f32 q0, q1, q2; vfmas.f32 q0, q1, r2
        vmul.f32 q0, q1, q2; vmul.f32 q0, q1, r2; vadd.f32 q0, q1, q2; vadd.f32 q0, q1, r2
        vsub.f32 q0, q1, q2
    """,
    "VECTOR": """
        vadd.i32 q0, q1, q2; vadd.i32 q0, q1, r2; vsub.i16 q0, q1, r2; vqadd.s16 q4, q4, r10
        vshr.s32 q0, q1, #31; vshl.i32 q0, q1, #1; vqshl.s32 q0, q0, #3; vrshl.s32 q0, r2; vshl.s32 q0, r2
        vqrshrnb.s32 q4, q0, #16; vqrshrnt.s32 q4, q0, #9; vqmovnb.s16 q4, q4; vqmovnt.s32 q4, q5
        vmax.s8 q0, q1, q2; vmin.s32 q0, q1, q2; vand q0, q1, q2; veor q0, q1, q2; vorr q0, q1, q2
        vmov q0, q1; vmov.i8 q5, #128; vmov.i32 q0, #0; vcvta.s32.f32 q0, q1; vmaxnm.f32 q0, q1, q2
        vmovlb.s8 q0, q1; vmovlt.s16 q0, q1; vidup.u32 q0, r2, #4
        vmov q6[2], q6[0], r4, r0; vmov q1[3], q1[1], lr, r2; vmov r0, r2, q6[2], q6[0]; vmov r12, lr, q7[3], q7[1]
    """,
    "VECTOR_MEMORY": """
        vldrw.u32 q0, [r1], #16; vldrb.u8 q0, [r12, #-5]; vldrb.s32 q0, [r1], #4; vldrh.s32 q0, [r2]
        vstrb.32 q0, [r1], #4; vstrw.32 q0, [sp, #32]; vldrw.u32 q6, [q7]; vldrw.u32 q6, [q7, #-128]!
        vstrw.32 q4, [q6, #4]!; vstrw.32 q4, [r11, q6]; vldrw.u32 q1, [r0, q0, uxtw #2]
        vst43.8 {q0, q1, q2, q3}, [r1]!; vld20.8 {q0, q1}, [r1]; vldrb.u8 q1, [r0, q0]
    """,
}
ACCESSES = [0] * 6 + [4] * 5 + [0] * 2 + [16]
"""Gathers and scatters, one element after another."""


@pytest.mark.parametrize("unit", UNITS)
def test_helium_is_known_by_its_pipelines(tmp_path: Path, unit: str) -> None:
    """All that Mote's kernels use, and some more."""
    found = block(tmp_path, "cortex-m55", "; ".join(line.strip() for line in UNITS[unit].strip().splitlines()))
    assert [i.task.name for i in found] == [unit] * len(found)
    assert [i.words for i in found] == (ACCESSES if unit == "VECTOR_MEMORY" else [0] * len(found))

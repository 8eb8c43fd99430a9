"""Orders of instructions: a block leaves the same in memory and registers in any of them, on a core as in the model."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mote import compile, verify
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import MatrixWeights, OutputPlaces, PixelBytes
from mote.compiler.kernels.armv7em.gemm.gemm_assembly import code as gemm_code
from mote.compiler.kernels.armv7em.gemm.winograd_assembly import products
from mote.compiler.kernels.armv7em.ordering.blocks import split_blocks
from mote.compiler.kernels.armv7em.ordering.knob import SAME, in_order
from mote.compiler.kernels.armv7em.ordering.same import same
from mote.compiler.kernels.armv7em.ordering.schedule import Order, cycles, ordered, rearranged
from mote.compiler.kernels.armv7em.ordering.text import FLAGS, GENERAL, Operation, parsed
from mote.compiler.kernels.armv7em.vector.vector6_assembly import code as vector_code
from mote.compiler.kernels.contract import Instance, Packed
from mote.hardware.cores.arm.cycles import CYCLES
from tests.compiler.plan.test_plan import MODELS
from tests.helpers.support import emulated, examples

ORDERS = (Order.M4, Order.M7)
WORD = 0xFFFFFFFF


def operations(lines: Sequence[str]) -> list[Operation]:
    return [o for line in lines for o in parsed(line) or ()]


class Core:
    """An interpreter of the few instructions that random blocks have."""

    def __init__(self, seed: int) -> None:
        numbers = np.random.default_rng(seed).integers(0, 1 << 32, len(GENERAL), dtype=np.uint64)
        self.registers = {r: int(n) for r, n in zip(GENERAL, numbers, strict=True)}
        self.registers |= {"r8": 0x1010, "r9": 0x1000, "sp": 0x8000, FLAGS: 0}
        self.memory: dict[int, int] = {}

    def byte(self, at: int) -> int:
        return self.memory.get(at, at * 37 + 11 & 0xFF)

    def load(self, at: int, size: int) -> int:
        return sum(self.byte(at + i) << 8 * i for i in range(size))

    def store(self, at: int, size: int, value: int) -> None:
        for i in range(size):
            self.memory[at + i] = value >> 8 * i & 0xFF

    def run(self, lines: Sequence[str]) -> Core:
        for line in lines:
            name, *operands = line.replace(".w", "").replace(",", " ").split()
            if name.startswith(("ldr", "str")):
                self._access(line)
            elif name in ("ldm", "stm"):
                self._several(line)
            else:
                self._compute(name, operands)
        return self

    def _access(self, line: str) -> None:
        match = re.match(r"(\w+) (.*?), \[(\w+)(?:, #(-?\d+))?\](!)?(?:, #(-?\d+))?$", line)
        assert match is not None, line
        name, moved, base, offset, wrote, behind = match.groups()
        size = 1 if name.endswith("b") else 4
        at = self.registers[base] + int(offset or 0)
        for i, register in enumerate(moved.split(", ")):
            if name.startswith("ldr"):
                self.registers[register] = self.load(at + 4 * i, size)
            else:
                self.store(at + 4 * i, size, self.registers[register])
        if wrote or behind:
            self.registers[base] = at if wrote else at + int(behind)

    def _several(self, line: str) -> None:
        match = re.match(r"(\w+) (\w+)(!)?, \{(.*)\}$", line)
        assert match is not None, line
        name, base, moves, listed = match.groups()
        start, registers = self.registers[base], listed.split(", ")
        for i, register in enumerate(registers):
            if name == "ldm":
                self.registers[register] = self.load(start + 4 * i, 4)
            else:
                self.store(start + 4 * i, 4, self.registers[register])
        if moves:
            self.registers[base] = start + 4 * len(registers)

    def _compute(self, name: str, operands: list[str]) -> None:
        to, *others = operands
        values = [int(x[1:]) if x.startswith("#") else self.registers.get(x, 0) for x in others]
        if name == "cmp":
            self.registers[FLAGS] = self.registers[to] - values[0]
            return
        if name == "smlad":
            halves = [(v & 0xFFFF ^ 0x8000) - 0x8000 for v in (values[0], values[1], values[0] >> 16, values[1] >> 16)]
            result = halves[0] * halves[1] + halves[2] * halves[3] + values[2]
        elif name == "sxtb16":
            source = values[0] >> 8 if "ror" in others else values[0]
            low, high = ((v & 0xFF ^ 0x80) - 0x80 for v in (source, source >> 16))
            result = low & 0xFFFF | (high & 0xFFFF) << 16
        else:
            result = {"add": sum(values), "adds": sum(values), "sub": values[0] - values[-1], "mov": values[0]}[name]
        self.registers[to] = result & WORD
        if name.endswith("s"):
            self.registers[FLAGS] = result & WORD


@st.composite
def blocks(draw: st.DrawFn) -> list[str]:
    """Lines in the order of no particular work: pointers r8 and r9 to the same bytes, the frame, and sums."""
    register = st.sampled_from([r for r in GENERAL if r not in ("r8", "r9")])
    base, offset = st.sampled_from(["r8", "r9", "sp"]), st.integers(0, 6).map(lambda n: 4 * n)
    moving = st.sampled_from(["r8", "r9"])
    lines = []
    for kind in draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=40)):
        a, b, c = draw(register), draw(register), draw(register)
        if "{both}" in kind and a == b:
            continue
        several = ", ".join(sorted({a, b, c}, key=GENERAL.index))
        lines.append(
            kind.replace("{both}", f"{a}, {b}").format(
                a=a, b=b, c=c, base=draw(base), at=draw(offset), moving=draw(moving), several=several
            )
        )
    return [*lines, "cmp r0, r1"]


KINDS = (
    *("ldr {a}, [{base}, #{at}]",) * 3,
    "ldrb {a}, [{base}, #{at}]",
    "ldr {a}, [{moving}, #{at}]!",
    "ldr {a}, [{moving}], #4",
    "ldrd {both}, [{base}, #{at}]",
    "ldm {moving}!, {{{several}}}",
    "ldm {base}, {{{several}}}",
    "str {a}, [{base}, #{at}]",
    "strb {a}, [{moving}], #2",
    "stm {moving}!, {{{several}}}",
    *("smlad {a}, {b}, {c}, {a}",) * 4,
    "smlad {a}, {b}, {c}, {b}",
    *("sxtb16 {a}, {b}", "sxtb16 {a}, {b}, ror #8"),
    *("add {a}, {b}, {c}", "add {a}, {b}, #12", "adds {a}, {b}, #3", "sub {a}, {b}, {c}", "mov {a}, {b}"),
    *("add {moving}, {moving}, #8", "sub {moving}, {moving}, #4", "add {a}, {moving}, #4"),
)


@given(lines=blocks(), order=st.sampled_from(ORDERS), needed=st.sets(st.sampled_from(GENERAL)), seed=st.integers(0, 99))
@settings(max_examples=examples(120), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_block_in_another_order_does_the_same(lines: list[str], order: Order, needed: set[str], seed: int) -> None:
    wanted = frozenset({*needed, FLAGS})
    other = rearranged(lines, wanted, frozenset(), order)
    assert cycles(other, order) <= cycles(lines, order)
    before, after = Core(seed).run(lines), Core(seed).run(other)
    assert {r: before.registers[r] for r in wanted} == {r: after.registers[r] for r in wanted}
    touched = before.memory.keys() | after.memory.keys()
    assert all(before.byte(at) == after.byte(at) for at in touched)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["ldr r0, [r8]", "add r1, r0, #1"], ["add r1, r0, #1", "ldr r0, [r8]"]),
        (["str r0, [r8]", "ldr r1, [r9]"], ["ldr r1, [r9]", "str r0, [r8]"]),
        (["str r0, [r8]", "str r1, [r9]"], ["str r1, [r9]", "str r0, [r8]"]),
        (["ldr r0, [r8], #4"], ["ldr r0, [r8]"]),
        (["ldr r0, [r8], #4"], ["ldr r0, [r8, #4]!"]),
        (["adds r0, r1, #1", "cmp r2, r3"], ["cmp r2, r3", "adds r0, r1, #1"]),
        (["smlad r0, r1, r2, r0"], ["smlad r0, r1, r2, r3"]),
        (["sxtb16 r0, r1"], ["sxtb16 r0, r1, ror #8"]),
        (["vmov s0, r1", "vmov r0, s0"], ["vmov r0, s0", "vmov s0, r1"]),
    ],
)
def test_blocks_that_do_not_do_the_same(before: list[str], after: list[str]) -> None:
    needed = frozenset({*GENERAL, FLAGS})
    assert same(operations(before), operations(before), needed, frozenset())
    assert not same(operations(before), operations(after), needed, frozenset())


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (["str r0, [sp, #4]", "ldr r1, [r9]"], ["ldr r1, [r9]", "str r0, [sp, #4]"]),
        (["str r0, [r8]", "ldr r1, [r8, #4]"], ["ldr r1, [r8, #4]", "str r0, [r8]"]),
        (["ldm r8!, {r0, r1}"], ["ldr r1, [r8, #4]", "ldr r0, [r8], #8"]),
        (["ldrd r0, r1, [r8, #8]!"], ["ldr r0, [r8, #8]!", "ldr r1, [r8, #4]"]),
        (["vmov r0, r1, s2, s3"], ["vmov r1, s3", "vmov r0, s2"]),
    ],
)
def test_blocks_that_do_the_same(before: list[str], after: list[str]) -> None:
    assert same(operations(before), operations(after), frozenset({*GENERAL, FLAGS}), frozenset())
    assert same(operations(before), operations(after), frozenset(GENERAL), frozenset({"r2"}))


def test_an_address_of_the_frame_is_not_apart_from_it() -> None:
    before, after = ["str r0, [sp, #4]", "ldr r1, [r9]"], ["ldr r1, [r9]", "str r0, [sp, #4]"]
    assert not same(operations(before), operations(after), frozenset(GENERAL), frozenset({"r9"}))


CODES = {
    "pixels": gemm_code(PixelBytes(0, 8, 0), OutputPlaces(1), MatrixWeights.WIDE, "nhwc", 11),
    "windows": gemm_code(PixelBytes(3, 2, 1), OutputPlaces(1, (0, 8, 16, 24)), MatrixWeights.PAIR, "linear", 0),
    "fpu": gemm_code(
        PixelBytes(0, 4, 0), OutputPlaces(1, (0, 8, 16, 24), fours=True), MatrixWeights.WIDE, "nhwc", 11, fpu=True
    ),
    "vector": tuple(vector_code(40, 3, 7, "relu", roomy=False)),
    "winograd": products(4, 36, 0b010110, 6),
}


@pytest.mark.slow
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", CODES)
def test_generated_code_takes_fewer_cycles(name: str, order: Order) -> None:
    """Only blocks of loops change, and each takes no more cycles than as written."""
    code = CODES[name]
    before, after = split_blocks(code), split_blocks(ordered(code, order))
    pairs = list(zip(before, after, strict=True))
    assert all(a == b for a, b in pairs if not a.looped)
    spent = [(cycles(a.lines, order), cycles(b.lines, order)) for a, b in pairs if a.looped]
    assert all(later <= earlier for earlier, later in spent)
    assert sum(later for _, later in spent) < sum(earlier for earlier, _ in spent) or (name, order) == (
        "winograd",
        Order.M4,
    )


def test_cycles_are_those_of_the_profiler() -> None:
    lines = ["ldr r0, [r8]", "ldr r1, [r9]", "smlad r2, r0, r1, r2", "ssat r3, #8, r2, asr #4", "strb r3, [r8, #1]"]
    timed = [o.timed for o in operations(lines)]
    assert cycles(lines, Order.M4) == CYCLES["cortex-m4"].block(timed)
    assert cycles(lines, Order.M7) == CYCLES["cortex-m7"].block(timed)


def test_names_tell_orders_apart() -> None:
    code = CODES["pixels"]
    packed = Packed("gemm_8", {}, instances=(Instance("CODE", ("8", 3), code), Instance("FUNCTIONS", ("8",))))
    for order in ORDERS:
        other = in_order(packed, order)
        assert isinstance(other, Packed)
        assert (other.name, other.instances[-1].arguments) == (f"gemm_8_{order}", (f"8_{order}",))
        assert other.instances[0].code == ordered(code, order) != code
        assert in_order(other, order) == SAME


@pytest.mark.slow
@pytest.mark.parametrize(("core", "order"), [("cortex-m7", "m7"), ("cortex-m4", "m4")])
def test_a_model_whose_code_is_in_another_order(core: str, order: Order) -> None:
    plain = compile(MODELS / "digits.tflite", target=emulated(core), optimize="speed")
    steps = {op.name: of[0] for op, of in plain.plan.works}
    coded = [name for name, step in steps.items() if any(i.code for i in step.kernel.instances)]
    pins = {name: f"{steps[name].kernel.family}[order={order}]" for name in coded}
    other = compile(MODELS / "digits.tflite", target=core, optimize="speed", kernels=pins)
    knobs = {op.name: of[0].kernel.knobs for op, of in other.plan.works}
    assert {name for name, knob in knobs.items() if knob == (("order", order),)} == set(pins) and len(pins) > 2
    assert verify(other, 1).passed

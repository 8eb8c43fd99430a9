"""Machine instructions: length and effect on stack pointer and control flow (`Decoded`, for stack depths and traces),
and their properties for cycle models (`Timed`).

Instructions that move the stack pointer by an unknown amount, or jump to an unknown address, have a `ControlKind` that
says so: code that is not understood can be refused, and is never misread. `known` maps a few registers to their values,
because large stack frames, calls of far functions, and returns on Armv6-M depend on register values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

POPPED = 1 << 32
"""Pseudo-value of a register that was popped from the stack; not a 32-bit number."""

Known = Mapping[int, int]
Read = Callable[[int], int]
"""Callback that reads the 32-bit word at an address."""


Decoder = Callable[[Read, int, Known], "Decoded"]
"""Callback that decodes the instruction at an address, given the known register values."""


class ControlKind(Enum):
    PLAIN = auto()  # continues with the next instruction
    CALL = auto()  # calls the function at `target`
    JUMP = auto()  # jumps to `target`
    BRANCH = auto()  # jumps to `target` on a condition
    LOOP = auto()  # jumps to `target`, depending on the loop counter of Armv8.1-M
    DETOUR = auto()  # calls a routine at `target` that returns through a register
    RETURN = auto()
    TABLE = auto()  # a jump table within the function
    REGISTER = auto()  # jumps to an address in a register: by a jump table, or through a pointer
    POINTER = auto()  # calls the function at an address in a register
    TAIL = auto()  # jumps to the function at an address in a register
    STOP = auto()  # a trap
    DYNAMIC = auto()  # moves the stack pointer by an unknown amount


@dataclass(frozen=True)
class Decoded:
    """A decoded instruction. `grows`: bytes by which it grows the stack; `known`: registers with known values after it;
    `runs`: for Thumb's IT, for each instruction of its block whether it runs if the condition holds (else it runs if
    not)."""

    size: int
    kind: ControlKind = ControlKind.PLAIN
    target: int = 0
    grows: int = 0
    known: Known = field(default_factory=dict)
    runs: tuple[bool, ...] = ()

    @property
    def calls(self) -> bool:
        """Whether it is a call, which saves a return address."""
        return self.kind in (ControlKind.CALL, ControlKind.POINTER)

    @property
    def jumps(self) -> bool:
        """Whether it writes the program counter."""
        return self.kind not in (ControlKind.PLAIN, ControlKind.STOP, ControlKind.DYNAMIC)


def bits(value: int, *fields: tuple[int, int, int]) -> int:
    """Assemble a number from bit fields: (lowest bit, number of bits, destination bit) each."""
    return sum((value >> low & (1 << count) - 1) << to for low, count, to in fields)


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def without(known: Known, *registers: int) -> Known:
    return {r: v for r, v in known.items() if r not in registers} if known else known


def constant(known: Known, register: int) -> int | None:
    value = known.get(register, POPPED)
    return None if value == POPPED else value


class Task(Enum):
    """Class of an instruction for timing: the key of cycle tables."""

    ALU = auto()  # data processing, and all else that takes one cycle on every core
    SHIFT = auto()  # data processing with a shifted operand
    MUL = auto()
    MLA = auto()
    MULL = auto()
    MLAL = auto()
    MAC = auto()  # multiplications of the DSP extension
    DSP = auto()  # other instructions of the DSP extension
    DIV = auto()
    LOAD = auto()
    STORE = auto()
    LOADS = auto()  # load of several words
    STORES = auto()  # store of several words
    BRANCH = auto()
    CALL = auto()
    JUMP = auto()  # jump to an address in a register
    TABLE = auto()
    LOOP = auto()  # low-overhead loop of Armv8.1-M
    SYSTEM = auto()
    BARRIER = auto()  # flushes the pipeline
    FENCE = auto()  # waits for memory accesses
    FPU = auto()
    FMAC = auto()
    FDIV = auto()
    FMOVE = auto()  # vmov of two words between core and FPU registers
    VECTOR = auto()
    VECTOR_MULTIPLY = auto()
    VECTOR_MEMORY = auto()


MULTIPLIES = frozenset({Task.MUL, Task.MLA, Task.MULL, Task.MLAL, Task.MAC, Task.FMAC, Task.VECTOR_MULTIPLY})
"""Tasks (classes of instructions) that multiply."""
ACCESSES = frozenset({Task.LOAD, Task.STORE, Task.LOADS, Task.STORES, Task.VECTOR_MEMORY})
"""Tasks (classes of instructions) that access memory."""


@dataclass(frozen=True)
class Timed:
    """An instruction as input of cycle models. `flow`: its length and control flow; `address`: registers that form the
    address of its memory access; `words`: number of words that it transfers."""

    at: int
    flow: Decoded
    name: str
    task: Task
    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()
    address: frozenset[str] = frozenset()
    words: int = 0

    @property
    def end(self) -> int:
        return self.at + self.flow.size


JUMPS = {
    ControlKind.BRANCH: Task.BRANCH,
    ControlKind.CALL: Task.CALL,
    ControlKind.TABLE: Task.TABLE,
    **dict.fromkeys(
        (
            ControlKind.JUMP,
            ControlKind.DETOUR,
            ControlKind.RETURN,
            ControlKind.REGISTER,
            ControlKind.POINTER,
            ControlKind.TAIL,
        ),
        Task.JUMP,
    ),
}


def task_of(flow: Decoded, data: Task) -> Task:
    """The task by which an instruction is timed: that of its control flow, except that a load which jumps is timed as a
    load."""
    return data if data in (Task.LOAD, Task.LOADS) else JUMPS.get(flow.kind, data)

"""Machine instructions: how long one is, what it does to the stack pointer and to the flow of control
(`Decoded`, for stack depths and traces), and what a cycle model has to know of it (`Timed`).

What moves the stack pointer by an amount that is not known, or jumps to where nobody knows, gets a `Kind` that says so:
code that is not understood can be refused, and is never misread. A few registers are followed, because frames too large
for an immediate are made with them, far functions are called through them, and Armv6-M returns through them: `known`
maps a register to its value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

POPPED = 1 << 32
"""The "value" of a register that was popped from the stack: no 32-bit number."""

Known = Mapping[int, int]
Read = Callable[[int], int]
"""The 32-bit word at an address."""


Decoder = Callable[[Read, int, Known], "Decoded"]
"""The decoder: from an address to what the instruction there does."""


class ControlKind(Enum):
    PLAIN = auto()  # goes on behind it
    CALL = auto()  # of the function at `target`
    JUMP = auto()  # goes on at `target`
    BRANCH = auto()  # goes on at `target` or behind it
    LOOP = auto()  # likewise, by the loop counter of Armv8.1-M
    DETOUR = auto()  # goes on at `target`, which comes back by a register
    RETURN = auto()
    TABLE = auto()  # a jump by a table to several places of the same function
    REGISTER = auto()  # a jump to what a register holds: by a table, if not through a pointer
    POINTER = auto()  # a call of the function that a register holds
    TAIL = auto()  # a jump to the function that a register holds
    STOP = auto()  # a trap
    DYNAMIC = auto()  # moves the stack pointer by an unknown amount


@dataclass(frozen=True)
class Decoded:
    """`grows`: bytes that it takes from the stack. `known`: the registers whose value is known after it.

    `runs`: for Thumb's IT, which of the instructions behind it run where its condition holds; the others of
    them run where it does not.
    """

    size: int
    kind: ControlKind = ControlKind.PLAIN
    target: int = 0
    grows: int = 0
    known: Known = field(default_factory=dict)
    runs: tuple[bool, ...] = ()

    @property
    def calls(self) -> bool:
        """Whether it leaves the address behind it, to come back there."""
        return self.kind in (ControlKind.CALL, ControlKind.POINTER)

    @property
    def jumps(self) -> bool:
        """Whether it writes the program counter."""
        return self.kind not in (ControlKind.PLAIN, ControlKind.STOP, ControlKind.DYNAMIC)


def bits(value: int, *fields: tuple[int, int, int]) -> int:
    """Fields of an instruction put together: (lowest bit, number of bits, where it goes)."""
    return sum((value >> low & (1 << count) - 1) << to for low, count, to in fields)


def signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 & 1 else value


def without(known: Known, *registers: int) -> Known:
    return {r: v for r, v in known.items() if r not in registers} if known else known


def constant(known: Known, register: int) -> int | None:
    value = known.get(register, POPPED)
    return None if value == POPPED else value


class Task(Enum):
    """The kind of work of an instruction: the key of the tables of cycles."""

    ALU = auto()  # and whatever else takes one cycle everywhere
    SHIFT = auto()  # data processing with a shifted operand
    MUL = auto()
    MLA = auto()
    MULL = auto()
    MLAL = auto()
    MAC = auto()  # the multiplications of the DSP extension
    DSP = auto()  # its other instructions
    DIV = auto()
    LOAD = auto()
    STORE = auto()
    LOADS = auto()  # several words
    STORES = auto()
    BRANCH = auto()
    CALL = auto()
    JUMP = auto()  # to what a register holds
    TABLE = auto()
    LOOP = auto()  # of Armv8.1-M
    SYSTEM = auto()
    BARRIER = auto()  # that refills the pipeline
    FENCE = auto()  # that waits for memory
    FPU = auto()
    FMAC = auto()
    FDIV = auto()
    FMOVE = auto()  # of two registers
    VECTOR = auto()
    VECTOR_MULTIPLY = auto()
    VECTOR_MEMORY = auto()


MULTIPLIES = frozenset({Task.MUL, Task.MLA, Task.MULL, Task.MLAL, Task.MAC, Task.FMAC, Task.VECTOR_MULTIPLY})
"""Tasks that multiply."""
ACCESSES = frozenset({Task.LOAD, Task.STORE, Task.LOADS, Task.STORES, Task.VECTOR_MEMORY})
"""Tasks that load or store."""


@dataclass(frozen=True)
class Timed:
    """An instruction as a cycle model sees it: `flow` is its length and where control goes, `address` are the registers
    that make up the address of a memory access, `words` how many it moves."""

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
    """The task that an instruction is timed as: by where control goes, but for a load that jumps, which is timed as a
    load."""
    return data if data in (Task.LOAD, Task.LOADS) else JUMPS.get(flow.kind, data)

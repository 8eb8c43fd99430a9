"""Classifies RV32IMAFC instructions for the cycle models, using Capstone's disassembly."""

from __future__ import annotations

import re
from typing import Any

from mote.hardware.cores.instructions import Decoded, Task, Timed, task_of

_LOADS = ("lb", "lh", "lw", "lbu", "lhu", "lwsp", "flw", "flwsp")
_SETS = ("li", "lui", "mv", "addi4spn")
_REGISTERS = (
    *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
    *(f"a{i}" for i in range(8)),
    *(f"s{i}" for i in range(2, 12)),
    *("t3", "t4", "t5", "t6"),
)
"""Register names as in Capstone's disassembly, by number."""
_STORES = ("sb", "sh", "sw", "swsp", "fsw", "fswsp")


def timed(at: int, flow: Decoded, word: int, instruction: Any) -> Timed:
    """The instruction at an address as the cycle models take it; `instruction`: Capstone's, or None if it cannot decode
    it."""
    if instruction is None:
        return _unknown(at, flow, word)
    name = instruction.mnemonic.removeprefix("c.")
    operands = [o.strip() for o in instruction.op_str.split(",") if o.strip()]
    inside = re.search(r"\((\w+)\)", instruction.op_str)
    address = frozenset([inside[1]] if inside else [])
    task = task_of(flow, _task(name))
    stores = task in (Task.STORE, Task.BRANCH)
    writes = frozenset(operands[:1]) if operands and not stores else frozenset()
    reads = frozenset(operands if stores or _reads_all(name, flow) else operands[1:]) | address
    if name == "ret":
        reads |= {"ra"}
    words = 1 if address else 0
    return Timed(at, flow, name, task, reads, writes, address, words)


def _unknown(at: int, flow: Decoded, word: int) -> Timed:
    """Classify an instruction that Capstone does not know: vectors, or bit manipulation (Zba, Zbb), which is timed as
    any other register operation."""
    operation, function = word & 0x7F, word >> 12 & 7
    if operation in (0x07, 0x27) and function in (0, 5, 6, 7):
        return Timed(at, flow, "alu", Task.VECTOR_MEMORY)
    if operation == 0x57 and function != 7:
        return Timed(at, flow, "alu", Task.VECTOR)
    if operation not in (0x13, 0x33):
        return Timed(at, flow, "alu", Task.ALU)
    sources = [word >> 15 & 31, *([word >> 20 & 31] if operation == 0x33 else [])]
    reads, writes = (frozenset(_REGISTERS[n] for n in numbers) for numbers in (sources, [word >> 7 & 31]))
    return Timed(at, flow, "alu", Task.ALU, reads, writes)


def _reads_all(name: str, flow: Decoded) -> bool:
    """Whether an instruction reads its first operand: compressed instructions modify it, and `jr` jumps to it."""
    return name == "jr" or (flow.size == 2 and name not in (*_LOADS, *_SETS))


def _task(name: str) -> Task:
    if name in _LOADS:
        return Task.LOAD
    if name in _STORES:
        return Task.STORE
    if name in ("mul", "mulh", "mulhu", "mulhsu"):
        return Task.MUL if name == "mul" else Task.MULL
    if name in ("div", "divu", "rem", "remu"):
        return Task.DIV
    return Task.SYSTEM if name.startswith(("csr", "fence", "ecall", "ebreak", "mret")) else Task.ALU

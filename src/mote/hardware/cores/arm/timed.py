"""Classifies Armv6-M to Armv8.1-M instructions for the cycle models, using Capstone's disassembly."""

from __future__ import annotations

import re
from typing import Any

from mote.hardware.cores.instructions import ControlKind, Decoded, Task, Timed, task_of

_REGISTER = re.compile(r"\b(r\d+|sb|sl|fp|ip|sp|lr|pc|[sdq]\d+)\b")
_ALIASES = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12"}


def timed(at: int, flow: Decoded, word: int, instruction: Any) -> Timed:
    """The instruction at an address as the cycle models take it; `instruction`: Capstone's, or None if it cannot decode
    it."""
    task = _armv8_1(flow, word) or (None if instruction is not None else Task.ALU)
    if task is None:
        return _thumb(instruction, flow)
    return Timed(at, flow, task.name.lower(), task, words=_scattered(word) if task == Task.VECTOR_MEMORY else 0)


_MULTIPLIES = (
    (0xEFF01ED1, 0xEEF00E00),  # VMLADAV
    (0xFF801FD1, 0xEE800E00),  # VMLALDAV
    (0xFFC10FF0, 0xEE010E40),  # VMLA, VMLAS, VFMA and VFMAS of a scalar
    (0xFFC11FF1, 0xEF000950),  # VMUL
    (0xEFC11FF1, 0xEF000B40),  # VQDMULH, VQRDMULH
    (0xEFC11FF0, 0xEE010E60),  # VQDMULH, VQRDMULH, and VMUL of float32, of a scalar
    (0xFFE11FF0, 0xEE011E60),  # VMUL of a scalar
    (0xFFF11FF0, 0xEE211E60),  # likewise, of 32-bit elements
    (0xFFC11FD0, 0xEE000E40),  # VQRDMLAH, VQDMLAH
    (0xEFE10FF0, 0xEE010E00),  # VMULL, VMULH, VRMULH
    (0xEFF10FF0, 0xEE210E00),  # likewise, of 32-bit elements
    (0xFFD11FF1, 0xEF000C50),  # VFMA, VFMS
    (0xFFF11FF1, 0xFF000D50),  # VMUL of float32
    (0xFFD11FF1, 0xEF000D40),  # VADD, VSUB of float32
    (0xFFF10FF0, 0xEE300F40),  # VADD, VSUB of a scalar of float32
)
"""Masks and values of the Helium instructions that multiply, or add float32."""


def _armv8_1(flow: Decoded, word: int) -> Task | None:
    """Task of a low-overhead-loop or Helium instruction, which Capstone takes for a coprocessor's or Neon's, or does
    not know; None: any other instruction."""
    first, second = word & 0xFFFF, word >> 16
    if flow.kind == ControlKind.LOOP:
        return Task.LOOP
    helium = first >> 10 & 0x3B == 0x3B and second >> 9 & 7 == 7
    if first & 0xFFA0 == 0xEC00 and second & 0x1FE0 == 0x0F00:  # VMOV of two core registers and two lanes
        return Task.VECTOR
    if helium and not first >> 9 & 1:
        return Task.VECTOR_MEMORY
    if not helium and first >> 8 & 0xEF != 0xEF:
        return None
    whole = first << 16 | second
    multiplies = any(whole & mask == value for mask, value in _MULTIPLIES)
    return Task.VECTOR_MULTIPLY if multiplies else Task.VECTOR


def _scattered(word: int) -> int:
    """Number of separate memory accesses of a vector gather or scatter; 0: contiguous or interleaving access."""
    first, second = word & 0xFFFF, word >> 16
    if first >> 8 == 0xFD:
        return 4
    if first >> 8 & 0xEF == 0xEC and not first >> 5 & 1 and not second >> 12 & 1:
        return 16 >> (second >> 7 & 3)
    return 0


def _registers(text: str) -> list[str]:
    return [_ALIASES.get(r, r) for r in _REGISTER.findall(text)]


def _thumb(instruction: Any, flow: Decoded) -> Timed:
    name, operands = instruction.insn_name(), instruction.op_str
    task = task_of(flow, thumb_task(name, operands))
    writes = _names(instruction, instruction.regs_access()[1])
    inside = re.search(r"\[(.*?)\]", operands)
    address = _registers(inside[1]) if inside else []
    words = 0
    if task in (Task.LOADS, Task.STORES):
        listed = re.search(r"\{(.*)\}", operands)
        moved = _registers(listed[1]) if listed else _registers(operands)[:2]
        words = sum(2 if r[0] == "d" else 1 for r in moved)
        address = address or (["sp"] if name.endswith(("push", "pop")) else _registers(operands)[:1])
        writes |= frozenset(moved) if task == Task.LOADS else frozenset()
    elif task in (Task.LOAD, Task.STORE):
        words = 2 if _registers(operands)[0][0] == "d" else 1
        writes = frozenset(_registers(operands)[:1] if task == Task.LOAD else [])  # a base update has no latency
    # Capstone omits the operands that a saturation reads.
    reads = _names(instruction, instruction.regs_access()[0]) | frozenset(_registers(operands)[1:])
    return Timed(instruction.address, flow, name, task, reads, writes, frozenset(address), words)


def _names(instruction: Any, registers: list[int]) -> frozenset[str]:
    return frozenset(_ALIASES.get(r, r) for r in map(instruction.reg_name, registers) if r)


_THUMB = {
    Task.MUL: ("mul",),
    Task.MLA: ("mla", "mls"),
    Task.MULL: ("smull", "umull"),
    Task.MLAL: ("smlal", "umlal"),
    Task.DIV: ("sdiv", "udiv"),
    Task.LOADS: ("ldm", "ldmdb", "pop", "ldrd", "vldmia", "vldmdb", "vpop"),
    Task.STORES: ("stm", "stmdb", "push", "strd", "vstmia", "vstmdb", "vpush"),
    Task.SYSTEM: ("mrs", "msr", "cps"),
    Task.BARRIER: ("isb",),
    Task.FENCE: ("dsb", "dmb"),
    Task.FMAC: ("vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms"),
    Task.FDIV: ("vdiv", "vsqrt"),
}
_THUMB_TASKS = {name: task for task, names in _THUMB.items() for name in names}
_DSP = re.compile(r"(s|u|q|sh|uh|uq)(add|sub|asx|sax)(8|16)?$|[su]sat|[su]xta?[bh]16|pkh|sel$|usad|q(d)?(add|sub)")
_MACS = re.compile(r"sm(la|ls|m|u)|umaal|usada8")


def thumb_task(name: str, operands: str) -> Task:
    """The task of an instruction other than a jump, by its mnemonic and operands."""
    if name in _THUMB_TASKS:
        return _THUMB_TASKS[name]
    if name.startswith(("ldr", "vldr")):
        return Task.LOAD
    if name.startswith(("str", "vstr")):
        return Task.STORE
    if name.startswith("v"):
        return Task.FMOVE if name == "vmov" and len(_registers(operands)) > 2 else Task.FPU
    if _MACS.match(name):
        return Task.MAC
    if _DSP.match(name):
        return Task.DSP
    return Task.SHIFT if re.search(r", (lsl|lsr|asr|ror|rrx)\b", operands) else Task.ALU

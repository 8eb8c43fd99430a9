"""What a cycle model has to know of an instruction, from Capstone's disassembly."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from mote.errors import MoteError
from mote.toolchain.code import Code

from .trace import length


class Kind(Enum):
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
    VECTOR_MEMORY = auto()


@dataclass(frozen=True)
class Instruction:
    """`address` are the registers that make up the address of a memory access, `words` how many it moves."""

    at: int
    size: int
    name: str
    kind: Kind
    reads: frozenset[str]
    writes: frozenset[str]
    address: frozenset[str]
    words: int = 0
    calls: bool = False

    @property
    def end(self) -> int:
        return self.at + self.size

    @property
    def jumps(self) -> bool:
        """Whether it writes the program counter."""
        return self.kind in _JUMPS or "pc" in self.writes


_JUMPS = (Kind.BRANCH, Kind.CALL, Kind.JUMP, Kind.TABLE, Kind.LOOP)
_REGISTER = re.compile(r"\b(r\d+|sb|sl|fp|ip|sp|lr|pc|[sdq]\d+)\b")
_ALIASES = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12"}

Decoder = Callable[[int, int], list[Instruction]]
"""The instructions from an address up to another."""


def decoder(code: Code) -> Decoder:
    """For the code of an ELF file."""
    if find_spec("capstone") is None:
        raise MoteError("cycles need the disassembler Capstone", remedy="pip install capstone")
    capstone: Any = import_module("capstone")
    if code.arm:
        mode = capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
        disassembler = capstone.Cs(capstone.CS_ARCH_ARM, mode)
    else:
        disassembler = capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC)
    disassembler.detail = True
    one = _thumb if code.arm else _riscv

    def decoded(start: int, end: int) -> Iterator[Instruction]:
        at = start
        while at < end:
            for found in disassembler.disasm(code.bytes(at, end), at):
                yield (_armv8_1(code, at) if code.arm else None) or one(found)
                at += found.size
            if at < end:  # Capstone does not know it
                size = length(code, at)
                yield (_armv8_1(code, at) if code.arm else None) or _plain(at, size, Kind.ALU)
                at += size

    return lambda start, end: list(decoded(start, end))


def _armv8_1(code: Code, at: int) -> Instruction | None:
    """Loops and Helium, which Capstone takes for coprocessors' instructions or does not know."""
    word = code.word(at)
    first, second = word & 0xFFFF, word >> 16
    if first >> 11 == 0b11110 and second & 0xF000 == 0xC000:
        return _plain(at, 4, Kind.LOOP)
    if first >> 10 & 0x3B == 0x3B and second >> 9 & 7 == 7:
        return _plain(at, 4, Kind.VECTOR if first >> 9 & 1 else Kind.VECTOR_MEMORY)
    return None


def _plain(at: int, size: int, kind: Kind) -> Instruction:
    none: frozenset[str] = frozenset()
    return Instruction(at, size, kind.name.lower(), kind, none, none, none)


def _registers(text: str) -> list[str]:
    return [_ALIASES.get(r, r) for r in _REGISTER.findall(text)]


def _thumb(found: Any) -> Instruction:
    name, operands = found.insn_name(), found.op_str
    kind = _thumb_kind(name, operands)
    writes = _names(found, found.regs_access()[1])
    inside = re.search(r"\[(.*?)\]", operands)
    address = _registers(inside[1]) if inside else []
    words = 0
    if kind in (Kind.LOADS, Kind.STORES):
        listed = re.search(r"\{(.*)\}", operands)
        moved = _registers(listed[1]) if listed else _registers(operands)[:2]
        words = sum(2 if r[0] == "d" else 1 for r in moved)
        address = address or (["sp"] if name.endswith(("push", "pop")) else _registers(operands)[:1])
        writes |= frozenset(moved) if kind == Kind.LOADS else frozenset()
    elif kind in (Kind.LOAD, Kind.STORE):
        words = 2 if _registers(operands)[0][0] == "d" else 1
        writes = frozenset(_registers(operands)[:1] if kind == Kind.LOAD else [])  # the base is there at once
    # Capstone leaves away what a saturation reads.
    reads = _names(found, found.regs_access()[0]) | frozenset(_registers(operands)[1:])
    calls = name in ("bl", "blx")
    return Instruction(found.address, found.size, name, kind, reads, writes, frozenset(address), words, calls)


def _names(found: Any, registers: list[int]) -> frozenset[str]:
    return frozenset(_ALIASES.get(r, r) for r in map(found.reg_name, registers) if r)


_THUMB = {
    Kind.MUL: ("mul",),
    Kind.MLA: ("mla", "mls"),
    Kind.MULL: ("smull", "umull"),
    Kind.MLAL: ("smlal", "umlal"),
    Kind.DIV: ("sdiv", "udiv"),
    Kind.LOADS: ("ldm", "ldmdb", "pop", "ldrd", "vldmia", "vldmdb", "vpop"),
    Kind.STORES: ("stm", "stmdb", "push", "strd", "vstmia", "vstmdb", "vpush"),
    Kind.BRANCH: ("b", "cbz", "cbnz"),
    Kind.CALL: ("bl",),
    Kind.JUMP: ("bx", "blx"),
    Kind.TABLE: ("tbb", "tbh"),
    Kind.SYSTEM: ("mrs", "msr", "cps"),
    Kind.BARRIER: ("isb",),
    Kind.FENCE: ("dsb", "dmb"),
    Kind.FMAC: ("vmla", "vmls", "vnmla", "vnmls", "vfma", "vfms", "vfnma", "vfnms"),
    Kind.FDIV: ("vdiv", "vsqrt"),
}
_THUMB_KINDS = {name: kind for kind, names in _THUMB.items() for name in names}
_DSP = re.compile(r"(s|u|q|sh|uh|uq)(add|sub|asx|sax)(8|16)?$|[su]sat|[su]xta?[bh]16|pkh|sel$|usad|q(d)?(add|sub)")
_MACS = re.compile(r"sm(la|ls|m|u)|umaal|usada8")


def _thumb_kind(name: str, operands: str) -> Kind:
    if name in _THUMB_KINDS:
        return _THUMB_KINDS[name]
    if name.startswith(("ldr", "vldr")):
        return Kind.LOAD
    if name.startswith(("str", "vstr")):
        return Kind.STORE
    if name.startswith("v"):
        return Kind.FMOVE if name == "vmov" and len(_registers(operands)) > 2 else Kind.FPU
    if name in ("mov", "add") and operands.startswith("pc"):
        return Kind.JUMP
    if _MACS.match(name):
        return Kind.MAC
    if _DSP.match(name):
        return Kind.DSP
    return Kind.SHIFT if re.search(r", (lsl|lsr|asr|ror|rrx)\b", operands) else Kind.ALU


_RISCV_LOADS = ("lb", "lh", "lw", "lbu", "lhu", "lwsp")
_RISCV_STORES = ("sb", "sh", "sw", "swsp")


def _riscv(found: Any) -> Instruction:
    name = found.mnemonic.removeprefix("c.")
    operands = [o.strip() for o in found.op_str.split(",") if o.strip()]
    inside = re.search(r"\((\w+)\)", found.op_str)
    address = frozenset([inside[1]] if inside else [])
    kind = _riscv_kind(name, operands)
    stores = kind in (Kind.STORE, Kind.BRANCH)
    writes = frozenset(operands[:1]) if operands and not stores else frozenset()
    reads = frozenset(operands if stores or name in ("add", "sub", "addi") else operands[1:]) | address
    words = 1 if address else 0
    return Instruction(found.address, found.size, name, kind, reads, writes, address, words, kind == Kind.CALL)


def _riscv_kind(name: str, operands: list[str]) -> Kind:
    if name in _RISCV_LOADS:
        return Kind.LOAD
    if name in _RISCV_STORES:
        return Kind.STORE
    if name in ("mul", "mulh", "mulhu", "mulhsu"):
        return Kind.MUL if name == "mul" else Kind.MULL
    if name in ("div", "divu", "rem", "remu"):
        return Kind.DIV
    if name.startswith("b") and len(name) <= 5 and name != "bset":
        return Kind.BRANCH
    if name in ("jal", "jalr", "j", "jr", "ret"):
        return _riscv_jump(name, operands)
    return Kind.SYSTEM if name.startswith(("csr", "fence", "ecall", "ebreak", "mret")) else Kind.ALU


def _riscv_jump(name: str, operands: list[str]) -> Kind:
    """A call leaves the address behind it in `ra`: named, or left away."""
    if name in ("j", "jr", "ret"):
        return Kind.JUMP
    linked = len(operands) == 1 or operands[:1] == ["ra"]
    return Kind.CALL if linked else Kind.JUMP

"""Parser of Thumb assembly: lines as operations on registers and memory, and back to text.

Multi-word loads and stores become one operation for each word, so that they can be scheduled separately. Unsupported
lines (jumps, conditional instructions, moves of the stack pointer) are not parsed and stay in place.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mote.hardware.cores.arm.timed import thumb_task
from mote.hardware.cores.instructions import Decoded, Task, Timed

GENERAL = (*(f"r{i}" for i in range(13)), "lr")
"""General-purpose registers that can be allocated."""
_REGISTER = re.compile(r"^(r\d+|sp|lr|[sd]\d+)$")
_MEMORY = re.compile(r"^\[(\w+)(?:, #(-?\d+))?(?:, (r\d+|lr)(?:, lsl #(\d))?)?\](!)?(?:, #(-?\d+))?$")
_SIZES = {"ldr": 4, "str": 4, "ldrb": 1, "ldrsb": 1, "strb": 1, "ldrh": 2, "ldrsh": 2, "strh": 2, "vldr": 4, "vstr": 4}
_DATA = frozenset(
    (
        *("add", "addw", "sub", "subw", "rsb", "and", "orr", "eor", "bic", "mvn", "mov", "movw"),
        *("lsl", "lsr", "asr", "ror", "mul", "mla", "mls", "smmul", "smmla", "smmlar", "smmls"),
        *("smlad", "smladx", "smlabb", "smlabt", "smlatb", "smlatt", "smlsd"),
        *("smuad", "smuadx", "smulbb", "smulbt", "smultb", "smultt"),
        *("ssat", "usat", "ssat16", "usat16", "sadd16", "ssub16", "qadd16", "qsub16", "pkhbt", "pkhtb"),
        *("sxtb", "sxth", "uxtb", "uxth", "sxtb16", "uxtb16"),
        *("sxtab16", "uxtab16", "sxtab", "sxtah", "uxtab", "uxtah", "vmov"),
    )
)
"""Instructions that write their first operand from the others."""
_SETTING = frozenset(["adds", "subs", "rsbs", "ands", "orrs", "movs", "lsls", "lsrs", "asrs"])
"""Instructions that write their first operand from the others and set the flags."""
_COMPARING = frozenset(["cmp", "cmn", "tst"])
_ONE_SOURCE = frozenset(["mov", "movw", "movs", "mvn", "vmov", "sxtb", "sxth", "uxtb", "uxth", "sxtb16", "uxtb16"])
FLAGS = "flags"


@dataclass(frozen=True)
class Operation:
    """An instruction. `operands`: registers, immediates and shifts; `writes`: whether the first is the result. A load
    or store has one operand and an address: `base` plus `offset` bytes, or plus register `index` shifted left by
    `scale`; `update`: bytes by which the base moves, before the access if `first`, else after it."""

    name: str
    operands: tuple[str, ...]
    writes: bool = True
    flags: bool = False
    base: str = ""
    offset: int = 0
    index: str = ""
    scale: int = 0
    update: int = 0
    first: bool = False

    @property
    def memory(self) -> bool:
        return bool(self.base)

    @property
    def store(self) -> bool:
        return self.memory and not self.writes

    @property
    def size(self) -> int:
        """Bytes of memory that a load or store accesses."""
        return 8 if self.operands[0].startswith("d") else _SIZES[self.name]

    @property
    def tied(self) -> bool:
        """Whether the first operand is both read and written."""
        one = self.memory or self.name in _ONE_SOURCE
        return self.writes and not one and len(self.operands) == 2

    @property
    def sources(self) -> tuple[int, ...]:
        """Indices of operands that are registers and read."""
        start = 1 if self.writes and not self.tied else 0
        return tuple(i for i, x in enumerate(self.operands) if i >= start and is_register(x))

    @property
    def text(self) -> str:
        if not self.memory:
            return f"{self.name} {', '.join(self.operands)}"
        if self.update and self.first:
            return f"{self.name} {self.operands[0]}, [{self.base}, #{self.update}]!"
        if self.update:
            return f"{self.name} {self.operands[0]}, [{self.base}], #{self.update}"
        scaled = f", lsl #{self.scale}" if self.scale else ""
        place = f", {self.index}{scaled}" if self.index else f", #{self.offset}" if self.offset else ""
        return f"{self.name} {self.operands[0]}, [{self.base}{place}]"

    def reads_of(self) -> tuple[str, ...]:
        """All registers that are read."""
        return (*(self.operands[i] for i in self.sources), *filter(None, (self.base, self.index)))

    def writes_of(self) -> tuple[str, ...]:
        """All registers that are written, including the flags."""
        moved = (self.base,) if self.update else ()
        return (*(self.operands[:1] if self.writes else ()), *moved, *((FLAGS,) if self.flags else ()))

    @property
    def timed(self) -> Timed:
        """The instruction in the form that cycle models take."""
        task = self.task
        address = frozenset(filter(None, (self.base, self.index)))
        reads = frozenset(self.operands[i] for i in self.sources) | address
        writes = frozenset(self.operands[:1] if self.writes else ())
        words = (2 if self.operands[0].startswith("d") else 1) if self.memory else 0
        return Timed(0, Decoded(4), self.name, task, reads, writes, address, words)

    @property
    def task(self) -> Task:
        return thumb_task(self.name.removesuffix("s") if self.flags else self.name, ", ".join(self.operands))


def is_register(text: str) -> bool:
    return _REGISTER.match(text) is not None


def _listed(text: str) -> list[str]:
    """Registers of a list in braces, such as `{r0-r3, lr}`."""
    registers: list[str] = []
    for part in text.strip("{}").split(","):
        first, _, last = part.strip().partition("-")
        if last:
            kind = first[0]
            registers += [f"{kind}{i}" for i in range(int(first[1:]), int(last[1:]) + 1)]
        else:
            registers.append(first)
    return registers


def parsed(line: str) -> list[Operation] | None:
    """Parse a line of assembly to operations; None: the line is not supported."""
    name, _, rest = line.strip().partition(" ")
    name, rest = name.removesuffix(".w"), rest.strip()
    if name in _SIZES or name in ("ldrd", "strd"):
        return _access(name, rest)
    if name in ("ldm", "stm", "ldmia", "stmia", "vldm", "vldmia"):
        return _several(name, rest)
    operands = tuple(x.strip() for x in rest.split(","))
    if "sp" in operands[:1] or "pc" in operands:
        return None
    if name in _COMPARING:
        return [Operation(name, operands, writes=False, flags=True)]
    if name == "vmov" and len(operands) == 4:
        return _two_words(operands)
    if name in _DATA or name in _SETTING:
        return [Operation(name, operands, flags=name in _SETTING)]
    return None


def _two_words(operands: tuple[str, ...]) -> list[Operation] | None:
    """A `vmov` of two words between core and FPU registers, as two moves."""
    first, second = operands[0::2], operands[1::2]
    if first[0] in second[1:] or not all(map(is_register, operands)):
        return None
    return [Operation("vmov", first), Operation("vmov", second)]


def _access(name: str, rest: str) -> list[Operation] | None:
    registers, _, place = rest.partition("[")
    moved = [x.strip() for x in registers.split(",") if x.strip()]
    match = _MEMORY.match(f"[{place}")
    if match is None or not moved or "pc" in moved:
        return None
    base, offset, index, scale, wrote, behind = match.groups()
    if base == "sp" and (wrote or behind):
        return None
    update = int(offset or 0) if wrote else int(behind or 0)
    one = Operation(
        name.removesuffix("d") if name in ("ldrd", "strd") else name,
        (moved[0],),
        writes="ldr" in name,
        base=base,
        offset=0 if wrote else int(offset or 0),
        index=index or "",
        scale=int(scale or 0),
        update=update,
        first=bool(wrote),
    )
    if len(moved) == 1:
        return [one]
    still = replace(one, offset=one.offset + (update if wrote else 0), update=0, first=False)
    both = [still, replace(still, operands=(moved[1],), offset=still.offset + 4)]
    return _moving(both, base, update)


def _several(name: str, rest: str) -> list[Operation] | None:
    base, _, listed = rest.partition(",")
    base, update = base.strip().removesuffix("!"), base.strip().endswith("!")
    registers = _listed(listed.strip())
    if not registers or "pc" in registers or (base == "sp" and update):
        return None
    kind = "vldr" if name.startswith("v") else "ldr" if name.startswith("ld") else "str"
    single = [
        Operation(kind, (register,), writes=kind != "str", base=base, offset=4 * i)
        for i, register in enumerate(registers)
    ]
    return _moving(single, base, 4 * len(registers) if update else 0)


def _moving(operations: list[Operation], base: str, update: int) -> list[Operation] | None:
    """Single-word accesses in order, then the base's update; an access that loads the base comes last. None: the base
    is both loaded and updated."""
    loaded = [x for x in operations if x.writes and x.operands[0] == base]
    if loaded and update:
        return None
    others = [x for x in operations if x not in loaded]
    return [*others, *loaded, *([Operation("add", (base, base, f"#{update}"))] if update else [])]

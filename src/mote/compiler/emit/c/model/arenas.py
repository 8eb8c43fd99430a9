"""The tensor arenas in a model's C: one for each memory that the plan uses."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from mote.compiler.emit.c.c import Compound, Define, Definition, Expression, Noted, Template, Text, call, index, plus
from mote.compiler.emit.c.model.handle import variable
from mote.compiler.emit.c.options import CONSTANTS, ProjectOptions
from mote.compiler.emit.c.values import brief, section
from mote.compiler.kernels.contract import ALIGNMENT, aligned
from mote.compiler.lower.program import STATES
from mote.compiler.plan.plan import ARENA_ALIGNMENT, Plan
from mote.hardware.targets import KEPT, Memory

CACHE_LINE = 32
"""Bytes of a data cache line of Cortex-M."""
KEPT_SUFFIX = f"_{KEPT}"
"""Suffix of the arena that holds persistent state."""

SECTION = Text("""\
/* Which linker section a definition goes to; define it before this file is compiled to have it otherwise. */
#ifndef MOTE_SECTION
#if defined(__GNUC__) && defined(__ELF__)
#define MOTE_SECTION(name) __attribute__((section(name)))
#else
#define MOTE_SECTION(name)
#endif
#endif
""")
ZEROS = Text("""\
/* The same for arenas in sections whose name does not begin with .bss: gcc would give them contents, and a linker keep
 * these zeros in flash. gcc writes the name into its assembly as it stands, so that the type of the section comes with
 * it, and what gcc writes behind it is a comment; clang has a pragma before and behind the definition. */
#if defined(MOTE_SECTION)
#define MOTE_ZEROS(name)
#define MOTE_ZEROS_IN(name) MOTE_SECTION(name)
#elif defined(__clang__) && defined(__ELF__)
#define MOTE_PRAGMA(text) _Pragma(#text)
#define MOTE_ZEROS(name) MOTE_PRAGMA(clang section bss = name)
#define MOTE_ZEROS_IN(name)
#elif defined(__GNUC__) && defined(__ELF__)
#if defined(__arm__)
#define MOTE_COMMENT "@"
#elif defined(__aarch64__)
#define MOTE_COMMENT "//"
#elif defined(__AVR__)
#define MOTE_COMMENT ";"
#else
#define MOTE_COMMENT "#"
#endif
#define MOTE_ZEROS(name)
#define MOTE_ZEROS_IN(name) __attribute__((section(name ",\\"aw\\",%nobits" MOTE_COMMENT)))
#else
#define MOTE_ZEROS(name)
#define MOTE_ZEROS_IN(name)
#endif
""")


def sections(memories: Iterable[Memory]) -> list[Definition]:
    """Definitions of the macros that place variables in linker sections."""
    memories = list(memories)
    return [*([ZEROS] if any(map(_needs_type, memories)) else []), *([SECTION] if memories else [])]


def _needs_type(memory: Memory) -> bool:
    """Whether the memory's section needs a type, as the compiler would not treat it as zero-initialized by its name."""
    return (
        memory.kind == "ram" and memory.section != CONSTANTS.section and not re.match(r"\.s?bss(\.|$)", memory.section)
    )


@dataclass(frozen=True)
class Arena:
    nbytes: int
    memory: Memory | None
    suffix: str
    """Suffix that distinguishes the names of several arenas; empty if there is one."""

    @property
    def pointer(self) -> str:
        """The variable that points to the arena."""
        return f"arena{self.suffix}"

    @property
    def size(self) -> str:
        """The parameter of init with the arena's size."""
        return f"bytes{self.suffix}"

    @property
    def at(self) -> str:
        """Name of the macro for the address of an offset in the arena."""
        return f"AT{self.suffix.upper()}"

    @property
    def row(self) -> str:
        """Name of the macro for the address of a row, by its index in the table of row offsets."""
        return f"ROW{self.suffix.upper()}"

    def address(self, offset: Expression) -> Expression:
        """The C expression for the address of an offset in the arena."""
        return call(self.at, offset)

    def address_of_row(self, rows: str, place: Expression) -> Expression:
        """The C expression for the address of a row; `place` is its index in the table of row offsets `rows`."""
        return call(self.row, place)

    def macro(self, options: ProjectOptions) -> str:
        """Name of the macro with the arena's size in bytes."""
        return f"{options.name.upper()}_ARENA{_suffix(self.memory).upper()}_BYTES"

    def storage(self, options: ProjectOptions) -> str:
        """The C expression for the storage of the arena: a variable, or the caller's pointer."""
        if self.suffix == KEPT_SUFFIX:
            return f"{variable(options, 'kept')}.states.bytes"
        if options.caller_arena:
            return variable(options, f"arena{self.suffix}")
        if options.shared_arena:
            return f"{shared_name(self.memory)}.bytes"
        return f"{variable(options, f'memory{self.suffix}')}.bytes"


@dataclass(frozen=True)
class PassedMemory(Arena):
    """Memory that a generated function gets by pointer: the arena of a control flow body, or a tensor of the program
    around it."""

    constant: bool = False
    """Whether the pointer is to const."""

    @property
    def pointer(self) -> str:
        return self.suffix

    @property
    def declaration(self) -> str:
        return f"{'const ' if self.constant else ''}uint8_t *{self.pointer}"

    def address(self, offset: Expression) -> Expression:
        return Template(f"(mote_any{'_const' if self.constant else ''}_t)({{}})", (plus(self.pointer, offset),))

    def address_of_row(self, rows: str, place: Expression) -> Expression:
        return self.address(Template(f"{ALIGNMENT} * (size_t){{}}", (index(rows, place),)))


def arenas(plan: Plan) -> list[Arena]:
    """The arenas of a plan, fastest memory first."""
    if not plan.memories:
        return [Arena(max(plan.arena, 1), None, "")]
    several = len(plan.memories) > 1
    return [
        Arena(max(nbytes, 1), memory, _suffix(memory) if several else "")
        for memory, nbytes in zip(plan.memories, plan.arenas, strict=True)
    ]


def places(plan: Plan) -> dict[int, Arena]:
    """The arenas of a plan by memory number, including the one of persistent state."""
    kept = {STATES: Arena(plan.state_bytes, None, KEPT_SUFFIX)} if plan.graph.states else {}
    return {**dict(enumerate(arenas(plan))), **kept}


def definition(
    union: str, name: str, nbytes: int | str, memory: Memory | None = None, alignment: int = ARENA_ALIGNMENT
) -> Compound:
    """The definition of an aligned block of memory; a block that is aligned to cache lines is padded to whole lines."""
    if alignment >= CACHE_LINE:
        counted = f"({nbytes} + {alignment - 1}) / {alignment} * {alignment}"
        nbytes = aligned(nbytes, alignment) if isinstance(nbytes, int) else counted
    more = f" MOTE_ALIGN({alignment})" if alignment > ARENA_ALIGNMENT else ""
    fields = ["uint64_t alignment", f"uint8_t bytes[{nbytes}]"]
    if memory is None or not _needs_type(memory):
        return Compound(union, fields, f" {name}{more}{section(memory)};")
    begin, place = (f'{macro}("{memory.section}")' for macro in ("MOTE_ZEROS", "MOTE_ZEROS_IN"))
    return Compound(f"{begin} {union}", fields, f' {name}{more} {place}; MOTE_ZEROS("")')


def shared_name(memory: Memory | None) -> str:
    """The C name of an arena shared by several models."""
    return f"mote_arena{_suffix(memory)}"


def shared(plans: Iterable[Plan]) -> dict[Memory | None, int]:
    """The size of the shared arena in each memory: the maximum over the models."""
    sizes: dict[Memory | None, int] = {}
    for a in (a for plan in plans for a in arenas(plan)):
        sizes[a.memory] = max(sizes.get(a.memory, 0), a.nbytes)
    return sizes


def size_macro(name: str, nbytes: int, memory: Memory | None) -> Definition:
    """The definition of the macro of an arena's size, with the memory in a comment."""
    macro = Define(name, nbytes)
    return macro if memory is None else Noted(macro, f"in {brief(memory.name)}")


def _suffix(memory: Memory | None) -> str:
    return "" if memory is None else f"_{memory.symbol.lower()}"

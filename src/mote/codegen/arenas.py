"""The arenas of a model as its C names them: one, or one for each memory that the plan uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mote.codegen.values import re_comment, section
from mote.plan.plan import Plan
from mote.targets import Memory

if TYPE_CHECKING:
    from mote.codegen.project import Options

KEPT = "_kept"
"""The suffix of what is kept from one inference to the next: no memory has such a name."""

SECTION = """\
/* Which linker section a definition goes to; define it before this file is compiled to have it otherwise. */
#ifndef MOTE_SECTION
#if defined(__GNUC__) && defined(__ELF__)
#define MOTE_SECTION(name) __attribute__((section(name)))
#else
#define MOTE_SECTION(name)
#endif
#endif
"""


@dataclass(frozen=True)
class Arena:
    nbytes: int
    memory: Memory | None
    suffix: str
    """What tells its names from those of the others; empty where there are none."""

    @property
    def pointer(self) -> str:
        """The variable that points to it."""
        return f"arena{self.suffix}"

    @property
    def size(self) -> str:
        """The parameter that says how large it is."""
        return f"bytes{self.suffix}"

    @property
    def at(self) -> str:
        """The macro that gives the address of an offset."""
        return f"AT{self.suffix.upper()}"

    @property
    def row(self) -> str:
        """The macro that gives the address of a row in the table."""
        return f"ROW{self.suffix.upper()}"

    def macro(self, options: Options) -> str:
        """Its size for the model's users."""
        return f"{options.name.upper()}_ARENA{_suffix(self.memory).upper()}_BYTES"

    def storage(self, options: Options) -> str:
        """The bytes behind it."""
        if self.suffix == KEPT:
            return f"{options.name}_kept.states.bytes"
        if options.caller_arena:
            return f"{options.name}_arena{self.suffix}"
        if options.shared_arena:
            return f"{shared_name(self.memory)}.bytes"
        return f"{options.name}_memory{self.suffix}.bytes"


def arenas(plan: Plan) -> list[Arena]:
    """Those of a plan, fastest memory first."""
    if not plan.memories:
        return [Arena(max(plan.arena, 1), None, "")]
    several = len(plan.memories) > 1
    return [
        Arena(max(nbytes, 1), memory, _suffix(memory) if several else "")
        for memory, nbytes in zip(plan.memories, plan.arenas, strict=True)
    ]


def places(plan: Plan) -> list[Arena]:
    """The arenas by the number of their memory; what is kept from one inference to the next is the last."""
    return [*arenas(plan), *([Arena(plan.state_bytes, None, KEPT)] if plan.graph.states else [])]


def definition(name: str, nbytes: int | str, memory: Memory | None = None, tag: str = "") -> str:
    return f"union {tag}{{\n    uint64_t alignment;\n    uint8_t bytes[{nbytes}];\n}} {name}{section(memory)};\n"


def shared_name(memory: Memory | None) -> str:
    """The arena that several models share, in C."""
    return f"mote_arena{_suffix(memory)}"


def shared(plans: Iterable[Plan]) -> dict[Memory | None, int]:
    """What models need that take turns in one arena: in each memory what the largest needs."""
    found: dict[Memory | None, int] = {}
    for a in (a for plan in plans for a in arenas(plan)):
        found[a.memory] = max(found.get(a.memory, 0), a.nbytes)
    return found


def shared_files(sizes: dict[Memory | None, int], names: Sequence[str], banner: Callable[[str], str]) -> dict[str, str]:
    """mote_arena.h and mote_arena.c."""
    head = banner(f"mote_arena.h: the working memory that {' and '.join(names)} share.")
    macros, externs, unions = [], [], []
    for memory, nbytes in sizes.items():
        name = shared_name(memory)
        where = "" if memory is None else f" /* in {re_comment(memory.name)} */"
        macros.append(f"#define {name.upper()}_BYTES {nbytes}{where}\n")
        externs.append(f"extern {definition(name, f'{name.upper()}_BYTES', tag=f'{name} ')}")
        unions.append(f"union {name} {name}{section(memory)};\n")
    header = f"#include <stdint.h>\n\n{RULES}{''.join(macros)}\n{''.join(externs)}"
    source = f"{SECTION}\n{''.join(unions)}" if any(sizes) else "".join(unions)
    return {
        "mote_arena.h": f"{head}#ifndef MOTE_ARENA_H\n#define MOTE_ARENA_H\n\n{header}\n#endif\n",
        "mote_arena.c": f'{banner("mote_arena.c: see mote_arena.h.")}#include "mote_arena.h"\n\n{source}',
    }


RULES = """\
/* One model runs at a time, in as much memory as the largest needs. Running one destroys the tensors of the others:
 * - write a model's inputs when the run before it, of whichever model, has finished;
 * - read or copy its outputs before the inputs of another one are written;
 * - a model that runs in pieces (NAME_step, NAME_push) has the memory until its last piece is done. */
"""


def _suffix(memory: Memory | None) -> str:
    return "" if memory is None else f"_{memory.symbol.lower()}"

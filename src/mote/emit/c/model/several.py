"""`mote_models.h` and the arena of `mote_models.c`: what several models of one project have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mote.emit.c.c import BLANK, Comment, Definition, Include, guarded, printed
from mote.emit.c.model.arenas import definition, shared_name, size_macro
from mote.emit.c.options import ProjectOptions, banner
from mote.targets import Memory

APART = """\
Each model has memory of its own, so that they may be interleaved in any way. One call at a time for each of them: its
header says how."""

TURNS = """\
One model runs at a time, in as much memory as the largest needs. Running one destroys the tensors of the others:
- write a model's inputs when the run before it, of whichever model, has finished;
- read or copy its outputs before the inputs of another one are written;
- a model that runs in pieces (NAME_step, NAME_push) has the memory until its last piece is done."""


def header(names: Sequence[str], arenas: Mapping[Memory | None, int], options: ProjectOptions) -> str:
    """`mote_models.h`. `arenas`: sizes of the shared ones, if any, by memory."""
    file = f"{options.name}.h"
    about = f"{file}: {', '.join(names)} in one file of C, so that kernels which they share are linked once."
    macros = [size_macro(f"{shared_name(memory).upper()}_BYTES", nbytes, memory) for memory, nbytes in arenas.items()]
    sizes = [Comment("The working memory that they share, in bytes."), *macros, BLANK] if macros else []
    body: list[Definition] = [*(Include(f"{name}.h") for name in names), BLANK, *sizes]
    rules = f"{about}\n\n{TURNS if arenas else APART}"
    return printed([banner(options, rules), BLANK, *guarded(f"{options.name.upper()}_H", *body)])


def arena(sizes: Mapping[Memory | None, int]) -> list[Definition]:
    """The arenas that models share, by memory."""
    if not sizes:
        return []
    names = {memory: shared_name(memory) for memory in sizes}
    unions = [definition("static union", name, f"{name.upper()}_BYTES", memory) for memory, name in names.items()]
    return [
        Comment("Every tensor of every model lives in here; the places were planned at compile time."),
        *unions,
        BLANK,
    ]

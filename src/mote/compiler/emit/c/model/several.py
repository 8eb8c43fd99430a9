"""`mote_models.h` and the shared arena in `mote_models.c`: the common parts of several models in one project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mote.compiler.emit.c.c import BLANK, Comment, Definition, Include, guarded, printed
from mote.compiler.emit.c.model.arenas import definition, shared_name, size_macro
from mote.compiler.emit.c.model.ports import inputs, outputs
from mote.compiler.emit.c.model.together import Model
from mote.compiler.emit.c.options import ProjectOptions, banner
from mote.compiler.emit.c.values import ALIGN
from mote.compiler.plan.plan import ARENA_ALIGNMENT
from mote.hardware.targets import Memory

APART = """\
Each model has memory of its own, so that they may be interleaved in any way. One call at a time for each of them: its
header says how."""

TURNS = """\
One model runs at a time, in as much memory as the largest needs. Running one destroys the tensors of the others:
- write a model's inputs when the run before it, of whichever model, has finished;
- read or copy its outputs before the inputs of another one are written;
- a model that runs in pieces (NAME_step, NAME_push) has the memory until its last piece is done."""


def header(
    models: Sequence[Model],
    arenas: Mapping[Memory | None, int],
    options: ProjectOptions,
    functions: Sequence[Definition] = (),
) -> str:
    """The text of `mote_models.h`. `arenas`: sizes of shared arenas, if any, by memory; `functions`: declarations of
    functions that run all models, if any."""
    names = [own.name for _, own in models]
    about = f"{options.name}.h: {', '.join(names)}\nin one file of C, so that kernels which they share are linked once."
    macros = [size_macro(f"{shared_name(memory).upper()}_BYTES", nbytes, memory) for memory, nbytes in arenas.items()]
    sizes = [Comment("The working memory that they share, in bytes."), *macros, BLANK] if macros else []
    body: list[Definition] = [*(Include(f"{name}.h") for name in names), BLANK, *sizes, *functions]
    rules = f"{about}\n\n{_together(models, options) if functions else TURNS if arenas else APART}"
    return printed([banner(options, rules), BLANK, *guarded(f"{options.name.upper()}_H", *body)])


def _together(models: Sequence[Model], options: ProjectOptions) -> str:
    name = options.name
    fills = "\n".join(f"    memcpy({p.call}, my_data, {p.macro}_BYTES);" for p in inputs(models[0][0], options))
    results = ((own.name, ", ".join(port.call for port in outputs(plan, own))) for plan, own in models)
    uses = "\n".join(f"    if ({own}_status() == MOTE_OK) {{ use({given}); }}" for own, given in results)
    return f"""\
    if ({name}_init() != MOTE_OK) {{ handle_the_error(); }}
{fills}
    {name}_run();
{uses}

All models get the same input and run on it one after another, in as much memory as the largest needs. The input and
the outputs lie outside of it, so that all outputs are there after a run; what each model remembers is its own. A model
may run alone too, with functions of its header, when no run of all is under way."""


def arena(sizes: Mapping[Memory | None, int], alignment: int) -> list[Definition]:
    """Definitions of the arenas that models share."""
    if not sizes:
        return []
    names = {memory: shared_name(memory) for memory in sizes}
    unions = [
        definition("static union", name, f"{name.upper()}_BYTES", memory, alignment) for memory, name in names.items()
    ]
    return [
        Comment("Every tensor of every model lives in here; the places were planned at compile time."),
        *([ALIGN] if alignment > ARENA_ALIGNMENT else []),
        *unions,
        BLANK,
    ]

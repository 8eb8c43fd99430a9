"""`example/main.c`: a program that runs the model once.

The example and the self-test have a `main` each. They lie in folders of their own, so that all C files beside the model
can be compiled together."""

from __future__ import annotations

from collections.abc import Sequence

from mote.emit.c.c import (
    BLANK,
    Accessor,
    CFunction,
    Comment,
    Compound,
    Definition,
    Include,
    Noted,
    Statement,
    Text,
    loop,
    printed,
    when,
)
from mote.emit.c.model.ports import CPort, caller_arenas, init_call, inputs, outputs
from mote.emit.c.options import ProjectOptions, banner
from mote.graph.types import DType
from mote.plan.plan import Plan

EXAMPLE = "example/main.c"
SELFTEST = "selftest/selftest.c"


def text(plan: Plan, options: ProjectOptions) -> str:
    """The example of a model."""
    arena = [Text(line) for line in caller_arenas(plan, options)]
    main = CFunction("int main(void)", _inference(plan, options))
    return _example(options, [options.name], [*arena, *([BLANK] if arena else []), main])


def shared_text(models: Sequence[tuple[Plan, ProjectOptions]], options: ProjectOptions) -> str:
    """The example of several models in one project."""
    functions = [CFunction(f"static int run_{own.name}(void)", _inference(plan, own)) for plan, own in models]
    names = [own.name for _, own in models]
    calls = " || ".join(f"run_{name}() != 0" for name in names)
    return _example(options, names, [*functions, Accessor("int main(void)", f"return {calls}")])


def _example(options: ProjectOptions, names: Sequence[str], body: Sequence[Definition]) -> str:
    system = Text("#include <stdio.h>\n#include <string.h>\n")
    headers = [Include(f"{name}.h") for name in names]
    return printed([banner(options, f"{EXAMPLE}: an example to start from."), system, *headers, BLANK, *body])


def _inference(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """The body of a function that runs a model once."""
    show = [_print(port) for port in outputs(plan, options)]
    return [_failed(init_call(plan, options)), *_feed(plan, options), *show, "return 0"]


def _failed(status: str) -> Statement:
    return when(f"{status} != MOTE_OK", "return 1")


def _feed(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """Fills the inputs and runs, or pushes row by row."""
    name, ports = options.name, inputs(plan, options)
    if plan.pushed:
        row = f"static {ports[0].ctype} row[{ports[0].macro}_ROW_SIZE]"
        push = Compound(f"while ({name}_push(row, 1) == MOTE_WAITING)", [Comment("put the next row of your data here")])
        return [row, push]
    what = "put the next of your stream here" if plan.graph.warm_up else "put your data here"
    fill = [Noted(f"memset({port.function}(), 0, {port.macro}_BYTES)", what) for port in ports]
    if not plan.graph.warm_up:
        return [*fill, _failed(f"{name}_run()")]
    again = Compound("do", [*fill, f"status = {name}_run()"], " while (status == MOTE_WAITING);")
    return ["mote_status status", again, _failed("status")]


def _print(port: CPort) -> Statement:
    form, cast = ("%g", "(double)") if port.tensor.dtype == DType.FLOAT32 else ("%ld", "(long)")
    return loop("size_t", "i", f"{port.macro}_SIZE", f'printf("{form}\\n", {cast}{port.function}()[i])')

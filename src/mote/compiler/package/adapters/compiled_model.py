"""Adapters of compiled models: `NAME_service.c` for each model, and files that all models share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mote.base.errors import MoteError
from mote.compiler.emit.c.c import printed
from mote.compiler.emit.c.model.handle import instance_type
from mote.compiler.emit.c.model.header import STATUS
from mote.compiler.emit.c.model.ports import CPort, inputs, outputs
from mote.compiler.emit.c.options import ProjectOptions, banner
from mote.compiler.package.adapters import compiled_adapter_files
from mote.compiler.package.templates import filled
from mote.compiler.plan.plan import Plan

DEFAULT_STACK = 4096
BESIDE = 512
"""Bytes of a thread's stack in addition to the model's: the service, system calls, and saved registers."""


@dataclass(frozen=True)
class AdaptedModel:
    """A compiled model with an adapter."""

    plan: Plan
    options: ProjectOptions
    stack: int | None
    """Worst-case bytes of stack of a step, if known."""


def model_adapter_files(name: str, models: Sequence[AdaptedModel]) -> dict[str, str]:
    """The files of an adapter for compiled models."""
    for model in models:
        check_adapter(name, caller_arena=model.options.caller_arena, shared_arena=model.options.shared_arena)
    files = compiled_adapter_files(name)
    serviced = files["mote_serviced.h"].replace("@STATUS@\n", STATUS.text).replace("@STACK@\n", _stack(models))
    return {
        **files,
        "mote_serviced.h": serviced,
        **{f"{m.options.name}_service.h": _header(m.options) for m in models},
        **{f"{m.options.name}_service.c": _source(m.plan, m.options) for m in models},
    }


def check_adapter(name: str, *, caller_arena: bool = False, shared_arena: bool = False) -> None:
    """Refuses arenas that an adapter cannot use: the caller's, or one shared by models. An empty `name` means no
    adapter."""
    if name and caller_arena:
        raise MoteError(
            "the adapter calls init, and has no arena to pass to it",
            where="option adapter",
            remedy="omit --caller-arena; with --instances the application chooses where the memory lies",
        )
    if name and shared_arena:
        raise MoteError(
            "a model in a thread cannot share its arena with models of other threads",
            where="option adapter",
            remedy="compile the models without --shared-arena, or one by one",
        )


def stack_bytes(models: Sequence[AdaptedModel]) -> int:
    """The size of a thread's stack that is enough for each of the models; a default if it was not measured."""
    known = [m.stack for m in models if m.stack is not None]
    return -(-(max(known) + BESIDE) // 64) * 64 if len(known) == len(models) else DEFAULT_STACK


def _stack(models: Sequence[AdaptedModel]) -> str:
    known = [m.stack for m in models if m.stack is not None]
    why = "not measured: `mote run` prints what the model takes"
    if len(known) == len(models):
        why = f"at most {max(known)} for the model, {BESIDE} for the service and saved registers"
    return f"""\
#ifndef MOTE_SERVICE_STACK_BYTES
#define MOTE_SERVICE_STACK_BYTES {stack_bytes(models)} /* {why} */
#endif
"""


def _header(options: ProjectOptions) -> str:
    name, guard = options.name, f"{options.name.upper()}_SERVICE_H"
    instance = f"a pointer to a {instance_type(options)}" if options.instances else "NULL"
    about = f"{name}_service.h: the model for mote_service.h or mote_turns.h."
    config = f"    {{&{name}_compiled, INSTANCE, PRIORITY}}\n\nis its configuration; the instance is {instance}."
    head = printed([banner(options, f"{about}\n\n{config}")])
    return f"""\
{head}
#ifndef {guard}
#define {guard}

#include "{name}.h"
#include "mote_serviced.h"

#ifdef __cplusplus
extern "C" {{
#endif

extern const mote_compiled_t {name}_compiled;

#ifdef __cplusplus
}}
#endif

#endif
"""


def _source(plan: Plan, options: ProjectOptions) -> str:
    name = options.name
    reads, writes = inputs(plan, options), outputs(plan, options)
    given = f"({instance_type(options)} *)instance" if options.instances else ""
    unused = "" if options.instances else "    (void)instance;\n"
    forget = "reset" if plan.graph.states else "init"
    row = ""
    if plan.pushed:
        arguments = ", ".join(filter(None, (given, f"(const {reads[0].element} *)row")))
        row = f"""\
static mote_status push_row(void *instance, const void *row) {{
{unused}    return {name}_push_row({arguments});
}}

"""
    return filled(
        "service.c.txt",
        {
            "BANNER": printed([banner(options, f"{name}_service.c: see {name}_service.h.")]),
            "NAME": name,
            "UNUSED": unused,
            "GIVEN": given,
            "ROW": row,
            "FORGET": forget,
            "INPUT": "" if plan.pushed else _chosen(reads, given),
            "CASTS": _nothing(options) if plan.pushed else "",
            "OUTPUT": _chosen(writes, given),
            "INPUTS": str(len(reads)),
            "INPUT_BYTES": ", ".join(f"{p.macro}_BYTES" for p in reads),
            "OUTPUTS": str(len(writes)),
            "OUTPUT_BYTES": ", ".join(f"{p.macro}_BYTES" for p in writes),
            "PUSH": "push_row" if plan.pushed else "NULL",
            "ROW_BYTES": f"{reads[0].macro}_ROW_BYTES" if plan.pushed else "0",
        },
    )


def _chosen(ports: Sequence[CPort], given: str) -> str:
    """The C statements that return the address of the i-th input or output."""
    return "".join(
        f"    if (i == {i}) {{\n        return {port.function}({given});\n    }}\n" for i, port in enumerate(ports)
    )


def _nothing(options: ProjectOptions) -> str:
    """C casts of unused parameters to void, for models whose input is pushed, so that there is no input to return."""
    return f"{'    (void)instance;' + chr(10) if options.instances else ''}    (void)i;\n"

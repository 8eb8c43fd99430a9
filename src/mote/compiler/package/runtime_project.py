"""The package of the runtime: its C files, and an example that runs an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mote.base.text import printable
from mote.compiler.emit.c.model.ports import CPort, inputs, outputs
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.programs.example import Calls, Example, calling_example, inputs_text, samples
from mote.compiler.emit.c.programs.golden import GoldenRun
from mote.compiler.emit.c.values import CTYPES
from mote.compiler.emit.image import format
from mote.compiler.emit.image.c_array import c_array
from mote.compiler.package.description import Package
from mote.compiler.plan.plan import Plan
from mote.hardware.targets import Target
from mote.hardware.targets.flags import NATIVE, UNFUSED, Optimization, only_gcc
from mote.ir.graph.rows import row_count

NAME = "mote_runtime"
HEADERS = ("mote_runtime.h", "mote_kernels.h")
WRAPPING = "-fwrapv"
"""Compiler flag for wrapping integer overflow, which kernels rely on."""


def runtime_package(
    files: Mapping[str, str],
    target: Target,
    how: Optimization,
    example: Example,
    example_files: Mapping[str, str],
    image: bytes,
) -> Package:
    """The package of a runtime with the C files `files`."""
    native = (NATIVE[0], UNFUSED) if target.is_native else ()
    flags = " ".join([*target.core_flags, how.level, *how.gcc, WRAPPING, *native])
    return Package(
        name=NAME,
        summary=f"Mote's runtime for {target.name}: runs models that `mote pack` writes",
        target=target,
        files=files,
        sources=tuple(sorted(name for name in files if name.endswith(".c"))),
        headers=HEADERS,
        example=example,
        example_files=example_files,
        selftest="",
        optimization=how,
        measured=printable(f"What Mote measures on {target.name} is built by gcc with {flags}."),
        only_gcc=only_gcc(target.core_flags, how),
        needed=(WRAPPING,),
        image=image,
    )


def image_example(
    image: bytes, name: str, plan: Plan, golden: Sequence[GoldenRun], alignment: int = format.ALIGNMENT
) -> tuple[Example, dict[str, str]]:
    """The example that runs an image, and its additional files: the image as an array, and inputs. `alignment`: of the
    image and the arenas, in bytes."""
    options = ProjectOptions(name, source=f"{name}.mote", target="Mote's runtime")
    given = samples(plan, golden)
    arrays = c_array(image, name, alignment)
    # One file: build systems compile what is listed, and this is not part of the library.
    joined = "\n".join(text.replace(f'#include "{name}_image.h"\n', "") for text in arrays.values())
    files = {f"{name}_image.h": joined, f"{name}_inputs.h": inputs_text(plan, options, given)}
    headers = (*HEADERS, f"{name}_image.h")
    return calling_example(plan, options, given, _calls(image, name, plan, options, alignment), headers), files


def _calls(image: bytes, name: str, plan: Plan, options: ProjectOptions, alignment: int) -> Calls:
    """How a program calls the runtime's interpreter, in static memory."""
    sizes = format.HEADER.unpack(image)["arena"]
    prefix = f"{name.upper()}_IMAGE"
    arenas = {k: f"{prefix}_ARENA{f'_{k}' if k else ''}_BYTES" for k, size in enumerate(sizes) if size}
    wide = f"__attribute__((aligned({alignment}))) " if alignment > format.ALIGNMENT else ""
    storage = [f"{wide}static uint64_t arena_{k}[({macro} + 7) / 8];" for k, macro in arenas.items()]
    blocks = ", ".join(f"arena_{k}" if k in arenas else "NULL" for k in range(len(sizes)))
    lengths = ", ".join(f"sizeof arena_{k}" if k in arenas else "0" for k in range(len(sizes)))
    ports = (*enumerate(inputs(plan, options)), *enumerate(outputs(plan, options)))
    places = {port.function: i for i, port in ports}

    def data(port: CPort) -> str:
        ctype = CTYPES[port.tensor.dtype].name
        const, which = ("", "input") if port.is_input else ("const ", "output")
        return f"(({const}{ctype} *)mote_{which}(&model, {places[port.function]}))"

    return Calls(
        name,
        f"mote_init(&model, &mote_kernels, {name}_image, {prefix}_BYTES, &memory, NULL)",
        "mote_invoke(&model)",
        lambda port: f"mote_push(&model, {name}_inputs[run], {row_count(port.tensor.shape)})",
        data,
        (
            *storage,
            f"static uint64_t state[{prefix}_STATE_BYTES / 8];",
            f"static const mote_memory_t memory = {{{{{blocks}}}, {{{lengths}}}, state, sizeof state}};",
            "static mote_interpreter_t model;",
        ),
    )

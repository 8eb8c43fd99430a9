"""Plan -> files: the model's C, the kernels it uses, build files, an example and a self-test.

The text depends on the model and the options only, so the same input gives byte-identical output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory

from mote.codegen import build_files, header, selftest, source
from mote.codegen.values import Constants
from mote.graph.tensor import Array
from mote.plan.plan import Plan

KERNELS = files("mote.kernels")

UNUSED = """\
/* The kernel library in one piece: a model does not call all of it. */
#if defined(__GNUC__)
#define MOTE_INLINE static inline __attribute__((unused))
#else
#define MOTE_INLINE static inline
#endif

"""


@dataclass(frozen=True)
class Options:
    """What the generated C looks like."""

    name: str
    source: str = ""
    """The model file's name, for the comment at the top."""
    target: str = "host"
    single_file: bool = False
    caller_arena: bool = False


@dataclass(frozen=True)
class Project:
    """A generated C project: file name -> text."""

    options: Options
    files: dict[str, str]
    constants: int
    """Bytes of constant arrays (weights, biases, tables)."""

    @property
    def sources(self) -> list[str]:
        """The C files that make up the model (without the example and the self-test)."""
        return [f"{self.options.name}.c"]

    def write(self, folder: Path) -> None:
        """Write every file aside first and move them in place last, so that a failure leaves nothing half-written."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent) as aside:
            for name, text in self.files.items():
                (Path(aside) / name).write_text(text, encoding="utf-8", newline="\n")
            folder.mkdir(exist_ok=True)
            for name in self.files:
                (Path(aside) / name).replace(folder / name)


def generate(plan: Plan, options: Options, golden: Sequence[Array] | None = None) -> Project:
    """The C project of a plan. `golden`: the outputs expected for the self-test's input."""
    name = options.name
    constants = Constants(name)
    body = source.model(plan, options, constants)
    kernels = kernel_headers(step.kernel.file for step in plan.steps)
    project = {f"{name}.h": header.text(plan, options)}
    if options.single_file:
        project[f"{name}.c"] = _amalgamate(body, kernels, constants)
    else:
        project[f"{name}.c"] = body
        project[f"{name}_constants.h"] = source.constants(options, constants)
        project |= {k: kernel_text(k) for k in kernels}
    project |= build_files.texts(plan, options)
    if golden is not None:
        project["selftest.c"] = selftest.text(plan, options, golden)
    return Project(options, project, constants.nbytes)


def kernel_text(file: str) -> str:
    return (KERNELS / file).read_text(encoding="utf-8")


def kernel_headers(used: Iterable[str]) -> list[str]:
    """The kernel files that are used, each after those it includes."""
    ordered: list[str] = []

    def visit(file: str) -> None:
        if file in ordered:
            return
        for needed in re.findall(r'#include "(mote_\w+\.h)"', kernel_text(file)):
            visit(needed)
        ordered.append(file)

    visit("mote_common.h")
    for file in used:
        visit(file)
    return ordered


def _amalgamate(body: str, kernels: list[str], constants: Constants) -> str:
    """The model's C with every include of ours replaced by its text."""

    def inline(match: re.Match[str]) -> str:
        file = match.group(1)
        if file == f"{constants.prefix}.h":
            return match.group(0)
        if file == f"{constants.prefix}_constants.h":
            return "\n\n".join(constants.definitions)
        if file == "mote_common.h":
            return UNUSED + "\n".join(_inlined(kernel_text(k)) for k in kernels)
        return ""

    return re.sub(r'#include "([^"]+)"\n?', lambda m: f"{inline(m)}\n".lstrip("\n"), body)


def _inlined(kernel: str) -> str:
    text = re.sub(r'#include "mote_\w+\.h"\n', "", kernel)
    return re.sub(r"^static inline ", "MOTE_INLINE ", text, flags=re.MULTILINE)

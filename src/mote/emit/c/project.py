"""Plan -> files: the model's C, the kernels it uses, an example and a self-test.

The text depends on the model and the options only, so the same input gives byte-identical output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from mote.emit.c import ramcode
from mote.emit.c.c import Definition, Include, Text, printed
from mote.emit.c.model import header, source
from mote.emit.c.model.arenas import arenas, shared, shared_files
from mote.emit.c.options import ProjectOptions
from mote.emit.c.programs import example, selftest
from mote.emit.c.programs.example import Example
from mote.emit.c.programs.golden import GoldenRun
from mote.emit.c.values import ConstantArray, ConstantPool
from mote.emit.licence import licensed
from mote.errors import MoteError
from mote.kernels import library
from mote.kernels.contract import aligned
from mote.kernels.structs import INCLUDE, closure
from mote.lower.program import Program, program
from mote.offload.contract import Artifact
from mote.plan.plan import ARENA_ALIGNMENT, Plan
from mote.targets import Memory

MOST_CODE = 16 << 10
"""Bytes of the fastest flash reserved for code, if there is another flash for constants: code in the slower one costs
far more than constants there."""

UNUSED = """\
/* The kernel library in one piece: a model does not call all of it. */
#if defined(__GNUC__)
#define MOTE_INLINE static inline __attribute__((unused))
#else
#define MOTE_INLINE static inline
#endif

"""


NO_EXAMPLE = Example((), "", ())


@dataclass(frozen=True)
class Project:
    """A generated C project: file name -> text."""

    options: ProjectOptions
    files: dict[str, str]
    constants: int
    """Bytes of constant arrays (weights, biases, tables)."""
    sources: tuple[str, ...]
    """C files of the model (without the example and the self-test)."""
    arena: int
    """Bytes of the arenas that they define."""
    flash: dict[str, int]
    """Bytes of constants in each flash memory, where there are several."""
    tables: int = 0
    """Bytes of schedule and row tables."""
    external: tuple[str, ...] = ()
    """C files outside of the project that are compiled with it, by path: of external generators."""
    includes: tuple[str, ...] = ()
    """Folders outside of the project with headers of external generators."""
    example: Example = NO_EXAMPLE
    """The program `example/main.c`, for any ecosystem."""

    def __repr__(self) -> str:
        return f"<Project {self.options.name!r}: {', '.join(self.files)}>"

    @cached_property
    def math(self) -> bool:
        """Whether a user's kernel needs C's math library; Mote's kernels do not."""
        return any("#include <math.h>" in text for text in self.files.values())

    @property
    def code(self) -> dict[str, str]:
        """The C files, without build files."""
        return {name: text for name, text in self.files.items() if name.endswith((".c", ".h"))}


@dataclass(frozen=True)
class Job:
    """A model to emit. `golden`: the inferences of its self-test, if any."""

    plan: Plan
    options: ProjectOptions
    golden: Sequence[GoldenRun] = ()


def generate(job: Job) -> Project:
    """The C project of a model."""
    return _projects([job])[0]


def generate_shared(jobs: Sequence[Job], folder: ProjectOptions) -> tuple[list[Project], Project]:
    """Projects of models with a shared arena: each alone, and all in one project with the options `folder`."""
    sizes = shared([j.plan for j in jobs])
    names = [j.options.name for j in jobs]
    arena = shared_files(sizes, names, folder)
    alone = [
        replace(p, files=p.files | arena, sources=(*p.sources, "mote_arena.c"), arena=sum(sizes.values()))
        for p in _projects(jobs)
    ]
    files = {file: text for p in alone for file, text in p.files.items()}
    program = example.shared_example([(j.plan, j.options) for j in jobs], [p.example for p in alone])
    files[example.EXAMPLE] = program.program()
    tests = [(j.plan, j.options, j.golden) for j in jobs]
    files[example.SELFTEST] = selftest.shared_text(tests, folder, _crc(jobs[0].options))
    sources = tuple(dict.fromkeys(s for p in alone for s in p.sources if s != "mote_arena.c"))
    flash = {name: sum(p.flash[name] for p in alone) for name in alone[0].flash}
    together = Project(
        folder,
        files,
        sum(p.constants for p in alone),
        (*sources, "mote_arena.c"),
        sum(sizes.values()),
        flash,
        external=tuple(dict.fromkeys(path for p in alone for path in p.external)),
        includes=tuple(dict.fromkeys(path for p in alone for path in p.includes)),
        example=program,
    )
    return alone, together


def _projects(jobs: Sequence[Job]) -> list[Project]:
    """A project per model; their constants share the flash."""
    for job in jobs:
        _check_arena(job)
    constants = [ConstantPool(j.options.name) for j in jobs]
    programs = [program(j.plan) for j in jobs]
    parts = list(zip(jobs, programs, constants, strict=True))
    bodies = [source.model(j.plan, made, j.options, c) for j, made, c in parts]
    _allocate([array for c in constants for array in c.arrays], jobs[0].options.flashes)
    return [_project(*part, body) for part, body in zip(parts, bodies, strict=True)]


def _check_arena(job: Job) -> None:
    """Refuses an arena of the caller's where tensors need more alignment than callers know of, and one struct where
    tensors lie in several memories."""
    if job.options.instances and not job.options.caller_arena and len(arenas(job.plan)) > 1:
        names = " and ".join(memory.name for memory in job.plan.memories)
        raise MoteError(
            f"the tensors lie in {names}, and a struct lies in one memory",
            where="option instances",
            remedy="use --caller-arena too: init is then given an arena in each memory",
        )
    if job.plan.alignment > ARENA_ALIGNMENT and (job.options.caller_arena or job.options.shared_arena):
        raise MoteError(
            f"an external generator wants tensors at multiples of {job.plan.alignment} bytes, which only an arena of"
            " the model's own gives",
            remedy="omit --caller-arena, do not share the arena, or omit --offload",
        )


def _allocate(arrays: Sequence[ConstantArray], flashes: Sequence[Memory]) -> None:
    """Assigns the most frequently read constants per byte to the fastest flash; the rest to the last."""
    for kept in (MOST_CODE, 0) if flashes else ():
        left = {m: m.size for m in flashes} | {flashes[0]: max(flashes[0].size - kept, 0)}
        for array in sorted(arrays, key=lambda a: -a.heat):
            nbytes = aligned(array.nbytes)
            array.memory = next((m for m in flashes if left[m] >= nbytes), flashes[-1])
            left[array.memory] -= nbytes
        if left[flashes[-1]] >= 0:
            return


def _project(job: Job, made: Program, constants: ConstantPool, body: list[Definition]) -> Project:
    plan, options = job.plan, job.options
    name = options.name
    kernels = kernel_texts(plan, made, options)
    project = {f"{name}.h": header.text(plan, options)}
    if options.single_file:
        project[f"{name}.c"] = printed(_amalgamated(body, kernels, constants))
    else:
        project[f"{name}.c"] = printed(body)
        project[f"{name}_constants.h"] = printed(source.constants(options, constants))
        project |= {file: licensed(text) if library.is_own(file) else text for file, text in kernels.items()}
    if options.code_in_ram:
        project[f"{name}.c"] = ramcode.in_ram(project[f"{name}.c"], f"{name}_")
    samples = example.samples(plan, job.golden)
    program = example.example(plan, options, samples)
    project[example.EXAMPLE] = program.program()
    project[example.inputs_file(name)] = example.inputs_text(plan, options, samples)
    if job.golden:
        project[example.SELFTEST] = selftest.text(plan, options, job.golden, _crc(options))
    arena = 0 if options.caller_arena or options.instances else sum(a.nbytes for a in arenas(plan))
    flash = {m.name: sum(aligned(c.nbytes) for c in constants.arrays if c.memory == m) for m in options.flashes}
    own = _own_files(made.artifacts, project)
    return Project(
        options,
        project | own,
        constants.nbytes,
        (f"{name}.c", *(file for file in own if file.endswith(".c"))),
        arena,
        flash,
        constants.tables,
        tuple(dict.fromkeys(path for artifact in made.artifacts for path in artifact.sources)),
        tuple(dict.fromkeys(path for artifact in made.artifacts for path in artifact.includes)),
        program,
    )


def _own_files(artifacts: Sequence[Artifact], project: Mapping[str, str]) -> dict[str, str]:
    """The files of external generators, none of which may be another file of the project."""
    files: dict[str, str] = {}
    for file, text in ((file, text) for artifact in artifacts for file, text in artifact.files.items()):
        if file in project or files.setdefault(file, text) != text:
            raise MoteError(
                f"the file {file} of an external generator is another file of the project as well",
                remedy="correct the generator: name files after it and the layer",
            )
    return files


def kernel_texts(plan: Plan, made: Program, options: ProjectOptions) -> dict[str, str]:
    """The kernels' files that a model uses, each after those it includes."""
    hot = closure(("mote_common.h", *ramcode.hot_files(plan))) if options.code_in_ram else ()
    texts = {file: library.header(file) for file in closure(source.includes(made))}
    return {file: ramcode.in_ram(text) if file in hot else text for file, text in texts.items()}


def _amalgamated(
    body: Sequence[Definition], kernels: Mapping[str, str], constants: ConstantPool
) -> Iterator[Definition]:
    """The model's C with all includes inlined, except headers that callers include too."""
    texts = {
        "mote_common.h": [_inlined(kernels, [d.file for d in body if isinstance(d, Include) and d.file in kernels])],
        f"{constants.prefix}_constants.h": [Text(printed(constants.definitions).rstrip("\n"))],
        **{k: [] for k in kernels if k != "mote_common.h"},
    }
    for d in body:
        yield from texts.get(d.file, [d]) if isinstance(d, Include) else [d]


def _crc(options: ProjectOptions) -> Definition:
    """The include of `mote_crc.h` for the self-test."""
    texts = {file: library.header(file) for file in closure(["mote_crc.h"])}
    return _inlined(texts, ["mote_crc.h"]) if options.single_file else Include("mote_crc.h")


def _inlined(kernels: Mapping[str, str], files: Iterable[str]) -> Text:
    """The text of files with that of others in place of their includes, once each."""
    left = dict(kernels)

    def text(file: str) -> str:
        return INCLUDE.sub(lambda include: text(include[1]), left.pop(file, "").rstrip("\n"))

    whole = "\n\n".join(filter(None, map(text, files)))
    return Text(UNUSED + re.sub(r"^(\s*)static inline ", r"\1MOTE_INLINE ", whole, flags=re.MULTILINE))

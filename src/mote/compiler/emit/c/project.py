"""From a plan to files: the model's C, the kernels that it uses, an example and a self-test.

The text depends on the model and the options only, so that equal inputs give byte-identical files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from mote.base.errors import MoteError
from mote.compiler.emit.c import ramcode, stamps
from mote.compiler.emit.c.c import Definition, Include, Text, printed
from mote.compiler.emit.c.model import header, opening, several, source, together, weights, wrapper
from mote.compiler.emit.c.model.arenas import arenas, shared
from mote.compiler.emit.c.model.checks import function_tables
from mote.compiler.emit.c.model.interface import Interface, interface
from mote.compiler.emit.c.options import ProjectOptions
from mote.compiler.emit.c.programs import example, selftest
from mote.compiler.emit.c.programs.example import Example
from mote.compiler.emit.c.programs.golden import GoldenRun, along
from mote.compiler.emit.c.values import ConstantArray, ConstantPool
from mote.compiler.emit.licence import licensed
from mote.compiler.kernels import library
from mote.compiler.kernels.contract import aligned
from mote.compiler.kernels.structs import INCLUDE, closure
from mote.compiler.lower.program import Program, program
from mote.compiler.offload.contract import Artifact
from mote.compiler.offload.foreign import Dependency, ForeignLibrary, inside
from mote.compiler.plan.plan import Plan
from mote.hardware.targets import Memory

MOST_CODE = 16 << 10
"""Bytes of the fastest flash reserved for code if there is another flash for constants: code in slow flash costs far
more than constants there."""

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
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
    """A generated C project: its files by name, and facts about them."""

    options: ProjectOptions
    files: dict[str, str]
    constants: int
    """Bytes of constant arrays (weights, biases, tables)."""
    sources: tuple[str, ...]
    """C files of the model (without the example and the self-test)."""
    arena: int
    """Bytes of the arenas that the C files define."""
    flash: dict[str, int]
    """Bytes of constants in each memory, if the target has several memories for them."""
    tables: int = 0
    """Bytes of the tables of schedules and row offsets."""
    function_tables: tuple[str, ...] = ()
    """Constants inside of functions, with their files; `NAME_check` does not cover them."""
    plain: int = 0
    """Bytes of constant arrays that are not encrypted."""
    external: tuple[str, ...] = ()
    """Paths of C files outside of the project that are compiled with it, for external generators."""
    includes: tuple[str, ...] = ()
    """Include folders outside of the project, for external generators."""
    dependencies: tuple[Dependency, ...] = ()
    """The libraries that files in `external` and folders in `includes` belong to."""
    simulated: Mapping[str, str] = field(default_factory=dict)
    """C files of simulated accelerator drivers, compiled only if Mote itself runs the model."""
    replaced: frozenset[str] = frozenset()
    """Files of `external` that the simulated drivers replace: the real drivers."""
    example: Example = NO_EXAMPLE
    """The example program, which can be printed for any ecosystem."""
    interfaces: tuple[Interface, ...] = ()
    """The API of each model, for wrappers in other languages."""

    def __repr__(self) -> str:
        return f"<Project {self.options.name!r}: {', '.join(self.files)}>"

    @cached_property
    def math(self) -> bool:
        """Whether a user's kernel needs the math library of C; Mote's kernels do not."""
        return any("#include <math.h>" in text for text in self.files.values())

    @property
    def code(self) -> dict[str, str]:
        """The C files, without build files."""
        return {name: text for name, text in self.files.items() if name.endswith((".c", ".h"))}


@dataclass(frozen=True)
class Job:
    """A model to emit as C. `golden`: the inferences of its self-test, if any."""

    plan: Plan
    options: ProjectOptions
    golden: Sequence[GoldenRun] = ()

    @cached_property
    def program(self) -> Program:
        """The plan lowered to a program of instructions."""
        return program(self.plan)


def generate(job: Job) -> Project:
    """The C project of a model."""
    plan, options = job.plan, job.options
    (part,) = parts = _parts([job])
    files = _sources(parts, options, source.model(part.unit, options))
    if options.code_in_ram:
        files[f"{options.name}.c"] = ramcode.in_ram(files[f"{options.name}.c"], f"{options.name}_")
    program = _example(job, files)
    files[example.EXAMPLE] = program.program()
    if job.golden:
        files[example.SELFTEST] = selftest.text(plan, options, job.golden, _crc(options))
    return _project(
        parts, options, files, program, 0 if options.caller_arena or options.instances else _own_arenas([job])
    )


def generate_several(jobs: Sequence[Job], folder: ProjectOptions) -> Project:
    """The C project of several models, with the options `folder`: one C file, in which they share kernels. If the
    folder keeps outputs outside of the arena, functions that run all models on one input are added."""
    parts = _parts(jobs)
    _check_names(parts)
    models = [(j.plan, j.options) for j in jobs]
    joint = models if folder.keep_outputs else []
    sizes = shared(j.plan for j in jobs if j.options.shared_arena)
    shared_arena = several.arena(sizes, max(j.plan.alignment for j in jobs))
    functions = together.functions(joint, folder) if joint else []
    files = _sources(parts, folder, source.models([p.unit for p in parts], folder, shared_arena, functions))
    declared = together.declarations(joint, folder) if joint else []
    files[f"{folder.name}.h"] = several.header(models, sizes, folder, declared)
    program = _joint_example(jobs, folder, files) if joint else _examples(jobs, files)
    files[example.EXAMPLE] = program.program()
    tests = [(j.plan, j.options, j.golden) for j in jobs]
    files[example.SELFTEST] = selftest.shared_text(tests, folder, _crc(folder))
    return _project(parts, folder, files, program, sum(sizes.values()) or _own_arenas(jobs))


def _examples(jobs: Sequence[Job], files: dict[str, str]) -> Example:
    """The example of models that run one by one, on inputs of their own."""
    return example.shared_example([(j.plan, j.options) for j in jobs], [_example(j, files) for j in jobs])


def _joint_example(jobs: Sequence[Job], folder: ProjectOptions, files: dict[str, str]) -> Example:
    """The example of models that run on one input, taken from the self-test of the first model."""
    patterns = [run.pattern for run in jobs[0].golden]
    every = [example.samples(j.plan, along(j.plan.graph, patterns)) for j in jobs]
    given = [runs[: min(map(len, every))] for runs in every]
    files[example.inputs_file(folder.name)] = example.inputs_text(jobs[0].plan, folder, given[0])
    return example.joint_example([(j.plan, j.options) for j in jobs], folder, given)


def _example(job: Job, files: dict[str, str]) -> Example:
    """The example of a model; the header with its inputs is added to `files`."""
    plan, options = job.plan, job.options
    samples = example.samples(plan, job.golden)
    files[example.inputs_file(options.name)] = example.inputs_text(plan, options, samples)
    return example.example(plan, options, samples)


def _check_names(parts: Sequence[_Part]) -> None:
    """Refuses models whose C would have a name in common: of a file (ignoring case), a macro, a function, or anything
    else in the file that they share."""
    owner: dict[str, ProjectOptions] = {}
    for part in parts:
        options = part.job.options
        text = printed([*part.unit.body, *part.constants.definitions, Text(header.text(part.job.plan, options, 0))])
        own = set(re.findall(rf"\b{options.name}_\w+", COMMENT.sub("", text), re.IGNORECASE))
        for name in (f"{options.name}.h".lower(), f"{options.name}_constants.h".lower(), *sorted(own)):
            other = owner.setdefault(name, options)
            if other is not options:
                raise MoteError(
                    f"the C of '{other.name}' ({other.source}) and '{options.name}' would have the same names, as"
                    f" {name}",
                    where=options.source,
                    remedy="rename one of the model files",
                )


def _own_arenas(jobs: Iterable[Job]) -> int:
    """Bytes of arenas that are not shared."""
    return sum(a.nbytes for job in jobs for a in arenas(job.plan))


@dataclass(frozen=True)
class _Part:
    """A model that is emitted: its program, constants, and parts of C."""

    job: Job
    lowered: Program
    constants: ConstantPool
    unit: source.ModelSource

    @property
    def kernels(self) -> dict[str, str]:
        return kernel_texts(self.job.plan, self.lowered, self.job.options)

    @property
    def function_tables(self) -> tuple[str, ...]:
        return function_tables(self.kernels)


def _parts(jobs: Sequence[Job]) -> list[_Part]:
    """The C of the models, with constants assigned to memories."""
    for job in jobs:
        _check_arena(job)
    parts = [_part(job) for job in jobs]
    if any(part.unit.wide for part in parts):
        parts = [part if part.unit.wide else _part(part.job, wide=True) for part in parts]
    _allocate([array for part in parts for array in part.constants.arrays], jobs[0].options.flashes)
    return parts


def constant_bytes(job: Job) -> int:
    """Bytes of a model's constants and tables in C, without printing it."""
    return sum(part.constants.nbytes for part in _parts([job]))


def _part(job: Job, *, wide: bool = False) -> _Part:
    constants = ConstantPool(job.options.name, mark=job.options.flash_mark)
    return _Part(job, job.program, constants, source.unit(job.plan, job.program, job.options, constants, wide=wide))


def _check_arena(job: Job) -> None:
    """Refuses an instance with its own arenas if the plan uses several memories, as a struct is in one."""
    if job.options.instances and not job.options.caller_arena and len(arenas(job.plan)) > 1:
        names = " and ".join(memory.name for memory in job.plan.memories)
        raise MoteError(
            f"the tensors lie in {names}, and a struct lies in one memory",
            where="option instances",
            remedy="use --caller-arena too: init is then given an arena in each memory",
        )


def _allocate(arrays: Sequence[ConstantArray], flashes: Sequence[Memory]) -> None:
    """Assigns constants to memories, most reads per byte first: to RAM, if any is reserved, then to the fastest flash;
    the rest to the last one."""
    if flashes and flashes[0].kind == "ram":
        arrays, flashes = _in_ram(arrays, flashes[0]), flashes[1:]
    for kept in (MOST_CODE, 0) if flashes else ():
        left = {m: m.size for m in flashes} | {flashes[0]: max(flashes[0].size - kept, 0)}
        for array in sorted(arrays, key=lambda a: -a.heat):
            nbytes = aligned(array.nbytes)
            array.memory = next((m for m in flashes if left[m] >= nbytes), flashes[-1])
            left[array.memory] -= nbytes
        if left[flashes[-1]] >= 0:
            return


def _in_ram(arrays: Sequence[ConstantArray], ram: Memory) -> list[ConstantArray]:
    """Assigns constants to RAM, most reads per byte first, and returns those that do not fit."""
    left, others = ram.size, []
    for array in sorted(arrays, key=lambda a: -a.heat):
        if aligned(array.nbytes) > left:
            others.append(array)
            continue
        array.memory = ram
        left -= aligned(array.nbytes)
    return others


def _sources(parts: Sequence[_Part], options: ProjectOptions, body: Sequence[Definition]) -> dict[str, str]:
    """All C files with the model's file, whose contents are `body`: headers of the models, kernels and constants,
    inlined or as files."""
    files = {
        f"{p.unit.name}.h": header.text(p.job.plan, p.job.options, p.constants.nbytes, p.function_tables) for p in parts
    }
    files |= {f"{p.unit.name}.hpp": wrapper.text(p.job.plan, p.job.options) for p in parts if p.job.options.cpp}
    kernels = {file: text for p in parts for file, text in p.kernels.items()}
    if any(p.job.options.cipher for p in parts):
        files[opening.AES] = opening.aes()
    if options.single_file:
        if any(p.lowered.learns for p in parts):
            files[weights.TYPES] = licensed(library.header(weights.TYPES))
        return files | {f"{options.name}.c": printed(_amalgamated(body, kernels, [p.constants for p in parts]))}
    last = max(i for i, d in enumerate(body) if isinstance(d, Include) and d.file in kernels) + 1
    files[f"{options.name}.c"] = printed([*body[:last], *stamps.check(kernels), *body[last:]])
    files |= {f"{p.unit.name}_constants.h": printed(source.constants(p.job.options, p.constants)) for p in parts}
    texts = {file: stamps.stamped(file, text) for file, text in kernels.items()}
    return files | {file: licensed(text) if library.is_own(file) else text for file, text in texts.items()}


def _project(
    parts: Sequence[_Part], options: ProjectOptions, files: Mapping[str, str], program: Example, arena: int
) -> Project:
    flashes = parts[0].job.options.flashes
    arrays = [array for p in parts for array in p.constants.arrays]
    artifacts = [artifact for p in parts for artifact in p.lowered.artifacts]
    own = _own_files([_named_after(options.name, artifact) for artifact in artifacts], files)
    simulated = [artifact for artifact in artifacts if artifact.simulated]
    return Project(
        options,
        {**files, **own},
        sum(p.constants.nbytes for p in parts),
        (f"{options.name}.c", *(file for file in own if file.endswith(".c"))),
        arena,
        {m.name: sum(aligned(array.nbytes) for array in arrays if array.memory == m) for m in flashes},
        sum(p.constants.tables for p in parts),
        tuple(dict.fromkeys(table for p in parts for table in p.function_tables)),
        sum(array.nbytes for array in arrays if not array.sealed),
        tuple(dict.fromkeys(path for artifact in artifacts for path in artifact.sources)),
        tuple(dict.fromkeys(path for artifact in artifacts for path in artifact.includes)),
        _dependencies(artifacts),
        _own_files([artifact.simulated for artifact in simulated], {**files, **own}),
        frozenset(path for artifact in simulated for path in artifact.sources),
        program,
        interfaces=tuple(interface(p.job.plan, p.job.options) for p in parts),
    )


def _named_after(project: str, artifact: Artifact) -> Mapping[str, str]:
    """The files of an artifact, with the project's name as a prefix of the functions that they define."""
    if not artifact.prefix:
        return artifact.files
    front = re.compile(rf"\b{artifact.prefix}")
    own = f"{project}_{artifact.prefix}"
    return {front.sub(own, file): front.sub(own, text) for file, text in artifact.files.items()}


def _dependencies(artifacts: Iterable[Artifact]) -> tuple[Dependency, ...]:
    """The libraries that artifacts call, each with all sources that one of them needs."""
    needed: dict[ForeignLibrary, dict[str, None]] = {}
    for artifact in artifacts:
        if (library := artifact.library) is not None:
            relative = (inside(library, path) for path in artifact.sources)
            needed.setdefault(library, {}).update(dict.fromkeys(path for path in relative if path))
    return tuple(Dependency(library, tuple(sorted(sources))) for library, sources in needed.items())


def _own_files(given: Sequence[Mapping[str, str]], project: Mapping[str, str]) -> dict[str, str]:
    """The files of external generators; an error if one has the name of another file of the project."""
    files: dict[str, str] = {}
    for file, text in ((file, text) for texts in given for file, text in texts.items()):
        if file in project or files.setdefault(file, text) != text:
            raise MoteError(
                f"the file {file} of an external generator is another file of the project as well",
                remedy="correct the generator: name files after it and the layer",
            )
    return files


def kernel_texts(plan: Plan, lowered: Program, options: ProjectOptions) -> dict[str, str]:
    """The headers of the kernel library that a model uses, by name, each after those that it includes."""
    hot = closure(("mote_common.h", *ramcode.hot_files(plan))) if options.code_in_ram else ()
    sets = options.instruction_sets
    texts = {file: library.header_for(file, sets) for file in closure(source.includes(lowered), sets)}
    return {file: ramcode.in_ram(text) if file in hot else text for file, text in texts.items()}


def _amalgamated(
    body: Sequence[Definition], kernels: Mapping[str, str], constants: Sequence[ConstantPool]
) -> Iterator[Definition]:
    """The C of the models with all includes inlined, except headers that callers include too."""
    texts = {
        "mote_common.h": [_inlined(kernels, [d.file for d in body if isinstance(d, Include) and d.file in kernels])],
        **{f"{c.prefix}_constants.h": [Text(printed(c.definitions).rstrip("\n"))] for c in constants},
        **{k: [] for k in kernels if k != "mote_common.h"},
    }
    for d in body:
        yield from texts.get(d.file, [d]) if isinstance(d, Include) else [d]


def _crc(options: ProjectOptions) -> Definition:
    """The include of `mote_crc.h` for the self-test."""
    texts = {file: library.header(file) for file in closure(["mote_crc.h"])}
    return _inlined(texts, ["mote_crc.h"]) if options.single_file else Include("mote_crc.h")


def _inlined(kernels: Mapping[str, str], files: Iterable[str]) -> Text:
    """The text of files with their includes inlined, each once."""
    left = dict(kernels)

    def text(file: str) -> str:
        return INCLUDE.sub(lambda include: text(include[1]), left.pop(file, "").rstrip("\n"))

    whole = "\n\n".join(filter(None, map(text, files)))
    return Text(UNUSED + re.sub(r"^(\s*)static inline ", r"\1MOTE_INLINE ", whole, flags=re.MULTILINE))

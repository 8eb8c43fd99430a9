"""The contract of external generators: which regions of a graph they compute, and what they generate for each.

A `Generator` claims regions of a graph and builds an `Artifact` for each: constants in flash, C calls, the files and
include paths that these need, requirements on memory, the cost, and how it is verified. The planner compares artifacts
with the kernels of the core and chooses what costs less; the artifact is then part of the plan.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mote.base.errors import MoteError
from mote.compiler.kernels.contract import ALIGNMENT, Call, Entry, Needs, Packed, Price, Refusal, aligned
from mote.compiler.offload.foreign import ForeignLibrary, inside
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op
from mote.ir.graph.region import Numbers, Region, halves, region_problem
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array
from mote.ir.ops.common import learned

SCRATCH = "scratch"
"""Target of a `Pointer`: the working memory."""
ROW = "row"
"""Target of a `Pointer`: the input row of a call, for an artifact with `sums`."""
TAP = "tap"
"""Argument of a call: the number of the input row, for an artifact with `sums`."""
STATE = "state"
"""Target of a `Pointer`: the memory of `Artifact.state`."""
WAIT = "wait"
"""Argument of a call that returns a status: not 0 if it may wait for the accelerator, 0 in `step`."""
VARIANT = "variant"
"""Name of the knob by which a pin selects one of several artifacts of a region."""
LEARNS = Refusal("its weights or biases learn")
MOST_ALIGNMENT = 4096
_NAME = re.compile(r"[A-Za-z_]\w*")
_VARIANT = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class Judgement(StrEnum):
    """How `mote verify` checks the results of an artifact."""

    EXACT = "exact"
    """The artifact is executed with the model, and every value must equal the reference."""
    TOLERANCE = "tolerance"
    """The artifact is executed with the model, and no value may differ from the reference by more than
    `Artifact.tolerance`."""
    REFERENCE = "reference"
    """The artifact cannot be executed here: `Generator.reference` computes its values, and these are compared."""


@dataclass(frozen=True)
class Pointer:
    """An argument of a C call: the address of a tensor (by id), of a blob (by name), of SCRATCH, STATE or ROW."""

    to: int | str


@dataclass(frozen=True)
class Invocation:
    """A call of a C function; arguments are addresses, integers, or C expressions."""

    function: str
    arguments: tuple[Pointer | int | str, ...] = ()
    returns_status: bool = False
    """Whether the function returns an `int`: 0 when it is done, 1 while the accelerator works (`step` then calls it
    again), negative if it failed, and the model returns MOTE_FAILED. It must be the only call of its artifact."""


@dataclass(frozen=True, eq=False)
class Blob:
    """Constants in flash: weights, or a command stream."""

    name: str
    data: Array
    alignment: int = ALIGNMENT


@dataclass(frozen=True, eq=False)
class ImageCall:
    """The kernel of the runtime that replaces an artifact's C calls in an image."""

    kernel: Packed
    inputs: tuple[int, ...]
    """The ids of the tensors that are the kernel's operands."""


@dataclass(frozen=True, eq=False)
class Artifact:
    """What a generator builds for a region: C calls, constants, requirements and costs."""

    calls: tuple[Invocation, ...]
    """The C calls that compute the region, in order. Tensors are complete and contiguous (NHWC)."""
    cost: float
    """Approximate cost in the unit of the target's cost table: cycles of the core."""
    header: str
    """The header that declares the functions; the generated C includes it."""
    blobs: tuple[Blob, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that are added to the project, by name; .c files are compiled."""
    sources: tuple[str, ...] = ()
    """Paths of C files outside of the project that are compiled with it, such as a driver."""
    includes: tuple[str, ...] = ()
    """Paths of include folders outside of the project."""
    library: ForeignLibrary | None = None
    """The library that `sources` and `includes` belong to: packages refer to it by its names, not by these paths."""
    prefix: str = ""
    """Prefix of the functions that `files` define, and of these files' names. In the project of model NAME the prefix
    is preceded by `NAME_`, so that a firmware can have two models."""
    simulated: Mapping[str, str] = field(default_factory=dict)
    """C files and headers, by name, that replace `sources` if Mote itself runs the model: a driver that calls
    `mote_device_call`, so that `Generator.simulate` does the accelerator's work. They are not written to projects."""
    init: str = ""
    """Name of a function `int init(void)` that the model's init calls, once for all artifacts with this name; it
    returns 0 if it succeeds."""
    scratch: int = 0
    """Bytes of working memory while the calls run."""
    sums: int = 0
    """If not 0, the calls run once per row of the only input, from the top, with ROW and TAP, and after the last row
    have written the only output row. The value is the bytes of SCRATCH, which is preserved between these calls."""
    state: int = 0
    """Bytes of memory outside of the arena, a multiple of 8, for a call that returns a status; valid from its begin to
    its end."""
    cancel: str = ""
    """Name of a function `void cancel(void *state)` that the model's init calls if such a call has begun and not
    ended."""
    alignment: int = ALIGNMENT
    """Alignment in bytes of the tensors that the artifact reads and writes, and of its working memory."""
    in_place: bool = False
    """Whether the artifact's only output may overlap its first input, if they have the same size: the calls have read
    the input before they write the output, and the same holds for working memory at that address."""
    memories: tuple[str, ...] = ()
    """Names of the target's memories that the artifact's tensors may be in; empty: any."""
    variant: str = ""
    """Name of the artifact if a region has several: `--kernel LAYER=NAME[variant=small]` pins it."""
    judgement: Judgement = Judgement.EXACT
    tolerance: float = 0.0
    """For TOLERANCE: maximum difference of a stored value from the reference (1: one int8 code)."""
    code: int = 0
    """Approximate bytes of flash of the artifact's own code: its calls."""
    linked: Mapping[str, int] = field(default_factory=dict)
    """By name: approximate bytes of flash of the functions that it calls directly or indirectly; functions that several
    artifacts share are counted once."""
    image: ImageCall | None = None
    """The kernel that replaces the artifact in an image; None: it works in C only."""


@dataclass(frozen=True)
class Missing:
    """A package, path or tool that a generator requires and that is missing, and how to provide it."""

    what: str
    remedy: str


class Generator(ABC):
    """An external generator. `--backend` takes its name, and `mote plan` shows the name as the kernel."""

    name: str
    about: str = ""
    """A short description for a list of backends."""
    device: str = ""
    """The name that the generator's simulated drivers pass to `mote_device_call`, if several generators share one;
    empty: its own name."""

    def missing(self) -> Missing | None:
        """What the generator requires and does not find on this machine; None if it can be used."""
        return None

    def serves(self, target: Target) -> bool:
        """Whether it supports a target."""
        return True

    def contents(self, target: Target) -> str:
        """A cache key for what artifacts depend on besides graph and target, such as the contents of the user's files;
        empty if nothing."""
        return ""

    @abstractmethod
    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        """The regions or single operators that it can compute (`mote.ir.graph.region.joined` creates regions). They may
        overlap: the planner chooses those that save most."""

    @abstractmethod
    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
        """The artifact for a region that it has claimed, or the reason why it refuses after all. Several artifacts are
        alternatives, such as a fast one and one with less working memory, among which the planner chooses."""

    def split(self, region: Op, graph: Graph, target: Target) -> Iterable[Op]:
        """Smaller regions that replace one that it refuses to build, or whose artifacts exceed memories or budget; they
        are built, and split again if necessary. Usually two halves, cut at a narrow tensor; none: the region is given
        up."""
        return halves(graph, region)

    def reference(self, region: Op, graph: Graph, values: Sequence[Array | None]) -> list[Array]:
        """The reference of artifacts that are judged by REFERENCE: computes the outputs of a region from its inputs."""
        raise NotImplementedError(f"the generator '{self.name}' has no reference")

    def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
        """Simulates the accelerator on areas of memory, in place: a simulated driver has passed them to
        `mote_device_call` with this generator's name. Returns 0, or an error code for the driver."""
        raise NotImplementedError(f"the generator '{self.name}' does not simulate its accelerator")


@dataclass(frozen=True, eq=False)
class Offloaded(Packed):
    """An artifact as a kernel: its calls replace a kernel of the library."""

    artifact: Artifact = field(default_factory=lambda: Artifact((), 0.0, ""))

    @cached_property
    def constants(self) -> int:
        return sum(blob.data.nbytes for blob in self.artifact.blobs)


@dataclass(frozen=True)
class Declined:
    """A region, or part of one, that a generator has claimed but for which no artifact fits."""

    generator: str
    ops: Numbers
    why: str


@dataclass(frozen=True)
class OffloadOffer:
    """The artifacts of generators for the regions of a graph, and the regions that they declined."""

    kernels: Mapping[Numbers, Sequence[Offloaded]]
    declined: Sequence[Declined]


@dataclass(frozen=True)
class Offload:
    """The generators for a graph, with their target and RAM budget."""

    generators: tuple[Generator, ...]
    target: Target
    ram: int | None = None
    """RAM limit of a plan in bytes: regions that exceed it are split."""
    contents: tuple[str, ...] = ()
    """Cache key of each generator (`Generator.contents`)."""

    def built(self, graph: Graph) -> OffloadOffer:
        """The artifacts of all generators for a graph; each region is built once."""
        return _built(graph, self)

    def kernels(self, graph: Graph) -> Mapping[Numbers, Sequence[Offloaded]]:
        """The artifacts that are offered, by the numbers of the operators that they compute."""
        return self.built(graph).kernels

    def too_large(self, region: Op, graph: Graph, artifact: Artifact) -> str:
        """Why an artifact exceeds the memories that it may use, or the budget; empty if it does not."""
        nbytes = ram_of(artifact, region, graph)
        rams = [m for m in self.target.memories if m.kind == "ram"]
        reached = sum(m.size for m in rams if not artifact.memories or m.name in artifact.memories)
        limits = [*([reached] if rams else []), *([self.ram] if self.ram is not None else [])]
        if not limits or nbytes <= min(limits):
            return ""
        return f"takes {nbytes:,} bytes of RAM, and there are {min(limits):,}"


def ram_of(artifact: Artifact, region: Op, graph: Graph) -> int:
    """The minimum bytes of the tensor arena while an artifact computes a region: all its inputs and outputs, and
    working memory."""
    states = {t for state in graph.states for t in (state.before, state.after)}
    inputs = list(dict.fromkeys(t for _, t in region.computed(graph)))
    size = {t: 0 if t in states else aligned(graph.tensors[t].nbytes) for t in (*inputs, *region.outputs)}
    over = bool(inputs) and artifact.in_place and size[inputs[0]] == size[region.outputs[0]]
    return aligned(artifact.scratch) + sum(size.values()) - (size[inputs[0]] if over else 0)


@lru_cache(maxsize=8)
def _built(graph: Graph, offload: Offload) -> OffloadOffer:
    kernels: dict[Numbers, list[Offloaded]] = {}
    declined: dict[tuple[str, Numbers], Declined] = {}
    for generator in offload.generators:
        asked: set[Numbers] = set()
        waiting = [(region, 0) for region in generator.claims(graph, offload.target)][::-1]
        while waiting:
            region, within = waiting.pop()
            where = f"generator '{generator.name}', layer '{region.name}'"
            numbers = _checked(graph, region, within, where)
            if numbers in asked and within:
                continue
            asked.add(numbers)
            ops = (graph.ops[n] for n in numbers)
            learns = any(learned(graph, op) for op in ops)
            built = LEARNS if learns else generator.build(region, graph, offload.target)
            artifacts = _alternatives(built, where)
            for artifact in artifacts:
                _check(artifact, region, graph, offload.target, where)
            made = [_kernel(generator, region, graph, artifact) for artifact in artifacts]
            if made:
                kernels[numbers] = [*kernels.get(numbers, []), *made]
            large = [offload.too_large(region, graph, artifact) for artifact in artifacts]
            if all(large):
                why = built.why if isinstance(built, Refusal) else large[0]
                declined[generator.name, numbers] = Declined(generator.name, numbers, why)
                if len(numbers) > 1:
                    waiting += [(part, len(numbers)) for part in generator.split(region, graph, offload.target)][::-1]
    return OffloadOffer(kernels, list(declined.values()))


def _checked(graph: Graph, region: Op, within: int, where: str) -> Numbers:
    """The numbers of a region's operators; an error if the region is invalid, or, as part of a region with `within`
    operators, not smaller."""
    ops = region.ops if isinstance(region, Region) else (region,)
    if problem := region_problem(graph, ops):
        raise MoteError(f"the region that it claims {problem}", where=where, remedy="correct the generator")
    if within and len(ops) >= within:
        raise MoteError("it splits a region into parts that are not smaller", where=where, remedy="correct split")
    return tuple(graph.places[id(op)] for op in ops)


def forget() -> None:
    """Clears the cache of artifacts, as a generator was replaced."""
    _built.cache_clear()


def _alternatives(built: Artifact | Refusal | Sequence[Artifact], where: str) -> list[Artifact]:
    """The artifacts that a generator has built for a region; an error if several have the same name."""
    if isinstance(built, Refusal):
        return []
    artifacts = [built] if isinstance(built, Artifact) else list(built)
    wrong = next((type(a).__name__ for a in artifacts if not isinstance(a, Artifact)), "")
    names = [a.variant for a in artifacts]
    problems = (
        (not artifacts, "nothing: neither an artifact nor a refusal"),
        (bool(wrong), f"{wrong}, which is no artifact"),
        (not wrong and len(set(names)) < len(names), "alternatives without names of their own (variant)"),
        (any(name and not _VARIANT.fullmatch(name) for name in names), f"variants called {', '.join(names)}"),
    )
    for problem, what in problems:
        if problem:
            raise MoteError(f"it builds {what}", where=where, remedy="correct the generator")
    return artifacts


def _kernel(generator: Generator, region: Op, graph: Graph, artifact: Artifact) -> Offloaded:
    return Offloaded(
        generator.name,
        {},
        entry=Entry(
            Call.ADDS if artifact.sums else Call.WHOLE,
            operands=tuple(position for position, _ in region.computed(graph)),
            ordered=bool(artifact.sums),
        ),
        needs=Needs(
            scratch=artifact.scratch or None,
            sums=artifact.sums,
            alignment=max(artifact.alignment, ALIGNMENT),
            tensor_alignment=max(artifact.alignment, ALIGNMENT),
            memories=artifact.memories,
            in_place=(0,) if artifact.in_place else (),
            overlays=artifact.in_place,
        ),
        price=Price(cost=artifact.cost, written=artifact.code, linked=tuple(artifact.linked.items())),
        family=generator.name,
        knobs=((VARIANT, artifact.variant),) if artifact.variant else (),
        artifact=artifact,
    )


def _check(artifact: Artifact, region: Op, graph: Graph, target: Target, where: str) -> None:
    """Refuses an invalid artifact, for which no C can be generated."""
    blobs = [blob.name for blob in artifact.blobs]
    kept = artifact.scratch or artifact.sums
    rooms = [name for name, size in ((SCRATCH, kept), (STATE, artifact.state), (ROW, artifact.sums)) if size]
    known = {*region.inputs, *region.outputs, *blobs, *rooms}
    named = [name for name in (artifact.init, artifact.cancel) if name]
    functions = [*(call.function for call in artifact.calls), *named, *blobs]
    pointers = [p.to for call in artifact.calls for p in call.arguments if isinstance(p, Pointer)]
    problems = [
        *([] if artifact.calls else ["calls nothing"]),
        *_status_problems(artifact),
        *_sums_problems(artifact, region, graph),
        *(f"has '{name}', which is no name in C" for name in functions if not _NAME.fullmatch(name)),
        *(
            [f"has two blobs of one name, or one called '{SCRATCH}' or '{STATE}'"]
            if len({*blobs, SCRATCH, STATE}) <= len(blobs) + 1
            else []
        ),
        *(
            f"points to '{to}', which is no tensor of the region and none of its blobs"
            for to in pointers
            if to not in known
        ),
        *(f"never gives the address of output {t}" for t in _written(region) if t not in pointers),
        *(
            f"wants an alignment of {n}, which is no power of two up to {MOST_ALIGNMENT}"
            for n in (artifact.alignment, *(blob.alignment for blob in artifact.blobs))
            if n < 1 or n & (n - 1) or n > MOST_ALIGNMENT
        ),
        *(f"has blob '{b.name}' of type {b.data.dtype}" for b in artifact.blobs if b.data.dtype not in _ELEMENTS),
        *_files_problems(artifact),
        *_state_problems(artifact, region, graph),
        *(
            ["may lie where its input does, and has several outputs"]
            if artifact.in_place and region.outputs[1:]
            else []
        ),
        *_memory_problems(artifact, target),
    ]
    if artifact.judgement is Judgement.TOLERANCE and len({graph.tensors[t].dtype for t in region.outputs}) > 1:
        problems.append("is judged by a tolerance, and has outputs of several types")
    if not np.isfinite(artifact.cost) or artifact.cost < 0:
        problems.append(f"costs {artifact.cost}")
    if (least := min(artifact.code, *artifact.linked.values(), 0)) < 0:
        problems.append(f"states {least} bytes of code")
    if problems:
        raise MoteError(f"its artifact {problems[0]}", where=where, remedy="correct the generator")


def _written(region: Op) -> list[int]:
    """The tensors whose addresses must be passed to calls: outputs, but for a state the tensor before the inference, as
    it is updated in place."""
    return [region.inputs[region.updates[p]] if p in region.updates else t for p, t in enumerate(region.outputs)]


_ELEMENTS = tuple(map(np.dtype, ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32")))


def _files_problems(artifact: Artifact) -> list[str]:
    known = re.compile(r"(?!mote_)[A-Za-z_][\w-]*\.[ch]")
    wrong = [name for name in (*artifact.files, *artifact.simulated) if not known.fullmatch(name)]
    problems = [f"has a file '{name}', which is not a plain name that ends in .c or .h" for name in wrong]
    missing = [p for p in artifact.sources if not Path(p).is_file()]
    missing += [p for p in artifact.includes if not Path(p).is_dir()]
    relative = [p for p in (*artifact.sources, *artifact.includes) if not Path(p).is_absolute()]
    problems += [f"names '{path}', which is not there" for path in missing]
    problems += [f"names '{path}', which is no absolute path" for path in relative]
    return problems + _library_problems(artifact)


def _library_problems(artifact: Artifact) -> list[str]:
    """Problems with a library: sources outside of its folder, or functions in `files` without a valid prefix."""
    problems = []
    if artifact.prefix and not re.fullmatch(r"(?!mote_)[A-Za-z]\w*_", artifact.prefix):
        problems.append(f"has the prefix '{artifact.prefix}', which is no name in C that ends in an underscore")
    if (library := artifact.library) is None:
        return problems
    if not (Path(library.folder) / library.header).is_file():
        problems.append(f"names the library {library.name} in {library.folder}, which has no {library.header}")
    outside = [path for path in (*artifact.sources, *artifact.includes) if inside(library, path) is None]
    return problems + [f"names '{path}', which is not in the library's folder" for path in outside]


def _status_problems(artifact: Artifact) -> list[str]:
    """Problems with a call that returns a status: it may be repeated, and so must be the only call."""
    polled = [call for call in artifact.calls if call.returns_status]
    if not polled:
        alone = artifact.state or artifact.cancel or any(WAIT in call.arguments for call in artifact.calls)
        return ["has a state, or waits, and no call that returns a status"] if alone else []
    problems = ["has a call that returns a status, and others"] if len(artifact.calls) > 1 else []
    wrong = artifact.state < 0 or artifact.state % 8
    return [*problems, *([f"has a state of {artifact.state} bytes, which is no multiple of 8"] if wrong else [])]


def _sums_problems(artifact: Artifact, region: Op, graph: Graph) -> list[str]:
    if not artifact.sums:
        return []
    problems = ["keeps sums, and has working memory beside them"] if artifact.scratch else []
    inputs = [t for _, t in region.computed(graph)]
    if inputs != [region.inputs[0]] or row_count(graph.tensors[inputs[0]].shape) == 1:
        problems.append("takes rows, and the region has not one input of several")
    if len(region.outputs) > 1 or row_count(graph.tensors[region.outputs[0]].shape) > 1:
        problems.append("keeps sums, and the region has not one output of one row")
    return problems


def _state_problems(artifact: Artifact, region: Op, graph: Graph) -> list[str]:
    """Problems with states: they are outside of the arena, without special alignment or choice of memory."""
    special = artifact.alignment > ALIGNMENT or bool(artifact.memories)
    states = {s.before for s in graph.states} & set(region.inputs)
    return ["asks for an alignment or a memory of a state, which has neither"] if special and states else []


def _memory_problems(artifact: Artifact, target: Target) -> list[str]:
    rams = [m.name for m in target.memories if m.kind == "ram"]
    if not artifact.memories or not rams or set(artifact.memories) & set(rams):
        return []
    return [f"wants memory {' or '.join(artifact.memories)}, the target has {', '.join(rams)}"]

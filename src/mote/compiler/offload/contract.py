"""The contract of an external generator: which regions of a graph it computes, and what it makes for each of them.

A `Generator` claims regions of a graph and builds an `Artifact` for each: blobs that lie in flash, C calls, the files
and include paths that these need, what it asks of the memory of tensors, what it costs, and how it is judged. The
planner offers that beside the kernels of the core and takes what costs less; the artifact is then part of the plan.
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
"""The name of the working memory among what a `Pointer` may point to."""
ROW = "row"
"""The name of the row there that a call takes, where an artifact keeps `sums`."""
TAP = "tap"
"""An argument of such a call: the number of the row."""
STATE = "state"
"""The name of `Artifact.state` there."""
WAIT = "wait"
"""An argument of a call that returns a status: not 0 where it may wait for the accelerator, 0 in `step`."""
VARIANT = "variant"
"""The knob by which a pin names one of the alternatives of a region."""
LEARNS = Refusal("its weights or biases learn")
MOST_ALIGNMENT = 4096
_NAME = re.compile(r"[A-Za-z_]\w*")
_VARIANT = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


class Judgement(StrEnum):
    """How `mote verify` judges what an artifact computes."""

    EXACT = "exact"
    """It runs where the model runs, and every value equals the reference."""
    TOLERANCE = "tolerance"
    """It runs where the model runs, and no value is further from the reference than `Artifact.tolerance`."""
    REFERENCE = "reference"
    """It is not run here: `Generator.reference` says what it computes, and that is compared."""


@dataclass(frozen=True)
class Pointer:
    """An argument of a C call: the address of a tensor (by id), of a blob (by name), of SCRATCH, STATE or ROW."""

    to: int | str


@dataclass(frozen=True)
class Invocation:
    """A call of a C function; arguments are addresses, whole numbers, or C expressions."""

    function: str
    arguments: tuple[Pointer | int | str, ...] = ()
    returns_status: bool = False
    """It returns an `int`: 0 when it is done, 1 while the accelerator works, then `step` comes back to it; a negative
    number where it failed, and so the model has: MOTE_FAILED. It is the only call of its artifact."""


@dataclass(frozen=True, eq=False)
class Blob:
    """Constants in flash: weights, or a command stream."""

    name: str
    data: Array
    alignment: int = ALIGNMENT


@dataclass(frozen=True, eq=False)
class ImageCall:
    """A kernel of the runtime that does in an image what an artifact's calls do in C."""

    kernel: Packed
    inputs: tuple[int, ...]
    """The tensors, by id, that are its operands."""


@dataclass(frozen=True, eq=False)
class Artifact:
    """What a generator makes for a region."""

    calls: tuple[Invocation, ...]
    """What computes the region, one call after another. Tensors are whole and contiguous (NHWC)."""
    cost: float
    """About what that takes, in the unit of the target's table of costs: cycles of the core."""
    header: str
    """What declares the functions: the generated C includes it."""
    blobs: tuple[Blob, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Files that become part of the project, by name; those that end in .c are compiled."""
    sources: tuple[str, ...] = ()
    """C files outside of the project, by path, that are compiled with it: a driver, say."""
    includes: tuple[str, ...] = ()
    """Folders outside of the project, by path, whose headers they include."""
    library: ForeignLibrary | None = None
    """The library that `sources` and `includes` are of: a package depends on it by its names, without their paths."""
    prefix: str = ""
    """How the names of functions begin that `files` define, and of these files. In the project of the model NAME they
    begin with `NAME_` and that, so that a firmware may have two models."""
    simulated: Mapping[str, str] = field(default_factory=dict)
    """C files and headers by name, that take the place of `sources` wherever Mote itself runs the model: a driver that
    has `Generator.simulate` compute what the accelerator would, by `mote_device_call`. No project has them."""
    init: str = ""
    """A function `int init(void)` that the model's init calls, once for all artifacts that name it; 0: it is ready."""
    scratch: int = 0
    """Bytes of working memory while the calls run."""
    sums: int = 0
    """Not 0: the calls are made once for each row of the only input, from the top, with ROW and TAP, and the last ones
    have written the output, of one row. These are the bytes of SCRATCH, which is kept from one call to the next."""
    state: int = 0
    """Bytes outside of the arena, a multiple of 8, for a call that returns a status: from its begin to its end."""
    cancel: str = ""
    """A function `void cancel(void *state)` that the model's init calls where such a call has begun and not ended."""
    alignment: int = ALIGNMENT
    """What the addresses of the tensors that it reads and writes, and of its working memory, are multiples of."""
    in_place: bool = False
    """Whether its only output may lie where its first input does, if they have the same size: the calls have read that
    when they begin to write the output, and whatever working memory lies there."""
    memories: tuple[str, ...] = ()
    """The only memories of the target, by name, that these may lie in; none named: any."""
    variant: str = ""
    """Its name among the alternatives of a region: `--kernel LAYER=NAME[variant=small]` pins it."""
    judgement: Judgement = Judgement.EXACT
    tolerance: float = 0.0
    """Of TOLERANCE: how far a stored value may be from the reference (1: one int8 code)."""
    code: int = 0
    """Bytes of flash that the code of its own takes, about: its calls."""
    linked: Mapping[str, int] = field(default_factory=dict)
    """The functions that it calls, and those that they call, by name, with the bytes of flash that each takes, about:
    where several artifacts have one it is counted once."""
    image: ImageCall | None = None
    """What stands in its place in an image; None: it is for C only."""


@dataclass(frozen=True)
class Missing:
    """A package, a path or a tool that a generator cannot do without, and how to provide it."""

    what: str
    remedy: str


class Generator(ABC):
    """An external generator. Its name is what `--backend` takes, and what `mote plan` shows as the kernel."""

    name: str
    about: str = ""
    """What it is, in a few words, for a list of backends."""
    device: str = ""
    """The name that its simulated drivers pass to `mote_device_call`, where generators share one; empty: its own."""

    def missing(self) -> Missing | None:
        """Whatever it needs and does not find on this machine; None where it can be used."""
        return None

    def serves(self, target: Target) -> bool:
        """Whether it generates code for a target."""
        return True

    def contents(self, target: Target) -> str:
        """What its artifacts depend on beside a graph and a target, as a key by which they are kept: of files of the
        user's, what is in them. Empty where there is nothing."""
        return ""

    @abstractmethod
    def claims(self, graph: Graph, target: Target) -> Iterable[Op]:
        """The regions that it can compute, or single operators (`mote.ir.graph.region.joined` makes them). They may
        overlap: the planner takes those that save most."""

    @abstractmethod
    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal | Sequence[Artifact]:
        """What computes a region that it has claimed, or why it does not after all. Several artifacts are alternatives,
        say a fast one and one with less working memory, of which the planner takes what suits its goal."""

    def split(self, region: Op, graph: Graph, target: Target) -> Iterable[Op]:
        """Smaller regions in place of one that it refuses to build, or whose artifacts do not fit the memories or the
        budget; they are built, and split again if need be. Usually two, cut in the middle at a narrow tensor; none:
        the region is given up."""
        return halves(graph, region)

    def reference(self, region: Op, graph: Graph, values: Sequence[Array | None]) -> list[Array]:
        """What an artifact that is judged by REFERENCE computes: the outputs of the region from its inputs."""
        raise NotImplementedError(f"the generator '{self.name}' has no reference")

    def simulate(self, memory: Sequence[NDArray[np.uint8]]) -> int:
        """What the accelerator does with areas of memory, in place: a simulated driver has passed them to
        `mote_device_call`, with this generator's name. Returns 0, or an error code for the driver."""
        raise NotImplementedError(f"the generator '{self.name}' does not simulate its accelerator")


@dataclass(frozen=True, eq=False)
class Offloaded(Packed):
    """An artifact as what computes a region: its calls, in place of a kernel of the library."""

    artifact: Artifact = field(default_factory=lambda: Artifact((), 0.0, ""))

    @cached_property
    def constants(self) -> int:
        return sum(blob.data.nbytes for blob in self.artifact.blobs)


@dataclass(frozen=True)
class Declined:
    """A region that a generator has claimed, or a part of one, that has no artifact that fits."""

    generator: str
    ops: Numbers
    why: str


@dataclass(frozen=True)
class OffloadOffer:
    """The artifacts of generators for the regions of a graph, and what they have declined."""

    kernels: Mapping[Numbers, Sequence[Offloaded]]
    declined: Sequence[Declined]


@dataclass(frozen=True)
class Offload:
    """The generators that are asked for a graph, the target that they generate for, and its budget."""

    generators: tuple[Generator, ...]
    target: Target
    ram: int | None = None
    """Bytes of RAM that a plan may take: regions that take more are split."""
    contents: tuple[str, ...] = ()
    """What artifacts depend on beside (`Generator.contents`), of each generator."""

    def built(self, graph: Graph) -> OffloadOffer:
        """What they make of a graph, each region built once."""
        return _built(graph, self)

    def kernels(self, graph: Graph) -> Mapping[Numbers, Sequence[Offloaded]]:
        """What they offer for the operators of a graph."""
        return self.built(graph).kernels

    def too_large(self, region: Op, graph: Graph, artifact: Artifact) -> str:
        """Why an artifact cannot lie in the memories that it reaches, or in the budget; empty where it can."""
        nbytes = ram_of(artifact, region, graph)
        rams = [m for m in self.target.memories if m.kind == "ram"]
        reached = sum(m.size for m in rams if not artifact.memories or m.name in artifact.memories)
        limits = [*([reached] if rams else []), *([self.ram] if self.ram is not None else [])]
        if not limits or nbytes <= min(limits):
            return ""
        return f"takes {nbytes:,} bytes of RAM, and there are {min(limits):,}"


def ram_of(artifact: Artifact, region: Op, graph: Graph) -> int:
    """The bytes of the tensor arena that a region takes at least while an artifact computes it: its inputs and outputs
    as a whole, and working memory."""
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
    """The numbers of the operators of a region that is claimed; or of a part of one with `within` operators."""
    ops = region.ops if isinstance(region, Region) else (region,)
    if problem := region_problem(graph, ops):
        raise MoteError(f"the region that it claims {problem}", where=where, remedy="correct the generator")
    if within and len(ops) >= within:
        raise MoteError("it splits a region into parts that are not smaller", where=where, remedy="correct split")
    return tuple(graph.places[id(op)] for op in ops)


def forget() -> None:
    """Ask generators anew: one has taken the place of another."""
    _built.cache_clear()


def _alternatives(built: Artifact | Refusal | Sequence[Artifact], where: str) -> list[Artifact]:
    """The artifacts that a generator has built of a region, each with a name of its own where there are several."""
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
    """Refuse an artifact that no C can be made of."""
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
    """The tensors whose addresses calls must have: a state is written where it was before."""
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
    """The sources of a library are in its folder, and the functions that files define have a prefix of their own."""
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
    """A call that returns a status may be repeated, and so nothing may stand beside it."""
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
    """States lie outside of the arena, where no more than the usual alignment is planned."""
    special = artifact.alignment > ALIGNMENT or bool(artifact.memories)
    states = {s.before for s in graph.states} & set(region.inputs)
    return ["asks for an alignment or a memory of a state, which has neither"] if special and states else []


def _memory_problems(artifact: Artifact, target: Target) -> list[str]:
    rams = [m.name for m in target.memories if m.kind == "ram"]
    if not artifact.memories or not rams or set(artifact.memories) & set(rams):
        return []
    return [f"wants memory {' or '.join(artifact.memories)}, the target has {', '.join(rams)}"]

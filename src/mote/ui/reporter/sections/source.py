"""The C of each layer beside its part of the plan, and all files of the project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any
from zlib import crc32

from mote.compiler.kernels.contract import Packed
from mote.compiler.plan.plan import KEPT, Buffer, ControlFlowKernel, Plan, SplitKernel, Step
from mote.ir.graph.graph import ABSENT
from mote.ui.reporter.listing import LineSpan, Listing, shortened
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import LayerWork, Subject, Subjects, members

SHARED = ("_state", "_memory", "_schedule", "_work", "_checked", "_rows", "_results", "_kept", "_split")
"""Ends of the names of variables and tables that all layers have in common."""
Part = tuple[str, LineSpan]
"""A part of the C with its title."""


def source(subject: Subject) -> dict[str, Any]:
    """Lines of C of each layer with their titles, its place in the plan, and which texts the files have."""
    listing = Listing.of(subject.compiled.project.files)
    plan, name = subject.compiled.plan, subject.compiled.name
    numbers = {id(steps): i for i, (_, steps) in enumerate(plan.works)}
    files = list(listing.files)
    return {
        "files": [[file, _key(listing.files[file])] for file in files],
        "main": files.index(f"{name}.c"),
        "layers": {
            layer.number: {
                "parts": [
                    [title, files.index(lines.file), lines.first, lines.last]
                    for title, lines in parts(listing, name, numbers[id(steps)], steps)
                ],
                "headers": [files.index(header) for header in _headers(steps[0].kernel) if header in listing.files],
                "plan": _planned(plan, (layer, op, steps)),
            }
            for layer, op, steps in subject.works
        },
    }


def texts(subjects: Subjects) -> dict[str, str]:
    """The texts of all files, those that targets have in common once."""
    every = (shortened(text) for subject in subjects.targets for text in subject.compiled.project.files.values())
    return {_key(text): text for text in every}


def _key(text: str) -> str:
    return f"{crc32(text.encode()):08x}"


def parts(listing: Listing, name: str, number: int, steps: Sequence[Step]) -> list[Part]:
    """The C of a layer: its call, its parameters and constants, code that was made for it, and its kernel."""
    call = _call(listing, name, number)
    own = _own(listing, name, [call])
    kernel = steps[0].kernel
    instances = [
        lines for inner in _kernels(kernel) for i in inner.instances if (lines := listing.find(f"{name}.c", str(i)))
    ]
    macros = [i.macro for inner in _kernels(kernel) for i in inner.instances]
    called = [word for word in listing.words([call, *own]) if word.startswith("mote_")]
    library = [listing.places[word] for word in (*called, *macros) if word in listing.places]
    library = library or [listing.whole(header) for header in _headers(kernel) if header in listing.files]
    return [
        ("Call", call),
        *((_title(listing, lines), lines) for lines in own),
        *(("Code for this shape", lines) for lines in dict.fromkeys(instances)),
        *(("Kernel", lines) for lines in dict.fromkeys(library)),
    ]


def _title(listing: Listing, lines: LineSpan) -> str:
    """Whether a definition of the model is of parameters, of constants or a function."""
    rows = listing.rows[lines.file][lines.first : lines.last]
    if not any(row.startswith("static const ") for row in rows):
        return "Function"
    return "Parameters" if any("_step_" in row for row in rows if row.startswith("static const ")) else "Constants"


def _kernels(kernel: Packed) -> Iterator[Packed]:
    """The kernels that a step calls: those of each core, and of bodies of control flow."""
    if isinstance(kernel, ControlFlowKernel):
        for plan in kernel.plans:
            for _, steps in plan.works:
                yield from _kernels(steps[0].kernel)
    elif isinstance(kernel, SplitKernel):
        yield from kernel.calls
    else:
        yield kernel


def _headers(kernel: Packed) -> list[str]:
    """The headers of the kernels that a step calls."""
    return list(dict.fromkeys(header for inner in _kernels(kernel) for header in inner.files))


def _call(listing: Listing, name: str, number: int) -> LineSpan:
    """The case of a layer in the function that runs a step."""
    work = listing.places[f"{name}_work"]
    lines = listing.rows[work.file]
    first = next(k for k in range(work.first, work.last) if lines[k].startswith(f"    case {number}: /*"))
    return LineSpan(work.file, first, next(k + 1 for k in range(first, work.last) if lines[k] == "        break;"))


def _own(listing: Listing, name: str, begin: Sequence[LineSpan]) -> list[LineSpan]:
    """Definitions of the model that lines name, and those that they name in turn."""
    known: dict[str, LineSpan] = {}
    lines = list(begin)
    while lines:
        words = [word for word in listing.words(lines) if word.startswith(f"{name}_") and word not in known]
        fresh = {
            w: listing.places[w] for w in words if w in listing.places and not w.removeprefix(name).startswith(SHARED)
        }
        known |= fresh
        lines = list(fresh.values())
    return list(known.values())


def _planned(plan: Plan, layer: LayerWork) -> dict[str, Any]:
    """The steps of a layer, and where its tensors and its working memory lie."""
    _, op, steps = layer
    first, last = steps[0], steps[-1]
    kernel = first.kernel
    places = [place for place, step in enumerate(plan.steps) if step.ops == first.ops]
    made = set(op.outputs)
    tensors = dict.fromkeys(t for member in members(op) for t in (*member.inputs, *member.outputs) if t != ABSENT)
    return {
        "steps": [len(plan.steps), _runs(places)],
        "rows": [min(s.rows.lo for s in steps), max(s.rows.hi for s in steps), first.rows.hi - first.rows.lo],
        "buffers": [
            ["output" if t in made else "input", t, *_buffer(plan, plan.place[t])] for t in tensors if t in plan.place
        ],
        "scratch": None
        if first.scratch is None
        else [_memory(plan, first.scratch_memory), first.scratch, kernel.needs.scratch or 0],
        "sums": None if last.sums is None else [_memory(plan, last.sums_memory), last.sums, kernel.needs.sums],
        "kernel": kernel.name,
    }


def _runs(places: Sequence[int]) -> list[list[int]]:
    """Runs of consecutive numbers: the first and the last of each."""
    grouped = (list(group) for _, group in groupby(enumerate(places), lambda pair: pair[1] - pair[0]))
    return [[group[0][1], group[-1][1]] for group in grouped]


def _buffer(plan: Plan, buffer: Buffer) -> list[Any]:
    """Memory, offset, how rows lie there, bytes of a row, rows, and layout."""
    offsets = [o for o in buffer.offsets if o is not None]
    if buffer.ring is not None:
        how = "ring buffer"
    elif buffer.base is not None or not offsets:
        how = "in one piece"
    else:
        how = f"rows at {len(set(offsets))} places"
    layout = buffer.layout.name
    return [_memory(plan, buffer.memory), min(offsets, default=0), how, buffer.row_bytes, len(buffer.offsets), layout]


def _memory(plan: Plan, number: int) -> str:
    if number == KEPT:
        return "states"
    if number < KEPT:
        return "memory of the caller"
    return plan.memories[number].name if plan.memories else "arena"


SECTION = Section("source", "C source", each=source, whole=texts)

"""Flash by layer and kind: constants and code of the linked model, or its constants where nothing was linked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from mote.bench.measure.runner import linked_flash
from mote.compiler.compiled import Compiled
from mote.compiler.kernels.contract import Packed, Structs
from mote.compiler.kernels.structs import named
from mote.hardware.toolchain.elf import FlashPart
from mote.ui.reporter.section import Section
from mote.ui.reporter.subject import Subject


class FlashKind(StrEnum):
    """Kinds of bytes in flash."""

    WEIGHTS = "weights"
    REQUANTIZATION = "biases and requantization"
    TABLES = "lookup tables"
    PARAMETERS = "parameters"
    SCHEDULE = "schedule"
    OTHER = "other constants"
    CODE = "code"


_FIELDS = {
    FlashKind.WEIGHTS: ("weights", "stream", "records", "record", "filter", "filters", "recurrent"),
    FlashKind.REQUANTIZATION: (
        "channel",
        "constants",
        "bias",
        "biases",
        "scale",
        "scales",
        "mult",
        "multiplier",
        "shift",
    ),
    FlashKind.TABLES: ("table", "tables", "lut", "exp", "roots"),
}
_KINDS = {field: kind for kind, fields in _FIELDS.items() for field in fields}
"""Kinds of arrays by the last word of the field of parameters that points to them."""
_CLONE = re.compile(r"\.(?:constprop|isra|part|cold|llvm|lto_priv)\b.*")
"""The end of the name of a function that a compiler made from another one."""


@dataclass(frozen=True)
class FlashPiece:
    """Bytes of flash, and the numbers of the layers that use them."""

    name: str
    kind: FlashKind
    nbytes: int
    layers: tuple[str, ...]


def flash(subject: Subject) -> dict[str, Any]:
    """Bytes of each layer by kind, and pieces that belong to no single layer. All together are `total`."""
    compiled = subject.compiled
    linked = subject.ran is not None and subject.ran.flash.code is not None
    parts = linked_pieces(subject, linked_flash(compiled)) if linked else planned_pieces(compiled)
    own: dict[str, dict[FlashKind, int]] = {layer.number: {} for layer in subject.layers}
    shared = []
    for piece in parts:
        if len(piece.layers) == 1 and piece.layers[0] in own:
            of = own[piece.layers[0]]
            of[piece.kind] = of.get(piece.kind, 0) + piece.nbytes
        else:
            shared.append(piece)
    kinds = [kind for kind in FlashKind if any(piece.kind is kind for piece in parts)]
    return {
        "kinds": kinds,
        "layers": [[number, *(of.get(kind, 0) for kind in kinds)] for number, of in own.items()],
        "model": _model_bytes(compiled),
        "shared": [[p.name, kinds.index(p.kind), p.nbytes, list(p.layers)] for p in _joined(shared)],
        "functions": sorted(
            ([p.name, p.nbytes, list(p.layers)] for p in parts if p.kind is FlashKind.CODE and p.name),
            key=lambda f: (-f[1], f[0]),
        ),
        "total": sum(piece.nbytes for piece in parts),
        "linked": linked,
        "reason": "" if linked else subject.reason,
    }


def linked_pieces(subject: Subject, parts: list[FlashPart]) -> list[FlashPiece]:
    """The linked flash by symbol. Functions belong to the layers that executed them, as far as those were profiled."""
    arrays = {piece.name: piece for piece in _arrays(subject.compiled)}
    ran: dict[str, list[str]] = {}
    for layer in subject.profile.layers if subject.profile else ():
        for function in layer.functions:
            ran.setdefault(plain(function), []).append(layer.number)
    return [
        FlashPiece(
            part.name, FlashKind.CODE, part.nbytes, tuple(dict.fromkeys(n for n in ran.get(plain(part.name), ()) if n))
        )
        if part.is_code
        else _constant(subject.compiled, part, arrays)
        for part in parts
    ]


def planned_pieces(compiled: Compiled) -> list[FlashPiece]:
    """Constants of the generated C."""
    pieces = list(_arrays(compiled))
    tables = compiled.project.tables
    rest = compiled.project.constants - tables - sum(piece.nbytes for piece in pieces)
    more = (("schedule and rows", FlashKind.SCHEDULE, tables), ("constants without a layer", FlashKind.OTHER, rest))
    return [*pieces, *(FlashPiece(name, kind, nbytes, ()) for name, kind, nbytes in more if nbytes)]


def plain(function: str) -> str:
    """The name of a function in C, without what a compiler put behind it."""
    return _CLONE.sub("", function)


def _constant(compiled: Compiled, part: FlashPart, arrays: dict[str, FlashPiece]) -> FlashPiece:
    """A linked constant: an array that kernels point to, a struct of parameters, a table of the schedule."""
    if part.name in arrays:
        known = arrays[part.name]
        return FlashPiece(part.name, known.kind, part.nbytes, known.layers)
    prefix = re.escape(compiled.name)
    if match := re.match(rf"{prefix}_(?P<step>step_)?(?P<number>\d+)(?:_second)?(?P<field>\w*)$", part.name):
        index = int(match["number"])
        works = compiled.plan.works
        numbers = (compiled.plan.number(works[index][1][0]),) if index < len(works) else ()
        kind = FlashKind.PARAMETERS if match["step"] else _kind(match["field"])
        return FlashPiece(part.name, kind, part.nbytes, numbers)
    scheduled = re.match(rf"{prefix}_(?:schedule|rows|split|order)", part.name)
    return FlashPiece(part.name, FlashKind.SCHEDULE if scheduled else FlashKind.OTHER, part.nbytes, ())


def _arrays(compiled: Compiled) -> Iterator[FlashPiece]:
    """Constant arrays of kernels by their names in C; equal ones are in flash once, named after the first layer."""
    names: dict[tuple[str, bytes], str] = {}
    users: dict[str, list[str]] = {}
    sizes: dict[str, tuple[FlashKind, int]] = {}
    for i, (_, steps) in enumerate(compiled.plan.works):
        for path, value in _constants(steps[0].kernel):
            data = value.rows if isinstance(value, Structs) else value
            name = names.setdefault((str(data.dtype), data.tobytes()), f"{compiled.name}_{i}_{path.replace('.', '_')}")
            sizes.setdefault(name, (_kind(path), 4 * data.size if isinstance(value, Structs) else data.nbytes))
            users.setdefault(name, []).append(compiled.plan.number(steps[0]))
    for name, (kind, nbytes) in sizes.items():
        yield FlashPiece(name, kind, nbytes, tuple(dict.fromkeys(users[name])))


def _constants(kernel: Packed) -> Iterator[tuple[str, np.ndarray | Structs]]:
    yield from ((path, value) for path, value in named(kernel.params) if isinstance(value, np.ndarray | Structs))
    if kernel.sealed is not None:
        yield from kernel.sealed.arrays.items()


def _kind(path: str) -> FlashKind:
    return _KINDS.get(re.split(r"[._]", path)[-1], FlashKind.OTHER)


def _model_bytes(compiled: Compiled) -> dict[str, int]:
    """Bytes of the constants that each layer has in the optimized model, before kernels pack them."""
    plan, graph = compiled.plan, compiled.plan.graph
    return {
        plan.number(steps[0]): sum(
            graph.tensors[t].nbytes
            for t in {t for n in steps[0].ops for t in graph.ops[n].inputs}
            if t >= 0 and graph.tensors[t].data is not None
        )
        for _, steps in plan.works
        if plan.number(steps[0])
    }


def _joined(pieces: list[FlashPiece]) -> list[FlashPiece]:
    """Pieces that no layer has for itself, the largest first; those without a name as one for each kind."""
    unnamed = [p for p in pieces if not p.name]
    sums = {kind: sum(p.nbytes for p in unnamed if p.kind is kind) for kind in FlashKind}
    rest = [FlashPiece("alignment and unnamed", kind, nbytes, ()) for kind, nbytes in sums.items() if nbytes]
    return sorted([*(p for p in pieces if p.name), *rest], key=lambda p: (-p.nbytes, p.name))


SECTION = Section("flash", "Flash", each=flash)

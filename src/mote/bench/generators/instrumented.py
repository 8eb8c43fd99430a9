"""Wraps artifacts in a C harness: private copies of all memory passed to a region, surrounded by guard bytes.

The harness makes the artifact's calls and waits for completion, with copies of tensors, blobs and scratch memory
aligned exactly as the artifact requests, not more. On a violation the outputs are filled with a byte that identifies
it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from mote.compiler.offload.contract import SCRATCH, STATE, WAIT, Artifact, Invocation, Pointer
from mote.ir.graph import Graph, Op

GUARD = 32
"""Number of guard bytes before and after every area."""


class Violation(IntEnum):
    """Fill bytes of outputs that identify violations."""

    OVERRUN = 0xA1
    INPUTS = 0xA3
    BLOBS = 0xA5


MEANINGS = {
    Violation.OVERRUN: "writes outside of its outputs and its working memory",
    Violation.INPUTS: "changes its inputs",
    Violation.BLOBS: "changes its blobs, which lie in flash",
}
_COMMON = """\
#include "{header}"
#include <stdint.h>
#include <string.h>

enum {{ GUARD = {guard}, FILL = 0xC3, FRESH = 0x5A }};

static unsigned char memory[{room}];

/* The first address behind `from` that is a multiple of `alignment`, and of no power of two above it. */
static unsigned char *placed(unsigned char *from, uintptr_t alignment) {{
    const uintptr_t at = (uintptr_t)from / (2 * alignment) * (2 * alignment) + alignment;
    return from + (at < (uintptr_t)from ? at + 2 * alignment : at) - (uintptr_t)from;
}}

static int damaged(const unsigned char *area, uint32_t bytes) {{
    for (uint32_t i = 0; i < GUARD; i++) {{
        if (*(area - GUARD + i) != FILL || area[bytes + i] != FILL) {{
            return 1;
        }}
    }}
    return 0;
}}

"""


@dataclass(frozen=True)
class Area:
    """A memory area passed to a call."""

    to: int | str
    nbytes: int
    alignment: int
    filled: bool
    """Whether its contents are input that must not change."""
    written: bool = False

    @property
    def name(self) -> str:
        return f"tensor_{self.to}" if isinstance(self.to, int) else str(self.to)


def is_checked(artifact: Artifact, region: Op) -> bool:
    """Whether the harness supports an artifact: not if it takes rows or writes model states."""
    return not (artifact.sums or region.updates)


def instrumented(artifact: Artifact, region: Op, graph: Graph, number: int) -> Artifact:
    """The artifact wrapped in a harness, which becomes a file of the project."""
    areas = _areas(artifact, region, graph)
    function = f"checked_{number}"
    given = [area for area in areas if area.filled or area.written]
    lines = [f"int {function}({', '.join(_parameter(area) for area in given)}) {{"]
    at = 0
    for area in areas:
        lines.append(f"    unsigned char *const {area.name} = placed(memory + {at + GUARD}, {area.alignment});")
        at += area.nbytes + 3 * area.alignment + 2 * GUARD
    lines.append("    int violation = 0, status = 0;\n    memset(memory, FILL, sizeof(memory));")
    lines += [f"    memcpy({a.name}, given_{a.name}, {a.nbytes});" for a in areas if a.filled]
    lines += [f"    memset({a.name}, FRESH, {a.nbytes});" for a in areas if a.written]
    lines += [f"    memset({a.name}, 0, {a.nbytes});" for a in areas if a.to == STATE]
    for call in artifact.calls:
        names = {area.to: area.name for area in areas}
        arguments = [f"(void *){names[a.to]}" if isinstance(a, Pointer) else str(a) for a in call.arguments]
        made = f"{call.function}({', '.join('1' if a == WAIT else a for a in arguments)})"
        done = f"do {{\n        status = {made};\n    }} while (status > 0)"
        lines.append(f"    {done if call.returns_status else f'(void){made}'};")
    for area in areas:
        what = Violation.INPUTS if isinstance(area.to, int) else Violation.BLOBS
        if area.filled:
            differs = f"memcmp({area.name}, given_{area.name}, {area.nbytes}) != 0"
            lines.append(f"    violation = {differs} ? {int(what)} : violation;")
        lines.append(f"    violation = damaged({area.name}, {area.nbytes}) ? {int(Violation.OVERRUN)} : violation;")
    for area in (a for a in areas if a.written):
        lines.append(f"    memcpy(given_{area.name}, {area.name}, {area.nbytes});")
        lines.append(
            f"    if (violation != 0) {{\n        memset(given_{area.name}, violation, {area.nbytes});\n    }}"
        )
    lines.append("    return status;\n}\n")
    header = f"{function}.h"
    declaration = f'#include "{artifact.header}"\n{lines[0].removesuffix(" {")};\n'
    source = f'#include "{header}"\n' + _COMMON.format(header=artifact.header, guard=GUARD, room=max(at, 1))
    files = {header: declaration, f"{function}.c": source + "\n".join(lines)}
    return replace(
        artifact,
        calls=(Invocation(function, tuple(Pointer(area.to) for area in given), returns_status=True),),
        header=header,
        files={**artifact.files, **files},
        scratch=0,
        state=0,
        cancel="",
    )


def _parameter(area: Area) -> str:
    return f"{'' if area.written else 'const '}void *given_{area.name}"


def _areas(artifact: Artifact, region: Op, graph: Graph) -> list[Area]:
    """All memory areas passed to an artifact's calls, each once."""
    blobs = {blob.name: blob for blob in artifact.blobs}
    places = dict.fromkeys(a.to for call in artifact.calls for a in call.arguments if isinstance(a, Pointer))
    areas = []
    for to in places:
        if to == SCRATCH:
            areas.append(Area(to, artifact.scratch, artifact.alignment, filled=False))
        elif to == STATE:
            areas.append(Area(to, artifact.state, 8, filled=False))
        elif isinstance(to, str):
            areas.append(Area(to, blobs[to].data.nbytes, blobs[to].alignment, filled=True))
        else:
            written = to in region.outputs
            areas.append(Area(to, graph.tensors[to].nbytes, artifact.alignment, filled=not written, written=written))
    return areas

"""`selftest.c`: a known input, the outputs that the reference gives for it, and a comparison.

The input is a formula, so that it costs no flash; long outputs are compared by their first values and a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mote.codegen.ports import caller_arena, init_call, inputs, outputs
from mote.codegen.source import banner
from mote.codegen.values import CTYPES, number, wrap
from mote.graph import Tensor
from mote.graph.tensor import DTYPES, Array
from mote.plan.plan import Plan

if TYPE_CHECKING:
    from mote.codegen.project import Options

SHOWN = 1024
FLOAT_TOLERANCE = 1e-4


def pattern(t: Tensor) -> Array:
    """The self-test's input: byte i is (37 i + 11) mod 256; a float is that byte as int8, over 128."""
    codes = ((np.arange(t.size, dtype=np.int64) * 37 + 11) & 0xFF).astype(np.uint8)
    if t.dtype == "float32":
        return (codes.view(np.int8).astype(np.float32) / np.float32(128)).reshape(t.shape)
    return codes.view(np.int8).astype(DTYPES[t.dtype]).reshape(t.shape)


def fnv1a(data: bytes) -> int:
    state = 0x811C9DC5
    for byte in data:
        state = ((state ^ byte) * 0x01000193) & 0xFFFFFFFF
    return state


def text(plan: Plan, options: Options, golden: Sequence[Array]) -> str:
    name = options.name
    checks, tables = [], []
    for i, (port, value) in enumerate(zip(outputs(plan, options), golden, strict=True)):
        t = port.tensor
        flat = np.asarray(value).reshape(-1)
        shown = [number(x) for x in flat[:SHOWN]]
        tables.append(f"static const {CTYPES[t.dtype]} expected_{i}[{len(shown)}] = {{\n{wrap(shown)}\n}};\n")
        checks.append(_check(port.function, i, t, fnv1a(flat.astype(DTYPES[t.dtype]).tobytes()), len(shown)))
    arena = f"{caller_arena(options)}\n\n" if options.caller_arena else ""
    hashes = _HASH if any("fnv1a(" in c for c in checks) else ""
    return "\n".join(
        [
            banner(
                options,
                f"selftest.c: checks on any machine that {name} computes what the reference computes.",
            ),
            f'#include <stdio.h>\n\n#include "{name}.h"\n',
            *tables,
            hashes,
            f"{arena}static mote_status selftest(void) {{",
            f"    if ({init_call(options)} != MOTE_OK) {{\n        return MOTE_NOT_READY;\n    }}",
            *(_fill(port.function, port.tensor) for port in inputs(plan, options)),
            f"    if ({name}_run() != MOTE_OK) {{\n        return MOTE_NOT_READY;\n    }}",
            *checks,
            "    return MOTE_OK;\n}\n",
            "int main(void) {\n    mote_status status = selftest();\n"
            f'    puts(status == MOTE_OK ? "{name}: ok" : "{name}: WRONG");\n    return (int)status;\n}}\n',
        ]
    )


_HASH = """\
static uint32_t fnv1a(const void *data, size_t bytes) {
    const uint8_t *p = data;
    uint32_t state = 0x811c9dc5u;
    while (bytes--) {
        state = (state ^ *p++) * 0x01000193u;
    }
    return state;
}
"""


def _fill(function: str, t: Tensor) -> str:
    ctype = CTYPES[t.dtype]
    value = (
        "(float)(int8_t)(uint8_t)(i * 37 + 11) / 128.0f"
        if t.dtype == "float32"
        else f"({ctype})(int8_t)(uint8_t)(i * 37 + 11)"
    )
    return f"    for (size_t i = 0; i < {function.upper()}_SIZE; i++) {{\n        {function}()[i] = {value};\n    }}"


def _check(function: str, i: int, t: Tensor, digest: int, shown: int) -> str:
    if t.dtype == "float32":
        wrong = (
            f"const float want = expected_{i}[i], got = {function}()[i];\n"
            "        const float error = got > want ? got - want : want - got;\n"
            f"        const float size = want > 0 ? want : -want;\n"
            f"        if (!(error <= {FLOAT_TOLERANCE}f * size + {FLOAT_TOLERANCE}f)) {{"
        )
    else:
        wrong = f"if ({function}()[i] != expected_{i}[i]) {{"
    failed = "\n            return MOTE_WRONG;\n        }\n    }"
    loop = f"    for (size_t i = 0; i < {shown}; i++) {{\n        {wrong}{failed}"
    if t.dtype == "float32" or shown == t.size:
        return loop
    return (
        f"{loop}\n    if (fnv1a({function}(), {function.upper()}_BYTES) != 0x{digest:08x}u) {{\n"
        "        return MOTE_WRONG;\n    }"
    )

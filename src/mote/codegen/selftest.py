"""`selftest.c`: a known input, the outputs that the reference gives for it, and a comparison.

The input is a formula, so that it costs no flash; long outputs are compared by their first values and a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mote.codegen.ports import Port, caller_arenas, init_call, inputs, outputs
from mote.codegen.source import banner
from mote.codegen.values import CTYPES, number, wrap
from mote.graph import Graph, Tensor
from mote.graph.tensor import DTYPES, Array
from mote.plan.plan import Plan

if TYPE_CHECKING:
    from mote.codegen.project import Options

SHOWN = 1024
STEPS = 3
"""Runs of a model that keeps a state."""


def selftest_runs(graph: Graph) -> int:
    """How many inferences the self-test makes: as many as it takes until the outputs mean something, and a few where
    one leaves something for the next."""
    return max(graph.warm_up, STEPS if graph.states else 1)


def pattern(t: Tensor, run: int = 0) -> Array:
    """The self-test's input: byte i, counted through all runs, is (37 i + 11) mod 256; a float is that byte as int8,
    over 128."""
    codes = (((np.arange(t.size, dtype=np.int64) + run * t.size) * 37 + 11) & 0xFF).astype(np.uint8)
    if t.dtype == "float32":
        return (codes.view(np.int8).astype(np.float32) / np.float32(128)).reshape(t.shape)
    return codes.view(np.int8).astype(DTYPES[t.dtype]).reshape(t.shape)


def fnv1a(data: bytes) -> int:
    state = 0x811C9DC5
    for byte in data:
        state = ((state ^ byte) * 0x01000193) & 0xFFFFFFFF
    return state


@dataclass(frozen=True)
class Golden:
    """What an output must be, and by how much an element of it may differ."""

    values: Array
    tolerance: float = 0.0


@dataclass(frozen=True)
class _Test:
    """The test of one model: the values it expects, and a function."""

    name: str
    tables: list[str]
    function: str


def text(plan: Plan, options: Options, golden: Sequence[Golden]) -> str:
    test = _test(plan, options, golden, "")
    return _file(options, [test], _MAIN.format(name=options.name))


def shared_text(models: Sequence[tuple[Plan, Options, Sequence[Golden]]], options: Options) -> str:
    """The models take turns, so that each finds what another one left in the arena."""
    tests = [_test(plan, own, golden, f"{own.name}_") for plan, own, golden in models]
    runs = "\n".join(f'        wrong += report("{t.name}", {t.name}_selftest());' for t in tests)
    return _file(options, tests, _SHARED_MAIN.format(runs=runs))


def _file(options: Options, tests: Sequence[_Test], main: str) -> str:
    names = " and ".join(t.name for t in tests)
    what = f"selftest.c: checks on any machine that {names} computes what the reference computes."
    return "\n".join(
        [
            banner(options, what),
            "#include <stdio.h>\n",
            *(f'#include "{t.name}.h"' for t in tests),
            "",
            *(table for t in tests for table in t.tables),
            _HASH if any("fnv1a(" in t.function for t in tests) else "",
            *(t.function for t in tests),
            main,
        ]
    )


def _test(plan: Plan, options: Options, golden: Sequence[Golden], prefix: str) -> _Test:
    checks, tables = [], []
    for i, (port, want) in enumerate(zip(outputs(plan, options), golden, strict=True)):
        t, expected = port.tensor, f"{prefix}expected_{i}"
        flat = np.asarray(want.values).reshape(-1)
        shown = [number(x) for x in flat[:SHOWN]]
        tables.append(f"static const {CTYPES[t.dtype]} {expected}[{len(shown)}] = {{\n{wrap(shown)}\n}};\n")
        digest = fnv1a(flat.astype(DTYPES[t.dtype]).tobytes())
        checks.append(_check(port.function, expected, t, want.tolerance, digest, len(shown)))
    arena = "".join(f"{line}\n" for line in caller_arenas(plan, options))
    lines = [
        *([arena] if arena else []),
        f"static mote_status {prefix}selftest(void) {{",
        f"    if ({init_call(plan, options)} != MOTE_OK) {{\n        return MOTE_NOT_READY;\n    }}",
        *_feed(plan, options),
        *checks,
        "    return MOTE_OK;\n}\n",
    ]
    return _Test(options.name, tables, "\n".join(lines))


_MAIN = """\
int main(void) {{
    mote_status status = selftest();
    puts(status == MOTE_OK ? "{name}: ok" : "{name}: WRONG");
    return (int)status;
}}
"""

_SHARED_MAIN = """\
static int report(const char *name, mote_status status) {{
    printf("%s: %s\\n", name, status == MOTE_OK ? "ok" : "WRONG");
    return status != MOTE_OK;
}}

int main(void) {{
    int wrong = 0;
    for (int turn = 0; turn < 2; turn++) {{
{runs}
    }}
    return wrong;
}}
"""


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


def _feed(plan: Plan, options: Options) -> list[str]:
    """Write the pattern to the inputs and run, or push it row by row; the last run must give the outputs."""
    name, ports, runs = options.name, inputs(plan, options), selftest_runs(plan.graph)
    failed = "{\n        return MOTE_NOT_READY;\n    }"
    if not plan.pushed:
        at = "i" if runs == 1 else "(run * {}_SIZE + i)"
        fills = [
            f"    for (size_t i = 0; i < {p.macro}_SIZE; i++) {{\n"
            f"        {p.function}()[i] = {_value(p, at.format(p.macro))};\n    }}"
            for p in ports
        ]
        if runs == 1:
            return [*fills, f"    if ({name}_run() != MOTE_OK) {failed}"]
        return [
            "    mote_status status = MOTE_WAITING;",
            f"    for (size_t run = 0; run < {runs}; run++) {{",
            *(f"    {line}" for fill in fills for line in fill.split("\n")),
            f"        status = {name}_run();\n    }}",
            f"    if (status != MOTE_OK) {failed}",
        ]
    (p,) = ports
    rows = f"{p.macro}_ROWS" if runs == 1 else f"{runs} * {p.macro}_ROWS"
    return [
        "    mote_status status = MOTE_WAITING;",
        f"    for (size_t y = 0; y < {rows}; y++) {{",
        f"        static {p.ctype} row[{p.macro}_ROW_SIZE];",
        f"        for (size_t i = 0; i < {p.macro}_ROW_SIZE; i++) {{",
        f"            row[i] = {_value(p, f'(y * {p.macro}_ROW_SIZE + i)')};",
        f"        }}\n        status = {name}_push(row, 1);\n    }}",
        f"    if (status != MOTE_OK) {failed}",
    ]


def _value(port: Port, index: str) -> str:
    """`pattern` in C."""
    wrapped = f"(int8_t)(uint8_t)({index} * 37 + 11)"
    if port.tensor.dtype == "float32":
        return f"(float){wrapped} / 128.0f"
    return f"({CTYPES[port.tensor.dtype]}){wrapped}"


def _check(function: str, expected: str, t: Tensor, tolerance: float, digest: int, shown: int) -> str:
    if t.dtype == "float32":
        wrong = (
            f"const float want = {expected}[i], got = {function}()[i];\n"
            "        const float error = got > want ? got - want : want - got;\n"
            f"        if (!(error <= {number(np.float32(tolerance))})) {{"
        )
    else:
        wrong = f"if ({function}()[i] != {expected}[i]) {{"
    failed = "\n            return MOTE_WRONG;\n        }\n    }"
    loop = f"    for (size_t i = 0; i < {shown}; i++) {{\n        {wrong}{failed}"
    if t.dtype == "float32" or shown == t.size:
        return loop
    return (
        f"{loop}\n    if (fnv1a({function}(), {function.upper()}_BYTES) != 0x{digest:08x}u) {{\n"
        "        return MOTE_WRONG;\n    }"
    )

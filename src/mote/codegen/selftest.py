"""`selftest.c`: a known input, the outputs that the reference gives for it, and a comparison.

The input is a formula, so that it costs no flash; long outputs are compared by their first values and a hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mote.codegen.c import (
    BLANK,
    Definition,
    Expression,
    Function,
    Include,
    Statement,
    Text,
    assign,
    call,
    index,
    loop,
    printed,
    when,
)
from mote.codegen.options import ProjectOptions, banner
from mote.codegen.ports import Port, caller_arenas, init_call, inputs, outputs
from mote.codegen.values import CTYPES, number, table
from mote.graph import Graph, Tensor
from mote.graph.tensor import Array
from mote.graph.types import DType
from mote.plan.plan import Plan

COMPARED = 1024
"""Elements of an output that are compared one by one; the rest by a hash."""
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
    if t.dtype == DType.FLOAT32:
        return (codes.view(np.int8).astype(np.float32) / np.float32(128)).reshape(t.shape)
    return codes.view(np.int8).astype(t.dtype.numpy).reshape(t.shape)


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
    tables: list[Definition]
    function: list[Definition]
    hashes: bool
    """Whether outputs are compared by their hash."""


def text(plan: Plan, options: ProjectOptions, golden: Sequence[Golden]) -> str:
    name = options.name
    main: list[Statement] = [
        "mote_status status = selftest()",
        call("puts", f'status == MOTE_OK ? "{name}: ok" : "{name}: WRONG"'),
        "return (int)status",
    ]
    return _file(options, [_test(plan, options, golden, "")], Function("int main(void)", main))


def shared_text(models: Sequence[tuple[Plan, ProjectOptions, Sequence[Golden]]], options: ProjectOptions) -> str:
    """The models take turns, so that each finds what another one left in the arena."""
    tests = [_test(plan, own, golden, f"{own.name}_") for plan, own, golden in models]
    show = call("printf", '"%s: %s\\n"', "name", 'status == MOTE_OK ? "ok" : "WRONG"')
    runs = [f'wrong += report("{t.name}", {t.name}_selftest())' for t in tests]
    return _file(
        options,
        tests,
        Function("static int report(const char *name, mote_status status)", [show, "return status != MOTE_OK"]),
        Function("int main(void)", ["int wrong = 0", loop("int", "turn", 2, *runs), "return wrong"]),
    )


def _file(options: ProjectOptions, tests: Sequence[_Test], *main: Definition) -> str:
    names = " and ".join(t.name for t in tests)
    what = f"selftest.c: checks on any machine that {names} computes what the reference computes."
    return printed(
        [
            banner(options, what),
            BLANK,
            Text("#include <stdio.h>\n"),
            *(Include(f"{t.name}.h") for t in tests),
            BLANK,
            *(table for t in tests for table in t.tables),
            HASH if any(t.hashes for t in tests) else BLANK,
            *(part for t in tests for part in t.function),
            *main,
        ]
    )


def _test(plan: Plan, options: ProjectOptions, golden: Sequence[Golden], prefix: str) -> _Test:
    checks: list[Statement] = []
    tables: list[Definition] = []
    hashes = False
    for i, (port, want) in enumerate(zip(outputs(plan, options), golden, strict=True)):
        t, expected = port.tensor, f"{prefix}expected_{i}"
        flat = np.asarray(want.values).reshape(-1)
        shown = [number(x) for x in flat[:COMPARED]]
        tables.append(table(CTYPES[t.dtype].name, expected, shown))
        checks.append(_compared(port, expected, want.tolerance, len(shown)))
        if t.dtype != DType.FLOAT32 and len(shown) < t.size:
            hashes = True
            checks.append(_hashed(port, fnv1a(flat.astype(t.dtype.numpy).tobytes())))
    given = [Text(line) for line in caller_arenas(plan, options)]
    body = [_not_ready(init_call(plan, options)), *_feed(plan, options), *checks, "return MOTE_OK"]
    function = Function(f"static mote_status {prefix}selftest(void)", body)
    return _Test(options.name, tables, [*given, *([BLANK] if given else []), function], hashes)


HASH = Text("""\
static uint32_t fnv1a(const void *data, size_t bytes) {
    const uint8_t *p = data;
    uint32_t state = 0x811c9dc5u;
    while (bytes--) {
        state = (state ^ *p++) * 0x01000193u;
    }
    return state;
}
""")


def _not_ready(status: str) -> Statement:
    return when(f"{status} != MOTE_OK", "return MOTE_NOT_READY")


def _feed(plan: Plan, options: ProjectOptions) -> list[Statement]:
    """Write the pattern to the inputs and run, or push it row by row; the last run must give the outputs."""
    name, ports, runs = options.name, inputs(plan, options), selftest_runs(plan.graph)
    if not plan.pushed and runs == 1:
        return [*(_filled(p, f"{p.function}()", f"{p.macro}_SIZE", "i") for p in ports), _not_ready(f"{name}_run()")]
    if plan.pushed:
        (p,) = ports
        size = f"{p.macro}_ROW_SIZE"
        row = [f"static {p.ctype} row[{size}]", _filled(p, "row", size, f"(y * {size} + i)")]
        rows = f"{p.macro}_ROWS" if runs == 1 else f"{runs} * {p.macro}_ROWS"
        feed = loop("size_t", "y", rows, *row, assign("status", f"{name}_push(row, 1)"))
    else:
        fills = [_filled(p, f"{p.function}()", f"{p.macro}_SIZE", f"(run * {p.macro}_SIZE + i)") for p in ports]
        feed = loop("size_t", "run", runs, *fills, assign("status", f"{name}_run()"))
    return ["mote_status status = MOTE_WAITING", feed, _not_ready("status")]


def _filled(port: Port, data: str, size: str, at: str) -> Statement:
    """Write `pattern` to an array; `at` counts its elements through all runs."""
    code = f"(int8_t)(uint8_t)({at} * 37 + 11)"
    value = (
        f"(float){code} / 128.0f" if port.tensor.dtype == DType.FLOAT32 else f"({CTYPES[port.tensor.dtype].name}){code}"
    )
    return loop("size_t", "i", size, assign(index(data, "i"), value))


def _compared(port: Port, expected: str, tolerance: float, shown: int) -> Statement:
    """Compare the first values of an output."""
    if port.tensor.dtype != DType.FLOAT32:
        return loop("size_t", "i", shown, _wrong(f"{port.function}()[i] != {expected}[i]"))
    return loop(
        "size_t",
        "i",
        shown,
        f"const float want = {expected}[i], got = {port.function}()[i]",
        "const float error = got > want ? got - want : want - got",
        _wrong(f"!(error <= {number(np.float32(tolerance))})"),
    )


def _hashed(port: Port, digest: int) -> Statement:
    """Compare all of an output."""
    return _wrong(f"fnv1a({port.function}(), {port.macro}_BYTES) != 0x{digest:08x}u")


def _wrong(condition: Expression) -> Statement:
    return when(condition, "return MOTE_WRONG")

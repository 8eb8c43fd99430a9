"""`selftest.c`: runs the model on known inputs and compares with the reference.

Inputs are a formula, and expected values are CRC-32s, so that a test takes little flash. Outputs are compared in any
build; the output of every step is compared if the model is compiled with MOTE_SELFTEST, which defines the trace hook.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mote.compiler.emit.c.c import (
    BLANK,
    Accessor,
    CFunction,
    Comment,
    Compound,
    Definition,
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
from mote.compiler.emit.c.model.handle import called
from mote.compiler.emit.c.model.ports import CPort, caller_arenas, init_call, inputs, outputs
from mote.compiler.emit.c.options import ProjectOptions, banner
from mote.compiler.emit.c.programs.example import SELFTEST
from mote.compiler.emit.c.programs.golden import MIX, GoldenRun, real_codes
from mote.compiler.emit.c.values import CTYPES, wrap
from mote.compiler.emit.c.values import number as literal
from mote.compiler.kernels.contract import NHWC
from mote.compiler.plan.plan import Plan
from mote.ir.graph import Graph
from mote.ir.graph.rows import row_count
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.indexing.index_bounds import input_bounds

MOST = np.finfo(np.float64).max
WEIGHTS = 8
"""Floats are summed with weights 1, 2, ... WEIGHTS in turn, so that their order matters."""


@dataclass
class _Checksum:
    """Checksum of the values of a step or output in all runs, as `selftest.c` computes it."""

    width: int
    """Bytes of an element; 0: float."""
    crc: int = 0
    count: int = 0
    sum: float = 0.0
    allowed: float = 0.0

    def add(self, values: Array, tolerance: float) -> None:
        flat = np.ascontiguousarray(values).reshape(-1)
        flat = flat.view(np.float32) if flat.dtype == np.complex64 else flat
        if self.width:
            self.crc = zlib.crc32(flat.astype(flat.dtype.newbyteorder("<")).tobytes(), self.crc)
            return
        weights = 1.0 + (self.count + np.arange(flat.size, dtype=np.int64)) % WEIGHTS
        finite = np.isfinite(flat)
        self.sum += float(np.sum(flat.astype(np.float64) * weights, where=finite))
        self.allowed += tolerance * float(np.sum(weights, where=finite))
        self.count += flat.size


@dataclass(frozen=True)
class _Test:
    """The self-test of one model."""

    plan: Plan
    options: ProjectOptions
    runs: Sequence[GoldenRun]
    checksums: list[_Checksum] = field(default_factory=list)
    """Checksums of all steps, then of all outputs."""

    @property
    def name(self) -> str:
        return self.options.name

    @property
    def steps(self) -> int:
        return len(self.plan.works)

    @property
    def waiting(self) -> int:
        """Number of warm-up runs without outputs."""
        return max(self.plan.graph.warm_up - 1, 0)

    @property
    def sums(self) -> list[_Checksum]:
        return [s for s in self.checksums if not s.width]


def _test(plan: Plan, options: ProjectOptions, runs: Sequence[GoldenRun]) -> _Test:
    """The self-test of a model, with the expected checksums."""
    graph = plan.graph
    tensors = [graph.tensors[t] for t in (*(plan.shown(op)[0] for op, _ in plan.works), *graph.outputs)]
    widths = (0 if t.dtype.real else t.dtype.numpy.itemsize for t in tensors)
    test = _Test(plan, options, runs, [_Checksum(width) for width in widths])
    for number, run in enumerate(runs):
        for (op, steps), seen in zip(plan.works, test.checksums, strict=False):
            tensor, *further = (graph.tensors[t] for t in plan.shown(op))
            every = plan.traced(steps) if tensor.id == op.outputs[0] else range(row_count(tensor.shape))
            rows = run.values[tensor.id].reshape(row_count(tensor.shape), -1)[every]
            layout = plan.place[tensor.id].layout
            rows = rows.reshape(-1, *tensor.shape[-2:]) if layout != NHWC else rows
            seen.add(layout.store(rows), run.tolerances.get(tensor.id, 0.0))
            for other in further:
                seen.add(run.values[other.id], run.tolerances.get(other.id, 0.0))
        for t, seen in zip(graph.outputs, test.checksums[test.steps :], strict=True):
            if number >= test.waiting:
                seen.add(run.values[t], run.tolerances.get(t, 0.0))
    return test


def text(plan: Plan, options: ProjectOptions, runs: Sequence[GoldenRun], crc: Definition) -> str:
    """The text of a model's self-test; `crc` includes `mote_crc.h`."""
    test = _test(plan, options, runs)
    return _file(options, [test], crc, Accessor("int main(void)", f"return (int){_called(test)}"))


def shared_text(
    models: Sequence[tuple[Plan, ProjectOptions, Sequence[GoldenRun]]], options: ProjectOptions, crc: Definition
) -> str:
    """The text of the self-test of several models, which run in turn, so that each runs in an arena with another's
    data."""
    tests = [_test(*model) for model in models]
    turns = [f"wrong += {_called(t)} != MOTE_OK" for t in tests]
    return _file(
        options,
        tests,
        crc,
        CFunction("int main(void)", ["int wrong = 0", loop("int", "turn", 2, *turns), "return wrong"]),
    )


def _called(test: _Test) -> str:
    name = test.name
    return f'report("{name}", {name}_selftest, &{name}_wrong, {test.steps}, &{name}_traces)'


def _file(options: ProjectOptions, tests: Sequence[_Test], crc: Definition, *main: Definition) -> str:
    names = " and ".join(t.name for t in tests)
    what = f"{SELFTEST}: checks on any machine that {names} computes what the reference computes."
    return printed(
        [
            banner(options, f"{what}\n\n{HOW}"),
            BLANK,
            Text("#include <stdio.h>\n#include <string.h>\n"),
            *(Include(f"{t.name}.h") for t in tests),
            crc,
            BLANK,
            PATTERN,
            *(part for t in tests for part in _definitions(t)),
            REPORT,
            *main,
        ]
    )


HOW = """\
Define MOTE_SELFTEST where the model itself is compiled (-DMOTE_SELFTEST), and the output of every step is compared;
else, with the very object that is in your firmware, the constants in flash and the model's outputs are."""

PATTERN = Text(f"""\
/* The input of a run: noise from a seed, `strength` 128ths of the range (more is cut off), in runs of 2^coarse
 * equal elements. */
typedef struct {{
    uint32_t seed, strength, coarse;
}} pattern_t;

static int32_t noise(const pattern_t *p, uint32_t input, uint32_t i) {{
    uint32_t x = ((i >> p->coarse) + p->seed + input) * 0x{MIX[0]:08x}u;
    x = (x ^ x >> 15) * 0x{MIX[1]:08x}u;
    const int32_t y = (int32_t)((x >> 24) * p->strength >> 7) - (int32_t)p->strength;
    return y < -128 ? -128 : y > 127 ? 127 : y;
}}

/* What a step or an output must have given in all runs: elements of `width` bytes with this CRC-32, or (0) real numbers
 * with the sum of this index. */
typedef struct {{
    uint32_t width, crc;
}} expected_t;

typedef struct {{
    double sum, allowed;
}} expected_sum_t;
""")

REPORT = Text("""\
static mote_status report(const char *name, mote_status (*test)(void), const int *wrong, int steps,
                          const uint32_t *traces) {
    const mote_status status = test(); /* before what it has found is looked at */
    if (status == MOTE_DAMAGED) {
        printf("%s: DAMAGED, constants in flash have changed\\n", name);
    } else if (status == MOTE_WRONG && *wrong < steps) {
        printf("%s: WRONG, first in step %d\\n", name, *wrong);
    } else if (status == MOTE_WRONG) {
        printf("%s: WRONG, in output %d\\n", name, *wrong - steps);
    } else if (status != MOTE_OK) {
        printf("%s: WRONG, it does not run (status %d)\\n", name, (int)status);
    } else {
        printf("%s: ok%s\\n", name, *traces > 0 ? "" : " (outputs only: the model was compiled without MOTE_SELFTEST)");
    }
    return status;
}
""")


def _definitions(test: _Test) -> list[Definition]:
    plan, options, name = test.plan, test.options, test.name
    patterns = [f"{{{r.pattern.seed}u, {r.pattern.strength}, {r.pattern.coarse}}}" for r in test.runs]
    places = iter(range(len(test.sums)))
    expected = [f"{{{s.width}, 0x{s.crc:08x}u}}" if s.width else f"{{0, {next(places)}}}" for s in test.checksums]
    sums = [f"{{{s.sum!r}, {min(s.allowed, MOST)!r}}}" for s in test.sums]
    return [
        *map(Text, caller_arenas(plan, options)),
        _table("pattern_t", f"{name}_patterns", patterns),
        _table("expected_t", f"{name}_expected", expected),
        *([_table("expected_sum_t", f"{name}_sums", sums)] if sums else []),
        f"static uint32_t {name}_seen[{len(test.checksums)}]",
        *([f"static double {name}_added[{len(sums)}]"] if sums else []),
        f"static uint32_t {name}_traces",
        f"static int {name}_wrong",
        BLANK,
        CFunction(f"static void {name}_look(uint32_t which, const void *data, size_t bytes)", _looking(test)),
        Comment("The model's hook: a step has given this."),
        f"void {name}_traced(uint32_t step, const void *data, size_t bytes)",
        CFunction(
            f"void {name}_traced(uint32_t step, const void *data, size_t bytes)",
            [f"{name}_traces++", f"{name}_look(step, data, bytes)"],
        ),
        CFunction(f"static mote_status {name}_selftest(void)", _testing(test)),
    ]


def _table(ctype: str, name: str, items: list[str]) -> Text:
    return Text(f"static const {ctype} {name}[{len(items)}] = {{\n{wrap(items)}\n}};\n")


def _looking(test: _Test) -> list[Statement]:
    """The statements that update the checksum of a step or an output."""
    name = test.name
    seen, crc = f"{name}_seen[which]", "mote_crc({}, data, bytes, {}[which].width)"
    body: list[Statement] = []
    if test.sums:
        add = f"{name}_added[{name}_expected[which].crc] += (1 + {seen}++ % {WEIGHTS}) * (double)values[i]"
        each = [when("values[i] - values[i] == 0.0f", add), Compound("else", [f"{seen}++"])]
        sums: list[Statement] = [
            "const float *const values = (const float *)data",
            loop("size_t", "i", "bytes / sizeof *values", *each),
        ]
        body.append(when(f"{name}_expected[which].width == 0", *sums, "return"))
    return [*body, assign(seen, crc.format(seen, f"{name}_expected"))]


def _testing(test: _Test) -> list[Statement]:
    """The statements that run the model on all patterns and compare checksums."""
    name, plan = test.name, test.plan
    expected = f"{name}_expected[{name}_wrong]"
    reads = [
        f"{name}_look({test.steps + i}, {port.call}, {port.macro}_BYTES)"
        for i, port in enumerate(outputs(plan, test.options))
    ]
    wanted = f"(run < {test.waiting} ? MOTE_WAITING : MOTE_OK)" if test.waiting else "MOTE_OK"
    look: list[Statement] = [when("status == MOTE_OK", *reads)] if test.waiting else [*reads]
    body: list[Statement] = [
        f"mote_status status = {init_call(plan, test.options)}",
        when("status != MOTE_OK", "return status"),
        when(f"{name}_check() != MOTE_OK", "return MOTE_DAMAGED"),
        f"{name}_traces = 0",
        call("memset", f"{name}_seen", 0, f"sizeof {name}_seen"),
        *([call("memset", f"{name}_added", 0, f"sizeof {name}_added")] if test.sums else []),
        loop(
            "uint32_t",
            "run",
            len(test.runs),
            assign("const pattern_t *const p", f"&{name}_patterns[run]"),
            *_feed(test),
            when(f"status != {wanted}", "return status == MOTE_OK ? MOTE_WRONG : status"),
            *look,
        ),
    ]
    each: list[Statement] = [when(f"{name}_wrong < {test.steps} && {name}_traces == 0", "continue")]
    if test.sums:
        want = f"{name}_sums[{expected}.crc]"
        each += [
            when(
                f"{expected}.width == 0",
                f"const double error = {name}_added[{expected}.crc] - {want}.sum",
                when(f"!(error <= {want}.allowed && -error <= {want}.allowed)", "return MOTE_WRONG"),
                "continue",
            )
        ]
    each.append(when(f"{name}_seen[{name}_wrong] != {expected}.crc", "return MOTE_WRONG"))
    count = f"for ({name}_wrong = 0; {name}_wrong < {len(test.checksums)}; {name}_wrong++)"
    return [*body, Compound(count, each), "return MOTE_OK"]


def _feed(test: _Test) -> list[Statement]:
    """The statements that write the inputs and run the model, or push rows."""
    graph, ports = test.plan.graph, inputs(test.plan, test.options)
    if test.plan.pushed:
        (port,) = ports
        size = f"{port.macro}_ROW_SIZE"
        row = [f"static {port.ctype} row[{size}]", _filled(graph, port, 0, "row", size, f"y * {size} + i")]
        push = assign("status", called(test.options, "push", "row", "1"))
        return [loop("uint32_t", "y", f"{port.macro}_ROWS", *row, push)]
    fills = [_filled(graph, p, i, p.call, f"{p.macro}_SIZE", "i") for i, p in enumerate(ports)]
    return [*fills, assign("status", called(test.options, "run"))]


def _filled(graph: Graph, port: CPort, number: int, data: str, size: str, at: str) -> Statement:
    """The loop that writes the pattern to an array; `at`: the C expression for an element's index in the input."""
    code, dtype = f"noise(p, {number}, {at})", port.tensor.dtype
    value = f"({CTYPES[dtype].name}){code}"
    if dtype == DType.FLOAT32:
        real = real_codes(graph, port.tensor.id)
        step = f" * {real.step}" if real.step != 1 else ""
        offset = f" + {real.offset}" if real.offset else ""
        value = f"(float)({code}{step}{offset}) * {literal(real.scale)}"
    elif port.tensor.id in (bounds := input_bounds(graph)):
        low, high = bounds[port.tensor.id]
        value = f"({CTYPES[dtype].name})({low} + ({code} + 128) % {high - low + 1})"
    if dtype == DType.BOOL:
        value = f"{code} & 1"
    return loop("uint32_t", "i", size, assign(index(data, "i"), value))
